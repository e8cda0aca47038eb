// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// A document in a frame may profile by its own Document-Policy, unless a document around it refuses. A list of other
// origins is not a refusal.

// This page allows all frames to profile by their attribute, so that the documents in the frames decide.
const ALLOW = "js-profiling *";
const ORIGINS = {
  "the same origin": location.origin,
  "another host of the site": "http://{{domains[www]}}:{{ports[http][0]}}",
  "another site": "http://{{hosts[alt][]}}:{{ports[http][0]}}",
};

// The headers of a document that wants to profile.
const OWN = [["Document-Policy", "js-profiling"]];

function url(origin, file, headers, query) {
  const url = new URL(`resources/frames/${file}`, location.href);
  // After a backslash the server does not take the character for the end of the argument.
  const pipe = headers.map(([name, value]) => `header(${name},${value.replace(/[\\,)]/g, "\\$&")},True)`);
  url.search = new URLSearchParams({ ...query, pipe: pipe.join("|") });
  return `${origin}${url.pathname}${url.search}`;
}

function framed(src, allow) {
  const frame = document.createElement("iframe");
  frame.src = src;
  frame.allow = allow;
  document.body.append(frame);
  return frame;
}

let widgets = 0;

// Whether a document may profile, as it reports itself. `around` are the documents between this page and it, from the
// outermost: their headers, and the attribute of the frame in each.
async function outcome(t, around, origin, headers, allow = ALLOW) {
  const name = `widget ${widgets++}`;
  let src = url(origin, "widget.html", headers, { name });
  for (const { headers = [], allow } of around.toReversed()) {
    src = url(location.origin, "embedder.html", headers, { frame: src, ...allow !== undefined && { allow } });
  }
  const said = new Promise(resolve => {
    addEventListener("message", function listener({ data }) {
      if (data.name === name) {
        removeEventListener("message", listener);
        resolve(data.outcome);
      }
    });
  });
  const frame = framed(src, allow);
  t.add_cleanup(() => frame.remove());
  return said;
}

function described({ headers = [], allow }) {
  const said = headers.map(([name, value]) => `${name}: ${value}`);
  return [...said, ...(allow === undefined ? [] : [`allow="${allow}"`])].join(", ") || "nothing";
}

const NO_DENIALS = [
  {},
  { allow: "camera" },
  { allow: "js-profiling 'self'" },
  { headers: [["Permissions-Policy", "js-profiling=(self)"]] },
  { headers: [["Permissions-Policy", 'js-profiling=(self "https://a.example")']] },
  { headers: [["Permissions-Policy", 'js-profiling=("https://a.example")']] },
  { headers: [["Feature-Policy", "js-profiling 'self' https://a.example"]] },
  { headers: [["Permissions-Policy", "js-profiling=(self)"]], allow: "js-profiling" },
];
const DENIALS = [
  { headers: [["Document-Policy", "js-profiling=?0"]] },
  { headers: [["Permissions-Policy", "js-profiling=()"]] },
  { headers: [["Feature-Policy", "js-profiling 'none'"]] },
  { headers: [["Permissions-Policy", "js-profiling=()"]], allow: "js-profiling *" },
  { allow: "js-profiling 'none'" },
];

for (const [where, origin] of Object.entries(ORIGINS)) {
  for (const around of NO_DENIALS) {
    promise_test(async t => {
      assert_equals(await outcome(t, [around], origin, OWN), "allowed");
    }, `A frame of ${where} with its own Document-Policy may profile in a document with ${described(around)}`);
  }
  for (const around of DENIALS) {
    promise_test(async t => {
      assert_equals(await outcome(t, [around], origin, OWN), "NotAllowedError");
    }, `A frame of ${where} with its own Document-Policy may not profile in a document with ${described(around)}`);
  }
}

const OTHER = ORIGINS["another site"];
const EVERYBODY = { headers: [["Permissions-Policy", "js-profiling=*"]], allow: ALLOW };
const LIST = { headers: [["Permissions-Policy", "js-profiling=(self)"]], allow: ALLOW };

promise_test(async t => {
  assert_equals(await outcome(t, [LIST, {}, LIST], OTHER, OWN), "allowed");
}, "Lists of other origins are not refusals at any depth");

for (const [place, around] of [["outermost", [DENIALS[1], {}, {}]], ["innermost", [{}, {}, DENIALS[1]]]]) {
  promise_test(async t => {
    assert_equals(await outcome(t, around, OTHER, OWN), "NotAllowedError");
  }, `A refusal of the ${place} of three documents counts`);
}

promise_test(async t => {
  assert_equals(await outcome(t, [], OTHER, OWN), "allowed");
  assert_equals(await outcome(t, [], OTHER, OWN, "js-profiling 'none'"), "NotAllowedError");
}, "The attribute of this page's frame counts");

for (const headers of [
  [["Permissions-Policy", "js-profiling=*"]],
  [["Feature-Policy", "js-profiling 'self'"]],
  [["Document-Policy", "js-profiling=1"], ["Permissions-Policy", "js-profiling=(self)"]],
]) {
  promise_test(async t => {
    assert_equals(await outcome(t, [EVERYBODY], OTHER, headers), "allowed");
    assert_equals(await outcome(t, [LIST], OTHER, headers), "NotAllowedError");
  }, `A frame with ${described({ headers })} may profile unless a list leaves it out`);
}

for (const headers of [[], [["Document-Policy", "sync-xhr"]]]) {
  promise_test(async t => {
    assert_equals(await outcome(t, [EVERYBODY], OTHER, headers), "NotAllowedError");
  }, `A frame with ${described({ headers })} may not profile`);
}

promise_test(async t => {
  const headers = [...OWN, ["Permissions-Policy", 'js-profiling=("https://a.example")']];
  assert_equals(await outcome(t, [{}], OTHER, headers), "NotAllowedError");
}, "A document with a list that leaves out its own origin may not profile");
