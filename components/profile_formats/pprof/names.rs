/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The texts with a meaning.

/// What has the number of samples, and its unit.
pub const SAMPLES: [&str; 2] = ["samples", "count"];

/// What has their time, and its unit.
pub const WALL: [&str; 2] = ["wall", "nanoseconds"];

/// The labels with a meaning.
pub const EVENT_LOOP: &str = "event_loop";
pub const MARKER: &str = "marker";
pub const PAGE: &str = "page";
pub const ORIGIN: &str = "origin";
