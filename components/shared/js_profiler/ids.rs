/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Ids of the things that a sampler knows.

use malloc_size_of_derive::MallocSizeOf;
use serde::{Deserialize, Serialize};

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
