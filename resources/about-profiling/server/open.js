/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Opens what was recorded elsewhere, from a file, a path, a drop or a paste. The browser reads every format. Without
// the browser, the page reads viewer data and the traces that web pages get.
strobe.open = (() => {
  const { byId } = strobe.dom;

  function start() {
    const { isThere } = strobe.server;
    byId("open-path-form").hidden = !isThere;
    byId("open-formats").textContent = isThere
      ? "Firefox Profiler, speedscope, cpuprofile, traces of Chrome's Performance panel, Hermes, collapsed stacks, HTML that was " +
        "saved here, or the trace that a web page got from Profiler.stop()."
      : "The trace that a web page got from Profiler.stop(), or viewer data.";
    byId("open-file").addEventListener("change", event => {
      const [file] = event.target.files;
      if (file) {
        attempt(async () => openText(file.name, await file.text()));
        event.target.value = "";
      }
    });
    byId("open-path-form").addEventListener("submit", event => {
      event.preventDefault();
      const path = byId("open-path").value.trim();
      if (!path) {
        strobe.app.fail("Open: the path is empty.");
        return;
      }
      attempt(() => openPath(path));
    });
    byId("paste-form").addEventListener("submit", event => {
      event.preventDefault();
      const text = byId("paste").value;
      if (!text.trim()) {
        strobe.app.fail("Open: nothing was pasted.");
        return;
      }
      attempt(() => openText("pasted", text));
    });
    acceptDrops();
  }

  // Shows what the browser has read, and what it had to guess.
  async function openLoaded({ recording, notices }) {
    await strobe.app.openFromServer(recording);
    strobe.app.tell(notices);
  }

  async function openPath(path) {
    await openLoaded(await strobe.server.loadPath(path));
  }

  async function openText(name, text) {
    if (strobe.server.isThere) {
      await openLoaded(await strobe.server.load(name, text));
    } else {
      strobe.app.openText(text, name === "pasted" ? "Pasted profile" : name);
    }
  }

  async function attempt(action) {
    strobe.app.busy("Opening…");
    await strobe.app.attempt("Open", action);
    strobe.app.busy("");
  }

  function acceptDrops() {
    const root = document.documentElement;
    let depth = 0;
    const mark = change => {
      depth = Math.max(0, depth + change);
      root.classList.toggle("dropping", depth > 0);
    };
    addEventListener("dragenter", event => {
      event.preventDefault();
      mark(1);
    });
    addEventListener("dragover", event => event.preventDefault());
    addEventListener("dragleave", () => mark(-1));
    addEventListener("drop", event => {
      event.preventDefault();
      depth = 0;
      mark(0);
      const file = event.dataTransfer?.files?.[0];
      const text = event.dataTransfer?.getData("text/plain");
      if (file) {
        attempt(async () => openText(file.name, await file.text()));
      } else if (text && strobe.server.isThere && /^(file:\/\/|\/)\S*$/.test(text.trim())) {
        attempt(() => openPath(text.trim()));
      } else if (text) {
        attempt(() => openText("pasted", text));
      }
    });
  }

  return { start };
})();
