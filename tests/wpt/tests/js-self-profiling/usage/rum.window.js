// META: timeout=long
// META: script=resources/usage.js
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// After pmeenan/rumcap, examples/capture/rumcap-capture.js: at checkpoints the profiler is stopped,
// its trace is folded at once, and the next one is started unless the capture was saved.
function capture(fold) {
  let profiler = null;
  let saved = false;
  let pending = Promise.resolve();
  const begin = () => { profiler = new self.Profiler({ sampleInterval: 2, maxBufferSize: 30_000 }); };
  const checkpoint = async () => {
    const stopped = profiler;
    profiler = null;
    if (stopped) {
      try {
        fold(await stopped.stop(), stopped.sampleInterval);
      } catch {
        // The profiler was stopped before.
      }
    }
  };
  begin();
  return {
    idle() {
      pending = checkpoint().then(() => {
        if (!saved) {
          begin();
        }
      });
      return pending;
    },
    async save() {
      saved = true;
      await pending;
      await checkpoint();
      return profiler;
    },
  };
}

promise_test(async () => {
  const chunks = [];
  const { idle, save } = capture((trace, interval) => chunks.push([trace, interval]));
  (function early() { busy(100); })();
  await idle();
  (function middle() { busy(100); })();
  idle();
  assert_equals(await save(), null, "none is left running");
  assert_equals(chunks.length, 2);
  assert_true(sampledNames(chunks[0][0]).has("early"));
  assert_true(sampledNames(chunks[1][0]).has("middle"));
  for (const [, interval] of chunks) {
    assert_greater_than(interval, 0, "a stopped profiler still has its interval");
  }
}, "pmeenan/rumcap: checkpoints fold the traces, and a save waits for a pending one");

// After samples/capture-tool/spike.mjs there: the data of a page load is put together at the end.
promise_test(async () => {
  const requested = 2;
  let full = false;
  const profiler = new Profiler({ sampleInterval: requested, maxBufferSize: 30_000 });
  const actual = profiler.sampleInterval;
  profiler.addEventListener("samplebufferfull", () => { full = true; });
  const streams = {};
  const record = ({ entries }) => entries.forEach(entry => {
    (streams[entry.entryType] ??= []).push(entry.toJSON ? entry.toJSON() : Object.assign({}, entry));
  });
  const observers = ["navigation", "resource", "mark"].map(type => {
    const observer = new PerformanceObserver(list => record({ entries: list.getEntries() }));
    observer.observe({ type, buffered: true });
    return observer;
  });
  performance.mark("finalised");
  busy(100);
  const trace = await profiler.stop();
  for (const observer of observers) {
    record({ entries: observer.takeRecords() });
    observer.disconnect();
  }
  const { resources, frames, stacks, samples } = trace;
  const profile = JSON.parse(JSON.stringify({ requested, actual, full, resources, frames, stacks, samples }));
  assert_false(profile.full);
  assert_greater_than(profile.samples.length, 0);
  assert_greater_than_equal(profile.actual, profile.requested);
  assert_object_equals({ resources, frames, stacks, samples }, trace, "a trace has these four");
  assert_true(streams.mark.some(({ name }) => name === "finalised"));
}, "pmeenan/rumcap: a trace is put beside the entries of observers");

// After pmeenan/rumcap and vigneshshanmugam/rum-profiler, website/code/profiler.js: the samples within a
// span of the page's own clock show what happened in that span.
promise_test(async () => {
  const profiler = new Profiler(options);
  (function before() { busy(80); })();
  performance.mark("span-start");
  (function culprit() { busy(120); })();
  const { startTime, duration } = performance.measure("span", "span-start");
  (function after() { busy(80); })();
  const trace = await profiler.stop();
  const inside = trace.samples.filter(({ timestamp }) =>
    timestamp > startTime + 5 && timestamp < startTime + duration - 5);
  const found = inside.map(sample => framesOf(trace, sample).map(({ name }) => name));
  const times = name => found.filter(names => names.includes(name)).length;
  assert_greater_than(times("culprit"), inside.length / 2);
  assert_equals(times("before") + times("after"), 0);
  // profile.js there: a line for each frame.
  const texts = inside.map(sample => framesOf(trace, sample).map(({ name, resourceId, line, column }) =>
    !line || !column
      ? `at ${name || "anonymous"} (native code)`
      : `at ${name || "anonymous"} (${trace.resources[resourceId]}:${line}:${column})`).join("\n   "));
  assert_regexp_match(texts.join("\n\n"), /at culprit \(http.*\/rum\.window\.js:\d+:\d+\)/);
}, "vigneshshanmugam/rum-profiler: samples are found by the time of a span, and printed as a stack");

// After jupyterlab/ui-profiler, src/benchmark.ts: a profiler for each run, or one for all.
async function benchmark(scenario, mode, runs) {
  const traces = [];
  if (mode === "micro") {
    for (let i = 0; i < runs; i++) {
      const profiler = new window.Profiler(options);
      await scenario();
      traces.push(await profiler.stop());
    }
  } else {
    const profiler = new window.Profiler(options);
    for (let i = 0; i < runs; i++) {
      await scenario();
    }
    traces.push(await profiler.stop());
  }
  const steps = traces.flatMap(({ samples }) =>
    samples.slice(1).map(({ timestamp }, i) => timestamp - samples[i].timestamp));
  return { traces, average: steps.reduce((a, b) => a + b, 0) / steps.length };
}

for (const [mode, count] of [["micro", 5], ["macro", 1]]) {
  promise_test(async () => {
    async function scenario() {
      await laterTask();
      (function step() { busy(80); })();
    }
    const { traces, average } = await benchmark(scenario, mode, 5);
    assert_equals(traces.length, count);
    for (const trace of traces) {
      assert_true(sampledNames(trace).has("step"));
    }
    assert_greater_than(average, 0);
  }, `jupyterlab/ui-profiler: five runs of a scenario, ${mode}`);
}

// After jupyterlab/ui-profiler, src/jsBenchmarks.ts: how long each call took, by the samples
// between which it was on the stack at the same depth.
function* calls({ samples, ...trace }) {
  let running = new Map();
  for (const sample of samples) {
    const frames = framesOf({ samples, ...trace }, sample).reverse();
    const active = new Map(frames.map((frame, depth) => {
      const key = `${trace.frames.indexOf(frame)}-${depth}`;
      return [key, running.get(key) ?? { frame, depth, start: sample.timestamp }];
    }));
    for (const [key, call] of running) {
      if (!active.has(key)) {
        yield { ...call, duration: sample.timestamp - call.start };
      }
    }
    running = active;
  }
}

promise_test(async () => {
  const profiler = new Profiler(options);
  for (let i = 0; i < 3; i++) {
    await new Promise(resolve => step_timeout(resolve, 200));
    (function whole() {
      (function half() { busy(60); })();
      busy(60);
    })();
  }
  await new Promise(resolve => step_timeout(resolve, 200));
  const trace = await profiler.stop();
  const found = [...calls(trace)];
  const [wholes, halves] = ["whole", "half"].map(wanted => found.filter(({ frame }) => frame.name === wanted));
  const total = list => list.reduce((sum, { duration }) => sum + duration, 0);
  assert_equals(wholes.length, 3, "three calls with idle time between them");
  assert_equals(halves.length, 3);
  assert_greater_than(total(wholes), total(halves));
  assert_true(halves.every(({ depth }) => depth > wholes[0].depth));
}, "jupyterlab/ui-profiler: idle samples divide the calls of a function");

// After victor-homyakov/self-profiling-api-demo, src/profiler/profiler.ts: the samples around the
// user's events are kept, addresses lose their queries, and the whole is compressed.
promise_test(async () => {
  const events = [];
  const target = document.createElement("button");
  document.body.append(target);
  const listener = ({ type }) => events.push({ timestamp: Math.round(performance.now()), type });
  document.addEventListener("click", listener, { passive: true });
  const profiler = new Profiler({ maxBufferSize: 1000, sampleInterval: 1 });
  const { sampleInterval } = profiler;
  let cleaned = false;
  (function before() { busy(100); })();
  target.addEventListener("click", function onClick() { busy(200); });
  target.click();
  const compressed = await profiler
    .stop()
    .then(async trace => {
      const [first, last] = [events.at(0), events.at(-1)];
      trace.samples = trace.samples.filter(({ timestamp }) =>
        timestamp >= first.timestamp - 250 && timestamp <= last.timestamp + 300);
      trace.resources = trace.resources.map(resource => resource.split("?")[0]);
      const text = JSON.stringify({ events, sampleInterval, trace });
      const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("gzip"));
      return [text, await new Response(stream).arrayBuffer()];
    })
    .catch(() => null)
    .finally(() => {
      document.removeEventListener("click", listener);
      target.remove();
      cleaned = true;
    });
  assert_true(cleaned);
  assert_not_equals(compressed, null);
  const [text, bytes] = compressed;
  assert_less_than(bytes.byteLength, text.length);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const { trace } = await new Response(stream).json();
  assert_true(sampledNames(trace).has("onClick"));
}, "victor-homyakov/self-profiling-api-demo: a trace is changed in place, compressed and read again");

// After victor-homyakov/self-profiling-api-demo, src/process-profile/stack-collapse.ts.
promise_test(async () => {
  const profiler = new Profiler(options);
  (function root() {
    (function branch() {
      (function leaf() { busy(150); })();
    })();
  })();
  const { sampleInterval } = profiler;
  const trace = await profiler.stop();
  const folded = new Map();
  trace.samples.forEach((sample, i) => {
    if (sample.stackId !== undefined) {
      const line = framesOf(trace, sample).reverse().map(({ name, resourceId, line, column }) =>
        `${name || "?"} (${trace.resources[resourceId] ?? "?"}:${line}:${column})`).join(";");
      const next = trace.samples[i + 1]?.timestamp ?? sample.timestamp + sampleInterval;
      folded.set(line, (folded.get(line) ?? 0) + next - sample.timestamp);
    }
  });
  const within = [...folded].filter(([line]) => /root \([^;]*;branch \([^;]*;leaf \(/.test(line));
  const milliseconds = within.reduce((sum, [, duration]) => sum + duration, 0);
  assert_greater_than(milliseconds, 50);
}, "victor-homyakov/self-profiling-api-demo: samples fold into lines from the root to the leaf");

// After zhangmingyuan666/js-self-profiling-frame-graph,
// src/core/flame-graph-adaptor/transfromSamplesToStack.ts: the trace itself is modified.
promise_test(async () => {
  const profiler = new Profiler(options);
  (function drawn() { busy(100); })();
  const trace = await profiler.stop();
  for (const [index, sample] of trace.samples.entries()) {
    sample.timestamp = Number(sample.timestamp.toFixed(3));
    sample.index = index;
    sample.stack = framesOf(trace, sample).reverse().map(({ resourceId, ...frame }) => ({
      ...frame,
      name: frame.name || "(anonymous)",
      resourceURI: resourceId === undefined ? "" : trace.resources[resourceId],
    }));
  }
  trace.samples.push({ timestamp: trace.samples[trace.samples.length - 1].timestamp + 10 });
  assert_true(trace.samples.some(({ stack }) => stack?.some(({ name }) => name === "drawn")));
  const text = await new Blob([JSON.stringify(trace, null, 2)], { type: "application/json" }).text();
  assert_equals(JSON.parse(text).samples.length, trace.samples.length);
}, "zhangmingyuan666/js-self-profiling-frame-graph: a trace is modified for a flame chart");

// After JonasBa/js-self-profiling-sampling-bug, src/app.ts: started, kept busy and stopped in one
// task, without a limit, and the first and the last sample are read without checking their number.
promise_test(async () => {
  for (let i = 0; i < 10; i++) {
    let profiler = new window.Profiler({ sampleInterval: 5, maxBufferSize: Number.MAX_SAFE_INTEGER });
    (function blockMainThread() { busy(5); })();
    assert_false(profiler.stopped);
    const stopped = profiler.stop();
    profiler = null;
    const { samples } = await stopped;
    const [start, end] = [samples[0].timestamp, samples[samples.length - 1].timestamp];
    assert_greater_than_equal(end, start);
  }
}, "JonasBa/js-self-profiling-sampling-bug: a trace of a short block of the main thread has samples");

// After aboktor/js-self-profiler, src/index.ts: functions that call themselves, then a timer.
promise_test(async () => {
  function recursive(depth) {
    return depth === 0 ? wasteTime(150) : recursive(depth - 1);
  }
  function wasteTime(milliseconds) {
    const start = performance.now();
    let count = 0;
    while (performance.now() - start < milliseconds) {
      count += Math.random();
    }
    return count;
  }
  const profiler = new Profiler({ sampleInterval: 10, maxBufferSize: 10000 });
  recursive(20);
  const trace = await new Promise(resolve => {
    setTimeout(async function later() {
      wasteTime(100);
      resolve(await profiler.stop());
    }, 50);
  });
  const stacks = trace.samples.map(sample => framesOf(trace, sample).map(({ name }) => name));
  const deepest = stacks.map(names => names.filter(name => name === "recursive").length);
  assert_equals(Math.max(...deepest), 21, "each of its calls is a frame");
  assert_true(stacks.some(names => names.includes("later") && !names.includes("recursive")));
}, "aboktor/js-self-profiler: recursion and a timer have separate stacks");
