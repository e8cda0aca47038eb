/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Signals that ask the process to end.

use std::io;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// With so many signals the process ends at once if it has something to save, or may have something that the browser saves.
const LAST_WHILE_SAVING: usize = 3;

/// For a content process: leaves signals to the browser, which ends it in order and may save a recording before. So it stays for
/// as many signals as the browser does then.
pub fn leave_to_browser() -> io::Result<()> {
    count(Arc::default(), || ())
}

/// A flag that is set by the first signal. A second one ends the process immediately.
fn flag_of_first_signal() -> io::Result<Arc<AtomicBool>> {
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
    come: Arc<Come>,
}

/// The signals that have come.
#[derive(Default)]
struct Come {
    first: Mutex<Option<Instant>>,
    count: AtomicUsize,
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
        count(termination.come.clone(), move || waker.wake())?;
        Ok(termination)
    }

    pub fn asked(&self) -> bool {
        self.asked.load(Ordering::Relaxed)
    }

    /// When the process was first asked. None if it was not, which costs little to find out.
    pub fn asked_at(&self) -> Option<Instant> {
        // The thread that notes the time may not have run yet.
        self.asked()
            .then(|| self.come.first().unwrap_or_else(Instant::now))
    }

    /// Whether the process was asked again.
    pub fn is_urgent(&self) -> bool {
        self.come.count.load(Ordering::Relaxed) > 1
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
        *self.come.first() = None;
        self.come.count.store(0, Ordering::Relaxed);
        self.asked.store(false, Ordering::Relaxed);
        Ok(signalled)
    }
}

impl Come {
    fn first(&self) -> MutexGuard<'_, Option<Instant>> {
        self.first.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self) -> usize {
        self.first().get_or_insert_with(Instant::now);
        self.count.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// Counts signals from now on, and calls `then` at each. A handler must not do that, but a thread may.
fn count(come: Arc<Come>, then: impl Fn() + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new(SIGNALS)?;
    thread::Builder::new()
        .name("Signals".to_owned())
        .spawn(move || {
            for signal in signals.forever() {
                if come.add() >= LAST_WHILE_SAVING {
                    let _ = low_level::emulate_default_handler(signal);
                }
                then();
            }
        })?;
    Ok(())
}
