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
    ["speedscope-lines", "speedscope with lines", "a frame for each line of a function"],
    ["cpuprofile", "cpuprofile", "Chrome's developer tools"],
    ["collapsed", "Collapsed stacks", "for flame graph scripts"],
    ["collapsed-lines", "Collapsed stacks with lines", "the same, with a line number for each function"],
    ["pprof", "pprof", "for go tool pprof"],
    ["trace", "Web trace", "as a page gets it"],
    ["html", "HTML", "this viewer in one file"],
  ];
  // A file holds one event loop.
  const OF_ONE_LOOP = ["cpuprofile", "trace"];

  function start() {
    byId("save").hidden = !strobe.server.isThere;
    strobe.menu.attach(byId("save-button"), byId("save-panel"), fill);
  }

  function fill(panel) {
    const path = element("input", {
      type: "text", id: "save-path", autocomplete: "off", spellcheck: "false", "aria-describedby": "save-path-hint",
    });
    const sampled = sampledLoops();
    const result = element("p", { class: "result", id: "save-result", role: "status" });
    panel.replaceChildren(
      element("div", { class: "panel-head" }, element("strong", { text: "Save as" })),
      element("ul", { class: "formats" }, ...FORMATS.map(([format, name, what]) => (
        element("li", {}, element("button", {
          type: "button", id: `save-${format}`,
          on: { click: () => save(format, path.value.trim(), chosenLoop(panel), result) },
        }, element("span", { class: "name", text: name }), element("span", { class: "more", text: what })))
      ))),
      sampled.length > 1 ? loopChoice(sampled) : "",
      element("label", { for: "save-path", text: "Path (optional)" }), path,
      element("p", { class: "quiet-text", id: "save-path-hint", text: "Without a path: a new file in your downloads folder." }),
      result);
  }

  // A choice of all event loops or one of them. If only one is shown, it is chosen at first.
  function loopChoice(sampled) {
    const shown = [...state.filters.loops.keys()].filter(state.isLoopShown);
    const only = shown.length === 1 && sampled.includes(shown[0]) ? shown[0] : null;
    const radio = (value, text) => {
      const box = element("input", { type: "radio", name: "save-loop", value });
      box.checked = value === String(only ?? "all");
      return element("li", {}, element("label", { title: text }, box, element("span", { text })));
    };
    return element("fieldset", { id: "save-loops" },
      element("legend", { text: "Event loops" }),
      element("ul", { class: "choices" },
        radio("all", "All (in cpuprofile and Web trace, a file for each)"),
        ...sampled.map(l => radio(String(l), state.recording.loops[l].label))));
  }

  // Null for all event loops.
  function chosenLoop(panel) {
    const value = panel.querySelector("input[name=save-loop]:checked")?.value ?? "all";
    return value === "all" ? null : Number(value);
  }

  // The event loops with samples, the one with the most stacks first.
  function sampledLoops() {
    const stacks = ({ sampleStack, sampleWeight }) => (
      sampleStack.reduce((sum, stack, i) => sum + (stack < 0 ? 0 : sampleWeight?.[i] ?? 1), 0));
    const loops = state.recording.loops.filter(({ sampleCount }) => sampleCount > 0);
    const order = loops.map(loop => [loop.index, stacks(loop)]).sort(([, a], [, b]) => b - a);
    return order.map(([index]) => index);
  }

  async function save(format, path, loop, result) {
    const sampled = sampledLoops();
    const loops = loop === null && OF_ONE_LOOP.includes(format) && sampled.length > 1 ? sampled : [loop];
    const saved = [];
    result.className = "result";
    result.textContent = "Saving…";
    let failed = "";
    try {
      for (const [i, one] of loops.entries()) {
        const answer = await strobe.server.save(state.id, format, path && sibling(path, i), one);
        saved.push(answer.path);
      }
    } catch (error) {
      result.className = "result failed";
      failed = error.message;
    }
    const where = saved.length ? `Saved as ${saved.join(", ")}` : "";
    result.textContent = [where, failed].filter(Boolean).join("; then: ");
  }

  // a.cpuprofile, a-2.cpuprofile and so on, as the command `strobe profile` names them.
  function sibling(path, index) {
    if (index === 0) {
      return path;
    }
    const [, folder, stem, extension] = /^(.*\/)?([^/]+?)(\.[^/]*)?$/s.exec(path) ?? [null, "", path, ""];
    return `${folder ?? ""}${stem}-${index + 1}${extension ?? ""}`;
  }

  return { start };
})();
