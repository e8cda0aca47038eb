/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Reads the samples of threads, and the markers that a recording by Strobe has.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::meta::Meta;
use super::samples::{Samples, SamplesOfThread, Sums};
use super::schema::{
    DOCUMENT, ENGINES, EVENT_LOOP, MISSED_SAMPLES, PAGE, REVISION, SAMPLES, TRACING_MS, WORKER,
};
use super::tables::{FrameTable, FuncTable, Reader, StackTable, Tables};
use crate::error::Error;
use crate::interval;
use crate::json::check_length;
use crate::recorded_by::{NoRecorder, Program, RecordedBy};
use crate::recording::{
    EventLoop, EventLoopKind, Invalid, Missed, MissedReason, Process, Recording, check_time,
};
use crate::worth;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    #[serde(default)]
    pub name: String,
    pub process_name: Option<String>,
    pub process_shutdown_time: Option<f64>,
    #[serde(default)]
    pub pid: Value,
    pub samples: Samples,
    pub stack_table: Option<StackTable>,
    pub frame_table: Option<FrameTable>,
    pub func_table: Option<FuncTable>,
    pub string_array: Option<Vec<String>>,
    #[serde(default)]
    pub markers: Markers,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Markers {
    #[serde(default)]
    data: Vec<Option<MarkerData>>,
    #[serde(default)]
    start_time: Vec<Option<f64>>,
    #[serde(default)]
    end_time: Vec<Option<f64>>,
}

/// The members of our own markers. Markers of other programs may have members of any type.
#[derive(Deserialize)]
struct MarkerData {
    #[serde(default, rename = "type")]
    marker_type: Value,
    #[serde(default)]
    kind: Value,
    #[serde(default)]
    url: Value,
    #[serde(default)]
    samples: Value,
    #[serde(default)]
    why: Value,
}

/// The processes of threads, by their ids.
#[derive(Default)]
pub struct Processes {
    processes: Vec<Process>,
    by_pid: HashMap<String, usize>,
}

impl Processes {
    pub fn add(&mut self, thread: &Thread, event_loop: EventLoop) {
        let pid = match &thread.pid {
            Value::String(pid) => pid.clone(),
            other => other.to_string(),
        };
        let processes = &mut self.processes;
        let process = *self.by_pid.entry(pid).or_insert_with_key(|pid| {
            processes.push(Process {
                name: thread.process_name.clone().unwrap_or_default(),
                pid: pid.parse().ok(),
                ended: thread.process_shutdown_time,
                event_loops: Vec::new(),
            });
            processes.len() - 1
        });
        self.processes[process].event_loops.push(event_loop);
    }

    pub fn into_recording(self, meta: &Meta) -> Result<Recording, Error> {
        let mut recording = Recording {
            time_origin: (meta.start_time > 0.).then_some(meta.start_time),
            interval: meta.interval,
            recorded_by: read_recorded_by(meta)?,
            processes: self.processes,
        };
        recording.interval = match meta.interval {
            0. => {
                let series = recording
                    .event_loops()
                    .map(|event_loop| event_loop.samples().iter().map(|sample| sample.time));
                interval::estimate(series)
            },
            interval => interval::checked(interval, "meta.interval")?,
        };
        Ok(recording)
    }
}

/// `None` if the file does not say.
fn read_recorded_by(meta: &Meta) -> Result<Option<RecordedBy>, Error> {
    let imported_from = meta.imported_from.as_deref().unwrap_or_default();
    let program = Program::new(imported_from, None).or_else(|| {
        let misc = meta.misc.as_deref();
        let version = misc.map(|misc| misc.strip_prefix(REVISION).unwrap_or(misc));
        Program::new(meta.product.as_deref().unwrap_or_default(), version)
    });
    let engines = read_engines(&meta.extra)?;
    let recorded_by = program.map(|program| RecordedBy::new(program, engines));
    let recorded_by = recorded_by.transpose();
    recorded_by.map_err(|problem| Error::new("meta.extra", problem))
}

fn read_engines(extra: &Value) -> Result<Vec<Program>, Error> {
    let sections = extra.as_array().into_iter().flatten().enumerate();
    let mut ours = sections.filter(|(_, section)| section["label"] == ENGINES);
    let Some((number, section)) = ours.next() else {
        return Ok(Vec::new());
    };
    let place = format!("meta.extra[{number}].entries");
    let entries = section["entries"].as_array();
    let entries = entries.ok_or_else(|| Error::new(&place, "not a list of engines"))?;
    let entries = entries.iter().enumerate();
    let engines = entries.map(|(index, entry)| {
        let member = |name: &str| {
            let text = entry[name].as_str();
            text.ok_or_else(|| Error::new(format!("{place}[{index}].{name}"), "not a text"))
        };
        let engine = Program::new(member("label")?, Some(member("value")?));
        engine.ok_or_else(|| Error::new(format!("{place}[{index}].label"), NoRecorder::WithoutName))
    });
    engines.collect()
}

/// Which stacks of a table a thread gets.
#[derive(PartialEq)]
pub enum Wanted {
    All,
    OfSamples,
}

/// `sums` are given if these are all that is kept of samples.
pub fn read_thread(
    thread: &Thread,
    reader: &mut Reader<'_>,
    (wanted, sums): (Wanted, Option<&mut Sums>),
    meta: &Meta,
    memory: &mut u64,
    place: &str,
) -> Result<EventLoop, Error> {
    let tables = reader.tables();
    let kind = read_kind(thread, tables, place)?;
    let of_sums = match sums {
        Some(_) => Sums::bytes(reader.stack_count()),
        None => 0,
    };
    let event_loop = match memory.checked_sub(of_sums) {
        Some(left) => EventLoop::within(left, thread.name.clone(), kind),
        None => Err(Invalid::TooLarge),
    };
    let mut event_loop = event_loop.map_err(|invalid| Error::new(place, invalid))?;
    if wanted == Wanted::All {
        reader.read_all(&mut event_loop)?;
    }
    let samples = &thread.samples;
    let times = times(samples, place)?;
    let count = samples.stack.len();
    let column = |name: &str| format!("{place}.samples.{name}");
    check_length(times.len(), count, || column("time"))?;
    if let Some(weights) = &samples.weight {
        check_length(weights.len(), count, || column("weight"))?;
    }
    let is_timed = match samples.weight_type.as_deref() {
        None | Some(SAMPLES) => false,
        Some(TRACING_MS) => true,
        Some(other) => {
            let problem = format!("{other:?} is neither {SAMPLES:?} nor {TRACING_MS:?}");
            return Err(Error::new(column("weightType"), problem));
        },
    };
    let samples = SamplesOfThread {
        samples,
        times: &times,
        is_timed,
        place,
    };
    match sums {
        None => samples.add_all(reader, &mut event_loop, meta)?,
        Some(sums) => samples.add_sums(sums, reader, &mut event_loop, meta)?,
    }
    read_missed(thread, tables, &mut event_loop, place)?;
    *memory -= event_loop.bytes();
    Ok(event_loop)
}

/// In milliseconds, whole nanoseconds.
fn times<'a>(samples: &'a Samples, place: &str) -> Result<Cow<'a, [f64]>, Error> {
    let whole = |time: f64| match check_time(time) {
        Ok(()) => worth::milliseconds(worth::nanoseconds(time)),
        // No sample may have it.
        Err(_) => time,
    };
    match (&samples.time, &samples.time_deltas) {
        (Some(times), _) => Ok(times.into()),
        (None, Some(deltas)) => {
            let mut time = 0.;
            let times = deltas.iter().map(|delta| {
                time += delta;
                whole(time)
            });
            Ok(times.collect())
        },
        (None, None) => Err(Error::new(
            format!("{place}.samples"),
            "neither time nor timeDeltas",
        )),
    }
}

fn read_kind(thread: &Thread, tables: Tables<'_>, place: &str) -> Result<EventLoopKind, Error> {
    let mut kind = EventLoopKind::Unknown;
    for (index, marker) in thread.markers.data.iter().enumerate() {
        let Some(marker) = marker else { continue };
        let place = |member: &str| format!("{place}.markers.data[{index}].{member}");
        match marker.marker_type.as_str() {
            Some(EVENT_LOOP) => {
                kind = match string_of(tables, &marker.kind, || place("kind"))? {
                    PAGE => EventLoopKind::Page {
                        documents: Vec::new(),
                    },
                    WORKER => EventLoopKind::Worker,
                    other => {
                        let problem = format!("{other:?} is neither {PAGE:?} nor {WORKER:?}");
                        return Err(Error::new(place("kind"), problem));
                    },
                };
            },
            Some(DOCUMENT) => {
                if let EventLoopKind::Page { documents } = &mut kind {
                    documents.extend(marker.url.as_str().map(str::to_owned));
                }
            },
            _ => {},
        }
    }
    Ok(kind)
}

fn read_missed(
    thread: &Thread,
    tables: Tables<'_>,
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<(), Error> {
    let markers = &thread.markers;
    for (index, marker) in markers.data.iter().enumerate() {
        let Some(marker) = marker else { continue };
        if marker.marker_type.as_str() != Some(MISSED_SAMPLES) {
            continue;
        }
        let column = |name: &str| format!("{place}.markers.{name}[{index}]");
        let member = |name: &str| format!("{}.{name}", column("data"));
        let time = |times: &[Option<f64>], name: &str| {
            let time = times.get(index).copied().flatten();
            time.ok_or_else(|| Error::new(column(name), "missed samples without this time"))
        };
        let start = time(&markers.start_time, "startTime")?;
        let end = time(&markers.end_time, "endTime")?;
        let samples = marker.samples.as_u64();
        let samples = samples
            .and_then(|samples| u32::try_from(samples).ok())
            .ok_or_else(|| {
                let problem = format!("{} is not a number of samples", marker.samples);
                Error::new(member("samples"), problem)
            })?;
        let text = string_of(tables, &marker.why, || member("why"))?;
        let why = MissedReason::ALL
            .into_iter()
            .find(|why| why.as_str() == text)
            .ok_or_else(|| Error::new(member("why"), format!("{text:?} is no reason")))?;
        let added = event_loop.add_missed(Missed {
            start,
            end,
            samples,
            why,
        });
        added.map_err(|invalid| {
            let place = match invalid {
                Invalid::NoneMissed => member("samples"),
                Invalid::EndsBefore { .. } => column("endTime"),
                Invalid::Time(time) if time != start => column("endTime"),
                _ => column("startTime"),
            };
            Error::new(place, invalid)
        })?;
    }
    Ok(())
}

/// The string whose index is a member of a marker.
fn string_of<'a>(
    tables: Tables<'a>,
    index: &Value,
    place: impl Fn() -> String,
) -> Result<&'a str, Error> {
    let index = index.as_u64().and_then(|index| u32::try_from(index).ok());
    let index = index.ok_or_else(|| Error::new(place(), "not an index of stringArray"))?;
    tables.string(index, place)
}
