/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Tests of the harness: a failing page or browser must fail its test.

use std::time::Duration;

use browser_tests::{Driver, KnownPanic, Site, visit_allowed};
use serde_json::json;

use crate::sampler_failure::{Limit, unprivileged};

#[test]
#[should_panic(expected = "the test of the page fails")]
fn a_page_that_fails_fails_its_test() {
    visit_allowed("/throwing.html");
}

#[test]
#[should_panic(expected = "the page asked for /nowhere.html, which is not there")]
fn a_page_that_is_not_there_fails_its_test() {
    visit_allowed("/nowhere.html");
}

#[test]
#[should_panic(expected = "0 results, not one")]
fn a_page_that_posts_nothing_fails_its_test() {
    let site = Site::plain()
        .generated(
            "/closing.html",
            "<script>window.close()</script>".to_owned(),
        )
        .serve();
    site.visit("/closing.html").run();
}

#[test]
#[should_panic(expected = "the browser has not ended in ")]
fn a_browser_that_hangs_is_killed_and_fails_its_test() {
    let site = Site::plain().serve();
    site.visit("/not-closing.html")
        .time_bound(Duration::from_secs(3))
        .run();
}

#[test]
#[should_panic(expected = "the browser ended with exit status: 2")]
fn a_browser_that_fails_fails_its_test() {
    let site = Site::plain().serve();
    site.visit("/permission.html")
        .preference("js_profiling_allow=perhaps")
        .run();
}

/// Drives a browser in which two threads panic.
fn have_threads_panic(prepare: impl FnOnce(&mut Driver)) {
    let site = Site::plain().serve();
    let mut launcher = unprivileged();
    launcher.env("RUST_LOG", "js_profiler=debug");
    let mut driver = Driver::start_by(launcher, &[]);
    driver.open(&site.url("/kept-busy.html"));
    prepare(&mut driver);
    // Servo panics if there is no thread for a worker.
    let _refused = Limit::set(driver.process().id(), "--nproc", 0);
    let script = json!({ "script": "new Worker('kept-busy-worker.js');", "args": [] });
    let answer = driver.post("/execute/sync", &script);
    assert!(answer.is_err(), "{answer:?}");
    // The browser can no longer be shut down in order.
    drop(driver);
}

#[test]
#[should_panic(expected = "a thread of the browser panicked")]
fn a_thread_of_the_browser_that_panics_fails_its_test_whatever_is_logged() {
    have_threads_panic(|_| ());
}

#[test]
fn a_panic_that_is_known_is_excused() {
    static NO_THREAD: KnownPanic = KnownPanic {
        parts: &[
            "Thread spawning failed: ",
            "Resource temporarily unavailable",
        ],
        reason: "Servo panics without a thread for a worker, and without one for the page that says so",
        state: "when the system refuses threads",
        most: 2,
    };
    have_threads_panic(|driver| driver.excuse(&NO_THREAD));
}
