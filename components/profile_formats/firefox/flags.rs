/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Flags of frames, since version 71, and of functions, since 75. They say which columns of a row hold something. A column that
//! holds nothing is 0 there, where older versions have null, -1 or false. What has been read is made the same for all versions.

use super::tables::{FrameTable, FuncTable};
use crate::error::Error;
use crate::json::check_length;

/// The first versions with flags.
const OF_FRAMES: u32 = 71;
const OF_FUNCTIONS: u32 = 75;

mod frame {
    /// Its address in a library.
    pub const ADDRESS: u32 = 1 << 1;
    pub const CATEGORY: u32 = 1 << 2;
    pub const LINE: u32 = 1 << 4;
    pub const COLUMN: u32 = 1 << 5;
    pub const ORIGINAL_LOCATION: u32 = 1 << 6;
}

mod function {
    pub const IS_JS: u32 = 1;
    pub const RELEVANT_FOR_JS: u32 = 1 << 1;
    pub const RESOURCE: u32 = 1 << 2;
    pub const SOURCE: u32 = 1 << 3;
    pub const LINE: u32 = 1 << 4;
    pub const COLUMN: u32 = 1 << 5;
    pub const ORIGINAL_LOCATION: u32 = 1 << 6;
}

impl FrameTable {
    /// `place` is that of the table.
    pub fn apply_flags(&mut self, version: u32, place: &str) -> Result<(), Error> {
        if version < OF_FRAMES {
            return Ok(());
        }
        let flags = checked(self.flags.take(), self.func.len(), place)?;
        for (column, flag) in [
            (&mut self.category, frame::CATEGORY),
            (&mut self.subcategory, frame::CATEGORY),
            (&mut self.line, frame::LINE),
            (&mut self.column, frame::COLUMN),
            (&mut self.original_location, frame::ORIGINAL_LOCATION),
        ] {
            clear(column, &flags, flag, None);
        }
        clear(&mut self.address, &flags, frame::ADDRESS, None);
        clear(&mut self.lib, &flags, frame::ADDRESS, None);
        Ok(())
    }
}

impl FuncTable {
    /// `place` is that of the table.
    pub fn apply_flags(&mut self, version: u32, place: &str) -> Result<(), Error> {
        if version < OF_FUNCTIONS {
            return Ok(());
        }
        let flags = checked(self.flags.take(), self.name.len(), place)?;
        let has = |flag: u32| flags.iter().map(move |flags| flags & flag != 0).collect();
        self.is_js = has(function::IS_JS);
        self.relevant_for_js = has(function::RELEVANT_FOR_JS);
        for (column, flag) in [
            (&mut self.source, function::SOURCE),
            (&mut self.line_number, function::LINE),
            (&mut self.column_number, function::COLUMN),
            (&mut self.original_location, function::ORIGINAL_LOCATION),
        ] {
            clear(column, &flags, flag, None);
        }
        clear(&mut self.resource, &flags, function::RESOURCE, -1);
        Ok(())
    }
}

fn checked(flags: Option<Vec<u32>>, rows: usize, place: &str) -> Result<Vec<u32>, Error> {
    let flags = flags.ok_or_else(|| Error::new(place, "missing field `flags`"))?;
    check_length(flags.len(), rows, || format!("{place}.flags"))?;
    Ok(flags)
}

fn clear<T: Copy>(column: &mut [T], flags: &[u32], flag: u32, nothing: T) {
    for (value, flags) in column.iter_mut().zip(flags) {
        if flags & flag == 0 {
            *value = nothing;
        }
    }
}
