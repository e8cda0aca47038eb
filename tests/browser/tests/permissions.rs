/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Which documents may profile.

use browser_tests::{Site, Visit, pages};
use serde_json::{Value, json};

fn allowed() -> Value {
    json!({ "constructor": "allowed", "profile": "allowed" })
}

fn refused() -> Value {
    json!({ "constructor": "NotAllowedError", "profile": "SecurityError" })
}

fn site_with(headers: &[(&str, &str)]) -> Site {
    let mut content = Site::plain();
    for (name, value) in headers {
        content = content.header("/permission.html", name, value);
    }
    content.serve()
}

fn permission_with(headers: &[(&str, &str)]) -> Value {
    site_with(headers).visit("/permission.html").run()
}

#[test]
fn each_of_the_headers_allows() {
    for (name, value) in [
        ("Document-Policy", "js-profiling"),
        ("Document-Policy", "js-profiling-mode=eager"),
        ("Document-Policy", "js-profiling-mode=lazy"),
        ("Feature-Policy", "js-profiling 'self'"),
        ("Permissions-Policy", "js-profiling=(self)"),
    ] {
        assert_eq!(
            permission_with(&[(name, value)]),
            allowed(),
            "{name}: {value}"
        );
    }
}

#[test]
fn only_an_eager_page_makes_the_browser_ready_before_its_first_profiler() {
    for (headers, expected) in [
        (&[("Document-Policy", "js-profiling")][..], true),
        (&[("Document-Policy", "js-profiling-mode=eager")], true),
        (&[("Document-Policy", "js-profiling-mode=lazy")], false),
        (&[], false),
    ] {
        let site = site_with(headers);
        let visit = site.visit("/permission.html").log("js_profiler=debug");
        let (_, console) = visit.run_and_listen();
        let is_ready = console.contains("the tables of native code were read ahead");
        assert_eq!(is_ready, expected, "{headers:?}\n{console}");
    }
}

#[test]
fn without_a_header_that_allows_a_page_may_not_profile() {
    assert_eq!(permission_with(&[]), refused());
    for (name, value) in [
        ("Document-Policy", "js-profiling=?0"),
        ("Document-Policy", "js-profiling;"),
        ("Document-Policy", "js-profiling=true"),
        ("Document-Policy", "sync-xhr=?0"),
        ("Document-Policy-Report-Only", "js-profiling"),
        ("Feature-Policy", "js-profiling 'none'"),
        ("Feature-Policy", "camera 'self'"),
        ("Permissions-Policy", "js-profiling=()"),
        ("Permissions-Policy", "js-profiling=(self"),
        ("Permissions-Policy", "camera=(self)"),
    ] {
        assert_eq!(
            permission_with(&[(name, value)]),
            refused(),
            "{name}: {value}"
        );
    }
}

#[test]
fn a_header_that_refuses_outweighs_one_that_allows() {
    assert_eq!(
        permission_with(&[
            ("Permissions-Policy", "js-profiling=()"),
            ("Document-Policy", "js-profiling"),
        ]),
        refused()
    );
    assert_eq!(
        permission_with(&[
            ("Document-Policy", "sync-xhr=?0"),
            ("Document-Policy", "js-profiling"),
        ]),
        allowed()
    );
}

#[test]
fn a_refusal_is_explained_on_the_console() {
    let site = Site::plain()
        .header("/permission.html", "Document-Policy", "js-profiling=1")
        .serve();
    let (result, console) = site.visit("/permission.html").run_and_listen();
    assert_eq!(result, refused());
    let message = format!(
        "JS profiling is disabled for {}: \"Document-Policy: js-profiling=1\" is ignored: \
         js-profiling is not a boolean (?1 or ?0). \
         To allow it, send \"Document-Policy: js-profiling\" with it.",
        site.url("/permission.html")
    );
    // One for the constructor and one for profile().
    assert_eq!(console.matches(&message).count(), 2, "{console}");
}

#[test]
fn nothing_is_printed_on_the_console_for_an_allowed_page() {
    let site = Site::allowing().serve();
    let (result, console) = site.visit("/permission.html").run_and_listen();
    assert_eq!(result, allowed());
    assert!(!console.contains("JS profiling"), "{console}");
}

/// Checks that a page without a header may profile with the preference and not without it.
fn assert_depends_on_preference<'a>(visit: impl Fn() -> Visit<'a>) {
    assert_eq!(visit().run(), refused());
    assert_eq!(
        visit().preference("js_profiling_allow=true").run(),
        allowed()
    );
    assert_eq!(
        visit().preference("js_profiling_allow=false").run(),
        refused()
    );
}

#[test]
fn a_page_from_a_file_may_profile_only_by_the_preference() {
    let site = Site::plain().serve();
    let page = pages().join("permission.html");
    let url = format!("file://{}?server={}", page.display(), site.origin());
    assert_depends_on_preference(|| site.visit_url(url.clone()));
}

#[test]
fn a_page_from_a_data_url_may_profile_only_by_the_preference() {
    let site = Site::plain().serve();
    let scripts: String = ["/harness.js", "/permission.js"]
        .map(|script| format!("<script src=\"{}\"></script>", site.url(script)))
        .concat();
    assert_depends_on_preference(|| site.visit_url(format!("data:text/html,{scripts}")));
}

#[test]
fn a_page_without_a_header_may_profile_by_the_preference() {
    let site = Site::plain().serve();
    assert_depends_on_preference(|| site.visit("/permission.html"));
}
