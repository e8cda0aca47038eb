/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Runs code on another thread at times that are set in advance, by timers of the kernel, on Linux.
//!
//! With `linux.rs`, the sampling thread wakes at each of these times, sends a signal, and polls until the
//! signal is handled. That is most of the cost of a sample. A timer of the kernel sends the signal without any
//! thread: see <https://man7.org/linux/man-pages/man2/timer_create.2.html>, SIGEV_THREAD_ID.
//!
//! A timer fires on the processor of the thread that has set it. The sampling thread sets all timers, so the
//! stopped thread does not pay for them. It would pay for a timer that repeats, because the thread that handles
//! the signal of such a timer sets it again.

#![allow(unsafe_code)]

use std::io;
use std::mem::MaybeUninit;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::handshake::Handshake;
use super::linux::{self, Futex, Job, STANDING, STOP_TIMEOUT, StopError, Task, Thread};

/// Makes a thread run a task at given times. The thread must not end before this is dropped.
///
/// The task may be run later than at the time that was set, more than once for one of the times, and at moments for which
/// no time was set.
pub struct StopTimers<T: Task> {
    thread: Thread,
    slot: Slot,
    timers: Vec<Timer>,
    /// When the last timer that was set fires.
    last: Option<Instant>,
    /// A leaked `Box`. Only the thread may use it while `is_armed` is true.
    job: NonNull<Job<T>>,
    is_armed: bool,
}

impl<T: Task> StopTimers<T> {
    /// Timers that run `task` on `thread`. At most `count` times can be set at once.
    ///
    /// # Errors
    ///
    /// If all slots or all timers are in use, or if no signal is free.
    pub fn new(thread: Thread, count: usize, task: T) -> io::Result<Self> {
        let slot = Slot::claim().ok_or_else(|| io::Error::other("all slots are taken"))?;
        let timers = (0..count).map(|_| Timer::new(&thread, &slot));
        let timers = timers.collect::<io::Result<_>>()?;
        let job = Box::new(Job::new(&thread, task));
        Ok(Self {
            thread,
            slot,
            timers,
            last: None,
            job: NonNull::from(Box::leak(job)),
            is_armed: false,
        })
    }

    /// Makes the thread run the task at each of these times. They must be in ascending order, and there must be
    /// no more of them than timers.
    ///
    /// # Errors
    ///
    /// If the thread cannot be stopped by our signal now, or if a timer cannot be set. Then no time is set.
    pub fn arm(&mut self, times: impl IntoIterator<Item = Instant>) -> Result<(), StopError> {
        self.disarm();
        linux::usable_signal()?;
        let task = self.job.as_ptr().cast();
        self.slot.handshake().stand(self.thread.tid, task);
        self.is_armed = true;
        let now = Instant::now();
        for (timer, time) in self.timers.iter().zip(times) {
            // Zero would stop the timer.
            let left = time.saturating_duration_since(now);
            if let Err(error) = timer.set(left.max(Duration::from_nanos(1))) {
                self.disarm();
                return Err(StopError::Signal(error));
            }
            self.last = Some(time);
        }
        Ok(())
    }

    /// Whether the thread may be running the task: it was told to, and has not been told to stop.
    pub fn is_armed(&self) -> bool {
        self.is_armed
    }

    /// Makes the thread stop running the task. When this returns, the thread does not use the task any more.
    /// Panics if the task has panicked.
    pub fn disarm(&mut self) -> &mut T {
        if self.is_armed {
            if self.last.is_some_and(|last| last > Instant::now()) {
                for timer in &self.timers {
                    // This cannot fail. If it did, the handler would find no request.
                    let _ = timer.set(Duration::ZERO);
                }
            }
            self.slot.handshake().take_back(&Futex, STOP_TIMEOUT);
            self.is_armed = false;
        }
        // SAFETY: the pointer is that of a box, and the thread does not use it any more.
        let job = unsafe { self.job.as_mut() };
        if let Some(payload) = job.panic.take() {
            panic::resume_unwind(payload);
        }
        &mut job.task
    }
}

impl<T: Task> Drop for StopTimers<T> {
    fn drop(&mut self) {
        // The panic itself has been reported.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| {
            self.disarm();
        }));
        // SAFETY: the pointer was leaked from a box, and is not in use any more.
        drop(unsafe { Box::from_raw(self.job.as_ptr()) });
    }
}

/// An index into [`STANDING`], which belongs to this value alone. A signal that comes late finds another
/// request there, or none. A handler ignores a request of another thread.
struct Slot(usize);

static TAKEN: [AtomicBool; STANDING.len()] = [const { AtomicBool::new(false) }; STANDING.len()];

impl Slot {
    fn claim() -> Option<Self> {
        let is_free = |taken: &AtomicBool| !taken.swap(true, Ordering::AcqRel);
        TAKEN.iter().position(is_free).map(Self)
    }

    fn handshake(&self) -> &'static Handshake {
        &STANDING[self.0]
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        TAKEN[self.0].store(false, Ordering::Release);
    }
}

/// A timer that signals a thread once.
struct Timer(libc::timer_t);

impl Timer {
    fn new(thread: &Thread, slot: &Slot) -> io::Result<Self> {
        let signal = linux::signal().map_err(io::Error::other)?;
        // SAFETY: a zeroed sigevent is a valid one; the timer is written if the call succeeds.
        unsafe {
            let mut event: libc::sigevent = MaybeUninit::zeroed().assume_init();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_notify_thread_id = thread.tid;
            event.sigev_signo = signal;
            event.sigev_value.sival_ptr = ptr::without_provenance_mut(slot.0);
            let mut timer = MaybeUninit::uninit();
            match libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, timer.as_mut_ptr()) {
                0 => Ok(Self(timer.assume_init())),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Makes the timer fire after this time. Zero stops the timer.
    fn set(&self, after: Duration) -> io::Result<()> {
        // SAFETY: a zeroed itimerspec is a valid one; the timer exists until this is dropped.
        unsafe {
            let mut time: libc::itimerspec = MaybeUninit::zeroed().assume_init();
            time.it_value.tv_sec = after.as_secs() as libc::time_t;
            time.it_value.tv_nsec = after.subsec_nanos().into();
            match libc::timer_settime(self.0, 0, &time, ptr::null_mut()) {
                0 => Ok(()),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// The time until the timer fires; zero if it is not set.
    #[cfg(test)]
    fn left(&self) -> Duration {
        // SAFETY: the call writes the time; the timer exists.
        let time = unsafe {
            let mut time: libc::itimerspec = MaybeUninit::zeroed().assume_init();
            assert_eq!(libc::timer_gettime(self.0, &mut time), 0);
            time.it_value
        };
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: the timer exists, and is not used again.
        unsafe { libc::timer_delete(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::sync::{Arc, PoisonError};
    use std::thread;

    use super::super::linux::Stopped;
    use super::super::linux::tests::{Blocking, Counting as Busy, ONE_AT_A_TIME};
    use super::*;

    /// Counts its calls.
    struct Counting(Arc<AtomicU64>);

    impl Task for Counting {
        fn run(&mut self, stopped: &Stopped) {
            assert!(stopped.is_on_stack());
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    struct Panicking;

    impl Task for Panicking {
        fn run(&mut self, _: &Stopped) {
            panic!("on purpose");
        }
    }

    fn stops_of(busy: &Busy, count: usize) -> (StopTimers<Counting>, Arc<AtomicU64>) {
        let calls = Arc::new(AtomicU64::new(0));
        let task = Counting(calls.clone());
        let stops = StopTimers::new(busy.thread, count, task).expect("there is a slot");
        (stops, calls)
    }

    fn after(milliseconds: u64) -> Instant {
        Instant::now() + Duration::from_millis(milliseconds)
    }

    fn wait_for(calls: &AtomicU64, count: u64) {
        while calls.load(Ordering::Relaxed) < count {
            thread::yield_now();
        }
    }

    #[test]
    fn a_thread_runs_the_task_at_each_time_and_can_be_armed_again() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = Busy::new();
        let (mut stops, calls) = stops_of(&busy, 3);
        for round in 0..100 {
            assert!(!stops.is_armed());
            stops.arm([after(1), after(2), after(3)]).unwrap();
            assert!(stops.is_armed());
            wait_for(&calls, 3 * round + 3);
            stops.disarm();
            assert_eq!(calls.load(Ordering::Relaxed), 3 * round + 3);
        }
    }

    #[test]
    fn two_threads_run_their_own_tasks() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (one, other) = (Busy::new(), Busy::new());
        let (mut stops, calls) = stops_of(&one, 2);
        let (mut other_stops, other_calls) = stops_of(&other, 2);
        stops.arm([after(1), after(2)]).unwrap();
        wait_for(&calls, 2);
        assert_eq!(other_calls.load(Ordering::Relaxed), 0);
        other_stops.arm([after(1)]).unwrap();
        wait_for(&other_calls, 1);
        assert_eq!(calls.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_time_that_has_passed_is_now() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = Busy::new();
        let (mut stops, calls) = stops_of(&busy, 1);
        stops.arm([Instant::now()]).unwrap();
        wait_for(&calls, 1);
    }

    #[test]
    fn nothing_runs_after_disarm() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = Busy::new();
        let (mut stops, calls) = stops_of(&busy, 2);
        stops.arm([after(10_000), after(20_000)]).unwrap();
        for timer in &stops.timers {
            assert_ne!(timer.left(), Duration::ZERO);
        }
        stops.disarm();
        for timer in &stops.timers {
            assert_eq!(timer.left(), Duration::ZERO);
        }
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_signal_that_comes_late_does_nothing() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let blocked = Blocking::new();
        let calls = Arc::new(AtomicU64::new(0));
        let mut stops = StopTimers::new(blocked.thread, 1, Counting(calls.clone())).unwrap();
        stops.arm([Instant::now()]).unwrap();
        while stops.timers[0].left() != Duration::ZERO {
            thread::yield_now();
        }
        stops.disarm();
        blocked.unblock();
        assert_eq!(calls.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn disarm_panics_if_the_task_has_panicked() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = Busy::new();
        let mut stops = StopTimers::new(busy.thread, 1, Panicking).unwrap();
        let has_panicked = |stops: &mut StopTimers<_>| {
            stops.arm([Instant::now()]).unwrap();
            while stops.timers[0].left() != Duration::ZERO {
                thread::yield_now();
            }
            panic::catch_unwind(AssertUnwindSafe(|| {
                stops.disarm();
            }))
            .is_err()
        };
        // On a busy machine the thread may wait for a processor for a while.
        while !has_panicked(&mut stops) {}
        assert!(!stops.is_armed());
        drop(stops);
    }

    #[test]
    fn slots_are_given_back() {
        let _guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let busy = Busy::new();
        let mut all = Vec::new();
        // Other code may have claimed some.
        while let Some(slot) = Slot::claim() {
            all.push(slot);
        }
        let calls = Arc::new(AtomicU64::new(0));
        let error = StopTimers::new(busy.thread, 1, Counting(calls)).err();
        assert_eq!(error.unwrap().to_string(), "all slots are taken");
        drop(all);
        stops_of(&busy, 1);
    }
}
