/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A profile of a set, and its samples by what they belong to.

use profile_formats::{Activity, EventLoop, EventLoopKind, Format, Recording, StackId};

use crate::hash_tables::{HashMap, IndexMap};
use crate::labels::{Condition, Labels};

/// The label of samples by which a merged profile keeps its sessions apart.
pub const SESSION: &str = "session";

/// The label of samples that names their event loop.
const EVENT_LOOP: &str = "event_loop";

/// How the name of an event loop ends that has the stacks of several sessions.
pub const ONE_AFTER_ANOTHER: &str = " sessions, their stacks one after another";

/// What an event loop is for. Those of one kind are one in a merged profile.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    Page,
    Worker,
    Unknown,
}

impl Kind {
    pub const ALL: [Self; 3] = [Self::Page, Self::Worker, Self::Unknown];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Page => "page",
            Self::Worker => "worker",
            Self::Unknown => "event loop",
        }
    }

    /// A file of a format without kinds shows it by the name.
    fn of(event_loop: &EventLoop, labels: &Labels, format: Format) -> Self {
        match event_loop.kind {
            EventLoopKind::Page { .. } => return Self::Page,
            EventLoopKind::Worker => return Self::Worker,
            EventLoopKind::Unknown => {},
        }
        let name = labels.get(EVENT_LOOP).unwrap_or(&event_loop.name);
        let name = name.to_ascii_lowercase();
        let begins = |kind: &&Self| name.starts_with(kind.as_str());
        match Self::ALL.iter().find(begins) {
            Some(kind) => *kind,
            // A page profiles itself.
            None if format == Format::Trace => Self::Page,
            None => Self::Unknown,
        }
    }
}

/// One profile of a set.
#[derive(Debug)]
pub struct Profile {
    /// Where it was found, for people.
    pub name: String,
    pub format: Format,
    /// Absent if nothing says whose it is. Then it is a session of its own.
    pub session: Option<String>,
    pub labels: Labels,
    pub recording: Recording,
    /// Of its content.
    pub digest: [u8; 32],
}

/// Samples with one stack: how many, and what they are worth in nanoseconds.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Sum {
    pub samples: u64,
    pub worth: u64,
}

impl Sum {
    pub fn add(&mut self, other: Self) {
        self.samples = self.samples.saturating_add(other.samples);
        self.worth = self.worth.saturating_add(other.worth);
    }

    /// Milliseconds of a sample; none if all are worth nothing.
    pub fn mean(self) -> Option<f64> {
        let mean = self.worth as f64 / 1e6 / self.samples.max(1) as f64;
        (mean > 0.).then_some(mean)
    }
}

/// The samples of an event loop that belong to one session and have the same labels.
#[derive(Debug)]
pub struct Samples {
    pub session: String,
    pub labels: Labels,
    pub kind: Kind,
    pub sums: IndexMap<(Option<StackId>, Option<Activity>), Sum>,
    /// When the first one was taken, and when the time of the last one ends, in nanoseconds on the clock of the session.
    pub start: u64,
    pub end: u64,
}

impl Samples {
    /// Whether the condition, if there is one, holds for their labels, of which the session is one.
    pub fn fit(&self, condition: Option<&Condition>) -> bool {
        let mut labels = self.labels.clone();
        labels.set(SESSION, &self.session);
        condition.is_none_or(|condition| condition.holds(&labels))
    }

    pub fn worth(&self) -> u64 {
        let worths = self.sums.values().map(|sum| sum.worth);
        worths.fold(0, u64::saturating_add)
    }
}

impl Profile {
    /// The samples of each event loop with it.
    pub fn samples(&self) -> Vec<(&EventLoop, Vec<Samples>)> {
        self.samples_in(1)
    }

    /// The same for blocks of time of one length, each of which is a session.
    pub fn samples_in(&self, blocks: usize) -> Vec<(&EventLoop, Vec<Samples>)> {
        let times = || {
            let samples = self.recording.event_loops().flat_map(EventLoop::samples);
            samples.map(|sample| sample.time)
        };
        let start = times().fold(f64::INFINITY, f64::min);
        let end = times().fold(0., f64::max);
        let block_of = |time: f64| match end > start {
            true => (((time - start) / (end - start) * blocks as f64) as usize).min(blocks - 1),
            false => 0,
        };
        let event_loops = self.recording.event_loops().map(|event_loop| {
            let samples = self.samples_of(event_loop, block_of).into_iter();
            let samples = samples.map(|(mut samples, block)| {
                if blocks > 1 {
                    samples.session = format!("{}, block {}", samples.session, block + 1);
                }
                samples
            });
            (event_loop, samples.collect())
        });
        event_loops.collect()
    }

    /// How many samples it has.
    pub fn weight(&self) -> u64 {
        let weights = self.recording.event_loops().map(EventLoop::weight);
        weights.fold(0, u64::saturating_add)
    }

    /// Whether its clock is that of the stacks of several sessions, one after another.
    pub fn is_merged(&self) -> bool {
        let mut names = self.recording.event_loops().map(|one| &*one.name);
        names.any(|name| name.ends_with(ONE_AFTER_ANOTHER))
    }

    /// Each with its block.
    fn samples_of(
        &self,
        event_loop: &EventLoop,
        block_of: impl Fn(f64) -> usize,
    ) -> Vec<(Samples, usize)> {
        let mut groups: Vec<(Samples, usize)> = Vec::new();
        // By block, and by where the labels of samples are.
        let mut known: HashMap<(usize, *const (String, String)), usize> = HashMap::default();
        let samples = event_loop.samples().iter().enumerate();
        for ((index, sample), worth) in samples.zip(event_loop.worths(self.recording.interval)) {
            let own = event_loop.labels_of(index);
            let block = block_of(sample.time);
            let place = known.entry((block, own.as_ptr())).or_insert_with(|| {
                groups.push((self.group(event_loop, own), block));
                groups.len() - 1
            });
            let (group, _) = &mut groups[*place];
            let sum = group
                .sums
                .entry((sample.stack, sample.activity))
                .or_default();
            sum.samples = sum.samples.saturating_add(sample.weight);
            sum.worth = sum.worth.saturating_add(worth);
            let time = (sample.time * 1e6).round() as u64;
            group.start = group.start.min(time);
            group.end = group.end.max(time.saturating_add(worth));
        }
        groups
    }

    fn group(&self, event_loop: &EventLoop, own: &[(String, String)]) -> Samples {
        let mut labels = Labels::default();
        for (name, value) in own {
            labels.set(name, value);
        }
        let kind = Kind::of(event_loop, &labels, self.format);
        labels.remove(EVENT_LOOP);
        // What the samples themselves say counts more.
        let session = labels.remove(SESSION);
        let session = session.or_else(|| self.session.clone());
        labels.add_missing(&self.labels);
        Samples {
            session: session.unwrap_or_else(|| self.name.clone()),
            labels,
            kind,
            sums: IndexMap::default(),
            start: u64::MAX,
            end: 0,
        }
    }
}
