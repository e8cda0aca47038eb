/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// The functions of all event loops. Two functions are the same if they have the same name and place, as in every
// format. After the functions, the table has the activities, which stand for samples without a stack.
strobe.functions = (() => {
  const KINDS = ["script", "built-in", "native", "unknown"];
  const ANONYMOUS = "(anonymous)";

  class Functions {
    names = /** @type {string[]} */ ([]);
    kinds = /** @type {number[]} */ ([]);
    resources = /** @type {number[]} */ ([]);
    lines = /** @type {number[]} */ ([]);
    columns = /** @type {number[]} */ ([]);
    realms = /** @type {Set<number>[]} */ ([]);
    // For functions that a source map has renamed: what people are told about the script that ran.
    generated = /** @type {Set<string>[]} */ ([]);
    // The rest is known when all functions are there.
    urls = /** @type {string[]} */ ([]);
    labels = /** @type {string[]} */ ([]);
    boxLabels = /** @type {string[]} */ ([]);
    tints = /** @type {number[]} */ ([]);
    shades = /** @type {number[]} */ ([]);
    count = 0;
    total = 0;
    #ids = /** @type {Map<string, number>} */ (new Map());

    /**
     * @param {string} name
     * @param {number} kind
     * @param {number} resource
     * @param {number} line
     * @param {number} column
     * @param {number} realm
     */
    add(name, kind, resource, line, column, realm) {
      const key = `${resource}:${line}:${column}:${name}`;
      let id = this.#ids.get(key);
      if (id === undefined) {
        id = this.names.length;
        this.#ids.set(key, id);
        this.names.push(name);
        this.kinds.push(kind);
        this.resources.push(resource);
        this.lines.push(line);
        this.columns.push(column);
        this.realms.push(new Set());
        this.generated.push(new Set());
      }
      this.realms[id].add(realm);
      return id;
    }

    /** @param {string[]} urls */
    finish(urls) {
      this.#ids.clear();
      this.urls = urls;
      // The number of functions, without the activities.
      this.count = this.names.length;
      this.total = this.count + strobe.palette.ACTIVITIES.length;
      this.labels = this.names.map(name => name || ANONYMOUS);
      for (const activity of strobe.palette.ACTIVITIES) {
        this.labels.push(activity.label);
        this.names.push(activity.label);
        this.kinds.push(-1);
        this.resources.push(-1);
        this.lines.push(0);
        this.columns.push(0);
        this.realms.push(new Set());
        this.generated.push(new Set());
      }
      this.tints = urls.map(strobe.palette.tintOf);
      this.shades = this.names.map((name, id) => strobe.palette.shadeOf(name, this.lines[id]));
      // Many functions of a page have no name, so their place is added.
      this.boxLabels = this.labels.map((label, id) => {
        const url = this.names[id] ? "" : this.url(id);
        return url ? `${label} ${strobe.format.place(strobe.format.fileName(url), this.lines[id], 0)}` : label;
      });
    }

    /** @param {number} id */
    isActivity(id) {
      return id >= this.count;
    }

    /** @param {number} id */
    url(id) {
      return this.resources[id] < 0 ? "" : this.urls[this.resources[id]];
    }

    // As in file.js:12:3.
    /** @param {number} id */
    place(id) {
      const url = this.url(id);
      return url && strobe.format.place(url, this.lines[id], this.columns[id]);
    }

    /** @param {number} id */
    shortPlace(id) {
      const url = this.url(id);
      return url && strobe.format.place(strobe.format.fileName(url), this.lines[id], this.columns[id]);
    }

    /** @param {number} id */
    kindName(id) {
      return this.isActivity(id) ? "no stack" : KINDS[this.kinds[id]];
    }

    // The colour of its boxes.
    /** @param {number} id @param {Scheme} scheme */
    colour(id, scheme) {
      if (this.isActivity(id)) {
        return scheme.activity;
      }
      switch (this.kinds[id]) {
        case 1: return scheme.builtIn;
        case 2: return scheme.native;
        default: return this.resources[id] < 0 ? scheme.unknown : scheme.scripts[this.tints[this.resources[id]]][this.shades[id]];
      }
    }
  }

  return { KINDS, ANONYMOUS, Functions };
})();
