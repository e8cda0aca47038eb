/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the walk knows of native code: which built-in an address belongs to, and how to get from a frame to
//! its caller.
//!
//! Both are read while no thread is stopped. The walk uses a table that nobody changes, and the tables for
//! unwinding that compilers write into each program and library (`.eh_frame`).

use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{ptr, slice};

use gimli::{
    BaseAddresses, EhFrame, EhFrameHdr, EndianSlice, FrameDescriptionEntry, LittleEndian,
    ParsedEhFrameHdr, Register, RegisterRule, UnwindContext, UnwindContextStorage, UnwindSection,
    UnwindTableRow,
};

use super::ffi::GlueNativeCode;
use crate::arch::{FrameRegisters, JUMP_THROUGH_TABLE, Rule};

type Bytes = EndianSlice<'static, LittleEndian>;

unsafe extern "C" {
    fn strobe_each_native(
        take: extern "C" fn(*mut c_void, usize, *const u8, usize) -> bool,
        taker: *mut c_void,
    );
    fn strobe_natives_version() -> u64;
    fn strobe_exception_handler() -> usize;
    fn strobe_hash_name(name: *const u8, length: usize) -> u32;
}

/// The code of a native function that scripts can call. The C++ glue has the same structure.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Native {
    begin: usize,
    end: usize,
    name: *const u8,
    name_length: u32,
    hash: u32,
}

const _: () = assert!(size_of::<Native>() == 32);

// SAFETY: the name is never changed, and lives as long as the process.
unsafe impl Send for Native {}
// SAFETY: as above.
unsafe impl Sync for Native {}

/// A program or library that is loaded.
struct Module {
    code: Range<usize>,
    header: ParsedEhFrameHdr<Bytes>,
    frames: EhFrame<Bytes>,
    bases: BaseAddresses,
}

impl Module {
    /// # Safety
    ///
    /// `info` must be what `dl_iterate_phdr` gives for a module that stays loaded.
    unsafe fn read(info: &libc::dl_phdr_info) -> Option<Self> {
        // SAFETY: see above.
        let headers = unsafe { slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let base = info.dlpi_addr as usize;
        let range = |header: &libc::Elf64_Phdr| {
            let begin = base.wrapping_add(header.p_vaddr as usize);
            begin..begin + header.p_memsz as usize
        };
        let loaded = || {
            headers
                .iter()
                .filter(|header| header.p_type == libc::PT_LOAD)
        };
        let code = loaded().filter(|header| header.p_flags & libc::PF_X != 0);
        let code = code
            .map(range)
            .reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))?;
        let header = headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        let header = range(header);
        // SAFETY: the segment is mapped as long as the module is loaded, and nobody writes to it.
        let header_bytes =
            unsafe { slice::from_raw_parts(header.start as *const u8, header.len()) };
        let bases = BaseAddresses::default()
            .set_eh_frame_hdr(header.start as u64)
            .set_text(code.start as u64);
        let parsed = EhFrameHdr::new(header_bytes, LittleEndian)
            .parse(&bases, size_of::<usize>() as u8)
            .ok()?;
        let frames = parsed.eh_frame_ptr().direct().ok()? as usize;
        // The end of the section is not known, but each entry contains its own length.
        let segment = loaded().map(range).find(|range| range.contains(&frames))?;
        // SAFETY: as above.
        let frames_bytes =
            unsafe { slice::from_raw_parts(frames as *const u8, segment.end - frames) };
        Some(Self {
            code,
            header: parsed,
            frames: EhFrame::new(frames_bytes, LittleEndian),
            bases: bases.set_eh_frame(frames as u64),
        })
    }

    /// The entry of the function that contains an address.
    fn function(&self, address: usize) -> Option<FrameDescriptionEntry<Bytes>> {
        let table = self.header.table()?;
        let pointer = table.lookup(address as u64, &self.bases).ok()?;
        let offset = table.pointer_to_offset(pointer).ok()?;
        let entry = self
            .frames
            .fde_from_offset(&self.bases, offset, EhFrame::cie_from_offset)
            .ok()?;
        entry.contains(address as u64).then_some(entry)
    }
}

/// How many modules the process has loaded and unloaded. While these numbers stay the same, the modules do,
/// too.
fn loads() -> [u64; 2] {
    extern "C" fn take(
        info: *mut libc::dl_phdr_info,
        _: libc::size_t,
        loads: *mut c_void,
    ) -> libc::c_int {
        // SAFETY: as in `Modules::read`. Each module has the numbers of the process.
        let (info, loads) = unsafe { (&*info, &mut *loads.cast::<[u64; 2]>()) };
        *loads = [info.dlpi_adds, info.dlpi_subs];
        1
    }
    let mut loads = [0; 2];
    // SAFETY: `take` has the type that is expected, and its argument is two numbers.
    unsafe { libc::dl_iterate_phdr(Some(take), (&raw mut loads).cast()) };
    loads
}

/// All modules, ordered by their addresses.
struct Modules {
    modules: Vec<Module>,
    /// [`loads`] before they were read.
    loads: [u64; 2],
    program: Range<usize>,
    /// The engine's function that leaves frames when something throws.
    exception_handler: Range<usize>,
}

impl Modules {
    /// The modules that are loaded now. They will stay loaded.
    fn read() -> Self {
        extern "C" fn take(
            info: *mut libc::dl_phdr_info,
            _: libc::size_t,
            modules: *mut c_void,
        ) -> libc::c_int {
            // SAFETY: `dl_iterate_phdr` passes a pointer that is valid while this function runs, and the
            // pointer that it was given.
            let (info, modules) = unsafe { (&*info, &mut *modules.cast::<Vec<Module>>()) };
            // SAFETY: as above.
            if unsafe { keep_loaded(info) } {
                // SAFETY: as above, and the module stays loaded.
                modules.extend(unsafe { Module::read(info) });
            }
            0
        }
        let loads = loads();
        let mut modules: Vec<Module> = Vec::new();
        // SAFETY: `take` has the type that is expected, and its argument is a `Vec<Module>`.
        unsafe { libc::dl_iterate_phdr(Some(take), (&raw mut modules).cast()) };
        modules.sort_by_key(|module| module.code.start);
        let own = Self::read as *const () as usize;
        let program = modules
            .iter()
            .map(|module| module.code.clone())
            .find(|code| code.contains(&own));
        let mut modules = Self {
            modules,
            loads,
            program: program.unwrap_or(0..0),
            exception_handler: 0..0,
        };
        // SAFETY: the function only returns an address.
        let begin = unsafe { strobe_exception_handler() };
        if let Some(end) = modules.end_of(begin) {
            modules.exception_handler = begin..end;
        }
        modules
    }

    /// The end of the function that begins at this address.
    fn end_of(&self, begin: usize) -> Option<usize> {
        let function = self.at(begin)?.function(begin)?;
        (function.initial_address() == begin as u64).then(|| function.end_address() as usize)
    }

    fn at(&self, address: usize) -> Option<&Module> {
        let after = self
            .modules
            .partition_point(|module| module.code.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        module.code.contains(&address).then_some(module)
    }
}

/// Keeps a module loaded until the process ends, because the walk may read its tables at any time. False if
/// that is not possible.
///
/// # Safety
///
/// `info` must be what `dl_iterate_phdr` gives.
unsafe fn keep_loaded(info: &libc::dl_phdr_info) -> bool {
    // SAFETY: see above. A name ends with a zero.
    let is_named = unsafe { !info.dlpi_name.is_null() && *info.dlpi_name != 0 };
    // The program itself has no name. The kernel's module has one, but no file.
    if !is_named {
        return true;
    }
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: nothing new is loaded, and the name is as above. The handle is never closed.
    let handle = unsafe { libc::dlopen(info.dlpi_name, flags) };
    // SAFETY: as above.
    let name = unsafe { std::ffi::CStr::from_ptr(info.dlpi_name) };
    !handle.is_null() || !name.to_bytes().contains(&b'/')
}

/// What is known of native code at some time.
pub struct NativeCode {
    modules: Arc<Modules>,
    /// The natives, ordered by their addresses and without overlap. All are in the program's own code.
    natives: Vec<Native>,
    /// See `StrobeNativeCode::blocks`.
    blocks: Vec<u32>,
    /// The version of the engine's table at that time.
    version: u64,
    /// The code of the native that was added to the engine's table last.
    newest: usize,
    /// When the table of natives was read.
    made: Instant,
}

/// What [`NativeCode::current`] returned last.
static CURRENT: Mutex<Option<Arc<NativeCode>>> = Mutex::new(None);

impl NativeCode {
    /// What is known now. Must not be called while a thread is stopped, because it takes a lock and
    /// allocates.
    pub fn current() -> Arc<Self> {
        Self::read(false)
    }

    /// What is known now, including libraries that were loaded since the last call.
    pub fn with_new_libraries() -> Arc<Self> {
        Self::read(true)
    }

    fn read(with_new_libraries: bool) -> Arc<Self> {
        let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: any thread may call it.
        let version = unsafe { strobe_natives_version() };
        let has_all = |current: &Self| !with_new_libraries || current.modules.loads == loads();
        let code = match current.as_ref().filter(|current| has_all(current)) {
            Some(current) if current.version == version => return current.clone(),
            Some(current) => Self::make(current.modules.clone(), Some(current), version),
            None => Self::make(Arc::new(Modules::read()), None, version),
        };
        current.insert(Arc::new(code)).clone()
    }

    /// Reads the engine's table, which has this version or a later one. `before` is what was known, to read
    /// only what was added.
    fn make(modules: Arc<Modules>, before: Option<&Self>, version: u64) -> Self {
        let made = Instant::now();
        let newest_before = before.map_or(0, |before| before.newest);
        let mut taken = Taken::read(newest_before);
        let mut natives = match before {
            // Nothing has changed except for what was added.
            Some(before) if version - before.version == taken.count => before.natives.clone(),
            Some(_) => {
                taken = Taken::read(0);
                Vec::new()
            },
            None => Vec::new(),
        };
        let with_ends = taken.natives.into_iter().filter_map(|native| {
            let end = modules.end_of(native.begin)?;
            let is_own = modules.program.contains(&native.begin);
            is_own.then_some(Native { end, ..native })
        });
        natives.extend(with_ends);
        natives.sort_by_key(|native| native.begin);
        Self {
            blocks: first_of_blocks(&natives, &modules.program),
            modules,
            natives,
            version,
            newest: taken.newest.unwrap_or(newest_before),
            made,
        }
    }

    /// Whether natives were defined a short while ago. A page that is loading defines some all the time.
    pub fn is_new(&self) -> bool {
        const SHORT: Duration = Duration::from_millis(50);
        self.made.elapsed() < SHORT
    }

    /// The code of the engine's function that leaves frames when something throws.
    pub fn exception_handler(&self) -> Range<usize> {
        self.modules.exception_handler.clone()
    }

    /// The code of the program or library that this function belongs to.
    pub fn program(&self) -> Range<usize> {
        self.modules.program.clone()
    }
}

/// `STROBE_NATIVE_BLOCK`.
const BLOCK: usize = 4096;

/// For each block of `program`, the index of the first native that ends after the block's begin.
fn first_of_blocks(natives: &[Native], program: &Range<usize>) -> Vec<u32> {
    let mut first = 0;
    let blocks = program.clone().step_by(BLOCK);
    let first_of = blocks.map(|block| {
        first += natives[first..]
            .iter()
            .take_while(|native| native.end <= block)
            .count();
        first as u32
    });
    first_of.collect()
}

/// Entries of the engine's table.
struct Taken {
    natives: Vec<Native>,
    /// How many entries were read, including those without a name.
    count: u64,
    newest: Option<usize>,
    until: usize,
}

impl Taken {
    /// The entries that were added after the native whose code is `until`, or all for 0.
    fn read(until: usize) -> Self {
        extern "C" fn take(
            taken: *mut c_void,
            code: usize,
            name: *const u8,
            name_length: usize,
        ) -> bool {
            // SAFETY: the table passes the pointer that it was given below.
            let taken = unsafe { &mut *taken.cast::<Taken>() };
            if code == taken.until {
                return false;
            }
            taken.newest.get_or_insert(code);
            taken.count += 1;
            if name_length > 0 {
                taken.natives.push(Native {
                    begin: code,
                    end: code,
                    name,
                    name_length: name_length as u32,
                    // SAFETY: the name has that length.
                    hash: unsafe { strobe_hash_name(name, name_length) },
                });
            }
            true
        }
        let mut taken = Self {
            natives: Vec::new(),
            count: 0,
            newest: None,
            until,
        };
        // SAFETY: `take` has the type that is expected, and its argument is a `Taken`.
        unsafe { strobe_each_native(take, (&raw mut taken).cast()) };
        taken
    }
}

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
    /// The rules that were used last. The place of a rule is determined by its address.
    rules: Box<[(usize, Option<Rule>)]>,
}

impl Unwinder {
    const RULES: usize = 1 << 10;

    /// An unwinder for the native code that is known now.
    pub fn new() -> Self {
        Self {
            code: NativeCode::current(),
            context: Box::new(UnwindContext::new_in()),
            rules: vec![(0, None); Self::RULES].into_boxed_slice(),
        }
    }

    /// The data that a walk needs of the unwinder and of its code.
    pub(super) fn glue(&mut self) -> GlueNativeCode {
        let (program, exception) = (self.code.program(), self.code.exception_handler());
        GlueNativeCode {
            natives: self.code.natives.as_ptr(),
            natives_length: self.code.natives.len(),
            blocks: self.code.blocks.as_ptr(),
            blocks_length: self.code.blocks.len(),
            program_begin: program.start,
            program_end: program.end,
            exception_begin: exception.start,
            exception_end: exception.end,
            unwinder: ptr::from_mut(self).cast(),
        }
    }

    /// The memory that it has allocated, in bytes.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.rules) + size_of_val(&*self.context)
    }

    /// Uses `code` from now on.
    pub fn set_code(&mut self, code: Arc<NativeCode>) {
        if !Arc::ptr_eq(&code.modules, &self.code.modules) {
            self.rules.fill((0, None));
        }
        self.code = code;
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

    fn rule(&mut self, address: usize, is_leaf: bool) -> Option<Rule> {
        /// The multiplier of Knuth's multiplicative hashing for 64 bits.
        const MULTIPLIER: usize = 0x9E37_79B9_7F4A_7C15;
        let place = address.wrapping_mul(MULTIPLIER) >> (usize::BITS - Self::RULES.ilog2());
        let (known, rule) = self.rules[place];
        if known == address {
            return rule;
        }
        let module = self.code.modules.at(address)?;
        let rule = match module.function(address) {
            Some(function) => function
                .unwind_info_for_address(
                    &module.frames,
                    &module.bases,
                    &mut self.context,
                    address as u64,
                )
                .ok()
                .and_then(Rule::of_row),
            None => (is_leaf && is_jump_to_library(address)).then_some(Rule::WITHOUT_FRAME),
        };
        self.rules[place] = (address, rule);
        rule
    }
}

/// Whether a thread was stopped at a jump through the table of library addresses. Linkers write no entries
/// for unwinding for such jumps.
fn is_jump_to_library(address: usize) -> bool {
    const LENGTH: usize = JUMP_THROUGH_TABLE.len();
    // SAFETY: the thread is about to run this instruction, and code does not end in the middle of one.
    unsafe { (address as *const [u8; LENGTH]).read() == JUMP_THROUGH_TABLE }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_of_this_program_has_an_entry() {
        let modules = Modules::read();
        let own = each_function_of_this_program_has_an_entry as *const () as usize;
        assert!(modules.program.contains(&own));
        let function = modules.at(own).unwrap().function(own).unwrap();
        assert_eq!(function.initial_address() as usize, own);
        assert!(function.end_address() as usize > own);
        assert!(
            modules
                .at(modules.program.end)
                .is_none_or(|module| module.code.start != modules.program.start)
        );
    }

    #[test]
    fn natives_are_found_by_their_block() {
        let native = |begin: usize, end: usize| Native {
            begin,
            end,
            name: c"".as_ptr().cast(),
            name_length: 0,
            hash: 0,
        };
        let start = 0x10_0000;
        let program = start..start + 6 * BLOCK + 1;
        let natives = [
            native(start + 16, start + 32),
            // It ends in the next but one block.
            native(start + BLOCK - 8, start + 2 * BLOCK + 8),
            native(start + 2 * BLOCK + 8, start + 3 * BLOCK),
            native(start + 5 * BLOCK, start + 5 * BLOCK + 1),
        ];
        let blocks = first_of_blocks(&natives, &program);
        assert_eq!(blocks, [0, 1, 1, 3, 3, 3, 4]);
    }

    #[test]
    fn modules_are_read_again_only_if_others_were_loaded() {
        let before = NativeCode::with_new_libraries();
        // SAFETY: loading the library runs nothing of it that matters here.
        let library = unsafe { libc::dlopen(c"libanl.so.1".as_ptr(), libc::RTLD_LAZY) };
        assert!(!library.is_null());
        let after = NativeCode::with_new_libraries();
        assert!(!Arc::ptr_eq(&before.modules, &after.modules));
        let again = NativeCode::with_new_libraries();
        assert!(Arc::ptr_eq(&after.modules, &again.modules));
    }

    #[test]
    fn libraries_are_known() {
        let modules = Modules::read();
        let qsort = libc::qsort as *const () as usize;
        let module = modules.at(qsort).unwrap();
        assert_ne!(module.code, modules.program);
        assert!(module.function(qsort).is_some());
    }
}
