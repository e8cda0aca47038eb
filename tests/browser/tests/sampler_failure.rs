/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Sampling when the system refuses what it needs. Sessions and recordings end and say why, and the browser goes on.
//!
//! A panic of the sampling thread is tested in `js_profiler`: nothing outside can cause one.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process;
use std::thread;
use std::time::Instant;

use browser_tests::{
    Command, Driver, RETRY_INTERVAL, Site, StoppedThread, TIME_BOUND, Trace, scaled, signal, skip,
};
use serde_json::{Value, json};

/// A soft limit of a process. It is lifted when this is dropped.
pub struct Limit {
    process: u32,
    name: &'static str,
    before: String,
}

impl Limit {
    /// `name` is one of prlimit's.
    pub fn set(process: u32, name: &'static str, value: u64) -> Self {
        let limit = Self {
            process,
            name,
            before: prlimit(process, &["--noheadings", "--output=SOFT", name]).expect("it runs"),
        };
        prlimit(process, &[&format!("{name}={value}:")]).expect("it may have less");
        limit
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = prlimit(self.process, &[&format!("{}={}:", self.name, self.before)]);
    }
}

fn prlimit(process: u32, arguments: &[&str]) -> Result<String, String> {
    // Run as the user of the process, who may set the limit without being the superuser.
    let user = fs::metadata(format!("/proc/{process}")).map_err(|error| error.to_string())?;
    let output = process::Command::new("prlimit")
        .arg(format!("--pid={process}"))
        .args(arguments)
        .uid(user.uid())
        .gid(user.gid())
        .output()
        .map_err(|error| format!("prlimit, of util-linux: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// Lets no signal be queued for a thread of the process. The system refuses signals as it does when a user has
/// too many of them.
fn refuse_signals(process: u32) -> Limit {
    Limit::set(process, "--sigpending", 0)
}

/// Runs a program without the superuser's privileges, in its own home folder.
pub fn unprivileged() -> process::Command {
    const NOBODY: &str = "65534";
    let home = concat!(env!("CARGO_TARGET_TMPDIR"), "/unprivileged");
    fs::create_dir_all(home).expect("there is room");
    fs::set_permissions(home, fs::Permissions::from_mode(0o777)).expect("it is ours");
    let user = process::Command::new("id")
        .arg("-u")
        .output()
        .expect("id is there");
    let mut launcher = process::Command::new("setpriv");
    if user.stdout == b"0\n" {
        launcher.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]);
    }
    launcher.env("HOME", home).env("XDG_RUNTIME_DIR", home);
    launcher
}

const REFUSED: &str = "The profiler failed: the event loop's thread cannot be stopped: it cannot be \
                       signalled: Resource temporarily unavailable (os error 11)";

fn assert_works(driver: &Driver) {
    let started = driver.execute("return tryToStart();");
    let number = &started["started"];
    assert!(number.is_u64(), "{started}");
    driver.execute("return turned(50);");
    let stopped = driver.execute(&format!("return stop({number});"));
    let trace = Trace::read(&stopped["trace"]);
    trace.assert_sampled(&["seventy"]);
    assert_eq!(
        driver.execute(&format!("return profilers[{number}].events;")),
        json!([])
    );
}

fn assert_sessions_end(options: &[&str], sampled: impl Fn(&Driver) -> Vec<u32>) {
    let site = Site::allowing().serve();
    let driver = Driver::start(options);
    driver.open(&site.url("/kept-busy.html"));
    assert_eq!(driver.execute("return [start(), start()];"), json!([0, 1]));
    driver.execute("return turned(20);");
    let rejection = json!({ "isException": true, "name": "OperationError", "message": REFUSED });
    {
        let _refused: Vec<_> = sampled(&driver).into_iter().map(refuse_signals).collect();
        let expected = json!([{
            "type": "error",
            "isErrorEvent": true,
            "message": REFUSED,
            "bubbles": false,
            "cancelable": false,
            // When the event comes, the profiler is stopped.
            "stopped": true,
        }]);
        for number in [0, 1] {
            let events = driver.execute(&format!("return events({number});"));
            assert_eq!(events, expected);
            for _ in 0..2 {
                let stopped = driver.execute(&format!("return stop({number});"));
                assert_eq!(stopped, rejection);
            }
        }
        // A new session also reports the error.
        let started = driver.execute("return tryToStart();");
        assert_eq!(started, json!({ "started": 2 }));
        assert_eq!(driver.execute("return events(2);"), expected);
        // A call of stop() that was made before the failure is rejected too, unless it is answered before.
        let stopped = driver.execute("return stop(start());");
        if stopped != rejection {
            let trace = Trace::read(&stopped["trace"]);
            assert_eq!(trace.samples, [], "the thread cannot be stopped");
        }
    }
    assert_works(&driver);
    let stopped = driver.execute("return stop(0);");
    assert_eq!(stopped, rejection, "a failed session stays failed");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn sessions_end_with_an_error_when_the_thread_cannot_be_signalled() {
    assert_sessions_end(&[], |driver| vec![driver.process().id()]);
}

#[test]
fn sessions_of_a_content_process_end_with_an_error_when_its_thread_cannot_be_signalled() {
    assert_sessions_end(&["--multiprocess"], |driver| {
        let children = driver.process().children();
        assert!(!children.is_empty());
        children
    });
}

#[test]
fn sessions_of_a_worker_end_with_an_error_when_its_thread_cannot_be_signalled() {
    let site = Site::allowing().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/kept-busy.html"));
    assert_eq!(driver.execute("return inWorker('start');"), 0);
    driver.execute("return inWorker('turned', 20);");
    {
        let _refused = refuse_signals(driver.process().id());
        let events = driver.execute("return inWorker('events', 0);");
        assert_eq!(events[0]["type"], "error", "{events}");
        assert_eq!(events[0]["message"], REFUSED);
        assert_eq!(events.as_array().map(Vec::len), Some(1), "{events}");
        let stopped = driver.execute("return inWorker('stop', 0);");
        assert_eq!(stopped["name"], "OperationError", "{stopped}");
        assert_eq!(stopped["message"], REFUSED);
    }
    assert_eq!(driver.execute("return inWorker('start');"), 1);
    driver.execute("return inWorker('turned', 50);");
    let stopped = driver.execute("return inWorker('stop', 1);");
    Trace::read(&stopped["trace"]).assert_sampled(&["seventy"]);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

/// A sampling thread that gets no processor holds up no page. What the page waits for comes without it.
#[test]
fn a_page_goes_on_while_the_sampling_thread_is_stopped() {
    let site = Site::allowing().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/kept-busy.html"));
    assert_eq!(driver.execute("return start();"), 0);
    driver.execute("return turned(20);");
    let stopped = match StoppedThread::stop(driver.process().id(), "JsSampler") {
        Ok(stopped) => stopped,
        Err(error) => return skip(&format!("a thread may not be stopped: {error}")),
    };
    // A profiler begins later.
    let started = driver.execute("return tryToStart();");
    assert_eq!(started, json!({ "started": 1 }));
    let rejected = driver.execute("return stop(0);");
    assert_eq!(rejected["name"], "TimeoutError", "{rejected}");
    drop(stopped);
    driver.execute("return turned(50);");
    let ended = driver.execute("return stop(1);");
    Trace::read(&ended["trace"]).assert_sampled(&["seventy"]);
    assert_works(&driver);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

/// A page that was left, or a worker that ends itself, waits for its traces. The wait has an end.
#[test]
fn a_page_or_worker_that_ends_is_told_that_its_traces_do_not_come() {
    const TOO_LATE: &str =
        "The trace did not arrive in time, and the document or worker is ending.";
    let site = Site::allowing().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/kept-busy.html"));
    assert_eq!(driver.execute("return [start(), start()];"), json!([0, 1]));
    assert_eq!(driver.execute("return inWorker('start');"), 0);
    driver.execute("return Promise.all([turned(20), inWorker('turned', 20)]);");
    driver.execute(
        "addEventListener('pagehide', async () => {
            for (const stopped of [stop(0), stop(1)]) {
                const { name, message } = await stopped;
                navigator.sendBeacon(encodeURI(`/told/${name}/${message}`));
            }
        });",
    );
    let stopped = match StoppedThread::stop(driver.process().id(), "JsSampler") {
        Ok(stopped) => stopped,
        Err(error) => return skip(&format!("a thread may not be stopped: {error}")),
    };
    let expected = json!({ "isException": true, "name": "TimeoutError", "message": TOO_LATE });
    let ended = driver.execute("return inWorker('stopAndClose', 0);");
    assert_eq!(ended, expected);
    // The next page comes.
    driver.open(&site.url("/driven.html"));
    assert_eq!(driver.get("/title").unwrap(), "Driven");
    let told = format!("/told/TimeoutError/{}", TOO_LATE.replace(' ', "%20"));
    // The requests come by themselves.
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while site.requests_for(&told) < 2 {
        assert!(Instant::now() < deadline, "{}", site.requests_for(&told));
        thread::sleep(RETRY_INTERVAL);
    }
    drop(stopped);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_session_survives_a_few_signals_that_are_refused() {
    let site = Site::allowing().serve();
    let driver = Driver::start_with(&[], &[("RUST_LOG", "js_profiler=debug")]);
    driver.open(&site.url("/kept-busy.html"));
    // A session is given up after 200 intervals without a sample. With this interval that is far longer than the test, on a busy
    // machine too.
    assert_eq!(driver.execute("return start(50);"), 0);
    for _ in 0..3 {
        driver.execute("return turned(60);");
        let _refused = refuse_signals(driver.process().id());
        driver.execute("return turned(60);");
    }
    driver.execute("return turned(60);");
    assert_eq!(driver.execute("return profilers[0].events;"), json!([]));
    let stopped = driver.execute("return stop(0);");
    assert!(Trace::read(&stopped["trace"]).has_frame("busy"));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
    let (_, missed) = console.split_once("missed: ").expect("it is logged");
    assert!(
        !missed.starts_with("0,"),
        "no signal was refused\n{console}"
    );
}

#[test]
fn a_profiler_says_so_when_there_can_be_no_sampling_thread() {
    let site = Site::allowing().serve();
    // For the superuser, memory is the only limit on threads.
    let driver = Driver::start_by(unprivileged(), &[]);
    driver.open(&site.url("/kept-busy.html"));
    let process = driver.process();
    assert_eq!(process.threads_named("JsSampler"), 0);
    {
        let _refused = Limit::set(process.id(), "--nproc", 0);
        for _ in 0..2 {
            let expected = json!({
                "isException": true,
                "name": "OperationError",
                "message": "The profiler could not be started: the sampling thread cannot be used: \
                            Resource temporarily unavailable (os error 11)",
            });
            assert_eq!(driver.execute("return tryToStart();"), expected);
        }
        driver.execute("return turned(20);");
    }
    assert_works(&driver);
    assert_eq!(process.threads_named("JsSampler"), 1);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn sessions_end_with_an_error_in_a_sandbox_that_forbids_signals() {
    let site = Site::allowing().serve();
    let mut launcher = process::Command::new(env!("CARGO_BIN_EXE_without_system_calls"));
    launcher.arg("tgkill");
    let driver = Driver::start_by(launcher, &[]);
    driver.open(&site.url("/kept-busy.html"));
    assert_eq!(driver.execute("return start();"), 0);
    let events = driver.execute("return events(0);");
    let message = REFUSED.replace(
        "Resource temporarily unavailable (os error 11)",
        "Operation not permitted (os error 1)",
    );
    assert_eq!(events[0]["message"], message);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_profiler_says_so_when_there_is_no_signal_for_it() {
    let site = Site::allowing().serve();
    let mut launcher = process::Command::new("env");
    // A signal that is ignored is in use, so the profiler must not take it.
    let signals: Vec<_> = (34..=64).map(|signal: u32| signal.to_string()).collect();
    launcher.arg(format!("--ignore-signal={}", signals.join(",")));
    let driver = Driver::start_by(launcher, &[]);
    driver.open(&site.url("/kept-busy.html"));
    let expected = json!({
        "isException": true,
        "name": "OperationError",
        "message": "The profiler could not be started: the sampling thread cannot be used: \
                    no real-time signal is free",
    });
    assert_eq!(driver.execute("return tryToStart();"), expected);
    driver.execute("return turned(20);");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_recording_ends_and_says_so_when_the_thread_cannot_be_signalled() {
    let site = Site::plain().serve();
    let mut command = Command::start_with(
        &[
            "profile",
            "--headless",
            "--duration=3600",
            "--format=collapsed",
            "-o",
            "-",
            &site.url("/kept-busy.html"),
        ],
        &[("RUST_LOG", "profile_recorder=warn")],
    );
    let refused = refuse_signals(command.id());
    command.wait_for_error("is not recorded any more");
    signal(command.id(), "INT");
    let output = command.end();
    drop(refused);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let page = format!(
        "Page {} was not recorded to the end: ",
        site.url("/kept-busy.html")
    );
    for part in [&*page, "cannot be signalled", "os error 11"] {
        assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
    }
    // The samples so far are written.
    assert!(output.stderr.contains(" samples at an interval of 1 ms"));
}

#[test]
fn about_profiling_says_that_a_recording_has_ended() {
    let site = Site::plain().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/kept-busy.html"));
    let busy = driver.get("/window").unwrap();
    let tab = driver
        .post("/window/new", &json!({ "type": "tab" }))
        .unwrap();
    let switch_to = |tab: &Value| {
        driver.post("/window", &json!({ "handle": tab })).unwrap();
    };
    switch_to(&tab["handle"]);
    driver.open("about:profiling");
    let shown = || driver.execute("return document.getElementById('record-failures').textContent;");
    assert_eq!(shown(), "");
    driver.execute("document.getElementById('record').click();");
    driver.execute(
        "return new Promise(resolve => setInterval(() => {
           if (Number(document.getElementById('progress').dataset.samples) > 0) {
             resolve();
           }
         }, 20));",
    );
    let refused = refuse_signals(driver.process().id());
    let failures = driver.execute(
        "return new Promise(resolve => setInterval(() => {
           const { hidden, textContent } = document.getElementById('record-failures');
           if (!hidden && textContent.includes('kept-busy')) {
             resolve(textContent);
           }
         }, 20));",
    );
    let failures = failures.as_str().unwrap();
    let page = format!(
        "Page {} was not recorded to the end: ",
        site.url("/kept-busy.html")
    );
    assert!(failures.contains(&page), "{failures}");
    drop(refused);
    switch_to(&busy);
    driver.execute("return turned(20);");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}
