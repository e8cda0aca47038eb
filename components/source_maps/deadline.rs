/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! When maps are given up. Pages link to maps, so what a map asks for may take any time.

use std::fmt;
use std::time::{Duration, Instant};

/// Says whether work on maps is to be given up, and why.
pub struct Deadline {
    end: Option<Instant>,
    /// What is told once the time is over: a clause.
    why: String,
    earlier: Option<Box<dyn Fn() -> Option<String>>>,
}

impl Deadline {
    /// Work is not given up.
    pub fn none() -> Self {
        Self {
            end: None,
            why: String::new(),
            earlier: None,
        }
    }

    /// In this time.
    pub fn within(time: Duration) -> Self {
        Self {
            end: Some(Instant::now() + time),
            why: format!(
                "all source maps together took longer than {} s",
                time.as_secs()
            ),
            earlier: None,
        }
    }

    /// The same, or as soon as `is_over` gives a reason, which is a clause.
    pub fn or_when(self, is_over: impl Fn() -> Option<String> + 'static) -> Self {
        Self {
            earlier: Some(Box::new(is_over)),
            ..self
        }
    }

    /// Why work is to be given up now. None if it may go on.
    pub fn passed(&self) -> Option<String> {
        if let Some(why) = self.earlier.as_ref().and_then(|is_over| is_over()) {
            return Some(why);
        }
        self.end
            .filter(|end| Instant::now() >= *end)
            .map(|_| self.why.clone())
    }

    /// The same as an error.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.passed().map_or(Ok(()), Err)
    }
}

impl fmt::Debug for Deadline {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Deadline")
            .field("end", &self.end)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    #[test]
    fn the_earlier_reason_counts() {
        assert_eq!(
            Deadline::within(Duration::ZERO).passed().as_deref(),
            Some("all source maps together took longer than 0 s")
        );
        let is_asked = Rc::new(Cell::new(false));
        let asked = is_asked.clone();
        let deadline =
            Deadline::none().or_when(move || asked.get().then(|| "somebody asked".to_owned()));
        assert_eq!(deadline.passed(), None);
        is_asked.set(true);
        assert_eq!(deadline.check(), Err("somebody asked".to_owned()));
    }
}
