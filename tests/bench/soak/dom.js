/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Programs for documents only: calls into the DOM and from the DOM.

class SoakElement extends HTMLElement {
    constructor() {
        super();
        soakElements++;
    }

    connectedCallback() {
        connections += spin(1, 20) ? 1 : 0;
    }
}

let soakElements = 0;
let connections = 0;
customElements.define("soak-element", SoakElement);

let pokes = 0;

function onPoke(event) {
    pokes += event.target.localName === "li" ? 1 : 0;
    spin(pokes, 20);
}

function acceptOdd(node) {
    return node.className === "odd" ? NodeFilter.FILTER_ACCEPT : NodeFilter.FILTER_SKIP;
}

function addItem(list, i) {
    const item = document.createElement("li");
    item.className = i % 2 ? "odd" : "even";
    item.setAttribute("data-i", i);
    item.textContent = `item ${i}`;
    list.appendChild(item);
    return item;
}

function touchDocument() {
    const list = document.createElement("ul");
    list.addEventListener("poke", onPoke);
    pokes = 0;
    for (let i = 0; i < 30; i++) {
        addItem(list, i);
    }
    document.body.append(list);
    if (roundsRun % ROUNDS_PER_LONG_PROGRAM === 1) {
        check(list.getBoundingClientRect().width > 0, "layout");
    }
    check(list.querySelectorAll("li.odd").length === 15, "querySelectorAll");
    for (const item of list.children) {
        item.classList.toggle("poked");
        item.dispatchEvent(new Event("poke", { bubbles: true }));
        item.classList.toggle("poked");
    }
    check(pokes === 30, "events");
    const walker = document.createTreeWalker(list, NodeFilter.SHOW_ELEMENT, acceptOdd);
    let odd = 0;
    while (walker.nextNode()) {
        odd++;
    }
    check(odd === 15, "a tree walker");
    list.innerHTML = "<li><b>bold</b></li>".repeat(20);
    check(list.firstChild.firstChild.textContent === "bold", "innerHTML");
    list.remove();
}

function useCustomElements() {
    const before = [soakElements, connections];
    for (let i = 0; i < 20; i++) {
        const element = document.createElement("soak-element");
        document.body.appendChild(element);
        element.remove();
    }
    check(soakElements - before[0] === 20 && connections - before[1] === 20, "custom elements");
}

addProgram(touchDocument, `
    touchDocument > addItem, onPoke, acceptOdd, check
    onPoke > spin`);
addProgram(useCustomElements, `
    useCustomElements > SoakElement, connectedCallback, check
    connectedCallback > spin`);

function observeMutations() {
    return new Promise(function startObserving(resolve) {
        const element = document.createElement("p");
        new MutationObserver(function onMutation(records, observer) {
            observer.disconnect();
            check(records.length === 2 && spin(1, 200) !== 0, "mutations");
            resolve();
        }).observe(element, { attributes: true });
        element.id = "a";
        element.id = "b";
    });
}

addLaterProgram(observeMutations, `
    observeMutations > startObserving
    (root) > onMutation
    onMutation > spin, check`);
