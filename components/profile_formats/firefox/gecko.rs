/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What Firefox itself writes (`MOZ_PROFILER_SHUTDOWN`, `MOZ_PROFILER_STARTUP` and a signal), before the Firefox Profiler has
//! processed it: <https://github.com/firefox-devtools/profiler/blob/main/docs-developer/gecko-profile-format.md>. We do not
//! write it.
//!
//! A table is a list of rows, and `schema` says in which column is what. A frame's `location` is a text:
//! `name (url:line:column)[source]` for a function of a script, with the place of its definition, `url[source]` for the top
//! level, and a name or an address for code of the machine. Processes are within each other. The times of each are those since
//! its own start.
//!
//! The rows become the tables of a processed profile, from which the samples are read.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

use super::meta::Meta;
use super::samples::{Keep, Samples};
use super::tables::{
    ADDRESS, FrameTable, FuncTable, Index, Reader, SourceLocations, Sources, StackTable, Tables,
};
use super::threads::{Markers, Processes, Thread, Wanted, read_thread};
use crate::counted::TOO_LARGE;
use crate::error::Error;
use crate::json::Source;
use crate::recording::Recording;

/// The newest version of Firefox's own format that is read.
const NEWEST_VERSION: u64 = 36;

#[derive(Deserialize)]
struct Profile {
    meta: Meta,
    #[serde(default)]
    sources: Table,
    threads: Vec<RawThread>,
    #[serde(default)]
    processes: Vec<Profile>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawThread {
    #[serde(default)]
    name: String,
    process_name: Option<String>,
    #[serde(default)]
    pid: Value,
    string_table: Vec<String>,
    frame_table: Table,
    stack_table: Table,
    samples: Table,
}

#[derive(Default, Deserialize)]
struct Table {
    schema: HashMap<String, usize>,
    data: Rows,
}

/// The rows of a table, one behind the other: there may be many short ones.
#[derive(Default)]
struct Rows {
    cells: Vec<Cell>,
    /// For each row, the number of cells up to its end.
    ends: Vec<u32>,
}

impl Rows {
    fn len(&self) -> usize {
        self.ends.len()
    }

    fn row(&self, index: usize) -> &[Cell] {
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cells[start as usize..self.ends[index] as usize]
    }
}

impl<'de> Deserialize<'de> for Rows {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AllRows;

        impl<'de> Visitor<'de> for AllRows {
            type Value = Rows;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a list of rows")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Rows, A::Error> {
                let mut rows = Rows::default();
                while let Some(end) = list.next_element_seed(Row(&mut rows.cells))? {
                    rows.ends.push(end);
                }
                Ok(rows)
            }
        }

        deserializer.deserialize_seq(AllRows)
    }
}

/// Reads a row behind other cells. Its value is their number.
struct Row<'a>(&'a mut Vec<Cell>);

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = u32;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = u32;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a row")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<u32, A::Error> {
        while let Some(cell) = list.next_element()? {
            self.0.push(cell);
        }
        // They take more memory than a profile may take long before.
        u32::try_from(self.0.len()).map_err(A::Error::custom)
    }
}

/// A value of a row. Texts and what is in values are of no use here.
#[derive(Clone, Copy)]
enum Cell {
    Nothing,
    Number(f64),
    Flag(bool),
}

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyValue;

        impl<'de> Visitor<'de> for AnyValue {
            type Value = Cell;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a value")
            }

            fn visit_bool<E>(self, flag: bool) -> Result<Cell, E> {
                Ok(Cell::Flag(flag))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Cell, E> {
                Ok(Cell::Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Cell, E> {
                Ok(Cell::Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Cell, E> {
                Ok(Cell::Number(number))
            }

            fn visit_str<E>(self, _: &str) -> Result<Cell, E> {
                Ok(Cell::Nothing)
            }

            fn visit_unit<E>(self) -> Result<Cell, E> {
                Ok(Cell::Nothing)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Cell, A::Error> {
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Cell::Nothing)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Cell::Nothing)
            }
        }

        deserializer.deserialize_any(AnyValue)
    }
}

impl Table {
    fn column(&self, name: &str) -> Column<'_> {
        Column {
            rows: &self.data,
            index: self.schema.get(name).copied(),
        }
    }
}

/// A column of a table, which may not have it.
#[derive(Clone, Copy)]
struct Column<'a> {
    rows: &'a Rows,
    index: Option<usize>,
}

impl Column<'_> {
    /// `Nothing` where a row ends before the column.
    fn cell(self, row: usize) -> Cell {
        let cell = self.index.and_then(|index| self.rows.row(row).get(index));
        cell.copied().unwrap_or(Cell::Nothing)
    }

    fn number(self, row: usize) -> Option<f64> {
        match self.cell(row) {
            Cell::Number(number) => Some(number),
            Cell::Nothing | Cell::Flag(_) => None,
        }
    }

    /// A number from 0 on.
    fn whole(self, row: usize) -> Option<u32> {
        let number = self.number(row)?;
        let is_whole = (0. ..=f64::from(u32::MAX)).contains(&number) && number.fract() == 0.;
        is_whole.then_some(number as u32)
    }

    fn flag(self, row: usize) -> bool {
        matches!(self.cell(row), Cell::Flag(true))
    }

    /// An index of a table of this length.
    fn index(self, row: usize, table: &str, length: usize, place: &str) -> Result<u32, Error> {
        let index = self.whole(row);
        let index = index.filter(|index| (*index as usize) < length);
        index.ok_or_else(|| {
            let found = match self.cell(row) {
                Cell::Number(number) => number.to_string(),
                Cell::Nothing => "nothing".to_owned(),
                Cell::Flag(flag) => flag.to_string(),
            };
            let problem = format!("{found} is not an index of {table}, which has {length}");
            Error::new(format!("{place}.data[{row}]"), problem)
        })
    }

    /// The same, or nothing.
    fn index_if_any(
        self,
        row: usize,
        table: &str,
        length: usize,
        place: &str,
    ) -> Result<Option<Index>, Error> {
        match self.cell(row) {
            Cell::Nothing => Ok(None),
            // Less than a length, it is one.
            _ => Ok(Index::try_from(self.index(row, table, length, place)?).ok()),
        }
    }
}

pub fn read(source: &mut impl Source, mut memory: u64, keep: Keep) -> Result<Recording, Error> {
    let profile: Profile = source.read(&mut memory)?;
    if profile
        .meta
        .version
        .as_u64()
        .is_none_or(|version| version > NEWEST_VERSION)
    {
        let problem = format!(
            "{} is none of the versions of Firefox's own format that are read, which end with {NEWEST_VERSION}",
            profile.meta.version
        );
        return Err(Error::new("meta.version", problem));
    }
    let keep = keep.for_file(&profile.meta);
    let mut processes = Processes::default();
    let origin = profile.meta.start_time;
    let meta = read_process(profile, None, origin, keep, &mut memory, &mut processes)?;
    processes.into_recording(&meta)
}

/// Reads a process and those in it. Returns what it says about itself.
fn read_process(
    profile: Profile,
    place: Option<&str>,
    origin: f64,
    keep: Keep,
    memory: &mut u64,
    processes: &mut Processes,
) -> Result<Meta, Error> {
    let Profile {
        mut meta,
        sources,
        threads,
        processes: others,
    } = profile;
    let within = |member: &str, index: usize| match place {
        None => format!("{member}[{index}]"),
        Some(place) => format!("{place}.{member}[{index}]"),
    };
    // Without a start, its times are those of the first process.
    let since_origin = match meta.start_time {
        0. => 0.,
        start => start - origin,
    };
    for (index, thread) in threads.into_iter().enumerate() {
        let place = within("threads", index);
        let mut left = *memory;
        let rows = RowReader {
            sources: &sources,
            since_origin,
            place: &place,
        };
        let raw = rows.read(thread, &mut left)?;
        let tables = Tables {
            place: &place,
            stacks: &raw.stacks,
            frames: &raw.frames,
            funcs: &raw.funcs,
            strings: &raw.strings,
            sources: &Sources::default(),
            locations: &SourceLocations::default(),
        };
        let taken = *memory - left;
        let mut reader = Reader::new(tables, &meta);
        let mut sums = keep.sums();
        let event_loop = read_thread(
            &raw.thread,
            &mut reader,
            (Wanted::OfSamples, sums.as_mut()),
            &meta,
            &mut left,
            &place,
        )?;
        // What was made of the rows is dropped.
        *memory = left + taken;
        processes.add(&raw.thread, event_loop);
    }
    for (index, process) in others.into_iter().enumerate() {
        let place = within("processes", index);
        // Only the first process has it.
        let mut process = process;
        process.meta.interval = meta.interval;
        let other = read_process(process, Some(&place), origin, keep, memory, processes)?;
        drop(other);
    }
    meta.start_time = origin;
    Ok(meta)
}

/// A thread and the tables that were made of its rows.
struct Read {
    thread: Thread,
    stacks: StackTable,
    frames: FrameTable,
    funcs: FuncTable,
    strings: Vec<String>,
}

struct RowReader<'a> {
    sources: &'a Table,
    /// In milliseconds.
    since_origin: f64,
    place: &'a str,
}

/// Bytes for each row of a table, with what is known of it and room for more rows, and for each function.
const STACK: usize = 40;
const FRAME: usize = 90;
const SAMPLE: usize = 32;
const FUNCTION: usize = 140;

impl RowReader<'_> {
    fn read(&self, thread: RawThread, memory: &mut u64) -> Result<Read, Error> {
        let RawThread {
            name,
            process_name,
            pid,
            string_table,
            frame_table,
            stack_table,
            samples,
        } = thread;
        // A text may become a name and a URL.
        let texts: usize = string_table.iter().map(|text| FUNCTION + text.len()).sum();
        let rows = STACK * stack_table.data.len()
            + FRAME * frame_table.data.len()
            + SAMPLE * samples.data.len();
        let left = memory.checked_sub((texts + rows) as u64);
        *memory = left.ok_or_else(|| Error::new(self.place, TOO_LARGE))?;
        let stacks = self.stacks(&stack_table, frame_table.data.len())?;
        let samples = self.samples(&samples, stack_table.data.len())?;
        let (frames, funcs, strings) = self.frames(&frame_table, string_table)?;
        let thread = Thread {
            name,
            process_name,
            process_shutdown_time: None,
            pid,
            samples,
            stack_table: None,
            frame_table: None,
            func_table: None,
            string_array: None,
            markers: Markers::default(),
        };
        Ok(Read {
            thread,
            stacks,
            frames,
            funcs,
            strings,
        })
    }

    fn stacks(&self, table: &Table, frames: usize) -> Result<StackTable, Error> {
        let place = format!("{}.stackTable", self.place);
        let (prefix, frame) = (table.column("prefix"), table.column("frame"));
        let rows = 0..table.data.len();
        let prefixes = rows.clone().map(|row| {
            // A caller comes first.
            prefix.index_if_any(row, "the stacks before it", row, &place)
        });
        let prefix = prefixes.collect::<Result<_, _>>()?;
        let frame = rows.map(|row| frame.index(row, "frameTable", frames, &place));
        Ok(StackTable {
            prefix: Some(prefix),
            prefix_offset: None,
            frame: frame.collect::<Result<_, _>>()?,
        })
    }

    fn samples(&self, table: &Table, stacks: usize) -> Result<Samples, Error> {
        let place = format!("{}.samples", self.place);
        let (stack, time) = (table.column("stack"), table.column("time"));
        let rows = 0..table.data.len();
        let stacks = rows
            .clone()
            .map(|row| stack.index_if_any(row, "stackTable", stacks, &place));
        let stack = stacks.collect::<Result<_, _>>()?;
        let times = rows.map(|row| {
            let time = time.number(row).map(|time| time + self.since_origin);
            time.ok_or_else(|| Error::new(format!("{place}.data[{row}]"), "no time"))
        });
        Ok(Samples {
            stack,
            time: Some(times.collect::<Result<_, _>>()?),
            time_deltas: None,
            weight: None,
            weight_type: None,
        })
    }

    /// The frames, the functions in which they are, and the strings of these.
    fn frames(
        &self,
        table: &Table,
        mut strings: Vec<String>,
    ) -> Result<(FrameTable, FuncTable, Vec<String>), Error> {
        let place = format!("{}.frameTable", self.place);
        let location = table.column("location");
        let relevant_for_js = table.column("relevantForJS");
        let mut frames = FrameTable::default();
        let mut funcs = FuncTable::default();
        let mut by_location: HashMap<u32, u32> = HashMap::new();
        let mut by_text: HashMap<String, u32> = HashMap::new();
        let count = strings.len();
        for row in 0..table.data.len() {
            let location = location.index(row, "stringTable", count, &place)?;
            let func = *by_location.entry(location).or_insert_with(|| {
                let text = strings[location as usize].clone();
                let mut add = |text: &str| match by_text.get(text) {
                    Some(index) => *index,
                    None => {
                        let index = strings.len() as u32;
                        strings.push(text.to_owned());
                        by_text.insert(text.to_owned(), index);
                        index
                    },
                };
                let (mut file, mut start) = (None, [None, None]);
                let name = match Location::of(&text) {
                    Location::Native(name) => add(name),
                    Location::Script { name, url, place } => {
                        file = Some(add(url));
                        start = match place {
                            Start::At(line, column) => [Some(line), column],
                            Start::OfSource(source) => self.start_of(source),
                        };
                        add(name)
                    },
                };
                funcs.name.push(name);
                funcs.is_js.push(file.is_some());
                let is_label = file.is_none() && relevant_for_js.flag(row);
                funcs.relevant_for_js.push(is_label);
                funcs.file_name.push(file);
                funcs.line_number.push(start[0]);
                funcs.column_number.push(start[1]);
                funcs.name.len() as u32 - 1
            });
            frames.func.push(func);
            for (column, name) in [
                (&mut frames.category, "category"),
                (&mut frames.subcategory, "subcategory"),
                (&mut frames.line, "line"),
                (&mut frames.column, "column"),
            ] {
                column.push(table.column(name).whole(row));
            }
        }
        Ok((frames, funcs, strings))
    }

    /// Where the text of a script begins.
    fn start_of(&self, source: usize) -> [Option<u32>; 2] {
        let number = |name: &str| match source < self.sources.data.len() {
            true => self.sources.column(name).whole(source),
            false => None,
        };
        ["startLine", "startColumn"].map(|name| number(name).or(Some(1)))
    }
}

/// What the text of a frame says.
#[derive(Debug, PartialEq)]
enum Location<'a> {
    Script {
        name: &'a str,
        url: &'a str,
        place: Start,
    },
    /// A label, or code of the machine.
    Native(&'a str),
}

/// Where a function is defined.
#[derive(Debug, PartialEq)]
enum Start {
    At(u32, Option<u32>),
    /// Where the text begins; the number of a source.
    OfSource(usize),
}

impl<'a> Location<'a> {
    fn of(text: &'a str) -> Self {
        if text.starts_with(ADDRESS) {
            return Self::Native(text);
        }
        if let Some((name, _)) = text.rsplit_once(" (in ") {
            return Self::Native(name);
        }
        let number = text
            .strip_suffix(']')
            .and_then(|text| text.rsplit_once('['));
        let number = number.and_then(|(before, source)| Some((before, source.parse().ok()?)));
        let (rest, source) = match number {
            Some((before, source)) => (before, Some(source)),
            None => (text, None),
        };
        let in_parentheses = rest
            .strip_suffix(')')
            .and_then(|rest| rest.rsplit_once(" ("));
        let (name, definition) = in_parentheses.unwrap_or(("", rest));
        if let Some((url, line, column)) = split_place(definition) {
            let place = Start::At(line, column);
            return Self::Script { name, url, place };
        }
        match source {
            Some(source) if in_parentheses.is_none() && !rest.is_empty() => Self::Script {
                name: "",
                url: rest,
                place: Start::OfSource(source),
            },
            _ => Self::Native(text),
        }
    }
}

/// A URL, a line and a column.
fn split_place(text: &str) -> Option<(&str, u32, Option<u32>)> {
    let (before, last) = split_number(text)?;
    match split_number(before) {
        Some((url, line)) if !url.is_empty() => Some((url, line, Some(last))),
        _ => (!before.is_empty()).then_some((before, last, None)),
    }
}

fn split_number(text: &str) -> Option<(&str, u32)> {
    let (before, number) = text.rsplit_once(':')?;
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let number = number.parse().ok().filter(|_| is_number)?;
    Some((before, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_frame_is_taken_apart() {
        let script = |name, url, line, column| Location::Script {
            name,
            url,
            place: Start::At(line, column),
        };
        for (text, expected) in [
            (
                "fib (http://a.test/p.mjs:1:13)[8]",
                script("fib", "http://a.test/p.mjs", 1, Some(13)),
            ),
            ("f (a.js:3)", script("f", "a.js", 3, None)),
            (
                "a (b)/< (https://a.test:80/x.js:2:3)",
                script("a (b)/<", "https://a.test:80/x.js", 2, Some(3)),
            ),
            ("a.js:7:9[0]", script("", "a.js", 7, Some(9))),
            (
                "http://a.test/p.mjs[8]",
                Location::Script {
                    name: "",
                    url: "http://a.test/p.mjs",
                    place: Start::OfSource(8),
                },
            ),
            ("(root)", Location::Native("(root)")),
            ("js::RunScript", Location::Native("js::RunScript")),
            ("0x7f00:12", Location::Native("0x7f00:12")),
            (
                "JS_Call(JSContext*) (in libxul.so) + 12",
                Location::Native("JS_Call(JSContext*)"),
            ),
            ("f (no line)[3]", Location::Native("f (no line)[3]")),
            ("[3]", Location::Native("[3]")),
            ("a:99999999999", Location::Native("a:99999999999")),
            (":3", Location::Native(":3")),
        ] {
            assert_eq!(Location::of(text), expected, "{text}");
        }
    }
}
