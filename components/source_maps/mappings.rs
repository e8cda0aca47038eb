/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Numbers in base64, and a check of mappings before the library decodes them. The library takes any byte for a
//! digit, and lets a number below zero become one near 2³².

use std::fmt;

use crate::bounds::MAX_MAPPINGS;
use crate::notice::quoted;

/// Numbers are below this, so that one can be added. <https://tc39.es/ecma426/#sec-VLQSignedValue>
const LIMIT: i64 = 1 << 31;

/// Reads numbers of a variable length. <https://tc39.es/ecma426/#sec-base64-vlq>
pub struct Numbers<'a> {
    rest: std::slice::Iter<'a, u8>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum BadNumber {
    Digit(u8),
    Unfinished,
    TooLarge,
}

impl fmt::Display for BadNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digit(byte) => write!(formatter, "has the character {:?}", *byte as char),
            Self::Unfinished => formatter.write_str("ends within a number"),
            Self::TooLarge => formatter.write_str("has a number of more than 32 bits"),
        }
    }
}

impl From<BadNumber> for String {
    fn from(number: BadNumber) -> Self {
        number.to_string()
    }
}

impl<'a> Numbers<'a> {
    pub fn of(text: &'a str) -> Self {
        Self {
            rest: text.as_bytes().iter(),
        }
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.as_slice().is_empty()
    }

    pub fn unsigned(&mut self) -> Result<u32, BadNumber> {
        let mut value: u64 = 0;
        let mut shift = 0;
        loop {
            let byte = *self.rest.next().ok_or(BadNumber::Unfinished)?;
            let digit = digit(byte).ok_or(BadNumber::Digit(byte))?;
            if shift > 30 {
                return Err(BadNumber::TooLarge);
            }
            value |= u64::from(digit & 31) << shift;
            shift += 5;
            if digit & 32 == 0 {
                break;
            }
        }
        u32::try_from(value).map_err(|_| BadNumber::TooLarge)
    }

    pub fn signed(&mut self) -> Result<i64, BadNumber> {
        let value = self.unsigned()?;
        match (value >> 1, value & 1) {
            (0, 1) => Ok(-LIMIT),
            (value, 1) => Ok(-i64::from(value)),
            (value, _) => Ok(i64::from(value)),
        }
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

/// Whether `mappings` can be decoded and refer to what is there: the errors of DecodeMappingsField.
/// <https://tc39.es/ecma426/#sec-DecodeMappingsField>
pub fn check(mappings: &str, sources: usize, names: usize) -> Result<(), String> {
    let separators = mappings.bytes().filter(|byte| matches!(byte, b',' | b';'));
    if separators.count() >= MAX_MAPPINGS {
        return Err(format!("it has more than {MAX_MAPPINGS} mappings"));
    }
    let (mut source, mut line, mut column, mut name) = (0, 0, 0, 0);
    for (generated_line, segments) in mappings.split(';').enumerate() {
        let mut generated_column = 0;
        for segment in segments.split(',').filter(|segment| !segment.is_empty()) {
            let bad = |why: &dyn fmt::Display| {
                let line = generated_line + 1;
                let segment = quoted(segment);
                format!("its mapping {segment}, of line {line} of the script, {why}")
            };
            let mut numbers = Numbers::of(segment);
            let by = numbers.signed().map_err(|why| bad(&why))?;
            advance(&mut generated_column, by)
                .ok_or_else(|| bad(&"is in a column that cannot be"))?;
            if numbers.is_at_end() {
                continue;
            }
            let sums = [
                (&mut source, sources as i64, "a source"),
                (&mut line, LIMIT, "a line of a source"),
                (&mut column, LIMIT, "a column of a source"),
                (&mut name, names as i64, "a name"),
            ];
            for (fields, (sum, limit, what)) in (1..).zip(sums) {
                if fields == 4 && numbers.is_at_end() {
                    break;
                }
                if numbers.is_at_end() {
                    let why = format_args!("has {fields} numbers instead of 1, 4 or 5");
                    return Err(bad(&why));
                }
                let by = numbers.signed().map_err(|why| bad(&why))?;
                advance(sum, by)
                    .filter(|sum| *sum < limit)
                    .ok_or_else(|| bad(&format_args!("refers to {what} that is not there")))?;
            }
            if !numbers.is_at_end() {
                return Err(bad(&"has more than 5 numbers"));
            }
        }
    }
    Ok(())
}

/// Adds, if the sum is a number of a line or of a column.
fn advance(sum: &mut i64, by: i64) -> Option<i64> {
    *sum += by;
    (0..LIMIT).contains(sum).then_some(*sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_the_specification() {
        let signed = |text| Numbers::of(text).signed();
        assert_eq!(signed("A"), Ok(0));
        assert_eq!(signed("iB"), Ok(17));
        assert_eq!(signed("V"), Ok(-10));
        assert_eq!(signed("B"), Ok(-(1 << 31)));
        assert_eq!(signed("+/////D"), Ok((1 << 31) - 1));
        assert_eq!(signed("//////D"), Ok(1 - (1 << 31)));
        assert_eq!(signed("+/////H"), Err(BadNumber::TooLarge));
        assert_eq!(signed("gggggggA"), Err(BadNumber::TooLarge));
        assert_eq!(signed("g"), Err(BadNumber::Unfinished));
        assert_eq!(signed(""), Err(BadNumber::Unfinished));
        assert_eq!(signed("!"), Err(BadNumber::Digit(b'!')));
        let mut numbers = Numbers::of("AgBC");
        assert_eq!([(); 3].map(|()| numbers.unsigned()), [Ok(0), Ok(32), Ok(2)]);
        assert!(numbers.is_at_end());
    }
}
