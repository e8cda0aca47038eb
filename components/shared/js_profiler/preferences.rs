/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Strobe's own preferences, by name. Their names begin with `js_profiling_`. They are set before the first
//! document is loaded.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// The values of `js_profiling_base_interval_us`.
pub const BASE_INTERVALS: RangeInclusive<u32> = 100..=1_000_000;

/// The value of one preference.
struct Preference {
    name: &'static str,
    value: AtomicU32,
    kind: Kind,
}

enum Kind {
    /// 0 or 1.
    Bool,
    Number(RangeInclusive<u32>),
}

static ALLOW: Preference = Preference::new("js_profiling_allow", 0, Kind::Bool);
static ALL_MARKERS: Preference = Preference::new("js_profiling_all_markers", 0, Kind::Bool);
static BASE_INTERVAL: Preference = Preference::new(
    "js_profiling_base_interval_us",
    1_000,
    Kind::Number(BASE_INTERVALS),
);
static MAX_STACK_DEPTH: Preference = Preference::new(
    "js_profiling_max_stack_depth",
    512,
    Kind::Number(1..=65_536),
);

static ALL: &[&Preference] = &[&ALLOW, &ALL_MARKERS, &BASE_INTERVAL, &MAX_STACK_DEPTH];

/// `js_profiling_allow`: whether every document and worker may profile, whatever the headers say. For people
/// who cannot change the headers. Off by default.
pub fn js_profiling_allow() -> bool {
    ALLOW.get() != 0
}

/// `js_profiling_all_markers`: whether every document and worker sees all markers, as if it were cross-origin
/// isolated. For people who trust the pages that they open. Off by default.
pub fn all_markers() -> bool {
    ALL_MARKERS.get() != 0
}

/// `js_profiling_base_interval_us`: the base interval, set in microseconds. Supported sample intervals are
/// multiples of it. 1 ms by default.
pub fn base_interval() -> Duration {
    Duration::from_micros(BASE_INTERVAL.get().into())
}

/// `js_profiling_max_stack_depth`: the number of frames, counted from the leaf, that are walked per stack at
/// most. A deeper stack is truncated at its root end, and counted in
/// [`SampleCounts::truncated`](crate::SampleCounts::truncated). 512 by default.
pub fn max_stack_depth() -> usize {
    MAX_STACK_DEPTH.get() as usize
}

/// Sets a preference for this process. The value is `true` or `false`, or a whole number, depending on the
/// preference.
///
/// # Errors
///
/// A message for people that names the preference and what it takes, if the name is unknown or the value is
/// not acceptable. The preference is unchanged then.
pub fn set(name: &str, value: &str) -> Result<(), String> {
    let Some(preference) = ALL.iter().find(|preference| preference.name == name) else {
        let names: Vec<_> = ALL.iter().map(|preference| preference.name).collect();
        return Err(format!(
            "unknown preference {name}; the js_profiling_ preferences are: {}",
            names.join(", ")
        ));
    };
    let parsed = match &preference.kind {
        Kind::Bool => value
            .parse()
            .map(u32::from as fn(bool) -> u32)
            .map_err(|_| format!("preference {name} takes true or false, not '{value}'")),
        Kind::Number(range) => value
            .parse()
            .ok()
            .filter(|number| range.contains(number))
            .ok_or_else(|| {
                format!(
                    "preference {name} takes a number from {} to {}, not '{value}'",
                    range.start(),
                    range.end()
                )
            }),
    };
    preference.value.store(parsed?, Ordering::Relaxed);
    Ok(())
}

/// All preferences: their names and their values in this process, as [`set`] takes them.
pub fn all() -> Vec<(String, String)> {
    let text = |preference: &Preference| match preference.kind {
        Kind::Bool => (preference.get() != 0).to_string(),
        Kind::Number(_) => preference.get().to_string(),
    };
    ALL.iter()
        .map(|preference| (preference.name.to_owned(), text(preference)))
        .collect()
}

impl Preference {
    const fn new(name: &'static str, default: u32, kind: Kind) -> Self {
        Self {
            name,
            value: AtomicU32::new(default),
            kind,
        }
    }

    fn get(&self) -> u32 {
        self.value.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preference_is_set_by_name_and_bad_input_is_named() {
        assert_eq!(set("js_profiling_allow", "true"), Ok(()));
        assert!(js_profiling_allow());
        let expected = ("js_profiling_allow".to_owned(), "true".to_owned());
        assert!(all().contains(&expected));
        assert_eq!(
            set("js_profiling_allow", "yes"),
            Err("preference js_profiling_allow takes true or false, not 'yes'".to_owned())
        );
        assert!(js_profiling_allow(), "a bad value must change nothing");
        assert_eq!(set("js_profiling_allow", "false"), Ok(()));
        assert!(!js_profiling_allow());
        assert!(set("js_profiling_alow", "true").is_err());
    }

    #[test]
    fn a_number_must_be_in_its_range() {
        assert_eq!(base_interval(), Duration::from_millis(1));
        assert_eq!(set("js_profiling_base_interval_us", "200"), Ok(()));
        assert_eq!(base_interval(), Duration::from_micros(200));
        let expected = ("js_profiling_base_interval_us".to_owned(), "200".to_owned());
        assert!(all().contains(&expected));
        for bad in ["0", "99", "-1", "1.5", "1ms", ""] {
            assert_eq!(
                set("js_profiling_base_interval_us", bad),
                Err(format!(
                    "preference js_profiling_base_interval_us takes a number from 100 to 1000000, not '{bad}'"
                ))
            );
        }
        assert_eq!(base_interval(), Duration::from_micros(200));
        assert_eq!(set("js_profiling_base_interval_us", "1000"), Ok(()));
    }
}
