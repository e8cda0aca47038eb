/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The options of a session.

use std::time::Duration;

use crate::sampled_activity::MarkerFilter;

/// What a session is started with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionOptions {
    /// The time between two samples. It must be a supported interval: see
    /// [`js_profiler_traits::supported_interval`].
    pub sample_interval: Duration,
    /// The greatest number of samples that the buffer holds. Nothing is allocated for them in
    /// advance.
    pub max_buffer_size: u32,
    /// Which markers the samples may have.
    pub markers: MarkerFilter,
    /// Whether the session starts in the paused state.
    pub is_paused: bool,
}

impl SessionOptions {
    /// Takes a sample at each of these intervals, without a limit. For embeddings without documents.
    pub fn every(sample_interval: Duration) -> Self {
        Self {
            sample_interval,
            max_buffer_size: u32::MAX,
            markers: MarkerFilter {
                document: None,
                isolated: true,
            },
            is_paused: false,
        }
    }
}
