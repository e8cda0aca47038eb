/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The names for samples without a stack. Formats that have no activities show them as functions at the root. The
//! names are Chrome's where it has any, except for garbage collection: tools put a `(garbage collector)` on the stack
//! of the sample before it, and count it there.

use crate::recording::Activity;

/// If an activity has several names, the first one is written. If a name is of several activities, the first one is
/// read.
const NAMES: [(Option<Activity>, &str); 10] = [
    (Some(Activity::Program), "(program)"),
    (None, "(program)"),
    (Some(Activity::Idle), "(idle)"),
    (Some(Activity::Script), "(script)"),
    (Some(Activity::Gc), "(gc)"),
    (Some(Activity::Gc), "(garbage collector)"),
    (Some(Activity::Style), "(style)"),
    (Some(Activity::Layout), "(layout)"),
    (Some(Activity::Paint), "(paint)"),
    (Some(Activity::Other), "(other)"),
];

/// The name for a sample without a stack.
pub fn name(activity: Option<Activity>) -> &'static str {
    let entry = NAMES.iter().find(|(other, _)| *other == activity);
    entry.expect("every activity has a name").1
}

/// The activity of a sample whose stack has only this name. `None` if it is the name of a function.
pub fn activity(name: &str) -> Option<Option<Activity>> {
    let entry = NAMES.iter().find(|(_, other)| *other == name);
    entry.map(|(activity, _)| *activity)
}

/// All names.
pub fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(_, name)| *name)
}
