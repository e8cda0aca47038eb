/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What an event loop was doing when it was sampled, for whom, and which sessions may know it:
//! <https://github.com/WICG/js-self-profiling/blob/main/markers.md>.

use js_profiler_traits::activity::Activity;
use js_profiler_traits::{DocumentId, Marker, RealmId};
use malloc_size_of_derive::MallocSizeOf;

use crate::outcome::Outcome;

/// For whom an event loop does something.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Beneficiary {
    /// A document, or a worker's global.
    Document(DocumentId),
    /// A realm. Script is attributed to its realm.
    Realm(RealmId),
    /// The whole event loop. Garbage is collected for it.
    Everybody,
    /// It is not known for whom. So no session may see the activity.
    Unknown,
}

/// What an event loop was doing, before the filter that decides who may know it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct SampledActivity {
    /// The kind of activity.
    pub marker: Marker,
    /// For whom it was.
    pub done_for: Beneficiary,
}

impl SampledActivity {
    /// The activity that a sample shows. `None` if the event loop was idle. `activity` is what the thread had
    /// entered, and `leaf` is the realm of the innermost function on the stack.
    ///
    /// If activities are nested, the innermost counts. A collection of garbage can interrupt anything. Style,
    /// layout and paint run no script, so script that is on the stack meanwhile has called for them. All other
    /// activities may run script.
    pub fn of_sample(outcome: Outcome, activity: Activity, leaf: Option<RealmId>) -> Option<Self> {
        let sampled = |marker, done_for| Some(Self { marker, done_for });
        let document = activity
            .document
            .map_or(Beneficiary::Unknown, Beneficiary::Document);
        if activity.collecting || outcome == Outcome::Collecting {
            return sampled(Marker::Gc, Beneficiary::Everybody);
        }
        match activity.marker {
            Some(marker @ (Marker::Style | Marker::Layout | Marker::Paint)) => {
                sampled(marker, document)
            },
            _ if outcome == Outcome::Stack => sampled(
                Marker::Script,
                leaf.map_or(Beneficiary::Unknown, Beneficiary::Realm),
            ),
            // It is not known which function was running.
            _ if outcome == Outcome::Unwalkable => sampled(Marker::Script, Beneficiary::Unknown),
            Some(marker) => sampled(marker, document),
            None => None,
        }
    }
}

/// Which markers the samples of a session may have: only those of activities that are for it.
#[derive(Clone, Copy, Debug, Eq, MallocSizeOf, PartialEq)]
pub struct MarkerFilter {
    /// The document of the session; `None` if it is not known.
    pub document: Option<DocumentId>,
    /// Whether the document is cross-origin isolated. If not, the session may know only what it could observe
    /// anyway: style and layout.
    pub isolated: bool,
}

impl MarkerFilter {
    /// The marker that a session of `realm` may see for this activity.
    pub fn marker(self, activity: Option<SampledActivity>, realm: RealmId) -> Option<Marker> {
        let SampledActivity { marker, done_for } = activity?;
        let is_ours = match done_for {
            Beneficiary::Document(document) => self.document == Some(document),
            Beneficiary::Realm(leaf) => leaf == realm,
            Beneficiary::Everybody => true,
            Beneficiary::Unknown => false,
        };
        let may_know = self.isolated || matches!(marker, Marker::Style | Marker::Layout);
        (is_ours && may_know).then_some(marker)
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;
    use std::num::NonZeroU32;

    use servo_base::id::{Index, PipelineId, PipelineNamespaceId};

    use super::*;

    const REALM: RealmId = RealmId(1);
    const OTHER_REALM: RealmId = RealmId(2);
    const SAMPLED: [Outcome; 4] = [
        Outcome::Stack,
        Outcome::Idle,
        Outcome::Collecting,
        Outcome::Unwalkable,
    ];

    fn document(index: u32) -> DocumentId {
        let pipeline = PipelineId {
            namespace_id: PipelineNamespaceId(2),
            index: Index(NonZeroU32::new(index).unwrap(), PhantomData),
        };
        DocumentId::of_pipeline(pipeline).unwrap()
    }

    fn activity(marker: Option<Marker>, document: Option<DocumentId>) -> Activity {
        Activity {
            marker,
            document,
            collecting: false,
        }
    }

    /// What a session of the first document gets if it is isolated, and if it is not.
    fn shown(outcome: Outcome, activity: Activity, leaf: RealmId) -> [Option<Marker>; 2] {
        let sampled = SampledActivity::of_sample(outcome, activity, Some(leaf));
        [true, false].map(|isolated| {
            let filter = MarkerFilter {
                document: Some(document(1)),
                isolated,
            };
            filter.marker(sampled, REALM)
        })
    }

    #[test]
    fn the_innermost_work_counts() {
        use Marker::{Gc, Layout, Other, Paint, Script, Style};
        use Outcome::{Collecting, Idle, Stack, Unwalkable};
        let marker = |outcome, entered| {
            let activity = activity(entered, Some(document(1)));
            SampledActivity::of_sample(outcome, activity, Some(REALM)).map(|sampled| sampled.marker)
        };
        for entered in [Style, Layout, Paint].map(Some) {
            // Script that is on the stack has called for it, and waits.
            for outcome in [Stack, Unwalkable, Idle] {
                assert_eq!(marker(outcome, entered), entered);
            }
        }
        for entered in [None, Some(Other), Some(Script)] {
            for outcome in [Stack, Unwalkable] {
                assert_eq!(marker(outcome, entered), Some(Script));
            }
            assert_eq!(marker(Idle, entered), entered);
        }
        for entered in Marker::ALL.map(Some).into_iter().chain([None]) {
            assert_eq!(marker(Collecting, entered), Some(Gc));
            for outcome in SAMPLED {
                let collecting = Activity {
                    collecting: true,
                    ..activity(entered, Some(document(1)))
                };
                let sampled = SampledActivity::of_sample(outcome, collecting, Some(REALM));
                assert_eq!(sampled.map(|sampled| sampled.marker), Some(Gc));
            }
        }
    }

    #[test]
    fn without_isolation_only_style_and_layout_are_shown() {
        for marker in Marker::ALL {
            let told = matches!(marker, Marker::Style | Marker::Layout).then_some(marker);
            let activity = activity(Some(marker), Some(document(1)));
            let shown = shown(Outcome::Idle, activity, REALM);
            assert_eq!(shown, [Some(marker), told]);
        }
        let idle = activity(None, None);
        assert_eq!(shown(Outcome::Idle, idle, REALM), [None, None]);
        let script = Some(Marker::Script);
        assert_eq!(shown(Outcome::Stack, idle, REALM), [script, None]);
        let collected = Some(Marker::Gc);
        assert_eq!(shown(Outcome::Collecting, idle, REALM), [collected, None]);
    }

    #[test]
    fn work_for_another_document_is_shown_to_nobody() {
        for marker in Marker::ALL {
            for other in [Some(document(2)), None] {
                for outcome in [Outcome::Stack, Outcome::Idle, Outcome::Unwalkable] {
                    let activity = activity(Some(marker), other);
                    let shown = shown(outcome, activity, OTHER_REALM);
                    assert_eq!(shown, [None, None], "{marker:?} {outcome:?}");
                }
            }
        }
        // A session whose own document is not known must not see it either.
        let unknown = MarkerFilter {
            document: None,
            isolated: true,
        };
        for document in [Some(document(1)), None] {
            let activity = activity(Some(Marker::Layout), document);
            let sampled = SampledActivity::of_sample(Outcome::Idle, activity, None);
            assert_eq!(unknown.marker(sampled, REALM), None);
        }
    }

    #[test]
    fn script_is_shown_to_the_realm_of_its_innermost_function() {
        // No matter what the event loop had begun before, and for whom.
        for begun in [None, Some(Marker::Other)] {
            for document in [document(1), document(2)].map(Some) {
                let activity = activity(begun, document);
                let script = Some(Marker::Script);
                assert_eq!(shown(Outcome::Stack, activity, REALM), [script, None]);
                assert_eq!(shown(Outcome::Stack, activity, OTHER_REALM), [None, None]);
                assert_eq!(shown(Outcome::Unwalkable, activity, REALM), [None, None]);
            }
        }
    }
}
