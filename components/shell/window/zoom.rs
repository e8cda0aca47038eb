/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The zoom steps of a page.

/// The usual steps of browsers. 1 is the page's own size.
const STEPS: [f32; 16] = [
    0.3, 0.5, 0.67, 0.8, 0.9, 1., 1.1, 1.2, 1.33, 1.5, 1.7, 2., 2.4, 3., 4., 5.,
];

/// Zoom factors that round to the same percentage are equal.
const TOLERANCE: f32 = 0.005;

/// The next larger zoom, or `zoom` if there is none.
pub fn larger(zoom: f32) -> f32 {
    STEPS
        .into_iter()
        .find(|step| *step > zoom + TOLERANCE)
        .unwrap_or(zoom)
}

/// The next smaller zoom, or `zoom` if there is none.
pub fn smaller(zoom: f32) -> f32 {
    STEPS
        .into_iter()
        .rev()
        .find(|step| *step < zoom - TOLERANCE)
        .unwrap_or(zoom)
}

/// The text for a zoom. None for the page's own size.
pub fn label(zoom: f32) -> Option<String> {
    ((zoom - 1.).abs() > TOLERANCE).then(|| format!("{:.0} %", zoom * 100.))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lead_from_end_to_end_and_back() {
        let mut zoom = STEPS[0];
        for step in &STEPS[1..] {
            zoom = larger(zoom);
            assert_eq!(zoom, *step);
        }
        assert_eq!(larger(zoom), zoom);
        for step in STEPS.iter().rev().skip(1) {
            zoom = smaller(zoom);
            assert_eq!(zoom, *step);
        }
        assert_eq!(smaller(zoom), zoom);
        // From between two steps.
        assert_eq!(larger(1.05), 1.1);
        assert_eq!(smaller(1.05), 1.);
    }

    #[test]
    fn the_pages_own_size_is_not_mentioned() {
        assert_eq!(label(1.), None);
        assert_eq!(label(0.67).as_deref(), Some("67 %"));
        assert_eq!(label(1.1).as_deref(), Some("110 %"));
    }
}
