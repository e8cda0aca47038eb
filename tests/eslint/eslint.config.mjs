/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

import js from "@eslint/js";

export default [
  {
    ...js.configs.recommended,
    rules: {
      ...js.configs.recommended.rules,
      // Scripts of a page share their globals; each of them is tried in a browser.
      "no-undef": "off",
      "no-unused-vars": ["error", { vars: "local", args: "none", caughtErrors: "none", varsIgnorePattern: "^_" }],
      // Tests call setters, and look at what objects own.
      "no-self-assign": ["error", { props: false }],
      "no-prototype-builtins": "off",
      "no-empty-pattern": "off",
    },
  },
  { files: ["**/*.js"], languageOptions: { sourceType: "script" } },
  {
    files: [
      "tests/formats/builders/**/*.js",
      "tests/pages/leaks/shared-module.js",
      "tests/pages/prime-numbers.js",
      "tests/pages/primes.js",
      "tests/pages/stack-kinds-module.js",
      "tests/wpt/tests/js-self-profiling/usage/resources/generate.js",
    ],
    languageOptions: { sourceType: "module" },
  },
];
