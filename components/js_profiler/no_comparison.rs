/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Without the feature `stock_walk` there is no second walk to compare with, and so no value of this type.

use std::collections::BTreeMap;

use crate::spidermonkey::{SampledContext, StackBuffer, Unwinder, WalkOutcome};
use crate::stop::Stopped;

/// A comparison of the two walks, which does not exist here: see `comparison.rs`.
pub enum Comparison {}

impl Comparison {
    /// No comparison, whatever the context.
    pub fn wanted(_: &SampledContext) -> Option<Self> {
        None
    }

    /// Never called, as there is no value.
    pub fn walk(&mut self, _: &SampledContext, _: &Stopped, _: &mut Unwinder) {
        match *self {}
    }

    /// As for [`Self::walk`].
    pub fn compare(&mut self, _: WalkOutcome, _: &StackBuffer) {
        match *self {}
    }

    /// As for [`Self::walk`].
    pub fn take(&mut self) -> BTreeMap<(), u64> {
        match *self {}
    }
}
