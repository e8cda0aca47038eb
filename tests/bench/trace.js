/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Reading a trace.

// The walk takes at most this many frames, starting at the leaf.
const MAX_FRAMES_PER_STACK = 512;

// A frame's name, or a label for the top level of a script file, the top level of a text without a file, or a function
// without a name.
function label(frame) {
    if (frame.name !== "") {
        return frame.name;
    }
    if (!("line" in frame)) {
        return "(eval)";
    }
    return frame.line === 1 && frame.column === 1 ? "(script)" : "(anonymous)";
}

// The labels of a stack's frames, from the root to the leaf.
function labelsOf(trace, stackId) {
    const labels = [];
    for (let id = stackId; id !== undefined; id = trace.stacks[id].parentId) {
        labels.push(label(trace.frames[trace.stacks[id].frameId]));
    }
    return labels.reverse();
}

// For each stack, whether a function with one of these labels is on it.
function stacksWith(trace, labels) {
    const isOne = trace.frames.map((frame) => labels.includes(label(frame)));
    const isOn = [];
    for (const { frameId, parentId } of trace.stacks) {
        isOn.push(isOne[frameId] || (parentId !== undefined && isOn[parentId]));
    }
    return isOn;
}

// How often each label occurs.
function tally(labels) {
    const counts = {};
    for (const label of labels) {
        counts[label] = (counts[label] ?? 0) + 1;
    }
    return counts;
}
