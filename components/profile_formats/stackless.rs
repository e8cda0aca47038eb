/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What stands for a stack where none was: formats without activities show them as functions at the root.
//! Names are Chrome's where it has any, but for garbage collection: tools put a `(garbage collector)` on the
//! stack of the sample before it, and count it there.

use crate::recording::Activity;

/// The first of an activity's is written.
const NAMES: [(Option<Activity>, &str); 9] = [
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

/// What a sample was, whose whole stack has this name; none if it is a function.
pub fn activity(name: &str) -> Option<Option<Activity>> {
    let entry = NAMES.iter().find(|(_, other)| *other == name);
    entry.map(|(activity, _)| *activity)
}
