/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sessions and the recording of an event loop, which share its samples.

use std::num::NonZeroU32;

use js_profiler_traits::SessionId;
use js_profiler_traits::recording::MissedReason;
use malloc_size_of_derive::MallocSizeOf;
use servo_base::id::BrowsingContextId;
use smallvec::SmallVec;

use crate::failure::Failure;
use crate::function_table::Function;
use crate::sample::Sample;
use crate::sampled_recording::SampledRecording;
use crate::sampled_session::SampledSession;
use crate::sampled_thread::Audience;
use crate::schedule::Schedule;
use crate::subscriber::Subscriber;

/// All subscribers to the samples of one event loop.
#[derive(Default, MallocSizeOf)]
pub struct Subscribers {
    /// The sessions that have not been stopped.
    pub sessions: Vec<SampledSession>,
    /// The recording, if there is one.
    pub recording: Option<SampledRecording>,
}

/// Why a sample is taken, which determines who gets it.
#[derive(Clone, Copy)]
pub enum Occasion {
    /// It is due at a tick. Samples that were due before it are missed, for the reason `why_late`.
    Tick {
        /// The number of the tick.
        tick: u64,
        /// Why earlier samples have not been taken, if there are any.
        why_late: MissedReason,
    },
    /// It is the first sample of a session, which takes it unless it is paused.
    First(SessionId),
    /// It is forced, for all running sessions of a browsing context.
    Forced(BrowsingContextId),
}

impl Occasion {
    /// Whether a session is to get the sample.
    fn is_for(self, session: &SampledSession) -> bool {
        match self {
            Self::Tick { tick, .. } => session.subscriber.schedule.is_due_by(tick),
            Self::First(id) => session.id == id && session.subscriber.schedule.is_running(),
            Self::Forced(browsing_context) => session.is_running_in(browsing_context),
        }
    }

    /// Whether a recording is to get the sample.
    fn is_for_recording(self, recording: &SampledRecording) -> bool {
        matches!(self, Self::Tick { tick, .. } if recording.subscriber.schedule.is_due_by(tick))
    }
}

impl Subscribers {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sessions.is_empty() && self.recording.is_none()
    }

    /// The schedules of the sessions and of the recording.
    fn schedules(&self) -> impl Iterator<Item = &Schedule> {
        let sessions = self.sessions.iter().map(|session| &session.subscriber);
        let recording = self.recording.as_ref();
        let all = sessions.chain(recording.map(|recording| &recording.subscriber));
        all.map(|subscriber| &subscriber.schedule)
    }

    /// The next tick at which a sample is due.
    pub fn next_tick(&self) -> Option<u64> {
        self.schedules().filter_map(Schedule::next_tick).min()
    }

    /// The first tick after `tick` at which a sample is due.
    pub fn next_tick_after(&self, tick: u64) -> Option<u64> {
        let schedules = self.schedules();
        schedules
            .filter_map(|schedule| schedule.next_tick_after(tick))
            .min()
    }

    /// The readers that stacks are walked for.
    pub fn audience(&self) -> Audience {
        let realms: SmallVec<_> = self.sessions.iter().map(|session| session.realm).collect();
        Audience {
            everything: self.recording.is_some() || realms.is_empty(),
            realms,
        }
    }

    /// How many sessions are to get the sample of this occasion.
    pub fn sessions_for(&self, occasion: Occasion) -> usize {
        let sessions = self.sessions.iter();
        sessions.filter(|session| occasion.is_for(session)).count()
    }

    /// The recording, if it is to get the sample of this occasion.
    pub fn recording_for(&self, occasion: Occasion) -> Option<&SampledRecording> {
        let recording = self.recording.as_ref();
        recording.filter(|recording| occasion.is_for_recording(recording))
    }

    /// Gives the sample of this occasion to all who are to get it. Returns how many of these sessions did not take it.
    /// At a tick, all move on to that tick.
    pub fn take(&mut self, sample: &Sample<'_>, occasion: Occasion) -> usize {
        let mut without = 0;
        for session in &mut self.sessions {
            let is_for_it = occasion.is_for(session);
            if let Occasion::Tick { tick, why_late } = occasion {
                session.subscriber.advance(tick, why_late);
            }
            if is_for_it && !session.take_sample(sample) {
                without += 1;
            }
        }
        if let Some(recording) = &mut self.recording {
            let is_for_it = occasion.is_for_recording(recording);
            if let Occasion::Tick { tick, why_late } = occasion {
                recording.subscriber.advance(tick, why_late);
            }
            if is_for_it {
                recording.take_sample(sample);
            }
        }
        without
    }

    /// Gives the sample of a tick, which was taken when it was `done` already, to all who are to get it. Samples that were
    /// due before the tick are missed for the reason `why_before`, and those from then on for the reason `why_since`.
    pub fn take_of_tick(
        &mut self,
        sample: &Sample<'_>,
        (tick, why_before): (u64, MissedReason),
        (done, why_since): (u64, MissedReason),
    ) -> usize {
        self.miss_before(tick, why_before);
        let occasion = Occasion::Tick {
            tick: done,
            why_late: why_since,
        };
        self.take(sample, occasion)
    }

    fn subscribers(&mut self) -> impl Iterator<Item = &mut Subscriber> {
        let sessions = self.sessions.iter_mut();
        let sessions = sessions.map(|session| &mut session.subscriber);
        let recording = self.recording.as_mut();
        sessions.chain(recording.map(|recording| &mut recording.subscriber))
    }

    /// Counts all samples that were due by `tick` as missed, except for the last one of each, which stays due.
    pub fn miss_before(&mut self, tick: u64, why: MissedReason) {
        self.subscribers()
            .for_each(|subscriber| subscriber.miss_before(tick, why));
    }

    /// All miss the samples that are due up to this tick and were not taken, because walks took so long.
    pub fn skip(&mut self, tick: u64) {
        self.subscribers()
            .for_each(|subscriber| subscriber.skip(tick));
    }

    /// The shortest interval, in base intervals.
    pub fn shortest_interval(&self) -> Option<NonZeroU32> {
        self.schedules().map(Schedule::interval).min()
    }

    /// Ends all, because they cannot go on. `functions` are those of the event loop.
    pub fn fail(&mut self, functions: &[Function], failure: &Failure) {
        for session in &mut self.sessions {
            session.fail(failure);
        }
        if let Some(recording) = self.recording.take() {
            recording.fail(functions, failure);
        }
    }
}
