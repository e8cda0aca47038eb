/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

#[path = "../../../components/shell/profile/options.rs"]
mod options;
#[path = "../../../components/shell/profile/output.rs"]
mod output;

pub use self::options::ProfileOptions;
pub use self::output::Output;
