/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording of an event loop, as the sampling thread sees it: the data that has not been reported yet, and
//! the ids of the data that has been reported.
//!
//! Unlike a session's trace it has the functions of all realms, muted scripts included. It is for people who
//! work on the engine, and never reaches a web page.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use js_profiler_traits::recording::{
    Chunk, Realm, RecordedFrame, RecordedFunction, RecordedFunctionKind, RecordedPosition,
    RecordedSample, Report,
};
use js_profiler_traits::{RealmId, SampleCounts, Stack};
use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::{FxHashMap, FxHashSet};
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::description::{MAX_REALMS, SharedDescription};
use crate::failure::Failure;
use crate::function_table::{Function, FunctionId};
use crate::outcome::Outcome;
use crate::reporter::Reporter;
use crate::sample::{Sample, StackFrame};
use crate::schedule::Schedule;
use crate::spidermonkey::{FrameKind, Position};
use crate::subscriber::{StackTables, Subscriber};
use crate::table::Table;
use crate::visibility::Visibility;

/// How often new samples are reported.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// The tables start over when they have this many stacks: a recording may run for days and keep only its last
/// seconds.
const MAX_STACKS: usize = 1 << 17;

/// They start over, too, when they take this many bytes: the recorder has them then, and has a limit of its own.
const MAX_TABLES_BYTES: usize = 32 << 20;

/// The recording of one event loop.
#[derive(MallocSizeOf)]
pub struct SampledRecording {
    /// What it gets of samples, and when.
    pub subscriber: Subscriber,
    has_stacks: bool,
    #[ignore_malloc_size_of = "The event loop's"]
    description: Arc<SharedDescription>,
    /// The version of the description that was reported last.
    description_version: u64,
    news: News,
    last_report: CrossProcessInstant,
    #[ignore_malloc_size_of = "Holds nothing"]
    reporter: Reporter,
}

/// The data that has not been reported yet, and the ids of the data that has.
#[derive(MallocSizeOf)]
struct News {
    /// What is new, except for the rows of the tables here.
    chunk: Chunk,
    known_realms: FxHashMap<RealmId, Realm>,
    tables: Tables,
    sources: Sources,
}

/// The ids of what has been added to the tables of the recording.
#[derive(Default, MallocSizeOf)]
struct Tables {
    resources: Table<String>,
    realms: Table<Realm>,
    functions: FxHashMap<FunctionId, u32>,
    function_count: u32,
    frame_count: u32,
    stacks: Table<Stack>,
    /// What all of them take, in bytes.
    bytes: usize,
}

/// The scripts that define functions of the recording, if something is wanted of them.
#[derive(Default, MallocSizeOf)]
struct Sources {
    are_wanted: bool,
    seen: FxHashSet<u32>,
    /// The scripts that were first seen after the last request for them.
    new: Vec<u32>,
}

impl Sources {
    fn see(&mut self, source: Option<u32>) {
        if let Some(source) = source.filter(|_| self.are_wanted)
            && self.seen.insert(source)
        {
            self.new.push(source);
        }
    }

    /// Whether the recording may have the text to which a function's position refers, or a map of that text.
    fn may_have(&self, function: &Function) -> bool {
        self.are_wanted && function.source.is_some()
    }
}

impl News {
    /// The id of the URL of a script or a module.
    fn resource(&mut self, url: &str) -> u32 {
        let tables = &mut self.tables;
        if tables.resources.find(url).is_none() {
            tables.bytes += Table::<String>::bytes_of_row() + 2 * url.len();
        }
        tables.resources.id(url)
    }

    /// The id of a realm; `None` if it has not been described.
    fn realm(&mut self, id: RealmId) -> Option<u32> {
        let realm = self.known_realms.get(&id)?;
        let tables = &mut self.tables;
        if tables.realms.find(realm).is_none() {
            let origin = realm.origin.as_ref().map_or(0, String::len);
            tables.bytes += Table::<Realm>::bytes_of_row() + 2 * (realm.url.len() + origin);
        }
        Some(tables.realms.id(realm))
    }

    /// Whether the tables are to start over.
    fn is_full(&self) -> bool {
        self.tables.stacks.len() >= MAX_STACKS || self.tables.bytes >= MAX_TABLES_BYTES
    }

    /// The id of a function.
    fn function(&mut self, id: FunctionId, function: &Function) -> u32 {
        if let Some(&known) = self.tables.functions.get(&id) {
            return known;
        }
        let is_built_in = function.is_built_in();
        let has_resource = !function.url().is_empty() && !is_built_in;
        let resource = has_resource.then(|| self.resource(function.url()));
        let realm = self.realm(function.realm);
        // Without a text a position means nothing.
        let has_text = has_resource || self.sources.may_have(function);
        let position = function.position.filter(|_| has_text);
        self.sources.see(function.source);
        self.chunk.functions.push(RecordedFunction {
            name: function.name.clone(),
            kind: match is_built_in {
                true => RecordedFunctionKind::BuiltIn,
                false => RecordedFunctionKind::Script,
            },
            resource,
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
            realm,
            source: function.source,
        });
        let tables = &mut self.tables;
        tables.bytes += BYTES_OF_FUNCTION + function.name.len();
        tables.function_count += 1;
        tables.functions.insert(id, tables.function_count - 1);
        tables.function_count - 1
    }

    /// Takes out what is new. What comes later is added to `next`.
    fn take_chunk(&mut self, next: Chunk) -> Chunk {
        Chunk {
            resources: self.tables.resources.take_new(),
            realms: self.tables.realms.take_new(),
            stacks: self.tables.stacks.take_new(),
            ..mem::replace(&mut self.chunk, next)
        }
    }

    fn forget_tables(&mut self) {
        self.tables = Tables::default();
        self.chunk.new_tables = true;
    }
}

impl StackTables for News {
    fn frame(&mut self, frame: StackFrame, function: &Function) -> u32 {
        let function_id = self.function(frame.function, function);
        let position = match function.kind {
            _ if frame.position == Position::UNKNOWN => None,
            // Without a text a position means nothing.
            FrameKind::Script if function.url().is_empty() && !self.sources.may_have(function) => {
                None
            },
            FrameKind::Wasm => Some(RecordedPosition::WasmOffset(frame.position.column)),
            _ => Some(RecordedPosition::Source {
                line: frame.position.line,
                column: frame.position.column,
            }),
        };
        self.chunk.frames.push(RecordedFrame {
            function: function_id,
            position,
        });
        self.tables.bytes += 2 * size_of::<RecordedFrame>();
        self.tables.frame_count += 1;
        self.tables.frame_count - 1
    }

    /// There is always room: the tables start over when they take too much.
    fn stack(&mut self, parent_id: Option<u32>, frame_id: u32) -> Option<u32> {
        let stack = Stack {
            parent_id,
            frame_id,
        };
        let tables = &mut self.tables;
        if tables.stacks.find(&stack).is_none() {
            tables.bytes += Table::<Stack>::bytes_of_row();
        }
        Some(tables.stacks.id(&stack))
    }

    fn other_stack(&mut self) -> u32 {
        unreachable!("each stack has had room")
    }

    fn is_other(&self, _: u32) -> bool {
        false
    }

    fn take(&mut self, bytes: usize) -> bool {
        self.tables.bytes += bytes;
        true
    }
}

/// What a function takes beside its name: its row, and twice its entry in a hash table.
const BYTES_OF_FUNCTION: usize =
    2 * (size_of::<RecordedFunction>() + size_of::<(FunctionId, u32)>());

/// What the recording of an event loop is started with.
pub struct SampledRecordingOptions {
    /// Takes the reports.
    pub reporter: Reporter,
    /// Whether the stacks can be walked.
    pub has_stacks: bool,
    /// Whether the texts or the source maps of scripts are wanted.
    pub scripts: bool,
}

impl SampledRecording {
    /// A recording of an event loop.
    pub fn new(
        description: Arc<SharedDescription>,
        options: SampledRecordingOptions,
        schedule: Schedule,
    ) -> Self {
        let reporter = options.reporter;
        Self {
            subscriber: Subscriber::new(Visibility::Everything, schedule),
            has_stacks: options.has_stacks,
            description,
            description_version: 0,
            news: News {
                chunk: Chunk {
                    new_tables: true,
                    ..Chunk::empty(
                        reporter.recording,
                        reporter.event_loop,
                        SampleCounts::default(),
                    )
                },
                known_realms: FxHashMap::default(),
                tables: Tables::default(),
                sources: Sources {
                    are_wanted: options.scripts,
                    ..Sources::default()
                },
            },
            last_report: CrossProcessInstant::now(),
            reporter,
        }
    }

    /// Whether the samples have stacks. If not, the thread is never stopped for them.
    pub fn has_stacks(&self) -> bool {
        self.has_stacks
    }

    /// Adds a sample, or counts it as missed. Sends a report if the last one is old enough.
    pub fn take_sample(&mut self, sample: &Sample<'_>) {
        if self.subscriber.misses(sample) {
            return;
        }
        let missed = self.subscriber.missed_until(sample.time);
        self.news.chunk.missed.extend(missed);
        self.read_description(sample.functions);
        let without_stack = Sample {
            outcome: Outcome::Idle,
            ..*sample
        };
        let seen = match self.has_stacks {
            true => sample,
            false => &without_stack,
        };
        let (stack, marker) = self.subscriber.see(seen, &mut self.news);
        self.news.chunk.samples.push(RecordedSample {
            time: sample.time,
            stack,
            marker,
        });
        if sample.time - self.last_report >= REPORT_INTERVAL || self.news.is_full() {
            self.report();
            self.last_report = sample.time;
        }
    }

    /// Reads what the event loop has said about itself since the last call.
    fn read_description(&mut self, functions: &[Function]) {
        let Some((version, described)) = self.description.newer_than(self.description_version)
        else {
            return;
        };
        self.description_version = version;
        self.news.chunk.description = Some(described.event_loop.clone());
        // A realm that is gone may still have functions on the stack. A later realm at the same address is
        // described again, and has other functions.
        let mut changed = FxHashSet::default();
        let known_realms = &mut self.news.known_realms;
        for (&id, realm) in &described.realms {
            if known_realms.get(&id) != Some(realm) {
                known_realms.insert(id, realm.clone());
                changed.insert(id);
            }
        }
        if known_realms.len() > 2 * MAX_REALMS {
            known_realms.retain(|id, _| described.realms.contains_key(id));
        }
        // Functions of these realms may have been seen before their realm was described.
        let is_stale = |id: FunctionId| changed.contains(&functions[id.index()].realm);
        self.news.tables.functions.retain(|&id, _| !is_stale(id));
        self.subscriber.forget_frames(is_stale);
    }

    /// Reports what is new.
    fn report(&mut self) {
        let news = &mut self.news;
        let reporter = &self.reporter;
        let next = Chunk::empty(
            reporter.recording,
            reporter.event_loop,
            SampleCounts::default(),
        );
        let mut chunk = news.take_chunk(next);
        chunk.counts = self.subscriber.counts;
        reporter.send(Report::Chunk(Box::new(chunk)));
        if news.is_full() {
            news.forget_tables();
            self.subscriber.forget_ids();
        }
    }

    /// The scripts of which something is wanted, except for those that were returned before: see
    /// [`js_profiler_traits::recording::RecordedSource::id`]. The functions that they define are reported first.
    pub fn take_new_sources(&mut self) -> Vec<u32> {
        if !self.news.sources.new.is_empty() {
            self.report();
        }
        mem::take(&mut self.news.sources.new)
    }

    /// Reports what is new, for the last time. `functions` are those of the event loop. Returns the rest of the
    /// scripts of which something is wanted.
    pub fn finish(mut self, functions: &[Function]) -> Vec<u32> {
        self.read_description(functions);
        let missed = self.subscriber.missed_until(CrossProcessInstant::now());
        self.news.chunk.missed.extend(missed);
        self.report();
        self.news.sources.new
    }

    /// Reports what is new, and then the reason why nothing more comes.
    pub fn fail(self, functions: &[Function], failure: &Failure) {
        let reporter = self.reporter.clone();
        self.finish(functions);
        reporter.fail(failure.to_string());
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::thread;
    use std::time::Instant;

    use crossbeam_channel::Receiver;
    use js_profiler_traits::activity::Activity;
    use js_profiler_traits::recording::{MissedReason, RecordedMissed, RecordingId};
    use js_profiler_traits::{EventLoopId, Marker};

    use super::*;
    use crate::sample::FunctionStack;
    use crate::sampled_activity::SampledActivity;
    use crate::spidermonkey::Resource;
    use crate::subscribers::Subscribers;
    use crate::ticks::Ticks;
    use crate::visibility::MOST_FRAMES;

    const OURS: RealmId = RealmId(1);
    const OTHER: RealmId = RealmId(2);

    fn function(name: &str, realm: RealmId, kind: FrameKind) -> Function {
        let has_script = matches!(kind, FrameKind::Script | FrameKind::Wasm);
        Function {
            realm,
            kind,
            muted: realm == OTHER,
            name: name.to_owned(),
            has_guessed_name: false,
            resource: has_script.then(|| {
                Resource::of_test(name.len() as u32, &format!("https://a.example/{name}.js"))
            }),
            position: has_script.then_some((3, 7)),
            source: (kind == FrameKind::Script).then_some(name.len() as u32),
        }
    }

    fn at(function: u32, position: Position) -> StackFrame {
        StackFrame {
            function: FunctionId(function),
            position,
        }
    }

    struct Recorded {
        recording: SampledRecording,
        description: Arc<SharedDescription>,
        reports: Receiver<Report>,
        functions: Vec<Function>,
    }

    impl Recorded {
        fn new(functions: Vec<Function>) -> Self {
            let (sender, reports) = crossbeam_channel::unbounded();
            let description = Arc::new(SharedDescription::of_this_thread());
            let options = SampledRecordingOptions {
                reporter: Reporter {
                    recording: RecordingId(1),
                    event_loop: EventLoopId(1),
                    reports: sender,
                },
                has_stacks: true,
                scripts: false,
            };
            let ticks = Ticks::new(Instant::now(), Duration::from_millis(1));
            let each_tick = Schedule::new(ticks.due(NonZeroU32::MIN), 0, false);
            Self {
                recording: SampledRecording::new(description.clone(), options, each_tick),
                description,
                reports,
                functions,
            }
        }

        fn take(&mut self, outcome: Outcome, stack: &[u32]) {
            self.take_at(CrossProcessInstant::now(), outcome, stack);
        }

        fn take_at(&mut self, time: CrossProcessInstant, outcome: Outcome, stack: &[u32]) {
            let frames: Vec<_> = stack.iter().map(|&id| at(id, Position::UNKNOWN)).collect();
            self.take_frames(time, outcome, &frames);
        }

        fn take_frames(
            &mut self,
            time: CrossProcessInstant,
            outcome: Outcome,
            frames: &[StackFrame],
        ) {
            let sample = Sample {
                time,
                outcome,
                activity: SampledActivity::of_sample(outcome, Activity::default(), None),
                for_pages: FunctionStack::default(),
                everything: FunctionStack {
                    frames,
                    truncated: false,
                },
                functions: &self.functions,
            };
            self.recording.take_sample(&sample);
        }

        /// Ends the recording and puts together what it has reported.
        fn finish(self) -> Reassembled {
            self.recording.finish(&self.functions);
            let mut whole = Reassembled::default();
            for report in self.reports {
                let Report::Chunk(chunk) = report else {
                    panic!("{report:?}");
                };
                whole.add(*chunk);
            }
            whole
        }
    }

    /// What a reader of the chunks makes of them.
    #[derive(Default)]
    struct Reassembled {
        chunks: usize,
        tables: Vec<Chunk>,
        /// Each sample with the index of the tables that it refers to.
        samples: Vec<(usize, RecordedSample)>,
        counts: SampleCounts,
    }

    impl Reassembled {
        fn add(&mut self, chunk: Chunk) {
            self.chunks += 1;
            self.counts = chunk.counts;
            if chunk.new_tables {
                self.tables.push(Chunk::empty(
                    chunk.recording,
                    chunk.event_loop,
                    chunk.counts,
                ));
            }
            let at = self.tables.len() - 1;
            let tables = &mut self.tables[at];
            tables.resources.extend(chunk.resources);
            tables.realms.extend(chunk.realms);
            tables.missed.extend(chunk.missed);
            tables.functions.extend(chunk.functions);
            tables.frames.extend(chunk.frames);
            tables.stacks.extend(chunk.stacks);
            if chunk.description.is_some() {
                tables.description = chunk.description;
            }
            for sample in chunk.samples {
                // A sample refers to nothing that comes later.
                assert!(
                    sample
                        .stack
                        .is_none_or(|id| (id as usize) < tables.stacks.len())
                );
                self.samples.push((at, sample));
            }
        }

        /// The functions of a sample and where they were, from the root to the leaf.
        fn frames(&self, sample: usize) -> Vec<(&RecordedFunction, Option<RecordedPosition>)> {
            let (tables, sample) = &self.samples[sample];
            let tables = &self.tables[*tables];
            let mut frames = Vec::new();
            let mut next = sample.stack;
            while let Some(id) = next {
                let stack = tables.stacks[id as usize];
                let frame = tables.frames[stack.frame_id as usize];
                frames.push((&tables.functions[frame.function as usize], frame.position));
                next = stack.parent_id;
            }
            frames.reverse();
            frames
        }

        fn functions(&self, sample: usize) -> Vec<&RecordedFunction> {
            let frames = self.frames(sample);
            frames.into_iter().map(|(function, _)| function).collect()
        }

        fn names(&self, sample: usize) -> Vec<&str> {
            let functions = self.functions(sample);
            functions.into_iter().map(|one| &*one.name).collect()
        }
    }

    #[test]
    fn all_realms_and_muted_scripts_are_recorded_without_helpers() {
        let mut recorded = Recorded::new(vec![
            function("ours", OURS, FrameKind::Script),
            function("muted", OTHER, FrameKind::Script),
            function("map", OURS, FrameKind::SelfHosted),
            function("ArrayMapHelper", OURS, FrameKind::SelfHosted),
            function("now", OTHER, FrameKind::Native),
            function("compiled", OURS, FrameKind::Wasm),
        ]);
        recorded.take(Outcome::Stack, &[0, 2, 3, 1, 4]);
        recorded.take(Outcome::Stack, &[4, 5]);
        let whole = recorded.finish();
        assert_eq!(whole.names(0), ["ours", "map", "muted", "now"]);
        assert_eq!(whole.names(1), ["now", "compiled"]);
        use RecordedFunctionKind::{BuiltIn, Script};
        let kinds: Vec<_> = whole.functions(0).iter().map(|one| one.kind).collect();
        assert_eq!(kinds, [Script, BuiltIn, Script, BuiltIn]);
        let compiled = whole.functions(1)[1];
        assert_eq!(
            (compiled.kind, compiled.line, compiled.column),
            (Script, Some(3), Some(7))
        );
        assert_eq!(whole.tables[0].resources.len(), 3);
        assert_eq!(whole.functions(0)[3].resource, None);
    }

    #[test]
    fn a_function_is_recorded_once_and_where_it_was_each_time() {
        let guessed = Function {
            has_guessed_name: true,
            ..function("object.method", OURS, FrameKind::Script)
        };
        let mut recorded = Recorded::new(vec![
            function("f", OURS, FrameKind::Script),
            guessed,
            function("compiled", OURS, FrameKind::Wasm),
        ]);
        let position = |line, column| Position { line, column };
        let now = CrossProcessInstant::now();
        for line in [10, 11, 10] {
            let stack = [
                at(0, position(line, 5)),
                at(1, position(20, 7)),
                at(2, position(0, 99)),
            ];
            recorded.take_frames(now, Outcome::Stack, &stack);
        }
        recorded.take(Outcome::Stack, &[0]);
        let whole = recorded.finish();
        let source = |line, column| Some(RecordedPosition::Source { line, column });
        for (sample, line) in [(0, 10), (1, 11), (2, 10)] {
            let frames = whole.frames(sample);
            let positions: Vec<_> = frames.iter().map(|(_, position)| *position).collect();
            let offset = Some(RecordedPosition::WasmOffset(99));
            assert_eq!(positions, [source(line, 5), source(20, 7), offset]);
            assert_eq!(whole.names(sample), ["f", "object.method", "compiled"]);
        }
        assert_eq!(whole.frames(3)[0].1, None);
        assert_eq!(whole.tables[0].functions.len(), 3);
        assert_eq!(whole.tables[0].frames.len(), 5);
    }

    #[test]
    fn a_function_of_a_script_without_a_url_has_no_position() {
        let nameless = Function {
            resource: Some(Resource::of_test(1, "")),
            ..function("", OURS, FrameKind::Script)
        };
        let mut recorded = Recorded::new(vec![nameless]);
        let position = Position { line: 5, column: 9 };
        let now = CrossProcessInstant::now();
        recorded.take_frames(now, Outcome::Stack, &[at(0, position)]);
        let whole = recorded.finish();
        assert_eq!(whole.frames(0)[0].1, None);
        let function = whole.functions(0)[0];
        assert_eq!(function.kind, RecordedFunctionKind::Script);
        assert_eq!(
            (function.resource, function.line, function.column),
            (None, None, None)
        );
    }

    #[test]
    fn chunks_put_together_are_what_was_sampled() {
        let names: Vec<_> = (0..7).map(|number| format!("f{number}")).collect();
        let script = |name: &String| function(name, OURS, FrameKind::Script);
        let mut recorded = Recorded::new(names.iter().map(script).collect());
        let start = CrossProcessInstant::now();
        let mut expected = Vec::new();
        for round in 0..3_000_u32 {
            let depth = round % 11;
            let stack: Vec<_> = (0..depth).map(|at| (round * 31 + at * at) % 7).collect();
            // The recording is 30 seconds long by the times of its samples.
            let time = start + (Duration::from_millis(10) * round).try_into().unwrap();
            recorded.take_at(time, Outcome::Stack, &stack);
            expected.push(stack);
        }
        let whole = recorded.finish();
        assert!((110..=121).contains(&whole.chunks), "{}", whole.chunks);
        assert_eq!(whole.tables[0].frames.len(), 7);
        assert_eq!(whole.counts.taken, 3_000);
        for (sample, stack) in expected.iter().enumerate() {
            let stack: Vec<_> = stack.iter().map(|&id| &*names[id as usize]).collect();
            assert_eq!(whole.names(sample), stack);
        }
    }

    #[test]
    fn tables_that_are_too_large_begin_anew() {
        let names: Vec<_> = (0..1_000).map(|number| format!("f{number}")).collect();
        let script = |name: &String| function(name, OURS, FrameKind::Script);
        let mut recorded = Recorded::new(names.iter().map(script).collect());
        let start = CrossProcessInstant::now();
        let rounds = 2 * MAX_STACKS as u32;
        for round in 0..rounds {
            let time = start + Duration::from_millis(round.into()).try_into().unwrap();
            recorded.take_at(time, Outcome::Stack, &[round / 1_000, round % 1_000]);
        }
        let whole = recorded.finish();
        assert!(whole.tables.len() > 1);
        for tables in &whole.tables {
            assert!(
                tables.stacks.len() < MAX_STACKS + 1_000,
                "{}",
                tables.stacks.len()
            );
        }
        for round in (0..rounds).step_by(997) {
            let expected = [round / 1_000, round % 1_000].map(|id| &*names[id as usize]);
            assert_eq!(whole.names(round as usize), expected);
        }
    }

    #[test]
    fn tables_whose_texts_are_too_large_begin_anew() {
        const COUNT: u32 = 40;
        let long = "x".repeat(MAX_TABLES_BYTES / 30);
        let names: Vec<_> = (0..COUNT).map(|number| format!("{number}{long}")).collect();
        let script = |name: &String| Function {
            resource: None,
            ..function(name, OURS, FrameKind::Script)
        };
        let mut recorded = Recorded::new(names.iter().map(script).collect());
        for number in 0..COUNT {
            recorded.take(Outcome::Stack, &[number]);
        }
        let whole = recorded.finish();
        for tables in &whole.tables {
            let bytes: usize = tables.functions.iter().map(|one| one.name.len()).sum();
            assert!(bytes < MAX_TABLES_BYTES * 31 / 30 + 100, "{bytes}");
        }
        assert!(whole.tables.len() > 1);
        for (sample, name) in names.iter().enumerate() {
            assert_eq!(whole.names(sample), [name]);
        }
    }

    #[test]
    fn a_realm_is_known_from_when_it_is_described() {
        let mut recorded = Recorded::new(vec![
            function("f", OURS, FrameKind::Script),
            function("g", OTHER, FrameKind::Script),
        ]);
        let realm = |url: &str| Realm {
            url: url.to_owned(),
            origin: None,
        };
        recorded.take(Outcome::Stack, &[0, 1]);
        recorded.description.change(|described| {
            described
                .event_loop
                .urls
                .push("https://a.example/".to_owned());
            described.realms.insert(OURS, realm("https://a.example/"));
        });
        recorded.take(Outcome::Stack, &[0, 1]);
        recorded.description.change(|described| {
            described.realms.remove(&OURS);
        });
        // The realm is gone, but its functions are on the stack.
        recorded.take(Outcome::Stack, &[0, 1]);
        // Another realm at the same address.
        recorded.description.change(|described| {
            described.realms.insert(OURS, realm("https://b.example/"));
        });
        recorded.take(Outcome::Stack, &[0, 1]);
        let whole = recorded.finish();
        let tables = &whole.tables[0];
        let urls: Vec<_> = (0..4)
            .map(|sample| {
                let [f, g] = whole.functions(sample)[..] else {
                    panic!("{:?}", whole.names(sample));
                };
                assert_eq!((&*f.name, &*g.name, g.realm), ("f", "g", None));
                f.realm.map(|realm| &*tables.realms[realm as usize].url)
            })
            .collect();
        let (a, b) = (Some("https://a.example/"), Some("https://b.example/"));
        assert_eq!(urls, [None, a, a, b]);
        let description = tables.description.as_ref().unwrap();
        assert_eq!(description.urls, ["https://a.example/"]);
    }

    #[test]
    fn samples_are_counted_as_they_went() {
        let mut recorded = Recorded::new(vec![function("f", OURS, FrameKind::Script)]);
        let is_due_at = |recorded: &mut Recorded, tick| {
            let is_due = recorded.recording.subscriber.schedule.is_due_by(tick);
            recorded
                .recording
                .subscriber
                .advance(tick, MissedReason::SamplerLate);
            is_due
        };
        assert_eq!(recorded.recording.subscriber.schedule.next_tick(), Some(1));
        assert!(!is_due_at(&mut recorded, 0));
        assert!(is_due_at(&mut recorded, 1));
        // The samples due at 2 and 3 are missed.
        assert!(is_due_at(&mut recorded, 4));
        recorded.take(Outcome::Idle, &[0]);
        recorded.take(Outcome::Missed(MissedReason::NoProcessor), &[0]);
        recorded.take(Outcome::Unwalkable, &[]);
        recorded.take(Outcome::Stack, &[0]);
        recorded.take(Outcome::Collecting, &[]);
        let whole = recorded.finish();
        let activities: Vec<_> = whole.samples.iter().map(|(_, one)| one.marker).collect();
        let (script, gc) = (Some(Marker::Script), Some(Marker::Gc));
        assert_eq!(activities, [None, script, script, gc]);
        let depths: Vec<_> = (0..4).map(|sample| whole.names(sample).len()).collect();
        assert_eq!(depths, [0, 0, 1, 0]);
        let expected = SampleCounts {
            taken: 4,
            missed: 3,
            collecting: 1,
            unwalkable: 1,
            ..SampleCounts::default()
        };
        assert_eq!(whole.counts, expected);
        let missed: Vec<_> = whole.tables[0].missed.iter().collect();
        let [late, not_running] = missed[..] else {
            panic!("{missed:?}");
        };
        assert_eq!((late.samples, late.why), (2, MissedReason::SamplerLate));
        let of = |sample: usize| whole.samples[sample].1.time;
        assert!(late.start < of(0) && late.end == of(0), "{late:?}");
        let expected = RecordedMissed {
            start: of(0),
            end: of(1),
            samples: 1,
            why: MissedReason::NoProcessor,
        };
        assert_eq!(*not_running, expected);
    }

    #[test]
    fn a_walk_that_is_done_late_is_the_sample_of_that_time() {
        let mut recorded = Recorded::new(Vec::new());
        let functions = Vec::new();
        let sample = |time| Sample {
            time,
            outcome: Outcome::Idle,
            activity: SampledActivity::of_sample(Outcome::Idle, Activity::default(), None),
            for_pages: FunctionStack::default(),
            everything: FunctionStack::default(),
            functions: &functions,
        };
        let mut subscribers = Subscribers {
            recording: Some(recorded.recording),
            ..Subscribers::default()
        };
        let times = [(); 4].map(|()| {
            thread::sleep(Duration::from_micros(10));
            CrossProcessInstant::now()
        });
        let walks = [(1, 1), (4, 10), (11, 11), (15, 15)];
        for (&time, (due, done)) in times.iter().zip(walks) {
            let since = (done, MissedReason::SamplerLate);
            subscribers.take_of_tick(&sample(time), (due, MissedReason::NotStopped), since);
        }
        recorded.recording = subscribers.recording.take().unwrap();
        let whole = recorded.finish();
        assert_eq!((whole.counts.taken, whole.counts.missed), (4, 11));
        let missed = whole.tables[0].missed.iter();
        let missed: Vec<_> = missed.map(|one| (one.end, one.samples, one.why)).collect();
        // Two intervals before the second walk was due, six before it was done, and three before the last one.
        let (late, not_stopped) = (MissedReason::SamplerLate, MissedReason::NotStopped);
        let mut expected = [
            (times[1], 6, late),
            (times[1], 2, not_stopped),
            (times[3], 3, not_stopped),
        ];
        expected[..2].sort_by_key(|(_, _, why)| *why as usize);
        assert_eq!(missed, expected);
    }

    #[test]
    fn a_deep_stack_keeps_its_leaf() {
        let mut recorded = Recorded::new(vec![
            function("root", OURS, FrameKind::Script),
            function("leaf", OURS, FrameKind::Script),
        ]);
        let mut stack = vec![0; MOST_FRAMES + 10];
        *stack.last_mut().unwrap() = 1;
        recorded.take(Outcome::Stack, &stack);
        let whole = recorded.finish();
        assert_eq!(whole.names(0).len(), MOST_FRAMES);
        assert_eq!(whole.names(0).last(), Some(&"leaf"));
        assert_eq!(whole.counts.truncated, 1);
    }
}
