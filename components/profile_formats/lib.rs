/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a profile is, and the formats in which others write and read it.
//!
//! [`Recording`] is the model: several processes with several event loops on one clock. Each format has a file of its
//! own, which says what of the model it holds, and what is lost. All formats keep how many samples each function has,
//! by itself and with its callees. Some also keep the places in functions that were executing or calling.
//!
//! Files come from anywhere. Whatever is in them, reading gives a recording with sound tables, or an [`Error`] that
//! names the place. `bounds.rs` limits the length of a text and the memory that is taken.
//!
//! [`report`](report()) lists the functions of a recording for a terminal.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod bounds;
mod calls;
mod chrome_trace;
mod codecs;
mod collapsed;
mod counted;
mod cpuprofile;
mod error;
mod file;
mod firefox;
mod format;
mod hermes;
mod html;
mod input;
mod interval;
mod json;
mod json_number;
mod json_stream;
mod known_files;
mod label;
mod map_folders;
mod median;
mod named_places;
mod pprof;
mod read_ahead;
mod recorded_by;
mod recording;
mod report;
mod report_json;
mod report_markdown;
mod sink;
mod source_mapped;
mod speedscope;
mod stackless;
mod summed;
mod terminal;
mod text;
mod totals;
mod viewer;
mod viewer_data;
mod web_trace;
mod worth;

pub use crate::bounds::MAX_TEXT_BYTES;
pub use crate::collapsed::Unit;
pub use crate::error::{Error, WriteError};
pub use crate::file::{
    create_new, create_numbered, is_compressed, replace, replace_comparison, write_to_stream,
};
pub use crate::format::Format;
pub use crate::input::{ReadOptions, content, content_for_report, read, read_with};
pub use crate::map_folders::{apply_map_folders, apply_maps_beside};
pub use crate::named_places::add_places_to_names;
pub use crate::recorded_by::{NoRecorder, Program, RecordedBy};
pub use crate::recording::{
    Activity, EventLoop, EventLoopKind, FetchedMap, Frame, FrameId, Function, FunctionId,
    FunctionKind, GeneratedPlace, Invalid, LAST_TIME, LabelSet, LabelSetId, MAX_STACK_DEPTH,
    Missed, MissedReason, Place, Process, Realm, RealmId, Recording, ResourceId, Sample, Source,
    SourceId, Stack, StackId,
};
pub use crate::report::{
    By, MAX_EVENT_LOOP, Outcome, grouped, line_report, line_report_of, report, report_by,
};
pub use crate::report_json::json_report;
pub use crate::report_markdown::{MAX_MARKDOWN_CHARACTERS, markdown_report};
pub use crate::source_mapped::{Notices, apply_own_maps, apply_source_maps, deadline_of_maps};
pub use crate::summed::read_sums;
pub use crate::totals::{FunctionKey, FunctionTotals, Totals, TotalsBy};
pub use crate::viewer::viewer_page;
pub use crate::viewer_data::write as write_viewer_data;
pub use crate::web_trace::value_by_clock;
pub use source_maps::{Deadline, Notice};
