/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a global knows of profiling: whether it may profile, and its running profilers.

use std::cell::Cell;

use bitflags::bitflags;
use js::context::JSContext;
use js_profiler_traits::{RealmId, preferences};
use net_traits::policy_container::PolicyContainer;
use profiling_policy::{Environment, refusal};
use profiling_policy_traits::ProfilingPolicy;
use script_bindings::cell::DomRefCell;

use super::description;
use crate::dom::bindings::inheritance::Castable;
use crate::dom::bindings::root::{Dom, DomRoot};
use crate::dom::console::Console;
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
    #[no_trace]
    policy: DomRefCell<ProfilingPolicy>,
    /// Why sessions are paused, if they are.
    #[no_trace]
    #[ignore_malloc_size_of = "Holds nothing"]
    paused: Cell<PausedBy>,
    /// The global's, if it is a window that has had a document.
    #[no_trace]
    realm: Cell<Option<RealmId>>,
    /// Those whose session runs, or whose trace is on the way. A profiler that the page has lost its last reference
    /// to goes on until its buffer is full, since the event may have a listener.
    profilers: DomRefCell<Vec<Dom<Profiler>>>,
}

impl ProfilingState {
    pub(super) fn policy(&self) -> ProfilingPolicy {
        self.policy.borrow().clone()
    }

    pub(super) fn set_realm(&self, realm: Option<RealmId>) {
        self.realm.set(realm);
    }

    pub(super) fn set_policy(&self, policy: ProfilingPolicy) {
        *self.policy.borrow_mut() = policy;
    }

    /// The policy container with this global's profiling policy in it.
    pub(crate) fn complete(&self, policy_container: PolicyContainer) -> PolicyContainer {
        PolicyContainer {
            profiling_policy: self.policy(),
            ..policy_container
        }
    }

    /// Whether `global`, whose state this is, may profile. A refusal is explained on the console.
    pub(super) fn may_profile(&self, cx: &mut JSContext, global: &GlobalScope) -> bool {
        if self.policy.borrow().mode.is_some() || preferences::js_profiling_allow() {
            return true;
        }
        let environment = match global.is::<WorkerGlobalScope>() {
            true => Environment::Worker,
            false => Environment::Document,
        };
        let message = refusal(
            &self.policy.borrow(),
            global.origin().immutable(),
            global.get_url().as_str(),
            environment,
        );
        Console::internal_warn(cx, global, message);
        false
    }

    /// Pauses the sessions of the global for a reason, or takes that reason away.
    pub(crate) fn set_paused(&self, reason: PausedBy, paused: bool) {
        let mut reasons = self.paused.get();
        reasons.set(reason, paused);
        self.paused.set(reasons);
        for profiler in self.profilers.borrow().iter() {
            profiler.set_paused(!reasons.is_empty());
        }
        if let Some(realm) = self.realm.get() {
            description::set_active(realm, !reasons.contains(PausedBy::INACTIVE));
        }
    }

    pub(super) fn add(&self, profiler: &Profiler) {
        profiler.set_paused(!self.paused.get().is_empty());
        self.profilers.borrow_mut().push(Dom::from_ref(profiler));
    }

    pub(super) fn remove(&self, profiler: &Profiler) {
        self.profilers
            .borrow_mut()
            .retain(|known| &**known != profiler);
    }

    /// Ends all sessions, because the global goes away. No task brings a trace from now on, so whoever waits for one
    /// is told.
    pub(crate) fn end_sessions(&self, cx: &mut JSContext) {
        let profilers: Vec<DomRoot<Profiler>> = self
            .profilers
            .borrow_mut()
            .drain(..)
            .map(|profiler| profiler.as_rooted())
            .collect();
        for profiler in profilers {
            profiler.abandon(cx);
        }
        if let Some(realm) = self.realm.take() {
            description::leave_document(realm);
        }
    }
}
