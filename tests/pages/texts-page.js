/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

var isDone = false;

addEventListener("load", async () => {
  inlineWork();
  const evaluate = eval;
  evaluate("function evaluatedWork() {\n  spin();\n}\nevaluatedWork();");
  // `originalWork` calls `spin` in line 2 of its file. The code around it is in no file.
  const map = {
    version: 3, sources: ["written.ts"], sourcesContent: ["function originalWork() {\n  spin();\n}\n"],
    names: ["originalWork"], mappings: ";AAAA,SAASA,IACP",
  };
  const link = `data:application/json;base64,${btoa(JSON.stringify(map))}`;
  evaluate(`\nfunction m(){spin()}\nm();\n//# sourceMappingURL=${link}`);
  document.querySelector("iframe").remove();
  const worker = new Worker("texts-worker.js");
  await new Promise(resolve => {
    worker.onmessage = resolve;
  });
  isDone = true;
});
