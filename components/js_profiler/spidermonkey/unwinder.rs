/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Goes from frames of native code to their callers, by the tables for unwinding (`modules.rs`).
//!
//! The walk does that on the stopped thread (`native_frames.cpp`), so nothing here allocates after
//! [`Unwinder::new`]. What a table says of an address becomes a rule, which is kept for the next walks.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use gimli::{Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindTableRow};

use super::ffi::GlueNativeCode;
use super::known_rule::KnownRule;
use super::modules::LastCommon;
use super::natives::NativeCode;
use super::prefetch::NeededLines;
use super::read_ahead::ReadAhead;
use crate::arch::{FrameRegisters, JUMP_THROUGH_TABLE, Rule};

/// Storage for what is read of the tables, in place: the walk must not allocate.
struct InPlace;

/// Functions of the C library save six registers, and only a few rows are kept for one.
impl UnwindContextStorage<usize> for InPlace {
    type Rules = [(Register, RegisterRule<usize>); 32];
    type Stack = [UnwindTableRow<usize, Self>; 8];
}

/// Gets from frames to their callers. No two walks use one at the same time.
pub struct Unwinder {
    code: Arc<NativeCode>,
    context: Box<UnwindContext<usize, InPlace>>,
    rules: Box<[RuleSet]>,
    read_ahead: ReadAhead,
    last: LastCommon,
}

/// The rules that were used last for a set of blocks of code. They are in one line of the processor's cache.
#[repr(align(64))]
#[derive(Clone, Copy)]
struct RuleSet([KnownRule; 2]);

impl RuleSet {
    const FREE: Self = Self([KnownRule::FREE; 2]);
}

const _: () = assert!(size_of::<RuleSet>() == 64);

impl Unwinder {
    const SETS: usize = 1 << 11;
    /// In bytes.
    const BLOCK: usize = 128;

    /// An unwinder for the native code that is known now.
    pub fn new() -> Self {
        let code = NativeCode::current();
        Self {
            last: LastCommon::default(),
            read_ahead: ReadAhead::new(&code.modules),
            code,
            context: Box::new(UnwindContext::new_in()),
            rules: vec![RuleSet::FREE; Self::SETS].into_boxed_slice(),
        }
    }

    /// The data that a walk needs of the unwinder and of its code.
    pub(super) fn glue(&mut self) -> GlueNativeCode {
        let modules = &self.code.modules;
        GlueNativeCode {
            natives: self.code.natives.as_ptr(),
            natives_length: self.code.natives.len(),
            blocks: self.code.blocks.as_ptr(),
            blocks_length: self.code.blocks.len(),
            program_begin: modules.program.start,
            calls: modules.calls,
            natives_version: self.code.version,
            newest_native: self.code.newest,
            unwinder: ptr::from_mut(self).cast(),
        }
    }

    /// The memory that it has allocated, in bytes.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.rules) + size_of_val(&*self.context) + self.read_ahead.memory()
    }

    /// Adds what a walk reads of this value in any case.
    pub fn add_to(&self, lines: &mut NeededLines) {
        lines.add(&*self.code);
        lines.add(&*self.code.modules);
    }

    /// Prepares for the next walks, which are to use `code`. Must not be called on a thread that is stopped.
    pub fn prepare(&mut self, code: Arc<NativeCode>) {
        if !Arc::ptr_eq(&code.modules, &self.code.modules) {
            self.rules.fill(RuleSet::FREE);
            self.read_ahead = ReadAhead::new(&code.modules);
        }
        self.code = code;
        self.read_ahead
            .read(&self.code.modules, &mut self.context, &mut self.last);
    }

    /// The registers of a frame's caller. `is_leaf` says that `registers` are those of a stopped thread, and
    /// not of a frame that has called another one. `None` if they cannot be determined.
    ///
    /// Allocates nothing. `read` returns a word of the stack.
    fn caller(
        &mut self,
        registers: FrameRegisters,
        is_leaf: bool,
        read: impl Fn(usize) -> Option<usize>,
    ) -> Option<FrameRegisters> {
        // The instruction after a call may belong to another function.
        let address = if is_leaf {
            registers.pc
        } else {
            registers.pc.checked_sub(1)?
        };
        self.rule(address, is_leaf)?.caller(registers, read)
    }

    /// The rule at an address. `None` if there is none.
    fn rule(&mut self, address: usize, is_leaf: bool) -> Option<Rule> {
        /// The multiplier of Knuth's multiplicative hashing for 64 bits.
        const MULTIPLIER: usize = 0x9E37_79B9_7F4A_7C15;
        let set =
            (address / Self::BLOCK).wrapping_mul(MULTIPLIER) >> (usize::BITS - Self::SETS.ilog2());
        let RuleSet(rules) = &self.rules[set];
        if let Some(known) = rules.iter().find(|known| known.is_for(address)) {
            return known.rule;
        }
        let found = match self.read_ahead.find(address) {
            Some(found) => found,
            None => self.read_rule(address, is_leaf)?,
        };
        let RuleSet([first, second]) = &mut self.rules[set];
        *second = std::mem::replace(first, found);
        found.rule
    }

    /// Reads the rule at an address from the tables. `None` if the address is in no module.
    fn read_rule(&mut self, address: usize, is_leaf: bool) -> Option<KnownRule> {
        self.read_ahead.note(address);
        let module = self.code.modules.at(address)?;
        Some(match module.function(address, &mut self.last) {
            Some(function) => function
                .unwind_info_for_address(
                    &module.frames,
                    &module.bases,
                    &mut self.context,
                    address as u64,
                )
                .map_or_else(|_| KnownRule::at(address, None), KnownRule::of_row),
            None => {
                let is_jump = is_leaf && is_jump_to_library(address);
                KnownRule::at(address, is_jump.then_some(Rule::WITHOUT_FRAME))
            },
        })
    }
}

/// Whether a thread was stopped at a jump through the table of library addresses. Linkers write no entries
/// for unwinding for such jumps.
fn is_jump_to_library(address: usize) -> bool {
    const LENGTH: usize = JUMP_THROUGH_TABLE.len();
    // SAFETY: the thread is about to run this instruction, and code does not end in the middle of one.
    unsafe { (address as *const [u8; LENGTH]).read() == JUMP_THROUGH_TABLE }
}

/// What C++ calls to go from a frame to its caller: see `glue.h`.
///
/// # Safety
///
/// As for the declaration in `glue.h`; C++ calls the function by its name. The pointers must be valid, nobody
/// else may use what they point at, and `low..high` must be a part of the calling thread's stack.
#[unsafe(no_mangle)]
unsafe extern "C" fn strobe_unwind(
    unwinder: *mut c_void,
    registers: *mut FrameRegisters,
    leaf: bool,
    low: usize,
    high: usize,
) -> bool {
    // SAFETY: see above.
    let (unwinder, registers) = unsafe { (&mut *unwinder.cast::<Unwinder>(), &mut *registers) };
    let read = |address: usize| {
        let is_on_stack = address >= low
            && address < high
            && high - address >= size_of::<usize>()
            && address.is_multiple_of(size_of::<usize>());
        // SAFETY: any word of the stack may be read.
        is_on_stack.then(|| unsafe { (address as *const usize).read_volatile() })
    };
    match unwinder.caller(*registers, leaf, read) {
        Some(caller) => {
            *registers = caller;
            true
        },
        None => false,
    }
}

/// The begin of the function that contains an address; 0 if it is not known. Allocates nothing.
///
/// # Safety
///
/// `unwinder` must be a valid [`Unwinder`] that nobody else uses meanwhile.
#[unsafe(no_mangle)]
unsafe extern "C" fn strobe_function_begin(unwinder: *mut c_void, address: usize) -> usize {
    // SAFETY: see above.
    let unwinder = unsafe { &mut *unwinder.cast::<Unwinder>() };
    let module = unwinder.code.modules.at(address);
    let function = module.and_then(|module| module.function(address, &mut unwinder.last));
    function.map_or(0, |function| function.initial_address() as usize)
}

#[cfg(test)]
mod tests {
    use super::super::modules::Modules;
    use super::*;

    #[test]
    fn what_is_kept_of_a_function_is_right_at_each_of_its_addresses() {
        let begin = Modules::end_of as *const () as usize;
        let mut unwinder = Unwinder::new();
        let code = unwinder.code.clone();
        let end = code.modules.end_of(begin, &mut unwinder.last).unwrap();
        let mut rules = Vec::new();
        for address in begin..end {
            let kept = unwinder.rule(address, false);
            unwinder.rules.fill(RuleSet::FREE);
            let read = unwinder.rule(address, false);
            assert_eq!(kept, read, "at byte {}", address - begin);
            rules.push(kept);
        }
        rules.dedup();
        assert!(rules.len() > 1, "the function saves no register");
        assert_eq!(unwinder.rule(end, false), Unwinder::new().rule(end, false));
    }

    #[test]
    fn what_is_read_ahead_is_what_the_tables_say() {
        let code = NativeCode::current();
        let program = code.modules.program.clone();
        let mut unwinder = Unwinder::new();
        let mut found = 0;
        let mut count = 0;
        for number in 0..40 {
            let begin = program.start + program.len() / 40 * number;
            unwinder.read_ahead.note(begin);
            unwinder.prepare(code.clone());
            for address in begin..(begin + 20_000).min(program.end) {
                let ahead = unwinder.read_ahead.find(address);
                let read = unwinder.read_rule(address, false).unwrap();
                count += 1;
                if let Some(ahead) = ahead {
                    found += 1;
                    assert_eq!(ahead.rule, read.rule, "at {address:#x}");
                    assert!(ahead.is_for(address));
                }
            }
        }
        assert!(found > count / 4, "{found} of {count}");
    }

    #[test]
    fn a_walk_reads_what_was_not_read_ahead_and_has_it_read_for_the_next_one() {
        let code = NativeCode::current();
        let address = Modules::end_of as *const () as usize;
        let mut unwinder = Unwinder::new();
        assert!(unwinder.read_ahead.find(address).is_none());
        let rule = unwinder.rule(address, true);
        assert!(unwinder.read_ahead.find(address).is_none());
        unwinder.prepare(code);
        let ahead = unwinder.read_ahead.find(address).unwrap();
        assert_eq!(ahead.rule, rule);
    }

    #[test]
    fn at_its_first_instruction_a_function_has_only_its_return_address_on_the_stack() {
        let registers = FrameRegisters {
            pc: libc::qsort as *const () as usize,
            sp: 0x1000,
            fp: 0x2000,
        };
        let read = |address: usize| (address == 0x1000).then_some(0x1234_usize);
        let caller = FrameRegisters {
            pc: 0x1234,
            sp: 0x1008,
            fp: 0x2000,
        };
        let mut unwinder = Unwinder::new();
        // The second time the rule is known.
        for _ in 0..2 {
            assert_eq!(unwinder.caller(registers, true, read), Some(caller));
        }
    }
}
