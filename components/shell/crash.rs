/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What happens when a thread panics.

use std::backtrace::Backtrace;
use std::env;
use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::thread;

use signal_hook::low_level;

use crate::failure::{FAILURE, report};

/// Reports panics to Servo, which tells the embedder which page crashed. A panic of the main thread
/// ends the process with [`FAILURE`].
///
/// To be called from the main thread.
pub fn install_panic_hook() {
    let main_thread = thread::current().id();
    panic::set_hook(Box::new(move |panic| {
        // Servo catches panics of some image decoders.
        if servo::should_panic_hook_suppress_termination() {
            return;
        }
        let message = message(panic);
        if thread::current().id() == main_thread {
            report(&format!("internal error: {message}"));
            if backtraces_wanted() {
                eprintln!("{}", Backtrace::force_capture());
            }
            // Unwinding would drop Servo, and that would wait for the main thread.
            exit_at_once();
        }
        // When a panicking thread logs an error, Servo's logger reports a crash of the thread's
        // pages.
        log::error!("{message}");
    }));
}

/// Whether `RUST_BACKTRACE` asks for backtraces, as in every Rust program.
pub fn backtraces_wanted() -> bool {
    env::var_os("RUST_BACKTRACE").is_some_and(|value| value != "0")
}

/// Ends the process with [`FAILURE`], without the orderly shutdown that Servo can no longer do.
///
/// Nothing else may run either: destructors of statics crash while threads of Servo are alive.
pub fn exit_at_once() -> ! {
    let _ = io::stdout().flush();
    low_level::exit(i32::from(FAILURE))
}

fn message(panic: &PanicHookInfo) -> String {
    let payload = panic.payload_as_str().unwrap_or("unknown reason");
    let thread = thread::current();
    let thread = thread.name().unwrap_or("without a name");
    match panic.location() {
        Some(location) => format!("{payload} (thread {thread}, {location})"),
        None => format!("{payload} (thread {thread})"),
    }
}
