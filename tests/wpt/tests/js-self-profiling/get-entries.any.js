// META: timeout=long
/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// https://w3c.github.io/performance-timeline/#dom-performance-getentries has no argument, so any argument is ignored.
// Existing code passes strings. A dictionary is the filter of
// https://www.w3.org/TR/2015/WD-performance-timeline-2-20151021/.

const all = () => performance.getEntriesByType("mark").concat(performance.getEntriesByType("measure"));

// Resources of the page itself may finish loading while the test runs.
const own = entries => entries.filter(entry => ["mark", "measure"].includes(entry.entryType));

function observedList() {
  return new Promise(resolve => {
    const observer = new PerformanceObserver(list => {
      observer.disconnect();
      resolve(list);
    });
    observer.observe({ entryTypes: ["mark", "measure"] });
    performance.mark("a");
    performance.mark("b");
    performance.measure("a");
  });
}

promise_setup(async () => {
  self.lists = { performance, "the list of an observer": await observedList() };
});

for (const [what, ...argument] of [
  ["nothing"],
  ["undefined", undefined],
  ["null", null],
  ["a string", "resource"],
  ["an empty string", ""],
  ["a number", 1],
  ["NaN", NaN],
  ["a BigInt", 10n],
  ["true", true],
  ["false", false],
  ["a symbol", Symbol("mark")],
  ["a function, which has a name", function mark() {}],
  ["an arrow function", () => {}],
  ["a class", class Mark {}],
  ["an array", ["mark"]],
  ["a date", new Date()],
  ["a regular expression", /mark/],
  ["a String object", new String("mark")],
  ["an object without members", {}],
  ["an object with other members", { type: "mark" }],
  ["members that are undefined", { name: undefined, entryType: undefined, initiatorType: undefined }],
  ["two arguments", "mark", "a"],
]) {
  promise_test(async () => {
    for (const [which, list] of Object.entries(self.lists)) {
      assert_array_equals(own(list.getEntries(...argument)), own(list.getEntries()), which);
      assert_equals(own(list.getEntries(...argument)).length, 3, which);
    }
  }, `getEntries() with ${what} gives all entries`);
}

promise_test(async () => {
  for (const list of Object.values(self.lists)) {
    const names = filter => list.getEntries(filter).map(entry => `${entry.entryType} ${entry.name}`).sort();
    assert_array_equals(names({ name: "a" }), ["mark a", "measure a"]);
    assert_array_equals(names({ entryType: "mark" }), ["mark a", "mark b"]);
    assert_array_equals(names({ name: "a", entryType: "measure" }), ["measure a"]);
    assert_array_equals(names({ name: "a", initiatorType: "script" }), []);
    assert_array_equals(names({ entryType: "nothing" }), []);
    assert_array_equals(names(Object.create({ name: "b" })), ["mark b"]);
    assert_equals(list.getEntries.length, 0);
  }
}, "getEntries() takes a dictionary as a filter");

promise_test(async () => {
  const error = new Error("from the getter");
  for (const list of Object.values(self.lists)) {
    assert_throws_exactly(error, () => list.getEntries({ get name() { throw error; } }));
    assert_throws_js(TypeError, () => list.getEntries({ name: Symbol() }));
  }
  const clearing = { get name() { performance.clearMarks("b"); return "b"; } };
  assert_array_equals(performance.getEntries(clearing), []);
}, "a filter's getters are called, and may change the entries");
