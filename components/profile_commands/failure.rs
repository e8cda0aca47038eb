/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Failures of commands.

/// Why a task did not end well.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Failure {
    /// Exit status 1. A line for a person.
    Failed(String),
    /// Exit status 2.
    Refused(String),
}

impl Failure {
    pub fn message(self) -> String {
        let (Self::Failed(message) | Self::Refused(message)) = self;
        message
    }
}
