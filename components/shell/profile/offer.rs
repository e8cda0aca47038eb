/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The offer to show a profile in the browser, for a person who has started `strobe profile` at a terminal.

use std::io::{self, IsTerminal, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs, process};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::termination::Termination;
use crate::{display, no_wayland};

/// Set by services that build and test programs. Some of them give their commands a terminal.
const AUTOMATED: &str = "CI";

/// A longer line is not an answer.
const MAX_ANSWER: usize = 256;

/// Asks the person whether to show these profiles. Returns if they are not to be shown, also if there is nobody to
/// ask. Otherwise this program becomes `strobe view`, and an error says why it could not.
///
/// To be called when everything else is done: no thread of Servo may be running.
pub fn offer(profiles: &[PathBuf], termination: &Termination) -> Result<(), String> {
    // Nobody has seen an error of the question itself, which is as good as a no.
    if profiles.is_empty()
        || !is_person_there(termination)
        || !is_accepted(profiles.len(), termination).unwrap_or(false)
    {
        return Ok(());
    }
    let program = env::current_exe().map_err(|error| format!("cannot find itself: {error}"))?;
    let mut view = Command::new(&program);
    view.arg("view").args(profiles);
    no_wayland::undo(&mut view);
    // Returns only an error. A second browser in this process is not possible: winit makes one event loop.
    let error = view.exec();
    Err(format!("{}: {error}", program.display()))
}

/// Whether a person waits at the terminal for this command, and `strobe view` can open a window.
fn is_person_there(termination: &Termination) -> bool {
    io::stdin().is_terminal()
        && io::stdout().is_terminal()
        && display::is_there()
        && env::var_os(AUTOMATED).is_none_or(|value| value.is_empty())
        && !termination.is_by_program()
        && fs::read_to_string("/proc/self/stat")
            .is_ok_and(|stat| leads_terminal(&stat, process::id()))
}

/// Whether this process leads the foreground process group of its terminal, by the content of `/proc/self/stat`. A
/// shell gives each command that a person types a group of its own. A command in a script or a makefile is in the
/// group of the script, and one in the background must not read from the terminal.
/// <https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html>
fn leads_terminal(stat: &str, pid: u32) -> bool {
    /// Counted from the state, which follows the name.
    const FOREGROUND_GROUP: usize = 5;
    // The name may contain anything.
    let behind_name = stat.rsplit_once(") ").map(|(_, rest)| rest);
    let group = behind_name.and_then(|rest| rest.split(' ').nth(FOREGROUND_GROUP));
    group.and_then(|group| group.parse().ok()) == Some(pid)
}

/// Asks. Only yes means yes: the end of the input and a signal, such as that of Ctrl-C, mean no.
fn is_accepted(count: usize, termination: &Termination) -> io::Result<bool> {
    let what = match count {
        1 => "it",
        _ => "them",
    };
    let signals = termination.watch_anew()?;
    let mut output = io::stdout().lock();
    write!(output, "Open {what} in the browser now? [y/N] ")?;
    output.flush()?;
    let mut input = io::stdin().lock();
    let mut answer = Vec::new();
    while !answer.contains(&b'\n') && answer.len() < MAX_ANSWER {
        let mut ready = [
            PollFd::new(&input, PollFlags::IN),
            PollFd::new(&signals, PollFlags::IN),
        ];
        match poll(&mut ready, None) {
            Ok(_) => {},
            // By a signal. If it asks to end, the next call says so.
            Err(Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let is_signalled = !ready[1].revents().is_empty();
        let mut bytes = [0; MAX_ANSWER];
        // An error means that the terminal is gone.
        let length = match is_signalled {
            true => 0,
            false => input.read(&mut bytes).unwrap_or(0),
        };
        if length == 0 {
            // What comes next on the terminal begins on a line of its own.
            writeln!(output)?;
            return Ok(false);
        }
        answer.extend_from_slice(&bytes[..length]);
    }
    Ok(is_yes(&answer))
}

fn is_yes(answer: &[u8]) -> bool {
    let answer = answer.trim_ascii();
    answer.eq_ignore_ascii_case(b"y") || answer.eq_ignore_ascii_case(b"yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_yes_means_yes() {
        for (answer, expected) in [
            ("y\n", true),
            ("Y\n", true),
            (" yes \r\n", true),
            ("\n", false),
            ("n\n", false),
            ("no\n", false),
            ("yy\n", false),
            ("strobe view yes\n", false),
        ] {
            assert_eq!(is_yes(answer.as_bytes()), expected, "{answer:?}");
        }
    }

    #[test]
    fn a_command_that_a_person_typed_leads_the_terminal() {
        // State, parent, group, session, terminal, foreground group, flags.
        for (stat, expected) in [
            ("70 (strobe) R 60 70 60 34816 70 4194304 9", true),
            (
                "70 (strobe) ) R 1 2 3 (70 70) R 60 70 60 34816 70 0 9",
                true,
            ),
            // In a script, in the background, and without a terminal.
            ("70 (strobe) R 65 65 60 34816 65 4194304 9", false),
            ("70 (strobe) R 60 70 60 34816 60 4194304 9", false),
            ("70 (strobe) R 60 70 70 0 -1 4194304 9", false),
            ("", false),
        ] {
            assert_eq!(leads_terminal(stat, 70), expected, "{stat:?}");
        }
    }
}
