/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What Strobe adds to the performance timeline: a limit on the buffer of profile entries, the count of
//! dropped entries, and the filter that `getEntries()` takes.

// Upstream allows all warnings of the crate.
#![warn(warnings)]

use std::cell::Cell;

use js::context::JSContext;
use js::conversions::ConversionResult;
use js::jsapi::IsCallable;
use js::rust::HandleValue;
use strum::VariantArray;

use super::{Performance, PerformanceEntryList};
use crate::dom::bindings::codegen::Bindings::PerformanceResourceTimingBinding::PerformanceResourceTimingMethods;
pub(crate) use crate::dom::bindings::codegen::Bindings::PerformanceTimelineBinding::{
    PerformanceEntryFilterOptions, PerformanceObserverCallbackOptions,
};
use crate::dom::bindings::error::{Error, Fallible};
use crate::dom::bindings::inheritance::Castable;
use crate::dom::bindings::root::DomRoot;
use crate::dom::performance::performanceentry::{EntryType, PerformanceEntry};
use crate::dom::performance::performanceobserver::PerformanceObserver;
use crate::dom::performance::performanceresourcetiming::PerformanceResourceTiming;

/// The maxBufferSize of <https://w3c.github.io/timing-entrytypes-registry/#registry> for "profile".
///
/// Entries in the buffer are never collected, and each holds a trace, which is as large as the page let it
/// become. So there is room for the entries of a page's load, but not for those of a profiler that is
/// restarted whenever its buffer is full.
const MAX_PROFILE_ENTRIES: usize = 10;

/// The dropped entries count of each type:
/// <https://w3c.github.io/performance-timeline/#dfn-dropped-entries-count>.
#[derive(Default, JSTraceable, MallocSizeOf)]
pub(super) struct DroppedEntries {
    #[ignore_malloc_size_of = "Holds nothing"]
    counts: [Cell<u64>; EntryType::VARIANTS.len()],
}

impl DroppedEntries {
    pub(super) fn add(&self, entry_type: EntryType, dropped: usize) {
        let count = &self.counts[entry_type as usize];
        count.set(count.get() + dropped as u64);
    }

    fn get(&self, entry_type: EntryType) -> u64 {
        self.counts[entry_type as usize].get()
    }
}

impl Performance {
    /// Whether an observer is registered for profile entries.
    pub(crate) fn is_observed_for_profiles(&self) -> bool {
        // Garbage may be collected while an observer is being added, and that asks this.
        self.observers.try_borrow().map_or(true, |observers| {
            observers
                .iter()
                .any(|observer| observer.entry_types.contains(&EntryType::Profile))
        })
    }

    /// Called when an entry of this type has been added to the buffer. Removes it again if the buffer was
    /// full before.
    /// <https://w3c.github.io/performance-timeline/#determine-if-a-performance-entry-buffer-is-full>
    pub(super) fn drop_entry_over_bound(&self, entry_type: EntryType) {
        if entry_type != EntryType::Profile {
            return;
        }
        // Step 1. Let num current entries be the size of tuple's performance entry buffer.
        let entries = &mut self.buffer.borrow_mut().entries;
        let same_type = entries
            .iter()
            .filter(|entry| entry.entry_type() == entry_type);
        // Step 2. If num current entries is less than tuple's maxBufferSize, return false.
        if same_type.count() <= MAX_PROFILE_ENTRIES {
            return;
        }
        // Step 3. Increase tuple's dropped entries count by 1.
        entries.pop();
        self.dropped_entries.add(entry_type, 1);
    }

    /// What the callback of `observer` gets besides the entries, by the steps of
    /// <https://w3c.github.io/performance-timeline/#queue-the-performanceobserver-task>.
    pub(crate) fn callback_options(
        &self,
        observer: &PerformanceObserver,
        requires_dropped_entries: &Cell<bool>,
    ) -> PerformanceObserverCallbackOptions {
        // Let droppedEntriesCount be null. If po's requires dropped entries is set: set
        // droppedEntriesCount to 0, and increase it by the dropped entries count of each entry type
        // that po observes. Set po's requires dropped entries to false.
        let dropped_entries_count = requires_dropped_entries.replace(false).then(|| {
            let observers = self.observers.borrow();
            let registered = observers
                .iter()
                .filter(|registered| *registered.observer == *observer);
            let observed = registered.flat_map(|registered| &registered.entry_types);
            observed
                .map(|entry_type| self.dropped_entries.get(*entry_type))
                .sum()
        });
        PerformanceObserverCallbackOptions {
            droppedEntriesCount: dropped_entries_count,
        }
    }
}

/// The argument of `getEntries()` as a filter. `getEntries()` has no argument today, and engines ignore what
/// they are given. So this ignores everything but a dictionary of the 2015 draft: values that are not
/// objects, and functions, which have a `name` for other reasons.
pub(crate) fn entry_filter(
    cx: &mut JSContext,
    argument: HandleValue,
) -> Fallible<PerformanceEntryFilterOptions> {
    let is_dictionary = argument.is_object() && {
        // SAFETY: the value is an object, which its handle roots.
        #[expect(unsafe_code)]
        unsafe {
            !IsCallable(argument.to_object())
        }
    };
    if !is_dictionary {
        return Ok(PerformanceEntryFilterOptions::empty());
    }
    match PerformanceEntryFilterOptions::new(cx, argument) {
        Ok(ConversionResult::Success(filter)) => Ok(filter),
        Ok(ConversionResult::Failure(message)) => Err(Error::Type(message.into_owned())),
        Err(()) => Err(Error::JSFailed),
    }
}

impl PerformanceEntryList {
    /// `getEntries()` of <https://www.w3.org/TR/2015/WD-performance-timeline-2-20151021/>: the entries whose
    /// attributes equal all members of the filter that are present, ordered by start time. An entry that
    /// lacks such an attribute does not match.
    pub(crate) fn get_entries_by_filter(
        &self,
        filter: &PerformanceEntryFilterOptions,
    ) -> Vec<DomRoot<PerformanceEntry>> {
        let entry_type = match &filter.entryType {
            Some(entry_type) => match EntryType::try_from(&*entry_type.str()) {
                Ok(entry_type) => Some(entry_type),
                Err(()) => return Vec::new(),
            },
            None => None,
        };
        let mut entries = self.get_entries_by_name_and_type(filter.name.clone(), entry_type);
        if let Some(initiator_type) = &filter.initiatorType {
            entries.retain(|entry| {
                entry
                    .downcast::<PerformanceResourceTiming>()
                    .is_some_and(|entry| entry.InitiatorType() == *initiator_type)
            });
        }
        entries
    }
}
