/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Many profiles as one.

use profile_formats::{
    Activity, EventLoop, EventLoopKind, Frame, FrameId, Function, FunctionId, Invalid, Process,
    Recording, Sample, StackId,
};

use crate::bounds::{MAX_LABEL_SETS, MAX_MERGED_BYTES, OTHER};
use crate::clocks::{Clocks, Hash, hash};
use crate::functions::{Distinct, Key};
use crate::hash_tables::{HashMap, HashSet, IndexMap};
use crate::labels::{Condition, KnownValues, Labels};
use crate::profile::{Kind, ONE_AFTER_ANOTHER, Profile, SESSION, Samples, Sum};

/// What a merge has done.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    pub profiles: u64,
    pub sessions: u64,
    /// Pieces of sessions that had come before.
    pub repeated: u64,
    /// Samples that no condition holds for.
    pub elsewhere: u64,
    /// Nanoseconds that sessions claimed beyond the span of their own clocks, which are left out.
    pub beyond_clocks: u64,
    /// By label: how many profiles have a value that was one too many.
    pub others: Vec<(String, u64)>,
    /// Labels that were one too many.
    pub labels_left_out: u64,
}

/// Adds profiles up. Its memory is that of what is different in them.
#[derive(Debug, Default)]
pub struct Merge {
    condition: Option<Condition>,
    /// Whether samples keep their labels.
    with_labels: bool,
    /// Whether the session is one of them.
    with_sessions: bool,
    event_loops: [MergedLoop; 3],
    known: KnownValues,
    clocks: Clocks,
    sessions: HashSet<Hash>,
    counts: Counts,
}

#[derive(Debug)]
struct MergedLoop {
    event_loop: EventLoop,
    functions: HashMap<Key, FunctionId>,
    distinct: Distinct<FunctionId>,
    /// By normalised URL: the one that all profiles have, or none if there are several.
    urls: HashMap<String, Option<String>>,
    label_sets: HashMap<Labels, u32>,
    rows: IndexMap<Row, Sum>,
    sessions: HashSet<Hash>,
}

impl Default for MergedLoop {
    fn default() -> Self {
        Self {
            event_loop: EventLoop::bounded(MAX_MERGED_BYTES),
            functions: HashMap::default(),
            distinct: Distinct::default(),
            urls: HashMap::default(),
            label_sets: HashMap::default(),
            rows: IndexMap::default(),
            sessions: HashSet::default(),
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Row {
    stack: Option<StackId>,
    activity: Option<Activity>,
    labels: u32,
}

impl Merge {
    /// `with_labels` says whether samples keep their labels, and `with_sessions` whether the session is one of them.
    pub fn new(condition: Option<Condition>, with_labels: bool, with_sessions: bool) -> Self {
        Self {
            condition,
            with_labels: with_labels || with_sessions,
            with_sessions,
            ..Self::default()
        }
    }

    /// Adds a profile. The error is a clause about it: the merged tables are full.
    pub fn add(&mut self, profile: &Profile) -> Result<(), String> {
        if self.clocks.is_repeated(profile) {
            self.counts.repeated += 1;
            return Ok(());
        }
        self.counts.profiles += 1;
        for (event_loop, groups) in profile.samples() {
            // What the tables of the profile are in the merged ones.
            let mut translations = [const { None }; 3];
            for samples in groups {
                let translation = &mut translations[samples.kind as usize];
                let translation = translation.get_or_insert_with(|| Translation::new(event_loop));
                self.add_samples(event_loop, translation, samples)
                    .map_err(|invalid| invalid.to_string())?;
            }
            for (merged, translation) in self.event_loops.iter_mut().zip(&translations) {
                if let Some(translation) = translation {
                    merged.distinct.add(translation.known());
                }
            }
        }
        Ok(())
    }

    fn add_samples(
        &mut self,
        event_loop: &EventLoop,
        translation: &mut Translation,
        samples: Samples,
    ) -> Result<(), Invalid> {
        if !samples.fit(self.condition.as_ref()) {
            let elsewhere = samples.sums.values().map(|sum| sum.samples);
            self.counts.elsewhere += elsewhere.fold(0, u64::saturating_add);
            return Ok(());
        }
        let session = hash(&[samples.session.as_bytes()]);
        self.sessions.insert(session);
        let mut room = self.clocks.room(session, &samples);

        let merged = &mut self.event_loops[samples.kind as usize];
        merged.sessions.insert(session);
        let labels = match self.with_labels {
            false => 0,
            true => {
                let mut bounded = self.known.bounded(&samples.labels);
                if self.with_sessions {
                    bounded.set(SESSION, &samples.session);
                }
                merged.label_set(bounded)
            },
        };
        for ((stack, activity), sum) in samples.sums {
            let worth = sum.worth.min(room);
            room -= worth;
            let row = Row {
                stack: match stack {
                    Some(stack) => Some(merged.stack(event_loop, translation, stack)?),
                    None => None,
                },
                activity,
                labels,
            };
            let row = merged.rows.entry(row).or_default();
            row.add(Sum { worth, ..sum });
        }
        Ok(())
    }

    /// The merged profile. Its stacks follow each other on its clock, and the names of its event loops say so.
    pub fn finish(self) -> Result<(Recording, Counts), String> {
        let (event_loops, sum, counts) = self.finish_event_loops()?;
        let mut recording = Recording::of_one(EventLoop::default(), 1., None);
        if let Some(interval) = sum.mean() {
            recording.interval = interval;
        }
        recording.processes = vec![Process {
            event_loops,
            ..Process::default()
        }];
        Ok((recording, counts))
    }

    /// Its event loops alone.
    pub fn finish_event_loops(self) -> Result<(Vec<EventLoop>, Sum, Counts), String> {
        self.finish_loops(|merged, kind| merged.finish(kind))
    }

    /// The event loops of one side of a comparison, with times by session. URLs stay without what changes with the content.
    pub fn finish_side(self, renamed: &HashMap<Key, Key>) -> Result<(Vec<EventLoop>, Sum), String> {
        let sessions = self.sessions.len().max(1) as u64;
        let (event_loops, sum, _) =
            self.finish_loops(|merged, kind| merged.finish_side(kind, sessions, renamed))?;
        Ok((event_loops, sum))
    }

    fn finish_loops(
        self,
        finish: impl Fn(MergedLoop, Kind) -> Result<EventLoop, Invalid>,
    ) -> Result<(Vec<EventLoop>, Sum, Counts), String> {
        let mut counts = self.counts;
        counts.beyond_clocks = self.clocks.beyond;
        counts.sessions = self.sessions.len() as u64;
        counts.others = self.known.others.into_iter().collect();
        counts.labels_left_out = self.known.left_out;
        let mut event_loops = Vec::new();
        let mut sum = Sum::default();
        for (merged, kind) in self.event_loops.into_iter().zip(Kind::ALL) {
            if merged.rows.is_empty() {
                continue;
            }
            for row in merged.rows.values() {
                sum.add(*row);
            }
            let event_loop = finish(merged, kind);
            event_loops.push(event_loop.map_err(|invalid| invalid.to_string())?);
        }
        Ok((event_loops, sum, counts))
    }
}

impl MergedLoop {
    /// One more than the place of a set of labels; 0 if it is empty.
    fn label_set(&mut self, labels: Labels) -> u32 {
        if labels.iter().len() == 0 {
            return 0;
        }
        let count = self.label_sets.len() as u32;
        if let Some(set) = self.label_sets.get(&labels) {
            return *set;
        }
        if self.label_sets.len() < MAX_LABEL_SETS {
            self.label_sets.insert(labels, count + 1);
            return count + 1;
        }
        let mut others = Labels::default();
        for (name, _) in labels.iter() {
            others.set(name, OTHER);
        }
        *self.label_sets.entry(others).or_insert(count + 1)
    }

    fn stack(
        &mut self,
        event_loop: &EventLoop,
        translation: &mut Translation,
        stack: StackId,
    ) -> Result<StackId, Invalid> {
        let mut path = Vec::new();
        let mut next = Some(stack);
        let mut known = None;
        while let Some(stack) = next {
            known = translation.stacks[stack.index()];
            if known.is_some() {
                break;
            }
            path.push(stack);
            next = event_loop.stack(stack).parent;
        }
        while let Some(stack) = path.pop() {
            let frame = event_loop.stack(stack).frame;
            let frame = self.frame(event_loop, translation, frame)?;
            let merged = self.event_loop.add_stack(known, frame)?;
            translation.stacks[stack.index()] = Some(merged);
            known = Some(merged);
        }
        Ok(known.expect("a stack is known, or has been added"))
    }

    fn frame(
        &mut self,
        event_loop: &EventLoop,
        translation: &mut Translation,
        frame: FrameId,
    ) -> Result<FrameId, Invalid> {
        if let Some(known) = translation.frames[frame.index()] {
            return Ok(known);
        }
        let Frame { function, place } = event_loop.frame(frame);
        let function = match &translation.functions[function.index()] {
            Some((_, known)) => *known,
            None => {
                let (key, known) = self.function(event_loop, event_loop.function(function))?;
                translation.functions[function.index()] = Some((key, known));
                known
            },
        };
        let merged = self.event_loop.add_frame(Frame { function, place })?;
        translation.frames[frame.index()] = Some(merged);
        Ok(merged)
    }

    fn function(
        &mut self,
        event_loop: &EventLoop,
        function: &Function,
    ) -> Result<(Key, FunctionId), Invalid> {
        let key = Key::of(event_loop, function);
        if let Some(url) = event_loop.resource_of(function) {
            match self.urls.get_mut(&key.url) {
                None => {
                    self.urls.insert(key.url.clone(), Some(url.to_owned()));
                },
                Some(only) if only.as_deref() != Some(url) => *only = None,
                Some(_) => {},
            }
        }
        if let Some(known) = self.functions.get(&key) {
            return Ok((key, *known));
        }
        let merged = Function {
            name: key.name.clone(),
            kind: function.kind,
            resource: self.event_loop.add_resource(&key.url)?,
            line: key.line,
            column: key.column,
            ..Function::default()
        };
        let known = self.event_loop.add_function(merged)?;
        self.functions.insert(key.clone(), known);
        Ok((key, known))
    }

    fn finish(mut self, kind: Kind) -> Result<EventLoop, Invalid> {
        self.add_samples(kind, 1)?;
        let same = self.same();
        let urls = self.urls;
        self.event_loop.map_functions(
            |id| same.get(&id).copied().unwrap_or(id),
            |url| urls.get(url).cloned().flatten(),
        )?;
        Ok(self.event_loop)
    }

    /// The same with times by session, and with functions that are known by another name on the other side.
    fn finish_side(
        mut self,
        kind: Kind,
        sessions: u64,
        renamed: &HashMap<Key, Key>,
    ) -> Result<EventLoop, Invalid> {
        self.add_samples(kind, sessions)?;
        let mut targets = HashMap::default();
        for (key, id) in &self.functions {
            let Some(new) = renamed.get(key) else {
                continue;
            };
            let function = Function {
                name: new.name.clone(),
                resource: self.event_loop.add_resource(&new.url)?,
                line: new.line,
                column: new.column,
                kind: self.event_loop.function(*id).kind,
                ..Function::default()
            };
            targets.insert(*id, self.event_loop.add_function(function)?);
        }
        let same = self.same();
        self.event_loop.map_functions(
            |id| {
                let id = same.get(&id).copied().unwrap_or(id);
                targets.get(&id).copied().unwrap_or(id)
            },
            |_| None,
        )?;
        Ok(self.event_loop)
    }

    /// For each function that is another one by its columns: that one.
    fn same(&self) -> HashMap<FunctionId, FunctionId> {
        let functions = self.functions.iter().map(|(key, id)| (key, *id));
        self.distinct.same(functions)
    }

    /// One for each row, with the time of one of so many sessions.
    fn add_samples(&mut self, kind: Kind, of_sessions: u64) -> Result<(), Invalid> {
        let sessions = self.sessions.len();
        self.event_loop.name = match sessions {
            1 => format!("{}: 1 session", kind.as_str()),
            _ => format!("{}: {sessions}{ONE_AFTER_ANOTHER}", kind.as_str()),
        };
        self.event_loop.kind = match kind {
            Kind::Page => EventLoopKind::Page {
                documents: Vec::new(),
            },
            Kind::Worker => EventLoopKind::Worker,
            Kind::Unknown => EventLoopKind::Unknown,
        };
        let mut sets = vec![None; self.label_sets.len() + 1];
        let mut label_sets: Vec<_> = std::mem::take(&mut self.label_sets).into_iter().collect();
        label_sets.sort_by_key(|(_, place)| *place);
        for (labels, place) in label_sets {
            let labels = labels.iter().cloned().collect();
            sets[place as usize] = Some(self.event_loop.add_label_set(labels)?);
        }
        let mut clock = 0_u64;
        for (row, sum) in std::mem::take(&mut self.rows) {
            let sample = Sample {
                time: (clock as f64 / 1e6).min(profile_formats::LAST_TIME),
                weight: sum.samples.max(1),
                stack: row.stack,
                activity: row.activity,
            };
            let worth = sum.worth / of_sessions;
            self.event_loop.add_several(sample, worth)?;
            clock = clock.saturating_add(worth);
            if let Some(labels) = sets[row.labels as usize] {
                self.event_loop.label_last_sample(labels)?;
            }
        }
        Ok(())
    }
}

/// Entries of a profile's tables in the merged ones.
struct Translation {
    functions: Vec<Option<(Key, FunctionId)>>,
    frames: Vec<Option<FrameId>>,
    stacks: Vec<Option<StackId>>,
}

impl Translation {
    fn new(event_loop: &EventLoop) -> Self {
        Self {
            functions: vec![None; event_loop.functions().len()],
            frames: vec![None; event_loop.frames().len()],
            stacks: vec![None; event_loop.stacks().len()],
        }
    }

    fn known(&self) -> impl Iterator<Item = (&Key, FunctionId)> {
        let known = self.functions.iter().flatten();
        known.map(|(key, id)| (key, *id))
    }
}
