/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The median of very many numbers, which are not kept: they are looked at twice.

/// Half of the bits of a number.
const BITS: u32 = 16;

/// The median of those that are not 0, as `interval.rs` has it. `numbers` gives the same ones each time.
pub fn median<I: Iterator<Item = u32>>(numbers: impl Fn() -> I) -> Option<u32> {
    let mut counts = vec![0_u64; 1 << BITS];
    let mut all = 0;
    for number in numbers().filter(|number| *number > 0) {
        counts[(number >> BITS) as usize] += 1;
        all += 1;
    }
    let mut middle = all / 2;
    let high = position(&counts, &mut middle)?;
    counts.fill(0);
    for number in numbers().filter(|number| *number > 0 && number >> BITS == high) {
        counts[(number & ((1 << BITS) - 1)) as usize] += 1;
    }
    let low = position(&counts, &mut middle)?;
    Some((high << BITS) | low)
}

/// Where the entry is that has this many before it. What is left are those before it at the same place.
fn position(counts: &[u64], before: &mut u64) -> Option<u32> {
    for (index, count) in counts.iter().enumerate() {
        match before.checked_sub(*count) {
            Some(left) => *before = left,
            None => return Some(index as u32),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval;

    #[test]
    fn it_is_the_median_of_all_that_are_not_0() {
        let most = u32::MAX;
        for numbers in [
            &[][..],
            &[0, 0],
            &[7],
            &[0, 7, 9],
            &[9, 7, 0, 8],
            &[1 << 16, 1, (1 << 16) + 1, 2, (1 << 16) + 2],
            &[most, most, 1],
        ] {
            let times = numbers.iter().map(|number| f64::from(*number));
            let times: Vec<_> = times.filter(|time| *time > 0.).collect();
            let expected = (!times.is_empty()).then(|| interval::median(times));
            let found = median(|| numbers.iter().copied());
            assert_eq!(found.map(f64::from), expected, "{numbers:?}");
        }
    }
}
