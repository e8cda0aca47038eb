/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The flame graph: all samples that count, as one tree, regardless of when they were taken. The width of a box is
// the number of its node's samples. Callers are above their callees, and the heaviest of several siblings is on the
// left. In a comparison the samples are those of both sides, and the colour of a box says how they differ.
strobe.flameGraph = (() => {
  const { state, theme, timeWindow } = strobe;
  const { Boxes, Scroll, ROW_HEIGHT, point, walk } = strobe.flameBoxes;
  const WHOLE = [0, 1];
  const LEAST_SPAN = 1e-6;
  const TOP = 4;
  // In CSS pixels. A narrower box is drawn together with its lighter siblings.
  const NARROW = 0.75;

  let canvas, surface, boxes;
  const scroll = new Scroll();
  // The part of the samples' total width that is on the screen.
  let window = WHOLE;

  function start() {
    canvas = document.getElementById("flame-graph-canvas");
    surface = new strobe.surface.Surface(canvas);
    boxes = new Boxes(surface, colourOf);
    strobe.surface.drag(canvas, { start: beginDrag, move: continueDrag, end: endDrag });
    canvas.addEventListener("wheel", wheel, { passive: false });
    canvas.addEventListener("mousemove", hover);
    canvas.addEventListener("mouseleave", () => strobe.tip.hide());
    canvas.addEventListener("contextmenu", openMenu);
    canvas.addEventListener("dblclick", () => zoomToSelection());
    canvas.addEventListener("keydown", key);
    state.listeners.push(refresh);
  }

  function colourOf(node, scheme) {
    const { difference, nodes, recording } = state;
    return difference ? strobe.difference.colour(difference, node, scheme) : recording.functions.colour(nodes.func[node], scheme);
  }

  function refresh(changed) {
    if (changed.has("recording")) {
      window = WHOLE;
      scroll.top = 0;
    }
    if (!state.recording || state.tab !== "flame-graph") {
      return;
    }
    if ((changed.has("selection") || changed.has("tab")) && !dragging) {
      revealSelection();
    }
    if (!(changed.size === 1 && changed.has("window"))) {
      draw();
    }
  }

  function draw() {
    if (!surface.begin()) {
      return;
    }
    const scheme = theme.scheme();
    boxes.clear();
    const { totals } = state;
    const rests = [];
    const deepest = totals.shown > 0 ? layOut(rests) : 0;
    scroll.measure(TOP + (deepest + 1) * ROW_HEIGHT + ROW_HEIGHT, surface.height);
    for (const [x, y, width] of rests) {
      surface.rect(scheme.rest, x, y, width, ROW_HEIGHT - 1);
    }
    surface.flush();
    boxes.draw();
    scroll.draw(surface, scheme);
    if (totals.shown === 0) {
      surface.text("No sample passes the filters.", 12, 24, scheme.faint);
    }
  }

  // Adds all boxes that are wide enough to be seen. Returns the deepest row.
  function layOut(rests) {
    const { totals, nodes } = state;
    const { width, height } = surface;
    const perWeight = width / (totals.shown * timeWindow.span(window));
    const origin = -window[0] * totals.shown * perWeight;
    let deepest = 0;
    // Siblings to be laid out, and where the first of them begins.
    const pending = [[-1, origin]];
    while (pending.length) {
      const [caller, from] = pending.pop();
      const children = strobe.totals.children(totals, caller);
      let x = from;
      for (let i = 0; i < children.length && x < width; i++) {
        const node = children[i];
        const right = x + totals.total[node] * perWeight;
        const row = nodes.depth[node];
        const y = TOP + row * ROW_HEIGHT - scroll.top;
        if (right - x < NARROW) {
          // The siblings are in order, so all that follow are as narrow or narrower.
          let rest = 0;
          for (let j = i; j < children.length; j++) {
            rest += totals.total[children[j]];
          }
          const restWidth = Math.min(rest * perWeight, width - x);
          if (restWidth >= 1 && x + restWidth > 0 && y > -ROW_HEIGHT && y < height) {
            rests.push([Math.round(x), y, Math.max(1, Math.round(restWidth))]);
          }
          break;
        }
        if (right > 0) {
          deepest = Math.max(deepest, row);
          if (y > -ROW_HEIGHT && y < height) {
            boxes.add(node, x, right, y);
          }
          pending.push([node, x]);
        }
        x = right;
      }
    }
    return deepest;
  }

  // Where a node's box begins and ends, as parts of the total width.
  function extent(node) {
    const { totals, nodes } = state;
    let before = 0;
    for (let at = node; at >= 0; at = nodes.parent[at]) {
      for (const sibling of strobe.totals.children(totals, nodes.parent[at])) {
        if (sibling === at) {
          break;
        }
        before += totals.total[sibling];
      }
    }
    return [before / totals.shown, (before + totals.total[node]) / totals.shown];
  }

  function revealSelection() {
    const { selection: { node }, totals, nodes } = state;
    if (node < 0 || !totals.total[node]) {
      return;
    }
    const [from, to] = extent(node);
    if (to <= window[0] || from >= window[1]) {
      window = WHOLE;
    }
    const y = TOP + nodes.depth[node] * ROW_HEIGHT;
    scroll.measure(Math.max(y + 2 * ROW_HEIGHT, canvas.clientHeight), canvas.clientHeight);
    scroll.reveal(y - ROW_HEIGHT, y + 2 * ROW_HEIGHT);
  }

  function setWindow(to) {
    window = to;
    draw();
  }

  function zoomToSelection() {
    const { node } = state.selection;
    if (node >= 0 && state.totals.total[node] > 0) {
      const [from, to] = extent(node);
      setWindow(timeWindow.within([from, Math.max(to, from + LEAST_SPAN)], WHOLE));
    }
  }

  function openMenu(event) {
    const [x, y] = strobe.surface.mousePlace(canvas, event);
    const node = boxes.at(x, y);
    if (node >= 0) {
      state.selectNode(node);
    }
    strobe.functionMenu.open(event, { func: node < 0 ? -1 : state.nodes.func[node], node });
  }

  let dragging = null;

  function beginDrag([x]) {
    if (!state.recording) {
      return false;
    }
    dragging = { onBar: scroll.isOnBar(x, surface.width), window, top: scroll.top };
    return true;
  }

  function continueDrag([x, y], [fromX, fromY]) {
    strobe.tip.hide();
    scroll.top = dragging.top;
    if (dragging.onBar) {
      scroll.dragBy(y - fromY);
      drawSoon();
      return;
    }
    scroll.by(fromY - y);
    window = timeWindow.pan(dragging.window, (fromX - x) / surface.width, WHOLE);
    drawSoon();
  }

  const drawSoon = strobe.dom.inNextFrame(draw);

  function endDrag([x, y], _from, moved) {
    if (!moved && !dragging.onBar) {
      state.selectNode(boxes.at(x, y));
    }
    state.flush();
    dragging = null;
  }

  function hover(event) {
    if (!state.recording || event.buttons) {
      return;
    }
    const node = boxes.at(...strobe.surface.mousePlace(canvas, event));
    point(canvas, event, node, node < 0 ? [] : strobe.tip.linesOf(node));
  }

  function wheel(event) {
    if (!state.recording) {
      return;
    }
    event.preventDefault();
    strobe.tip.hide();
    const [x] = strobe.surface.mousePlace(canvas, event);
    if (event.altKey || scroll.isOnBar(x, surface.width)) {
      scroll.by(timeWindow.wheelDistance(event)[1]);
    } else {
      window = timeWindow.turned(window, event, x / surface.width, WHOLE, LEAST_SPAN);
    }
    drawSoon();
  }

  function key(event) {
    if (!state.recording || walk(event) || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    const moved = timeWindow.keyed(window, event.key, WHOLE, LEAST_SPAN);
    const distance = scroll.distanceOf(event.key);
    if (moved) {
      setWindow(moved);
    } else if (distance !== undefined) {
      scroll.by(distance);
      draw();
    } else if (event.key === "z" || event.key === "Enter") {
      zoomToSelection();
    } else {
      return;
    }
    event.preventDefault();
  }

  return { start, key, boxes: () => boxes.list(), canvas: () => canvas };
})();
