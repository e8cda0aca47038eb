/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Durations as people and about:profiling write them: numbers above 0, with or without a fraction.

use std::time::Duration;

pub fn milliseconds(text: &str) -> Result<Duration, String> {
    duration(text, 1000., "milliseconds")
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    duration(text, 1., "seconds")
}

fn duration(text: &str, per_second: f64, unit: &str) -> Result<Duration, String> {
    text.parse()
        .ok()
        .and_then(|count: f64| Duration::try_from_secs_f64(count / per_second).ok())
        .filter(|duration| !duration.is_zero())
        .ok_or_else(|| format!("it must be a number of {unit} above 0"))
}
