/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The options of a session, and the bounds of sampling.

use std::time::Duration;

use crate::recording::recording_interval;

/// The sample interval that a session gets for the `requested` one, in milliseconds: rounded down to a
/// multiple of `base`, and never below `base`.
/// <https://wicg.github.io/js-self-profiling/#dom-profiler-sampleinterval>
///
/// The longest interval is `u32::MAX` times `base` (49 days if `base` is 1 ms).
///
/// # Errors
///
/// If `requested` is negative. Web IDL rejects what is not a number before it gets here.
pub fn supported_interval(requested: f64, base: Duration) -> Result<Duration, String> {
    if requested.is_nan() || requested < 0. {
        return Err(format!(
            "sampleInterval must not be negative, got {requested}"
        ));
    }
    let requested = Duration::try_from_secs_f64(requested / 1000.).unwrap_or(Duration::MAX);
    Ok(recording_interval(requested, base))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE_INTERVAL: Duration = Duration::from_millis(1);

    #[test]
    fn an_interval_is_rounded_down_to_a_multiple_of_the_base() {
        let milliseconds = Duration::from_millis;
        for (requested, expected) in [
            (0., milliseconds(1)),
            (-0., milliseconds(1)),
            (0.3, milliseconds(1)),
            (1., milliseconds(1)),
            (1.999, milliseconds(1)),
            (2., milliseconds(2)),
            (10., milliseconds(10)),
            (10.7, milliseconds(10)),
            (f64::MAX, BASE_INTERVAL * u32::MAX),
        ] {
            assert_eq!(
                supported_interval(requested, BASE_INTERVAL),
                Ok(expected),
                "requested {requested} ms"
            );
        }
    }

    #[test]
    fn another_base_has_other_multiples() {
        let base = Duration::from_micros(200);
        assert_eq!(supported_interval(0.1, base), Ok(base));
        assert_eq!(supported_interval(0.5, base), Ok(base * 2));
        assert_eq!(supported_interval(0.6, base), Ok(base * 3));
        assert_eq!(supported_interval(1., base), Ok(base * 5));
    }

    #[test]
    fn a_negative_interval_is_refused() {
        assert_eq!(
            supported_interval(-0.001, BASE_INTERVAL),
            Err("sampleInterval must not be negative, got -0.001".to_owned())
        );
        assert!(supported_interval(f64::NAN, BASE_INTERVAL).is_err());
    }
}
