/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Profiles of the type `evented`: when each function was entered and left. speedscope's own Export writes nothing else,
//! whatever the profile was. The time between two events is a sample of what was open in it, and what it is worth. A sample
//! without a stack is the time in which nothing was open.

use serde::Deserialize;

use super::frames::Frames;
use crate::error::Error;
use crate::recording::{EventLoop, Invalid, MAX_STACK_DEPTH, Sample, StackId};

#[derive(Deserialize)]
pub struct Event {
    #[serde(rename = "type")]
    kind: EventType,
    frame: u32,
    at: f64,
}

/// What a profile has of events.
#[derive(Clone, Copy)]
pub struct Events<'a> {
    /// When it begins, in the unit of the profile.
    pub begin: f64,
    pub events: &'a [Event],
    pub end: Option<f64>,
    /// How long the unit is.
    pub milliseconds: f64,
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
enum EventType {
    #[serde(rename = "O")]
    Open,
    #[serde(rename = "C")]
    Close,
}

/// Whether each event is in order, and closes what was opened last.
pub fn check(profile: &Events<'_>, place: &str) -> Result<(), Error> {
    let mut open = Vec::new();
    let mut last = profile.begin;
    for (index, event) in profile.events.iter().enumerate() {
        let place = |member: &str| format!("{place}.events[{index}].{member}");
        if event.at < last {
            let problem = format!(
                "{} is before {last}, the time of what is before it",
                event.at
            );
            return Err(Error::new(place("at"), problem));
        }
        last = event.at;
        if event.kind == EventType::Open {
            open.push(event.frame);
            if open.len() > MAX_STACK_DEPTH as usize {
                return Err(Error::new(place("frame"), Invalid::TooDeep));
            }
            continue;
        }
        let problem = match open.pop() {
            Some(frame) if frame == event.frame => continue,
            Some(frame) => format!("{} is closed, and {frame} was opened last", event.frame),
            None => format!("{} is closed, and nothing is open", event.frame),
        };
        return Err(Error::new(place("frame"), problem));
    }
    Ok(())
}

/// The lengths of the stretches between events, in the unit of the profile.
pub fn lengths(profile: Events<'_>) -> impl Iterator<Item = f64> {
    let times = profile.events.iter().map(|event| event.at);
    let mut last = None;
    times
        .chain(profile.end)
        .filter_map(move |at| Some(at - last.replace(at)?))
        .filter(|length| *length > 0.)
}

/// Reads the events of a profile that has been checked.
pub fn read(
    profile: &Events<'_>,
    frames: &mut Frames<'_>,
    event_loop: &mut EventLoop,
    place: &str,
) -> Result<(), Error> {
    let milliseconds = profile.milliseconds;
    // What is open, and the stacks of as many of them as samples have asked for.
    let mut open: Vec<(usize, u32)> = Vec::new();
    let mut stacks: Vec<StackId> = Vec::new();
    let ends = profile.events.iter().map(|event| event.at);
    let ends = ends.skip(1).chain(profile.end);
    let mut ends = ends.fuse();
    for (index, event) in profile.events.iter().enumerate() {
        match event.kind {
            EventType::Open => open.push((index, event.frame)),
            EventType::Close => {
                open.pop();
                stacks.truncate(open.len());
            },
        }
        let Some(end) = ends.next().filter(|end| *end > event.at) else {
            continue;
        };
        let is_last = index + 1 == profile.events.len();
        if is_last && open.is_empty() {
            continue;
        }
        let mut sample = Sample {
            time: event.at * milliseconds,
            weight: 1,
            stack: None,
            activity: None,
        };
        let alone = match *open {
            [(_, only)] => frames.activity(only),
            _ => None,
        };
        match alone {
            Some(activity) => sample.activity = activity,
            None => {
                for (index, frame) in &open[stacks.len()..] {
                    let place = || format!("{place}.events[{index}].frame");
                    let frame = frames.get(*frame, event_loop, place)?;
                    let stack = event_loop.add_stack(stacks.last().copied(), frame);
                    stacks.push(stack.map_err(|invalid| Error::new(place(), invalid))?);
                }
                sample.stack = stacks.last().copied();
            },
        }
        event_loop
            .add_sample_worth(sample, (end - event.at) * milliseconds)
            .map_err(|invalid| Error::new(format!("{place}.events[{index}]"), invalid))?;
    }
    Ok(())
}
