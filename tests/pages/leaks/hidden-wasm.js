/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A WebAssembly function. It is the loop of hidden.js, in a script that may be loaded more than once.

var hiddenWasmLoop = new WebAssembly.Instance(
  new WebAssembly.Module(Uint8Array.from(
    atob(
      "AGFzbQEAAAABBgFgAX8BfwINAQJqcwZjYWxsZWUAAAMDAgAABxMCCGNhbGxCYWNrAAEEc3BpbgACCj0CGwEBfwNAIAEgABAAaiEBIABBAWsi" +
      "AA0ACyABCx8BAX8DQCABQY3M5QBsIABqIQEgAEEBayIADQALIAELACwEbmFtZQElAgESaGlkZGVuV2FzbUNhbGxCYWNrAg5oaWRkZW5XYXNtU3Bp" +
      "bg=="),
    character => character.charCodeAt(0))),
  { js: { callee: n => n } }).exports.spin;
