/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The text of a script, by its URL: the one that the recording has. A promise of it, or of null if there is none.
strobe.sourceText = async url => {
  const { sources, resources } = strobe.state.recording;
  return sources.get(resources.indexOf(url)) ?? null;
};
