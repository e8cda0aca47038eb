/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The two long lists of a file: the nodes of its samples, and the times between them. They take four bytes for an entry, and
//! little more while they grow.

use std::fmt;

use indexmap::IndexSet;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Unexpected, Visitor};

use crate::counted::GROWTH;

/// Ids from here on are in a table. No engine writes such an id.
const LARGE: u32 = 1 << 31;

/// How many different ones there may be.
const MAX_LARGE: usize = 1_000_000;

/// What is counted for an entry. See [`push`].
type Entry = [u8; 3];

const ENTRY: Entry = [0; size_of::<Entry>()];

/// By itself a list doubles its room, of which half may stay empty. There are two lists that are as long as a file.
#[inline]
fn push<T>(list: &mut Vec<T>, entry: T) {
    const _: () = assert!(5 * size_of::<u32>() <= 4 * GROWTH * size_of::<Entry>());
    if list.len() == list.capacity() {
        const LEAST: usize = 1 << 10;
        list.reserve_exact(LEAST + list.len() / 4);
    }
    list.push(entry);
}

/// The ids of the samples' nodes.
#[derive(Default)]
pub struct Ids {
    /// Ids, or from [`LARGE`] on their indices in the table.
    codes: Vec<u32>,
    large: IndexSet<u64>,
}

impl Ids {
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> {
        self.codes.iter().map(|code| id_of(*code, &self.large))
    }

    /// Puts something else in the place of each id. The index of the first id for which there is nothing is an error.
    pub fn replaced(mut self, of: impl Fn(u64) -> Option<u32>) -> Result<Vec<u32>, (usize, u64)> {
        for (index, code) in self.codes.iter_mut().enumerate() {
            let id = id_of(*code, &self.large);
            *code = of(id).ok_or((index, id))?;
        }
        Ok(self.codes)
    }
}

fn id_of(code: u32, large: &IndexSet<u64>) -> u64 {
    match code < LARGE {
        true => code.into(),
        false => large[(code - LARGE) as usize],
    }
}

impl<'de> Deserialize<'de> for Ids {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Ids;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Ids, A::Error> {
                let mut ids = Ids::default();
                while list.next_element_seed(Id(&mut ids))?.is_some() {}
                Ok(ids)
            }
        }

        deserializer.deserialize_seq(List)
    }
}

/// Reads one behind the others.
struct Id<'a>(&'a mut Ids);

impl<'de> DeserializeSeed<'de> for Id<'_> {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entry, D::Error> {
        deserializer.deserialize_u64(self)
    }
}

impl<'de> Visitor<'de> for Id<'_> {
    type Value = Entry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("u64")
    }

    fn visit_u64<E: Error>(self, id: u64) -> Result<Entry, E> {
        let Ids { codes, large } = self.0;
        let mut code = id as u32;
        if id >= LARGE.into() {
            let index = large.insert_full(id).0;
            if index >= MAX_LARGE {
                return Err(E::custom(format_args!(
                    "more than {MAX_LARGE} different ids that are {LARGE} or greater"
                )));
            }
            code = LARGE + index as u32;
        }
        push(codes, code);
        Ok(ENTRY)
    }

    fn visit_i64<E: Error>(self, id: i64) -> Result<Entry, E> {
        match u64::try_from(id) {
            Ok(id) => self.visit_u64(id),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(id), &self)),
        }
    }
}

/// The times between samples, in microseconds.
pub enum Deltas {
    /// All that engines write are whole ones.
    Whole(Vec<i32>),
    Any(Vec<f64>),
}

impl Deltas {
    pub fn len(&self) -> usize {
        match self {
            Self::Whole(deltas) => deltas.len(),
            Self::Any(deltas) => deltas.len(),
        }
    }

    pub fn iter(&self) -> Box<dyn Iterator<Item = f64> + '_> {
        match self {
            Self::Whole(deltas) => Box::new(deltas.iter().map(|delta| f64::from(*delta))),
            Self::Any(deltas) => Box::new(deltas.iter().copied()),
        }
    }
}

impl<'de> Deserialize<'de> for Deltas {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;

        impl<'de> Visitor<'de> for List {
            type Value = Deltas;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a sequence")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Deltas, A::Error> {
                let mut whole = Vec::new();
                let mut other = None;
                while list
                    .next_element_seed(Delta(&mut whole, &mut other))?
                    .is_some()
                {
                    let Some(other) = other else { continue };
                    let mut any: Vec<f64> = whole.into_iter().map(f64::from).collect();
                    any.push(other);
                    while let Some(delta) = list.next_element()? {
                        any.push(delta);
                    }
                    return Ok(Deltas::Any(any));
                }
                Ok(Deltas::Whole(whole))
            }
        }

        deserializer.deserialize_seq(List)
    }
}

/// Reads one behind the others, or into the place beside them unless it is a whole one.
struct Delta<'a>(&'a mut Vec<i32>, &'a mut Option<f64>);

impl<'de> DeserializeSeed<'de> for Delta<'_> {
    type Value = Entry;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Entry, D::Error> {
        deserializer.deserialize_f64(self)
    }
}

impl<'de> Visitor<'de> for Delta<'_> {
    type Value = Entry;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("f64")
    }

    fn visit_u64<E: Error>(self, delta: u64) -> Result<Entry, E> {
        match i32::try_from(delta) {
            Ok(delta) => {
                push(self.0, delta);
                Ok(ENTRY)
            },
            Err(_) => self.visit_f64(delta as f64),
        }
    }

    fn visit_i64<E: Error>(self, delta: i64) -> Result<Entry, E> {
        match i32::try_from(delta) {
            Ok(delta) => {
                push(self.0, delta);
                Ok(ENTRY)
            },
            Err(_) => self.visit_f64(delta as f64),
        }
    }

    fn visit_f64<E: Error>(self, delta: f64) -> Result<Entry, E> {
        *self.1 = Some(delta);
        Ok(ENTRY)
    }
}
