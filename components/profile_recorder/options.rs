/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is recorded, and how much of it is kept.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};

/// What a recording is started with.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The time between two samples of an event loop. It is rounded down to a multiple of the base interval,
    /// as for the sessions of pages.
    pub interval: Duration,
    /// The event loops to record.
    pub event_loops: EventLoops,
    /// Which samples are kept.
    pub kept: Wanted,
    /// Whether the recording has the sources of the scripts whose functions were sampled, with their texts: at most
    /// 16 MiB for a text, and 64 MiB in all. [`crate::Recorder::notices`] says what is left out.
    pub sources: bool,
    /// Whether the source maps that these scripts link to are fetched, with the rights of their documents and workers:
    /// see [`profile_formats::apply_own_maps`]. At most 48 MiB for a map, and 192 MiB in all.
    pub linked_maps: bool,
}

/// Which samples of an event loop are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The event loop takes no more samples when it has this many. With `keep_last`, older ones are dropped instead.
    /// `None` for no limit.
    pub max_samples: Option<NonZeroU64>,
    /// If set, samples that are older than the newest one by more than this are dropped.
    pub keep_last: Option<Duration>,
    /// If set, only stretches in which the event loop was busy for longer than this are kept.
    pub long_tasks: Option<Duration>,
    /// If set, an event loop that has shown this page and no other is left out. It is a URL without query and fragment.
    pub without_page: Option<&'static str>,
}

/// Which event loops are recorded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum EventLoops {
    /// All of them, including those that begin during the recording.
    All,
    /// Those of documents, not workers, including those that begin during the recording.
    Main,
    /// Chosen ones.
    These {
        /// The event loops that were chosen.
        ids: Vec<BrowserEventLoopId>,
        /// Whether event loops that begin during the recording are recorded as well.
        new_ones: bool,
    },
}

/// An event loop of the browser. Its text is `PID.NUMBER`.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct BrowserEventLoopId {
    /// The process id.
    pub process: u32,
    /// The number of the event loop among all that the process has had.
    pub event_loop: u64,
}

impl fmt::Display for BrowserEventLoopId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}.{}", self.process, self.event_loop)
    }
}

impl FromStr for BrowserEventLoopId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('.').and_then(|(process, event_loop)| {
            Some(Self {
                process: process.parse().ok()?,
                event_loop: event_loop.parse().ok()?,
            })
        });
        numbers
            // Only the text that we would write, so that no event loop has two names.
            .filter(|id| id.to_string() == text)
            .ok_or_else(|| format!("'{text}' is not the id of an event loop (PROCESS.NUMBER)"))
    }
}

impl Serialize for BrowserEventLoopId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = BrowserEventLoopId {
            process: 4711,
            event_loop: 2,
        };
        assert_eq!(id.to_string(), "4711.2");
        assert_eq!("4711.2".parse(), Ok(id));
        for bad in [
            "",
            ".",
            "1",
            "1.",
            ".1",
            "1.2.3",
            "01.2",
            "+1.2",
            "1.-2",
            " 1.2",
            "4294967296.1",
        ] {
            let error = bad.parse::<BrowserEventLoopId>().unwrap_err();
            assert!(error.contains(&format!("'{bad}'")), "{error}");
        }
    }
}
