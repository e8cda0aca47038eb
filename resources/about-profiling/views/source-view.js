/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The text of a script, with the samples of each line in the margin. If the recording has no text, only the lines that
// have samples are listed. When a function is selected in another view, this view goes to the function's hottest line.
strobe.sourceView = (() => {
  const { state, format } = strobe;
  const { element, byId, setText, setAttribute } = strobe.dom;
  const { TreeGrid } = strobe.treeGrid;
  // There is room for at least this many characters of a line's number.
  const LEAST_LABEL = 4;
  // The width of a digit in the margin, in CSS pixels.
  const DIGIT_WIDTH = 7.3;

  let grid;
  // The script to show: { resource, text, rows, rowOfPlace, widest, longestLabel, problem }, `text` undefined until it
  // is known.
  let script = null;
  // What is in the grid: { script, totals, unit, figures, places }, with the samples of the script's rows and of its places.
  let view = null;
  // Where to go as soon as there are rows: { func }, { place } or { hottest: true }.
  let target = null;
  // The function that was selected in this view. The view does not go to its hottest line.
  let ownFunction = -1;
  // Whether the selection has changed since the view went to it.
  let isSelectionNew = false;
  let unit = "ms";
  // What the cells with text show.
  const shown = new WeakMap();

  function start() {
    grid = new TreeGrid(byId("source-text"), "Lines of the script", chooseRow, (event, row) => (
      strobe.functionMenu.open(event, { func: functionsAt(row)[0] ?? -1, resource: view.script.resource })));
    byId("to-hottest").addEventListener("click", toHottest);
    byId("source-unit").addEventListener("click", () => {
      unit = unit === "ms" ? "%" : "ms";
      state.change({}, "size");
    });
    state.listeners.push(refresh);
  }

  // Shows a script, by the index of its group of functions, at its hottest line.
  function choose(resource) {
    if (resource !== script?.resource) {
      open(resource);
      target ??= { hottest: true };
      state.change({}, "size");
    }
  }

  function open(resource) {
    const { recording } = state;
    const opened = { resource, text: undefined, rows: [], rowOfPlace: null, widest: 0, longestLabel: 0, problem: "" };
    script = opened;
    const take = source => {
      opened.text = source?.text ?? null;
      const places = strobe.lines.places(recording);
      const { rows, widest } = strobe.sourceRows.rowsOf(source, strobe.lines.ofResource(recording, resource), places);
      Object.assign(opened, { rows, widest, rowOfPlace: new Int32Array(places.count).fill(-1) });
      rows.forEach((row, i) => row.places.forEach(place => { opened.rowOfPlace[place] = i; }));
      opened.longestLabel = rows.reduce((most, row) => Math.max(most, rowLabel(row).length), LEAST_LABEL);
      document.querySelector("#source-text .tree-scroller").scrollLeft = 0;
      state.change({}, "size");
    };
    if (resource >= recording.resources.length) {
      take(null);
      return;
    }
    strobe.sourceText(recording, resource).then(take, error => {
      opened.problem = error.message;
      take(null);
    });
  }

  // Shows the line of a place, in this view.
  function showPlace(place) {
    open(state.nodes.resourceOf[strobe.lines.places(state.recording).func[place]]);
    target = { place };
    strobe.app.showTab("sources");
  }

  function toHottest() {
    target = { hottest: true };
    state.change({}, "size");
    byId("source-text").focus({ preventScroll: true });
  }

  function refresh(changed) {
    if (changed.has("recording")) {
      script = target = null;
      ownFunction = -1;
    }
    isSelectionNew ||= changed.has("selection");
    if (!state.recording || state.tab !== "sources") {
      return;
    }
    if (isSelectionNew) {
      isSelectionNew = false;
      followSelection();
    }
    if (!script) {
      open(hottestScript());
      target = { hottest: true };
    }
    if (script.text === undefined) {
      return;
    }
    if (view?.script !== script || view.totals !== state.totals || view.unit !== unit) {
      fill();
    }
    if (target) {
      goToTarget();
    } else {
      grid.render();
    }
  }

  function followSelection() {
    const { func } = state.selection;
    const isOwn = func === ownFunction;
    ownFunction = -1;
    if (func < 0 || isOwn || target?.place !== undefined || !(state.totals.functionTotal[func] > 0)) {
      return;
    }
    const resource = state.nodes.resourceOf[func];
    if (resource !== script?.resource) {
      open(resource);
    }
    target = { func };
  }

  function hottestScript() {
    const { resourceSelf, resourceTotal } = state.totals;
    const all = [...resourceSelf.keys()].slice(0, state.recording.resources.length);
    return all.sort((a, b) => resourceSelf[b] - resourceSelf[a] || resourceTotal[b] - resourceTotal[a])[0] ?? 0;
  }

  function fill() {
    const { totals } = state;
    const { rows, rowOfPlace } = script;
    const ofRows = strobe.lines.ofPlaces(totals, rowOfPlace, rows.length);
    const each = rowOfPlace.map((row, place) => (row < 0 ? -1 : place));
    const ofPlaces = strobe.lines.ofPlaces(totals, each, each.length);
    const most = list => list.reduce((a, b) => Math.max(a, b), 0);
    const figures = { ...ofRows, ofPlaces, mostSelf: most(ofRows.self), mostTotal: most(ofRows.total) };
    view = { script, totals, unit, figures, places: strobe.lines.places(totals.recording) };
    fillHead();
    const listed = [...rows.keys()].filter(i => rows[i].from !== undefined || figures.total[i] > 0);
    grid.setModel({
      columns: [
        { id: "line", title: rows.some(({ offset }) => offset >= 0) ? "Offset" : "Line", className: "number line" },
        { id: "self", title: `Self ${unit}`, className: "number" },
        { id: "total", title: `Total ${unit}`, className: "number" },
        { id: "heat", title: "Heat", className: "heat" },
        { id: "text", title: script.text === null ? "Functions" : "Text", className: "tree" },
      ],
      roots: () => listed,
      children: () => [],
      hasChildren: () => false,
      key: rowKey,
      fill: fillRow,
      nothing: rows.length ? undefined : "There are no lines to show.",
    }, true);
    const { style } = byId("source-text");
    style.setProperty("--text-width", `${script.widest + 4}ch`);
    style.setProperty("--line-width", `${Math.ceil(script.longestLabel * DIGIT_WIDTH)}px`);
  }

  function rowLabel({ line, last, column, offset }) {
    return offset >= 0 ? format.offset(offset) : last > 0 ? format.lines(line, last) : format.line(line, column);
  }

  function rowKey(i) {
    return `${script.resource}:${i}`;
  }

  function fillHead() {
    const { script: { resource, rows, text, problem }, totals, figures } = view;
    const { nodes, recording } = totals;
    const name = nodes.resourceNames[resource];
    setText(byId("source-name"), strobe.sourceList.scriptName(recording, resource, name));
    setAttribute(byId("source-name"), "title", name);
    setAttribute(byId("source-text"), "aria-label", `Lines of ${format.fileName(name)}`);
    const known = figures.self.reduce((sum, self) => sum + self, 0);
    const unknown = totals.resourceSelf[resource] - known;
    const isScript = resource < recording.resources.length;
    setText(byId("source-figures"), [
      `self ${figure(totals.resourceSelf[resource])}`, `total ${figure(totals.resourceTotal[resource])}`,
      ...unknown > 0 && known > 0 ? [`self at unknown lines ${figure(unknown)}`] : [],
    ].join(" · "));
    const hasLines = rows.some(({ places }) => places.length > 0);
    const notices = !isScript ? ["These functions are in no script."] : [
      ...problem ? [`The text of this script could not be read: ${problem}.`]
        : text === null ? ["The recording has no text of this script."] : [],
      ...hasLines ? text === null ? ["The lines that have samples are listed."] : []
        : ["It does not say which of its lines were running."],
    ];
    setText(byId("source-notice"), notices.join(" ").replace(/^It/, "The recording"));
    byId("source-notice").hidden = !notices.length;
    byId("to-hottest").disabled = figures.mostTotal === 0;
    setAttribute(byId("source-unit"), "aria-pressed", unit === "%");
    byId("source-panes").dataset.unit = unit === "%" ? "share" : "ms";
  }

  function figure(weight) {
    const { totals } = view;
    return unit === "%" ? format.percent(weight, totals.shown) : format.duration(weight * totals.recording.interval);
  }

  // The text of a cell, which is empty without samples.
  function cellFigure(weight) {
    const { totals: { shown: all, recording: { interval, step } } } = view;
    return !weight ? "" : unit === "%" ? format.percent(weight, all) : format.sampledTime(weight * interval, step);
  }

  function fillRow(i, cells, root) {
    const { script: { resource, rows }, totals: { recording: { functions } }, figures, places } = view;
    const row = rows[i];
    const { func } = state.selection;
    const [self, total] = [figures.self[i], figures.total[i]];
    const isOfSelection = func >= 0 && (row.places.some(place => places.func[place] === func)
      || (functions.resources[func] === resource && functions.lines[func] === row.line && row.last === 0 && row.column <= 1));
    setText(cells[0], rowLabel(row));
    setText(cells[1], cellFigure(self));
    setText(cells[2], cellFigure(total));
    fillHeat(cells[3], self, total);
    fillText(cells[4], row);
    root.classList.toggle("of-selection", isOfSelection);
    setAttribute(root, "aria-current", isOfSelection);
    setAttribute(root, "data-line", row.line);
    setAttribute(root, "data-self", self);
    setAttribute(root, "data-total", total);
    setAttribute(root, "title", functionsAt(i).map(id => functions.labels[id]).join("\n"));
  }

  // Shows the line's share of the hottest line's self time or, in a script that only calls others, of the largest
  // total.
  function fillHeat(cell, self, total) {
    if (!cell.firstChild) {
      cell.append(element("span", { class: "bar", "aria-hidden": "true" }));
    }
    const { mostSelf, mostTotal } = view.figures;
    const [weight, most] = mostSelf > 0 ? [self, mostSelf] : [total, mostTotal];
    const width = `${weight > 0 ? Math.max(4, (100 * weight) / most) : 0}%`;
    if (cell.firstChild.style.width !== width) {
      cell.firstChild.style.width = width;
    }
  }

  function fillText(cell, row) {
    const before = shown.get(cell);
    if (before?.row === row && before.view === view) {
      return;
    }
    shown.set(cell, { row, view });
    const { script: { text, rowOfPlace }, totals: { recording }, figures, places } = view;
    if (row.from === undefined) {
      const names = functionsAt(rowOfPlace[row.places[0]]).map(id => recording.functions.labels[id]);
      cell.className = "tree-content names";
      setText(cell, names.join(", "));
      return;
    }
    cell.className = "tree-content code";
    const cut = isCut => (isCut ? [element("span", { class: "cut", text: "…" })] : []);
    const pieces = strobe.sourceRows.piecesOf(text, row, places).map(({ text: piece, place }) => {
      const isHot = place >= 0 && figures.ofPlaces.total[place] > 0;
      return isHot ? element("span", { class: "hot", text: piece, title: titleOf(place) }) : piece;
    });
    cell.replaceChildren(...cut(row.isCutBefore), ...pieces, ...cut(row.isCutAfter));
  }

  function titleOf(place) {
    const { totals: { recording }, places: { func }, figures: { ofPlaces: { self, total } } } = view;
    return [
      recording.functions.labels[func[place]], strobe.lines.sentence(recording, place),
      `self ${figure(self[place])}`, `total ${figure(total[place])}`,
    ].join(" · ");
  }

  // The functions with samples in a row, the one with the most of them first.
  function functionsAt(i) {
    const { script: { rows }, places: { func }, figures } = view;
    const weights = new Map();
    for (const place of rows[i].places) {
      const weight = figures.ofPlaces.total[place];
      if (weight > 0) {
        weights.set(func[place], (weights.get(func[place]) ?? 0) + weight);
      }
    }
    return [...weights.keys()].sort((a, b) => weights.get(b) - weights.get(a) || a - b);
  }

  function chooseRow(i) {
    const [func] = functionsAt(i);
    if (func !== undefined && func !== state.selection.func) {
      ownFunction = func;
      state.select(func);
    }
  }

  function goToTarget() {
    const row = rowOf(target);
    target = null;
    if (row < 0) {
      grid.unmark();
    } else {
      grid.reveal([rowKey(row)]);
    }
  }

  function rowOf({ func, place }) {
    if (place !== undefined) {
      return script.rowOfPlace[place];
    }
    if (func === undefined) {
      return hottestRow();
    }
    const { lines } = view.totals.recording.functions;
    const hottest = hottestRowOf(func);
    return hottest >= 0 ? hottest : script.rows.findIndex(row => row.last === 0 && row.line > 0 && row.line === lines[func]);
  }

  // The row in which a function has the most samples. Self samples count before all others. -1 if it has no samples.
  function hottestRowOf(func) {
    const { script: { rows }, places, figures: { ofPlaces } } = view;
    let best = { row: -1, self: 0, total: 0 };
    rows.forEach((row, i) => {
      const own = row.places.filter(place => places.func[place] === func);
      const [self, total] = [ofPlaces.self, ofPlaces.total].map(list => own.reduce((sum, place) => sum + list[place], 0));
      if (self > best.self || (self === best.self && total > best.total)) {
        best = { row: i, self, total };
      }
    });
    return best.row;
  }

  function hottestRow() {
    const { self, total, mostSelf, mostTotal } = view.figures;
    return mostSelf > 0 ? self.indexOf(mostSelf) : mostTotal > 0 ? total.indexOf(mostTotal) : -1;
  }

  // The lines that have samples, for programs that read the page.
  function lines() {
    if (!view) {
      return [];
    }
    const { script: { rows }, totals: { recording: { functions: { labels } } }, figures } = view;
    return [...rows.keys()].filter(i => figures.total[i] > 0).map(i => ({
      line: rows[i].line, last: rows[i].last, column: rows[i].column, offset: rows[i].offset,
      self: figures.self[i], total: figures.total[i], functions: functionsAt(i).map(id => labels[id]),
    }));
  }

  return { start, choose, showPlace, toHottest, lines };
})();
