/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Markers of samples: which of them a page may see, and how it sees them.
//! <https://github.com/WICG/js-self-profiling/blob/main/markers.md>

use js_profiler::MarkerFilter;
use js_profiler_traits::{DocumentId, preferences};

use crate::dom::globalscope::GlobalScope;

/// What the sessions of `global` may know about the work of their event loop.
pub(super) fn marker_filter(global: &GlobalScope) -> MarkerFilter {
    MarkerFilter {
        document: DocumentId::of_pipeline(global.pipeline_id()),
        isolated: has_cross_origin_isolated_capability(global) || preferences::all_markers(),
    }
}

/// <https://html.spec.whatwg.org/multipage/#concept-settings-object-cross-origin-isolated-capability>
///
/// This requires a browsing context group whose cross-origin isolation mode is "concrete". Servo has no such
/// mode: it does not read `Cross-Origin-Opener-Policy`, takes no embedder policy from a response, and runs
/// documents of different origins in one process. So nothing is isolated. Pages are not told otherwise
/// either, since there is no `crossOriginIsolated`.
fn has_cross_origin_isolated_capability(_global: &GlobalScope) -> bool {
    false
}
