/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How much time samples are worth in files that say only when they were taken.
//!
//! A sample is worth the time from its own to that of the next one. V8's `timeDeltas` are the times before samples, so
//! the worth of a sample is the delta of the next one. Where V8 deoptimises a function, it adds an entry shortly before
//! or after a sample. So such an entry is worth little.
//!
//! Some engines take no samples while they wait, and write one long time for it. If a file has idle samples, its engine
//! takes samples while it waits. Then a long time is that of a machine that was busy with other programs. In other
//! files nobody can tell, and a sample is worth no more than [`most`].

/// Nanoseconds in a millisecond.
pub const NANOSECONDS: f64 = 1e6;

/// In intervals. On a machine that has seven threads for each processor, Node.js takes one sample of a hundred later.
const MOST_INTERVALS: f64 = 20.;

/// In milliseconds. A thread that wants to run seldom waits longer. Where most samples are late, the interval that is
/// seen is longer than the true one, and pauses are fewer of it.
pub const MOST_TIME: f64 = 100.;

/// In intervals. No less is cut, however long the interval is.
const LEAST_INTERVALS: f64 = 3.;

/// The greatest time that samples of an event loop may be worth, and all together, in nanoseconds: that of
/// [`LAST_TIME`](crate::recording::LAST_TIME).
pub const MAX_WORTH: u64 = 10_000_000_000_000_000_000;

/// Milliseconds from 0 on in whole nanoseconds. Saturates.
#[inline]
pub fn nanoseconds(milliseconds: f64) -> u64 {
    // As `round` has it, which is a call for each of millions of samples.
    let exact = milliseconds * NANOSECONDS;
    let below = exact as u64;
    below.saturating_add(u64::from(exact - below as f64 >= 0.5))
}

pub fn milliseconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / NANOSECONDS
}

/// The longest time that a sample is worth in a file without idle samples. Both are in milliseconds.
pub fn most(interval: f64) -> f64 {
    (MOST_INTERVALS * interval)
        .min(MOST_TIME)
        .max(LEAST_INTERVALS * interval)
}

/// The worth of each of several samples in nanoseconds. The moments are in order, in milliseconds since any time. The
/// last sample is worth the time to the end. If that is not known, or before it, it is worth one interval. None is worth
/// more than `most` milliseconds.
pub fn until_next(moments: &[f64], end: Option<f64>, interval: f64, most: Option<f64>) -> Vec<u64> {
    each_until_next(moments, end, interval, most).collect()
}

/// The same, one after the other.
pub fn each_until_next(
    moments: &[f64],
    end: Option<f64>,
    interval: f64,
    most: Option<f64>,
) -> impl Iterator<Item = u64> {
    let most = most.map_or(u64::MAX, nanoseconds);
    let first = moments.first().copied().unwrap_or_default();
    let last = moments.last().copied().unwrap_or_default();
    // Each is rounded on its own, so the sum is the time from the first one to the end.
    let since_first = move |moment: f64| nanoseconds(moment - first);
    let end = match end {
        Some(end) if end >= last => since_first(end),
        _ => since_first(last).saturating_add(nanoseconds(interval)),
    };
    let nexts = moments
        .iter()
        .skip(1)
        .map(move |moment| since_first(*moment));
    let mut now = 0;
    let nexts = nexts.chain((!moments.is_empty()).then_some(end));
    nexts.map(move |next| {
        let worth = next.saturating_sub(now).min(most);
        now = next;
        worth
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_worth_the_time_until_the_next_one() {
        let moments = [1_000., 1_001., 1_006., 1_006., 1_006.25];
        assert_eq!(
            until_next(&moments, Some(1_007.), 1., None),
            [1_000_000, 5_000_000, 0, 250_000, 750_000]
        );
        assert!(until_next(&[], Some(7.), 1., None).is_empty());
    }

    #[test]
    fn times_are_rounded_to_the_nearest_nanosecond() {
        let halves = [0.5, 1.5, 2.5, 0.49999999999999994, 0.3, 7.0];
        let large = [4503599627370495.5, 9007199254740991., 1e18, 1e19, 1e300];
        let odd = [
            0.,
            -0.,
            -0.3,
            -7.,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for number in halves.into_iter().chain(large).chain(odd) {
            for milliseconds in [number, number / NANOSECONDS] {
                let rounded = (milliseconds * NANOSECONDS).round() as u64;
                assert_eq!(nanoseconds(milliseconds), rounded, "{milliseconds}");
            }
        }
    }

    #[test]
    fn without_an_end_the_last_one_is_worth_an_interval() {
        for end in [None, Some(3.), Some(-1e308)] {
            assert_eq!(
                until_next(&[0., 4.], end, 1.5, None),
                [4_000_000, 1_500_000]
            );
        }
        assert_eq!(until_next(&[0., 4.], Some(4.), 1.5, None), [4_000_000, 0]);
    }

    #[test]
    fn no_sample_is_worth_more_than_the_most() {
        let worths = until_next(&[0., 1., 501., 502.], Some(1e13), 1., Some(20.));
        assert_eq!(worths, [1, 20, 1, 20].map(|worth| worth * 1_000_000));
    }

    #[test]
    fn the_most_grows_with_the_interval() {
        let interval_and_most = [(0.1, 2.), (1., 20.), (4., 80.), (10., 100.), (50., 150.)];
        for (interval, expected) in interval_and_most {
            assert_eq!(most(interval), expected, "{interval}");
        }
    }

    #[test]
    fn the_sum_is_the_whole_time() {
        // Thirds of a microsecond.
        let moments: Vec<_> = (0..1_000).map(|number| f64::from(number) / 3e3).collect();
        let sum: u64 = until_next(&moments, Some(1_000. / 3e3), 1., None)
            .iter()
            .sum();
        assert_eq!(sum, nanoseconds(1_000. / 3e3));
    }
}
