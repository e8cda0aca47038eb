/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Functions that a page may not see: of scripts of other origins, and of other realms.

use browser_tests::{Edges, Site, Source, Trace, visit_allowed};

const SCRIPT: &str = "/other-origin-script.js";

#[test]
fn a_script_of_another_origin_leaves_no_trace_but_its_callers_and_callees() {
    let other = Site::plain().serve();
    let site = Site::allowing().serve();
    let page = format!("/other-origin.html?script={}", other.url(SCRIPT));
    let result = site.visit(&page).run();
    let text = result.to_string();
    assert!(!text.contains("otherOrigin"), "{text}");
    assert!(!text.contains(other.origin()), "{text}");
    let trace = Trace::read(&result);
    // There are no nameless frames either. The other script calls work() and callback().
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > caller
        caller > callback, work
        callback > work",
    )
    .assert_hold(&trace);
    // These were sampled while the other script worked.
    trace.assert_sampled(&["caller", "work"]);
    assert!(trace.has_frame("callback"));
}

#[test]
fn a_script_of_another_origin_that_allows_it_is_seen() {
    let other = Site::plain()
        .header(SCRIPT, "Access-Control-Allow-Origin", "*")
        .serve();
    let site = Site::allowing().serve();
    let url = other.url(SCRIPT);
    let page = format!("/other-origin.html?crossorigin&script={url}");
    let trace = Trace::read(&site.visit(&page).run());
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > caller
        caller > otherOriginCall, otherOriginEval, otherOriginMethod, otherOriginGenerator
        otherOriginCall > otherOriginWork, otherOriginSpin, callback
        otherOriginWork > work
        otherOriginEval > (eval)
        (eval) > otherOriginEvaluated
        otherOriginEvaluated > callback, anonymous
        anonymous > otherOriginSpin
        otherOriginMethod > callback
        otherOriginGenerator > callback
        callback > work",
    )
    .assert_hold(&trace);
    trace.assert_sampled(&["otherOriginSpin", "work"]);
    let source = Source::of_page("other-origin-script.js");
    for name in ["otherOriginCall", "otherOriginSpin", "otherOriginWork"] {
        let position = source.parameters_of(&format!("function {name}("));
        trace.assert_at(name, &url, position);
    }
}

#[test]
fn functions_of_another_realm_leave_no_trace_but_their_callers_and_callees() {
    let result = visit_allowed("/other-realm.html");
    let text = result.to_string();
    for hidden in ["callFromFrame", "spinInFrame", "other-realm-script.js"] {
        assert!(!text.contains(hidden), "{hidden} is in {text}");
    }
    let trace = Trace::read(&result);
    Edges::parse(
        "(root) > (anonymous)
        (anonymous) > caller
        caller > callback
        callback > work",
    )
    .assert_hold(&trace);
    // These were sampled while the frame's functions worked for them.
    trace.assert_sampled(&["(anonymous)", "caller", "work"]);
}
