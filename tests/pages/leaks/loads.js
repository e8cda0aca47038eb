/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Ways to load a script of another origin without permission to see its functions.

const SPIN = "/leaks/hidden-spin.js";
const OWN_SPIN = new URL(SPIN, location).href;
const ALLOWED = { "Access-Control-Allow-Origin": "*" };

const WASM = "/leaks/hidden-wasm.js";
const OWN_WASM = new URL(WASM, location).href;

// Calls the WebAssembly function that the last script has made.
function callWasm() {
  return traced(() => { visible(() => during(() => hiddenWasmLoop(20_000))); });
}

// The hash that mozilla::HashBytes gives a text of one-byte characters. It is easy to find another text with that hash.
const GOLDEN_RATIO = 0x9E3779B9;
const INVERSE = 0x144CBC89; // GOLDEN_RATIO * INVERSE is 1, modulo 2 ** 32.
const WORD = 8; // bytes

function rotated(hash) {
  return (hash << 5) | (hash >>> 27);
}

function added(hash, value) {
  return Math.imul(GOLDEN_RATIO, rotated(hash) ^ value);
}

function halfWord(text, index) {
  return [0, 1, 2, 3].reduce((sum, byte) => sum | (text.charCodeAt(index + byte) << (8 * byte)), 0);
}

function hashed(text) {
  const whole = text.length - text.length % WORD;
  let hash = 0;
  for (let i = 0; i < whole; i += WORD / 2) {
    hash = added(hash, halfWord(text, i));
  }
  for (let i = whole; i < text.length; i++) {
    hash = added(hash, text.charCodeAt(i));
  }
  return hash;
}

// A URL that begins with `url` and has the same hash as the text.
function urlWithHashOf(text, url) {
  const begin = `${url}?`.padEnd(Math.ceil((url.length + 1) / WORD) * WORD, "x");
  const goal = Math.imul(hashed(text), INVERSE);
  const beginHash = hashed(begin);
  for (let i = 0; ; i++) {
    const low = i.toString(36).padStart(WORD / 2, "x");
    const high = goal ^ rotated(added(beginHash, halfWord(low, 0)));
    const last = [0, 8, 16, 24].map(shift => String.fromCharCode((high >>> shift) & 0xFF)).join("");
    if (/^[0-9A-Za-z]*$/.test(last)) {
      return begin + low + last;
    }
  }
}

// Calls the function that the last script has defined.
function call() {
  return traced(() => { visible(hiddenSpin); });
}

function redirected(from, to) {
  return asked(from, { Location: to });
}

function ofText(type, text) {
  return URL.createObjectURL(new Blob([text], { type }));
}

const CASES = {
  async "script"() {
    await loadScript(other + SPIN);
    return call();
  },
  async "async script"() {
    await loadScript(other + SPIN, { async: true });
    return call();
  },
  async "ordered script"() {
    await loadScript(other + SPIN, { async: false });
    return call();
  },
  async "script of a fragment"() {
    const range = document.createRange();
    range.selectNode(document.body);
    const fragment = range.createContextualFragment("<script></" + "script>");
    fragment.firstChild.src = other + SPIN;
    await loaded(fragment.firstChild);
    return call();
  },
  async "redirect from the page's origin"() {
    await loadScript(redirected(OWN_SPIN, other + SPIN));
    return call();
  },
  async "redirect to the page's origin"() {
    await loadScript(redirected(other + SPIN, OWN_SPIN));
    return call();
  },
  async "redirect there and back"() {
    await loadScript(redirected(OWN_SPIN, redirected(other + SPIN, OWN_SPIN)));
    return call();
  },
  async "preload"() {
    await loaded(Object.assign(document.createElement("link"), { rel: "preload", as: "script", href: other + SPIN }));
    await loadScript(other + SPIN);
    return call();
  },
  async "preload with CORS"() {
    const href = asked(other + SPIN, ALLOWED);
    await loaded(Object.assign(
      document.createElement("link"), { rel: "preload", as: "script", crossOrigin: "anonymous", href }));
    await loadScript(href);
    return call();
  },
  async "after the same with CORS"() {
    const src = asked(other + SPIN, ALLOWED);
    await loadScript(src, { crossOrigin: "anonymous" });
    await loadScript(src);
    return call();
  },
  async "wasm"() {
    await loadScript(other + WASM);
    return callWasm();
  },
  async "wasm, after the same with CORS"() {
    const src = asked(other + WASM, ALLOWED);
    await loadScript(src, { crossOrigin: "anonymous" });
    // This trace may show it.
    await callWasm();
    await loadScript(src);
    return callWasm();
  },
  async "wasm, after the page's own of a URL with the same hash"() {
    const src = `${other}${WASM}?again`;
    const own = urlWithHashOf(src, OWN_WASM);
    if (hashed(own) !== hashed(src)) {
      throw new Error(`${own} has another hash than ${src}`);
    }
    await loadScript(own);
    // This trace may show it.
    await callWasm();
    await loadScript(src);
    return callWasm();
  },
  async "CORS header, but no CORS request"() {
    await loadScript(asked(other + SPIN, { ...ALLOWED, "Timing-Allow-Origin": "*" }));
    return call();
  },
  async "source URL"() {
    await loadScript(`${other}/leaks/hidden-source-url.js`);
    return call();
  },
  async "source map"() {
    await loadScript(asked(`${other}/leaks/hidden-source-map.js`, { SourceMap: "page.js" }));
    return call();
  },
  "top level": () => traced(() => loadScript(`${other}/leaks/hidden-top.js`)),

  async "script of a muted script"() {
    await hiddenLoad(other + SPIN);
    return call();
  },
  async "page's script, loaded by a muted one"() {
    await loadScript(other + SPIN);
    await hiddenLoad("loaded-by-another.js");
    return traced(() => { visible(visibleLoaded); });
  },
  async "handler of a muted script"() {
    await loadScript(other + SPIN);
    const element = document.createElement("button");
    document.documentElement.append(element);
    hiddenSetHandler(element);
    return traced(() => { visible(() => element.click()); });
  },
  async "javascript: URL of a muted script"() {
    await loadScript(other + SPIN);
    return traced(async () => {
      hiddenNavigate();
      while (windows.length === 0) {
        await task();
      }
    });
  },
  async "blob: script that calls it"() {
    await loadScript(other + SPIN);
    await loadScript(ofText("text/javascript", "function visibleBlob() { hiddenSpin(); }"));
    return traced(() => { visible(visibleBlob); });
  },
  async "data: script that calls it"() {
    await loadScript(other + SPIN);
    // The URL is a resource of the trace, so it must not contain the name.
    await loadScript("data:text/javascript,function visibleData() { globalThis['hid' + 'denSpin'](); }");
    return traced(() => { visible(visibleData); });
  },

  async "module that calls it, imported statically"() {
    await loadScript(other + SPIN);
    const shared = asked(`${other}/leaks/shared-module.js`, ALLOWED);
    const importing = ofText("text/javascript", `import { sharedCall } from ${JSON.stringify(shared)};
      globalThis.importedCall = sharedCall;`);
    await loadScript(importing, { type: "module" });
    return traced(() => { visible(importedCall); });
  },
  async "module that calls it, imported dynamically"() {
    await loadScript(other + SPIN);
    const { sharedCall } = await import(asked(`${other}/leaks/shared-module.js`, { ...ALLOWED, "X-Case": "dynamic" }));
    return traced(() => { visible(sharedCall); });
  },
  async "module that calls it, redirected"() {
    await loadScript(other + SPIN);
    const shared = asked(`${other}/leaks/shared-module.js`, { ...ALLOWED, "X-Case": "redirected" });
    const { sharedCall } = await import(redirected(new URL("shared-module.js", location).href, shared));
    return traced(() => { visible(sharedCall); });
  },
  async "module that calls it, imported by a muted script"() {
    await loadScript(other + SPIN);
    const { sharedCall } = await hiddenImport(
      asked(`${other}/leaks/shared-module.js`, { ...ALLOWED, "X-Case": "muted" }));
    return traced(() => { visible(sharedCall); });
  },
};

loadScript(`${other}/leaks/hidden-loader.js`).then(() => runCases(CASES));
