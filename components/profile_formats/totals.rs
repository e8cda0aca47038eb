/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How many samples each function has.

use std::collections::HashMap;
use std::num::NonZeroU32;

use crate::recording::{EventLoop, Function, Recording};

/// Two functions with the same key are one function in every format.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct FunctionKey<'a> {
    pub name: &'a str,
    pub resource: Option<&'a str>,
    pub line: Option<NonZeroU32>,
    pub column: Option<NonZeroU32>,
}

impl<'a> FunctionKey<'a> {
    /// The function is the event loop's.
    pub fn of(event_loop: &'a EventLoop, function: &'a Function) -> Self {
        Self {
            name: &function.name,
            resource: event_loop.resource_of(function),
            line: function.line,
            column: function.column,
        }
    }
}

/// Samples, each by its weight.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct FunctionTotals {
    /// Samples in which it was the leaf.
    pub itself: u64,
    /// Samples in which it was on the stack, once each.
    pub total: u64,
}

/// Samples, each by its weight.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Totals<'a> {
    /// All of them.
    pub samples: u64,
    pub with_stack: u64,
    /// Those of functions that have any.
    pub functions: HashMap<FunctionKey<'a>, FunctionTotals>,
}

impl<'a> Totals<'a> {
    /// Over all event loops.
    pub fn of(recording: &'a Recording) -> Self {
        let mut totals = Self::default();
        for event_loop in recording.event_loops() {
            totals.add(event_loop);
        }
        totals
    }

    fn add(&mut self, event_loop: &'a EventLoop) {
        let mut itself = vec![0; event_loop.stacks().len()];
        for sample in event_loop.samples() {
            self.samples += sample.weight;
            if let Some(stack) = sample.stack {
                self.with_stack += sample.weight;
                itself[stack.index()] += sample.weight;
            }
        }
        // Children come after their parents.
        let mut total = itself.clone();
        for (index, stack) in event_loop.stacks().enumerate().rev() {
            if let Some(parent) = stack.parent {
                total[parent.index()] += total[index];
            }
        }

        // Different functions may have one key: of two realms, or of two kinds.
        let mut numbers = HashMap::new();
        let keys: Vec<_> = event_loop
            .functions()
            .map(|function| FunctionKey::of(event_loop, function))
            .collect();
        let numbers: Vec<usize> = keys
            .iter()
            .map(|key| {
                let next = numbers.len();
                *numbers.entry(*key).or_insert(next)
            })
            .collect();

        // If a function calls itself, only the outermost call counts.
        let outermost = outermost(event_loop, &numbers);
        for (index, stack) in event_loop.stacks().enumerate() {
            let function = event_loop.frame(stack.frame).function;
            let totals = self.functions.entry(keys[function.index()]).or_default();
            totals.itself += itself[index];
            if outermost[index] {
                totals.total += total[index];
            }
        }
        self.functions.retain(|_, totals| totals.total > 0);
    }
}

/// Whether no caller of each stack's leaf is the same function, by the numbers of functions.
fn outermost(event_loop: &EventLoop, numbers: &[usize]) -> Vec<bool> {
    let stacks: Vec<_> = event_loop.stacks().copied().collect();
    let number_of = |stack: usize| {
        let function = event_loop.frame(stacks[stack].frame).function;
        numbers[function.index()]
    };
    // The children of a stack: the first one, and from each the next.
    let mut first_child = vec![None; stacks.len()];
    let mut sibling = vec![None; stacks.len()];
    let mut first_root = None;
    for (index, stack) in stacks.iter().enumerate().rev() {
        let first = match stack.parent {
            Some(parent) => &mut first_child[parent.index()],
            None => &mut first_root,
        };
        sibling[index] = first.replace(index);
    }
    let mut running = vec![0_u32; numbers.len()];
    let mut outermost = vec![false; stacks.len()];
    let mut next = first_root;
    while let Some(index) = next {
        let calls = &mut running[number_of(index)];
        outermost[index] = *calls == 0;
        *calls += 1;
        next = first_child[index];
        // Back to the nearest parent that has another child.
        let mut at = Some(index);
        while next.is_none()
            && let Some(index) = at
        {
            running[number_of(index)] -= 1;
            next = sibling[index];
            at = stacks[index].parent.map(|parent| parent.index());
        }
    }
    outermost
}
