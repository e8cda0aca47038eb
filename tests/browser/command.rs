/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser as a command on the command line.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{self, Child, ChildStdin, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use profile_formats::{Format, Recording, read};

use crate::crashes::Watch;
use crate::panics::{self, Excused};
use crate::quarantine;
use crate::report;
use crate::slowness::scaled;
use crate::turns::Turn;
use crate::visit::{OUTPUT_STAYS_OPEN, binary, join_by};

/// A command that has not ended by then is stuck. No command takes nearly as long.
const TIME_BOUND: Duration = Duration::from_secs(300);

/// How often to check whether it has ended.
const INTERVAL: Duration = Duration::from_millis(20);

/// A running command.
pub struct Command {
    /// None when it has ended.
    child: Option<Child>,
    /// The keyboard of its terminal. None if it has no terminal.
    keyboard: Option<ChildStdin>,
    stdout: Arc<Mutex<Vec<u8>>>,
    stdout_reader: Option<JoinHandle<()>>,
    stderr: Arc<Mutex<String>>,
    stderr_reader: Option<JoinHandle<()>>,
    watch: Watch,
    _turn: Turn,
}

/// The result of a command.
pub struct Output {
    pub status: ExitStatus,
    pub stdout: Vec<u8>,
    pub stderr: String,
}

/// Records pages by `strobe profile` with these arguments and no window, in the format that has everything recorded.
pub fn record(arguments: &[&str]) -> (Recording, Output) {
    let command = ["profile", "--headless", "--format=html", "-o", "-"];
    let output = Command::start(&[&command[..], arguments].concat()).end();
    output.assert_success();
    let (recording, _) = read(&output.stdout, None, Some(Format::Html)).unwrap();
    (recording, output)
}

impl Command {
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// Same as [`Command::start`], with variables in its environment.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = process::Command::new(binary());
        command.args(arguments).envs(environment.iter().copied());
        Self::spawn(command)
    }

    /// Same as [`Command::start_with`], in a folder.
    pub fn start_in(arguments: &[&str], folder: &Path, environment: &[(&str, &str)]) -> Self {
        let mut command = process::Command::new(binary());
        command
            .args(arguments)
            .current_dir(folder)
            .env_remove("CI")
            .envs(environment.iter().copied());
        Self::spawn(command)
    }

    /// Same as [`Command::start_with`], in a folder and on a terminal, as a command that a person has typed there. What
    /// it prints there is its standard output.
    pub fn start_on_terminal(
        arguments: &[&str],
        folder: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        Self::start_as_typed("exec ", arguments, "", folder, environment)
    }

    /// Same as [`Command::start_on_terminal`], as a command of a script.
    pub fn start_in_script(
        arguments: &[&str],
        folder: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        Self::start_as_typed("", arguments, "; exit $?", folder, environment)
    }

    fn start_as_typed(
        before: &str,
        arguments: &[&str],
        behind: &str,
        folder: &Path,
        environment: &[(&str, &str)],
    ) -> Self {
        let binary = binary();
        let program = binary.to_str().expect("is text");
        let quoted = |word: &&str| format!("'{}'", word.replace('\'', r"'\''"));
        let words: Vec<_> = [&[program], arguments]
            .concat()
            .iter()
            .map(quoted)
            .collect();
        let mut command = process::Command::new("script");
        command
            .args(["--quiet", "--return", "--command"])
            .arg(format!("{before}{}{behind}", words.join(" ")))
            .arg("/dev/null")
            .current_dir(folder)
            .stdin(Stdio::piped());
        for variable in ["CI", "DISPLAY", "WAYLAND_DISPLAY"] {
            command.env_remove(variable);
        }
        command.envs(environment.iter().copied());
        Self::spawn_with_input(command)
    }

    fn spawn(mut command: process::Command) -> Self {
        command.stdin(Stdio::null());
        Self::spawn_with_input(command)
    }

    fn spawn_with_input(mut command: process::Command) -> Self {
        let turn = Turn::wait();
        panics::log_panics(&mut command);
        quarantine::prepare(&mut command);
        let watch = Watch::start(&mut command);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}"));
        let stdout = Arc::<Mutex<Vec<u8>>>::default();
        let stdout_reader = collect(child.stdout.take().expect("is piped"), stdout.clone());
        let keyboard = child.stdin.take();
        let stderr = Arc::new(Mutex::new(String::new()));
        let stderr_reader = follow(child.stderr.take().expect("is piped"), stderr.clone());
        Self {
            child: Some(child),
            keyboard,
            stdout,
            stdout_reader: Some(stdout_reader),
            stderr,
            stderr_reader: Some(stderr_reader),
            watch,
            _turn: turn,
        }
    }

    pub fn id(&self) -> u32 {
        self.child.as_ref().expect("runs").id()
    }

    /// Waits until it has printed this text to standard error.
    pub fn wait_for_error(&mut self, text: &str) {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        loop {
            let stderr = text_of(&self.stderr);
            if stderr.contains(text) {
                return;
            }
            let child = self.child.as_mut().expect("runs");
            let has_ended = child.try_wait().expect("it is our child").is_some();
            assert!(
                !has_ended && Instant::now() < deadline,
                "{text} is never printed\n{stderr}"
            );
            thread::sleep(INTERVAL);
        }
    }

    /// Waits until it has printed this text to its terminal.
    pub fn wait_for_text(&mut self, text: &str) {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        loop {
            let printed = String::from_utf8_lossy(&bytes_of(&self.stdout)).into_owned();
            if printed.contains(text) {
                return;
            }
            let child = self.child.as_mut().expect("runs");
            let has_ended = child.try_wait().expect("it is our child").is_some();
            assert!(
                !has_ended && Instant::now() < deadline,
                "{text} is never printed\n{printed}"
            );
            thread::sleep(INTERVAL);
        }
    }

    /// Types on its terminal.
    pub fn type_text(&mut self, text: &str) {
        let keyboard = self.keyboard.as_mut().expect("is on a terminal");
        let typed = keyboard.write_all(text.as_bytes());
        typed.and_then(|()| keyboard.flush()).expect("it is there");
    }

    /// Sends it a signal by its name, such as INT.
    pub fn signal(&self, name: &str) {
        signal(self.id(), name);
    }

    /// Sends several signals to it and to other processes, one right after the other. One shell sends all of them: between two
    /// programs on a busy machine the command may do what the first of the signals asks for.
    pub fn signals(&self, others: &[u32], names: &[&str]) {
        let id = self.id();
        let ids: Vec<_> = others.iter().chain([&id]).map(u32::to_string).collect();
        let ids = ids.join(" ");
        let kills: Vec<_> = names
            .iter()
            .map(|name| format!("kill -{name} {ids}"))
            .collect();
        let status = process::Command::new("sh")
            .args(["-c", &kills.join(" && ")])
            .status();
        assert!(
            status.is_ok_and(|status| status.success()),
            "process {id} cannot be sent {names:?}"
        );
    }

    /// Waits for its end. Panics if it does not end in time, if it or one of its processes crashed, or if one of its
    /// threads panicked.
    pub fn end(mut self) -> Output {
        let mut child = self.child.take().expect("runs");
        // The end of the input of a terminal.
        drop(self.keyboard.take());
        let deadline = Instant::now() + scaled(TIME_BOUND);
        let (status, has_hung) = loop {
            match child.try_wait().expect("it is our child") {
                Some(status) => break (status, false),
                None if Instant::now() > deadline => {
                    let killed = self.watch.kill(&mut child);
                    break (killed.expect("it is our child"), true);
                },
                None => thread::sleep(INTERVAL),
            }
        };
        let reader = self.stdout_reader.take().expect("is read once");
        let stdout = join_by(reader, deadline + INTERVAL).map(|()| bytes_of(&self.stdout));
        let reader = self.stderr_reader.take().expect("is read once");
        let all = stdout.zip(join_by(reader, deadline + INTERVAL));
        let stderr = text_of(&self.stderr);
        let Some((stdout, ())) = all else {
            panic!("{OUTPUT_STAYS_OPEN}\n{stderr}");
        };
        if let Some(evidence) = self.watch.evidence(child.id(), status, &binary()) {
            panic!("{evidence}\n{stderr}");
        }
        assert!(!has_hung, "the browser did not end\n{stderr}");
        Excused::default().check(&stderr);
        // On a terminal the two are one.
        Excused::default().check(&String::from_utf8_lossy(&stdout));
        Output {
            status,
            stdout,
            stderr,
        }
    }
}

impl Drop for Command {
    /// Kills the browser, so that a failing test leaves none behind. A test that has not waited for the browser's end
    /// fails here for panics and crashes so far.
    fn drop(&mut self) {
        let Some(mut child) = self.child.take() else {
            return;
        };
        let stderr = text_of(&self.stderr);
        let killed = self.watch.kill(&mut child).ok();
        let evidence = killed.and_then(|status| self.watch.evidence(child.id(), status, &binary()));
        match evidence {
            // The test may have failed because of it.
            Some(evidence) if thread::panicking() => report(&evidence),
            Some(evidence) => panic!("{evidence}\n{stderr}"),
            None if thread::panicking() => {},
            None => Excused::default().check(&stderr),
        }
    }
}

impl Output {
    /// What it printed, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// Panics unless all went well.
    pub fn assert_success(&self) {
        assert!(
            self.status.success(),
            "{}\n{}\n{}",
            self.status,
            self.text(),
            self.stderr
        );
    }
}

/// Sends a process a signal by its name.
pub fn signal(process: u32, name: &str) {
    let status = process::Command::new("kill")
        .args([&format!("-{name}"), &process.to_string()])
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "process {process} cannot be sent {name}"
    );
}

fn text_of(stderr: &Mutex<String>) -> String {
    stderr
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

/// Reads line by line.
fn follow(output: impl Read + Send + 'static, text: Arc<Mutex<String>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut output = BufReader::new(output);
        let mut line = Vec::new();
        while output
            .read_until(b'\n', &mut line)
            .is_ok_and(|length| length > 0)
        {
            let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
            text.push_str(&String::from_utf8_lossy(&line));
            line.clear();
        }
    })
}

fn bytes_of(stdout: &Mutex<Vec<u8>>) -> Vec<u8> {
    stdout
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

fn collect(mut output: impl Read + Send + 'static, text: Arc<Mutex<Vec<u8>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut bytes = vec![0; 1 << 16];
        // An error ends the text.
        while let Ok(length @ 1..) = output.read(&mut bytes) {
            let mut text = text.lock().unwrap_or_else(PoisonError::into_inner);
            text.extend_from_slice(&bytes[..length]);
        }
    })
}
