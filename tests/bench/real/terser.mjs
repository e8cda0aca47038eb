/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A minifier in the page, such as an online tool has.

import { minify_sync as minify } from "terser";
import source from "text:dayjs/esm/utils.js";

import { checksum } from "./checksum.mjs";

export function unit() {
  return checksum(minify(source, { module: true, compress: true, mangle: true }).code);
}
