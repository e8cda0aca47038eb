/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Sampling together with tools that stop threads, use signals or take rights away. A test is skipped if its
//! tool is not installed.

use std::fs;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use browser_tests::{
    Driver, Hosts, Site, Trace, alone, scaled, signal, skip, threads_named, visit_allowed,
};
use serde_json::{Value, json};

/// A busy page with a profiler that has run for a while.
struct Profiled {
    site: Site,
    driver: Driver,
}

impl Profiled {
    fn begin(driver: Driver) -> Self {
        let site = Site::allowing().serve();
        driver.open(&site.url("/kept-busy.html"));
        let profiled = Self { site, driver };
        assert_eq!(profiled.driver.execute("return start();"), 0);
        profiled.go_on();
        profiled
    }

    /// Lets the page work for longer than the 200 intervals after which a session without a sample ends with an error.
    fn go_on(&self) {
        self.driver.execute("return turned(60);");
    }

    fn now(&self) -> f64 {
        let now = self.driver.execute("return performance.now();");
        now.as_f64().expect("a number")
    }

    fn process(&self) -> u32 {
        self.driver.process().id()
    }

    /// Checks that samples of the page's functions were taken before `start`, between `start` and `end`, and after
    /// `end`, and that the browser ends as it may. Gives the trace and the browser's output.
    fn assert_sampled_before_while_and_after(
        self,
        start: f64,
        end: f64,
        ending: Ending,
    ) -> (Trace, String) {
        self.go_on();
        assert_eq!(
            self.driver.execute("return profilers[0].events;"),
            json!([])
        );
        let stopped = self.driver.execute("return stop(0);");
        let trace = Trace::read(&stopped["trace"]);
        for (when, from, to) in [
            ("before", 0., start),
            ("while", start, end),
            ("after", end, f64::INFINITY),
        ] {
            let samples = trace.samples_between(from, to);
            let busy = samples.filter(|sample| trace.labels(sample).contains(&"busy"));
            let count = busy.count();
            assert!(
                count >= ENOUGH,
                "{count} samples of the page's work {when} the tool ran"
            );
        }
        let (status, console) = self.driver.shut_down();
        // If a content process was killed, Servo waits for it at the end, until the shell gives up.
        let gave_up = ending == Ending::MayBeGivenUp
            && status.code() == Some(1)
            && console.contains(GIVEN_UP);
        assert!(status.success() || gave_up, "{status}\n{console}");
        drop(self.site);
        (trace, console)
    }
}

/// The minimum number of samples in each stretch of time, of which each is longer than 200 intervals. On a busy machine
/// nine of ten may be missed, several in a row.
const ENOUGH: usize = 3;

const GIVEN_UP: &str = "the engine did not shut down within";

/// How the browser may end.
#[derive(Clone, Copy, PartialEq)]
enum Ending {
    Well,
    MayBeGivenUp,
}

/// Whether a program is installed. If not, prints that the test is skipped.
fn is_installed(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// A line of a process' status.
fn status_line(process: u32, name: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let lines = status.lines();
    let mut values = lines.filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    values.next().expect("the kernel has it").trim().to_owned()
}

/// The real-time signal for which a process has a handler: the profiler's.
fn real_time_signal(process: u32) -> u32 {
    let caught = u64::from_str_radix(&status_line(process, "SigCgt"), 16).expect("a mask");
    // The C library uses the first two.
    let signals: Vec<_> = (34..=64)
        .filter(|signal| caught >> (signal - 1) & 1 == 1)
        .collect();
    let [signal] = signals[..] else {
        panic!("only one is the profiler's: {signals:?}");
    };
    signal
}

/// A tool that has not finished by then is stuck. Nothing takes nearly as long.
const TIME_BOUND: Duration = Duration::from_secs(60);

/// A program that acts on the browser, until it has ended or is dropped.
struct Tool {
    name: &'static str,
    /// None when it has ended.
    child: Option<Child>,
    deadline: Instant,
}

impl Tool {
    fn start(name: &'static str, command: &mut Command) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it is installed");
        Self {
            name,
            child: Some(child),
            deadline: Instant::now() + scaled(TIME_BOUND),
        }
    }

    fn id(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Whether it has ended. Panics if `what` takes too long.
    fn has_ended_before(&mut self, what: &str) -> bool {
        let seconds = scaled(TIME_BOUND).as_secs();
        assert!(
            Instant::now() < self.deadline,
            "{}: waited {seconds} s for {what}",
            self.name
        );
        let child = self.child.as_mut().expect("it runs");
        child.try_wait().expect("it is our child").is_some()
    }

    /// Waits for its end, and gives its status and its output.
    fn end(mut self) -> (ExitStatus, String) {
        while !self.has_ended_before("its end") {
            thread::sleep(Duration::from_millis(20));
        }
        let child = self.child.take().expect("it is there");
        let output = child.wait_with_output().expect("it is our child");
        let [out, err] =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status, format!("{out}\n{err}"))
    }
}

impl Drop for Tool {
    /// Kills the tool, so that a failing test leaves none behind.
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_debugger_attaches_and_leaves_while_a_page_is_profiled() {
    let _alone = alone();
    if !is_installed("gdb") {
        return;
    }
    let profiled = Profiled::begin(Driver::start(&[]));
    let process = profiled.process();
    let start = profiled.now();
    let mut gdb = Tool::start(
        "gdb",
        Command::new("gdb")
            .args([
                "-nx",
                "-batch",
                "--readnever",
                "-iex",
                "set auto-solib-add off",
            ])
            .arg(format!("--pid={process}"))
            // Without this, gdb stops at each signal.
            .arg(format!(
                "-ex=handle SIG{} nostop noprint pass",
                real_time_signal(process)
            ))
            .args(["-ex=continue", "-ex=detach"]),
    );
    while status_line(process, "TracerPid") == "0" {
        if gdb.has_ended_before("it to attach") {
            let (_, text) = gdb.end();
            assert!(text.contains("Operation not permitted"), "{text}");
            skip(&format!("gdb may not attach: {text}"));
            return;
        }
        profiled.driver.execute("return turned(1);");
    }
    // While gdb attaches, the browser is stopped. It answers after that.
    for _ in 0..20 {
        profiled.driver.execute("return turned(20);");
    }
    assert_eq!(status_line(process, "TracerPid"), gdb.id().to_string());
    let stop = profiled.now();
    signal(gdb.id(), "INT");
    let (_, text) = gdb.end();
    assert!(text.contains("detached"), "{text}");
    assert_eq!(status_line(process, "TracerPid"), "0");
    profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
}

#[test]
fn perf_records_while_a_page_is_profiled() {
    if !is_installed("perf") {
        return;
    }
    let profiled = Profiled::begin(Driver::start(&[]));
    let file = concat!(env!("CARGO_TARGET_TMPDIR"), "/coexistence.perf");
    let start = profiled.now();
    let mut perf = Tool::start(
        "perf",
        Command::new("perf")
            // This clock exists in virtual machines too.
            .args(["record", "-e", "cpu-clock", "-F", "999", "-g", "-o", file])
            .arg(format!("--pid={}", profiled.process()))
            .args(["--", "sleep", "1"]),
    );
    while !perf.has_ended_before("its end") {
        profiled.go_on();
    }
    let (status, text) = perf.end();
    if !status.success() {
        // As the kernel, its settings, a container or a virtual machine have it. perf names the call in most of these
        // messages, with an error that depends on which of them it is.
        let is_refused = [
            "perf_event_open",
            "perf_event_paranoid",
            "perf_event_mlock_kb",
            "ermission",
            "not permitted",
            "not supported",
        ];
        assert!(is_refused.iter().any(|why| text.contains(why)), "{text}");
        skip(&format!("perf may not record: {text}"));
        return;
    }
    assert!(text.contains(" samples)"), "{text}");
    profiled.go_on();
    let stop = profiled.now();
    profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
    // The test's result does not need the file.
    let _ = fs::remove_file(file);
}

#[test]
fn the_browser_is_stopped_and_continued_while_a_page_is_profiled() {
    let profiled = Profiled::begin(Driver::start(&[]));
    let start = profiled.now();
    for _ in 0..50 {
        signal(profiled.process(), "STOP");
        let deadline = Instant::now() + scaled(TIME_BOUND);
        while !status_line(profiled.process(), "State").starts_with('T') {
            assert!(Instant::now() < deadline, "the browser was not stopped");
            thread::sleep(Duration::from_millis(1));
        }
        signal(profiled.process(), "CONT");
        profiled.driver.execute("return turned(1);");
    }
    profiled.go_on();
    let stop = profiled.now();
    profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
}

#[test]
fn a_browser_that_was_started_with_all_signals_blocked_is_sampled() {
    let mut launcher = Command::new("env");
    launcher.arg("--block-signal");
    let profiled = Profiled::begin(Driver::start_by(launcher, &[]));
    let blocked = u64::from_str_radix(&status_line(profiled.process(), "SigBlk"), 16).unwrap();
    let ours = real_time_signal(profiled.process());
    assert_eq!(
        blocked >> (ours - 1) & 1,
        1,
        "the main thread has it blocked"
    );
    let start = profiled.now();
    profiled.go_on();
    let stop = profiled.now();
    profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
}

#[test]
fn a_signal_that_is_somebody_elses_is_left_to_them() {
    let mut launcher = Command::new("env");
    launcher.arg("--ignore-signal=64,63");
    let profiled = Profiled::begin(Driver::start_by(launcher, &[]));
    assert_eq!(real_time_signal(profiled.process()), 62);
    let ignored = u64::from_str_radix(&status_line(profiled.process(), "SigIgn"), 16).unwrap();
    assert_eq!(ignored >> 62, 3);
    // Sending these signals does no harm.
    let start = profiled.now();
    for name in ["64", "63"] {
        signal(profiled.process(), name);
        profiled.go_on();
    }
    let stop = profiled.now();
    profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
}

#[test]
fn the_profilers_own_signal_from_somebody_else_does_no_harm() {
    let profiled = Profiled::begin(Driver::start(&[]));
    let ours = real_time_signal(profiled.process()).to_string();
    let start = profiled.now();
    for _ in 0..100 {
        signal(profiled.process(), &ours);
        profiled.driver.execute("return turned(1);");
    }
    profiled.go_on();
    let stop = profiled.now();
    let (trace, _) = profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
    // Such a signal is no reason for a sample. There is one tick in a millisecond, and some may be early.
    let count = trace.samples_between(start, stop).count();
    assert!(
        count as f64 <= (stop - start) * 1.02 + 12.,
        "{count} samples in {} ms",
        stop - start
    );
}

#[test]
fn traps_of_webassembly_are_taken_while_they_are_sampled() {
    let result = visit_allowed("/wasm-traps.html");
    let rounds = result["rounds"].as_u64().unwrap();
    assert!(rounds > 0);
    assert_eq!(result["count"], 3 * rounds);
    let trace = Trace::read(&result["trace"]);
    trace.assert_sampled(&["traps", "trapAgainAndAgain"]);
}

#[test]
fn a_sandbox_that_forbids_reading_memory_and_priorities_changes_no_stack() {
    let forbidden = ["process_vm_readv", "sched_setattr", "setpriority"];
    let mut launcher = Command::new(env!("CARGO_BIN_EXE_without_system_calls"));
    launcher.arg(forbidden.join(","));
    let profiled = Profiled::begin(Driver::start_by(launcher, &[]));
    assert_eq!(status_line(profiled.process(), "Seccomp"), "2");
    let start = profiled.now();
    profiled.go_on();
    profiled.driver.execute(
        "const list = Array(10000).fill(1.5);
         let worked = 0;
         for (let last = performance.now(); worked < 500;) {
           JSON.stringify(list);
           const now = performance.now();
           // For the rest, the thread may not have run.
           worked += Math.min(now - last, 5);
           last = now;
         }",
    );
    let stop = profiled.now();
    let (trace, _) = profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
    // A built-in is found by the tables for unwinding.
    trace.assert_sampled(&["stringify"]);
}

#[test]
fn servos_sandbox_is_refused_in_words() {
    let output = browser_tests::Command::start(&[
        "--headless",
        "--multiprocess",
        "--sandbox",
        "about:blank",
    ])
    .end();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        output
            .stderr
            .contains("--sandbox: Servo 0.7.0 does not support it"),
        "{}",
        output.stderr
    );
}

#[test]
fn processes_come_and_are_killed_while_another_is_profiled() {
    let hosts = Hosts::new();
    let driver = Driver::start_with(&["--multiprocess"], &[hosts.variable()]);
    let profiled = Profiled::begin(driver);
    let start = profiled.now();
    let ours = profiled.driver.get("/window").unwrap();
    let switch_to = |tab: &Value| {
        profiled
            .driver
            .post("/window", &json!({ "handle": tab }))
            .unwrap();
    };
    for _ in 0..5 {
        let tab = profiled
            .driver
            .post("/window/new", &json!({ "type": "tab" }))
            .unwrap();
        switch_to(&tab["handle"]);
        let url = hosts.url(&profiled.site, Hosts::NAMES[0], "/kept-busy.html");
        profiled.driver.open(&url);
        assert_eq!(profiled.driver.execute("return start();"), 0);
        profiled.driver.execute("return turned(5);");
        // The last process that has begun to sample.
        let children = profiled.driver.process().children();
        let new = children
            .into_iter()
            .rfind(|child| threads_named(*child, "JsSampler") > 0);
        signal(new.expect("it has a process of its own"), "KILL");
        switch_to(&ours);
        profiled.go_on();
    }
    let stop = profiled.now();
    profiled.assert_sampled_before_while_and_after(start, stop, Ending::MayBeGivenUp);
}

/// A browser whose sampled thread is also stopped by Servo's hang monitor.
struct Watched {
    console: String,
    /// Whether the monitor has its own sampler. It uses this signal, which nothing else in the browser does.
    has_sampler: bool,
}

/// It runs once for all tests.
fn watched_by_the_hang_monitor() -> &'static Watched {
    static WATCHED: OnceLock<Watched> = OnceLock::new();
    WATCHED.get_or_init(watch_by_the_hang_monitor)
}

fn watch_by_the_hang_monitor() -> Watched {
    const SIGPROF: u32 = 27;
    let driver = Driver::start_with(
        &["--background-hang-monitor"],
        &[("RUST_LOG", "servo_constellation=warn")],
    );
    let profiled = Profiled::begin(driver);
    let start = profiled.now();
    // Servo reports a permanent hang after five seconds.
    profiled.driver.execute(
        "setTimeout(() => {
           const end = performance.now() + 7000;
           while (performance.now() < end) {
             busy();
           }
         });",
    );
    profiled.go_on();
    let stop = profiled.now();
    let caught = u64::from_str_radix(&status_line(profiled.process(), "SigCgt"), 16).unwrap();
    let (_, console) = profiled.assert_sampled_before_while_and_after(start, stop, Ending::Well);
    Watched {
        console,
        has_sampler: caught >> (SIGPROF - 1) & 1 == 1,
    }
}

#[test]
fn servos_hang_monitor_stops_the_thread_while_it_is_sampled() {
    let Watched { console, .. } = watched_by_the_hang_monitor();
    for hang in ["a transient hang", "a permanent hang"] {
        assert!(console.contains(hang), "{hang}: {console}");
    }
}

#[test]
fn servos_hang_monitor_samples_the_thread_while_it_is_sampled() {
    let watched = watched_by_the_hang_monitor();
    if !watched.has_sampler {
        skip("the browser was built without the feature background_hang_monitor");
        return;
    }
    let console = &watched.console;
    assert!(console.contains("HangProfile backtrace:"), "{console}");
}
