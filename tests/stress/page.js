/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A stressed document: the first page of the browser, a page that another one opened, or a frame. It has frames, windows
// and workers, and obeys the orders in the answers to its heartbeats.

const role = parameters.get("role") ?? "page";
const MOST_FRAMES = Number(parameters.get("frames") ?? 3);
const MOST_WINDOWS = 2;
// Origins of this machine under other names.
const origins = JSON.parse(parameters.get("origins") ?? "[]");

const ourFrames = new Set();
const windows = new Set();

actions.addFrame = function addFrame() {
    if (ourFrames.size >= MOST_FRAMES || depth >= DEEPEST) {
        return;
    }
    const frame = document.createElement("iframe");
    // A document of another origin may profile only if its embedder allows it. Other tests are about that.
    const set = { role: "frame", frames: 2, workers: 1, refused: "yes" };
    const place = random.oneOf([".", ".", ...origins.map((origin) => `${origin}/stress`)]);
    frame.src = childAddress(`${place}/page.html`, { set });
    if (random.chance(0.3)) {
        frame.sandbox = random.oneOf(["allow-scripts", "allow-scripts allow-same-origin"]);
    }
    document.body.append(frame);
    ourFrames.add(frame);
    tally("framesAdded");
};

actions.removeFrame = function removeFrame() {
    if (!ourFrames.size) {
        return;
    }
    const frame = random.oneOf([...ourFrames]);
    frame.remove();
    ourFrames.delete(frame);
    tally("framesRemoved");
};

// A frame of the same origin whose functions run on this stack.
actions.callFrame = function callFrame() {
    if (origin === "null") {
        // In a sandbox every frame has its own origin.
        return;
    }
    const frame = document.createElement("iframe");
    document.body.append(frame);
    try {
        const inside = frame.contentWindow.Function("callee", "n", "return callee(n) + 1;");
        runProgram({
            run: function runInFrame(n) {
                return inside(programs[0].run, n);
            },
        });
    } finally {
        frame.remove();
    }
};

actions.openWindow = function openWindow() {
    for (const one of windows) {
        if (one.closed) {
            windows.delete(one);
        }
    }
    if (windows.size >= MOST_WINDOWS || role !== "page") {
        return;
    }
    const opened = open(childAddress("page.html", { set: { role: "window", frames: 1, workers: 1 } }));
    if (opened !== null) {
        windows.add(opened);
        tally("windowsOpened");
    }
};

actions.closeWindow = function closeWindow() {
    if (!windows.size) {
        return;
    }
    const one = random.oneOf([...windows]);
    one.close();
    windows.delete(one);
    tally("windowsClosed");
};

// A synchronous request, during which the event loop waits inside a call.
actions.wait = function waitForServer() {
    try {
        const request = new XMLHttpRequest();
        request.open("GET", fromHome("empty.json"), false);
        request.send();
    } catch {
        // The document or the browser is about to end.
    }
};

function endEverything() {
    while (ourFrames.size) {
        actions.removeFrame();
    }
    while (windows.size) {
        actions.closeWindow();
    }
    endWorkers();
    becomeQuiet();
}

// Orders of ./mach stress
const orders = {
    navigate({ url }) {
        location.href = url;
    },

    replace({ url }) {
        location.replace(url);
    },

    reload() {
        location.reload();
    },

    back() {
        history.back();
    },

    forward() {
        history.forward();
    },

    push() {
        history.pushState(null, "", `#${random.below(1000)}`);
    },

    settle,

    quiet: endEverything,

    close() {
        endEverything();
        window.close();
    },
};

function onOrders(list) {
    for (const order of list) {
        tally("ordersObeyed");
        orders[order.what](order);
    }
}

addEventListener("error", ({ error, message }) => {
    if (!isPlanned(error ?? new Error(message))) {
        reportFailure(`an uncaught error: ${describe(error ?? message)}`);
    }
});
addEventListener("unhandledrejection", (event) => {
    event.preventDefault();
    reportUnplanned(event.reason);
});

startTurns();
