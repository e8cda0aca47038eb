/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `strobe profile`.

use std::collections::HashMap;
use std::fs;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use browser_tests::{
    BrowserWindow, Command, Display, Driver, Hosts, Output, RETRY_INTERVAL, Site, TIME_BOUND,
    alone, path_with_header, report, run_browser, scaled, signal,
};
use profile_formats::{
    EventLoop, EventLoopKind, Format, MissedReason, Process, Recording, Totals, read,
};
use serde_json::json;
use tempfile::TempDir;

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.path().join(name).to_str().unwrap().to_owned()
    }

    fn is_empty(&self) -> bool {
        fs::read_dir(&self.0).unwrap().next().is_none()
    }
}

/// A site whose pages may not profile.
fn site() -> Site {
    Site::plain().serve()
}

fn profile(arguments: &[&str]) -> Output {
    Command::start(&profile_arguments(arguments)).end()
}

fn profile_arguments<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [&["profile", "--headless"], arguments].concat()
}

fn recording(file: &str) -> Recording {
    let content = fs::read(file).unwrap_or_else(|error| panic!("{file}: {error}"));
    read(&content, Some(Path::new(file)), None)
        .unwrap_or_else(|error| panic!("{file}: {error}"))
        .0
}

/// The self samples of each function, by name.
fn leaves(recording: &Recording) -> HashMap<String, u64> {
    let mut leaves = HashMap::new();
    for (function, totals) in Totals::of(recording).functions {
        *leaves.entry(function.name.to_owned()).or_default() += totals.itself;
    }
    leaves
}

/// The number that the command's first line begins with.
fn told_samples(output: &Output) -> u64 {
    let text = output.text();
    let line = text
        .lines()
        .find(|line| line.contains(" samples at an interval of "));
    let number = line.and_then(|line| line.split(' ').next());
    number
        .map(|number| number.replace(',', ""))
        .and_then(|number| number.parse().ok())
        .unwrap_or_else(|| panic!("{text}\n{}", output.stderr))
}

/// The functions of the command's table, in order.
fn told_functions(output: &Output) -> Vec<String> {
    let text = output.text();
    let lines = text.lines().skip_while(|line| !line.starts_with("self %"));
    lines
        .skip(1)
        .take_while(|line| !line.starts_with('%'))
        .map(|line| line.split_whitespace().nth(4).unwrap().to_owned())
        .collect()
}

#[test]
fn a_busy_page_has_its_functions_in_their_shares() {
    let _alone = alone();
    let (site, folder) = (site(), Folder::new());
    let file = folder.file("a.firefox.json");
    let output = profile(&[
        "--until-js",
        "rounds >= 600",
        "--top=3",
        "-o",
        &file,
        &site.url("/busy.html"),
    ]);
    output.assert_success();
    let recording = recording(&file);
    let leaves = leaves(&recording);
    let (seventy, thirty) = (leaves["seventy"], leaves["thirty"]);
    let share = 100. * seventy as f64 / (seventy + thirty) as f64;
    report(&format!(
        "strobe profile: seventy {share:.2} % of {} samples",
        seventy + thirty
    ));
    assert!(seventy + thirty > 400, "{leaves:?}");
    // The bounds are more than four standard deviations wide for this number of samples.
    assert!((60. ..80.).contains(&share), "{leaves:?}");

    let totals = Totals::of(&recording);
    assert_eq!(told_samples(&output), totals.samples);
    let told = told_functions(&output);
    assert_eq!(told.len(), 3, "{}", output.text());
    assert_eq!(told[..2], ["seventy", "thirty"], "{}", output.text());
    assert!(output.text().contains("busy.js:"), "{}", output.text());
    assert!(
        output
            .text()
            .ends_with(&format!("The profile is in {file}\n"))
    );
    // Their caller has their samples too.
    let looping = totals
        .functions
        .iter()
        .find(|(function, _)| function.name == "loop")
        .unwrap();
    assert!(looping.1.total >= seventy + thirty, "{leaves:?}");
    assert_eq!(
        looping.0.resource,
        Some(&*site.url("/busy.js")),
        "where it is defined"
    );
}

#[test]
fn each_format_is_written_and_read_back() {
    let (site, folder) = (site(), Folder::new());
    let url = site.url("/busy.html?rounds=100&close");
    for format in Format::ALL {
        // The option selects the format, not the name.
        let file = folder.file(format.as_str());
        let output = profile(&["--format", format.as_str(), "-o", &file, &url]);
        output.assert_success();
        let content = fs::read(&file).unwrap();
        let (recording, _) = read(&content, None, Some(format)).unwrap();
        let totals = Totals::of(&recording);
        assert_eq!(totals.samples, told_samples(&output), "{format}");
        let leaves = leaves(&recording);
        assert!(
            leaves["seventy"] > 0 && leaves["thirty"] > 0,
            "{format}: {leaves:?}"
        );
    }
}

#[test]
fn a_name_that_ends_in_gz_is_of_a_compressed_file() {
    let (site, folder) = (site(), Folder::new());
    let (file, other) = (folder.file("a.json.gz"), folder.file("b.folded.gz"));
    let url = site.url("/busy.html?rounds=40&close");
    profile(&["-o", &file, &url]).assert_success();
    Command::start(&["convert", &file, &other])
        .end()
        .assert_success();
    for (file, expected) in [(&file, Format::Firefox), (&other, Format::Collapsed)] {
        let content = fs::read(file).unwrap();
        assert!(content.starts_with(&[0x1f, 0x8b]), "{file}");
        let (recording, format) = read(&content, None, None).unwrap();
        assert_eq!(format, expected);
        let leaves = leaves(&recording);
        assert!(leaves["seventy"] > 0, "{file}: {leaves:?}");
    }
}

#[test]
fn another_interval_than_the_requested_one_is_told() {
    let (site, folder) = (site(), Folder::new());
    let file = folder.file("a.folded");
    let url = site.url("/busy.html?rounds=40&close");
    let output = profile(&["--interval=0.1", "-o", &file, &url]);
    output.assert_success();
    let preference = "--pref js_profiling_base_interval_us=100";
    let told = format!("--interval 0.1: the interval is 1 ms; for 0.1 ms add {preference}\n");
    assert!(output.stderr.contains(&told), "{}", output.stderr);
    assert!(
        output.text().contains(" samples at an interval of 1 ms "),
        "{}",
        output.text()
    );

    let arguments = ["--interval=0.1", "-o", &file, &url].into_iter();
    let arguments: Vec<_> = arguments.chain(preference.split(' ')).collect();
    let output = profile(&arguments);
    output.assert_success();
    assert!(!output.stderr.contains("--interval"), "{}", output.stderr);
    assert!(
        output.text().contains(" samples at an interval of 0.1 ms "),
        "{}",
        output.text()
    );
}

#[test]
fn a_page_that_was_answered_with_an_error_is_told() {
    let (site, folder) = (site(), Folder::new());
    let file = folder.file("a.folded");
    let url = site.url("/not-there.html");
    let output = profile(&["--until-load", "-o", &file, &url]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let told = format!("{url} was answered with the HTTP status 404\n");
    let on_console = format!("warning: {told}");
    assert!(output.text().contains(&on_console), "{}", output.text());
    let as_error = format!("strobe: {told}");
    assert!(output.stderr.contains(&as_error), "{}", output.stderr);
    // The recording was written all the same.
    let written = format!("The profile is in {file}\n");
    assert!(output.text().contains(&written), "{}", output.text());
    assert!(Path::new(&file).exists());

    let output = profile(&["--until-load", "-o", &file, &site.url("/busy.html")]);
    output.assert_success();
    let all = output.text() + &output.stderr;
    assert!(!all.contains("HTTP status"), "{all}");
}

#[test]
fn the_answer_to_the_url_of_the_command_line_decides_about_the_exit_status() {
    let page =
        |script| format!("<!DOCTYPE html>\n<title>A page</title>\n<script>{script}</script>\n");
    let leave = "location = `//localhost:${location.port}/not-there.html`";
    let site = Site::plain()
        .headers_by_query()
        .status("/broken.html", 500)
        .generated("/broken.html", page("location = 'busy.html'"))
        .generated("/leaving.html", page(leave))
        .serve();
    let redirect = path_with_header("/busy.html", "Location", "/not-there.html");
    let folder = Folder::new();
    let file = folder.file("a.folded");
    for (path, until, erroneous, told) in [
        (&*redirect, "--until-load", "/not-there.html", Some(404)),
        // What the page navigates to changes nothing.
        (
            "/broken.html",
            "--until-js=location.pathname === '/busy.html'",
            "/broken.html",
            Some(500),
        ),
        (
            "/leaving.html",
            "--until-js=location.pathname === '/not-there.html'",
            "/not-there.html",
            None,
        ),
        // Nor does a frame.
        (
            "/busy.html?frame=/not-there.html",
            "--until-load",
            "/not-there.html",
            None,
        ),
    ] {
        for processes in [&[][..], &["--multiprocess"]] {
            let (url, before) = (site.url(path), site.requests_for(erroneous));
            let output = profile(&[processes, &[until, "-o", &file, &url]].concat());
            let stderr = &output.stderr;
            assert!(site.requests_for(erroneous) > before, "{path}: {stderr}");
            let expected = i32::from(told.is_some());
            assert_eq!(output.status.code(), Some(expected), "{path}: {stderr}");
            let message =
                |status| format!("strobe: {url} was answered with the HTTP status {status}\n");
            match told.map(message) {
                Some(message) => assert!(stderr.contains(&message), "{stderr}"),
                None => assert!(!stderr.contains("HTTP status"), "{stderr}"),
            }
        }
    }
}

#[test]
fn a_page_that_has_not_come_is_an_error() {
    let folder = Folder::new();
    let file = folder.file("a.folded");
    // It takes connections and never answers.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let output = profile(&["--duration=1", "-o", &file, &url]);
    assert_eq!(output.status.code(), Some(1), "{}", output.stderr);
    let told = format!("cannot load {url}: the recording ended before the page came\n");
    assert!(output.stderr.contains(&told), "{}", output.stderr);
    // The recording was written all the same.
    assert!(Path::new(&file).exists());
}

#[test]
fn on_a_terminal_the_command_that_shows_the_profile_is_told() {
    let (site, folder) = (site(), Folder::new());
    let url = site.url("/busy.html?rounds=40&close");
    let arguments = profile_arguments(&[&url]);
    let output = Command::start_on_terminal(&arguments, folder.0.path(), &[]).end();
    output.assert_success();
    let text = output.text();
    let (_, file) = text.rsplit_once("strobe view ").unwrap();
    let file = file.trim_end();
    assert!(file.ends_with("/strobe-profile.firefox.json"), "{text}");
    assert!(leaves(&recording(file))["seventy"] > 0, "{text}");
}

/// What the command asks a person.
const OFFER: &str = "Open it in the browser now? [y/N] ";

#[test]
fn a_person_at_a_terminal_can_open_the_profile() {
    let (site, folder) = (site(), Folder::new());
    let display = Display::start(1200, 900);
    let environment = [("DISPLAY", display.name())];
    let url = site.url("/busy.html?rounds=40&close");
    let arguments = profile_arguments(&[&url]);
    let asked = || {
        let mut command = Command::start_on_terminal(&arguments, folder.0.path(), &environment);
        command.wait_for_text(OFFER);
        command
    };
    // Enter, n, the end of the input and Ctrl-C.
    for answer in ["\n", "n\n", "\u{4}", "\u{3}"] {
        let mut command = asked();
        command.type_text(answer);
        command.end().assert_success();
    }
    let mut command = asked();
    command.type_text("y\n");
    display.wait_for_window("Profiling");
    // Now it is the browser, which Ctrl-C ends.
    command.type_text("\u{3}");
    command.end().assert_success();
}

#[test]
fn nobody_is_asked_who_cannot_answer() {
    let (site, folder) = (site(), Folder::new());
    let display = Display::start(1200, 900);
    let shown = ("DISPLAY", display.name());
    let url = site.url("/busy.html?rounds=40&close");
    let file = folder.file("a.html");
    let (new, named) = (&[&*url][..], &["-o", &file, &url][..]);
    let unreachable = &["http://127.0.0.1:1/"][..];
    type Start = fn(&[&str], &Path, &[(&str, &str)]) -> Command;
    let (typed, in_script, without): (Start, Start, Start) = (
        Command::start_on_terminal,
        Command::start_in_script,
        Command::start_in,
    );
    for (why, start, arguments, environment, expected) in [
        ("no display", typed, new, &[][..], 0),
        ("CI", typed, new, &[shown, ("CI", "true")][..], 0),
        ("-o", typed, named, &[shown][..], 0),
        ("an error", typed, unreachable, &[shown][..], 1),
        ("a script", in_script, new, &[shown][..], 0),
        ("no terminal", without, new, &[shown][..], 0),
    ] {
        let command = start(&profile_arguments(arguments), folder.0.path(), environment);
        let output = command.end();
        let text = output.text();
        assert_eq!(output.status.code(), Some(expected), "{why}: {text}");
        assert!(text.contains("The profile is in "), "{why}: {text}");
        assert!(!text.contains("[y/N]"), "{why}: {text}");
    }
}

#[test]
fn workers_and_frames_of_other_sites_are_recorded_except_with_main() {
    let (site, other, folder) = (site(), site(), Folder::new());
    // Another site has its own event loop. Another origin of the same site does not.
    let frame = other.url("/busy.html").replace("127.0.0.1", "localhost");
    let url = site.url(&format!("/busy.html?worker&frame={frame}"));
    let all = folder.file("all.firefox.json");
    let until = "rounds >= 40 && workerRounds >= 40 && Object.values(frameRounds)[0] >= 40";
    profile(&["--until-js", until, "-o", &all, &url]).assert_success();
    let all = recording(&all);
    let workers = |recording: &Recording| {
        let event_loops = recording.event_loops();
        event_loops
            .filter(|event_loop| event_loop.kind == EventLoopKind::Worker)
            .count()
    };
    let has = |recording: &Recording, name: &str| {
        let totals = Totals::of(recording);
        totals
            .functions
            .keys()
            .any(|function| function.name == name)
    };
    let scripts_of_frame = |recording: &Recording| {
        let script = frame.replace("busy.html", "busy.js");
        let event_loops = recording.event_loops();
        event_loops
            .filter(|event_loop| event_loop.resources().any(|resource| resource == script))
            .count()
    };
    assert_eq!(workers(&all), 1);
    assert!(has(&all, "turnOfWorker") && has(&all, "turn"));
    assert_eq!(
        scripts_of_frame(&all),
        1,
        "{:?}",
        all.event_loops().map(|one| &one.name).collect::<Vec<_>>()
    );

    let main = folder.file("main.firefox.json");
    profile(&["--event-loops=main", "--until-js", until, "-o", &main, &url]).assert_success();
    let main = recording(&main);
    assert_eq!(workers(&main), 0);
    assert!(has(&main, "turn") && !has(&main, "turnOfWorker"));
    assert_eq!(scripts_of_frame(&main), 1, "a document is not a worker");
}

#[test]
fn a_signal_ends_the_recording_and_saves_it() {
    let (site, folder) = (site(), Folder::new());
    for name in ["INT", "TERM"] {
        let file = folder.file(&format!("{name}.collapsed"));
        let site = site.url("/busy.html");
        // The condition shows that the page runs: the browser prints what the condition throws. Before the page has run its
        // script, `rounds` is not defined, which is another exception.
        let arguments = [
            "--until-js",
            "rounds > 40 && document.querySelector('#none').id",
            "-o",
            &file,
            &site,
        ];
        let mut command = Command::start(&profile_arguments(&arguments));
        command.wait_for_error("not true yet: TypeError");
        command.signal(name);
        let output = command.end();
        output.assert_success();
        // No error of the page: the page's listeners learn nothing of the condition.
        assert!(!output.stderr.contains("error: "), "{}", output.stderr);
        let leaves = leaves(&recording(&file));
        assert!(leaves["seventy"] > 0, "{leaves:?}");
    }
}

/// Records a page whose script links to a map that never comes, and sends these signals one after the other to all processes of
/// the browser, as the terminal's key does. Each is another one, so that none is lost.
fn record_until_signals(options: &[&str], signals: &[&str]) -> (Output, Option<Recording>) {
    let folder = Folder::new();
    // However seldom it gets a processor, it runs for so long.
    let script = "function late() {
          let last = performance.now();
          for (let worked = 0; worked < 60;) {
            const now = performance.now();
            worked += Math.min(now - last, 1);
            last = now;
          }
        }
        late();
        const isDone = true;
        //# sourceMappingURL=/checkpoint/late.map";
    let site = Site::plain()
        .generated("/late.js", script.to_owned())
        .generated(
            "/page.html",
            "<!DOCTYPE html><script src='late.js'></script>".to_owned(),
        )
        .serve();
    let (file, url) = (folder.file("a.html"), site.url("/page.html"));
    let until = "isDone && document.querySelector('#none').id";
    let arguments = [options, &["--until-js", until, "-o", &file, &url]].concat();
    let mut command = Command::start(&profile_arguments(&arguments));
    command.wait_for_error("not true yet: TypeError");
    command.signals(&content_processes(command.id()), signals);
    let output = command.end();
    let is_saved = Path::new(&file).exists();
    (output, is_saved.then(|| recording(&file)))
}

#[test]
fn after_a_signal_no_map_is_waited_for() {
    for signals in [&["INT"][..], &["TERM", "INT"]] {
        let (output, recording) = record_until_signals(&[], signals);
        output.assert_success();
        let told = &output.stderr;
        assert!(
            told.contains("has not confirmed the end of its recording"),
            "{told}"
        );
        assert!(!told.contains("did not come within"), "{told}");
        let leaves = leaves(&recording.expect("it is saved"));
        assert!(leaves["late"] > 0, "{leaves:?}");
    }
}

#[test]
fn two_signals_to_all_processes_lose_nothing() {
    let (output, recording) = record_until_signals(&["--multiprocess"], &["INT", "HUP"]);
    output.assert_success();
    let recording = recording.expect("it is saved");
    let ended: Vec<_> = recording.processes.iter().map(|one| one.ended).collect();
    assert_eq!(ended, [None], "{}", output.text());
    let leaves = leaves(&recording);
    assert!(leaves["late"] > 0, "{leaves:?}");
}

#[test]
fn a_third_signal_ends_the_browser_at_once() {
    let (output, recording) = record_until_signals(&[], &["TERM", "HUP", "INT"]);
    assert_ne!(output.status.signal(), None, "{}", output.stderr);
    assert!(recording.is_none());
}

#[test]
fn a_stretch_in_which_nothing_was_sampled_is_missed_with_its_reason() {
    let _alone = alone();
    const STILL: Duration = Duration::from_millis(800);
    /// Less by what happens between two of the test's own steps.
    const LEAST: u32 = 500;
    let (site, folder) = (site(), Folder::new());
    let file = folder.file("a.html");
    let url = site.url("/busy.html");
    let arguments = [
        "--until-js",
        "rounds > 40 && document.querySelector('#none').id",
        "-o",
        &file,
        &url,
    ];
    let mut command = Command::start(&profile_arguments(&arguments));
    // Before the page has run its script, `rounds` is not defined: a ReferenceError.
    command.wait_for_error("not true yet: TypeError");
    command.signal("STOP");
    thread::sleep(STILL);
    command.signal("CONT");
    thread::sleep(STILL / 4);
    command.signal("INT");
    let output = command.end();
    output.assert_success();
    let recording = recording(&file);
    let page = recording.event_loops().find(|one| one.name.contains(&url));
    let page = page.unwrap_or_else(|| panic!("{}", output.text()));
    let longest = page
        .missed()
        .iter()
        .max_by(|one, other| (one.end - one.start).total_cmp(&(other.end - other.start)))
        .unwrap_or_else(|| panic!("nothing was missed: {}", output.text()));
    assert!(
        longest.end - longest.start >= f64::from(LEAST),
        "{longest:?}; the event loops, and when their first and last samples are: {:?}; {}",
        recording
            .event_loops()
            .map(|one| {
                let ends = [one.samples().first(), one.samples().last()];
                (
                    &one.name,
                    ends.map(|sample| sample.map(|sample| sample.time)),
                )
            })
            .collect::<Vec<_>>(),
        output.text()
    );
    // There is one for each reason.
    let in_stretch = page
        .missed()
        .iter()
        .filter(|missed| missed.start == longest.start);
    let samples: u32 = in_stretch.clone().map(|missed| missed.samples).sum();
    let late: u32 = in_stretch
        .filter(|missed| missed.why == MissedReason::SamplerLate)
        .map(|missed| missed.samples)
        .sum();
    assert!(late >= LEAST, "{:?}", page.missed());
    // Ticks are a millisecond apart on the average. Their number varies by some 7.
    let most = longest.end - longest.start + 40.;
    assert!(f64::from(samples) <= most, "{:?}", page.missed());
    let is_inside = |time: f64| longest.start < time && time < longest.end;
    assert!(!page.samples().iter().any(|sample| is_inside(sample.time)));
    let told = format!(" {}", MissedReason::SamplerLate.as_str());
    assert!(output.text().contains(&told), "{}", output.text());
}

#[test]
fn a_load_ends_the_recording() {
    let (site, folder) = (site(), Folder::new());
    let file = folder.file("a.html");
    let output = profile(&["--until-load", "-o", &file, &site.url("/busy.html")]);
    output.assert_success();
    // The page never stops working.
    let names = leaves(&recording(&file));
    assert!(told_samples(&output) > 0, "{}", output.text());
    assert!(!names.is_empty(), "{}", output.text());
}

#[test]
fn standard_output_is_for_the_profile_alone() {
    let (site, folder) = (site(), Folder::new());
    let output = profile(&[
        "--format=speedscope",
        "-o",
        "-",
        &site.url("/busy.html?rounds=40&close"),
    ]);
    output.assert_success();
    let (recording, format) = read(&output.stdout, None, None).unwrap();
    assert_eq!(format, Format::Speedscope);
    assert!(leaves(&recording)["seventy"] > 0);
    assert!(
        output.stderr.contains("samples at an interval"),
        "{}",
        output.stderr
    );
    assert!(folder.is_empty());
}

#[test]
fn errors_are_reported_and_the_recording_is_kept() {
    let (site, folder) = (site(), Folder::new());
    let file = folder.file("a.collapsed");
    let fails = |arguments: &[&str], status: i32, parts: &[&str]| {
        let output = profile(arguments);
        assert_eq!(output.status.code(), Some(status), "{}", output.stderr);
        for part in parts {
            assert!(output.stderr.contains(part), "{part}: {}", output.stderr);
        }
        output
    };
    let busy = site.url("/busy.html");
    fails(&["-o", &file], 2, &["URL"]);
    fails(&["--interval=0", &busy], 2, &["'0'", "above 0"]);
    fails(
        &["-o", &folder.file("none/a.html"), &busy],
        2,
        &["none/a.html", "does not exist"],
    );
    fails(
        &["--duration=1", "--until-load", &busy],
        2,
        &["--duration", "--until-load"],
    );
    assert!(folder.is_empty());

    let unreachable = "http://127.0.0.1:1/";
    fails(
        &["-o", &file, unreachable],
        1,
        &["cannot load", unreachable],
    );
    // The recording was written all the same.
    assert!(Path::new(&file).exists());

    fails(
        &["--until-js", "rounds >", "-o", &file, &busy],
        1,
        &["--until-js rounds >", "not a valid JavaScript expression"],
    );
    // A file that can be opened, but only written to up to a point.
    let output = fails(
        &[
            "--format=collapsed",
            "-o",
            "/dev/full",
            &site.url("/busy.html?rounds=40&close"),
        ],
        1,
        &["/dev/full: No space left", "the recording was saved in "],
    );
    let (_, kept) = output
        .stderr
        .split_once("the recording was saved in ")
        .unwrap();
    let kept = kept.lines().next().unwrap();
    assert!(kept.ends_with(".collapsed"), "{kept}");
    let leaves = leaves(&recording(kept));
    fs::remove_file(kept).unwrap();
    assert!(leaves["seventy"] > 0, "{leaves:?}");
}

/// A page has crashed if its process is gone.
#[test]
fn the_recording_of_a_page_that_crashes_is_saved() {
    let folder = Folder::new();
    let file = folder.file("a.firefox.json");
    let script = "function turn() {
          busy();
          if (rounds === 40) {
            console.log('at work');
          }
          setTimeout(turn);
        }
        turn();";
    let page = format!("<!DOCTYPE html><script src='busy.js'></script><script>{script}</script>");
    let site = Site::plain().generated("/page.html", page).serve();
    let url = site.url("/page.html");
    let display = Display::start(800, 600);
    let arguments = ["profile", "--multiprocess", "--duration=3600"];
    let arguments = [&arguments[..], &["-o", &file, &url]].concat();
    let mut window = BrowserWindow::open(&display, &arguments, &[]);
    window.wait_for_line("log: at work");
    let processes = window.process().children();
    let [crashing] = processes[..] else {
        panic!("{processes:?}");
    };
    signal(crashing, "KILL");
    // Servo notices it when it cannot send the page such a message. A process that is just ending may still get one.
    let told = format!("strobe: {url} crashed: ");
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while !window.lines().iter().any(|line| line.starts_with(&told)) {
        assert!(Instant::now() < deadline, "{:?}", window.lines());
        window.key("F5");
        thread::sleep(RETRY_INTERVAL);
    }
    let (status, console) = window.end();
    assert_eq!(status.code(), Some(1), "{console}");
    let recording = recording(&file);
    let ended = recording
        .processes
        .iter()
        .filter(|process| process.ended.is_some());
    let pids: Vec<_> = ended.map(|process| process.pid).collect();
    assert_eq!(pids, [Some(crashing)], "{console}");
    let leaves = leaves(&recording);
    assert!(leaves["seventy"] > 0, "{leaves:?}");
}

#[test]
fn processes_are_recorded_together_and_each_until_it_dies() {
    let _alone = alone();
    let folder = Folder::new();
    let file = folder.file("a.firefox.json");
    let (hosts, site) = (Hosts::new(), site());
    let frames: Vec<_> = Hosts::NAMES[1..]
        .iter()
        .map(|host| format!("frame={}", hosts.url(&site, host, "/busy.html")))
        .collect();
    let url = hosts.url(
        &site,
        Hosts::NAMES[0],
        &format!("/busy.html?{}", frames.join("&")),
    );
    // The condition throws once when all of them work. It is true when one has fallen far behind the others since then. They
    // begin to work at different times.
    let until = "(() => {
        const rounds_of_all = [rounds, ...Object.values(frameRounds)];
        if (window.told === undefined && rounds_of_all.length === 4 && Math.min(...rounds_of_all) >= 20) {
            window.told = rounds_of_all;
            throw new Error('all four work');
        }
        if (window.told === undefined) {
            return false;
        }
        const since = rounds_of_all.map((rounds, index) => rounds - told[index]).sort((a, b) => a - b);
        return since[1] >= since[0] + 200;
    })()";
    let arguments = ["--multiprocess", "--until-js", until, "-o", &file, &url];
    let mut command = Command::start_with(&profile_arguments(&arguments), &[hosts.variable()]);
    command.wait_for_error("all four work");
    let processes = content_processes(command.id());
    assert_eq!(processes.len(), 4, "one for each site");
    // The newest process is not the page's own.
    let killed = *processes.iter().max().unwrap();
    signal(killed, "KILL");
    let output = command.end();

    let recording = recording(&file);
    let totals = Totals::of(&recording);
    assert_eq!(told_samples(&output), totals.samples);
    let processes: Vec<_> = recording
        .processes
        .iter()
        .filter(|process| !process.event_loops.is_empty())
        .collect();
    assert_eq!(processes.len(), 4, "{}", output.text());
    let last = |process: &Process| {
        let samples = process.event_loops.iter().flat_map(EventLoop::samples);
        samples.map(|sample| sample.time).fold(0., f64::max)
    };
    for process in &processes {
        let is_killed = process.pid == Some(killed);
        assert_eq!(process.ended.is_some(), is_killed, "{}", output.text());
        let of_process = Recording {
            recorded_by: None,
            processes: vec![(*process).clone()],
            ..recording
        };
        let leaves = leaves(&of_process);
        assert!(leaves["seventy"] > 0, "{:?}: {leaves:?}", process.pid);
        if let Some(ended) = process.ended {
            assert!(last(process) <= ended, "{ended}");
            assert!(processes.iter().all(|other| last(other) >= last(process)));
        }
    }
    assert!(
        output.text().contains("which ended at"),
        "{}",
        output.text()
    );
}

#[test]
fn a_recording_whose_page_has_lost_its_process_ends_and_is_saved() {
    let site = site();
    let folder = Folder::new();
    let file = folder.file("a.firefox.json");
    let url = site.url("/busy.html");
    // Its process has reported by then, which it does each 250 ms.
    let until = "(() => { if (rounds >= 200) { throw new Error('it works'); } return false; })()";
    let arguments = ["--multiprocess", "--until-js", until, "-o", &file, &url];
    let mut command = Command::start(&profile_arguments(&arguments));
    command.wait_for_error("it works");
    let [process] = content_processes(command.id())[..] else {
        panic!("there is not one process");
    };
    signal(process, "KILL");
    let output = command.end();
    assert_eq!(output.status.code(), Some(1), "{}", output.text());
    assert!(
        output.stderr.contains("the page's process has ended"),
        "{}",
        output.stderr
    );
    let recording = recording(&file);
    assert!(leaves(&recording)["seventy"] > 0);
}

#[test]
fn processes_are_browsed_profiled_and_driven() {
    let (hosts, site) = (Hosts::new(), site());
    let driver = Driver::start_with(&["--multiprocess"], &[hosts.variable()]);
    driver.open(&hosts.url(&site, Hosts::NAMES[0], "/driven.html"));
    driver.click("#button");
    assert_eq!(driver.execute("return clicks;"), 1);
    driver.open(&hosts.url(&site, Hosts::NAMES[1], "/busy.html"));
    let busy = driver.get("/window").unwrap();
    driver.switch_to(&driver.new_tab());
    driver.open("about:profiling");
    let recording = driver.execute(
        "const token = document.querySelector('meta[name=profiling-token]').content;
        async function ask(request) {
            const response = await fetch(`profiling:${request}token=${token}`);
            return response.json();
        }
        const { processes } = await ask('status?');
        await ask('start?interval=1&');
        let samples = 0;
        while (samples < 200) {
            await new Promise(resolve => setTimeout(resolve, 20));
            samples = (await ask('status?')).recording.samples;
        }
        const { recording } = await ask('stop?');
        return { processes, recording: await ask(`recording?id=${recording}&`) };",
    );
    // about:profiling does not share its process with any other page.
    let event_loops = recording["processes"].as_array().unwrap().iter();
    let ours: Vec<_> = event_loops
        .flat_map(|process| process["eventLoops"].as_array().unwrap())
        .filter(|event_loop| {
            let documents = event_loop["documents"].as_array().unwrap();
            documents.contains(&json!("about:profiling"))
        })
        .collect();
    assert_eq!(ours.len(), 1, "{recording}");
    assert_eq!(ours[0]["documents"], json!(["about:profiling"]));
    let recorded = &recording["recording"]["processes"];
    let names: Vec<_> = recorded
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|process| process["eventLoops"].as_array().unwrap())
        .flat_map(|event_loop| event_loop["functions"]["name"].as_array().unwrap())
        .collect();
    assert!(names.contains(&&json!("loop")), "{names:?}");
    driver.switch_to(&busy);
    assert!(driver.execute("return rounds;").as_u64().unwrap() > 0);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn processes_end_with_a_browser_that_is_killed() {
    let folder = Folder::new();
    let site = site();
    let url = site.url("/busy.html");
    let arguments = [
        "--multiprocess",
        "--until-js",
        "document.querySelector('#none').id",
        "-o",
        &folder.file("a.html"),
        &url,
    ];
    let mut command = Command::start(&profile_arguments(&arguments));
    command.wait_for_error("not true yet");
    let processes = content_processes(command.id());
    assert_eq!(processes.len(), 1);
    command.signal("KILL");
    let is_there = |process: &u32| {
        let name = fs::read_to_string(format!("/proc/{process}/cmdline"));
        name.is_ok_and(|name| name.contains("--content-process"))
    };
    let deadline = Instant::now() + Duration::from_secs(30);
    while processes.iter().any(is_there) && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
    }
    let left: Vec<_> = processes.into_iter().filter(is_there).collect();
    // They would keep the pipes of the browser's output open.
    for process in &left {
        signal(*process, "KILL");
    }
    assert!(!command.end().status.success());
    assert_eq!(left, [0; 0]);
}

#[test]
fn an_unavailable_sandbox_is_refused() {
    let (status, console) = run_browser(&["--headless", "--sandbox", "about:blank"], &[]);
    assert_eq!(status.code(), Some(2), "{console}");
    assert!(console.contains("--multiprocess"), "{console}");
    let arguments = ["--headless", "--multiprocess", "--sandbox", "about:blank"];
    let (status, console) = run_browser(&arguments, &[]);
    assert_eq!(status.code(), Some(2), "{console}");
    assert!(console.contains("prlimit64"), "{console}");
}

/// The content processes of a browser.
fn content_processes(browser: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| {
            let id = process.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(process.path().join("stat")).ok()?;
            // The state and the parent follow the name, which may contain anything.
            let (_, behind_name) = stat.rsplit_once(") ")?;
            let parent: u32 = behind_name.split(' ').nth(1)?.parse().ok()?;
            let command = fs::read_to_string(process.path().join("cmdline")).ok()?;
            (parent == browser && command.contains("--content-process")).then_some(id)
        })
        .collect()
}
