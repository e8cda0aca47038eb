/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser ends in time even if much is being profiled.

use std::time::{Duration, Instant};
use std::{fs, thread};

use browser_tests::{
    BrowserWindow, Display, Driver, Site, TIME_BOUND, alone, scaled, threads_named,
};

const WORKERS: usize = 50;

/// By then, in seconds from the start of the browser, all workers must be busy even on a slow machine.
const EXIT_AFTER: &str = "--exit-after=45";

/// How the browser is asked to end.
enum Way {
    Signal,
    WebDriver,
    /// By `--exit-after`.
    Time,
}

fn assert_ends(arguments: &[&str], way: &Way) {
    let site = Site::allowing().serve();
    let driver = Driver::start(arguments);
    driver.open(&site.url("/endless-workers.html"));
    assert_eq!(
        driver.execute(&format!("return startWorkers({WORKERS});")),
        WORKERS
    );
    let processes = driver.process().children();
    assert_eq!(
        processes.is_empty(),
        !arguments.contains(&"--multiprocess"),
        "{processes:?}"
    );
    assert_sampled(driver.process().id(), &processes);
    // When the engine takes too long, the browser gives up and its status says so.
    let (status, console) = match way {
        Way::Signal => driver.end_by_signal("TERM"),
        Way::WebDriver => driver.shut_down(),
        Way::Time => driver.wait_for_end(),
    };
    assert!(status.success(), "{status}\n{console}");
    assert_gone(&processes);
}

/// The person closes the last tab.
fn assert_window_closes(arguments: &[&str]) {
    let site = Site::allowing().serve();
    let display = Display::start(640, 480);
    let url = site.url(&format!("/endless-workers.html?{WORKERS}"));
    let mut window = BrowserWindow::open(&display, &[arguments, &[&url]].concat(), &[]);
    window.wait_for_line(&format!("{WORKERS} workers are busy"));
    let processes = window.process().children();
    assert_sampled(window.process().id(), &processes);
    window.key("ctrl+w");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
    assert_gone(&processes);
}

/// One of the processes takes samples: without that an end in time would mean nothing.
fn assert_sampled(browser: u32, processes: &[u32]) {
    let all = [&[browser], processes].concat();
    // A thread gives itself its name. Beside the workers it may have to wait for a processor until then.
    let deadline = Instant::now() + scaled(Duration::from_secs(30));
    while all.iter().all(|id| threads_named(*id, "JsSampler") == 0) {
        assert!(
            Instant::now() < deadline,
            "no process of {all:?} takes samples"
        );
        thread::sleep(Duration::from_millis(20));
    }
}

/// The kernel may need a moment to remove a process that ends together with its parent.
fn assert_gone(processes: &[u32]) {
    // A zombie has no command line.
    let is_there = |process: &&u32| {
        fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| !line.is_empty())
    };
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while processes.iter().any(|process| is_there(&process)) {
        let left: Vec<_> = processes.iter().filter(is_there).collect();
        assert!(Instant::now() < deadline, "processes {left:?} are left");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn workers_that_never_yield_do_not_keep_the_browser() {
    let _alone = alone();
    for way in [Way::Signal, Way::WebDriver] {
        assert_ends(&[], &way);
    }
    assert_ends(&[EXIT_AFTER], &Way::Time);
    assert_window_closes(&[]);
}

#[test]
fn workers_that_never_yield_do_not_keep_processes() {
    let _alone = alone();
    for way in [Way::Signal, Way::WebDriver] {
        assert_ends(&["--multiprocess"], &way);
    }
    assert_ends(&["--multiprocess", EXIT_AFTER], &Way::Time);
    assert_window_closes(&["--multiprocess"]);
}

/// A script that is ended is not described: its stack as text has the URL of each frame, and the engine would work on it for
/// longer than the browser waits.
#[test]
fn a_stack_of_a_long_url_does_not_keep_the_browser() {
    let site = Site::allowing().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/endless-deep-url.html"));
    assert_eq!(driver.execute("return startWork();"), 60);
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while site.requests_for("/busy") == 0 {
        assert!(Instant::now() < deadline, "the page does not work");
        thread::sleep(Duration::from_millis(20));
    }
    let (status, console) = driver.end_by_signal("TERM");
    assert!(status.success(), "{status}\n{console}");
}
