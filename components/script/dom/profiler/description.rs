/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What recordings say about this thread's event loop: which documents or which worker it runs, and to which
//! of these its realms belong. People at the browser see it; pages never do.

use std::cell::RefCell;

use js::jsapi::GetObjectRealmOrNull;
use js_profiler_traits::RealmId;
use js_profiler_traits::recording::{Description, EventLoopKind, Realm};
use script_bindings::reflector::DomObject;
use servo_url::{MutableOrigin, ServoUrl};

use super::event_loop;
use crate::dom::bindings::inheritance::Castable;
use crate::dom::dedicatedworkerglobalscope::DedicatedWorkerGlobalScope;
use crate::dom::document::Document;
use crate::dom::globalscope::GlobalScope;
use crate::dom::node::NodeTraits;
use crate::dom::serviceworkerglobalscope::ServiceWorkerGlobalScope;
use crate::dom::sharedworkerglobalscope::SharedWorkerGlobalScope;
use crate::dom::workerglobalscope::WorkerGlobalScope;

thread_local!(static DOCUMENTS: RefCell<Vec<DescribedDocument>> = const { RefCell::new(Vec::new()) });

/// A document of this thread.
struct DescribedDocument {
    realm: RealmId,
    url: String,
    is_top_level: bool,
    /// Whether the document is fully active. A document that was navigated away from may come back.
    is_active: bool,
}

/// Notes that a document has been made in its window. Returns the window's realm.
pub(super) fn enter_document(document: &Document, is_top_level: bool) -> Option<RealmId> {
    let global = document.owner_global();
    event_loop::wake_by_messages_to(&global);
    let realm = realm_of(&global)?;
    describe_realm(realm, &document.url(), &document.origin());
    let described = DescribedDocument {
        realm,
        url: document.url().as_str().to_owned(),
        is_top_level,
        is_active: true,
    };
    DOCUMENTS.with_borrow_mut(|documents| {
        // The first document of a window may be replaced by a second one.
        documents.retain(|other| other.realm != realm);
        documents.push(described);
    });
    describe_documents();
    Some(realm)
}

/// Notes whether the document of a realm is fully active, which may have changed.
pub(super) fn set_active(realm: RealmId, is_active: bool) {
    let changed = DOCUMENTS.with_borrow_mut(|documents| {
        let is_changed = |document: &&mut DescribedDocument| {
            document.realm == realm && document.is_active != is_active
        };
        let document = documents.iter_mut().find(is_changed)?;
        document.is_active = is_active;
        Some(())
    });
    if changed.is_some() {
        describe_documents();
    }
}

/// Notes that the document of a realm goes away.
pub(super) fn leave_document(realm: RealmId) {
    DOCUMENTS.with_borrow_mut(|documents| documents.retain(|other| other.realm != realm));
    event_loop::with(|one| one.forget_realm(realm));
    describe_documents();
}

/// Notes that the response with a worker's script has arrived.
pub(super) fn enter_worker(global: &GlobalScope, url: &ServoUrl) {
    event_loop::wake_by_messages_to(global);
    if let Some(realm) = realm_of(global) {
        describe_realm(realm, url, &global.origin());
    }
    let kind = if global.is::<DedicatedWorkerGlobalScope>() {
        EventLoopKind::Worker
    } else if global.is::<SharedWorkerGlobalScope>() {
        EventLoopKind::SharedWorker
    } else if global.is::<ServiceWorkerGlobalScope>() {
        EventLoopKind::ServiceWorker
    } else {
        EventLoopKind::Unknown
    };
    let worker = global.downcast::<WorkerGlobalScope>();
    let description = Description {
        kind,
        name: worker.map_or_else(String::new, |worker| worker.worker_name().to_string()),
        urls: vec![url.as_str().to_owned()],
    };
    event_loop::with(|one| one.describe(description));
}

fn describe_documents() {
    let urls = DOCUMENTS.with_borrow(|documents| {
        let is_any_active = documents.iter().any(|document| document.is_active);
        let mut shown: Vec<_> = documents
            .iter()
            .filter(|document| document.is_active || !is_any_active)
            .collect();
        shown.sort_by_key(|document| !document.is_top_level);
        shown.iter().map(|document| document.url.clone()).collect()
    });
    let description = Description {
        kind: EventLoopKind::Page,
        name: String::new(),
        urls,
    };
    event_loop::with(|one| one.describe(description));
}

fn describe_realm(id: RealmId, url: &ServoUrl, origin: &MutableOrigin) {
    let origin = origin.immutable();
    let realm = Realm {
        url: url.as_str().to_owned(),
        origin: origin
            .is_tuple()
            .then(|| origin.ascii_serialization().into_owned()),
    };
    event_loop::with(|one| one.describe_realm(id, realm));
}

/// The realm of a global's object.
#[expect(unsafe_code)]
pub(super) fn realm_of(global: &GlobalScope) -> Option<RealmId> {
    // SAFETY: a global's object lives as long as the global, and is asked on its thread.
    let realm = unsafe { GetObjectRealmOrNull(global.reflector().get_jsobject().get()) };
    (!realm.is_null()).then_some(RealmId(realm as usize as u64))
}
