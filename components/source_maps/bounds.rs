/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How large a map and a folder of maps may be. Maps come from anywhere, as pages do, and a small map may need large
//! tables.
//!
//! Reading the largest map takes less than 500 MB of memory: its content, a copy of the fields that are read, the texts,
//! and the mappings. What is found of functions in sources takes at most 150 MB more, and of lines without columns 100 MB.

/// Bytes of a map.
pub const MAX_MAP_BYTES: u64 = 100_000_000;

/// Mappings of a map, and lines of the script, together. One takes 28 bytes of memory.
pub const MAX_MAPPINGS: usize = 8_000_000;

/// Sources of a map; also names, and texts of sources.
pub const MAX_ENTRIES: usize = 2_000_000;

/// Sections of an index map.
pub const MAX_SECTIONS: usize = 100_000;

/// Bytes of the resolved URLs of all sources: each may have the base before it.
pub const MAX_URL_BYTES: usize = 64_000_000;

/// Bytes of the URL of a source. Longer ones are cut, and the cut is marked.
pub const MAX_ONE_URL_BYTES: usize = 1 << 16;

/// Bytes of a function's name. Longer ones are cut, and the cut is marked.
pub const MAX_NAME_BYTES: usize = 1 << 10;

/// Bytes of each of the fields about functions, `scopes` and `x_facebook_sources`. In memory they are about ten times
/// as large.
pub const MAX_SCOPES_BYTES: usize = 10_000_000;

/// Bytes of a source in which functions are looked for by their text. TypeScript's compiler is a file of 9 MB.
pub const MAX_OUTLINE_BYTES: usize = 16_000_000;

/// Bytes of all sources of a map in which functions are looked for. The functions of a text take at most four times
/// as much memory as the text.
pub const MAX_OUTLINED_BYTES: usize = 32_000_000;

/// Functions around a function whose name is asked for.
pub const MAX_FUNCTION_DEPTH: usize = 1_000;

/// Functions on lines without columns whose code is kept, and such lines. One takes at most 200 bytes of memory. A line
/// with more has no place in a source.
pub const MAX_PARTS_OF_LINES: usize = 500_000;

/// Files and folders in a folder of maps.
pub const MAX_FOLDER_ENTRIES: usize = 100_000;

/// Folders within folders.
pub const MAX_FOLDER_DEPTH: usize = 32;

/// Bytes of all maps of a folder that are read to see which script they are for.
pub const MAX_FOLDER_BYTES: u64 = 2_000_000_000;
