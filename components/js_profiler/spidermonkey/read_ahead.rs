/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Rules for unwinding that are read between the walks, for whole regions of the program's code.
//!
//! A walk that meets an address for the first time reads the tables for unwinding itself. That takes several
//! microseconds, because the processor's caches have nothing of the tables, and nothing of the code that reads them. The
//! next addresses are often near such an address. So the sampling thread reads the rules of all code around it.

use gimli::{UnwindContext, UnwindContextStorage};

use super::known_rule::KnownRule;
use super::modules::{BLOCK, LastCommon, Modules};
use crate::arch::Rule;

/// The size of a region, in bytes.
const REGION: usize = 8 * BLOCK;

/// With this many rows, all are forgotten. They take a megabyte.
const MAX_ROWS: usize = 1 << 16;

/// From `offset` in a block, up to the next row.
#[derive(Clone, Copy, PartialEq)]
struct Row {
    offset: u16,
    /// `None` if the walk has to find out itself: the code has no entry, or a bad one.
    rule: Option<Option<Rule>>,
}

/// The rules of the regions that walks have met.
pub struct ReadAhead {
    /// Where the program's code begins.
    begin: usize,
    /// For each block of that code, the index of its first row and the number of its rows. The number is 0 if the block
    /// was not read.
    blocks: Box<[[u32; 2]]>,
    rows: Vec<Row>,
    /// The regions that are to be read.
    met: [Option<usize>; 8],
}

impl ReadAhead {
    /// No region is read yet.
    pub fn new(modules: &Modules) -> Self {
        let code = &modules.program;
        let blocks = code.len().next_multiple_of(REGION) / BLOCK;
        Self {
            begin: code.start,
            blocks: vec![[0; 2]; blocks].into_boxed_slice(),
            rows: Vec::new(),
            met: [None; _],
        }
    }

    /// In bytes.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.blocks) + self.rows.capacity() * size_of::<Row>()
    }

    /// What was read of an address; `None` if nothing was. Allocates nothing.
    pub fn find(&self, address: usize) -> Option<KnownRule> {
        let at = address.checked_sub(self.begin)?;
        let [first, count] = self.blocks.get(at / BLOCK)?.map(|index| index as usize);
        let rows = self.rows.get(first..first + count)?;
        let offset = at % BLOCK;
        let after = rows.partition_point(|row| usize::from(row.offset) <= offset);
        let row = rows.get(after.checked_sub(1)?)?;
        let end = rows.get(after).map_or(BLOCK, |next| next.offset.into());
        Some(KnownRule {
            begin: address - offset + usize::from(row.offset),
            length: (end - usize::from(row.offset)) as u32,
            rule: row.rule?,
        })
    }

    /// Notes that a walk has met an address of which nothing was read. Allocates nothing.
    pub fn note(&mut self, address: usize) {
        let Some(region) = address.checked_sub(self.begin).map(|at| at / REGION) else {
            return;
        };
        let blocks = self.blocks.get(region * (REGION / BLOCK));
        let is_read = blocks.is_none_or(|[_, count]| *count > 0);
        if is_read || self.met.contains(&Some(region)) {
            return;
        }
        if let Some(free) = self.met.iter_mut().find(|met| met.is_none()) {
            *free = Some(region);
        }
    }

    /// Reads what is around the addresses that were noted. Must not be called on a thread that is stopped.
    pub fn read<S: UnwindContextStorage<usize>>(
        &mut self,
        modules: &Modules,
        context: &mut UnwindContext<usize, S>,
        last: &mut LastCommon,
    ) {
        for region in std::mem::take(&mut self.met).into_iter().flatten() {
            if self.rows.len() > MAX_ROWS {
                self.rows.clear();
                self.blocks.fill([0; 2]);
            }
            let begin = self.begin + region * REGION;
            let changes = changes(modules, begin, context, last);
            let blocks = self.blocks[region * (REGION / BLOCK)..].iter_mut();
            for (i, block) in blocks.take(REGION / BLOCK).enumerate() {
                let first = self.rows.len();
                let start = i * BLOCK;
                let (before, after) =
                    changes.split_at(changes.partition_point(|(at, _)| *at <= start));
                // The last rule before the block goes on in it.
                let carried = before.last().map(|(_, rule)| (start, *rule));
                let within = after
                    .iter()
                    .copied()
                    .take_while(|(at, _)| *at < start + BLOCK);
                self.rows
                    .extend(carried.into_iter().chain(within).map(|(at, rule)| Row {
                        offset: (at - start) as u16,
                        rule,
                    }));
                *block = [first, self.rows.len() - first].map(|number| number as u32);
            }
        }
    }
}

/// Where in the region that begins at `begin` the rule changes, in bytes from there, and to what. The first change is at
/// 0.
fn changes<S: UnwindContextStorage<usize>>(
    modules: &Modules,
    begin: usize,
    context: &mut UnwindContext<usize, S>,
    last: &mut LastCommon,
) -> Vec<(usize, Option<Option<Rule>>)> {
    let mut changes = vec![(0, None)];
    let mut change = |address: u64, rule| {
        let at = (address as usize).saturating_sub(begin);
        match changes.last_mut() {
            Some((before, known)) if *before == at => *known = rule,
            Some((_, known)) if *known == rule => {},
            _ => changes.push((at, rule)),
        }
    };
    let Some(module) = modules.at(begin) else {
        return changes;
    };
    let mut end = 0;
    let mut is_bad = false;
    module.functions(begin..begin + REGION, last, |function| {
        // Entries must not overlap.
        is_bad |= function.initial_address() < end;
        end = function.end_address();
        let mut read = || -> gimli::Result<()> {
            let mut rows = function.rows(&module.frames, &module.bases, context)?;
            while let Some(row) = rows.next_row()? {
                if row.end_address() > begin as u64 {
                    change(row.start_address(), Some(Rule::of_row(row)));
                }
            }
            Ok(())
        };
        is_bad |= read().is_err();
        change(end, None);
    });
    match is_bad {
        true => vec![(0, None)],
        false => changes,
    }
}
