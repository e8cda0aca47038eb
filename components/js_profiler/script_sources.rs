/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The texts of the scripts in a recording, and their links to source maps. The event loop reads them on its own
//! thread, while no script is on the stack: when the recording ends, and before a document goes away. A link is read
//! without the text, because the engine has kept it.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender};
use js_profiler_traits::Room;
use js_profiler_traits::recording::{
    LeftOut, MAX_SOURCE_BYTES, RecordedSource, Report, is_map_itself,
};

use crate::description::SharedDescription;
use crate::linked_maps::{FetchMap, LinkedMaps, MAX_LINK, MapHeaders};
use crate::reporter::Reporter;
use crate::spidermonkey::{EngineContext, ScriptFacts, TakeSources};

/// How many scripts without a text are named.
const MAX_NAMED: usize = 5;

/// The most characters of a name that says what made a script from text.
const MAX_NAME: usize = 10_000;

/// What other threads ask of an event loop.
#[derive(Default)]
pub struct SourceRequests {
    /// Whether there is a request. Without one, the event loop need not take the lock.
    is_any: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The recorder asks for one recording at a time.
    request: Option<SourceRequest>,
    wake: Option<Box<dyn Fn() + Send>>,
}

impl SourceRequests {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets how another thread wakes the event loop when there is a request. `wake` is called under the lock, so it
    /// must not use this value.
    pub fn wake_by(&self, wake: impl Fn() + Send + 'static) {
        self.lock().wake = Some(Box::new(wake));
    }

    /// Asks the event loop. Nothing is sent on the channel. It is closed when the request is done.
    pub fn ask(&self, mut request: SourceRequest) -> Receiver<()> {
        let (done, when_done) = crossbeam_channel::bounded(0);
        request.done = Some(done);
        let mut state = self.lock();
        state.request = Some(request);
        self.is_any.store(true, Ordering::Release);
        if let Some(wake) = &state.wake {
            wake();
        }
        when_done
    }

    /// The request, if there is one. Called by the event loop's own thread.
    pub fn next(&self) -> Option<SourceRequest> {
        if !self.is_any.load(Ordering::Acquire) {
            return None;
        }
        self.take_back()
    }

    /// The request, unless the event loop has begun with it.
    pub fn take_back(&self) -> Option<SourceRequest> {
        let mut state = self.lock();
        self.is_any.store(false, Ordering::Relaxed);
        state.request.take()
    }
}

/// What a recording wants of the scripts whose functions are sampled.
#[derive(Clone, Copy)]
pub struct WantedOfScripts {
    /// Their sources, with the texts.
    pub sources: bool,
    /// The source maps that they link to.
    pub maps: bool,
}

impl WantedOfScripts {
    /// Whether the recording needs to know which scripts are sampled.
    pub fn is_any(self) -> bool {
        self.sources || self.maps
    }
}

/// Asks an event loop for what is wanted of scripts.
pub struct SourceRequest {
    /// Takes the texts and the links.
    pub reporter: Reporter,
    /// What is wanted.
    pub wanted: WantedOfScripts,
    /// [`RecordedSource::id`] of each script.
    pub ids: Vec<u32>,
    /// For the texts, in the process's part of the recording.
    pub room: Arc<Room>,
    /// The maps of the process's part of the recording.
    pub maps: Arc<LinkedMaps>,
    /// Dropped with the request, when it is done. [`SourceRequests::ask`] sets it.
    pub done: Option<Sender<()>>,
}

impl SourceRequest {
    /// Reports that the event loop was busy for too long.
    pub fn tell_busy(&self) {
        self.tell(LeftOut::Busy, self.ids.len(), Vec::new());
    }

    /// Reads and reports the texts and the links, and begins to fetch the maps. Called by the event loop's own thread.
    pub fn answer(mut self, engine: &EngineContext, links: &MapLinks<'_>) {
        let mut ids = mem::take(&mut self.ids);
        if ids.is_empty() {
            return;
        }
        ids.sort_unstable();
        ids.dedup();
        let mut reading = Reading {
            request: &self,
            links,
            next: None,
            found: 0,
            too_long: Vec::new(),
            no_room: Vec::new(),
        };
        engine.each_source(&ids, &mut reading);
        let Reading {
            found,
            too_long,
            no_room,
            ..
        } = reading;
        // Most scripts that are gone have run once and link to no map. So they are told only where their texts are
        // missing.
        if self.wanted.sources {
            self.tell(LeftOut::Gone, ids.len() - found, Vec::new());
        }
        self.tell(LeftOut::TooLong, too_long.len(), too_long);
        self.tell(LeftOut::NoRoom, no_room.len(), no_room);
    }

    fn tell(&self, why: LeftOut, count: usize, mut names: Vec<String>) {
        if count == 0 {
            return;
        }
        names.truncate(MAX_NAMED);
        self.reporter.send(Report::SourcesLeftOut {
            recording: self.reporter.recording,
            event_loop: self.reporter.event_loop,
            why,
            count: count as u32,
            names,
        });
    }
}

/// What an event loop knows of the source maps that its scripts link to.
pub struct MapLinks<'a> {
    /// The links in the headers of the responses that it has received.
    pub headers: &'a MapHeaders,
    /// What it has said about itself. Only maps of realms that are described here are fetched.
    pub description: &'a SharedDescription,
    /// Fetches maps. `None` if nobody does.
    pub fetch: Option<&'a FetchMap>,
}

/// The link of a script to its source map.
struct MapLink {
    url: String,
    /// Whether it stands in the text of the script. Otherwise it is in the header of the response.
    is_in_text: bool,
}

impl MapLink {
    /// Whether the link is the map itself.
    fn is_map(&self) -> bool {
        is_map_itself(&self.url)
    }
}

impl MapLinks<'_> {
    /// The link of a script. The header of its response has precedence over the comment in its text.
    fn of(&self, facts: &mut ScriptFacts) -> Option<MapLink> {
        // Inline scripts and event handlers have the URL of their document.
        let is_whole_response = facts.line == 1 && facts.column == 1;
        let header = self.headers.of(&facts.name).filter(|_| is_whole_response);
        let link = match header {
            Some(link) => MapLink {
                url: link.to_owned(),
                is_in_text: false,
            },
            None => MapLink {
                url: facts.map_url.take()?,
                is_in_text: true,
            },
        };
        (link.url.len() <= MAX_LINK || link.is_map()).then_some(link)
    }
}

/// The scripts of a request, while they are read.
struct Reading<'a> {
    request: &'a SourceRequest,
    links: &'a MapLinks<'a>,
    /// The script whose text comes next.
    next: Option<ScriptFacts>,
    /// How many of the scripts still exist, and have a text.
    found: usize,
    /// The names of scripts whose texts are too long.
    too_long: Vec<String>,
    /// The names of scripts whose texts do not fit any more.
    no_room: Vec<String>,
}

impl TakeSources for Reading<'_> {
    fn wants(&mut self, mut facts: ScriptFacts) -> bool {
        if facts.name.chars().count() > MAX_NAME {
            facts.name = facts.name.chars().take(MAX_NAME).collect();
        }
        if !self.request.wanted.sources {
            self.report(facts, None);
            return false;
        }
        let Some(least_bytes) = facts.least_bytes else {
            self.report(facts, None);
            return false;
        };
        self.found += 1;
        if least_bytes > MAX_SOURCE_BYTES {
            self.too_long.push(facts.name.clone());
        } else if !self.request.room.has(least_bytes) {
            self.no_room.push(facts.name.clone());
        } else {
            self.next = Some(facts);
            return true;
        }
        self.report(facts, None);
        false
    }

    fn take(&mut self, text: String) {
        let Some(facts) = self.next.take() else {
            return;
        };
        if text.len() > MAX_SOURCE_BYTES {
            self.too_long.push(facts.name.clone());
        } else if !self.request.room.take(text.len()) {
            self.no_room.push(facts.name.clone());
        } else {
            self.report(facts, Some(text));
            return;
        }
        self.report(facts, None);
    }
}

impl Reading<'_> {
    /// Reports a script, if there is something to tell of it, and begins to fetch its map.
    fn report(&self, mut facts: ScriptFacts, text: Option<String>) {
        let wants_map = self.request.wanted.maps;
        let mut link = self.links.of(&mut facts);
        // It need not be told twice.
        link.take_if(|link| link.is_map() && link.is_in_text && text.is_some());
        if text.is_none() && (link.is_none() || !wants_map) {
            return;
        }
        let map_without_room = link
            .take_if(|link| wants_map && link.is_map() && !self.request.maps.take(link.url.len()));
        let map_to_fetch = link.as_ref().filter(|link| wants_map && !link.is_map());
        let map_to_fetch = map_to_fetch.map(|link| link.url.clone());
        let reporter = &self.request.reporter;
        reporter.send(Report::Source {
            recording: reporter.recording,
            event_loop: reporter.event_loop,
            source: Box::new(RecordedSource {
                id: facts.id,
                name: facts.name.clone(),
                line: facts.line,
                column: facts.column,
                text,
                map_url: link.map(|link| link.url),
            }),
        });
        if let Some(map) = map_without_room {
            let why = self.request.maps.why_no_room(map.url.len());
            reporter.map(vec![facts.id], facts.name, Err(why));
        } else if let Some(link) = map_to_fetch {
            self.fetch_map(&facts, &link);
        }
    }

    fn fetch_map(&self, facts: &ScriptFacts, link: &str) {
        let is_described = || {
            self.links
                .description
                .lock()
                .realms
                .contains_key(&facts.realm)
        };
        let Some(fetch) = self.links.fetch.filter(|_| is_described()) else {
            return;
        };
        let (maps, reporter) = (&self.request.maps, &self.request.reporter);
        maps.fetch(fetch, reporter, facts.realm, &facts.name, link, facts.id);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::ffi::CStr;
    use std::thread::{self, JoinHandle};
    use std::time::Duration;

    use js_profiler_traits::RealmId;
    use js_profiler_traits::recording::{
        Chunk, LinkedMap, MAX_MAP_BYTES, Realm, RecordingId, RecordingOptions, Request, Selection,
    };

    use super::*;
    use crate::linked_maps::{CancelFetch, MapAnswer};
    use crate::spidermonkey::test_context::TestContext;
    use crate::stop::tests::EVENT_LOOPS;
    use crate::{EventLoop, Session, SessionOptions, serve};

    const URL: &CStr = c"https://a.test/a.js";

    /// Defines a function that runs for long enough to be sampled. Of the time in which its thread waits for a processor little
    /// counts.
    const BUSY: &str = "function busy() {
  let last = Date.now();
  for (let worked = 0; worked < 100;) {
    const now = Date.now();
    worked += Math.min(now - last, 1);
    last = now;
  }
}
";

    const EVERYTHING: WantedOfScripts = WantedOfScripts {
        sources: true,
        maps: true,
    };
    const MAPS: WantedOfScripts = WantedOfScripts {
        sources: false,
        maps: true,
    };
    const SOURCES: WantedOfScripts = WantedOfScripts {
        sources: true,
        maps: false,
    };
    const NOTHING: WantedOfScripts = WantedOfScripts {
        sources: false,
        maps: false,
    };

    /// What an event loop of a test does, and whom it tells when it is done.
    enum Do {
        /// Evaluates a text as a script of [`URL`], of which this is the first line.
        Run(u32, String, Sender<()>),
        ForgetRealm(Sender<()>),
        /// Starts a session, and keeps it in [`SESSION`].
        StartSession(Sender<()>),
        /// Notes that the response with [`URL`] links to a map.
        NoteHeader(&'static str, Sender<()>),
        /// Waits until the channel is closed.
        Hang(Receiver<()>),
        Serve,
        End,
    }

    thread_local! {
        static SESSION: Cell<Option<Session>> = const { Cell::new(None) };
    }

    /// An event loop that runs scripts, on a thread of its own.
    struct Loop {
        to_do: Sender<Do>,
        handle: Option<JoinHandle<()>>,
    }

    impl Loop {
        fn begin() -> Self {
            Self::begin_with(|_, _, _, _| None)
        }

        /// An event loop whose realm belongs to a document. `fetch` fetches the maps.
        fn begin_with(
            fetch: impl Fn(RealmId, &str, &str, MapAnswer) -> Option<CancelFetch> + Send + 'static,
        ) -> Self {
            let (sender, to_do) = crossbeam_channel::unbounded();
            let (begun, when_begun) = crossbeam_channel::bounded(1);
            let waker = sender.clone();
            let handle = thread::spawn(move || {
                let context = TestContext::new();
                let event_loop = EventLoop::new(context.engine());
                event_loop.wake_by(move || {
                    let _ = waker.send(Do::Serve);
                });
                begun.send(()).unwrap();
                event_loop.fetch_maps_by(Box::new(fetch));
                context.with_scripts(|evaluate| {
                    let realm = context.engine().current_realm().unwrap();
                    let document = Realm {
                        url: "https://a.test/".to_owned(),
                        origin: None,
                    };
                    event_loop.describe_realm(realm, document);
                    for what in &to_do {
                        match what {
                            Do::Run(line, text, done) => {
                                evaluate(URL, line, &text);
                                done.send(()).unwrap();
                            },
                            Do::ForgetRealm(done) => {
                                event_loop.forget_realm(realm);
                                done.send(()).unwrap();
                            },
                            Do::StartSession(done) => {
                                let options = SessionOptions::every(Duration::from_millis(1));
                                let session = event_loop.start(options, None, |_| {}).unwrap();
                                SESSION.set(Some(session));
                                done.send(()).unwrap();
                            },
                            Do::NoteHeader(link, done) => {
                                event_loop.note_map_header("https://a.test/a.js", Some(link));
                                done.send(()).unwrap();
                            },
                            Do::Hang(until) => {
                                let _ = until.recv();
                            },
                            Do::Serve => event_loop.serve_requests(),
                            Do::End => break,
                        }
                    }
                });
            });
            when_begun.recv().unwrap();
            Self {
                to_do: sender,
                handle: Some(handle),
            }
        }

        fn ask(&self, what: impl FnOnce(Sender<()>) -> Do) {
            let (done, when_done) = crossbeam_channel::bounded(1);
            self.to_do.send(what(done)).unwrap();
            when_done.recv().unwrap();
        }

        fn run(&self, line: u32, text: &str) {
            self.ask(|done| Do::Run(line, text.to_owned(), done));
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            let _ = self.to_do.send(Do::End);
            self.handle.take().unwrap().join().unwrap();
        }
    }

    /// What a recording has reported.
    #[derive(Default)]
    struct Reported {
        functions: Vec<(String, Option<u32>)>,
        sources: Vec<RecordedSource>,
        maps: Vec<LinkedMap>,
        left_out: Vec<(LeftOut, u32, Vec<String>)>,
    }

    impl Reported {
        /// The text in which a function is defined.
        fn source_of(&self, function: &str) -> &RecordedSource {
            let mut functions = self.functions.iter();
            let (_, id) = functions.find(|(name, _)| name == function).unwrap();
            let mut sources = self.sources.iter();
            sources.find(|source| Some(source.id) == *id).unwrap()
        }
    }

    struct Recording {
        sender: Sender<Report>,
        reports: Receiver<Report>,
    }

    impl Recording {
        fn start(wanted: WantedOfScripts) -> Self {
            let (sender, reports) = crossbeam_channel::unbounded();
            let options = RecordingOptions {
                id: RecordingId(1),
                interval: Duration::from_millis(1),
                event_loops: Selection::All,
                sources: wanted.sources,
                linked_maps: wanted.maps,
            };
            serve(Request::Start(options), &sender);
            Self { sender, reports }
        }

        fn stop(self) -> Reported {
            serve(Request::Stop(RecordingId(1)), &self.sender);
            let mut reported = Reported::default();
            loop {
                match self.reports.try_recv().unwrap() {
                    Report::Chunk(chunk) => {
                        let Chunk { functions, .. } = *chunk;
                        let functions = functions.into_iter();
                        let functions = functions.map(|one| (one.name, one.source));
                        reported.functions.extend(functions);
                    },
                    Report::Source { source, .. } => reported.sources.push(*source),
                    Report::Map { map, .. } => reported.maps.push(*map),
                    Report::SourcesLeftOut {
                        why, count, names, ..
                    } => reported.left_out.push((why, count, names)),
                    Report::Stopped(_) => break,
                    report => panic!("{report:?}"),
                }
            }
            assert!(self.reports.is_empty(), "nothing comes after the end");
            reported
        }
    }

    #[test]
    fn the_texts_of_sampled_scripts_are_reported_as_they_are() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        // It is not sampled.
        event_loop.run(1, "function idle() {}");
        let inline = format!("\n{BUSY}busy(); // ä € 🙂 \n//# sourceMappingURL=maps/a.js.map");
        let evaluated = format!("{}evaluated();", BUSY.replace("busy", "evaluated"));
        let evaluating = format!("(0, eval)({evaluated:?});");
        let recording = Recording::start(EVERYTHING);
        event_loop.run(17, &inline);
        event_loop.run(1, &evaluating);
        let reported = recording.stop();
        let source = reported.source_of("busy");
        assert_eq!(source.text, Some(inline));
        assert_eq!(source.name, "https://a.test/a.js");
        assert_eq!((source.line, source.column), (17, 1));
        assert_eq!(source.map_url.as_deref(), Some("maps/a.js.map"));
        let source = reported.source_of("evaluated");
        assert_eq!(source.text, Some(evaluated));
        assert_eq!(source.name, "https://a.test/a.js line 1 > eval");
        assert_eq!(source.map_url, None);
        let idle = |source: &RecordedSource| source.text.as_ref().unwrap().contains("idle");
        assert!(!reported.sources.iter().any(idle));
        assert!(reported.left_out.is_empty(), "{:?}", reported.left_out);
    }

    #[test]
    fn a_map_in_the_comment_is_not_reported_a_second_time() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let recording = Recording::start(EVERYTHING);
        event_loop.run(
            1,
            &format!("{BUSY}busy();\n//# sourceMappingURL=Data:,%7B%7D"),
        );
        assert_eq!(recording.stop().source_of("busy").map_url, None);
    }

    /// Answers at once. The content is the link and the script.
    fn echo(_: RealmId, script: &str, link: &str, mut answer: MapAnswer) -> Option<CancelFetch> {
        answer.set_url("https://a.test/answer.map");
        answer.add(format!("{link} of {script}").as_bytes());
        answer.end();
        None
    }

    #[test]
    fn maps_that_scripts_link_to_are_fetched_before_the_end() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(|realm, script, link, answer| {
            let (script, link) = (script.to_owned(), link.to_owned());
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(100));
                echo(realm, &script, &link, answer);
            });
            None
        });
        let recording = Recording::start(EVERYTHING);
        event_loop.run(1, &format!("{BUSY}busy();\n//# sourceMappingURL=a.map"));
        event_loop.run(1, &format!("{}other();", BUSY.replace("busy", "other")));
        let reported = recording.stop();
        let expected = LinkedMap {
            sources: vec![reported.source_of("busy").id],
            url: "https://a.test/answer.map".to_owned(),
            content: Ok("a.map of https://a.test/a.js".to_owned()),
        };
        assert_eq!(reported.maps, [expected]);
    }

    #[test]
    fn the_link_in_the_header_is_that_of_the_whole_response() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(echo);
        event_loop.ask(|done| Do::NoteHeader("header.map", done));
        let recording = Recording::start(EVERYTHING);
        let inline = BUSY.replace("busy", "inline");
        event_loop.run(1, &format!("{BUSY}busy();\n//# sourceMappingURL=a.map"));
        event_loop.run(7, &format!("{inline}inline();\n//# sourceMappingURL=b.map"));
        let reported = recording.stop();
        for (function, link) in [("busy", "header.map"), ("inline", "b.map")] {
            let source = reported.source_of(function);
            assert_eq!(source.map_url.as_deref(), Some(link));
            let mut maps = reported.maps.iter();
            let map = maps.find(|map| map.sources == [source.id]).unwrap();
            let content = map.content.as_deref();
            assert_eq!(content, Ok(&*format!("{link} of https://a.test/a.js")));
        }
    }

    #[test]
    fn a_session_may_end_while_scripts_are_read() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        // A collection at this moment may have the session's profiler.
        let event_loop = Loop::begin_with(|_, _, _, _| {
            drop(SESSION.take().expect("there is one script"));
            None
        });
        event_loop.ask(Do::StartSession);
        let recording = Recording::start(MAPS);
        event_loop.run(1, &format!("{BUSY}busy();\n//# sourceMappingURL=a.map"));
        assert_eq!(recording.stop().maps.len(), 1);
    }

    #[test]
    fn maps_are_fetched_without_reading_the_texts() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(echo);
        let recording = Recording::start(MAPS);
        event_loop.run(17, &format!("{BUSY}busy();\n//# sourceMappingURL=a.map"));
        let inside = BUSY.replace("busy", "inside");
        let comment = "//# sourceMappingURL=data:,%7B%7D";
        event_loop.run(1, &format!("{inside}inside();\n{comment}"));
        let unlinked = BUSY.replace("busy", "unlinked");
        event_loop.run(1, &format!("{unlinked}unlinked();"));
        // The engine lets go of this one.
        let gone = format!("{BUSY}busy(); 1");
        event_loop.run(1, &format!("inNewRealm({gone:?}); engine.gc();"));
        event_loop.run(1, "engine.gc();");
        let reported = recording.stop();
        let [busy, inside] = ["busy", "inside"].map(|name| reported.source_of(name));
        assert_eq!((busy.line, busy.map_url.as_deref()), (17, Some("a.map")));
        assert_eq!(inside.map_url.as_deref(), Some("data:,%7B%7D"));
        // A script without a link is not told.
        assert_eq!(reported.sources.len(), 2, "{:?}", reported.sources);
        let mut texts = reported.sources.iter().map(|source| &source.text);
        assert!(texts.all(Option::is_none));
        // What is in the link is not fetched.
        let expected = LinkedMap {
            sources: vec![busy.id],
            url: "https://a.test/answer.map".to_owned(),
            content: Ok("a.map of https://a.test/a.js".to_owned()),
        };
        assert_eq!(reported.maps, [expected]);
        assert!(reported.left_out.is_empty(), "{:?}", reported.left_out);
    }

    #[test]
    fn a_script_whose_text_is_too_long_has_its_map() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(echo);
        let recording = Recording::start(EVERYTHING);
        let spaces = " ".repeat(MAX_SOURCE_BYTES);
        event_loop.run(
            1,
            &format!("{BUSY}busy();{spaces}\n//# sourceMappingURL=a.map"),
        );
        let reported = recording.stop();
        let busy = reported.source_of("busy");
        assert_eq!(
            (&busy.text, busy.map_url.as_deref()),
            (&None, Some("a.map"))
        );
        assert_eq!(reported.maps.len(), 1);
        assert!(matches!(reported.left_out[..], [(LeftOut::TooLong, 1, _)]));
    }

    #[test]
    fn a_map_in_a_link_that_is_too_long_is_told() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(echo);
        let recording = Recording::start(MAPS);
        let long = "a".repeat(MAX_MAP_BYTES);
        event_loop.run(
            1,
            &format!("{BUSY}busy();\n//# sourceMappingURL=data:,{long}"),
        );
        let reported = recording.stop();
        let busy = reported.source_of("busy");
        assert_eq!((&busy.text, &busy.map_url), (&None, &None));
        let expected = LinkedMap {
            sources: vec![busy.id],
            url: "https://a.test/a.js".to_owned(),
            content: Err("its source map, in a data: URL, is longer than 48 MiB".to_owned()),
        };
        assert_eq!(reported.maps, [expected]);
    }

    #[test]
    fn texts_can_be_had_without_maps() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(echo);
        let recording = Recording::start(SOURCES);
        event_loop.run(1, &format!("{BUSY}busy();\n//# sourceMappingURL=a.map"));
        let reported = recording.stop();
        assert!(reported.source_of("busy").text.is_some());
        assert!(reported.maps.is_empty(), "{:?}", reported.maps);
    }

    #[test]
    fn no_map_is_fetched_for_a_realm_that_nobody_has_described() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(echo);
        event_loop.ask(Do::ForgetRealm);
        let recording = Recording::start(EVERYTHING);
        event_loop.run(1, &format!("{BUSY}busy();\n//# sourceMappingURL=a.map"));
        let reported = recording.stop();
        assert!(reported.source_of("busy").map_url.is_some());
        assert!(reported.maps.is_empty(), "{:?}", reported.maps);
    }

    #[test]
    fn nobody_reads_texts_that_are_not_asked_for() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin_with(echo);
        let recording = Recording::start(NOTHING);
        event_loop.run(1, &format!("{BUSY}busy();\n//# sourceMappingURL=a.map"));
        event_loop.ask(Do::ForgetRealm);
        let reported = recording.stop();
        assert!(reported.functions.iter().any(|(name, _)| name == "busy"));
        assert!(reported.sources.is_empty() && reported.maps.is_empty());
        assert!(reported.left_out.is_empty());
    }

    #[test]
    fn texts_are_reported_before_a_realm_or_an_event_loop_goes_away() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let recording = Recording::start(EVERYTHING);
        event_loop.run(1, &format!("{BUSY}busy();"));
        event_loop.ask(Do::ForgetRealm);
        // Each is reported once.
        event_loop.run(1, "busy();");
        event_loop.ask(Do::ForgetRealm);
        let late = BUSY.replace("busy", "late");
        event_loop.run(1, &format!("{late}late();"));
        drop(event_loop);
        let reported = recording.stop();
        let text = |function| reported.source_of(function).text.as_deref().unwrap();
        assert!(text("busy").starts_with(BUSY));
        assert!(text("late").starts_with(&late));
        let mut ids: Vec<_> = reported.sources.iter().map(|source| source.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn what_has_no_text_in_the_recording_is_told_with_the_reason() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let recording = Recording::start(EVERYTHING);
        // Nothing of it is left.
        let gone = format!("{BUSY}busy(); 1");
        event_loop.run(1, &format!("inNewRealm({gone:?}); engine.gc();"));
        event_loop.run(1, "engine.gc();");
        let long = BUSY.replace("busy", "long");
        let comment = " ".repeat(MAX_SOURCE_BYTES);
        event_loop.run(1, &format!("{long}long();{comment}"));
        let reported = recording.stop();
        let [
            (LeftOut::Gone, gone, nameless),
            (LeftOut::TooLong, 1, named),
        ] = &reported.left_out[..]
        else {
            panic!("{:?}", reported.left_out);
        };
        // The script that made the realm may have been sampled and be gone, too.
        assert!((1..=2).contains(gone) && nameless.is_empty());
        assert_eq!(named[..], ["https://a.test/a.js"]);
        let mut texts = reported.sources.iter().map(|source| &source.text);
        assert!(texts.all(|text| !text.as_ref().unwrap().contains("long")));
    }

    #[test]
    fn an_event_loop_that_is_busy_is_not_waited_for_for_long() {
        let _guard = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let event_loop = Loop::begin();
        let recording = Recording::start(EVERYTHING);
        event_loop.run(1, &format!("{BUSY}busy();"));
        let (end, until) = crossbeam_channel::bounded(0);
        event_loop.to_do.send(Do::Hang(until)).unwrap();
        let reported = recording.stop();
        assert!(reported.sources.is_empty());
        assert_eq!(reported.left_out, [(LeftOut::Busy, 1, Vec::new())]);
        drop(end);
    }
}
