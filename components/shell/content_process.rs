/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A content process, which the browser starts with `--multiprocess`.

use std::ffi::OsString;
use std::io;
use std::thread;

use rustix::{
    event::{self, PollFd, PollFlags},
    io::Errno,
    process,
};

use crate::failure::report;
use crate::{crash, termination};

/// The option with which Servo starts the program.
const OPTION: &str = "--content-process";

/// The token with which a content process finds the browser. None if this is not a content process.
pub fn token(arguments: impl IntoIterator<Item = OsString>) -> Option<String> {
    let mut arguments = arguments.into_iter().skip(1);
    match arguments.next() {
        Some(argument) if argument == OPTION => arguments.next()?.into_string().ok(),
        _ => None,
    }
}

/// Runs pages until the browser no longer needs the process.
pub fn run(token: String) {
    crash::install_panic_hook();
    // Ctrl-C in a terminal sends a signal to this process too.
    if let Err(error) = termination::leave_to_browser() {
        report(&format!(
            "a page's process cannot leave signals to the browser: {error}"
        ));
    }
    if let Err(error) = end_with_browser() {
        report(&format!(
            "a page's process cannot see whether the browser ends: {error}"
        ));
    }
    // The pages work without a recording.
    if let Err(error) = profile_recorder::report_to_browser() {
        report(&format!("a page's process cannot be recorded: {error}"));
    }
    servo::run_content_process(token);
}

/// Ends the process when the browser has ended. Servo relies on the browser to end its processes, but a browser that
/// was killed cannot.
fn end_with_browser() -> io::Result<()> {
    let browser = process::getppid().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
    let browser = process::pidfd_open(browser, process::PidfdFlags::empty())?;
    thread::Builder::new()
        .name("BrowserWatch".to_owned())
        .spawn(move || {
            // The descriptor becomes readable when the browser ends.
            let mut end = [PollFd::new(&browser, PollFlags::IN)];
            while event::poll(&mut end, None) == Err(Errno::INTR) {}
            crash::exit_at_once();
        })?;
    Ok(())
}

/// Fails with the reason if content processes cannot be sandboxed.
pub fn check_sandbox() -> Result<(), String> {
    // The list is `ALLOWED_SYSCALLS` in platform/linux/seccomp.rs of gaol. A process ends at its first prlimit64:
    // SpiderMonkey makes that call to find the bounds of the stack, before there is a page.
    Err(
        "--sandbox: Servo 0.7.0 does not support it on Linux: its sandbox (gaol 0.2.1) does not allow prlimit64, \
        clone3 and other system calls that every content process needs, and the kernel ends the process with \
        SIGSYS; --multiprocess alone works"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_servos_option_starts_a_content_process() {
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
