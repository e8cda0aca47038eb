/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording in the terms of the files that its scripts were built from, by source maps.
//!
//! A function gets the name, file, line and column with which it was written, and a frame its original place. What the
//! script that ran has for the function is kept beside it ([`GeneratedPlace`]). What a map says nothing of stays as it
//! is, and so do samples.
//!
//! A bundler may put code of several files into one function: the top level of modules, or functions that are inlined.
//! A place is in the file of its function, so such a function becomes one for each file. Those that are in other files
//! than its definition are named after the original function at the place, and have no line, for a map does not say
//! where they are defined.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use indexmap::{IndexMap, IndexSet};
use source_maps::{
    CodeOf, Deadline, GeneratedFunction, Link, MappedLines, Notice, Original, OriginalLines,
    SourceMap,
};
use url::Url;

use crate::bounds::MAX_ORIGINAL_BYTES;
use crate::recording::{
    EventLoop, FetchedMap, Function, FunctionId, FunctionKind, GeneratedPlace, Place, Recording,
    ResourceId, Source, SourceId,
};

/// How many notices are told one by one.
const MAX_TOLD: usize = 20;

/// How long all maps of a recording may take.
const TIME_FOR_MAPS: Duration = Duration::from_secs(10);

/// Why an event loop does not refuse the changes: [`Changes::of`] has lifted the limit on its memory.
const NOT_REFUSED: &str = "its memory has no limit, and the changes add no frames and no stacks";

/// When the maps of a recording are given up, whose first one is to be read now.
pub fn deadline_of_maps() -> Deadline {
    Deadline::within(TIME_FOR_MAPS)
}

/// What is told about maps, each once. A page may name any number of scripts, so of very many the first are told.
#[derive(Debug, Default)]
pub struct Notices {
    told: Vec<Notice>,
    more: u64,
}

impl Notices {
    pub fn push(&mut self, notice: Notice) {
        if self.told.contains(&notice) {
            return;
        }
        match self.told.len() < MAX_TOLD {
            true => self.told.push(notice),
            false => self.more += 1,
        }
    }

    /// A notice about the map of a script. It then names the script, too.
    pub fn push_of_script(&mut self, notice: Notice, script: &str) {
        let notice = match notice.name == Notice::new(script, "").name {
            true => notice,
            false => Notice::new(
                &notice.name,
                format_args!("{}; it is the map of {script}", notice.why),
            ),
        };
        self.push(notice);
    }

    pub fn into_vec(self) -> Vec<Notice> {
        let mut notices = self.told;
        if self.more > 0 {
            let why = format!("{} more notices are not shown", self.more);
            notices.push(Notice::new("source maps", why));
        }
        notices
    }
}

/// Applies the map of each script. `map_of` finds one by the script's URL, and is called once for each script that has
/// functions.
///
/// A map is dropped before the next one is asked for. Functions that were mapped before stay as they are. Once `deadline`
/// passes, no more maps are asked for, and functions whose map is not done keep their generated names.
pub fn apply_source_maps(
    recording: &mut Recording,
    notices: &mut Notices,
    deadline: &Deadline,
    mut map_of: impl FnMut(&str, &mut Notices) -> Option<SourceMap>,
) {
    let event_loops = recording.processes.iter_mut();
    let mut changes: Vec<_> = event_loops
        .flat_map(|process| &mut process.event_loops)
        .map(Changes::of)
        .collect();
    let scripts: IndexSet<String> = changes
        .iter()
        .flat_map(|changes| changes.scripts().map(str::to_owned))
        .collect();
    let mut room = MAX_ORIGINAL_BYTES;
    for script in scripts {
        let Some(map) = map_of(&script, notices) else {
            continue;
        };
        for part in map.notices() {
            notices.push_of_script(part.clone(), &script);
        }
        let mut mapping = Mapping::new(&map, &mut room, deadline);
        for changes in &mut changes {
            mapping.sources.clear();
            mapping.files.clear();
            changes.add_script(&script, &mut mapping);
        }
        if let Some(notice) = mapping.notice(&script) {
            notices.push(notice);
        }
    }
    for changes in changes {
        changes.make();
    }
}

/// Applies the maps that scripts link to and that were fetched, and those that they contain as `data:` URLs. Each notice is
/// about a map that is not used. Functions that were mapped before stay as they are. Then the maps are let go of, and the
/// scripts that the recording knows only for their maps: what is left of scripts is their texts, if they were recorded.
///
/// Maps that are not done when `deadline` passes are left out.
pub fn apply_own_maps(recording: &mut Recording, deadline: &Deadline) -> Vec<Notice> {
    let mut notices = Notices::default();
    let mut room = MAX_ORIGINAL_BYTES;
    let processes = recording.processes.iter_mut();
    for event_loop in processes.flat_map(|process| &mut process.event_loops) {
        let mut changes = Changes::of(event_loop);
        let functions_of = changes.functions_of_sources().into_iter();
        let mut scripts: Vec<_> = functions_of
            .map(|(id, functions)| (changes.event_loop.take_map(id), id, functions))
            .collect();
        // One that several scripts link to is read once.
        scripts.sort_by_key(|(fetched, ..)| fetched.as_ref().map(Arc::as_ptr));
        let mut last: Option<(Arc<FetchedMap>, Result<SourceMap, Notice>)> = None;
        for (fetched, id, functions) in scripts {
            let script = changes.event_loop.source(id);
            let name = script.name.clone();
            let start = (script.line, script.column);
            if let Some(why) = deadline.passed() {
                if fetched.is_some() || script.map_url.is_some() {
                    notices.push(Notice::new(&name, not_used(&why)));
                }
                continue;
            }
            let contained;
            let map = match fetched {
                Some(fetched) => {
                    if !last
                        .as_ref()
                        .is_some_and(|(one, _)| Arc::ptr_eq(one, &fetched))
                    {
                        // Before the next one takes memory.
                        drop(last.take());
                        let map = read_fetched(&fetched, deadline);
                        last = Some((fetched, map));
                    }
                    last.as_ref().map(|(_, map)| map)
                },
                None => {
                    contained = own_map(script, deadline).transpose();
                    contained.as_ref()
                },
            };
            let map = match map {
                Some(Ok(map)) => map,
                Some(Err(notice)) => {
                    notices.push_of_script(notice.clone(), &name);
                    continue;
                },
                None => continue,
            };
            for part in map.notices() {
                notices.push_of_script(part.clone(), &name);
            }
            let mut mapping = Mapping::new(map, &mut room, deadline);
            mapping.start = start;
            for (function, resource) in functions {
                changes.add_function(function, resource, &mut mapping);
            }
            if let Some(notice) = mapping.notice(&name) {
                notices.push(notice);
            }
        }
        changes.event_loop.forget_maps();
        changes
            .make()
            .forget_sources_without_text()
            .expect(NOT_REFUSED);
    }
    notices.into_vec()
}

/// A map that was fetched. What its sources are relative to is the URL that it came from.
fn read_fetched(fetched: &FetchedMap, deadline: &Deadline) -> Result<SourceMap, Notice> {
    let FetchedMap { url, content } = fetched;
    let content = content.as_ref().map_err(|why| Notice::new(url, why))?;
    let base = Url::parse(url).ok();
    SourceMap::read(content.as_bytes(), url, base.as_ref(), deadline)
}

/// The map in the link of a script.
fn own_map(script: &Source, deadline: &Deadline) -> Result<Option<SourceMap>, Notice> {
    let (link, text) = (script.map_url.as_deref(), script.text.as_deref());
    let Some(Link::Inline(content)) = Link::of_script(&script.name, link, text)? else {
        return Ok(None);
    };
    let base = Url::parse(&script.name).ok();
    SourceMap::read(&content, &script.name, base.as_ref(), deadline).map(Some)
}

/// What is told of a map that was given up.
fn not_used(why: &str) -> String {
    format!("its source map is not used, because {why}")
}

/// What is done with the map of a script.
struct Mapping<'a> {
    map: &'a SourceMap,
    lines: MappedLines<'a>,
    deadline: &'a Deadline,
    /// Why functions are left that were not looked up.
    given_up: Option<String>,
    /// The line and column at which the text begins that the map is for.
    start: (NonZeroU32, NonZeroU32),
    /// Bytes that original functions may still take in memory.
    room: &'a mut u64,
    /// How many functions have something in the map.
    mapped: u64,
    /// How many functions and places have a line without a column.
    without_column: u64,
    is_full: bool,
    /// The texts of files in the tables of the event loop that is changed, by where the map has the URL. A URL may be long.
    sources: HashMap<*const str, Option<SourceId>>,
    /// Those files themselves.
    files: HashMap<*const str, Option<ResourceId>>,
    /// Whether the text of a file is left out for want of memory.
    lacks_text: bool,
}

impl<'a> Mapping<'a> {
    fn new(map: &'a SourceMap, room: &'a mut u64, deadline: &'a Deadline) -> Self {
        Self {
            map,
            lines: MappedLines::of(map, deadline),
            deadline,
            given_up: None,
            start: (NonZeroU32::MIN, NonZeroU32::MIN),
            room,
            mapped: 0,
            without_column: 0,
            is_full: false,
            sources: HashMap::new(),
            files: HashMap::new(),
            lacks_text: false,
        }
    }

    /// Whether the deadline has passed. What is looked up then is not whole.
    fn is_given_up(&mut self) -> bool {
        if self.given_up.is_none() {
            self.given_up = self.deadline.passed();
        }
        self.given_up.is_some()
    }

    /// A place of the script in its text. Maps have places with a column.
    fn place(
        &self,
        line: Option<NonZeroU32>,
        column: Option<NonZeroU32>,
    ) -> Option<source_maps::Place> {
        let (first_line, first_column) = self.start;
        let (line, column) = (line?.get(), column?.get());
        let before = match line == first_line.get() {
            true => first_column.get() - 1,
            false => 0,
        };
        Some(source_maps::Place {
            line: line
                .checked_sub(first_line.get() - 1)
                .filter(|line| *line > 0)?,
            column: column.checked_sub(before).filter(|column| *column > 0)?,
        })
    }

    /// A line of the script in its text.
    fn line(&self, line: NonZeroU32) -> Option<u32> {
        let (first_line, _) = self.start;
        let line = line.get().checked_sub(first_line.get() - 1)?;
        (line > 0).then_some(line)
    }

    /// Whether a function is the script outside of its functions. One that is declared where the script begins has a name.
    fn is_top_level(&self, function: &Function) -> bool {
        let (line, column) = self.start;
        let start = (Some(line), Some(column));
        function.name.is_empty() && (function.line, function.column) == start
    }

    fn notice(&self, script: &str) -> Option<Notice> {
        let notice = |why: &dyn std::fmt::Display| Some(Notice::new(self.map.name(), why));
        if let Some(why) = &self.given_up {
            return notice(&format_args!(
                "some functions of {script} keep their generated names, because {why}"
            ));
        }
        if self.is_full {
            return notice(&format_args!(
                "some functions of {script} keep their generated names, for all original ones would take more than \
                 {MAX_ORIGINAL_BYTES} bytes of memory"
            ));
        }
        if self.lacks_text {
            return notice(&format_args!(
                "the texts of some of its files are left out, for all of them would take more than \
                 {MAX_ORIGINAL_BYTES} bytes of memory"
            ));
        }
        if self.mapped > 0 {
            return None;
        }
        match self.without_column {
            0 => notice(&format_args!(
                "it has none of the functions of {script}, and may be the map of another script"
            )),
            _ => notice(&format_args!(
                "it is not used for {script}, for the profile does not have the columns of its functions"
            )),
        }
    }

    /// The file that code was written in, in the tables of an event loop.
    fn file(
        &mut self,
        source: &source_maps::Source<'a>,
        event_loop: &mut EventLoop,
    ) -> Option<ResourceId> {
        let url = source.url;
        if let Some(known) = self.files.get(&std::ptr::from_ref(url)) {
            return *known;
        }
        let count = event_loop.resources().len();
        let file = event_loop.add_resource(url).ok().flatten();
        if event_loop.resources().len() > count {
            *self.room = self.room.saturating_sub(url.len() as u64);
        }
        self.files.insert(url, file);
        file
    }

    /// The text of that file, if the map has it and the recording has the texts of scripts.
    fn source(
        &mut self,
        source: &source_maps::Source<'a>,
        event_loop: &mut EventLoop,
    ) -> Option<SourceId> {
        let source_maps::Source { url, text, .. } = *source;
        let text = text.filter(|_| event_loop.has_texts())?;
        if let Some(known) = self.sources.get(&std::ptr::from_ref(url)) {
            return *known;
        }
        let length = (url.len() + text.len()) as u64;
        let source = match self.room.checked_sub(length) {
            Some(room) => {
                *self.room = room;
                let source = Source {
                    name: url.to_owned(),
                    line: NonZeroU32::MIN,
                    column: NonZeroU32::MIN,
                    text: Some(text.to_owned()),
                    map_url: None,
                };
                event_loop.add_source(source).ok()
            },
            None => {
                self.lacks_text = true;
                None
            },
        };
        self.sources.insert(url, source);
        source
    }

    /// Whether there is memory for another function.
    fn takes(&mut self, function: &Function) -> bool {
        match self.room.checked_sub(function.bytes()) {
            Some(room) => {
                *self.room = room;
                true
            },
            None => {
                self.is_full = true;
                false
            },
        }
    }
}

/// The functions and frames of an event loop that become others.
struct Changes<'a> {
    event_loop: &'a mut EventLoop,
    /// Those that a map can be for.
    functions_of: IndexMap<ResourceId, Vec<FunctionId>>,
    /// Their frames, by index.
    frames_of: HashMap<FunctionId, Vec<usize>>,
    /// Functions that take the place of one.
    replaced: HashMap<FunctionId, Function>,
    /// Functions that only take some frames of one.
    added: IndexSet<Function>,
    /// Frames by index, with what they become.
    frames: HashMap<usize, (NewFunction, Option<Place>)>,
}

#[derive(Clone, Copy)]
enum NewFunction {
    /// It is the frame's own, or the one that takes its place.
    Own,
    /// The index among those that are added.
    Added(usize),
}

/// A frame whose place is in the text of a script, and where that was written.
struct MappedFrame<'a> {
    frame: usize,
    place: Option<source_maps::Place>,
    original: Option<Original<'a>>,
    /// Where its line was written, if it has no column.
    lines: Option<OriginalLines<'a>>,
}

impl<'a> Changes<'a> {
    fn of(event_loop: &'a mut EventLoop) -> Self {
        // `room` is the bound of what is added.
        event_loop.allow(u64::MAX);
        let mut functions_of: IndexMap<_, Vec<_>> = IndexMap::new();
        let mut frames_of: HashMap<_, Vec<_>> = HashMap::new();
        for (id, function) in event_loop.function_ids().zip(event_loop.functions()) {
            let is_script = matches!(function.kind, FunctionKind::Script | FunctionKind::Unknown);
            if let Some(resource) = function.resource
                && is_script
                && function.generated.is_none()
            {
                functions_of.entry(resource).or_default().push(id);
                frames_of.insert(id, Vec::new());
            }
        }
        for (index, frame) in event_loop.frames().enumerate() {
            if let Some(Place::Source { .. }) = frame.place
                && let Some(frames) = frames_of.get_mut(&frame.function)
            {
                frames.push(index);
            }
        }
        // There is nothing to ask a map, as of a WebAssembly module.
        functions_of.retain(|_, functions| {
            let has_place =
                |id: &_| event_loop.function(*id).line.is_some() || !frames_of[id].is_empty();
            functions.iter().any(has_place)
        });
        Self {
            event_loop,
            functions_of,
            frames_of,
            replaced: HashMap::new(),
            added: IndexSet::new(),
            frames: HashMap::new(),
        }
    }

    /// The scripts whose texts or maps the recording has, each with its functions.
    fn functions_of_sources(&self) -> IndexMap<SourceId, Vec<(FunctionId, ResourceId)>> {
        let mut functions_of: IndexMap<_, Vec<_>> = IndexMap::new();
        for (resource, functions) in &self.functions_of {
            for id in functions {
                if let Some(source) = self.event_loop.function(*id).source {
                    let functions = functions_of.entry(source).or_default();
                    functions.push((*id, *resource));
                }
            }
        }
        functions_of
    }

    fn scripts(&self) -> impl Iterator<Item = &str> {
        let resources = self.functions_of.keys();
        resources.map(|resource| self.event_loop.resource(*resource))
    }

    fn add_script(&mut self, script: &str, mapping: &mut Mapping<'_>) {
        // A resource that is there keeps its id.
        let Ok(Some(resource)) = self.event_loop.add_resource(script) else {
            return;
        };
        let functions = self.functions_of.get(&resource).cloned();
        for id in functions.unwrap_or_default() {
            self.add_function(id, resource, mapping);
        }
    }

    fn add_function(&mut self, id: FunctionId, resource: ResourceId, mapping: &mut Mapping<'_>) {
        if mapping.is_given_up() {
            return;
        }
        let map = mapping.map;
        let function = self.event_loop.function(id).clone();
        let definition = mapping.place(function.line, function.column);
        let home = original_of(map, definition);
        let is_top_level = mapping.is_top_level(&function);
        let code = match (is_top_level, definition) {
            (true, _) => Some(CodeOf::TopLevel),
            (false, definition) => definition.map(CodeOf::Function),
        };
        let indices = self.frames_of[&id].iter();
        let places = indices.map(|index| (*index, self.event_loop.frame_at(*index).place));
        let places: Vec<_> = places.collect();
        let frames = places.into_iter().map(|(frame, place)| {
            let (line, column) = match place {
                Some(place) => (place.line(), place.column()),
                None => (None, None),
            };
            let place = mapping.place(line, column);
            let lines = match (code, line, column) {
                (Some(code), Some(line), None) => {
                    let line = mapping.line(line);
                    line.and_then(|line| mapping.lines.original(code, line))
                },
                _ => None,
            };
            MappedFrame {
                frame,
                place,
                original: original_of(map, place),
                lines: lines.filter(|lines| !lines.source.url.is_empty()),
            }
        });
        let frames: Vec<_> = frames.collect();
        // A line may have all mappings of the map.
        if mapping.is_given_up() {
            return;
        }
        let has_line_alone = (function.line.is_some() && definition.is_none())
            || frames
                .iter()
                .any(|frame| frame.place.is_none() && frame.lines.is_none());
        mapping.without_column += u64::from(has_line_alone);
        if home.is_none() && frames.iter().all(|frame| frame.url().is_none()) {
            return;
        }
        mapping.mapped += 1;

        let generated = Some(Box::new(GeneratedPlace {
            name: function.name.clone(),
            resource,
            line: function.line,
            column: function.column,
        }));
        let is_at_home = |url: &str| home.is_some_and(|home| home.source.url == url);
        let mut name = function.name.clone();
        if let Some(home) = home {
            let running: Vec<_> = frames
                .iter()
                .filter(|frame| frame.url().is_some_and(is_at_home))
                .filter_map(|frame| frame.place)
                .collect();
            let original_name = match is_top_level {
                // The map has the first function of the script there.
                true => None,
                false => map.function_name(&GeneratedFunction {
                    name: &function.name,
                    definition,
                    running: &running,
                }),
            };
            if let Some(original_name) = original_name {
                name = original_name.into_owned();
            }
            let (line, column) = match is_top_level {
                true => (1, 1),
                false => (home.line, home.column),
            };
            let replacement = Function {
                name: name.clone(),
                resource: mapping.file(&home.source, self.event_loop),
                line: NonZeroU32::new(line),
                column: NonZeroU32::new(column),
                source: mapping.source(&home.source, self.event_loop),
                generated: generated.clone(),
                ..function
            };
            if !mapping.takes(&replacement) {
                return;
            }
            self.replaced.insert(id, replacement);
        }
        for frame in &frames {
            // A place in the generated script is none in the original file.
            if home.is_some() {
                self.frames.insert(frame.frame, (NewFunction::Own, None));
            }
            let (source, place) = match (&frame.original, &frame.lines) {
                (Some(original), _) => (&original.source, model_place(original)),
                (None, Some(lines)) => (&lines.source, model_lines(lines)),
                (None, None) => continue,
            };
            if is_at_home(source.url) {
                self.frames.insert(frame.frame, (NewFunction::Own, place));
                continue;
            }
            let running = frame.place.as_slice();
            let name_there = map.function_name(&GeneratedFunction {
                name: "",
                definition: None,
                running,
            });
            let elsewhere = Function {
                name: name_there.map_or_else(|| name.clone(), |name| name.into_owned()),
                kind: function.kind,
                resource: mapping.file(source, self.event_loop),
                line: None,
                column: None,
                realm: function.realm,
                source: mapping.source(source, self.event_loop),
                generated: generated.clone(),
            };
            let index = match self.added.get_index_of(&elsewhere) {
                Some(index) => index,
                None if !mapping.takes(&elsewhere) => continue,
                None => self.added.insert_full(elsewhere).0,
            };
            self.frames
                .insert(frame.frame, (NewFunction::Added(index), place));
        }
    }

    /// Puts them into the event loop.
    fn make(mut self) -> &'a mut EventLoop {
        if self.replaced.is_empty() && self.frames.is_empty() {
            return self.event_loop;
        }
        let count = self.event_loop.functions().len();
        let mut frames = Vec::with_capacity(self.event_loop.frames().len());
        let mut had_frames = vec![false; count];
        let mut has_frames = vec![false; count];
        for (index, frame) in self.event_loop.frames().enumerate() {
            let own = frame.function.index();
            had_frames[own] = true;
            let (function, place) = match self.frames.get(&index) {
                Some((NewFunction::Added(index), place)) => (count + index, *place),
                Some((NewFunction::Own, place)) => (own, *place),
                None => (own, frame.place),
            };
            if let Some(has_frames) = has_frames.get_mut(function) {
                *has_frames = true;
            }
            frames.push((function, place));
        }
        // A function is dropped if all its frames are in other functions now.
        let mut numbers = Vec::with_capacity(count + self.added.len());
        let mut functions = Vec::with_capacity(count + self.added.len());
        for (id, function) in self
            .event_loop
            .function_ids()
            .zip(self.event_loop.functions())
        {
            numbers.push(functions.len());
            if has_frames[id.index()] || !had_frames[id.index()] {
                let replaced = self.replaced.remove(&id);
                functions.push(replaced.unwrap_or_else(|| function.clone()));
            }
        }
        for function in self.added {
            numbers.push(functions.len());
            functions.push(function);
        }
        for (function, _) in &mut frames {
            *function = numbers[*function];
        }
        self.event_loop
            .replace_functions(functions, &frames)
            .expect(NOT_REFUSED);
        self.event_loop
    }
}

/// A source without a URL is no file.
fn original_of(map: &SourceMap, place: Option<source_maps::Place>) -> Option<Original<'_>> {
    map.original(place?)
        .filter(|original| !original.source.url.is_empty())
}

/// One line, or somewhere in several.
fn model_lines(lines: &OriginalLines<'_>) -> Option<Place> {
    let [first, last] = [lines.first, lines.last].map(NonZeroU32::new);
    Some(Place::of_lines(first?, last?))
}

impl MappedFrame<'_> {
    /// The file that its code was written in.
    fn url(&self) -> Option<&str> {
        let original = self.original.as_ref().map(|original| original.source.url);
        original.or(self.lines.as_ref().map(|lines| lines.source.url))
    }
}

fn model_place(original: &Original<'_>) -> Option<Place> {
    let [line, column] = [original.line, original.column].map(NonZeroU32::new);
    Place::of_source(line, column)
}
