/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The JS Self-Profiling API: <https://wicg.github.io/js-self-profiling/>.

// Upstream allows all warnings of the crate.
#![warn(warnings)]

mod collections;
mod description;
pub(crate) mod event_loop;
mod http_error;
pub(crate) mod linked_maps;
mod map_fetch;
mod markers;
pub(crate) mod muted;
pub(crate) mod performanceprofileentry;
pub(crate) mod policy;
#[expect(clippy::module_inception, reason = "The interface name is Profiler")]
pub(crate) mod profiler;
mod profilertrace;
mod profilingstate;
mod tracebuffer;

pub(crate) use self::profiler::Profiler;
pub(crate) use self::profilingstate::{PausedBy, ProfilingState};
