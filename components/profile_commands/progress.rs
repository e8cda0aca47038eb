/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How far the reading of a file is, for a person who waits at a terminal.

use std::io::{self, IsTerminal, Read};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use terminal_text::shortened;

/// Nothing is shown of what is done sooner.
const PATIENCE: Duration = Duration::from_secs(1);

/// From one picture to the next.
const TICK: Duration = Duration::from_millis(100);

/// The longest name, in characters.
const MAX_NAME: usize = 40;

/// It is on standard error while this lives, if that is a terminal and if it takes long.
pub struct Progress {
    bar: ProgressBar,
    /// Nothing is sent: it is dropped to end the wait.
    ended: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Progress {
    /// `bytes` is the length of the file, if it is known.
    pub fn of(name: &str, bytes: Option<u64>) -> Self {
        let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
        if !io::stderr().is_terminal() {
            return Self {
                bar,
                ended: None,
                waiting: None,
            };
        }
        let template = match bytes {
            Some(_) => "{spinner} reading {msg} [{bar:24}] {bytes} of {total_bytes}",
            None => "{spinner} reading {msg} {bytes}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("the template is sound"));
        bar.set_message(shortened(name, MAX_NAME));
        let (ended, end) = channel();
        let shown = bar.clone();
        let waiting = thread::spawn(move || {
            if end.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                // It goes on while the text is read that is in memory then.
                shown.enable_steady_tick(TICK);
            }
        });
        Self {
            bar,
            ended: Some(ended),
            waiting: Some(waiting),
        }
    }

    /// As much has been read, in bytes.
    pub fn set(&self, read: u64) {
        self.bar.set_position(read);
    }

    /// Tells something else in between.
    pub fn aside(&self, tell: impl FnOnce()) {
        self.bar.suspend(tell);
    }

    /// What is read of it counts.
    pub fn counted(&self, reader: impl Read) -> impl Read {
        self.bar.wrap_read(reader)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(waiting) = self.waiting.take() {
            // It panics only if the terminal's library does, and then there is nothing to remove.
            let _ = waiting.join();
        }
        self.bar.finish_and_clear();
    }
}
