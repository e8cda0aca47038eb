/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Creates the environments that cases.json lists, and reports the answer of each by its name.

const AT_ONCE = 8;

// Documents and workers without their own URL cannot resolve relative URLs.
function absolute(url) {
  return new URL(url, location.href).href;
}

function pageText() {
  return `<!DOCTYPE html><script src="${absolute("policy-inside.js")}"></script>`;
}

function workerText() {
  return `importScripts(${JSON.stringify(absolute("policy-inside.js"))})`;
}

function blobURL(content, type) {
  return URL.createObjectURL(new Blob([content], { type }));
}

function workerBlobURL() {
  return blobURL(workerText(), "text/javascript");
}

function nestedName(url, name) {
  return `nested ${url} ${name}`;
}

// The answer of the document whose window has this name.
function said(name) {
  return new Promise(resolve => {
    addEventListener("message", function listener({ data }) {
      if (data.name === name) {
        removeEventListener("message", listener);
        resolve(data.outcome);
      }
    });
  });
}

async function frame(name, attributes, navigate) {
  const frame = document.createElement("iframe");
  frame.name = name;
  for (const [attribute, value] of Object.entries(attributes ?? {})) {
    frame.setAttribute(attribute, value);
  }
  document.documentElement.append(frame);
  navigate?.(frame);
  const outcome = await said(name);
  frame.remove();
  return outcome;
}

async function worker(url, name) {
  const worker = new Worker(url, { name });
  const outcome = await new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data.outcome);
    worker.onerror = error => reject(new Error(`${name}: ${error.message}`));
  });
  worker.terminate();
  return outcome;
}

const kinds = {
  "top level": () => {
    const itself = document.createElement("script");
    itself.src = absolute("policy-inside.js");
    document.documentElement.append(itself);
    return said("");
  },
  frame: ({ name, url, attributes }) => frame(name, { ...attributes, src: absolute(url) }),
  "srcdoc frame": ({ name, attributes }) => frame(name, { ...attributes, srcdoc: pageText() }),
  "blob frame": ({ name, attributes }) =>
    frame(name, { ...attributes, src: blobURL(pageText(), "text/html") }),
  "data frame": ({ name, attributes }) =>
    frame(name, { ...attributes, src: `data:text/html,${pageText()}` }),
  "blank frame": ({ name, attributes }) => frame(name, attributes, ({ contentDocument }) => {
    const inside = contentDocument.createElement("script");
    inside.src = absolute("policy-inside.js");
    contentDocument.documentElement.append(inside);
  }),
  // The frame's document navigates it, and not the element.
  "frame navigated from inside": ({ name, url, attributes }) =>
    frame(name, attributes, ({ contentWindow }) => { contentWindow.location = absolute(url); }),
  worker: ({ name, url }) => worker(absolute(url), name),
  "blob worker": ({ name }) => worker(workerBlobURL(), name),
  "data worker": ({ name }) => worker(`data:text/javascript,${encodeURIComponent(workerText())}`, name),
  "worker in a blob worker": ({ name, url }) => worker(workerBlobURL(), nestedName(absolute(url), name)),
  "blob worker in a worker": ({ name, url }) => worker(absolute(url), nestedName(workerBlobURL(), name)),
  "blob worker in a blob worker": ({ name }) =>
    worker(workerBlobURL(), nestedName(workerBlobURL(), name)),
};

// A time limit, because one environment without an answer would block all results.
function silence() {
  return new Promise(resolve => setTimeout(resolve, 60_000, "silent"));
}

runTest(async () => {
  const response = await fetch("cases.json");
  const cases = await response.json();
  const outcomes = {};
  async function run() {
    for (let one; (one = cases.shift());) {
      outcomes[one.name] = await Promise.race([kinds[one.kind](one), silence()]);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, run));
  return outcomes;
});
