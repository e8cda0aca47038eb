/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Ways to request a URL. Each gives what the page gets, or fails.
const ways = {
  "fetch": url => fetch(url).then(response => response.text()),
  "fetch by POST": url => fetch(url, { method: "POST", body: "x" }).then(response => response.text()),
  // A page cannot read the answer, but the request alone could have an effect.
  "fetch without CORS": url => fetch(url, { mode: "no-cors" }).then(response => response.type),
  "fetch of the same origin": url => fetch(url, { mode: "same-origin" }).then(response => response.text()),
  "XMLHttpRequest": url => new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.onload = () => resolve(request.responseText);
    request.onerror = reject;
    request.open("GET", url);
    request.send();
  }),
  "synchronous XMLHttpRequest": url => {
    const request = new XMLHttpRequest();
    request.open("GET", url, false);
    request.send();
    return request.responseText;
  },
  "import": url => import(url).then(module => Object.keys(module)),
  "script": url => loadOf("script", { src: url }),
  "module script": url => loadOf("script", { type: "module", src: url }),
  "stylesheet": url => loadOf("link", { rel: "stylesheet", href: url }),
  "image": url => loadOf("img", { src: url }),
  "worker": url => new Promise((resolve, reject) => {
    const worker = new Worker(url);
    worker.onmessage = resolve;
    worker.onerror = reject;
  }),
  "fetch in a worker": url => inWorker(`fetch(${JSON.stringify(url)}).then(response => response.text())`),
};

function loadOf(name, attributes) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement(name), attributes);
    element.onload = () => resolve("loaded");
    element.onerror = reject;
    document.documentElement.append(element);
  });
}

function inWorker(expression) {
  const code = `${expression}.then(
    value => postMessage({ value }),
    error => postMessage({ error: String(error) }))`;
  return new Promise((resolve, reject) => {
    const worker = new Worker(URL.createObjectURL(new Blob([code])));
    worker.onmessage = ({ data }) => ("value" in data ? resolve(data.value) : reject(new Error(data.error)));
    worker.onerror = reject;
  });
}

// What each way got for the URL. Null if it failed.
async function all(url) {
  const results = {};
  for (const [name, way] of Object.entries(ways)) {
    try {
      results[name] = String(await way(url));
    } catch {
      results[name] = null;
    }
  }
  return results;
}

// Ways to navigate the page's window to a URL.
const leading = {
  "location": url => { location.href = url; },
  "location.replace": url => { location.replace(url); },
  "link": url => { click(url, "_self"); },
  "form": url => {
    const form = Object.assign(document.createElement("form"), { action: url, method: "POST" });
    document.documentElement.append(form);
    form.submit();
  },
  "refresh": url => {
    const meta = Object.assign(document.createElement("meta"), { httpEquiv: "refresh", content: `0;url=${url}` });
    document.head.append(meta);
  },
};

function click(href, target) {
  const link = Object.assign(document.createElement("a"), { href, target, textContent: "x" });
  document.documentElement.append(link);
  link.click();
}
