/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A session as the sampling thread has it: which samples it wants and what it has of them.

use std::num::NonZeroU32;

use js_profiler_traits::{Frame, RealmId, SampleCounts, SessionId, Trace};
use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::FxHashMap;
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;

use crate::failure::Failure;
use crate::function_table::{Function, FunctionId};
use crate::options::SessionOptions;
use crate::outcome::{Outcome, Stack};
use crate::spidermonkey::FrameKind;
use crate::ticks;
use crate::trace_builder::TraceBuilder;
use crate::work::{MarkerFilter, Work};

/// Why a session takes no more samples, although nobody has stopped it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ended {
    /// Its sample buffer is full. It waits to be stopped, and has its trace.
    BufferFull,
    /// It has no trace.
    Failed(Failure),
}

/// Called once, if the session ends by itself, on the sampling thread.
pub type OnEnd = Box<dyn FnOnce(Ended) + Send>;

#[derive(MallocSizeOf)]
pub struct SampledSession {
    pub id: SessionId,
    realm: RealmId,
    browsing_context: Option<BrowsingContextId>,
    /// In base intervals.
    interval: NonZeroU32,
    max_buffer_size: usize,
    markers: MarkerFilter,
    /// None when it has ended by itself.
    #[ignore_malloc_size_of = "A few ids"]
    on_end: Option<OnEnd>,
    #[ignore_malloc_size_of = "A sentence"]
    failure: Option<Failure>,
    paused: bool,
    /// The tick up to which this session has had its samples.
    last_tick: u64,
    /// Whether a sample is due at `last_tick`.
    due: bool,
    builder: TraceBuilder,
    /// Each function's frame in the trace; none for one that may not be shown. Whether a built-in is
    /// shown depends on its caller as well.
    frames: FxHashMap<FunctionId, Option<u32>>,
    /// From the root to the leaf.
    last_stack: Vec<Step>,
}

/// A function of a stack that has been looked up, and the stack up to there.
#[derive(MallocSizeOf)]
struct Step {
    function: FunctionId,
    stack_id: Option<u32>,
    is_shown_script: bool,
}

impl SampledSession {
    pub fn new(
        id: SessionId,
        realm: RealmId,
        browsing_context: Option<BrowsingContextId>,
        interval: NonZeroU32,
        options: SessionOptions,
        on_end: OnEnd,
        current_tick: u64,
    ) -> Self {
        Self {
            id,
            realm,
            browsing_context,
            interval,
            max_buffer_size: options.max_buffer_size as usize,
            markers: options.markers,
            on_end: Some(on_end),
            failure: None,
            paused: false,
            last_tick: current_tick,
            due: false,
            builder: TraceBuilder::default(),
            frames: FxHashMap::default(),
            last_stack: Vec::new(),
        }
    }

    /// Whether it takes samples at present.
    pub fn is_running(&self) -> bool {
        self.on_end.is_some() && !self.paused
    }

    /// Whether it takes samples and has none yet.
    pub fn wants_first_sample(&self) -> bool {
        self.is_running() && self.builder.sample_count() == 0
    }

    /// A paused session takes no samples, and misses none. `current_tick` is where it goes on.
    pub fn set_paused(&mut self, paused: bool, current_tick: u64) {
        self.paused = paused;
        self.last_tick = current_tick;
    }

    pub fn realm(&self) -> RealmId {
        self.realm
    }

    /// In base intervals, whether or not it takes samples.
    pub fn sample_interval(&self) -> NonZeroU32 {
        self.interval
    }

    pub fn counts(&self) -> SampleCounts {
        self.builder.counts()
    }

    /// In base intervals; none if it takes no more samples.
    pub fn interval(&self) -> Option<NonZeroU32> {
        self.is_running().then_some(self.interval)
    }

    /// The next tick at which it takes a sample.
    pub fn next_tick(&self) -> Option<u64> {
        self.next_tick_after(self.last_tick)
    }

    pub fn next_tick_after(&self, tick: u64) -> Option<u64> {
        self.is_running()
            .then(|| ticks::next_multiple(tick, self.interval))
    }

    /// Moves on to `tick` and says whether a sample is due there. Ticks that were due before and had
    /// none are missed: they are counted, and never made up for.
    pub fn advance(&mut self, tick: u64) -> bool {
        self.due = false;
        if self.is_running() {
            let due = ticks::multiples_between(self.last_tick, tick, self.interval);
            self.last_tick = tick;
            self.builder.counts_mut().missed += due.saturating_sub(1);
            self.due = due > 0;
        }
        self.due
    }

    pub fn is_due(&self) -> bool {
        self.due
    }

    pub fn is_running_in(&self, browsing_context: BrowsingContextId) -> bool {
        self.is_running() && self.browsing_context == Some(browsing_context)
    }

    /// <https://wicg.github.io/js-self-profiling/#dfn-take-a-sample>
    ///
    /// `functions` is the group's table. False if there is nothing to take a sample of.
    pub fn take_sample(
        &mut self,
        time: CrossProcessInstant,
        outcome: Outcome,
        work: Option<Work>,
        stack: Stack<'_>,
        functions: &[Function],
    ) -> bool {
        if outcome == Outcome::Missed {
            self.builder.counts_mut().missed += 1;
            return false;
        }
        // A sample without a stack would say that no JavaScript was running.
        if outcome == Outcome::Unwalkable && stack.functions.is_empty() {
            self.builder.counts_mut().unwalkable += 1;
            return false;
        }
        // Step 1. If the length of ProfilerTrace.samples is greater than or equal to the sample buffer
        // size limit associated with the profiling session, fire a new event of type samplebufferfull
        // to the associated Profiler, move the state to stopped, and return.
        if self.builder.sample_count() >= self.max_buffer_size {
            if let Some(on_end) = self.on_end.take() {
                on_end(Ended::BufferFull);
            }
            return true;
        }
        let counts = self.builder.counts_mut();
        counts.unwalkable += u64::from(outcome == Outcome::Unwalkable);
        counts.collecting += u64::from(outcome == Outcome::Collecting);
        // Step 4. Let stack be the execution context stack associated with the profiling session's
        // agent.
        let stack_id = if outcome == Outcome::Idle {
            None
        } else {
            counts.truncated += u64::from(stack.truncated);
            self.stack_id(stack.functions, functions)
        };
        // Step 2. Let sample be a new ProfilerSample.
        // Step 3. Set the ProfilerSample.timestamp property of sample to the current high resolution
        // time relative to the profiling session's time origin.
        // Step 5. Set the ProfilerSample.stackId property of sample to the result of the get a stack
        // ID algorithm on stack.
        // Step 6. Add sample to the ProfilerTrace.samples associated with the session's ProfilerTrace.
        let marker = self.markers.marker(work, self.realm);
        self.builder.sample(time, stack_id, marker);
        true
    }

    /// <https://wicg.github.io/js-self-profiling/#dfn-get-a-stack-id>
    ///
    /// The recursion of the specification, from the root: an empty stack has no id, and a frame that
    /// has none is passed over. A built-in is passed over, too, unless a script that is shown called
    /// it: what hidden code calls says what it does, and what a built-in calls is its own affair.
    fn stack_id(&mut self, stack: &[FunctionId], functions: &[Function]) -> Option<u32> {
        // What the stack has in common with the last one has been looked up.
        let pairs = self.last_stack.iter().zip(stack);
        let common = pairs.take_while(|(step, id)| step.function == **id).count();
        self.last_stack.truncate(common);
        let (mut stack_id, mut called_by_shown_script) = match self.last_stack.last() {
            Some(step) => (step.stack_id, step.is_shown_script),
            None => (None, false),
        };
        for &id in &stack[common..] {
            let function = &functions[id.index()];
            let frame_id = if !function.is_built_in() || called_by_shown_script {
                self.frame_id(id, function)
            } else {
                None
            };
            if let Some(frame_id) = frame_id {
                stack_id = Some(self.builder.stack(stack_id, frame_id));
            }
            called_by_shown_script = !function.is_built_in() && frame_id.is_some();
            self.last_stack.push(Step {
                function: id,
                stack_id,
                is_shown_script: called_by_shown_script,
            });
        }
        stack_id
    }

    /// <https://wicg.github.io/js-self-profiling/#dfn-get-a-frame-id>
    fn frame_id(&mut self, id: FunctionId, function: &Function) -> Option<u32> {
        if let Some(&frame_id) = self.frames.get(&id) {
            return frame_id;
        }
        let frame_id = self.may_show(function).then(|| {
            // Step 7. Let resourceString be equal to the base URL of script.
            // Step 8. Set ProfilerFrame.resourceId to the result of running get an element ID on
            // resourceString and ProfilerTrace.resources.
            let has_resource = !function.resource.is_empty() && !function.is_built_in();
            let resource_id = has_resource.then(|| self.builder.resource(&function.resource));
            let position = function.position.filter(|_| has_resource);
            // Step 2. Let frame be a new ProfilerFrame.
            // Step 11. Return the result of running get an element ID on frame and
            // ProfilerTrace.frames.
            self.builder.frame(Frame {
                // Step 4. Set ProfilerFrame.name of frame to the function instance name.
                name: function.name.clone(),
                resource_id,
                // Steps 9 and 10. Set line and column to the 1-based indices of where instance is
                // defined in its containing script.
                line: position.map(|(line, _)| line),
                column: position.map(|(_, column)| column),
            })
        });
        self.frames.insert(id, frame_id);
        frame_id
    }

    fn may_show(&self, function: &Function) -> bool {
        // Step 1. If the realm associated with context does not match the realm that created the
        // profiling session, return undefined.
        // A native of the caller's realm has no realm of its own, nor has one that has called something, for it cannot
        // be told any more: it is shown where a script calls it that is shown. Natives of all realms are alike.
        (function.realm == self.realm ||
            (function.kind == FrameKind::Native && function.realm == RealmId(0))) &&
            // Step 6. If script is a classic script and its muted errors boolean is equal to true,
            // return null.
            !function.muted &&
            // The helpers of built-ins are not the page's.
            (function.kind != FrameKind::SelfHosted || function.is_built_in())
    }

    /// Ends a session that goes on, also if it is paused. One whose buffer is full keeps its trace.
    pub fn fail(&mut self, failure: &Failure) {
        if let Some(on_end) = self.on_end.take() {
            self.failure = Some(failure.clone());
            self.builder = TraceBuilder::default();
            self.frames = FxHashMap::default();
            on_end(Ended::Failed(failure.clone()));
        }
    }

    /// The trace up to `until`: what was sampled while the order to stop was on its way is left out.
    pub fn finish(mut self, until: CrossProcessInstant) -> Result<Trace, Failure> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.builder.drop_samples_after(until);
        Ok(self.builder.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use js_profiler_traits::Marker;
    use js_profiler_traits::activity::Activity;
    use servo_base::id::{Index, PipelineNamespaceId};

    use super::*;

    const OURS: RealmId = RealmId(1);
    const OTHER: RealmId = RealmId(2);

    fn function(name: &str, realm: RealmId, muted: bool) -> Function {
        Function {
            realm,
            kind: FrameKind::Script,
            muted,
            name: name.to_owned(),
            resource: "https://a.example/a.js".to_owned(),
            position: Some((3, 7)),
        }
    }

    fn built_in(name: &str, kind: FrameKind) -> Function {
        Function {
            kind,
            position: (kind == FrameKind::SelfHosted).then_some((1, 1)),
            resource: String::new(),
            ..function(name, OURS, false)
        }
    }

    fn take(
        session: &mut SampledSession,
        outcome: Outcome,
        stack: &[u32],
        table: &[Function],
    ) -> bool {
        let functions: Vec<_> = stack.iter().copied().map(FunctionId).collect();
        let stack = Stack {
            functions: &functions,
            truncated: false,
        };
        let leaf = functions.last().map(|id| table[id.index()].realm);
        let work = Work::of_sample(outcome, Activity::default(), leaf);
        session.take_sample(CrossProcessInstant::now(), outcome, work, stack, table)
    }

    /// The names on the stack of a sample, from the root to the leaf.
    fn names(trace: &Trace, sample: usize) -> Vec<&str> {
        let mut names = Vec::new();
        let mut next = trace.samples[sample].stack_id;
        while let Some(id) = next {
            let stack = trace.stacks[id as usize];
            names.insert(0, &*trace.frames[stack.frame_id as usize].name);
            next = stack.parent_id;
        }
        names
    }

    #[test]
    fn built_ins_are_shown_where_a_shown_script_called_them() {
        let functions = [
            function("ours", OURS, false),
            function("muted", OURS, true),
            built_in("sort", FrameKind::Native),
            built_in("map", FrameKind::SelfHosted),
            built_in("ArraySpeciesCreate", FrameKind::SelfHosted),
            Function {
                realm: OTHER,
                ..built_in("theirs", FrameKind::Native)
            },
        ];
        let (mut session, _) = session(1, 100);
        let shown: &[(&[u32], &[&str])] = &[
            (&[0, 2], &["ours", "sort"]),
            (&[0, 3, 0], &["ours", "map", "ours"]),
            (&[2], &[]),
            (&[0, 1, 2], &["ours"]),
            (&[1, 3, 0], &["ours"]),
            (&[0, 4], &["ours"]),
            (&[0, 3, 4, 2], &["ours", "map"]),
            (&[0, 5, 2], &["ours"]),
            // What is known of the stack before must not say more of this one, nor less.
            (&[0, 1], &["ours"]),
            (&[0, 1, 2], &["ours"]),
            (&[0, 3], &["ours", "map"]),
            (&[0, 3, 2], &["ours", "map"]),
            (&[0, 3, 0, 2], &["ours", "map", "ours", "sort"]),
            (&[0, 3, 0, 2], &["ours", "map", "ours", "sort"]),
            (&[0, 3, 0], &["ours", "map", "ours"]),
            (&[], &[]),
            (&[0], &["ours"]),
        ];
        for (stack, _) in shown {
            take(&mut session, Outcome::Stack, stack, &functions);
        }
        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        for (sample, (_, expected)) in shown.iter().enumerate() {
            assert_eq!(names(&trace, sample), *expected);
        }
        let built_in = trace.frames.iter().find(|frame| frame.name == "map");
        let built_in = built_in.unwrap();
        assert_eq!((built_in.resource_id, built_in.line), (None, None));
    }

    #[test]
    fn what_is_left_of_the_last_stack_stands_for_one_that_cannot_be_walked() {
        let functions = [function("ours", OURS, false)];
        let (mut session, _) = session(1, 100);
        take(&mut session, Outcome::Collecting, &[0], &functions);
        take(&mut session, Outcome::Collecting, &[], &functions);
        take(&mut session, Outcome::Unwalkable, &[0], &functions);
        take(&mut session, Outcome::Unwalkable, &[], &functions);
        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        let samples: Vec<_> = trace
            .samples
            .iter()
            .map(|sample| (sample.stack_id, sample.marker))
            .collect();
        assert_eq!(
            samples,
            [
                (Some(0), Some(Marker::Gc)),
                (None, Some(Marker::Gc)),
                (Some(0), None)
            ]
        );
        assert_eq!((trace.counts.collecting, trace.counts.unwalkable), (2, 2));
    }

    fn session(interval: u32, max_buffer_size: u32) -> (SampledSession, Arc<AtomicUsize>) {
        let full = Arc::new(AtomicUsize::new(0));
        let on_end = {
            let full = full.clone();
            Box::new(move |ended| {
                assert_eq!(ended, Ended::BufferFull);
                full.fetch_add(1, Ordering::Relaxed);
            })
        };
        let interval = NonZeroU32::new(interval).unwrap();
        let options = SessionOptions {
            sample_interval: Duration::from_millis(1),
            max_buffer_size,
            markers: MarkerFilter {
                document: None,
                isolated: true,
            },
        };
        let session = SampledSession::new(SessionId(1), OURS, None, interval, options, on_end, 0);
        (session, full)
    }

    #[test]
    fn hidden_frames_leave_no_trace_between_visible_ones() {
        let functions = [
            function("root", OURS, false),
            function("other realm", OTHER, false),
            function("muted", OURS, true),
            function("leaf", OURS, false),
        ];
        let (mut session, _) = session(1, 10);
        take(&mut session, Outcome::Stack, &[0, 1, 2, 3], &functions);
        // Only hidden frames: as if nothing had run.
        take(&mut session, Outcome::Stack, &[1, 2], &functions);

        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        assert_eq!(names(&trace, 0), ["root", "leaf"]);
        assert_eq!(trace.frames.len(), 2);
        assert_eq!(trace.stacks.len(), 2);
        assert_eq!(trace.stacks[1].parent_id, Some(0));
        assert_eq!(trace.samples[0].stack_id, Some(1));
        assert_eq!(trace.samples[1].stack_id, None);
    }

    #[test]
    fn a_resource_whose_only_script_is_hidden_is_not_listed() {
        let functions = [function("muted", OURS, true)];
        let (mut session, _) = session(1, 10);
        take(&mut session, Outcome::Stack, &[0], &functions);
        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        assert!(trace.resources.is_empty());
        assert!(trace.frames.is_empty());
    }

    #[test]
    fn the_first_sample_is_wanted_until_a_tick_brings_one() {
        let (mut session, _) = session(1, 10);
        assert!(session.wants_first_sample());
        take(&mut session, Outcome::Missed, &[], &[]);
        assert!(session.wants_first_sample());
        session.set_paused(true, 0);
        assert!(!session.wants_first_sample());
        session.set_paused(false, 0);
        take(&mut session, Outcome::Idle, &[], &[]);
        assert!(!session.wants_first_sample());
    }

    #[test]
    fn a_full_buffer_ends_sampling_once() {
        let (mut session, full) = session(1, 2);
        for taken in [1, 2, 2, 2] {
            take(&mut session, Outcome::Idle, &[], &[]);
            assert_eq!(session.builder.sample_count(), taken);
        }
        assert_eq!(full.load(Ordering::Relaxed), 1);
        assert!(!session.advance(100));
        assert_eq!(session.next_tick(), None);
        assert_eq!(
            session
                .finish(CrossProcessInstant::now())
                .unwrap()
                .samples
                .len(),
            2
        );
    }

    #[test]
    fn a_failure_ends_a_session_once_and_leaves_a_full_one_its_trace() {
        let (mut full, ends) = session(1, 1);
        for _ in 0..2 {
            take(&mut full, Outcome::Idle, &[], &[]);
        }
        full.fail(&Failure::Panicked);
        assert_eq!(ends.load(Ordering::Relaxed), 1);
        let trace = full.finish(CrossProcessInstant::now()).unwrap();
        assert_eq!(trace.samples.len(), 1);

        for paused in [false, true] {
            let (sender, ends) = mpsc::channel();
            let (mut session, _) = session(1, 100);
            session.on_end = Some(Box::new(move |ended| sender.send(ended).unwrap()));
            take(&mut session, Outcome::Idle, &[], &[]);
            session.set_paused(paused, 1);
            let why = Failure::CannotStop("it sleeps".to_owned());
            session.fail(&why);
            session.fail(&Failure::Panicked);
            assert_eq!(
                ends.iter().collect::<Vec<_>>(),
                [Ended::Failed(why.clone())]
            );
            session.set_paused(false, 2);
            assert_eq!(session.next_tick(), None, "it takes no more samples");
            assert_eq!(session.finish(CrossProcessInstant::now()).err(), Some(why));
        }
    }

    #[test]
    fn a_late_tick_is_taken_once_and_the_rest_counted_as_missed() {
        let (mut session, _) = session(10, 100);
        assert!(!session.advance(9));
        assert!(session.advance(10));
        assert_eq!(session.next_tick(), Some(20));
        assert!(session.advance(55));
        assert_eq!(session.builder.counts().missed, 3);
        assert_eq!(session.next_tick(), Some(60));
        take(&mut session, Outcome::Missed, &[], &[]);
        assert_eq!(session.builder.counts().missed, 4);
        assert_eq!(session.builder.sample_count(), 0);
    }

    #[test]
    fn a_sample_is_forced_of_running_sessions_of_the_browsing_context_alone() {
        let [context, other] = [1, 2].map(|index| BrowsingContextId {
            namespace_id: PipelineNamespaceId(1),
            index: Index::new(index).unwrap(),
        });
        let (mut session, _) = session(10, 1);
        assert!(!session.is_running_in(context));
        session.browsing_context = Some(context);
        assert!(session.is_running_in(context) && !session.is_running_in(other));
        session.set_paused(true, 5);
        assert!(!session.is_running_in(context));
        session.set_paused(false, 6);
        // Its ticks stay where they are.
        assert!(take(&mut session, Outcome::Idle, &[], &[]));
        assert_eq!(session.next_tick(), Some(10));
        assert!(!take(&mut session, Outcome::Missed, &[], &[]));
        assert!(!take(&mut session, Outcome::Unwalkable, &[], &[]));
        // The next one finds the buffer full.
        assert!(take(&mut session, Outcome::Idle, &[], &[]));
        assert!(!session.is_running_in(context));
    }

    #[test]
    fn a_paused_session_takes_and_misses_nothing() {
        let (mut session, _) = session(10, 100);
        session.set_paused(true, 5);
        assert_eq!(session.next_tick(), None);
        assert!(!session.advance(50));
        session.set_paused(false, 55);
        assert_eq!(session.next_tick(), Some(60));
        assert!(session.advance(60));
        assert_eq!(session.builder.counts().missed, 0);
    }

    #[test]
    fn no_sample_is_later_than_the_call_to_stop() {
        let (mut session, _) = session(1, 100);
        take(&mut session, Outcome::Idle, &[], &[]);
        let stop = CrossProcessInstant::now();
        take(&mut session, Outcome::Idle, &[], &[]);
        let trace = session.finish(stop).unwrap();
        assert_eq!(trace.samples.len(), 1);
        assert_eq!(trace.counts.taken, 1);
    }
}
