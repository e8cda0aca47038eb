/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// Makes elements in one expression. Text only ever goes into text nodes, whatever it looks like.
strobe.dom = (() => {
  // `attributes` are those of the element. `class`, `text`, `on`, `data` and `style` are the class, the text, the
  // listeners by type, the data set and the styles. Attributes that are undefined or false are left out.
  /** @param {string} name @param {any} attributes @param {(Node | string | null | undefined | false)[]} children */
  function element(name, attributes = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined || value === false || value === null) {
        continue;
      }
      switch (key) {
        case "class": made.className = value; break;
        case "text": made.textContent = value; break;
        case "on":
          for (const [type, listener] of Object.entries(value)) {
            made.addEventListener(type, listener);
          }
          break;
        case "data": Object.assign(made.dataset, value); break;
        case "style": Object.assign(made.style, value); break;
        default: made.setAttribute(key, value === true ? "" : value);
      }
    }
    made.append(...children.filter(child => child !== null && child !== undefined && child !== false));
    return made;
  }

  /** @param {string} text @param {(event: Event) => void} press @param {any} attributes */
  function button(text, press, attributes = {}) {
    return element("button", { type: "button", text, on: { click: press }, ...attributes });
  }

  /** @param {string} id @returns {any} */
  function byId(id) {
    return document.getElementById(id);
  }

  // The functions below change the document only where it differs, because each change causes layout and drawing.
  /** @param {Element} one @param {string} text */
  function setText(one, text) {
    if (one.firstElementChild || one.textContent !== text) {
      one.textContent = text;
    }
  }

  // Sets a text, in which each place that matches `wanted` is marked. `wanted` is in lower case. Only the first
  // `length` characters are searched.
  /** @param {Element} one @param {string} text @param {string} wanted @param {number} length */
  function setMarked(one, text, wanted, length = text.length) {
    const places = wanted ? occurrences(text.slice(0, length), wanted) : [];
    if (!places.length) {
      setText(one, text);
      return;
    }
    /** @type {(Node | string)[]} */
    const parts = [];
    let done = 0;
    for (const [from, to] of places) {
      parts.push(text.slice(done, from), element("span", { class: "match", text: text.slice(from, to) }));
      done = to;
    }
    one.replaceChildren(...parts, text.slice(done));
  }

  // [from, to] of each place where a text has `wanted`. Case does not matter.
  /** @param {string} text @param {string} wanted */
  function occurrences(text, wanted) {
    const lower = text.toLowerCase();
    if (lower.length !== text.length) {
      // The characters of the two texts do not correspond.
      return lower.includes(wanted) ? [[0, text.length]] : [];
    }
    /** @type {[number, number][]} */
    const places = [];
    for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
      places.push([at, at + wanted.length]);
    }
    return places;
  }

  /** @param {Element} one @param {string} name @param {unknown} value */
  function setAttribute(one, name, value) {
    if (one.getAttribute(name) !== String(value)) {
      one.setAttribute(name, String(value));
    }
  }

  // A function that makes `draw` run once in the next frame, however often the function is called before that.
  /** @param {() => void} draw */
  function inNextFrame(draw) {
    let isScheduled = false;
    return () => {
      if (!isScheduled) {
        isScheduled = true;
        requestAnimationFrame(() => {
          isScheduled = false;
          draw();
        });
      }
    };
  }

  return { element, button, byId, setText, setMarked, setAttribute, inNextFrame };
})();
