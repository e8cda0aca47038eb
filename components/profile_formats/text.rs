/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The text of a file before a format is asked: its encoding, and what JSON holds that is no Unicode.

use crate::error::Error;

/// What stands for half of a character. It has the length of the escape that it replaces, so that places of errors stay.
const REPLACEMENT: &[u8] = br"\ufffd";

/// Refuses a text in UTF-16, which is what the `>` of PowerShell 5 writes.
pub fn check_encoding(text: &[u8]) -> Result<(), Error> {
    let order = match text {
        [0xff, 0xfe, ..] => "little-endian",
        [0xfe, 0xff, ..] => "big-endian",
        // The first character of each format is in ASCII.
        [first, 0, _, 0, ..] if first.is_ascii() && *first > 0 => "little-endian",
        [0, first, 0, ..] if first.is_ascii() && *first > 0 => "big-endian",
        _ => return Ok(()),
    };
    Err(Error::of_file(format!(
        "the text is in UTF-16 ({order}); profiles are in UTF-8, and PowerShell writes them with Out-File -Encoding utf8"
    )))
}

/// Whether a text of JSON has an escape of half a character. Engines write `"\ud83d"` for a name that ends within a
/// character. That is JSON, and no text in Unicode.
pub fn has_lone_surrogates(text: &[u8]) -> bool {
    let is_json = matches!(text.trim_ascii_start().first(), Some(b'{' | b'['));
    is_json && next_lone_surrogate(text, 0).is_some()
}

/// Puts U+FFFD in the place of each escape of half a character in a text of JSON.
pub fn replace_lone_surrogates(text: &mut [u8]) {
    let mut from = 0;
    while let Some(at) = next_lone_surrogate(text, from) {
        from = at + REPLACEMENT.len();
        text[at..from].copy_from_slice(REPLACEMENT);
    }
}

/// Where the next one is. `from` is at no character that is escaped.
fn next_lone_surrogate(text: &[u8], mut from: usize) -> Option<usize> {
    loop {
        let rest = text.get(from..)?;
        let at = from + rest.iter().position(|byte| *byte == b'\\')?;
        from = match surrogate(&text[at..]) {
            None => at + 2,
            Some(Surrogate::High) if surrogate(&text[at + 6..]) == Some(Surrogate::Low) => at + 12,
            Some(_) => return Some(at),
        };
    }
}

#[derive(PartialEq)]
enum Surrogate {
    High,
    Low,
}

/// The half of a character whose escape a text begins with.
fn surrogate(text: &[u8]) -> Option<Surrogate> {
    let [b'\\', b'u', b'd' | b'D', kind, third, fourth, ..] = text else {
        return None;
    };
    if !third.is_ascii_hexdigit() || !fourth.is_ascii_hexdigit() {
        return None;
    }
    match kind {
        b'8' | b'9' | b'a' | b'b' | b'A' | b'B' => Some(Surrogate::High),
        b'c'..=b'f' | b'C'..=b'F' => Some(Surrogate::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_characters_are_replaced_and_whole_ones_stay() {
        for (text, expected) in [
            (r#"{"a":"\ud83d"}"#, r#"{"a":"\ufffd"}"#),
            (r#"["\ud83d\ude00"]"#, r#"["\ud83d\ude00"]"#),
            (r#"["\uD83D\uDE00\uDE00"]"#, r#"["\uD83D\uDE00\ufffd"]"#),
            (r#"["\ud83d\ud83d\ude00"]"#, r#"["\ufffd\ud83d\ude00"]"#),
            (r#"["\\ud83d"]"#, r#"["\\ud83d"]"#),
            (r#"["\\\ud83d"]"#, r#"["\\\ufffd"]"#),
            (r#"["\ud83"]"#, r#"["\ud83"]"#),
            (r#"["\ud7ff\ue000"]"#, r#"["\ud7ff\ue000"]"#),
            (r"{\", r"{\"),
            (r"{\ud83d", r"{\ufffd"),
            (r"f;\ud83d 1", r"f;\ud83d 1"),
        ] {
            let has_some = has_lone_surrogates(text.as_bytes());
            assert_eq!(has_some, text != expected, "{text}");
            if has_some {
                let mut read = text.as_bytes().to_vec();
                replace_lone_surrogates(&mut read);
                assert_eq!(str::from_utf8(&read), Ok(expected));
            }
        }
    }

    #[test]
    fn utf_16_is_told_by_its_mark_or_its_zeros() {
        let utf_16 = |text: &str, to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
            text.encode_utf16().flat_map(to_bytes).collect()
        };
        for text in ["\u{feff}a;b 3\n", "{\"nodes\":[]}"] {
            for (bytes, order) in [
                (utf_16(text, u16::to_le_bytes), "(little-endian)"),
                (utf_16(text, u16::to_be_bytes), "(big-endian)"),
            ] {
                let error = check_encoding(&bytes).unwrap_err().to_string();
                assert!(error.contains("UTF-16") && error.contains(order), "{error}");
            }
            assert_eq!(check_encoding(text.as_bytes()), Ok(()));
        }
        assert_eq!(check_encoding(b""), Ok(()));
    }
}
