/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The source list: each script with its functions, and how many samples they have. The text of the script that is
// chosen here is shown beside it.
strobe.sourceList = (() => {
  const { state, format } = strobe;
  const { element, setText, setMarked, setAttribute } = strobe.dom;
  const { TreeGrid, fillWeight, weightColumns, fillFunction } = strobe.treeGrid;

  let grid;
  let filledFrom = null;
  let order = { by: "self", ascending: false };

  function start() {
    grid = new TreeGrid(document.getElementById("sources"), "Sources and their functions", row => {
      if (row.func >= 0) {
        state.select(row.func);
      }
      strobe.sourceView.choose(row.resource);
    }, (event, row) => strobe.functionMenu.open(event, row));
    state.listeners.push(refresh);
  }

  // A row is a resource ({ resource, func: -1 }) or a function of one.
  function model() {
    const { totals, nodes, recording: { functions } } = state;
    const { samples } = totals;
    const ofResource = new Map();
    totals.functionTotal.forEach((total, func) => {
      if (total > 0) {
        const resource = nodes.resourceOf[func];
        const row = {
          resource, func, self: totals.functionSelf[func], total,
          selfSamples: samples.functionSelf[func], totalSamples: samples.functionTotal[func],
        };
        insert(ofResource, resource, row);
      }
    });
    const rows = [...ofResource.keys()].map(resource => ({
      resource, func: -1, self: totals.resourceSelf[resource], total: totals.resourceTotal[resource],
      selfSamples: samples.resourceSelf[resource], totalSamples: samples.resourceTotal[resource],
    }));
    const nameOf = row => (row.func < 0 ? nodes.resourceNames[row.resource] : functions.labels[row.func]);
    const compare = (a, b) => {
      const difference = order.by === "name" ? nameOf(a).localeCompare(nameOf(b)) : a[order.by] - b[order.by];
      return (order.ascending ? difference : -difference) || a.resource - b.resource || a.func - b.func;
    };
    rows.sort(compare);
    for (const list of ofResource.values()) {
      list.sort(compare);
    }
    return {
      columns: columns(),
      roots: () => rows,
      children: row => ofResource.get(row.resource),
      hasChildren: row => row.func < 0,
      key: row => (row.func < 0 ? `r${row.resource}` : row.func),
      fill(row, cells, element) {
        fillWeight(cells, 0, row.self, row.selfSamples);
        fillWeight(cells, 3, row.total, row.totalSamples);
        if (row.func >= 0) {
          strobe.callTree.setFacts(element, row.func, row.selfSamples, row.totalSamples);
          becomes(cells[6], "function");
          fillFunction(cells[6], row.func);
        } else {
          setAttribute(element, "data-name", nodes.resourceNames[row.resource]);
          setAttribute(element, "data-place", "");
          setAttribute(element, "data-self", row.selfSamples);
          setAttribute(element, "data-total", row.totalSamples);
          becomes(cells[6], "resource");
          // The names after those of the scripts are names of groups, which the search does not cover.
          const isScript = row.resource < state.recording.resources.length;
          const functionCount = ofResource.get(row.resource).length;
          const url = nodes.resourceNames[row.resource];
          const name = scriptName(state.recording, row.resource, url);
          fillResource(cells[6], { name, url }, functionCount, isScript ? state.wanted() : "");
        }
      },
    };
  }

  // A cell may be used again for a row of another kind. Its content is removed then.
  function becomes(cell, kind) {
    if (cell.dataset.kind !== kind) {
      cell.dataset.kind = kind;
      cell.replaceChildren();
    }
  }

  function insert(map, key, value) {
    if (!map.has(key)) {
      map.set(key, []);
    }
    map.get(key).push(value);
  }

  // The short name of a script: the name of its file, with a line if the script is in a document.
  function scriptName(recording, resource, url) {
    const line = recording.sources.get(resource)?.line ?? 1;
    return format.place(format.fileName(url), line > 1 ? line : 0, 0);
  }

  function fillResource(cell, { name, url }, functionCount, wanted) {
    if (!cell.firstChild) {
      cell.append(...["name file", "place", "place url"].map(name => element("span", { class: name })));
    }
    const [file, count, whole] = cell.children;
    setMarked(file, name, wanted);
    setText(count, format.plural(functionCount, "function", "functions"));
    setMarked(whole, url === name ? "" : url, wanted);
    setAttribute(cell.parentNode, "title", url);
  }

  function columns() {
    const sorted = id => (order.by !== id ? undefined : order.ascending ? "ascending" : "descending");
    const sortBy = id => () => {
      order = { by: id, ascending: order.by === id ? !order.ascending : id === "name" };
      filledFrom = null;
      state.change({}, "size");
    };
    const weights = (id, title) => weightColumns(id, title).map((column, i) => (
      // Only one of the two columns is shown at a time, so each has the whole title.
      i > 0 ? { ...column, title: `${title} ${i === 1 ? "ms" : "%"}`, sort: sortBy(id), sorted: sorted(id) } : column
    ));
    return [
      ...weights("self", "Self"), ...weights("total", "Total"),
      { id: "name", title: "Source and function", className: "tree", sort: sortBy("name"), sorted: sorted("name") },
    ];
  }

  function refresh(changed) {
    if (changed.has("recording")) {
      filledFrom = null;
    }
    if (!state.recording || state.tab !== "sources") {
      return;
    }
    const isStale = filledFrom !== state.totals;
    if (isStale) {
      grid.setModel(model(), true);
      filledFrom = state.totals;
    }
    const { func } = state.selection;
    if (func >= 0 && state.totals.functionTotal[func] > 0 && (isStale || changed.has("selection") || changed.has("tab"))) {
      grid.reveal([`r${state.nodes.resourceOf[func]}`, func]);
    } else if (func < 0 && changed.has("selection")) {
      grid.unmark();
    } else {
      grid.render();
    }
  }

  return { start, scriptName };
})();
