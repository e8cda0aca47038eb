/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A virtual DOM benchmark: a tree of components that is rendered again with other properties and other children.

import { createElement as h, render } from "preact";

import { checksum } from "./checksum.mjs";

const DEPTH = 4;
const BRANCHES = 4;

function Leaf({ id, frame }) {
  const isOn = (id + frame) % 3 === 0;
  return h("span", { class: isOn ? "on" : "off", title: `leaf ${id}`, style: { order: String(id) } }, id, isOn && "!");
}

function Branch({ id, depth, frame }) {
  const children = [];
  for (let i = 0; i < BRANCHES; i++) {
    // The children turn, and keep their keys.
    const key = (i + frame) % BRANCHES;
    const child = id * BRANCHES + key;
    children.push(
      depth === 0 ? h(Leaf, { key, id: child, frame }) : h(Branch, { key, id: child, depth: depth - 1, frame }),
    );
  }
  return h(frame % 2 === depth % 2 ? "div" : "section", { "data-id": id }, children);
}

const container = document.createElement("div");
document.body.append(container);

export function unit() {
  let hash = 0;
  for (let frame = 0; frame < 2; frame++) {
    render(h(Branch, { id: 0, depth: DEPTH - 1, frame }), container);
    hash ^= checksum(container.textContent);
  }
  return hash;
}
