/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Parses, sorts, builds a list, lays it out, marks words, makes garbage and waits, over and over. The pictures of
// about:profiling show this page.
const ITEMS = 3000;
const SHOWN = 200;

const source = JSON.stringify(Array.from({ length: ITEMS }, (_, id) => ({
  id, name: `Article ${(id * 7919) % ITEMS}`, price: (id * 104729) % 1000, tags: [`tag${id % 17}`, `tag${id % 23}`],
})));

function parseCatalogue() {
  return JSON.parse(source);
}

function byPrice(a, b) {
  return a.price - b.price || a.id - b.id;
}

function sortCatalogue(items) {
  return items.sort(byPrice);
}

function markWords(text) {
  return text.replace(/[0-9]+/g, digits => `[${digits}]`);
}

function makeRow(item) {
  const row = document.createElement("li");
  row.textContent = `${markWords(item.name)}: ${item.price}`;
  return row;
}

function showList(items) {
  const list = document.querySelector("#list");
  list.replaceChildren(...items.slice(0, SHOWN).map(makeRow));
  return list.getBoundingClientRect().height;
}

function countTags(items) {
  const counts = new Map();
  for (const { tags } of items) {
    for (const tag of tags) {
      counts.set(tag, [...counts.get(tag) ?? [], tag.toUpperCase()]);
    }
  }
  return [...counts].map(([tag, all]) => ({ tag, count: all.length }));
}

function checksum(items) {
  let sum = 0;
  for (let round = 0; round < 300; round++) {
    for (const { price, id } of items) {
      sum = (sum * 31 + price ^ id) | 0;
    }
  }
  return sum;
}

function update() {
  const items = sortCatalogue(parseCatalogue());
  showList(items);
  requestAnimationFrame(() => {
    countTags(items);
    checksum(items);
    setTimeout(update, 60);
  });
}

if (typeof document === "undefined") {
  setInterval(() => checksum(sortCatalogue(parseCatalogue())), 120);
} else {
  new Worker("catalogue.js", { name: "indexer" });
  update();
}
