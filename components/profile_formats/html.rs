/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A recording in one self-contained page, which shows it in any browser: the viewer, with its data in
//! the script element that has the id `recording`.
//!
//! It has all that the viewer's data have: see `viewer_data.rs`. Only that element of the page is read.

use crate::error::Error;
use crate::format::Text;
use crate::recording::Recording;
use crate::sink::Sink;
use crate::{viewer, viewer_data};

pub fn read(text: &[u8], memory: u64) -> Result<Recording, Error> {
    let (_, rest) = split(text, viewer::RECORDING_START.as_bytes()).ok_or_else(|| {
        let start = viewer::RECORDING_START;
        Error::of_file(format!("a page without a recording: there is no {start}"))
    })?;
    // Each `<` in the data is escaped, so this is the end of the element.
    let (data, _) = split(rest, viewer::RECORDING_END.as_bytes())
        .ok_or_else(|| Error::of_file("the page ends within its recording"))?;
    viewer_data::read(data, memory)
}

/// Whether a text is such a page.
pub fn is_page(text: &[u8]) -> bool {
    text.trim_ascii_start().starts_with(b"<")
        && split(text, viewer::RECORDING_START.as_bytes()).is_some()
}

fn split<'a>(text: &'a [u8], separator: &[u8]) -> Option<(&'a [u8], &'a [u8])> {
    // Both begin with a character that does not occur in the data.
    let mut from = 0;
    loop {
        let at = from + text[from..].iter().position(|byte| *byte == separator[0])?;
        if let Some(rest) = text[at..].strip_prefix(separator) {
            return Some((&text[..at], rest));
        }
        from = at + 1;
    }
}

pub fn prepare(recording: &Recording) -> impl Text {
    |sink: &mut Sink<'_>| viewer::write(Some(viewer_data::data(recording)), None, sink)
}

/// The page of a comparison. Its reader gives both sides as two processes.
pub fn prepare_comparison(recording: &Recording) -> impl Text {
    |sink: &mut Sink<'_>| {
        let data = viewer_data::comparison_data(recording);
        viewer::write(Some(data), None, sink)
    }
}
