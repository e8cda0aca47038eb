/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording of an event loop as the sampling thread has it: tables as far as ids must be known, and
//! what has not been reported yet.
//!
//! Unlike a session's trace it has the functions of all realms, muted scripts included: it is for people
//! who work on the engine, and never reaches a web page.

use std::hash::Hash;
use std::mem;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;
use js_profiler_traits::recording::{
    Chunk, Realm, RecordedFrame, RecordedFrameKind, RecordedSample, RecordingId, Report,
};
use js_profiler_traits::{GroupId, RealmId, SampleCounts, Stack};
use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::{FxHashMap, FxHashSet};
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::description::SharedDescription;
use crate::failure::Failure;
use crate::function_table::{Function, FunctionId};
use crate::outcome::{self, Outcome};
use crate::spidermonkey::FrameKind;
use crate::ticks;
use crate::work::Work;

/// How often what is new is reported.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// With so many stacks the tables begin anew: a recording may go on for days of which the last seconds
/// are kept.
const MAX_STACKS: usize = 1 << 17;

/// Stacks of more frames lose those at the root end: readers of profiles have a bound.
const MAX_DEPTH: usize = 8_192;

#[derive(MallocSizeOf)]
pub struct GroupRecording {
    pub id: RecordingId,
    group: GroupId,
    /// In base intervals.
    interval: NonZeroU32,
    /// The tick up to which it has had its samples.
    last_tick: u64,
    has_stacks: bool,
    #[ignore_malloc_size_of = "The event loop's"]
    description: Arc<SharedDescription>,
    /// The version of it that is known.
    description_version: u64,
    known_realms: FxHashMap<RealmId, Realm>,
    tables: Tables,
    /// What has not been reported yet.
    chunk: Chunk,
    last_report: CrossProcessInstant,
    #[ignore_malloc_size_of = "Holds nothing"]
    reports: Sender<Report>,
}

/// The ids of what has been reported.
#[derive(Default, MallocSizeOf)]
struct Tables {
    resources: FxHashMap<String, u32>,
    realms: FxHashMap<Realm, u32>,
    frame_count: u32,
    /// Each function's frame; none for one that is not shown.
    frames: FxHashMap<FunctionId, Option<u32>>,
    stacks: FxHashMap<Stack, u32>,
}

/// What a recording of an event loop is started with.
pub struct GroupRecordingOptions {
    pub id: RecordingId,
    /// A multiple of the base interval.
    pub interval: Duration,
    /// Why its stacks cannot be walked, if so.
    pub without_stacks: Option<String>,
    pub description: Arc<SharedDescription>,
    pub reports: Sender<Report>,
}

impl GroupRecording {
    pub fn new(
        group: GroupId,
        options: GroupRecordingOptions,
        interval: NonZeroU32,
        current_tick: u64,
    ) -> Self {
        Self {
            id: options.id,
            group,
            interval,
            last_tick: current_tick,
            has_stacks: options.without_stacks.is_none(),
            description: options.description,
            description_version: 0,
            known_realms: FxHashMap::default(),
            tables: Tables::default(),
            chunk: Chunk {
                without_stacks: options.without_stacks,
                new_tables: true,
                ..Chunk::empty(options.id, group, SampleCounts::default())
            },
            last_report: CrossProcessInstant::now(),
            reports: options.reports,
        }
    }

    /// Whether the thread is stopped for a sample when it runs JavaScript.
    pub fn has_stacks(&self) -> bool {
        self.has_stacks
    }

    pub fn next_tick(&self) -> u64 {
        self.next_tick_after(self.last_tick)
    }

    pub fn next_tick_after(&self, tick: u64) -> u64 {
        ticks::next_multiple(tick, self.interval)
    }

    /// Moves on to `tick` and says whether a sample is due there. Ticks that were due before and had
    /// none are missed.
    pub fn advance(&mut self, tick: u64) -> bool {
        let due = ticks::multiples_between(self.last_tick, tick, self.interval);
        self.last_tick = tick;
        self.chunk.counts.missed += due.saturating_sub(1);
        due > 0
    }

    /// `functions` is the group's table.
    pub fn take_sample(
        &mut self,
        time: CrossProcessInstant,
        outcome: Outcome,
        work: Option<Work>,
        stack: outcome::Stack<'_>,
        functions: &[Function],
    ) {
        if outcome == Outcome::Missed {
            self.chunk.counts.missed += 1;
            return;
        }
        self.read_description(functions);
        let stack_id = if outcome == Outcome::Idle || !self.has_stacks {
            None
        } else {
            let too_deep = stack.functions.len() > MAX_DEPTH;
            let counts = &mut self.chunk.counts;
            counts.truncated += u64::from(stack.truncated || too_deep);
            counts.collecting += u64::from(outcome == Outcome::Collecting);
            counts.unwalkable += u64::from(outcome == Outcome::Unwalkable);
            self.stack_id(stack.functions, functions)
        };
        self.chunk.counts.taken += 1;
        self.chunk.samples.push(RecordedSample {
            time,
            stack: stack_id,
            activity: work.map(|work| work.marker),
        });
        if time - self.last_report >= REPORT_INTERVAL {
            self.report();
            self.last_report = time;
        }
    }

    fn stack_id(&mut self, stack: &[FunctionId], functions: &[Function]) -> Option<u32> {
        let shown = &stack[stack.len().saturating_sub(MAX_DEPTH)..];
        let mut stack_id = None;
        for &id in shown {
            if let Some(frame_id) = self.frame_id(id, &functions[id.index()]) {
                let stack = Stack {
                    parent_id: stack_id,
                    frame_id,
                };
                let next = self.tables.stacks.len() as u32;
                let new_stacks = &mut self.chunk.stacks;
                stack_id = Some(*self.tables.stacks.entry(stack).or_insert_with(|| {
                    new_stacks.push(stack);
                    next
                }));
            }
        }
        stack_id
    }

    /// None for the helpers of the engine's own functions.
    fn frame_id(&mut self, id: FunctionId, function: &Function) -> Option<u32> {
        if let Some(&frame_id) = self.tables.frames.get(&id) {
            return frame_id;
        }
        let is_built_in = function.is_built_in();
        let is_shown = function.kind != FrameKind::SelfHosted || is_built_in;
        let frame_id = is_shown.then(|| {
            let has_resource = !function.resource.is_empty() && !is_built_in;
            let resource = has_resource.then(|| {
                intern(
                    &mut self.tables.resources,
                    &mut self.chunk.resources,
                    &function.resource,
                )
            });
            let realm = self
                .known_realms
                .get(&function.realm)
                .map(|realm| intern(&mut self.tables.realms, &mut self.chunk.realms, realm));
            let position = function.position.filter(|_| !is_built_in);
            self.chunk.frames.push(RecordedFrame {
                name: function.name.clone(),
                kind: match is_built_in {
                    true => RecordedFrameKind::BuiltIn,
                    false => RecordedFrameKind::Script,
                },
                resource,
                line: position.map(|(line, _)| line),
                column: position.map(|(_, column)| column),
                realm,
            });
            let frame_id = self.tables.frame_count;
            self.tables.frame_count += 1;
            frame_id
        });
        self.tables.frames.insert(id, frame_id);
        frame_id
    }

    /// Takes note of what the event loop has said of itself since the last time.
    fn read_description(&mut self, functions: &[Function]) {
        let Some((version, described)) = self.description.newer_than(self.description_version)
        else {
            return;
        };
        self.description_version = version;
        self.chunk.description = Some(described.event_loop.clone());
        // A realm that is gone may still have functions on the stack. One that is made at the same place
        // later is described anew, and its functions are others.
        let mut changed = FxHashSet::default();
        for (&id, realm) in &described.realms {
            if self.known_realms.get(&id) != Some(realm) {
                self.known_realms.insert(id, realm.clone());
                changed.insert(id);
            }
        }
        // Frames of functions that were seen before their realm was described are made again.
        let is_same = |id: FunctionId| !changed.contains(&functions[id.index()].realm);
        self.tables.frames.retain(|&id, _| is_same(id));
    }

    /// Reports what is new.
    fn report(&mut self) {
        let next = Chunk::empty(self.id, self.group, self.chunk.counts);
        let chunk = mem::replace(&mut self.chunk, next);
        // An error means that nobody records any more.
        let _ = self.reports.send(Report::Chunk(Box::new(chunk)));
        if self.tables.stacks.len() >= MAX_STACKS {
            self.tables = Tables::default();
            self.chunk.new_tables = true;
        }
    }

    /// Reports what is new, for the last time. `functions` is the group's table.
    pub fn finish(mut self, functions: &[Function]) {
        self.read_description(functions);
        self.report();
    }

    /// Reports what is new, and that nothing comes any more, and why.
    pub fn fail(self, functions: &[Function], failure: &Failure) {
        let (recording, group, reports) = (self.id, self.group, self.reports.clone());
        self.finish(functions);
        let _ = reports.send(Report::Failed {
            recording,
            group,
            why: failure.to_string(),
        });
    }
}

fn intern<T: Clone + Eq + Hash>(ids: &mut FxHashMap<T, u32>, new: &mut Vec<T>, entry: &T) -> u32 {
    if let Some(&id) = ids.get(entry) {
        return id;
    }
    let id = ids.len() as u32;
    ids.insert(entry.clone(), id);
    new.push(entry.clone());
    id
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::Receiver;
    use js_profiler_traits::Marker;
    use js_profiler_traits::activity::Activity;

    use super::*;

    const OURS: RealmId = RealmId(1);
    const OTHER: RealmId = RealmId(2);

    fn function(name: &str, realm: RealmId, kind: FrameKind) -> Function {
        let has_script = matches!(kind, FrameKind::Script | FrameKind::Wasm);
        Function {
            realm,
            kind,
            muted: realm == OTHER,
            name: name.to_owned(),
            resource: match has_script {
                true => format!("https://a.example/{name}.js"),
                false => String::new(),
            },
            position: has_script.then_some((3, 7)),
        }
    }

    struct Recorded {
        recording: GroupRecording,
        description: Arc<SharedDescription>,
        reports: Receiver<Report>,
        functions: Vec<Function>,
    }

    impl Recorded {
        fn new(functions: Vec<Function>) -> Self {
            let (sender, reports) = crossbeam_channel::unbounded();
            let description = Arc::new(SharedDescription::of_this_thread());
            let options = GroupRecordingOptions {
                id: RecordingId(1),
                interval: Duration::from_millis(2),
                without_stacks: None,
                description: description.clone(),
                reports: sender,
            };
            let two_ticks = NonZeroU32::new(2).unwrap();
            Self {
                recording: GroupRecording::new(GroupId(1), options, two_ticks, 0),
                description,
                reports,
                functions,
            }
        }

        fn take(&mut self, outcome: Outcome, stack: &[u32]) {
            self.take_at(CrossProcessInstant::now(), outcome, stack);
        }

        fn take_at(&mut self, time: CrossProcessInstant, outcome: Outcome, stack: &[u32]) {
            let functions: Vec<_> = stack.iter().copied().map(FunctionId).collect();
            let work = Work::of_sample(outcome, Activity::default(), None);
            let stack = outcome::Stack {
                functions: &functions,
                truncated: false,
            };
            self.recording
                .take_sample(time, outcome, work, stack, &self.functions);
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
        /// Each with the tables that it refers to.
        samples: Vec<(usize, RecordedSample)>,
        counts: SampleCounts,
    }

    impl Reassembled {
        fn add(&mut self, chunk: Chunk) {
            self.chunks += 1;
            self.counts = chunk.counts;
            if chunk.new_tables {
                self.tables
                    .push(Chunk::empty(chunk.recording, chunk.group, chunk.counts));
            }
            let at = self.tables.len() - 1;
            let tables = &mut self.tables[at];
            tables.resources.extend(chunk.resources);
            tables.realms.extend(chunk.realms);
            tables.frames.extend(chunk.frames);
            tables.stacks.extend(chunk.stacks);
            if chunk.description.is_some() {
                tables.description = chunk.description;
            }
            for sample in chunk.samples {
                // It refers to nothing that comes later.
                assert!(
                    sample
                        .stack
                        .is_none_or(|id| (id as usize) < tables.stacks.len())
                );
                self.samples.push((at, sample));
            }
        }

        /// From the root to the leaf.
        fn frames(&self, sample: usize) -> Vec<&RecordedFrame> {
            let (tables, sample) = &self.samples[sample];
            let tables = &self.tables[*tables];
            let mut frames = Vec::new();
            let mut next = sample.stack;
            while let Some(id) = next {
                let stack = tables.stacks[id as usize];
                frames.push(&tables.frames[stack.frame_id as usize]);
                next = stack.parent_id;
            }
            frames.reverse();
            frames
        }

        fn names(&self, sample: usize) -> Vec<&str> {
            let frames = self.frames(sample);
            frames.into_iter().map(|frame| &*frame.name).collect()
        }
    }

    #[test]
    fn all_realms_and_muted_scripts_are_recorded_but_no_helpers() {
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
        use RecordedFrameKind::{BuiltIn, Script};
        let kinds: Vec<_> = whole.frames(0).iter().map(|frame| frame.kind).collect();
        assert_eq!(kinds, [Script, BuiltIn, Script, BuiltIn]);
        let compiled = whole.frames(1)[1];
        assert_eq!(
            (compiled.kind, compiled.line, compiled.column),
            (Script, Some(3), Some(7))
        );
        assert_eq!(whole.tables[0].resources.len(), 3);
        assert_eq!(whole.frames(0)[3].resource, None);
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
            // The recording is 30 seconds long by the clock of the samples.
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
        // It has gone, but has functions on the stack.
        recorded.take(Outcome::Stack, &[0, 1]);
        // Another one at its place.
        recorded.description.change(|described| {
            described.realms.insert(OURS, realm("https://b.example/"));
        });
        recorded.take(Outcome::Stack, &[0, 1]);
        let whole = recorded.finish();
        let tables = &whole.tables[0];
        let urls: Vec<_> = (0..4)
            .map(|sample| {
                let [f, g] = whole.frames(sample)[..] else {
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
        assert_eq!(recorded.recording.next_tick(), 2);
        assert!(!recorded.recording.advance(1));
        assert!(recorded.recording.advance(2));
        // 4 and 6 have passed.
        assert!(recorded.recording.advance(9));
        recorded.take(Outcome::Idle, &[0]);
        recorded.take(Outcome::Missed, &[0]);
        recorded.take(Outcome::Unwalkable, &[0]);
        recorded.take(Outcome::Unwalkable, &[]);
        recorded.take(Outcome::Collecting, &[0]);
        let whole = recorded.finish();
        let activities: Vec<_> = whole.samples.iter().map(|(_, one)| one.activity).collect();
        let (script, gc) = (Some(Marker::Script), Some(Marker::Gc));
        assert_eq!(activities, [None, script, script, gc]);
        let depths: Vec<_> = (0..4).map(|sample| whole.names(sample).len()).collect();
        assert_eq!(depths, [0, 1, 0, 1]);
        let expected = SampleCounts {
            taken: 4,
            missed: 3,
            collecting: 1,
            unwalkable: 2,
            truncated: 0,
        };
        assert_eq!(whole.counts, expected);
    }

    #[test]
    fn a_deep_stack_keeps_its_leaf() {
        let mut recorded = Recorded::new(vec![
            function("root", OURS, FrameKind::Script),
            function("leaf", OURS, FrameKind::Script),
        ]);
        let mut stack = vec![0; MAX_DEPTH + 10];
        *stack.last_mut().unwrap() = 1;
        recorded.take(Outcome::Stack, &stack);
        let whole = recorded.finish();
        assert_eq!(whole.names(0).len(), MAX_DEPTH);
        assert_eq!(whole.names(0).last(), Some(&"leaf"));
        assert_eq!(whole.counts.truncated, 1);
    }
}
