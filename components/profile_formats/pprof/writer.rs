/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Writing a file. What a format does not hold is not written twice: functions, stacks and samples that differ only by it
//! are one.

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::Hash;
use std::io::Write as _;
use std::num::NonZeroU32;

use indexmap::{IndexMap, IndexSet};

use super::fields::{
    function, label, line, location, mapping, profile, sample as sample_fields, value_type,
};
use super::names::{EVENT_LOOP, MARKER, ORIGIN, PAGE, SAMPLES, WALL};
use super::wire::Message;
use crate::error::WriteError;
use crate::format::{Format, Text};
use crate::label as text_of_function;
use crate::recording::{
    EventLoop, EventLoopKind, Function, FunctionKind, Place, Recording, Sample, StackId,
};
use crate::sink::Sink;
use crate::stackless;
use crate::worth;

/// A function as it is written. Texts are places in the table.
#[derive(Eq, Hash, PartialEq)]
struct FunctionRow {
    name: u64,
    /// 0 if it is the name, or none.
    system_name: u64,
    file: u64,
    line: u64,
    column: u64,
    kind: u64,
    generated: Option<Generated>,
}

#[derive(Eq, Hash, PartialEq)]
struct Generated {
    name: u64,
    file: u64,
    line: u64,
    column: u64,
}

#[derive(Eq, Hash, PartialEq)]
struct LocationRow {
    function: u32,
    place: Option<Place>,
}

/// A stack: its caller's, which is before it, and a location.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct StackRow {
    caller: Option<u32>,
    location: u32,
}

/// All samples with the same stack and labels.
#[derive(Clone, Copy, Eq, Hash, PartialEq)]
struct RowKey {
    stack: Option<u32>,
    labels: u32,
}

/// How many samples, and what they are worth in nanoseconds.
#[derive(Default)]
struct Sum {
    samples: u64,
    worth: u64,
}

/// Everything that is written, with the ids of messages one more than their places.
struct Tables<'a> {
    texts: IndexSet<Cow<'a, str>>,
    functions: IndexSet<FunctionRow>,
    locations: IndexSet<LocationRow>,
    stacks: IndexSet<StackRow>,
    /// Places of keys and values.
    label_sets: IndexSet<Vec<(u64, u64)>>,
    rows: IndexMap<RowKey, Sum>,
    /// Places of the names of files.
    mappings: IndexSet<u64>,
    is_timed: bool,
    period: u64,
    time_nanos: u64,
    duration: u64,
}

pub fn prepare(recording: &Recording) -> Result<impl Text, WriteError> {
    let tables = Tables::of(recording)?;
    Ok(move |sink: &mut Sink<'_>| tables.write(sink))
}

fn unfit(what: &str) -> WriteError {
    WriteError::Unfit(format!(
        "the format {} holds no {what} of more than {} nanoseconds",
        Format::Pprof,
        i64::MAX
    ))
}

fn place_of<T: Eq + Hash>(table: &mut IndexSet<T>, entry: T) -> u32 {
    // Memory is bounded, so there are fewer.
    table.insert_full(entry).0 as u32
}

fn number(number: Option<NonZeroU32>) -> u64 {
    number.map_or(0, |number| number.get().into())
}

impl<'a> Tables<'a> {
    fn of(recording: &'a Recording) -> Result<Self, WriteError> {
        let period = worth::nanoseconds(recording.interval);
        if i64::try_from(period).is_err() {
            return Err(unfit("interval"));
        }
        let microseconds = recording.time_origin.map_or(0., |origin| origin * 1e3);
        let time_nanos = (microseconds.round() as u64).saturating_mul(1_000);
        let mut tables = Self {
            texts: IndexSet::from([Cow::Borrowed("")]),
            functions: IndexSet::new(),
            locations: IndexSet::new(),
            stacks: IndexSet::new(),
            label_sets: IndexSet::new(),
            rows: IndexMap::new(),
            mappings: IndexSet::new(),
            is_timed: recording.event_loops().any(EventLoop::is_timed),
            period,
            time_nanos: match i64::try_from(time_nanos) {
                Ok(_) => time_nanos,
                Err(_) => 0,
            },
            duration: 0,
        };
        for text in [SAMPLES, WALL].concat() {
            tables.text(text);
        }
        // In all event loops together, or a function would have two names.
        let mut at_roots: HashSet<&str> = HashSet::new();
        for event_loop in recording.event_loops() {
            let mut roots: Vec<StackId> = Vec::with_capacity(event_loop.stacks().len());
            for (id, stack) in event_loop.stack_ids().zip(event_loop.stacks()) {
                roots.push(stack.parent.map_or(id, |parent| roots[parent.index()]));
            }
            let stacks = event_loop
                .samples()
                .iter()
                .filter_map(|sample| sample.stack);
            at_roots.extend(stacks.map(|stack| {
                let root = event_loop.stack(roots[stack.index()]);
                &*event_loop.function_of(root.frame).name
            }));
        }
        let names = recording.distinct_names()?;
        for (event_loop, name) in recording.event_loops().zip(names) {
            tables.add(event_loop, name, recording.interval, &at_roots)?;
        }
        Ok(tables)
    }

    /// The place of a text.
    fn text(&mut self, text: impl Into<Cow<'a, str>>) -> u64 {
        self.texts.insert_full(text.into()).0 as u64
    }

    fn add(
        &mut self,
        event_loop: &'a EventLoop,
        name: String,
        interval: f64,
        at_roots: &HashSet<&str>,
    ) -> Result<(), WriteError> {
        if event_loop.samples().is_empty() {
            return Ok(());
        }
        // What no sample has is not written. So a file that is read and written again is the same.
        let mut stacks = vec![None; event_loop.stacks().len()];
        let event_loop_name = self.text(name);
        let page = match &event_loop.kind {
            EventLoopKind::Page { documents } => documents.first().map(String::as_str),
            EventLoopKind::Worker | EventLoopKind::Unknown => None,
        };
        let mut sum = 0_u64;
        let mut last: Option<(LabelsKey<'_>, u32)> = None;
        let samples = event_loop.samples().iter().enumerate();
        for ((index, sample), worth) in samples.zip(event_loop.worths(interval)) {
            let key = LabelsKey {
                own: event_loop.labels_of(index),
                marker: sample.activity.map_or("", |activity| activity.as_str()),
                origin: sample.stack.and_then(|stack| {
                    let function = event_loop.function_of(event_loop.stack(stack).frame);
                    event_loop.realm(function.realm?).origin.as_deref()
                }),
            };
            let labels = match last {
                Some((last, place)) if last.is_same(&key) => place,
                _ => self.labels(event_loop_name, page, &key),
            };
            last = Some((key, labels));
            let row = RowKey {
                stack: match sample.stack {
                    Some(stack) => Some(self.stack(event_loop, stack, &mut stacks, at_roots)),
                    None => self.stackless(sample),
                },
                labels,
            };
            let row = self.rows.entry(row).or_default();
            row.samples = row.samples.saturating_add(sample.weight);
            row.worth = row.worth.saturating_add(worth);
            sum = sum.saturating_add(worth);
        }
        if i64::try_from(sum).is_err() {
            return Err(unfit("time"));
        }
        self.duration = self.duration.max(sum);
        Ok(())
    }

    /// The place of a stack. Those of its event loop that are known are in `stacks`.
    fn stack(
        &mut self,
        event_loop: &'a EventLoop,
        stack: StackId,
        stacks: &mut [Option<u32>],
        at_roots: &HashSet<&str>,
    ) -> u32 {
        let mut unknown = Vec::new();
        let mut next = Some(stack);
        let mut known = None;
        while let Some(stack) = next {
            known = stacks[stack.index()];
            if known.is_some() {
                break;
            }
            unknown.push(stack);
            next = event_loop.stack(stack).parent;
        }
        for stack in unknown.into_iter().rev() {
            let frame = event_loop.frame(event_loop.stack(stack).frame);
            let row = LocationRow {
                function: self.function(event_loop, event_loop.function(frame.function), at_roots),
                place: frame.place,
            };
            let row = StackRow {
                caller: known,
                location: place_of(&mut self.locations, row),
            };
            known = Some(place_of(&mut self.stacks, row));
            stacks[stack.index()] = known;
        }
        known.expect("a stack is known, or has been added")
    }

    /// The place of a function.
    fn function(
        &mut self,
        event_loop: &'a EventLoop,
        function: &'a Function,
        at_roots: &HashSet<&str>,
    ) -> u32 {
        let is_taken = function.resource.is_none() && at_roots.contains(&*function.name);
        let name = self.text(text_of_function::write_exact(&function.name, is_taken));
        let generated = function.generated.as_ref().map(|generated| Generated {
            name: self.text(&*generated.name),
            file: self.text(event_loop.resource(generated.resource)),
            line: number(generated.line),
            column: number(generated.column),
        });
        let file = self.text(event_loop.resource_of(function).unwrap_or_default());
        let row = FunctionRow {
            name,
            system_name: match &generated {
                Some(generated) if generated.name != name => generated.name,
                _ => 0,
            },
            file,
            line: number(function.line),
            column: number(function.column),
            kind: match function.kind {
                FunctionKind::Unknown => 0,
                FunctionKind::Script => 1,
                FunctionKind::BuiltIn => 2,
                FunctionKind::Native => 3,
            },
            generated,
        };
        if file != 0 {
            self.mappings.insert(file);
        }
        place_of(&mut self.functions, row)
    }

    /// The place of a set of labels.
    fn labels(&mut self, event_loop: u64, page: Option<&'a str>, key: &LabelsKey<'a>) -> u32 {
        let mut labels = Vec::new();
        let computed = [
            (PAGE, page.unwrap_or_default()),
            (ORIGIN, key.origin.unwrap_or_default()),
        ];
        for (name, value) in [(MARKER, key.marker)].into_iter().chain(computed) {
            // What samples are said to belong to counts more.
            let is_said = key.own.iter().any(|(other, _)| other == name);
            if !value.is_empty() && !is_said {
                labels.push((self.text(name), self.text(value)));
            }
        }
        for (name, value) in key.own {
            if !value.is_empty() {
                labels.push((self.text(&**name), self.text(&**value)));
            }
        }
        if event_loop != 0 {
            labels.push((self.text(EVENT_LOOP), event_loop));
        }
        place_of(&mut self.label_sets, labels)
    }

    /// The stack of the function that stands for none. Absent if it is not known what the event loop was doing.
    fn stackless(&mut self, sample: &Sample) -> Option<u32> {
        sample.activity?;
        let row = FunctionRow {
            name: self.text(stackless::name(sample.activity)),
            system_name: 0,
            file: 0,
            line: 0,
            column: 0,
            kind: 0,
            generated: None,
        };
        let function = place_of(&mut self.functions, row);
        let row = LocationRow {
            function,
            place: None,
        };
        let location = place_of(&mut self.locations, row);
        let caller = None;
        Some(place_of(&mut self.stacks, StackRow { caller, location }))
    }

    fn text_place(&self, text: &str) -> u64 {
        let place = self.texts.get_index_of(text);
        place.expect("it was added first") as u64
    }

    fn write(&self, sink: &mut Sink<'_>) -> Result<(), WriteError> {
        let mut message = Message::default();
        let mut inner = Message::default();
        let mut field = Message::default();
        let mut put = |number: u64, message: &Message| {
            field.clear();
            field.bytes_of(number, message.bytes());
            sink.write_all(field.bytes())
        };
        for values in [SAMPLES, WALL] {
            self.value_type(values, &mut message);
            put(profile::SAMPLE_TYPE, &message)?;
        }
        for (key, sum) in &self.rows {
            message.clear();
            message.list(sample_fields::LOCATION_ID, self.locations_of(key.stack));
            message.list(sample_fields::VALUE, [sum.samples, sum.worth].into_iter());
            for (name, value) in &self.label_sets[key.labels as usize] {
                inner.clear();
                inner.number(label::KEY, *name);
                inner.number(label::STR, *value);
                message.bytes_of(sample_fields::LABEL, inner.bytes());
            }
            put(profile::SAMPLE, &message)?;
        }
        for (place, file) in self.mappings.iter().enumerate() {
            message.clear();
            message.number(mapping::ID, place as u64 + 1);
            message.number(mapping::FILENAME, *file);
            // So that nobody looks for its symbols.
            message.number(mapping::HAS_FUNCTIONS, 1);
            message.number(mapping::HAS_FILENAMES, 1);
            message.number(mapping::HAS_LINE_NUMBERS, 1);
            put(profile::MAPPING, &message)?;
        }
        for (place, row) in self.locations.iter().enumerate() {
            self.location(place as u64 + 1, row, &mut message, &mut inner);
            put(profile::LOCATION, &message)?;
        }
        for (place, row) in self.functions.iter().enumerate() {
            function_message(place as u64 + 1, row, &mut message);
            put(profile::FUNCTION, &message)?;
        }
        let mut rest = Message::default();
        for text in &self.texts {
            rest.clear();
            rest.bytes_of(profile::STRING_TABLE, text.as_bytes());
            sink.write_all(rest.bytes())?;
        }
        rest.clear();
        rest.number(profile::TIME_NANOS, self.time_nanos);
        rest.number(profile::DURATION_NANOS, self.duration);
        self.value_type(WALL, &mut inner);
        rest.bytes_of(profile::PERIOD_TYPE, inner.bytes());
        rest.number(profile::PERIOD, self.period);
        rest.number(profile::DEFAULT_SAMPLE_TYPE, self.text_place(WALL[0]));
        rest.number(profile::IS_TIMED, self.is_timed.into());
        sink.write_all(rest.bytes())?;
        Ok(())
    }

    fn value_type(&self, [name, unit]: [&str; 2], message: &mut Message) {
        message.clear();
        message.number(value_type::TYPE, self.text_place(name));
        message.number(value_type::UNIT, self.text_place(unit));
    }

    /// Ids from the leaf to the root.
    fn locations_of(&self, stack: Option<u32>) -> impl Iterator<Item = u64> + Clone {
        let mut next = stack;
        std::iter::from_fn(move || {
            let row = self.stacks[next? as usize];
            next = row.caller;
            Some(u64::from(row.location) + 1)
        })
    }

    fn location(&self, id: u64, row: &LocationRow, message: &mut Message, inner: &mut Message) {
        message.clear();
        message.number(location::ID, id);
        let file = self.functions[row.function as usize].file;
        let mapping = self.mappings.get_index_of(&file);
        message.number(
            location::MAPPING_ID,
            mapping.map_or(0, |place| place as u64 + 1),
        );
        inner.clear();
        inner.number(line::FUNCTION_ID, u64::from(row.function) + 1);
        let mut own = (0, 0);
        match row.place {
            None => {},
            Some(Place::Source { line, column }) => {
                inner.number(line::LINE, line.get().into());
                inner.number(line::COLUMN, number(column));
            },
            Some(Place::Lines { first, last }) => {
                inner.number(line::LINE, first.get().into());
                own = (location::LAST_LINE, last.get().into());
            },
            Some(Place::WasmOffset(offset)) => {
                message.number(location::ADDRESS, offset.into());
                own = (location::WASM_OFFSET, u64::from(offset) + 1);
            },
        }
        message.bytes_of(location::LINE, inner.bytes());
        message.number(own.0, own.1);
    }
}

fn function_message(id: u64, row: &FunctionRow, message: &mut Message) {
    message.clear();
    message.number(function::ID, id);
    message.number(function::NAME, row.name);
    message.number(function::SYSTEM_NAME, row.system_name);
    message.number(function::FILENAME, row.file);
    message.number(function::START_LINE, row.line);
    message.number(function::START_COLUMN, row.column);
    message.number(function::KIND, row.kind);
    if let Some(generated) = &row.generated {
        message.number(function::GENERATED_NAME, generated.name);
        message.number(function::GENERATED_FILENAME, generated.file);
        message.number(function::GENERATED_LINE, generated.line);
        message.number(function::GENERATED_COLUMN, generated.column);
    }
}

/// What the labels of a sample follow from, in an event loop.
#[derive(Clone, Copy)]
struct LabelsKey<'a> {
    own: &'a [(String, String)],
    marker: &'static str,
    origin: Option<&'a str>,
}

impl LabelsKey<'_> {
    /// Whether they are the same, without a look at all texts.
    fn is_same(&self, other: &Self) -> bool {
        std::ptr::eq(self.own, other.own)
            && self.marker == other.marker
            && self.origin == other.origin
    }
}
