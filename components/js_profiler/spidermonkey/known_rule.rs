/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Rules for unwinding, with the addresses that they are for.

use gimli::{UnwindContextStorage, UnwindTableRow};

use crate::arch::Rule;

/// The rule for some addresses; `None` if there is none for them.
#[derive(Clone, Copy)]
pub struct KnownRule {
    pub begin: usize,
    /// Of the addresses; 0 for a place that is free.
    pub length: u32,
    pub rule: Option<Rule>,
}

impl KnownRule {
    /// A place that is free.
    pub const FREE: Self = Self {
        begin: 0,
        length: 0,
        rule: None,
    };

    /// The rule for one address.
    pub fn at(address: usize, rule: Option<Rule>) -> Self {
        Self {
            begin: address,
            length: 1,
            rule,
        }
    }

    /// What a row of a table says.
    pub fn of_row<S: UnwindContextStorage<usize>>(row: &UnwindTableRow<usize, S>) -> Self {
        let length = row.end_address() - row.start_address();
        Self {
            begin: row.start_address() as usize,
            length: u32::try_from(length).unwrap_or(0),
            rule: Rule::of_row(row),
        }
    }

    /// Whether the rule is for an address.
    pub fn is_for(&self, address: usize) -> bool {
        address.wrapping_sub(self.begin) < self.length as usize
    }
}
