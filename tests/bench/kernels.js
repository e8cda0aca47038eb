/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// The usual kinds of benchmarks for JavaScript engines, in a small form that was written for this suite.
//
// A kernel is { name, unit }. `unit()` does one portion of work, which takes a few milliseconds at most. It returns a
// number that depends on all of the work and is the same every time, so that no engine can leave work out unnoticed.

const kernels = [];

function addKernel(name, unit) {
    kernels.push({ name, unit });
}

// A generator of numbers that are the same in every run.
function randomNumbers(seed) {
    return (limit) => {
        seed = (Math.imul(seed, 1103515245) + 12345) & 0x7fffffff;
        return (seed >>> 8) % limit;
    };
}

// Calls: only entering and leaving a small recursive function.
{
    function fibonacci(n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    addKernel("recursion", () => fibonacci(21));
}

// Floating-point numbers in objects: bodies that attract each other, simulated in leapfrog steps.
{
    function makeBodies() {
        const random = randomNumbers(7);
        return Array.from({ length: 8 }, () => ({
            x: random(1000) / 100,
            y: random(1000) / 100,
            z: random(1000) / 100,
            vx: 0,
            vy: 0,
            vz: 0,
            mass: 1 + random(100) / 50,
        }));
    }

    function attract(bodies, step) {
        for (let i = 0; i < bodies.length; i++) {
            const a = bodies[i];
            for (let j = i + 1; j < bodies.length; j++) {
                const b = bodies[j];
                const dx = b.x - a.x;
                const dy = b.y - a.y;
                const dz = b.z - a.z;
                // Softened, so that a near miss does not throw bodies out.
                const square = dx * dx + dy * dy + dz * dz + 0.1;
                const pull = step / (square * Math.sqrt(square));
                a.vx += dx * pull * b.mass;
                a.vy += dy * pull * b.mass;
                a.vz += dz * pull * b.mass;
                b.vx -= dx * pull * a.mass;
                b.vy -= dy * pull * a.mass;
                b.vz -= dz * pull * a.mass;
            }
        }
    }

    function move(bodies, step) {
        for (const body of bodies) {
            body.x += body.vx * step;
            body.y += body.vy * step;
            body.z += body.vz * step;
        }
    }

    addKernel("n-body", () => {
        const bodies = makeBodies();
        for (let step = 0; step < 1000; step++) {
            attract(bodies, 0.001);
            move(bodies, 0.001);
        }
        return bodies.reduce((sum, body) => sum + body.x + body.y + body.z, 0);
    });
}

// Typed arrays: the product of two matrices.
{
    const SIZE = 64;

    function makeMatrix(seed) {
        const random = randomNumbers(seed);
        return Float64Array.from({ length: SIZE * SIZE }, () => random(100) / 10);
    }

    const left = makeMatrix(1);
    const right = makeMatrix(2);
    const product = new Float64Array(SIZE * SIZE);

    function multiply() {
        for (let row = 0; row < SIZE; row++) {
            for (let column = 0; column < SIZE; column++) {
                let sum = 0;
                for (let k = 0; k < SIZE; k++) {
                    sum += left[row * SIZE + k] * right[k * SIZE + column];
                }
                product[row * SIZE + column] = sum;
            }
        }
    }

    addKernel("matrix product", () => {
        multiply();
        return product[0] + product[SIZE * SIZE - 1];
    });
}

// Strings: built piece by piece, then searched and rewritten with regular expressions.
{
    function makeLog(lines) {
        const random = randomNumbers(11);
        let log = "";
        for (let i = 0; i < lines; i++) {
            log += `10.0.${random(256)}.${random(256)} GET /items/${random(5000)} ${random(4) ? 200 : 404}\n`;
        }
        return log;
    }

    addKernel("strings and regexps", () => {
        const log = makeLog(1000);
        let missing = 0;
        for (const [, item] of log.matchAll(/GET \/items\/(\d+) 404/g)) {
            missing += Number(item);
        }
        const masked = log.replace(/(\d+)\.(\d+)\.\d+\.\d+/g, "$1.$2.x.x");
        return missing + masked.length;
    });
}

// Hash tables: entries are added and removed.
{
    addKernel("maps and sets", () => {
        const random = randomNumbers(13);
        const counts = new Map();
        const recent = new Set();
        for (let i = 0; i < 8000; i++) {
            const key = `k${random(500)}`;
            counts.set(key, (counts.get(key) ?? 0) + 1);
            const number = random(300);
            if (!recent.delete(number)) {
                recent.add(number);
            }
        }
        let sum = recent.size;
        for (const count of counts.values()) {
            sum += count * count;
        }
        return sum;
    });
}

// JSON: written and read.
{
    const random = randomNumbers(17);
    const orders = Array.from({ length: 150 }, (_, id) => ({
        id,
        customer: { name: `customer ${random(1000)}`, vip: random(2) === 1 },
        lines: Array.from({ length: 5 }, () => ({ article: `a-${random(100)}`, count: random(9), price: random(900) / 4 })),
        note: id % 3 ? null : "a \"quoted\" note",
    }));

    addKernel("JSON", () => {
        const copy = JSON.parse(JSON.stringify(orders));
        return copy.length + copy[149].lines[4].price;
    });
}

// Calls from the engine's own code: a sort with a comparator.
{
    const random = randomNumbers(19);
    const people = Array.from({ length: 2000 }, () => ({ age: random(90), name: `n${random(100000)}` }));

    function compareNames(a, b) {
        return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
    }

    addKernel("sort", () => {
        const sorted = [...people].sort((a, b) => a.age - b.age || compareNames(a, b));
        return sorted[0].age + sorted[1000].age + sorted[1999].age;
    });
}

// Closures: small functions that are passed to array methods.
{
    const numbers = Array.from({ length: 5000 }, (_, index) => index);

    function above(limit) {
        return (number) => number > limit;
    }

    addKernel("array pipeline", () =>
        numbers
            .map((number) => number * 3 + 1)
            .filter((number) => number % 2 === 0)
            .filter(above(100))
            .map((number) => ({ number, root: Math.sqrt(number) }))
            .reduce((sum, { number, root }) => sum + (number % 7) + root, 0),
    );
}

// Allocation: trees that become garbage immediately.
{
    class TreeNode {
        constructor(left, right) {
            this.left = left;
            this.right = right;
        }

        count() {
            return this.left === null ? 1 : 1 + this.left.count() + this.right.count();
        }
    }

    function makeTree(depth) {
        return depth === 0 ? new TreeNode(null, null) : new TreeNode(makeTree(depth - 1), makeTree(depth - 1));
    }

    addKernel("object trees", () => makeTree(13).count());
}
