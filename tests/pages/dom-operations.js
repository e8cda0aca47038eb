/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Each function of `rows` is a loop around one DOM operation, and returns the time that it spent in the operation,
// by the clock. The table in tests/browser/tests/dom_operations.rs has the name of the operation.

const OPTIONS = { sampleInterval: 1, maxBufferSize: 100_000 };

// How long each round of a row lasts, and how many samples its rounds must have.
const MILLISECONDS = 500;
const LEAST_SAMPLES = 500;
const MOST_ROUNDS = 20;

const parameters = new URLSearchParams(location.search);
// How often a row's operation runs before the first round, so that its loop is compiled.
const COLD = Number(parameters.get("cold"));

const clock = performance;

// Arguments that are large enough that the operation itself takes nearly all the time, even where a call is slow.
const WORDS = "The quick brown fox jumps over the lazy dog. ".repeat(500);
const MARKUP = "<p class=first>Some <b>bold</b> text</p><p>More text</p>";
const QUERY = Array.from({ length: 300 }, (_, i) => `key${i}=value${i}`).join("&");
const ADDRESS = `https://example.com/${"path/".repeat(200)}?${QUERY}`;
const STYLES = ["width: 100px; margin: 3px auto; color: red", "width: 200px; padding: 1px 2px"]
  .map(style => Array(12).fill(style).join(";"));
const LINES = ["some words that need more than one line", "one"];

function element(name, markup) {
  const element = document.createElement(name);
  element.innerHTML = markup;
  return element;
}

function elementWithText(name) {
  const element = document.createElement(name);
  for (let i = 0; i < 2; i++) {
    element.append(WORDS);
  }
  return element;
}

const tree = element("div", MARKUP.repeat(20));
const searched = element("div", MARKUP.repeat(100));
const written = element("div", "");
const writtenStyle = written.style;
const ofSeveralInterfaces = ["div", "section", "main", "blockquote"].map(name => element(name, MARKUP.repeat(60)));
// Each of these has its own getter and setter `text`.
const withText = ["a", "script", "title", "option"].map(elementWithText);
const withAttribute = element("div", "");
withAttribute.setAttribute("data-long", "é–".repeat(6000));
const range = document.createRange();
range.selectNodeContents(elementWithText("div"));
// Of two interfaces.
const withToString = [new URLSearchParams(QUERY), range];
const names = ["innerHTML", "outerHTML"];
const constructors = [URLSearchParams, URL];
const { querySelector } = Element.prototype;
const bound = querySelector.bind(searched, ".absent");
let measured = null;
let result = null;

class Derived extends URLSearchParams {}

function inlined(root, selector) {
  return root.querySelector(selector);
}

const rows = {
  nothing(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      spent += clock.now() - start;
    }
    return spent;
  },

  // Getters

  getter(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = tree.innerHTML;
      spent += clock.now() - start;
    }
    return spent;
  },
  getterOfSeveralInterfaces(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const one = ofSeveralInterfaces[i & 3];
      const start = clock.now();
      result = one.innerHTML;
      spent += clock.now() - start;
    }
    return spent;
  },
  severalGetters(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const one = withText[i & 3];
      const start = clock.now();
      result = one.text;
      spent += clock.now() - start;
    }
    return spent;
  },
  getterByComputedName(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const name = names[i & 1];
      const start = clock.now();
      result = tree[name];
      spent += clock.now() - start;
    }
    return spent;
  },
  getterThatForcesLayout(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      measured.firstChild.data = LINES[i & 1];
      const start = clock.now();
      result = measured.offsetHeight;
      spent += clock.now() - start;
    }
    return spent;
  },

  // Setters

  setter(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      written.innerHTML = MARKUP;
      spent += clock.now() - start;
    }
    return spent;
  },
  setterOfText(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      written.textContent = WORDS;
      spent += clock.now() - start;
    }
    return spent;
  },
  setterOfStyle(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const style = STYLES[i & 1];
      const start = clock.now();
      writtenStyle.cssText = style;
      spent += clock.now() - start;
    }
    return spent;
  },
  severalSetters(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const one = withText[i & 3];
      const start = clock.now();
      one.text = WORDS;
      spent += clock.now() - start;
    }
    return spent;
  },
  setterByComputedName(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const name = i & 1 ? "innerHTML" : "textContent";
      const start = clock.now();
      written[name] = MARKUP;
      spent += clock.now() - start;
    }
    return spent;
  },

  // Methods

  method(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = searched.querySelector(".absent");
      spent += clock.now() - start;
    }
    return spent;
  },
  methodOfSeveralInterfaces(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const one = ofSeveralInterfaces[i & 3];
      const start = clock.now();
      result = one.querySelector(".absent");
      spent += clock.now() - start;
    }
    return spent;
  },
  methodThatForcesLayout(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      measured.firstChild.data = LINES[i & 1];
      const start = clock.now();
      result = measured.getBoundingClientRect();
      spent += clock.now() - start;
    }
    return spent;
  },
  methodOfAttribute(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = withAttribute.getAttribute("data-long");
      spent += clock.now() - start;
    }
    return spent;
  },
  severalMethods(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const one = withToString[i & 1];
      const start = clock.now();
      result = one.toString();
      spent += clock.now() - start;
    }
    return spent;
  },
  methodWithSpread(n) {
    let spent = 0;
    const list = [".absent"];
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = searched.querySelector(...list);
      spent += clock.now() - start;
    }
    return spent;
  },
  boundMethod(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = bound();
      spent += clock.now() - start;
    }
    return spent;
  },
  methodInInlinedFunction(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = inlined(searched, ".absent");
      spent += clock.now() - start;
    }
    return spent;
  },
  staticMethod(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = URL.canParse(ADDRESS);
      spent += clock.now() - start;
    }
    return spent;
  },
  methodOfTheGlobal(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = btoa(WORDS);
      spent += clock.now() - start;
    }
    return spent;
  },

  // Constructors

  newObject(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = new URLSearchParams(QUERY);
      spent += clock.now() - start;
    }
    return spent;
  },
  severalConstructors(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const constructor = constructors[i & 1];
      const start = clock.now();
      result = new constructor(ADDRESS);
      spent += clock.now() - start;
    }
    return spent;
  },
  derivedClass(n) {
    let spent = 0;
    for (let i = 0; i < n; i++) {
      const start = clock.now();
      result = new Derived(QUERY);
      spent += clock.now() - start;
    }
    return spent;
  },
};

// A collection of garbage in a round is not the operation's work.
const isOfCollection = sample => sample.marker === "gc";

async function measure(run) {
  // Batches short enough to end in time, and so long that what is around them takes no time.
  let batch = 4;
  let calls = 0;
  do {
    const begin = clock.now();
    run(batch);
    calls += batch;
    if (clock.now() - begin < 4) {
      batch *= 2;
    }
  } while (calls < COLD || calls < 2 * batch);

  const rounds = [];
  let samples = 0;
  for (let i = 0; i < MOST_ROUNDS && samples < LEAST_SAMPLES; i++) {
    const profiler = new Profiler(OPTIONS);
    const begin = clock.now();
    let end = begin;
    const batches = [];
    while (end - begin < MILLISECONDS) {
      const begin = clock.now();
      const spent = run(batch);
      end = clock.now();
      batches.push({ time: end - begin, spent });
    }
    const trace = await profiler.stop();
    // With few samples, one of them is more than a hundredth.
    if (trace.samples.filter(isOfCollection).length <= Math.max(1, trace.samples.length / 100)) {
      rounds.push({ begin, end, batch, batches, trace });
      samples += trace.samples.length;
    }
  }
  return rounds;
}

runTest(async () => {
  if (document.readyState !== "complete") {
    await event(window, "load");
  }
  measured = document.getElementById("measured");
  const results = {};
  for (const [name, run] of Object.entries(rows)) {
    results[name] = await measure(run);
  }
  return results;
});
