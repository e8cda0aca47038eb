/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The stacks of both sides of a comparison as one recording, from which the viewer draws how they differ: the first process is
//! the base. Times are by session, so that both sides have the same scale.

use profile_formats::{EventLoop, Process, Recording};

use crate::diff::Diff;
use crate::functions::Key;
use crate::hash_tables::HashMap;
use crate::labels::Condition;
use crate::merge::Merge;
use crate::profile::{Profile, Sum};
use crate::sessions::Sessions;

/// The merged profiles of both sides.
#[derive(Debug)]
pub struct Difference {
    sides: [Merge; 2],
}

impl Difference {
    /// Which samples are on which side.
    pub fn new(conditions: [Option<Condition>; 2]) -> Self {
        Self {
            sides: conditions.map(|condition| Merge::new(condition, false, false)),
        }
    }

    /// Adds a profile to one side. The error is a clause about it: the merged tables are full.
    pub fn add(&mut self, side: usize, profile: &Profile) -> Result<(), String> {
        self.sides[side].add(profile)
    }

    /// Functions that `diff` has found to be one are one, and have their place in the new set.
    pub fn finish(self, sessions: &Sessions, diff: &Diff) -> Result<Recording, String> {
        let joined = sessions.joined();
        let moved = diff.changes.iter().filter_map(|change| {
            let from = change.moved_from.clone()?;
            Some((from, change.function.clone()))
        });
        let moved: HashMap<Key, Key> = moved.collect();
        let of_base = joined.iter().map(|(key, other)| {
            let last = moved.get(other).unwrap_or(other);
            (key.clone(), last.clone())
        });
        let mut of_base: HashMap<Key, Key> = of_base.collect();
        of_base.extend(moved);
        let mut sum = Sum::default();
        let mut processes = Vec::new();
        let sides = self.sides.into_iter().zip([&of_base, &joined]);
        for ((merge, renamed), (what, side)) in sides.zip(["base", "new"].iter().zip(&diff.sides)) {
            let (event_loops, of_side) = merge.finish_side(renamed)?;
            sum.add(of_side);
            processes.push(Process {
                name: format!("{what}: {}", side.name),
                event_loops,
                ..Process::default()
            });
        }
        let mut recording = Recording::of_one(EventLoop::default(), 1., None);
        if let Some(interval) = sum.mean() {
            recording.interval = interval;
        }
        recording.processes = processes;
        Ok(recording)
    }
}
