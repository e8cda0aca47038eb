/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Adds the samples of a thread to an event loop: each, or the sums for a report.

use serde::Deserialize;

use super::meta::Meta;
use super::tables::{Index, Leaf, Reader};
use crate::counted::GROWTH;
use crate::error::Error;
use crate::interval;
use crate::recording::{Activity, EventLoop, Invalid, Sample, check_time};
use crate::worth;

/// What is kept of samples.
#[derive(Clone, Copy, PartialEq)]
pub enum Keep {
    All,
    /// How many there are of each stack, and what they are worth.
    Sums,
}

impl Keep {
    /// An interval that a file does not say is found in the times of its samples.
    pub fn for_file(self, meta: &Meta) -> Self {
        if meta.interval == 0. { Self::All } else { self }
    }

    /// Where threads that share their tables have their sums, one after the other. `None` if all samples are kept.
    pub fn sums(self) -> Option<Sums> {
        (self == Self::Sums).then(Sums::default)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Samples {
    pub stack: Vec<Option<Index>>,
    pub time: Option<Vec<f64>>,
    pub time_deltas: Option<Vec<f64>>,
    pub weight: Option<Vec<f64>>,
    pub weight_type: Option<String>,
}

/// The samples of a thread, whose columns have one length.
pub struct SamplesOfThread<'a> {
    pub samples: &'a Samples,
    /// In milliseconds.
    pub times: &'a [f64],
    /// Whether the weights are times.
    pub is_timed: bool,
    /// That of the thread.
    pub place: &'a str,
}

impl SamplesOfThread<'_> {
    fn column(&self, name: &str) -> String {
        format!("{}.samples.{name}", self.place)
    }

    fn place_of(&self, name: &str, index: usize) -> String {
        format!("{}[{index}]", self.column(name))
    }

    /// The weight of a sample, if the file has weights.
    #[inline]
    fn weight(&self, index: usize) -> Result<Option<f64>, Error> {
        let Some(weights) = &self.samples.weight else {
            return Ok(None);
        };
        let weight = weights[index];
        // A profile of differences has such weights.
        let problem = match weight < 0. {
            true => "is less than 0: differences are no samples",
            false if !self.is_timed && weight.fract() != 0. => "is not a number of samples",
            false => return Ok(Some(weight)),
        };
        let problem = format!("{weight} {problem}");
        Err(Error::new(self.place_of("weight", index), problem))
    }

    /// A sample with this weight stands for none.
    fn is_none(&self, weight: Option<f64>) -> bool {
        weight == Some(0.) && !self.is_timed
    }

    fn no_stack(&self, index: usize, stack: usize, count: usize) -> Error {
        Error::out_of_range(
            self.place_of("stack", index),
            stack as u64,
            "stackTable",
            count,
        )
    }

    fn invalid(&self, index: usize, invalid: Invalid) -> Error {
        let column = match invalid {
            Invalid::Worth(_) | Invalid::TooLong => "weight",
            _ => "time",
        };
        Error::new(self.place_of(column, index), invalid)
    }

    pub fn add_all(
        &self,
        reader: &mut Reader<'_>,
        event_loop: &mut EventLoop,
        meta: &Meta,
    ) -> Result<(), Error> {
        for (index, stack) in self.samples.stack.iter().enumerate() {
            let weight = self.weight(index)?;
            if self.is_none(weight) {
                continue;
            }
            let (stack, activity) = match stack {
                None => (None, None),
                Some(stack) => {
                    let leaf = reader.leaf_of(stack.get(), event_loop);
                    let count = reader.stack_count();
                    leaf.ok_or_else(|| self.no_stack(index, stack.get(), count))??
                },
            };
            let mut sample = Sample {
                time: self.times[index],
                weight: 1,
                stack,
                activity,
            };
            let added = match weight {
                Some(worth) if self.is_timed => event_loop.add_sample_worth(sample, worth),
                weight => {
                    // Saturates; a weight that is too large is refused.
                    sample.weight = weight.map_or(1, |weight| weight as u64);
                    event_loop.add_sample(sample)
                },
            };
            added.map_err(|invalid| self.invalid(index, invalid))?;
        }
        if self.samples.weight.is_none() {
            let interval = self.interval(meta)?;
            let valued = event_loop.value_until_next(None, interval);
            valued.map_err(|invalid| Error::new(self.column("time"), invalid))?;
        }
        Ok(())
    }

    pub fn add_sums(
        &self,
        sums: &mut Sums,
        reader: &mut Reader<'_>,
        event_loop: &mut EventLoop,
        meta: &Meta,
    ) -> Result<(), Error> {
        let count = reader.stack_count();
        sums.begin(count);
        let mut last = 0.;
        for (index, stack) in self.samples.stack.iter().enumerate() {
            let weight = self.weight(index)?;
            if self.is_none(weight) {
                continue;
            }
            let entry = stack.map_or(count, Index::get);
            if entry >= count && stack.is_some() {
                return Err(self.no_stack(index, entry, count));
            }
            let time = self.times[index];
            check_time(time).map_err(|invalid| self.invalid(index, invalid))?;
            if time < last {
                return Err(self.invalid(index, Invalid::Backwards { time, last }));
            }
            last = time;
            let sum = sums.of(entry);
            match weight {
                Some(worth) if self.is_timed => {
                    let invalid = || self.invalid(index, Invalid::Worth(worth));
                    check_time(worth).map_err(|_| invalid())?;
                    sum.worth = sum.worth.saturating_add(worth::nanoseconds(worth));
                    sum.weight += 1;
                },
                // Saturates; a weight that is too large is refused.
                Some(weight) => sum.weight = sum.weight.saturating_add(weight as u64),
                None => sum.weight += 1,
            }
        }
        sums.read_leaves(reader, event_loop)?;
        let has_worths = self.samples.weight.is_none();
        if has_worths {
            let interval = self.interval(meta)?;
            let most = (!sums.has_idle()).then(|| worth::most(interval));
            let worths = worth::each_until_next(self.times, None, interval, most);
            for (stack, worth) in self.samples.stack.iter().zip(worths) {
                let sum = &mut sums.entries[stack.map_or(count, Index::get)];
                sum.worth = sum.worth.saturating_add(worth);
            }
        }
        sums.add_to(event_loop, self.is_timed || has_worths)
            .map_err(|invalid| Error::new(self.column("time"), invalid))
    }

    /// That of the file, or of the samples.
    fn interval(&self, meta: &Meta) -> Result<f64, Error> {
        match meta.interval {
            0. => Ok(interval::estimate([self.times.iter().copied()])),
            interval => interval::checked(interval, "meta.interval"),
        }
    }
}

/// The samples of each stack. Threads that share a large table may be many, and have few samples: what is done for each of them is
/// for the stacks that they have.
#[derive(Default)]
pub struct Sums {
    /// By stack of the file. The last one is for samples without a stack.
    entries: Vec<SumOfStack>,
    /// Those that have samples, which are in order when all have been added.
    sampled: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct SumOfStack {
    weight: u64,
    /// In nanoseconds.
    worth: u64,
    leaf: Leaf,
}

impl Sums {
    /// How much memory they take, in bytes.
    pub fn bytes(stacks: usize) -> u64 {
        let of_stack = size_of::<SumOfStack>() + GROWTH * size_of::<u32>();
        (of_stack * (stacks + 1)) as u64
    }

    /// The next thread. No stack has a sample.
    fn begin(&mut self, stacks: usize) {
        for entry in self.sampled.drain(..) {
            self.entries[entry as usize] = SumOfStack::default();
        }
        self.entries.resize(stacks + 1, SumOfStack::default());
    }

    /// That of a stack to which a sample is added.
    #[inline]
    fn of(&mut self, entry: usize) -> &mut SumOfStack {
        let sum = &mut self.entries[entry];
        if sum.weight == 0 {
            self.sampled.push(entry as u32);
        }
        sum
    }

    /// What each stack with samples means.
    fn read_leaves(
        &mut self,
        reader: &mut Reader<'_>,
        event_loop: &mut EventLoop,
    ) -> Result<(), Error> {
        self.sampled.sort_unstable();
        for stack in &self.sampled {
            let stack = *stack as usize;
            if let Some(leaf) = reader.leaf_of(stack, event_loop) {
                self.entries[stack].leaf = leaf?;
            }
        }
        Ok(())
    }

    fn with_samples(&self) -> impl Iterator<Item = &SumOfStack> {
        let sampled = self.sampled.iter();
        sampled.map(|entry| &self.entries[*entry as usize])
    }

    fn has_idle(&self) -> bool {
        self.with_samples()
            .any(|sum| sum.leaf == (None, Some(Activity::Idle)))
    }

    fn add_to(&self, event_loop: &mut EventLoop, has_worths: bool) -> Result<(), Invalid> {
        self.with_samples().try_for_each(|sum| {
            let (stack, activity) = sum.leaf;
            event_loop.add_sum(stack, activity, sum.weight, has_worths.then_some(sum.worth))
        })
    }
}
