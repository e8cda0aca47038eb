/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The recordings that about:profiling shows.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use profile_formats::Recording;
use serde::Serialize;

/// Recordings in memory, until they are forgotten or the browser ends.
#[derive(Default)]
pub struct Recordings(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    last_id: u64,
    /// The number of recordings that were made in this run and not loaded from files.
    made: u64,
    recordings: BTreeMap<u64, Arc<NamedRecording>>,
}

pub struct NamedRecording {
    pub name: String,
    pub recording: Recording,
}

/// A recording in the list.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub id: String,
    pub name: String,
    pub samples: u64,
    pub event_loops: usize,
}

impl Recordings {
    /// Keeps a new recording, and gives its id.
    pub fn add_made(&self, recording: Recording) -> String {
        let mut kept = self.lock();
        kept.made += 1;
        let name = format!("Recording {}", kept.made);
        kept.add(name, recording)
    }

    /// Keeps a recording that was read from a file, and gives its id.
    pub fn add_loaded(&self, name: String, recording: Recording) -> String {
        self.lock().add(name, recording)
    }

    pub fn get(&self, id: &str) -> Option<Arc<NamedRecording>> {
        let id = id.parse().ok()?;
        self.lock().recordings.get(&id).cloned()
    }

    /// False if there is no such recording.
    pub fn forget(&self, id: &str) -> bool {
        let forgotten = id
            .parse()
            .ok()
            .and_then(|id: u64| self.lock().recordings.remove(&id));
        // A recording may be large, so it is dropped after the lock is released.
        forgotten.is_some()
    }

    /// In the order in which they were added.
    pub fn list(&self) -> Vec<Entry> {
        self.lock()
            .recordings
            .iter()
            .map(|(id, kept)| Entry {
                id: id.to_string(),
                name: kept.name.clone(),
                samples: kept
                    .recording
                    .event_loops()
                    .map(profile_formats::EventLoop::weight)
                    .sum(),
                event_loops: kept.recording.event_loops().count(),
            })
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // No update can be interrupted halfway by a panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn add(&mut self, name: String, recording: Recording) -> String {
        self.last_id += 1;
        let named = Arc::new(NamedRecording { name, recording });
        self.recordings.insert(self.last_id, named);
        self.last_id.to_string()
    }
}
