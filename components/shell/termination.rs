/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Signals that ask the process to end.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use servo::EventLoopWaker;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// Those that do not come from a key.
const SIGNALS_OF_PROGRAMS: [i32; 2] = [SIGTERM, SIGHUP];

/// With so many signals the process ends at once if it has something to save.
const LAST_WHILE_SAVING: usize = 3;

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

/// What the process does with a second signal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Second {
    /// It ends at once.
    Ends,
    /// What there is to save is saved with as little work as possible. A third signal ends the process at once.
    Hurries,
}

/// Whether the process was asked to end. The first signal asks for an orderly end.
#[derive(Clone)]
pub struct Termination {
    asked: Arc<AtomicBool>,
    by_program: Arc<AtomicBool>,
    come: Arc<Mutex<Come>>,
}

/// The signals that have come.
#[derive(Default)]
struct Come {
    first: Option<Instant>,
    count: usize,
}

impl Termination {
    /// Starts to watch for signals. The first one wakes the event loop.
    pub fn watch(waker: Box<dyn EventLoopWaker>, second: Second) -> io::Result<Self> {
        let asked = match second {
            Second::Ends => flag_of_first_signal()?,
            Second::Hurries => {
                let asked = Arc::new(AtomicBool::new(false));
                for signal in SIGNALS {
                    flag::register(signal, asked.clone())?;
                }
                asked
            },
        };
        let by_program = Arc::<AtomicBool>::default();
        for signal in SIGNALS_OF_PROGRAMS {
            flag::register(signal, by_program.clone())?;
        }
        let termination = Self {
            asked,
            by_program,
            come: Arc::default(),
        };
        // A signal handler must not wake the loop, but this thread may.
        let mut signals = Signals::new(SIGNALS)?;
        let come = termination.come.clone();
        thread::Builder::new()
            .name("Signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    if lock(&come).add() >= LAST_WHILE_SAVING {
                        let _ = low_level::emulate_default_handler(signal);
                    }
                    waker.wake();
                }
            })?;
        Ok(termination)
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// When the process was first asked. None if it was not.
    pub fn asked_at(&self) -> Option<Instant> {
        // The thread that notes the time may not have run yet.
        let first = lock(&self.come).first;
        first.or_else(|| self.asked().then(Instant::now))
    }

    /// Whether the process was asked again.
    pub fn is_urgent(&self) -> bool {
        lock(&self.come).count > 1
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
        *lock(&self.come) = Come::default();
        self.asked.store(false, Ordering::Relaxed);
        Ok(signalled)
    }
}

impl Come {
    fn add(&mut self) -> usize {
        self.first.get_or_insert_with(Instant::now);
        self.count += 1;
        self.count
    }
}

fn lock(come: &Mutex<Come>) -> MutexGuard<'_, Come> {
    come.lock().unwrap_or_else(PoisonError::into_inner)
}
