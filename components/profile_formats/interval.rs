/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The interval of a file that does not say it.

use crate::error::Error;
use crate::recording::LAST_TIME;

/// In milliseconds, if nothing is known.
pub const DEFAULT: f64 = 1.;

/// The interval that a file says, in milliseconds.
pub fn checked(interval: f64, place: &str) -> Result<f64, Error> {
    if interval > 0. && interval <= LAST_TIME {
        return Ok(interval);
    }
    let problem = format!("an interval of {interval} ms is not between 0 and {LAST_TIME} ms");
    Err(Error::new(place, problem))
}

/// The median of the differences between one time and the next, over series of times in milliseconds. Two times that
/// are the same do not count.
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
    median(differences)
}

/// The median of times in milliseconds.
pub fn median(mut times: Vec<f64>) -> f64 {
    if times.is_empty() {
        return DEFAULT;
    }
    let middle = times.len() / 2;
    whole_nanoseconds(*times.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Without the noise of a calculation. An interval of less than a nanosecond stays as it is.
pub fn whole_nanoseconds(interval: f64) -> f64 {
    let rounded = (interval * 1e6).round() / 1e6;
    if rounded > 0. { rounded } else { interval }
}
