/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the processor is to load before a walk.
//!
//! After some milliseconds of other work, the processor's caches have neither the code of a walk nor its data. The walk would
//! wait for one line after the other. So the stopped thread first asks for the lines that it needs in any case, and the
//! processor loads them side by side.

use super::ffi::strobe_prefetch;
use crate::arch::CACHE_LINE;

/// The lines of the processor's cache with the data that each walk of a thread reads.
#[derive(Default)]
pub struct NeededLines(Vec<usize>);

impl NeededLines {
    /// In bytes.
    pub fn memory(&self) -> usize {
        self.0.capacity() * size_of::<usize>()
    }

    /// Forgets all data.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a value that the next walks read. It may be gone by then.
    pub fn add<T>(&mut self, value: &T) {
        let begin = std::ptr::from_ref(value).addr();
        let lines = begin & !(CACHE_LINE - 1)..begin + size_of::<T>();
        self.0.extend(lines.step_by(CACHE_LINE));
    }

    /// Makes the processor load the data, and the code of the walk. Allocates nothing. Returns the size of the code in
    /// bytes.
    pub fn prefetch(&self) -> usize {
        // SAFETY: the function only reads the addresses, and not what is there.
        unsafe { strobe_prefetch(self.0.as_ptr(), self.0.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lines_of_a_value_are_needed() {
        #[repr(align(64))]
        struct Value([u8; 130]);
        let value = Value([0; 130]);
        let begin = (&raw const value).addr();
        let mut lines = NeededLines::default();
        lines.add(&value.0);
        assert_eq!(lines.0, [begin, begin + 64, begin + 128]);
        lines.clear();
        lines.add(&value.0[63]);
        assert_eq!(lines.0, [begin]);
    }

    #[test]
    fn the_linker_keeps_the_code_of_the_walk_together() {
        let size = NeededLines::default().prefetch();
        assert!(size > 8192, "{size}");
    }
}
