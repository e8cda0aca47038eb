/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// Requests to the browser's server for this page, which has its own scheme. There is a server only if the page
// has a token.
strobe.server = (() => {
  const token = document.querySelector("meta[name=profiling-token]")?.getAttribute("content") ?? null;

  // The text of the answer.
  /** @param {string} command @param {any} parameters @param {string | undefined} body */
  async function ask(command, parameters = {}, body = undefined) {
    const query = new URLSearchParams({ token: token ?? "" });
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined && value !== null && value !== "") {
        query.set(name, String(value));
      }
    }
    let response;
    try {
      response = await fetch(`profiling:${command}?${query}`, body === undefined ? {} : { method: "POST", body });
    } catch (error) {
      throw new Error(`the browser did not answer profiling:${command}: ${/** @type {Error} */ (error).message}`);
    }
    const text = await response.text();
    if (!response.ok) {
      throw new Error(errorIn(text) ?? `profiling:${command} was answered with status ${response.status}`);
    }
    return text;
  }

  /** @param {string} text */
  function errorIn(text) {
    try {
      return JSON.parse(text).error;
    } catch {
      return undefined;
    }
  }

  /** @param {string} command @param {any} parameters @param {string | undefined} body */
  async function askJson(command, parameters = {}, body = undefined) {
    return JSON.parse(await ask(command, parameters, body));
  }

  return {
    isThere: token !== null,
    status: () => askJson("status"),
    start: (/** @type {object} */ options) => askJson("start", options),
    stop: () => askJson("stop"),
    recordingText: (/** @type {string} */ id) => ask("recording", { id }),
    load: (/** @type {string} */ name, /** @type {string} */ text) => askJson("load", { name }, text),
    loadPath: (/** @type {string} */ path) => askJson("load", { path }),
    /** @type {(id: string, format: string, path: string, eventLoop: number | null) => Promise<any>} */
    save: (id, format, path, eventLoop) => askJson("save", { id, format, path, eventLoop }),
    forget: (/** @type {string} */ id) => askJson("forget", { id }),
  };
})();
