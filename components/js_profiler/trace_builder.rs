/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Builds a trace while samples arrive. Resources, frames and stacks are tables without duplicates.

use std::mem;

use js_profiler_traits::{Frame, Marker, OTHER_FUNCTIONS, Sample, SampleCounts, Stack, Trace};
use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::FxHashMap;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::budget::Budget;
use crate::function_table::Function;
use crate::sample::StackFrame;
use crate::spidermonkey::{Resource, SourceNumber};
use crate::subscriber::StackTables;
use crate::table::Table;

/// Looks entries up or adds them, and does nothing else. The invariants of the finished trace hold at every
/// moment: every id is an index into its table, and every stack comes after its parent.
#[derive(Debug, Default, MallocSizeOf)]
pub struct TraceBuilder {
    resources: Table<String>,
    /// The ids in `resources`. So the text of a URL is looked up once for each source.
    resource_ids: FxHashMap<SourceNumber, u32>,
    frames: Table<Frame>,
    stacks: Table<Stack>,
    /// The frame that stands for functions for which there is no room.
    other: Option<u32>,
    /// For all of these tables.
    budget: Budget,
    samples: Samples,
}

/// Samples in blocks. An array that doubles its size would leave as much memory again, which is not given back at once, and
/// would copy all samples between two ticks.
#[derive(Debug, Default, MallocSizeOf)]
struct Samples {
    /// Each has [`Samples::BLOCK`] samples.
    full: Vec<Vec<Sample>>,
    last: Vec<Sample>,
}

impl Samples {
    /// 256 KiB.
    const BLOCK: usize = 1 << 14;

    fn len(&self) -> usize {
        self.full.len() * Self::BLOCK + self.last.len()
    }

    fn push(&mut self, sample: Sample) {
        if self.last.len() == Self::BLOCK {
            let next = Vec::with_capacity(Self::BLOCK);
            self.full.push(mem::replace(&mut self.last, next));
        }
        self.last.push(sample);
    }

    /// Removes the samples that are later than `time`.
    fn drop_after(&mut self, time: CrossProcessInstant) {
        loop {
            let kept = self.last.partition_point(|sample| sample.time <= time);
            self.last.truncate(kept);
            if kept > 0 {
                return;
            }
            let Some(before) = self.full.pop() else {
                return;
            };
            self.last = before;
        }
    }

    /// All samples in one array. Frees nothing.
    fn joined(&mut self) -> Vec<Sample> {
        if self.full.is_empty() {
            return mem::take(&mut self.last);
        }
        let mut all = Vec::with_capacity(self.len());
        for block in self.full.iter().chain([&self.last]) {
            all.extend_from_slice(block);
        }
        all
    }
}

impl TraceBuilder {
    /// Adds a sample. It must not be earlier than the one before.
    pub fn sample(
        &mut self,
        time: CrossProcessInstant,
        stack_id: Option<u32>,
        marker: Option<Marker>,
    ) {
        debug_assert!(stack_id.is_none_or(|id| (id as usize) < self.stacks.len()));
        self.samples.push(Sample::new(time, stack_id, marker));
    }

    /// Removes the samples that are later than `time`.
    pub fn drop_samples_after(&mut self, time: CrossProcessInstant) {
        self.samples.drop_after(time);
    }

    /// How many samples the trace has.
    pub fn sample_count(&self) -> usize {
        self.samples.len()
    }

    /// The trace. The builder must not be used afterwards. `counts.taken` is replaced by the number of samples in it. Frees
    /// nothing, so that the page does not wait for that.
    pub fn finish(&mut self, counts: SampleCounts) -> Trace {
        Trace {
            resources: self.resources.take_new(),
            frames: self.frames.take_new(),
            stacks: self.stacks.take_new(),
            counts: SampleCounts {
                taken: self.samples.len() as u64,
                ..counts
            },
            samples: self.samples.joined(),
        }
    }
}

impl TraceBuilder {
    /// The id of a URL; `None` if there is no room for it.
    fn resource(&mut self, resource: &Resource) -> Option<u32> {
        if let Some(&id) = self.resource_ids.get(&resource.source) {
            return Some(id);
        }
        let id = match self.resources.find(resource.url.as_str()) {
            Some(id) => id,
            None => {
                let bytes = Table::<String>::bytes_of_row() + 2 * resource.url.len();
                if !self.budget.take(bytes) {
                    return None;
                }
                self.resources.id(resource.url.as_str())
            },
        };
        // Without room for it, the id is found by the text.
        if self.budget.take(2 * size_of::<(SourceNumber, u32)>()) {
            self.resource_ids.insert(resource.source, id);
        }
        Some(id)
    }

    /// The id of the frame that stands for functions for which there is no room. It is added whatever room there is.
    fn other_frame(&mut self) -> u32 {
        *self.other.get_or_insert_with(|| {
            self.frames.id(&Frame {
                name: OTHER_FUNCTIONS.to_owned(),
                resource_id: None,
                line: None,
                column: None,
            })
        })
    }
}

impl StackTables for TraceBuilder {
    /// The id of a function's frame: <https://wicg.github.io/js-self-profiling/#dfn-get-a-frame-id>
    fn frame(&mut self, _: StackFrame, function: &Function) -> u32 {
        // Step 7. Let resourceString be equal to the base URL of script.
        // Step 8. Set ProfilerFrame.resourceId to the result of running get an element ID on
        // resourceString and ProfilerTrace.resources.
        if function.is_other() {
            return self.other_frame();
        }
        let has_resource = !function.url().is_empty() && !function.is_built_in();
        let resource = function.resource.as_ref().filter(|_| has_resource);
        let resource_id = match resource.map(|resource| self.resource(resource)) {
            Some(None) => return self.other_frame(),
            Some(id) => id,
            None => None,
        };
        let position = function.position.filter(|_| has_resource);
        // Step 2. Let frame be a new ProfilerFrame.
        // Step 11. Return the result of running get an element ID on frame and
        // ProfilerTrace.frames.
        let frame = Frame {
            // Step 4. Set ProfilerFrame.name of frame to the function instance name.
            name: function.own_name().to_owned(),
            resource_id,
            // Steps 9 and 10. Set line and column to the 1-based indices of where instance is
            // defined in its containing script.
            line: position.map(|(line, _)| line),
            column: position.map(|(_, column)| column),
        };
        let bytes = Table::<Frame>::bytes_of_row() + 2 * frame.name.len();
        if self.frames.find(&frame).is_none() && !self.budget.take(bytes) {
            return self.other_frame();
        }
        self.frames.id(&frame)
    }

    fn stack(&mut self, parent_id: Option<u32>, frame_id: u32) -> Option<u32> {
        debug_assert!(parent_id.is_none_or(|id| (id as usize) < self.stacks.len()));
        debug_assert!((frame_id as usize) < self.frames.len());
        let stack = Stack {
            parent_id,
            frame_id,
        };
        if self.stacks.find(&stack).is_none() && !self.budget.take(Table::<Stack>::bytes_of_row()) {
            return None;
        }
        Some(self.stacks.id(&stack))
    }

    fn other_stack(&mut self) -> u32 {
        let frame_id = self.other_frame();
        self.stacks.id(&Stack {
            parent_id: None,
            frame_id,
        })
    }

    fn is_other(&self, frame_id: u32) -> bool {
        self.other == Some(frame_id)
    }

    fn take(&mut self, bytes: usize) -> bool {
        self.budget.take(bytes)
    }
}

#[cfg(test)]
mod tests {
    use js_profiler_traits::RealmId;

    use super::*;
    use crate::function_table::FunctionId;
    use crate::spidermonkey::{FrameKind, Position};

    fn frame(name: &str, resource_id: Option<u32>) -> Frame {
        Frame {
            name: name.to_owned(),
            resource_id,
            line: resource_id.map(|_| 1),
            column: resource_id.map(|_| 2),
        }
    }

    #[test]
    fn samples_of_all_blocks_stay_in_order_up_to_a_time() {
        const BLOCK: usize = Samples::BLOCK;
        let before = CrossProcessInstant::now();
        let mut begin = before;
        while begin == before {
            begin = CrossProcessInstant::now();
        }
        let time = |index: usize| begin + (begin - before) * index as i32;
        for (count, kept) in [
            (0, 0),
            (1, 1),
            (1, 0),
            (BLOCK, BLOCK),
            (BLOCK + 1, BLOCK + 1),
            (BLOCK + 1, BLOCK),
            (BLOCK + 1, BLOCK - 1),
            (3 * BLOCK + 7, 3 * BLOCK + 5),
            (3 * BLOCK + 7, BLOCK + 5),
            (3 * BLOCK, 0),
        ] {
            let mut builder = TraceBuilder::default();
            for index in 0..count {
                builder.sample(time(index), None, None);
            }
            assert_eq!(builder.sample_count(), count);
            match kept {
                0 => builder.drop_samples_after(before),
                _ => builder.drop_samples_after(time(kept - 1)),
            }
            assert_eq!(builder.sample_count(), kept, "of {count}");
            let trace = builder.finish(SampleCounts::default());
            assert_eq!(trace.counts.taken, kept as u64);
            let times = trace.samples.iter().map(|sample| sample.time);
            assert!(times.eq((0..kept).map(time)), "{kept} of {count}");
        }
    }

    fn function(name: &str, source: u32) -> Function {
        Function {
            realm: RealmId(1),
            kind: FrameKind::Script,
            muted: false,
            name: name.to_owned(),
            has_guessed_name: false,
            resource: Some(Resource::of_test(
                source,
                &format!("https://a.example/{source}"),
            )),
            position: Some((1, 2)),
            source: Some(source),
        }
    }

    #[test]
    fn what_has_no_room_is_shown_as_other_functions() {
        let at = StackFrame {
            function: FunctionId(0),
            position: Position::UNKNOWN,
        };
        let mut others = 0;
        // From no room at all to room for everything.
        for left in (0..2_000).step_by(10) {
            let mut builder = TraceBuilder {
                budget: Budget::with_left(left),
                ..TraceBuilder::default()
            };
            let mut stack_id = None;
            for number in 0..6 {
                let frame_id = builder.frame(at, &function("f", number % 3));
                let is_known = builder.frame(at, &function("f", number % 3)) == frame_id;
                assert!(is_known, "with {left} bytes");
                others += u32::from(builder.is_other(frame_id));
                let stack = builder.stack(stack_id, frame_id);
                stack_id = Some(stack.unwrap_or_else(|| builder.other_stack()));
            }
            builder.sample(CrossProcessInstant::now(), stack_id, None);
            let trace = builder.finish(SampleCounts::default());
            let frames = trace.frames.iter();
            let is_other = |frame: &&Frame| frame.name == OTHER_FUNCTIONS;
            assert!(frames.filter(is_other).count() <= 1);
            for frame in &trace.frames {
                let resource = frame.resource_id.map_or(0, |id| id as usize + 1);
                assert!(resource <= trace.resources.len(), "with {left} bytes");
            }
            for (id, stack) in trace.stacks.iter().enumerate() {
                assert!((stack.frame_id as usize) < trace.frames.len());
                assert!(stack.parent_id.is_none_or(|parent| (parent as usize) < id));
            }
            let has_all = left == 1_990;
            assert!(trace.frames.len() == 3 || !has_all, "{:?}", trace.frames);
            assert!(trace.stacks.len() == 6 || !has_all, "{:?}", trace.stacks);
        }
        assert!(others > 0);
    }

    #[test]
    fn equal_things_are_interned_once_and_different_ones_apart() {
        let mut builder = TraceBuilder::default();
        let a = builder.resources.id("https://a.example/a.js");
        let b = builder.resources.id("https://a.example/b.js");
        assert_eq!(builder.resources.id("https://a.example/a.js"), a);
        assert_ne!(a, b);

        let f = builder.frames.id(&frame("f", Some(a)));
        assert_eq!(builder.frames.id(&frame("f", Some(a))), f);
        assert_ne!(builder.frames.id(&frame("f", Some(b))), f);
        assert_ne!(builder.frames.id(&frame("f", None)), f);
        let g = builder.frames.id(&frame("g", Some(a)));

        let root = builder.stack(None, f).unwrap();
        let called = builder.stack(Some(root), g).unwrap();
        assert_eq!(builder.stack(None, f), Some(root));
        assert_eq!(builder.stack(Some(root), g), Some(called));
        assert_ne!(builder.stack(None, g), Some(called));
        // Recursion gives a new stack with the same frame.
        let recursed = builder.stack(Some(root), f);
        assert_ne!(recursed, Some(root));

        let now = CrossProcessInstant::now();
        builder.sample(now, Some(called), None);
        builder.sample(now, None, None);
        builder.sample(now, Some(root), Some(Marker::Gc));
        let trace = builder.finish(SampleCounts::default());
        assert_eq!(trace.resources.len(), 2);
        assert_eq!(trace.frames.len(), 4);
        assert_eq!(trace.stacks.len(), 4);
        assert_eq!(trace.samples[2].marker, Some(Marker::Gc));
        assert_eq!(trace.counts.taken, 3);
        let stacks = trace.samples.iter().map(Sample::stack_id);
        assert!(stacks.eq([Some(called), None, Some(root)]));
        for (id, stack) in trace.stacks.iter().enumerate() {
            assert!(stack.parent_id.is_none_or(|parent| (parent as usize) < id));
        }
    }
}
