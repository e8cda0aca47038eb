/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A walk that is based on the one before finds the same frames as a walk that knows nothing, also if another function has
//! taken the place of one that was on the stack then.

use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use js_profiler_traits::RealmId;

use crate::found_stack::{FoundFrame, FoundStack, learn};
use crate::spidermonkey::test_context::{TestContext, on_pause};
use crate::spidermonkey::{KnownFunctions, SampledContext, StackBuffer, Unwinder, WalkOutcome};
use crate::stop::Thread;
use crate::stop::tests::EVENT_LOOPS;

/// `rounds` calls functions of two scripts in turns, which pause. Each is made anew, and called so often before that it runs
/// in the tier that is tested. `between` is what happens before one is made.
const IN_TURNS: &str = "
    function inner(pauses) { if (pauses) { pause(); } return 1; }
    function callOne(made, calls) {
        for (let i = 0; i < calls; i++) { made(false); }
        return made(true) + 1;
    }
    function rounds(count, calls, between) {
        for (let round = 0; round < count; round++) {
            if (round % 60 === 0) {
                var makers = ['left', 'right'].map(side =>
                    (0, eval)(`(() => function ${side}(pauses) {
                        let sum = 0;
                        for (let i = 0; i < 3; i++) { sum += inner(pauses); }
                        return sum;
                    })`));
            }
            between();
            let made = makers[round % 2]();
            settle();
            callOne(made, calls);
            made = null;
        }
    }";

/// Walks the stack of another thread.
struct Walks {
    thread: Thread,
    context: SampledContext,
    unwinder: Unwinder,
    known: KnownFunctions,
    based: StackBuffer,
    whole: StackBuffer,
    stack: FoundStack,
    /// How many frames have had another function than the frame at the same depth of the stack before.
    replaced: usize,
}

impl Walks {
    fn new(thread: Thread, context: SampledContext, realm: Option<RealmId>) -> Self {
        let buffer = || {
            let mut buffer = StackBuffer::new();
            buffer.set_audience(realm, realm.is_none());
            buffer
        };
        let based = buffer();
        Self {
            thread,
            context,
            unwinder: Unwinder::new(),
            known: KnownFunctions::default(),
            whole: buffer(),
            stack: FoundStack::with_room_for(&based),
            based,
            replaced: 0,
        }
    }

    fn walk(&mut self) {
        let nothing = KnownFunctions::default();
        let (context, unwinder, known) = (&self.context, &mut self.unwinder, &self.known);
        let (based, whole, base) = (&mut self.based, &mut self.whole, self.stack.number);
        let outcomes = self.thread.while_stopped(|stopped| {
            [
                context.walk(stopped, unwinder, based, known, base),
                context.walk(stopped, unwinder, whole, &nothing, None),
            ]
        });
        assert_eq!(outcomes.unwrap(), [WalkOutcome::Stack; 2]);
        self.stack.take(based, known);
        let found = whole.frames();
        let found: Vec<_> = found
            .map(|frame| FoundFrame::new(&frame, &nothing))
            .collect();
        assert_eq!(self.stack.frames, found);
        let both = self.stack.frames.iter().zip(&self.stack.before);
        self.replaced += both.filter(|(now, before)| now.key != before.key).count();
        let seen = self.stack.frames.iter();
        learn(
            &mut self.known,
            seen.map(|frame| (frame.key, frame.code_offset, frame.position)),
        );
    }
}

/// Walks the stack of `script` and of what comes after it at each `pause()`: for a recording, or for a page.
fn walk(script: &str, for_page: bool) {
    let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    let context = TestContext::new();
    let engine = context.engine();
    let thread = Thread::current().unwrap();
    let sampled = engine.sampled();
    context.with_scripts(|evaluate| {
        let realm = for_page.then(|| engine.current_realm().unwrap());
        let (ask, asked): (Sender<()>, Receiver<()>) = channel();
        let (answer, answered) = channel();
        let walks = thread::spawn(move || {
            let mut walks = Walks::new(thread, sampled, realm);
            for () in asked {
                walks.walk();
                answer.send(()).unwrap();
            }
            (walks.stack.same, walks.replaced)
        });
        on_pause(Some(Box::new(move || {
            // If this fails, the other thread has panicked. A panic may not leave this one.
            let _ = ask.send(()).is_ok() && answered.recv().is_ok();
        })));
        evaluate(c"https://a.test/a.js", 1, script);
        on_pause(None);
        let (same, replaced) = walks.join().unwrap();
        assert!(same > 100, "{same} frames were the same");
        assert!(replaced > 10, "{replaced} frames had another function");
    });
}

#[test]
fn a_function_takes_the_place_of_another_in_the_nursery() {
    let script = format!(
        "{IN_TURNS}
        function settle() {{}}
        rounds(300, 10, () => engine.minorgc());"
    );
    walk(&script, true);
}

#[test]
fn a_function_takes_the_place_of_one_that_was_freed() {
    let script = format!(
        "{IN_TURNS}
        engine.gcPreserveCode();
        // Moves the function out of the nursery.
        function settle() {{ engine.minorgc(); }}
        rounds(300, 10, () => engine.gc());"
    );
    walk(&script, true);
}

#[test]
fn code_takes_the_place_of_code_that_was_freed() {
    let script = format!(
        "{IN_TURNS}
        function settle() {{ engine.minorgc(); }}
        rounds(300, 300, () => engine.gc());"
    );
    for for_page in [false, true] {
        walk(&script, for_page);
    }
}
