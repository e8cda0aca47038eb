/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A page with a list that is sorted and drawn anew in each turn, by Preact.

import { render } from "preact";

import { editDistance } from "./ranking.mjs";

const SYLLABLES = ["lo", "ra", "mi", "ten", "sol", "ka", "ber", "no"];
const LENGTH = 150;

const words = Array.from({ length: LENGTH }, (_, index) => makeWord(index * 7919));
const root = document.body.appendChild(document.createElement("main"));

function makeWord(number) {
  let word = "";
  for (let rest = number + 1; rest > 0; rest = Math.floor(rest / SYLLABLES.length)) {
    word += SYLLABLES[rest % SYLLABLES.length];
  }
  return word;
}

function Row({ word, distance }) {
  return (
    <li class={distance < 8 ? "near" : "far"} data-distance={distance}>
      <b>{word}</b> <i title={`${word}: ${distance}`}>{distance}</i>
    </li>
  );
}

function Ranking({ wanted, rows }) {
  return (
    <section>
      <h1>Words like {wanted}</h1>
      <ol>
        {rows.map(({ word, distance }) => (
          <Row key={word} word={word} distance={distance} />
        ))}
      </ol>
    </section>
  );
}

let turns = 0;

globalThis.turn = function turn() {
  turns += 1;
  const wanted = makeWord(turns * 104729);
  const rows = words.map((word) => ({ word, distance: editDistance(word.repeat(8), wanted.repeat(6)) }));
  rows.sort((one, other) => one.distance - other.distance);
  render(<Ranking wanted={wanted} rows={rows} />, root);
  return rows[0].distance;
};
