/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the sampling component and its clients exchange: ids, options, what a thread is doing, the trace,
//! recordings, counts and preferences. The implementation is in the crate `js_profiler`.

#![deny(missing_docs)]
#![deny(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

pub mod activity;
mod ids;
mod options;
pub mod preferences;
pub mod recording;
mod room;
mod trace;

pub use ids::{DocumentId, EventLoopId, RealmId, SessionId};
pub use options::supported_interval;
pub use room::Room;
pub use trace::{Frame, Marker, OTHER_FUNCTIONS, Sample, SampleCounts, Stack, Trace};
