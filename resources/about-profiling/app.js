/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The page as a whole: its two views, the tabs of a recording, errors, keys, and where recordings come from.
strobe.app = (() => {
  const { state } = strobe;
  const { byId } = strobe.dom;
  const root = document.documentElement;
  const TABS = ["flame-chart", "flame-graph", "call-tree", "bottom-up", "sources"];
  // In CSS pixels. In narrower windows the details are below the views, and are hidden at first.
  const WIDE = 1000;
  // The keys of the time line and the flame graph that have no other meaning in any view.
  const ZOOM_KEYS = ["0", "+", "=", "-", "s", "z"];

  function start() {
    for (const part of [
      strobe.timeline, strobe.flameChart, strobe.flameGraph, strobe.differenceLegend, strobe.callTree, strobe.sourceList,
      strobe.sourceView, strobe.details, strobe.functionMenu, strobe.filters, strobe.save, strobe.open, strobe.splitter, strobe.help,
    ]) {
      part.start();
    }
    for (const one of document.querySelectorAll(".needs-server")) {
      one.hidden = !strobe.server.isThere;
    }
    root.dataset.server = strobe.server.isThere ? "yes" : "no";
    byId("show-recorder-label").textContent = strobe.server.isThere ? "Recorder" : "Open";
    byId("show-recorder").addEventListener("click", () => showView("recorder"));
    byId("show-recording").addEventListener("click", () => showView("recording"));
    byId("toggle-details").addEventListener("click", toggleDetails);
    byId("dismiss-error").addEventListener("click", clearErrors);
    byId("dismiss-notices").addEventListener("click", () => tell([]));
    for (const tab of TABS) {
      byId(`tab-${tab}`).addEventListener("click", () => showTab(tab));
    }
    byId("tabs").addEventListener("keydown", tabKey);
    state.listeners.push(changed => {
      if (changed.has("recording")) {
        byId("save-button").disabled = state.id === null;
        // Then both columns would have the same figures.
        root.classList.toggle("samples-are-ms", state.recording?.interval === 1 && !state.recording.isTimed);
      }
    });
    addEventListener("keydown", key);
    addEventListener("hashchange", followAddress);
    strobe.theme.onChange(() => state.change({}, "theme"));
    new ResizeObserver(() => state.change({}, "size")).observe(byId("views"));
    new ResizeObserver(() => state.change({}, "size")).observe(byId("timeline"));
    setDetails(innerWidth >= WIDE);
    showTab(state.tab);
    showView("recorder");
    strobe.recorder.start();
    const embedded = byId("recording");
    if (embedded) {
      attempt("Open", () => openText(embedded.textContent, embedded.dataset.name || "Recording"));
    } else {
      followAddress();
    }
  }

  // Shows the recording that the address names, as in about:profiling#recording=1, or the recorder.
  function followAddress() {
    if (!strobe.server.isThere) {
      return;
    }
    const parameters = new URLSearchParams(location.hash.slice(1) || location.search.slice(1));
    const id = parameters.get("recording");
    if (!id) {
      showView("recorder");
    } else if (id !== state.id) {
      attempt("Open", () => openFromServer(id));
    } else {
      showView("recording");
    }
  }

  // Puts what is shown into the address, so that it is shown again when the page is reloaded.
  function nameInAddress(id) {
    const fragment = `#${new URLSearchParams({ recording: id })}`;
    if (location.hash !== fragment) {
      location.hash = fragment;
    }
  }

  // Does something that may fail, and says what it was if it does.
  async function attempt(what, action) {
    try {
      await action();
    } catch (error) {
      fail(`${what}: ${error.message}`);
    }
  }

  async function openFromServer(id) {
    busy("Loading…");
    try {
      const text = await strobe.server.recordingText(id);
      openText(text, await strobe.recorder.nameOf(id), id);
      nameInAddress(id);
    } finally {
      busy("");
    }
  }

  // Shows the recording in a text, which is viewer data or a web trace, as JSON.
  function openText(text, name, id = null) {
    const before = performance.now();
    delete root.dataset.ready;
    let data;
    try {
      data = JSON.parse(text);
    } catch (error) {
      throw new Error(`this is not JSON: ${error.message}`);
    }
    const recording = strobe.recording.decode(data, name);
    const decoded = performance.now();
    clearErrors();
    tell([]);
    byId("recording-name").textContent = name;
    byId("show-recording").disabled = false;
    showView("recording");
    state.show(recording, id);
    if (recording.isComparison) {
      showTab("flame-graph");
    }
    state.flush();
    requestAnimationFrame(() => {
      // This runs after the first frame has been drawn.
      setTimeout(() => {
        root.dataset.decodeMs = Math.round(decoded - before);
        root.dataset.loadMs = Math.round(performance.now() - before);
        root.dataset.samples = recording.weight;
        root.dataset.ready = "";
      }, 0);
    });
  }

  // The recording that is shown may be gone from the server; it stays on the screen, but cannot be saved.
  function forgotten(id) {
    if (state.id === id) {
      state.id = null;
      byId("save-button").disabled = true;
    }
  }

  function view() {
    return root.dataset.view;
  }

  function showView(name) {
    strobe.menu.close();
    strobe.tip.hide();
    root.dataset.view = name;
    byId("recorder").hidden = name !== "recorder";
    byId("recording-view").hidden = name !== "recording";
    for (const one of ["recorder", "recording"]) {
      byId(`show-${one}`).setAttribute("aria-current", one === name ? "page" : "false");
    }
    byId("save").hidden = !strobe.server.isThere || name !== "recording";
    if (name === "recorder") {
      strobe.recorder.poll();
    } else {
      state.change({}, "size");
    }
  }

  function showTab(name) {
    strobe.tip.hide();
    for (const tab of TABS) {
      const isShown = tab === name;
      byId(`tab-${tab}`).setAttribute("aria-selected", isShown);
      byId(`tab-${tab}`).tabIndex = isShown ? 0 : -1;
      byId(`panel-${tab}`).hidden = !isShown;
    }
    root.dataset.tab = name;
    state.change({ tab: name }, "tab");
  }

  function tabKey(event) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = TABS[(TABS.indexOf(state.tab) + step + TABS.length) % TABS.length];
      showTab(next);
      byId(`tab-${next}`).focus();
    }
  }

  function setDetails(areShown) {
    byId("details-panel").hidden = !areShown;
    byId("details-splitter").hidden = !areShown;
    byId("toggle-details").setAttribute("aria-pressed", areShown);
    root.classList.toggle("with-details", areShown);
  }

  function toggleDetails() {
    setDetails(byId("details-panel").hidden);
    state.change({}, "size");
  }

  function key(event) {
    if (event.key === "Escape") {
      escape(event);
      return;
    }
    const isTyping = event.target.matches?.("input[type=text], input[type=search], textarea");
    if (isTyping || event.ctrlKey || event.altKey || event.metaKey || strobe.help.isOpen() || event.defaultPrevented) {
      return;
    }
    if (event.key === "?") {
      event.preventDefault();
      strobe.help.open();
      return;
    }
    if (view() !== "recording" || !state.recording) {
      return;
    }
    const tab = TABS[Number(event.key) - 1];
    if (tab) {
      event.preventDefault();
      showTab(tab);
      focusView();
    } else if (event.key === "/") {
      event.preventDefault();
      byId("search").focus();
      byId("search").select();
    } else if (event.key === "d") {
      event.preventDefault();
      toggleDetails();
    } else if (event.key === "m") {
      event.preventDefault();
      strobe.functionMenu.openForSelection();
    } else if (event.key === "h" && state.tab === "sources") {
      event.preventDefault();
      strobe.sourceView.toHottest();
    } else if (ZOOM_KEYS.includes(event.key)) {
      // The keys work wherever the focus is. The element that had the focus may be gone, such as the button
      // beside a time range.
      (state.tab === "flame-graph" ? strobe.flameGraph : strobe.timeAxis).key(event);
    }
  }

  // The element that gets the keys of a tab.
  function focusView() {
    byId(`panel-${state.tab}`).querySelector("[tabindex='0']")?.focus({ preventScroll: true });
  }

  function escape(event) {
    if (strobe.help.close() || strobe.menu.close(true)) {
      event.preventDefault();
    } else if (event.target.id === "search") {
      focusView();
    } else if (state.recording && view() === "recording") {
      if (state.range) {
        strobe.timeAxis.clearRange();
      } else {
        state.clearSelection();
      }
    }
  }

  function fail(message) {
    byId("error-text").textContent = message;
    byId("error").hidden = false;
  }

  function clearErrors() {
    byId("error").hidden = true;
    byId("error-text").textContent = "";
  }

  // What the recording that is shown was to have and does not have, as sentences.
  function tell(notices) {
    byId("notices-text").textContent = notices.join("\n");
    byId("notices").hidden = notices.length === 0;
  }

  function busy(text) {
    byId("busy").textContent = text;
    root.classList.toggle("busy", text !== "");
  }

  return { TABS, start, view, showTab, focusView, attempt, openFromServer, openText, forgotten, fail, clearErrors, tell, busy };
})();

strobe.app.start();
