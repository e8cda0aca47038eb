/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// What the flame chart and the flame graph have in common: boxes of call nodes on a canvas, their colours and names, the
// one under the mouse, and the scrolling of rows.
strobe.flameBoxes = (() => {
  const { palette, state, theme } = strobe;
  const ROW_HEIGHT = 18;
  const PADDING = 4;
  // Names are written into boxes from this width on, in CSS pixels.
  const NAMED_WIDTH = 24;
  // Boxes at least this wide have a gap to the next.
  const GAP_WIDTH = 4;
  const SCROLL_BAR_WIDTH = 10;
  // The numbers that are stored for a box.
  const FIELDS = 7;
  const LEAST_THUMB = 24;
  const KEY_STEP = 3 * ROW_HEIGHT;

  class Boxes {
    #surface;
    #colourOf;
    #count = 0;
    // For each box: node, left, top, width, and in the flame chart the event loop and the first and the last sample.
    #boxes = new Float64Array(FIELDS * 1024);

    // `colourOf` gives the colour of a node that is nothing else, such as selected.
    /** @param {DrawingSurface} surface @param {(node: number, scheme: Scheme) => string} colourOf */
    constructor(surface, colourOf = (node, scheme) => state.recording.functions.colour(state.nodes.func[node], scheme)) {
      this.#surface = surface;
      this.#colourOf = colourOf;
    }

    clear() {
      this.#count = 0;
    }

    // Adds a box from `left` to `right`, which are rounded, in the row at `top`. False if it is too narrow to be seen.
    // In the flame chart it stands for samples of event loop `l`.
    /**
     * @param {number} node
     * @param {number} left
     * @param {number} right
     * @param {number} top
     * @param {number} l
     * @param {number} first
     * @param {number} last
     */
    add(node, left, right, top, l = -1, first = -1, last = -1) {
      const x = Math.round(left);
      const width = Math.round(right) - x;
      if (width < 1) {
        return false;
      }
      const at = this.#count * FIELDS;
      if (at === this.#boxes.length) {
        const larger = new Float64Array(at * 2);
        larger.set(this.#boxes);
        this.#boxes = larger;
      }
      this.#boxes[at] = node;
      this.#boxes[at + 1] = x;
      this.#boxes[at + 2] = top;
      this.#boxes[at + 3] = width;
      this.#boxes[at + 4] = l;
      this.#boxes[at + 5] = first;
      this.#boxes[at + 6] = last;
      this.#count++;
      return true;
    }

    draw() {
      const surface = this.#surface;
      const scheme = theme.scheme();
      const { func } = state.nodes;
      const { functions } = state.recording;
      const selected = state.selection;
      /** @type {[string, number, number, string][]} */
      const names = [];
      const all = this.#boxes;
      for (let at = 0; at < this.#count * FIELDS; at += FIELDS) {
        const node = all[at];
        const x = all[at + 1];
        const top = all[at + 2];
        const width = all[at + 3];
        const id = func[node];
        let colour, textColour;
        if (id === selected.func) {
          [colour, textColour] = [scheme.accent, scheme.onAccent];
        } else if (state.matches?.[id]) {
          [colour, textColour] = [scheme.match, palette.ON_MATCH];
        } else if (state.nodeMatches && !state.nodeMatches[node]) {
          [colour, textColour] = [scheme.dim, scheme.onDim];
        } else {
          [colour, textColour] = [this.#colourOf(node, scheme), scheme.text];
        }
        const gap = width >= GAP_WIDTH ? 1 : 0;
        surface.rect(colour, x, top, width - gap, ROW_HEIGHT - 1);
        if (width >= NAMED_WIDTH) {
          // If a box begins to the left of the screen, its name begins at the edge of the screen.
          const from = Math.max(x, 0);
          const room = Math.min(x + width, surface.width) - from - 2 * PADDING;
          const name = room < NAMED_WIDTH - 2 * PADDING ? "" : strobe.surface.fit(functions.boxLabels[id], room);
          if (name) {
            names.push([name, from + PADDING, top, textColour]);
          }
        }
      }
      surface.flush();
      if (selected.node >= 0) {
        this.#outline(selected.node, scheme);
      }
      for (const [name, x, top, colour] of names) {
        surface.text(name, x, top + ROW_HEIGHT / 2, colour);
      }
    }

    /** @param {number} node @param {Scheme} scheme */
    #outline(node, scheme) {
      for (const box of this.list()) {
        if (box.node === node && box.width >= 8) {
          this.#surface.outline(scheme.text, box.x, box.y, box.width - 1, box.height);
        }
      }
      this.#surface.flush();
    }

    // The node under a place on the canvas, or -1.
    /** @param {number} x @param {number} y */
    at(x, y) {
      return this.boxAt(x, y)?.node ?? -1;
    }

    // The box under a place on the canvas, if there is one.
    /** @param {number} x @param {number} y @returns {FlameBox | undefined} */
    boxAt(x, y) {
      const all = this.#boxes;
      for (let at = 0; at < this.#count * FIELDS; at += FIELDS) {
        const [left, top, width] = [all[at + 1], all[at + 2], all[at + 3]];
        if (x >= left && x < left + width && y >= top && y < top + ROW_HEIGHT) {
          return this.#box(at);
        }
      }
      return undefined;
    }

    // All boxes that were drawn: [{ node, x, y, width, height, l, first, last }], on the canvas.
    list() {
      return Array.from({ length: this.#count }, (_, i) => this.#box(i * FIELDS));
    }

    /** @param {number} at @returns {FlameBox} */
    #box(at) {
      const [node, x, y, width, l, first, last] = this.#boxes.subarray(at, at + FIELDS);
      return { node, x, y, width, height: ROW_HEIGHT - 1, l, first, last };
    }
  }

  // Scrolls rows that are taller than the canvas, and draws a scroll bar.
  class Scroll {
    top = 0;
    #content = 0;
    #view = 0;

    /** @param {number} content @param {number} view */
    measure(content, view) {
      this.#content = content;
      this.#view = view;
      this.by(0);
    }

    /** @param {number} distance */
    by(distance) {
      this.top = Math.round(Math.min(Math.max(0, this.top + distance), Math.max(0, this.#content - this.#view)));
    }

    // Scrolls as little as possible to show the rows from `from` to `to`.
    /** @param {number} from @param {number} to */
    reveal(from, to) {
      if (from < this.top) {
        this.by(from - this.top);
      } else if (to > this.top + this.#view) {
        this.by(to - this.top - this.#view);
      }
    }

    isNeeded() {
      return this.#content > this.#view;
    }

    thumb() {
      const length = Math.max(LEAST_THUMB, (this.#view * this.#view) / this.#content);
      const travel = this.#view - length;
      return [(this.top / (this.#content - this.#view)) * travel, length, travel];
    }

    /** @param {DrawingSurface} surface @param {Scheme} scheme */
    draw(surface, scheme) {
      if (this.isNeeded()) {
        const [at, length] = this.thumb();
        surface.rect(scheme.strong, surface.width - SCROLL_BAR_WIDTH + 3, at + 2, SCROLL_BAR_WIDTH - 5, length - 4);
        surface.flush();
      }
    }

    /** @param {number} x @param {number} width */
    isOnBar(x, width) {
      return this.isNeeded() && x >= width - SCROLL_BAR_WIDTH;
    }

    // How far a key scrolls; undefined for keys that do not scroll.
    /** @param {string} key @returns {number | undefined} */
    distanceOf(key) {
      const half = this.#view / 2;
      /** @type {Record<string, number>} */
      const distances = { ArrowUp: -KEY_STEP, ArrowDown: KEY_STEP, PageUp: -half, PageDown: half };
      return distances[key];
    }

    /** @param {number} distance */
    dragBy(distance) {
      const [, , travel] = this.thumb();
      this.by((distance / Math.max(travel, 1)) * (this.#content - this.#view));
    }
  }

  // Shows what is under the mouse: a node, or -1 for none, and the lines about it.
  /** @param {HTMLElement} canvas @param {MouseEvent} event @param {number} node @param {string[]} lines */
  function point(canvas, event, node = -1, lines = []) {
    canvas.style.cursor = node < 0 ? "default" : "pointer";
    if (lines.length) {
      strobe.tip.show(event, lines);
    } else {
      strobe.tip.hide();
    }
  }

  // The keys that walk from the selected node: to its caller, its heaviest callee, its siblings.
  /** @param {KeyboardEvent} event */
  function walk(event) {
    const { totals, nodes, selection } = state;
    if (!event.shiftKey || !event.key.startsWith("Arrow")) {
      return false;
    }
    event.preventDefault();
    const node = selection.node;
    if (node < 0 || totals.total[node] === 0) {
      const [first] = strobe.totals.children(totals, -1);
      if (first !== undefined) {
        state.selectNode(first);
      }
      return true;
    }
    const siblings = strobe.totals.children(totals, nodes.parent[node]);
    const place = siblings.indexOf(node);
    /** @type {Record<string, number | undefined>} */
    const steps = {
      ArrowUp: nodes.parent[node],
      ArrowDown: strobe.totals.children(totals, node)[0],
      ArrowLeft: siblings[place - 1],
      ArrowRight: siblings[place + 1],
    };
    const next = steps[event.key];
    if (next !== undefined && next >= 0) {
      state.selectNode(next);
    }
    return true;
  }

  return { Boxes, Scroll, point, walk, ROW_HEIGHT };
})();
