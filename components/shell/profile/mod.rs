/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `strobe profile`: a recording from before the page is opened until the run ends for any reason.

mod condition;
mod haste;
mod offer;
mod options;
mod output;
mod recording;

pub use self::haste::Haste;
pub use self::offer::offer;
pub use self::options::ProfileOptions;
pub use self::output::Output;
pub use self::recording::{Next, ProfileRecording};
