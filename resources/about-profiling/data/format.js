/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// Numbers and names as a person reads them.
strobe.format = (() => {
  const THIN = "\u202f";

  // 12 345 678.9: digits are in groups of three before the point. After the point there are `digits` of them.
  /** @param {number} value @param {number} digits */
  function grouped(value, digits) {
    const [whole, rest] = value.toFixed(digits).split(".");
    const groups = whole.replace(/\B(?=(\d{3})+$)/g, THIN);
    return rest ? `${groups}.${rest}` : groups;
  }

  /** @param {number} number */
  function count(number) {
    return grouped(number, 0);
  }

  // With as many digits as are significant.
  /** @param {number} value */
  function milliseconds(value) {
    const size = Math.abs(value);
    return grouped(value, size === 0 || size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : 3);
  }

  // The time of samples in milliseconds, which is a multiple of the interval. All such times have the same number of
  // digits, which is enough to tell any two of them apart.
  /** @param {number} value @param {number} interval */
  function sampledTime(value, interval) {
    return grouped(value, Number.isInteger(interval) ? 0 : interval >= 0.1 ? 1 : 2);
  }

  // The time between samples, without zeros at the end.
  /** @param {number} value */
  function interval(value) {
    return value >= 1 ? `${Number(value.toFixed(2))} ms` : `${Number((value * 1000).toFixed(0))} µs`;
  }

  // A length of time in the unit that suits it.
  /** @param {number} value */
  function duration(value) {
    const size = Math.abs(value);
    if (size >= 60000) {
      const minutes = Math.floor(value / 60000);
      return `${minutes} min ${((value - minutes * 60000) / 1000).toFixed(1)} s`;
    }
    if (size >= 1000) {
      return `${(value / 1000).toFixed(size >= 10000 ? 1 : 2)} s`;
    }
    if (size >= 1 || size === 0) {
      return `${milliseconds(value)} ms`;
    }
    return `${Math.round(value * 1000)} µs`;
  }

  // A point of time, with the precision of the distance between samples.
  /** @param {number} value */
  function moment(value) {
    return value >= 1000 ? `${(value / 1000).toFixed(4)} s` : `${value.toFixed(1)} ms`;
  }

  // A point of time on a ruler whose marks are `step` ms apart.
  /** @param {number} value @param {number} step */
  function timeMark(value, step) {
    if (step >= 1000) {
      return `${(value / 1000).toFixed(0)} s`;
    }
    if (step >= 100 || value >= 10000) {
      const digits = Math.max(0, Math.ceil(3 - Math.log10(step)));
      return `${(value / 1000).toFixed(Math.min(digits, 6))} s`;
    }
    const digits = Math.max(0, Math.ceil(-Math.log10(step)));
    return `${value.toFixed(Math.min(digits, 3))} ms`;
  }

  // A program or an engine: Strobe 0.1.0. Its version may be unknown.
  /** @param {{ name: string, version: string }} program */
  function program({ name, version }) {
    return version ? `${name} ${version}` : name;
  }

  /** @param {number} part @param {number} whole */
  function percent(part, whole) {
    return whole > 0 ? `${((100 * part) / whole).toFixed(1)} %` : "–";
  }

  /** @param {number} number */
  function bytes(number) {
    const units = ["B", "KiB", "MiB", "GiB"];
    let unit = 0;
    while (number >= 1024 && unit < units.length - 1) {
      number /= 1024;
      unit++;
    }
    return `${unit && number < 100 ? number.toFixed(1) : Math.round(number)} ${units[unit]}`;
  }

  /** @param {number} number @param {string} one @param {string} many */
  function plural(number, one, many) {
    return `${count(number)} ${number === 1 ? one : many}`;
  }

  // The last part of a URL's path, or the whole URL if its path is empty.
  /** @param {string} url */
  function fileName(url) {
    const path = url.replace(/[?#].*$/s, "").replace(/\/+$/, "");
    const name = path.slice(path.lastIndexOf("/") + 1);
    return name || url;
  }

  /** @param {string} url @param {number} line @param {number} column */
  function place(url, line, column) {
    return line > 0 ? `${url}:${line}${column > 0 ? `:${column}` : ""}` : url;
  }

  /** @param {number} number @param {number} column */
  function line(number, column) {
    return column > 0 ? `${number}:${column}` : String(number);
  }

  // Somewhere in several lines.
  /** @param {number} first @param {number} last */
  function lines(first, last) {
    return `${first}–${last}`;
  }

  // The offset of an instruction in a WebAssembly module.
  /** @param {number} number */
  function offset(number) {
    return `0x${number.toString(16)}`;
  }

  return {
    count, milliseconds, sampledTime, interval, duration, moment, timeMark, program, percent, bytes, plural, fileName, place,
    line, lines, offset,
  };
})();
