/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The Rust face of the C++ glue: the engine's side of an event loop, and the walk of a stack.

#![allow(unsafe_code)]

mod context;
mod ffi;
mod known_functions;
mod known_rule;
mod modules;
mod natives;
mod prefetch;
mod read_ahead;
mod script_sources;
mod sources;
mod stack_buffer;
#[cfg(test)]
pub mod test_context;
mod trace_objects;
mod unwinder;
mod version;

pub use context::{EngineContext, SampledContext};
#[cfg(test)]
pub use ffi::MOST_WORK;
pub use ffi::{CUT, FrameKind, FunctionKey, Position};
pub use known_functions::KnownFunctions;
pub use natives::{NativeCode, prepare};
pub use prefetch::NeededLines;
pub use script_sources::{ScriptFacts, TakeSources};
pub use sources::{MAX_URL, Remembering, Resource, Resources, SourceNumber};
pub use stack_buffer::{
    NewFunction, StackBuffer, WalkNumber, WalkOutcome, WalkedFrame, WalkedFunction, WalkedPart,
};
pub use trace_objects::{add_sample_objects, add_stack_objects, new_object_table, object_count};
pub use unwinder::Unwinder;
pub use version::engine_version;
