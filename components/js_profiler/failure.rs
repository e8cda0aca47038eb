/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Why sampling ended although nobody asked for it, and the guarantee that everybody who waits for a result
//! is told.

use std::fmt;

use js_profiler_traits::Trace;

/// Why sampling ended although nobody asked for it.
///
/// Pages see this, so it must say nothing about another origin. That is why it does not contain the message
/// of a panic, which is in the log.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Failure {
    /// The sampling thread panicked. What it had sampled is lost, and it starts over.
    Panicked,
    /// Repeated attempts to stop the event loop's thread failed. The text says why the last one did, as a
    /// part of a sentence.
    CannotStop(String),
    /// The sampling thread does not know the session, or has ended.
    Lost,
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panicked => formatter.write_str("the sampling thread panicked"),
            Self::CannotStop(why) => {
                write!(
                    formatter,
                    "the event loop's thread cannot be stopped: {why}"
                )
            },
            Self::Lost => formatter.write_str("the sampling thread has lost the session"),
        }
    }
}

impl std::error::Error for Failure {}

/// Takes the trace of a stopped session, on the sampling thread. The callback is called exactly once: if this
/// value is dropped without a trace, because the thread panicked or does not know the session, the callback
/// gets [`Failure::Lost`].
pub struct OnTrace(Option<Take>);

type Take = Box<dyn FnOnce(Result<Trace, Failure>) + Send>;

impl OnTrace {
    /// `take` is the callback.
    pub fn new(take: impl FnOnce(Result<Trace, Failure>) + Send + 'static) -> Self {
        Self(Some(Box::new(take)))
    }

    /// Passes the trace, or the reason why there is none, to the callback.
    pub fn take(mut self, trace: Result<Trace, Failure>) {
        if let Some(take) = self.0.take() {
            take(trace);
        }
    }
}

impl Drop for OnTrace {
    fn drop(&mut self) {
        if let Some(take) = self.0.take() {
            take(Err(Failure::Lost));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn everybody_who_waits_for_a_trace_is_told_once() {
        let (sender, told) = mpsc::channel();
        let on_trace = || {
            let sender = sender.clone();
            OnTrace::new(move |trace| sender.send(trace.err()).unwrap())
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
}
