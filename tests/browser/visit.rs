/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! One run of the browser.

use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{self, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::crashes::Watch;
use crate::panics::{self, Excused, KnownPanic};
use crate::quarantine;
use crate::report;
use crate::site::{Event, Site};
use crate::slowness::scaled;
use crate::turns::Turn;

/// The variable that names the browser's program.
const BINARY_VARIABLE: &str = "STROBE_BINARY";

/// A browser that has not ended by then is stuck. Nothing here takes nearly as long.
const TIME_BOUND: Duration = Duration::from_secs(300);

/// How often to check whether it has ended.
const INTERVAL: Duration = Duration::from_millis(10);

/// The process of a running browser.
pub struct BrowserProcess {
    id: u32,
}

impl BrowserProcess {
    pub(crate) fn of(browser: &Child) -> Self {
        Self { id: browser.id() }
    }

    pub fn id(&self) -> u32 {
        self.id
    }

    /// Its running child processes. There are none when it has ended.
    pub fn children(&self) -> Vec<u32> {
        let threads = fs::read_dir(format!("/proc/{}/task", self.id));
        let children = threads
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        children
            .flat_map(|children| {
                let ids = children.split_whitespace().map(str::parse);
                ids.filter_map(Result::ok).collect::<Vec<u32>>()
            })
            .collect()
    }

    /// How many of its threads have this name.
    pub fn threads_named(&self, name: &str) -> usize {
        threads_named(self.id, name)
    }
}

/// How many threads of a process have this name. None if the process has ended.
pub fn threads_named(process: u32, name: &str) -> usize {
    thread_ids(process, name).len()
}

/// The threads of a process that have this name. None if the process has ended.
pub fn thread_ids(process: u32, name: &str) -> Vec<libc::pid_t> {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    threads
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        // A thread may end while it is examined.
        .filter(|thread| {
            fs::read_to_string(thread.path().join("comm"))
                .is_ok_and(|thread_name| thread_name.trim_end() == name)
        })
        .filter_map(|thread| thread.file_name().to_str()?.parse().ok())
        .collect()
}

type Checkpoint<'a> = dyn FnMut(&str, &BrowserProcess) -> Value + 'a;

/// One run of the browser without a window, from the opening of its pages to its orderly end.
pub struct Visit<'a> {
    site: &'a Site,
    urls: Vec<String>,
    preferences: Vec<String>,
    log: Option<String>,
    result_path: String,
    time_bound: Duration,
    checkpoint: Box<Checkpoint<'a>>,
    is_recorded: bool,
}

impl<'a> Visit<'a> {
    pub(crate) fn new(site: &'a Site, url: String) -> Self {
        Self {
            site,
            urls: vec![url],
            // Lets a page close itself even after a navigation.
            preferences: vec!["dom_allow_scripts_to_close_windows=true".to_owned()],
            log: None,
            result_path: "/result".to_owned(),
            time_bound: scaled(TIME_BOUND),
            checkpoint: Box::new(|name, _| panic!("no checkpoint {name} is expected")),
            is_recorded: false,
        }
    }

    /// Opens another page in addition to the first. Only one of them may post a result.
    pub fn and(mut self, url: String) -> Self {
        self.urls.push(url);
        self
    }

    /// Sets a preference, as `NAME=VALUE`.
    pub fn preference(mut self, assignment: &str) -> Self {
        self.preferences.push(assignment.to_owned());
        self
    }

    /// Sets what the browser logs, in the form of RUST_LOG.
    pub fn log(mut self, filter: &str) -> Self {
        self.log = Some(filter.to_owned());
        self
    }

    /// Records everything in the browser until the page closes. There must be no other page.
    pub fn recorded(mut self) -> Self {
        self.is_recorded = true;
        self
    }

    /// Sets the path to which the page posts its result, if it does not use the harness.
    pub fn result_at(mut self, path: &str) -> Self {
        self.result_path = path.to_owned();
        self
    }

    /// Sets the time after which the test fails if the browser has not ended.
    pub fn time_bound(mut self, time_bound: Duration) -> Self {
        self.time_bound = scaled(time_bound);
        self
    }

    /// Sets a function that is called with the name of each checkpoint of the page. It returns the answer for the page.
    pub fn at_checkpoints(
        mut self,
        checkpoint: impl FnMut(&str, &BrowserProcess) -> Value + 'a,
    ) -> Self {
        self.checkpoint = Box::new(checkpoint);
        self
    }

    /// Runs the browser to its end and gives what the page posted.
    ///
    /// Panics with the console output if the page reports an error, asks for a path that does not exist,
    /// or does not post exactly once; or if the browser does not end in time with status 0, or one of its
    /// threads panicked.
    pub fn run(self) -> Value {
        self.run_and_listen().0
    }

    /// Same as [`Visit::run`], and also gives the browser's output.
    pub fn run_and_listen(mut self) -> (Value, String) {
        let _turn = Turn::wait();
        let browser = Browser::start(&self);
        let results = match self.attend(&browser) {
            Ok(results) => results,
            Err(failure) => {
                let (_, console) = browser.kill();
                panic!("{failure}: {}\n{console}", self.urls.join(" "));
            },
        };
        let (status, console) = browser.end();
        let url = self.urls.join(" ");
        assert!(
            status.success(),
            "the browser ended with {status}: {url}\n{console}"
        );
        let [result] = &results[..] else {
            panic!("{} results, not one: {url}\n{console}", results.len());
        };
        let mut result: Value = serde_json::from_slice(result)
            .unwrap_or_else(|error| panic!("the result is not JSON: {error}: {url}\n{console}"));
        // The harness wraps the page's result.
        if let Some(error) = result.get("error") {
            panic!("the page failed: {url}\n{error:#}\n{console}");
        }
        let value = match result.get_mut("value") {
            Some(value) => value.take(),
            None => result,
        };
        (value, console)
    }

    /// Handles events until the browser has ended.
    fn attend(&mut self, browser: &Browser) -> Result<Vec<Vec<u8>>, String> {
        let mut results = Vec::new();
        let process = BrowserProcess::of(&browser.child);
        let deadline = Instant::now() + self.time_bound;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.site.events.recv_timeout(left) {
                Ok(Event::Posted { path, body }) if path == self.result_path => results.push(body),
                Ok(Event::Posted { path, .. }) => {
                    return Err(format!("the page posted to {path}"));
                },
                Ok(Event::Checkpoint { name, answer }) => {
                    // An error means that the page is gone.
                    let _ = answer.send((self.checkpoint)(&name, &process));
                },
                Ok(Event::NotFound(path)) => {
                    return Err(format!("the page asked for {path}, which is not there"));
                },
                Ok(Event::Ended) => return Ok(results),
                Err(RecvTimeoutError::Timeout) => {
                    let results: Vec<_> = results
                        .iter()
                        .map(|result| String::from_utf8_lossy(result))
                        .collect();
                    return Err(format!(
                        "the browser has not ended in {} s, with these results: {results:?}",
                        self.time_bound.as_secs(),
                    ));
                },
                Err(RecvTimeoutError::Disconnected) => unreachable!("the site has a sender"),
            }
        }
    }
}

pub(crate) fn binary() -> PathBuf {
    match std::env::var_os(BINARY_VARIABLE) {
        // It works in another folder.
        Some(path) => path::absolute(path).expect("there is a working folder"),
        None => panic!(
            "{BINARY_VARIABLE} does not name the browser's program: run these tests by \
             ./mach test-browser"
        ),
    }
}

/// The running program and its output so far.
pub(crate) struct Browser {
    pub(crate) child: Child,
    console: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
    excused: Excused,
    watch: Watch,
    /// Whether the output has been checked for panics, or need not be.
    is_judged: bool,
}

impl Browser {
    fn start(visit: &Visit) -> Self {
        let mut command = Command::new(binary());
        if visit.is_recorded {
            let duration = visit.time_bound.as_secs().to_string();
            command.args(["profile", "--duration", &duration, "--format", "firefox"]);
            command.args(["--output", "/dev/null"]);
        }
        command.arg("--headless");
        for preference in &visit.preferences {
            command.args(["--pref", preference]);
        }
        if let Some(filter) = &visit.log {
            command.env("RUST_LOG", filter);
        }
        command.args(&visit.urls);
        let sender = visit.site.sender.clone();
        Self::spawn(command, move || {
            let _ = sender.send(Event::Ended);
        })
    }

    pub(crate) fn spawn(mut command: Command, when_ended: impl FnOnce() + Send + 'static) -> Self {
        panics::log_panics(&mut command);
        quarantine::prepare(&mut command);
        let watch = Watch::start(&mut command);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {:?}: {error}", command.get_program()));
        let console = Arc::new(Mutex::new(String::new()));
        let stdout = child.stdout.take().expect("is piped");
        let stderr = child.stderr.take().expect("is piped");
        let readers = vec![
            // The pipe is closed when the process has ended.
            collect(stdout, console.clone(), when_ended),
            collect(stderr, console.clone(), || ()),
        ];
        Self {
            child,
            console,
            readers,
            excused: Excused::default(),
            watch,
            is_judged: false,
        }
    }

    /// Excuses this panic from now on.
    pub(crate) fn excuse(&mut self, known: &'static KnownPanic) {
        let printed = self.printed();
        self.excused.add(known, &printed);
    }

    /// Its output so far.
    pub(crate) fn printed(&self) -> String {
        self.console
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Ends the browser for a failing test, which shows the output.
    pub(crate) fn kill(mut self) -> (ExitStatus, String) {
        self.is_judged = true;
        let killed = self.watch.kill(&mut self.child);
        let status = killed.expect("the browser is our child");
        let mut output = self.output(Instant::now() + scaled(TIME_BOUND));
        if let Some(evidence) = self.evidence(status) {
            output += &format!("\n{evidence}");
        }
        (status, output)
    }

    fn evidence(&self, status: ExitStatus) -> Option<String> {
        self.watch.evidence(self.child.id(), status, &binary())
    }

    /// Waits for its end, and gives its status and its output.
    ///
    /// Panics if it does not end in time, if it or one of its processes crashed, or if one of its threads panicked.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("the browser is our child") {
                break status;
            }
            if Instant::now() > deadline {
                let (_, console) = self.kill();
                panic!(
                    "the browser has not ended in {} s\n{console}",
                    scaled(TIME_BOUND).as_secs()
                );
            }
            thread::sleep(INTERVAL);
        };
        let output = self.output(deadline);
        self.is_judged = true;
        if let Some(evidence) = self.evidence(status) {
            panic!("{evidence}\n{output}");
        }
        self.excused.check(&self.printed());
        (status, output)
    }

    /// Waits until no process of the browser can print any more, and gives the whole output.
    fn output(&mut self, deadline: Instant) -> String {
        for reader in std::mem::take(&mut self.readers) {
            if join_by(reader, deadline).is_none() {
                self.is_judged = true;
                panic!("{OUTPUT_STAYS_OPEN}\n{}", self.printed());
            }
        }
        format!("--- the browser's output\n{}---", self.printed())
    }
}

impl Drop for Browser {
    /// Kills the browser, so that a failing test leaves none behind. A test that has not waited for the browser's end
    /// fails here for panics and crashes so far.
    fn drop(&mut self) {
        if self.is_judged {
            let _ = self.child.kill();
            let _ = self.child.wait();
            return;
        }
        let printed = self.printed();
        let killed = self.watch.kill(&mut self.child).ok();
        let evidence = killed.and_then(|status| self.evidence(status));
        match evidence {
            // The test may have failed because of it.
            Some(evidence) if thread::panicking() => report(&evidence),
            Some(evidence) => panic!("{evidence}\n{printed}"),
            None if thread::panicking() => {},
            None => self.excused.check(&printed),
        }
    }
}

/// The message when a test stops waiting for the rest of a browser's output.
pub(crate) const OUTPUT_STAYS_OPEN: &str =
    "the browser has ended, but another of its processes still has its output open";

/// The result of a thread that reads a browser's output. None if the thread does not end in time.
pub(crate) fn join_by<T>(reader: JoinHandle<T>, deadline: Instant) -> Option<T> {
    while !reader.is_finished() {
        if Instant::now() > deadline {
            return None;
        }
        thread::sleep(INTERVAL);
    }
    Some(reader.join().expect("reading does not panic"))
}

/// Runs the browser to its end with these arguments and variables, and gives its status and its
/// output.
pub fn run_browser(arguments: &[&str], environment: &[(&str, &str)]) -> (ExitStatus, String) {
    let _turn = Turn::wait();
    let mut command = Command::new(binary());
    command.args(arguments).envs(environment.iter().copied());
    Browser::spawn(command, || ()).end()
}

fn collect(
    output: impl Read + Send + 'static,
    console: Arc<Mutex<String>>,
    at_end: impl FnOnce() + Send + 'static,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        loop {
            line.clear();
            match output.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {
                    let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
                    console.push_str(&String::from_utf8_lossy(&line));
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {},
                Err(_) => break,
            }
        }
        at_end();
    })
}
