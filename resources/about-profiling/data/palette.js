/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// @ts-check
"use strict";

// Every colour that has a meaning, for the light and the dark theme. The hues of activities are those of Okabe and
// Ito, which people who confuse red and green can tell apart. Their contrast with the ground is 3:1 or more. The
// contrast of boxes with the text on them is 4.5:1 or more. The tests check both contrasts.
strobe.palette = (() => {
  // In the order of their numbers in a recording. The last one stands for what is not known.
  const ACTIVITIES = [
    { name: "idle", label: "(idle)", light: "#8b929c", dark: "#6d7580" },
    { name: "script", label: "(script)", light: "#0068a8", dark: "#56b4e9" },
    { name: "gc", label: "(garbage collection)", light: "#c94f00", dark: "#f0803c" },
    { name: "style", label: "(style)", light: "#a85588", dark: "#de92c0" },
    { name: "layout", label: "(layout)", light: "#008560", dark: "#2fc39a" },
    { name: "paint", label: "(paint)", light: "#a87400", dark: "#e8b530" },
    { name: "other", label: "(other work)", light: "#5b5f97", dark: "#a3a7e0" },
    { name: "program", label: "(program)", light: "#7d6447", dark: "#b79f82" },
    { name: "not recorded", label: "(no stack)", light: "#767c85", dark: "#8b939e" },
  ];

  const LIGHT_TINTS = {
    ground: "#ffffff",
    text: "#1c1f24",
    faint: "#5c636e",
    line: "#dfe2e7",
    strong: "#aeb4be",
    header: "#f1f3f6",
    accent: "#1a56c4",
    onAccent: "#ffffff",
    match: "#ffd24a",
    shade: "rgba(240, 242, 245, 0.72)",
    dim: "#eef0f3",
    onDim: "#5f6570",
    scripts: ["#b3cdef", "#a8dff2", "#a5dfcc", "#d5de96", "#f2e4a6", "#f4bda4", "#f6c6d2", "#cfc3ea"],
    builtIn: "#d4d8df",
    native: "#c2c8d1",
    unknown: "#e2ddd3",
    activity: "#e6e9ee",
    rest: "#cfd3da",
    // Of boxes that took less or more time than before, the smallest change first, and of those that did not change.
    faster: ["#d9eaf7", "#b4d6ef", "#86bbe2", "#5aa0d3"],
    slower: ["#fbe3d6", "#f8c9ae", "#f2a67e", "#e8854f"],
    same: "#e6e9ee",
  };
  const DARK_TINTS = {
    ground: "#17191d",
    text: "#eceef1",
    faint: "#a3abb6",
    line: "#2e323a",
    strong: "#565d69",
    header: "#20242a",
    accent: "#86b4ff",
    onAccent: "#0c1420",
    match: "#ffd24a",
    shade: "rgba(16, 18, 21, 0.68)",
    dim: "#24282e",
    onDim: "#9098a3",
    scripts: ["#2d5180", "#1d5a70", "#1d5f50", "#525a1c", "#63541a", "#733f27", "#70384b", "#4e4175"],
    builtIn: "#41464f",
    native: "#333841",
    unknown: "#49453d",
    activity: "#2b3037",
    rest: "#3a3f48",
    faster: ["#26384a", "#254a69", "#215c8b", "#1a6cab"],
    slower: ["#4a3128", "#6b3a25", "#8a4322", "#a34a1a"],
    same: "#2b3037",
  };
  const ON_MATCH = "#1c1f24";
  const [BLACK, WHITE] = [0, 255];
  /** @type {Scheme} */
  const LIGHT = {
    ...LIGHT_TINTS, scripts: LIGHT_TINTS.scripts.map(colour => [colour, mixed(colour, 0.3, WHITE), mixed(colour, 0.07, BLACK)]),
  };
  /** @type {Scheme} */
  const DARK = {
    ...DARK_TINTS, scripts: DARK_TINTS.scripts.map(colour => [colour, mixed(colour, 0.06, WHITE), mixed(colour, 0.22, BLACK)]),
  };

  // A script has the same colour in every view and every recording. Its functions have shades of that colour.
  /** @param {string} url */
  function tintOf(url) {
    return (hashOf(url) >>> 8) % LIGHT.scripts.length;
  }

  /** @param {string} name @param {number} line */
  function shadeOf(name, line) {
    return (hashOf(`${name}:${line}`) >>> 8) % LIGHT.scripts[0].length;
  }

  /** @param {string} text */
  function hashOf(text) {
    let hash = 2166136261;
    for (let i = 0; i < text.length; i++) {
      hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
    }
    return hash >>> 0;
  }

  // A colour with a part of white or of black.
  /** @param {string} colour @param {number} part @param {number} other */
  function mixed(colour, part, other) {
    const parts = [1, 3, 5].map(at => Math.round(parseInt(colour.slice(at, at + 2), 16) * (1 - part) + other * part));
    return `#${parts.map(value => value.toString(16).padStart(2, "0")).join("")}`;
  }

  return { ACTIVITIES, LIGHT, DARK, ON_MATCH, tintOf, shadeOf };
})();
