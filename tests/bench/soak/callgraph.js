/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Which function may be the direct caller of which on a stack. A stack with any other pair of neighbours never existed:
// the walk got it wrong.
//
// Built-in functions of the engine or the browser, such as `sort` or `appendChild`, may be between the two. They are
// frames without a resource whose names are not in the graph. So no function of the graph has the name of a built-in.

// The caller of a function that no function calls.
const ROOT = "(root)";

// The number of frames, from the leaf, of a stack that is the example of a mistake.
const LONGEST_EXAMPLE = 12;

class CallGraph {
    #edges = new Map([[ROOT, new Set()]]);
    #names = new Set();

    // Adds lines of the form `caller > callee, callee`.
    add(text) {
        for (const line of text.split("\n").filter((line) => line.trim())) {
            const [caller, callees] = line.trim().split(" > ");
            this.#names.add(caller);
            if (!this.#edges.has(caller)) {
                this.#edges.set(caller, new Set());
            }
            for (const callee of callees.split(", ")) {
                this.#names.add(callee);
                this.#edges.get(caller).add(callee);
            }
        }
    }

    // The sums of one trace. `addSums` adds them to others.
    check(trace) {
        const sums = makeSums();
        sums.sessions = 1;
        sums.samples = trace.samples.length;
        const frames = trace.frames.map((frame) => ({ label: label(frame), counts: this.#counts(frame) }));
        const stacks = trace.stacks.map(({ frameId, parentId }) => {
            const parent = parentId === undefined ? null : parentId;
            return { frame: frames[frameId], parent, depth: 1, root: null, last: null, falseEdge: null, samples: 0 };
        });
        for (const stack of stacks) {
            const parent = stack.parent === null ? null : stacks[stack.parent];
            const { frame } = stack;
            stack.depth = parent ? parent.depth + 1 : 1;
            // The innermost and the outermost function of the graph up to here.
            stack.last = frame.counts ? frame.label : (parent?.last ?? null);
            stack.root = parent?.root ?? stack.last;
            if (frame.counts && parent?.last && !this.#edges.get(parent.last)?.has(frame.label)) {
                stack.falseEdge = `${parent.last} > ${frame.label}`;
            }
        }
        for (const { stackId } of trace.samples) {
            if (stackId !== undefined) {
                this.#checkRoot(trace, stackId, stacks[stackId], sums);
                stacks[stackId].samples++;
            }
        }
        // A parent comes before its children. So in reverse order each stack gets the samples of all its children first.
        for (let id = stacks.length - 1; id >= 0; id--) {
            const { falseEdge, parent, samples } = stacks[id];
            if (falseEdge !== null && samples > 0) {
                count(sums.falseEdges, falseEdge, samples, trace, id);
            }
            if (parent !== null) {
                stacks[parent].samples += samples;
            }
        }
        return sums;
    }

    #checkRoot(trace, stackId, stack, sums) {
        sums.stacks++;
        sums.leaves[stack.frame.label] = (sums.leaves[stack.frame.label] ?? 0) + 1;
        if (stack.depth >= MAX_FRAMES_PER_STACK) {
            // The stack was cut at its root.
            sums.cut++;
        } else if (this.#edges.get(ROOT).has(stack.root)) {
            sums.inRoot++;
        } else {
            count(sums.falseRoots, stack.root ?? "(none)", 1, trace, stackId);
        }
    }

    #counts(frame) {
        return "resourceId" in frame || this.#names.has(label(frame));
    }
}

// Empty sums. A mistake has its number of samples and an example. `leaves` are samples by leaf.
function makeSums() {
    return { sessions: 0, samples: 0, stacks: 0, cut: 0, inRoot: 0, falseRoots: {}, falseEdges: {}, leaves: {} };
}

function addSums(sums, more) {
    for (const [name, value] of Object.entries(more)) {
        if (typeof value === "number") {
            sums[name] += value;
        } else if (name === "leaves") {
            for (const [leaf, samples] of Object.entries(value)) {
                sums.leaves[leaf] = (sums.leaves[leaf] ?? 0) + samples;
            }
        } else {
            for (const [mistake, { samples, example }] of Object.entries(value)) {
                sums[name][mistake] ??= { samples: 0, example };
                sums[name][mistake].samples += samples;
            }
        }
    }
}

function count(mistakes, mistake, samples, trace, stackId) {
    mistakes[mistake] ??= { samples: 0, example: example(trace, stackId) };
    mistakes[mistake].samples += samples;
}

function example(trace, stackId) {
    const labels = labelsOf(trace, stackId);
    const shown = labels.slice(-LONGEST_EXAMPLE);
    return (shown.length < labels.length ? "... > " : "") + shown.join(" > ");
}
