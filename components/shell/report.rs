/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The report that `strobe profile` prints.

use profile_formats::{Outcome, Recording};
use profile_recorder::Progress;

/// The report on a recording that has just ended. `progress` is how it went.
pub fn recording_report(recording: &Recording, progress: Option<&Progress>, top: usize) -> String {
    let outcome = progress.map(|progress| Outcome {
        elapsed: progress.elapsed,
        missed: progress.missed,
        unwalkable: progress.unwalkable,
    });
    profile_formats::report(recording, outcome, top)
}
