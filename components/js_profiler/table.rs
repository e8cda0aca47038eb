/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Tables in which an equal row is found again, and a new one is added.

use std::borrow::Borrow;
use std::hash::Hash;
use std::mem;

use malloc_size_of_derive::MallocSizeOf;
use rustc_hash::FxHashMap;

/// A table without duplicates. The id of a row is its index, and never changes. So a reader that puts the results of
/// [`take_new`](Self::take_new) one after the other finds every row at its id.
#[derive(Debug, MallocSizeOf)]
pub struct Table<T: Eq + Hash> {
    ids: FxHashMap<T, u32>,
    /// The last rows, which have not been taken.
    new: Vec<T>,
}

impl<T: Eq + Hash> Default for Table<T> {
    fn default() -> Self {
        Self {
            ids: FxHashMap::default(),
            new: Vec::new(),
        }
    }
}

impl<T: Eq + Hash> Table<T> {
    /// The id of a row, which is added if it is new.
    pub fn id<R>(&mut self, row: &R) -> u32
    where
        T: Borrow<R>,
        R: Eq + Hash + ToOwned<Owned = T> + ?Sized,
    {
        if let Some(&id) = self.ids.get(row) {
            return id;
        }
        let id = self.ids.len() as u32;
        self.ids.insert(row.to_owned(), id);
        self.new.push(row.to_owned());
        id
    }

    /// The id of a row, if the table has it.
    pub fn find<R>(&self, row: &R) -> Option<u32>
    where
        T: Borrow<R>,
        R: Eq + Hash + ?Sized,
    {
        self.ids.get(row).copied()
    }

    /// How many bytes a new row takes, without what it owns: it is there twice, and the map has room for more.
    pub const fn bytes_of_row() -> usize {
        3 * size_of::<T>() + 16
    }

    /// How many rows were added.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// The rows that were added since the last call, in the order of their ids.
    pub fn take_new(&mut self) -> Vec<T> {
        mem::take(&mut self.new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_and_go_on_when_rows_are_taken() {
        let mut table = Table::<String>::default();
        assert_eq!([table.id("a"), table.id("b"), table.id("a")], [0, 1, 0]);
        assert_eq!(table.take_new(), ["a", "b"]);
        assert_eq!([table.id("b"), table.id("c")], [1, 2]);
        assert_eq!(table.take_new(), ["c"]);
        assert_eq!(table.len(), 3);
    }
}
