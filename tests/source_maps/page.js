/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Runs a program for at least this time: `page.html?program=NAME&time=MS`. With `&profiled` the page profiles itself,
// posts its trace and closes.

"use strict";

// In ms, between turns.
const PAUSE = 5;

const parameters = new URLSearchParams(location.search);

function load() {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `dist/${parameters.get("program")}/app.js`;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${script.src} could not be loaded`));
    document.head.append(script);
  });
}

async function work() {
  const begin = performance.now();
  await load();
  const loaded = performance.now();
  // The turns have more samples than the loading, however slow the machine is.
  const end = loaded + Math.max(Number(parameters.get("time")), 2 * (loaded - begin));
  while (performance.now() < end) {
    globalThis.turn();
    await new Promise((resolve) => setTimeout(resolve, PAUSE));
  }
}

async function profileItself() {
  try {
    const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
    await work();
    return { trace: await profiler.stop() };
  } catch (error) {
    return { error: String(error) };
  }
}

async function start() {
  if (parameters.has("profiled")) {
    await fetch("/trace", { method: "POST", body: JSON.stringify(await profileItself()) });
    close();
    return;
  }
  try {
    await work();
  } finally {
    globalThis.isDone = true;
  }
}

start();
