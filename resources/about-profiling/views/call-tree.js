/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The call tree: from the roots to their callees, and inverted, from the functions that samples ended in to their callers.
strobe.callTree = (() => {
  const { state } = strobe;
  const { TreeGrid, fillWeight, weightColumns, fillFunction } = strobe.treeGrid;

  let topDown, bottomUp;
  // The data that the grids were last filled with.
  const filled = { topDown: null, bottomUp: null };

  function start() {
    const { open } = strobe.functionMenu;
    topDown = new TreeGrid(
      document.getElementById("call-tree"), "Call tree", node => state.selectNode(node),
      (event, node) => open(event, { func: state.nodes.func[node], node }));
    bottomUp = new TreeGrid(document.getElementById("bottom-up"), "Bottom-up tree", row => {
      // Only for a root row are the row's samples those that ended in the function. So the function is selected, and
      // not a node.
      state.select(row.func);
    }, (event, row) => open(event, { func: row.func }));
    state.listeners.push(refresh);
  }

  const COLUMNS = [
    ...weightColumns("total", "Total"), ...weightColumns("self", "Self"),
    { id: "name", title: "Function", className: "tree" },
  ];

  // The rows are nodes.
  function topDownModel() {
    const { totals, nodes, recording } = state;
    return {
      columns: COLUMNS,
      roots: () => strobe.totals.children(totals, -1),
      children: node => strobe.totals.children(totals, node),
      hasChildren: node => strobe.totals.hasChildren(totals, node),
      key: node => nodes.func[node],
      fill(node, cells, row, depth) {
        const id = nodes.func[node];
        const { samples } = totals;
        setFacts(row, id, samples.self[node], samples.total[node]);
        fillWeight(cells, 0, totals.total[node], samples.total[node]);
        fillWeight(cells, 3, totals.self[node], samples.self[node]);
        fillFunction(cells[6], id, depth, strobe.lines.summary(recording, strobe.lines.callsOfNode(totals, node), 2));
      },
    };
  }

  // The rows are those of `invertedRoots`.
  function bottomUpModel() {
    const { totals } = state;
    return {
      columns: [...weightColumns("self", "Self"), ...weightColumns("total", "Total"), COLUMNS[6]],
      roots: () => strobe.totals.invertedRoots(totals),
      children: row => strobe.totals.invertedChildren(totals, row),
      hasChildren: row => strobe.totals.hasInvertedChildren(totals, row),
      key: row => row.func,
      fill(row, cells, element, depth) {
        setFacts(element, row.func, row.samples, row.totalSamples);
        fillWeight(cells, 0, row.weight, row.samples);
        fillWeight(cells, 3, row.total, row.totalSamples);
        fillFunction(cells[6], row.func, depth);
      },
    };
  }

  // For programs that read the page.
  function setFacts(row, id, self, total) {
    const { setAttribute } = strobe.dom;
    setAttribute(row, "data-name", state.recording.functions.labels[id]);
    setAttribute(row, "data-place", state.recording.functions.place(id));
    setAttribute(row, "data-self", self);
    setAttribute(row, "data-total", total);
  }

  function refresh(changed) {
    if (changed.has("recording")) {
      filled.topDown = filled.bottomUp = null;
    }
    if (!state.recording) {
      return;
    }
    if (state.tab === "call-tree") {
      refreshTree("topDown", topDown, topDownModel, changed, revealNode);
    } else if (state.tab === "bottom-up") {
      refreshTree("bottomUp", bottomUp, bottomUpModel, changed, revealRoot);
    }
  }

  function refreshTree(name, grid, makeModel, changed, reveal) {
    const isStale = filled[name] !== state.totals;
    if (isStale) {
      grid.setModel(makeModel(), filled[name] !== null);
      filled[name] = state.totals;
    }
    if (isStale || changed.has("selection") || changed.has("tab")) {
      reveal();
    } else if (changed.has("size") || changed.has("theme") || changed.has("search")) {
      grid.render();
    }
  }

  function revealNode() {
    const { selection: { node }, nodes, totals } = state;
    if (node >= 0 && totals.total[node] > 0) {
      topDown.reveal(strobe.callNodes.path(nodes, node).map(step => nodes.func[step]));
    } else {
      topDown.unmark();
    }
  }

  function revealRoot() {
    const { func } = state.selection;
    const current = document.activeElement === document.getElementById("bottom-up");
    if (func < 0 || !state.totals.functionSelf[func]) {
      bottomUp.unmark();
    } else if (!current) {
      bottomUp.reveal([func]);
    } else {
      bottomUp.render();
    }
  }

  return { start, setFacts };
})();
