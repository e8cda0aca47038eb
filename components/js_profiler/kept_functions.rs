/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A walk keeps what it has found of functions and of code, for the next walks. It goes on while garbage is collected, which
//! frees and moves some of that.

use std::sync::PoisonError;
use std::time::Duration;

use js_profiler_traits::Trace;

use crate::spidermonkey::test_context::TestContext;
use crate::stop::tests::EVENT_LOOPS;
use crate::{EventLoop, SessionOptions};

/// `rounds` calls functions that are freed afterwards. In a round they all have the same name, and call the function of
/// the same side. By the next round the other functions have their places in memory. A function calls so often before
/// it is busy that it runs in the tier that is tested.
const FREEING: &str = "
    const { gc, gcPreserveCode } = engine;
    function busy(times) { let sum = 0; for (let i = 0; i < times; i++) { sum += Math.sqrt(i); } return sum; }
    function onLeft(times) { return busy(times) + 1; }
    function onRight(times) { return busy(times) + 1; }
    function rounds(calls) {
        for (let round = 0; round < 30; round++) {
            const side = round % 2 ? 'Left' : 'Right';
            const text = `(function call${side}(call) {
                let sum = 0;
                for (let i = 0; i < ${calls}; i++) { sum += call(1); }
                return sum + call(1000000);
            })`;
            let made = Array.from({ length: 20 }, () => (0, eval)(text));
            // Moves them out of the nursery.
            gc();
            for (const one of made) { one(side === 'Left' ? onLeft : onRight); }
            made = null;
            gc();
        }
    }";

/// `rounds` calls functions that the Baseline interpreter runs, and that have the same place in the nursery one after the
/// other.
const IN_NURSERY: &str = "
    function busy(times) { let sum = 0; for (let i = 0; i < times; i++) { sum += Math.sqrt(i); } return sum; }
    function onLeft(times) { return busy(times) + 1; }
    function onRight(times) { return busy(times) + 1; }
    function rounds() {
        const makers = [];
        for (let round = 0; round < 600; round++) {
            if (round % 120 === 0) {
                ['Left', 'Right'].forEach((side, i) => {
                    makers[i] = (0, eval)(`(() => function call${side}(times) { return on${side}(times) + 1; })`);
                    for (let j = 0; j < 20; j++) { makers[i]()(1); }
                });
            }
            engine.minorgc();
            makers[round % 2]()(1000000);
        }
    }";

/// `chains` calls chains of one to eight functions, which are compiled into one. The last function of each calls one that
/// is not, because there are too many of those.
const CHAINS: &str = "
    const works = Array.from({ length: 8 }, () => (0, eval)(
        `(function work(times) { let sum = 0; for (let i = 0; i < times; i++) { sum += Math.sqrt(i); } return sum; })`));
    const chainOf = length => (0, eval)(`(() => {
        function f${length}of${length}(i, times) { return works[i & 7](times) + 1; }
        ${Array.from({ length: length - 1 }, (_, i) => length - 1 - i).map(at => `
        function f${at}of${length}(i, times) { return f${at + 1}of${length}(i, times) + 1; }`).join('')}
        return function chain${length}(times) {
            let sum = 0;
            for (let i = 0; i < 50; i++) { sum += f1of${length}(i, times); }
            return sum;
        };
    })()`);
    const all = Array.from({ length: 8 }, (_, i) => chainOf(i + 1));
    function chains() {
        for (let round = 0; round < 9000; round++) { for (const chain of all) { chain(round < 1000 ? 1 : 200); } }
    }";

/// `collections` is mostly collecting garbage, in turns from few callers and from many.
const COLLECTING: &str = "
    const garbage = Array.from({ length: 200000 }, (_, i) => ({ i }));
    function busy(times) { let sum = 0; for (let i = 0; i < times; i++) { sum += Math.sqrt(i); } return sum; }
    function collect() { busy(3000000); for (let i = 0; i < 5; i++) { engine.gc(); } }
    function few() { collect(); }
    function many() { collect(); }
    function from(callers, call) { if (callers) { from(callers - 1, call); } else { call(); } }
    function collections() {
        for (let round = 0; round < 40; round++) { if (round % 2) { from(3, few); } else { from(30, many); } }
    }";

/// A trace of `script` and of what comes after it, with a sample for each millisecond.
fn trace_of(script: &str, then: &str) -> Trace {
    let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    let context = TestContext::new();
    let event_loop = EventLoop::new(context.engine());
    let mut trace = None;
    context.with_scripts(|evaluate| {
        let options = SessionOptions::every(Duration::from_millis(1));
        let session = event_loop.start(options, None, |_| {}).unwrap();
        evaluate(c"https://a.test/a.js", 1, &format!("{script}\n{then}"));
        trace = Some(session.finish().unwrap());
    });
    trace.unwrap()
}

/// The names of the functions of each stack, from the leaf to the root.
fn stacks(trace: &Trace) -> impl Iterator<Item = Vec<String>> {
    trace.samples.iter().map(|sample| {
        let mut next = sample.stack_id();
        let names = std::iter::from_fn(|| {
            let stack = &trace.stacks[next? as usize];
            next = stack.parent_id;
            Some(trace.frames[stack.frame_id as usize].name.clone())
        });
        names.collect()
    })
}

/// Checks that no function is below a function of the other side, and that there are enough stacks to tell.
fn check(trace: &Trace) {
    let mut counts = [0; 2];
    for names in stacks(trace) {
        for (count, own, other) in [(0, "Left", "Right"), (1, "Right", "Left")] {
            if names.contains(&format!("on{own}")) {
                assert!(!names.contains(&format!("call{other}")), "{names:?}");
                counts[count] += usize::from(names.contains(&format!("call{own}")));
            }
        }
    }
    assert!(counts.iter().all(|&count| count > 100), "{counts:?}");
}

#[test]
fn a_function_in_the_place_of_a_freed_one_has_its_own_name() {
    // The functions have no code of their own, so that no code is freed.
    check(&trace_of(FREEING, "gcPreserveCode(); rounds(20);"));
}

#[test]
fn code_in_the_place_of_freed_code_belongs_to_its_own_function() {
    check(&trace_of(FREEING, "rounds(300);"));
}

#[test]
fn a_function_in_the_place_of_another_in_the_nursery_has_its_own_name() {
    check(&trace_of(IN_NURSERY, "rounds();"));
}

#[test]
fn a_frame_with_many_inlined_functions_has_all_of_them_each_time() {
    let trace = trace_of(CHAINS, "chains();");
    let mut counts = [0; 8];
    for names in stacks(&trace) {
        let [leaf, callers @ ..] = &names[..] else {
            continue;
        };
        if leaf != "work" {
            continue;
        }
        let length =
            (1..=counts.len()).find(|length| *callers[0] == format!("f{length}of{length}"));
        let length = length.unwrap_or_else(|| panic!("{names:?}"));
        let chain = (1..=length).rev().map(|at| format!("f{at}of{length}"));
        let expected = chain.chain([format!("chain{length}"), "chains".to_owned()]);
        assert_eq!(callers[..length + 2], expected.collect::<Vec<_>>());
        counts[length - 1] += 1;
    }
    assert!(counts.iter().all(|&count| count > 20), "{counts:?}");
}

#[test]
fn a_sample_while_garbage_is_collected_has_the_stack_that_the_collection_interrupted() {
    let trace = trace_of(COLLECTING, "collections();");
    let mut collecting = 0;
    for names in stacks(&trace) {
        let has = |wanted: &str| names.iter().any(|name| name == wanted);
        let callers = names.iter().filter(|name| *name == "from").count();
        if has("gc") {
            assert!(has("collect"), "{names:?}");
            collecting += 1;
        }
        if has("collect") {
            let expected = if has("few") { 4 } else { 31 };
            assert_eq!(callers, expected, "{names:?}");
            assert_ne!(has("few"), has("many"), "{names:?}");
        }
    }
    // The rest of the time the engine sweeps its tables of code.
    let without_stack = trace.counts.collecting;
    println!("{collecting} samples have the stack of a collection, {without_stack} have none");
    assert!(collecting > 200, "{:?}", trace.counts);
    assert!(without_stack * 20 < collecting, "{:?}", trace.counts);
}
