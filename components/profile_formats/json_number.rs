/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A number of JSON in the bytes of a text. The value is that which `serde_json` gives, to the last digit.

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Unsigned(u64),
    /// Less than 0.
    Signed(i64),
    Float(f64),
}

const MAX_POWER: usize = 308;

/// What `serde_json` says of texts that are no numbers.
pub const INVALID: &str = "invalid number";
const OUT_OF_RANGE: &str = "number out of range";

/// Powers of ten that a float holds.
#[rustfmt::skip]
const POWERS: [f64; MAX_POWER + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
    1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
    1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29,
    1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39,
    1e40, 1e41, 1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49,
    1e50, 1e51, 1e52, 1e53, 1e54, 1e55, 1e56, 1e57, 1e58, 1e59,
    1e60, 1e61, 1e62, 1e63, 1e64, 1e65, 1e66, 1e67, 1e68, 1e69,
    1e70, 1e71, 1e72, 1e73, 1e74, 1e75, 1e76, 1e77, 1e78, 1e79,
    1e80, 1e81, 1e82, 1e83, 1e84, 1e85, 1e86, 1e87, 1e88, 1e89,
    1e90, 1e91, 1e92, 1e93, 1e94, 1e95, 1e96, 1e97, 1e98, 1e99,
    1e100, 1e101, 1e102, 1e103, 1e104, 1e105, 1e106, 1e107, 1e108, 1e109,
    1e110, 1e111, 1e112, 1e113, 1e114, 1e115, 1e116, 1e117, 1e118, 1e119,
    1e120, 1e121, 1e122, 1e123, 1e124, 1e125, 1e126, 1e127, 1e128, 1e129,
    1e130, 1e131, 1e132, 1e133, 1e134, 1e135, 1e136, 1e137, 1e138, 1e139,
    1e140, 1e141, 1e142, 1e143, 1e144, 1e145, 1e146, 1e147, 1e148, 1e149,
    1e150, 1e151, 1e152, 1e153, 1e154, 1e155, 1e156, 1e157, 1e158, 1e159,
    1e160, 1e161, 1e162, 1e163, 1e164, 1e165, 1e166, 1e167, 1e168, 1e169,
    1e170, 1e171, 1e172, 1e173, 1e174, 1e175, 1e176, 1e177, 1e178, 1e179,
    1e180, 1e181, 1e182, 1e183, 1e184, 1e185, 1e186, 1e187, 1e188, 1e189,
    1e190, 1e191, 1e192, 1e193, 1e194, 1e195, 1e196, 1e197, 1e198, 1e199,
    1e200, 1e201, 1e202, 1e203, 1e204, 1e205, 1e206, 1e207, 1e208, 1e209,
    1e210, 1e211, 1e212, 1e213, 1e214, 1e215, 1e216, 1e217, 1e218, 1e219,
    1e220, 1e221, 1e222, 1e223, 1e224, 1e225, 1e226, 1e227, 1e228, 1e229,
    1e230, 1e231, 1e232, 1e233, 1e234, 1e235, 1e236, 1e237, 1e238, 1e239,
    1e240, 1e241, 1e242, 1e243, 1e244, 1e245, 1e246, 1e247, 1e248, 1e249,
    1e250, 1e251, 1e252, 1e253, 1e254, 1e255, 1e256, 1e257, 1e258, 1e259,
    1e260, 1e261, 1e262, 1e263, 1e264, 1e265, 1e266, 1e267, 1e268, 1e269,
    1e270, 1e271, 1e272, 1e273, 1e274, 1e275, 1e276, 1e277, 1e278, 1e279,
    1e280, 1e281, 1e282, 1e283, 1e284, 1e285, 1e286, 1e287, 1e288, 1e289,
    1e290, 1e291, 1e292, 1e293, 1e294, 1e295, 1e296, 1e297, 1e298, 1e299,
    1e300, 1e301, 1e302, 1e303, 1e304, 1e305, 1e306, 1e307, 1e308,
];

/// As many bytes as [`read_usual`] looks at.
pub const USUAL: usize = 24;

/// The number with which a text begins, and its length, if it is as most numbers are: not less than 0, with up to eight digits
/// before the point and up to eight behind it, and a comma or the end of a list behind them.
#[inline]
pub fn read_usual(text: &[u8; USUAL]) -> Option<(Number, usize)> {
    let (whole, length) = digits(text, 0);
    if length == 0 || length > 1 && text[0] == b'0' {
        return None;
    }
    match text[length] {
        b',' | b']' => Some((Number::Unsigned(whole), length)),
        b'.' => {
            let (behind, count) = digits(text, length + 1);
            let end = length + 1 + count;
            if count == 0 || !matches!(text[end], b',' | b']') {
                return None;
            }
            let significand = whole * WHOLE_POWERS[count] + behind;
            Some((Number::Float(significand as f64 / POWERS[count]), end))
        },
        _ => None,
    }
}

const WHOLE_POWERS: [u64; 9] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
];

/// The number that up to eight digits make, and how many they are. There is no loop, whose end no processor foresees.
#[inline]
fn digits(text: &[u8; USUAL], at: usize) -> (u64, usize) {
    let (values, length) = values_of_digits(&text[at..]);
    if length == 0 {
        return (0, 0);
    }
    // With zeros before them; then pairs, fours, and all eight.
    let values = values << (64 - 8 * length);
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    let all = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
    (all, length)
}

/// How many of the first eight bytes of a text are digits, up to the first byte that is none.
#[inline]
pub fn count_digits(text: &[u8]) -> usize {
    values_of_digits(text).1
}

/// The first eight bytes of a text, of which the digits have become their values, and how many these are. The first byte is the
/// lowest one.
#[inline]
fn values_of_digits(text: &[u8]) -> (u64, usize) {
    let mut eight = [0; size_of::<u64>()];
    eight.copy_from_slice(&text[..size_of::<u64>()]);
    let values = u64::from_le_bytes(eight) ^ 0x3030_3030_3030_3030;
    // Of bytes that are no digits, the lowest one is exact.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    (values, others.trailing_zeros() as usize / 8)
}

/// The number with which a text begins, and its length. If it reaches to the end of the text, more may follow.
#[inline]
pub fn read(text: &[u8]) -> Result<(Number, usize), &'static str> {
    let is_negative = text.first() == Some(&b'-');
    let start = usize::from(is_negative);
    let mut significand = 0_u64;
    let mut at = start;
    // Eighteen digits always fit.
    let most = text.len().min(start + 18);
    while at < most {
        let digit = text[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        significand = 10 * significand + u64::from(digit);
        at += 1;
    }
    match text.get(at) {
        Some(b'.') => return read_short(text, is_negative, significand, at),
        Some(b'0'..=b'9' | b'e' | b'E') => return read_long(text, is_negative),
        _ if at == start => return Err(INVALID),
        // No number begins with a needless zero.
        _ if text[start] == b'0' && at > start + 1 => return Err(INVALID),
        _ => {},
    }
    Ok((whole(is_negative, significand), at))
}

fn whole(is_negative: bool, significand: u64) -> Number {
    if !is_negative {
        return Number::Unsigned(significand);
    }
    match (significand as i64).wrapping_neg() {
        number if number < 0 => Number::Signed(number),
        // It is 0, or does not fit.
        _ => Number::Float(-(significand as f64)),
    }
}

/// A number with a fraction. `at` is its point, and `significand` what is before that.
fn read_short(
    text: &[u8],
    is_negative: bool,
    mut significand: u64,
    mut at: usize,
) -> Result<(Number, usize), &'static str> {
    let start = usize::from(is_negative);
    let point = at;
    let most = text.len().min(start + 19);
    at += 1;
    while at < most {
        let digit = text[at].wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        significand = 10 * significand + u64::from(digit);
        at += 1;
    }
    let has_digits = start < point && point + 1 < at;
    let has_zero = text[start] == b'0' && start + 1 < point;
    if !has_digits || has_zero || matches!(text.get(at), Some(b'0'..=b'9' | b'e' | b'E')) {
        return read_long(text, is_negative);
    }
    let number = significand as f64 / POWERS[at - point - 1];
    let number = if is_negative { -number } else { number };
    Ok((Number::Float(number), at))
}

/// A number with many digits, or with an exponent.
fn read_long(text: &[u8], is_negative: bool) -> Result<(Number, usize), &'static str> {
    let digit_at = |at: usize| {
        let digit = text.get(at)?.wrapping_sub(b'0');
        (digit <= 9).then_some(u64::from(digit))
    };
    let start = usize::from(is_negative);
    let mut at = start;
    let (mut significand, mut exponent) = (0_u64, 0_i32);
    let (mut is_full, mut is_whole) = (false, true);
    while let Some(digit) = digit_at(at) {
        match longer(significand, digit) {
            Some(number) if !is_full => significand = number,
            _ => {
                is_full = true;
                exponent = exponent.saturating_add(1);
            },
        }
        at += 1;
    }
    if at == start || text[start] == b'0' && at > start + 1 {
        return Err(INVALID);
    }
    if text.get(at) == Some(&b'.') {
        is_whole = false;
        at += 1;
        let first = at;
        while let Some(digit) = digit_at(at) {
            match longer(significand, digit) {
                Some(number) if !is_full => {
                    significand = number;
                    exponent = exponent.saturating_sub(1);
                },
                // Digits that do not fit are left out.
                _ => is_full = true,
            }
            at += 1;
        }
        if at == first {
            return Err(INVALID);
        }
    }
    if let Some(b'e' | b'E') = text.get(at) {
        is_whole = false;
        at += 1;
        let is_less = text.get(at) == Some(&b'-');
        at += usize::from(matches!(text.get(at), Some(b'+' | b'-')));
        let first = at;
        let mut number = 0_i32;
        while let Some(digit) = digit_at(at) {
            number = number.saturating_mul(10).saturating_add(digit as i32);
            at += 1;
        }
        if at == first {
            return Err(INVALID);
        }
        exponent = match is_less {
            true => exponent.saturating_sub(number),
            false => exponent.saturating_add(number),
        };
    }
    if is_whole && !is_full {
        return Ok((whole(is_negative, significand), at));
    }
    let float = float(significand, exponent)?;
    Ok((Number::Float(if is_negative { -float } else { float }), at))
}

/// The significand with one more digit, if it fits.
fn longer(significand: u64, digit: u64) -> Option<u64> {
    significand.checked_mul(10)?.checked_add(digit)
}

/// As `serde_json` calculates it without its feature `float_roundtrip`.
fn float(significand: u64, mut exponent: i32) -> Result<f64, &'static str> {
    let mut number = significand as f64;
    loop {
        if let Some(power) = POWERS.get(exponent.unsigned_abs() as usize) {
            number = match exponent >= 0 {
                true => number * power,
                false => number / power,
            };
            return if number.is_finite() {
                Ok(number)
            } else {
                Err(OUT_OF_RANGE)
            };
        }
        if number == 0. {
            return Ok(number);
        }
        if exponent >= 0 {
            return Err(OUT_OF_RANGE);
        }
        number /= POWERS[MAX_POWER];
        exponent += MAX_POWER as i32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that it is read alike before whatever may follow it.
    fn check_usual(text: &str) {
        let expected = read(text.as_bytes());
        for end in [",", "]", " ", "}", "0", ".", "\u{ff}"] {
            let mut bytes = [b'7'; USUAL];
            let followed = format!("{text}{end}").into_bytes();
            let Some(start) = bytes.get_mut(..followed.len()) else {
                continue;
            };
            start.copy_from_slice(&followed);
            let usual = read_usual(&bytes);
            if let Some((number, length)) = usual {
                let is_whole = length == text.len() && matches!(end, "," | "]");
                assert!(is_whole, "{text}{end}: {number:?}");
                // Zeros that differ in their signs would be equal.
                assert_eq!(
                    format!("{:?}", Ok::<_, &str>((number, length))),
                    format!("{expected:?}")
                );
            }
            let is_usual = text.len() <= 8 && text.bytes().all(|byte| byte.is_ascii_digit());
            let is_usual = is_usual && expected.is_ok() && matches!(end, "," | "]");
            assert!(usual.is_some() || !is_usual, "{text}{end}");
        }
    }

    #[test]
    fn usual_numbers_are_what_all_numbers_are() {
        let wholes = [
            "0",
            "1",
            "09",
            "90",
            "123",
            "8765432",
            "12345678",
            "123456789",
            "",
        ];
        let fractions = [
            "",
            ".",
            ".0",
            ".5",
            ".050",
            ".25e3",
            ".123456",
            ".12345678",
            ".123456789",
        ];
        for whole in wholes {
            for fraction in fractions {
                check_usual(&format!("{whole}{fraction}"));
                check_usual(&format!("-{whole}{fraction}"));
            }
        }
        let mut text = [b'1'; USUAL];
        text[..6].copy_from_slice(b"12.75,");
        assert_eq!(read_usual(&text), Some((Number::Float(12.75), 5)));
    }

    #[test]
    fn a_number_is_what_serde_json_reads() {
        for text in [
            "0",
            "-0",
            "7",
            "-7",
            "12345",
            "007",
            "-",
            "",
            "a",
            "1.",
            ".5",
            "1.5",
            "-1.5",
            "0.1",
            "1e3",
            "1E+3",
            "1e-3",
            "1e",
            "1e+",
            "123456789012345678",
            "1234567890123456789",
            "18446744073709551615",
            "18446744073709551616",
            "-9223372036854775808",
            "-9223372036854775809",
            "123456789012345678901234567890",
            "0.30000000000000004",
            "1234.567891",
            "1e308",
            "1e309",
            "1e-308",
            "5e-324",
            "1e-400",
            "0e999999999999",
            "1e-999999999999",
            "0.000000000000000000000000000001234567890123456789012345",
            "1.7976931348623157e308",
            "00",
            "-01",
            "0.0",
            "123456789.123456789123456789e-5",
            "1e5.5",
        ] {
            let expected: Result<serde_json::Value, _> = serde_json::from_str(text);
            let read = read(text.as_bytes());
            check_usual(text);
            match (&expected, read) {
                (Ok(expected), Ok((number, length))) => {
                    assert_eq!(length, text.len(), "{text}");
                    let same = match number {
                        Number::Unsigned(number) => expected.as_u64() == Some(number),
                        Number::Signed(number) => expected.as_i64() == Some(number),
                        Number::Float(number) => {
                            expected.is_f64()
                                && expected.as_f64().map(f64::to_bits) == Some(number.to_bits())
                        },
                    };
                    assert!(same, "{text}: {number:?}, not {expected}");
                },
                (Err(_), Ok((_, length))) => assert!(length < text.len(), "{text}"),
                (Err(_), Err(_)) => {},
                (Ok(_), Err(problem)) => panic!("{text}: {problem}"),
            }
        }
    }
}
