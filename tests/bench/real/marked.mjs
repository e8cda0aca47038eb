/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A Markdown renderer, as for comments or documents.

import { marked } from "marked";
import source from "text:highlight.js/README.md";

import { checksum } from "./checksum.mjs";

export function unit() {
  return checksum(marked.parse(source, { gfm: true }));
}
