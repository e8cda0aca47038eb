/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// A canvas as large as its box on the screen, at the screen's resolution. It is always drawn as a whole. Boxes are
// collected by colour, and each colour is filled as one path, because a call of the canvas costs more than a box.
strobe.surface = (() => {
  const FONT_SIZE = 11;
  const FONT_FAMILY = "system-ui, \"Segoe UI\", \"Helvetica Neue\", \"DejaVu Sans\", sans-serif";
  const FONT = `${FONT_SIZE}px ${FONT_FAMILY}`;
  const ELLIPSIS = "…";
  // In CSS pixels, along an axis.
  const HATCH_DISTANCE = 6;

  // The widths of the characters 0 to 127 in the font, which are measured once.
  let widths = new Float32Array();
  let widest = 0;
  let ellipsisWidth = 0;

  /** @param {CanvasRenderingContext2D} context */
  function measureFont(context) {
    context.font = FONT;
    widths = Float32Array.from({ length: 128 }, (_, code) => (
      code < 32 ? 0 : context.measureText(String.fromCharCode(code)).width
    ));
    widest = context.measureText("漢").width || FONT_SIZE;
    ellipsisWidth = context.measureText(ELLIPSIS).width;
  }

  /** @param {string} text */
  function widthOf(text) {
    let width = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      width += code < 128 ? widths[code] : text[i] === ELLIPSIS ? ellipsisWidth : widest;
    }
    return width;
  }

  // The text, or as much of its beginning as there is room for, with an ellipsis. "" if too little would be left.
  /** @param {string} text @param {number} room */
  function fit(text, room) {
    let width = 0;
    let kept = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      width += code < 128 ? widths[code] : widest;
      if (width + ellipsisWidth <= room) {
        kept = i + 1;
      }
      if (width > room) {
        return kept < 2 ? "" : text.slice(0, kept) + ELLIPSIS;
      }
    }
    return text;
  }

  // As `fit`, but what is left out is in the middle.
  /** @param {string} text @param {number} room */
  function fitMiddle(text, room) {
    if (widthOf(text) <= room) {
      return text;
    }
    let kept = "";
    for (let length = 2; length < text.length; length++) {
      const head = Math.ceil(length / 2);
      const candidate = text.slice(0, head) + ELLIPSIS + text.slice(text.length - (length - head));
      if (widthOf(candidate) > room) {
        break;
      }
      kept = candidate;
    }
    return kept;
  }

  class Surface {
    width = 0;
    height = 0;
    #canvas;
    #context;
    /** @type {Map<string, number[]>} */
    #batches = new Map();

    /** @param {HTMLCanvasElement} canvas */
    constructor(canvas) {
      this.#canvas = canvas;
      this.#context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
      if (!widths.length) {
        measureFont(this.#context);
      }
    }

    // Takes the size of the canvas's box and clears all of it. False if there is nothing to draw on.
    begin() {
      const scale = globalThis.devicePixelRatio || 1;
      const width = this.#canvas.clientWidth;
      const height = this.#canvas.clientHeight;
      if (!width || !height) {
        return false;
      }
      const [deviceWidth, deviceHeight] = [Math.round(width * scale), Math.round(height * scale)];
      if (this.#canvas.width !== deviceWidth || this.#canvas.height !== deviceHeight) {
        this.#canvas.width = deviceWidth;
        this.#canvas.height = deviceHeight;
      }
      this.width = width;
      this.height = height;
      const context = this.#context;
      // The whole canvas is cleared, so that the engine need not keep the last frame.
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, deviceWidth, deviceHeight);
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.font = FONT;
      context.textBaseline = "middle";
      this.#batches.clear();
      return true;
    }

    /** @param {string} colour @param {number} x @param {number} y @param {number} width @param {number} height */
    rect(colour, x, y, width, height) {
      let batch = this.#batches.get(colour);
      if (!batch) {
        batch = [];
        this.#batches.set(colour, batch);
      }
      batch.push(x, y, width, height);
    }

    // Draws the boxes that were collected. What is drawn later is on top of them.
    flush() {
      const context = this.#context;
      for (const [colour, batch] of this.#batches) {
        context.fillStyle = colour;
        if (batch.length === 4) {
          context.fillRect(batch[0], batch[1], batch[2], batch[3]);
          continue;
        }
        context.beginPath();
        for (let i = 0; i < batch.length; i += 4) {
          context.rect(batch[i], batch[i + 1], batch[i + 2], batch[i + 3]);
        }
        context.fill();
      }
      this.#batches.clear();
    }

    // A line of text, its middle at y.
    /** @param {string} text @param {number} x @param {number} y @param {string} colour */
    text(text, x, y, colour) {
      this.#context.fillStyle = colour;
      this.#context.fillText(text, x, y);
    }

    // Draws diagonal lines over a box, which say that it is not known what was there.
    /** @param {string} colour @param {number} x @param {number} y @param {number} width @param {number} height */
    hatch(colour, x, y, width, height) {
      const context = this.#context;
      context.strokeStyle = colour;
      context.lineWidth = 1;
      context.beginPath();
      // All points of a line have the same sum of coordinates.
      const first = Math.ceil((x + y) / HATCH_DISTANCE) * HATCH_DISTANCE;
      for (let both = first; both < x + width + y + height; both += HATCH_DISTANCE) {
        const left = Math.max(x, both - y - height);
        const right = Math.min(x + width, both - y);
        context.moveTo(left, both - left);
        context.lineTo(right, both - right);
      }
      context.stroke();
    }

    /** @param {string} colour @param {number} x @param {number} y @param {number} width @param {number} height */
    outline(colour, x, y, width, height) {
      this.rect(colour, x, y, width, 2);
      this.rect(colour, x, y + height - 2, width, 2);
      this.rect(colour, x, y, 2, height);
      this.rect(colour, x + width - 2, y, 2, height);
    }
  }

  // The mouse's place on an element.
  /** @param {Element} element @param {MouseEvent} event @returns {Place} */
  function mousePlace(element, event) {
    const box = element.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // Follows a press of the main button until it is let go, wherever that is: `move` and `end` get the place on the
  // element and whether the mouse has moved further than a click does.
  /**
   * @param {HTMLElement} element
   * @param {{ start?: (from: Place, press: MouseEvent) => boolean | void, move?: (place: Place, from: Place, event: MouseEvent) => void, end?: (place: Place, from: Place, moved: boolean, event: MouseEvent) => void }} handlers
   */
  function drag(element, { start, move, end }) {
    const CLICK_DISTANCE = 3;
    element.addEventListener("mousedown", press => {
      if (press.button !== 0) {
        return;
      }
      const from = mousePlace(element, press);
      if (start?.(from, press) === false) {
        return;
      }
      // No text is selected, but the element gets the focus.
      press.preventDefault();
      element.focus({ preventScroll: true });
      let moved = false;
      /** @param {MouseEvent} event */
      const moving = event => {
        const place = mousePlace(element, event);
        moved ||= Math.hypot(place[0] - from[0], place[1] - from[1]) > CLICK_DISTANCE;
        if (moved) {
          move?.(place, from, event);
        }
      };
      /** @param {MouseEvent} event */
      const ending = event => {
        removeEventListener("mousemove", moving, true);
        removeEventListener("mouseup", ending, true);
        end?.(mousePlace(element, event), from, moved, event);
      };
      addEventListener("mousemove", moving, true);
      addEventListener("mouseup", ending, true);
    });
  }

  return { Surface, FONT_SIZE, fit, fitMiddle, widthOf, mousePlace, drag };
})();
