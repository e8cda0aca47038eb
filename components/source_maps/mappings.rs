/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Numbers in base64, and a check of mappings before the library decodes them. The library takes any byte for a
//! digit, and lets a number below zero become one near 2³².

use std::borrow::Cow;
use std::fmt;
use std::mem;

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

/// Mappings that can be decoded, and how many of them refer to what is not there.
/// <https://tc39.es/ecma426/#sec-DecodeMappingsField>
///
/// Such a mapping is one of no source, so that the code behind it has no place. One whose name alone is not there has no
/// name. The text is the same if there are none.
pub fn checked(
    mappings: Cow<'_, str>,
    sources: usize,
    names: usize,
) -> Result<(Cow<'_, str>, u64), String> {
    let separators = mappings.bytes().filter(|byte| matches!(byte, b',' | b';'));
    if separators.count() >= MAX_MAPPINGS {
        return Err(format!("it has more than {MAX_MAPPINGS} mappings"));
    }
    let mut wrong = 0;
    for_each(&mappings, |_, segment| {
        wrong += u64::from(segment.has_wrong_source(sources) || segment.has_wrong_name(names));
    })?;
    if wrong == 0 {
        return Ok((mappings, 0));
    }
    let mut text = String::with_capacity(mappings.len());
    let mut last = Segment::default();
    let mut line = 0;
    let mut is_first = true;
    for_each(&mappings, |generated_line, mut segment| {
        while line < generated_line {
            text.push(';');
            line += 1;
            last.column = 0;
            is_first = true;
        }
        if segment.has_wrong_source(sources) {
            segment.original = None;
        } else if segment.has_wrong_name(names) {
            segment.name = None;
        }
        if !mem::take(&mut is_first) {
            text.push(',');
        }
        segment.write(&mut last, &mut text);
    })?;
    Ok((Cow::Owned(text), wrong))
}

/// A mapping with its own numbers, not the differences to those before.
#[derive(Clone, Copy, Default)]
struct Segment {
    column: i64,
    /// The source, and a line and a column in it.
    original: Option<[i64; 3]>,
    name: Option<i64>,
}

impl Segment {
    fn has_wrong_source(&self, sources: usize) -> bool {
        self.original.is_some_and(|[source, line, column]| {
            !(0..sources as i64).contains(&source)
                || !(0..LIMIT).contains(&line)
                || !(0..LIMIT).contains(&column)
        })
    }

    fn has_wrong_name(&self, names: usize) -> bool {
        self.name
            .is_some_and(|name| !(0..names as i64).contains(&name))
    }

    /// `last` has the numbers before, and gets these.
    fn write(&self, last: &mut Self, text: &mut String) {
        push_number(text, self.column - last.column);
        last.column = self.column;
        let Some(original) = self.original else {
            return;
        };
        let before = last.original.replace(original).unwrap_or_default();
        for (number, before) in original.into_iter().zip(before) {
            push_number(text, number - before);
        }
        if let Some(name) = self.name {
            push_number(text, name - last.name.replace(name).unwrap_or_default());
        }
    }
}

fn push_number(text: &mut String, number: i64) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut rest = (number.unsigned_abs() << 1) | u64::from(number < 0);
    loop {
        let digit = rest & 31;
        rest >>= 5;
        let continued = if rest > 0 { 32 } else { 0 };
        text.push(char::from(DIGITS[(digit | continued) as usize]));
        if rest == 0 {
            break;
        }
    }
}

/// Calls a function for each mapping, with its line of the script, from 0 on.
fn for_each(mappings: &str, mut call: impl FnMut(usize, Segment)) -> Result<(), String> {
    let (mut original, mut name) = ([0; 3], 0);
    for (generated_line, segments) in mappings.split(';').enumerate() {
        let mut generated_column = 0;
        for segment in segments.split(',').filter(|segment| !segment.is_empty()) {
            let bad = |why: &dyn fmt::Display| {
                let line = generated_line + 1;
                let segment = quoted(segment);
                format!("its mapping {segment}, of line {line} of the script, {why}")
            };
            let mut numbers = Numbers::of(segment);
            generated_column += numbers.signed().map_err(|why| bad(&why))?;
            if !(0..LIMIT).contains(&generated_column) {
                return Err(bad(&"is in a column that cannot be"));
            }
            let mut read = Segment {
                column: generated_column,
                ..Segment::default()
            };
            if !numbers.is_at_end() {
                let sums = original.iter_mut().chain([&mut name]);
                for (fields, sum) in (1..).zip(sums) {
                    if fields == 4 && numbers.is_at_end() {
                        break;
                    }
                    if numbers.is_at_end() {
                        let why = format_args!("has {fields} numbers instead of 1, 4 or 5");
                        return Err(bad(&why));
                    }
                    *sum += numbers.signed().map_err(|why| bad(&why))?;
                    if fields == 4 {
                        read.name = Some(*sum);
                    }
                }
                if !numbers.is_at_end() {
                    return Err(bad(&"has more than 5 numbers"));
                }
                read.original = Some(original);
            }
            call(generated_line, read);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_to_what_is_not_there_costs_that_mapping_alone() {
        let checked = |mappings, sources, names| {
            let (text, wrong) = checked(Cow::Borrowed(mappings), sources, names).unwrap();
            (text.into_owned(), wrong)
        };
        // The second one is of the source 1, and the third one of the source 0 again.
        let text = "AAAAA,CCAAC,CDAAC;;AACAA";
        assert_eq!(checked(text, 2, 3), (text.to_owned(), 0));
        assert_eq!(checked(text, 1, 3), ("AAAAA,C,CAAAE;;AACAA".to_owned(), 1));
        assert_eq!(
            checked(text, 2, 2),
            ("AAAAA,CCAAC,CDAA;;AACA".to_owned(), 2)
        );
        // Before the first one there is nothing.
        assert_eq!(checked("ADAA,CCAA", 1, 0), ("A,CAAA".to_owned(), 1));
        assert_eq!(checked("AADA,CACA", 1, 0), ("A,CAAA".to_owned(), 1));
        for number in [0, 1, -1, 15, 16, -16, 1 << 31, 1 - (1 << 32)] {
            let mut text = String::new();
            push_number(&mut text, number);
            if number.abs() < LIMIT {
                assert_eq!(Numbers::of(&text).signed(), Ok(number), "{text}");
            }
        }
    }

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
