/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The recorder: what runs in the browser, what to record of it, and what was recorded.
strobe.recorder = (() => {
  const { format } = strobe;
  const { element, button, byId, setText } = strobe.dom;
  // The time between two requests for the browser's status, in ms.
  const POLL_INTERVAL = 1000;
  const RECORDING_POLL_INTERVAL = 400;
  const FAILED_POLL_INTERVAL = 4000;
  // ms by which two intervals differ: the browser counts in nanoseconds.
  const LEAST_DIFFERENCE = 1e-5;

  let timer = 0;
  let isAsking = false;
  let isRecording = false;
  // Ids of the event loops that are ticked.
  const ticked = new Set();
  // Ids of the event loops that show about:profiling.
  let ownLoops = [];
  // The interval that was asked for, in milliseconds; null if the recording was not started here.
  let wantedInterval = null;
  // The data that the table and the list were last built for.
  let tableShape = "";
  let listShape = "";

  function start() {
    if (!strobe.server.isThere) {
      return;
    }
    byId("record-form").addEventListener("submit", event => {
      event.preventDefault();
      if (isRecording) {
        stopRecording();
      } else {
        startRecording();
      }
    });
    byId("record-form").addEventListener("change", reflectChoices);
    document.addEventListener("visibilitychange", () => poll());
    reflectChoices();
    poll();
  }

  // Whether the status can be seen. It is requested only then.
  function isSeen() {
    return document.visibilityState !== "hidden" && (strobe.app.view() === "recorder" || isRecording);
  }

  function pollIn(milliseconds) {
    clearTimeout(timer);
    timer = setTimeout(poll, milliseconds);
  }

  async function poll() {
    clearTimeout(timer);
    if (isAsking || !strobe.server.isThere || !isSeen()) {
      return;
    }
    isAsking = true;
    try {
      show(await strobe.server.status());
      byId("poll-error").hidden = true;
      pollIn(isRecording ? RECORDING_POLL_INTERVAL : POLL_INTERVAL);
    } catch (error) {
      byId("poll-error").hidden = false;
      byId("poll-error").textContent = `The list cannot be brought up to date: ${error.message}`;
      pollIn(FAILED_POLL_INTERVAL);
    } finally {
      isAsking = false;
    }
  }

  function show(now) {
    if (isRecording && now.recording === null) {
      wantedInterval = null;
    }
    isRecording = now.recording !== null;
    showProgress(now.recording);
    byId("record-failures").hidden = now.failures.length === 0;
    setText(byId("record-failures"), now.failures.join("\n"));
    byId("record-notices").hidden = now.notices.length === 0;
    setText(byId("record-notices"), now.notices.join("\n"));
    const loops = now.processes.flatMap(({ eventLoops }) => eventLoops);
    ownLoops = loops.filter(loop => loop.documents.some(isOwnPage)).map(({ id }) => id);
    showTable(now.processes);
    showRecordings(now.recordings);
    const { browser } = now;
    setText(byId("versions"), [browser, ...browser.engines].map(format.program).join(" · "));
  }

  function isOwnPage(url) {
    return /^about:profiling(?![^?#])/.test(url);
  }

  function reflectChoices() {
    const choice = chosenLoops();
    byId("ticked-choice").hidden = choice !== "ticked";
    // The page can be ticked in the list.
    byId("own-page-choice").hidden = choice === "ticked";
    byId("loops-table").classList.toggle("choosing", choice === "ticked");
    byId("keep-last").disabled = isRecording || !byId("flight").checked;
    byId("long-tasks-ms").disabled = isRecording || !byId("long-tasks").checked;
  }

  function chosenLoops() {
    return document.querySelector("input[name=loops]:checked").value;
  }

  // The options in the form. Throws an error that names the field if one is wrong.
  function options() {
    const number = (id, name, isWhole) => {
      const text = byId(id).value.trim();
      const value = Number(text);
      if (text === "" || !Number.isFinite(value) || value <= 0 || (isWhole && !Number.isInteger(value))) {
        byId(id).focus();
        throw new Error(`${name}: “${text}” is not a ${isWhole ? "whole " : ""}number above 0`);
      }
      return value;
    };
    const result = { interval: number("interval", "Interval") };
    const choice = chosenLoops();
    if (choice === "ticked") {
      if (!ticked.size && !byId("new-ones").checked) {
        throw new Error("Event loops: none of them is ticked");
      }
      // No value would stand for all of them.
      result.eventLoops = [...ticked].join(",") || "none";
      result.newOnes = byId("new-ones").checked ? 1 : 0;
      // The page has a new event loop each time it is loaded.
      result.ownPage = ownLoops.some(id => ticked.has(id)) ? 1 : 0;
    } else {
      result.eventLoops = choice;
      result.ownPage = byId("own-page").checked ? 1 : 0;
    }
    if (byId("max-samples").value.trim()) {
      result.maxSamples = number("max-samples", "Buffer", true);
    }
    if (byId("flight").checked) {
      result.keepLast = number("keep-last", "Flight recorder") * 1000;
    }
    if (byId("with-sources").checked) {
      result.sources = 1;
    }
    if (!byId("linked-maps").checked) {
      result.linkedMaps = 0;
    }
    if (byId("long-tasks").checked) {
      result.longTasks = number("long-tasks-ms", "Long tasks");
    }
    return result;
  }

  async function startRecording() {
    const press = byId("record");
    try {
      const chosen = options();
      press.disabled = true;
      strobe.app.clearErrors();
      await strobe.server.start(chosen);
      wantedInterval = chosen.interval;
      show(await strobe.server.status());
      pollIn(RECORDING_POLL_INTERVAL);
    } catch (error) {
      strobe.app.fail(`Record: ${error.message}`);
    } finally {
      press.disabled = false;
    }
  }

  async function stopRecording() {
    const press = byId("record");
    press.disabled = true;
    byId("record-state").textContent = "Collecting samples…";
    try {
      const { recording } = await strobe.server.stop();
      isRecording = false;
      wantedInterval = null;
      await strobe.app.openFromServer(recording);
      // Here nobody sees what is said below the button.
      const { failures, notices } = await strobe.server.status();
      strobe.app.tell([...failures, ...notices]);
    } catch (error) {
      strobe.app.fail(`Stop: ${error.message}`);
    } finally {
      press.disabled = false;
      poll();
    }
  }

  function showProgress(recording) {
    const press = byId("record");
    press.classList.toggle("stop", isRecording);
    setText(byId("record-label"), isRecording ? "Stop recording" : "Start recording");
    for (const field of byId("record-fields").querySelectorAll("input")) {
      field.disabled = isRecording;
    }
    reflectChoices();
    byId("progress").hidden = !isRecording;
    document.documentElement.classList.toggle("recording", isRecording);
    if (!recording) {
      setText(byId("record-state"), "");
      return;
    }
    const isAnother = wantedInterval !== null && Math.abs(wantedInterval - recording.interval) > LEAST_DIFFERENCE;
    const mode = [`every ${format.interval(recording.interval)}${isAnother
      ? ` (not ${format.interval(wantedInterval)}: see js_profiling_base_interval_us)` : ""}`];
    if (recording.keepLast !== null) {
      mode.push(`the last ${format.duration(recording.keepLast)}`);
    }
    if (recording.longTasks !== null) {
      mode.push(`tasks longer than ${format.duration(recording.longTasks)}`);
    }
    setText(byId("record-state"), `Recording ${mode.join(", ")}`);
    setText(byId("progress-elapsed"), format.duration(Math.round(recording.elapsed / 100) * 100));
    setText(byId("progress-samples"), format.count(recording.samples));
    setText(byId("progress-missed"), format.count(recording.missed ?? 0));
    setText(byId("progress-unwalkable"), format.count(recording.unwalkable ?? 0));
    setText(byId("progress-loops"), format.count(recording.eventLoops));
    setText(byId("progress-memory"), format.bytes(recording.memory));
    byId("progress").dataset.samples = recording.samples;
  }

  const COLUMNS = ["interval", "samples", "missed", "unwalkable", "truncated", "memory"];

  function showTable(processes) {
    const rows = processes.flatMap(process => [
      { key: `process ${process.pid}`, process },
      ...process.eventLoops.flatMap(loop => [
        { key: `loop ${loop.id}`, process, loop },
        // If there is only one, its figures are in the event loop's own row.
        ...samplersOf(loop).length > 1
          ? samplersOf(loop).map((session, i) => ({ key: `session ${loop.id} ${i}`, loop, session })) : [],
      ]),
    ]);
    const shape = JSON.stringify(rows.map(({ key, process, loop, session }) => (
      [key, process?.gone, loop?.name, loop?.documents, loop?.withoutStacks, session?.realm])));
    const body = byId("loops-body");
    if (shape !== tableShape) {
      tableShape = shape;
      const focused = document.activeElement?.dataset?.eventLoop;
      body.replaceChildren(...rows.map(makeRow));
      if (focused !== undefined) {
        body.querySelector(`input[data-event-loop="${CSS.escape(focused)}"]`)?.focus();
      }
    }
    [...body.children].forEach((line, i) => fillFigures(line, rows[i]));
    const loops = processes.reduce((sum, { eventLoops }) => sum + eventLoops.length, 0);
    setText(byId("loops-count"), `${format.plural(processes.length, "process", "processes")}, ` +
      format.plural(loops, "event loop", "event loops"));
  }

  // For whom an event loop is sampled: the sessions of pages, and the recording in progress.
  function samplersOf(loop) {
    return [...loop.sessions, ...loop.recorded ? [{ ...loop.recorded, realm: "" }] : []];
  }

  function makeRow({ process, loop, session }) {
    if (!loop) {
      return element("tr", { class: process.gone ? "process gone" : "process", data: { pid: process.pid } },
        element("th", { scope: "rowgroup", colspan: COLUMNS.length + 2 },
          element("span", { class: "name", text: process.name || "process" }),
          element("span", { class: "more", text: `pid ${process.pid}${process.gone ? " · gone" : ""}` })));
    }
    const figures = COLUMNS.map(id => element("td", { class: "number", data: { figure: id } }));
    if (session) {
      return element("tr", { class: "session" }, element("td"),
        element("th", { scope: "row", text: session.realm || "the recording", title: session.realm }), ...figures);
    }
    const box = element("input", {
      type: "checkbox", "aria-label": `Record ${titleOf(loop)}`, data: { eventLoop: loop.id },
    });
    box.checked = ticked.has(loop.id);
    box.addEventListener("change", () => {
      if (box.checked) {
        ticked.add(loop.id);
      } else {
        ticked.delete(loop.id);
      }
      document.querySelector("input[name=loops][value=ticked]").checked = true;
      reflectChoices();
    });
    return element("tr", { class: "loop", data: { eventLoop: loop.id } },
      element("td", { class: "tick" }, box),
      element("th", { scope: "row", title: [loop.name, ...loop.documents].join("\n") },
        element("span", { class: "name", text: titleOf(loop) }),
        element("span", { class: "more", text: aboutLoop(loop) }),
        loop.withoutStacks ? element("span", { class: "more", text: `No stacks: ${loop.withoutStacks}` }) : ""),
      ...figures);
  }

  // The name without the kind, which is shown below it.
  function titleOf(loop) {
    return loop.name.replace(/^(Page|Worker) /, "") || loop.id;
  }

  function aboutLoop(loop) {
    const others = loop.documents.filter(url => !loop.name.endsWith(url));
    return [
      ...loop.kind === "unknown" ? [] : [loop.kind], ...others.slice(0, 2),
      ...others.length > 2 ? [`and ${others.length - 2} more`] : [],
    ].join(" · ");
  }

  function fillFigures(line, { loop, session }) {
    if (!loop) {
      return;
    }
    const sessions = session ? [session] : samplersOf(loop);
    const sum = key => format.count(sessions.reduce((all, one) => all + one[key], 0));
    const values = sessions.length ? {
      // If the intervals differ, each session has its own row.
      interval: sessions.every(({ interval }) => interval === sessions[0].interval)
        ? format.interval(sessions[0].interval) : "several",
      samples: sum("taken"), missed: sum("missed"), unwalkable: sum("unwalkable"), truncated: sum("truncated"),
    } : { interval: "–", samples: "–", missed: "–", unwalkable: "–", truncated: "–" };
    values.memory = session ? "" : format.bytes(loop.memory);
    for (const cell of line.querySelectorAll("td.number")) {
      setText(cell, values[cell.dataset.figure]);
    }
    line.classList.toggle("sampled", sessions.length > 0);
  }

  function showRecordings(recordings) {
    byId("no-recordings").hidden = recordings.length > 0;
    const shape = JSON.stringify(recordings);
    if (shape === listShape) {
      return;
    }
    listShape = shape;
    const { attempt } = strobe.app;
    byId("recordings").replaceChildren(...recordings.map(({ id, name, samples, eventLoops }) => {
      const title = name || `Recording ${id}`;
      return element("li", { data: { recording: id } },
        element("div", { class: "names" },
          element("span", { class: "name", text: title }),
          element("span", { class: "more", text: `${format.plural(samples, "sample", "samples")} · ` +
            format.plural(eventLoops, "event loop", "event loops") })),
        button("Open", () => attempt("Open", () => strobe.app.openFromServer(id)), { "aria-label": `Open ${title}` }),
        button("Forget", () => attempt("Forget", async () => {
          await strobe.server.forget(id);
          strobe.app.forgotten(id);
          await poll();
        }), { class: "quiet", "aria-label": `Forget ${title}` }));
    }));
  }

  // The name of a recording in the browser's list.
  async function nameOf(id) {
    const now = await strobe.server.status();
    show(now);
    return now.recordings.find(one => one.id === id)?.name || `Recording ${id}`;
  }

  return { start, poll, nameOf };
})();
