/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The library that browsers of tests are started with finds writes to freed memory: see `tests/quarantine/`.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output};

use browser_tests::{Driver, quarantine, skip};

/// Runs the program with a mistake. None if the library is switched off.
fn make_mistake(mistake: &str) -> Option<Output> {
    let Some(library) = quarantine() else {
        skip("STROBE_QUARANTINE switches it off");
        return None;
    };
    let folder = tempfile::tempdir().expect("a folder for a core");
    let output = Command::new(env!("CARGO_BIN_EXE_written_after_free"))
        .arg(mistake)
        .env("LD_PRELOAD", library)
        .current_dir(folder.path())
        .output();
    Some(output.expect("it is there"))
}

#[test]
fn who_freed_a_block_that_was_written_to_is_named() {
    for (mistake, what) in [
        ("write", "was written to after it was freed"),
        ("free", "was freed twice"),
    ] {
        let Some(output) = make_mistake(mistake) else {
            return;
        };
        let printed = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{printed}");
        assert!(printed.contains(what), "{printed}");
        let callers = printed.lines().filter(|line| line.contains("freed by "));
        let own = callers.filter(|line| line.contains("/written_after_free 0x"));
        assert!(own.count() >= 2, "{printed}");
        let is_shown = printed.contains("at offset 8 there is 0xf4eed0b100000000");
        assert_eq!(is_shown, mistake == "write", "{printed}");
    }
}

#[test]
fn a_program_without_a_mistake_is_left_alone() {
    let Some(output) = make_mistake("nothing") else {
        return;
    };
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{printed}", output.status);
    assert_eq!(printed, "");
}

#[test]
fn browsers_of_tests_have_it() {
    let Some(library) = quarantine() else {
        skip("STROBE_QUARANTINE switches it off");
        return;
    };
    let driver = Driver::start(&[]);
    let loaded = fs::read_to_string(format!("/proc/{}/maps", driver.process().id()))
        .expect("the browser runs");
    assert!(loaded.contains(library.to_str().expect("is text")));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}
