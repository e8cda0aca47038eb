/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The handshake by which the sampling thread makes another thread stop and run something.
//!
//! ```text
//!   sampling thread                        stopped thread
//!   ───────────────                        ──────────────
//!   task = what to run
//!   word = REQUESTED (new ticket)
//!   send the signal ─────────────────────► signal handler
//!   poll for a while, then                 word: REQUESTED → RUNNING
//!   word |= WAITING, wait                ┌ critical section: no allocation,
//!   :                                    └ no lock this thread may hold
//!                          ◄────────────── word = DONE; wake, if it was WAITING
//!   take the result                        return from the handler, run on
//! ```
//!
//! A request can also be a standing one. Then the handler runs the task at every signal, whoever sends it, and
//! sets the word to REQUESTED again. To take a standing request back, the sampling thread sets the word to
//! IDLE. If the handler is running the task at that moment, the sampling thread first waits until the word is
//! REQUESTED again.
//!
//! The word contains a ticket, so that a handler that runs too late finds another value and returns. Only the
//! sampling thread makes requests, and it makes one request of a handshake at a time.
//!
//! This file says what both threads read and write, and in which order. How a signal is sent, and how a thread
//! waits, depends on the operating system: see `linux.rs`. `tests/models` tests this file with every order in
//! which the threads can run, and with every value that they can see.

use std::ffi::c_void;
use std::ptr;
#[cfg(not(loom))]
use std::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};
use std::time::Duration;

#[cfg(loom)]
use loom::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, Ordering};

const IDLE: u32 = 0;
const REQUESTED: u32 = 1;
const RUNNING: u32 = 2;
const DONE: u32 = 3;
const PHASE_MASK: u32 = 3;
/// The sampling thread waits and must be woken. Waking it costs the stopped thread more time than a walk.
const WAITING: u32 = 4;
const TICKET: u32 = 8;
const TICKET_MASK: u32 = !(TICKET - 1);

/// The state that the sampling thread shares with the thread that it stops.
pub struct Handshake {
    /// Ticket, phase and the bit WAITING: see the module's documentation.
    word: AtomicU32,
    /// The id of the thread that the request is for.
    target: AtomicI32,
    /// What the thread is to run. The handshake does not know what the pointer leads to. Only the code that makes
    /// requests and the code that answers them know it.
    task: AtomicPtr<c_void>,
}

/// How a thread waits for another.
pub trait Waiting {
    /// Polls the word for a short while. Returns once the word differs from `value`. By default it does not poll.
    fn look(&self, _word: &AtomicU32, _value: u32) {}

    /// Waits until the word differs from `value`, for at most `timeout`. May return early.
    fn wait(&self, word: &AtomicU32, value: u32, timeout: Duration);

    /// Wakes the threads that wait for the word.
    fn wake(&self, word: &AtomicU32);
}

/// Why the task was not run. The other thread does not use the task any more.
#[derive(Debug)]
pub enum NotDone<E> {
    /// The thread did not begin the task in time.
    TimedOut,
    /// The signal could not be sent.
    NotSent(E),
}

macro_rules! idle {
    () => {
        Self {
            word: AtomicU32::new(IDLE),
            target: AtomicI32::new(0),
            task: AtomicPtr::new(ptr::null_mut()),
        }
    };
}

impl Handshake {
    /// A handshake without a request.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        idle!()
    }

    /// A handshake without a request. Not `const`, because loom's atomics cannot be made in a constant.
    #[cfg(loom)]
    pub fn new() -> Self {
        idle!()
    }

    /// The sampling thread's side: makes the thread with this id run the task, and returns when it has done so.
    ///
    /// `send` sends the signal. `left` says how much time the thread still has to begin. When no time is left,
    /// the request is withdrawn, unless the thread has begun. A thread that has begun is waited for, `timeout`
    /// at a time.
    pub fn request<E>(
        &self,
        thread: i32,
        task: *mut c_void,
        waiting: &impl Waiting,
        send: impl FnOnce() -> Result<(), E>,
        timeout: Duration,
        left: impl Fn() -> Duration,
    ) -> Result<(), NotDone<E>> {
        let ticket = self.post(thread, task);
        if let Err(error) = send() {
            self.word.store(ticket | IDLE, Ordering::Release);
            return Err(NotDone::NotSent(error));
        }
        waiting.look(&self.word, ticket | REQUESTED);
        waiting.look(&self.word, ticket | RUNNING);
        match self.settle(ticket, waiting, timeout, left) {
            true => Ok(()),
            false => Err(NotDone::TimedOut),
        }
    }

    /// The sampling thread's side: makes the thread with this id run the task at every signal, until
    /// [`Handshake::take_back`] is called.
    pub fn stand(&self, thread: i32, task: *mut c_void) {
        self.post(thread, task);
    }

    /// The sampling thread's side: ends the request that [`Handshake::stand`] has made. When this returns, the
    /// task is not in use.
    pub fn take_back(&self, waiting: &impl Waiting, timeout: Duration) {
        let ticket = self.word.load(Ordering::Relaxed) & TICKET_MASK;
        waiting.look(&self.word, ticket | RUNNING);
        self.settle(ticket, waiting, timeout, || Duration::ZERO);
    }

    /// Makes a request, and returns its ticket.
    fn post(&self, thread: i32, task: *mut c_void) -> u32 {
        let ticket = (self.word.load(Ordering::Relaxed) & TICKET_MASK).wrapping_add(TICKET);
        self.target.store(thread, Ordering::Relaxed);
        self.task.store(task, Ordering::Relaxed);
        self.word.store(ticket | REQUESTED, Ordering::Release);
        ticket
    }

    /// Waits until the task is done. Withdraws the request when no time is left and the handler is not running
    /// the task. Returns whether the task is done. For a standing request that is always false.
    fn settle(
        &self,
        ticket: u32,
        waiting: &impl Waiting,
        timeout: Duration,
        left: impl Fn() -> Duration,
    ) -> bool {
        let [idle, done] = [IDLE, DONE].map(|phase| ticket | phase);
        loop {
            let word = self.word.load(Ordering::Acquire);
            if word == done {
                return true;
            }
            let left = left();
            let next = match left.is_zero() && word & PHASE_MASK == REQUESTED {
                true => idle,
                // A handler that has begun uses the task, so it must be waited for.
                false => word | WAITING,
            };
            let changed =
                self.word
                    .compare_exchange(word, next, Ordering::AcqRel, Ordering::Acquire);
            match changed {
                Ok(_) if next == idle => return false,
                Ok(_) => {
                    let bound = if left.is_zero() { timeout } else { left };
                    waiting.wait(&self.word, next, bound);
                },
                Err(_) => {},
            }
        }
    }

    /// The signal handler's side, called on the thread with this id: runs the task that is requested of this
    /// thread, if any. This function is safe in a signal handler if `run` and `waiting` are.
    pub fn answer(&self, thread: i32, waiting: &impl Waiting, run: impl FnOnce(*mut c_void)) {
        self.answer_until(DONE, thread, waiting, run);
    }

    /// Like [`Handshake::answer`], for a standing request.
    pub fn answer_standing(
        &self,
        thread: i32,
        waiting: &impl Waiting,
        run: impl FnOnce(*mut c_void),
    ) {
        self.answer_until(REQUESTED, thread, waiting, run);
    }

    /// `after` is the phase to set when the task is done.
    fn answer_until(
        &self,
        after: u32,
        thread: i32,
        waiting: &impl Waiting,
        run: impl FnOnce(*mut c_void),
    ) {
        let mut requested = self.word.load(Ordering::Acquire);
        if requested & PHASE_MASK != REQUESTED || self.target.load(Ordering::Relaxed) != thread {
            return;
        }
        let ticket = requested & TICKET_MASK;
        // The sampling thread may set WAITING meanwhile.
        while let Err(now) = self.word.compare_exchange(
            requested,
            requested & !PHASE_MASK | RUNNING,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            if now & !WAITING != ticket | REQUESTED {
                return;
            }
            requested = now;
        }
        run(self.task.load(Ordering::Relaxed));
        let before = self.word.swap(ticket | after, Ordering::AcqRel);
        if before & WAITING != 0 {
            waiting.wake(&self.word);
        }
    }
}
