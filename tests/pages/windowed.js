/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

// A page that logs what it notices of its window to the console. Its query gives its name.

"use strict";

const called = new URLSearchParams(location.search).get("name");
document.title = called;

// Each page has a different colour, by which a test recognises it on the screen.
const hash = [...called].reduce((sum, letter) => (31 * sum + letter.codePointAt()) & 0xffffff, 0);
document.getElementById("mark").style.background = `#${hash.toString(16).padStart(6, "0")}`;

const say = (what) => console.log(`${called}: ${what}`);
const saySize = () => say(`size ${innerWidth}x${innerHeight} at ${devicePixelRatio}`);
const named = (target) => target.id || target.localName;
const element = (id) => document.getElementById(id);

addEventListener("resize", saySize);
addEventListener("keydown", (event) => say(`key ${event.key}`));
addEventListener("click", (event) => say(`click on ${named(event.target)}`));
addEventListener("wheel", () => say("wheel"));

element("link").href = `?name=${called}-linked`;
element("confirm").addEventListener("click", () => say(`confirmed ${confirm("Really?")}`));
element("prompt").addEventListener("click", () => say(`prompted ${prompt("Your name?", "nobody")}`));
element("select").addEventListener("change", (event) => say(`selected ${event.target.value}`));
element("file").addEventListener("change", (event) => say(`file ${event.target.files[0].name}`));
element("text").addEventListener("input", (event) => say(`text ${event.target.value}`));
// Logs after the browser has received the page's request.
const sayAfter = ({ type, currentTarget }) => setTimeout(say, 0, `after ${type} on ${named(currentTarget)}`);
element("select").addEventListener("click", sayAfter);
element("file").addEventListener("click", sayAfter);
document.documentElement.addEventListener("contextmenu", sayAfter);
element("text").addEventListener("copy", sayAfter);
element("open").addEventListener("click", () => window.open(`?name=${called}-opened`));
element("colour").addEventListener("change", (event) => say(`colour ${event.target.value}`));

addEventListener("load", () => {
  saySize();
  say(matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  say("loaded");
});
