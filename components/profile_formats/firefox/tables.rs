/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Reads the tables of functions, frames and stacks.
//!
//! Up to version 55 each thread has its own tables. Then the threads share more and more of them: the strings since 56,
//! `sources` in the place of the names of files since 58, and all others since 60. `prefixOffset` takes the place of
//! `prefix` in 66. A library is that of a function until 69, and that of a frame since 70. Since 71 and 75 frames and functions
//! have flags: `flags.rs`.
//!
//! Of tables that are shared a thread gets what its samples refer to. Of its own it gets everything.

use std::collections::HashMap;
use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use serde::Deserialize;

use super::meta::Meta;
use super::schema::{CATEGORIES, Flags, JAVASCRIPT, KINDS, RUNNING, RUNNING_BUILT_IN};
use crate::error::Error;
use crate::json::check_length;
use crate::label;
use crate::recording::{
    Activity, EventLoop, Frame, FrameId, Function, FunctionId, FunctionKind, GeneratedPlace,
    Invalid, Place, ResourceId, Source, SourceId, StackId,
};
use crate::stackless;

/// An index of a table. An absent one takes no room.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "u32")]
pub struct Index(NonZeroU32);

impl Index {
    pub fn get(self) -> usize {
        self.0.get() as usize - 1
    }
}

impl TryFrom<u32> for Index {
    type Error = String;

    fn try_from(index: u32) -> Result<Self, String> {
        let number = index.checked_add(1).and_then(NonZeroU32::new);
        let number = number.ok_or_else(|| format!("{index} is not an index of a table"))?;
        Ok(Self(number))
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackTable {
    pub prefix: Option<Vec<Option<Index>>>,
    /// How many entries before this one the prefix is; 0 if there is none.
    pub prefix_offset: Option<Vec<u32>>,
    pub frame: Vec<u32>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FrameTable {
    pub func: Vec<u32>,
    #[serde(default)]
    pub category: Vec<Option<u32>>,
    #[serde(default)]
    pub subcategory: Vec<Option<u32>>,
    #[serde(default)]
    pub line: Vec<Option<u32>>,
    #[serde(default)]
    pub column: Vec<Option<u32>>,
    /// -1 if there is none.
    #[serde(default)]
    pub address: Vec<Option<f64>>,
    /// That of code of the machine; -1 if there is none.
    #[serde(default)]
    pub lib: Vec<Option<i64>>,
    #[serde(default)]
    pub original_location: Vec<Option<u32>>,
    /// Which of the columns hold something: `flags.rs`.
    pub flags: Option<Vec<u32>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FuncTable {
    pub name: Vec<u32>,
    #[serde(default, rename = "isJS")]
    pub is_js: Vec<bool>,
    #[serde(default, rename = "relevantForJS")]
    pub relevant_for_js: Vec<bool>,
    #[serde(default)]
    pub file_name: Vec<Option<u32>>,
    #[serde(default)]
    pub source: Vec<Option<u32>>,
    #[serde(default)]
    pub line_number: Vec<Option<u32>>,
    #[serde(default)]
    pub column_number: Vec<Option<u32>>,
    /// A library's, for code of the machine; -1 if there is none.
    #[serde(default)]
    pub resource: Vec<i64>,
    #[serde(default)]
    pub original_location: Vec<Option<u32>>,
    /// Which of the columns hold something: `flags.rs`.
    pub flags: Option<Vec<u32>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sources {
    pub filename: Vec<u32>,
    #[serde(default)]
    pub start_line: Vec<Option<u32>>,
    #[serde(default)]
    pub start_column: Vec<Option<u32>>,
    #[serde(default, rename = "sourceMapURL")]
    pub source_map_url: Vec<Option<u32>>,
    #[serde(default)]
    pub content: Vec<Option<String>>,
}

#[derive(Default, Deserialize)]
pub struct SourceLocations {
    #[serde(default)]
    pub source: Vec<u32>,
    #[serde(default)]
    pub line: Vec<Option<u32>>,
    #[serde(default)]
    pub column: Vec<Option<u32>>,
}

/// What the threads of a file share.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Shared {
    pub string_array: Option<Vec<String>>,
    #[serde(default)]
    pub sources: Sources,
    pub stack_table: Option<StackTable>,
    pub frame_table: Option<FrameTable>,
    pub func_table: Option<FuncTable>,
    #[serde(default)]
    pub source_location_table: SourceLocations,
}

/// The tables that a thread refers to.
#[derive(Clone, Copy)]
pub struct Tables<'a> {
    /// Where they are in the file.
    pub place: &'a str,
    pub stacks: &'a StackTable,
    pub frames: &'a FrameTable,
    pub funcs: &'a FuncTable,
    pub strings: &'a [String],
    pub sources: &'a Sources,
    pub locations: &'a SourceLocations,
}

/// What the name of a function begins with if only an address of code of the machine is known.
pub const ADDRESS: &str = "0x";

/// A sample's stack and activity.
pub type Leaf = (Option<StackId>, Option<Activity>);

/// The entry at an index, if the column has one.
fn number(column: &[Option<u32>], index: usize) -> Option<u32> {
    column.get(index).copied().flatten()
}

fn nonzero(column: &[Option<u32>], index: usize) -> Option<NonZeroU32> {
    number(column, index).and_then(NonZeroU32::new)
}

impl<'a> Tables<'a> {
    pub fn string(self, index: u32, place: impl FnOnce() -> String) -> Result<&'a str, Error> {
        let string = self.strings.get(index as usize).map(String::as_str);
        string.ok_or_else(|| {
            Error::out_of_range(place(), index.into(), "stringArray", self.strings.len())
        })
    }

    pub fn check(self) -> Result<(), Error> {
        let StackTable {
            prefix,
            prefix_offset,
            frame,
        } = self.stacks;
        let (name, length) = match (prefix, prefix_offset) {
            (Some(prefix), _) => ("prefix", prefix.len()),
            (None, Some(offsets)) => ("prefixOffset", offsets.len()),
            (None, None) => {
                let problem = "neither prefix nor prefixOffset";
                return Err(Error::new(format!("{}.stackTable", self.place), problem));
            },
        };
        check_length(length, frame.len(), || {
            format!("{}.stackTable.{name}", self.place)
        })
    }

    /// The stack of the caller.
    fn parent(self, stack: usize) -> Result<Option<usize>, Error> {
        let (name, parent) = match (&self.stacks.prefix, &self.stacks.prefix_offset) {
            (Some(prefix), _) => ("prefix", prefix[stack].map(Index::get)),
            (None, offsets) => {
                let offset = offsets.as_ref().map_or(0, |offsets| offsets[stack]) as usize;
                let problem = || {
                    let place = format!("{}.stackTable.prefixOffset[{stack}]", self.place);
                    Error::new(place, format!("{offset} is before the first stack"))
                };
                let parent = stack.checked_sub(offset).ok_or_else(problem)?;
                ("prefixOffset", (offset > 0).then_some(parent))
            },
        };
        match parent {
            Some(parent) if parent >= stack => {
                let place = format!("{}.stackTable.{name}[{stack}]", self.place);
                Err(Error::no_stack_before(place, parent))
            },
            parent => Ok(parent),
        }
    }
}

impl FuncTable {
    fn kind(&self, func: usize) -> FunctionKind {
        let has = |column: &[bool]| column.get(func).copied().unwrap_or_default();
        let flags = Flags::new(has(&self.is_js), has(&self.relevant_for_js));
        let entry = KINDS.iter().find(|(_, other)| *other == flags);
        entry.expect("every kind has its flags").0
    }
}

/// What has been read of a table for a thread. Threads that share a table have it in turn, because there may be many, and
/// many entries that they do not refer to.
struct Known<T> {
    entries: Vec<Option<(u32, T)>>,
    turn: u32,
}

impl<T: Copy> Known<T> {
    fn of(length: usize) -> Self {
        Self {
            entries: vec![None; length],
            turn: 0,
        }
    }

    fn get(&self, index: usize) -> Option<T> {
        let (turn, value) = self.entries[index]?;
        (turn == self.turn).then_some(value)
    }

    fn set(&mut self, index: usize, value: T) -> T {
        self.entries[index] = Some((self.turn, value));
        value
    }
}

/// What tells a function from others: the index of its name, its source or the index of its URL, and the rest.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct FuncKey {
    name: u32,
    file: File,
    kind: FunctionKind,
    line: Option<NonZeroU32>,
    column: Option<NonZeroU32>,
    original: Option<u32>,
}

#[derive(Clone, Copy, Eq, Hash, PartialEq)]
enum File {
    Source(u32),
    Name(u32),
    /// The name of the top level of a script.
    TopLevel(u32),
}

/// Reads tables for one thread after the other.
pub struct Reader<'a> {
    tables: Tables<'a>,
    meta: &'a Meta,
    stacks: Known<Leaf>,
    frames: Known<FrameId>,
    funcs: Known<FunctionId>,
    texts: Texts,
}

/// That in `url[number]`, as Firefox names the top level of a script. The Firefox Profiler takes it for no function of a script,
/// and numbers the sources anew.
fn url_of_top_level(name: &str) -> Option<&str> {
    let (url, number) = name.strip_suffix(']')?.rsplit_once('[')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && url.contains("://")).then_some(url)
}

/// What the Firefox Profiler puts before the URL of a script for a function that has no name.
const UNNAMED: &str = "(root scope) ";

/// What has been made of strings for functions of a thread, by the strings' indices. Many functions may share a long string.
#[derive(Default)]
struct Texts {
    labels: HashMap<(u32, FunctionKind), FunctionId, RandomState>,
    files: HashMap<u32, Option<ResourceId>, RandomState>,
    sources: HashMap<u32, Option<SourceId>, RandomState>,
    functions: HashMap<FuncKey, FunctionId, RandomState>,
}

impl<'a> Reader<'a> {
    /// Of tables that have been checked.
    pub fn new(tables: Tables<'a>, meta: &'a Meta) -> Self {
        Self {
            tables,
            meta,
            stacks: Known::of(tables.stacks.frame.len()),
            frames: Known::of(tables.frames.func.len()),
            funcs: Known::of(tables.funcs.name.len()),
            texts: Texts::default(),
        }
    }

    /// About how much memory it takes, in bytes, beside what is made of the tables.
    pub fn bytes(tables: Tables<'_>) -> u64 {
        let entries = size_of::<Option<(u32, Leaf)>>() * tables.stacks.frame.len()
            + size_of::<Option<(u32, FrameId)>>() * tables.frames.func.len()
            + size_of::<Option<(u32, FunctionId)>>() * tables.funcs.name.len();
        entries as u64
    }

    /// The next thread. Nothing has been read for it.
    pub fn begin(&mut self) {
        self.stacks.turn += 1;
        self.frames.turn += 1;
        self.funcs.turn += 1;
        self.texts = Texts::default();
    }

    pub fn tables(&self) -> Tables<'a> {
        self.tables
    }

    /// Reads all stacks, also those without a sample.
    pub fn read_all(&mut self, event_loop: &mut EventLoop) -> Result<(), Error> {
        for stack in 0..self.stack_count() {
            self.leaf(stack, event_loop)?;
        }
        Ok(())
    }

    /// What a stack means for a sample. `None` if there is no such stack.
    pub fn leaf_of(
        &mut self,
        stack: usize,
        event_loop: &mut EventLoop,
    ) -> Option<Result<Leaf, Error>> {
        (stack < self.stack_count()).then(|| {
            let stack = self.without_address(stack)?;
            self.leaf(stack, event_loop)
        })
    }

    /// If Firefox did not walk stacks of machine code (`stackwalk` is 0), each stack ends with the address that was executing.
    /// It is no function: the sample is that of the frame before it. An address without a caller stays.
    fn without_address(&self, stack: usize) -> Result<usize, Error> {
        let Tables {
            stacks,
            frames,
            funcs,
            strings,
            ..
        } = self.tables;
        if self.meta.stackwalk != 0 {
            return Ok(stack);
        }
        // What is out of range is an error once the stack is read.
        let func = frames.func.get(stacks.frame[stack] as usize);
        let is_address = func.is_some_and(|func| {
            let func = *func as usize;
            let name = funcs.name.get(func);
            let name = name.and_then(|name| strings.get(*name as usize));
            let is_js = funcs.is_js.get(func).copied().unwrap_or_default();
            !is_js && name.is_some_and(|name| name.starts_with(ADDRESS))
        });
        match is_address {
            true => Ok(self.tables.parent(stack)?.unwrap_or(stack)),
            false => Ok(stack),
        }
    }

    pub fn stack_count(&self) -> usize {
        self.tables.stacks.frame.len()
    }

    fn leaf(&mut self, stack: usize, event_loop: &mut EventLoop) -> Result<Leaf, Error> {
        // Callers come first.
        let mut missing = Vec::new();
        let mut parent = None;
        let mut next = Some(stack);
        while let Some(index) = next {
            parent = self.stacks.get(index);
            if parent.is_some() {
                break;
            }
            missing.push(index);
            next = self.tables.parent(index)?;
        }
        let mut leaf = parent;
        for index in missing.into_iter().rev() {
            let read = self.read_stack(index, leaf, event_loop)?;
            leaf = Some(self.stacks.set(index, read));
        }
        Ok(leaf.unwrap_or_default())
    }

    fn read_stack(
        &mut self,
        stack: usize,
        parent: Option<Leaf>,
        event_loop: &mut EventLoop,
    ) -> Result<Leaf, Error> {
        let Tables {
            place,
            stacks,
            frames,
            funcs,
            ..
        } = self.tables;
        let place_of_frame = || format!("{place}.stackTable.frame[{stack}]");
        let frame = stacks.frame[stack] as usize;
        let func = *frames.func.get(frame).ok_or_else(|| {
            let length = frames.func.len();
            Error::out_of_range(place_of_frame(), frame as u64, "frameTable", length)
        })? as usize;
        let place_of_func = || format!("{place}.frameTable.func[{frame}]");
        if func >= funcs.name.len() {
            let length = funcs.name.len();
            return Err(Error::out_of_range(
                place_of_func(),
                func as u64,
                "funcTable",
                length,
            ));
        }
        let name = self.tables.string(funcs.name[func], || {
            format!("{place}.funcTable.name[{func}]")
        })?;
        if parent.is_none()
            && funcs.kind(func) == FunctionKind::Native
            && let Some(activity) = stackless::activity(name)
        {
            return Ok((None, activity));
        }
        let id = match self.frames.get(frame) {
            Some(id) => id,
            None => {
                let function = match self.funcs.get(func) {
                    Some(function) => function,
                    None => {
                        let function = self.read_func(func, event_loop)?;
                        self.funcs.set(func, function)
                    },
                };
                let place = self.place_of(frame, event_loop.function(function).kind)?;
                let added = event_loop.add_frame(Frame { function, place });
                let added = added.map_err(|invalid| Error::new(place_of_func(), invalid))?;
                self.frames.set(frame, added)
            },
        };
        let caller = parent.and_then(|(stack, _)| stack);
        let added = event_loop.add_stack(caller, id);
        let added = added.map_err(|invalid| Error::new(place_of_frame(), invalid))?;
        Ok((Some(added), self.activity_of(frame)))
    }

    /// Where in its function a frame is.
    fn place_of(&self, frame: usize, kind: FunctionKind) -> Result<Option<Place>, Error> {
        let Tables {
            place,
            frames,
            funcs,
            locations,
            ..
        } = self.tables;
        let func = frames.func[frame] as usize;
        if let Some(original) = number(&funcs.original_location, func) {
            // A built line is none of the original file. Nor is one of another file, from which the function has a part.
            let Some(own) = number(&frames.original_location, frame) else {
                return Ok(None);
            };
            let place = || format!("{place}.frameTable.originalLocation[{frame}]");
            let is_same = self.location(own, place)? == self.location(original, place)?;
            let line = nonzero(&locations.line, own as usize);
            let column = nonzero(&locations.column, own as usize);
            return Ok(Place::of_source(line, column).filter(|_| is_same));
        }
        let source = Place::of_source(nonzero(&frames.line, frame), nonzero(&frames.column, frame));
        if source.is_some() {
            return Ok(source);
        }
        let is_there = |id: Option<i64>| id.is_some_and(|id| id >= 0);
        let is_in_library = is_there(funcs.resource.get(func).copied())
            || is_there(frames.lib.get(frame).copied().flatten());
        if is_in_library || kind == FunctionKind::Native {
            return Ok(None);
        }
        let address = frames.address.get(frame).copied().flatten();
        let is_offset =
            |address: &f64| (0. ..=f64::from(u32::MAX)).contains(address) && address.fract() == 0.;
        let offset = address.filter(is_offset);
        Ok(offset.map(|offset| Place::WasmOffset(offset as u32)))
    }

    /// The source of a location in an original file.
    fn location(&self, location: u32, place: impl FnOnce() -> String) -> Result<u32, Error> {
        let sources = &self.tables.locations.source;
        let source = sources.get(location as usize).copied();
        source.ok_or_else(|| {
            let table = "sourceLocationTable";
            Error::out_of_range(place(), location.into(), table, sources.len())
        })
    }

    fn read_func(&mut self, func: usize, event_loop: &mut EventLoop) -> Result<FunctionId, Error> {
        let Tables {
            place,
            funcs,
            locations,
            ..
        } = self.tables;
        let mut kind = funcs.kind(func);
        let place_of = |column: &str| format!("{place}.funcTable.{column}[{func}]");
        let name_index = funcs.name[func];
        let name = self.tables.string(name_index, || place_of("name"))?;
        let invalid = |invalid: Invalid| Error::new(place_of("name"), invalid);
        let mut file = match number(&funcs.source, func) {
            Some(source) => Some(File::Source(source)),
            None => number(&funcs.file_name, func).map(File::Name),
        };
        let is_of_no_script = matches!(kind, FunctionKind::Native | FunctionKind::BuiltIn);
        let is_top_level = file.is_none() && is_of_no_script && url_of_top_level(name).is_some();
        if is_top_level {
            file = Some(File::TopLevel(name_index));
            kind = FunctionKind::Script;
        }
        let Some(file) = file else {
            if let Some(function) = self.texts.labels.get(&(name_index, kind)) {
                return Ok(*function);
            }
            let function = label::read_pathless(name)
                .add_to(event_loop, kind)
                .map_err(invalid)?;
            self.texts.labels.insert((name_index, kind), function);
            return Ok(function);
        };
        let (line, column) = match is_top_level {
            true => (Some(NonZeroU32::MIN), Some(NonZeroU32::MIN)),
            false => (
                nonzero(&funcs.line_number, func),
                nonzero(&funcs.column_number, func),
            ),
        };
        let original = number(&funcs.original_location, func);
        let key = FuncKey {
            name: name_index,
            file,
            kind,
            line,
            column,
            original,
        };
        if let Some(function) = self.texts.functions.get(&key) {
            return Ok(*function);
        }
        let place_of_file = match file {
            File::Source(_) => place_of("source"),
            File::Name(_) => place_of("fileName"),
            File::TopLevel(_) => place_of("name"),
        };
        let resource = self.resource_of(file, place_of_file, event_loop)?;
        let is_unnamed = is_top_level
            || name.strip_prefix(UNNAMED).is_some_and(|url| {
                resource.is_some_and(|resource| event_loop.resource(resource) == url)
            });
        let mut function = Function {
            name: match is_unnamed {
                true => String::new(),
                false => label::read_exact(name).into_owned(),
            },
            kind,
            resource,
            line,
            column,
            realm: None,
            source: None,
            generated: None,
        };
        let mut text_of = file;
        if let Some(original) = original {
            let source = self.location(original, || place_of("originalLocation"))?;
            text_of = File::Source(source);
            function.generated = resource.map(|resource| {
                Box::new(GeneratedPlace {
                    name: function.name.clone(),
                    resource,
                    line,
                    column,
                })
            });
            let place = format!("{place}.sourceLocationTable.source[{original}]");
            function.resource = self.resource_of(text_of, place, event_loop)?;
            function.line = nonzero(&locations.line, original as usize);
            function.column = nonzero(&locations.column, original as usize);
        }
        if let File::Source(source) = text_of {
            function.source = self.text_of(source, event_loop)?;
        }
        let function = event_loop.add_function(function).map_err(invalid)?;
        self.texts.functions.insert(key, function);
        Ok(function)
    }

    /// `place` is where the file refers to it.
    fn resource_of(
        &mut self,
        file: File,
        place: String,
        event_loop: &mut EventLoop,
    ) -> Result<Option<ResourceId>, Error> {
        let (index, place) = match file {
            File::Name(index) | File::TopLevel(index) => (index, place),
            File::Source(source) => {
                let names = &self.tables.sources.filename;
                let name = names.get(source as usize).copied().ok_or_else(|| {
                    Error::out_of_range(place, source.into(), "sources", names.len())
                })?;
                (name, format!("{SOURCES}.filename[{source}]"))
            },
        };
        if let Some(resource) = self.texts.files.get(&index) {
            return Ok(*resource);
        }
        let mut url = self.tables.string(index, || place.clone())?;
        if matches!(file, File::TopLevel(_)) {
            url = url_of_top_level(url).unwrap_or(url);
        }
        let resource = event_loop.add_resource(url);
        let resource = resource.map_err(|invalid| Error::new(place, invalid))?;
        self.texts.files.insert(index, resource);
        Ok(resource)
    }

    /// The text of a source, whose name has been read.
    fn text_of(
        &mut self,
        source: u32,
        event_loop: &mut EventLoop,
    ) -> Result<Option<SourceId>, Error> {
        if let Some(source) = self.texts.sources.get(&source) {
            return Ok(*source);
        }
        let index = source as usize;
        let sources = self.tables.sources;
        let mut id = None;
        if let Some(Some(text)) = sources.content.get(index) {
            let place_of = |column: &str| format!("{SOURCES}.{column}[{index}]");
            let string = |text: u32, column| self.tables.string(text, || place_of(column));
            let map_url = number(&sources.source_map_url, index);
            let map_url = map_url.map(|url| string(url, "sourceMapURL")).transpose()?;
            let added = event_loop.add_source(Source {
                name: string(sources.filename[index], "filename")?.to_owned(),
                line: nonzero(&sources.start_line, index).unwrap_or(NonZeroU32::MIN),
                column: nonzero(&sources.start_column, index).unwrap_or(NonZeroU32::MIN),
                text: Some(text.clone()),
                map_url: map_url.map(str::to_owned),
            });
            id = Some(added.map_err(|invalid| Error::new(place_of("content"), invalid))?);
        }
        self.texts.sources.insert(source, id);
        Ok(id)
    }

    fn activity_of(&self, frame: usize) -> Option<Activity> {
        let frames = self.tables.frames;
        let categories = &self.meta.categories;
        let category = categories.get(number(&frames.category, frame)? as usize)?;
        if category.name == JAVASCRIPT {
            let subcategory = number(&frames.subcategory, frame)? as usize;
            let subcategory = category.subcategories.get(subcategory)?;
            let is_running = subcategory == RUNNING || subcategory == RUNNING_BUILT_IN;
            return is_running.then_some(Activity::Script);
        }
        let entry = CATEGORIES
            .iter()
            .find(|(_, name, _)| *name == category.name);
        entry.map(|(activity, ..)| *activity)
    }
}

/// Where the table is.
const SOURCES: &str = "shared.sources";
