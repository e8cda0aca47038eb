/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Frames of the page's origin and of other origins. They are on its event loop, except those without a host.

const NUMBERS = Array.from({ length: 500 }, (_, i) => Math.imul(i, 2654435761) | 0);

function visibleCallback() {
  visibleSpin();
}

function visibleCompare(a, b) {
  visibleSpin();
  return a - b;
}

// Frames that may access the page can call this, but it must not be in their traces.
function hiddenOfParent() {
  visibleSpin();
}

function eventTarget() {
  const target = new EventTarget();
  target.addEventListener("x", frameWindow.hiddenSpin);
  return target;
}

// The window of a frame with the page's origin.
let frameWindow;

// A value of the frame's script.
function its(name) {
  return frameWindow.eval(name);
}

// The page's trace while it calls functions of the frame.
function called(run, there = () => frameWindow) {
  return async () => {
    const target = await there();
    const theirs = target.eval("windows");
    theirs.length = 0;
    return traced(async () => {
      await run(target);
      noteFrom(target.performance.timeOrigin, theirs);
    });
  };
}

function tell(frame, order) {
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise(resolve => { port1.onmessage = ({ data }) => resolve(data); });
  frame.contentWindow.postMessage(order, "*", [port2]);
  return answer;
}

// The page's trace while the frame does what a message says.
function told(attributes, order) {
  return async () => {
    const frame = await loadFrame(await attributes());
    const result = await traced(async () => {
      const { windows, timeOrigin } = await tell(frame, order);
      noteFrom(timeOrigin, windows);
    });
    frame.remove();
    return result;
  };
}

async function answered(attributes, order) {
  const frame = await loadFrame(await attributes());
  const { answer } = await tell(frame, order);
  frame.remove();
  return { answer };
}

async function scripts(...names) {
  const texts = await Promise.all(names.map(async name => (await fetch(name)).text()));
  return texts.map(text => `<script>${text}</script>`).join("");
}

const otherFrame = () => ({ src: `${other}/leaks/frame.html` });
const sandboxed = () => ({ src: "frame.html", sandbox: "allow-scripts" });
const ofData = async () => ({
  src: `data:text/html,${encodeURIComponent(await scripts("work.js", "hidden.js", "frame.js"))}`,
});

async function windowOf(attributes) {
  return (await loadFrame(attributes)).contentWindow;
}

const CASES = {
  "function": called(() => visible(frameWindow.hiddenSpin)),
  "arrow function": called(() => visible(its("hiddenArrow"))),
  "getter": called(() => { const object = its("hiddenObject"); visible(() => object.hiddenGetter); }),
  "constructor": called(() => { const Class = its("HiddenClass"); visible(() => new Class()); }),
  "base class": called(() => {
    const VisibleDerived = class VisibleDerived extends its("HiddenClass") {};
    visible(() => new VisibleDerived());
  }),
  "generator": called(() => visible(() => frameWindow.hiddenGenerator().next())),
  "async function": called(() => visible(frameWindow.hiddenAsync)),
  "bound function": called(() => visible(its("hiddenBound"))),
  "function bound by the page": called(() => visible(frameWindow.hiddenSpin.bind(null))),
  "proxy": called(() => { const proxy = its("hiddenProxy"); visible(() => proxy.x); }),
  "page's proxy": called(() => {
    const proxy = new Proxy({}, { get: frameWindow.hiddenSpin });
    visible(() => proxy.x);
  }),
  "eval": called(() => visible(() => frameWindow.eval("(function hiddenEvaluated() { hiddenSpin(); })()"))),
  "Function": called(() => visible(new frameWindow.Function("hiddenSpin();"))),
  "comparator": called(() => visible(() => [2, 1].sort(frameWindow.hiddenCompare))),
  "event listener": called(() => {
    const target = eventTarget();
    visible(() => target.dispatchEvent(new Event("x")));
  }),
  "wasm": called(() => visible(() => frameWindow.hiddenDuring(frameWindow.hiddenWasmLoop))),
  "built-ins": called(() => visible(() => frameWindow.hiddenBuiltIn("sort"))),
  "depth": called(() => visible(() => frameWindow.hiddenRecursion(50, frameWindow.hiddenSpin))),
  "depth below a callback": called(() => visible(() => frameWindow.hiddenRecursion(50, visibleCallback))),
  "depth on top of the page's": called(() => {
    visible(() => visibleRecursion(300, () => frameWindow.hiddenRecursion(400, frameWindow.hiddenSpin)));
  }),
  "more depth than is walked": called(() => visible(() => frameWindow.hiddenDeepRecursion(5000, visibleCallback))),
  "more depth than is walked, on top of the page's": called(() => {
    visible(() => visibleRecursion(300, () => frameWindow.hiddenDeepRecursion(5000, frameWindow.hiddenSpin)));
  }),
  "throws": called(() => visible(() => { try { frameWindow.hiddenThrow(); } catch { /* As expected. */ } })),
  "callback": called(() => visible(() => frameWindow.hiddenCall(visibleCallback))),
  "its built-in": called(() => {
    const { sort } = frameWindow.Array.prototype;
    visible(() => during(() => { sort.call(NUMBERS); }));
  }),
  "its built-in with the page's callback": called(() => {
    const { sort } = frameWindow.Array.prototype;
    visible(() => sort.call([2, 1], visibleCompare));
  }),
  "timer": called(() => visible(() => frameWindow.hiddenLater(its("hiddenQueues").timer))),
  "reaction": called(() => visible(() => frameWindow.hiddenLater(its("hiddenQueues").reaction))),
  "page's timer": called(() => new Promise(resolve => {
    setTimeout(frameWindow.hiddenSpin);
    setTimeout(resolve, 1);
  })),

  "frame that was removed": called(target => visible(target.hiddenSpin), async () => {
    const frame = await loadFrame({ src: "frame.html" });
    const { hiddenSpin, performance } = frame.contentWindow;
    const theirs = frame.contentWindow.eval("windows");
    const { timeOrigin } = performance;
    frame.remove();
    return { hiddenSpin, performance: { timeOrigin }, eval: () => theirs };
  }),
  "frame that was navigated": called(target => visible(target.hiddenSpin), async () => {
    const frame = await loadFrame({ src: "frame.html" });
    const { hiddenSpin, performance } = frame.contentWindow;
    const theirs = frame.contentWindow.eval("windows");
    const { timeOrigin } = performance;
    const gone = event(frame, "load");
    frame.src = "about:blank";
    await gone;
    return { hiddenSpin, performance: { timeOrigin }, eval: () => theirs };
  }),
  "srcdoc": called(target => visible(target.hiddenSpin),
    () => windowOf({ srcdoc: '<script src="work.js"></script><script src="hidden.js"></script>' })),
  "about:blank": called(target => visible(target.hiddenSpin), async () => {
    const target = await windowOf({});
    for (const name of ["work.js", "hidden.js"]) {
      const script = target.document.createElement("script");
      script.text = await (await fetch(name)).text();
      target.document.documentElement.append(script);
    }
    return target;
  }),
  "blob: frame": called(target => visible(target.hiddenSpin), async () => windowOf({
    src: URL.createObjectURL(new Blob([await scripts("work.js", "hidden.js")], { type: "text/html" })),
  })),

  "frame of another origin": told(otherFrame, "spin"),
  "frame of another origin, in a reaction": told(otherFrame, "spinLater"),
  "frame of another origin, in built-ins": told(otherFrame, "builtIn"),
  "frame of another origin, thousands of new functions": told(otherFrame, "manyNew"),
  "sandboxed frame": told(sandboxed, "spin"),
  "data: frame": told(ofData, "spin"),
  "nested frames": told(() => ({ src: `${other}/leaks/nested.html` }), "spin"),

  async "parent of the frame that profiles"() {
    const frame = await loadFrame({ src: "frame.html" });
    windows.length = 0;
    const { answer, timeOrigin } = await tell(frame, "profileParent");
    const shift = performance.timeOrigin - timeOrigin;
    frame.remove();
    return { trace: answer, windows: windows.map(([start, end]) => [start + shift, end + shift]) };
  },

  "refused: a frame of another origin": () => answered(otherFrame, "refused"),
  "refused: a sandboxed frame of another origin":
    () => answered(() => ({ ...otherFrame(), sandbox: "allow-scripts" }), "refused"),
  "refused: a frame in a frame of another origin": () => answered(() => ({ src: `${other}/leaks/nested.html` }), "refused"),

  // This case is last, because it changes the page's domain.
  async "document.domain"() {
    const frame = await loadFrame(otherFrame());
    await tell(frame, "domain");
    document.domain = document.domain;
    const target = frame.contentWindow;
    const theirs = target.eval("windows");
    theirs.length = 0;
    return traced(() => {
      visible(target.hiddenSpin);
      noteFrom(target.performance.timeOrigin, theirs);
    });
  },
};

async function begin() {
  frameWindow = await windowOf({ src: "frame.html" });
  runCases(CASES);
}

begin();
