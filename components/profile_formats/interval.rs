/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The interval of a file that does not say what it was.

use crate::error::Error;
use crate::recording::LAST_TIME;

/// In milliseconds, where nothing is known.
pub const DEFAULT: f64 = 1.;

/// What a file says it was, in milliseconds.
pub fn checked(interval: f64, place: &str) -> Result<f64, Error> {
    if interval > 0. && interval <= LAST_TIME {
        return Ok(interval);
    }
    let problem = format!("an interval of {interval} ms is not between 0 and {LAST_TIME} ms");
    Err(Error::new(place, problem))
}

/// The median of what lies between one time and the next, over series of times in milliseconds. What is
/// not between, because two times are the same, does not count.
pub fn estimate(series: impl IntoIterator<Item = impl IntoIterator<Item = f64>>) -> f64 {
    let mut differences = Vec::new();
    for times in series {
        let mut last = None;
        for time in times {
            differences.extend(
                last.map(|last| time - last)
                    .filter(|difference| *difference > 0.),
            );
            last = Some(time);
        }
    }
    if differences.is_empty() {
        return DEFAULT;
    }
    let middle = differences.len() / 2;
    *differences.select_nth_unstable_by(middle, f64::total_cmp).1
}
