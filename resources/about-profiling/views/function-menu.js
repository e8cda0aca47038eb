/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A menu of what can be done with a function or a script. The right mouse button opens it at the mouse; a key opens it
// for the selected function.
strobe.functionMenu = (() => {
  const { state } = strobe;
  const { element, button, byId } = strobe.dom;

  function start() {
    const panel = byId("function-menu");
    strobe.menu.moveByKeys(panel);
    panel.addEventListener("contextmenu", event => {
      // The text to copy keeps the browser's own menu.
      if (event.target.id !== "copied-text") {
        event.preventDefault();
      }
    });
  }

  // `target`: { func, node, resource }: a function, the node of its call path if it is known, or a script; -1 or
  // undefined for none. Without any of them no menu opens, not even the browser's own.
  function open(event, target) {
    event.preventDefault();
    strobe.tip.hide();
    openAt([event.clientX, event.clientY], target);
  }

  // For the selected function, at a place of the view.
  function openForSelection() {
    const { func, node } = state.selection;
    const { left, top, width } = byId("views").getBoundingClientRect();
    openAt([left + width / 3, top + 40], { func, node });
  }

  function openAt(place, { func = -1, node = -1, resource = -1 }) {
    const items = func >= 0 ? itemsOfFunction(func, node) : resource >= 0 ? itemsOfScript(resource) : [];
    if (items.length) {
      strobe.menu.openAt(byId("function-menu"), place, panel => panel.replaceChildren(...items));
    }
  }

  function itemsOfFunction(func, node) {
    const { recording: { functions }, nodes } = state;
    const name = functions.labels[func];
    const place = functions.place(func);
    // As in an error's stack: the function itself, then its callers.
    const path = node < 0 ? [] : strobe.callNodes.path(nodes, node).reverse();
    const stack = () => path.map(step => lineOf(nodes.func[step])).join("\n");
    const select = () => (node < 0 ? state.select(func) : state.selectNode(node));
    return [
      element("strong", { class: "menu-title", text: name }),
      item("copy-name", "Copy name", () => copy(name)),
      ...place ? [item("copy-place", "Copy URL and line", () => copy(place))] : [],
      ...path.length ? [item("copy-stack", "Copy stack", () => copy(stack()))] : [],
      ...functions.isActivity(func) ? []
        : [item("search", "Search for this function", () => strobe.filters.searchFor(name))],
      ...strobe.app.TABS.filter(tab => tab !== state.tab).map(tab => (
        item(`show-in-${tab}`, `Show in ${byId(`tab-${tab}`).textContent}`, () => {
          select();
          strobe.app.showTab(tab);
        }))),
    ];
  }

  function lineOf(func) {
    const { functions } = state.recording;
    const place = functions.place(func);
    return place ? `${functions.labels[func]} (${place})` : functions.labels[func];
  }

  function itemsOfScript(resource) {
    const url = state.recording.resources[resource];
    if (!url) {
      return [];
    }
    return [
      element("strong", { class: "menu-title", text: strobe.format.fileName(url) }),
      item("copy-place", "Copy URL", () => copy(url)),
      item("search", "Search for this script", () => strobe.filters.searchFor(url)),
    ];
  }

  function item(id, text, press) {
    const choose = () => {
      strobe.menu.close(true);
      press();
    };
    return button(text, choose, { class: "quiet menu-item", role: "menuitem", data: { item: id } });
  }

  // If the page may not write to the clipboard, the text is shown and selected, so that the person can copy it.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      offer(text);
    }
  }

  function offer(text) {
    const { left, top } = byId("function-menu").style;
    strobe.menu.openAt(byId("function-menu"), [parseFloat(left), parseFloat(top)], panel => {
      const box = element("textarea", { id: "copied-text", readonly: true, rows: "4", "aria-label": "Text to copy" });
      box.value = text;
      panel.replaceChildren(element("p", { class: "quiet-text", text: "Ctrl+C copies this." }), box);
    });
    byId("copied-text").select();
  }

  return { start, open, openForSelection };
})();
