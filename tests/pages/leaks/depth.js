/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// WebAssembly of the page's calls WebAssembly that a script of another origin has made, at any depth of both.

const HIDDEN_DEPTHS = [1, 100, 200, 400, 511, 600];
const OWN_DEPTHS = [1, 100, 481];

// Calls itself `n` times, and then the import. It calls itself by a table, because other calls are inlined into it.
function recursionOf(text) {
  return wasmModule({
    types: [[[I32], [I32]]],
    imports: [["js", "leaf", [0, 0]]],
    tables: [[0x70, 0, 1]],
    elements: [[0, ...i32(0), 0x0b, 1, 1]],
    functions: [{
      name: text, type: 0,
      body: [
        ...get(0), 0x45,
        0x04, I32, ...i32(200_000), ...call(0),
        0x05, ...get(0), ...i32(1), 0x6b, ...i32(0), 0x11, 0, 0, ...i32(1), 0x6a, 0x0b,
      ],
    }],
  });
}

const spin = wasmModule({
  types: [[[I32], [I32]]],
  functions: [{ name: "hiddenSpin", type: 0, locals: [[1, I32]], body: [...countDown(0, 1), ...get(1)] }],
});

runTest(async () => {
  const script = document.createElement("script");
  script.src = `${new URLSearchParams(location.search).get("other")}/leaks/hidden-depth.js`;
  const loaded = event(script, "load");
  document.head.append(script);
  await loaded;
  const own = new WebAssembly.Module(recursionOf("ownRecurse"));
  const results = [];
  for (const [made, compiled] of Object.entries(hiddenCompiled)) {
    const leaf = new WebAssembly.Instance(await compiled(spin)).exports.hiddenSpin;
    const hidden = new WebAssembly.Instance(await compiled(recursionOf("hiddenRecurse")), { js: { leaf } }).exports;
    for (const hiddenDepth of HIDDEN_DEPTHS) {
      const { ownRecurse } =
        new WebAssembly.Instance(own, { js: { leaf: hidden.hiddenRecurse.bind(null, hiddenDepth - 1) } }).exports;
      for (const ownDepth of OWN_DEPTHS) {
        results.push({ made, hiddenDepth, ownDepth, ...await traced(() => ownRecurse(ownDepth - 1)) });
      }
    }
  }
  return results;
});
