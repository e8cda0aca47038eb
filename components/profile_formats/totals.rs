/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How many samples each function has, and how much time they are worth.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use indexmap::IndexMap;

use crate::recording::{EventLoop, Function, Recording, StackId, resource_hash};

/// Two functions with the same key are one function in every format.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct FunctionKey<'a> {
    pub name: &'a str,
    pub resource: Option<&'a str>,
    pub line: Option<NonZeroU32>,
    pub column: Option<NonZeroU32>,
    /// [`EventLoop::resource_hash_of`]
    pub resource_hash: u64,
}

impl Hash for FunctionKey<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // A script may have a long URL and many functions.
        (self.name, self.resource_hash, self.line, self.column).hash(hasher);
    }
}

impl<'a> FunctionKey<'a> {
    /// The function is the event loop's.
    pub fn of(event_loop: &'a EventLoop, function: &'a Function) -> Self {
        Self {
            name: &function.name,
            resource: event_loop.resource_of(function),
            line: function.line,
            column: function.column,
            resource_hash: event_loop.resource_hash_of(function),
        }
    }
}

/// The URL of a script, or what stands for it.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct FileKey<'a> {
    pub name: &'a str,
    resource_hash: u64,
}

impl Hash for FileKey<'_> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.resource_hash.hash(hasher);
    }
}

impl<'a> FileKey<'a> {
    /// The script of the event loop's function; `otherwise` if it has none.
    pub fn of(
        event_loop: &'a EventLoop,
        function: &'a Function,
        otherwise: impl FnOnce() -> &'a str,
    ) -> Self {
        match event_loop.resource_of(function) {
            Some(name) => Self {
                name,
                resource_hash: event_loop.resource_hash_of(function),
            },
            None => {
                let name = otherwise();
                Self {
                    name,
                    resource_hash: resource_hash(name),
                }
            },
        }
    }
}

/// Samples, each by its weight. Times are in nanoseconds, and 0 if all samples are worth the same time.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FunctionTotals {
    /// Samples in which it was the leaf.
    pub itself: u64,
    /// Samples in which it was on the stack, once each.
    pub total: u64,
    /// What these are worth.
    pub time_itself: u128,
    pub time_total: u128,
}

/// The totals of functions.
pub type Totals<'a> = TotalsBy<FunctionKey<'a>>;

/// Samples, each by its weight, and times in nanoseconds, of functions or of groups of them.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TotalsBy<K: Eq + Hash> {
    /// All of them.
    pub samples: u64,
    pub with_stack: u64,
    /// Whether samples are worth different times. If not, all times here are 0: each is worth one interval.
    pub is_timed: bool,
    /// What the samples are worth.
    pub time: u128,
    pub time_with_stack: u128,
    /// Those of functions that have any.
    pub functions: HashMap<K, FunctionTotals, RandomState>,
}

impl<'a> Totals<'a> {
    /// Over all event loops.
    pub fn of(recording: &'a Recording) -> Self {
        Self::by(&[recording], FunctionKey::of)
    }
}

impl<K: Copy + Eq + Hash> TotalsBy<K> {
    /// Over all event loops of several recordings. Functions with the same key are one. An event loop cannot have so many
    /// samples that their number overflows. All of them together can: then the number is the largest that there is.
    pub fn by<'a>(
        recordings: &[&'a Recording],
        mut key_of: impl FnMut(&'a EventLoop, &'a Function) -> K,
    ) -> Self {
        let mut totals = Self {
            samples: 0,
            with_stack: 0,
            is_timed: is_timed(recordings),
            time: 0,
            time_with_stack: 0,
            functions: HashMap::default(),
        };
        for recording in recordings {
            for event_loop in recording.event_loops() {
                totals.add(event_loop, recording.interval, &mut key_of);
            }
        }
        totals
    }

    fn add<'a>(
        &mut self,
        event_loop: &'a EventLoop,
        interval: f64,
        mut key_of: impl FnMut(&'a EventLoop, &'a Function) -> K,
    ) {
        let mut itself = vec![(0_u64, 0_u128); event_loop.stacks().len()];
        for (sample, worth) in event_loop.samples().iter().zip(event_loop.worths(interval)) {
            let worth = if self.is_timed { worth.into() } else { 0 };
            self.samples = self.samples.saturating_add(sample.weight);
            self.time += worth;
            if let Some(stack) = sample.stack {
                self.with_stack = self.with_stack.saturating_add(sample.weight);
                self.time_with_stack += worth;
                let (samples, time) = &mut itself[stack.index()];
                *samples += sample.weight;
                *time += worth;
            }
        }
        // Children come after their parents.
        let mut total = itself.clone();
        for (index, stack) in event_loop.stacks().enumerate().rev() {
            if let Some(parent) = stack.parent {
                let (samples, time) = total[index];
                let of_parent = &mut total[parent.index()];
                of_parent.0 += samples;
                of_parent.1 += time;
            }
        }

        // Different functions may have one key: of two realms, or of two kinds.
        let mut distinct: IndexMap<K, FunctionTotals, RandomState> = IndexMap::default();
        let functions = event_loop.functions();
        let numbers: Vec<usize> = functions
            .map(|function| {
                distinct
                    .insert_full(key_of(event_loop, function), FunctionTotals::default())
                    .0
            })
            .collect();

        // If a function calls itself, only the outermost call counts.
        let outermost = outermost(event_loop, &numbers);
        for (index, stack) in event_loop.stacks().enumerate() {
            let function = event_loop.frame(stack.frame).function;
            let totals = &mut distinct[numbers[function.index()]];
            let (samples, time) = itself[index];
            totals.itself = totals.itself.saturating_add(samples);
            totals.time_itself += time;
            if outermost[index] {
                let (samples, time) = total[index];
                totals.total = totals.total.saturating_add(samples);
                totals.time_total += time;
            }
        }
        for (key, one) in distinct.into_iter().filter(|(_, one)| one.total > 0) {
            let totals = self.functions.entry(key).or_default();
            totals.itself = totals.itself.saturating_add(one.itself);
            totals.total = totals.total.saturating_add(one.total);
            totals.time_itself += one.time_itself;
            totals.time_total += one.time_total;
        }
    }
}

/// Whether samples are worth different times: their own, or different intervals.
pub fn is_timed(recordings: &[&Recording]) -> bool {
    let mut event_loops = recordings.iter().flat_map(|one| one.event_loops());
    let mut pairs = recordings.windows(2);
    event_loops.any(EventLoop::is_timed) || pairs.any(|pair| pair[0].interval != pair[1].interval)
}

/// Whether no caller of each stack's leaf is the same function, by the numbers of functions.
fn outermost(event_loop: &EventLoop, numbers: &[usize]) -> Vec<bool> {
    let stacks: Vec<_> = event_loop.stacks().copied().collect();
    let number_of = |stack: usize| {
        let function = event_loop.frame(stacks[stack].frame).function;
        numbers[function.index()]
    };
    // The children of a stack: the first one, and from each the next.
    let mut first_child: Vec<Option<StackId>> = vec![None; stacks.len()];
    let mut sibling = vec![None; stacks.len()];
    let mut first_root = None;
    let ids: Vec<_> = event_loop.stack_ids().collect();
    for (stack, id) in stacks.iter().zip(&ids).rev() {
        let first = match stack.parent {
            Some(parent) => &mut first_child[parent.index()],
            None => &mut first_root,
        };
        sibling[id.index()] = first.replace(*id);
    }
    drop(ids);
    let mut running = vec![0_u32; numbers.len()];
    let mut outermost = vec![false; stacks.len()];
    let mut next = first_root;
    while let Some(id) = next {
        let calls = &mut running[number_of(id.index())];
        outermost[id.index()] = *calls == 0;
        *calls += 1;
        next = first_child[id.index()];
        // Back to the nearest parent that has another child.
        let mut at = Some(id);
        while next.is_none()
            && let Some(id) = at
        {
            running[number_of(id.index())] -= 1;
            next = sibling[id.index()];
            at = stacks[id.index()].parent;
        }
    }
    outermost
}
