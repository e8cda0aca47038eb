/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Stops a thread and runs code on it. `handshake.rs` is the protocol between the two threads. Each operating
//! system has files that carry it out: on Linux, `linux.rs` stops a thread at once, and `linux_timers.rs` stops
//! it at times that are set in advance.

#[allow(unexpected_cfgs, reason = "tests/models sets `loom`")]
mod handshake;
mod linux;
mod linux_timers;

#[cfg(test)]
pub use linux::tests;
pub use linux::{
    STOP_TIMEOUT, StackBounds, StopError, Stopped, Task, Thread, current_stack_bounds,
    wake_promptly,
};
pub use linux_timers::StopTimers;
