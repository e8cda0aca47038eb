/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Many profiles as one recording, with a process for each value of a label.

use profile_formats::{EventLoop, Process, Recording};

use crate::bounds::MAX_MERGED_VALUES;
use crate::hash_tables::{IndexMap, IndexSet};
use crate::labels::Condition;
use crate::merge::Merge;
use crate::profile::{Profile, Sum};

/// Adds profiles up, by the value that their samples have for a label.
#[derive(Debug)]
pub struct MergeBy {
    condition: Condition,
    label: String,
    merges: IndexMap<String, Merge>,
    /// Profiles with a value that was one too many.
    left_out: u64,
}

impl MergeBy {
    pub fn new(condition: Option<Condition>, label: &str) -> Self {
        Self {
            condition: condition.unwrap_or_default(),
            label: label.to_owned(),
            merges: IndexMap::default(),
            left_out: 0,
        }
    }

    /// Adds a profile. The error is a clause about it: the merged tables are full.
    pub fn add(&mut self, profile: &Profile) -> Result<(), String> {
        let samples = profile
            .samples()
            .into_iter()
            .flat_map(|(_, samples)| samples);
        let values = samples.map(|samples| {
            let value = samples.labels.get(&self.label);
            value.unwrap_or_default().to_owned()
        });
        for value in values.collect::<IndexSet<String>>() {
            if !self.merges.contains_key(&value) {
                if self.merges.len() == MAX_MERGED_VALUES {
                    self.left_out += 1;
                    continue;
                }
                let condition = self.condition.clone().and(&self.label, &value);
                let merge = Merge::new(Some(condition), false, false);
                self.merges.insert(value.clone(), merge);
            }
            self.merges[&value].add(profile)?;
        }
        Ok(())
    }

    /// The recording, whose processes are named after the values in the order in which they came, and how many profiles have a
    /// value that was one too many. A value that no sample is left of has none.
    pub fn finish(self) -> Result<(Recording, u64), String> {
        let mut sum = Sum::default();
        let mut recording = Recording::of_one(EventLoop::default(), 1., None);
        recording.processes.clear();
        for (value, merge) in self.merges {
            let (event_loops, of_value, _) = merge.finish_event_loops()?;
            if event_loops.is_empty() {
                continue;
            }
            sum.add(of_value);
            recording.processes.push(Process {
                name: format!("{}={value}", self.label),
                event_loops,
                ..Process::default()
            });
        }
        if let Some(interval) = sum.mean() {
            recording.interval = interval;
        }
        Ok((recording, self.left_out))
    }
}
