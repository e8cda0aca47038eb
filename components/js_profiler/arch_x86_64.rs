/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the Rust code knows of the processor: where the kernel saves the registers of a thread that a signal
//! interrupts, and how native code keeps its frames on the stack. `spidermonkey/arch_x86_64.h` is what the C++
//! glue knows of it.
//!
//! A port to another processor has a file with the same items, which `lib.rs` chooses.

use std::mem::offset_of;

use gimli::{CfaRule, RegisterRule, UnwindContextStorage, UnwindTableRow, X86_64};

/// The size of a line of the processor's cache, in bytes. `CacheLine` of the C++ header is the same.
pub const CACHE_LINE: usize = 64;

/// The size of a word of the stack, in bytes.
const WORD: usize = size_of::<usize>();

/// The registers of a thread that a signal has interrupted.
#[repr(C)]
#[derive(Debug)]
pub struct Registers {
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer.
    pub fp: usize,
    /// The register in which the Baseline interpreter keeps the address of the bytecode that it executes.
    pub interpreter_pc: usize,
    /// The register in which Ion's generic call stub keeps the address that the callee will return to.
    pub generic_return: usize,
    /// The registers in which a tail call of WebAssembly keeps the return address and the caller's frame while it moves its
    /// arguments.
    pub tail_return: usize,
    /// See above.
    pub tail_frame: usize,
}

impl Registers {
    /// The registers in the context that the kernel passes to a signal's handler.
    pub fn of_context(context: &libc::ucontext_t) -> Self {
        let registers = &context.uc_mcontext.gregs;
        Self {
            pc: registers[libc::REG_RIP as usize] as usize,
            sp: registers[libc::REG_RSP as usize] as usize,
            fp: registers[libc::REG_RBP as usize] as usize,
            interpreter_pc: registers[libc::REG_R14 as usize] as usize,
            generic_return: registers[libc::REG_RAX as usize] as usize,
            tail_return: registers[libc::REG_R10 as usize] as usize,
            tail_frame: registers[libc::REG_R12 as usize] as usize,
        }
    }

    /// The same of a context of which `word_at` gives the word at an offset.
    pub fn of_context_at(word_at: impl Fn(usize) -> usize) -> Self {
        let register = |number: libc::c_int| {
            word_at(offset_of!(libc::ucontext_t, uc_mcontext.gregs) + number as usize * WORD)
        };
        Self {
            pc: register(libc::REG_RIP),
            sp: register(libc::REG_RSP),
            fp: register(libc::REG_RBP),
            interpreter_pc: register(libc::REG_R14),
            generic_return: register(libc::REG_RAX),
            tail_return: register(libc::REG_R10),
            tail_frame: register(libc::REG_R12),
        }
    }
}

/// How many bytes before a signal's context the kernel puts the address that the handler returns to.
pub const RETURN_ADDRESS_BEFORE_CONTEXT: usize = WORD;

/// The beginning of a jump to an address that is stored near the code. `IsJumpThroughTable` of the C++ header
/// looks for the same.
pub const JUMP_THROUGH_TABLE: [u8; 2] = [0xFF, 0x25];

/// The registers that determine a native frame. The C++ glue has the same structure.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameRegisters {
    /// The program counter.
    pub pc: usize,
    /// The stack pointer.
    pub sp: usize,
    /// The frame pointer.
    pub fp: usize,
}

/// How to get from a native frame to its caller, at one address. The return address is always the last word
/// before the caller's part of the stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The caller's part of the stack begins `offset` bytes from the frame pointer if this is true, else from
    /// the stack pointer.
    from_frame_pointer: bool,
    /// In bytes.
    offset: i32,
    /// How many bytes from there the caller's frame pointer is; `None` if the register still has it.
    frame_pointer: Option<i16>,
}

impl Rule {
    /// The rule for code that has no entry and does not change the stack: the return address is at the stack
    /// pointer.
    pub const WITHOUT_FRAME: Self = Self {
        from_frame_pointer: false,
        offset: WORD as i32,
        frame_pointer: None,
    };

    /// The rule that a row of a table for unwinding describes. `None` if no such rule does.
    pub fn of_row<S: UnwindContextStorage<usize>>(row: &UnwindTableRow<usize, S>) -> Option<Self> {
        let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
            return None;
        };
        let from_frame_pointer = match register {
            X86_64::RSP => false,
            X86_64::RBP => true,
            _ => return None,
        };
        let frame_pointer = match row.register(X86_64::RBP) {
            RegisterRule::Undefined | RegisterRule::SameValue => None,
            RegisterRule::Offset(offset) => Some(i16::try_from(offset).ok()?),
            _ => return None,
        };
        let return_address = row.register(X86_64::RA);
        let is_usual = return_address == RegisterRule::Offset(-(WORD as i64));
        is_usual.then_some(Self {
            from_frame_pointer,
            offset: i32::try_from(offset).ok()?,
            frame_pointer,
        })
    }

    /// The registers of the caller of the frame that has these registers. `read` returns a word of the stack.
    /// `None` if a word cannot be read, or if the caller's frame would not be older.
    pub fn caller(
        &self,
        registers: FrameRegisters,
        read: impl Fn(usize) -> Option<usize>,
    ) -> Option<FrameRegisters> {
        let from = if self.from_frame_pointer {
            registers.fp
        } else {
            registers.sp
        };
        let sp = from.checked_add_signed(self.offset as isize)?;
        if sp <= registers.sp {
            return None;
        }
        let fp = match self.frame_pointer {
            Some(offset) => read(sp.checked_add_signed(offset as isize)?)?,
            None => registers.fp,
        };
        let pc = read(sp - WORD)?;
        Some(FrameRegisters { pc, sp, fp })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack from 0x1000, where each word is its address with the lowest bit set.
    fn read(address: usize) -> Option<usize> {
        (address >= 0x1000 && address.is_multiple_of(WORD)).then_some(address | 1)
    }

    const REGISTERS: FrameRegisters = FrameRegisters {
        pc: 0x10,
        sp: 0x1000,
        fp: 0x1040,
    };

    #[test]
    fn without_a_frame_the_return_address_is_at_the_stack_pointer() {
        let caller = FrameRegisters {
            pc: 0x1001,
            sp: 0x1008,
            fp: 0x1040,
        };
        assert_eq!(Rule::WITHOUT_FRAME.caller(REGISTERS, read), Some(caller));
    }

    #[test]
    fn the_frame_pointer_leads_to_the_callers_registers() {
        let linked = Rule {
            from_frame_pointer: true,
            offset: 16,
            frame_pointer: Some(-16),
        };
        let caller = FrameRegisters {
            pc: 0x1049,
            sp: 0x1050,
            fp: 0x1041,
        };
        assert_eq!(linked.caller(REGISTERS, read), Some(caller));
    }

    #[test]
    fn a_caller_is_older_and_can_be_read() {
        let younger = Rule {
            offset: -8,
            ..Rule::WITHOUT_FRAME
        };
        assert_eq!(younger.caller(REGISTERS, read), None);
        assert_eq!(Rule::WITHOUT_FRAME.caller(REGISTERS, |_| None), None);
    }
}
