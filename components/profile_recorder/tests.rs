/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Recordings of several processes: this program again, whose processes report as they are told to.

use std::fs::{self, DirEntry};
use std::io::{Read, Write};
use std::num::{NonZeroU32, NonZeroU64};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::os::unix::process::parent_id;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{env, thread};

use crossbeam_channel::{RecvTimeoutError, bounded, unbounded};
use js_profiler_traits::recording::{
    Chunk, Description, EventLoopKind, EventLoopStatus, LeftOut, LinkedMap, MAX_MAP_BYTES,
    MAX_MAPS_BYTES, MAX_SOURCE_BYTES, MAX_SOURCES_BYTES, PageAnswer, RecordedFrame,
    RecordedFunction, RecordedFunctionKind, RecordedSample, RecordedSource, RecordingId, Report,
    Request, Selection,
};
use js_profiler_traits::{EventLoopId, Marker, SampleCounts, Stack};
use profile_formats::{Deadline, Program, RecordedBy, Recording};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, SerializeTuple, Serializer};
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::{BrowsingContextId, Index, TEST_NAMESPACE, WebViewId};

use crate::connection::{self, Connected, Sender};
use crate::recorder::Recorder;
use crate::{BrowserEventLoopId, EventLoops, Options, ProcessStatus, StartError, Status, Wanted};

/// Says what a process of this program is to report.
const VARIABLE: &str = "STROBE_TEST_PROCESS";

/// Says to which process it is to connect, if not its parent.
const BROWSER: &str = "STROBE_TEST_BROWSER";

/// A sample again and again.
const SAMPLES: &str = "samples";
/// A sample, and then one with a stack that is not there.
const NONSENSE: &str = "nonsense";
/// A sample, and then those of a recording that nobody has asked for.
const FORGED: &str = "forged";
/// A sample, and then bytes that are not a report: those with this index in [`GARBAGE`].
const GARBAGE_PREFIX: &str = "garbage ";

/// What a compromised process might send: nothing, a report of no kind, and reports of each kind that end
/// too early, or say that more follows than any memory holds.
const GARBAGE: [&[u8]; 13] = [
    &[],
    &[0xFF; 64],
    &[0],
    &[1],
    &[2],
    &[3],
    &[4],
    &[5],
    &[6],
    &[7],
    &[0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F],
    &[0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
    &[3, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
];

/// Is sent over a channel as exactly these bytes.
struct Raw(&'static [u8]);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = serializer.serialize_tuple(self.0.len())?;
        for byte in self.0 {
            bytes.serialize_element(byte)?;
        }
        bytes.end()
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("it is only sent"))
    }
}
/// A sample, and then a report that there are no more, with far too much text.
const FAILURE: &str = "failure";

/// A sample, then the text of its function's script, and reports that other texts are left out.
const SOURCES: &str = "sources";
/// As [`SOURCES`], with more text than a recording takes.
const MUCH_TEXT: &str = "much text";
/// As [`SOURCES`], with more source maps than a recording takes.
const MANY_MAPS: &str = "many maps";

/// A sample, and then how pages were answered, more than are kept.
const ANSWERS: &str = "answers";

/// The script of the processes that report its text.
const SCRIPT: &str = "function f() {}";

fn this_browser() -> RecordedBy {
    let program = |name| Program::new(name, Some("1.2")).unwrap();
    RecordedBy::new(program("a browser"), vec![program("an engine")]).unwrap()
}

/// The browser's recorder: there is one in a process.
static RECORDER: LazyLock<Recorder> = LazyLock::new(|| {
    let recorder = Recorder::new(this_browser());
    recorder
        .listen()
        .expect("nobody else has a name that cannot be guessed");
    recorder
});

/// Tests with sockets run one at a time, for some count them.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn recorder() -> (&'static Recorder, MutexGuard<'static, ()>) {
    let guard = one_at_a_time();
    // What a test that failed has left.
    let _ = RECORDER.stop();
    // A process is gone a moment before the thread that read from it.
    wait_until(|| held().0 == 0);
    (&RECORDER, guard)
}

struct Process(Child);

impl Process {
    /// Starts a process, and waits until it has connected.
    fn start(behaviour: &str) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "tests::content_process", "--ignored"])
            .env(VARIABLE, behaviour)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let process = Self(child);
        wait_until(|| process.status().is_some());
        process
    }

    fn id(&self) -> u32 {
        self.0.id()
    }

    fn status(&self) -> Option<ProcessStatus> {
        let Status { processes } = RECORDER.status();
        processes.into_iter().find(|other| other.pid == self.id())
    }

    fn event_loop(&self) -> BrowserEventLoopId {
        BrowserEventLoopId {
            process: self.id(),
            event_loop: 7,
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
        wait_until(|| self.status().is_none_or(|status| status.gone));
    }
}

/// What has not happened within this time will not happen.
const FOREVER: Duration = Duration::from_secs(60);

/// Waits until the condition is true. Fails at the caller's line if it does not become true.
#[track_caller]
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        let held = held();
        assert!(
            start.elapsed() < FOREVER,
            "the condition is still false; threads and sockets held: {held:?}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

fn options(event_loops: EventLoops) -> Options {
    Options {
        interval: Duration::from_millis(1),
        event_loops,
        kept: Wanted::default(),
        sources: false,
        linked_maps: false,
    }
}

fn samples(recorder: &Recorder) -> u64 {
    recorder.progress().unwrap().samples
}

fn wait_for_more_samples(recorder: &Recorder, number: u64) {
    let awaited = samples(recorder) + number;
    wait_until(|| samples(recorder) >= awaited);
}

fn process<'a>(recording: &'a Recording, process: &Process) -> &'a profile_formats::Process {
    let mut processes = recording.processes.iter();
    processes
        .find(|other| other.pid == Some(process.id()))
        .unwrap()
}

fn samples_of(process: &profile_formats::Process) -> &[profile_formats::Sample] {
    let [event_loop] = &process.event_loops[..] else {
        panic!("{process:?}");
    };
    assert_eq!(event_loop.name, "Page https://a.example/");
    for sample in event_loop.samples() {
        let [leaf] = event_loop.frames_of(sample.stack)[..] else {
            panic!("{sample:?}");
        };
        assert_eq!(event_loop.function_of(leaf).name, "f");
    }
    event_loop.samples()
}

#[test]
#[ignore = "A process of other tests"]
fn content_process() {
    let behaviour = env::var(VARIABLE).expect("other tests run this one");
    let connected = connection::connect().unwrap();
    let first = connected.first_request().unwrap();
    let Request::SetPreferences(preferences) = first else {
        panic!("{first:?}");
    };
    assert_eq!(preferences, js_profiler_traits::preferences::all());
    let (sender, requests) = unbounded();
    let Connected {
        requests: received,
        reports,
    } = connected;
    thread::spawn(move || {
        while let Ok(request) = received.receive() {
            sender.send(request).unwrap();
        }
    });
    let mut recorded = None;
    loop {
        let new = match requests.recv_timeout(Duration::from_millis(5)) {
            Ok(request) => answer(request, &mut recorded),
            Err(RecvTimeoutError::Timeout) => recorded.iter_mut().map(Recorded::sample).collect(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        for report in new {
            let first = match &report {
                Report::Chunk(chunk) if chunk.new_tables => {
                    Some((chunk.recording, chunk.event_loop))
                },
                _ => None,
            };
            if report_or_nonsense(&reports, &behaviour, report).is_none() {
                return;
            }
            if let Some((recording, event_loop)) = first
                && (report_sources(&reports, &behaviour, recording, event_loop).is_none()
                    || report_answers(&reports, &behaviour, recording).is_none())
            {
                return;
            }
        }
    }
}

fn report_or_nonsense(reports: &Sender<Report>, behaviour: &str, report: Report) -> Option<()> {
    if let Report::Chunk(chunk) = &report
        && !chunk.new_tables
        && let Some(number) = behaviour.strip_prefix(GARBAGE_PREFIX)
    {
        let garbage = Raw(GARBAGE[number.parse::<usize>().unwrap()]);
        return reports.clone().of::<Raw>().send(&garbage).ok();
    }
    let report = match report {
        Report::Chunk(mut chunk) if behaviour == FORGED && !chunk.new_tables => {
            chunk.recording = RecordingId(u64::MAX);
            Report::Chunk(chunk)
        },
        Report::Chunk(mut chunk) if behaviour == NONSENSE && !chunk.new_tables => {
            chunk.samples[0].stack = Some(1);
            Report::Chunk(chunk)
        },
        Report::Chunk(chunk) if behaviour == FAILURE && !chunk.new_tables => Report::Failed {
            recording: chunk.recording,
            event_loop: chunk.event_loop,
            why: format!("it broke{}", "!".repeat(1_000_000)),
        },
        report => report,
    };
    reports.send(&report).ok()
}

/// Reports texts of scripts, if the process is one that does.
fn report_sources(
    reports: &Sender<Report>,
    behaviour: &str,
    recording: RecordingId,
    event_loop: EventLoopId,
) -> Option<()> {
    if ![SOURCES, MUCH_TEXT, MANY_MAPS].contains(&behaviour) {
        return Some(());
    }
    let source = |id, text: String| Report::Source {
        recording,
        event_loop,
        source: Box::new(RecordedSource {
            id,
            name: "https://a.example/a.js".to_owned(),
            line: 3,
            column: 1,
            text: Some(text),
            map_url: None,
        }),
    };
    let left_out = |recording, why, names: &[&str]| Report::SourcesLeftOut {
        recording,
        event_loop,
        why,
        count: 2,
        names: names.iter().map(|&name| name.to_owned()).collect(),
    };
    let mut all = vec![source(1, SCRIPT.to_owned())];
    if behaviour == MUCH_TEXT {
        let text = "x".repeat(MAX_SOURCE_BYTES);
        all.extend((2..6).map(|id| source(id, text.clone())));
    }
    if behaviour == MANY_MAPS {
        all.extend((2..7).map(|id| source(id, id.to_string())));
    }
    if behaviour == MANY_MAPS || behaviour == SOURCES {
        let (count, length) = match behaviour {
            SOURCES => (1, 2),
            _ => (6, MAX_MAP_BYTES),
        };
        all.extend((0..count).map(|number| Report::Map {
            recording,
            event_loop,
            map: Box::new(LinkedMap {
                // From the last one on.
                sources: vec![count - number],
                url: "https://a.example/a.map".to_owned(),
                content: Ok(" ".repeat(length)),
            }),
        }));
    }
    let long_name = "n".repeat(1_000);
    all.extend([
        left_out(recording, LeftOut::Gone, &[]),
        left_out(recording, LeftOut::TooLong, &[&long_name]),
        left_out(recording, LeftOut::TooLong, &["b.js"; 7]),
        left_out(RecordingId(u64::MAX), LeftOut::Busy, &[]),
    ]);
    all.iter().try_for_each(|report| reports.send(report)).ok()
}

/// Reports how pages were answered, if the process is one that does.
fn report_answers(reports: &Sender<Report>, behaviour: &str, recording: RecordingId) -> Option<()> {
    if behaviour != ANSWERS {
        return Some(());
    }
    let another = RecordingId(u64::MAX);
    let some = [
        (another, 1, Some(500)),
        (recording, 1, None),
        (recording, 1, Some(404)),
        (recording, 2, Some(404)),
        (recording, 2, None),
    ];
    let many = (3..=1_001).map(|number| (recording, number, Some(503)));
    for (recording, number, http_error) in some.into_iter().chain(many) {
        let answer = PageAnswer {
            webview: webview(number),
            http_error,
        };
        let report = Report::PageAnswer { recording, answer };
        reports.send(&report).ok()?;
    }
    Some(())
}

fn webview(number: u32) -> WebViewId {
    WebViewId::mock_for_testing(BrowsingContextId {
        namespace_id: TEST_NAMESPACE,
        index: Index::new(number).unwrap(),
    })
}

/// The recording of a process.
struct Recorded {
    recording: RecordingId,
    taken: u64,
}

fn answer(request: Request, recorded: &mut Option<Recorded>) -> Vec<Report> {
    match request {
        Request::SetPreferences(_) => panic!("that is the first request"),
        Request::Start(options) => {
            let is_wanted = match options.event_loops {
                Selection::All | Selection::Main => true,
                Selection::These { event_loops, .. } => event_loops.contains(&EventLoopId(7)),
            };
            *recorded = is_wanted.then_some(Recorded {
                recording: options.id,
                taken: 0,
            });
            recorded.iter_mut().map(Recorded::sample).collect()
        },
        Request::EndEventLoop {
            recording,
            event_loop,
        } => {
            assert_eq!(event_loop, EventLoopId(7));
            recorded.take_if(|recorded| recorded.recording == recording);
            Vec::new()
        },
        Request::Stop(id) => {
            let last = recorded.take_if(|recorded| recorded.recording == id);
            let last = last.map(|mut last| last.last_sample());
            last.into_iter().chain([Report::Stopped(id)]).collect()
        },
        Request::EndSampling => Vec::new(),
        Request::Status { number } => vec![Report::Status {
            number,
            event_loops: vec![EventLoopStatus {
                id: EventLoopId(7),
                description: description(),
                without_stacks: None,
                sessions: Vec::new(),
                memory: memory(recorded.is_some()),
            }],
        }],
    }
}

/// The memory of the event loop, which is more while it is recorded.
fn memory(is_recorded: bool) -> u64 {
    1 + u64::from(is_recorded)
}

fn description() -> Description {
    Description {
        kind: EventLoopKind::Page,
        name: String::new(),
        urls: vec!["https://a.example/".to_owned()],
    }
}

/// How many samples are reported as missed at the end of a recording.
const MISSED_AT_END: u64 = 7;

impl Recorded {
    /// The last sample of a recording. Some after it were missed.
    fn last_sample(&mut self) -> Report {
        let mut report = self.sample();
        if let Report::Chunk(chunk) = &mut report {
            chunk.counts.missed = MISSED_AT_END;
        }
        report
    }

    /// A sample, with the tables if it is the first.
    fn sample(&mut self) -> Report {
        let is_first = self.taken == 0;
        self.taken += 1;
        Report::Chunk(Box::new(Chunk {
            recording: self.recording,
            event_loop: EventLoopId(7),
            description: is_first.then(description),
            new_tables: is_first,
            resources: Vec::new(),
            realms: Vec::new(),
            functions: Vec::from_iter(is_first.then(|| RecordedFunction {
                name: "f".to_owned(),
                kind: RecordedFunctionKind::Script,
                resource: None,
                line: Some(3),
                column: Some(10),
                realm: None,
                source: Some(1),
            })),
            frames: Vec::from_iter(is_first.then_some(RecordedFrame {
                function: 0,
                position: None,
            })),
            missed: Vec::new(),
            stacks: Vec::from_iter(is_first.then_some(Stack {
                parent_id: None,
                frame_id: 0,
            })),
            samples: vec![RecordedSample {
                time: CrossProcessInstant::now(),
                stack: Some(0),
                marker: Some(Marker::Script),
            }],
            counts: SampleCounts {
                taken: self.taken,
                ..SampleCounts::default()
            },
        }))
    }
}

#[test]
fn a_process_that_is_killed_leaves_what_it_has_reported_and_all_of_the_others() {
    let (recorder, _guard) = recorder();
    let mut processes = [SAMPLES; 4].map(Process::start);
    recorder.start(options(EventLoops::All)).unwrap();
    assert_eq!(
        recorder.start(options(EventLoops::All)),
        Err(StartError::Recording)
    );
    wait_until(|| recorder.progress().unwrap().event_loops == 4);
    wait_for_more_samples(recorder, 20);
    processes[1].0.kill().unwrap();
    wait_until(|| processes[1].status().unwrap().gone);
    wait_for_more_samples(recorder, 20);
    assert!(recorder.progress().unwrap().memory > 0);
    let recording = recorder.stop().unwrap();
    assert_eq!(recorder.stop(), None);
    assert_eq!(recorder.progress(), None);
    // What comes when the recording is asked to end belongs to it.
    let last = recorder.last_progress().unwrap();
    let samples = recording.processes.iter().map(|one| samples_of(one).len());
    assert_eq!(last.samples, samples.sum::<usize>() as u64);
    assert_eq!((last.event_loops, last.missed), (4, 3 * MISSED_AT_END));

    assert_eq!(recording.interval, 1.);
    assert_eq!(recording.recorded_by, Some(this_browser()));
    assert_eq!(recording.processes.len(), 4);
    let last = |one: &profile_formats::Process| samples_of(one).last().unwrap().time;
    let killed = process(&recording, &processes[1]);
    assert!(last(killed) <= killed.ended.unwrap());
    for alive in [0, 2, 3] {
        let alive = process(&recording, &processes[alive]);
        assert_eq!(alive.ended, None);
        assert!(last(alive) > last(killed));
        assert!(samples_of(alive)[0].time >= 0.);
    }
    assert!(processes[1].status().is_none(), "nothing is left of it");
    assert!(!processes[2].status().unwrap().gone);
}

#[test]
fn a_process_that_reports_nonsense_is_cut_off_and_keeps_what_was_sound() {
    let (recorder, _guard) = recorder();
    let (sound, unsound) = (Process::start(SAMPLES), Process::start(NONSENSE));
    recorder.start(options(EventLoops::All)).unwrap();
    wait_until(|| unsound.status().unwrap().gone);
    wait_for_more_samples(recorder, 5);
    let recording = recorder.stop().unwrap();
    assert_eq!(samples_of(process(&recording, &unsound)).len(), 1);
    assert!(process(&recording, &unsound).ended.is_some());
    assert!(samples_of(process(&recording, &sound)).len() > 5);
}

#[test]
fn what_could_not_be_recorded_to_the_end_is_told_until_the_next_recording() {
    let (recorder, _guard) = recorder();
    let (sound, failing) = (Process::start(SAMPLES), Process::start(FAILURE));
    recorder.start(options(EventLoops::All)).unwrap();
    wait_until(|| !recorder.failures().is_empty());
    wait_for_more_samples(recorder, 5);
    let recording = recorder.stop().unwrap();
    assert_eq!(samples_of(process(&recording, &failing)).len(), 1);
    assert!(samples_of(process(&recording, &sound)).len() > 5);
    // It reports it again and again.
    let [failure] = &recorder.failures()[..] else {
        panic!("{:?}", recorder.failures());
    };
    let beginning = format!(
        "Event loop {}, {} was not recorded to the end: it broke!",
        failing.event_loop(),
        description().label()
    );
    assert!(failure.starts_with(&beginning), "{failure}");
    assert!(failure.len() < 1_000);

    drop(failing);
    recorder.start(options(EventLoops::All)).unwrap();
    assert!(recorder.failures().is_empty());
    recorder.stop().unwrap();
}

#[test]
fn nobody_waits_for_a_process_that_is_late_once_it_is_over() {
    let _guard = one_at_a_time();
    let (go_on, when_to_go_on) = bounded::<()>(0);
    // Each end is late until the channel is closed, or for as long as nobody would wait.
    let (ended, ends) = unbounded();
    let serve = move |request, reports: &crossbeam_channel::Sender<_>| {
        if let Request::Stop(id) = request {
            let told = when_to_go_on.recv_timeout(FOREVER);
            reports.send(Report::Stopped(id)).unwrap();
            ended
                .send(told == Err(RecvTimeoutError::Disconnected))
                .unwrap();
        }
    };
    let recorder = Recorder::of_process(this_browser(), Arc::new(serve));
    for _ in 0..2 {
        recorder.start(options(EventLoops::All)).unwrap();
        assert!(recorder.stop_unless(|| true).is_some());
        let notices = recorder.notices();
        assert_eq!(notices.len(), 1, "{notices:?}");
        assert!(
            notices[0].contains("has not confirmed the end of its recording"),
            "{notices:?}"
        );
    }
    recorder.start(options(EventLoops::All)).unwrap();
    drop(go_on);
    assert!(recorder.stop().is_some());
    assert!(recorder.notices().is_empty(), "{:?}", recorder.notices());
    assert!(ends.iter().take(3).all(|was_told| was_told));
}

#[test]
fn the_first_answer_for_a_web_view_counts_until_the_next_recording() {
    let (recorder, _guard) = recorder();
    let process = Process::start(ANSWERS);
    recorder.start(options(EventLoops::All)).unwrap();
    // All but the first of them come after the answers.
    wait_for_more_samples(recorder, 5);
    recorder.stop().unwrap();
    for (number, expected) in [
        (1, None),
        (2, Some(404)),
        (3, Some(503)),
        (1_000, Some(503)),
        (1_001, None),
    ] {
        assert_eq!(recorder.http_error(webview(number)), expected, "{number}");
    }

    drop(process);
    recorder.start(options(EventLoops::All)).unwrap();
    assert_eq!(recorder.http_error(webview(2)), None);
    recorder.stop().unwrap();
}

fn with_sources() -> Options {
    Options {
        sources: true,
        linked_maps: true,
        ..options(EventLoops::All)
    }
}

#[test]
fn the_texts_of_scripts_are_in_the_recording_and_what_is_left_out_is_told() {
    let (recorder, _guard) = recorder();
    let (with_text, without) = (Process::start(SOURCES), Process::start(SAMPLES));
    recorder.start(with_sources()).unwrap();
    wait_until(|| recorder.progress().unwrap().event_loops == 2);
    wait_for_more_samples(recorder, 20);
    let recording = recorder.stop().unwrap();
    let function = |of: &Process| {
        let [event_loop] = &process(&recording, of).event_loops[..] else {
            panic!("{recording:?}");
        };
        let [function] = &event_loop.functions().collect::<Vec<_>>()[..] else {
            panic!("{event_loop:?}");
        };
        let source = function.source.map(|id| event_loop.source(id).clone());
        let url = event_loop.resource_of(function).map(str::to_owned);
        (function.line.map(NonZeroU32::get), url, source)
    };
    let (line, url, source) = function(&with_text);
    let source = source.unwrap();
    assert_eq!(source.text.as_deref(), Some(SCRIPT));
    assert_eq!((source.line.get(), source.column.get()), (3, 1));
    // It was made from text, so its function has no other place.
    assert_eq!(url.as_deref(), Some("https://a.example/a.js"));
    assert_eq!(line, Some(3));
    // A line means nothing without its text.
    assert_eq!(function(&without), (None, None, None));

    // The one that came is empty.
    let notices = profile_formats::apply_own_maps(&mut recording.clone(), &Deadline::none());
    let [notice] = &notices[..] else {
        panic!("{notices:?}");
    };
    assert!(notice.to_string().contains("is empty"), "{notice}");
    let [too_long, gone] = &recorder.notices()[..] else {
        panic!("{:?}", recorder.notices());
    };
    let beginning = format!(
        "Event loop {}, Page https://a.example/: ",
        with_text.event_loop()
    );
    for (notice, end) in [
        (too_long, "b.js, b.js, b.js, b.js)."),
        (gone, "the engine has discarded the scripts."),
    ] {
        assert!(notice.starts_with(&beginning), "{notice}");
        assert!(notice.ends_with(end), "{notice}");
    }
    assert!(
        too_long.contains("the texts of 4 scripts") && too_long.len() < 500,
        "{too_long}"
    );
    recorder.start(options(EventLoops::All)).unwrap();
    assert!(recorder.notices().is_empty());
    recorder.stop().unwrap();
}

#[test]
fn texts_that_are_too_much_are_left_out() {
    let (recorder, _guard) = recorder();
    let process = Process::start(MUCH_TEXT);
    recorder.start(with_sources()).unwrap();
    wait_for_more_samples(recorder, 20);
    let memory = recorder.progress().unwrap().memory;
    recorder.stop().unwrap();
    assert!(memory < MAX_SOURCES_BYTES as u64 + (1 << 20), "{memory}");
    let notices = recorder.notices();
    let is_told = |notice: &String| notice.contains("longer than 64 MiB (https://a.example/a.js)");
    assert!(notices.iter().any(is_told), "{notices:?}");
    drop(process);
}

#[test]
fn maps_that_are_too_much_are_told() {
    let (recorder, _guard) = recorder();
    let process = Process::start(MANY_MAPS);
    recorder.start(with_sources()).unwrap();
    wait_for_more_samples(recorder, 20);
    let memory = recorder.progress().unwrap().memory;
    let mut recording = recorder.stop().unwrap();
    // With their URLs, one less than the number that would fill the room.
    let expected = (MAX_MAPS_BYTES - MAX_MAP_BYTES) as u64;
    assert!(
        (expected..expected + (1 << 20)).contains(&memory),
        "{memory}"
    );
    // Of the script whose function was sampled.
    let notices = profile_formats::apply_own_maps(&mut recording, &Deadline::none());
    let [notice] = &notices[..] else {
        panic!("{notices:?}");
    };
    let told = "https://a.example/a.map: all source maps together would be longer than 192 MiB";
    assert!(notice.to_string().starts_with(told), "{notice}");
    drop(process);
}

#[test]
fn what_nobody_has_asked_for_is_not_taken() {
    let (recorder, _guard) = recorder();
    // The process reports a text, and then a map.
    for (sources, linked_maps) in [(false, false), (false, true), (true, false)] {
        let unsound = Process::start(SOURCES);
        let wanted = Options {
            sources,
            linked_maps,
            ..options(EventLoops::All)
        };
        recorder.start(wanted).unwrap();
        wait_until(|| unsound.status().unwrap().gone);
        let recording = recorder.stop().unwrap();
        let process = process(&recording, &unsound);
        assert_eq!(process.event_loops[0].samples().len(), 1);
        assert_eq!(process.event_loops[0].sources().len() > 0, sources);
    }
}

#[test]
fn a_process_that_sends_garbage_is_cut_off_and_harms_no_other() {
    let (recorder, _guard) = recorder();
    let sound = Process::start(SAMPLES);
    for (number, garbage) in GARBAGE.iter().enumerate() {
        let unsound = Process::start(&format!("{GARBAGE_PREFIX}{number}"));
        recorder.start(options(EventLoops::All)).unwrap();
        wait_until(|| {
            // The process takes a sample, and so sends the report, while nobody asks it anything.
            thread::sleep(Duration::from_millis(20));
            unsound.status().unwrap().gone
        });
        wait_for_more_samples(recorder, 5);
        let recording = recorder.stop().unwrap();
        let kept = samples_of(process(&recording, &unsound)).len();
        assert_eq!(kept, 1, "{garbage:?}");
        assert!(samples_of(process(&recording, &sound)).len() > 5);
    }
}

#[test]
fn samples_of_another_recording_are_not_taken_for_those_of_this_one() {
    let (recorder, _guard) = recorder();
    let (sound, forging) = (Process::start(SAMPLES), Process::start(FORGED));
    recorder.start(options(EventLoops::All)).unwrap();
    wait_until(|| recorder.progress().unwrap().event_loops == 2);
    wait_for_more_samples(recorder, 20);
    let recording = recorder.stop().unwrap();
    // Both have an event loop of the same number.
    assert_eq!(samples_of(process(&recording, &forging)).len(), 1);
    assert!(samples_of(process(&recording, &sound)).len() >= 20);
}

#[test]
fn a_process_that_comes_later_is_recorded_if_new_ones_are_wanted() {
    let (recorder, _guard) = recorder();
    let first = Process::start(SAMPLES);
    let these = |new_ones| EventLoops::These {
        ids: vec![first.event_loop()],
        new_ones,
    };
    for (event_loops, expected) in [
        (EventLoops::All, true),
        (EventLoops::Main, true),
        (these(true), true),
        (these(false), false),
    ] {
        recorder.start(options(event_loops.clone())).unwrap();
        let second = Process::start(SAMPLES);
        if expected {
            wait_until(|| recorder.progress().unwrap().event_loops == 2);
        }
        wait_for_more_samples(recorder, 5);
        let recording = recorder.stop().unwrap();
        let pids: Vec<_> = recording.processes.iter().map(|one| one.pid).collect();
        assert!(pids.contains(&Some(first.id())));
        let is_recorded = pids.contains(&Some(second.id()));
        assert_eq!(is_recorded, expected, "{event_loops:?}");
    }
}

#[test]
fn an_event_loop_that_shows_one_page_alone_is_left_out() {
    let (recorder, _guard) = recorder();
    let process = Process::start(SAMPLES);
    let without = |page| Options {
        kept: Wanted {
            without_page: Some(page),
            ..Wanted::default()
        },
        ..options(EventLoops::All)
    };
    recorder.start(without("https://a.example/")).unwrap();
    // Its first samples come before it says so.
    wait_until(|| process.status().unwrap().event_loops[0].memory == memory(true));
    assert_eq!(samples(recorder), 0);
    let recording = recorder.stop().unwrap();
    assert!(recording.processes.is_empty(), "{recording:?}");
    recorder.start(without("https://b.example/")).unwrap();
    wait_for_more_samples(recorder, 5);
    let recording = recorder.stop().unwrap();
    assert!(samples_of(&recording.processes[0]).len() >= 5);
}

#[test]
fn what_is_not_there_cannot_be_recorded() {
    let (recorder, _guard) = recorder();
    let process = Process::start(SAMPLES);
    let these = |ids| {
        options(EventLoops::These {
            ids,
            new_ones: false,
        })
    };
    let missing = BrowserEventLoopId {
        event_loop: 8,
        ..process.event_loop()
    };
    let error = recorder.start(these(vec![process.event_loop(), missing]));
    assert_eq!(error, Err(StartError::NoSuchEventLoop(missing)));
    let message = error.unwrap_err().to_string();
    assert!(message.contains(&missing.to_string()), "{message}");
    let error = recorder.start(these(Vec::new()));
    assert_eq!(error, Err(StartError::NothingToRecord));
    assert_eq!(recorder.progress(), None);
}

#[test]
fn an_event_loop_whose_buffer_is_full_is_let_go() {
    let (recorder, _guard) = recorder();
    let process = Process::start(SAMPLES);
    let bounded = Options {
        kept: Wanted {
            max_samples: NonZeroU64::new(3),
            ..Wanted::default()
        },
        ..options(EventLoops::All)
    };
    recorder.start(bounded).unwrap();
    wait_until(|| samples(recorder) == 3);
    wait_until(|| process.status().unwrap().event_loops[0].memory == memory(false));
    let recording = recorder.stop().unwrap();
    assert_eq!(samples_of(&recording.processes[0]).len(), 3);
}

#[test]
fn the_status_counts_what_is_recorded_of_each_event_loop() {
    let (recorder, _guard) = recorder();
    let process = Process::start(SAMPLES);
    let recorded = || process.status().unwrap().event_loops[0].recorded;
    assert_eq!(recorded(), None);
    recorder.start(options(EventLoops::All)).unwrap();
    wait_for_more_samples(recorder, 5);
    let status = recorded().unwrap();
    assert_eq!(status.interval, Duration::from_millis(1));
    assert!(status.samples >= 5, "{status:?}");
    recorder.stop().unwrap();
    assert_eq!(recorded(), None);
}

#[test]
fn the_status_has_this_process_and_the_others() {
    let (recorder, _guard) = recorder();
    let process = Process::start(SAMPLES);
    let status = recorder.status();
    let [browser, content] = &status.processes[..] else {
        panic!("{status:?}");
    };
    assert_eq!(
        (&*browser.name, browser.pid),
        ("Browser", std::process::id())
    );
    assert_eq!((&*content.name, content.pid), ("Web content", process.id()));
    let [event_loop] = &content.event_loops[..] else {
        panic!("{content:?}");
    };
    assert_eq!(event_loop.id, process.event_loop());
    assert_eq!(event_loop.name, "Page https://a.example/");
    assert_eq!(event_loop.memory, memory(false));
}

/// Sends bytes that are not a message, without an end.
const ENDLESS: &str = "endless";
/// Announces a message as long as it may be, and sends it byte by byte.
const SLOW: &str = "slow";
/// Connects and says nothing.
const SILENT: &str = "silent";
/// Connects again and again.
const MANY: &str = "many";
/// Starts a child process that connects.
const GRANDCHILD: &str = "grandchild";
/// Connects, expects to be refused, and ends.
const REFUSED: &str = "refused";

/// More than fits into a socket's buffer.
const MAX_SENT: usize = 4 << 20;

fn connect_to(process: u32) -> UnixStream {
    let name = connection::name_told_by(process).unwrap();
    UnixStream::connect_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap()
}

/// Whether the other side closes it without a word.
fn is_refused(mut stream: UnixStream) -> bool {
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).is_ok_and(|read| read == 0)
}

#[test]
#[ignore = "A process of other tests"]
fn hostile_process() {
    let behaviour = env::var(VARIABLE).expect("other tests run this one");
    let browser = env::var(BROWSER).map_or_else(|_| parent_id(), |pid| pid.parse().unwrap());
    if behaviour == GRANDCHILD {
        let grandchild = hostile(REFUSED).env(BROWSER, browser.to_string()).status();
        assert!(grandchild.unwrap().success());
        return;
    }
    let mut stream = connect_to(browser);
    match &*behaviour {
        ENDLESS => {
            let mut sent = 0;
            while let Ok(number) = stream.write(&[0xFF; 1 << 16]) {
                sent += number;
                assert!(sent < MAX_SENT, "the browser reads all of it");
            }
        },
        SLOW => {
            stream
                .write_all(&connection::MAX_LENGTH.to_le_bytes())
                .unwrap();
            while stream.write_all(&[0]).is_ok() {
                thread::sleep(Duration::from_millis(20));
            }
        },
        SILENT => {
            // Until it is killed.
            thread::park();
        },
        MANY => {
            let mut one = [0];
            // This one is taken: it is asked something.
            stream.read_exact(&mut one).unwrap();
            for _ in 0..50 {
                assert!(is_refused(connect_to(browser)));
            }
            thread::park();
        },
        REFUSED => assert!(is_refused(stream)),
        _ => panic!("{behaviour}"),
    }
}

/// A process with this behaviour.
fn hostile(behaviour: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "tests::hostile_process", "--ignored"])
        .env(VARIABLE, behaviour)
        .stdout(Stdio::null());
    command
}

/// The threads and sockets that this process holds for other processes.
fn held() -> (usize, usize) {
    let is_for_process = |task: &DirEntry| {
        let name = fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name.trim_end() == "ProfileProcess")
    };
    let is_socket = |descriptor: &DirEntry| {
        let target = fs::read_link(descriptor.path());
        target.is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    };
    let entries = |path| fs::read_dir(path).unwrap().filter_map(Result::ok);
    (
        entries("/proc/self/task").filter(is_for_process).count(),
        entries("/proc/self/fd").filter(is_socket).count(),
    )
}

#[test]
fn a_hostile_process_keeps_nobody_from_being_recorded_and_leaves_nothing() {
    let (recorder, _guard) = recorder();
    let nothing = held();
    for behaviour in [ENDLESS, SLOW, SILENT, MANY] {
        let sound = Process::start(SAMPLES);
        let with_sound = (nothing.0 + 1, nothing.1 + 2);
        wait_until(|| held() == with_sound);
        let mut hostile = Process(hostile(behaviour).spawn().unwrap());
        if behaviour == ENDLESS {
            // It is cut off.
            assert!(hostile.0.wait().unwrap().success());
        } else {
            wait_until(|| held().0 == nothing.0 + 2);
        }
        recorder.start(options(EventLoops::All)).unwrap();
        wait_for_more_samples(recorder, 20);
        let expected = match behaviour {
            ENDLESS => with_sound,
            _ => (nothing.0 + 2, nothing.1 + 4),
        };
        // A connection that is refused is there for a moment.
        wait_until(|| held() == expected);
        // It does not say that it has ended its recording.
        let recording = recorder.stop().unwrap();
        assert!(samples_of(process(&recording, &sound)).len() >= 20);

        if behaviour != ENDLESS {
            let ended = hostile.0.try_wait().unwrap();
            assert_eq!(ended, None, "{behaviour} has failed");
        }
        drop(hostile);
        wait_until(|| held() == with_sound);
        drop(sound);
        wait_until(|| held() == nothing);
    }
}

#[test]
fn only_children_of_this_process_are_taken() {
    let (_, _guard) = recorder();
    let nothing = held();
    assert!(is_refused(connect_to(std::process::id())));
    assert!(hostile(GRANDCHILD).status().unwrap().success());
    wait_until(|| held() == nothing);
}

#[test]
fn nobody_can_take_the_name_first() {
    let _guard = one_at_a_time();
    let guessed = format!("strobe-profile-recorder-{}", std::process::id());
    let _taken = UnixListener::bind_addr(&SocketAddr::from_abstract_name(guessed).unwrap());
    assert!(connection::listen().is_ok());
    let names = [(); 2].map(|()| connection::random_name());
    assert_ne!(names[0], names[1]);
}
