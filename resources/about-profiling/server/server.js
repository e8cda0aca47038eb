/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Requests to the browser's server for this page, which has its own scheme. There is a server only if the page
// has a token.
strobe.server = (() => {
  const token = document.querySelector("meta[name=profiling-token]")?.content ?? null;

  // The text of the answer.
  async function ask(command, parameters = {}, body) {
    const query = new URLSearchParams({ token });
    for (const [name, value] of Object.entries(parameters)) {
      if (value !== undefined && value !== null && value !== "") {
        query.set(name, value);
      }
    }
    let response;
    try {
      response = await fetch(`profiling:${command}?${query}`, body === undefined ? {} : { method: "POST", body });
    } catch (error) {
      throw new Error(`the browser did not answer profiling:${command}: ${error.message}`);
    }
    const text = await response.text();
    if (!response.ok) {
      throw new Error(errorIn(text) ?? `profiling:${command} was answered with status ${response.status}`);
    }
    return text;
  }

  function errorIn(text) {
    try {
      return JSON.parse(text).error;
    } catch {
      return undefined;
    }
  }

  async function askJson(command, parameters, body) {
    return JSON.parse(await ask(command, parameters, body));
  }

  return {
    isThere: token !== null,
    status: () => askJson("status"),
    start: options => askJson("start", options),
    stop: () => askJson("stop"),
    recordingText: id => ask("recording", { id }),
    load: (name, text) => askJson("load", { name }, text),
    loadPath: path => askJson("load", { path }),
    save: (id, format, path, eventLoop) => askJson("save", { id, format, path, eventLoop }),
    forget: id => askJson("forget", { id }),
  };
})();
