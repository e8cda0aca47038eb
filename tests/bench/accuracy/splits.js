/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

"use strict";

// Programs whose time is split among functions in known shares. The functions do the same operations, but different
// numbers of them. Each operation needs the result of the one before, so that a round takes the same time in each
// function, and the engine can leave none out.
//
// `run` works for some hundredths of a second, only in these functions. `shares` are in % of the time.

const splits = [];

// Small functions that are called from a loop are inlined into it. With more rounds, the engine would compile a
// function on its own before the loop that calls it. The loop would then call the function instead of inlining it.
{
    function seventy(x) {
        for (let i = 0; i < 140; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            x = (x + i) | 0;
        }
        return x;
    }

    function thirty(x) {
        for (let i = 0; i < 60; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            x = (x + i) | 0;
        }
        return x;
    }

    splits.push({
        name: "70/30 inlined",
        shares: { seventy: 70, thirty: 30 },
        run: function runTwo(x) {
            for (let i = 0; i < 50_000; i++) {
                x = seventy(x);
                x = thirty(x);
            }
            return x;
        },
    });
}

{
    function fifty(x) {
        for (let i = 0; i < 100; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            x = (x + i) | 0;
        }
        return x;
    }

    function thirtyOfThree(x) {
        for (let i = 0; i < 60; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            x = (x + i) | 0;
        }
        return x;
    }

    function twenty(x) {
        for (let i = 0; i < 40; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            x = (x + i) | 0;
        }
        return x;
    }

    splits.push({
        name: "50/30/20 inlined",
        shares: { fifty: 50, thirtyOfThree: 30, twenty: 20 },
        run: function runThree(x) {
            for (let i = 0; i < 50_000; i++) {
                x = fifty(x);
                x = thirtyOfThree(x);
                x = twenty(x);
            }
            return x;
        },
    });
}

// Large functions with long calls are not inlined. Their texts are generated here, because they repeat the same
// step many times.
{
    const step = "x ^= x << 13; x ^= x >>> 17; x ^= x << 5; x = (x + i) | 0;";
    const STEPS_PER_ROUND = 60;

    function makeLarge(name, rounds) {
        const body = `for (let i = 0; i < ${rounds}; i++) { ${step.repeat(STEPS_PER_ROUND)} }`;
        return new Function(`return function ${name}(x) { ${body} return x; };`)();
    }

    const largeSeventy = makeLarge("largeSeventy", 3500);
    const largeThirty = makeLarge("largeThirty", 1500);
    splits.push({
        name: "70/30 called",
        shares: { largeSeventy: 70, largeThirty: 30 },
        run: function runLargeTwo(x) {
            for (let i = 0; i < 50; i++) {
                x = largeThirty(largeSeventy(x));
            }
            return x;
        },
    });

    const largeFifty = makeLarge("largeFifty", 2500);
    const largeThirtyOfThree = makeLarge("largeThirtyOfThree", 1500);
    const largeTwenty = makeLarge("largeTwenty", 1000);
    splits.push({
        name: "50/30/20 called",
        shares: { largeFifty: 50, largeThirtyOfThree: 30, largeTwenty: 20 },
        run: function runLargeThree(x) {
            for (let i = 0; i < 50; i++) {
                x = largeTwenty(largeThirtyOfThree(largeFifty(x)));
            }
            return x;
        },
    });
}
