/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Stacks are walked at every single instruction of programs: the processor traps after each (the flag TF),
//! and the handler of SIGTRAP walks the stack of its own thread. So every state is seen that a thread can be
//! stopped in, where samples come upon the rare ones once in a million.
//!
//! Each program says of its functions which ones they call, so that a stack that was never there shows.

#![allow(unsafe_code)]

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;
use std::thread;

use crate::spidermonkey::tests::TestContext;
use crate::spidermonkey::{
    FrameKind, FramePlace, FunctionKey, KnownFunctions, SampledContext, StackBuffer, Walk, Walker,
};
use crate::suspend::{StackBounds, Stopped, current_stack_bounds, registers_of};

const PROGRAMS: &str = include_str!("every_instruction.js");

/// What is called, each after it has run so often: in the interpreter, in Baseline code and in Ion code.
const CALLED: [&str; 11] = [
    "calls",
    "recursion",
    "callbacks",
    "natives",
    "accessors",
    "generators",
    "exceptions",
    "classes",
    "webAssembly",
    "evaluator",
    "indirect",
];
const RUNS_BEFORE: [u32; 3] = [0, 30, OPTIMISED];
const OPTIMISED: u32 = 3000;

/// The line of the script that calls it.
const MAIN: u32 = 1000;
/// The line of what is evaluated.
const EVALUATED: u32 = 1;

/// Marks what is no line, but a hash of a built-in.
const BUILT_IN: u32 = 1 << 31;

const STACK_SIZE: usize = 8 << 20;

const TRAP_FLAG: libc::greg_t = 0x100;

thread_local! {
    /// Null while this thread is not to be stepped.
    static STEPPER: Cell<*mut Stepper> = const { Cell::new(ptr::null_mut()) };
}

/// Walks the stack at each instruction. Allocates nothing while it does.
struct Stepper {
    context: SampledContext,
    is_stock: bool,
    bounds: StackBounds,
    buffer: StackBuffer,
    known: KnownFunctions,
    steps: u64,
    walked: u64,
    /// The reasons why stacks could not be walked, and how often.
    unwalkable: [(Option<&'static CStr>, u64); 16],
    /// The stacks that differ from the one before: their lengths, and the lines of their functions or a mark of
    /// built-ins.
    stacks: Vec<u32>,
    /// Where the last of them begins.
    last: usize,
    /// Of the last stack.
    frames: Vec<FunctionKey>,
    places: Vec<FramePlace>,
    /// How often a frame was said to be there still, and another one was in its place.
    wrongly_kept: u64,
}

impl Stepper {
    fn new(context: SampledContext, is_stock: bool) -> Self {
        const ROOM: usize = 16 << 20;
        let buffer = StackBuffer::new();
        Self {
            context,
            is_stock,
            bounds: current_stack_bounds().unwrap(),
            known: KnownFunctions::new(),
            steps: 0,
            walked: 0,
            unwalkable: [(None, 0); 16],
            stacks: Vec::with_capacity(ROOM),
            last: 0,
            frames: Vec::with_capacity(buffer.capacity()),
            places: Vec::with_capacity(buffer.capacity()),
            wrongly_kept: 0,
            buffer,
        }
    }

    fn step(&mut self, context: &libc::ucontext_t) {
        self.steps += 1;
        let stopped = Stopped::new(registers_of(context), self.bounds);
        let kept = self.context.count_kept(&stopped, &self.places);
        self.buffer.clear();
        let walk = match self.is_stock {
            true => self.context.walk_stock(&stopped, &mut self.buffer),
            false => self.context.walk(&stopped, &mut self.buffer, &self.known),
        };
        match walk {
            Walk::Stack => self.note(kept),
            Walk::Unwalkable(why) => {
                let mut places = self.unwalkable.iter_mut();
                let place = places.find(|(known, _)| known.is_none_or(|known| known == why));
                let (known, count) = place.expect("there are not that many reasons");
                *known = Some(why);
                *count += 1;
            },
            Walk::Idle | Walk::Collecting => {},
        }
    }

    fn note(&mut self, kept: usize) {
        self.walked += 1;
        // Of functions that were inlined into the youngest frame nothing is known.
        let mut kept = kept;
        while let Some([.., outer, inner]) = self.places.get(..kept)
            && outer == inner
        {
            kept -= 1;
        }
        // One that is about to be left may not be seen any more. Others must not stand in its place.
        let found = self.buffer.frames().map(|frame| frame.key());
        let mut both = self.frames[..kept].iter().copied().zip(found);
        if both.any(|(kept, found)| kept != found) {
            self.wrongly_kept += 1;
        }
        self.frames.clear();
        self.places.clear();
        let begin = self.stacks.len();
        let room = self.stacks.capacity() - begin;
        assert!(self.buffer.capacity() < room, "the programs are too long");
        self.stacks.push(0);
        for frame in self.buffer.frames() {
            self.frames.push(frame.key());
            self.places.push(frame.place());
            match (frame.kind(), frame.position()) {
                (FrameKind::Script, Some((line, _))) => self.stacks.push(line),
                (FrameKind::Native, _) => self.stacks.push(BUILT_IN | frame.key().hashed() as u32),
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

    /// Runs something with a walk at each of its instructions.
    fn run(&mut self, run: impl FnOnce()) {
        STEPPER.set(self);
        // SAFETY: the handler is installed.
        unsafe { libc::raise(libc::SIGTRAP) };
        run();
        STEPPER.set(ptr::null_mut());
    }

    fn unwalkable(&self) -> u64 {
        self.unwalkable.iter().map(|(_, count)| count).sum()
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
    // SAFETY: the kernel gives it to a handler installed with SA_SIGINFO.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let stepper = STEPPER.get();
    let flags = &mut context.uc_mcontext.gregs[libc::REG_EFL as usize];
    if stepper.is_null() {
        *flags &= !TRAP_FLAG;
        return;
    }
    *flags |= TRAP_FLAG;
    // SAFETY: it is this thread's, which is not in the stepper's own code but in what `Stepper::run` runs.
    unsafe { (*stepper).step(context) };
}

/// The handler's own stack: on the thread's it would write over what was left there, which the walk must not
/// follow.
fn install_stack() -> Vec<u8> {
    const SIZE: usize = 256 << 10;
    let mut memory = vec![0; SIZE];
    let stack = libc::stack_t {
        ss_sp: memory.as_mut_ptr().cast(),
        ss_flags: 0,
        ss_size: SIZE,
    };
    // SAFETY: the memory is there for as long as the thread.
    assert_eq!(unsafe { libc::sigaltstack(&stack, ptr::null_mut()) }, 0);
    memory
}

/// Leaves words on the stack that lead nowhere.
#[inline(never)]
fn soil_stack() {
    let mut words = [0_usize; 1 << 15];
    for word in &mut words {
        // SAFETY: it is ours.
        unsafe { ptr::write_volatile(word, 0x10) };
    }
}

fn install_handler() {
    // SAFETY: a zeroed sigaction is a valid one.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = on_trap as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()), 0);
    }
}

fn is_line(line: &u32) -> bool {
    line & BUILT_IN == 0
}

/// The functions of the programs by their lines, and which ones call which.
struct Functions {
    names: BTreeMap<u32, String>,
    calls: BTreeSet<(u32, u32)>,
}

impl Functions {
    fn read() -> Self {
        let mut names = BTreeMap::new();
        let mut notes = Vec::new();
        let lines = (EVALUATED + 1..).zip(PROGRAMS.lines().skip(1));
        let of_lines =
            lines.filter_map(|(number, line)| Some((number, line.rsplit_once("// ")?.1)));
        let main = format!("main > {}", CALLED.join(" "));
        let others = [(MAIN, &*main), (EVALUATED, "evaluated > inner outer")];
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
        let is_twice = |pair: &[u32]| !is_line(&pair[0]) && pair[0] == pair[1];
        scripts.first().is_none_or(|first| *first == MAIN)
            && scripts.windows(2).all(is_call)
            && !stack.windows(2).any(is_twice)
    }
}

fn walk_everywhere(walker: Walker) {
    install_handler();
    let functions = Functions::read();
    let context = TestContext::new();
    let mut mode = context.mode(walker);
    assert!(mode.set_enabled(true));
    context.with_scripts(|evaluate| {
        evaluate(c"https://a.test/programs.js", EVALUATED, PROGRAMS);
        for runs in RUNS_BEFORE {
            let mut seen = BTreeSet::new();
            for called in CALLED {
                let call = format!("{called}()");
                for _ in 0..runs {
                    evaluate(c"https://a.test/main.js", MAIN, &call);
                }
                let mut stepper = Stepper::new(mode.context(), walker == Walker::Stock);
                soil_stack();
                stepper.run(|| evaluate(c"https://a.test/main.js", MAIN, &call));
                println!(
                    "{called} after {runs}: {} instructions, {} walked, unwalkable: {:?}",
                    stepper.steps,
                    stepper.walked,
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
                        "{called} after {runs}: there never was {shown}"
                    );
                }
                assert_eq!(stepper.wrongly_kept, 0, "{called} after {runs}");
                assert!(
                    stepper.unwalkable() * 2 <= stepper.walked,
                    "{called} after {runs}: {:?}",
                    stepper.unwalkable
                );
                seen.extend(stacks.into_iter().flatten().filter(is_line));
            }
            // Optimised code may have no instruction left of a function.
            if runs < OPTIMISED {
                let all: BTreeSet<u32> = functions.names.keys().copied().collect();
                assert_eq!(seen, all, "functions that were seen after {runs}");
            }
        }
    });
    drop(mode);
}

fn in_thread(run: impl FnOnce() + Send + 'static) {
    let thread = thread::Builder::new().stack_size(STACK_SIZE).spawn(|| {
        // It is given up to the process: handlers may run on it as long as the thread does.
        install_stack().leak();
        run();
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn the_table_walk_is_right_at_every_instruction() {
    in_thread(|| walk_everywhere(Walker::Table));
}

#[test]
fn the_stock_walk_is_right_at_every_instruction() {
    in_thread(|| walk_everywhere(Walker::Stock));
}
