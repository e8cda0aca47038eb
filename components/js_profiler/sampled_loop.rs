/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An event loop as the sampling thread sees it: its thread, and its sessions and its recording, which are
//! subscribers to its samples.
//!
//! A sample is made once, and given to all subscribers that are due.

use std::iter;
use std::time::{Duration, Instant};

use js_profiler_traits::recording::{MissedReason, SessionStatus};
use js_profiler_traits::{EventLoopId, RealmId, SessionId};
use log::warn;
use malloc_size_of::MallocSizeOf as _;
use malloc_size_of_derive::MallocSizeOf;
use profile_traits::mem::perform_memory_report;
use servo_base::cross_process_instant::CrossProcessInstant;
use smallvec::SmallVec;

use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::sampled_recording::{SampledRecording, SampledRecordingOptions};
use crate::sampled_session::SampledSession;
use crate::sampled_thread::{LONGEST_LOOK, MAX_TIMED_WALKS, SampledThread, StackTaker};
use crate::schedule::Schedule;
use crate::spidermonkey::NativeCode;
use crate::subscribers::{Occasion, Subscribers};
use crate::ticks::Ticks;

/// A sample that is taken in this time is that of its tick. The next tick comes later, or is met at once.
const AT_ONCE: Duration = Duration::from_micros(10);

/// An event loop for which more bytes than this are allocated keeps nothing for later sessions.
const MAX_KEPT_MEMORY: usize = 16 << 20;

/// An event loop, which may have sessions and a recording.
#[derive(MallocSizeOf)]
pub struct SampledLoop {
    /// The id of the event loop.
    pub id: EventLoopId,
    thread: SampledThread,
    subscribers: Subscribers,
}

/// The status of an event loop that is sampled.
pub struct SampledLoopStatus {
    /// The event loop.
    pub id: EventLoopId,
    /// Its sessions that have not been stopped, with their realms. [`SessionStatus::realm`] is not set.
    pub sessions: Vec<(RealmId, SessionStatus)>,
    /// The memory that is allocated for the event loop, in bytes.
    pub memory: u64,
}

impl SampledLoop {
    /// An event loop without sessions.
    pub fn new(id: EventLoopId, thread: SampledThread) -> Self {
        Self {
            id,
            thread,
            subscribers: Subscribers::default(),
        }
    }

    /// The memory that is allocated for it, in bytes.
    pub fn memory(&self) -> usize {
        let mut memory = 0;
        perform_memory_report(|ops| memory = self.size_of(ops));
        memory
    }

    /// Its status. `ticks` are those of its sessions.
    pub fn status(&self, ticks: &Ticks) -> SampledLoopStatus {
        let sessions = self.subscribers.sessions.iter().map(|session| {
            let subscriber = &session.subscriber;
            let status = SessionStatus {
                interval: ticks.duration(subscriber.schedule.interval()),
                counts: subscriber.counts,
                realm: None,
            };
            (session.realm, status)
        });
        SampledLoopStatus {
            id: self.id,
            sessions: sessions.collect(),
            memory: self.memory() as u64,
        }
    }

    /// Adds a session.
    pub fn add(&mut self, session: SampledSession) {
        NativeCode::with_new_libraries();
        self.thread.begin();
        self.subscribers.sessions.push(session);
    }

    /// Removes a session, and passes it to `take`. Does nothing if there is none with this id.
    pub fn remove(&mut self, id: SessionId, take: impl FnOnce(&mut SampledSession)) {
        let sessions = &mut self.subscribers.sessions;
        let Some(index) = sessions.iter().position(|session| session.id == id) else {
            return;
        };
        let mut session = sessions.swap_remove(index);
        take(&mut session);
        self.rest();
    }

    /// Lets the thread rest if there is neither a session nor a recording.
    fn rest(&mut self) {
        if self.subscribers.is_empty() {
            self.thread.rest();
            if self.memory() > MAX_KEPT_MEMORY {
                self.thread.free_kept();
            }
        }
    }

    /// Starts a recording. A recording that is running is ended.
    pub fn record(&mut self, options: SampledRecordingOptions, schedule: Schedule, ticks: &Ticks) {
        self.end_recording(ticks);
        NativeCode::with_new_libraries();
        self.thread.begin();
        let description = self.thread.description().clone();
        let recording = SampledRecording::new(description, options, schedule);
        self.subscribers.recording = Some(recording);
    }

    /// Ends the recording, if there is one, and reports its data. Returns the scripts of which something is
    /// wanted, except for those that were returned before.
    pub fn end_recording(&mut self, ticks: &Ticks) -> Vec<u32> {
        let now = Instant::now();
        self.miss_overdue(ticks.at(now), now, ticks);
        let Some(recording) = self.subscribers.recording.take() else {
            return Vec::new();
        };
        let new_sources = recording.finish(self.thread.seen_functions());
        self.rest();
        new_sources
    }

    /// The scripts of which the recording wants something, except for those that were returned before.
    pub fn take_new_sources(&mut self) -> Vec<u32> {
        let recording = self.subscribers.recording.as_mut();
        recording.map_or_else(Vec::new, SampledRecording::take_new_sources)
    }

    /// Ends all sessions and the recording, because they cannot go on. Sessions and recordings that are
    /// started later are not affected.
    pub fn fail(&mut self, failure: &Failure) {
        warn!("{:?} is not sampled any more: {failure}", self.id);
        self.thread.forget_failures();
        self.subscribers.fail(self.thread.seen_functions(), failure);
        // The sessions that are still listed have ended, so they need no functions any more.
        self.thread.forget_stacks();
    }

    /// The session with this id.
    pub fn session(&mut self, id: SessionId) -> Option<&mut SampledSession> {
        let mut sessions = self.subscribers.sessions.iter_mut();
        sessions.find(|session| session.id == id)
    }

    /// When the sampling thread has to attend to this event loop; `None` if it need not.
    pub fn next_wake(&self, ticks: &Ticks) -> Option<Instant> {
        let next_tick = || {
            let next = self.subscribers.next_tick()?;
            let next = match self.blocked_from(next, ticks) {
                Some(blocked) => self.subscribers.next_tick_after(blocked)?,
                None => next,
            };
            Some(ticks.instant(next))
        };
        let wake = self.thread.timed_until().or_else(next_tick);
        wake.or_else(|| self.thread.kept_until())
    }

    /// The last tick at which the thread may not be stopped, because it has to run for as long as it stood still; `None` if
    /// that is before `next`. All ticks up to it are missed by all readers: a sample that was taken later would say how long
    /// the walk before took.
    fn blocked_from(&self, next: u64, ticks: &Ticks) -> Option<u64> {
        let runs_until = self.thread.runs_until();
        (ticks.instant(next) <= runs_until).then(|| ticks.at(runs_until))
    }

    /// Takes the samples that are due. Asks for the next ones ahead of time if possible. If nobody wants samples, frees
    /// what was kept.
    pub fn wake(&mut self, ticks: &Ticks, taker: &mut StackTaker) {
        let now = Instant::now();
        if self.next_wake(ticks).is_none_or(|wake| wake > now) {
            return;
        }
        if self.thread.kept_until().is_some() {
            return self.thread.free_kept();
        }
        match self.thread.timed_until() {
            Some(_) => self.collect(ticks),
            None => {
                let tick = ticks.at(now);
                self.miss_overdue(tick, now, ticks);
                let why_late = MissedReason::SamplerLate;
                self.take(Occasion::Tick { tick, why_late }, ticks, taker);
            },
        }
        self.ask_for_timed_walks(ticks);
    }

    /// Counts what has become due by now, which is in `tick`, and has not been taken, as missed. The last sample that has
    /// become due stays due, unless the thread may not be stopped yet.
    fn miss_overdue(&mut self, tick: u64, now: Instant, ticks: &Ticks) {
        let subscribers = &mut self.subscribers;
        let Some(next) = subscribers.next_tick().filter(|next| *next <= tick) else {
            return;
        };
        let rest = self.thread.rest_after_walks();
        if rest.end >= ticks.instant(next) {
            let [begin, end] = [rest.start, rest.end].map(|time| ticks.at(time.min(now)));
            subscribers.miss_before(begin, MissedReason::SamplerLate);
            subscribers.skip(end);
        }
        subscribers.miss_before(tick, MissedReason::SamplerLate);
    }

    /// Takes one sample on this occasion, for all subscribers that are to get it. Returns how many of these
    /// sessions did not get it.
    pub fn take(&mut self, occasion: Occasion, ticks: &Ticks, taker: &mut StackTaker) -> usize {
        let (begin, begin_time) = (Instant::now(), CrossProcessInstant::now());
        let audience = self.subscribers.audience();
        let sessions = self.subscribers.sessions_for(occasion);
        let recording = self.subscribers.recording_for(occasion);
        let sample = match recording.map(SampledRecording::has_stacks) {
            None if sessions == 0 => return 0,
            Some(false) if sessions == 0 => Ok(self.thread.look_without_stopping()),
            _ => self.thread.look(taker, &audience),
        };
        match sample {
            Ok(sample) => {
                let Occasion::Tick { tick, why_late } = occasion else {
                    return self.subscribers.take(&sample, occasion);
                };
                let waited = (sample.time - begin_time).unsigned_abs();
                let why_waited = match sample.outcome {
                    _ if waited > LONGEST_LOOK => MissedReason::SamplerLate,
                    Outcome::Missed(why) => why,
                    _ => MissedReason::NoProcessor,
                };
                let done = match waited < AT_ONCE {
                    true => tick,
                    false => ticks.at(begin + waited),
                };
                let before = (tick, why_late);
                let since = (done, why_waited);
                self.subscribers.take_of_tick(&sample, before, since)
            },
            Err(failure) => {
                self.fail(&failure);
                sessions
            },
        }
    }

    /// Takes the samples of the walks that the thread has done by itself. The thread does none of the other walks.
    pub fn collect(&mut self, ticks: &Ticks) {
        let subscribers = &mut self.subscribers;
        let asked = self.thread.collect(|due, walk| {
            let due = ticks.at(due);
            let Some((done, sample, why_not_done)) = walk else {
                return subscribers.skip(due);
            };
            // The thread does the last walk that is due, so no walk was asked for at later ticks.
            let since = (ticks.at(done), MissedReason::SamplerLate);
            subscribers.take_of_tick(sample, (due, why_not_done), since);
        });
        let Some((last_due, why_not_done)) = asked else {
            return;
        };
        // No walks were asked for at the ticks after the last one. They were to be asked for before.
        let now = Instant::now();
        subscribers.miss_before(ticks.at(last_due.min(now)), why_not_done);
        subscribers.miss_before(ticks.at(now), MissedReason::SamplerLate);
    }

    /// Asks the thread to do the next walks by itself, if it is busy and likely to stop for them.
    fn ask_for_timed_walks(&mut self, ticks: &Ticks) {
        let next = self.subscribers.next_tick();
        if let Some(blocked) = next.and_then(|next| self.blocked_from(next, ticks)) {
            self.subscribers.skip(blocked);
        }
        let due = self.next_due(ticks);
        let shortest = self.subscribers.shortest_interval();
        let Some(interval) = shortest.filter(|_| due.len() >= 2) else {
            return;
        };
        let audience = self.subscribers.audience();
        self.thread.ask(&due, ticks.duration(interval), &audience);
    }

    /// When the next ticks are for which timed walks can be asked.
    fn next_due(&self, ticks: &Ticks) -> SmallVec<[Instant; MAX_TIMED_WALKS]> {
        let Some(horizon) = self.thread.timed_horizon() else {
            return SmallVec::new();
        };
        let now = Instant::now();
        let current = ticks.at(now);
        // A tick that is due already is for the next wake.
        let next = self.subscribers.next_tick();
        let is_late = next.is_none_or(|tick| tick <= current);
        // The samples of a recording without stacks do not need the thread to stop.
        let recording = self.subscribers.recording.as_ref();
        let is_stopped = recording.is_none_or(SampledRecording::has_stacks);
        if is_late || !is_stopped {
            return SmallVec::new();
        }
        iter::successors(next, |&tick| self.subscribers.next_tick_after(tick))
            .map(|tick| ticks.instant(tick))
            .take(MAX_TIMED_WALKS)
            .take_while(|due| *due <= now + horizon)
            .collect()
    }
}
