/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Lines of a script without columns: where the code of a function on such a line was written.
//!
//! A line of a script may have code of many functions and of many lines. Only mappings to the function itself count: to
//! what is between its beginning and its end in its source, and in no function within it. They say in which lines the code
//! was written, and not how often each of them ran.

use std::collections::HashMap;

use crate::bounds::MAX_PARTS_OF_LINES;
use crate::deadline::Deadline;
use crate::map::{Place, Section, Source, SourceMap};

/// How many mappings are read before the deadline is looked at again.
const MAPPINGS_AT_ONCE: usize = 1 << 12;

/// Where the code of a function on a line of the script was written. Lines begin with 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct OriginalLines<'a> {
    pub source: Source<'a>,
    pub first: u32,
    /// The same as the first one if it is the only one.
    pub last: u32,
}

/// Answers for lines of a script. After the deadline there are none.
pub struct MappedLines<'a> {
    map: &'a SourceMap,
    deadline: &'a Deadline,
    lines: HashMap<u32, Line>,
    /// How many parts these have, and one for each of them.
    parts: usize,
}

/// The code on a line.
#[derive(Default)]
struct Line {
    /// The first and the last line of the code of each function, from 0 on.
    parts: HashMap<Owner, (u32, u32)>,
    /// The sources that have code in no function here.
    top_levels: Vec<Owner>,
}

/// A function of a source.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct Owner {
    /// The indices of the section and of the source in it.
    section: u32,
    source: u32,
    function: Function,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum Function {
    /// By its index among those of the source.
    Of(u32),
    /// The code of a source that is in no function.
    TopLevel,
    /// The map does not have the text of the source.
    Unknown,
}

/// Whose code is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum CodeOf {
    /// The function that is defined at this place of the script.
    Function(Place),
    /// The script outside of its functions.
    TopLevel,
}

impl<'a> MappedLines<'a> {
    pub fn of(map: &'a SourceMap, deadline: &'a Deadline) -> Self {
        Self {
            map,
            deadline,
            lines: HashMap::new(),
            parts: 0,
        }
    }

    /// Where the code on a line of the script was written. `None` if the map does not say it, or if the code is in several
    /// sources.
    ///
    /// Without the text of the source, all mappings of the line to it count, unless the function begins on the line: then
    /// nobody knows where it ends.
    pub fn original(&mut self, code: CodeOf, line: u32) -> Option<OriginalLines<'a>> {
        let map = self.map;
        let owner = match code {
            CodeOf::TopLevel => None,
            CodeOf::Function(definition) => {
                let owner = Owner::defined_at(map, definition)?;
                if owner.function == Function::Unknown && definition.line == line {
                    return None;
                }
                Some(owner)
            },
        };
        let line = self.line(line)?;
        let owner = match (owner, &*line.top_levels) {
            (Some(owner), _) => owner,
            (None, [owner]) => *owner,
            _ => return None,
        };
        let (first, last) = *line.parts.get(&owner)?;
        Some(OriginalLines {
            source: map.sections[owner.section as usize].source(owner.source)?,
            first: first + 1,
            last: last + 1,
        })
    }

    /// `None` after the deadline.
    fn line(&mut self, line: u32) -> Option<&Line> {
        if !self.lines.contains_key(&line) {
            let read = Line::read(self.map, line, self.deadline)?;
            if self.parts > MAX_PARTS_OF_LINES {
                self.lines.clear();
                self.parts = 0;
            }
            self.parts += 1 + read.parts.len();
            self.lines.insert(line, read);
        }
        self.lines.get(&line)
    }
}

impl Owner {
    /// The function that is defined at a place of the script.
    fn defined_at(map: &SourceMap, definition: Place) -> Option<Self> {
        let (section, token) = map.token(definition)?;
        let source = token.get_src_id();
        let function = match map.outlined(section, source) {
            None => Function::Unknown,
            Some((outlined, text)) => {
                let (line, column) = token.get_src();
                // There may be no mapping for the bracket, but one for the beginning of the code before it.
                let behind = section.columns_behind(token, definition);
                let offset = |column| outlined.columns.offset(text, line, column);
                let columns = [Some(column), column.checked_add(behind)];
                let mut columns = columns.into_iter().flatten();
                let found =
                    columns.find_map(|column| outlined.outline.index_headed_at(offset(column)?));
                // As for names: the mapping may be to the word before the function.
                let on_line = || {
                    let offset = offset(column).filter(|_| behind > 0)?;
                    outlined.outline.index_defined_on_line(text, offset)
                };
                Function::Of(found.or_else(on_line)? as u32)
            },
        };
        Some(Self {
            section: map.index_of_section(definition)? as u32,
            source,
            function,
        })
    }
}

impl Line {
    /// The code on a line of the script, from 1 on. A line that has more than is kept of all has none. `None` after the
    /// deadline.
    fn read(map: &SourceMap, line: u32, deadline: &Deadline) -> Option<Self> {
        let mut read = Self::default();
        for index in map.sections_of_line(line) {
            let section = &map.sections[index];
            for (number, token) in tokens_of_line(section, line).enumerate() {
                if number % MAPPINGS_AT_ONCE == 0 && deadline.passed().is_some() {
                    return None;
                }
                if !token.has_source() {
                    continue;
                }
                let source = token.get_src_id();
                let (original_line, column) = token.get_src();
                let function = match map.outlined(section, source) {
                    None => Function::Unknown,
                    Some((outlined, text)) => {
                        let offset = outlined.columns.offset(text, original_line, column);
                        let Some(offset) = offset else { continue };
                        match outlined.outline.index_running_at(offset) {
                            Some(index) => Function::Of(index as u32),
                            None => Function::TopLevel,
                        }
                    },
                };
                let owner = Owner {
                    section: index as u32,
                    source,
                    function,
                };
                let part = read.parts.entry(owner).or_insert_with(|| {
                    if function == Function::TopLevel {
                        read.top_levels.push(owner);
                    }
                    (original_line, original_line)
                });
                *part = (part.0.min(original_line), part.1.max(original_line));
                if read.parts.len() > MAX_PARTS_OF_LINES {
                    return Some(Self::default());
                }
            }
        }
        Some(read)
    }
}

/// The mappings of a line of the script, from 1 on.
fn tokens_of_line(section: &Section, line: u32) -> impl Iterator<Item = sourcemap::Token<'_>> {
    let map = section.decoded();
    let line = section.line_in_section(line - 1);
    let count = map.get_token_count();
    let dst_line = move |index: u32| {
        map.get_token(index as usize)
            .map(|token| token.get_dst_line())
    };
    // Mappings are in the order of the script.
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        match dst_line(middle).is_some_and(|found| found < line) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    (low..count)
        .map_while(move |index| map.get_token(index as usize))
        .take_while(move |token| token.get_dst_line() == line)
}
