/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// Functions as text, as components/profile_formats/label.rs writes them, and the labels of samples without a stack.

const CODES = {
  "%3B": ";",
  "%0A": "\n",
  "%0D": "\r",
  "%23": "#",
  "%25": "%",
  "%28": "(",
  "%29": ")",
  "%3A": ":",
  "%5B": "[",
  "%2E": ".",
  "%E2%80%A8": "\u2028",
  "%E2%80%A9": "\u2029",
};

const STACKLESS = new Set(["(program)", "(idle)", "(script)", "(gc)", "(style)", "(layout)", "(paint)", "(other)"]);

export function isStackless(name) {
  return STACKLESS.has(name);
}

/** The identity of a function: the key of all maps. */
export function functionKey({ name, resource = "", line = 0, column = 0 }) {
  return JSON.stringify([name, resource, line, line === 0 ? 0 : column]);
}

/** The key of a line at which the function with this key was executing. */
export function lineKey(key, line) {
  return `${key}:${line}`;
}

/** A name in a member of its own. Only those that stand for no function are escaped, in their first character. */
export function readName(text) {
  if (text === "(anonymous)") {
    return "";
  }
  const [, code, rest] = /^%((?:25)*)28(.*)$/su.exec(text) ?? [];
  if (code === undefined || !(STACKLESS.has(`(${rest}`) || rest === "anonymous)" || rest === "garbage collector)")) {
    return text;
  }
  return code === "" ? `(${rest}` : `%${text.slice("%25".length)}`;
}

/** A name in a line of text. */
function readTextName(text) {
  return text === "(anonymous)" ? "" : unescape(text);
}

/** The function in a text that also has the place in it: `name (url:line:column):line`. */
export function withoutPlace(text) {
  return /^(.* \(.*\)):(?:[1-9][0-9]*(?:-[1-9][0-9]*)?|0x[0-9a-f]+)$/su.exec(text)?.[1] ?? text;
}

/** The key of a function from `name (url:line:column)`. */
export function readLabel(text) {
  const at = text.endsWith(")") ? text.lastIndexOf(" (") : -1;
  if (at === -1) {
    return functionKey({ name: readTextName(text) });
  }
  const [name, place] = [text.slice(0, at), text.slice(at + 2, -1)];
  const numbers = /^(.*?)(?::([1-9][0-9]*))?(?::([1-9][0-9]*))?$/su.exec(place);
  const [, resource, line, column] = numbers;
  return functionKey({
    name: readTextName(name),
    resource: unescape(resource),
    line: Number(line ?? 0),
    column: Number(column ?? 0),
  });
}

/** The key of a function without a URL, from a member for its name: what is in parentheses is a part of it, unless it is a line. */
export function readPathless(text) {
  const isLine = /^.* \((?::[1-9][0-9]*){1,2}\)$/su.test(text);
  return / \(.*\)$/su.test(text) && !isLine ? functionKey({ name: readName(text) }) : readLabel(text);
}

function unescape(text) {
  return text.replace(new RegExp(Object.keys(CODES).join("|"), "g"), (code) => CODES[code]);
}
