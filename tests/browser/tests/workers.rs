/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Profilers in workers: each event loop has its own group.

use browser_tests::{Edges, Site, Trace};
use serde_json::Value;

/// The traces of a worker and its page, or how the worker was refused.
fn traces_with(site: &Site, kind: &str) -> Value {
    site.visit(&format!("/workers.html?kind={kind}"))
        .preference("dom_sharedworker_enabled=true")
        .preference("dom_serviceworker_enabled=true")
        // Without this, Servo cannot register service workers.
        .preference("dom_indexeddb_enabled=true")
        .run()
}

fn a_worker_sees_its_own_functions(kind: &str) {
    let site = Site::allowing().serve();
    let result = traces_with(&site, kind);

    let worker = Trace::read(&result["worker"]);
    Edges::parse(
        // A shared worker's handler calls the common handler.
        "(root) > (anonymous), profile, workerWork, onmessage
        onmessage > (anonymous)
        (anonymous) > (anonymous), profile
        profile > workerWork
        workerWork > spinInWorker",
    )
    .assert_hold(&worker);
    worker.assert_sampled(&["spinInWorker"]);
    let inside = site.url("/workers-inside.js");
    for resource in &worker.resources {
        assert!(resource.starts_with(&inside), "{resource}");
    }

    let page = Trace::read(&result["page"]);
    Edges::parse(
        "(root) > (anonymous), profileOf, event, task
        (anonymous) > pageWork, profileOf, task, event
        profileOf > failing, event
        event > (anonymous)
        task > (anonymous)
        pageWork > work",
    )
    .assert_hold(&page);
    page.assert_sampled(&["work"]);
    assert!(!result["page"].to_string().contains("InWorker"));
}

#[test]
fn a_dedicated_worker_sees_its_own_functions() {
    a_worker_sees_its_own_functions("dedicated");
}

#[test]
fn a_nested_worker_sees_its_own_functions() {
    a_worker_sees_its_own_functions("nested");
}

#[test]
fn a_shared_worker_sees_its_own_functions() {
    a_worker_sees_its_own_functions("shared");
}

#[test]
fn a_service_worker_sees_its_own_functions() {
    a_worker_sees_its_own_functions("service");
}

#[test]
fn a_worker_whose_response_has_no_header_may_not_profile() {
    // Its page may.
    let site = Site::plain()
        .header("/workers.html", "Document-Policy", "js-profiling")
        .header("/workers-inside.js", "Permissions-Policy", "js-profiling=*")
        .serve();
    for kind in ["dedicated", "nested", "shared", "service"] {
        let result = traces_with(&site, kind);
        assert_eq!(result["worker"], "NotAllowedError", "{kind}");
    }
}
