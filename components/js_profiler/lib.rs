/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The sampling component: one sampling thread per process takes samples of the JavaScript that the
//! event loops of the process run.
//!
//! An event loop (a script thread or a worker) registers by [`EventLoop::new`] and leaves by dropping it.
//! With its first session, or while it is recorded, it is a *profiler group* at the sampling thread. A
//! group owns *sessions*, one for each running `Profiler` object, and at most one *recording*, which people
//! who work on the engine start from outside ([`serve`]). The sampling thread stops an event loop's thread
//! by a signal, walks its stack into a buffer made beforehand, lets it run on, and then gives the sample to
//! those who are due.
//!
//! This crate knows SpiderMonkey and threads, and nothing of documents, promises or origins. Unsafe
//! code is in `spidermonkey` and `stop` alone.

#![deny(unsafe_code)]

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!(
    "js_profiler needs Linux on x86-64; docs/architecture.md says what a port has to provide"
);
#[cfg(all(test, not(feature = "stock_walk")))]
compile_error!("the tests of js_profiler need its feature stock_walk, which ./mach test-unit sets");

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

#[cfg_attr(not(feature = "stock_walk"), path = "no_comparison.rs")]
mod comparison;
mod compressed_trace;
mod description;
mod event_loop;
#[cfg(test)]
mod every_instruction;
mod failure;
mod function_table;
mod last_stack;
mod muted_scripts;
mod options;
mod outcome;
mod recorded_process;
mod registry;
mod sample;
mod sampled_loop;
mod sampled_recording;
mod sampled_session;
mod sampling_thread;
mod schedule;
mod spidermonkey;
mod stop;
mod subscriber;
mod ticks;
mod trace_builder;
mod visibility;
mod walks;
mod work;

pub use compressed_trace::compress;
pub use event_loop::{EventLoop, Session, StartError};
pub use failure::Failure;
pub use options::SessionOptions;
pub use recorded_process::{end_recording, serve};
pub use sampled_session::Ended;
pub use sampling_thread::force_sample;
pub use spidermonkey::{EngineMode, Walker};
pub use work::MarkerFilter;
