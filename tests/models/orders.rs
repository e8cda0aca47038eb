/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The handshake in every order.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc as Untracked;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

use crate::handshake::{Handshake, NotDone, Waiting};

const TIMEOUT: Duration = Duration::from_millis(50);

/// With more preemptions the models find nothing else, and take hours.
const PREEMPTIONS: usize = 3;

/// The greatest number of branches in one order. A thread that waits looks many times while another thread is
/// kept from running.
const BRANCHES: usize = 20_000;

/// The ids of threads are below this.
const IDS: usize = 8;

fn model(run: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.max_branches = BRANCHES;
    builder.check(run);
}

/// Waits by looking again and again. It gives the threads no order except that of the word itself.
struct Spinning;

impl Waiting for Spinning {
    fn wait(&self, _: &AtomicU32, _: u32, _: Duration) {
        // Lets loom run the other threads.
        thread::yield_now();
    }

    fn wake(&self, _: &AtomicU32) {}
}

/// Sleeps until it is woken. As in the kernel, looking at the word and going to sleep is one step. There is
/// no timeout, so a thread whose wake is lost waits for ever.
struct Sleeping {
    kernel: Mutex<()>,
    woken: Condvar,
}

impl Sleeping {
    fn new() -> Self {
        Self {
            kernel: Mutex::new(()),
            woken: Condvar::new(),
        }
    }
}

impl Waiting for Sleeping {
    fn wait(&self, word: &AtomicU32, value: u32, _: Duration) {
        let kernel = self.kernel.lock().unwrap();
        if word.load(Ordering::SeqCst) == value {
            drop(self.woken.wait(kernel));
        }
    }

    fn wake(&self, _: &AtomicU32) {
        drop(self.kernel.lock());
        self.woken.notify_all();
    }
}

/// A thread that can be stopped, and its signal.
struct Target {
    id: i32,
    /// Signals that the thread has not handled yet. The handler sees everything that was done before a signal
    /// was sent, because the kernel takes a lock of the thread to deliver it.
    pending: Mutex<u32>,
    sent: Condvar,
    /// What the thread works on. The handler looks at it.
    work: UnsafeCell<()>,
}

impl Target {
    fn signal(&self) {
        *self.pending.lock().unwrap() += 1;
        self.sent.notify_all();
    }

    fn take_signal(&self) -> bool {
        let mut pending = self.pending.lock().unwrap();
        let is_any = *pending != 0;
        *pending = pending.saturating_sub(1);
        is_any
    }

    fn wait_for_signal(&self) {
        let mut pending = self.pending.lock().unwrap();
        while *pending == 0 {
            pending = self.sent.wait(pending).unwrap();
        }
        *pending -= 1;
    }
}

/// What the sampling thread has made for one walk. The handler writes into it.
struct Request {
    walked: UnsafeCell<()>,
    /// How often that was done. Gives the threads no order.
    times: AtomicUsize,
}

struct Threads<W> {
    handshake: Handshake,
    waiting: W,
    targets: Vec<Target>,
    requests: Vec<Request>,
    /// Whether no time is left for the handler to begin.
    over: AtomicBool,
    /// Whether requests are standing ones: each is done at every signal until it is taken back.
    standing: bool,
}

impl<W: Waiting> Threads<W> {
    fn new(waiting: W, targets: i32, requests: usize) -> Arc<Self> {
        let target = |id| Target {
            id,
            pending: Mutex::new(0),
            sent: Condvar::new(),
            work: UnsafeCell::new(()),
        };
        let request = |_| Request {
            walked: UnsafeCell::new(()),
            times: AtomicUsize::new(0),
        };
        Arc::new(Self {
            handshake: Handshake::new(),
            waiting,
            targets: (1..=targets).map(target).collect(),
            requests: (0..requests).map(request).collect(),
            over: AtomicBool::new(false),
            standing: false,
        })
    }

    fn with_standing_requests(waiting: W, targets: i32, requests: usize) -> Arc<Self> {
        let mut threads = Self::new(waiting, targets, requests);
        Arc::get_mut(&mut threads).unwrap().standing = true;
        threads
    }

    /// Stops a thread for a request. Returns whether the walk was done.
    fn stop(&self, target: usize, request: usize, may_time_out: bool) -> bool {
        let target = &self.targets[target];
        let send = || {
            target.signal();
            Ok::<_, ()>(())
        };
        let left = || match may_time_out && self.over.load(Ordering::Relaxed) {
            true => Duration::ZERO,
            false => TIMEOUT,
        };
        let task = ptr::without_provenance_mut(request * IDS + target.id as usize);
        // The request is made before, and taken apart afterwards, whether or not it was used.
        self.requests[request].walked.with_mut(|_| ());
        let done = self
            .handshake
            .request(target.id, task, &self.waiting, send, TIMEOUT, left);
        self.requests[request].walked.with_mut(|_| ());
        match done {
            Ok(()) => true,
            Err(NotDone::TimedOut) => false,
            Err(NotDone::NotSent(())) => unreachable!("it is always sent"),
        }
    }

    /// Makes a standing request, and sends two signals.
    fn stand(&self, target: usize, request: usize) {
        let target = &self.targets[target];
        let task = ptr::without_provenance_mut(request * IDS + target.id as usize);
        self.requests[request].walked.with_mut(|_| ());
        self.handshake.stand(target.id, task);
        target.signal();
        target.signal();
    }

    /// Takes a standing request back. Returns how often it was done.
    fn take_back(&self, request: usize) -> usize {
        self.handshake.take_back(&self.waiting, TIMEOUT);
        self.requests[request].walked.with_mut(|_| ());
        self.requests[request].times.load(Ordering::Relaxed)
    }

    /// Works, and handles a signal if one has come meanwhile.
    fn run(&self, target: usize) {
        let target = &self.targets[target];
        target.work.with_mut(|_| ());
        if target.take_signal() {
            self.handle(target);
        }
        target.work.with_mut(|_| ());
    }

    /// Works until it has handled a signal.
    fn run_until_signal(&self, target: usize) {
        let target = &self.targets[target];
        target.work.with_mut(|_| ());
        target.wait_for_signal();
        self.handle(target);
        target.work.with_mut(|_| ());
    }

    fn handle(&self, target: &Target) {
        let run = |task: *mut c_void| {
            // The work belongs to the handler's own thread, which stands still.
            target.work.with(|_| ());
            let (request, thread) = (task.addr() / IDS, task.addr() % IDS);
            assert_eq!(
                thread, target.id as usize,
                "the request is for another thread"
            );
            let request = &self.requests[request];
            request.walked.with_mut(|_| ());
            request.times.fetch_add(1, Ordering::Relaxed);
        };
        match self.standing {
            true => self
                .handshake
                .answer_standing(target.id, &self.waiting, run),
            false => self.handshake.answer(target.id, &self.waiting, run),
        }
    }
}

/// Starts a thread beside the sampling thread.
fn spawn<W: Send + Sync + 'static>(
    threads: &Arc<Threads<W>>,
    run: impl FnOnce(&Threads<W>) + 'static,
) -> thread::JoinHandle<()> {
    let threads = threads.clone();
    thread::spawn(move || run(&threads))
}

#[test]
fn what_the_handler_does_is_before_the_answer_and_after_the_request() {
    model(|| {
        let threads = Threads::new(Spinning, 1, 1);
        let target = spawn(&threads, |threads| threads.run_until_signal(0));
        assert!(threads.stop(0, 0, false));
        target.join().unwrap();
    });
}

#[test]
fn no_wake_is_lost() {
    model(|| {
        let threads = Threads::new(Sleeping::new(), 1, 1);
        let target = spawn(&threads, |threads| threads.run_until_signal(0));
        assert!(threads.stop(0, 0, false));
        target.join().unwrap();
    });
}

#[test]
fn a_thread_is_stopped_again_and_again() {
    model(|| {
        let threads = Threads::new(Spinning, 1, 2);
        let target = spawn(&threads, |threads| {
            threads.run_until_signal(0);
            threads.run_until_signal(0);
        });
        assert!(threads.stop(0, 0, false));
        assert!(threads.stop(0, 1, false));
        target.join().unwrap();
    });
}

/// Time may run out at any moment: before the handler begins, while it runs, and after it.
#[test]
fn a_handler_has_begun_or_leaves_the_request_alone() {
    // Both outcomes must occur, or the model shows less than it should.
    let ends = Untracked::new(std::sync::Mutex::new((0, 0)));
    let counted = ends.clone();
    model(move || {
        let threads = Threads::new(Spinning, 1, 1);
        let target = spawn(&threads, |threads| {
            threads.over.store(true, Ordering::Relaxed);
            threads.run(0);
            threads.run(0);
        });
        let done = threads.stop(0, 0, true);
        let mut counted = counted.lock().unwrap();
        match done {
            true => counted.0 += 1,
            false => counted.1 += 1,
        }
        drop(counted);
        target.join().unwrap();
    });
    let (done, timed_out) = *ends.lock().unwrap();
    assert!(done > 0 && timed_out > 0, "{done} done, {timed_out} not");
}

/// The first thread was given up, and handles its signal while the second one is asked.
#[test]
fn a_late_handler_does_not_take_what_is_for_another_thread() {
    model(|| {
        let threads = Threads::new(Spinning, 2, 2);
        let late = spawn(&threads, |threads| {
            threads.over.store(true, Ordering::Relaxed);
            threads.run(0);
        });
        threads.stop(0, 0, true);
        let other = spawn(&threads, |threads| threads.run_until_signal(1));
        assert!(threads.stop(1, 1, false));
        late.join().unwrap();
        other.join().unwrap();
    });
}

/// Two requests may be answered by one signal: the second request may be made before the signal of the first
/// is handled.
#[test]
fn a_late_handler_may_answer_the_next_request() {
    model(|| {
        let threads = Threads::new(Spinning, 1, 2);
        let target = spawn(&threads, |threads| {
            threads.over.store(true, Ordering::Relaxed);
            threads.run(0);
            threads.run(0);
        });
        threads.stop(0, 0, true);
        threads.stop(0, 1, true);
        target.join().unwrap();
    });
}

#[test]
fn a_request_that_stands_is_done_at_every_signal() {
    model(|| {
        let threads = Threads::with_standing_requests(Spinning, 1, 1);
        let target = spawn(&threads, |threads| {
            threads.run_until_signal(0);
            threads.run_until_signal(0);
        });
        threads.stand(0, 0);
        target.join().unwrap();
        assert_eq!(threads.take_back(0), 2);
    });
}

/// The signals come while a request stands, while it is taken back, and after that.
#[test]
fn a_request_that_stands_is_taken_back_at_any_moment() {
    // Both outcomes must occur, or the model shows less than it should.
    let ends = Untracked::new(std::sync::Mutex::new([0; 3]));
    let counted = ends.clone();
    model(move || {
        let threads = Threads::with_standing_requests(Spinning, 1, 1);
        let target = spawn(&threads, |threads| {
            threads.run_until_signal(0);
            threads.run_until_signal(0);
        });
        threads.stand(0, 0);
        counted.lock().unwrap()[threads.take_back(0)] += 1;
        target.join().unwrap();
    });
    let [none, once, _] = *ends.lock().unwrap();
    assert!(
        none > 0 && once > 0,
        "never done {none} times, done once {once} times"
    );
}

#[test]
fn no_wake_is_lost_when_a_request_is_taken_back() {
    model(|| {
        let threads = Threads::with_standing_requests(Sleeping::new(), 1, 1);
        let target = spawn(&threads, |threads| threads.run(0));
        threads.stand(0, 0);
        threads.take_back(0);
        target.join().unwrap();
    });
}

/// The signals of the first thread's timers come while the request for the second thread stands.
#[test]
fn a_late_handler_does_not_take_a_request_that_stands_for_another_thread() {
    model(|| {
        let threads = Threads::with_standing_requests(Spinning, 2, 2);
        let late = spawn(&threads, |threads| threads.run(0));
        threads.stand(0, 0);
        threads.take_back(0);
        let other = spawn(&threads, |threads| threads.run(1));
        threads.stand(1, 1);
        threads.take_back(1);
        late.join().unwrap();
        other.join().unwrap();
    });
}
