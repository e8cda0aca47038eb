/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The facts about the selected function, with buttons that show it in other views. Without a selection, the facts about
// the recording.
strobe.details = (() => {
  const { state, format } = strobe;
  const { element, button, byId, setText } = strobe.dom;
  const MOST_RELATIVES = 30;
  const MOST_LINES = 20;
  // The greatest number of calls that are named beside a caller or callee.
  const MOST_CALLS = 3;

  // Whether the panel does not show the present facts.
  let isStale = false;

  function start() {
    state.listeners.push(changed => {
      if (!state.recording) {
        return;
      }
      if (["recording", "totals", "selection", "theme"].some(name => changed.has(name))) {
        isStale = true;
        setText(byId("selection-description"), state.description());
      }
      if (isStale && !byId("details-panel").hidden) {
        isStale = false;
        fill();
      }
      if (changed.has("tab")) {
        offerOtherViews();
      }
    });
  }

  function fill() {
    const { func } = state.selection;
    byId("details").replaceChildren(...func < 0 ? recordingFacts() : functionFacts(func));
    offerOtherViews();
  }

  function offerOtherViews() {
    for (const one of byId("details").querySelectorAll(".show-in button")) {
      one.hidden = one.dataset.tab === state.tab;
    }
  }

  function functionFacts(func) {
    const { recording, totals, nodes, difference, selection: { node, time } } = state;
    const { functions } = recording;
    const isActivity = functions.isActivity(func);
    const swatch = element("span", { class: "kind", style: { backgroundColor: strobe.theme.swatch(functions, func) } });
    const realms = [...functions.realms[func]].map(id => (id < 0 ? "not recorded" : recording.realms[id].url));
    const { samples } = totals;
    const weights = [
      ["Self", totals.functionSelf[func], samples.functionSelf[func]],
      ["Total", totals.functionTotal[func], samples.functionTotal[func]],
      ...node >= 0 ? [["This path", totals.total[node], samples.total[node]]] : [],
    ];
    const about = element("div", { class: "about" },
      element("h2", { class: "function-name", id: "details-name" },
        swatch, element("span", { text: functions.labels[func] })),
      element("p", { class: "function-place", id: "details-place", text: functions.place(func) || placeless(func) }),
      weightTable(weights),
      element("div", { class: "show-in", role: "group", "aria-label": "Show in another view" },
        ...strobe.app.TABS.map(id => {
          const name = byId(`tab-${id}`).textContent;
          const attributes = { class: "small", data: { tab: id }, "aria-label": `Show in ${name}` };
          return button(name, () => strobe.app.showTab(id), attributes);
        })),
      element("dl", { class: "facts" },
        ...difference ? changes(difference, func, node) : [],
        ...time ? boxFacts(node, time) : [],
        ...pair("Kind", functions.kindName(func)),
        ...functions.generated[func].size ? pair("Ran as", ...functions.generated[func]) : [],
        ...isActivity ? [] : pair(realms.length > 1 ? "Realms" : "Realm", ...realms)));
    if (isActivity) {
      return [about];
    }
    const calls = strobe.lines.calls(totals, func);
    return [about, element("div", { class: "about" },
      lineTable(func),
      relatives("Callers", "callers", strobe.totals.callers(totals, func), func, calls.callers),
      relatives("Callees", "callees", strobe.totals.callees(totals, func), func, calls.callees),
      node >= 0 && nodes.parent[node] >= 0 ? pathList(node) : "")];
  }

  // How the function differs between the sides of a comparison.
  function changes(difference, func, node) {
    const { sentence } = strobe.difference;
    return [
      ...pair("Self", sentence(difference, "functionSelf", func)),
      ...pair("Total", sentence(difference, "functionTotal", func)),
      ...node >= 0 ? pair("This path", sentence(difference, "total", node)) : [],
    ];
  }

  function placeless(func) {
    const { functions } = state.recording;
    if (functions.isActivity(func)) {
      return "samples without a function on the stack";
    }
    return functions.kinds[func] === 1 ? "built into the engine or the DOM" : "no source";
  }

  function pair(name, ...values) {
    return [element("dt", { text: name }), ...values.map(text => element("dd", { text }))];
  }

  function weightTable(weights) {
    const { recording, totals } = state;
    const cells = (weight, samples) => [
      element("td", { class: "samples", text: format.count(samples) }),
      element("td", { text: format.sampledTime(weight * recording.interval, recording.step) }),
      element("td", { text: format.percent(weight, totals.shown) }),
    ];
    return element("table", { class: "weights" },
      element("thead", {}, element("tr", {},
        element("td"), element("th", { scope: "col", class: "samples", text: "samples" }),
        ...["ms", "%"].map(text => element("th", { scope: "col", text })))),
      element("tbody", {}, ...weights.map(([name, weight, samples]) => (
        element("tr", { data: { name, samples } }, element("th", { scope: "row", text: name }), ...cells(weight, samples))
      ))));
  }

  // What the tip beside the mouse says about a box of the flame chart, but with all of the box's lines.
  function boxFacts(node, time) {
    const { recording, totals } = state;
    const found = strobe.lines.within(totals, node, time);
    return [
      ...pair("This box", strobe.tip.spanOf(time)),
      ...found.length ? pair("Its lines", ...found.slice(0, MOST_LINES).map(({ place, weight }) => (
        `${strobe.lines.sentence(recording, place)}: ${format.duration(weight * recording.interval)}`))) : [],
    ];
  }

  // The hottest lines of a function; nothing if the recording has no lines.
  function lineTable(func) {
    const { recording, totals } = state;
    const rows = strobe.lines.ofFunction(totals, func);
    if (!rows.length) {
      return "";
    }
    const figures = weight => [
      element("td", { text: format.sampledTime(weight * recording.interval, recording.step) }),
      element("td", { text: format.percent(weight, totals.shown) }),
    ];
    const title = strobe.lines.sentence(recording, rows[0].place).startsWith("offset") ? "Offsets" : "Lines";
    return element("section", { id: "function-lines" },
      element("h3", { text: title }),
      element("table", { class: "weights lines" },
        element("thead", {}, element("tr", {}, element("td"),
          ...["self ms", "%", "total ms", "%"].map(text => element("th", { scope: "col", text })))),
        element("tbody", {}, ...rows.slice(0, MOST_LINES).map(({ place, label, self, total }) => (
          element("tr", { data: { line: label, self, total } },
            element("th", { scope: "row" }, button(label, () => strobe.sourceView.showPlace(place), {
              class: "quiet small", "aria-label": `Show ${strobe.lines.sentence(recording, place)} in Sources`,
            })),
            ...figures(self), ...figures(total)))))),
      rows.length > MOST_LINES && element("p", { class: "quiet-text", text: `and ${format.count(rows.length - MOST_LINES)} more` }));
  }

  // Functions that call the selected one or are called by it, with their shares of its total. `calls` has the places of
  // the calls by function.
  function relatives(title, id, rows, func, calls) {
    const { recording: { functions }, totals } = state;
    const whole = totals.functionTotal[func];
    const items = rows.slice(0, MOST_RELATIVES).map(row => {
      const share = element("span", { class: "share", text: format.percent(row.weight, whole) });
      const bar = element("span", { class: "bar", style: { width: `${Math.min(100, (100 * row.weight) / whole)}%` } });
      if (row.func < 0) {
        return element("li", {}, element("span", { class: "relative root", data: { samples: row.weight } },
          bar, share, element("span", { class: "name", text: "(root)" })));
      }
      const name = functions.labels[row.func];
      const lines = strobe.lines.summary(state.recording, calls.get(row.func) ?? [], MOST_CALLS);
      return element("li", {}, element("button", {
        type: "button", class: "relative", title: functions.place(row.func) || name,
        data: { name, samples: row.weight },
        on: {
          click: () => state.select(row.func),
          contextmenu: event => strobe.functionMenu.open(event, { func: row.func }),
        },
      }, bar, share, element("span", { class: "name" },
        name, element("span", { class: "place", text: functions.shortPlace(row.func) }),
        lines && element("span", { class: "place call", text: `called at ${lines}` }))));
    });
    if (rows.length > MOST_RELATIVES) {
      items.push(element("li", { class: "quiet-text", text: `and ${rows.length - MOST_RELATIVES} more` }));
    }
    return element("section", { id },
      element("h3", { text: title }),
      items.length ? element("ul", { class: "relatives" }, ...items) : element("p", { class: "quiet-text", text: "none" }));
  }

  // The selected path. Each step of it can be selected.
  function pathList(node) {
    const { nodes, recording: { functions } } = state;
    return element("section", { id: "path" },
      element("h3", { text: "Call path" }),
      element("ol", { class: "path" }, ...strobe.callNodes.path(nodes, node).map(step => (
        element("li", {}, element("button", {
          type: "button", class: step === node ? "relative current" : "relative", text: functions.labels[nodes.func[step]],
          on: {
            click: () => state.selectNode(step),
            contextmenu: event => strobe.functionMenu.open(event, { func: nodes.func[step], node: step }),
          },
        }))
      ))));
  }

  // How many scripts have their text in the recording, and how much of a saved page that takes before it is compressed.
  function textsOf({ sources }) {
    const encoder = new TextEncoder();
    const bytes = [...sources.values()].reduce((sum, { text }) => sum + encoder.encode(text).length, 0);
    return `${format.plural(sources.size, "script", "scripts")}, ${format.bytes(bytes)}`;
  }

  function recordingFacts() {
    const { recording, totals } = state;
    const started = recording.timeOrigin === null ? []
      : pair("Started", new Date(recording.timeOrigin + recording.start).toLocaleString());
    const shares = strobe.palette.ACTIVITIES.map((activity, i) => {
      let weight = 0;
      recording.loops.forEach((loop, l) => {
        if (state.isLoopShown(l)) {
          weight += strobe.activitySums.weight(strobe.activitySums.of(loop), i, ...strobe.totals.samplesWithin(loop, state.range));
        }
      });
      return { activity, i, weight };
    }).filter(({ weight }) => weight > 0);
    const all = shares.reduce((sum, { weight }) => sum + weight, 0);
    const figure = weight => (recording.isTimed ? format.duration(weight * recording.interval) : format.count(weight));
    const about = element("div", { class: "about" },
      element("h2", { class: "function-name", text: recording.name || "This recording" }),
      element("p", { class: "quiet-text", text: "Select a function in any view to see its callers and callees here." }),
      element("dl", { class: "facts" },
        ...started,
        ...pair("Duration", format.duration(recording.end - recording.start)),
        ...pair("Interval", format.interval(recording.interval)),
        ...pair("Samples", format.count(recording.weight)),
        ...pair("In view", format.count(totals.samples.shown)),
        ...pair("Processes", String(recording.processes.length)),
        ...pair("Event loops", String(recording.loops.length)),
        ...pair("Functions", format.count(recording.functions.count)),
        ...recording.recordedBy.length ? pair("Recorded by", ...recording.recordedBy) : [],
        ...recording.sources.size ? pair("Texts", textsOf(recording)) : []));
    const activities = element("div", { class: "about" },
      element("h3", { text: "What the event loops did" }),
      element("table", { class: "weights" }, element("tbody", {}, ...shares.map(({ activity, i, weight }) => {
        const swatch = element("span", { class: "swatch", style: { backgroundColor: strobe.theme.activityColour(i) } });
        return element("tr", {}, element("th", { scope: "row" }, swatch, activity.name),
          element("td", { text: figure(weight) }), element("td", { text: format.percent(weight, all) }));
      }))));
    return [about, activities];
  }

  return { start };
})();
