/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace of a stopped session on its way, and the guarantee that everybody who waits for one is told. Nobody blocks for a
//! trace, so a thread tells those whose time is over. It runs while there are any.

use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use js_profiler_traits::Trace;
use log::warn;

use crate::failure::Failure;

/// Takes the trace of a stopped session, on the sampling thread. The callback is called exactly once: if this
/// value is dropped without a trace, because the thread panicked or does not know the session, the callback
/// gets [`Failure::Lost`]. If there is no trace in time, it gets [`Failure::TimedOut`], on another thread.
pub struct OnTrace(Arc<Callback>);

/// The callback, which whoever comes first takes.
struct Callback(Mutex<Option<Take>>);

type Take = Box<dyn FnOnce(Result<Trace, Failure>) + Send>;

impl Callback {
    /// Passes the trace, or the reason why there is none, to the callback, unless that was done.
    fn call(&self, trace: Result<Trace, Failure>) {
        let take = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(take) = take {
            take(trace);
        }
    }
}

impl OnTrace {
    /// `take` is the callback. It waits for this long.
    pub fn within(
        time: Duration,
        take: impl FnOnce(Result<Trace, Failure>) + Send + 'static,
    ) -> Self {
        let callback = Arc::new(Callback(Mutex::new(Some(Box::new(take)))));
        add_deadline(time, &callback);
        Self(callback)
    }

    /// Passes the trace, or the reason why there is none, to the callback.
    pub fn take(self, trace: Result<Trace, Failure>) {
        self.0.call(trace);
    }
}

impl Drop for OnTrace {
    fn drop(&mut self) {
        self.0.call(Err(Failure::Lost));
    }
}

static WAITING: Mutex<Waiting> = Mutex::new(Waiting {
    callbacks: Vec::new(),
    has_thread: false,
});

/// Notified when a callback is added.
static ADDED: Condvar = Condvar::new();

struct Waiting {
    /// Each with its deadline. Those that were called are gone.
    callbacks: Vec<(Instant, Weak<Callback>)>,
    has_thread: bool,
}

fn waiting() -> MutexGuard<'static, Waiting> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Waiting {
    fn forget_called(&mut self) {
        self.callbacks
            .retain(|(_, callback)| callback.strong_count() > 0);
    }
}

/// Calls a callback with [`Failure::TimedOut`] after this time, if nobody has called it by then. If no thread can be started, it
/// waits for its trace, however late.
fn add_deadline(time: Duration, callback: &Arc<Callback>) {
    let mut waiting = waiting();
    waiting.forget_called();
    let deadline = Instant::now() + time;
    waiting.callbacks.push((deadline, Arc::downgrade(callback)));
    if !waiting.has_thread {
        let thread = thread::Builder::new().name("TraceDeadlines".to_owned());
        match thread.spawn(tell_late) {
            Ok(_) => waiting.has_thread = true,
            Err(error) => warn!("A trace is waited for without a deadline: {error}"),
        }
    }
    ADDED.notify_one();
}

/// What the thread does.
fn tell_late() {
    let mut waiting = waiting();
    loop {
        waiting.forget_called();
        let deadlines = waiting.callbacks.iter().enumerate();
        let Some((index, &(deadline, _))) = deadlines.min_by_key(|(_, (deadline, _))| *deadline)
        else {
            waiting.has_thread = false;
            return;
        };
        let left = deadline.saturating_duration_since(Instant::now());
        if !left.is_zero() {
            let woken = ADDED.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
            continue;
        }
        let (_, late) = waiting.callbacks.swap_remove(index);
        // The callback may stop other sessions.
        drop(waiting);
        if let Some(late) = late.upgrade() {
            // The panic itself is reported. The thread goes on for the others.
            let call = AssertUnwindSafe(|| late.call(Err(Failure::TimedOut)));
            let _ = panic::catch_unwind(call);
        }
        waiting = self::waiting();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);

    #[test]
    fn everybody_who_waits_for_a_trace_is_told_once() {
        let (sender, told) = mpsc::channel();
        let on_trace = || {
            let sender = sender.clone();
            OnTrace::within(HOUR, move |trace| sender.send(trace.err()).unwrap())
        };
        on_trace().take(Ok(Trace::default()));
        on_trace().take(Err(Failure::Panicked));
        drop(on_trace());
        let held = on_trace();
        let panicked = panic::catch_unwind(AssertUnwindSafe(move || {
            let _held = held;
            panic!("on purpose");
        }));
        assert!(panicked.is_err());
        drop(sender);
        let (panicked, lost) = (Some(Failure::Panicked), Some(Failure::Lost));
        let expected = [None, panicked, lost.clone(), lost];
        assert_eq!(told.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn who_waits_for_too_long_is_told_once_and_does_not_hold_up_others() {
        let (sender, told) = mpsc::channel();
        let on_trace = |time, name: &'static str| {
            let sender = sender.clone();
            OnTrace::within(time, move |trace| {
                sender.send((name, trace.err())).unwrap();
                assert!(name != "panics" || thread::panicking(), "on purpose");
            })
        };
        const MINUTE: Duration = Duration::from_secs(60);
        let patient = on_trace(HOUR, "patient");
        let panics = on_trace(Duration::ZERO, "panics");
        let timed_out = |name| Ok((name, Some(Failure::TimedOut)));
        assert_eq!(told.recv_timeout(MINUTE), timed_out("panics"));
        // The thread already waits for another one.
        let late = on_trace(Duration::from_millis(1), "late");
        assert_eq!(told.recv_timeout(MINUTE), timed_out("late"));
        late.take(Ok(Trace::default()));
        drop(panics);
        patient.take(Ok(Trace::default()));
        assert_eq!(told.recv_timeout(MINUTE), Ok(("patient", None)));
        drop(sender);
        assert!(told.recv().is_err(), "nobody is told twice");
    }
}
