/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Makers of code, and ways to schedule them. Loaded twice: first from the page's own origin, then from another origin without
// CORS (in workers by importScripts). What a script here does is done by that script. A maker's `call` is a function of the
// engine or of the browser, so that no function of this file is on the stack when code is made, except with the scheduler `call`.

(globalThis.sides ??= []).push((() => {
  const prefix = globalThis.sides.length === 0 ? "own" : "hidden";

  // How long to wait for code that was scheduled.
  const MADE_IN_TIME = 5_000;

  // So that no port of a cell is garbage before its message comes.
  const ports = [];

  // Waits for the next task.
  const channel = new MessageChannel();
  function nextTask() {
    return new Promise(resolve => {
      channel.port1.onmessage = resolve;
      channel.port2.postMessage(null);
    });
  }

  async function first(find) {
    const end = performance.now() + MADE_IN_TIME;
    for (;;) {
      const found = find();
      if (found) {
        return found;
      }
      if (performance.now() > end) {
        throw new Error("nothing was made");
      }
      await nextTask();
    }
  }

  // A text that defines a function.
  const textOf = name => `globalThis.made = function ${name}(n) {
    let x = 1;
    for (let i = 0; i < n; i++) { x = (Math.imul(x, 31) + i) | 0; }
    return x;
  }`;

  const leb = number => number < 128 ? [number] : [(number & 127) | 128, ...leb(number >> 7)];
  const counted = bytes => [...leb(bytes.length), ...bytes];
  const text = string => counted(new TextEncoder().encode(string));

  // The function `spin` of this module counts down. (import "js" "table" (table 1 funcref)) gets it.
  function moduleOf(name) {
    const body = [
      1, 1, 0x7f,
      0x03, 0x40,
      0x20, 1, 0x41, 0x1f, 0x6c, 0x20, 0, 0x6a, 0x21, 1,
      0x20, 0, 0x41, 1, 0x6b, 0x22, 0, 0x0d, 0,
      0x0b,
      0x20, 1, 0x0b,
    ];
    return Uint8Array.from([
      0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
      1, ...counted([1, 0x60, 1, 0x7f, 1, 0x7f]),
      2, ...counted([1, ...text("js"), ...text("table"), 1, 0x70, 0, 1]),
      3, ...counted([1, 0]),
      7, ...counted([1, ...text("spin"), 0, 0]),
      9, ...counted([1, 0, 0x41, 0, 0x0b, 1, 0]),
      10, ...counted([1, ...counted(body)]),
      0, ...counted([...text("name"), 1, ...counted([1, 0, ...text(name)])]),
    ]);
  }

  // A module of the script's own origin, with a query that no trace may have.
  const fetched = () => fetch(new URL(`/leaks/${prefix}Made.wasm?${prefix}Secret=1&Access-Control-Allow-Origin=*`, origin));
  const origin = prefix === "own" ? globalThis.ownOrigin : globalThis.otherOrigin;

  // Calls `target` with these arguments alone, whatever else it is called with.
  const exactly = (target, self, ...given) => Reflect.apply.bind(null, target, self, given);

  // A function of the engine that calls `call` with `value`, and puts its result into `results`. No script runs in it: the
  // array's species is a proxy of Array, whose trap is a function of the engine that returns `results`.
  function collecting(call, value, results) {
    const array = [value];
    array.constructor = {
      [Symbol.species]: new Proxy(Array, { construct: Reflect.get.bind(null, { results }, "results") }),
    };
    return Array.prototype.map.bind(array, call);
  }

  // What was scheduled for the cell before may still come.
  const madeIn = (realm, name) => first(() => realm.made?.name === name ? realm.made : null);

  const ofText = (realm, name, call) => ({ call, made: () => madeIn(realm, name) });

  const newTable = realm => new realm.WebAssembly.Table({ initial: 1, element: "anyfunc" });

  async function spinOf(realm, module) {
    const table = newTable(realm);
    return (await new realm.WebAssembly.Instance(module, { js: { table } })).exports.spin;
  }

  function compiled(realm, method, source) {
    const results = [];
    return {
      call: collecting(exactly(realm.WebAssembly[method], realm.WebAssembly, source), 0, results),
      made: async () => {
        await first(() => results[0]);
        let module;
        let failure;
        results[0].then(made => { module = made; }, error => { failure = error; });
        await first(() => module ?? failure);
        if (failure) {
          throw failure;
        }
        return spinOf(realm, module);
      },
    };
  }

  // A segment puts the function into the table, so that nobody needs the result.
  function instantiated(realm, method, source) {
    const table = newTable(realm);
    return {
      call: exactly(realm.WebAssembly[method], realm.WebAssembly, source, { js: { table } }),
      made: () => first(() => table.get(0)),
    };
  }

  // A script that is put into the document.
  function element(realm, name, attributes) {
    const script = Object.assign(realm.document.createElement("script"), attributes);
    return ofText(realm, name, exactly(realm.Node.prototype.appendChild, realm.document.documentElement, script));
  }

  const urlOf = (realm, text) =>
    realm.URL.createObjectURL(new realm.Blob([text], { type: "text/javascript" }));

  // Each takes the global of the realm in which code is made, and the name of the function that is made.
  const makers = {
    "eval": (realm, name) => ofText(realm, name, realm.eval.bind(null, textOf(name))),
    "Function": (realm, name) => {
      const results = [];
      return {
        call: collecting(exactly(realm.Function, undefined, textOf(name)), 0, results),
        made: async () => {
          (await first(() => results[0]))();
          return realm.made;
        },
      };
    },
    "timer text": (realm, name) => ofText(realm, name, exactly(realm.setTimeout, realm, textOf(name))),
    "interval text": (realm, name) => {
      const results = [];
      return {
        call: collecting(exactly(realm.setInterval, realm, textOf(name)), 0, results),
        made: async () => {
          const made = await madeIn(realm, name);
          realm.clearInterval(results[0]);
          return made;
        },
      };
    },
    "Module": (realm, name) => {
      const results = [];
      const { Module } = realm.WebAssembly;
      return {
        // map() passes the element as the third argument, which is `newTarget`.
        call: collecting(Reflect.construct.bind(null, Module, [moduleOf(name)]), Module, results),
        made: async () => spinOf(realm, await first(() => results[0])),
      };
    },
    "compile": (realm, name) => compiled(realm, "compile", moduleOf(name)),
    "compileStreaming": realm => compiled(realm, "compileStreaming", fetched()),
    "instantiate": (realm, name) => instantiated(realm, "instantiate", moduleOf(name)),
    "instantiateStreaming": realm => instantiated(realm, "instantiateStreaming", fetched()),

    // What a script puts into the page is the page's, whoever it is.
    "handler text": (realm, name) => {
      const target = realm.document.createElement("i");
      return {
        call: exactly(realm.Element.prototype.setAttribute, target, "onclick", textOf(name)),
        made: async () => {
          await first(() => target.hasAttribute("onclick"));
          target.click();
          return realm.made;
        },
      };
    },
    "script element": (realm, name) => element(realm, name, { text: textOf(name) }),
    "data: script": (realm, name) => element(realm, name, { src: `data:text/javascript,${encodeURIComponent(textOf(name))}` }),
    "blob: script": (realm, name) => element(realm, name, { src: urlOf(realm, textOf(name)) }),
    "module element": (realm, name) => element(realm, name, { type: "module", text: textOf(name) }),
    "import()": (realm, name) => {
      const url = urlOf(realm, textOf(name));
      return ofText(realm, name, () => { import(url); });
    },
    "javascript: URL": (realm, name) => {
      const link = realm.document.createElement("a");
      link.href = `javascript:void(${encodeURIComponent(textOf(name))})`;
      realm.document.documentElement.append(link);
      return ofText(realm, name, exactly(realm.HTMLElement.prototype.click, link));
    },
  };

  let elements = 0;

  // Each makes the engine or the browser call a function. If that takes an event of the page, its target is returned.
  const schedulers = {
    "call": call => { call(); },
    "reaction": call => { Promise.resolve().then(call); },
    "reaction to a rejection": call => { Promise.reject(1).catch(call); },
    "finally": call => { Promise.resolve().finally(call); },
    "reaction of a pending promise": call => { new Promise(resolve => { setTimeout(resolve); }).then(call); },
    "thenable": call => { Promise.resolve({ then: call }); },
    "await of a thenable": call => { (async () => { await { then: call }; })(); },
    "capability of a class": call => {
      const promise = Promise.resolve();
      function Capability(executor) { executor(call, call); }
      promise.constructor = { [Symbol.species]: Capability };
      promise.then(() => 1);
    },
    "timer": call => { setTimeout(call); },
    "interval": call => {
      const id = setInterval(call);
      setTimeout(() => clearInterval(id), 20);
    },
    "queueMicrotask": call => { queueMicrotask(call); },
    "queueMicrotask.bind": call => { Promise.resolve().then(queueMicrotask.bind(globalThis, call)); },
    "setTimeout.bind": call => { Promise.resolve().then(setTimeout.bind(globalThis, call, 0)); },
    "event, dispatched by the page": call => {
      const target = new EventTarget();
      target.addEventListener("go", call);
      return target;
    },
    "event, dispatched by the script": call => {
      const target = new EventTarget();
      target.addEventListener("go", call);
      target.dispatchEvent(new Event("go"));
    },
    "handler": call => {
      const target = document.createElement("i");
      target.onclick = call;
      target.click();
    },
    "message": call => {
      const { port1, port2 } = new MessageChannel();
      ports.push(port1, port2);
      port1.onmessage = call;
      port2.postMessage(1);
    },
    "async iterator": call => {
      (async () => {
        for await (const _ of { [Symbol.asyncIterator]: () => ({ next: call }) }) {
          break;
        }
      })().catch(() => 1);
    },
    "close of a sync iterator": call => {
      const next = () => ({ value: Promise.reject(1), done: false });
      (async () => {
        for await (const _ of { [Symbol.iterator]: () => ({ next, return: call }) }) {
          break;
        }
      })().catch(() => 1);
    },
    "requestAnimationFrame": call => { requestAnimationFrame(call); },
    "pull of a stream": call => { new ReadableStream({ pull: call }, { highWaterMark: 1 }); },
    "write of a stream": call => { new WritableStream({ write: call }).getWriter().write(1); },
    "transform of a stream": call => {
      new TransformStream({ transform: call }, undefined, { highWaterMark: 1 }).writable.getWriter().write(1);
    },
    "mutation observer": call => {
      const target = document.createElement("i");
      new MutationObserver(call).observe(target, { attributes: true });
      target.id = "x";
    },
    "resize observer": call => { new ResizeObserver(call).observe(document.documentElement); },
    "custom element": call => {
      const name = `x-${prefix}-${elements++}`;
      class Element extends HTMLElement {}
      Element.prototype.connectedCallback = call;
      customElements.define(name, Element);
      document.documentElement.append(document.createElement(name));
    },
  };

  return { prefix, makers, schedulers };
})());
