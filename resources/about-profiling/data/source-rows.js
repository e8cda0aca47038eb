/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The rows in which a script is shown: its lines. A line that is too long for a row is shown in parts, and only the
// parts that have samples are shown.
strobe.sourceRows = (() => {
  const { LONG_LINE } = strobe.lines;
  // The length of a part of a long line, and the least distance from a place to the ends of the part, in characters.
  const PART = 180;
  const AROUND = 24;
  const TAB = 4;
  // As ECMAScript has them: https://tc39.es/ecma262/#sec-line-terminators
  const END_OF_LINE = /\r\n|[\n\r\u2028\u2029]/g;

  // [from, to] of each line of a text.
  /** @param {string} text */
  function linesOf(text) {
    /** @type {[number, number][]} */
    const lines = [];
    let from = 0;
    for (const { index, 0: end } of text.matchAll(END_OF_LINE)) {
      lines.push([from, index]);
      from = index + end.length;
    }
    lines.push([from, text.length]);
    return lines;
  }

  // `source` is { text, line, column }, or null. The line and the column say where the text begins. `ids` are the known
  // places in it, in the order of line and column, and `places` is their table. Gives { rows, widest }: { line, column,
  // last, offset, start, from, to, isCutBefore, isCutAfter, places }. The text of a row goes from `from` to `to`, and that of
  // its line begins at `start`. Without a text these are missing. `column` is 0 unless the row is a part of a line. `last` is
  // 0 unless the row is for places somewhere in the lines from `line` to it, which no line of them has.
  // `widest` is the length of the longest text of a row.
  /** @param {SourceText | null} source @param {number[]} ids @param {Places} places */
  function rowsOf(source, ids, places) {
    const { text, line: firstLine, column: firstColumn } = source ?? { text: null, line: 1, column: 1 };
    /** @type {Map<number, number[]>} */
    const ofLine = new Map();
    const inSeveral = ids.filter(place => places.last[place] > 0);
    for (const place of ids.filter(one => places.last[one] === 0)) {
      const line = places.offset[place] >= 0 ? -1 : places.line[place];
      insert(ofLine, line, place);
    }
    /** @type {SourceRow[]} */
    const rows = [];
    const lines = text === null ? [] : linesOf(text);
    for (const [i, [from, to]] of lines.entries()) {
      const line = firstLine + i;
      // The first line may have only its end here.
      const start = i === 0 ? from - firstColumn + 1 : from;
      const here = ofLine.get(line) ?? [];
      ofLine.delete(line);
      if (to - from <= LONG_LINE) {
        rows.push(rowOf(line, { start, from, to, places: here }));
      } else {
        rows.push(...partsOf(text ?? "", line, [start, from, to], here, places));
      }
    }
    // Places in lines that the text does not have.
    for (const [line, here] of ofLine) {
      const isLong = here.some(place => places.column[place] > LONG_LINE);
      if (line < 0) {
        rows.push(...grouped(here, place => places.offset[place])
          .map(([offset, some]) => rowOf(0, { offset, places: some })));
      } else if (isLong) {
        rows.push(...grouped(here, place => places.column[place])
          .map(([column, some]) => rowOf(line, { column, places: some })));
      } else {
        rows.push(rowOf(line, { places: here }));
      }
    }
    rows.push(...grouped(inSeveral, place => strobe.format.lines(places.line[place], places.last[place]))
      .map(([, some]) => rowOf(places.line[some[0]], { last: places.last[some[0]], places: some })));
    const widest = rows.reduce((most, { from, to }) => (
      text === null || from === undefined || to === undefined ? most : Math.max(most, widthOf(text, from, to))), 0);
    return { rows, widest };
  }

  /** @param {number} line @param {Partial<SourceRow>} members @returns {SourceRow} */
  function rowOf(line, members) {
    return { line, last: 0, column: 0, offset: -1, isCutBefore: false, isCutAfter: false, places: [], ...members };
  }

  /** @template K @param {number[]} ids @param {(place: number) => K} keyOf */
  function grouped(ids, keyOf) {
    /** @type {Map<K, number[]>} */
    const groups = new Map();
    for (const place of ids) {
      insert(groups, keyOf(place), place);
    }
    return [...groups];
  }

  /** @template K @param {Map<K, number[]>} lists @param {K} key @param {number} value */
  function insert(lists, key, value) {
    const list = lists.get(key);
    if (list) {
      list.push(value);
    } else {
      lists.set(key, [value]);
    }
  }

  // The parts of a long line around its places, or its beginning.
  /**
   * @param {string} text
   * @param {number} line
   * @param {[number, number, number]} span
   * @param {number[]} ids
   * @param {Places} places
   */
  function partsOf(text, line, [start, from, to], ids, places) {
    /** @type {{ from: number, to: number, places: number[] }[]} */
    const parts = [];
    for (const place of ids) {
      // A column beyond the end of the text counts as the end.
      const at = Math.min(Math.max(from, start + places.column[place] - 1), to);
      const last = parts.at(-1);
      if (last && (at + AROUND <= last.to || last.to === to)) {
        last.places.push(place);
      } else {
        const begin = whole(text, Math.max(from, at - AROUND));
        parts.push({ from: begin, to: whole(text, Math.min(to, begin + PART)), places: [place] });
      }
    }
    if (!parts.length) {
      parts.push({ from, to: whole(text, from + PART), places: [] });
    }
    return parts.map(part => rowOf(line, {
      ...part, start, column: part.places.length ? places.column[part.places[0]] : 1,
      isCutBefore: part.from > from, isCutAfter: part.to < to,
    }));
  }

  // No character is cut in two.
  /** @param {string} text @param {number} at */
  function whole(text, at) {
    return at > 0 && at < text.length && /[\udc00-\udfff]/.test(text[at]) ? at - 1 : at;
  }

  /** @param {string} text @param {number} from @param {number} to */
  function widthOf(text, from, to) {
    return to - from + (text.slice(from, to).split("\t").length - 1) * (TAB - 1);
  }

  // A row's text in pieces: [{ text, place }]. The place is the one that the piece begins at, or -1. A place covers the
  // word or the character at its column.
  /** @param {string} text @param {SourceRow} row @param {Places} places */
  function piecesOf(text, row, places) {
    /** @type {{ text: string, place: number }[]} */
    const pieces = [];
    const { start = 0, from = 0, to: end = 0 } = row;
    let done = from;
    /** @type {(to: number, place: number) => void} */
    const add = (to, place) => {
      if (to > done) {
        pieces.push({ text: text.slice(done, to), place });
        done = to;
      }
    };
    for (const place of row.places) {
      const at = start + places.column[place] - 1;
      if (places.column[place] > 0 && at >= done && at < end) {
        add(at, -1);
        const word = /^[\w$]+/.exec(text.slice(at, Math.min(end, at + LONG_LINE)))?.[0] ?? text.slice(at, at + 1);
        add(at + word.length, place);
      }
    }
    add(end, -1);
    return pieces;
  }

  return { rowsOf, piecesOf };
})();
