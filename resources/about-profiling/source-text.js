/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The text of a script, by the index of its resource: { text, line, column }, with where the text begins, as the recording
// has it. A promise of it, or of null if there is none.
strobe.sourceText = async resource => strobe.state.recording.sources.get(resource) ?? null;
