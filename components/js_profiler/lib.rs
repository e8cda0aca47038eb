/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sampling component of <https://wicg.github.io/js-self-profiling/>. One sampling thread per process takes
//! samples of the JavaScript that the event loops of the process run.
//!
//! An event loop (a script thread or a worker) is registered from [`EventLoop::new`] until that value is dropped.
//! It joins the sampling thread when it gets its first session or is recorded. It has *sessions*, one for each
//! running `Profiler` object, and at most one *recording*. People who work on the engine start recordings from
//! outside ([`serve`]).
//!
//! The sampling thread stops an event loop's thread by a signal. The stopped thread walks its stack into a
//! buffer that was made in advance, and continues. Then the sampling thread gives the sample to all sessions
//! and recordings that are due.
//!
//! This crate knows SpiderMonkey and threads, but no documents, promises or origins. Only `spidermonkey`,
//! `stop`, `embedding` and the test `every_instruction` have unsafe code.

#![deny(missing_docs)]
#![deny(unsafe_code)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "js_profiler needs Linux on x86-64; docs/architecture.md says what a port has to provide"
);

// Makes Cargo build this crate anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

#[path = "arch_x86_64.rs"]
mod arch;
#[cfg(test)]
mod based_walks;
mod budget;
#[cfg(test)]
mod code_index;
mod compressed_trace;
mod description;
mod embedding;
mod event_loop;
#[cfg(test)]
mod every_instruction;
mod failure;
#[cfg(test)]
mod found_stack;
mod function_table;
#[cfg(test)]
mod kept_functions;
mod linked_maps;
mod missed_stretch;
mod on_trace;
mod options;
mod outcome;
mod recorded_process;
mod registry;
mod reporter;
mod sample;
#[cfg(test)]
mod sample_time;
mod sampled_activity;
mod sampled_loop;
mod sampled_recording;
mod sampled_session;
mod sampled_thread;
#[cfg(test)]
mod sampled_while_running;
mod sampling_thread;
mod schedule;
mod script_sources;
mod spidermonkey;
mod stop;
mod subscriber;
mod subscribers;
mod table;
mod ticks;
mod trace_builder;
mod visibility;
#[cfg(test)]
mod walk_limits;
#[cfg(test)]
mod wasm_instance;

pub use compressed_trace::compress;
pub use embedding::RuntimeEventLoop;
pub use event_loop::{EventLoop, Session, StartError};
pub use failure::Failure;
pub use linked_maps::{CancelFetch, FetchMap, MapAnswer};
pub use options::SessionOptions;
pub use recorded_process::{end_recording, serve};
pub use sampled_activity::MarkerFilter;
pub use sampled_session::Ended;
pub use sampling_thread::force_sample;
pub use spidermonkey::{
    EngineContext, add_sample_objects, add_stack_objects, engine_version, new_object_table,
    object_count, prepare,
};
