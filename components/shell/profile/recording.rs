/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The recording of a run of the browser.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{panic, thread};

use js_profiler_traits::preferences::BASE_INTERVALS;
use profile_formats::{
    MAX_EVENT_LOOP, Recording, apply_map_folders, apply_own_maps, deadline_of_maps, grouped,
};
use profile_recorder::{Progress, Recorder};
use servo::WebView;
use terminal_text::{on_one_line, shortened};

use super::ProfileOptions;
use super::condition::{Condition, Finding};
use super::haste::Haste;
use super::output::{Output, Written};
use crate::failure::{report, warn};
use crate::report::recording_report;
use crate::{console, display};

/// How often the progress line is updated.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(250);

/// A recording in progress.
pub struct ProfileRecording {
    recorder: Recorder,
    options: ProfileOptions,
    /// Present if the recording ends when this is true in the page.
    condition: Option<Condition>,
    /// When the next progress line is due. None if standard error is not a terminal.
    next_progress: Option<Instant>,
}

/// What became of the recording.
#[derive(Debug, PartialEq)]
pub enum Next {
    GoOn,
    /// The recording is complete.
    End,
    /// The recording ends early, for this reason.
    Fail(String),
}

impl ProfileRecording {
    /// Starts to record, before there is a page.
    pub fn start(mut options: ProfileOptions, recorder: Recorder) -> Result<Self, String> {
        recorder
            .start(options.recording.clone())
            .map_err(|error| format!("cannot record: {error}"))?;
        let used = recorder.progress().map(|progress| progress.interval);
        if let Some(note) = used.and_then(|used| interval_note(options.recording.interval, used)) {
            report(&note);
        }
        let now = Instant::now();
        Ok(Self {
            recorder,
            condition: options
                .until_js
                .take()
                .map(|expression| Condition::new(expression, now)),
            options,
            next_progress: io::stderr().is_terminal().then_some(now),
        })
    }

    /// Does what is due. `page` evaluates the condition; `is_loaded` says whether its first load is over.
    pub fn step(&mut self, page: Option<&WebView>, is_loaded: bool, now: Instant) -> Next {
        if self.next_progress.is_some_and(|due| due <= now) {
            self.next_progress = Some(now + PROGRESS_INTERVAL);
            if let Some(progress) = self.recorder.progress() {
                console::show_status(&progress_line(&progress));
            }
        }
        let Some((condition, page)) = self.condition.as_mut().zip(page) else {
            return Next::GoOn;
        };
        match condition.check(page, is_loaded, now) {
            Finding::No => Next::GoOn,
            Finding::Yes => Next::End,
            Finding::Thrown(message) => {
                report(&format!(
                    "--until-js {}: not true yet: {}",
                    condition.expression(),
                    console::quoted(&message)
                ));
                Next::GoOn
            },
            Finding::Invalid => Next::Fail(format!(
                "--until-js {}: this is not a valid JavaScript expression",
                condition.expression()
            )),
            Finding::Gone => Next::Fail(format!(
                "--until-js {}: the page's process has ended",
                condition.expression()
            )),
        }
    }

    /// When to call `step` again even if nothing wakes the browser.
    pub fn next_time(&self) -> Option<Instant> {
        let condition = self.condition.as_ref().and_then(Condition::next_time);
        self.next_progress.into_iter().chain(condition).min()
    }

    /// Stops, writes the recording, and prints its report. `spin` lets the browser's loop run meanwhile. Source maps that are
    /// not done in the time that `haste` leaves are left out. Returns the new files, for which the person has chosen no
    /// place. The error is the message for the person.
    pub fn finish(self, haste: &Haste, spin: impl FnMut()) -> Result<Vec<PathBuf>, String> {
        let mut recording = self.stop(haste, spin).ok_or_else(|| {
            "nothing to save: no recording is running; about:profiling has stopped it".to_owned()
        })?;
        let progress = self.recorder.last_progress();
        for notice in self.recorder.notices() {
            report(&format!("warning: {notice}"));
        }
        // Maps that the person names come first.
        let folders = &self.options.source_maps;
        let in_haste = haste.clone();
        let deadline = deadline_of_maps().or_when(move || in_haste.over());
        let mut map_notices = apply_map_folders(&mut recording, folders, &deadline);
        if self.options.recording.linked_maps {
            map_notices.extend(apply_own_maps(&mut recording, &deadline));
        }
        map_notices.iter().for_each(warn);
        let (written, outcome) = self.options.output.write(self.options.format, &recording);
        let mut text = recording_report(&recording, progress.as_ref(), self.options.top);
        for written in &written {
            text += &place(written, self.options.output == Output::Stdout);
        }
        let new_files = match self.options.output {
            Output::NewFile(_) => written.into_iter().filter_map(|one| one.file).collect(),
            Output::Stdout | Output::File(_) => Vec::new(),
        };
        if io::stdout().is_terminal() {
            text += &how_to_look(&new_files, display::is_there());
        }
        console::clear_status();
        match self.options.output {
            Output::Stdout => {
                // A closed standard error is not a failure.
                let _ = io::stderr().write_all(text.as_bytes());
            },
            Output::File(_) | Output::NewFile(_) => profile_commands::print(&text)?,
        }
        outcome?;
        // The files are written, so failures are reported last.
        told(&self.recorder.failures())?;
        Ok(new_files)
    }

    fn stop(&self, haste: &Haste, mut spin: impl FnMut()) -> Option<Recording> {
        let (recorder, begin) = (self.recorder.clone(), Instant::now());
        let stop = move || recorder.stop_unless(|| haste.is_stop_over(begin));
        if !self.options.recording.linked_maps {
            return stop();
        }
        // Servo tells the browser's loop about each source map that is fetched, so the loop must go on.
        thread::scope(|scope| {
            let stopping = scope.spawn(stop);
            while !stopping.is_finished() {
                spin();
                thread::sleep(SPIN_INTERVAL);
            }
            stopping
                .join()
                .unwrap_or_else(|panic| panic::resume_unwind(panic))
        })
    }
}

/// How often the browser's loop runs while a recording stops.
const SPIN_INTERVAL: Duration = Duration::from_millis(5);

/// The error contains the first failures, which are sentences.
fn told(failures: &[String]) -> Result<(), String> {
    const MAX_TOLD: usize = 10;
    if failures.is_empty() {
        return Ok(());
    }
    let first = &failures[..failures.len().min(MAX_TOLD)];
    let mut text = first.join(" ");
    match failures.len() - first.len() {
        0 => {},
        more => text += &format!(" The same is true of {} more.", grouped(more as u64)),
    }
    Err(text)
}

/// Where a profile is.
fn place(written: &Written, is_first_alone: bool) -> String {
    let event_loop = written
        .event_loop
        .as_ref()
        .map(|name| format!(" of {}", shortened(name, MAX_EVENT_LOOP)))
        .unwrap_or_default();
    match &written.file {
        Some(file) => {
            let file = on_one_line(&file.display().to_string());
            format!("The profile{event_loop} is in {file}\n")
        },
        None if is_first_alone && written.event_loop.is_some() => {
            format!("Only the profile{event_loop} was written; the format holds one event loop\n")
        },
        None => String::new(),
    }
}

/// The command that shows these profiles. Empty if there are none.
fn how_to_look(files: &[PathBuf], has_display: bool) -> String {
    let arguments: String = files
        .iter()
        .map(|file| format!(" {}", quoted(file)))
        .collect();
    let what = match files.len() {
        0 => return String::new(),
        1 => "it",
        _ => "them",
    };
    let place = match has_display {
        true => "",
        false => ", where there is a display",
    };
    let arguments = on_one_line(&arguments);
    format!("To look at {what}{place}: strobe view{arguments}\n")
}

/// A file as an argument in a command line of a shell.
fn quoted(file: &Path) -> String {
    let name = file.display().to_string();
    let is_plain = |character: char| character.is_alphanumeric() || "/._-+,:@%".contains(character);
    match name.chars().all(is_plain) {
        true => name,
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// Says which interval is used if it is not the requested one, and how to get that one.
fn interval_note(requested: Duration, used: Duration) -> Option<String> {
    let milliseconds = |duration: Duration| duration.as_nanos() as f64 / 1e6;
    if requested == used {
        return None;
    }
    let mut note = format!(
        "--interval {}: the interval is {} ms",
        milliseconds(requested),
        milliseconds(used)
    );
    // Intervals are multiples of the base interval.
    let base = u32::try_from(requested.as_micros()).unwrap_or(u32::MAX);
    let base = base.max(*BASE_INTERVALS.start());
    let nearest = Duration::from_micros(base.into());
    if BASE_INTERVALS.contains(&base) && nearest != used {
        note += &format!(
            "; for {} ms add --pref js_profiling_base_interval_us={base}",
            milliseconds(nearest)
        );
    }
    Some(note)
}

fn progress_line(progress: &Progress) -> String {
    let event_loops = match progress.event_loops {
        1 => "1 event loop".to_owned(),
        count => format!("{count} event loops"),
    };
    format!(
        "recording: {:.1} s, {} samples of {event_loops}, {:.1} MB (Ctrl-C stops and saves)",
        progress.elapsed.as_secs_f64(),
        grouped(progress.samples),
        progress.memory as f64 / 1e6,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_interval_than_the_requested_one_is_told() {
        let note = |requested, used| {
            let micros = Duration::from_micros;
            interval_note(micros(requested), micros(used))
        };
        assert_eq!(note(1_000, 1_000), None);
        for (requested, used, told) in [
            (
                100,
                1_000,
                "--interval 0.1: the interval is 1 ms; for 0.1 ms add --pref js_profiling_base_interval_us=100",
            ),
            (
                2_500,
                2_000,
                "--interval 2.5: the interval is 2 ms; for 2.5 ms add --pref js_profiling_base_interval_us=2500",
            ),
            // There is no finer one.
            (
                50,
                1_000,
                "--interval 0.05: the interval is 1 ms; for 0.1 ms add --pref js_profiling_base_interval_us=100",
            ),
            (50, 100, "--interval 0.05: the interval is 0.1 ms"),
            // No base interval is as long.
            (
                2_000_500,
                2_000_000,
                "--interval 2000.5: the interval is 2000 ms",
            ),
        ] {
            assert_eq!(note(requested, used).as_deref(), Some(told));
        }
        let nanoseconds = interval_note(Duration::from_nanos(1), Duration::from_millis(1));
        let told = nanoseconds.unwrap();
        assert!(told.starts_with("--interval 0.000001: "), "{told}");
        assert!(told.ends_with("for 0.1 ms add --pref js_profiling_base_interval_us=100"));
    }

    #[test]
    fn the_command_that_shows_the_profile_can_be_copied() {
        let of = |files: &[&str]| {
            let files: Vec<_> = files.iter().map(PathBuf::from).collect();
            how_to_look(&files, true)
        };
        assert_eq!(of(&[]), "");
        assert_eq!(
            of(&["/home/a/strobe-profile.firefox.json"]),
            "To look at it: strobe view /home/a/strobe-profile.firefox.json\n"
        );
        assert_eq!(
            of(&["/a b/1", "/it's/$2", "/\u{1b}"]),
            "To look at them: strobe view '/a b/1' '/it'\\''s/$2' '/\\u{1b}'\n"
        );
        assert_eq!(
            how_to_look(&["/a".into()], false),
            "To look at it, where there is a display: strobe view /a\n"
        );
    }

    #[test]
    fn the_first_failures_are_told() {
        assert_eq!(told(&[]), Ok(()));
        let failures: Vec<_> = (0..12).map(|number| format!("No {number}.")).collect();
        assert_eq!(told(&failures[..2]), Err("No 0. No 1.".to_owned()));
        let text = told(&failures).unwrap_err();
        assert!(
            text.ends_with("No 9. The same is true of 2 more."),
            "{text}"
        );
    }
}
