/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The nodes of a file, which are its calls: a list that names the callees or the caller of each.

use std::collections::HashMap;
use std::fmt;
use std::num::NonZeroU32;

use foldhash::fast::RandomState;
use indexmap::IndexSet;
use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::label::{self, Label};
use crate::recording::{Activity, EventLoop, Frame, FrameId, FunctionKind, StackId};
use crate::stackless;

/// The function that calls all others.
pub const ROOT: &str = "(root)";

/// What is kept for each node, and for each call frame, while they are read, in bytes.
const NODE_BYTES: u64 = 120;
const FRAME_BYTES: u64 = 60;

/// A node as it is in the file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeOfFile {
    id: u64,
    call_frame: CallFrame,
    #[serde(default)]
    hit_count: u64,
    #[serde(default)]
    children: Vec<u64>,
    /// Some writers have this instead of `children`.
    parent: Option<u64>,
    #[serde(default)]
    position_ticks: Vec<PositionTick>,
    /// Its entries stand for the time between samples.
    #[serde(default)]
    no_samples: bool,
}

/// Samples of a node at a line.
#[derive(Clone, Copy, Deserialize, Serialize)]
pub struct PositionTick {
    /// Where a writer finds the ticks of a node: its index.
    #[serde(skip)]
    pub node: u32,
    /// 1-based; 0 if unknown.
    pub line: u32,
    pub ticks: u64,
}

#[derive(Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFrame<S = String> {
    pub function_name: S,
    /// Not needed where there is a URL.
    #[serde(skip_deserializing)]
    pub script_id: String,
    #[serde(default)]
    pub url: S,
    /// 0-based; -1 if unknown.
    pub line_number: Option<i64>,
    /// 0-based; -1 if unknown.
    #[serde(default = "unknown")]
    pub column_number: i64,
}

pub fn unknown() -> i64 {
    -1
}

/// All nodes. Those of one function share their call frame.
#[derive(Default)]
pub struct Nodes {
    nodes: Vec<Node>,
    call_frames: IndexSet<CallFrame, RandomState>,
    /// Of all nodes, one behind the other.
    children: Vec<u64>,
    ticks: Vec<PositionTick>,
}

pub struct Node {
    id: u64,
    pub hit_count: u64,
    parent: Option<u64>,
    /// The index of its call frame.
    call_frame: u32,
    /// Where its part of the lists ends, which begins where that of the node before it ends.
    children_end: u32,
    ticks_end: u32,
    pub no_samples: bool,
}

impl Nodes {
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn get(&self, number: usize) -> &Node {
        &self.nodes[number]
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Node> {
        self.nodes.iter()
    }

    /// About how much memory is taken for them while their calls are read.
    pub fn bytes(&self) -> u64 {
        NODE_BYTES * self.nodes.len() as u64 + FRAME_BYTES * self.call_frames.len() as u64
    }

    /// The hits of all nodes. A sum that is too large is refused later.
    pub fn hits(&self) -> u64 {
        let hits = self.nodes.iter().map(|node| node.hit_count);
        hits.fold(0, u64::saturating_add)
    }

    /// Where the ticks of a node begin.
    fn ticks_start(&self, number: usize) -> u32 {
        match number.checked_sub(1) {
            None => 0,
            Some(before) => self.nodes[before].ticks_end,
        }
    }

    /// The lines of a node's samples. V8 has lines for a native function, too, which are those of its caller.
    pub fn ticks_of_samples(&self, number: usize, is_of_v8: bool) -> &[PositionTick] {
        let call_frame = self.call_frame(number);
        let is_native = is_of_v8
            && call_frame.url.is_empty()
            && call_frame.line_number.is_some_and(|line| line < 0);
        match is_native {
            true => &[],
            false => {
                let start = self.ticks_start(number) as usize;
                &self.ticks[start..self.nodes[number].ticks_end as usize]
            },
        }
    }

    fn call_frame(&self, number: usize) -> &CallFrame {
        &self.call_frames[self.nodes[number].call_frame as usize]
    }

    fn add(&mut self, node: NodeOfFile) -> Node {
        let call_frame = self.call_frames.insert_full(node.call_frame).0;
        self.children.extend(&node.children);
        self.ticks.extend(&node.position_ticks);
        // Each takes several bytes of a text, so there are less.
        Node {
            id: node.id,
            hit_count: node.hit_count,
            parent: node.parent,
            call_frame: call_frame as u32,
            children_end: self.children.len() as u32,
            ticks_end: self.ticks.len() as u32,
            no_samples: node.no_samples,
        }
    }
}

impl<'de> Deserialize<'de> for Nodes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Nodes;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Nodes, A::Error> {
                let mut nodes = Nodes::default();
                while let Some((node, _)) = list.next_element_seed(Next(&mut nodes))? {
                    nodes.nodes.push(node);
                }
                Ok(nodes)
            }
        }

        deserializer.deserialize_seq(List)
    }
}

struct Next<'a>(&'a mut Nodes);

impl<'de> DeserializeSeed<'de> for Next<'_> {
    /// The second part is counted for a call frame that may be new.
    type Value = (Node, [u64; 12]);

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let node = NodeOfFile::deserialize(deserializer)?;
        Ok((self.0.add(node), [0; 12]))
    }
}

const _: () = assert!(size_of::<CallFrame>() <= size_of::<[u64; 15]>());

/// The numbers of nodes by their ids.
pub enum Numbers {
    /// By id. Engines number their nodes from 1 on. [`NO_NODE`] if there is none.
    Dense(Vec<u32>),
    Sparse(HashMap<u64, u32, RandomState>),
}

const NO_NODE: u32 = u32::MAX;

impl Numbers {
    pub fn of(nodes: &Nodes) -> Result<Self, Error> {
        let last = nodes.iter().map(|node| node.id).max().unwrap_or_default();
        let mut numbers = match last <= 4 * nodes.len() as u64 {
            true => Self::Dense(vec![NO_NODE; last as usize + 1]),
            false => Self::Sparse(HashMap::default()),
        };
        for (number, node) in nodes.iter().enumerate() {
            let number_of_node = number as u32;
            let before = match &mut numbers {
                Self::Dense(numbers) => {
                    let place = &mut numbers[node.id as usize];
                    Some(std::mem::replace(place, number_of_node)).filter(|one| *one != NO_NODE)
                },
                Self::Sparse(numbers) => numbers.insert(node.id, number_of_node),
            };
            if before.is_some() {
                let problem = format!("{} is the id of another node too", node.id);
                return Err(Error::new(format!("nodes[{number}].id"), problem));
            }
        }
        Ok(numbers)
    }

    #[inline]
    pub fn get(&self, id: u64) -> Option<u32> {
        match self {
            Self::Dense(numbers) => {
                let number = usize::try_from(id).ok().and_then(|id| numbers.get(id));
                number.copied().filter(|number| *number != NO_NODE)
            },
            Self::Sparse(numbers) => numbers.get(&id).copied(),
        }
    }

    pub fn number_of(&self, id: u64, place: impl FnOnce() -> String) -> Result<usize, Error> {
        let number = self.get(id).map(|number| number as usize);
        number.ok_or_else(|| no_node(id, place()))
    }
}

pub fn no_node(id: u64, place: String) -> Error {
    Error::new(place, format!("{id} is the id of no node"))
}

/// What a sample of a node means.
#[derive(Clone, Copy)]
pub enum Leaf {
    Stack(Option<StackId>),
    Stackless(Option<Activity>),
}

/// What each node means, by its number.
pub fn read_nodes(
    nodes: &Nodes,
    numbers: &Numbers,
    event_loop: &mut EventLoop,
) -> Result<Vec<Leaf>, Error> {
    let parents = parents(nodes, numbers)?;
    // The callees of a node: the first one, and from each the next.
    let mut first_child: Vec<Option<NonZeroU32>> = vec![None; nodes.len()];
    let mut sibling = vec![None; nodes.len()];
    let mut first_root = None;
    let after = |number: u32| NonZeroU32::MIN.saturating_add(number);
    for (number, parent) in parents.iter().enumerate().rev() {
        let first = match parent {
            Some(parent) => &mut first_child[*parent as usize],
            None => &mut first_root,
        };
        sibling[number] = first.replace(after(number as u32));
    }

    let mut frames: Vec<Option<FrameId>> = vec![None; nodes.call_frames.len()];
    let mut leaves: Vec<Option<Leaf>> = vec![None; nodes.len()];
    let mut next = Vec::from_iter(first_root);
    while let Some(number) = next.pop() {
        let number = (number.get() - 1) as usize;
        let place = || format!("nodes[{number}]");
        let parent = parents[number];
        let caller = match parent.and_then(|parent| leaves[parent as usize]) {
            Some(Leaf::Stack(stack)) => stack,
            _ => None,
        };
        let call_frame = nodes.call_frame(number);
        let is_alone =
            caller.is_none() && first_child[number].is_none() && call_frame.url.is_empty();
        let stackless = match is_alone {
            true => stackless::activity(&call_frame.function_name),
            false => None,
        };
        let leaf = match stackless {
            _ if parent.is_none() && call_frame.function_name == ROOT => Leaf::Stack(None),
            Some(activity) => Leaf::Stackless(activity),
            None => {
                let index = nodes.get(number).call_frame as usize;
                let frame = match frames[index] {
                    Some(frame) => frame,
                    None => {
                        let frame = add_frame(event_loop, call_frame, &place)?;
                        *frames[index].insert(frame)
                    },
                };
                let stack = event_loop.add_stack(caller, frame);
                Leaf::Stack(Some(stack.map_err(|invalid| Error::new(place(), invalid))?))
            },
        };
        leaves[number] = Some(leaf);
        next.extend(sibling[number]);
        next.extend(first_child[number]);
    }
    // A node that is not reached from a node without a caller is one of its own callers.
    let found = leaves.iter().position(Option::is_none);
    if let Some(number) = found {
        let problem = "the node is among its own callers, or called by one that is";
        return Err(Error::new(format!("nodes[{number}]"), problem));
    }
    Ok(leaves.into_iter().flatten().collect())
}

/// The number of each node's caller.
fn parents(nodes: &Nodes, numbers: &Numbers) -> Result<Vec<Option<u32>>, Error> {
    let mut parents = vec![None; nodes.len()];
    for (number, node) in nodes.iter().enumerate() {
        if let Some(id) = node.parent {
            let parent = numbers.number_of(id, || format!("nodes[{number}].parent"))?;
            parents[number] = Some(parent as u32);
        }
    }
    let mut start = 0;
    for (number, node) in nodes.iter().enumerate() {
        let children = &nodes.children[start..node.children_end as usize];
        start = node.children_end as usize;
        for (index, id) in children.iter().enumerate() {
            let place = || format!("nodes[{number}].children[{index}]");
            let child = numbers.number_of(*id, place)?;
            let number = number as u32;
            if parents[child]
                .replace(number)
                .is_some_and(|other| other != number)
            {
                return Err(Error::new(place(), format!("{id} has two callers")));
            }
        }
    }
    Ok(parents)
}

/// The 1-based number of a line or column, of which V8 has the 0-based one, or else -1. `place` is that of the call frame's owner.
pub fn position(
    number: i64,
    member: &str,
    place: &dyn Fn() -> String,
) -> Result<Option<NonZeroU32>, Error> {
    let one_based = number
        .checked_add(1)
        .and_then(|number| u32::try_from(number).ok());
    one_based.map(NonZeroU32::new).ok_or_else(|| {
        let problem = format!("{number} is not a number from -1 on that a file can have");
        Error::new(format!("{}.callFrame.{member}", place()), problem)
    })
}

/// The frame of a function without a place in it.
fn add_frame(
    event_loop: &mut EventLoop,
    call_frame: &CallFrame,
    place: &dyn Fn() -> String,
) -> Result<FrameId, Error> {
    let line = call_frame.line_number.unwrap_or_else(unknown);
    let line = position(line, "lineNumber", place)?;
    let column = position(call_frame.column_number, "columnNumber", place)?;
    let kind = match &*call_frame.url {
        "" => FunctionKind::Unknown,
        _ => FunctionKind::Script,
    };
    let label = Label {
        name: label::read_exact(&call_frame.function_name).into_owned(),
        resource: Some(call_frame.url.clone()),
        line,
        column,
    };
    let function = label.add_to(event_loop, kind);
    function
        .and_then(|function| {
            event_loop.add_frame(Frame {
                function,
                place: None,
            })
        })
        .map_err(|invalid| Error::new(place(), invalid))
}
