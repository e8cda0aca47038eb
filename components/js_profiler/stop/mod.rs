/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Stopping a thread and running code on it: what the two threads say to each other (`handshake.rs`), and for each
//! operating system how it is done, at once (`linux.rs`) or at times that are set beforehand (`linux_timers.rs`).

#[allow(unexpected_cfgs, reason = "tests/models sets `loom`")]
mod handshake;
mod linux;
mod linux_timers;

#[cfg(test)]
pub use linux::tests;
#[cfg(test)]
pub use linux::{StackBounds, current_stack_bounds, registers_of};
pub use linux::{StopError, Stopped, Stopping, Thread, wake_promptly};
pub use linux_timers::{StopTimers, TimedWork};
