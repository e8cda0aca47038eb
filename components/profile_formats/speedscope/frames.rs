/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The frames of a file, which all its profiles share.

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::label::{self, Label};
use crate::recording::{Activity, EventLoop, Frame, FrameId, FunctionKind, Place};
use crate::stackless;

/// A frame of the table that all profiles share.
#[derive(Deserialize, Serialize)]
pub struct SharedFrame<S = String> {
    pub name: S,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<S>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub col: Option<u32>,
}

/// The frames that all profiles share, in the tables of one event loop.
pub struct Frames<'a> {
    shared: &'a [SharedFrame],
    ids: Vec<Option<FrameId>>,
    /// Whether a line is not that of the definition.
    are_lines_executing: bool,
}

impl<'a> Frames<'a> {
    pub fn new(shared: &'a [SharedFrame], are_lines_executing: bool) -> Self {
        Self {
            shared,
            ids: vec![None; shared.len()],
            are_lines_executing,
        }
    }

    /// What a sample was doing if this is its only frame. `None` if it is a function.
    pub fn activity(&self, id: u32) -> Option<Option<Activity>> {
        let frame = self.shared.get(id as usize)?;
        stackless::activity(&frame.name).filter(|_| frame.file.is_none())
    }

    pub fn get(
        &mut self,
        id: u32,
        event_loop: &mut EventLoop,
        place: impl Fn() -> String,
    ) -> Result<FrameId, Error> {
        let index = id as usize;
        let shared = self.shared.get(index).ok_or_else(|| {
            Error::out_of_range(place(), id.into(), "shared.frames", self.shared.len())
        })?;
        if let Some(frame) = self.ids[index] {
            return Ok(frame);
        }
        let mut label = label_of(shared);
        let mut executing = None;
        if self.are_lines_executing {
            executing = Place::of_source(label.line.take(), label.column.take());
        }
        let frame = label
            .add_to(event_loop, FunctionKind::Unknown)
            .and_then(|function| {
                event_loop.add_frame(Frame {
                    function,
                    place: executing,
                })
            });
        let frame = frame.map_err(|invalid| Error::new(place(), invalid))?;
        Ok(*self.ids[index].insert(frame))
    }
}

fn label_of(shared: &SharedFrame) -> Label {
    Label {
        name: label::read_exact(&shared.name).into_owned(),
        resource: shared.file.clone(),
        line: shared.line.and_then(NonZeroU32::new),
        column: shared.col.and_then(NonZeroU32::new),
    }
}
