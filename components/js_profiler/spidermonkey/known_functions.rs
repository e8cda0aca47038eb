/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions that have been seen on stacks, in a form that the walk can look up: it writes no text for
//! them.

use std::cell::UnsafeCell;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use malloc_size_of::{MallocSizeOf, MallocSizeOfOps};
use malloc_size_of_derive::MallocSizeOf;

use super::ffi::{CallSite, CodeBlock, FunctionKey, KeptFrame, KnownPosition, LastWalk, Position};
use super::prefetch::NeededLines;

/// With this many positions the table is emptied.
const MAX_POSITIONS: usize = 1 << 18;

/// Functions, and positions in them, that the walk recognises.
#[derive(Clone, Default, MallocSizeOf)]
pub struct KnownFunctions {
    pub(super) keys: Vec<FunctionKey>,
    /// A hash table with linear probing, at most half full. A slot holds an index into `keys` plus one, or 0.
    pub(super) slots: Vec<u32>,
    /// A hash table with linear probing, at most half full.
    pub(super) positions: Vec<KnownPosition>,
    position_count: usize,
    /// Made for the first function.
    #[conditional_malloc_size_of]
    pub(super) tables: Option<Arc<WalkTables>>,
}

/// What walks keep for later walks: where JIT code has called something, and which functions were running there (see
/// call_sites.h), which code is where (see jit_code.h), and the last stack (see last_walk.h). Only walks use these tables. Clones of [`KnownFunctions`]
/// share them: the same index stands for the same function in both.
pub(super) struct WalkTables {
    /// Whether a walk uses them.
    is_used: AtomicBool,
    call_sites: Box<[UnsafeCell<CallSite>]>,
    code_blocks: Box<[UnsafeCell<CodeBlock>]>,
    last_walk: UnsafeCell<LastWalk>,
    /// The frames of `last_walk`.
    frames: Box<[UnsafeCell<KeptFrame>]>,
}

impl MallocSizeOf for WalkTables {
    fn size_of(&self, _: &mut MallocSizeOfOps) -> usize {
        size_of_val(&*self.call_sites)
            + size_of_val(&*self.code_blocks)
            + size_of_val(&*self.frames)
    }
}

// SAFETY: nobody reads the pointer in `last_walk`, which each claim sets anew.
unsafe impl Send for WalkTables {}
// SAFETY: the tables are read and written only through a `ClaimedTables`, of which there is one at a time.
unsafe impl Sync for WalkTables {}

/// The right to use the tables.
pub(super) struct ClaimedTables<'a>(&'a WalkTables);

impl ClaimedTables<'_> {
    /// The slots of calls, and how many there are.
    pub fn call_sites(&mut self) -> (*mut CallSite, usize) {
        let sites = &self.0.call_sites;
        (UnsafeCell::raw_get(sites.as_ptr()), sites.len())
    }

    /// The blocks of code, and how many there are.
    pub fn code_blocks(&mut self) -> (*mut CodeBlock, usize) {
        let blocks = &self.0.code_blocks;
        (UnsafeCell::raw_get(blocks.as_ptr()), blocks.len())
    }

    /// The last walk.
    pub fn last_walk(&mut self) -> *mut LastWalk {
        let walk = self.0.last_walk.get();
        // SAFETY: there is no other claim, and so no other use of it.
        unsafe { (*walk).frames = UnsafeCell::raw_get(self.0.frames.as_ptr()) };
        walk
    }
}

impl Drop for ClaimedTables<'_> {
    fn drop(&mut self) {
        self.0.is_used.store(false, Ordering::Release);
    }
}

impl KnownFunctions {
    /// Adds what a walk reads of this value in any case.
    pub fn add_to(&self, lines: &mut NeededLines) {
        lines.add(self);
        if let Some(tables) = self.tables.as_deref() {
            lines.add(tables);
        }
    }
}

impl WalkTables {
    /// A power of two.
    const CALL_SITES: usize = 1 << 14;
    /// A power of two.
    const CODE_BLOCKS: usize = 4096;
    /// More frames of JIT code of a stack are not kept.
    const KEPT_FRAMES: usize = 2048;

    fn new() -> Self {
        Self {
            last_walk: UnsafeCell::new(LastWalk {
                frames: ptr::null_mut(),
                capacity: Self::KEPT_FRAMES,
                begin: 0,
                length: 0,
                number: 0,
                sweeps: 0,
                max_frames: 0,
            }),
            frames: (0..2 * Self::KEPT_FRAMES)
                .map(|_| UnsafeCell::new(KeptFrame::default()))
                .collect(),
            is_used: AtomicBool::new(false),
            call_sites: (0..Self::CALL_SITES)
                .map(|_| UnsafeCell::new(CallSite::FREE))
                .collect(),
            code_blocks: (0..Self::CODE_BLOCKS)
                .map(|_| UnsafeCell::new(CodeBlock::FREE))
                .collect(),
        }
    }

    /// The right to use the tables; `None` if another walk has it.
    pub fn claim(&self) -> Option<ClaimedTables<'_>> {
        let is_used = self.is_used.swap(true, Ordering::Acquire);
        (!is_used).then_some(ClaimedTables(self))
    }
}

impl KnownFunctions {
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
            for index in 0..self.keys.len() {
                let slot = self.slot(&self.keys[index]);
                self.slots[slot] = index as u32 + 1;
            }
        }
        self.tables
            .get_or_insert_with(|| Arc::new(WalkTables::new()));
        let slot = self.slot(&key);
        self.keys.push(key);
        self.slots[slot] = self.keys.len() as u32;
        self.keys.len() - 1
    }
}

impl KnownFunctions {
    /// The slot that the position has, or would have. `function` is one more than its index.
    fn position_slot(&self, function: u32, code_offset: u32) -> usize {
        let last = self.positions.len() - 1;
        let mut slot = KnownPosition::hashed(function, code_offset) as usize & last;
        loop {
            let found = &self.positions[slot];
            if found.function == 0
                || (found.function == function && found.code_offset == code_offset)
            {
                return slot;
            }
            slot = (slot + 1) & last;
        }
    }

    /// Whether the table has the position for this offset in the bytecode of the function with this index.
    pub fn has_position(&self, index: usize, code_offset: u32) -> bool {
        !self.positions.is_empty()
            && self.positions[self.position_slot(index as u32 + 1, code_offset)].function != 0
    }

    /// Adds the position for this offset in the bytecode of the function with this index. The table must not have it.
    pub fn insert_position(&mut self, index: usize, code_offset: u32, position: Position) {
        if (self.position_count + 1) * 2 > self.positions.len() {
            let old = std::mem::take(&mut self.positions);
            let begins_anew = self.position_count >= MAX_POSITIONS;
            let length = match begins_anew {
                true => 64,
                false => (old.len() * 2).max(64),
            };
            self.positions = vec![KnownPosition::default(); length];
            if begins_anew {
                self.position_count = 0;
            } else {
                for known in old.into_iter().filter(|known| known.function != 0) {
                    let slot = self.position_slot(known.function, known.code_offset);
                    self.positions[slot] = known;
                }
            }
        }
        let function = index as u32 + 1;
        let slot = self.position_slot(function, code_offset);
        self.positions[slot] = KnownPosition {
            function,
            code_offset,
            position,
        };
        self.position_count += 1;
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
    fn positions_are_known_by_function_and_offset() {
        let mut known = KnownFunctions::default();
        assert!(!known.has_position(0, 0));
        let position = |index: usize, code_offset| Position {
            line: index as u32 + 1,
            column: code_offset,
        };
        for index in 0..100 {
            for code_offset in 0..100 {
                assert!(!known.has_position(index, code_offset));
                known.insert_position(index, code_offset, position(index, code_offset));
            }
        }
        for index in 0..100 {
            for code_offset in 0..100 {
                let slot = known.position_slot(index as u32 + 1, code_offset);
                assert_eq!(known.positions[slot].position, position(index, code_offset));
            }
        }
        assert!(!known.has_position(0, 100));
        let used = known.positions.iter().filter(|slot| slot.function != 0);
        let used = used.count();
        assert_eq!(used, 10_000);
        assert!(known.positions.len() >= 2 * used && known.positions.len().is_power_of_two());
    }

    #[test]
    fn functions_are_known_by_all_of_their_key() {
        let mut known = KnownFunctions::default();
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
