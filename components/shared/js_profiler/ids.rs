/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Ids of what is sampled: event loops, sessions, realms and documents.

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};
use servo_base::id::PipelineId;

/// An event loop (a script thread or a worker) and its JavaScript runtime. An id is never used twice in a
/// process.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct EventLoopId(pub u64);

/// A profiling session, which a `Profiler` object drives. An id is never used twice in a process.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct SessionId(pub u64);

/// A realm of the JavaScript engine: its address, unique among the living realms of a process. 0 stands for
/// no realm.
///
/// A session never outlives its realm, so a later realm at the same address is never mistaken for it.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct RealmId(pub u64);

/// The document, or the worker's global, that an activity is for. Unique within an event loop.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, MallocSizeOf, PartialEq, Serialize)]
pub struct DocumentId(u64);

impl DocumentId {
    /// How many bits an id has at most.
    pub(crate) const BITS: u32 = 59;

    /// The document of a pipeline. A pipeline has one document; a worker has the pipeline of the document
    /// that made it, but runs on an event loop of its own.
    ///
    /// `None` if the pipeline's number does not fit into an id. Servo gives no such number. The activities of
    /// such a pipeline would be shown to nobody.
    pub fn of_pipeline(pipeline: PipelineId) -> Option<Self> {
        let namespace = u64::from(pipeline.namespace_id.0);
        let index = u64::from(pipeline.index.0.get());
        let id = namespace << u32::BITS | index;
        (id >> Self::BITS == 0).then_some(Self(id))
    }

    pub(crate) fn to_bits(self) -> u64 {
        self.0
    }

    /// 0 stands for no document, because no pipeline has the index 0.
    pub(crate) fn from_bits(bits: u64) -> Option<Self> {
        (bits != 0).then_some(Self(bits))
    }
}
