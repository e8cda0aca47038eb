/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How much slower than usual the browser may be. All bounds of tests are multiplied by one factor, of which
//! `python/strobe/slowness.py` is the other side.

use std::env;
use std::sync::LazyLock;
use std::time::Duration;

const VARIABLE: &str = "STROBE_TIME_FACTOR";

static FACTOR: LazyLock<u32> = LazyLock::new(|| factor(env::var(VARIABLE).ok().as_deref()));

/// A bound of time, for a browser that may be slower than usual.
pub fn scaled(bound: Duration) -> Duration {
    bound * *FACTOR
}

fn factor(text: Option<&str>) -> u32 {
    let number = text.map_or(Ok(1), str::parse);
    match number {
        Ok(number @ 1..) => number,
        _ => panic!(
            "{VARIABLE}={}: not a whole number of 1 or more",
            text.unwrap_or_default()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_is_one_unless_it_is_set() {
        assert_eq!(factor(None), 1);
        assert_eq!(factor(Some("6")), 6);
    }

    #[test]
    #[should_panic(expected = "STROBE_TIME_FACTOR=0: not a whole number of 1 or more")]
    fn a_wrong_factor_is_refused() {
        factor(Some("0"));
    }
}
