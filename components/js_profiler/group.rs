/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A profiler group as the sampling thread has it: an event loop's thread and JavaScript context, its
//! sessions, and the functions that were seen on its stacks.

use js_profiler_traits::{GroupId, SessionId};
use log::warn;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::function_table::{FunctionId, FunctionTable};
use crate::session::{Outcome, SampledSession};
use crate::spidermonkey::{SampledContext, StackBuffer, Walk};
use crate::suspend::{StopError, Thread};
use crate::ticks;

pub struct Group {
    pub id: GroupId,
    thread: Thread,
    context: SampledContext,
    sessions: Vec<SampledSession>,
    functions: FunctionTable,
    /// The last stack, from the root to the leaf; kept for its capacity.
    stack: Vec<FunctionId>,
}

impl Group {
    pub fn new(id: GroupId, thread: Thread, context: SampledContext) -> Self {
        Self {
            id,
            thread,
            context,
            sessions: Vec::new(),
            functions: FunctionTable::default(),
            stack: Vec::new(),
        }
    }

    pub fn add(&mut self, session: SampledSession) {
        self.sessions.push(session);
        self.log_interval();
    }

    pub fn remove(&mut self, id: SessionId) -> Option<SampledSession> {
        let index = self.sessions.iter().position(|session| session.id == id)?;
        let session = self.sessions.swap_remove(index);
        if self.sessions.is_empty() {
            // Nobody refers to the functions any more.
            self.functions = FunctionTable::default();
        }
        self.log_interval();
        Some(session)
    }

    pub fn session(&mut self, id: SessionId) -> Option<&mut SampledSession> {
        self.sessions.iter_mut().find(|session| session.id == id)
    }

    fn log_interval(&self) {
        let intervals = self.sessions.iter().filter_map(SampledSession::interval);
        log::debug!(
            "{:?}: {} sessions, interval {:?} ticks",
            self.id,
            self.sessions.len(),
            ticks::group_interval(intervals)
        );
    }

    /// The next tick at which any session takes a sample.
    pub fn next_tick(&self) -> Option<u64> {
        self.sessions
            .iter()
            .filter_map(SampledSession::next_tick)
            .min()
    }

    /// Takes one sample for all sessions that are due at `tick`.
    pub fn tick(&mut self, tick: u64, buffer: &mut StackBuffer) {
        let mut any_due = false;
        for session in &mut self.sessions {
            any_due |= session.advance(tick);
        }
        if !any_due {
            return;
        }
        let (time, walk) = self.walk(buffer);
        let outcome = match walk {
            None => Outcome::Missed,
            Some(Walk::Idle) => Outcome::Idle,
            Some(Walk::Unwalkable) => Outcome::Unwalkable,
            Some(Walk::Stack) if self.intern(buffer) => Outcome::Stack {
                functions: &self.stack,
                truncated: buffer.truncated(),
            },
            Some(Walk::Stack) => {
                buffer.grow_text();
                Outcome::Unwalkable
            },
        };
        for session in &mut self.sessions {
            if session.is_due() {
                session.take_sample(time, &outcome, self.functions.functions());
            }
        }
    }

    /// Stops the thread and walks its stack into `buffer`. None if the thread did not stop.
    fn walk(&self, buffer: &mut StackBuffer) -> (CrossProcessInstant, Option<Walk>) {
        buffer.clear();
        // A thread that runs no JavaScript need not be stopped to know that.
        if self.context.is_idle() {
            return (CrossProcessInstant::now(), Some(Walk::Idle));
        }
        let stopped = self.thread.while_stopped(|registers| {
            let walk = self.context.walk(registers, self.thread.stack, buffer);
            (CrossProcessInstant::now(), Some(walk))
        });
        stopped.unwrap_or_else(|error| {
            if let StopError::Signal(error) = error {
                warn!("{:?}: cannot stop the thread: {error}", self.id);
            }
            (CrossProcessInstant::now(), None)
        })
    }

    /// Fills `stack` from `buffer`. False if the text of a new function did not fit.
    fn intern(&mut self, buffer: &StackBuffer) -> bool {
        self.stack.clear();
        for frame in buffer.frames() {
            let Some(id) = self.functions.get_or_insert(frame) else {
                return false;
            };
            self.stack.push(id);
        }
        true
    }
}
