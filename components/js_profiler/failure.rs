/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Why sampling ended although nobody asked for it.

use std::fmt;

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
    /// The sampling thread did not answer in time.
    TimedOut,
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
            Self::TimedOut => formatter.write_str("the sampling thread did not answer in time"),
        }
    }
}

impl std::error::Error for Failure {}
