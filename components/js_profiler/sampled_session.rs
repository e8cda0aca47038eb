/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A session as the sampling thread sees it: which samples it takes, and what it keeps of them.

use js_profiler_traits::{RealmId, SessionId, Trace};
use malloc_size_of_derive::MallocSizeOf;
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::id::BrowsingContextId;

use crate::failure::Failure;
use crate::options::SessionOptions;
use crate::outcome::Outcome;
use crate::sample::Sample;
use crate::schedule::Schedule;
use crate::subscriber::Subscriber;
use crate::trace_builder::TraceBuilder;
use crate::visibility::Visibility;

/// Why a session takes no more samples although nobody has stopped it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ended {
    /// Its sample buffer is full. The session has its trace, and waits to be stopped.
    BufferFull,
    /// Sampling failed. The session has no trace.
    Failed(Failure),
}

/// Called on the sampling thread, once, if the session ends by itself.
pub type OnEnd = Box<dyn FnOnce(Ended) + Send>;

/// A session of a page. <https://wicg.github.io/js-self-profiling/#the-profiler-interface>
#[derive(MallocSizeOf)]
pub struct SampledSession {
    /// The id of the session.
    pub id: SessionId,
    /// The realm that has started it.
    pub realm: RealmId,
    /// What it gets of samples, and when.
    pub subscriber: Subscriber,
    browsing_context: Option<BrowsingContextId>,
    max_buffer_size: usize,
    /// `None` if the session has ended by itself.
    #[ignore_malloc_size_of = "A few ids"]
    on_end: Option<OnEnd>,
    #[ignore_malloc_size_of = "A sentence"]
    failure: Option<Failure>,
    builder: TraceBuilder,
}

impl SampledSession {
    /// A session of `realm`. `schedule` is that of `options`. `browsing_context` is where a forced sample finds the
    /// session.
    pub fn new(
        id: SessionId,
        realm: RealmId,
        browsing_context: Option<BrowsingContextId>,
        schedule: Schedule,
        options: SessionOptions,
        on_end: OnEnd,
    ) -> Self {
        let visibility = Visibility::Page {
            realm,
            markers: options.markers,
        };
        Self {
            id,
            realm,
            subscriber: Subscriber::new(visibility, schedule),
            browsing_context,
            max_buffer_size: options.max_buffer_size as usize,
            on_end: Some(on_end),
            failure: None,
            builder: TraceBuilder::default(),
        }
    }

    /// Whether the session is running and was started for this browsing context.
    pub fn is_running_in(&self, browsing_context: BrowsingContextId) -> bool {
        self.subscriber.schedule.is_running() && self.browsing_context == Some(browsing_context)
    }

    /// Adds a sample to the trace, or ends the session if its buffer is full. False if the sample was missed,
    /// or if its stack is not known. <https://wicg.github.io/js-self-profiling/#dfn-take-a-sample>
    pub fn take_sample(&mut self, sample: &Sample<'_>) -> bool {
        if self.subscriber.misses(sample) {
            return false;
        }
        // A sample without a stack would say that no JavaScript was running.
        let counts = &mut self.subscriber.counts;
        match sample.outcome {
            Outcome::Collecting => {
                counts.collecting += 1;
                return false;
            },
            Outcome::Unwalkable => {
                counts.unwalkable += 1;
                return false;
            },
            _ => {},
        }
        // Step 1. If the length of ProfilerTrace.samples is greater than or equal to the sample buffer
        // size limit associated with the profiling session, fire a new event of type samplebufferfull
        // to the associated Profiler, move the state to stopped, and return.
        if self.builder.sample_count() >= self.max_buffer_size {
            self.end(Ended::BufferFull);
            return true;
        }
        // Step 2. Let sample be a new ProfilerSample.
        // Step 3. Set the ProfilerSample.timestamp property of sample to the current high resolution
        // time relative to the profiling session's time origin.
        // Step 4. Let stack be the execution context stack associated with the profiling session's
        // agent.
        // Step 5. Set the ProfilerSample.stackId property of sample to the result of the get a stack
        // ID algorithm on stack.
        // Step 6. Add sample to the ProfilerTrace.samples associated with the session's ProfilerTrace.
        let (stack_id, marker) = self.subscriber.see(sample, &mut self.builder);
        self.builder.sample(sample.time, stack_id, marker);
        true
    }

    /// Ends the session without a call to stop it. False if it has ended already.
    fn end(&mut self, ended: Ended) -> bool {
        let Some(on_end) = self.on_end.take() else {
            return false;
        };
        self.subscriber.schedule.end();
        on_end(ended);
        true
    }

    /// Ends the session, which loses its trace. It may be paused. If its buffer is full it has ended already,
    /// and keeps its trace.
    pub fn fail(&mut self, failure: &Failure) {
        if self.end(Ended::Failed(failure.clone())) {
            self.failure = Some(failure.clone());
            self.builder = TraceBuilder::default();
            self.subscriber.forget_ids();
        }
    }

    /// The trace, without samples later than `until`: those were taken while the request to stop was on its
    /// way. The session has no trace then. Frees nothing: see [`TraceBuilder::finish`].
    ///
    /// # Errors
    ///
    /// The failure that has ended the session.
    pub fn finish(&mut self, until: CrossProcessInstant) -> Result<Trace, Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.builder.drop_samples_after(until);
        Ok(self.builder.finish(self.subscriber.counts))
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::{Arc, mpsc};
    use std::time::{Duration, Instant};

    use js_profiler_traits::OTHER_FUNCTIONS;
    use js_profiler_traits::activity::Activity;
    use js_profiler_traits::recording::MissedReason;
    use servo_base::id::{Index, PipelineNamespaceId};

    use super::*;
    use crate::function_table::{Function, FunctionId};
    use crate::sample::{FunctionStack, StackFrame};
    use crate::sampled_activity::SampledActivity;
    use crate::spidermonkey::{FrameKind, Position, Resource};
    use crate::ticks::Ticks;

    const OURS: RealmId = RealmId(1);
    const OTHER: RealmId = RealmId(2);
    const MISSED: Outcome = Outcome::Missed(MissedReason::NotStopped);

    fn function(name: &str, realm: RealmId, muted: bool) -> Function {
        Function {
            realm,
            kind: FrameKind::Script,
            muted,
            name: name.to_owned(),
            has_guessed_name: false,
            resource: Some(Resource::of_test(1, "https://a.example/a.js")),
            position: Some((3, 7)),
            source: Some(1),
        }
    }

    fn built_in(name: &str, kind: FrameKind) -> Function {
        Function {
            kind,
            position: (kind == FrameKind::SelfHosted).then_some((1, 1)),
            resource: None,
            source: None,
            ..function(name, OURS, false)
        }
    }

    fn take(
        session: &mut SampledSession,
        outcome: Outcome,
        stack: &[u32],
        table: &[Function],
    ) -> bool {
        let frame = |(line, &id): (usize, &u32)| StackFrame {
            function: FunctionId(id),
            // A page does not see the position.
            position: Position {
                line: line as u32 + 1,
                column: 1,
            },
        };
        let frames: Vec<_> = stack.iter().enumerate().map(frame).collect();
        let stack = FunctionStack {
            frames: &frames,
            truncated: false,
        };
        let leaf = stack.frames.last();
        let leaf = leaf.map(|frame| table[frame.function.index()].realm);
        session.take_sample(&Sample {
            time: CrossProcessInstant::now(),
            outcome,
            activity: SampledActivity::of_sample(outcome, Activity::default(), leaf),
            for_pages: stack,
            everything: FunctionStack::default(),
            functions: table,
        })
    }

    /// The names on the stack of a sample, from the root to the leaf.
    fn names(trace: &Trace, sample: usize) -> Vec<&str> {
        let mut names = Vec::new();
        let mut next = trace.samples[sample].stack_id();
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
            // The previous stack's ids must not add frames to this stack, nor hide any.
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
    fn functions_without_room_are_one_frame_and_are_counted() {
        let functions = [
            function("ours", OURS, false),
            Function::other(Some(OURS)),
            Function::other(Some(OTHER)),
            Function::other(None),
            built_in("sort", FrameKind::Native),
        ];
        let (mut session, _) = session(1, 100);
        let others = OTHER_FUNCTIONS;
        let shown: &[(&[u32], &[&str])] = &[
            (&[0, 1, 1, 0], &["ours", others, "ours"]),
            // A hidden function between two must not show.
            (&[0, 1, 3, 1, 2, 1], &["ours", others]),
            (&[0, 2, 3, 0], &["ours", "ours"]),
            (&[1, 0, 1, 4], &[others, "ours", others, "sort"]),
            (&[3, 2], &[]),
        ];
        for (stack, _) in shown {
            take(&mut session, Outcome::Stack, stack, &functions);
        }
        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        for (sample, (_, expected)) in shown.iter().enumerate() {
            assert_eq!(names(&trace, sample), *expected);
        }
        assert_eq!(trace.counts.other, 3);
        assert_eq!(trace.resources.len(), 1);
    }

    #[test]
    fn a_sample_whose_stack_is_not_known_is_counted_and_left_out() {
        let functions = [function("ours", OURS, false)];
        let (mut session, _) = session(1, 100);
        assert!(take(&mut session, Outcome::Stack, &[0], &functions));
        for outcome in [Outcome::Collecting, Outcome::Unwalkable] {
            assert!(!take(&mut session, outcome, &[], &functions));
        }
        assert!(take(&mut session, Outcome::Idle, &[], &functions));
        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        let stacks: Vec<_> = trace.samples.iter().map(|one| one.stack_id()).collect();
        assert_eq!(stacks, [Some(0), None]);
        let counts = trace.counts;
        assert_eq!(
            (counts.taken, counts.collecting, counts.unwalkable),
            (2, 1, 1)
        );
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
        let ticks = Ticks::new(Instant::now(), Duration::from_millis(1));
        let due = ticks.due(NonZeroU32::new(interval).unwrap());
        let schedule = Schedule::new(due, 0, false);
        let options = SessionOptions {
            max_buffer_size,
            ..SessionOptions::every(Duration::from_millis(1))
        };
        let session = SampledSession::new(SessionId(1), OURS, None, schedule, options, on_end);
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
        // Only hidden frames: shown as if nothing had run.
        take(&mut session, Outcome::Stack, &[1, 2], &functions);

        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        assert_eq!(names(&trace, 0), ["root", "leaf"]);
        assert_eq!(trace.frames.len(), 2);
        assert_eq!(trace.stacks.len(), 2);
        assert_eq!(trace.stacks[1].parent_id, Some(0));
        assert_eq!(trace.samples[0].stack_id(), Some(1));
        assert_eq!(trace.samples[1].stack_id(), None);
    }

    #[test]
    fn a_page_sees_neither_positions_nor_guessed_names() {
        let guessed = Function {
            has_guessed_name: true,
            ..function("object.method", OURS, false)
        };
        let functions = [function("f", OURS, false), guessed];
        let (mut session, _) = session(1, 10);
        // The position in each frame is another one: see `take`.
        take(&mut session, Outcome::Stack, &[0, 1, 0, 0], &functions);
        let trace = session.finish(CrossProcessInstant::now()).unwrap();
        assert_eq!(names(&trace, 0), ["f", "", "f", "f"]);
        assert_eq!(trace.frames.len(), 2);
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
    fn a_full_buffer_ends_sampling_once() {
        let (mut session, full) = session(1, 2);
        for taken in [1, 2, 2, 2] {
            take(&mut session, Outcome::Idle, &[], &[]);
            assert_eq!(session.builder.sample_count(), taken);
        }
        assert_eq!(full.load(Ordering::Relaxed), 1);
        assert!(!session.subscriber.schedule.is_due_by(100));
        session.subscriber.advance(100, MissedReason::SamplerLate);
        assert_eq!(session.subscriber.schedule.next_tick(), None);
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
            session.subscriber.schedule.set_paused(paused, 1);
            let why = Failure::CannotStop("it sleeps".to_owned());
            session.fail(&why);
            session.fail(&Failure::Panicked);
            assert_eq!(
                ends.iter().collect::<Vec<_>>(),
                [Ended::Failed(why.clone())]
            );
            session.subscriber.schedule.set_paused(false, 2);
            assert_eq!(
                session.subscriber.schedule.next_tick(),
                None,
                "it takes no more samples"
            );
            assert_eq!(session.finish(CrossProcessInstant::now()).err(), Some(why));
        }
    }

    #[test]
    fn samples_due_before_a_tick_or_not_taken_are_missed() {
        let (mut session, _) = session(1, 100);
        assert!(session.subscriber.schedule.is_due_by(5));
        session.subscriber.advance(5, MissedReason::SamplerLate);
        assert_eq!(session.subscriber.counts.missed, 4);
        session.subscriber.skip(7);
        assert_eq!(session.subscriber.counts.missed, 6);
        take(&mut session, MISSED, &[], &[]);
        assert_eq!(session.subscriber.counts.missed, 7);
        assert_eq!(session.builder.sample_count(), 0);
    }

    #[test]
    fn a_sample_is_forced_only_for_running_sessions_of_the_browsing_context() {
        let [context, other] = [1, 2].map(|index| BrowsingContextId {
            namespace_id: PipelineNamespaceId(1),
            index: Index::new(index).unwrap(),
        });
        let (mut session, _) = session(1, 1);
        assert!(!session.is_running_in(context));
        session.browsing_context = Some(context);
        assert!(session.is_running_in(context) && !session.is_running_in(other));
        session.subscriber.schedule.set_paused(true, 5);
        assert!(!session.is_running_in(context));
        session.subscriber.schedule.set_paused(false, 6);
        // A forced sample does not move its ticks.
        assert!(take(&mut session, Outcome::Idle, &[], &[]));
        assert_eq!(session.subscriber.schedule.next_tick(), Some(7));
        assert!(!take(&mut session, MISSED, &[], &[]));
        assert!(!take(&mut session, Outcome::Unwalkable, &[], &[]));
        // The next sample finds the buffer full.
        assert!(take(&mut session, Outcome::Idle, &[], &[]));
        assert!(!session.is_running_in(context));
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
