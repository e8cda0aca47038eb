/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A thread that interrupts the thread that has made it, as the sampler does, and with less.

use std::mem::MaybeUninit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use std::{io, ptr};

// Same as in components/js_profiler/sampled_thread/timed.rs: so many samples at once, or those of the horizon, if they are
// fewer.
const MAX_TIMED_WALKS: usize = 4;
const HORIZON: Duration = Duration::from_millis(25);

extern "C" fn handle(_: libc::c_int) {}

fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 1
}

/// What interrupts the thread. Each duration is the time from one to the next.
#[derive(Clone, Copy)]
pub enum State {
    Off,
    Signals(Duration),
    /// Interrupts of the processor, for which the kernel runs a memory barrier. There is no signal.
    Barriers(Duration),
}

/// The other thread. It lives as long as this, like that of the sampler.
pub struct Interrupts {
    states: Sender<State>,
    ended: Receiver<()>,
    /// Whether the state that was sent last is to end.
    ends: Arc<AtomicBool>,
    thread: Thread,
}

impl Interrupts {
    /// Installs the handler for the process, and starts the thread.
    pub fn new() -> Self {
        // SAFETY: the handler does nothing.
        unsafe {
            let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
            action.sa_sigaction = handle as *const () as usize;
            action.sa_flags = libc::SA_RESTART;
            assert_eq!(libc::sigaction(signal(), &action, ptr::null_mut()), 0);
        }
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
        // SAFETY: the call only returns a number.
        let busy = unsafe { libc::gettid() };
        let ends = Arc::new(AtomicBool::new(false));
        let until = ends.clone();
        let (states, wanted) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        let handle = thread::spawn(move || {
            // SAFETY: the call only changes how promptly this thread wakes.
            unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
            for state in wanted {
                match state {
                    State::Off => {},
                    State::Signals(interval) => set_timers(busy, interval, &until),
                    State::Barriers(interval) => run_barriers(interval, &until),
                }
                // If nobody waits for this, no other state is wanted.
                let _ = end.send(());
            }
        });
        Self {
            states,
            ended,
            ends,
            thread: handle.thread().clone(),
        }
    }

    /// Calls `run` in a state.
    pub fn within<T>(&self, state: State, run: impl FnOnce() -> T) -> T {
        self.ends.store(false, Ordering::Relaxed);
        self.states.send(state).expect("the thread waits for it");
        let result = run();
        self.ends.store(true, Ordering::Relaxed);
        self.thread.unpark();
        self.ended.recv().expect("the thread ends the state");
        result
    }
}

/// Waits until a time; false if the state ends before.
fn wait(until: Instant, ends: &AtomicBool) -> bool {
    while !ends.load(Ordering::Relaxed) {
        match until.saturating_duration_since(Instant::now()) {
            Duration::ZERO => return true,
            left => thread::park_timeout(left),
        }
    }
    false
}

fn set_timers(busy: libc::pid_t, interval: Duration, ends: &AtomicBool) {
    let at_once = MAX_TIMED_WALKS.min(HORIZON.div_duration_f64(interval) as usize);
    let timers: Vec<libc::timer_t> = (0..at_once).map(|_| make_timer(busy)).collect();
    let mut due = Instant::now();
    loop {
        for &timer in &timers {
            due += interval;
            set_timer(timer, due.saturating_duration_since(Instant::now()));
        }
        // The sampler collects the walks half an interval after the last one.
        if !wait(due + interval / 2, ends) {
            break;
        }
    }
    for timer in timers {
        // SAFETY: the timer is not used again.
        unsafe { libc::timer_delete(timer) };
    }
}

fn run_barriers(interval: Duration, ends: &AtomicBool) {
    let mut due = Instant::now();
    while wait(due, ends) {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        due += interval;
    }
}

/// <https://man7.org/linux/man-pages/man2/membarrier.2.html>
fn membarrier(command: libc::c_int) {
    // SAFETY: the call changes no memory.
    let result = unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) };
    assert_eq!(result, 0, "{}", io::Error::last_os_error());
}

fn make_timer(busy: libc::pid_t) -> libc::timer_t {
    let mut timer = MaybeUninit::uninit();
    // SAFETY: a zeroed sigevent is a valid one; the timer is written if the call succeeds.
    unsafe {
        let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_notify_thread_id = busy;
        event.sigev_signo = signal();
        let made = libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, timer.as_mut_ptr());
        assert_eq!(made, 0, "{}", io::Error::last_os_error());
        timer.assume_init()
    }
}

fn set_timer(timer: libc::timer_t, after: Duration) {
    // Zero would stop the timer.
    let after = after.max(Duration::from_nanos(1));
    // SAFETY: a zeroed itimerspec is a valid one; the timer exists.
    unsafe {
        let mut time: libc::itimerspec = MaybeUninit::zeroed().assume_init();
        time.it_value.tv_nsec = after.as_nanos() as libc::c_long;
        assert_eq!(libc::timer_settime(timer, 0, &time, ptr::null_mut()), 0);
    }
}
