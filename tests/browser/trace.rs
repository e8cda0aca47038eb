/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A trace that a page posted, and the checks for every trace.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

use serde::Deserialize;
use serde_json::Value;

use crate::Position;

/// The walk takes at most this many frames, starting at the leaf.
const MAX_FRAMES_PER_STACK: usize = 512;

/// The caller of the first function on a stack, in [`Edges`].
const ROOT: &str = "(root)";

#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    pub resources: Vec<String>,
    pub frames: Vec<Frame>,
    pub stacks: Vec<Stack>,
    pub samples: Vec<Sample>,
}

#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Frame {
    pub name: String,
    pub resource_id: Option<usize>,
    pub line: Option<u32>,
    pub column: Option<u32>,
}

impl Frame {
    /// Where the function is defined. None for code without a resource.
    pub fn position(&self) -> Option<Position> {
        Some(Position {
            line: self.line?,
            column: self.column?,
        })
    }

    /// The name, or the label that [`Edges`] uses for code without a name: `(script)` for the top level of
    /// a script file, `(eval)` for the top level of a text without a file, `(anonymous)` for a function.
    pub fn label(&self) -> &str {
        match (&*self.name, self.line, self.column) {
            ("", None, None) => "(eval)",
            ("", Some(1), Some(1)) => "(script)",
            ("", ..) => "(anonymous)",
            (name, ..) => name,
        }
    }
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Stack {
    pub parent_id: Option<usize>,
    pub frame_id: usize,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Sample {
    /// Milliseconds since the time origin.
    pub timestamp: f64,
    pub stack_id: Option<usize>,
    pub marker: Option<Marker>,
}

/// What the browser was doing.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd)]
#[serde(rename_all = "lowercase")]
pub enum Marker {
    Script,
    Gc,
    Style,
    Layout,
    Paint,
    Other,
}

impl Trace {
    /// Reads a trace and checks its invariants: no null, every id is an index into its table, a parent
    /// comes before its child, tables have no duplicates, a position only where there is a resource,
    /// timestamps are in order, and no stack is deeper than the walk goes.
    pub fn read(value: &Value) -> Self {
        assert!(!has_null(value), "null in a trace: {value}");
        let trace: Self = serde_json::from_value(value.clone())
            .unwrap_or_else(|error| panic!("not a trace: {error}: {value}"));
        let Self {
            resources,
            frames,
            stacks,
            samples,
        } = &trace;
        assert_distinct(resources);
        assert_distinct(frames);
        assert_distinct(stacks);
        for frame in frames {
            let has_resource = frame.resource_id.is_some();
            // A function of a WebAssembly module has a resource and no line.
            assert!(frame.position().is_none() || has_resource, "{frame:?}");
            assert_eq!(
                frame.line.is_some(),
                frame.column.is_some(),
                "half a position: {frame:?}"
            );
            assert_ne!(frame.line, Some(0), "{frame:?}");
            assert_ne!(frame.column, Some(0), "{frame:?}");
            let resource = frame.resource_id.unwrap_or(0);
            assert!(!has_resource || resource < resources.len(), "{frame:?}");
        }
        let mut depths: Vec<usize> = Vec::new();
        for (id, stack) in stacks.iter().enumerate() {
            assert!(stack.frame_id < frames.len(), "stack {id}: {stack:?}");
            let depth = match stack.parent_id {
                Some(parent) => {
                    assert!(parent < id, "the parent of stack {id} is {parent}");
                    depths[parent] + 1
                },
                None => 1,
            };
            assert!(depth <= MAX_FRAMES_PER_STACK, "stack {id}: {depth} frames");
            depths.push(depth);
        }
        for sample in samples {
            let stack = sample.stack_id.unwrap_or(0);
            assert!(sample.stack_id.is_none() || stack < stacks.len());
        }
        assert!(
            samples.is_sorted_by_key(|sample| sample.timestamp),
            "timestamps are out of order"
        );
        trace
    }

    /// The frames of a stack, from the root to the leaf.
    pub fn stack(&self, id: usize) -> Vec<&Frame> {
        let mut frames = Vec::new();
        let mut next = Some(id);
        while let Some(id) = next {
            let stack = self.stacks[id];
            frames.push(&self.frames[stack.frame_id]);
            next = stack.parent_id;
        }
        frames.reverse();
        frames
    }

    /// The labels of a sample's frames, from the root to the leaf. Empty without a stack.
    pub fn labels(&self, sample: &Sample) -> Vec<&str> {
        let frames = sample.stack_id.map_or_else(Vec::new, |id| self.stack(id));
        frames.into_iter().map(Frame::label).collect()
    }

    /// The label of a sample's leaf.
    pub fn leaf(&self, sample: &Sample) -> Option<&str> {
        let stack = self.stacks[sample.stack_id?];
        Some(self.frames[stack.frame_id].label())
    }

    /// The stacks of the samples that have one, as labels from the root to the leaf.
    pub fn stacks_of_samples(&self) -> impl Iterator<Item = Vec<&str>> {
        let with_stack = self
            .samples
            .iter()
            .filter(|sample| sample.stack_id.is_some());
        with_stack.map(|sample| self.labels(sample))
    }

    /// The different paths from the root to a function with this label, on all stacks.
    pub fn paths_to(&self, label: &str) -> BTreeSet<Vec<&str>> {
        let ends = (0..self.stacks.len())
            .filter(|&id| self.frames[self.stacks[id].frame_id].label() == label);
        ends.map(|id| self.stack(id).into_iter().map(Frame::label).collect())
            .collect()
    }

    /// For each stack, whether it is known to be whole. This is so if it begins a stack that is shorter
    /// than the longest possible one, because such a stack was not cut at its root.
    fn whole_stacks(&self) -> Vec<bool> {
        let mut is_end = vec![true; self.stacks.len()];
        let mut depths: Vec<usize> = Vec::new();
        for stack in &self.stacks {
            depths.push(stack.parent_id.map_or(1, |parent| depths[parent] + 1));
            if let Some(parent) = stack.parent_id {
                is_end[parent] = false;
            }
        }
        for id in self.samples.iter().filter_map(|sample| sample.stack_id) {
            is_end[id] = true;
        }
        let mut whole = vec![false; self.stacks.len()];
        for id in (0..self.stacks.len()).rev() {
            whole[id] |= is_end[id] && depths[id] < MAX_FRAMES_PER_STACK;
            if let Some(parent) = self.stacks[id].parent_id {
                whole[parent] |= whole[id];
            }
        }
        whole
    }

    /// How many samples have a stack that begins with this one, and one of those samples as text.
    fn samples_through(&self, id: usize) -> (usize, String) {
        let mut through = vec![false; self.stacks.len()];
        through[id] = true;
        for (child, stack) in self.stacks.iter().enumerate().skip(id + 1) {
            through[child] = stack.parent_id.is_some_and(|parent| through[parent]);
        }
        let samples = self.samples.iter();
        let samples: Vec<_> = samples
            .filter(|sample| sample.stack_id.is_some_and(|id| through[id]))
            .collect();
        let example = samples
            .first()
            .map(|sample| self.labels(sample).join(" > "));
        (samples.len(), example.unwrap_or_default())
    }

    /// The samples between two times, in milliseconds since the time origin.
    pub fn samples_between(&self, start: f64, end: f64) -> impl Iterator<Item = &Sample> {
        self.samples
            .iter()
            .filter(move |sample| (start..=end).contains(&sample.timestamp))
    }

    /// How many samples have a leaf with this label.
    pub fn self_count(&self, label: &str) -> usize {
        self.samples
            .iter()
            .filter(|sample| self.leaf(sample) == Some(label))
            .count()
    }

    /// The only frame with this label.
    pub fn frame(&self, label: &str) -> &Frame {
        let mut frames = self.frames.iter().filter(|frame| frame.label() == label);
        match (frames.next(), frames.next()) {
            (Some(frame), None) => frame,
            (None, _) => panic!("{label} is not among {:?}", self.frames),
            (Some(_), Some(_)) => panic!("{label} is more than once among {:?}", self.frames),
        }
    }

    pub fn has_frame(&self, label: &str) -> bool {
        self.frames.iter().any(|frame| frame.label() == label)
    }

    /// Checks the resource and the position of the only frame with this label.
    pub fn assert_at(&self, label: &str, resource: &str, position: Position) {
        let frame = self.frame(label);
        let found = frame.resource_id.map(|id| &*self.resources[id]);
        assert_eq!(found, Some(resource), "{label}");
        assert_eq!(frame.position(), Some(position), "{label}");
    }

    /// Checks that each of these functions is the leaf of samples. So a check of all stacks has covered
    /// these functions.
    pub fn assert_sampled(&self, labels: &[&str]) {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        for leaf in self.samples.iter().filter_map(|sample| self.leaf(sample)) {
            *counts.entry(leaf).or_default() += 1;
        }
        for label in labels {
            assert!(
                counts.contains_key(label),
                "no sample in {label}: {counts:?}"
            );
        }
    }
}

fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(members) => members.values().any(has_null),
        _ => false,
    }
}

fn assert_distinct<T: Debug + Eq + Hash>(table: &[T]) {
    let mut seen = HashSet::new();
    for entry in table {
        assert!(seen.insert(entry), "twice in its table: {entry:?}");
    }
}

/// Which function may be the direct caller of which on a stack.
///
/// A stack with any other pair of neighbours never existed: the walk got it wrong.
pub struct Edges<'a>(HashSet<(&'a str, &'a str)>);

impl<'a> Edges<'a> {
    /// Reads lines of the form `caller > callee, callee`, with the labels of [`Frame::label`]. The caller
    /// of a function that no function calls is `(root)`.
    pub fn parse(text: &'a str) -> Self {
        let mut edges = HashSet::new();
        for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (caller, callees) = line
                .split_once(" > ")
                .unwrap_or_else(|| panic!("no edge: {line}"));
            edges.extend(callees.split(", ").map(|callee| (caller, callee)));
        }
        Self(edges)
    }

    /// Whether a frame is a built-in that the edges do not name. A built-in has no resource.
    fn is_built_in(&self, frame: &Frame) -> bool {
        let label = frame.label();
        let is_named = |(caller, callee): &(&str, &str)| *caller == label || *callee == label;
        frame.resource_id.is_none() && !frame.name.is_empty() && !self.0.iter().any(is_named)
    }

    /// Checks that all stacks of the trace consist of these edges. Built-ins that the edges do not name are
    /// left out.
    pub fn assert_hold(&self, trace: &Trace) {
        self.assert_hold_between(trace, |_| true);
    }

    /// Checks that all stacks of the trace consist of these edges when frames that are not `counted` are
    /// left out. A stack that was cut at its root may begin with any function.
    pub fn assert_hold_between(&self, trace: &Trace, counted: impl Fn(&Frame) -> bool) {
        let whole = trace.whole_stacks();
        let mut illegal = Vec::new();
        // For each stack, its last counted frame.
        let mut last_counted: Vec<Option<&Frame>> = Vec::new();
        for (id, stack) in trace.stacks.iter().enumerate() {
            let frame = &trace.frames[stack.frame_id];
            let caller = stack.parent_id.and_then(|parent| last_counted[parent]);
            if self.is_built_in(frame) || !counted(frame) {
                last_counted.push(caller);
                continue;
            }
            last_counted.push(Some(frame));
            let (caller, callee) = (caller.map_or(ROOT, Frame::label), frame.label());
            if caller == ROOT && !whole[id] || self.0.contains(&(caller, callee)) {
                continue;
            }
            let (samples, example) = trace.samples_through(id);
            illegal.push(format!(
                "{caller} > {callee} in {samples} samples: {example}"
            ));
        }
        assert!(
            illegal.is_empty(),
            "{} false stacks among {}, {} samples:\n{}",
            illegal.len(),
            trace.stacks.len(),
            trace.samples.len(),
            illegal[..illegal.len().min(20)].join("\n")
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn valid() -> Value {
        json!({
            "resources": ["http://a.example/a.js"],
            "frames": [
                { "name": "", "resourceId": 0, "line": 1, "column": 1 },
                { "name": "f", "resourceId": 0, "line": 3, "column": 7 },
                { "name": "" },
            ],
            "stacks": [{ "frameId": 0 }, { "parentId": 0, "frameId": 1 }, { "parentId": 1, "frameId": 2 }],
            "samples": [{ "timestamp": 1.5, "stackId": 1, "marker": "style" }, { "timestamp": 1.5 }, { "timestamp": 2, "stackId": 2 }],
        })
    }

    #[test]
    fn a_valid_trace_is_read() {
        let trace = Trace::read(&valid());
        let stacks: Vec<_> = trace.stacks_of_samples().collect();
        assert_eq!(
            stacks,
            [vec!["(script)", "f"], vec!["(script)", "f", "(eval)"]]
        );
        assert_eq!(trace.self_count("f"), 1);
        assert_eq!(trace.samples_between(1.5, 1.9).count(), 2);
    }

    #[test]
    fn every_broken_invariant_is_found() {
        let breaks: [(&str, Value); 16] = [
            ("/samples/0/marker", json!("idle")),
            ("/samples/0/marker", Value::Null),
            ("/samples/1/timestamp", json!(1.4)),
            ("/samples/0/stackId", json!(3)),
            ("/samples/0/stackId", Value::Null),
            ("/stacks/1/parentId", json!(1)),
            ("/stacks/1/frameId", json!(3)),
            ("/stacks/0", json!({ "parentId": 0, "frameId": 1 })),
            ("/frames/1/resourceId", json!(1)),
            (
                "/frames/1",
                json!({ "name": "f", "resourceId": 0, "line": 1 }),
            ),
            ("/frames/1", json!({ "name": "f", "line": 1, "column": 1 })),
            (
                "/frames/1",
                json!({ "name": "", "resourceId": 0, "line": 1, "column": 1 }),
            ),
            ("/frames/1/line", json!(0)),
            ("/frames/2", json!({})),
            ("/frames/2", json!({ "name": "f", "url": "" })),
            (
                "/resources",
                json!(["http://a.example/a.js", "http://a.example/a.js"]),
            ),
        ];
        for (place, value) in breaks {
            let mut trace = valid();
            *trace.pointer_mut(place).unwrap() = value;
            let read = std::panic::catch_unwind(|| Trace::read(&trace));
            assert!(read.is_err(), "{place}: {trace}");
        }
    }

    #[test]
    fn a_false_edge_is_found() {
        let trace = Trace::read(&valid());
        Edges::parse("(root) > (script)\n(script) > g, f\nf > (eval)").assert_hold(&trace);
        for text in [
            "(root) > (script)\n(script) > f",
            "(script) > f\nf > (eval)",
            "(root) > (script), f\nf > (eval)",
        ] {
            let check = std::panic::catch_unwind(|| Edges::parse(text).assert_hold(&trace));
            assert!(check.is_err(), "{text}");
        }
        // A stack as long as the longest possible was cut at its root.
        let deep = |depth: usize| {
            let child = |id: usize| json!({ "parentId": id, "frameId": 1 });
            let children = (0..depth - 1).map(child);
            let mut trace = valid();
            trace["stacks"] = [json!({ "frameId": 1 })]
                .into_iter()
                .chain(children)
                .collect();
            trace["samples"] = json!([{ "timestamp": 1, "stackId": depth - 1 }]);
            Trace::read(&trace)
        };
        let edges = Edges::parse("f > f");
        edges.assert_hold(&deep(MAX_FRAMES_PER_STACK));
        let too_short = deep(MAX_FRAMES_PER_STACK - 1);
        assert!(std::panic::catch_unwind(|| edges.assert_hold(&too_short)).is_err());
        // f is left out.
        let edges = Edges::parse("(root) > (script)\n(script) > (eval)");
        edges.assert_hold_between(&trace, |frame| frame.name != "f");
    }
}
