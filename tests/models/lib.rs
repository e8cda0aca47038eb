/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Models of the files in which the product's threads communicate. They use the product's own files.
//!
//! With `--cfg loom` the atomics of these files are those of [loom](https://docs.rs/loom). A model then runs
//! once for every order in which its threads can run, and for every value that the memory model lets them
//! see. Loom reports data that two threads use at once, and threads that wait for ever. Without `--cfg loom`
//! the threads are ordinary ones that run many rounds. That is for Miri, which knows the same memory model
//! and tries orders at random.

#![deny(unsafe_code)]
#![cfg(test)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

#[path = "../../components/js_profiler/stop/handshake.rs"]
mod handshake;
#[cfg(loom)]
mod orders;
#[cfg(not(loom))]
mod rounds;
