/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The handshake by which the sampling thread has another thread stop and run something.
//!
//! ```text
//!   sampling thread                        stopped thread
//!   ───────────────                        ──────────────
//!   work = what to run
//!   word = REQUESTED (new ticket)
//!   send the signal ─────────────────────► signal handler
//!   look for a while, then                 word: REQUESTED → RUNNING
//!   word |= WAITING, wait                ┌ critical section: no allocation,
//!   :                                    └ no lock this thread may hold
//!                          ◄────────────── word = DONE; wake, if it was WAITING
//!   take the result                        return from the handler, run on
//! ```
//!
//! A request may also stand: the handler does the work at every signal, whoever sends it, and leaves the
//! word as REQUESTED again, until the sampling thread takes the request back, which sets the word to IDLE or,
//! while the handler is at work, waits for REQUESTED first.
//!
//! The word carries a ticket, so that a handler that comes too late finds another value and returns.
//! Only the sampling thread makes requests of a handshake, one at a time.
//!
//! Here is what both threads read and write, and in which order; how a signal is sent and how a thread
//! waits is the operating system's, see `linux.rs`. `tests/models` tries this file with every
//! order in which the threads can run, and every value that they can see.

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
/// The sampling thread is to be woken. To wake a thread that waits takes the stopped one longer than a walk.
const WAITING: u32 = 4;
const TICKET: u32 = 8;
const TICKET_MASK: u32 = !(TICKET - 1);

/// What the sampling thread and the thread that it stops have in common.
pub struct Handshake {
    /// Ticket, phase and whether somebody waits: see the module's documentation.
    word: AtomicU32,
    /// Whom the request is for.
    target: AtomicI32,
    work: AtomicPtr<c_void>,
}

/// What the handler does, which only those who make requests and answer them understand.
pub struct Work(pub *mut c_void);

/// How a thread waits for another.
pub trait Waiting {
    /// Looks for a short while whether the word is not `value` any more, if that is worth it.
    fn look(&self, _word: &AtomicU32, _value: u32) {}

    /// Waits until the word is not `value` any more, for `timeout` at most. May return early.
    fn wait(&self, word: &AtomicU32, value: u32, timeout: Duration);

    /// Ends the waits of others.
    fn wake(&self, word: &AtomicU32);
}

/// Why the work was not done. Nobody looks at it any more.
#[derive(Debug)]
pub enum NotDone<E> {
    /// The thread did not begin in time.
    TimedOut,
    /// The signal could not be sent.
    NotSent(E),
}

macro_rules! idle {
    () => {
        Self {
            word: AtomicU32::new(IDLE),
            target: AtomicI32::new(0),
            work: AtomicPtr::new(ptr::null_mut()),
        }
    };
}

impl Handshake {
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        idle!()
    }

    /// The atomics of loom are not made by constants.
    #[cfg(loom)]
    pub fn new() -> Self {
        idle!()
    }

    /// The sampling thread's side: has the thread that has this id do the work, and returns when it is done.
    /// `send` sends it the signal; it has `timeout` to begin.
    pub fn request<E>(
        &self,
        thread: i32,
        work: Work,
        waiting: &impl Waiting,
        send: impl FnOnce() -> Result<(), E>,
        timeout: Duration,
        left: impl Fn() -> Duration,
    ) -> Result<(), NotDone<E>> {
        let ticket = self.post(thread, work);
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

    /// The sampling thread's side: has the thread that has this id do the work at every signal, until
    /// [`Handshake::take_back`].
    pub fn stand(&self, thread: i32, work: Work) {
        self.post(thread, work);
    }

    /// The sampling thread's side: ends what began with [`Handshake::stand`]. When this returns the work is not
    /// in use.
    pub fn take_back(&self, waiting: &impl Waiting, timeout: Duration) {
        let ticket = self.word.load(Ordering::Relaxed) & TICKET_MASK;
        waiting.look(&self.word, ticket | RUNNING);
        self.settle(ticket, waiting, timeout, || Duration::ZERO);
    }

    /// Returns the new request's ticket.
    fn post(&self, thread: i32, work: Work) -> u32 {
        let ticket = (self.word.load(Ordering::Relaxed) & TICKET_MASK).wrapping_add(TICKET);
        self.target.store(thread, Ordering::Relaxed);
        self.work.store(work.0, Ordering::Relaxed);
        self.word.store(ticket | REQUESTED, Ordering::Release);
        ticket
    }

    /// Waits until the work is done, or withdraws the request once no time is left and the handler is not at
    /// work. Whether it is done; it is never while a request stands.
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
                // Once the handler has begun it uses the work, and must be waited for.
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

    /// The signal handler's side, on the thread that has this id: runs what is requested of it, if anything.
    /// Everything in here is safe in a signal handler if `run` and `waiting` are.
    pub fn answer(&self, thread: i32, waiting: &impl Waiting, run: impl FnOnce(Work)) {
        self.answer_until(DONE, thread, waiting, run);
    }

    /// As [`Handshake::answer`], of a request that stands.
    pub fn answer_standing(&self, thread: i32, waiting: &impl Waiting, run: impl FnOnce(Work)) {
        self.answer_until(REQUESTED, thread, waiting, run);
    }

    /// `after` is the phase when the work is done.
    fn answer_until(
        &self,
        after: u32,
        thread: i32,
        waiting: &impl Waiting,
        run: impl FnOnce(Work),
    ) {
        let mut requested = self.word.load(Ordering::Acquire);
        if requested & PHASE_MASK != REQUESTED || self.target.load(Ordering::Relaxed) != thread {
            return;
        }
        let ticket = requested & TICKET_MASK;
        // Whoever sent the signal may go to sleep meanwhile.
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
        run(Work(self.work.load(Ordering::Relaxed)));
        let before = self.word.swap(ticket | after, Ordering::AcqRel);
        if before & WAITING != 0 {
            waiting.wake(&self.word);
        }
    }
}
