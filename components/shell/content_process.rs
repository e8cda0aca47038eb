/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A process for pages, which the browser starts with `--multiprocess`.

use std::ffi::OsString;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
#[cfg(target_os = "linux")]
use std::thread;

#[cfg(target_os = "linux")]
use rustix::{
    event::{self, PollFd, PollFlags},
    io::Errno,
    process,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::{crash, report};

/// The option with which Servo starts the program.
const OPTION: &str = "--content-process";

/// By which the process finds the browser, if the program was started as such a process.
pub fn token(arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut arguments = arguments.into_iter().skip(1);
    match arguments.next() {
        Some(argument) if argument == OPTION => arguments.next()?.into_string().ok(),
        _ => None,
    }
}

/// Serves pages until the browser needs the process no more.
pub fn run(token: String) {
    crash::install_panic_hook();
    if let Err(error) = leave_signals_to_browser() {
        report(&format!(
            "a page's process cannot leave signals to the browser: {error}"
        ));
    }
    if let Err(error) = end_with_browser() {
        report(&format!(
            "a page's process cannot see whether the browser ends: {error}"
        ));
    }
    // The pages are none the worse for it.
    if let Err(error) = profile_recorder::report_to_browser() {
        report(&format!("a page's process cannot be recorded: {error}"));
    }
    servo::run_content_process(token);
}

/// Ctrl-C at a terminal is a signal for this process, too. It is for the browser to end it in order; a second
/// one ends it there and then, as it does the browser.
fn leave_signals_to_browser() -> io::Result<()> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_default(signal, asked.clone())?;
        flag::register(signal, asked.clone())?;
    }
    Ok(())
}

/// Ends the process when the browser is no more, which Servo leaves to the browser: one that was killed
/// cannot do it.
#[cfg(target_os = "linux")]
fn end_with_browser() -> io::Result<()> {
    let browser = process::getppid().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let browser = process::pidfd_open(browser, process::PidfdFlags::empty())?;
    thread::Builder::new()
        .name("BrowserWatch".to_owned())
        .spawn(move || {
            // It becomes readable when the process ends.
            let mut end = [PollFd::new(&browser, PollFlags::IN)];
            while event::poll(&mut end, None) == Err(Errno::INTR) {}
            crash::exit_at_once();
        })?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn end_with_browser() -> io::Result<()> {
    Ok(())
}

/// Says why processes for pages cannot be sandboxed, if so.
pub fn check_sandbox() -> Result<(), String> {
    if cfg!(target_os = "macos") {
        Ok(())
    } else if cfg!(target_os = "linux") {
        // The list is `ALLOWED_SYSCALLS` in platform/linux/seccomp.rs of gaol. A process ends at prlimit64,
        // which SpiderMonkey calls for the bounds of the stack before there is a page.
        Err(
            "--sandbox: Servo 0.7.0 does not support it on Linux: its sandbox (gaol 0.2.1) does not allow prlimit64, \
            clone3 and other system calls that every content process needs, and the kernel ends the process with \
            SIGSYS; --multiprocess alone works"
                .to_owned(),
        )
    } else {
        Err(
            "--sandbox: Servo 0.7.0 has no sandbox on this system; --multiprocess alone works"
                .to_owned(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servo_starts_such_a_process() {
        let token_in = |arguments: &[&str]| token(arguments.iter().map(OsString::from));
        let process = ["strobe", "--content-process", "/tmp/channel"];
        assert_eq!(token_in(&process), Some("/tmp/channel".to_owned()));
        for arguments in [
            &["strobe"][..],
            &["strobe", "--content-process"],
            &["strobe", "--headless", "--content-process", "x"],
            &["strobe", "x"],
        ] {
            assert_eq!(token_in(arguments), None, "{arguments:?}");
        }
    }
}
