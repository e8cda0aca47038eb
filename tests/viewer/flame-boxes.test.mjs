/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// What views/flame-boxes.js keeps of the boxes on a canvas, and how it scrolls them.

import assert from "node:assert/strict";
import test from "node:test";

import { runPart, strobe } from "./page.mjs";

runPart("views/flame-boxes.js");
const { Boxes, Scroll, ROW_HEIGHT } = strobe.flameBoxes;

test("a box is found at any place on it, and at none beside it", () => {
  const boxes = new Boxes(null);
  assert.ok(boxes.add(7, 10.4, 20.4, 0));
  assert.ok(boxes.add(8, 10.4, 15, ROW_HEIGHT, 2, 30, 31));
  assert.deepEqual([boxes.at(10, 0), boxes.at(19.9, ROW_HEIGHT - 1), boxes.at(14, ROW_HEIGHT)], [7, 7, 8]);
  assert.deepEqual([boxes.at(9.9, 0), boxes.at(20, 0), boxes.at(15, ROW_HEIGHT), boxes.at(12, 2 * ROW_HEIGHT)], [-1, -1, -1, -1]);
  assert.deepEqual(boxes.boxAt(12, ROW_HEIGHT), { node: 8, x: 10, y: ROW_HEIGHT, width: 5, height: ROW_HEIGHT - 1, l: 2, first: 30, last: 31 });
  boxes.clear();
  assert.deepEqual(boxes.list(), []);
});

test("a box that is too narrow to be seen is not kept", () => {
  const boxes = new Boxes(null);
  assert.equal(boxes.add(1, 10.1, 10.4, 0), false);
  // Its edges are rounded, and so it has a pixel.
  assert.equal(boxes.add(1, 10.4, 10.6, 0), true);
  assert.deepEqual(boxes.list().map(({ x, width }) => [x, width]), [[10, 1]]);
});

test("thousands of boxes are kept", () => {
  const boxes = new Boxes(null);
  for (let i = 0; i < 5000; i++) {
    boxes.add(i, i, i + 1, 0);
  }
  assert.deepEqual([boxes.list().length, boxes.at(4999, 0), boxes.at(7, 0)], [5000, 4999, 7]);
});

test("rows are scrolled within what there is", () => {
  const scroll = new Scroll();
  scroll.measure(100, 200);
  scroll.by(50);
  assert.deepEqual([scroll.top, scroll.isNeeded(), scroll.isOnBar(95, 100)], [0, false, false]);
  scroll.measure(1000, 200);
  scroll.by(2000);
  assert.deepEqual([scroll.top, scroll.isNeeded(), scroll.isOnBar(95, 100), scroll.isOnBar(50, 100)], [800, true, true, false]);
  scroll.by(-2000);
  assert.equal(scroll.top, 0);
  // Fewer rows than before.
  scroll.by(700);
  scroll.measure(500, 200);
  assert.equal(scroll.top, 300);
});

test("rows are revealed by scrolling as little as possible", () => {
  const scroll = new Scroll();
  scroll.measure(1000, 200);
  scroll.reveal(300, 320);
  assert.equal(scroll.top, 120);
  scroll.reveal(150, 170);
  assert.equal(scroll.top, 120);
  scroll.reveal(40, 60);
  assert.equal(scroll.top, 40);
});

test("the bar is as long as the part that is seen, and dragging it scrolls all the way", () => {
  const scroll = new Scroll();
  scroll.measure(1000, 200);
  assert.deepEqual(scroll.thumb(), [0, 40, 160]);
  scroll.dragBy(160);
  assert.equal(scroll.top, 800);
  assert.deepEqual(scroll.thumb(), [160, 40, 160]);
  assert.deepEqual([scroll.distanceOf("PageDown"), scroll.distanceOf("ArrowUp"), scroll.distanceOf("a")], [100, -3 * ROW_HEIGHT, undefined]);
});
