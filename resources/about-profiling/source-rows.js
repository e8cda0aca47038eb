/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The rows in which a script is shown: its lines, or, of a line that is too long for a row, the parts that have samples.
strobe.sourceRows = (() => {
  const { LONG_LINE } = strobe.lines;
  // Characters of a part of a long line, and how many of them stand at least around each place in it.
  const PART = 180;
  const AROUND = 24;
  const TAB = 4;
  // As ECMAScript has them: https://tc39.es/ecma262/#sec-line-terminators
  const END_OF_LINE = /\r\n|[\n\r\u2028\u2029]/g;

  // [from, to] of each line of a text.
  function linesOf(text) {
    const lines = [];
    let from = 0;
    for (const { index, 0: end } of text.matchAll(END_OF_LINE)) {
      lines.push([from, index]);
      from = index + end.length;
    }
    lines.push([from, text.length]);
    return lines;
  }

  // `source` is { text, line, column }, with the place at which the text begins, or null. `ids` are known places in it, by
  // line and column, and `places` is the table of them.
  // Gives { rows, widest }: { line, column, offset, start, from, to, isCutBefore, isCutAfter, places }. The text of a row
  // lies at `from` to `to`, that of its line begins at `start`; without a text there are none of them. `column` is 0
  // unless the row is a part of a line. `widest` is the length of the longest text of a row.
  function rowsOf(source, ids, places) {
    const text = source?.text ?? null;
    const ofLine = new Map();
    for (const place of ids) {
      const line = places.offset[place] >= 0 ? -1 : places.line[place];
      insert(ofLine, line, place);
    }
    const rows = [];
    const lines = text === null ? [] : linesOf(text);
    lines.forEach(([from, to], i) => {
      const line = source.line + i;
      // Of the first line there may be a part alone.
      const start = i === 0 ? from - source.column + 1 : from;
      const here = ofLine.get(line) ?? [];
      ofLine.delete(line);
      if (to - from <= LONG_LINE) {
        rows.push(rowOf(line, { start, from, to, places: here }));
      } else {
        rows.push(...partsOf(text, line, [start, from, to], here, places));
      }
    });
    // What has no text.
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
    const widest = rows.reduce((most, { from, to }) => (from === undefined ? most : Math.max(most, widthOf(text, from, to))), 0);
    return { rows, widest };
  }

  function rowOf(line, members) {
    return { line, column: 0, offset: -1, isCutBefore: false, isCutAfter: false, ...members };
  }

  function grouped(ids, keyOf) {
    const groups = new Map();
    for (const place of ids) {
      insert(groups, keyOf(place), place);
    }
    return [...groups];
  }

  function insert(lists, key, value) {
    const list = lists.get(key);
    if (list) {
      list.push(value);
    } else {
      lists.set(key, [value]);
    }
  }

  // The parts of a long line around its places, or its beginning.
  function partsOf(text, line, [start, from, to], ids, places) {
    const parts = [];
    for (const place of ids) {
      // A column that the text does not have is at its end.
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
  function whole(text, at) {
    return at > 0 && at < text.length && /[\udc00-\udfff]/.test(text[at]) ? at - 1 : at;
  }

  function widthOf(text, from, to) {
    return to - from + (text.slice(from, to).split("\t").length - 1) * (TAB - 1);
  }

  // A row's text in pieces: [{ text, place }], with the place of what begins there (-1: none); a place is at the word or the
  // character that its column names.
  function piecesOf(text, row, places) {
    const pieces = [];
    let done = row.from;
    const add = (to, place) => {
      if (to > done) {
        pieces.push({ text: text.slice(done, to), place });
        done = to;
      }
    };
    for (const place of row.places) {
      const at = row.start + places.column[place] - 1;
      if (places.column[place] > 0 && at >= done && at < row.to) {
        add(at, -1);
        const word = /^[\w$]+/.exec(text.slice(at, Math.min(row.to, at + LONG_LINE)))?.[0] ?? text.slice(at, at + 1);
        add(at + word.length, place);
      }
    }
    add(row.to, -1);
    return pieces;
  }

  return { rowsOf, piecesOf };
})();
