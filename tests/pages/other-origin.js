/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

const parameters = new URLSearchParams(location.search);

function callback() {
  return work(1);
}

function caller() {
  otherOriginCall(callback);
  otherOriginEval(callback);
  otherOriginObject.otherOriginMethod(callback);
  otherOriginObject.otherOriginGenerator(callback).next();
}

async function loadScript() {
  const script = document.createElement("script");
  script.src = parameters.get("script");
  if (parameters.has("crossorigin")) {
    script.crossOrigin = "anonymous";
  }
  document.documentElement.append(script);
  await event(script, "load");
}

runTest(async () => {
  await loadScript();
  const profiler = new Profiler({ sampleInterval: 1, maxBufferSize: 100_000 });
  for (let i = 0; i < 100; i++) {
    caller();
  }
  return profiler.stop();
});
