/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// A panel below a button, or at the mouse. It stays open until something else is pressed.
strobe.menu = (() => {
  /** @type {{ button: HTMLElement | null, panel: HTMLElement, focusedBefore: any } | null} */
  let openMenu = null;

  // `fill` puts the panel's content into it whenever it opens.
  /** @param {HTMLElement} button @param {HTMLElement} panel @param {(panel: HTMLElement) => void} fill */
  function attach(button, panel, fill) {
    button.setAttribute("aria-expanded", "false");
    button.setAttribute("aria-controls", panel.id);
    panel.hidden = true;
    const menu = { button, panel, focusedBefore: button };
    button.addEventListener("click", () => {
      if (openMenu === menu) {
        close();
      } else {
        close();
        fill?.(panel);
        panel.hidden = false;
        button.setAttribute("aria-expanded", "true");
        openMenu = menu;
        keepOnScreen(panel);
        focusables(panel)[0]?.focus();
      }
    });
    moveByKeys(panel);
  }

  /** @param {HTMLElement} panel */
  function moveByKeys(panel) {
    panel.addEventListener("keydown", event => {
      if (/** @type {Element} */ (event.target).matches("input[type=text], textarea") && event.key !== "Escape") {
        return;
      }
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (step) {
        const all = focusables(panel);
        const at = all.findIndex(one => one === document.activeElement);
        all[(at + step + all.length) % all.length]?.focus();
        event.preventDefault();
      }
    });
  }

  // Opens a panel at a place of the window. `fill` puts its content into it.
  /** @param {HTMLElement} panel @param {Place} value @param {(panel: HTMLElement) => void} fill */
  function openAt(panel, [x, y], fill) {
    const focusedBefore = openMenu?.panel === panel ? openMenu.focusedBefore : document.activeElement;
    close();
    fill(panel);
    panel.hidden = false;
    panel.style.left = "0px";
    panel.style.top = "0px";
    const { width, height } = panel.getBoundingClientRect();
    const { clientWidth, clientHeight } = document.documentElement;
    panel.style.left = `${Math.max(2, Math.min(x, clientWidth - width - 2))}px`;
    panel.style.top = `${Math.max(2, Math.min(y, clientHeight - height - 2))}px`;
    openMenu = { button: null, panel, focusedBefore };
    focusables(panel)[0]?.focus();
  }

  /** @param {HTMLElement} panel */
  function keepOnScreen(panel) {
    panel.style.left = "";
    const { left, right } = panel.getBoundingClientRect();
    const over = right - (document.documentElement.clientWidth - 8);
    if (over > 0) {
      panel.style.left = `${Math.max(-left + 8, panel.offsetLeft - over)}px`;
    }
  }

  /** @param {HTMLElement} panel */
  function focusables(panel) {
    /** @type {NodeListOf<HTMLButtonElement | HTMLInputElement | HTMLTextAreaElement>} */
    const all = panel.querySelectorAll("button, input, textarea");
    return [...all].filter(one => !one.disabled && one.offsetParent !== null);
  }

  // True if a panel was open.
  function close(giveFocusBack = false) {
    if (!openMenu) {
      return false;
    }
    const { button, panel, focusedBefore } = openMenu;
    openMenu = null;
    panel.hidden = true;
    button?.setAttribute("aria-expanded", "false");
    if (giveFocusBack) {
      focusedBefore?.focus?.({ preventScroll: true });
    }
    return true;
  }

  addEventListener("mousedown", event => {
    const target = /** @type {Node} */ (event.target);
    if (openMenu && !openMenu.panel.contains(target) && !openMenu.button?.contains(target)) {
      close();
    }
  }, true);

  return { attach, moveByKeys, openAt, close };
})();
