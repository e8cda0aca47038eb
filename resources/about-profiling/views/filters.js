/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The row above the views: the search and the filters.
strobe.filters = (() => {
  const { state, format, timeWindow } = strobe;
  const { element, button, byId, setText } = strobe.dom;
  const KIND_NAMES = ["Functions of scripts", "Built-in functions", "Native code", "Of unknown kind"];
  // A person types several letters. If a search is slow, it waits for the next letter, for this many ms at most.
  const TYPING_PAUSE = 120;
  // A person does not notice a delay of this many ms.
  const UNNOTICED = 16;
  // The greatest rounding error of a time, in ms.
  const ROUNDED = 1e-6;

  let typing = 0;
  // How long the last search took, in ms.
  let searchTime = 0;

  function start() {
    const search = byId("search");
    search.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(applySearch, searchTime < UNNOTICED ? 0 : Math.min(searchTime, TYPING_PAUSE));
    });
    search.addEventListener("keydown", event => {
      if (event.key === "Enter") {
        applySearch();
        selectHeaviestMatch();
      } else if (event.key === "Escape" && search.value) {
        event.stopPropagation();
        search.value = "";
        applySearch();
      }
    });
    byId("clear-search").addEventListener("click", () => {
      search.value = "";
      applySearch();
      search.focus();
    });
    byId("search-filters").addEventListener("change", event => {
      state.change({ searchFilters: event.target.checked }, "search");
    });
    byId("show-idle").addEventListener("change", event => {
      state.change({ filters: { ...state.filters, idle: event.target.checked } }, "totals");
    });
    byId("clear-range").addEventListener("click", () => {
      strobe.timeAxis.clearRange();
      // The button goes, and its focus with it.
      byId("lanes").focus({ preventScroll: true });
    });
    byId("zoom-range").addEventListener("click", () => strobe.timeAxis.zoomToRange());
    byId("select-visible").addEventListener("click", () => strobe.timeAxis.countVisible());
    byId("reset-filters").addEventListener("click", reset);
    strobe.menu.attach(byId("kinds-button"), byId("kinds-panel"), fillKinds);
    strobe.menu.attach(byId("realms-button"), byId("realms-panel"), fillRealms);
    strobe.menu.attach(byId("origins-button"), byId("origins-panel"), fillOrigins);
    state.listeners.push(refresh);
  }

  function applySearch() {
    clearTimeout(typing);
    const text = byId("search").value;
    if (text !== state.search) {
      const before = performance.now();
      state.change({ search: text }, "search");
      state.flush();
      searchTime = performance.now() - before;
    }
  }

  function searchFor(text) {
    byId("search").value = text;
    applySearch();
  }

  function selectHeaviestMatch() {
    state.flush();
    const { matches, totals } = state;
    let best = -1;
    let most = 0;
    matches?.forEach((isMatch, func) => {
      if (isMatch && totals.functionTotal[func] > most) {
        most = totals.functionTotal[func];
        best = func;
      }
    });
    if (best >= 0) {
      state.select(best);
    }
  }

  function reset() {
    byId("search").value = "";
    state.change({ search: "", range: null, filters: state.nothingLeftOut() }, "tree", "range", "search", "totals");
  }

  // A list of boxes. `set` gets a function that decides for each entry, and whether it was ticked, whether it is
  // ticked now.
  function fillChoices(panel, title, entries, set) {
    const boxes = entries.map(entry => {
      const box = element("input", { type: "checkbox" });
      box.checked = entry.isOn;
      box.addEventListener("change", () => set((other, isOn) => (other === entry ? box.checked : isOn)));
      return box;
    });
    const apply = choice => {
      set(choice);
      entries.forEach((entry, i) => { boxes[i].checked = choice(entry, boxes[i].checked); });
    };
    panel.replaceChildren(
      element("div", { class: "panel-head" },
        element("strong", { text: title }),
        button("All", () => apply(() => true), { class: "small" })),
      element("ul", { class: "choices" }, ...entries.map((entry, i) => (
        element("li", { data: { name: entry.name } },
          element("label", { title: entry.name }, boxes[i], element("span", { text: entry.name })),
          button("only", () => apply(other => other === entry), { class: "quiet only", "aria-label": `Only ${entry.name}` }))
      ))));
  }

  function fillKinds(panel) {
    const entries = KIND_NAMES.map((name, kind) => ({ name, kind, isOn: (state.filters.kinds >> kind & 1) === 1 }));
    fillChoices(panel, "Frames", entries, choice => {
      let kinds = 0;
      for (const entry of entries) {
        kinds |= choice(entry, (state.filters.kinds >> entry.kind & 1) === 1) ? 1 << entry.kind : 0;
      }
      state.change({ filters: { ...state.filters, kinds } }, "tree");
    });
  }

  function fillRealms(panel) {
    const { recording } = state;
    const entries = [...recording.realms.map(({ url }, realm) => ({ name: url, realm })),
      { name: "not recorded", realm: recording.realms.length }];
    for (const entry of entries) {
      entry.isOn = state.filters.realms[entry.realm] === 1;
    }
    fillChoices(panel, "Realms", entries, choice => {
      const realms = state.filters.realms.map((isOn, realm) => Number(choice(entries[realm], isOn === 1)));
      state.change({ filters: { ...state.filters, realms } }, "tree");
    });
  }

  function fillOrigins(panel) {
    const origins = [...new Set(state.recording.realms.map(({ origin }) => origin))];
    const entries = origins.map(origin => ({
      name: origin ?? "opaque origins", origin, isOn: state.filters.origins.get(origin) !== false,
    }));
    fillChoices(panel, "Origins", entries, choice => {
      const chosen = new Map(entries.map(entry => (
        [entry.origin, choice(entry, state.filters.origins.get(entry.origin) !== false)]
      )));
      state.change({ filters: { ...state.filters, origins: chosen } }, "tree");
    });
  }

  function refresh(changed) {
    const { recording, filters, totals, range, search } = state;
    if (!recording) {
      return;
    }
    if (["recording", "range", "window"].some(name => changed.has(name))) {
      sayWhatCounts();
    }
    if (!["recording", "tree", "totals", "range", "search"].some(name => changed.has(name))) {
      return;
    }
    if (changed.has("recording")) {
      byId("search").value = "";
      byId("realms-button").disabled = recording.realms.length === 0;
      byId("origins-button").disabled = recording.realms.length === 0;
    }
    byId("clear-search").hidden = !search;
    byId("search-filters").checked = state.searchFilters;
    byId("show-idle").checked = filters.idle;
    const leftOut = (values, one) => {
      const count = [...values].filter(value => !value).length;
      return count ? `${one} (−${count})` : one;
    };
    setLabel("kinds-button", leftOut(KIND_NAMES.map((_, kind) => filters.kinds >> kind & 1), "Frames"));
    setLabel("realms-button", leftOut(filters.realms, "Realms"));
    setLabel("origins-button", leftOut(filters.origins.values(), "Origins"));
    const shown = byId("shown");
    setText(shown, `${format.count(totals.samples.shown)} of ${format.plural(recording.weight, "sample", "samples")}` +
      ` · ${format.duration(totals.shown * recording.interval)}`);
    shown.dataset.shown = totals.samples.shown;
    shown.dataset.all = recording.weight;
    const isFiltered = search || range || filters.idle || !filters.loops.every(Boolean) || !state.everyRealm()
      || filters.kinds !== strobe.recording.ALL_KINDS;
    byId("reset-filters").disabled = !isFiltered;
  }

  // Zooming does not change which time counts. If the time on the screen differs from the time that counts, the page
  // names both, and offers buttons that make them equal.
  function sayWhatCounts() {
    const { range, window } = state;
    const counted = range ?? state.bounds();
    const differs = counted.some((time, i) => Math.abs(time - window[i]) > ROUNDED);
    const note = byId("range");
    note.classList.toggle("differs", differs);
    const length = range && !differs ? ` (${format.duration(timeWindow.span(range))})` : "";
    setText(byId("range-text"), `Counted: ${range ? stretch(range) : "all of the time"}${length}` +
      `${differs ? ` · on the screen: ${stretch(window)}` : ""}`);
    byId("select-visible").hidden = !differs;
    byId("zoom-range").hidden = !differs || !range;
    byId("clear-range").hidden = !range;
  }

  // A stretch of time, counted from the beginning of the recording.
  function stretch([from, to]) {
    const zero = state.bounds()[0];
    return `${format.duration(from - zero)} – ${format.duration(to - zero)}`;
  }

  function setLabel(id, text) {
    const one = byId(id);
    setText(one.firstElementChild, text);
    one.classList.toggle("active", text.includes("(−"));
  }

  return { start, searchFor };
})();
