/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Signals that ask the process to end.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use servo::EventLoopWaker;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Those that do not come from a key.
const SIGNALS_OF_PROGRAMS: [i32; 2] = [SIGTERM, SIGHUP];

/// A flag that is set by the first signal. A second one ends the process immediately.
pub fn flag_of_first_signal() -> io::Result<Arc<AtomicBool>> {
    let asked = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        // Handlers run in this order: the first signal finds the flag unset, and sets it.
        flag::register_conditional_default(signal, asked.clone())?;
        flag::register(signal, asked.clone())?;
    }
    Ok(asked)
}

/// Whether the process was asked to end. The first signal asks for an orderly end; a second one
/// ends the process immediately.
#[derive(Clone)]
pub struct Termination {
    asked: Arc<AtomicBool>,
    by_program: Arc<AtomicBool>,
}

impl Termination {
    /// Starts to watch for signals. The first one wakes the event loop.
    pub fn watch(waker: Box<dyn EventLoopWaker>) -> io::Result<Self> {
        let asked = flag_of_first_signal()?;
        let by_program = Arc::<AtomicBool>::default();
        for signal in SIGNALS_OF_PROGRAMS {
            flag::register(signal, by_program.clone())?;
        }
        // A signal handler must not wake the loop, but this thread may.
        let mut signals = Signals::new(SIGNALS)?;
        thread::Builder::new()
            .name("Signals".to_owned())
            .spawn(move || signals.forever().for_each(|_| waker.wake()))?;
        Ok(Self { asked, by_program })
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// Whether another program has asked, or the terminal is gone.
    pub fn is_by_program(&self) -> bool {
        self.by_program.load(Ordering::Relaxed)
    }

    /// From now on the next signal is the first one again. The result can be read when it has come.
    pub fn watch_anew(&self) -> io::Result<UnixStream> {
        let (signalled, signal) = UnixStream::pair()?;
        for number in SIGNALS {
            low_level::pipe::register(number, signal.try_clone()?)?;
        }
        self.asked.store(false, Ordering::Relaxed);
        Ok(signalled)
    }
}
