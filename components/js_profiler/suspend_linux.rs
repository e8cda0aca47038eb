/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Stopping a thread by a signal, on Linux.
//!
//! ```text
//!   sampling thread                        stopped thread
//!   ───────────────                        ──────────────
//!   word = REQUESTED (new ticket)
//!   tgkill ──────────────────────────────► signal handler
//!   wait                                   word: REQUESTED → PUBLISHING
//!                                          write the registers
//!                          ◄────────────── word = STOPPED, wake
//! ┌ critical section: no allocation,       wait while word is STOPPED
//! │ no lock the other may hold             :
//! └ word = IDLE, wake ───────────────────► return from the handler, run on
//! ```
//!
//! The word carries a ticket, so that a handler that comes too late finds another value and returns,
//! and so that the next request needs no answer to the last one's IDLE. Only the sampling thread
//! makes requests, one at a time.

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const IDLE: u32 = 0;
const REQUESTED: u32 = 1;
const PUBLISHING: u32 = 2;
const STOPPED: u32 = 3;
const PHASE_MASK: u32 = 3;
const TICKET: u32 = PHASE_MASK + 1;

/// Ticket and phase: see the module's documentation.
static WORD: AtomicU32 = AtomicU32::new(IDLE);
/// Whom the request is for.
static TARGET: AtomicI32 = AtomicI32::new(0);
static PC: AtomicUsize = AtomicUsize::new(0);
static SP: AtomicUsize = AtomicUsize::new(0);
static FP: AtomicUsize = AtomicUsize::new(0);

/// A thread that does not stop within this time has missed its sample. It may be starved of its
/// processor, or be in the kernel where no signal reaches it.
const STOP_TIMEOUT: Duration = Duration::from_millis(50);

/// The registers of a stopped thread, and the bounds of its stack. Also a structure of the C++ glue.
///
/// Made here alone, and neither `Clone` nor `Copy`: who has a reference to one knows that the thread
/// stands still.
#[repr(C)]
#[derive(Debug)]
pub struct Stopped {
    pub pc: usize,
    pub sp: usize,
    pub fp: usize,
    pub stack: StackBounds,
}

/// The addresses of a thread's stack: `low..high`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct StackBounds {
    pub low: usize,
    pub high: usize,
}

/// What the signal handler publishes.
struct Registers {
    pc: usize,
    sp: usize,
    fp: usize,
}

/// A thread that can be stopped. It must not end before the last call of [`Thread::while_stopped`].
#[derive(Clone, Copy, Debug)]
pub struct Thread {
    tid: libc::pid_t,
    stack: StackBounds,
}

/// Why a thread could not be stopped.
#[derive(Debug)]
pub enum StopError {
    /// It did not stop in time.
    TimedOut,
    /// It could not be signalled.
    Signal(io::Error),
}

impl Thread {
    /// The calling thread, which lets itself be stopped from now on. Nothing is installed for it yet.
    pub fn current() -> io::Result<Self> {
        let signal = signal()?;
        // SAFETY: the set is initialised by sigemptyset before it is used.
        unsafe {
            let mut set = MaybeUninit::uninit();
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
        }
        Ok(Self {
            tid: current_tid(),
            stack: current_stack_bounds()?,
        })
    }

    /// Makes the process ready for threads to be stopped.
    pub fn prepare() -> io::Result<()> {
        install_handler().map(|_| ())
    }

    /// Stops the thread, calls `walk` with the state it was stopped in, and lets it run on.
    ///
    /// `walk` must not allocate, nor take a lock that the thread may hold. Only one thread of the
    /// process may call this.
    pub fn while_stopped<T>(&self, walk: impl FnOnce(&Stopped) -> T) -> Result<T, StopError> {
        let signal = install_handler().map_err(StopError::Signal)?;
        let idle = (WORD.load(Ordering::Relaxed) & !PHASE_MASK).wrapping_add(TICKET) | IDLE;
        let requested = idle | REQUESTED;
        let stopped = idle | STOPPED;
        TARGET.store(self.tid, Ordering::Relaxed);
        WORD.store(requested, Ordering::Release);
        // SAFETY: a signal whose handler is installed, to a thread of this process.
        if unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), self.tid, signal) } != 0 {
            let error = io::Error::last_os_error();
            WORD.store(idle, Ordering::Release);
            return Err(StopError::Signal(error));
        }

        let deadline = Instant::now() + STOP_TIMEOUT;
        loop {
            let word = WORD.load(Ordering::Acquire);
            if word == stopped {
                break;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Once the handler has begun it is about to stop, and must be waited for.
                if WORD
                    .compare_exchange(requested, idle, Ordering::AcqRel, Ordering::Acquire)
                    .is_ok()
                {
                    return Err(StopError::TimedOut);
                }
                futex_wait(word, Some(STOP_TIMEOUT));
            } else {
                futex_wait(word, Some(left));
            }
        }

        // Begin of the critical section: the thread stands still.
        let result = walk(&Stopped {
            pc: PC.load(Ordering::Relaxed),
            sp: SP.load(Ordering::Relaxed),
            fp: FP.load(Ordering::Relaxed),
            stack: self.stack,
        });
        WORD.store(idle, Ordering::Release);
        // End of the critical section: the thread may run.
        futex_wake();
        Ok(result)
    }
}

extern "C" fn on_signal(
    _signal: libc::c_int,
    _info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: errno is the interrupted code's, and is put back below.
    let errno = unsafe { *libc::__errno_location() };
    stand_still(context);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

/// Publishes the registers and waits. Everything in here is safe in a signal handler.
fn stand_still(context: *mut libc::c_void) {
    let requested = WORD.load(Ordering::Acquire);
    if requested & PHASE_MASK != REQUESTED || TARGET.load(Ordering::Relaxed) != current_tid() {
        return;
    }
    let publishing = requested & !PHASE_MASK | PUBLISHING;
    if WORD
        .compare_exchange(requested, publishing, Ordering::AcqRel, Ordering::Relaxed)
        .is_err()
    {
        return;
    }
    // SAFETY: the kernel gives a handler installed with SA_SIGINFO the context it interrupted.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    // SAFETY: it is the context of the signal that is being handled.
    let registers = registers_of(unsafe { before_other_handler(context) }.unwrap_or(context));
    PC.store(registers.pc, Ordering::Relaxed);
    SP.store(registers.sp, Ordering::Relaxed);
    FP.store(registers.fp, Ordering::Relaxed);
    let stopped = requested & !PHASE_MASK | STOPPED;
    WORD.store(stopped, Ordering::Release);
    futex_wake();
    // A wait that EINTR ended, or a wake that was another's, finds the word unchanged and waits on.
    while WORD.load(Ordering::Acquire) == stopped {
        futex_wait(stopped, None);
    }
}

/// If what was interrupted is the handler of another signal, on the alternate stack (the engine
/// handles WebAssembly's traps there): what that one interrupted.
///
/// # Safety
///
/// `context` must be what the kernel gave to the handler that is running.
#[cfg(target_arch = "x86_64")]
unsafe fn before_other_handler(context: &libc::ucontext_t) -> Option<&libc::ucontext_t> {
    let word = size_of::<usize>();
    let sp =
        |context: &libc::ucontext_t| context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize;
    let alternate =
        context.uc_stack.ss_sp as usize..context.uc_stack.ss_sp as usize + context.uc_stack.ss_size;
    if !alternate.contains(&sp(context)) {
        return None;
    }
    // Before each context the kernel puts the address where the handler returns to, which is the C
    // library's, the same for all.
    // SAFETY: see above.
    let restorer = unsafe { ptr::from_ref(context).cast::<usize>().sub(1).read() };
    let last = alternate
        .end
        .checked_sub(word + size_of::<libc::ucontext_t>())?;
    let first = sp(context).next_multiple_of(word);
    (first..=last).step_by(word).find_map(|address| {
        // SAFETY: it is on the alternate stack, which this thread is using.
        let found = unsafe { (address as *const usize).read() == restorer };
        // SAFETY: as above; any bytes are a context.
        let outer = found.then(|| unsafe { &*((address + word) as *const libc::ucontext_t) })?;
        (!alternate.contains(&sp(outer))).then_some(outer)
    })
}

/// Elsewhere such a sample has no stack.
#[cfg(not(target_arch = "x86_64"))]
unsafe fn before_other_handler(_: &libc::ucontext_t) -> Option<&libc::ucontext_t> {
    None
}

#[cfg(target_arch = "x86_64")]
fn registers_of(context: &libc::ucontext_t) -> Registers {
    let registers = &context.uc_mcontext.gregs;
    Registers {
        pc: registers[libc::REG_RIP as usize] as usize,
        sp: registers[libc::REG_RSP as usize] as usize,
        fp: registers[libc::REG_RBP as usize] as usize,
    }
}

#[cfg(target_arch = "aarch64")]
fn registers_of(context: &libc::ucontext_t) -> Registers {
    const FRAME_POINTER: usize = 29;
    Registers {
        pc: context.uc_mcontext.pc as usize,
        sp: context.uc_mcontext.sp as usize,
        fp: context.uc_mcontext.regs[FRAME_POINTER] as usize,
    }
}

/// A real-time signal that nobody uses, the same for all threads. SIGPROF is left alone: other samplers
/// install it.
fn signal() -> io::Result<libc::c_int> {
    static SIGNAL: OnceLock<Option<libc::c_int>> = OnceLock::new();
    SIGNAL
        .get_or_init(|| {
            (libc::SIGRTMIN()..=libc::SIGRTMAX())
                .rev()
                .find(|&signal| has_default_action(signal))
        })
        .ok_or_else(|| io::Error::from_raw_os_error(libc::EBUSY))
}

/// Installs the handler, once in a process.
fn install_handler() -> io::Result<libc::c_int> {
    static INSTALLED: OnceLock<Result<libc::c_int, i32>> = OnceLock::new();
    let raw = |error: io::Error| error.raw_os_error().unwrap_or(libc::EINVAL);
    INSTALLED
        .get_or_init(|| {
            let signal = signal().map_err(raw)?;
            // Somebody may have come to use it since.
            if !has_default_action(signal) {
                return Err(libc::EBUSY);
            }
            // SAFETY: a zeroed sigaction is a valid one, and the handler is safe in a signal.
            let result = unsafe {
                let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
                action.sa_sigaction = on_signal as *const () as usize;
                action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
                // Another handler that ran inside ours would be walked as if it were the script's.
                libc::sigfillset(&mut action.sa_mask);
                libc::sigaction(signal, &action, ptr::null_mut())
            };
            match result {
                0 => Ok(signal),
                _ => Err(raw(io::Error::last_os_error())),
            }
        })
        .map_err(io::Error::from_raw_os_error)
}

fn has_default_action(signal: libc::c_int) -> bool {
    // SAFETY: asks for the action without changing it.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        libc::sigaction(signal, ptr::null(), &mut action) == 0
            && action.sa_sigaction == libc::SIG_DFL
    }
}

fn current_tid() -> libc::pid_t {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

fn current_stack_bounds() -> io::Result<StackBounds> {
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

/// Makes the calling thread run soon after it wakes: its timed waits end when they should instead of
/// up to 50 µs later, it asks for the shortest slice of processor time (Linux 6.12 and later) and for
/// the highest priority among ordinary threads, which takes privileges. Where the kernel refuses,
/// samples are late on a busy machine, and those that are a tick late are counted as missed.
pub fn wake_promptly() {
    const SHORTEST_SLICE: Duration = Duration::from_micros(100);
    const HIGHEST_PRIORITY: libc::c_int = -20;
    const THIS_THREAD: libc::c_int = 0;
    // SAFETY: a zeroed sched_attr is one of SCHED_OTHER; the calls set numbers of this thread alone.
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

/// Waits until WORD is not `value` any more, for `timeout` at most. May return early.
fn futex_wait(value: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs() as libc::time_t,
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: WORD is static, and the timeout is null or lives until the call returns.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            WORD.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            value,
            timeout,
        )
    };
}

fn futex_wake() {
    // SAFETY: WORD is static.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            WORD.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        )
    };
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64};
    use std::sync::{Arc, Mutex, PoisonError, mpsc};
    use std::thread;

    use super::*;

    /// Only one thread of a process may stop others.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

    struct Counting {
        thread: Thread,
        count: Arc<AtomicU64>,
        end: Arc<AtomicBool>,
        handle: Option<thread::JoinHandle<()>>,
    }

    impl Counting {
        fn new() -> Self {
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

    #[test]
    fn a_stopped_thread_stands_still_and_runs_on() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let counting = Counting::new();
        for _ in 0..2_000 {
            let before = counting.count.load(Ordering::Relaxed);
            let (first, last) = counting
                .thread
                .while_stopped(|stopped| {
                    assert!(
                        (counting.thread.stack.low..counting.thread.stack.high)
                            .contains(&stopped.sp)
                    );
                    let first = counting.count.load(Ordering::Relaxed);
                    for _ in 0..10_000 {
                        std::hint::spin_loop();
                    }
                    (first, counting.count.load(Ordering::Relaxed))
                })
                .unwrap();
            assert_eq!(first, last, "the thread ran while it was stopped");
            while counting.count.load(Ordering::Relaxed) == before {
                thread::yield_now();
            }
        }
    }

    /// Until it is told to end, and says when it has begun.
    static HANDLING: AtomicU64 = AtomicU64::new(0);

    extern "C" fn handle_long(_: libc::c_int) {
        HANDLING.store(1, Ordering::Relaxed);
        while HANDLING.load(Ordering::Relaxed) == 1 {
            std::hint::spin_loop();
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn a_handler_on_the_alternate_stack_is_looked_through() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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
            thread
                .while_stopped(|stopped| {
                    let bounds = thread.stack.low..thread.stack.high;
                    assert!(bounds.contains(&stopped.sp), "{stopped:?}");
                })
                .unwrap();
        }
        HANDLING.store(2, Ordering::Relaxed);
        handle.join().unwrap();
    }

    #[test]
    fn the_interrupted_codes_errno_survives() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
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
            thread.while_stopped(|_| ()).unwrap();
        }
        end.store(true, Ordering::Relaxed);
        assert_eq!(handle.join().unwrap(), libc::EXDEV);
    }

    #[test]
    fn a_thread_that_blocks_the_signal_is_given_up_and_a_late_handler_does_no_harm() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (ready, when_ready) = mpsc::channel();
        let (unblock, when_unblocked) = mpsc::channel::<()>();
        let handle = thread::spawn(move || {
            let thread = Thread::current().unwrap();
            // SAFETY: blocks all signals in this thread, and none again.
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
        let blocked = when_ready.recv().unwrap();
        assert!(matches!(
            blocked.while_stopped(|_| ()),
            Err(StopError::TimedOut)
        ));
        unblock.send(()).unwrap();
        handle.join().unwrap();

        let counting = Counting::new();
        counting.thread.while_stopped(|_| ()).unwrap();
    }

    #[test]
    fn a_thread_that_has_ended_is_an_error() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let thread = thread::spawn(|| Thread::current().unwrap()).join().unwrap();
        // The kernel may still be taking it down: then it is there, and never stops.
        assert!(thread.while_stopped(|_| ()).is_err());
    }
}
