/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! These tests walk the stack at every single instruction of programs: the processor traps after each one
//! (the flag TF), and the handler of SIGTRAP walks the stack of its own thread. So the walk meets every state
//! that a thread can be stopped in. Ordinary samples meet the rare ones once in a million.
//!
//! Each program notes which functions its functions call, so a stack that cannot have existed is found. Some
//! programs change what the engine keeps of objects while they run, and check what they read.
//!
//! The engine's memory is write-protected during the first walk at each instruction address, and during each hundredth
//! walk, so a walk that changes it is found.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::process::{Command, Stdio};
use std::ptr;
use std::sync::Once;
use std::sync::atomic::{AtomicI32, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::{env, fs, hint, thread};

use js_profiler_traits::recording::MissedReason;
use mozjs_sys::jsapi::JS::{HeapState, RuntimeHeapState};

use crate::arch::Registers;
use crate::found_stack::{FoundFrame, FoundStack, learn};
use crate::spidermonkey::test_context::TestContext;
use crate::spidermonkey::{
    FrameKind, FunctionKey, KnownFunctions, Position, SampledContext, StackBuffer, Unwinder,
    WalkOutcome,
};
use crate::stop::{StackBounds, Stopped, current_stack_bounds};

const PROGRAMS: &str = include_str!("every_instruction.js");

/// The functions that the tests call. Each call comes after the function has run as often as `RUNS_BEFORE`
/// says. So it runs in the interpreter, in Baseline code and in Ion code. The first test calls those that run script and little else.
const OF_SCRIPT: [&str; 16] = [
    "calls",
    "recursion",
    "callbacks",
    "natives",
    "genericCalls",
    "accessors",
    "generators",
    "exceptions",
    "classes",
    "webAssembly",
    "wasmCalls",
    "evaluator",
    "redefinition",
    "growth",
    "tables",
    "shapes",
];
/// The second test calls those in which the engine itself does something: it compiles, collects garbage, and switches stacks.
const OF_ENGINE: [&str; 12] = [
    "indirect",
    "garbage",
    "compiling",
    "collection",
    "barriers",
    "slices",
    "linking",
    "tiers",
    "realms",
    "suspensions",
    "nestings",
    "waitings",
];
const RUNS_BEFORE: [u32; 3] = [0, 30, OPTIMISED];
const OPTIMISED: u32 = 3000;
/// Functions that take too long to run `OPTIMISED` times. What they call is compiled while they run.
const LONG: [&str; 7] = [
    "collection",
    "barriers",
    "slices",
    "linking",
    "tiers",
    "realms",
    "waitings",
];

/// The functions for which another thread may compile. When that thread is done is up to chance, and a short
/// program in which code is then linked has few other instructions.
const LINKED: [&str; 3] = ["compiling", "linking", "tiers"];

/// The functions in which the engine collects garbage again and again.
const COLLECTING: [&str; 6] = [
    "garbage",
    "collection",
    "barriers",
    "slices",
    "realms",
    "waitings",
];

/// The functions whose WebAssembly waits for promises, on stacks of its own.
const SUSPENDING: [&str; 3] = ["suspensions", "nestings", "waitings"];

/// The line of the script that calls the functions.
const MAIN: u32 = 1000;
/// The line of scripts that are evaluated.
const EVALUATED: u32 = 1;

/// Marks the hash of a built-in, to tell it from a line.
const BUILT_IN: u32 = 1 << 31;
/// Stands for any function of WebAssembly.
const IN_WASM: u32 = BUILT_IN;

const STACK_SIZE: usize = 8 << 20;

const TRAP_FLAG: libc::greg_t = 0x100;

thread_local! {
    /// Null while this thread is not being stepped.
    static STEPPER: Cell<*mut Stepper> = const { Cell::new(ptr::null_mut()) };
}

/// The engine's memory: the heap, what is allocated for the context, and the stack.
#[derive(Default)]
struct EngineMemory {
    ranges: Vec<Range<usize>>,
}

/// The instruction addresses, by their hashes, at which a walk has been done. It takes no memory that may be
/// write-protected.
static SEEN: [AtomicU8; 1 << SEEN_BITS] = [const { AtomicU8::new(0) }; 1 << SEEN_BITS];
const SEEN_BITS: u32 = 22;

/// Whether no walk has been done at an address. Two addresses in some may have the same hash.
fn is_first_at(pc: usize) -> bool {
    let hash = (pc as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SEEN_BITS);
    SEEN[hash as usize].swap(1, Ordering::Relaxed) == 0
}

/// The thread whose walk must not write; 0 while memory is writable.
static WALKING: AtomicI32 = AtomicI32::new(0);
/// The address that the walk has written to last, although it must not.
static WRITTEN: AtomicUsize = AtomicUsize::new(0);
/// The instruction that wrote there; 0 if a count did not return to its old value.
static WRITER: AtomicUsize = AtomicUsize::new(0);
/// How many times the walk has written.
static WRITES: AtomicU64 = AtomicU64::new(0);

impl EngineMemory {
    /// The mappings that contain these addresses, except for the ranges `own`, which are ours or the
    /// kernel's.
    fn of(addresses: impl Iterator<Item = usize>, own: &[Range<usize>]) -> Self {
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        let mappings = maps.lines().filter_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (begin, end) = range.split_once('-')?;
            let address = |text| usize::from_str_radix(text, 16).ok();
            let range = address(begin)?..address(end)?;
            rest.starts_with("rw-p").then_some((range, false))
        });
        let mut mappings: Vec<(Range<usize>, bool)> = mappings.collect();
        for address in addresses {
            for (range, is_wanted) in &mut mappings {
                *is_wanted |= range.contains(&address);
            }
        }
        let wanted = mappings.into_iter().filter(|(_, is_wanted)| *is_wanted);
        let mut ranges: Vec<Range<usize>> = wanted.map(|(range, _)| range).collect();
        for own in own {
            let without = |range: Range<usize>| {
                let before = range.start..range.end.min(own.start);
                let after = range.start.max(own.end)..range.end;
                [before, after].into_iter().filter(|part| !part.is_empty())
            };
            ranges = ranges.into_iter().flat_map(without).collect();
        }
        assert!(ranges.len() <= GUARDED.len());
        for (range, [first, last]) in ranges.iter().zip(&GUARDED) {
            first.store(range.start, Ordering::SeqCst);
            last.store(range.end - 1, Ordering::SeqCst);
        }
        Self { ranges }
    }

    fn size(&self) -> usize {
        self.ranges.iter().map(ExactSizeIterator::len).sum()
    }

    fn protect(&self) {
        WALKING.store(this_thread(), Ordering::SeqCst);
        self.set(libc::PROT_READ);
    }

    fn unprotect(&self) {
        self.set(libc::PROT_READ | libc::PROT_WRITE);
        WALKING.store(0, Ordering::SeqCst);
    }

    fn set(&self, protection: libc::c_int) {
        for range in &self.ranges {
            // SAFETY: these are mappings of this process, and any thread that writes there meanwhile waits:
            // see `on_fault`.
            unsafe { libc::mprotect(range.start as *mut libc::c_void, range.len(), protection) };
        }
    }
}

/// The first and the last byte of each range that is write-protected, or was until a moment ago.
static GUARDED: [[AtomicUsize; 2]; 64] = [const { [AtomicUsize::new(0), AtomicUsize::new(0)] }; 64];

/// Whether an address is in such a range. Asked when another thread has faulted, which may have happened just
/// before memory became writable again.
fn is_guarded(address: usize) -> bool {
    GUARDED.iter().any(|[first, last]| {
        let range = first.load(Ordering::SeqCst)..=last.load(Ordering::SeqCst);
        address != 0 && range.contains(&address)
    })
}

fn program_start() -> usize {
    let maps = fs::read_to_string("/proc/self/maps").unwrap();
    let program = env::current_exe().unwrap();
    let line = maps
        .lines()
        .find(|line| line.ends_with(program.to_str().unwrap()));
    let (start, _) = line.unwrap().split_once('-').unwrap();
    usize::from_str_radix(start, 16).unwrap()
}

fn this_thread() -> libc::pid_t {
    // SAFETY: it returns a number of the kernel's.
    unsafe { libc::gettid() }
}

/// The action for SIGSEGV that was installed before ours.
static mut BEFORE: MaybeUninit<libc::sigaction> = MaybeUninit::uninit();

/// Makes other threads wait until memory is writable again. Notes a write of the walk itself, and lets it
/// happen.
unsafe extern "C" fn on_fault(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    const PAGE: usize = 4096;
    let walking = WALKING.load(Ordering::SeqCst);
    let stepper = STEPPER.get();
    if walking == this_thread() && !stepper.is_null() {
        // SAFETY: the kernel gives valid pointers.
        let (address, pc) = unsafe {
            let context = &*context.cast::<libc::ucontext_t>();
            ((*info).si_addr().addr(), Registers::of_context(context).pc)
        };
        // SAFETY: the stepper is this thread's, which does not change the ranges meanwhile.
        let stepper = unsafe { &mut *stepper };
        if is_count(pc) && stepper.note_count(address) {
            // SAFETY: the page is the engine's, which may write to it.
            unsafe {
                let page = ptr::without_provenance_mut(address & !(PAGE - 1));
                libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE);
            }
        } else {
            WRITTEN.store(address, Ordering::SeqCst);
            WRITER.store(pc, Ordering::SeqCst);
            WRITES.fetch_add(1, Ordering::SeqCst);
            stepper.memory.unprotect();
        }
    // SAFETY: as above.
    } else if is_guarded(unsafe { (*info).si_addr() }.addr()) {
        while WALKING.load(Ordering::SeqCst) != 0 {
            hint::spin_loop();
        }
    } else {
        type Handler = unsafe extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);
        // A fault of another kind is for the engine's handler.
        // SAFETY: the action was stored before this handler was installed, and holds a function with these
        // arguments.
        unsafe {
            let before = (*ptr::addr_of!(BEFORE)).assume_init();
            assert_ne!(before.sa_flags & libc::SA_SIGINFO, 0);
            let handler = std::mem::transmute::<usize, Handler>(before.sa_sigaction);
            handler(signal, info, context);
        }
    }
}

/// Whether an instruction changes a count by one, atomically. Tables of WebAssembly code count the look-ups
/// that are in progress, so that no other thread frees what is being looked at. These counts are the only
/// thing that a walk may write to, and they must have their old values after it.
fn is_count(pc: usize) -> bool {
    const LOCK: u8 = 0xf0;
    const INCREMENT_OR_DECREMENT: u8 = 0xff;
    // SAFETY: the processor was about to run this instruction, so it can be read.
    let instruction = unsafe { (pc as *const [u8; 4]).read_unaligned() };
    let [LOCK, 0x48 | 0x49, INCREMENT_OR_DECREMENT, operands] = instruction else {
        return false;
    };
    operands >> 3 & 7 < 2
}

/// Walks the stack at each instruction. Must not allocate while it does.
struct Stepper {
    memory: EngineMemory,
    /// How many walks were done while memory was write-protected.
    guarded: u64,
    /// The counts that the present walk has changed, with their values before.
    counts: Vec<(usize, u64)>,
    counted: u64,
    /// The stack of the signal handler.
    own: Range<usize>,
    context: SampledContext,
    bounds: StackBounds,
    unwinder: Unwinder,
    buffer: StackBuffer,
    /// The functions and positions that earlier runs have seen, with the call sites that walks have noted.
    known: KnownFunctions,
    /// A walk that knows nothing, to compare with.
    plain: StackBuffer,
    compared: u64,
    /// How often the two differed.
    different: u64,
    /// The functions and positions that are not known. The same one may be there several times.
    unknown: Vec<(FunctionKey, u32, Position)>,
    steps: u64,
    walked: u64,
    idle: u64,
    /// How many of the last walks in a row found nothing running.
    idle_last: u64,
    /// How many found nothing running between two that gave a stack.
    idle_between: u64,
    /// At how many instructions there was no walk: see [`COLLECTED`].
    left_out: u64,
    /// How many stacks were found while garbage was being collected, and how many walks then found none.
    collected: u64,
    collecting: u64,
    /// How many times the engine changed its tables of code, how many of the last walks in a row fell on such a change,
    /// and how many did on the longest one.
    changes: u64,
    changing_last: u64,
    changing_most: u64,
    /// The reasons why stacks could not be walked, and how often each was given.
    unwalkable: [(Option<&'static CStr>, u64); 16],
    /// The stacks that differ from the one before, one after the other. Each is its length, followed by the
    /// line of each function or the marked hash of each built-in.
    stacks: Vec<u32>,
    /// Where the last stack begins in `stacks`.
    last: usize,
    /// The last stack.
    stack: FoundStack,
}

impl Stepper {
    fn new(
        context: SampledContext,
        bounds: StackBounds,
        own: Range<usize>,
        known: KnownFunctions,
    ) -> Self {
        const ROOM: usize = 16 << 20;
        let buffer = StackBuffer::new();
        Self {
            memory: EngineMemory::default(),
            guarded: 0,
            counts: Vec::with_capacity(16),
            counted: 0,
            own,
            context,
            bounds,
            unwinder: Unwinder::new(),
            known,
            plain: StackBuffer::new(),
            compared: 0,
            different: 0,
            unknown: Vec::with_capacity(1 << 16),
            steps: 0,
            walked: 0,
            idle: 0,
            idle_last: 0,
            idle_between: 0,
            left_out: 0,
            collected: 0,
            collecting: 0,
            changes: 0,
            changing_last: 0,
            changing_most: 0,
            unwalkable: [(None, 0); 16],
            stacks: Vec::with_capacity(ROOM),
            last: 0,
            stack: FoundStack::with_room_for(&buffer),
            buffer,
        }
    }

    fn step(&mut self, context: &libc::ucontext_t) {
        self.steps += 1;
        let registers = Registers::of_context(context);
        let is_first = is_first_at(registers.pc);
        // SAFETY: it returns a number of this thread's context.
        let is_collecting = unsafe { RuntimeHeapState() } != HeapState::Idle;
        if is_collecting && !is_first && !self.steps.is_multiple_of(COLLECTED) {
            self.left_out += 1;
            return;
        }
        // SAFETY: this is the signal handler, on the thread that owns the stack.
        let stopped = unsafe { Stopped::new(registers, self.bounds) };
        const GUARDED: u64 = 100;
        const COMPARED: u64 = 7;
        let is_guarded = is_first || self.steps.is_multiple_of(GUARDED);
        if is_guarded {
            self.memory.protect();
        }
        let (context, unwinder, buffer) = (&self.context, &mut self.unwinder, &mut self.buffer);
        let walk = context.walk(&stopped, unwinder, buffer, &self.known, self.stack.number);
        if is_guarded {
            self.memory.unprotect();
            self.guarded += 1;
            self.check_counts();
        }
        self.note_change(walk == WalkOutcome::Unwalkable(CHANGING));
        match walk {
            WalkOutcome::Stack => {
                if self.walked > 0 {
                    self.idle_between += self.idle_last;
                }
                self.idle_last = 0;
                self.collected += u64::from(is_collecting);
                self.stack.take(&self.buffer, &self.known);
                if self.steps.is_multiple_of(COMPARED) {
                    self.compare(&stopped);
                }
                self.note();
            },
            WalkOutcome::Unwalkable(why) => self.note_unwalkable(why),
            WalkOutcome::Missed(MissedReason::TooDeep) => self.note_unwalkable(TOO_DEEP),
            WalkOutcome::Missed(_) => self.note_unwalkable(OTHER_STACK),
            WalkOutcome::Idle => {
                self.idle += 1;
                self.idle_last += 1;
            },
            WalkOutcome::Collecting => self.collecting += 1,
        }
    }

    fn note_change(&mut self, is_changing: bool) {
        if !is_changing {
            self.changing_last = 0;
            return;
        }
        self.changes += u64::from(self.changing_last == 0);
        self.changing_last += 1;
        self.changing_most = self.changing_most.max(self.changing_last);
    }

    fn note_unwalkable(&mut self, why: &'static CStr) {
        let mut places = self.unwalkable.iter_mut();
        let place = places.find(|(known, _)| known.is_none_or(|known| known == why));
        let (known, count) = place.expect("there are not that many reasons");
        *known = Some(why);
        *count += 1;
    }

    /// Walks again without what earlier walks have found, and compares the frames.
    fn compare(&mut self, stopped: &Stopped) {
        self.compared += 1;
        let nothing = KnownFunctions::default();
        let (unwinder, plain) = (&mut self.unwinder, &mut self.plain);
        let walk = self.context.walk(stopped, unwinder, plain, &nothing, None);
        let found = plain
            .frames()
            .map(|frame| FoundFrame::new(&frame, &nothing));
        let is_same = walk == WalkOutcome::Stack && found.eq(self.stack.frames.iter().copied());
        self.different += u64::from(!is_same);
    }

    /// What the next run knows.
    fn learn(&mut self) -> KnownFunctions {
        let mut known = std::mem::take(&mut self.known);
        learn(&mut known, self.unknown.drain(..));
        known
    }

    /// Notes the last stack.
    fn note(&mut self) {
        self.walked += 1;
        let begin = self.stacks.len();
        let room = self.stacks.capacity() - begin;
        assert!(self.buffer.capacity() < room, "the programs are too long");
        self.stacks.push(0);
        for frame in &self.stack.frames {
            let (key, offset, position) = (frame.key, frame.code_offset, frame.position);
            let is_known = self.known.find(&key).is_some_and(|place| {
                position == Position::UNKNOWN || self.known.has_position(place, offset)
            });
            if !is_known && self.unknown.len() < self.unknown.capacity() {
                self.unknown.push((key, offset, position));
            }
            match key.kind {
                FrameKind::Script if key.line != 0 => self.stacks.push(key.line),
                FrameKind::Native => self.stacks.push(BUILT_IN | 1 | key.hashed() as u32),
                FrameKind::Wasm => self.stacks.push(IN_WASM),
                _ => {},
            }
        }
        self.stacks[begin] = (self.stacks.len() - begin - 1) as u32;
        if self.stacks[self.last..begin] == self.stacks[begin..] {
            self.stacks.truncate(begin);
        } else {
            self.last = begin;
        }
    }

    /// Calls `run`, with a walk at each of its instructions. `engine` are addresses in the engine's memory.
    fn run(&mut self, engine: &[usize], run: impl FnOnce()) {
        let addresses = engine.iter().copied().chain([self.bounds.high() - 1]);
        // The kernel and the C library keep data of the thread at the end of its stack.
        const OF_THREAD: usize = 64 << 10;
        let high = self.bounds.high();
        self.memory = EngineMemory::of(addresses, &[self.own.clone(), high - OF_THREAD..high]);
        STEPPER.set(self);
        // SAFETY: the handler is installed.
        unsafe { libc::raise(libc::SIGTRAP) };
        run();
        STEPPER.set(ptr::null_mut());
    }

    /// Notes a count that is about to change. False if there is no room for it.
    fn note_count(&mut self, address: usize) -> bool {
        // SAFETY: the address is that of a count of the engine's.
        let value = unsafe { (address as *const u64).read_volatile() };
        let has_room = self.counts.len() < self.counts.capacity();
        if has_room {
            self.counts.push((address, value));
        }
        has_room
    }

    fn check_counts(&mut self) {
        self.counted += self.counts.len() as u64;
        for (address, value) in self.counts.drain(..) {
            // SAFETY: as above.
            if unsafe { (address as *const u64).read_volatile() } != value {
                WRITTEN.store(address, Ordering::SeqCst);
                WRITES.fetch_add(1, Ordering::SeqCst);
            }
        }
    }

    /// How many walks gave no stack for this reason, and how many for other reasons.
    fn unwalkable(&self, wanted: &CStr) -> (u64, u64) {
        let counts = self.unwalkable.iter().filter(|(_, count)| *count > 0);
        counts.fold((0, 0), |(wanted_count, others), (reason, count)| {
            match *reason == Some(wanted) {
                true => (wanted_count + count, others),
                false => (wanted_count, others + count),
            }
        })
    }

    fn stacks(&self) -> BTreeSet<Vec<u32>> {
        let mut rest = &self.stacks[..];
        let mut stacks = BTreeSet::new();
        while let [length, more @ ..] = rest {
            let (stack, more) = more.split_at(*length as usize);
            stacks.insert(stack.to_vec());
            rest = more;
        }
        stacks
    }
}

unsafe extern "C" fn on_trap(_: libc::c_int, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid context to a handler installed with SA_SIGINFO.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let stepper = STEPPER.get();
    let flags = &mut context.uc_mcontext.gregs[libc::REG_EFL as usize];
    if stepper.is_null() {
        *flags &= !TRAP_FLAG;
        return;
    }
    *flags |= TRAP_FLAG;
    // SAFETY: the stepper is this thread's, which is running what `Stepper::run` calls and not the stepper's
    // own code.
    unsafe { (*stepper).step(context) };
}

/// Installs a stack for the handlers, which is never unmapped. On the thread's own stack a handler would
/// overwrite words that were left there, and the test needs these: the walk must not follow them.
fn install_stack() -> Range<usize> {
    const SIZE: usize = 256 << 10;
    // SAFETY: the memory is new.
    let memory = unsafe {
        let memory = libc::mmap(
            ptr::null_mut(),
            SIZE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(memory, libc::MAP_FAILED);
        let stack = libc::stack_t {
            ss_sp: memory,
            ss_flags: 0,
            ss_size: SIZE,
        };
        assert_eq!(libc::sigaltstack(&stack, ptr::null_mut()), 0);
        memory.addr()
    };
    memory..memory + SIZE
}

/// Leaves words on the stack that lead nowhere, for a walk that follows what was left there.
#[inline(never)]
fn soil_stack() {
    let mut words = [0_usize; 1 << 15];
    for word in &mut words {
        // SAFETY: the word is a local variable's.
        unsafe { ptr::write_volatile(word, 0x10) };
    }
}

fn install_handlers() {
    // SAFETY: a zeroed sigaction is a valid one.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        // The walk may write where it must not, and that is to be reported.
        libc::sigdelset(&mut action.sa_mask, libc::SIGSEGV);
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()), 0);
    }
    static FAULTS: Once = Once::new();
    FAULTS.call_once(|| {
        // SAFETY: as above; `BEFORE` is written here only.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            let before = ptr::addr_of_mut!(BEFORE).cast();
            assert_eq!(libc::sigaction(libc::SIGSEGV, &action, before), 0);
        }
    });
}

fn is_line(line: &u32) -> bool {
    line & BUILT_IN == 0
}

/// The functions of the programs, by the lines that they are defined on, and which functions call which.
struct Functions {
    names: BTreeMap<u32, String>,
    calls: BTreeSet<(u32, u32)>,
}

impl Functions {
    /// Those that may run while these are called.
    fn read(called: &[&str]) -> Self {
        let mut names = BTreeMap::new();
        let mut notes = Vec::new();
        let lines = (EVALUATED + 1..).zip(PROGRAMS.lines().skip(1));
        let of_lines =
            lines.filter_map(|(number, line)| Some((number, line.rsplit_once("// ")?.1)));
        let main = format!("main > {}", called.join(" "));
        let others = [
            (MAIN, &*main),
            (EVALUATED, "evaluated > inner outer evaluated"),
        ];
        for (number, note) in of_lines.chain(others) {
            if let Some((name, called)) = note.split_once(" >") {
                names.insert(number, name.to_owned());
                notes.push((number, called));
            }
        }
        let line_of = |wanted: &str| {
            let found = names.iter().find(|(_, name)| *name == wanted);
            *found.unwrap_or_else(|| panic!("no function {wanted}")).0
        };
        let calls = notes.iter().flat_map(|(caller, called)| {
            let called = called.split_whitespace();
            called.map(|callee| (*caller, line_of(callee)))
        });
        let calls = calls.collect();
        Self { names, calls }
    }

    /// The lines of all functions that are called, also by others.
    fn called(&self) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        let mut next = vec![MAIN];
        while let Some(function) = next.pop() {
            if found.insert(function) {
                let calls = self.calls.range((function, 0)..=(function, u32::MAX));
                next.extend(calls.map(|(_, callee)| *callee));
            }
        }
        found
    }

    fn show(&self, stack: &[u32]) -> String {
        let name = |line| match self.names.get(line) {
            Some(name) => name.clone(),
            None if !is_line(line) => "(built-in)".to_owned(),
            None => format!("line {line}"),
        };
        stack.iter().map(name).collect::<Vec<_>>().join(" > ")
    }

    fn allow(&self, stack: &[u32]) -> bool {
        let scripts: Vec<u32> = stack.iter().copied().filter(is_line).collect();
        let is_call = |pair: &[u32]| self.calls.contains(&(pair[0], pair[1]));
        // No built-in of the programs calls itself.
        let is_twice =
            |pair: &[u32]| !is_line(&pair[0]) && pair[0] != IN_WASM && pair[0] == pair[1];
        (stack.is_empty() || scripts.first() == Some(&MAIN))
            && scripts.windows(2).all(is_call)
            && !stack.windows(2).any(is_twice)
    }
}

/// How many walks of each program give a stack at least, and how many in collections of a program that causes some. The fewest
/// are 1,700.
const LEAST_WALKED: u64 = 1_000;
/// How many of a thousand walks may give no stack although a script is running and no garbage is collected. A program is
/// one script, so nothing is running before it and after it only.
const MOST_UNWALKABLE: u64 = 10;
/// While garbage is collected, which takes millions of instructions here, there is a walk at an instruction where none has been
/// done before, and at each one of so many others.
const COLLECTED: u64 = 10;
/// How many of a thousand walks may give no stack because of a collection, in all programs that do not cause one. Usually none
/// does.
const MOST_COLLECTING: u64 = 10;
/// The reason that a walk gives while the engine adds an entry to its table of code.
const CHANGING: &CStr = c"the engine is changing its tables of code";
/// How many of a thousand walks may give it, in all programs.
const MOST_CHANGING: u64 = 6;
/// How many instructions one change may take, such as an entry that is added. That takes some 350 of them, and up to 1,800
/// where the index grows: 290 for the engine's tree, and the rest for the index.
const LONGEST_CHANGE: u64 = 4_000;
/// How many of a thousand walks of a program in [`SUSPENDING`] may find the thread between two stacks. A switch takes some 70
/// instructions, and these programs do little else.
const MOST_BETWEEN_STACKS: u64 = 60;
/// What stands for walks that gave up for these reasons. No program is so deep, and the others never leave their thread's own
/// stack.
const TOO_DEEP: &CStr = c"the stack is too deep";
const OTHER_STACK: &CStr = c"the thread is on another stack";
/// The reasons that a walk gives if it has taken something else for a function's frame. They must not occur:
/// another such word might be a valid address.
const MISTAKEN: [&CStr; 2] = [
    c"a function's frame has no script",
    c"a frame does not belong to the function whose code runs",
];

fn walk_everywhere(programs: &[&str], own: &Range<usize>) {
    let bounds = current_stack_bounds().unwrap();
    let mut known = KnownFunctions::default();
    let mut same = 0;
    // In the programs that cause no collection.
    let (mut walked, mut collecting) = (0, 0);
    let (mut all_walked, mut all_changing) = (0, 0);
    let functions = Functions::read(programs);
    let context = TestContext::new();
    // After the engine has installed its own handlers.
    install_handlers();
    let engine = context.engine();
    context.with_scripts(|evaluate| {
        evaluate(c"https://a.test/programs.js", EVALUATED, PROGRAMS);
        for runs in RUNS_BEFORE {
            let mut seen = BTreeSet::new();
            for &called in programs {
                let call = format!("{called}()");
                if runs >= OPTIMISED && LONG.contains(&called) {
                    continue;
                }
                context.let_other_threads_compile(LINKED.contains(&called));
                for _ in 0..runs {
                    evaluate(c"https://a.test/main.js", MAIN, &call);
                }
                // Allocated by another thread, so that it is not in memory that is protected as the engine's.
                let (sampled, own) = (engine.sampled(), own.clone());
                let make = move || Box::new(Stepper::new(sampled, bounds, own, known));
                let mut stepper = thread::spawn(make).join().unwrap();
                soil_stack();
                stepper.run(&context.memory(), || {
                    evaluate(c"https://a.test/main.js", MAIN, &call);
                });
                println!(
                    "{called} after {runs}: {} instructions, {} walked, {} frames as before, {} idle, \
                     {} left out, {} found and {} not while collecting, {} changes of tables of at most {}, \
                     {} while {} kB could not be written to but for {} counts of code look-ups, unwalkable: {:?}",
                    stepper.steps,
                    stepper.walked,
                    stepper.stack.same,
                    stepper.idle,
                    stepper.left_out,
                    stepper.collected,
                    stepper.collecting,
                    stepper.changes,
                    stepper.changing_most,
                    stepper.guarded,
                    stepper.memory.size() >> 10,
                    stepper.counted,
                    stepper
                        .unwalkable
                        .iter()
                        .filter(|(_, count)| *count > 0)
                        .collect::<Vec<_>>(),
                );
                let stacks = stepper.stacks();
                for stack in &stacks {
                    let shown = functions.show(stack);
                    assert!(
                        functions.allow(stack),
                        "{called} after {runs}: this stack cannot have existed: {shown}"
                    );
                }
                assert_eq!(
                    WRITES.swap(0, Ordering::SeqCst),
                    0,
                    "{called} after {runs}: the walk has written to {:x}, by the instruction at {:x} of this program",
                    WRITTEN.load(Ordering::SeqCst),
                    WRITER.load(Ordering::SeqCst).saturating_sub(program_start())
                );
                assert!(stepper.walked >= LEAST_WALKED, "{called} after {runs}");
                if COLLECTING.contains(&called) {
                    assert!(stepper.collected >= LEAST_WALKED, "{called} after {runs}");
                } else {
                    walked += stepper.walked;
                    collecting += stepper.collecting;
                }
                let (changing, others) = stepper.unwalkable(CHANGING);
                all_walked += stepper.walked;
                all_changing += changing;
                assert!(
                    stepper.changing_most <= LONGEST_CHANGE,
                    "{called} after {runs}: one change of tables took {} instructions",
                    stepper.changing_most
                );
                let mut others = others + stepper.idle_between;
                let mut between_stacks = 0;
                if SUSPENDING.contains(&called) {
                    between_stacks = stepper.unwalkable(OTHER_STACK).0;
                    others -= between_stacks;
                }
                assert!(
                    others * 1000 <= stepper.walked * MOST_UNWALKABLE
                        && between_stacks * 1000 <= stepper.walked * MOST_BETWEEN_STACKS,
                    "{called} after {runs}: {:?}, {} idle between stacks, and {} walked",
                    stepper.unwalkable,
                    stepper.idle_between,
                    stepper.walked
                );
                let is_mistaken = |reason: &&CStr| stepper.unwalkable(reason).0 > 0;
                assert!(
                    !MISTAKEN.iter().any(is_mistaken),
                    "{called} after {runs}: {:?}",
                    stepper.unwalkable
                );
                assert!(stepper.guarded > 0, "{called} after {runs}");
                assert_eq!(
                    stepper.different, 0,
                    "{called} after {runs}: of {} stacks, so many differ from those of a walk that knows nothing",
                    stepper.compared
                );
                same += stepper.stack.same;
                // On another thread for the same reason as above.
                known = thread::spawn(move || stepper.learn()).join().unwrap();
                seen.extend(stacks.into_iter().flatten().filter(is_line));
            }
            // Optimised code may have no instruction left of a function that was inlined.
            if runs < OPTIMISED {
                assert_eq!(seen, functions.called(), "functions that were seen after {runs}");
            }
        }
    });
    assert_ne!(same, 0, "no walk was based on the one before");
    assert!(
        collecting * 1000 <= walked * MOST_COLLECTING,
        "{collecting} walks fell on a collection, and {walked} gave a stack"
    );
    assert!(
        all_changing * 1000 <= all_walked * MOST_CHANGING,
        "{all_changing} walks fell on a change of the tables of code, and {all_walked} gave a stack"
    );
}

fn in_thread(run: impl FnOnce(&Range<usize>) + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK_SIZE).spawn(|| {
        let own = install_stack();
        run(&own);
    });
    thread.unwrap().join().unwrap();
}

/// Runs a test of this file in a process of its own, so that no other test meets memory that is
/// write-protected.
fn in_process(test: &str, run: impl FnOnce(&Range<usize>) + Send + 'static) {
    const ALONE: &str = "STROBE_TEST_ALONE";
    if env::var_os(ALONE).is_some() {
        return in_thread(run);
    }
    let test = format!("every_instruction::{test}");
    let child = Command::new(env::current_exe().unwrap())
        .args([&test, "--exact", "--nocapture"])
        .env(ALONE, "1")
        .stderr(Stdio::piped())
        .spawn();
    let ended = child.unwrap().wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{test} has failed: {said}");
}

#[test]
fn the_walk_is_right_at_every_instruction_of_script() {
    in_process("the_walk_is_right_at_every_instruction_of_script", |own| {
        walk_everywhere(&OF_SCRIPT, own)
    });
}

#[test]
fn the_walk_is_right_at_every_instruction_of_what_the_engine_does() {
    in_process(
        "the_walk_is_right_at_every_instruction_of_what_the_engine_does",
        |own| walk_everywhere(&OF_ENGINE, own),
    );
}
