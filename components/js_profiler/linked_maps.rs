/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The source maps that recorded scripts link to. The crate that knows documents fetches them, with the rights of the
//! script's document or worker ([`FetchMap`]). Other threads take the answers, and the end of the recording waits for
//! them. A map that is in the link itself is reported with its script.

use std::collections::HashMap;
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use js_profiler_traits::recording::{MAX_MAP_BYTES, MAX_MAPS_BYTES, no_room_for_maps};
use js_profiler_traits::{EventLoopId, RealmId, Room};

use crate::reporter::Reporter;

/// How long the end of a recording waits for maps.
const LONGEST_WAIT_FOR_MAPS: Duration = Duration::from_secs(10);

/// The greatest number of maps that are fetched for one process's part of a recording. A page can link to any number.
const MAX_MAPS: usize = 500;

/// The greatest number of links in headers that are remembered for an event loop.
const MAX_HEADERS: usize = 1_000;

/// The most bytes of a link to a source map.
pub const MAX_LINK: usize = 10_000;

/// The greatest number of characters that are reported of a URL, and of the reason why a map does not come.
const MAX_URL: usize = 10_000;
const MAX_WHY: usize = 1_000;

const MIB: usize = 1 << 20;

/// Ends a fetch that is under way.
pub type CancelFetch = Box<dyn FnOnce() + Send>;

/// Begins to fetch a map with the rights of a realm, on the realm's own thread: `(realm, script, link, answer)`. The
/// realm must have been described. `link` is relative to `script`, which is a URL or says what made the script from
/// text. Garbage may be collected. A script must not be able to notice the fetch.
pub type FetchMap = dyn Fn(RealmId, &str, &str, MapAnswer) -> Option<CancelFetch>;

/// The links in the headers of responses, by the URLs of the responses.
#[derive(Default)]
pub struct MapHeaders(HashMap<String, String>);

impl MapHeaders {
    /// Notes the link in the header of a response, or that there is none. If several responses have the same URL, the
    /// last one counts.
    pub fn note(&mut self, url: &str, link: Option<&str>) {
        match link {
            Some(link) if link.len() <= MAX_LINK => {
                if self.0.len() < MAX_HEADERS || self.0.contains_key(url) {
                    self.0.insert(url.to_owned(), link.to_owned());
                }
            },
            _ => {
                self.0.remove(url);
            },
        }
    }

    /// The link in the header of the response with this URL, as the server wrote it. `None` if there is none.
    pub fn of(&self, url: &str) -> Option<&str> {
        self.0.get(url).map(String::as_str)
    }
}

/// The maps of the part of a recording that this process makes.
pub struct LinkedMaps {
    room: Room,
    state: Mutex<State>,
    answered: Condvar,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    /// How many fetches have begun.
    begun: usize,
    /// Whether the recording takes no more answers.
    is_closed: bool,
}

/// A map that is being fetched.
struct Waiting {
    number: usize,
    key: Key,
    reporter: Reporter,
    /// The URL that was requested or that answers. Before the request, the link.
    url: String,
    /// The scripts that link to it.
    sources: Vec<u32>,
    cancel: Option<CancelFetch>,
}

/// Scripts with equal keys share one fetch.
#[derive(Clone, PartialEq)]
struct Key {
    event_loop: EventLoopId,
    realm: RealmId,
    script: String,
    link: String,
}

impl Default for LinkedMaps {
    fn default() -> Self {
        Self {
            room: Room::of(MAX_MAPS_BYTES),
            state: Mutex::default(),
            answered: Condvar::new(),
        }
    }
}

impl LinkedMaps {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes room for a map of this many bytes that is not fetched, because it is in the link. False if there is none.
    pub fn take(&self, bytes: usize) -> bool {
        bytes <= MAX_MAP_BYTES && self.room.take(bytes)
    }

    /// Why there was no room for it, as a part of a sentence for people that begins with the name of the script.
    pub fn why_no_room(&self, bytes: usize) -> String {
        match bytes > MAX_MAP_BYTES {
            true => format!(
                "its source map, in a data: URL, is longer than {} MiB",
                MAX_MAP_BYTES / MIB
            ),
            false => format!(
                "for its source map, in a data: URL, there is no room: {}",
                no_room_for_maps()
            ),
        }
    }

    /// Begins to fetch the map of a script, unless it is being fetched already. `source` is the script's number.
    pub fn fetch(
        self: &Arc<Self>,
        fetch: &FetchMap,
        reporter: &Reporter,
        realm: RealmId,
        script: &str,
        link: &str,
        source: u32,
    ) {
        let key = Key {
            event_loop: reporter.event_loop,
            realm,
            script: script.to_owned(),
            link: link.to_owned(),
        };
        let number = {
            let mut state = self.lock();
            if state.is_closed {
                return;
            }
            if let Some(waiting) = state.waiting.iter_mut().find(|one| one.key == key) {
                waiting.sources.push(source);
                return;
            }
            if state.begun == MAX_MAPS {
                let why = format!("at most {MAX_MAPS} source maps are fetched");
                reporter.map(vec![source], link.to_owned(), Err(why));
                return;
            }
            state.begun += 1;
            let number = state.begun;
            state.waiting.push(Waiting {
                number,
                key,
                reporter: reporter.clone(),
                url: link.to_owned(),
                sources: vec![source],
                cancel: None,
            });
            number
        };
        let answer = MapAnswer {
            maps: self.clone(),
            number,
            content: Vec::new(),
            outcome: Err("the fetch was given up".to_owned()),
        };
        let cancel = fetch(realm, script, link, answer);
        // The answer may have come already.
        let mut state = self.lock();
        if let Some(waiting) = state.waiting.iter_mut().find(|one| one.number == number) {
            waiting.cancel = cancel;
        }
    }

    /// Waits for the maps that are being fetched, for a limited time. No map is reported after that.
    pub fn finish(&self) {
        self.finish_within(LONGEST_WAIT_FOR_MAPS);
    }

    fn finish_within(&self, time: Duration) {
        let is_waiting = |state: &mut State| !state.waiting.is_empty();
        let waited = self
            .answered
            .wait_timeout_while(self.lock(), time, is_waiting);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.is_closed = true;
        let late = mem::take(&mut state.waiting);
        drop(state);
        for Waiting {
            reporter,
            url,
            sources,
            cancel,
            ..
        } in late
        {
            let seconds = LONGEST_WAIT_FOR_MAPS.as_secs();
            let why = format!("it did not come within {seconds} s after the end of the recording");
            reporter.map(sources, url, Err(why));
            if let Some(cancel) = cancel {
                cancel();
            }
        }
    }

    fn answer(&self, number: usize, content: Result<String, String>) {
        // Under the lock, so that nothing is reported once the recording is closed.
        let mut state = self.lock();
        let mut waiting = state.waiting.iter();
        if let Some(index) = waiting.position(|one| one.number == number) {
            let Waiting {
                reporter,
                url,
                sources,
                ..
            } = state.waiting.swap_remove(index);
            reporter.map(sources, url, content);
            self.answered.notify_all();
        }
    }
}

/// Takes the answer to the request for a map. It may be sent to another thread. If it is dropped early, the map counts
/// as not fetched.
pub struct MapAnswer {
    maps: Arc<LinkedMaps>,
    number: usize,
    content: Vec<u8>,
    outcome: Result<(), String>,
}

impl MapAnswer {
    /// Sets the URL that is requested or, after redirects, the URL that answers.
    pub fn set_url(&self, url: &str) {
        let url = url.chars().take(MAX_URL).collect();
        let mut state = self.maps.lock();
        let mut waiting = state.waiting.iter_mut();
        if let Some(waiting) = waiting.find(|one| one.number == self.number) {
            waiting.url = url;
        }
    }

    /// Adds bytes that have arrived. False if no more are wanted, because the map is too long.
    pub fn add(&mut self, bytes: &[u8]) -> bool {
        let why = if self.content.len() + bytes.len() > MAX_MAP_BYTES {
            format!("it is longer than {} MiB", MAX_MAP_BYTES / MIB)
        } else if !self.maps.room.take(bytes.len()) {
            no_room_for_maps()
        } else {
            self.content.extend_from_slice(bytes);
            return true;
        };
        self.forget();
        self.outcome = Err(why);
        false
    }

    /// Ends the answer: the whole map has arrived.
    pub fn end(mut self) {
        self.outcome = Ok(());
    }

    /// Ends the answer without a map. `why` is the reason, as a part of a sentence for people.
    pub fn fail(mut self, why: impl Into<String>) {
        self.outcome = Err(why.into().chars().take(MAX_WHY).collect());
    }

    fn forget(&mut self) {
        self.maps.room.give_back(self.content.len());
        self.content = Vec::new();
    }
}

impl Drop for MapAnswer {
    fn drop(&mut self) {
        let content = match mem::replace(&mut self.outcome, Ok(())) {
            Ok(()) => String::from_utf8(mem::take(&mut self.content))
                .map_err(|_| "it is not UTF-8".to_owned()),
            Err(why) => {
                self.forget();
                Err(why)
            },
        };
        self.maps.answer(self.number, content);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use crossbeam_channel::Receiver;
    use js_profiler_traits::recording::{LinkedMap, RecordingId, Report};

    use super::*;

    const SCRIPT: &str = "https://a.test/a.js";

    /// Maps of one recording, and the answers to what was asked.
    struct Asked {
        maps: Arc<LinkedMaps>,
        reporter: Reporter,
        reports: Receiver<Report>,
        answers: Arc<Mutex<Vec<MapAnswer>>>,
        was_cancelled: Arc<AtomicBool>,
    }

    impl Asked {
        fn new() -> Self {
            let (sender, reports) = crossbeam_channel::unbounded();
            Self {
                maps: Arc::default(),
                reporter: Reporter {
                    recording: RecordingId(1),
                    event_loop: EventLoopId(2),
                    reports: sender,
                },
                reports,
                answers: Arc::default(),
                was_cancelled: Arc::default(),
            }
        }

        fn ask(&self, realm: u64, link: &str, source: u32) {
            let answers = self.answers.clone();
            let was_cancelled = self.was_cancelled.clone();
            let fetch = move |_: RealmId, _: &str, _: &str, answer: MapAnswer| {
                answers.lock().unwrap().push(answer);
                let was_cancelled = was_cancelled.clone();
                let cancel = move || was_cancelled.store(true, Ordering::Relaxed);
                Some(Box::new(cancel) as CancelFetch)
            };
            let realm = RealmId(realm);
            self.maps
                .fetch(&fetch, &self.reporter, realm, SCRIPT, link, source);
        }

        /// The answer that was asked for first.
        fn answer(&self) -> MapAnswer {
            self.answers.lock().unwrap().remove(0)
        }

        fn reported(&self) -> Vec<LinkedMap> {
            let map_of = |report| match report {
                Report::Map { map, .. } => *map,
                report => panic!("{report:?}"),
            };
            self.reports.try_iter().map(map_of).collect()
        }
    }

    fn map(sources: &[u32], url: &str, content: Result<&str, &str>) -> LinkedMap {
        LinkedMap {
            sources: sources.to_vec(),
            url: url.to_owned(),
            content: content.map(str::to_owned).map_err(str::to_owned),
        }
    }

    #[test]
    fn a_map_is_fetched_once_for_the_scripts_of_a_realm() {
        let asked = Asked::new();
        asked.ask(1, "a.map", 7);
        asked.ask(1, "a.map", 8);
        asked.ask(2, "a.map", 9);
        assert_eq!(asked.answers.lock().unwrap().len(), 2);
        let mut first = asked.answer();
        first.set_url("https://a.test/a.map");
        assert!(first.add(b"{") && first.add(b"}"));
        first.end();
        asked.answer().fail("it is gone");
        asked.maps.finish();
        let expected = [
            map(&[7, 8], "https://a.test/a.map", Ok("{}")),
            map(&[9], "a.map", Err("it is gone")),
        ];
        assert_eq!(asked.reported(), expected);
    }

    #[test]
    fn a_map_that_does_not_come_in_time_is_told_and_given_up() {
        let asked = Asked::new();
        asked.ask(1, "a.map", 7);
        let mut late = asked.answer();
        late.set_url("https://a.test/a.map");
        asked.maps.finish_within(Duration::ZERO);
        let why = "it did not come within 10 s after the end of the recording";
        assert_eq!(
            asked.reported(),
            [map(&[7], "https://a.test/a.map", Err(why))]
        );
        assert!(asked.was_cancelled.load(Ordering::Relaxed));
        late.add(b"{}");
        late.end();
        asked.ask(1, "b.map", 8);
        assert!(asked.answers.lock().unwrap().is_empty());
        assert!(asked.reported().is_empty(), "nothing comes after the end");
    }

    #[test]
    fn maps_that_are_too_long_or_no_text_are_told() {
        let asked = Asked::new();
        asked.ask(1, "a.map", 7);
        let mut long = asked.answer();
        let part = vec![b' '; MAX_MAP_BYTES / 2];
        assert!(long.add(&part) && long.add(&part));
        assert!(!long.add(b" "), "nothing more is wanted");
        drop(long);
        asked.ask(1, "a.map", 8);
        let mut binary = asked.answer();
        binary.add(b"\xff");
        binary.end();
        asked.ask(1, "a.map", 9);
        drop(asked.answer());
        let expected = [
            map(&[7], "a.map", Err("it is longer than 48 MiB")),
            map(&[8], "a.map", Err("it is not UTF-8")),
            map(&[9], "a.map", Err("the fetch was given up")),
        ];
        assert_eq!(asked.reported(), expected);
    }

    #[test]
    fn all_maps_together_are_bounded() {
        let asked = Asked::new();
        let part = vec![b' '; MAX_MAP_BYTES];
        for number in 0..=MAX_MAPS_BYTES / MAX_MAP_BYTES {
            asked.ask(1, &format!("{number}.map"), number as u32);
            let mut answer = asked.answer();
            if answer.add(&part) {
                answer.end();
            }
        }
        let reported = asked.reported();
        let (last, others) = reported.split_last().unwrap();
        assert!(others.iter().all(|map| map.content.is_ok()));
        let why = "all source maps together would be longer than 192 MiB";
        assert_eq!(last.content, Err(why.to_owned()));
    }

    #[test]
    fn a_page_cannot_have_any_number_of_maps_fetched() {
        let asked = Asked::new();
        for number in 0..=MAX_MAPS {
            asked.ask(1, &format!("{number}.map"), number as u32);
        }
        assert_eq!(asked.answers.lock().unwrap().len(), MAX_MAPS);
        let why = "at most 500 source maps are fetched";
        assert_eq!(asked.reported(), [map(&[500], "500.map", Err(why))]);
    }

    #[test]
    fn the_last_response_of_a_url_says_what_its_header_links_to() {
        let mut headers = MapHeaders::default();
        headers.note(SCRIPT, Some("a.map"));
        headers.note("https://a.test/b.js", Some("b.map"));
        assert_eq!(headers.of(SCRIPT), Some("a.map"));
        headers.note(SCRIPT, None);
        assert_eq!(headers.of(SCRIPT), None);
        headers.note(SCRIPT, Some(&"a".repeat(MAX_LINK + 1)));
        assert_eq!(headers.of(SCRIPT), None);
        for number in 0..MAX_HEADERS {
            headers.note(&number.to_string(), Some("c.map"));
        }
        assert_eq!(headers.0.len(), MAX_HEADERS);
        headers.note("https://a.test/b.js", Some("d.map"));
        assert_eq!(headers.of("https://a.test/b.js"), Some("d.map"));
    }
}
