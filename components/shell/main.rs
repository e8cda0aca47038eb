/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Strobe, a browser whose pages can profile their own JavaScript.
//!
//! This is the embedding shell around the Servo engine. It has the command line, the window, a headless
//! mode, and the pages' console messages on standard output. `strobe --help` lists the options.

#![deny(unsafe_code)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod about_profiling;
mod arguments;
mod browser;
mod command_line;
mod console;
mod content_process;
mod crash;
mod display;
mod duration;
mod failure;
mod frame_clock;
mod headless;
mod keyboard;
mod load_error;
mod no_wayland;
mod page;
mod page_delegate;
mod preferences;
mod profile;
mod report;
mod reserved_output;
mod screenshot;
mod surface;
mod termination;
mod url_argument;
mod versions;
mod webdriver;
mod window;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::process::ExitCode;

use profile_commands::{Failure, Task, print};
use profile_recorder::Recorder;

use crate::about_profiling::Recordings;
use crate::browser::Settings;
use crate::command_line::{CommandLine, Parsed};
use crate::failure::{BAD_USAGE, FAILURE, report, warn};
use crate::profile::Output;

fn main() -> ExitCode {
    // Servo starts this program again as a content process.
    if let Some(token) = content_process::token(env::args_os()) {
        content_process::run(token);
        return ExitCode::SUCCESS;
    }
    // This comes before anything is read, because the program may start anew, and input from a pipe can be read only
    // once.
    if opens_no_window(env::args_os()) {
        no_wayland::prepare();
    }
    match run() {
        Ok(status) => ExitCode::from(status),
        Err((status, message)) => {
            report(&message);
            ExitCode::from(status)
        },
    }
}

/// Gives the exit status. An error is the exit status with the message for the person.
fn run() -> Result<u8, (u8, String)> {
    let failed = |message| (FAILURE, message);
    let wrong = |message| (BAD_USAGE, message);
    let working_directory = env::current_dir()
        .map_err(|error| failed(format!("cannot find the working directory: {error}")))?;
    let parsed = CommandLine::parse(env::args_os(), &working_directory).map_err(wrong)?;
    let mut command_line = match parsed {
        Parsed::Run(command_line) => *command_line,
        Parsed::Saved(task) => {
            task.run(report).map_err(|failure| match failure {
                Failure::Failed(message) => failed(message),
                Failure::Refused(message) => wrong(message),
            })?;
            return Ok(0);
        },
        Parsed::Information(text) => {
            print(&text).map_err(failed)?;
            return Ok(0);
        },
        Parsed::Version => {
            print(&versions::line()).map_err(failed)?;
            return Ok(0);
        },
    };
    let preferences = preferences::resolve(
        &command_line.preferences,
        command_line.user_agent.as_deref(),
    )
    .map_err(wrong)?;
    let recordings = saved_recordings(&mut command_line).map_err(failed)?;
    if let Some(options) = &command_line.profile {
        prepare_output(&options.output)
            .map_err(|error| failed(format!("standard output: {error}")))?;
    }
    check_host_file().map_err(wrong)?;
    if command_line.sandbox {
        content_process::check_sandbox().map_err(wrong)?;
    }

    crash::install_panic_hook();
    install_cryptography();
    let recorder = Recorder::new(versions::browser());
    if command_line.multiprocess {
        recorder.listen().map_err(|error| {
            failed(format!(
                "--multiprocess: cannot listen to processes: {error}"
            ))
        })?;
    }

    let has_window = !command_line.headless && display::is_there();
    let settings = Settings {
        command_line,
        preferences,
        recorder,
        recordings,
    };
    let ended = match has_window {
        true => window::run(settings),
        false => headless::run(settings),
    };
    let ended = ended.map_err(failed)?;
    profile::offer(&ended.new_profiles, &ended.termination)
        .map_err(|message| failed(format!("cannot show the profile: {message}")))?;
    Ok(ended.status)
}

/// Whether a run of the browser with these arguments has no window. A run that needs no browser counts as one with a
/// window.
fn opens_no_window(mut arguments: impl Iterator<Item = OsString>) -> bool {
    let is_without_browser = |argument: &OsString| Task::NAMES.iter().any(|name| argument == name);
    let first = arguments.nth(1);
    if first.as_ref().is_some_and(is_without_browser) {
        return false;
    }
    let mut rest = first.into_iter().chain(arguments);
    !display::is_there() || rest.any(|argument| argument == "--headless")
}

/// Reads the saved profiles that the command line names, and adds their pages to those to open.
fn saved_recordings(command_line: &mut CommandLine) -> Result<Recordings, String> {
    let recordings = Recordings::default();
    let is_view = !command_line.views.is_empty() || command_line.merged_view.is_some();
    if is_view && !command_line.headless && !display::is_there() {
        return Err(
            "view: there is no display; try 'strobe report FILE', or 'strobe convert FILE a.html'"
                .to_owned(),
        );
    }
    for saved in &command_line.views {
        let id = recordings.add_loaded(saved.name(), saved.read(warn)?);
        let page = about_profiling::page_url(Some(&id));
        command_line.urls.push(page);
    }
    if let Some(merged) = &command_line.merged_view {
        let read = merged.read(report).map_err(Failure::message)?;
        let id = recordings.add_loaded(merged.name(), read);
        let page = about_profiling::page_url(Some(&id));
        command_line.urls.push(page);
    }
    Ok(recordings)
}

/// Servo's network code uses the cryptography provider that the process has installed.
fn install_cryptography() {
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .expect("nothing has installed a provider before");
}

/// Prepares standard output for the output of `strobe profile`.
fn prepare_output(output: &Output) -> io::Result<()> {
    match output {
        Output::Stdout => console::reserve_standard_output(),
        Output::File(_) | Output::NewFile(_) => {
            console::share_standard_output();
            Ok(())
        },
    }
}

/// Servo looks addresses up first in the file that this variable names, and ignores a file that it cannot
/// read. So the file is checked here.
fn check_host_file() -> Result<(), String> {
    const VARIABLE: &str = "HOST_FILE";
    let Some(file) = env::var_os(VARIABLE) else {
        return Ok(());
    };
    match fs::read_to_string(&file) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{VARIABLE}: {}: {error}", file.display())),
    }
}
