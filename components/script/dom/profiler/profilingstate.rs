/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a global knows about profiling: whether it may profile, and its running profilers.

use std::cell::Cell;
use std::time::{Duration, Instant};

use bitflags::bitflags;
use js::context::JSContext;
use js::jsapi::JSTracer;
use js_profiler_traits::{RealmId, preferences};
use net_traits::policy_container::PolicyContainer;
use profiling_policy::{Environment, refusal};
use profiling_policy_traits::{ProfilingMode, ProfilingPolicy};
use script_bindings::cell::DomRefCell;
use script_bindings::weakref::WeakRef;

use super::description;
use super::profiler::ProfilerId;
use crate::dom::bindings::inheritance::Castable;
use crate::dom::bindings::root::{Dom, DomRoot};
use crate::dom::bindings::trace::JSTraceable;
use crate::dom::console::Console;
use crate::dom::globalscope::GlobalScope;
use crate::dom::profiler::Profiler;
use crate::dom::workerglobalscope::WorkerGlobalScope;
use crate::realms::enter_auto_realm;
use crate::runtime::job_queue::job_queue_microtask_checkpoint;

/// How long an ending page or worker waits for the traces that it has asked for, in total. A trace takes some
/// milliseconds, and a page that was left should not delay the next one.
const LONGEST_WAIT: Duration = Duration::from_millis(500);

bitflags! {
    /// The reasons why a global's sessions take no samples. While there are none, they run.
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

/// The profilers whose session is running, or whose trace has not arrived. A profiler that nobody refers to
/// is kept alive as long as somebody could notice that it is gone, and collected then.
#[derive(Default, MallocSizeOf)]
#[cfg_attr(crown, crown::unrooted_must_root_lint::must_root)]
struct Profilers(
    #[ignore_malloc_size_of = "Weak references"] DomRefCell<Vec<(ProfilerId, WeakRef<Profiler>)>>,
);

// SAFETY: profilers that are not traced here are known only by a weak reference.
#[expect(unsafe_code)]
unsafe impl JSTraceable for Profilers {
    unsafe fn trace(&self, tracer: *mut JSTracer) {
        // Nothing that changes the list collects garbage.
        let Ok(profilers) = self.0.try_borrow() else {
            return;
        };
        for (_, profiler) in profilers.iter() {
            if let Some(profiler) = profiler.root()
                && profiler.is_observable()
            {
                // SAFETY: the engine calls this with its own tracer.
                unsafe { Dom::from_ref(&*profiler).trace(tracer) };
            }
        }
    }
}

impl Profilers {
    fn all(&self) -> Vec<DomRoot<Profiler>> {
        let profilers = self.0.borrow();
        profilers
            .iter()
            .filter_map(|(_, profiler)| profiler.root())
            .collect()
    }
}

/// What a global knows about profiling. It may not profile until a response with the right headers has
/// allowed it.
#[derive(Default, JSTraceable, MallocSizeOf)]
#[cfg_attr(crown, crown::unrooted_must_root_lint::must_root)]
pub(crate) struct ProfilingState {
    #[no_trace]
    policy: DomRefCell<ProfilingPolicy>,
    /// The reasons why sessions are paused, if they are.
    #[no_trace]
    #[ignore_malloc_size_of = "Holds nothing"]
    paused: Cell<PausedBy>,
    /// The realm of the global, if that is a window which has had a document.
    #[no_trace]
    realm: Cell<Option<RealmId>>,
    profilers: Profilers,
    next_id: Cell<u64>,
    /// Whether the script of this worker has called `close()`.
    has_closed_itself: Cell<bool>,
}

impl ProfilingState {
    pub(super) fn policy(&self) -> ProfilingPolicy {
        self.policy.borrow().clone()
    }

    pub(super) fn set_realm(&self, realm: Option<RealmId>) {
        self.realm.set(realm);
    }

    pub(super) fn set_policy(&self, policy: ProfilingPolicy) {
        // <https://wicg.github.io/js-self-profiling/#js-profiling-mode>
        if policy.mode == Some(ProfilingMode::Eager) {
            js_profiler::prepare();
        }
        *self.policy.borrow_mut() = policy;
    }

    /// The policy container, with this global's profiling policy in it.
    pub(crate) fn complete(&self, policy_container: PolicyContainer) -> PolicyContainer {
        PolicyContainer {
            profiling_policy: self.policy(),
            ..policy_container
        }
    }

    /// Whether `global`, whose state this is, may profile. Explains a refusal on the console.
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

    /// Adds or removes a reason to pause the sessions of the global.
    pub(crate) fn set_paused(&self, reason: PausedBy, paused: bool) {
        let mut reasons = self.paused.get();
        reasons.set(reason, paused);
        self.paused.set(reasons);
        for profiler in self.profilers.all() {
            profiler.set_paused(!reasons.is_empty());
        }
        if let Some(realm) = self.realm.get() {
            description::set_active(realm, !reasons.contains(PausedBy::INACTIVE));
        }
    }

    /// Whether a session that starts now is paused.
    pub(super) fn is_paused(&self) -> bool {
        !self.paused.get().is_empty()
    }

    /// Adds a profiler whose session has just started.
    pub(super) fn add(&self, profiler: &Profiler) {
        let mut profilers = self.profilers.0.borrow_mut();
        profilers.retain(|(_, known)| known.is_alive());
        profilers.push((profiler.id(), WeakRef::new(profiler)));
    }

    pub(super) fn next_id(&self) -> ProfilerId {
        let id = self.next_id.get() + 1;
        self.next_id.set(id);
        ProfilerId(id)
    }

    /// The profiler with this id, if its session or trace has not ended.
    pub(super) fn find(&self, id: ProfilerId) -> Option<DomRoot<Profiler>> {
        let profilers = self.profilers.0.borrow();
        let (_, profiler) = profilers.iter().find(|(known, _)| *known == id)?;
        profiler.root()
    }

    pub(super) fn remove(&self, profiler: &Profiler) {
        self.profilers
            .0
            .borrow_mut()
            .retain(|(known, _)| *known != profiler.id());
    }

    /// Notes that the script of this worker has called `close()`.
    pub(crate) fn note_own_close(&self) {
        self.has_closed_itself.set(true);
    }

    /// Called when a task of a worker is done. After `close()` there is no further task, so what the worker
    /// waits for is delivered now. The script of a worker that was terminated from outside is not called
    /// again.
    pub(crate) fn close_worker(&self, cx: &mut JSContext, worker: &WorkerGlobalScope) {
        if !self.has_closed_itself.take() {
            return;
        }
        let global = worker.upcast::<GlobalScope>();
        let mut realm = enter_auto_realm(cx, global);
        // Servo's own checkpoint does nothing in a worker that is closing.
        self.deliver_traces(&mut realm, |cx| {
            job_queue_microtask_checkpoint(cx, vec![DomRoot::from_ref(global)]);
        });
    }

    /// Waits for the traces that the page or worker waits for, because it will run no further task, and lets
    /// it react to them. The promises of traces that do not arrive in time are rejected.
    pub(crate) fn deliver_traces(
        &self,
        cx: &mut JSContext,
        mut perform_a_microtask_checkpoint: impl FnMut(&mut JSContext),
    ) {
        let deadline = Instant::now() + LONGEST_WAIT;
        loop {
            let mut waited_for = self.profilers.all();
            waited_for.retain(|profiler| profiler.is_waited_for());
            if waited_for.is_empty() {
                return;
            }
            // Traces that the reactions ask for are waited for as well, while there is time.
            let is_last = Instant::now() >= deadline;
            for profiler in waited_for {
                profiler.wait_for_trace(cx, deadline);
            }
            perform_a_microtask_checkpoint(cx);
            if is_last {
                return;
            }
        }
    }

    /// Ends all sessions, because the global goes away. No task can deliver a trace from now on, so the
    /// promises of `stop()` are rejected.
    pub(crate) fn end_sessions(&self, cx: &mut JSContext) {
        let profilers = self.profilers.all();
        self.profilers.0.borrow_mut().clear();
        for profiler in profilers {
            profiler.abandon(cx);
        }
        if let Some(realm) = self.realm.take() {
            description::leave_document(realm);
        }
    }
}
