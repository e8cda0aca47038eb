/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Finds writes to freed memory in a program that is not compiled for it. With `LD_PRELOAD`, its `free` and `realloc` take the
//! place of glibc's. A freed block is filled with a pattern and kept for a while. When it leaves, and when the program ends, the
//! pattern must still be there. Otherwise the program prints who freed the block, and aborts. A block that is freed twice is
//! found at once.
//!
//! Reads are not found as such, but the pattern is no address: who follows it crashes. Who writes is not known: the block, its
//! size, the place in it and what was written are the traces. `./mach build --asan` knows more, and is much slower.
//!
//! At most 64 MB of a process are taken: [`MOST_BYTES`] of blocks, and the list of [`MOST_BLOCKS`] blocks.

// An allocator is unsafe throughout.
#![allow(unsafe_code)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

use std::arch::naked_asm;
use std::ffi::{CStr, c_void};
use std::io::{Cursor, Write};
use std::mem::MaybeUninit;
use std::process::abort;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, TryLockError};
use std::{ptr, slice};

/// The sum of the sizes of the blocks that are kept.
const MOST_BYTES: usize = 48 << 20;

/// How many blocks are kept.
const MOST_BLOCKS: usize = 1 << 17;

/// Larger blocks are given back at once: filling them costs too much, and the kernel unmaps the largest anyway.
const LARGEST: usize = 64 << 10;

/// How many return addresses are kept of who freed a block.
const MOST_CALLERS: usize = 10;

/// How many words of the stack are searched for them.
const MOST_WORDS: usize = 96;

/// What freed blocks are filled with. It is no address, and no number that programs write.
const PATTERN: u64 = 0xF4EE_D0B1_0C4B_F4EE;

/// How often to try to get the list before a block is given back at once.
const TRIES: usize = 1000;

unsafe extern "C" {
    // glibc's own functions, which these here replace.
    fn __libc_free(block: *mut c_void);
    fn __libc_malloc(size: usize) -> *mut c_void;
    fn __libc_realloc(block: *mut c_void, size: usize) -> *mut c_void;
    /// The end of the first thread's stack.
    static __libc_stack_end: *const c_void;
}

/// A freed block.
#[derive(Clone, Copy)]
struct Block {
    address: usize,
    size: usize,
    callers: [usize; MOST_CALLERS],
}

const NONE: Block = Block {
    address: 0,
    size: 0,
    callers: [0; MOST_CALLERS],
};

/// The freed blocks, the oldest first.
struct Quarantine {
    blocks: [Block; MOST_BLOCKS],
    /// Where the oldest is.
    first: usize,
    count: usize,
    bytes: usize,
}

/// The program's own code.
static CODE_BEGIN: AtomicUsize = AtomicUsize::new(0);
static CODE_END: AtomicUsize = AtomicUsize::new(0);

static QUARANTINE: Mutex<Quarantine> = Mutex::new(Quarantine {
    blocks: [NONE; MOST_BLOCKS],
    first: 0,
    count: 0,
    bytes: 0,
});

impl Quarantine {
    /// Takes a block, and gives back those for which there is no room.
    fn take(&mut self, block: Block) {
        while self.count == MOST_BLOCKS || self.bytes + block.size > MOST_BYTES {
            let oldest = self.blocks[self.first];
            self.first = (self.first + 1) % MOST_BLOCKS;
            self.count -= 1;
            self.bytes -= oldest.size;
            oldest.check();
            // SAFETY: the program has freed it, and nobody has given it back.
            unsafe { __libc_free(oldest.address as *mut c_void) };
        }
        self.blocks[(self.first + self.count) % MOST_BLOCKS] = block;
        self.count += 1;
        self.bytes += block.size;
    }

    fn each(&self) -> impl Iterator<Item = &Block> {
        (0..self.count).map(|index| &self.blocks[(self.first + index) % MOST_BLOCKS])
    }
}

impl Block {
    fn words(&self) -> *mut u64 {
        self.address as *mut u64
    }

    fn fill(&self) {
        for index in 0..self.size / 8 {
            // SAFETY: the block has this size, and nobody else may use it.
            unsafe { self.words().add(index).write(PATTERN) };
        }
    }

    /// Whether the block looks like one that was freed already.
    fn is_filled(&self) -> bool {
        // SAFETY: as above. The first two words are enough, since the list is asked then.
        self.size >= 16 && unsafe { *self.words() == PATTERN && *self.words().add(1) == PATTERN }
    }

    /// Ends the program if somebody has written to the block.
    fn check(&self) {
        for index in 0..self.size / 8 {
            // SAFETY: the block has this size, and is not given back. Who writes to it is wrong.
            let word = unsafe { self.words().add(index).read_volatile() };
            if word != PATTERN {
                self.tell("was written to after it was freed", Some((8 * index, word)));
            }
        }
    }

    /// Prints what is known of the block, and ends the program. Nothing is allocated.
    fn tell(&self, what: &str, found: Option<(usize, u64)>) -> ! {
        let mut text = [0; 4096];
        let mut text = Cursor::new(&mut text[..]);
        let Self { address, size, .. } = self;
        let _ = writeln!(
            text,
            "quarantine: block {address:#x} of {size} bytes {what}"
        );
        if let Some((offset, word)) = found {
            let _ = writeln!(
                text,
                "quarantine:   at offset {offset} there is {word:#018x}"
            );
        }
        for caller in self.callers.iter().filter(|caller| **caller != 0) {
            let _ = write!(text, "quarantine:   freed by {caller:#x}");
            write_place(&mut text, *caller);
            let _ = writeln!(text);
        }
        let length = text.position() as usize;
        // SAFETY: the text is there.
        unsafe { libc::write(2, text.get_ref().as_ptr().cast(), length) };
        abort()
    }
}

/// Writes where an address is: `llvm-symbolizer --obj=FILE OFFSET` names the function and the line.
fn write_place(text: &mut impl Write, address: usize) {
    let mut place = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address may be asked for. The names live as long as the library.
    unsafe {
        if libc::dladdr(address as *const c_void, place.as_mut_ptr()) == 0 {
            return;
        }
        let place = place.assume_init();
        if !place.dli_fname.is_null() {
            let file = CStr::from_ptr(place.dli_fname).to_string_lossy();
            let offset = address - place.dli_fbase as usize;
            let _ = write!(text, " in {file} {offset:#x}");
        }
        if !place.dli_sname.is_null() {
            let name = CStr::from_ptr(place.dli_sname).to_string_lossy();
            let _ = write!(text, " {name}");
        }
    }
}

/// The program's `free`, which passes on where its return address is.
///
/// # Safety
///
/// As free(3).
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn free(block: *mut c_void) {
    naked_asm!("mov rsi, rsp", "jmp {}", sym take)
}

/// The program's `realloc`. Small blocks are moved, so that the old block can be kept.
///
/// # Safety
///
/// As realloc(3).
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn realloc(block: *mut c_void, size: usize) -> *mut c_void {
    naked_asm!("mov rdx, rsp", "jmp {}", sym resize)
}

unsafe extern "C" fn resize(block: *mut c_void, size: usize, stack: *const usize) -> *mut c_void {
    // SAFETY: the caller keeps to realloc(3).
    unsafe {
        let old = libc::malloc_usable_size(block);
        let stays = size <= old && size > old / 2;
        if block.is_null() || size == 0 || stays || old > LARGEST {
            return __libc_realloc(block, size);
        }
        let new = __libc_malloc(size);
        if !new.is_null() {
            ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), old.min(size));
            take(block, stack);
        }
        new
    }
}

/// Keeps a freed block. `stack` is where the return address is.
unsafe extern "C" fn take(address: *mut c_void, stack: *const usize) {
    if address.is_null() {
        return;
    }
    let mut block = Block {
        address: address as usize,
        // SAFETY: the block was allocated.
        size: unsafe { libc::malloc_usable_size(address) },
        ..NONE
    };
    if block.size <= LARGEST {
        // A thread may have been stopped, or its process copied, while it has the list.
        for _ in 0..TRIES {
            let mut quarantine = match QUARANTINE.try_lock() {
                Ok(quarantine) => quarantine,
                Err(TryLockError::Poisoned(quarantine)) => quarantine.into_inner(),
                Err(TryLockError::WouldBlock) => {
                    std::hint::spin_loop();
                    continue;
                },
            };
            if block.is_filled()
                && let Some(first) = quarantine.each().find(|one| one.address == block.address)
            {
                first.tell("was freed twice; the first time:", None);
            }
            // SAFETY: these are this thread's.
            block.callers = unsafe { callers(stack) };
            block.fill();
            quarantine.take(block);
            return;
        }
    }
    // SAFETY: the caller keeps to free(3).
    unsafe { __libc_free(address) };
}

/// The return addresses that are on the stack of this thread. Much code has no frame pointers, and unwinding would take too
/// long. So these are all words of the upper part of the stack that are behind a call in the program itself. Some of them may
/// be left over from earlier calls.
unsafe fn callers(stack: *const usize) -> [usize; MOST_CALLERS] {
    let mut callers = [0; MOST_CALLERS];
    // SAFETY: the return address is there.
    callers[0] = unsafe { *stack };
    let words = stack_end(stack as usize).saturating_sub(stack as usize) / size_of::<usize>();
    // SAFETY: these words are between what is in use of the stack and its end.
    let found = (1..words.min(MOST_WORDS))
        .map(|index| unsafe { *stack.add(index) })
        .filter(|word| follows_call(*word));
    for (caller, word) in callers[1..].iter_mut().zip(found) {
        *caller = word;
    }
    callers
}

/// Whether an address is in the program's own code, and behind a call instruction: `call rel32` or an indirect one.
fn follows_call(address: usize) -> bool {
    const LONGEST_CALL: usize = 7;
    let (begin, end) = (CODE_BEGIN.load(Relaxed), CODE_END.load(Relaxed));
    if address < begin.saturating_add(LONGEST_CALL) || address >= end {
        return false;
    }
    // SAFETY: code can be read.
    let byte = |before: usize| unsafe { *((address - before) as *const u8) };
    byte(5) == 0xE8
        || [2, 3, 4, 6, 7]
            .into_iter()
            .any(|before| byte(before) == 0xFF)
}

/// Finds the program's own code, by its program headers. The kernel says where these are, so that no lock is needed.
extern "C" fn find_code() {
    // SAFETY: the kernel gives their place and number.
    let headers = unsafe {
        let (place, count) = (
            libc::getauxval(libc::AT_PHDR),
            libc::getauxval(libc::AT_PHNUM),
        );
        if place == 0 {
            return;
        }
        slice::from_raw_parts(place as *const libc::Elf64_Phdr, count as usize)
    };
    let find = |wanted: &dyn Fn(&&libc::Elf64_Phdr) -> bool| headers.iter().find(wanted);
    let own = find(&|header| header.p_type == libc::PT_PHDR);
    let code = find(&|header| header.p_type == libc::PT_LOAD && header.p_flags & libc::PF_X != 0);
    if let (Some(own), Some(code)) = (own, code) {
        let base = headers.as_ptr() as usize - own.p_vaddr as usize;
        let begin = base + code.p_vaddr as usize;
        CODE_BEGIN.store(begin, Relaxed);
        CODE_END.store(begin + code.p_memsz as usize, Relaxed);
    }
}

/// The end of this thread's stack. glibc keeps what it knows of a thread there, except for the first thread.
///
/// It is not asked for by pthread_getattr_np(3), which itself frees memory while it holds a lock.
fn stack_end(stack: usize) -> usize {
    const LARGEST_STACK: usize = 1 << 30;
    // SAFETY: these only say where something is.
    let (thread, first) = unsafe { (libc::pthread_self() as usize, __libc_stack_end as usize) };
    let is_of = |end: usize| stack < end && end - stack < LARGEST_STACK;
    // On a stack of its own making, a program has no end that is known.
    [thread, first]
        .into_iter()
        .find(|end| is_of(*end))
        .unwrap_or(0)
}

/// Checks all blocks when the program ends.
extern "C" fn check_all() {
    if let Ok(quarantine) = QUARANTINE.try_lock() {
        quarantine.each().for_each(Block::check);
    }
}

// The lists of what is called when the library is loaded, and when the program exits.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_BEGIN: extern "C" fn() = find_code;
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = check_all;
