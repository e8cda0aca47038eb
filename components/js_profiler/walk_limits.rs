/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a walk may do is counted, and not timed. So the same stack is always walked, or always missed.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError};
use std::{hint, thread};

use js_profiler_traits::recording::MissedReason;
use mozjs_sys::jsapi::JSJitCompilerOption;

use crate::spidermonkey::test_context::{TestContext, on_pause};
use crate::spidermonkey::{KnownFunctions, MOST_WORK, StackBuffer, Unwinder, WalkOutcome};
use crate::stop::tests::EVENT_LOOPS;
use crate::stop::{StopError, Thread};

/// A recursion that pauses at its leaf.
const DOWN: &str = "
    let answer;
    function down(depth, leaf) {
        if (depth === 0) { answer = leaf(); return 0; }
        return down(depth - 1, leaf) + 1;
    }";

/// The same in WebAssembly, by a table, so that nothing is inlined:
/// (import "a" "b" (func)) (table funcref (elem 1))
/// (func (export "down") (param i32)
///   (if (local.get 0)
///     (then (call_indirect (param i32) (i32.sub (local.get 0) (i32.const 1)) (i32.const 0)))
///     (else (call 0))))
const WASM_DOWN: &str = "
    const bytes = new Uint8Array([
        0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x02, 0x60, 0x00, 0x00, 0x60, 0x01, 0x7f, 0x00,
        0x02, 0x07, 0x01, 0x01, 0x61, 0x01, 0x62, 0x00, 0x00, 0x03, 0x02, 0x01, 0x01, 0x04, 0x04, 0x01, 0x70, 0x00,
        0x01, 0x07, 0x08, 0x01, 0x04, 0x64, 0x6f, 0x77, 0x6e, 0x00, 0x01, 0x09, 0x07, 0x01, 0x00, 0x41, 0x00, 0x0b,
        0x01, 0x01, 0x0a, 0x16, 0x01, 0x14, 0x00, 0x20, 0x00, 0x04, 0x40, 0x20, 0x00, 0x41, 0x01, 0x6b, 0x41, 0x00,
        0x11, 0x01, 0x00, 0x05, 0x10, 0x00, 0x0b, 0x0b,
    ]);
    let answer, atLeaf;
    const imports = { a: { b: () => { answer = atLeaf(); } } };
    const { down: inWasm } = new WebAssembly.Instance(new WebAssembly.Module(bytes), imports).exports;
    function down(depth, leaf) { atLeaf = leaf; inWasm(depth); }";

/// The depths at which each recursion pauses.
const DEPTHS: [usize; 3] = [100, 200, 400];

/// How often a thread may fail to stop in time before the test fails.
const MOST_TRIES: u32 = 100;

/// The turns of the two threads. What is above is the work of a walk, which is done.
const RUNS: u32 = 0;
const PAUSED: u32 = 1;
const ENDED: u32 = 2;

/// Lets the other thread go on if this one panics.
struct OnDrop<'a>(&'a AtomicU32);

impl Drop for OnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(ENDED, Ordering::Release);
    }
}

/// What a walk has done, in units, at each pause of `script`. The walks know nothing of each other. At each pause the stack is
/// walked with just enough work, and is missed with less.
fn work_of(script: &str, without: &'static [JSJitCompilerOption]) -> Vec<u32> {
    let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    let context = TestContext::new();
    let _off = context.without_tiers(without);
    let engine = context.engine();
    let thread = Thread::current().unwrap();
    let sampled = engine.sampled();
    let done = Rc::new(RefCell::new(Vec::new()));
    let turn = Arc::new(AtomicU32::new(RUNS));
    context.with_scripts(|evaluate| {
        let for_walks = Arc::clone(&turn);
        let walks = thread::spawn(move || {
            let ended = OnDrop(&for_walks);
            let (mut unwinder, mut buffer) = (Unwinder::new(), StackBuffer::new());
            buffer.set_audience(None, true);
            let nothing = KnownFunctions::default();
            let mut walk = |most_work| {
                buffer.most_work = most_work;
                // On a busy machine the thread may not stop in time. It stands at the same place the next time.
                let mut tries = 0..MOST_TRIES;
                loop {
                    let walked = thread.while_stopped(|stopped| {
                        sampled.walk(stopped, &mut unwinder, &mut buffer, &nothing, None)
                    });
                    match walked {
                        Err(StopError::TimedOut) if tries.next().is_some() => {},
                        walked => return (walked.unwrap(), buffer.work_left),
                    }
                }
            };
            loop {
                match ended.0.load(Ordering::Acquire) {
                    ENDED => return,
                    PAUSED => {},
                    _ => {
                        thread::yield_now();
                        continue;
                    },
                }
                let (outcome, left) = walk(MOST_WORK);
                assert_eq!(outcome, WalkOutcome::Stack);
                let done = MOST_WORK - left;
                // A walk that has nothing left has done too much.
                assert_eq!(walk(done + 1), (WalkOutcome::Stack, 1));
                for less in [done, done - 1, done / 2, 1, 0] {
                    let too_deep = WalkOutcome::Missed(MissedReason::TooDeep);
                    assert_eq!(walk(less), (too_deep, 0), "{less} of {done}");
                }
                ended.0.store(done, Ordering::Release);
            }
        });
        let (noted, for_pause) = (Rc::clone(&done), Arc::clone(&turn));
        on_pause(Some(Box::new(move || {
            if for_pause.swap(PAUSED, Ordering::AcqRel) == ENDED {
                // The other thread has panicked.
                for_pause.store(ENDED, Ordering::Release);
                return;
            }
            // The thread stands at the same place in all walks: it does not wait for a lock or a channel.
            let mut answer = PAUSED;
            while answer == PAUSED {
                hint::spin_loop();
                answer = for_pause.load(Ordering::Acquire);
            }
            noted.borrow_mut().push(answer);
        })));
        evaluate(c"https://a.test/a.js", 1, script);
        on_pause(None);
        turn.store(ENDED, Ordering::Release);
        walks.join().unwrap();
    });
    done.take()
}

/// The tiers that a recursion does not run in.
const BASELINE: JSJitCompilerOption = JSJitCompilerOption::JSJITCOMPILER_BASELINE_ENABLE;
const INTERPRETER: JSJitCompilerOption =
    JSJitCompilerOption::JSJITCOMPILER_BASELINE_INTERPRETER_ENABLE;
const ION: JSJitCompilerOption = JSJitCompilerOption::JSJITCOMPILER_ION_ENABLE;

/// The units for each frame of `script` between the [`DEPTHS`], at which it pauses. `in_tier` is a function that gives true if
/// the script runs in its tier.
fn cost_of_frame(
    script: &str,
    without: &'static [JSJitCompilerOption],
    in_tier: &str,
) -> [f64; DEPTHS.len() - 1] {
    // In the code of its tier, which calls what comes at the leaf as it will do later.
    const PAUSES: usize = 50;
    let before = format!(
        "for (let i = 0; i < 500 || answer !== true; i++) {{
            // Another thread compiles.
            if (i > 100_000) {{ throw new Error(answer); }}
            down(400, {in_tier});
        }}
        for (let i = 0; i < {PAUSES}; i++) {{ down(1, pause); }}"
    );
    let calls = DEPTHS
        .map(|depth| format!("down({depth}, pause);"))
        .concat();
    let done = work_of(&format!("{script}\n{before}\n{calls}"), without);
    let done: [u32; DEPTHS.len()] = done[PAUSES..].try_into().unwrap();
    std::array::from_fn(|at| {
        let frames = (DEPTHS[at + 1] - DEPTHS[at]) as f64;
        f64::from(done[at + 1] - done[at]) / frames
    })
}

#[test]
fn a_frame_of_the_interpreter_costs_the_same_at_each_depth() {
    let all = &[INTERPRETER, BASELINE, ION];
    let costs = cost_of_frame(DOWN, all, "() => engine.inJit() !== true");
    // Each block of the interpreter's stack costs a little.
    assert!(
        costs.iter().all(|cost| (9. ..9.1).contains(cost)),
        "{costs:?}"
    );
}

#[test]
fn a_frame_of_the_baseline_interpreter_costs_the_same_at_each_depth() {
    let costs = cost_of_frame(DOWN, &[BASELINE, ION], "() => engine.inJit() !== true");
    assert_eq!(costs, [9.; 2]);
}

#[test]
fn a_frame_of_baseline_code_costs_the_same_at_each_depth() {
    assert_eq!(cost_of_frame(DOWN, &[ION], "engine.inJit"), [9.; 2]);
}

#[test]
fn a_frame_of_optimised_code_costs_the_same_at_each_depth() {
    assert_eq!(cost_of_frame(DOWN, &[], "engine.inIon"), [9.; 2]);
}

#[test]
fn a_frame_of_webassembly_costs_the_same_at_each_depth() {
    assert_eq!(cost_of_frame(WASM_DOWN, &[], "() => true"), [15.; 2]);
}
