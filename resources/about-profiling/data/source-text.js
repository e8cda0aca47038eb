/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// A promise of the text of a script in a recording, by the index of the script's resource: { text, line, column }, or
// null if there is none. The line and the column say where the text begins.
/** @param {Recording} recording @param {number} resource @returns {Promise<SourceText | null>} */
strobe.sourceText = async (recording, resource) => recording.sources.get(resource) ?? null;
