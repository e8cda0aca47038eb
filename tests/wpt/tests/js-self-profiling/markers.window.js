// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// https://github.com/WICG/js-self-profiling/blob/main/markers.md

const ALL = ["script", "gc", "style", "layout", "paint", "other"];
const ALLOWED = self.crossOriginIsolated ? ALL : ["style", "layout"];

function fill(target) {
  const style = target.createElement("style");
  style.textContent = ".blue p { color: blue; } .narrow { width: 20em; }";
  target.head.append(style);
  for (let i = 0; i < 1000; i++) {
    const paragraph = target.createElement("p");
    paragraph.textContent = "A few words, so that there are a few lines.";
    target.body.append(paragraph);
  }
}

function forceStyle(target) {
  target.body.classList.toggle("blue");
  return target.defaultView.getComputedStyle(target.body.lastChild).color;
}

function forceLayout(target) {
  target.body.classList.toggle("narrow");
  return target.body.offsetHeight;
}

async function profiled(work) {
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 10_000 });
  const end = performance.now() + 500;
  while (performance.now() < end) {
    work();
  }
  return profiler.stop();
}

function isIn(trace, { stackId }, name) {
  for (; stackId !== undefined; stackId = trace.stacks[stackId].parentId) {
    if (trace.frames[trace.stacks[stackId].frameId].name === name) {
      return true;
    }
  }
  return false;
}

function assert_markers_allowed({ samples }) {
  for (const sample of samples) {
    if ("marker" in sample) {
      assert_in_array(sample.marker, ALLOWED);
    }
  }
}

promise_setup(async () => {
  await new Promise(resolve => { onload = resolve; });
  fill(document);
});

for (const [marker, force] of [["style", forceStyle], ["layout", forceLayout]]) {
  promise_test(async () => {
    const trace = await profiled(() => force(document));
    assert_markers_allowed(trace);
    assert_true(
      trace.samples.some(sample => sample.marker === marker && isIn(trace, sample, force.name)),
      `${marker} with ${force.name} on the stack`);
  }, `${marker} that script forces is marked, with the stack of the script`);
}

promise_test(async () => {
  const trace = await profiled(() => Array.from({ length: 10_000 }, (_, i) => ({ i })));
  assert_greater_than(trace.samples.length, 0);
  assert_markers_allowed(trace);
}, "script and garbage collection are marked only in cross-origin isolated contexts");

promise_test(async t => {
  const frame = document.createElement("iframe");
  t.add_cleanup(() => frame.remove());
  const loaded = new Promise(resolve => { frame.onload = resolve; });
  frame.src = "/common/blank.html";
  document.body.append(frame);
  await loaded;
  fill(frame.contentDocument);
  // This finishes the layout of this document that the new frame requires.
  forceLayout(document);
  const trace = await profiled(() => {
    forceStyle(frame.contentDocument);
    forceLayout(frame.contentDocument);
  });
  const inside = trace.samples.filter(sample => isIn(trace, sample, "forceLayout"));
  assert_greater_than(inside.length, 0);
  for (const { marker } of inside) {
    assert_not_equals(marker, "layout");
    assert_not_equals(marker, "style");
  }
}, "work for another document is not marked");
