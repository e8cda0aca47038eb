/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a global knows of profiling: whether it may profile, and its running profilers.

use std::cell::Cell;

use bitflags::bitflags;
use http::HeaderMap;
use js_profiler_traits::preferences;
use profiling_policy::ProfilingPermission;
use script_bindings::cell::DomRefCell;
use servo_url::ImmutableOrigin;

use crate::dom::bindings::inheritance::Castable;
use crate::dom::bindings::root::{Dom, DomRoot};
use crate::dom::globalscope::GlobalScope;
use crate::dom::profiler::Profiler;
use crate::dom::workerglobalscope::WorkerGlobalScope;

bitflags! {
    /// What keeps a global's sessions from taking samples. While nothing does, they run.
    #[derive(Clone, Copy, Default)]
    pub(crate) struct PausedBy: u8 {
        /// The document is not fully active: it was navigated away from, and may come back.
        const INACTIVE = 1;
        /// The document's visibility state is "hidden".
        const HIDDEN = 1 << 1;
        /// The document's page is not shown by the browser.
        const THROTTLED = 1 << 2;
    }
}

/// A global may not profile until a response with the right headers made it so.
#[derive(Default, JSTraceable, MallocSizeOf)]
#[cfg_attr(crown, crown::unrooted_must_root_lint::must_root)]
pub(crate) struct ProfilingState {
    may_profile: Cell<bool>,
    /// Why sessions are paused, if they are.
    #[no_trace]
    #[ignore_malloc_size_of = "Holds nothing"]
    paused: Cell<PausedBy>,
    /// Those with a session. A profiler that the page has lost its last reference to goes on until
    /// its buffer is full, since the event may have a listener.
    running: DomRefCell<Vec<Dom<Profiler>>>,
}

impl ProfilingState {
    /// Takes the permission of a document from its response. Only top-level documents have one.
    pub(crate) fn set_permission_from_response(
        &self,
        headers: Option<&HeaderMap>,
        origin: &ImmutableOrigin,
        is_top_level: bool,
    ) {
        let declared = || {
            headers.is_some_and(|headers| {
                let origin = origin.clone().into_url_origin();
                ProfilingPermission::from_headers(headers, &origin).is_allowed()
            })
        };
        self.may_profile
            .set(is_top_level && (preferences::js_profiling_allow() || declared()));
    }

    /// Whether `global`, whose state this is, may profile. A worker may by preference only.
    pub(super) fn may_profile(&self, global: &GlobalScope) -> bool {
        self.may_profile.get()
            || (preferences::js_profiling_allow() && global.is::<WorkerGlobalScope>())
    }

    /// Pauses the sessions of the global for a reason, or takes that reason away.
    pub(crate) fn set_paused(&self, reason: PausedBy, paused: bool) {
        let mut reasons = self.paused.get();
        reasons.set(reason, paused);
        self.paused.set(reasons);
        for profiler in self.running.borrow().iter() {
            profiler.set_paused(!reasons.is_empty());
        }
    }

    pub(super) fn add_running(&self, profiler: &Profiler) {
        profiler.set_paused(!self.paused.get().is_empty());
        self.running.borrow_mut().push(Dom::from_ref(profiler));
    }

    pub(super) fn remove_running(&self, profiler: &Profiler) {
        self.running
            .borrow_mut()
            .retain(|running| &**running != profiler);
    }

    /// Ends all sessions, because the global goes away: there is nobody to give a trace to.
    pub(crate) fn end_sessions(&self) {
        let running: Vec<DomRoot<Profiler>> = self
            .running
            .borrow_mut()
            .drain(..)
            .map(|profiler| profiler.as_rooted())
            .collect();
        for profiler in running {
            profiler.end_session();
        }
    }
}
