/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Thousands of profiles: those that the visitors of a page have sent home, or those of many runs of a program.
//!
//! [`Inputs`] finds the profiles in files, folders and streams, and reads several at a time. [`Merge`] adds them up to one
//! recording. [`Sessions`] keeps, for each session, the times of its functions, which [`diff`] compares with those of others.
//!
//! What visitors send comes from anybody. `bounds.rs` limits what is kept of it, and one bad input ends nothing: it is named
//! and left out.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod bootstrap;
mod bounds;
mod clocks;
mod diff;
mod diff_text;
mod difference;
mod envelope;
mod functions;
mod hash_tables;
mod inputs;
mod labels;
mod merge;
mod merge_by;
mod profile;
mod session_report;
mod sessions;
#[cfg(test)]
mod simulation;
mod table;

pub use crate::diff::{Change, Diff, Interval, REPLICATES, Side, diff};
pub use crate::difference::Difference;
pub use crate::functions::{Key, normalised_url};
pub use crate::inputs::{Input, Inputs, Options, Outcome};
pub use crate::labels::{Condition, Labels, NamePattern};
pub use crate::merge::{Counts, Merge};
pub use crate::merge_by::MergeBy;
pub use crate::profile::{Profile, Samples};
pub use crate::session_report::{Group, SessionReport};
pub use crate::sessions::{Percentiles, Session, Sessions};
