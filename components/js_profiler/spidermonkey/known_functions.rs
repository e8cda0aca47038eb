/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions that have been seen on stacks, in a form that the walk can look up: it writes no text for
//! them.

use malloc_size_of_derive::MallocSizeOf;

use super::ffi::FunctionKey;

/// Functions that the walk recognises.
#[derive(Clone, Default, MallocSizeOf)]
pub struct KnownFunctions {
    pub(super) keys: Vec<FunctionKey>,
    /// A hash table with linear probing, at most half full. A slot holds an index into `keys` plus one, or 0.
    pub(super) slots: Vec<u32>,
}

impl KnownFunctions {
    /// A table without functions, which allocates nothing.
    pub const fn new() -> Self {
        Self {
            keys: Vec::new(),
            slots: Vec::new(),
        }
    }

    /// The slot that the function has or would get.
    fn slot(&self, key: &FunctionKey) -> usize {
        let last = self.slots.len() - 1;
        let mut slot = key.hashed() as usize & last;
        while self.slots[slot] != 0 && self.keys[self.slots[slot] as usize - 1] != *key {
            slot = (slot + 1) & last;
        }
        slot
    }

    /// The index of a function, in the order in which functions were inserted.
    pub fn find(&self, key: &FunctionKey) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        (self.slots[self.slot(key)] as usize).checked_sub(1)
    }

    /// Adds a function that is not in the table, and returns its index.
    pub fn insert(&mut self, key: FunctionKey) -> usize {
        if (self.keys.len() + 1) * 2 > self.slots.len() {
            self.slots = vec![0; (self.slots.len() * 2).max(64)];
            for place in 0..self.keys.len() {
                let slot = self.slot(&self.keys[place]);
                self.slots[slot] = place as u32 + 1;
            }
        }
        let slot = self.slot(&key);
        self.keys.push(key);
        self.slots[slot] = self.keys.len() as u32;
        self.keys.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::super::FrameKind;
    use super::*;

    fn key(number: u32) -> FunctionKey {
        FunctionKey {
            realm: u64::from(number % 3),
            source_id: number % 7,
            source_start: number,
            source_end: number + 10,
            line: number / 2,
            column: 1,
            kind: FrameKind::Script,
        }
    }

    #[test]
    fn functions_are_known_by_all_of_their_key() {
        let mut known = KnownFunctions::new();
        assert_eq!(known.find(&key(0)), None);
        for number in 0..10_000 {
            assert_eq!(known.find(&key(number)), None);
            assert_eq!(known.insert(key(number)), number as usize);
        }
        for number in 0..10_000 {
            assert_eq!(known.find(&key(number)), Some(number as usize));
        }
        let of_another_kind = FunctionKey {
            kind: FrameKind::Wasm,
            ..key(5)
        };
        assert_eq!(known.find(&of_another_kind), None);
        let used = known.slots.iter().filter(|slot| **slot != 0).count();
        assert_eq!(used, 10_000);
        assert!(known.slots.len() >= 2 * used && known.slots.len().is_power_of_two());
    }
}
