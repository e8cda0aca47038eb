/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Runs code on another thread, by a signal, on Linux.
//!
//! `handshake.rs` is the protocol between the threads. This file sends the signal, handles it, and makes the
//! threads wait for each other.
//!
//! The walk runs in the signal handler, so the thread is stopped only for as long as the walk takes. If the
//! sampling thread walked the stack, the thread would also be stopped until the sampling thread was woken, and
//! then until it was woken itself.

#![allow(unsafe_code)]

use std::any::Any;
use std::arch::asm;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::hint;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use std::{fmt, fs};

use super::handshake::{Handshake, NotDone, Waiting};
use crate::arch::{RETURN_ADDRESS_BEFORE_CONTEXT, Registers};

static HANDSHAKE: Handshake = Handshake::new();

/// The handshakes of standing requests: see `linux_timers.rs`. The signal of a timer has the index of its
/// handshake.
pub static STANDING: [Handshake; 16] = [const { Handshake::new() }; 16];

/// If a thread does not stop within this time, the sample is missed. The thread may be waiting for a processor,
/// or be in the kernel where no signal reaches it.
pub const STOP_TIMEOUT: Duration = Duration::from_millis(50);

/// The registers of a stopped thread, and the bounds of its stack. The C++ glue has the same structure.
///
/// Only the code that stops a thread makes such a value, which is neither `Clone` nor `Copy`. So a reference to
/// it proves that the thread is stopped.
#[repr(C)]
#[derive(Debug)]
pub struct Stopped {
    registers: Registers,
    /// The thread's stack. `sp` may be elsewhere while a handler of another signal runs on a stack of its own.
    stack: StackBounds,
}

// `glue.h` asserts the same layout.
const _: () = {
    assert!(size_of::<Stopped>() == 72 && size_of::<StackBounds>() == 16);
    assert!(offset_of!(Stopped, registers) == 0 && offset_of!(Stopped, stack) == 56);
    assert!(offset_of!(Registers, pc) == 0 && offset_of!(Registers, sp) == 8);
    assert!(offset_of!(Registers, fp) == 16 && offset_of!(Registers, interpreter_pc) == 24);
    assert!(offset_of!(Registers, generic_return) == 32);
    assert!(offset_of!(Registers, tail_return) == 40 && offset_of!(Registers, tail_frame) == 48);
    assert!(offset_of!(StackBounds, low) == 0 && offset_of!(StackBounds, high) == 8);
};

/// The addresses of a thread's stack: `low..high`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StackBounds {
    low: usize,
    high: usize,
}

impl StackBounds {
    /// The end of the stack, where its oldest frames are.
    #[cfg(test)]
    pub fn high(&self) -> usize {
        self.high
    }
}

impl Stopped {
    /// Makes the state that is passed to what a stopped thread runs.
    ///
    /// # Safety
    ///
    /// The calling thread must be in the handler that found these registers. `stack` must be the stack of the
    /// calling thread. The thread must stay in the handler for as long as the value exists.
    pub unsafe fn new(registers: Registers, stack: StackBounds) -> Self {
        Self { registers, stack }
    }

    /// Whether the stack pointer is on the thread's stack.
    #[cfg(test)]
    pub fn is_on_stack(&self) -> bool {
        (self.stack.low..self.stack.high).contains(&self.registers.sp)
    }

    /// Whether this is the stopped thread's stack, if it is the stack of a thread that exists. The lower bound of the
    /// first thread's stack may change.
    pub fn has_stack(&self, stack: &StackBounds) -> bool {
        self.stack.high == stack.high
    }
}

/// A task that runs on the stopped thread.
pub trait Task: Send {
    /// Runs the task. It must not allocate, and it must not take a lock that the thread may hold. So it must
    /// not panic.
    fn run(&mut self, stopped: &Stopped);
}

impl<F: FnMut(&Stopped) + Send> Task for F {
    fn run(&mut self, stopped: &Stopped) {
        self(stopped);
    }
}

/// Every job begins with this.
#[repr(C)]
struct JobHeader {
    /// Runs the job that begins with this header.
    ///
    /// # Safety
    ///
    /// The calling thread must be in the handler that found the registers. It must be the thread that the job
    /// is for. Nothing else may use the job meanwhile.
    run: unsafe fn(*mut JobHeader, Registers),
}

/// A task for one thread, as the signal handler gets it.
#[repr(C)]
pub struct Job<T> {
    header: JobHeader,
    stack: StackBounds,
    /// What the thread is to run.
    pub task: T,
    /// The task has panicked with this. It is not run again until somebody takes it.
    pub panic: Option<Box<dyn Any + Send>>,
}

impl<T: Task> Job<T> {
    /// A job for this thread.
    pub fn new(thread: &Thread, task: T) -> Self {
        Self {
            header: JobHeader { run: Self::run },
            stack: thread.stack,
            task,
            panic: None,
        }
    }

    /// Runs the task.
    ///
    /// # Safety
    ///
    /// As for [`JobHeader::run`]. `header` must be that of a `Job<T>`.
    unsafe fn run(header: *mut JobHeader, registers: Registers) {
        // SAFETY: the header is the first field, and the pointer is that of the whole job.
        let job = unsafe { &mut *header.cast::<Self>() };
        // SAFETY: see above.
        let stopped = unsafe { Stopped::new(registers, job.stack) };
        if job.panic.is_none() {
            let result = panic::catch_unwind(AssertUnwindSafe(|| job.task.run(&stopped)));
            job.panic = result.err();
        }
    }
}

/// A thread that can be stopped. It must not end before the last call of [`Thread::while_stopped`] has
/// returned.
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    /// The kernel's id of the thread.
    pub(super) tid: libc::pid_t,
    /// The thread's stack.
    pub(super) stack: StackBounds,
}

/// Why a thread could not be stopped.
#[derive(Debug)]
pub enum StopError {
    /// It did not stop in time.
    TimedOut,
    /// It could not be signalled.
    Signal(io::Error),
    /// Other code handles the signal now, so the signal was not sent. The other handler would not know what it
    /// means, and the default action would end the process.
    HandlerReplaced,
}

impl fmt::Display for StopError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut => {
                write!(
                    formatter,
                    "it did not stop within {} ms",
                    STOP_TIMEOUT.as_millis()
                )
            },
            Self::Signal(error) => write!(formatter, "it cannot be signalled: {error}"),
            Self::HandlerReplaced => {
                formatter.write_str("the profiler's signal is handled by somebody else now")
            },
        }
    }
}

impl Thread {
    /// The calling thread, prepared for being stopped: the signal is unblocked, and the thread has a large
    /// alternate stack. The signal's handler need not be installed yet.
    pub fn current() -> io::Result<Self> {
        let signal = signal().map_err(io::Error::other)?;
        // SAFETY: the set is initialised by sigemptyset before it is used.
        unsafe {
            let mut set = MaybeUninit::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
        }
        ALTERNATE_STACK.with(|stack| {
            let mut stack = stack.borrow_mut();
            if stack.is_none() {
                *stack = AlternateStack::install_if_smaller()?;
            }
            io::Result::Ok(())
        })?;
        // SAFETY: the call has no arguments and cannot fail.
        let tid = unsafe { libc::gettid() };
        STOPPABLE.set(tid);
        Ok(Self {
            tid,
            stack: current_stack_bounds()?,
        })
    }

    /// Whether the thread is running or waits only for a processor. False if it waits for something else, or if
    /// its state cannot be read.
    pub fn is_runnable(self) -> bool {
        // The text is PID (NAME) STATE …, where the name may contain any character: proc_pid_stat(5).
        let stat = fs::read(format!("/proc/self/task/{}/stat", self.tid));
        stat.is_ok_and(|stat| {
            let end_of_name = stat.iter().rposition(|&byte| byte == b')');
            end_of_name.is_some_and(|end| stat.get(end + 2) == Some(&b'R'))
        })
    }

    /// Installs the signal's handler, unless it is installed. An error says why threads of this process cannot
    /// be stopped.
    pub fn prepare() -> io::Result<()> {
        match usable_signal() {
            Ok(_) => Ok(()),
            Err(StopError::Signal(error)) => Err(error),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    /// Stops the thread, makes it call `walk` with the state in which it was stopped, and lets it continue. Waits
    /// while another thread stops one.
    ///
    /// `walk` runs on the stopped thread while the calling thread waits. It must not allocate, and it must not
    /// take a lock that the stopped thread may hold. So it must not panic, because the report of a panic does
    /// both. If it panics nevertheless, the stopped thread continues, and the calling thread panics.
    pub fn while_stopped<F, T>(&self, walk: F) -> Result<T, StopError>
    where
        F: FnOnce(&Stopped) -> T + Send,
        T: Send,
    {
        // Only one request is made at a time. An earlier sampling thread may still be ending.
        static STOPPING: Mutex<()> = Mutex::new(());
        let _stopping = STOPPING.lock().unwrap_or_else(PoisonError::into_inner);
        let signal = usable_signal()?;
        let mut walk = Some(walk);
        let mut result = None;
        let mut job = Job::new(self, |stopped: &Stopped| {
            result = walk.take().map(|walk| walk(stopped));
        });
        let task = ptr::from_mut(&mut job).cast();
        let send = || {
            // SAFETY: the signal's handler is installed, and the thread is one of this process.
            match unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.tid, signal) } {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        };
        let deadline = Instant::now() + STOP_TIMEOUT;
        let left = || deadline.saturating_duration_since(Instant::now());
        HANDSHAKE
            .request(self.tid, task, &Futex, send, STOP_TIMEOUT, left)
            .map_err(|error| match error {
                NotDone::TimedOut => StopError::TimedOut,
                NotDone::NotSent(error) => StopError::Signal(error),
            })?;
        if let Some(payload) = job.panic {
            panic::resume_unwind(payload);
        }
        Ok(result.expect("the handler leaves a result"))
    }
}

extern "C" fn on_signal(
    _signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: errno belongs to the interrupted code, and is restored below.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes both to a handler that is installed with SA_SIGINFO.
    unsafe { answer(&*info, &*context.cast()) };
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Runs the task that is requested of this thread. Everything in here is safe in a signal handler.
///
/// # Safety
///
/// Both must be what the kernel has passed to the handler that is running.
unsafe fn answer(info: &libc::siginfo_t, context: &libc::ucontext_t) {
    let run = |task: *mut c_void| {
        // SAFETY: see above.
        let interrupted = unsafe { before_other_handler(context) };
        let registers = interrupted.unwrap_or_else(|| Registers::of_context(context));
        let header = task.cast::<JobHeader>();
        // SAFETY: the code that made the request has put a job there that is for this thread, and does not
        // touch it while it is in use.
        unsafe { ((*header).run)(header, registers) };
    };
    let thread = STOPPABLE.get();
    match info.si_code {
        libc::SI_TIMER => {
            // SAFETY: the signal of a timer has a value.
            let slot = unsafe { info.si_value() }.sival_ptr.addr();
            if let Some(handshake) = STANDING.get(slot) {
                handshake.answer_standing(thread, &Futex, run);
            }
        },
        _ => HANDSHAKE.answer(thread, &Futex, run),
    }
}

/// The registers that another signal's handler has interrupted, if our signal has interrupted that handler on the
/// alternate stack. The engine handles traps of WebAssembly there.
///
/// # Safety
///
/// `context` must be what the kernel has passed to the handler that is running.
unsafe fn before_other_handler(context: &libc::ucontext_t) -> Option<Registers> {
    let word = size_of::<usize>();
    let sp = Registers::of_context(context).sp;
    let alternate =
        context.uc_stack.ss_sp as usize..context.uc_stack.ss_sp as usize + context.uc_stack.ss_size;
    if !alternate.contains(&sp) {
        return None;
    }
    // The return address of a handler is in the C library, and is the same for all handlers.
    let restorer = ptr::from_ref(context).wrapping_byte_sub(RETURN_ADDRESS_BEFORE_CONTEXT);
    // SAFETY: the kernel has put it there.
    let restorer = unsafe { word_of_stack(restorer.addr()) };
    let last = alternate
        .end
        .checked_sub(RETURN_ADDRESS_BEFORE_CONTEXT + size_of::<libc::ucontext_t>())?;
    let first = sp.next_multiple_of(word);
    (first..=last).step_by(word).find_map(|address| {
        // SAFETY: it is on the alternate stack, which this thread is using.
        if unsafe { word_of_stack(address) } != restorer {
            return None;
        }
        let outer = address + RETURN_ADDRESS_BEFORE_CONTEXT;
        // SAFETY: as above; a context fits in there.
        let register = |offset| unsafe { word_of_stack(outer + offset) };
        let outer = Registers::of_context_at(register);
        (!alternate.contains(&outer.sp)).then_some(outer)
    })
}

/// Any word of the stack, whatever it is. With AddressSanitizer the stack also has memory that no code may use, beside the
/// variables of instrumented code. Only this function may read that, by an instruction that no sanitizer sees.
///
/// # Safety
///
/// The stack must have a word at this address.
unsafe fn word_of_stack(address: usize) -> usize {
    let word;
    // SAFETY: see above.
    unsafe {
        asm!(
            "mov {word}, [{address}]",
            address = in(reg) address,
            word = lateout(reg) word,
            options(nostack, preserves_flags, readonly),
        );
    }
    word
}

const NO_SIGNAL: &str = "no real-time signal is free";

/// A real-time signal that had no handler when it was chosen. All threads use the same one. SIGPROF is left
/// alone, because other samplers use it.
pub fn signal() -> Result<libc::c_int, &'static str> {
    static SIGNAL: OnceLock<Option<libc::c_int>> = OnceLock::new();
    SIGNAL
        .get_or_init(|| {
            (libc::SIGRTMIN()..=libc::SIGRTMAX())
                .rev()
                .find(|&signal| has_default_action(signal))
        })
        .ok_or(NO_SIGNAL)
}

/// The signal, whose handler is installed if it has not been. An error says why the signal must not be sent.
pub fn usable_signal() -> Result<libc::c_int, StopError> {
    let signal = install_handler().map_err(StopError::Signal)?;
    match has_our_handler(signal) {
        true => Ok(signal),
        false => Err(StopError::HandlerReplaced),
    }
}

/// Installs the handler, once in a process, and returns the signal.
fn install_handler() -> io::Result<libc::c_int> {
    static INSTALLED: OnceLock<Result<libc::c_int, String>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| {
        let signal = signal()?;
        // Other code may have installed a handler since the signal was chosen.
        if !has_default_action(signal) {
            return Err(StopError::HandlerReplaced.to_string());
        }
        // SAFETY: a zeroed sigaction is a valid one, and the handler is safe in a signal.
        let result = unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = on_signal as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            // Blocks all signals meanwhile: a handler that ran inside ours would be walked as if it were the
            // script's.
            libc::sigfillset(&mut action.sa_mask);
            libc::sigaction(signal, &action, ptr::null_mut())
        };
        match result {
            0 => Ok(signal),
            _ => Err(io::Error::last_os_error().to_string()),
        }
    });
    installed.clone().map_err(io::Error::other)
}

thread_local! {
    /// The number of this thread once it may be stopped, before that 0, which no thread has. The signal's handler reads
    /// it: gettid() would be a system call in each stop. It has neither code that makes it nor code that drops it, so
    /// reading it is one load.
    static STOPPABLE: Cell<libc::pid_t> = const { Cell::new(0) };
    static ALTERNATE_STACK: RefCell<Option<AlternateStack>> = const { RefCell::new(None) };
}

/// The alternate stack of a thread. Handlers run on it if they ask for it, as the engine's handler of
/// WebAssembly traps does. A walk that interrupts such a handler runs there, too. It needs more room than the 8
/// KiB that Rust gives a thread, because the kernel saves the registers there for each of the two handlers.
/// That takes 3 KiB each time, and 11 KiB with the largest registers of today.
struct AlternateStack {
    memory: *mut c_void,
}

impl AlternateStack {
    const SIZE: usize = 64 * 1024;
    /// The size of the guard below the stack. No page is larger.
    const GUARD: usize = 64 * 1024;

    /// Gives this thread an alternate stack, unless it has one that is as large.
    fn install_if_smaller() -> io::Result<Option<Self>> {
        if Self::current().is_some_and(|stack| stack.ss_size >= Self::SIZE) {
            return Ok(None);
        }
        // SAFETY: the memory is new. Its lower part is a guard, and the part above is a stack until this value
        // is dropped.
        unsafe {
            let memory = libc::mmap(
                ptr::null_mut(),
                Self::GUARD + Self::SIZE,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
                -1,
                0,
            );
            if memory == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let installed = Self { memory };
            let access = libc::PROT_READ | libc::PROT_WRITE;
            if libc::mprotect(installed.low(), Self::SIZE, access) != 0 {
                return Err(io::Error::last_os_error());
            }
            let mut stack: libc::stack_t = MaybeUninit::zeroed().assume_init();
            stack.ss_sp = installed.low();
            stack.ss_size = Self::SIZE;
            if libc::sigaltstack(&stack, ptr::null_mut()) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(Some(installed))
        }
    }

    fn low(&self) -> *mut c_void {
        self.memory.wrapping_byte_add(Self::GUARD)
    }

    /// The alternate stack of this thread, if it has one.
    fn current() -> Option<libc::stack_t> {
        // SAFETY: reads the setting without changing it.
        unsafe {
            let mut stack: libc::stack_t = MaybeUninit::zeroed().assume_init();
            let result = libc::sigaltstack(ptr::null(), &mut stack);
            (result == 0 && stack.ss_flags & libc::SS_DISABLE == 0).then_some(stack)
        }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        let is_in_use = Self::current().is_some_and(|stack| stack.ss_sp == self.low());
        // SAFETY: the thread is ending, and no handler uses this stack from now on.
        unsafe {
            if is_in_use {
                let mut none: libc::stack_t = MaybeUninit::zeroed().assume_init();
                none.ss_flags = libc::SS_DISABLE;
                libc::sigaltstack(&none, ptr::null_mut());
            }
            libc::munmap(self.memory, Self::GUARD + Self::SIZE);
        }
    }
}

fn has_default_action(signal: libc::c_int) -> bool {
    action_of(signal) == Some(libc::SIG_DFL)
}

/// Whether this crate's handler is installed for a signal.
fn has_our_handler(signal: libc::c_int) -> bool {
    action_of(signal) == Some(on_signal as *const () as usize)
}

/// The handler of a signal, or SIG_DFL or SIG_IGN.
fn action_of(signal: libc::c_int) -> Option<libc::sighandler_t> {
    // SAFETY: reads the action without changing it.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        let result = libc::sigaction(signal, ptr::null(), &mut action);
        (result == 0).then_some(action.sa_sigaction)
    }
}

/// The stack of the calling thread.
///
/// # Errors
///
/// If the system does not know it.
pub fn current_stack_bounds() -> io::Result<StackBounds> {
    let check = |error: libc::c_int| match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error)),
    };
    let mut low = ptr::null_mut();
    let mut size = 0;
    // SAFETY: the attributes are initialised by the first call, read, and destroyed.
    unsafe {
        let mut attributes = MaybeUninit::uninit();
        check(libc::pthread_getattr_np(
            libc::pthread_self(),
            attributes.as_mut_ptr(),
        ))?;
        let result = check(libc::pthread_attr_getstack(
            attributes.as_ptr(),
            &mut low,
            &mut size,
        ));
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        result?;
    }
    let low = low as usize;
    Ok(StackBounds {
        low,
        high: low + size,
    })
}

/// Makes the calling thread run soon after it wakes. Its timed waits end on time instead of up to 50 µs later.
/// It asks for the shortest time slice (Linux 6.12 and later), and for the highest priority of ordinary
/// threads, which needs privileges. If the kernel refuses, samples are late on a busy machine, and those that
/// are a tick late are counted as missed.
pub fn wake_promptly() {
    const SHORTEST_SLICE: Duration = Duration::from_micros(100);
    const HIGHEST_PRIORITY: libc::c_int = -20;
    const THIS_THREAD: libc::c_int = 0;
    // SAFETY: a zeroed sched_attr is a valid one, for SCHED_OTHER. The calls change settings of this thread
    // only.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
        let mut attributes: libc::sched_attr = MaybeUninit::zeroed().assume_init();
        attributes.size = size_of_val(&attributes) as u32;
        attributes.sched_runtime = SHORTEST_SLICE.as_nanos() as u64;
        libc::syscall(
            libc::SYS_sched_setattr,
            THIS_THREAD,
            &raw const attributes,
            0,
        );
        libc::setpriority(libc::PRIO_PROCESS, THIS_THREAD as u32, HIGHEST_PRIORITY);
    }
}

/// Waits by a futex: <https://man7.org/linux/man-pages/man2/futex.2.html>.
pub struct Futex;

/// How many times the sampling thread polls the word before it goes to sleep. This takes some 20 µs. It polls
/// first until the other thread has stopped, and then until that thread is done.
const LOOKS: u32 = 400;

/// Whether another thread can run while this one polls.
fn has_several_processors() -> bool {
    static SEVERAL: OnceLock<bool> = OnceLock::new();
    *SEVERAL.get_or_init(|| thread::available_parallelism().is_ok_and(|number| number.get() > 1))
}

impl Waiting for Futex {
    fn look(&self, word: &AtomicU32, value: u32) {
        if !has_several_processors() {
            return;
        }
        for _ in 0..LOOKS {
            if word.load(Ordering::Relaxed) != value {
                return;
            }
            hint::spin_loop();
        }
    }

    fn wait(&self, word: &AtomicU32, value: u32, timeout: Duration) {
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: timeout.subsec_nanos().into(),
        };
        // SAFETY: the word and the timeout live until the call returns.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                value,
                &raw const timeout,
            )
        };
    }

    fn wake(&self, word: &AtomicU32) {
        // SAFETY: the word lives until the call returns.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                i32::MAX,
            )
        };
    }
}

#[cfg(test)]
pub mod tests {
    use std::fs;
    use std::panic;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Arc, mpsc};
    use std::thread;

    use super::*;

    /// Held by tests that begin event loops, because a process has only one registry.
    pub static EVENT_LOOPS: Mutex<()> = Mutex::new(());

    /// Held by tests that stop threads, because a test that replaces the signal's handler must be alone.
    pub static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    /// A thread that is busy until this is dropped.
    pub struct Counting {
        pub thread: Thread,
        count: Arc<AtomicU64>,
        end: Arc<AtomicBool>,
        handle: Option<thread::JoinHandle<()>>,
    }

    impl Counting {
        pub fn new() -> Self {
            let count = Arc::new(AtomicU64::new(0));
            let end = Arc::new(AtomicBool::new(false));
            let (sender, receiver) = mpsc::channel();
            let handle = thread::spawn({
                let (count, end) = (count.clone(), end.clone());
                move || {
                    sender.send(Thread::current().unwrap()).unwrap();
                    while !end.load(Ordering::Relaxed) {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            Self {
                thread: receiver.recv().unwrap(),
                count,
                end,
                handle: Some(handle),
            }
        }
    }

    impl Drop for Counting {
        fn drop(&mut self) {
            self.end.store(true, Ordering::Relaxed);
            self.handle.take().unwrap().join().unwrap();
        }
    }

    /// A thread that blocks all signals.
    pub struct Blocking {
        pub thread: Thread,
        unblock: mpsc::Sender<()>,
        handle: thread::JoinHandle<()>,
    }

    impl Blocking {
        pub fn new() -> Self {
            let (ready, when_ready) = mpsc::channel();
            let (unblock, when_unblocked) = mpsc::channel::<()>();
            let handle = thread::spawn(move || {
                let thread = Thread::current().unwrap();
                // SAFETY: blocks all signals in this thread, and then restores its mask.
                unsafe {
                    let mut all = MaybeUninit::uninit();
                    let mut before = MaybeUninit::uninit();
                    libc::sigfillset(all.as_mut_ptr());
                    libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
                    ready.send(thread).unwrap();
                    when_unblocked.recv().unwrap();
                    libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut());
                }
            });
            Self {
                thread: when_ready.recv().unwrap(),
                unblock,
                handle,
            }
        }

        /// Ends the thread, after it has handled the signals that came meanwhile.
        pub fn unblock(self) {
            self.unblock.send(()).unwrap();
            self.handle.join().unwrap();
        }
    }

    /// Stops threads, and fails when too many stops time out.
    #[derive(Default)]
    struct Stops {
        tried: u32,
        timed_out: u32,
    }

    impl Stops {
        /// One of this many stops may time out, and [`Self::FEW`] more in all.
        const TRIED_FOR_ONE: u32 = 100;
        const FEW: u32 = 2;

        /// Stops the thread. A stop may time out while the thread waits for a processor, within bounds.
        fn stop<T: Send>(&mut self, thread: &Thread, walk: impl Fn(&Stopped) -> T + Sync) -> T {
            const MOST_ATTEMPTS: u32 = 100;
            let waited_before = waited_for_processor(thread);
            for attempt in 0..MOST_ATTEMPTS {
                match thread.while_stopped(&walk) {
                    Ok(walked) => {
                        let waited = waited_for_processor(thread).saturating_sub(waited_before);
                        self.count(attempt, waited);
                        return walked;
                    },
                    Err(StopError::TimedOut) => {},
                    Err(error) => panic!("{error}"),
                }
            }
            panic!("it does not stop");
        }

        /// Counts a stop that succeeded after `timed_out` attempts had timed out. Meanwhile the thread waited
        /// for a processor for the time `waited`.
        fn count(&mut self, timed_out: u32, waited: Duration) {
            let starved = (waited + STOP_TIMEOUT / 2).as_nanos() / STOP_TIMEOUT.as_nanos();
            let starved = timed_out.min(u32::try_from(starved).unwrap_or(u32::MAX));
            if starved > 0 {
                println!("{starved} stops timed out while the thread waited for a processor");
            }
            self.tried += 1;
            self.timed_out += timed_out - starved;
            let most = self.tried / Self::TRIED_FOR_ONE + Self::FEW;
            assert!(
                self.timed_out <= most,
                "{} of {} stops timed out, and only {most} may",
                self.timed_out,
                self.tried
            );
        }
    }

    /// How long the thread has waited for a processor since it began. A wait that has not ended yet is not
    /// included.
    fn waited_for_processor(thread: &Thread) -> Duration {
        let path = format!("/proc/self/task/{}/schedstat", thread.tid);
        let text = fs::read_to_string(path).unwrap_or_default();
        let nanoseconds = text.split(' ').nth(1).and_then(|text| text.parse().ok());
        Duration::from_nanos(nanoseconds.unwrap_or(0))
    }

    #[test]
    fn few_stops_may_time_out() {
        let late = |stops: u32, timed_out, waited| {
            let count = || {
                let mut counted = Stops::default();
                (0..stops).for_each(|_| counted.count(0, Duration::ZERO));
                counted.count(timed_out, waited);
            };
            panic::catch_unwind(count).is_err()
        };
        assert!(!late(0, 2, Duration::ZERO));
        assert!(late(0, 3, Duration::ZERO));
        assert!(!late(1_000, 12, Duration::ZERO));
        assert!(late(1_000, 13, Duration::ZERO));
        assert!(!late(0, 99, 99 * STOP_TIMEOUT));
        assert!(late(0, 99, 96 * STOP_TIMEOUT));
    }

    #[test]
    fn a_stopped_thread_stands_still_and_runs_on() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stops = Stops::default();
        let counting = Counting::new();
        for _ in 0..2_000 {
            let before = counting.count.load(Ordering::Relaxed);
            let (first, last) = stops.stop(&counting.thread, |stopped| {
                assert!(stopped.is_on_stack());
                let first = counting.count.load(Ordering::Relaxed);
                for _ in 0..10_000 {
                    std::hint::spin_loop();
                }
                (first, counting.count.load(Ordering::Relaxed))
            });
            assert_eq!(first, last, "the thread ran while it was stopped");
            while counting.count.load(Ordering::Relaxed) == before {
                thread::yield_now();
            }
        }
    }

    /// 1 while [`handle_long`] runs. The handler ends when a test sets another value.
    static HANDLING: AtomicU64 = AtomicU64::new(0);

    extern "C" fn handle_long(_: libc::c_int) {
        HANDLING.store(1, Ordering::Relaxed);
        while HANDLING.load(Ordering::Relaxed) == 1 {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_handler_on_the_alternate_stack_is_looked_through() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stops = Stops::default();
        HANDLING.store(0, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || {
            let mut alternate = vec![0_u8; 64 * 1024];
            // SAFETY: the stack and the action outlive their use, which ends below.
            unsafe {
                let mut stack: libc::stack_t = MaybeUninit::zeroed().assume_init();
                stack.ss_sp = alternate.as_mut_ptr().cast();
                stack.ss_size = alternate.len();
                let mut before = MaybeUninit::uninit();
                assert_eq!(libc::sigaltstack(&stack, before.as_mut_ptr()), 0);
                let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
                action.sa_sigaction = handle_long as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK;
                assert_eq!(libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut()), 0);
                sender.send(Thread::current().unwrap()).unwrap();
                libc::raise(libc::SIGUSR2);
                assert_eq!(libc::sigaltstack(before.as_ptr(), ptr::null_mut()), 0);
            }
        });
        let thread = receiver.recv().unwrap();
        while HANDLING.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        for _ in 0..100 {
            stops.stop(&thread, |stopped| {
                assert!(stopped.is_on_stack(), "{stopped:?}");
            });
        }
        HANDLING.store(2, Ordering::Relaxed);
        handle.join().unwrap();
    }

    #[test]
    fn a_walk_that_interrupts_another_handler_has_room_on_the_alternate_stack() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stops = Stops::default();
        HANDLING.store(0, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn(move || {
            let thread = Thread::current().unwrap();
            // SAFETY: a zeroed action is a valid one.
            unsafe {
                let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
                action.sa_sigaction = handle_long as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK;
                assert_eq!(libc::sigaction(libc::SIGUSR2, &action, ptr::null_mut()), 0);
                sender.send(thread).unwrap();
                libc::raise(libc::SIGUSR2);
            }
        });
        let thread = receiver.recv().unwrap();
        while HANDLING.load(Ordering::Relaxed) == 0 {
            thread::yield_now();
        }
        // On the stack that Rust gives a thread this would end the process.
        stops.stop(&thread, |_| {
            let mut room = [0_u8; 32 * 1024];
            std::hint::black_box(&mut room);
        });
        HANDLING.store(2, Ordering::Relaxed);
        handle.join().unwrap();
    }

    #[test]
    fn the_interrupted_codes_errno_survives() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stops = Stops::default();
        let end = Arc::new(AtomicBool::new(false));
        let (sender, receiver) = mpsc::channel();
        let handle = thread::spawn({
            let end = end.clone();
            move || {
                sender.send(Thread::current().unwrap()).unwrap();
                // SAFETY: errno is this thread's.
                unsafe { *libc::__errno_location() = libc::EXDEV };
                while !end.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                // SAFETY: as above.
                unsafe { *libc::__errno_location() }
            }
        });
        let thread = receiver.recv().unwrap();
        for _ in 0..100 {
            // This runs in the handler, where a walk may make calls that fail.
            // SAFETY: errno is the stopped thread's, whose handler restores it.
            stops.stop(&thread, |_| unsafe {
                *libc::__errno_location() = libc::EDOM;
            });
        }
        end.store(true, Ordering::Relaxed);
        assert_eq!(handle.join().unwrap(), libc::EXDEV);
    }

    #[test]
    fn a_thread_that_blocks_the_signal_is_given_up_and_a_late_handler_does_no_harm() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stops = Stops::default();
        let blocked = Blocking::new();
        assert!(matches!(
            blocked.thread.while_stopped(|_| ()),
            Err(StopError::TimedOut)
        ));
        blocked.unblock();

        let counting = Counting::new();
        stops.stop(&counting.thread, |_| ());
    }

    #[test]
    fn a_thread_runs_on_when_the_walk_panics() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stops = Stops::default();
        let counting = Counting::new();
        let walk = || stops.stop(&counting.thread, |_| panic!("on purpose"));
        assert!(panic::catch_unwind(panic::AssertUnwindSafe(walk)).is_err());
        let before = counting.count.load(Ordering::Relaxed);
        while counting.count.load(Ordering::Relaxed) == before {
            thread::yield_now();
        }
        stops.stop(&counting.thread, |_| ());
    }

    #[test]
    fn a_signal_that_somebody_else_handles_is_not_sent() {
        // No event loop may be sampled meanwhile.
        let _none = EVENT_LOOPS.lock().unwrap_or_else(PoisonError::into_inner);
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stops = Stops::default();
        let counting = Counting::new();
        stops.stop(&counting.thread, |_| ());
        // With the default action the signal would end this process.
        for other in [libc::SIG_DFL, libc::SIG_IGN] {
            let signal = signal().unwrap();
            // SAFETY: a zeroed sigaction is a valid one; the handler is put back below.
            let ours = unsafe {
                let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
                action.sa_sigaction = other;
                let mut ours = MaybeUninit::zeroed();
                let result = libc::sigaction(signal, &action, ours.as_mut_ptr());
                assert_eq!(result, 0);
                ours.assume_init()
            };
            let stopped = counting.thread.while_stopped(|_| ());
            assert!(
                matches!(stopped, Err(StopError::HandlerReplaced)),
                "{stopped:?}"
            );
            let error = Thread::prepare().unwrap_err().to_string();
            assert!(error.contains("handled by somebody else"), "{error}");
            // SAFETY: the action is the one from before.
            unsafe { libc::sigaction(signal, &ours, ptr::null_mut()) };
            stops.stop(&counting.thread, |_| ());
        }
    }

    #[test]
    fn a_thread_that_has_ended_is_an_error() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = thread::spawn(|| Thread::current().unwrap()).join().unwrap();
        // The kernel may still be removing the thread. Then the thread exists, and never stops.
        assert!(thread.while_stopped(|_| ()).is_err());
    }
}
