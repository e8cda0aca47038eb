/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Random programs: the texts of functions that call one another in all ways that make a stack, and the call graph of
// these functions, in the form of callgraph.js.
//
// A function takes a number and returns a number. It calls only functions that are made after it, so every program ends.
// Each call burns fuel, so it ends soon. The texts also use the functions of runtime.js.

// The kinds of functions. Each gets the maker, the name of the function to make, and a function that returns the name of
// another function to call. It returns the text, and adds to the call graph.
const KINDS = {
    loop(make, name, callee) {
        const [first, second] = [callee(), callee()];
        make.calls(name, first, second);
        return `function ${name}(n) {
            ${make.start()}
            for (let i = 0; i < ${make.random.between(2, 40)}; i++) {
                x = (Math.imul(x, 31) + (i & 3 ? spin(x, 20) : ${first}(i))) | 0;
            }
            return x + ${second}(x);
        }`;
    },

    branches(make, name, callee) {
        const cases = [0, 1, 2, 3].map(callee);
        make.calls(name, ...cases);
        return `function ${name}(n) {
            ${make.start()}
            switch (x & 3) {
                ${cases.map((one, i) => `case ${i}: x += ${one}(x >> 2); break;`).join(" ")}
            }
            return spin(x, 100);
        }`;
    },

    sort(make, name, callee) {
        const [inside, after] = [callee(), callee()];
        make.calls(name, `${name}_compare`, `${name}_fill`, after);
        make.calls(`${name}_compare`, inside);
        const list = make.random.oneOf(["", "Float64", "Int32"]);
        return `function ${name}(n) {
            ${make.start()}
            function ${name}_fill(_, i) { return Math.imul(i + x, 0x9e3779b1) | 0; }
            function ${name}_compare(a, b) { return (a & 15) === 0 ? (${inside}(a) & 1) - 1 : a < b ? -1 : 1; }
            const list = ${list}Array.from({ length: ${make.random.between(2, 400)} }, ${name}_fill);
            list.sort(${name}_compare);
            return list[0] + ${after}(x);
        }`;
    },

    generator(make, name, callee) {
        const [inside, after] = [callee(), callee()];
        make.calls(name, `${name}_outer`, after);
        make.calls(`${name}_outer`, `${name}_inner`);
        make.calls(`${name}_inner`, inside);
        return `function* ${name}_inner(n) {
            try {
                for (let i = 0; i < n; i++) { yield ${inside}(i); }
            } finally { gather(1); }
        }
        function* ${name}_outer(n) {
            yield* ${name}_inner(n);
            yield* ${name}_inner(n >> 1);
        }
        function ${name}(n) {
            ${make.start()}
            for (const one of ${name}_outer(${make.random.between(2, 60)})) {
                x = (x + one) | 0;
                if ((x & 63) === 7) { break; }
            }
            return [...${name}_outer(5)].length + ${after}(x);
        }`;
    },

    async(make, name, callee) {
        const [before, after, reaction, next] = [callee(), callee(), callee(), callee()];
        make.calls(name, `${name}_async`, `${name}_executor`, next);
        make.calls(`${name}_async`, before, after, `${name}_waiting`);
        make.calls(`${name}_waiting`, after);
        make.calls(`${name}_reaction`, reaction);
        make.calls(ROOT, `${name}_async`, `${name}_waiting`, `${name}_reaction`, `${name}_failing`);
        return `async function* ${name}_waiting(n) {
            for (let i = 0; i < 5; i++) { await null; yield ${after}(n + i); }
        }
        async function ${name}_async(n) {
            let x = ${before}(n);
            await null;
            for await (const one of ${name}_waiting(x)) { x = (x + one) | 0; }
            return ${after}(x);
        }
        function ${name}_executor(resolve) { resolve(spin(1, 50)); }
        function ${name}_reaction(n) { return ${reaction}(n); }
        function ${name}_failing(n) { throw new Error(PLANNED); }
        function ${name}(n) {
            ${make.start()}
            if (mayWait()) {
                wait(${name}_async(x));
                wait(new Promise(${name}_executor).then(${name}_reaction).then(${name}_failing).then(${name}_reaction));
            }
            return ${next}(x);
        }`;
    },

    tasks(make, name, callee) {
        const [task, microtask, next] = [callee(), callee(), callee()];
        make.calls(name, next);
        make.calls(`${name}_task`, task);
        make.calls(`${name}_microtask`, microtask);
        make.calls(ROOT, `${name}_task`, `${name}_microtask`);
        return `function ${name}_task() { refuel(); ${task}(1); }
        function ${name}_microtask() { ${microtask}(2); }
        function ${name}(n) {
            ${make.start()}
            if (mayWait()) {
                setTimeout(${name}_task, x & 15);
                queueMicrotask(${name}_microtask);
            }
            return ${next}(x);
        }`;
    },

    regexp(make, name, callee) {
        const inside = callee();
        make.calls(name, `${name}_replace`);
        make.calls(`${name}_replace`, inside);
        return `function ${name}_replace(word) {
            return word.length === 4 ? ${inside}(word.length) : word.toUpperCase();
        }
        function ${name}(n) {
            ${make.start()}
            x += TEXT.replace(/\\b(\\w+)\\b/g, ${name}_replace).length;
            x += /^(?:a|aa)+$/.test("a".repeat(${make.random.between(2, 18)}) + "b") ? 1 : 0;
            return x + [...TEXT.matchAll(/(?<=the )\\w+/g)].length + TEXT.split(/\\s+/).length;
        }`;
    },

    json(make, name, callee) {
        const [inside, after] = [callee(), callee()];
        make.calls(name, `${name}_revive`, `${name}_plain`, after);
        make.calls(`${name}_plain`, inside);
        return `function ${name}_revive(key, value) { return key === "c" ? spin(value, 20) : value; }
        function ${name}_plain() { return ${inside}(this.c | 0); }
        function ${name}(n) {
            ${make.start()}
            const text = JSON.stringify(Array(30).fill({ a: "a", b: { c: x, toJSON: ${name}_plain }, c: 3 }));
            return JSON.parse(text, ${name}_revive).length + ${after}(x);
        }`;
    },

    proxy(make, name, callee) {
        const [get, applied, made] = [callee(), callee(), callee()];
        make.calls(name, `${name}_get`, `${name}_has`, `${name}_apply`, `${name}_construct`);
        make.calls(`${name}_get`, get);
        make.calls(`${name}_apply`, applied);
        make.calls(`${name}_construct`, `${name}_Made`);
        make.calls(`${name}_Made`, made);
        return `function ${name}_get(target, key, receiver) { return ${get}(Reflect.get(target, key, receiver) | 0); }
        function ${name}_has(target, key) { return spin(key.length, 10) !== 0; }
        function ${name}_apply(target, self, list) { return Reflect.apply(target, self, list); }
        function ${name}_construct(target, list) { return Reflect.construct(target, list); }
        class ${name}_Made { constructor(n) { this.n = ${made}(n); } }
        const ${name}_object = new Proxy({ n: 1 }, { get: ${name}_get, has: ${name}_has });
        const ${name}_function = new Proxy(${applied}, { apply: ${name}_apply });
        const ${name}_class = new Proxy(${name}_Made, { construct: ${name}_construct });
        function ${name}(n) {
            ${make.start()}
            for (let i = 0; i < ${make.random.between(1, 30)}; i++) {
                x = (x + ${name}_object.n + ("n" in ${name}_object) + ${name}_function(i) + new ${name}_class(i).n) | 0;
            }
            return x;
        }`;
    },

    accessor(make, name, callee) {
        const [made, got, set] = [callee(), callee(), callee()];
        make.calls(name, `${name}_Inner`, `get ${name}_value`, `set ${name}_value`, `${name}_primitive`);
        make.calls(`${name}_Inner`, `${name}_Box`);
        make.calls(`${name}_Box`, made);
        make.calls(`get ${name}_value`, got);
        make.calls(`set ${name}_value`, set);
        return `function ${name}_primitive() { return 3; }
        class ${name}_Box {
            constructor(n) { this.n = ${made}(n); }
            get ${name}_value() { return ${got}(this.n); }
            set ${name}_value(value) { this.n = ${set}(value) | 0; }
        }
        class ${name}_Inner extends ${name}_Box { constructor(n) { super(n + 1); } }
        function ${name}(n) {
            ${make.start()}
            for (let i = 0; i < ${make.random.between(1, 60)}; i++) {
                const box = new ${name}_Inner(i);
                box.${name}_value = i * { [Symbol.toPrimitive]: ${name}_primitive };
                x = (x + box.${name}_value) | 0;
            }
            return x;
        }`;
    },

    exceptions(make, name, callee) {
        const [cleaning, next] = [callee(), callee()];
        make.calls(name, `${name}_rethrow`, `${name}_through`, next);
        make.calls(`${name}_rethrow`, `${name}_throw`);
        make.calls(`${name}_throw`, `${name}_throw`, cleaning);
        return `function ${name}_throw(n, depth) {
            if (depth === 0) { throw new RangeError(PLANNED); }
            try { return ${name}_throw(n, depth - 1); } finally { if (depth === 2) { ${cleaning}(n); } }
        }
        function ${name}_rethrow(n) {
            try {
                return ${name}_throw(n, ${make.random.between(2, 60)});
            } catch (error) {
                throw new TypeError(PLANNED, { cause: error.stack });
            }
        }
        function ${name}_through(a) { throw new Error(PLANNED + a); }
        function ${name}(n) {
            ${make.start()}
            for (let i = 0; i < ${make.random.between(1, 20)}; i++) {
                try { ${name}_rethrow(i); } catch { x++; }
                try { [3, 2, 1].sort(${name}_through); } catch { x++; }
                try { "word".replace(/w/, ${name}_through); } catch { x++; }
            }
            return x + ${next}(x);
        }`;
    },

    recursion(make, name, callee) {
        const [deepest, beside] = [callee(), callee()];
        make.calls(name, `${name}_even`, `${name}_fibonacci`);
        make.calls(`${name}_even`, `${name}_odd`, deepest);
        make.calls(`${name}_odd`, `${name}_even`, beside);
        make.calls(`${name}_fibonacci`, `${name}_fibonacci`);
        const depth = make.random.oneOf([10, 100, 600, 3000]);
        return `function ${name}_even(n) { return n <= 0 ? ${deepest}(n) : ${name}_odd(n - 1) + 1; }
        function ${name}_odd(n) { return n % 97 === 1 ? ${beside}(n) : ${name}_even(n - 1) + 1; }
        function ${name}_fibonacci(n) { return n < 2 ? n : ${name}_fibonacci(n - 1) + ${name}_fibonacci(n - 2); }
        function ${name}(n) {
            ${make.start()}
            return ${name}_even(${depth}) + ${name}_fibonacci(${make.random.between(2, 15)});
        }`;
    },

    // Recurses to the limit of the stack, where any call may fail.
    exhaustion(make, name, callee) {
        const [atLimit, next] = [callee(), callee()];
        const deep = `${name}_deep`;
        const through = make.random.oneOf([
            `${deep}(n + 1)`,
            `[n].map(${deep})[0]`,
            `Reflect.apply(${deep}, null, [n + 1])`,
            `"x".replace(/x/, ${deep})`,
            `JSON.stringify({ toJSON: ${deep} }).length`,
            `[2, 1].sort(${deep})[0]`,
            `new Proxy(${deep}, {})(n + 1)`,
            `eval("${deep}(n + 1)")`,
            `Number({ valueOf: ${deep} })`,
            `[...{ [Symbol.iterator]: ${deep} }].length`,
            `wasmOf(${deep}).callBack(1)`,
        ]);
        make.calls(name, deep, next);
        make.calls(deep, deep, atLimit, "wasm-function[1]");
        make.calls("wasm-function[1]", deep);
        return `function ${deep}(n) {
            try {
                return (${through} | 0) + 1;
            } catch {
                return mayCatch() ? ${atLimit}(1) : 0;
            }
        }
        function ${name}(n) {
            ${make.start()}
            if (mayExhaust()) {
                try { x += ${deep}(0); } catch { x++; }
            }
            return x + ${next}(x);
        }`;
    },

    evaluation(make, name, callee) {
        const [direct, indirect] = [callee(), callee()];
        make.calls(name, direct, indirect, "anonymous");
        make.calls("anonymous", indirect, `${name}_inside`);
        return `function ${name}(n) {
            ${make.start()}
            if (mayCompile()) {
                const salt = newSerial();
                x += eval("let s = 0; for (let i = 0; i < 20; i++) { s += ${direct}(i); } s + " + salt);
                x += new Function("n", "let y = " + salt + ";" +
                    "function ${name}_inside(n) { return Math.imul(n, 31) | 0; }" +
                    "for (let i = 0; i < 3000; i++) { y = ${name}_inside(y + i); } return y + ${indirect}(n);")(x);
            }
            return (x + ${direct}(x)) | 0;
        }`;
    },

    wasm(make, name, callee) {
        const called = callee();
        make.calls(name, "wasm-function[1]", "wasm-function[2]", "wasm-function[3]");
        make.calls("wasm-function[1]", called);
        make.calls("wasm-function[3]", "wasm-function[3]", called);
        if (filesAreMuted) {
            // The WebAssembly that these files compile is muted, too, but functions of a script in the document are not.
            make.calls(name, called);
        }
        return `function ${name}(n) {
            ${make.start()}
            const wasm = wasmOf(${called});
            x = (x + wasm.callBack(${make.random.between(1, 100)}) + wasm.spin(2000)) | 0;
            x = (x + wasm.recurse(${make.random.oneOf([1, 30, 500])})) | 0;
            if (mayExhaust()) {
                try { wasm.recurse(10_000_000); } catch { x++; }
            }
            return x;
        }`;
    },

    // WebAssembly on a stack of its own.
    suspension(make, name, callee) {
        const [called, next] = [callee(), callee()];
        make.calls(name, next, "suspending");
        make.calls("suspending", "suspendedWait", called);
        make.calls(ROOT, "suspending");
        if (filesAreMuted) {
            make.calls(name, called, "suspendedWait");
            make.calls(ROOT, called);
        }
        return `function ${name}(n) {
            ${make.start()}
            if (mayWait()) {
                for (let i = 0; i < ${make.random.between(1, 5)}; i++) { wait(suspendableOf(${called}).promising(i)); }
            }
            return x + ${next}(x);
        }`;
    },

    tailCalls(make, name, callee) {
        const called = callee();
        make.calls(name, "tailFirst", "tailLast");
        make.calls("tailLast", called);
        if (filesAreMuted) {
            make.calls(name, called);
        }
        return `function ${name}(n) {
            ${make.start()}
            const { tailFirst } = suspendableOf(${called});
            for (let i = 0; i < ${make.random.between(1, 100)}; i++) { x = (x + tailFirst(i)) | 0; }
            return x;
        }`;
    },

    wasmExceptions(make, name, callee) {
        const called = callee();
        make.calls(name, "catching");
        make.calls("catching", "throwing", called);
        make.calls("throwing", "throwing");
        if (filesAreMuted) {
            make.calls(name, called);
        }
        return `function ${name}(n) {
            ${make.start()}
            const { catching } = suspendableOf(${called});
            for (let i = 0; i < ${make.random.between(1, 50)}; i++) { x = (x + catching(i)) | 0; }
            return x;
        }`;
    },

    // The engine implements traps by a signal.
    traps(make, name, callee) {
        const next = callee();
        make.calls(name, next, "wasm-function[0]", "wasm-function[1]");
        return `function ${name}(n) {
            ${make.start()}
            for (let i = 0; i < ${make.random.between(1, 100)}; i++) {
                try { x += trapping().load(i & 3 ? i : -9); } catch { x++; }
                try { x += trapping().divide(i & 3); } catch { x++; }
            }
            return x + ${next}(x);
        }`;
    },

    iteration(make, name, callee) {
        const [each, mapped, reduced] = [callee(), callee(), callee()];
        make.calls(name, `${name}_each`, `${name}_map`, `${name}_reduce`, `${name}_next`);
        make.calls(`${name}_each`, each);
        make.calls(`${name}_map`, mapped);
        make.calls(`${name}_reduce`, reduced);
        return `function ${name}_each(value, key) { gather((key & 7) === 0 ? ${each}(value) : 1); }
        function ${name}_map(n) { return (n & 7) === 0 ? ${mapped}(n) : spin(n, 3); }
        function ${name}_reduce(sum, n) { return ((n & 7) === 0 ? sum + ${reduced}(n) : sum + n) | 0; }
        function ${name}_next() { return { done: this.i++ > 9, value: spin(this.i, 9) }; }
        function ${name}(n) {
            ${make.start()}
            const list = Array.from({ length: ${make.random.between(1, 200)} }, (Math.imul).bind(null, x));
            list.forEach(${name}_each);
            new Map(list.entries()).forEach(${name}_each);
            const [first, ...others] = { [Symbol.iterator]: function () { return { i: 0, next: ${name}_next }; } };
            return list.map(${name}_map).filter(Number).reduce(${name}_reduce, x) + others.length + first;
        }`;
    },

    shapes(make, name, callee) {
        const next = callee();
        make.calls(name, `${name}_read`, next);
        const change = make.random.between(10, 390);
        return `function ${name}_read(object) { return object.a + (object.b ?? 0); }
        function ${name}(n) {
            ${make.start()}
            for (let i = 0; i < 400; i++) {
                const other = i & 1 ? { b: 1, a: 1.5 } : { ["c" + (i & 7)]: 0, a: 1n };
                const object = i < ${change} ? { a: 1 } : other;
                try { x = (x + Number(${name}_read(object))) | 0; } catch { x++; }
            }
            return x + ${next}(x);
        }`;
    },

    calls(make, name, callee) {
        const [called, applied, tagged] = [callee(), callee(), callee()];
        make.calls(name, called, applied, `${name}_rest`, `${name}_tag`, `${name}_arguments`);
        make.calls(`${name}_rest`, called);
        make.calls(`${name}_tag`, tagged);
        return `function ${name}_rest(...list) { return ${called}(list.length); }
        function ${name}_tag(texts, n) { return ${tagged}(n) + texts.length; }
        function ${name}_arguments(a) { arguments[0] = a + 1; return spin(a + arguments.length, 5); }
        const ${name}_bound = ${applied}.bind(null, 5);
        function ${name}(n) {
            ${make.start()}
            for (let i = 0; i < ${make.random.between(1, 100)}; i++) {
                x = (x + ${name}_rest(...Array(i & 7)) + ${name}_tag\`a\${i}b\` + ${name}_arguments(i, 1)) | 0;
                x = (x + ${called}.call(null, i) + ${name}_bound() + ${applied}.apply(null, [i])) | 0;
            }
            return x;
        }`;
    },

    garbage(make, name, callee) {
        const next = callee();
        make.calls(name, `${name}_record`, next);
        return `function ${name}_record(i) {
            const text = "number " + i;
            return { text, list: [i, { i }], view: new Uint8Array(i & 255), closure: Object.bind };
        }
        function ${name}(n) {
            ${make.start()}
            const kept = [];
            const weak = new WeakMap();
            for (let i = 0; i < ${make.random.between(20, 600)}; i++) {
                kept.push(${name}_record(i));
                weak.set(kept.at(-1), new WeakRef(kept[i >> 1]));
            }
            keep(kept);
            return kept.length + ${next}(x);
        }`;
    },

    // Memory outside the engine's heap, which makes the engine collect, too.
    buffers(make, name, callee) {
        const next = callee();
        make.calls(name, next);
        return `function ${name}(n) {
            ${make.start()}
            const size = ${make.random.oneOf([10, 1000, 100_000, 4_000_000])};
            if (size < 10_000 || mayCompile()) {
                const bytes = new Uint8Array(size);
                const view = new DataView(bytes.buffer);
                for (let i = 0; i + 8 <= size; i += Math.max(8, size >> 6)) { view.setFloat64(i, i / 3); }
                const moved = size < 10_000 ? structuredClone(bytes.buffer) : bytes.buffer.transfer();
                x += moved.byteLength;
            }
            return x + ${next}(x);
        }`;
    },

    strings(make, name, callee) {
        const next = callee();
        make.calls(name, next);
        return `function ${name}(n) {
            ${make.start()}
            let text = "";
            for (let i = 0; i < ${make.random.between(2, 800)}; i++) { text += i + ","; }
            let big = 1n;
            for (let i = 1; i < ${make.random.between(2, 60)}; i++) { big = big * BigInt(i + (x & 7)) + 1n; }
            return text.split(",").join("-").length + text.indexOf("99") + big.toString().length + ${next}(x);
        }`;
    },

    dom(make, name, callee) {
        const [listening, next] = [callee(), callee()];
        make.calls(name, `${name}_listener`, next);
        make.calls(`${name}_listener`, listening);
        make.calls(`${name}_mutation`, listening);
        make.calls(ROOT, `${name}_mutation`);
        return `function ${name}_listener(event) { gather(${listening}(event.type.length)); }
        function ${name}_mutation(records, observer) { observer.disconnect(); ${listening}(records.length); }
        function ${name}(n) {
            ${make.start()}
            if (!hasDocument || !mayCompile()) { return ${next}(x); }
            const list = document.createElement("ul");
            list.addEventListener("stress", ${name}_listener);
            new MutationObserver(${name}_mutation).observe(list, { childList: true });
            document.body.append(list);
            for (let i = 0; i < ${make.random.between(1, 25)}; i++) {
                const item = document.createElement("li");
                item.textContent = "item " + i;
                list.append(item);
                item.dispatchEvent(new Event("stress", { bubbles: true }));
            }
            x += list.getBoundingClientRect().width + list.querySelectorAll("li:nth-child(odd)").length;
            list.innerHTML = "<li><b>bold</b></li>".repeat(9);
            list.remove();
            return (x + ${next}(x)) | 0;
        }`;
    },
};

// The default weight of each kind.
const USUAL = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, kind === "exhaustion" ? 1 : 3]));

class Maker {
    #edges = [];

    // `prefix` begins every name, and belongs only to this event loop. `weights` replace some of the default weights.
    constructor(random, prefix, weights) {
        this.random = random;
        this.prefix = prefix;
        this.weights = { ...USUAL, ...weights };
    }

    // A program: its text, the function that begins it, and the lines of its call graph.
    make(functions) {
        this.#edges = [];
        const names = Array.from({ length: functions }, (_, i) => `${this.prefix}${i}`);
        const texts = names.map((name, i) => {
            const callee = () => {
                // Mostly one of the next few functions, so that stacks are deep.
                const later = names.slice(i + 1, i + (this.random.chance(0.8) ? 4 : functions));
                return later.length ? this.random.oneOf(later) : "spinLong";
            };
            return KINDS[this.random.weighted(this.weights)](this, name, callee);
        });
        this.calls("runProgram", names[0]);
        return { text: texts.join("\n"), entry: names[0], edges: this.#edges.join("\n") };
    }

    calls(caller, ...callees) {
        this.#edges.push(`${caller} > ${[...new Set(callees)].join(", ")}`);
    }

    // How each function begins.
    start() {
        return "if (!burn()) { return n | 0; } let x = n | 0;";
    }
}
