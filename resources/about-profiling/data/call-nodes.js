/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The call tree of all event loops together: a node is a path of functions. Only the filter of frames determines
// which part of a stack is seen, so the tree is made anew only when that filter changes. A parent comes before its
// children. The first nodes are the activities: the roots of samples without a stack.
/** @typedef {Pick<CallNodes, "count" | "firstRoot" | "parent" | "func" | "firstChild" | "sibling">} Tree */
strobe.callNodes = (() => {
  const { ACTIVITY_COUNT } = strobe.recording;
  // Groups of functions that have no resource. They come after the resources.
  const NO_RESOURCE = ["built-in functions", "native code", "no source", "no stack"];

  // `frames`: { kinds: the frame kinds that are shown, as bits, realms: a Uint8Array with an element for each realm,
  // and a last one for frames without one }.
  /** @param {Recording} recording @param {{ kinds: number, realms: Uint8Array }} frames @returns {CallNodes} */
  function build(recording, frames) {
    const { functions, loops } = recording;
    let most = ACTIVITY_COUNT;
    for (const loop of loops) {
      most += loop.stackParent.length;
    }
    const parent = new Int32Array(most).fill(-1);
    const func = new Int32Array(most);
    const depth = new Int32Array(most);
    const firstChild = new Int32Array(most).fill(-1);
    const sibling = new Int32Array(most).fill(-1);
    let firstRoot = -1;
    let count = 0;

    const table = new Int32Array(2 ** Math.ceil(Math.log2(most * 2 + 1))).fill(-1);
    const mask = table.length - 1;
    /** @param {number} of @param {number} callee */
    function child(of, callee) {
      let slot = (Math.imul(of + 2, 0x9e3779b1) ^ Math.imul(callee + 1, 0x85ebca6b)) >>> 0;
      slot = (slot ^ (slot >>> 15)) & mask;
      while (table[slot] >= 0) {
        const node = table[slot];
        if (parent[node] === of && func[node] === callee) {
          return node;
        }
        slot = (slot + 1) & mask;
      }
      const node = count++;
      table[slot] = node;
      parent[node] = of;
      func[node] = callee;
      if (of < 0) {
        sibling[node] = firstRoot;
        firstRoot = node;
      } else {
        depth[node] = depth[of] + 1;
        sibling[node] = firstChild[of];
        firstChild[of] = node;
      }
      return node;
    }

    for (let activity = 0; activity < ACTIVITY_COUNT; activity++) {
      child(-1, functions.count + activity);
    }
    const noRealm = recording.realms.length;
    /** @type {number[]} */
    const depths = [];
    const ofStack = loops.map(loop => {
      const nodes = new Int32Array(loop.stackParent.length);
      let deepest = 0;
      for (let stack = 0; stack < nodes.length; stack++) {
        const frame = loop.stackFrame[stack];
        const caller = loop.stackParent[stack] < 0 ? -1 : nodes[loop.stackParent[stack]];
        const realm = loop.frameRealm[frame];
        const isShown = (frames.kinds >> loop.frameKind[frame]) & 1 && frames.realms[realm < 0 ? noRealm : realm];
        nodes[stack] = isShown ? child(caller, loop.frameFunction[frame]) : caller;
        if (nodes[stack] >= 0) {
          deepest = Math.max(deepest, depth[nodes[stack]]);
        }
      }
      depths.push(deepest + 1);
      return nodes;
    });
    const tree = {
      count, firstRoot, depths, ofStack,
      parent: parent.slice(0, count), func: func.slice(0, count), depth: depth.slice(0, count),
      firstChild: firstChild.slice(0, count), sibling: sibling.slice(0, count),
    };
    const resourceOf = resourceGroups(recording);
    const resourceNames = [...recording.resources, ...NO_RESOURCE];
    return {
      ...tree, resourceOf, resourceNames,
      isOutermost: outermost(tree, tree.func, functions.total),
      isOutermostOfResource: outermost(tree, tree.func.map(id => resourceOf[id]), resourceNames.length),
      ...nodesByFunction(tree, functions.total),
    };
  }

  // For each function, the index of its resource, or of its group if it has no resource.
  /** @param {Recording} recording */
  function resourceGroups({ functions, resources }) {
    return Int32Array.from({ length: functions.total }, (_, id) => {
      if (functions.resources[id] >= 0) {
        return functions.resources[id];
      }
      const kind = functions.kinds[id];
      return resources.length + (kind < 0 ? 3 : kind === 1 ? 0 : kind === 2 ? 1 : 2);
    });
  }

  // Whether none of a node's callers has the same label, so that recursion counts once.
  /** @param {Tree} nodes @param {ArrayLike<number>} label @param {number} labelCount */
  function outermost(nodes, label, labelCount) {
    const running = new Int32Array(labelCount);
    const result = new Uint8Array(nodes.count);
    let next = nodes.firstRoot;
    while (next >= 0) {
      result[next] = running[label[next]]++ === 0 ? 1 : 0;
      let down = nodes.firstChild[next];
      while (down < 0 && next >= 0) {
        running[label[next]]--;
        down = nodes.sibling[next];
        next = nodes.parent[next];
      }
      next = down;
    }
    return result;
  }

  // The nodes of function f are in `ofFunction`, from the index `functionStart[f]` to before `functionStart[f + 1]`.
  /** @param {Tree} nodes @param {number} functionCount */
  function nodesByFunction(nodes, functionCount) {
    const start = new Int32Array(functionCount + 1);
    for (let node = 0; node < nodes.count; node++) {
      start[nodes.func[node] + 1]++;
    }
    for (let id = 0; id < functionCount; id++) {
      start[id + 1] += start[id];
    }
    const place = start.slice();
    const ofFunction = new Int32Array(nodes.count);
    for (let node = 0; node < nodes.count; node++) {
      ofFunction[place[nodes.func[node]]++] = node;
    }
    return { ofFunction, functionStart: start };
  }

  // The nodes of a function.
  /** @param {CallNodes} nodes @param {number} id */
  function of(nodes, id) {
    return nodes.ofFunction.subarray(nodes.functionStart[id], nodes.functionStart[id + 1]);
  }

  // From the root to the node.
  /** @param {CallNodes} nodes @param {number} node */
  function path(nodes, node) {
    const result = [];
    for (; node >= 0; node = nodes.parent[node]) {
      result.push(node);
    }
    return result.reverse();
  }

  // The last node that is on the paths of both; -1 if there is none.
  /** @param {CallNodes} nodes @param {number} one @param {number} other */
  function meeting({ parent, depth }, one, other) {
    while (one !== other) {
      if (one < 0 || other < 0) {
        return -1;
      }
      if (depth[one] >= depth[other]) {
        one = parent[one];
      } else {
        other = parent[other];
      }
    }
    return one;
  }

  // For each node, whether a function on its path is among `matches`, a Uint8Array with an element for each
  // function.
  /** @param {CallNodes} nodes @param {Uint8Array} matches */
  function matching(nodes, matches) {
    const result = new Uint8Array(nodes.count);
    for (let node = 0; node < nodes.count; node++) {
      const caller = nodes.parent[node];
      result[node] = matches[nodes.func[node]] | (caller < 0 ? 0 : result[caller]);
    }
    return result;
  }

  // What was found last, because it is asked for again with every frame that is drawn.
  /** @type {{ nodes: CallNodes | null, func: number, result: Uint8Array }} */
  let last = { nodes: null, func: -1, result: new Uint8Array() };

  // For each node, whether a function is on its path.
  /** @param {CallNodes} nodes @param {number} func @param {number} functionCount @returns {Uint8Array} */
  function below(nodes, func, functionCount) {
    if (last.nodes !== nodes || last.func !== func) {
      const matches = new Uint8Array(functionCount);
      matches[func] = 1;
      last = { nodes, func, result: matching(nodes, matches) };
    }
    return last.result;
  }

  return { build, of, path, meeting, matching, below };
})();
