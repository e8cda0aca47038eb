/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The menu that saves the recording that is shown. The browser writes the file.
strobe.save = (() => {
  const { state } = strobe;
  const { element, byId } = strobe.dom;
  const FORMATS = [
    ["firefox", "Firefox Profiler", "opens at profiler.firefox.com"],
    ["speedscope", "speedscope", "all event loops"],
    ["cpuprofile", "cpuprofile", "Chrome's developer tools, one event loop"],
    ["collapsed", "Collapsed stacks", "for flame graph scripts"],
    ["trace", "Web trace", "as a page gets it, one event loop"],
    ["html", "HTML", "this viewer in one file"],
  ];

  function start() {
    byId("save").hidden = !strobe.server.isThere;
    strobe.menu.attach(byId("save-button"), byId("save-panel"), fill);
  }

  function fill(panel) {
    const path = element("input", {
      type: "text", id: "save-path", autocomplete: "off", spellcheck: "false", "aria-describedby": "save-path-hint",
    });
    const loop = onlyLoop();
    const result = element("p", { class: "result", id: "save-result", role: "status" });
    panel.replaceChildren(
      element("div", { class: "panel-head" }, element("strong", { text: "Save as" })),
      element("ul", { class: "formats" }, ...FORMATS.map(([format, name, what]) => (
        element("li", {}, element("button", {
          type: "button", id: `save-${format}`, on: { click: () => save(format, path.value.trim(), result) },
        }, element("span", { class: "name", text: name }), element("span", { class: "more", text: what })))
      ))),
      element("label", { for: "save-path", text: "Path (optional)" }), path,
      element("p", { class: "quiet-text", id: "save-path-hint", text: "Without a path: a new file in your downloads folder." }),
      loop === null ? "" : element("p", {
        class: "quiet-text", text: `Formats of one event loop: ${state.recording.loops[loop].label}.`,
      }),
      result);
  }

  // The event loop that is shown alone.
  function onlyLoop() {
    const shown = [...state.filters.loops.keys()].filter(state.isLoopShown);
    return shown.length === 1 && state.recording.loops.length > 1 ? shown[0] : null;
  }

  async function save(format, path, result) {
    result.className = "result";
    result.textContent = "Saving…";
    try {
      const answer = await strobe.server.save(state.id, format, path, onlyLoop());
      result.textContent = `Saved as ${answer.path}`;
      result.dataset.path = answer.path;
    } catch (error) {
      result.className = "result failed";
      result.textContent = error.message;
    }
  }

  return { start };
})();
