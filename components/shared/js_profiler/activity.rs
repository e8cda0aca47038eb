/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a thread is doing besides running JavaScript, and for which document. The thread writes it when it
//! goes from one activity to another, and the sampling thread reads it.
//!
//! All of it is in one word, so a reader needs no lock and never sees the activity of one document under the
//! name of another. Only the thread itself writes the word, so writing needs no atomic exchange either:
//! entering and leaving are one load and one store each, whether or not anybody reads.

use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use servo_base::id::PipelineId;

use crate::{DocumentId, Marker};

// The word, from its low end: three bits of the marker (0 for none), two bits of `Collection`, then the
// document.
const MARKER_BITS: u64 = 0b111;
const COLLECTION_SHIFT: u32 = 3;
const COLLECTION_BITS: u64 = 0b11 << COLLECTION_SHIFT;
const DOCUMENT_SHIFT: u32 = u64::BITS - DocumentId::BITS;

thread_local!(static THIS_THREAD: SharedActivity = SharedActivity::default());

/// What a thread was doing at some moment.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Activity {
    /// The kind of the innermost activity that was entered; `None` if the thread was in none.
    pub marker: Option<Marker>,
    /// The document that the activity is for; `None` if it is for no document.
    pub document: Option<DocumentId>,
    /// Whether garbage was being collected at that moment.
    pub collecting: bool,
}

/// A thread's activity, for other threads to read.
#[derive(Clone, Debug, Default)]
pub struct SharedActivity(Arc<AtomicU64>);

impl SharedActivity {
    /// The activity of the calling thread.
    pub fn of_this_thread() -> Self {
        THIS_THREAD.with(Self::clone)
    }

    /// What the thread is doing. The answer may be out of date if the thread is running, as any sample may
    /// be.
    pub fn get(&self) -> Activity {
        let word = self.load();
        Activity {
            marker: Marker::from_bits(word & MARKER_BITS),
            document: DocumentId::from_bits(word >> DOCUMENT_SHIFT),
            collecting: word & COLLECTION_BITS != 0,
        }
    }

    fn load(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn store(&self, word: u64) {
        self.0.store(word, Ordering::Relaxed);
    }
}

/// Begins an activity of this kind on the calling thread, for the document of `pipeline` or for none. It ends
/// when the returned value is dropped; the thread then goes on with what it did before.
#[must_use = "the activity ends when this is dropped"]
pub fn enter(marker: Marker, pipeline: impl Into<Option<PipelineId>>) -> Entered {
    let document = pipeline.into().and_then(DocumentId::of_pipeline);
    let entered = marker.to_bits() | document.map_or(0, DocumentId::to_bits) << DOCUMENT_SHIFT;
    // Nobody reads the activity of a thread that is ending.
    let previous = THIS_THREAD.try_with(|activity| {
        let word = activity.load();
        activity.store(entered | word & COLLECTION_BITS);
        word & !COLLECTION_BITS
    });
    Entered {
        previous: previous.unwrap_or(0),
        of_this_thread: PhantomData,
    }
}

/// An activity that a thread is in: see [`enter`].
pub struct Entered {
    previous: u64,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        let _ = THIS_THREAD.try_with(|activity| {
            let collecting = activity.load() & COLLECTION_BITS;
            activity.store(self.previous | collecting);
        });
    }
}

/// A collection of garbage, as the engine reports it. A collection of the nursery may run within one of the
/// whole heap, but never within another of its own kind.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Collection {
    /// A collection of the nursery.
    Nursery = 1 << COLLECTION_SHIFT,
    /// A collection of the whole heap, or a slice of one.
    Heap = 1 << (COLLECTION_SHIFT + 1),
}

/// Notes that a collection begins (`collecting` is true) or ends on the calling thread.
pub fn set_collecting(collection: Collection, collecting: bool) {
    let bit = collection as u64;
    let _ = THIS_THREAD.try_with(|activity| {
        let others = activity.load() & !bit;
        activity.store(if collecting { others | bit } else { others });
    });
}

impl Marker {
    /// The number of the marker in the word: 1 to 6.
    fn to_bits(self) -> u64 {
        self as u64 + 1
    }

    fn from_bits(bits: u64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|marker| marker.to_bits() == bits)
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;
    use std::num::NonZeroU32;
    use std::thread;

    use servo_base::id::{Index, PipelineNamespaceId};

    use super::*;

    fn pipeline(namespace: u32, index: u32) -> PipelineId {
        PipelineId {
            namespace_id: PipelineNamespaceId(namespace),
            index: Index(NonZeroU32::new(index).unwrap(), PhantomData),
        }
    }

    /// What another thread reads of this one.
    fn read() -> Activity {
        let activity = SharedActivity::of_this_thread();
        thread::spawn(move || activity.get()).join().unwrap()
    }

    fn working(marker: Marker, pipeline: Option<PipelineId>) -> Activity {
        Activity {
            marker: Some(marker),
            document: pipeline.and_then(DocumentId::of_pipeline),
            collecting: false,
        }
    }

    #[test]
    fn the_innermost_work_is_read_and_leaving_it_goes_back() {
        let (ours, other) = (pipeline(2, 7), pipeline(3, 7));
        assert_eq!(read(), Activity::default());
        let outer = enter(Marker::Other, None);
        assert_eq!(read(), working(Marker::Other, None));
        {
            let _style = enter(Marker::Style, ours);
            assert_eq!(read(), working(Marker::Style, Some(ours)));
            let _layout = enter(Marker::Layout, other);
            assert_eq!(read(), working(Marker::Layout, Some(other)));
        }
        assert_eq!(read(), working(Marker::Other, None));
        drop(outer);
        assert_eq!(read(), Activity::default());
    }

    #[test]
    fn threads_have_activities_of_their_own() {
        let _here = enter(Marker::Layout, pipeline(2, 1));
        let there = thread::spawn(|| {
            let activity = SharedActivity::of_this_thread();
            let _script = enter(Marker::Script, pipeline(2, 2));
            activity.get()
        });
        let expected = working(Marker::Script, Some(pipeline(2, 2)));
        assert_eq!(there.join().unwrap(), expected);
        assert_eq!(read(), working(Marker::Layout, Some(pipeline(2, 1))));
    }

    #[test]
    fn a_collection_interrupts_work_and_does_not_change_it() {
        let collecting = |activity| Activity {
            collecting: true,
            ..activity
        };
        set_collecting(Collection::Heap, true);
        assert_eq!(read(), collecting(Activity::default()));
        set_collecting(Collection::Heap, false);
        let paint = enter(Marker::Paint, pipeline(2, 1));
        let painting = working(Marker::Paint, Some(pipeline(2, 1)));
        set_collecting(Collection::Heap, true);
        set_collecting(Collection::Nursery, true);
        set_collecting(Collection::Nursery, false);
        assert_eq!(read(), collecting(painting));
        {
            // A finaliser might do this.
            let _other = enter(Marker::Other, None);
            assert_eq!(read(), collecting(working(Marker::Other, None)));
        }
        assert_eq!(read(), collecting(painting));
        set_collecting(Collection::Heap, false);
        assert_eq!(read(), painting);
        drop(paint);
        assert_eq!(read(), Activity::default());
    }

    #[test]
    fn different_pipelines_are_different_documents() {
        let most_namespaces = 1 << (DocumentId::BITS - u32::BITS);
        let pipelines = [
            pipeline(0, 1),
            pipeline(1, 1),
            pipeline(0, u32::MAX),
            pipeline(1, u32::MAX),
            pipeline(most_namespaces - 1, u32::MAX),
        ];
        for (at, pipeline) in pipelines.into_iter().enumerate() {
            for marker in Marker::ALL {
                let _work = enter(marker, pipeline);
                assert_eq!(read(), working(marker, Some(pipeline)));
            }
            let document = DocumentId::of_pipeline(pipeline);
            assert!(document.is_some(), "{pipeline}");
            for other in &pipelines[at + 1..] {
                assert_ne!(DocumentId::of_pipeline(*other), document);
            }
        }
        // This id does not fit into the word, and must not be taken for another one.
        let _work = enter(Marker::Style, pipeline(most_namespaces, 1));
        assert_eq!(read(), working(Marker::Style, None));
    }
}
