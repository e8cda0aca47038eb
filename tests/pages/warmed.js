/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Blocks of work take turns, at first without a profiler, so that all code is compiled before anybody profiles.

const parameters = new URLSearchParams(location.search);
const number = (name, otherwise) => Number(parameters.get(name) ?? otherwise);
// How long all blocks run before the page is profiled. Each loop runs some thousand times at least. By then the engine
// has compiled it twice, and has inlined what it inlines.
const WARM_ITERATIONS = number("warm-iterations", 3000);
const WARM_SECONDS = number("warm-seconds", 0);
const SECONDS = number("seconds", 6);
const INTERVAL = number("interval", 1);
// The page profiles itself until there are so many samples, in some rounds at most, of which the last begins before this time.
const SAMPLES = number("samples", 0);
const MOST_ROUNDS = 8;
const LAST_BEGIN = 60_000;
// How often an endless page does everything before it lets others run.
const ROUNDS_OF_TURN = number("rounds-of-turn", 1);
const only = parameters.get("only")?.split(",");

const clock = performance;
const MARKUP = "<p class=first>Some <b>bold</b> text</p><p>More text</p>";
const LINES = ["some words that need more than one line", "one"];
const NUMBERS = Array.from({ length: 125 }, (_, i) => i * 7919 % 503);

function element(markup) {
  const element = document.createElement("div");
  element.innerHTML = markup;
  return element;
}

const tree = element(MARKUP.repeat(20));
const written = element("");
let measured = null;
let result = 1;

// Tiny functions, which are inlined. Each division waits for the one before.
function nine(x) {
  return 3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / (3 / x))))))));
}

function four(x) {
  return 3 / (3 / (3 / (3 / x)));
}

function divisions(n) {
  let x = 1.7;
  for (let i = 0; i < n; i++) {
    x = nine(x);
    x = four(x);
  }
  result = x;
}

// The same of operations that take the shortest time. Each function is one expression, because the engine inlines a
// function only if its bytecode has at most 140 bytes.
function twentyTwo(x) {
  return (((((((((((((((((((((x << 1 ^ 1) << 1 ^ 3) << 1 ^ 5) << 1 ^ 7) << 1 ^ 9) << 1 ^ 11) << 1 ^ 13) << 1 ^ 15)
    << 1 ^ 17) << 1 ^ 19) << 1 ^ 21) << 1 ^ 23) << 1 ^ 25) << 1 ^ 27) << 1 ^ 29) << 1 ^ 31) << 1 ^ 33) << 1 ^ 35)
    << 1 ^ 37) << 1 ^ 39) << 1 ^ 41) << 1 ^ 43;
}

function ten(x) {
  return (((((((((x << 1 ^ 1) << 1 ^ 3) << 1 ^ 5) << 1 ^ 7) << 1 ^ 9) << 1 ^ 11) << 1 ^ 13) << 1 ^ 15) << 1 ^ 17)
    << 1 ^ 19;
}

function steps(n) {
  let x = 1;
  // Several times, because the processor ends the loop while it waits for the last operations: a sample there is in
  // the loop, and not in the last function.
  for (let i = 0; i < n; i += 6) {
    x = twentyTwo(x);
    x = ten(x);
    x = twentyTwo(x);
    x = ten(x);
    x = twentyTwo(x);
    x = ten(x);
    x = twentyTwo(x);
    x = ten(x);
    x = twentyTwo(x);
    x = ten(x);
    x = twentyTwo(x);
    x = ten(x);
  }
  result = x;
}

function left(x) {
  return 3 / (3 / (3 / (3 / x)));
}

function right(x) {
  return 5 / (5 / (5 / (5 / x)));
}

// Nobody can foresee which of the two is next.
function arms(n) {
  let x = 1.7;
  let random = 12345;
  for (let i = 0; i < n; i++) {
    random ^= random << 13;
    random ^= random >>> 17;
    random ^= random << 5;
    if (random & 1) {
      x = left(x);
    } else {
      x = right(x);
    }
  }
  result = x;
}

function mapped(x) {
  for (let i = 0; i < 400; i++) {
    x = (x * 31 + i) % 1009;
  }
  return x;
}

function maps(n) {
  for (let i = 0; i < n; i++) {
    result = NUMBERS.map(mapped)[3];
  }
}

function reads(n) {
  for (let i = 0; i < n; i++) {
    result = tree.innerHTML;
  }
}

function walks(n) {
  let count = 0;
  for (let i = 0; i < n; i++) {
    for (let node = tree.firstChild; node; node = node.nextSibling) {
      count += node.childNodes.length;
    }
  }
  result = count;
}

function layouts(n) {
  for (let i = 0; i < n; i++) {
    measured.firstChild.data = LINES[i & 1];
    result = measured.offsetHeight;
  }
}

function parses(n) {
  for (let i = 0; i < n; i++) {
    written.innerHTML = MARKUP;
  }
}

// How many times longer script takes than in optimised code.
const SLOWNESS = number("slowness", 1);
const ofScript = size => Math.max(1, Math.round(size / SLOWNESS));

// Each takes about a millisecond, so that few of them are interrupted even on a busy machine.
const SIZES = {
  divisions: ofScript(15_000), steps: ofScript(50_000), arms: ofScript(50_000), maps: ofScript(4), reads: 4,
  walks: ofScript(20), layouts: 1, parses: 2,
};
const blocks = { divisions, steps, arms, maps, reads, walks, layouts, parses };
const kinds = Object.keys(blocks).filter(kind => !only || only.includes(kind));

// The times of each block, in milliseconds.
function noTimes() {
  return Object.fromEntries(kinds.map(kind => [kind, []]));
}

function round(times) {
  for (const kind of kinds) {
    const block = blocks[kind];
    const begin = clock.now();
    block(SIZES[kind]);
    times[kind].push(clock.now() - begin);
  }
}

// A block that takes longer was interrupted.
const LONGEST_BLOCK = 2;

// The time in which the thread was interrupted is left out, because it could not be sampled then. But nobody waits for longer than
// `most` seconds.
function run(seconds, most) {
  const times = noTimes();
  const end = clock.now() + most * 1000;
  for (let worked = 0; worked < seconds * 1000 && clock.now() < end;) {
    round(times);
    for (const kind of kinds) {
      worked += Math.min(times[kind].at(-1), LONGEST_BLOCK);
    }
  }
  return times;
}

function warmUp() {
  for (const kind of kinds) {
    const calls = Math.max(20, WARM_ITERATIONS / SIZES[kind]);
    for (let i = 0; i < calls; i++) {
      blocks[kind](SIZES[kind]);
    }
  }
  run(WARM_SECONDS, WARM_SECONDS);
}

// The time that each block took in all: as if none had taken much longer than usual, and as it was. A thread that was
// interrupted meanwhile could not be sampled, and one that was slow could. The page cannot tell which it was.
function totals(times) {
  const sum = times => times.reduce((sum, time) => sum + time, 0);
  const total = ofKind => {
    const quartile = ofKind.toSorted((a, b) => a - b)[ofKind.length >> 2];
    const usual = ofKind.filter(time => time < 2 * quartile);
    return [sum(usual) * ofKind.length / usual.length, sum(ofKind)];
  };
  return Object.fromEntries(Object.entries(times).map(([kind, ofKind]) => [kind, total(ofKind)]));
}

function profiled() {
  return run(SECONDS, 4 * SECONDS);
}

// For a recording that begins at any time: what the page does until it closes. Others may set and read these.
var times = noTimes();
var isWarm = false;

function turn() {
  for (let i = 0; i < ROUNDS_OF_TURN; i++) {
    round(times);
  }
  setTimeout(turn);
}

var finished = false;

async function test() {
  warmUp();
  if (parameters.has("endless")) {
    isWarm = true;
    turn();
    return;
  }
  if (parameters.has("own")) {
    const rounds = [];
    const last = clock.now() + LAST_BEGIN;
    for (let samples = 0; samples < SAMPLES && rounds.length < MOST_ROUNDS && clock.now() < last;) {
      const profiler = new Profiler({ sampleInterval: INTERVAL, maxBufferSize: 200_000 });
      const times = profiled();
      const trace = await profiler.stop();
      rounds.push({ totals: totals(times), trace });
      samples += trace.samples.length;
    }
    report({ value: rounds });
    return;
  }
  console.log(`totals ${JSON.stringify(totals(profiled()))}`);
  finished = true;
}

addEventListener("load", () => {
  measured = document.getElementById("measured");
  test();
});
