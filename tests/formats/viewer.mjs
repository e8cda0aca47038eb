/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// The model that the viewer in a saved page makes of its recording, by the viewer's own scripts, taken out of the page.

import vm from "node:vm";

import { functionKey, lineKey } from "./labels.mjs";
import { entryOf } from "./totals.mjs";

const RECORDING = '<script type="application/json" id="recording">';
const SCRIPT = "<script>";
const END = "</script>";
// The viewer's one global, and those of its members that draw nothing.
const GLOBAL = /^const strobe = /mu;
const MODEL = /^strobe\.(?:palette|format|webTrace|functions|recording) = /mu;

/** What follows each of these tags in a page, up to the tag's end. A regular expression fails for long recordings. */
function contentsOf(tag, page) {
  return page.split(tag).slice(1).map((rest) => rest.slice(0, rest.indexOf(END)));
}

/** Reads a saved page, or with `viewer` the text of a trace by the scripts of that page. */
export function read(text, viewer = text) {
  const context = vm.createContext({});
  for (const script of contentsOf(SCRIPT, viewer)) {
    if (GLOBAL.test(script) || MODEL.test(script)) {
      vm.runInContext(script, context);
    }
  }
  const data = text === viewer ? contentsOf(RECORDING, text)[0] : text;
  context.data = data;
  return vm.runInContext("strobe.recording.decode(JSON.parse(data))", context);
}

/** The functions and lines of all event loops. */
export function totals({ functions: table, resources, loops }) {
  const functions = new Map();
  const lines = new Map();
  // The last ones stand for samples without a stack.
  const keyOf = (id) =>
    functionKey({
      name: table.names[id],
      resource: resources[table.resources[id]],
      line: table.lines[id],
      column: table.columns[id],
    });
  for (const loop of loops) {
    loop.sampleStack.forEach((stack, index) => {
      if (stack < 0) {
        return;
      }
      const weight = loop.sampleWeight?.[index] ?? 1;
      const onStack = [];
      for (let at = stack; at >= 0; at = loop.stackParent[at]) {
        onStack.push(keyOf(loop.frameFunction[loop.stackFrame[at]]));
      }
      const line = loop.frameLine[loop.stackFrame[stack]];
      if (line > 0) {
        const key = lineKey(onStack[0], line);
        lines.set(key, (lines.get(key) ?? 0) + weight);
      }
      for (const key of new Set(onStack)) {
        const entry = entryOf(functions, key);
        entry.total += weight;
        entry.itself += key === onStack[0] ? weight : 0;
      }
    });
  }
  return { functions, lines };
}
