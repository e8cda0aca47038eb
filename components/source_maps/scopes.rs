/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The functions that a map itself names: the field `scopes`, a proposal for ECMA-426.
//! <https://tc39.es/ecma426/branch/proposal-scopes/#sec-scopes>
//!
//! Variables and their values are not kept.

use crate::bounds::MAX_FUNCTION_DEPTH;
use crate::mappings::{BadNumber, Numbers};
use crate::notice::quoted;

const NO_START: &str = "ends what has not begun";
const ORDER: &str = "is not in order";

/// Line and column, each from 0 on.
pub type Position = (u32, u32);

/// A scope of a source or a range of the script, from `start` up to `end`. It is within its parent.
struct Extent {
    start: Position,
    end: Position,
    parent: Option<u32>,
    is_function: bool,
    /// For a scope, the index of its name; for a range, the index of its scope.
    refers_to: Option<u32>,
}

#[derive(Default)]
pub struct Scopes {
    /// Of all sources, in the order of their beginnings in each.
    originals: Vec<Extent>,
    /// The first one of each source.
    first_of_source: Vec<usize>,
    /// Of the script, in the order of their beginnings.
    ranges: Vec<Extent>,
}

impl Scopes {
    /// Reads the field. `names` is how many names the map has.
    pub fn decode(text: &str, names: usize) -> Result<Self, String> {
        let mut decoder = Decoder::default();
        for item in text.split(',') {
            decoder
                .read(item, names)
                .map_err(|why| format!("the item {} {why}", quoted(item)))?;
        }
        match decoder.open_scopes.is_empty() && decoder.open_ranges.is_empty() {
            true => Ok(decoder.scopes),
            false => Err("an item has no end".to_owned()),
        }
    }

    /// Whether they say where in the script the functions are.
    pub fn have_ranges(&self) -> bool {
        !self.ranges.is_empty()
    }

    /// The index of the name of the function that runs at a place of the script. An inlined function counts as part of the
    /// one that it is in.
    pub fn name_in_script(&self, place: Position) -> Option<u32> {
        let range = innermost(&self.ranges, 0, place)?;
        let scope = self.originals.get(range.refers_to? as usize)?;
        scope.refers_to
    }

    /// The index of the name of the function that a place of a source is in.
    pub fn name_in_source(&self, source: usize, place: Position) -> Option<u32> {
        let first = *self.first_of_source.get(source)?;
        let next = self.first_of_source.get(source + 1);
        let end = next.copied().unwrap_or(self.originals.len());
        innermost(self.originals.get(first..end)?, first, place)?.refers_to
    }
}

/// The innermost function at `place`. `first` is the index of the first of `extents`, as parents count.
fn innermost(extents: &[Extent], first: usize, place: Position) -> Option<&Extent> {
    let behind = extents.partition_point(|extent| extent.start <= place);
    let last = extents.get(behind.checked_sub(1)?)?;
    let parent = |extent: &&Extent| extents.get((extent.parent? as usize).checked_sub(first)?);
    std::iter::successors(Some(last), parent)
        .take(MAX_FUNCTION_DEPTH)
        .find(|extent| extent.is_function && place < extent.end)
}

#[derive(Default)]
struct Decoder {
    scopes: Scopes,
    open_scopes: Vec<u32>,
    open_ranges: Vec<u32>,
    scope_at: Position,
    range_at: Position,
    name: i64,
    kind: i64,
    definition: i64,
}

impl Decoder {
    fn read(&mut self, item: &str, names: usize) -> Result<(), String> {
        let mut numbers = Numbers::of(item);
        if numbers.is_at_end() {
            // A source without scopes.
            if self.open_scopes.is_empty() && self.scopes.ranges.is_empty() {
                self.begin_source();
            }
            return Ok(());
        }
        match numbers.unsigned()? {
            // OriginalScopeStart
            1 => self.begin_scope(&mut numbers, names),
            // OriginalScopeEnd
            2 => {
                let scope = self.open_scopes.pop().ok_or(NO_START)?;
                let lines = numbers.unsigned()?;
                advance(&mut self.scope_at, lines, numbers.unsigned()?)?;
                self.scopes.originals[scope as usize].end = self.scope_at;
                Ok(())
            },
            // GeneratedRangeStart
            4 => self.begin_range(&mut numbers),
            // GeneratedRangeEnd
            5 => {
                let range = self.open_ranges.pop().ok_or(NO_START)?;
                let first = numbers.unsigned()?;
                let (lines, columns) = match numbers.is_at_end() {
                    true => (0, first),
                    false => (first, numbers.unsigned()?),
                };
                advance(&mut self.range_at, lines, columns)?;
                self.scopes.ranges[range as usize].end = self.range_at;
                Ok(())
            },
            // Variables and unknown items.
            _ => Ok(()),
        }
    }

    fn begin_source(&mut self) {
        self.scopes
            .first_of_source
            .push(self.scopes.originals.len());
        self.scope_at = (0, 0);
    }

    fn begin_scope(&mut self, numbers: &mut Numbers<'_>, names: usize) -> Result<(), String> {
        if !self.scopes.ranges.is_empty() {
            return Err(ORDER.to_owned());
        }
        if self.open_scopes.is_empty() {
            self.begin_source();
        }
        let flags = numbers.unsigned()?;
        let lines = numbers.unsigned()?;
        advance(&mut self.scope_at, lines, numbers.unsigned()?)?;
        let name = match flags & 1 != 0 {
            true => Some(relative_name(&mut self.name, numbers.signed()?, names)?),
            false => None,
        };
        if flags & 2 != 0 {
            relative_name(&mut self.kind, numbers.signed()?, names)?;
        }
        let index = self.scopes.originals.len() as u32;
        self.scopes.originals.push(Extent {
            start: self.scope_at,
            end: self.scope_at,
            parent: self.open_scopes.last().copied(),
            is_function: flags & 4 != 0,
            refers_to: name,
        });
        self.open_scopes.push(index);
        Ok(())
    }

    fn begin_range(&mut self, numbers: &mut Numbers<'_>) -> Result<(), String> {
        if !self.open_scopes.is_empty() {
            return Err(ORDER.to_owned());
        }
        let flags = numbers.unsigned()?;
        let lines = match flags & 1 != 0 {
            true => numbers.unsigned()?,
            false => 0,
        };
        advance(&mut self.range_at, lines, numbers.unsigned()?)?;
        let definition = match flags & 2 != 0 {
            true => {
                self.definition = self.definition.saturating_add(numbers.signed()?);
                u32::try_from(self.definition).ok()
            },
            false => None,
        };
        let index = self.scopes.ranges.len() as u32;
        self.scopes.ranges.push(Extent {
            start: self.range_at,
            end: self.range_at,
            parent: self.open_ranges.last().copied(),
            // A hidden range is a function that the source does not have.
            is_function: flags & 12 == 4,
            refers_to: definition,
        });
        self.open_ranges.push(index);
        Ok(())
    }
}

fn advance(at: &mut Position, lines: u32, columns: u32) -> Result<(), String> {
    let (line, column) = *at;
    let sum = match lines {
        0 => column.checked_add(columns).map(|column| (line, column)),
        _ => line.checked_add(lines).map(|line| (line, columns)),
    };
    *at = sum.ok_or(BadNumber::TooLarge)?;
    Ok(())
}

fn relative_name(index: &mut i64, by: i64, names: usize) -> Result<u32, String> {
    *index = index.saturating_add(by);
    match u32::try_from(*index) {
        Ok(name) if (name as usize) < names => Ok(name),
        _ => Err("refers to a name that is not there".to_owned()),
    }
}
