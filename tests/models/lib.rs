/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The product's own files in which threads speak to each other, in models.
//!
//! With `--cfg loom` their atomics are [loom](https://docs.rs/loom)'s: a model runs once for every order in which
//! its threads can run, and for every value that the memory's rules let them see, and loom reports what is used by
//! two threads at once, and threads that wait for ever. Without it they are ordinary threads', many rounds of
//! them, for Miri, which knows the same rules and tries orders at random.

#![deny(unsafe_code)]
#![cfg(test)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

#[path = "../../components/js_profiler/stop/handshake.rs"]
mod handshake;
#[cfg(loom)]
mod orders;
#[cfg(not(loom))]
mod rounds;
