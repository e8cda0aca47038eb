/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Tables whose hash is quick, and seeded: nobody who sends a profile knows which keys collide.

pub use foldhash::fast::RandomState;
pub use foldhash::{HashMap, HashSet};

pub type IndexMap<K, V> = indexmap::IndexMap<K, V, RandomState>;
pub type IndexSet<T> = indexmap::IndexSet<T, RandomState>;
