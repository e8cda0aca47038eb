/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What walks have found, for tests.

use std::mem::swap;

use crate::spidermonkey::{
    FunctionKey, KnownFunctions, Position, StackBuffer, WalkNumber, WalkedFrame, WalkedPart,
};

/// What a walk has found of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct FoundFrame {
    pub key: FunctionKey,
    pub position: Position,
    pub muted: bool,
    /// Without meaning if the position is unknown.
    pub code_offset: u32,
}

impl FoundFrame {
    /// `known` is what the walk knew.
    pub fn new(frame: &WalkedFrame<'_>, known: &KnownFunctions) -> Self {
        let position = frame.executing();
        Self {
            key: frame.key(known),
            position,
            muted: frame.muted(),
            code_offset: match position {
                Position::UNKNOWN => 0,
                _ => frame.code_offset(),
            },
        }
    }
}

/// The last stack that walks have found, each based on the one before.
pub struct FoundStack {
    /// The walk that has found it.
    pub number: Option<WalkNumber>,
    /// Its frames, from the root to the leaf.
    pub frames: Vec<FoundFrame>,
    /// The frames of the stack before it.
    pub before: Vec<FoundFrame>,
    /// How many frames were the same as in the stack before, by what the walks said.
    pub same: u64,
}

impl FoundStack {
    /// With room for as many frames as the buffer has.
    pub fn with_room_for(buffer: &StackBuffer) -> Self {
        Self {
            number: None,
            frames: Vec::with_capacity(buffer.capacity()),
            before: Vec::with_capacity(buffer.capacity()),
            same: 0,
        }
    }

    /// Makes the stack in `buffer` the last one. `known` is what the walk knew. Does not allocate.
    pub fn take(&mut self, buffer: &StackBuffer, known: &KnownFunctions) {
        swap(&mut self.frames, &mut self.before);
        self.frames.clear();
        for part in buffer.parts() {
            match part {
                WalkedPart::Frame(frame) => self.frames.push(FoundFrame::new(&frame, known)),
                WalkedPart::Same { first, count } => {
                    assert_eq!(buffer.base(), self.number);
                    let end = self.before.len() - first;
                    self.frames
                        .extend_from_slice(&self.before[end - count..end]);
                    self.same += count as u64;
                },
            }
        }
        self.number = buffer.number();
    }
}

/// Adds functions and positions to what walks know. The same one may be there several times.
pub fn learn(
    known: &mut KnownFunctions,
    found: impl IntoIterator<Item = (FunctionKey, u32, Position)>,
) {
    for (key, offset, position) in found {
        let index = known.find(&key).unwrap_or_else(|| known.insert(key));
        if position != Position::UNKNOWN && !known.has_position(index, offset) {
            known.insert_position(index, offset, position);
        }
    }
}
