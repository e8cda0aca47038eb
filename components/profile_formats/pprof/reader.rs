/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Reading a file. It is read twice: the samples, which come first in most files, need the tables behind them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::num::NonZeroU32;

use super::fields::{self, function, label, line, location, mapping, profile, sample, value_type};
use super::names::{EVENT_LOOP, MARKER};
use super::wire::{Fields, Value, varint};
use crate::bounds::MAX_TABLES_BYTES;
use crate::counted::TOO_LARGE;
use crate::error::Error;
use crate::interval;
use crate::label as text_of_function;
use crate::recording::{
    Activity, EventLoop, EventLoopKind, Frame, FrameId, Function, FunctionKind, GeneratedPlace,
    Invalid, LAST_TIME, LabelSetId, MAX_STACK_DEPTH, Place, Process, Recording, Sample, StackId,
};
use crate::stackless;
use crate::worth::{self, MAX_WORTH};

/// Labels of one sample. Each is kept until the sample is read.
const MAX_LABELS: usize = 1_000;

/// Types of values. A file of Go has up to four.
const MAX_TYPES: usize = 100;

/// Units of time with their nanoseconds, by the names that pprof knows.
const UNITS: [(&str, u64); 11] = [
    ("nanoseconds", 1),
    ("nanosecond", 1),
    ("ns", 1),
    ("microseconds", 1_000),
    ("microsecond", 1_000),
    ("us", 1_000),
    ("milliseconds", 1_000_000),
    ("millisecond", 1_000_000),
    ("ms", 1_000_000),
    ("seconds", 1_000_000_000),
    ("s", 1_000_000_000),
];

/// Types of values that are numbers of samples.
const COUNTS: [&str; 2] = ["samples", "sample"];

/// Whether a text is a profile. A text in another format is none: its first character would be a field that does not exist.
pub fn is_pprof(text: &[u8]) -> bool {
    // Its first member is the type of its samples: the numbers of two strings. So one that ends too early is known, too.
    if let [0x0a, 2..=8, 0x08, _, rest @ ..] = text
        && (rest.contains(&0x10) || rest.len() < 8)
    {
        return true;
    }
    let (mut has_type, mut has_texts) = (false, false);
    let mut fields = Fields::of(text);
    for (field, value) in &mut fields {
        let is_message = matches!(value, Value::Bytes(_));
        match field {
            profile::SAMPLE_TYPE if is_message => has_type = true,
            profile::STRING_TABLE if is_message => has_texts = true,
            profile::SAMPLE..=profile::FUNCTION | profile::PERIOD_TYPE if is_message => {},
            7..=fields::LAST_OF_PROFILE if !is_message => {},
            // A list of comments.
            13 | 1000.. => {},
            _ => return false,
        }
    }
    fields.is_sound() && has_type && has_texts
}

pub fn read(text: &[u8], memory: u64) -> Result<Recording, Error> {
    let mut tables = Tables::read(text, memory)?;
    let values = Values::of(&tables)?;
    let mut event_loops = EventLoops {
        values: &values,
        marker: tables.place_of(MARKER),
        event_loop: tables.place_of(EVENT_LOOP),
        event_loops: Vec::new(),
        by_name: HashMap::new(),
        memory: tables.memory.min(MAX_TABLES_BYTES),
    };
    // The rest of what is left is for event loops.
    tables.memory = 0;
    let mut raw = RawSample::default();
    let mut index = 0;
    let is_timed = tables.is_timed || has_other_times(text, &values, tables.types.len())?;
    for (field, value) in Fields::of(text) {
        let (profile::SAMPLE, Value::Bytes(message)) = (field, value) else {
            continue;
        };
        let place = || format!("sample[{index}]");
        raw.read(message, tables.types.len())
            .map_err(|problem| Error::new(place(), problem))?;
        event_loops
            .add(&tables, &raw, is_timed)
            .map_err(|problem| problem.at(place()))?;
        index += 1;
    }
    let interval = match (values.period, is_timed) {
        (0, false) => interval::DEFAULT,
        (0, true) => event_loops.mean(),
        (period, _) => worth::milliseconds(period),
    };
    let event_loops = event_loops.event_loops.into_iter();
    let mut event_loops: Vec<_> = event_loops.map(|one| one.event_loop).collect();
    if event_loops.is_empty() {
        event_loops.push(EventLoop::default());
    }
    Ok(Recording {
        time_origin: tables.time_origin(),
        interval: interval::checked(interval, "period")?,
        recorded_by: None,
        processes: vec![Process {
            event_loops,
            ..Process::default()
        }],
    })
}

/// Whether samples are worth anything but the period.
fn has_other_times(text: &[u8], values: &Values, types: usize) -> Result<bool, Error> {
    let Some(time) = values.time else {
        return Ok(false);
    };
    if values.period == 0 {
        return Ok(true);
    }
    let mut raw = RawSample::default();
    for (index, message) in messages(text, profile::SAMPLE).enumerate() {
        raw.read(message, types)
            .map_err(|problem| Error::new(format!("sample[{index}]"), problem))?;
        let is_period = match (raw.values.get(time), values.count) {
            (Some(worth), Some(count)) => raw.values.get(count).is_some_and(|count| {
                let worth = i128::from(*worth) * i128::from(values.unit);
                worth == i128::from(*count) * i128::from(values.period)
            }),
            _ => false,
        };
        if !is_period {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The messages of a field.
fn messages(text: &[u8], wanted: u64) -> impl Iterator<Item = &[u8]> {
    Fields::of(text).filter_map(move |(field, value)| match value {
        Value::Bytes(message) if field == wanted => Some(message),
        _ => None,
    })
}

/// Everything but the samples.
struct Tables<'a> {
    memory: u64,
    texts: Vec<Cow<'a, str>>,
    /// Of the values of each sample: the places of their names and units.
    types: Vec<(u64, u64)>,
    period_unit: u64,
    period: i64,
    default_type: u64,
    time_nanos: i64,
    is_timed: bool,
    /// By id: the place of the file's name.
    mappings: HashMap<u64, u64>,
    functions: Rows<FunctionRow>,
    locations: Rows<LocationRow>,
    lines: Vec<LineRow>,
}

/// A table whose entries have ids.
struct Rows<T> {
    rows: Vec<T>,
    /// Absent if the id of each is one more than its place.
    places: Option<HashMap<u64, u32>>,
}

impl<T> Rows<T> {
    fn new() -> Self {
        Self {
            rows: Vec::new(),
            places: None,
        }
    }

    /// The error is a clause about it.
    fn add(&mut self, id: u64, row: T, memory: &mut u64) -> Result<(), String> {
        /// What an entry of a table by id takes.
        const OF_ID: u64 = 40;
        if id == 0 {
            return Err("its id is 0, which no other message can name".to_owned());
        }
        let place = self.rows.len() as u64;
        if self.places.is_none() && id != place + 1 {
            take(memory, OF_ID * place)?;
            self.places = Some((0..place).map(|place| (place + 1, place as u32)).collect());
        }
        if let Some(places) = &mut self.places {
            take(memory, OF_ID)?;
            match places.entry(id) {
                Entry::Vacant(entry) => entry.insert(place as u32),
                Entry::Occupied(_) => return Err(format!("the id {id} is there twice")),
            };
        }
        take(memory, 2 * size_of::<T>() as u64)?;
        self.rows.push(row);
        Ok(())
    }

    fn place(&self, id: u64) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(&id).map(|place| *place as usize),
            None => usize::try_from(id)
                .ok()?
                .checked_sub(1)
                .filter(|place| *place < self.rows.len()),
        }
    }
}

fn take(memory: &mut u64, bytes: u64) -> Result<(), String> {
    *memory = memory.checked_sub(bytes).ok_or(TOO_LARGE)?;
    Ok(())
}

/// Places of texts, and numbers; 0 where there is none.
#[derive(Default)]
struct FunctionRow {
    name: u64,
    file: u64,
    line: u32,
    column: u32,
    kind: u64,
    /// Absent in files of others.
    generated: Option<Box<GeneratedRow>>,
}

#[derive(Default)]
struct GeneratedRow {
    name: u64,
    file: u64,
    line: u32,
    column: u32,
}

#[derive(Default)]
struct LocationRow {
    address: u64,
    mapping: u64,
    wasm_offset: u64,
    last_line: u32,
    /// Its lines: the first one and how many there are.
    first: u32,
    count: u32,
}

#[derive(Default)]
struct LineRow {
    /// 0 if the location has no lines, and only an address.
    function: u64,
    line: u32,
    column: u32,
    location: u32,
}

/// A line or column; 0 if it is none.
fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or_default()
}

/// The numbers of a message, by the numbers of its fields.
fn numbers(message: &[u8], mut set: impl FnMut(u64, u64)) -> Result<(), String> {
    let mut fields = Fields::of(message);
    for (field, value) in &mut fields {
        if let Value::Number(number) = value {
            set(field, number);
        }
    }
    match fields.is_sound() {
        true => Ok(()),
        false => Err("the message is not sound".to_owned()),
    }
}

impl<'a> Tables<'a> {
    fn read(text: &'a [u8], memory: u64) -> Result<Self, Error> {
        let mut tables = Self {
            memory,
            texts: Vec::new(),
            types: Vec::new(),
            period_unit: 0,
            period: 0,
            default_type: 0,
            time_nanos: 0,
            is_timed: false,
            mappings: HashMap::new(),
            functions: Rows::new(),
            locations: Rows::new(),
            lines: Vec::new(),
        };
        let mut fields = Fields::of(text);
        for (field, value) in fields.by_ref() {
            tables.add(field, value).map_err(|problem| {
                let (table, index) = match field {
                    profile::SAMPLE_TYPE => ("sample_type", tables.types.len()),
                    profile::MAPPING => ("mapping", tables.mappings.len()),
                    profile::LOCATION => ("location", tables.locations.rows.len()),
                    profile::FUNCTION => ("function", tables.functions.rows.len()),
                    profile::STRING_TABLE => ("string_table", tables.texts.len()),
                    _ => ("period_type", 0),
                };
                Error::new(format!("{table}[{index}]"), problem)
            })?;
        }
        if !fields.is_sound() {
            return Err(Error::of_file(
                "the message of the profile is not sound, or ends too early",
            ));
        }
        if tables.texts.first().is_some_and(|first| !first.is_empty()) {
            return Err(Error::new("string_table[0]", "the first text is not empty"));
        }
        Ok(tables)
    }

    fn add(&mut self, field: u64, value: Value<'a>) -> Result<(), String> {
        match (field, value) {
            (profile::SAMPLE_TYPE, Value::Bytes(message)) => {
                if self.types.len() == MAX_TYPES {
                    return Err(format!("more than {MAX_TYPES} types of values"));
                }
                self.types.push(value_type(message)?);
            },
            (profile::PERIOD_TYPE, Value::Bytes(message)) => {
                self.period_unit = value_type(message)?.1;
            },
            (profile::MAPPING, Value::Bytes(message)) => {
                /// What an entry takes.
                const MAPPING: u64 = 60;
                let (mut id, mut file) = (0, 0);
                numbers(message, |field, number| match field {
                    mapping::ID => id = number,
                    mapping::FILENAME => file = number,
                    _ => {},
                })?;
                take(&mut self.memory, MAPPING)?;
                self.mappings.insert(id, file);
            },
            (profile::LOCATION, Value::Bytes(message)) => self.add_location(message)?,
            (profile::FUNCTION, Value::Bytes(message)) => self.add_function(message)?,
            (profile::STRING_TABLE, Value::Bytes(text)) => {
                let text = String::from_utf8_lossy(text);
                let copied = match &text {
                    Cow::Borrowed(_) => 0,
                    Cow::Owned(text) => text.len(),
                };
                take(&mut self.memory, (2 * size_of_val(&text) + copied) as u64)?;
                self.texts.push(text);
            },
            (profile::PERIOD, Value::Number(number)) => self.period = number as i64,
            (profile::TIME_NANOS, Value::Number(number)) => self.time_nanos = number as i64,
            (profile::DEFAULT_SAMPLE_TYPE, Value::Number(number)) => self.default_type = number,
            (profile::IS_TIMED, Value::Number(number)) => self.is_timed = number != 0,
            _ => {},
        }
        Ok(())
    }

    fn add_function(&mut self, message: &[u8]) -> Result<(), String> {
        let mut row = FunctionRow::default();
        let mut generated = GeneratedRow::default();
        let mut id = 0;
        numbers(message, |field, number| match field {
            function::ID => id = number,
            function::NAME => row.name = number,
            function::FILENAME => row.file = number,
            function::START_LINE => row.line = small(number),
            function::START_COLUMN => row.column = small(number),
            function::KIND => row.kind = number,
            function::GENERATED_NAME => generated.name = number,
            function::GENERATED_FILENAME => generated.file = number,
            function::GENERATED_LINE => generated.line = small(number),
            function::GENERATED_COLUMN => generated.column = small(number),
            _ => {},
        })?;
        if generated.file != 0 {
            take(&mut self.memory, 2 * size_of::<GeneratedRow>() as u64)?;
            row.generated = Some(Box::new(generated));
        }
        self.functions.add(id, row, &mut self.memory)
    }

    fn add_location(&mut self, message: &[u8]) -> Result<(), String> {
        let mut row = LocationRow {
            first: self.lines.len() as u32,
            ..LocationRow::default()
        };
        let mut id = 0;
        numbers(message, |field, number| match field {
            location::ID => id = number,
            location::MAPPING_ID => row.mapping = number,
            location::ADDRESS => row.address = number,
            location::WASM_OFFSET => row.wasm_offset = number,
            location::LAST_LINE => row.last_line = small(number),
            _ => {},
        })?;
        let location = self.locations.rows.len() as u32;
        for message in messages(message, location::LINE) {
            let mut line = LineRow {
                location,
                ..LineRow::default()
            };
            numbers(message, |field, number| match field {
                line::FUNCTION_ID => line.function = number,
                line::LINE => line.line = small(number),
                line::COLUMN => line.column = small(number),
                _ => {},
            })?;
            if line.function == 0 {
                return Err("a line of it has no function".to_owned());
            }
            self.add_line(line)?;
        }
        if self.lines.len() as u32 == row.first {
            self.add_line(LineRow {
                location,
                ..LineRow::default()
            })?;
        }
        row.count = self.lines.len() as u32 - row.first;
        self.locations.add(id, row, &mut self.memory)
    }

    fn add_line(&mut self, line: LineRow) -> Result<(), String> {
        if self.lines.len() >= u32::MAX as usize {
            return Err(TOO_LARGE.to_owned());
        }
        take(&mut self.memory, 2 * size_of::<LineRow>() as u64)?;
        self.lines.push(line);
        Ok(())
    }

    /// The text at a place. Empty at 0.
    fn text(&self, place: u64) -> Result<&str, String> {
        if place == 0 {
            return Ok("");
        }
        let index = usize::try_from(place).ok();
        let text = index.and_then(|index| self.texts.get(index));
        text.map(|text| &**text).ok_or_else(|| {
            let count = self.texts.len();
            format!("{place} is not an index of string_table, which has {count}")
        })
    }

    fn place_of(&self, text: &str) -> Option<u64> {
        let place = self.texts.iter().position(|other| other == text);
        place.map(|place| place as u64)
    }

    fn time_origin(&self) -> Option<f64> {
        // In whole microseconds a number has all digits.
        let microseconds = self.time_nanos / 1_000;
        (microseconds > 0).then_some(microseconds as f64 / 1e3)
    }
}

fn value_type(message: &[u8]) -> Result<(u64, u64), String> {
    let (mut name, mut unit) = (0, 0);
    numbers(message, |field, number| match field {
        value_type::TYPE => name = number,
        value_type::UNIT => unit = number,
        _ => {},
    })?;
    Ok((name, unit))
}

/// Which values of a sample count.
struct Values {
    count: Option<usize>,
    /// Absent if there are only numbers of samples.
    time: Option<usize>,
    /// Nanoseconds in a unit of the time.
    unit: u64,
    /// Nanoseconds; 0 if it is unknown.
    period: u64,
}

impl Values {
    fn of(tables: &Tables) -> Result<Self, Error> {
        let mut names = Vec::new();
        for (index, (name, unit)) in tables.types.iter().enumerate() {
            let text = |place: u64| {
                let text = tables.text(place);
                text.map_err(|problem| Error::new(format!("sample_type[{index}]"), problem))
            };
            names.push((text(*name)?, text(*unit)?));
        }
        let nanoseconds = |unit: &str| UNITS.iter().find(|(name, _)| *name == unit);
        let is_time = |place: &usize| nanoseconds(names[*place].1).is_some();
        let default = tables.text(tables.default_type).unwrap_or_default();
        let by_default = names.iter().position(|(name, _)| *name == default);
        // Without a default, the last one is shown.
        let time = by_default
            .filter(is_time)
            .or_else(|| (0..names.len()).rev().find(is_time));
        let count = names.iter().position(|(name, _)| COUNTS.contains(name));
        if time.is_none() && count.is_none() {
            let names: Vec<_> = names
                .iter()
                .map(|(name, unit)| format!("{name} ({unit})"))
                .collect();
            let problem = format!("its values are no times: {}", names.join(", "));
            return Err(Error::new("sample_type", problem));
        }
        let period_unit = tables.text(tables.period_unit).unwrap_or_default();
        let period = u64::try_from(tables.period).unwrap_or_default();
        Ok(Self {
            count,
            unit: time.map_or(1, |time| {
                nanoseconds(names[time].1).map_or(1, |(_, unit)| *unit)
            }),
            time,
            period: nanoseconds(period_unit)
                .map_or(0, |(_, unit)| period.saturating_mul(*unit).min(MAX_WORTH)),
        })
    }
}

/// A sample as it is in the file.
#[derive(Default)]
struct RawSample {
    /// Ids, from the leaf.
    locations: Vec<u64>,
    values: Vec<i64>,
    labels: Vec<RawLabel>,
}

/// Places of texts, and a number.
#[derive(Clone, Copy, Default, PartialEq)]
struct RawLabel {
    key: u64,
    text: u64,
    number: u64,
    unit: u64,
}

impl RawSample {
    fn read(&mut self, message: &[u8], types: usize) -> Result<(), String> {
        self.locations.clear();
        self.values.clear();
        self.labels.clear();
        let mut fields = Fields::of(message);
        for (field, value) in &mut fields {
            match field {
                sample::LOCATION_ID => read_list(value, |id| {
                    if self.locations.len() == MAX_STACK_DEPTH as usize {
                        return Err(Invalid::TooDeep.to_string());
                    }
                    self.locations.push(id);
                    Ok(())
                })?,
                sample::VALUE => read_list(value, |number| {
                    if self.values.len() == types {
                        return Err(format!("it has more values than the {types} types"));
                    }
                    self.values.push(number as i64);
                    Ok(())
                })?,
                sample::LABEL => {
                    let Value::Bytes(message) = value else {
                        continue;
                    };
                    if self.labels.len() == MAX_LABELS {
                        return Err(format!("it has more than {MAX_LABELS} labels"));
                    }
                    let mut label = RawLabel::default();
                    numbers(message, |field, number| match field {
                        label::KEY => label.key = number,
                        label::STR => label.text = number,
                        label::NUM => label.number = number,
                        label::NUM_UNIT => label.unit = number,
                        _ => {},
                    })?;
                    self.labels.push(label);
                },
                _ => {},
            }
        }
        match fields.is_sound() {
            true if self.values.len() == types => Ok(()),
            true => Err(format!("{} values of {types} types", self.values.len())),
            false => Err("the message is not sound".to_owned()),
        }
    }
}

/// A field that is repeated: a number, or a list of them.
fn read_list(value: Value, mut add: impl FnMut(u64) -> Result<(), String>) -> Result<(), String> {
    match value {
        Value::Number(number) => add(number),
        Value::Bytes(mut list) => {
            while !list.is_empty() {
                add(varint(&mut list).ok_or("a list of numbers is not sound")?)?;
            }
            Ok(())
        },
        Value::Other => Ok(()),
    }
}

/// Why a sample is not added.
enum Problem {
    Text(String),
    Invalid(Invalid),
}

impl Problem {
    fn at(self, place: String) -> Error {
        match self {
            Self::Text(problem) => Error::new(place, problem),
            Self::Invalid(invalid) => Error::new(place, invalid),
        }
    }
}

impl From<String> for Problem {
    fn from(problem: String) -> Self {
        Self::Text(problem)
    }
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        Self::Invalid(invalid)
    }
}

struct EventLoops<'a> {
    values: &'a Values,
    /// Where the names of these labels are.
    marker: Option<u64>,
    event_loop: Option<u64>,
    event_loops: Vec<Reading>,
    /// By the place of the name.
    by_name: HashMap<u64, usize>,
    memory: u64,
}

/// An event loop that is read.
struct Reading {
    event_loop: EventLoop,
    /// Nanoseconds that the samples up to here are worth.
    clock: u64,
    samples: u64,
    /// By the places of lines.
    frames: Vec<Option<FrameId>>,
    /// The last stack: the places of its lines from the root, and its stacks.
    last: Vec<u32>,
    stacks: Vec<StackId>,
    last_labels: Vec<RawLabel>,
    last_set: Option<LabelSetId>,
}

impl EventLoops<'_> {
    fn add(&mut self, tables: &Tables, raw: &RawSample, is_timed: bool) -> Result<(), Problem> {
        let value = |place: Option<usize>| match place {
            Some(place) => u64::try_from(raw.values[place])
                .map(Some)
                .map_err(|_| format!("the value {} is below 0", raw.values[place])),
            None => Ok(None),
        };
        let time = value(self.values.time)?.map(|time| time.saturating_mul(self.values.unit));
        let count = value(self.values.count)?;
        // What stands for nothing is in files that were made shorter.
        if count.unwrap_or(0) == 0 && time.unwrap_or(0) == 0 {
            return Ok(());
        }
        let name = raw
            .labels
            .iter()
            .find(|label| Some(label.key) == self.event_loop);
        let reading = self.reading(tables, name.map_or(0, |label| label.text))?;
        let reading = &mut self.event_loops[reading];
        let before = reading.event_loop.bytes();
        reading.event_loop.allow(before + self.memory);

        let marker = raw
            .labels
            .iter()
            .find(|label| Some(label.key) == self.marker);
        let marker = marker.and_then(|label| activity(tables.text(label.text).ok()?));
        let (stack, alone) = reading.stack(tables, &raw.locations)?;
        let worth = time.unwrap_or(0);
        let sample = Sample {
            time: worth::milliseconds(reading.clock).min(LAST_TIME),
            weight: count.unwrap_or(1).max(1),
            stack,
            activity: marker.or(alone),
        };
        let elapsed = match is_timed {
            true => {
                reading.event_loop.add_several(sample, worth)?;
                worth
            },
            false => {
                reading.event_loop.add_sample(sample)?;
                let period = match self.values.period {
                    0 => worth::nanoseconds(interval::DEFAULT),
                    period => period,
                };
                period.saturating_mul(sample.weight)
            },
        };
        reading.clock = reading.clock.saturating_add(elapsed);
        reading.samples = reading.samples.saturating_add(sample.weight);
        let is_consumed = |label: &RawLabel| {
            Some(label.key) == self.event_loop || Some(label.key) == self.marker && marker.is_some()
        };
        reading.label(tables, &raw.labels, is_consumed)?;
        self.memory = self
            .memory
            .saturating_sub(reading.event_loop.bytes() - before);
        Ok(())
    }

    /// The place of the event loop with a name.
    fn reading(&mut self, tables: &Tables, name: u64) -> Result<usize, Problem> {
        if let Some(place) = self.by_name.get(&name) {
            return Ok(*place);
        }
        let text = tables.text(name)?.to_owned();
        // One place of a frame for each line.
        take(&mut self.memory, 8 * tables.lines.len() as u64)?;
        let event_loop = EventLoop::within(self.memory, text, EventLoopKind::Unknown)?;
        self.memory -= event_loop.bytes();
        self.event_loops.push(Reading {
            event_loop,
            clock: 0,
            samples: 0,
            frames: vec![None; tables.lines.len()],
            last: Vec::new(),
            stacks: Vec::new(),
            last_labels: Vec::new(),
            last_set: None,
        });
        let place = self.event_loops.len() - 1;
        self.by_name.insert(name, place);
        Ok(place)
    }

    /// What samples are worth on average, in milliseconds.
    fn mean(&self) -> f64 {
        let time: f64 = self.event_loops.iter().map(|one| one.clock as f64).sum();
        let samples: f64 = self.event_loops.iter().map(|one| one.samples as f64).sum();
        let mean = interval::whole_nanoseconds(time / samples.max(1.) / worth::NANOSECONDS);
        if mean > 0. { mean } else { interval::DEFAULT }
    }
}

impl Reading {
    /// The stack of some locations, or what the sample was doing if they are no function.
    fn stack(
        &mut self,
        tables: &Tables,
        locations: &[u64],
    ) -> Result<(Option<StackId>, Option<Activity>), Problem> {
        let mut depth = 0;
        let mut is_common = true;
        for id in locations.iter().rev() {
            let place = tables.locations.place(*id);
            let place = place.ok_or_else(|| format!("there is no location {id}"))?;
            let location = &tables.locations.rows[place];
            let is_alone = locations.len() == 1 && location.count == 1;
            if is_alone && let Some(activity) = activity_of(tables, location.first)? {
                return Ok((None, activity));
            }
            for line in (location.first..location.first + location.count).rev() {
                if is_common && self.last.get(depth) == Some(&line) {
                    depth += 1;
                    continue;
                }
                if is_common {
                    is_common = false;
                    self.last.truncate(depth);
                    self.stacks.truncate(depth);
                }
                let frame = self.frame(tables, line)?;
                let parent = self.stacks.last().copied();
                self.stacks.push(self.event_loop.add_stack(parent, frame)?);
                self.last.push(line);
                depth += 1;
            }
        }
        self.last.truncate(depth);
        self.stacks.truncate(depth);
        Ok((self.stacks.last().copied(), None))
    }

    /// The frame of a line of a location.
    fn frame(&mut self, tables: &Tables, index: u32) -> Result<FrameId, Problem> {
        let index = index as usize;
        if let Some(frame) = self.frames[index] {
            return Ok(frame);
        }
        let line = &tables.lines[index];
        let location = &tables.locations.rows[line.location as usize];
        let event_loop = &mut self.event_loop;
        let frame = if line.function == 0 {
            let file = tables.mappings.get(&location.mapping).copied();
            let function = Function {
                name: format!("0x{:x}", location.address),
                kind: FunctionKind::Native,
                resource: event_loop.add_resource(tables.text(file.unwrap_or_default())?)?,
                ..Function::default()
            };
            let function = event_loop.add_function(function)?;
            let place = None;
            Frame { function, place }
        } else {
            let row = function_of(tables, line)?;
            let generated = match &row.generated {
                None => None,
                Some(generated) => {
                    let file = tables.text(generated.file)?;
                    event_loop.add_resource(file)?.map(|resource| {
                        Ok::<_, Problem>(Box::new(GeneratedPlace {
                            name: tables.text(generated.name)?.to_owned(),
                            resource,
                            line: NonZeroU32::new(generated.line),
                            column: NonZeroU32::new(generated.column),
                        }))
                    })
                },
            };
            let function = Function {
                name: text_of_function::read_exact(tables.text(row.name)?).into_owned(),
                kind: match row.kind {
                    1 => FunctionKind::Script,
                    2 => FunctionKind::BuiltIn,
                    3 => FunctionKind::Native,
                    _ => FunctionKind::Unknown,
                },
                resource: event_loop.add_resource(tables.text(row.file)?)?,
                line: NonZeroU32::new(row.line),
                column: NonZeroU32::new(row.column),
                realm: None,
                source: None,
                generated: generated.transpose()?,
            };
            Frame {
                function: event_loop.add_function(function)?,
                place: place_in(line, location),
            }
        };
        let frame = event_loop.add_frame(frame)?;
        Ok(*self.frames[index].insert(frame))
    }

    /// Gives labels to the last sample.
    fn label(
        &mut self,
        tables: &Tables,
        labels: &[RawLabel],
        is_consumed: impl Fn(&RawLabel) -> bool,
    ) -> Result<(), Problem> {
        let mut rest = labels.iter().filter(|label| !is_consumed(label)).peekable();
        if rest.peek().is_none() {
            return Ok(());
        }
        if self.last_set.is_none() || self.last_labels != labels {
            let mut set = Vec::new();
            for label in rest {
                let value = match label.text {
                    0 if label.number == 0 => continue,
                    0 => match tables.text(label.unit)? {
                        "" => (label.number as i64).to_string(),
                        unit => format!("{} {unit}", label.number as i64),
                    },
                    text => tables.text(text)?.to_owned(),
                };
                set.push((tables.text(label.key)?.to_owned(), value));
            }
            self.last_labels = labels.to_vec();
            self.last_set = match set.is_empty() {
                true => None,
                false => Some(self.event_loop.add_label_set(set)?),
            };
        }
        if let Some(set) = self.last_set {
            self.event_loop.label_last_sample(set)?;
        }
        Ok(())
    }
}

fn function_of<'a>(tables: &'a Tables, line: &LineRow) -> Result<&'a FunctionRow, String> {
    let place = tables.functions.place(line.function);
    let place = place.ok_or_else(|| format!("there is no function {}", line.function))?;
    Ok(&tables.functions.rows[place])
}

fn place_in(line: &LineRow, location: &LocationRow) -> Option<Place> {
    if let Some(offset) = location.wasm_offset.checked_sub(1) {
        return u32::try_from(offset).ok().map(Place::WasmOffset);
    }
    let first = NonZeroU32::new(line.line)?;
    match NonZeroU32::new(location.last_line) {
        Some(last) if last > first => Some(Place::of_lines(first, last)),
        _ => Place::of_source(Some(first), NonZeroU32::new(line.column)),
    }
}

/// What a sample was doing if a line is its only one. `None` if that is a function.
fn activity_of(tables: &Tables, line: u32) -> Result<Option<Option<Activity>>, String> {
    let line = &tables.lines[line as usize];
    if line.function == 0 {
        return Ok(None);
    }
    let function = function_of(tables, line)?;
    Ok(stackless::activity(tables.text(function.name)?).filter(|_| function.file == 0))
}

/// That of the label.
fn activity(marker: &str) -> Option<Activity> {
    let mut all = Activity::ALL.into_iter();
    all.find(|activity| activity.as_str() == marker)
}
