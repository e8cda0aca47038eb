/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is what visitors of a page have sent: lines with envelopes around traces, or any other profiles.

use std::collections::HashSet;

use profile_formats::EventLoop;
use profile_sets::{Merge, Options, Outcome, Profile, Sessions, diff};

use crate::profiles::check_recording;

/// So few are drawn that an input does not take long.
const REPLICATES: usize = 20;

/// The profiles of an input, what became of it, and what was told.
fn read(input: &[u8], options: &Options) -> (Vec<Profile>, Result<Outcome, String>, Vec<String>) {
    let mut profiles = Vec::new();
    let mut told = Vec::new();
    let outcome = options.read_stream(
        input,
        "in",
        |profile| {
            profiles.push(profile);
            Ok(())
        },
        |line| told.push(line.to_owned()),
    );
    (profiles, outcome, told)
}

/// Accepted is an input of which some profile is read.
pub fn envelope(input: &[u8]) -> bool {
    let (profiles, outcome, told) = read(input, &Options::default());
    let outcome = outcome.expect("a bad input ends nothing");
    assert_eq!(outcome.profiles, profiles.len() as u64);
    let left_out = told
        .iter()
        .filter(|line| line.ends_with("; it is left out"));
    assert!(left_out.count() as u64 >= outcome.skipped, "{told:?}");
    assert!(told.iter().all(|line| line.starts_with("in")), "{told:?}");

    let is_strict = true;
    let (_, strict, _) = read(
        input,
        &Options {
            is_strict,
            ..Options::default()
        },
    );
    match outcome.skipped {
        0 => assert_eq!(strict, Ok(outcome)),
        _ => assert!(strict.is_err_and(|error| error.starts_with("in"))),
    }
    if profiles.is_empty() {
        return false;
    }
    check_merge(&profiles, false);
    check_merge(&profiles, true);
    check_comparison(profiles);
    true
}

/// Checks that nothing is lost but what is counted.
fn check_merge(profiles: &[Profile], with_sessions: bool) {
    let mut merge = Merge::new(None, true, with_sessions);
    let mut pieces = HashSet::new();
    let (mut worth, mut count) = (0_u128, 0_u128);
    for profile in profiles {
        merge.add(profile).expect("there is room for it");
        let session = profile.session.as_ref();
        if session.is_some_and(|session| !pieces.insert((session, profile.digest))) {
            continue;
        }
        let samples = profile
            .samples()
            .into_iter()
            .flat_map(|(_, samples)| samples);
        for samples in samples {
            worth += u128::from(samples.worth());
            let counts = samples.sums.values().map(|sum| u128::from(sum.samples));
            count += counts.sum::<u128>();
        }
    }
    let (merged, counts) = merge.finish().expect("there is room for all");
    assert_eq!(counts.elsewhere, 0);
    assert_eq!(counts.profiles + counts.repeated, profiles.len() as u64);
    // More than that is not told apart.
    if worth < u128::from(u64::MAX) && count < u128::from(u64::MAX) {
        let weights = merged.event_loops().map(EventLoop::weight);
        assert_eq!(weights.map(u128::from).sum::<u128>(), count);
        let worths = merged
            .event_loops()
            .flat_map(|one| one.worths(merged.interval));
        let worths: u128 = worths.map(u128::from).sum();
        assert_eq!(worths + u128::from(counts.beyond_clocks), worth);
    }
    check_recording(&merged);
}

/// Checks that a comparison is possible, with intervals or without.
fn check_comparison(profiles: Vec<Profile>) {
    let mut sessions = Sessions::new(None);
    // Every second profile is on the other side.
    for (number, profile) in profiles.into_iter().enumerate() {
        sessions
            .add(number % 2, profile)
            .expect("there is room for it");
    }
    sessions.finish().expect("there is room for all");
    assert!(sessions.percentiles(|_| true, 10).len() <= 10);
    let names = ["base", "new"].map(str::to_owned);
    match diff(&sessions, names, |set, _| Some(set), REPLICATES) {
        Ok(compared) => {
            for change in &compared.changes {
                let shares = [change.self_share, change.total_share].concat();
                assert!(shares.iter().all(|share| (0.0..=1.0001).contains(share)));
                let intervals = [change.time, change.growth, change.share];
                for interval in intervals.into_iter().flatten() {
                    assert!(interval.low <= interval.high, "{change:?}");
                }
            }
            let is_judged = compared.grown(0.).is_ok();
            assert_eq!(is_judged, compared.without_intervals.is_none());
            assert!(!compared.text(10).is_empty() && !compared.markdown(10).is_empty());
            assert!(compared.json().is_object());
        },
        Err(error) => assert!(!error.is_empty()),
    }
}
