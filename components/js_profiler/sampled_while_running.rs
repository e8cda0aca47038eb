/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! For tests: a thread that runs scripts, and another one that samples it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread;

use js_profiler_traits::EventLoopId;
use js_profiler_traits::activity::SharedActivity;
use smallvec::SmallVec;

use crate::description::SharedDescription;
use crate::sampled_thread::{Audience, SampledThread};
use crate::spidermonkey::test_context::TestContext;
use crate::stop::Thread;
use crate::stop::tests::EVENT_LOOPS;

/// Sets a flag when it is dropped.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Audience {
    /// Readers who may see everything.
    pub fn of_everything() -> Self {
        Self {
            realms: SmallVec::new(),
            everything: true,
        }
    }
}

/// Evaluates `setup`, and then `round` again and again until `sample` has returned. `sample` samples that thread from
/// another one. What it gets in addition says whether the thread still runs `round`; it does not after an exception.
pub fn while_running<R: Send>(
    setup: &str,
    round: &str,
    sample: impl FnOnce(&mut SampledThread, &dyn Fn() -> bool) -> R + Send,
) -> R {
    let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
    let context = TestContext::new();
    let engine = context.engine();
    let (thread, engine) = (Thread::current().unwrap(), engine.sampled());
    let activity = SharedActivity::of_this_thread();
    let description = Arc::new(SharedDescription::of_this_thread());
    let has_ended = AtomicBool::new(false);
    let mut result = None;
    context.with_scripts(|evaluate| {
        evaluate(c"https://a.test/a.js", 1, setup);
        thread::scope(|scope| {
            scope.spawn(|| {
                let _end = Ends(&has_ended);
                let mut sampled =
                    SampledThread::new(EventLoopId(1), Some(thread), engine, activity, description);
                let is_running = || !has_ended.load(Ordering::Relaxed);
                result = Some(sample(&mut sampled, &is_running));
            });
            let _end = Ends(&has_ended);
            while !has_ended.load(Ordering::Relaxed) {
                evaluate(c"https://a.test/b.js", 1, round);
            }
        });
    });
    result.expect("the thread has not panicked")
}
