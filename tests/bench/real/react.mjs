/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A table with many rows, changed as benchmarks of frameworks change it: each tenth row gets a new label, two rows
// change places, one is selected, one is removed, and all become as they were.

import { createElement as h, memo, useState } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";

import { checksum } from "./checksum.mjs";

const ROWS = 400;

const Row = memo(function Row({ item, isSelected, select, remove }) {
  return h(
    "tr",
    { className: isSelected ? "selected" : undefined },
    h("td", null, item.id),
    h("td", null, h("a", { onClick: () => select(item.id) }, item.label)),
    h("td", null, h("button", { type: "button", onClick: () => remove(item.id) }, "remove")),
  );
});

let setState;
const initial = {
  items: Array.from({ length: ROWS }, (_, id) => ({ id, label: `row ${id}`, changes: 0 })),
  selected: null,
};

const select = (selected) => setState((state) => ({ ...state, selected }));
const remove = (id) => setState((state) => ({ ...state, items: state.items.filter((item) => item.id !== id) }));

function App() {
  const [state, set] = useState(initial);
  setState = set;
  const rows = state.items.map((item) =>
    h(Row, { key: item.id, item, isSelected: item.id === state.selected, select, remove }),
  );
  return h("table", null, h("tbody", null, rows));
}

const container = document.createElement("div");
document.body.append(container);
const root = createRoot(container);
flushSync(() => root.render(h(App)));

function update(change) {
  flushSync(() => setState(change));
}

function changeItems(change) {
  update((state) => ({ ...state, items: change([...state.items]) }));
}

const relabelled = (number) => (items) =>
  items.map((item, index) => (index % 10 === 0 ? { ...item, label: `row ${item.id} (${number})` } : item));

export function unit() {
  changeItems(relabelled(1));
  const text = container.textContent;
  changeItems((items) => {
    [items[1], items[ROWS - 2]] = [items[ROWS - 2], items[1]];
    return items;
  });
  flushSync(() => select(7));
  const order = Array.from(container.querySelectorAll("tr"), (row) => row.firstChild.textContent + row.className);
  flushSync(() => remove(5));
  const count = container.querySelectorAll("tr").length;
  update(() => initial);
  return checksum(`${text} ${order.join()} ${count} ${container.textContent}`);
}
