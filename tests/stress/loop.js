/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// One event loop of a stressed browser, of a document or a worker. In each turn it runs a random program and does
// something random, mostly with profilers. Each heartbeat tells ./mach stress what has been done since the last one.
//
// The query of the address sets: `seed`, from which everything but the timing follows; `with`, the actions and their
// weights; `programs`, kinds of programs with a greater weight; `changes`, to run the programs of engine_changes.js
// instead, in documents (`page`) or in their workers (`worker`); `profile=no`, to do everything except what needs
// profilers.

const parameters = new URLSearchParams(location.search);
// The address from which this was loaded. After a race of pushState() with a navigation to another site, Servo 0.7.0
// gives a document the address of another one.
const home = location.href;

function fromHome(path) {
    return new URL(path, home).href;
}

const seed = parameters.get("seed") ?? "";
const random = new Random(seed);
// For choices about profilers, so that all other choices are the same without profilers.
const choices = new Random(`${seed} profilers`);
const weights = JSON.parse(parameters.get("with") ?? "{}");
const profiles = parameters.get("profile") !== "no";
// In a sandbox without an origin every file has another origin.
const filesAreMuted = hasDocument && origin === "null";
const changesPlace = parameters.get("changes");
const changesEngine = changesPlace === (hasDocument ? "page" : "worker");
// A document that leaves the changes to its workers leaves them the processor, too.
const isIdle = hasDocument && changesPlace === "worker";

// Identifies this event loop: no other one has functions with such names.
const identity = `${Date.now().toString(36)}${Math.floor(Math.random() * 2 ** 32).toString(36)}`;
const PREFIX = `g${identity}_`;
// The names of the functions of programs, in any event loop.
const GENERATED = /^(?:[gs]et )?(g[0-9a-z]+_)p\d+f\d+/;

// ms
const BEAT_INTERVAL = 150;
const LONGEST_PAUSE = 30;
// Objects that one collection frees may have kept others, which the next one frees.
const COLLECTIONS = 3;
const COLLECTION_PAUSE = 200;

const callGraph = new CallGraph();

// Counts since the last heartbeat.
let counts = {};
let failures = [];

function tally(name, number = 1) {
    counts[name] = (counts[name] ?? 0) + number;
}

function describe(error) {
    return error instanceof Error ? `${error}\n${error.stack}` : String(error);
}

function reportFailure(text) {
    failures.push(text);
}

// Programs

const MOST_PROGRAMS = 12;
const makesPrograms = !changesEngine && !isIdle;
const programs = [];
let programsMade = 0;

// A function of the global object. `globalThis` is the window of another document once this one was navigated away from.
function globalFunction(name) {
    return (0, eval)(name);
}

// Ways to define the functions of a text. Each returns the function that is called first.
const DEFINITIONS = {
    eval(text, names, entry) {
        (0, eval)(text);
        return globalFunction(entry);
    },

    function(text, names, entry) {
        const list = `{ ${names.join(", ")} }`;
        const functions = new Function(`${text}\nreturn ${list};`)();
        // The functions also call each other by their global names.
        (0, eval)(`var ${names.join(", ")}; functions => { (${list} = functions); }`)(functions);
        return functions[entry];
    },

    script(text, names, entry) {
        if (hasDocument) {
            const script = document.createElement("script");
            script.textContent = text;
            document.head.append(script);
            script.remove();
        } else {
            const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
            importScripts(url);
            URL.revokeObjectURL(url);
        }
        return globalFunction(entry);
    },
};

function makeProgram() {
    const prefix = `${PREFIX}p${programsMade++}f`;
    const maker = new Maker(random, prefix, JSON.parse(parameters.get("programs") ?? "{}"));
    const functions = random.between(1, 40);
    const program = maker.make(functions);
    // A frame may call it, too.
    callGraph.add(`${program.edges}\nrunInFrame > ${program.entry}`);
    const names = Array.from({ length: functions }, (_, i) => `${prefix}${i}`);
    program.run = DEFINITIONS[random.oneOf(Object.keys(DEFINITIONS))](program.text, names, program.entry);
    programs.push(program);
    if (programs.length > MOST_PROGRAMS) {
        const [dropped] = programs.splice(random.below(programs.length), 1);
        wasmInstances.clear();
        suspendable.clear();
        dropped.run = null;
    }
    tally("programs");
}

function runProgram(program) {
    try {
        refuel();
        program.run(random.below(1000));
    } catch (error) {
        reportUnplanned(error);
    }
}

// Profilers

const INTERVALS = [0, 0, 0, 1, 1, 1, 2, 3.7, 10, 16.7, 100, 1000];
const BUFFER_SIZES = [1, 2, 10, 100, 1000, 100_000, 100_000, 100_000, 4_294_967_295, 4_294_967_295];
const MOST_PROFILERS = Number(parameters.get("profilers") ?? 12);
const running = new Set();
// Requests that have not been answered.
const asked = new Set();

// Returns the result of the promise. The page does not come to rest before it.
async function answerOf(promise) {
    asked.add(promise);
    try {
        return await promise;
    } finally {
        asked.delete(promise);
    }
}

function startProfiler() {
    const options = {
        sampleInterval: choices.oneOf(INTERVALS),
        maxBufferSize: choices.oneOf(BUFFER_SIZES),
    };
    if (choices.chance(0.2)) {
        options.format = "json-gzip";
    }
    if (choices.chance(0.2)) {
        options.name = `profile ${choices.below(5)}`;
    }
    if (running.size >= MOST_PROFILERS) {
        return;
    }
    begin({ options, profiler: null, isFull: false }, choices.chance(0.5), choices.chance(0.5));
}

async function begin(session, isOld, isWatched) {
    const { options } = session;
    session.isOld = isOld;
    running.add(session);
    try {
        session.profiler = isOld
            ? await answerOf(performance.profile(options))
            : new Profiler(options);
        tally("profilersStarted");
        if (isWatched) {
            session.profiler.onsamplebufferfull = function onFull() {
                session.isFull = true;
                tally("buffersFull");
            };
        }
    } catch (error) {
        running.delete(session);
        const isRefused = ["NotAllowedError", "SecurityError"].includes(error.name);
        // A document that has been removed cannot start a profiler.
        const isGone = error.name === "InvalidStateError" && wasRemoved();
        const isExpected = isConcurrency(error) || isPlanned(error) || isGone;
        if (isRefused ? parameters.get("refused") !== "yes" : !isExpected) {
            reportFailure(`a profiler could not be started: ${describe(error)}`);
        }
        tally(isGone ? "profilersOfRemoved" : "profilersRefused");
    }
}

function isConcurrency(error) {
    return error instanceof TypeError && /concurrent/.test(error.message);
}

function takeProfiler() {
    const started = [...running].filter(({ profiler }) => profiler !== null);
    if (!started.length) {
        return null;
    }
    const session = choices.oneOf(started);
    running.delete(session);
    return session;
}

function stopProfiler() {
    const session = takeProfiler();
    const again = choices.chance(0.2);
    if (session !== null) {
        end(session, again);
    }
}

async function end(session, again) {
    try {
        const trace = await answerOf(session.profiler.stop());
        tally("profilersStopped");
        if (again) {
            await stopAgain(session);
        }
        checkTrace(await read(trace, session.options), session.options);
    } catch (error) {
        if (!isPlanned(error)) {
            reportFailure(`a profiler could not be stopped: ${describe(error)}`);
        }
    }
}

// Profilers of the draft return the same promise again. Others refuse a second call.
async function stopAgain({ profiler, isOld }) {
    try {
        await answerOf(profiler.stop());
    } catch (error) {
        if (isOld || error.name !== "InvalidStateError") {
            throw error;
        }
        return;
    }
    if (!isOld) {
        reportFailure("a profiler could be stopped twice");
    }
}

// While the engine is changed, a session with the shortest interval always runs. A full buffer starts the next one.
let standing = null;

function keepProfiling() {
    if (!profiles) {
        return;
    }
    if (running.has(standing) && standing.isFull) {
        running.delete(standing);
        end(standing, false);
    }
    if (!running.has(standing)) {
        const options = { sampleInterval: 0, maxBufferSize: choices.oneOf([200, 2000, 20_000]) };
        standing = { options, profiler: null, isFull: false };
        begin(standing, false, true);
    }
}

// Leaves a profiler to the garbage collector.
function abandonProfiler() {
    if (takeProfiler() !== null) {
        tally("profilersAbandoned");
    }
}

function startWrongly() {
    const wrong = choices.oneOf([
        { sampleInterval: -1, maxBufferSize: 1 },
        { sampleInterval: Infinity, maxBufferSize: 1 },
        { sampleInterval: 1 },
        { maxBufferSize: 1 },
        {},
    ]);
    try {
        new Profiler(wrong);
        reportFailure(`a profiler could be started with ${JSON.stringify(wrong)}`);
    } catch (error) {
        if (!["RangeError", "TypeError", "NotAllowedError"].includes(error.name)) {
            reportFailure(`a profiler was refused in a wrong way: ${describe(error)}`);
        }
    }
}

let observer = null;

function observeProfiles() {
    if (observer === null) {
        observer = new PerformanceObserver(onProfiles);
        observer.observe({ type: "profile", buffered: choices.chance(0.5) });
    } else {
        observer.disconnect();
        observer = null;
    }
}

function onProfiles(list) {
    for (const entry of list.getEntries()) {
        tally("entries", entry.sampleCount >= 0 ? 1 : 0);
    }
}

async function read(trace, options) {
    if (options.format !== "json-gzip") {
        return trace;
    }
    const stream = new Blob([trace]).stream().pipeThrough(new DecompressionStream("gzip"));
    return answerOf(new Response(stream).json());
}

function checkTrace(trace, options) {
    tally("traces");
    tally("samples", trace.samples.length);
    // An unsigned long, as in the interface.
    if (trace.samples.length > options.maxBufferSize) {
        reportFailure(`${trace.samples.length} samples for a buffer of ${options.maxBufferSize}`);
    }
    let last = -Infinity;
    for (const { timestamp, stackId, marker } of trace.samples) {
        if (!(timestamp >= last)) {
            reportFailure(`a sample of ${timestamp} after one of ${last}`);
            return;
        }
        last = timestamp;
        if (stackId !== undefined && !(stackId < trace.stacks.length)) {
            reportFailure(`a sample with stack ${stackId} of ${trace.stacks.length}`);
            return;
        }
        tally("samplesWithStack", stackId === undefined ? 0 : 1);
        tally("samplesInGC", marker === "gc" ? 1 : 0);
    }
    for (const [id, { frameId, parentId }] of trace.stacks.entries()) {
        if (!(frameId < trace.frames.length) || (parentId !== undefined && !(parentId < id))) {
            reportFailure(`stack ${id} has frame ${frameId} and parent ${parentId}`);
            return;
        }
    }
    for (const frame of trace.frames) {
        const whose = GENERATED.exec(frame.name);
        if (whose !== null && whose[1] !== PREFIX) {
            reportFailure(`${frame.name} of another event loop is in a trace of ${PREFIX}`);
            return;
        }
        if ("resourceId" in frame && !(frame.resourceId < trace.resources.length)) {
            reportFailure(`a frame with resource ${frame.resourceId} of ${trace.resources.length}`);
            return;
        }
    }
    if (changesEngine) {
        checkBuiltIns(trace);
    }
    checkCalls(trace);
}

// Every stack must be possible by the call graph.
function checkCalls(trace) {
    const sums = callGraph.check(trace);
    tally("framesCut", sums.cut);
    // Only stacks of programs are checked: the call graph does not have the functions of these files.
    for (const [edge, { samples, example }] of Object.entries(sums.falseEdges)) {
        const [, callee] = edge.split(" > ");
        if (GENERATED.test(callee) || (changesEngine && CHANGING_FUNCTIONS.has(callee))) {
            tally("falseEdges", samples);
            reportFailure(`${samples} samples with the false edge ${edge}, as ${example}`);
        }
    }
}

// Other actions

const actions = { startProfiler, stopProfiler, abandonProfiler, startWrongly, observeProfiles, makeProgram };
const needProfilers = ["startProfiler", "stopProfiler", "abandonProfiler", "startWrongly", "observeProfiles"];

function act() {
    const usual = { makeProgram: makesPrograms ? 2 : 0, startProfiler: 6, stopProfiler: 5 };
    const possible = Object.entries({ ...usual, ...weights });
    const chosen = random.weighted(Object.fromEntries(possible.filter(([name]) => name in actions)));
    // Without profilers the random numbers differ, but the mix is the same.
    if (profiles || !needProfilers.includes(chosen)) {
        try {
            actions[chosen]();
        } catch (error) {
            if (!isPlanned(error) && !wasRemoved()) {
                reportFailure(`${chosen} failed: ${describe(error)}`);
            }
        }
    }
}

// Whether `globalThis` is no longer this document's window. In Servo 0.7.0 a frame that was removed still has some
// turns, and `globalThis` is then a window of another origin.
function wasRemoved() {
    try {
        return hasDocument && globalThis.document !== document;
    } catch {
        return true;
    }
}

// The turns

// The number of turns after which a child of the page becomes quiet, so that each run does the same work, at any speed.
const MOST_CHILD_TURNS = Number(parameters.get("childTurns") ?? Infinity);
let turns = 0;
// A quiet page does nothing, so that the browser can come to rest.
const wasQuiet = parameters.get("quiet") === "yes";
let isQuiet = wasQuiet;
// It becomes quiet after the garbage of the page before has been collected, if a page may ask for a collection.
let isAtRest = false;
// When this event loop began to end everything that it had started; null before. From then on it starts nothing new.
let settlingFrom = null;
const { port1, port2 } = new MessageChannel();
port1.onmessage = turn;

function turn() {
    turns++;
    tally("turns");
    if (depth > 0 && turns >= MOST_CHILD_TURNS && !isQuiet) {
        becomeQuiet();
    }
    if (!isQuiet) {
        try {
            if (programs.length) {
                runProgram(random.oneOf(programs));
            }
            if (changesEngine && settlingFrom === null) {
                keepProfiling();
                runChanges();
            }
            if (isIdle && settlingFrom === null) {
                keepWorkers();
            }
            if (settlingFrom !== null) {
                stopProfiler();
            } else if (random.chance(0.3)) {
                act();
            }
        } catch (error) {
            reportUnplanned(error);
        }
    }
    if (performance.now() - lastBeat > BEAT_INTERVAL) {
        beat();
    }
    if (isQuiet || isIdle || random.chance(0.3)) {
        setTimeout(turn, random.below(LONGEST_PAUSE));
    } else {
        port2.postMessage(null);
    }
}

function settle() {
    settlingFrom ??= performance.now();
}

// Whether everything that was started has ended, and every worker that should live does so.
function isSettled() {
    return settlingFrom !== null && !asked.size && !running.size && workersLived(settlingFrom);
}

// Heartbeats

let lastBeat = -Infinity;
let isBeating = false;

async function beat() {
    if (isBeating) {
        return;
    }
    isBeating = true;
    const sent = [counts, failures];
    [counts, failures] = [{}, []];
    const body = {
        identity,
        role,
        window: parameters.get("window"),
        turns,
        quiet: isAtRest,
        settled: isSettled(),
        counts: sent[0],
        failures: sent[1],
    };
    try {
        const response = await fetch(fromHome("/beat"), { method: "POST", body: JSON.stringify(body) });
        onOrders(await response.json());
    } catch {
        // The document or the browser is about to end, or is low on memory.
        for (const [name, number] of Object.entries(sent[0])) {
            tally(name, number);
        }
        failures.push(...sent[1]);
    }
    lastBeat = performance.now();
    isBeating = false;
}

// Ends everything that this event loop has started. Abandoned profilers are collected, or end with the document.
async function becomeQuiet() {
    isQuiet = true;
    observer?.disconnect();
    observer = null;
    while (takeProfilerIfAny()) {
        // The condition stops one profiler at a time.
    }
    kept.length = 0;
}

function takeProfilerIfAny() {
    const session = takeProfiler();
    session?.profiler.stop();
    return session !== null;
}

async function comeToRest() {
    for (let i = 0; i < COLLECTIONS; i++) {
        navigator.servo?.garbageCollectAllContexts();
        await new Promise((resolve) => setTimeout(resolve, COLLECTION_PAUSE));
    }
    isAtRest = true;
}

function startTurns() {
    if (wasQuiet) {
        comeToRest();
    }
    for (let i = isQuiet || !makesPrograms ? 0 : random.between(1, 3); i > 0; i--) {
        makeProgram();
    }
    port2.postMessage(null);
}
