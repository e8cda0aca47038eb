/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A tree as a table of rows. Only the rows on the screen are in the document.
//
// The content comes from a model: { columns: [{ id, title, className }], roots(), children(row), hasChildren(row),
// key(row), fill(row, cells, element), nothing }, with rows of any kind. `nothing` is the text to show if there are no
// rows. Whether a row is open is remembered by its path of keys, so that it stays open when the rows are made anew.
strobe.treeGrid = (() => {
  const { element: make, button, setText, setMarked, setAttribute, inNextFrame } = strobe.dom;
  const ROW_HEIGHT = 22;
  const INDENT = 14;
  // Deeper rows are not indented further. Their depth is written beside them.
  const DEEPEST_INDENT = 24;
  const MARGIN_ROWS = 6;
  // `*` opens no more rows than this at once.
  const MOST_OPENED = 5000;
  // Opening a row also opens the rows below it, as long as each has a single child, and at most this many.
  const LONGEST_CHAIN = 200;

  class TreeGrid {
    #element;
    #scroller;
    #spacer;
    #header;
    // The columns that the header was built for.
    #headerShape = "";
    #nothing;
    #model = null;
    #open = new Set();
    // { row, depth, path, isOpen, hasChildren }; `hasChildren` is undefined until it is needed.
    #rows = [];
    // { root, cells, last, twisty, index } of the rows in the document.
    #elements = [];
    #current = -1;
    #onSelect;
    #onMenu;
    #renderSoon = inNextFrame(() => this.render());

    // `element` becomes the tree. `onSelect` is called with the row that the person chose, and `onMenu` with the event
    // and the row for which the person asked for a menu.
    constructor(element, label, onSelect, onMenu) {
      this.#element = element;
      this.#onSelect = onSelect;
      this.#onMenu = onMenu;
      element.className = "tree-grid";
      element.tabIndex = 0;
      element.setAttribute("role", "treegrid");
      element.setAttribute("aria-label", label);
      this.#header = make("div", { class: "tree-row tree-header", role: "row" });
      this.#spacer = make("div", { class: "tree-spacer" });
      this.#nothing = make("p", { class: "quiet-text nothing" });
      this.#scroller = make("div", { class: "tree-scroller", role: "rowgroup" }, this.#nothing, this.#spacer);
      element.replaceChildren(this.#header, this.#scroller);
      this.#scroller.addEventListener("scroll", this.#renderSoon);
      element.addEventListener("keydown", event => this.#key(event));
      element.addEventListener("mousedown", event => this.#press(event));
      element.addEventListener("contextmenu", event => {
        const index = this.#indexOf(event.target);
        if (index >= 0) {
          this.#choose(index);
          this.#onMenu(event, this.#rows[index].row);
        }
      });
      element.addEventListener("dblclick", event => {
        const index = this.#indexOf(event.target);
        if (index >= 0 && !event.target.closest(".twisty")) {
          this.#toggle(index);
        }
      });
    }

    // Sets another model, whose rows may be the same as before with other figures. `reveal`, `unmark` or `render` then
    // shows it. So the places of rows are read before the document is changed, and the document is laid out only once.
    setModel(model, keepOpen) {
      const currentPath = this.#rows[this.#current]?.path;
      this.#model = model;
      if (!keepOpen) {
        this.#open.clear();
      }
      this.#buildHeader();
      this.#rows = this.#flatten(model.roots(), 0, "");
      if (!keepOpen && this.#rows.length) {
        this.#openChain(0);
      }
      this.#current = currentPath === undefined ? -1 : this.#rows.findIndex(({ path }) => path === currentPath);
    }

    #buildHeader() {
      const shape = JSON.stringify(this.#model.columns);
      if (shape === this.#headerShape) {
        return;
      }
      this.#headerShape = shape;
      this.#header.replaceChildren(...this.#model.columns.map(column => {
        const { title, className, sort, sorted } = column;
        const attributes = { class: `tree-cell ${className}`, role: "columnheader", "aria-sort": sorted };
        if (!sort) {
          return make("div", attributes, title);
        }
        const pressed = button(title, sort, { class: "sort" });
        if (sorted) {
          pressed.append(make("span", { class: "arrow", "aria-hidden": "true", text: sorted === "ascending" ? "▴" : "▾" }));
        }
        return make("div", attributes, pressed);
      }));
    }

    // These rows, and the rows below those that are open.
    #flatten(rows, depth, above) {
      const result = [];
      const pending = rows.map(row => ({ row, depth, above })).reverse();
      while (pending.length) {
        const next = pending.pop();
        const path = `${next.above}/${this.#model.key(next.row)}`;
        const entry = { row: next.row, depth: next.depth, path, hasChildren: undefined, isOpen: false };
        const isOpen = this.#open.has(path) && this.#hasChildren(entry);
        entry.isOpen = isOpen;
        result.push(entry);
        if (isOpen) {
          const children = this.#model.children(next.row);
          for (let i = children.length - 1; i >= 0; i--) {
            pending.push({ row: children[i], depth: next.depth + 1, above: path });
          }
        }
      }
      return result;
    }

    #hasChildren(entry) {
      entry.hasChildren ??= this.#model.hasChildren(entry.row);
      return entry.hasChildren;
    }

    #setOpen(index, isOpen) {
      const entry = this.#rows[index];
      if (entry.isOpen === isOpen || !this.#hasChildren(entry)) {
        return;
      }
      entry.isOpen = isOpen;
      if (isOpen) {
        this.#open.add(entry.path);
        const below = this.#flatten(this.#model.children(entry.row), entry.depth + 1, entry.path);
        this.#rows = [...this.#rows.slice(0, index + 1), ...below, ...this.#rows.slice(index + 1)];
        this.#current += this.#current > index ? below.length : 0;
      } else {
        this.#open.delete(entry.path);
        let end = index + 1;
        while (end < this.#rows.length && this.#rows[end].depth > entry.depth) {
          end++;
        }
        this.#rows.splice(index + 1, end - index - 1);
        if (this.#current > index) {
          this.#current = this.#current < end ? index : this.#current - (end - index - 1);
        }
      }
    }

    // Opens a row, and its only child, and so on.
    #openChain(index) {
      for (let opened = 0; opened < LONGEST_CHAIN; opened++, index++) {
        if (this.#rows[index].isOpen || !this.#hasChildren(this.#rows[index])) {
          break;
        }
        this.#setOpen(index, true);
        const next = this.#rows[index + 1];
        const afterNext = this.#rows[index + 2];
        if (afterNext && afterNext.depth === next.depth) {
          break;
        }
      }
    }

    #toggle(index) {
      if (this.#rows[index].isOpen) {
        this.#setOpen(index, false);
      } else {
        this.#openChain(index);
      }
      this.render();
    }

    // Opens all rows below a row, the upper levels first.
    #openAll(index) {
      const { depth } = this.#rows[index];
      let opened = 0;
      for (let at = index; at < this.#rows.length && (at === index || this.#rows[at].depth > depth); at++) {
        if (opened >= MOST_OPENED) {
          break;
        }
        if (!this.#rows[at].isOpen && this.#hasChildren(this.#rows[at])) {
          const before = this.#rows.length;
          this.#setOpen(at, true);
          opened += this.#rows.length - before;
        }
      }
      this.render();
    }

    // Opens the rows on a path of keys, and makes the last one current. Stops at the first key that has no row.
    reveal(keys) {
      let index = -1;
      let depth = 0;
      for (const key of keys) {
        if (index >= 0) {
          this.#setOpen(index, true);
        }
        let next = index + 1;
        while (next < this.#rows.length && this.#rows[next].depth >= depth) {
          if (this.#rows[next].depth === depth && this.#model.key(this.#rows[next].row) === key) {
            break;
          }
          next++;
        }
        if (next >= this.#rows.length || this.#rows[next].depth !== depth) {
          break;
        }
        index = next;
        depth++;
      }
      this.#current = depth === keys.length ? index : -1;
      this.#scrollToCurrent(true);
      this.render();
    }

    unmark() {
      this.#current = -1;
      this.render();
    }

    // Scrolls as little as possible. With `toMiddle`, a row that is off the screen is moved to the middle.
    #scrollToCurrent(toMiddle = false) {
      if (this.#current < 0) {
        return;
      }
      const top = this.#current * ROW_HEIGHT;
      const view = this.#scroller.clientHeight;
      const isAbove = top < this.#scroller.scrollTop;
      const isBelow = top + ROW_HEIGHT > this.#scroller.scrollTop + view;
      if (isAbove || isBelow) {
        // The scrolled box must be as high as its rows before it can be scrolled there.
        this.#measureSpacer();
      }
      if (toMiddle && (isAbove || isBelow)) {
        this.#scroller.scrollTop = top - view / 2;
      } else if (isAbove) {
        this.#scroller.scrollTop = top;
      } else if (isBelow) {
        this.#scroller.scrollTop = top + ROW_HEIGHT - view;
      }
    }

    #measureSpacer() {
      const height = `${this.#rows.length * ROW_HEIGHT}px`;
      if (this.#spacer.style.height !== height) {
        this.#spacer.style.height = height;
      }
    }

    // Puts the rows that are on the screen into the document. Their elements are used again for other rows.
    render() {
      if (!this.#model) {
        return;
      }
      const { clientHeight, scrollTop } = this.#scroller;
      if (!clientHeight) {
        return;
      }
      this.#nothing.hidden = this.#rows.length > 0;
      setText(this.#nothing, this.#model.nothing ?? "No sample passes the filters.");
      this.#measureSpacer();
      setAttribute(this.#element, "aria-rowcount", this.#rows.length + 1);
      // The rows may have become fewer than the position of the scroll bar assumes.
      const scrolled = Math.max(0, Math.min(scrollTop, this.#rows.length * ROW_HEIGHT - clientHeight));
      const first = Math.max(0, Math.floor(scrolled / ROW_HEIGHT) - MARGIN_ROWS);
      const seen = Math.ceil(clientHeight / ROW_HEIGHT) + 2 * MARGIN_ROWS;
      const end = Math.min(this.#rows.length, first + seen);
      while (this.#elements.length < end - first) {
        this.#elements.push(this.#makeRow());
      }
      this.#elements.forEach((element, i) => {
        const index = first + i;
        if (index < end) {
          this.#fill(element, index);
          element.root.hidden = false;
        } else if (!element.root.hidden) {
          // The element must not keep facts about the row that it showed last.
          element.root.hidden = true;
          element.index = -1;
          element.root.removeAttribute("id");
          for (const name of Object.keys(element.root.dataset)) {
            delete element.root.dataset[name];
          }
        }
      });
      if (this.#current >= first && this.#current < end) {
        setAttribute(this.#element, "aria-activedescendant", this.#rowId(this.#current));
      } else {
        this.#element.removeAttribute("aria-activedescendant");
      }
    }

    #rowId(index) {
      return `${this.#element.id}-row-${index}`;
    }

    #makeRow() {
      const cells = this.#model.columns.map(({ className }) => (
        make("div", { class: `tree-cell ${className}`, role: "gridcell" })));
      const root = make("div", { class: "tree-row", role: "row" }, ...cells);
      // The last column is the tree itself: the twisty, and then what the model puts there.
      const last = cells.at(-1);
      const twisty = make("span", { class: "twisty", "aria-hidden": "true" });
      const content = make("span", { class: "tree-content" });
      last.append(twisty, content);
      this.#spacer.append(root);
      return { root, cells: [...cells.slice(0, -1), content], last, twisty, index: -1 };
    }

    #fill(element, index) {
      const { row, depth, isOpen } = this.#rows[index];
      const hasChildren = this.#hasChildren(this.#rows[index]);
      const { root, cells, last, twisty } = element;
      if (element.index !== index) {
        element.index = index;
        root.style.top = `${index * ROW_HEIGHT}px`;
        root.id = this.#rowId(index);
        root.dataset.index = index;
        root.setAttribute("aria-rowindex", index + 2);
        root.classList.toggle("odd", index % 2 === 1);
      }
      setAttribute(root, "aria-level", depth + 1);
      if (hasChildren) {
        setAttribute(root, "aria-expanded", isOpen);
      } else {
        root.removeAttribute("aria-expanded");
      }
      const isCurrent = index === this.#current;
      setAttribute(root, "aria-selected", isCurrent);
      root.classList.toggle("selected", isCurrent);
      const indent = `${Math.min(depth, DEEPEST_INDENT) * INDENT + 4}px`;
      if (last.style.paddingLeft !== indent) {
        last.style.paddingLeft = indent;
      }
      setText(twisty, hasChildren ? (isOpen ? "▾" : "▸") : "");
      this.#model.fill(row, cells, root, depth > DEEPEST_INDENT ? depth : 0);
    }

    #indexOf(target) {
      const row = target.closest(".tree-row");
      return row && row !== this.#header && this.#element.contains(row) ? Number(row.dataset.index) : -1;
    }

    #press(event) {
      const index = this.#indexOf(event.target);
      if (index < 0 || event.button !== 0) {
        return;
      }
      event.preventDefault();
      this.#element.focus({ preventScroll: true });
      if (event.target.closest(".twisty")) {
        this.#toggle(index);
      } else {
        this.#choose(index);
      }
    }

    #choose(index) {
      this.#current = index;
      this.#scrollToCurrent();
      this.render();
      this.#onSelect(this.#rows[index].row);
    }

    #key(event) {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".sort") || !this.#rows.length) {
        return;
      }
      const last = this.#rows.length - 1;
      const at = this.#current;
      const entry = this.#rows[at];
      const page = Math.max(1, Math.floor(this.#scroller.clientHeight / ROW_HEIGHT) - 1);
      const actions = {
        ArrowDown: () => this.#choose(Math.min(at + 1, last)),
        ArrowUp: () => this.#choose(Math.max(at - 1, 0)),
        PageDown: () => this.#choose(Math.min(at + page, last)),
        PageUp: () => this.#choose(Math.max(at - page, 0)),
        Home: () => this.#choose(0),
        End: () => this.#choose(last),
        ArrowRight: () => {
          if (entry && !entry.isOpen && this.#hasChildren(entry)) {
            this.#toggle(at);
          } else if (entry?.isOpen) {
            this.#choose(at + 1);
          }
        },
        ArrowLeft: () => {
          if (entry?.isOpen) {
            this.#toggle(at);
          } else if (entry && entry.depth > 0) {
            let parent = at;
            while (this.#rows[parent].depth >= entry.depth) {
              parent--;
            }
            this.#choose(parent);
          }
        },
        Enter: () => entry && this.#hasChildren(entry) && this.#toggle(at),
        "*": () => entry && this.#openAll(at),
      };
      const action = actions[event.key];
      if (action) {
        event.preventDefault();
        event.stopPropagation();
        action();
      }
    }
  }

  // The figures of a weight in intervals, and of its samples, as its cells show them: samples, milliseconds and share.
  function fillWeight(cells, from, weight, samples) {
    const { recording, totals } = strobe.state;
    const { format } = strobe;
    const isNone = !weight;
    setText(cells[from], !samples ? "" : format.count(samples));
    setText(cells[from + 1], isNone ? "" : format.sampledTime(weight * recording.interval, recording.step));
    setText(cells[from + 2], isNone ? "" : format.percent(weight, totals.shown));
  }

  // The columns of `fillWeight`.
  function weightColumns(id, title) {
    return [
      { id: `${id}-samples`, title: `${title} #`, className: "number samples" },
      { id: `${id}-ms`, title: `${title} ms`, className: "number" },
      { id: `${id}-share`, title: "%", className: "number share" },
    ];
  }

  // A function's name and place in a cell, and the lines from which its caller calls it.
  function fillFunction(cell, id, depth = 0, calledAt = "") {
    const { recording: { functions } } = strobe.state;
    const wanted = strobe.state.wanted();
    if (!cell.firstChild) {
      cell.append(...["kind", "depth", "name", "place", "place call"].map(name => make("span", { class: name })));
    }
    const [kind, depthPart, name, place, call] = cell.children;
    const colour = strobe.theme.swatch(functions, id);
    if (kind.dataset.colour !== colour) {
      kind.dataset.colour = colour;
      kind.style.backgroundColor = colour;
    }
    setText(depthPart, depth ? `↳${depth}` : "");
    setMarked(name, functions.labels[id], wanted);
    fillPlace(place, id, wanted);
    setText(call, calledAt && `called at ${calledAt}`);
    setAttribute(cell.parentNode, "title", [functions.labels[id], functions.place(id)].filter(Boolean).join("\n"));
  }

  // The place, with the search's matches in its URL marked. The whole URL is shown if the match is not in the name of
  // the file.
  function fillPlace(cell, id, wanted) {
    const { functions } = strobe.state.recording;
    const url = functions.url(id);
    if (!url) {
      setText(cell, functions.isActivity(id) ? "" : functions.kindName(id));
      return;
    }
    const file = strobe.format.fileName(url);
    const isInUrl = wanted && url.toLowerCase().includes(wanted);
    if (isInUrl && !file.toLowerCase().includes(wanted)) {
      setMarked(cell, functions.place(id), wanted, url.length);
    } else {
      setMarked(cell, functions.shortPlace(id), wanted, file.length);
    }
  }

  return { TreeGrid, fillWeight, weightColumns, fillFunction };
})();
