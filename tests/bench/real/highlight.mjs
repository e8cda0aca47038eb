/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A page of documentation with code in colours.

import highlighter from "highlight.js/lib/core";
import javascript from "highlight.js/lib/languages/javascript";
import typescript from "highlight.js/lib/languages/typescript";
import script from "text:dayjs/esm/utils.js";
import source from "text:rxjs/src/internal/Subscription.ts";

import { checksum } from "./checksum.mjs";

highlighter.registerLanguage("javascript", javascript);
highlighter.registerLanguage("typescript", typescript);

export function unit() {
  const coloured = highlighter.highlight(source, { language: "typescript" }).value;
  return checksum(coloured + highlighter.highlight(script, { language: "javascript" }).value);
}
