/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#[path = "../../../components/shell/about_profiling/query.rs"]
mod query;
#[path = "../../../components/shell/about_profiling/recording_options.rs"]
mod recording_options;

pub use self::query::Query;
pub use self::recording_options::recording_options;
