/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a session is started with.

use std::time::Duration;

use crate::work::MarkerFilter;

/// What a session is started with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionOptions {
    /// A supported interval: see [`js_profiler_traits::supported_interval`].
    pub sample_interval: Duration,
    /// How many samples the buffer holds. Nothing is allocated for them beforehand.
    pub max_buffer_size: u32,
    /// Which markers its samples may have.
    pub markers: MarkerFilter,
    /// Whether the session starts paused.
    pub is_paused: bool,
}
