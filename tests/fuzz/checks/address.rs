/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is a text that a person types into the address field, or gives as a page on the command line.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fuzz_parts::{interpret, url_argument};

/// This folder does not exist.
const WORKING_DIRECTORY: &str = "/nonexistent/strobe";

const SCHEMES: [&str; 5] = ["about", "data", "file", "http", "https"];

pub fn address(input: &[u8]) -> bool {
    let folder = Path::new(WORKING_DIRECTORY);
    let mut is_accepted = false;
    // A file name need not be Unicode.
    if !input.contains(&b'\0') {
        match url_argument::resolve(OsStr::from_bytes(input), folder) {
            Ok(url) => {
                assert!(SCHEMES.contains(&url.scheme()), "{url}");
                is_accepted = true;
            },
            Err(message) => assert!(!message.is_empty()),
        }
    }
    let Ok(text) = str::from_utf8(input) else {
        return is_accepted;
    };
    match interpret(text, folder) {
        Ok(url) => {
            assert!(SCHEMES.contains(&url.scheme()), "{url}");
            // The address that the field then shows means the same page.
            assert_eq!(interpret(url.as_str(), folder).as_ref(), Ok(&url));
            is_accepted = true;
        },
        Err(message) => assert!(!message.is_empty()),
    }
    is_accepted
}
