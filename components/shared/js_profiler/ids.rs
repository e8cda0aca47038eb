/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Ids of the things that a sampler knows.

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};
use servo_base::id::PipelineId;

/// A profiler group: one event loop (a script thread or a worker) and its JavaScript runtime.
/// Unique in a process for as long as the process lives.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct GroupId(pub u64);

/// A profiling session, which a `Profiler` object drives. Unique in a process.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct SessionId(pub u64);

/// A realm of the JavaScript engine, unique among the living realms of a process.
///
/// A session never outlives its realm, so that a later realm at the same place is never taken for it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct RealmId(pub u64);

/// The document, or the worker's global, that work is done for. Unique among those of an event loop.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct DocumentId(u64);

impl DocumentId {
    /// Ids fit into this many bits.
    pub(crate) const BITS: u32 = 59;

    /// A pipeline has one document, and a worker has the pipeline of the document that made it on an
    /// event loop of its own. None for a pipeline whose number is larger than any that Servo gives:
    /// as nobody's, its work is shown to nobody.
    pub fn of_pipeline(pipeline: PipelineId) -> Option<Self> {
        let namespace = u64::from(pipeline.namespace_id.0);
        let index = u64::from(pipeline.index.0.get());
        let id = namespace << u32::BITS | index;
        (id >> Self::BITS == 0).then_some(Self(id))
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// 0 is no document: no pipeline has it for its index.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self(bits))
    }
}
