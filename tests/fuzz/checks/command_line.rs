/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each line of an input is an argument of the browser.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use fuzz_parts::{CommandLine, ExitAfter, Parsed, preferences};
use profile_commands::Task;
use profile_sets::Input;

use crate::response::lines;

/// This folder does not exist.
const WORKING_DIRECTORY: &str = "/nonexistent/strobe";

pub fn command_line(input: &[u8]) -> bool {
    // Special files may never end. That is not a fault of the browser.
    const SPECIAL: [&[u8]; 3] = [b"/dev", b"/proc", b"/sys"];
    if SPECIAL
        .iter()
        .any(|name| input.windows(name.len()).any(|at| at == *name))
    {
        return false;
    }
    let arguments = lines(input).into_iter().map(<[u8]>::to_vec);
    let arguments = arguments.map(OsString::from_vec);
    let arguments = [OsString::from("strobe")].into_iter().chain(arguments);
    match CommandLine::parse(arguments, Path::new(WORKING_DIRECTORY)) {
        Ok(Parsed::Run(command_line)) => check_run(&command_line),
        Ok(Parsed::Saved(Task::Convert(conversion))) => {
            let output = conversion.output;
            assert!(output.is_absolute() || output.as_os_str() == "-");
        },
        Ok(Parsed::Saved(Task::Diff(diff))) => {
            let mut inputs = diff.sides.iter().flatten();
            assert!(inputs.clone().next().is_some());
            assert!(inputs.all(is_absolute));
        },
        Ok(Parsed::Saved(Task::Merge(merge))) => {
            assert!(!merge.inputs.inputs.is_empty());
            assert!(merge.inputs.inputs.iter().all(is_absolute));
            assert!(merge.output.is_absolute() || merge.output.as_os_str() == "-");
        },
        Ok(Parsed::Saved(Task::Report(report))) => {
            let files = report.inputs.iter().map(|input| &input.file);
            let mut files = files.peekable();
            assert!(files.peek().is_some());
            assert!(files.all(|file| file.is_absolute() || file.as_os_str() == "-"));
        },
        Ok(Parsed::Saved(Task::Sessions(report))) => {
            assert!(!report.inputs.inputs.is_empty());
            assert!(report.inputs.inputs.iter().all(is_absolute));
        },
        Ok(Parsed::Information(text)) => assert!(!text.is_empty()),
        Ok(Parsed::Version) => {},
        Err(message) => {
            assert!(!message.is_empty());
            assert!(!message.contains('\n'), "more than one line: {message:?}");
            assert!(!message.contains("Usage:"), "{message}");
            return false;
        },
    }
    true
}

fn is_absolute(input: &Input) -> bool {
    match input {
        Input::Path(path) => path.is_absolute(),
        Input::StandardInput => true,
    }
}

fn check_run(command_line: &CommandLine) {
    let sides = [
        command_line.window_size.width,
        command_line.window_size.height,
    ];
    assert!(sides.iter().all(|side| (1..=8192).contains(side)));
    let has_pages = !command_line.urls.is_empty() || !command_line.views.is_empty();
    assert!(has_pages || command_line.webdriver.is_some());
    for saved in &command_line.views {
        assert!(saved.file.is_absolute() || saved.file.as_os_str() == "-");
        assert!(command_line.urls.is_empty() && command_line.profile.is_none());
    }
    assert!(command_line.webdriver != Some(0));
    assert!(command_line.multiprocess || !command_line.sandbox);
    if let Some(profile) = &command_line.profile {
        assert_eq!(command_line.urls.len(), 1);
        let recording = &profile.recording;
        assert!(!recording.interval.is_zero());
        assert!(recording.kept.keep_last.is_none_or(|kept| !kept.is_zero()));
        assert!(
            recording
                .kept
                .long_tasks
                .is_none_or(|least| !least.is_zero())
        );
        assert!(command_line.exit_after != Some(ExitAfter::Elapsed(std::time::Duration::ZERO)));
    }
    let user_agent = command_line.user_agent.as_deref();
    match preferences::resolve(&command_line.preferences, user_agent) {
        Ok(resolved) => {
            assert!(!resolved.user_agent.bytes().any(|byte| byte < b' '));
            if let Some(user_agent) = user_agent {
                assert_eq!(resolved.user_agent, user_agent);
            }
        },
        Err(message) => {
            let names = |(name, value): &(String, String)| {
                message.starts_with(&format!("--pref {name}={value}: "))
            };
            assert!(command_line.preferences.iter().any(names), "{message}");
        },
    }
}
