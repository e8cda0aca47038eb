/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A hash with a random key. A page that knew the hash of a hidden function could make a function of its own with the
//! same one, and would be shown the hidden function as its own.

use std::ffi::c_char;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::slice;
use std::sync::OnceLock;

static KEY: OnceLock<RandomState> = OnceLock::new();

/// Chooses the key, unless that is done. To be called before a walk, which must not allocate or wait.
pub fn choose_key() {
    KEY.get_or_init(RandomState::new);
}

fn hash(key: &RandomState, texts: [&[u8]; 2]) -> u64 {
    let mut hasher = key.build_hasher();
    for text in texts {
        hasher.write_usize(text.len());
        hasher.write(text);
    }
    hasher.finish()
}

/// What C++ calls to hash two texts: see `glue.h`.
///
/// # Safety
///
/// As for the declaration in `glue.h`; C++ calls the function by its name. Each text must be valid, or be empty.
#[unsafe(no_mangle)]
unsafe extern "C" fn strobe_keyed_hash(
    first: *const c_char,
    first_length: usize,
    second: *const c_char,
    second_length: usize,
) -> u64 {
    let texts =
        [(first, first_length), (second, second_length)].map(|(text, length)| match length {
            0 => &[][..],
            // SAFETY: see above.
            _ => unsafe { slice::from_raw_parts(text.cast(), length) },
        });
    KEY.get().map_or(0, |key| hash(key, texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_texts_and_the_key_count() {
        let key = RandomState::new();
        let of = |first: &str, second: &str| hash(&key, [first, second].map(str::as_bytes));
        assert_eq!(of("a", "b"), of("a", "b"));
        for (first, second) in [("b", "a"), ("ab", ""), ("", "ab"), ("a", "c"), ("c", "b")] {
            assert_ne!(of(first, second), of("a", "b"), "{first} {second}");
        }
        let other = RandomState::new();
        let texts = ["a", "b"].map(str::as_bytes);
        assert_ne!(hash(&other, texts), hash(&key, texts));
    }

    #[test]
    fn the_glue_may_pass_no_text() {
        choose_key();
        let none = || unsafe { strobe_keyed_hash(std::ptr::null(), 0, std::ptr::null(), 0) };
        assert_eq!(none(), none());
        assert_ne!(none(), 0);
    }
}
