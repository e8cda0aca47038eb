/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace as the page sees it.

use js::context::JSContext;
use js_profiler_traits::Trace;

use super::markers::profiler_marker;
use crate::dom::bindings::codegen::Bindings::ProfilerBinding::{
    ProfilerFrame, ProfilerSample, ProfilerStack, ProfilerTrace,
};
use crate::dom::bindings::str::DOMString;
use crate::dom::globalscope::GlobalScope;

/// The trace as a plain object of plain objects. Times are relative to the time origin of `global`, and as
/// coarse as those of `performance.now()`.
pub(super) fn profiler_trace(
    cx: &mut JSContext,
    global: &GlobalScope,
    trace: Trace,
) -> ProfilerTrace {
    let performance = global.performance(cx);
    let id = |id: Option<u32>| id.map(u64::from);
    ProfilerTrace {
        resources: trace.resources.into_iter().map(DOMString::from).collect(),
        frames: trace
            .frames
            .into_iter()
            .map(|frame| ProfilerFrame {
                name: DOMString::from(frame.name),
                resourceId: id(frame.resource_id),
                line: id(frame.line),
                column: id(frame.column),
            })
            .collect(),
        stacks: trace
            .stacks
            .into_iter()
            .map(|stack| ProfilerStack {
                parentId: id(stack.parent_id),
                frameId: stack.frame_id.into(),
            })
            .collect(),
        samples: trace
            .samples
            .into_iter()
            .map(|sample| ProfilerSample {
                timestamp: performance.to_dom_high_res_time_stamp(sample.time),
                stackId: id(sample.stack_id),
                marker: sample.marker.map(profiler_marker),
            })
            .collect(),
    }
}
