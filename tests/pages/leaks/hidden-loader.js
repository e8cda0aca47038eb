/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A script of another origin that adds more code to the page in other ways.

function hiddenLoad(src) {
  return new Promise((resolve, reject) => {
    document.documentElement.append(Object.assign(document.createElement("script"), { src, onload: resolve, onerror: reject }));
  });
}

function hiddenSetHandler(element) {
  element.setAttribute("onclick", "hiddenSpin()");
}

function hiddenNavigate() {
  location.href = "javascript:void hiddenSpin()";
}

function hiddenImport(url) {
  return import(url);
}
