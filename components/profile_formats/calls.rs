/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The calls of an event loop: its stacks, for formats that keep only a part of each frame. Stacks that a format
//! cannot tell apart are one call.

use indexmap::IndexSet;

use crate::recording::{EventLoop, Frame, FunctionId, Place, StackId};

/// How much memory the table takes for each stack, in bytes, including the room that it reserves for more.
pub const BYTES_OF_STACK: u64 = 90;

/// Which part of a frame a format keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detail {
    Functions,
    /// Functions, and the line or offset in each.
    Lines,
}

/// A stack of functions, perhaps with lines.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Call {
    /// The index of the caller's; absent at the root. It is before this one in the table.
    pub caller: Option<u32>,
    /// The part of the frame that the format keeps.
    frame: Frame,
}

impl Call {
    pub fn function(&self) -> FunctionId {
        self.frame.function
    }

    /// Without a column; absent if the format keeps no places.
    pub fn place(&self) -> Option<Place> {
        self.frame.place
    }
}

pub struct Calls {
    calls: IndexSet<Call>,
    /// By stack.
    numbers: Vec<u32>,
}

impl Calls {
    pub fn of(event_loop: &EventLoop, detail: Detail) -> Self {
        let mut calls = IndexSet::new();
        let mut numbers: Vec<u32> = Vec::with_capacity(event_loop.stacks().len());
        for stack in event_loop.stacks() {
            let Frame { function, place } = event_loop.frame(stack.frame);
            let place = match detail {
                Detail::Functions => None,
                Detail::Lines => place.map(Place::without_column),
            };
            let call = Call {
                caller: stack.parent.map(|parent| numbers[parent.index()]),
                frame: Frame { function, place },
            };
            // There are no more than stacks.
            numbers.push(calls.insert_full(call).0 as u32);
        }
        Self { calls, numbers }
    }

    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// A caller is before its callees.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Call> {
        self.calls.iter()
    }

    /// For each function of the event loop, whether it is called by none.
    pub fn are_roots(&self, event_loop: &EventLoop) -> Vec<bool> {
        let mut are_roots = vec![false; event_loop.functions().len()];
        for call in self.iter().filter(|call| call.caller.is_none()) {
            are_roots[call.function().index()] = true;
        }
        are_roots
    }

    /// The index of a stack's call.
    pub fn index_of(&self, stack: StackId) -> usize {
        self.numbers[stack.index()] as usize
    }

    /// From the root to the call with an index.
    pub fn path_to(&self, index: usize) -> Vec<&Call> {
        let mut path = Vec::new();
        let mut next = Some(index);
        while let Some(index) = next {
            let call = &self.calls[index];
            path.push(call);
            next = call.caller.map(|caller| caller as usize);
        }
        path.reverse();
        path
    }
}
