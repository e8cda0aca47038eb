/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Who makes code, how it is scheduled, and where. The cells come from the test: tests/browser/tests/leak_matrix.rs.

const other = new URLSearchParams(location.search).get("other");

function loadScript(into, src) {
  return new Promise((resolve, reject) => {
    const script = Object.assign(into.document.createElement("script"), { src });
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${src} did not load`));
    into.document.head.append(script);
  });
}

// Loads the scripts of both sides.
async function addSides(into) {
  into.ownOrigin = location.origin;
  into.otherOrigin = other;
  await loadScript(into, `${location.origin}/leaks/matrix-sides.js`);
  await loadScript(into, `${other}/leaks/matrix-sides.js?hidden=1`);
}

async function newFrame() {
  const frame = document.createElement("iframe");
  frame.src = "matrix-frame.html";
  const loaded = event(frame, "load");
  document.documentElement.append(frame);
  await loaded;
  return frame.contentWindow;
}

function setBase(into, href) {
  const base = into.document.createElement("base");
  base.href = href;
  into.document.head.prepend(base);
}

// A frame whose base is set before or after the scripts of both sides, or only when a script of theirs is called.
function withBase(href, when) {
  return async () => {
    const frame = await newFrame();
    if (when === "before") {
      setBase(frame, href);
    }
    await addSides(frame);
    if (when !== "before") {
      setBase(frame, href);
    }
    return [frame, frame];
  };
}

// Each gives the global whose scripts make code, and the one in whose realm they do.
const PLACES = {
  async "document"() {
    await addSides(globalThis);
    return [globalThis, globalThis];
  },
  async "frame, into its parent"() {
    const frame = await newFrame();
    await addSides(frame);
    return [frame, globalThis];
  },
  async "frame, into another frame"() {
    const [frame, another] = [await newFrame(), await newFrame()];
    await addSides(frame);
    return [frame, another];
  },
  async "document, into its frame"() {
    await addSides(globalThis);
    return [globalThis, await newFrame()];
  },
  "base about:blank before": withBase("about:blank", "before"),
  "base about:blank after": withBase("about:blank", "after"),
  "base about:srcdoc before": withBase("about:srcdoc", "before"),
  "base about:srcdoc after": withBase("about:srcdoc", "after"),
};

async function inWorker(cells) {
  const worker = new Worker("matrix-worker.js");
  worker.onerror = error => report({ error: error.message });
  worker.postMessage({ cells, other });
  const { data } = await event(worker, "message");
  worker.terminate();
  return data;
}

runTest(async () => {
  const { place, cells } = await (await fetch("/cells.json")).json();
  if (place === "worker") {
    return inWorker(cells);
  }
  const [makes, into] = await PLACES[place]();
  const results = [];
  for (const asked of cells) {
    results.push(await bothSides(asked, makes, into));
  }
  return results;
});
