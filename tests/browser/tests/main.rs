/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Tests of what pages see of the JS Self-Profiling API, and of what people see of the profiler. `./mach test-browser`
//! runs them.

#![deny(unsafe_code)]

mod about_profiling;
mod about_profiling_access;
mod allocating;
mod buffer;
mod certificates;
mod clients;
mod coexistence;
mod command_line;
mod continuations;
mod demo;
mod dom_operations;
mod ending;
mod errors;
mod formats;
mod functions;
mod generators;
mod harness;
mod hidden_frames;
mod interface;
mod leak_matrix;
mod leaks;
mod lines;
mod linked_maps;
mod markers;
mod memory;
mod permissions;
mod policy_matrix;
mod profile;
mod quarantine;
mod recording;
mod robustness;
mod sampler_failure;
mod script_texts;
mod sessions;
mod shares;
mod stack_kinds;
mod stacks;
mod terminal;
mod timeline;
mod viewer;
mod viewer_window;
mod warmed;
mod wasm_realms;
mod webdriver;
mod webdriver_bodies;
mod window;
mod workers;
