/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Which documents and workers may profile. The test combines every header of the page with every header
//! of a frame or worker in it, every kind of frame and worker, and every `allow` attribute. The rules
//! below give the expected outcomes.

use std::collections::BTreeMap;

use browser_tests::{Site, path_with_header, report};
use serde_json::{Value, json};

/// A response's policy header: its name and value, and what it says about js-profiling.
#[derive(Clone, Copy)]
struct Header {
    name: &'static str,
    value: &'static str,
    says: Says,
}

#[derive(Clone, Copy, PartialEq)]
enum Says {
    Nothing,
    /// By Document Policy, which is for the document alone.
    Grants,
    /// By one of the two headers with allowlists.
    GrantsTo(To),
    Denies,
}

#[derive(Clone, Copy, PartialEq)]
enum To {
    Everyone,
    ItsOrigin,
    /// Other origins than those of the page and its frames.
    Others,
}

impl To {
    /// Whether the page's list includes a document at this place.
    fn lists(self, place: Place) -> bool {
        match self {
            Self::Everyone => true,
            Self::ItsOrigin => place == Place::SameOrigin,
            Self::Others => false,
        }
    }
}

/// The origin of a document, as the page sees it.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    SameOrigin,
    OtherOrigin,
    Opaque,
}

const fn header(name: &'static str, value: &'static str, says: Says) -> Header {
    Header { name, value, says }
}

const NONE: Header = header("", "", Says::Nothing);

/// The headers of the page. A list for everyone lets the frames decide. The other lists exclude frames.
const OF_PAGE: [Header; 13] = [
    NONE,
    header("Document-Policy", "js-profiling", Says::Grants),
    header("Document-Policy", "js-profiling=?0", Says::Denies),
    header("Document-Policy", "js-profiling=(", Says::Nothing),
    header(
        "Permissions-Policy",
        "js-profiling=*",
        Says::GrantsTo(To::Everyone),
    ),
    header(
        "Permissions-Policy",
        "js-profiling=(self \"https://elsewhere.example\")",
        Says::GrantsTo(To::ItsOrigin),
    ),
    header(
        "Permissions-Policy",
        "js-profiling=(\"https://elsewhere.example\")",
        Says::GrantsTo(To::Others),
    ),
    header("Permissions-Policy", "js-profiling=()", Says::Denies),
    header("Permissions-Policy", "js-profiling=(", Says::Nothing),
    header(
        "Feature-Policy",
        "js-profiling *",
        Says::GrantsTo(To::Everyone),
    ),
    header(
        "Feature-Policy",
        "js-profiling 'self'",
        Says::GrantsTo(To::ItsOrigin),
    ),
    header("Feature-Policy", "js-profiling 'none'", Says::Denies),
    header("Feature-Policy", "js-profiling=*", Says::Nothing),
];

/// The headers of a frame or worker in the page.
const INSIDE: [Header; 10] = [
    NONE,
    header("Document-Policy", "js-profiling-mode=lazy", Says::Grants),
    header("Document-Policy", "js-profiling=?0", Says::Denies),
    header("Document-Policy", "js-profiling=1", Says::Nothing),
    header(
        "Permissions-Policy",
        "js-profiling=(self)",
        Says::GrantsTo(To::ItsOrigin),
    ),
    header("Permissions-Policy", "js-profiling=()", Says::Denies),
    header("Permissions-Policy", "js-profiling=(self),", Says::Nothing),
    header(
        "Feature-Policy",
        "js-profiling 'self'",
        Says::GrantsTo(To::ItsOrigin),
    ),
    header("Feature-Policy", "js-profiling 'none'", Says::Denies),
    header("Feature-Policy", "JS-profiling 'self'", Says::Nothing),
];

#[derive(Clone, Copy, PartialEq)]
enum Allow {
    Missing,
    Matching,
    /// For every origin, including opaque ones.
    Everyone,
    NotMatching,
    None,
}

impl Allow {
    fn value(self) -> Option<&'static str> {
        match self {
            Self::Missing => None,
            Self::Matching => Some("js-profiling"),
            Self::Everyone => Some("camera; js-profiling *"),
            Self::NotMatching => Some("js-profiling https://elsewhere.example"),
            Self::None => Some("js-profiling 'none'"),
        }
    }
}

const ALLOW: [Allow; 5] = [
    Allow::Missing,
    Allow::Matching,
    Allow::Everyone,
    Allow::NotMatching,
    Allow::None,
];

/// Whether a document in a frame may profile. `own` is what its own response says. For a document without one
/// it is what the page says.
fn frame_may(page: Says, own: Says, allow: Allow, place: Place) -> bool {
    // A denial always wins. So does a list in the document's own header that does not include the
    // document. 'self' in that list is the document's origin, unless the origin is opaque.
    let own_place = match place {
        Place::Opaque => Place::Opaque,
        _ => Place::SameOrigin,
    };
    let own_denies = match own {
        Says::Denies => true,
        Says::GrantsTo(to) => !to.lists(own_place),
        Says::Grants | Says::Nothing => false,
    };
    if page == Says::Denies || own_denies || allow == Allow::None {
        return false;
    }
    match own {
        // Its own Document Policy is enough. A list of the page that excludes it is not a denial.
        Says::Grants => true,
        // The headers and the attribute must all agree.
        Says::GrantsTo(_) => {
            let attribute = match allow {
                Allow::Matching => place != Place::Opaque,
                Allow::Everyone => true,
                _ => false,
            };
            attribute && matches!(page, Says::GrantsTo(to) if to.lists(place))
        },
        Says::Nothing | Says::Denies => false,
    }
}

fn page_may(page: Says) -> bool {
    match page {
        Says::Grants => true,
        Says::GrantsTo(to) => to.lists(Place::SameOrigin),
        Says::Nothing | Says::Denies => false,
    }
}

/// Whether a worker with its own response may profile. Permissions Policy does not apply to workers.
fn worker_may(own: Says) -> bool {
    own == Says::Grants
}

/// The cases of a page with their expected outcomes.
struct Cases {
    list: Vec<Value>,
    expected: BTreeMap<String, bool>,
}

impl Cases {
    fn add(&mut self, kind: &str, what: &str, url: &str, attributes: Value, may: bool) {
        let name = format!("{kind} {what}");
        self.list
            .push(json!({ "kind": kind, "name": name, "url": url, "attributes": attributes }));
        assert!(self.expected.insert(name, may).is_none(), "{kind} {what}");
    }
}

/// The path where a file is sent with the header.
fn path_with(path: &str, header: Header) -> String {
    match header.name {
        "" => path.to_owned(),
        name => path_with_header(path, name, header.value),
    }
}

fn cases(page: Says, other_site: &Site) -> Cases {
    let mut cases = Cases {
        list: Vec::new(),
        expected: BTreeMap::new(),
    };
    cases.add("top level", "", "", json!({}), page_may(page));
    for allow in ALLOW {
        let attributes = |more: Value| {
            let mut attributes = more;
            if let Some(value) = allow.value() {
                attributes["allow"] = value.into();
            }
            attributes
        };
        let allowed_by = format!("allow={:?}", allow.value());
        for header in INSIDE {
            let what = format!("{}: {}, {allowed_by}", header.name, header.value);
            let own = path_with("/policy-inside.html", header);
            let other = other_site.url(&own);
            cases.add(
                "frame",
                &format!("same origin, {what}"),
                &own,
                attributes(json!({})),
                frame_may(page, header.says, allow, Place::SameOrigin),
            );
            cases.add(
                "frame",
                &format!("other origin, {what}"),
                &other,
                attributes(json!({})),
                frame_may(page, header.says, allow, Place::OtherOrigin),
            );
            cases.add(
                "frame",
                &format!("sandboxed, {what}"),
                &own,
                attributes(json!({ "sandbox": "allow-scripts" })),
                frame_may(page, header.says, allow, Place::Opaque),
            );
        }
        // These have no response of their own, so the headers of the page apply.
        for kind in ["srcdoc frame", "blob frame", "blank frame"] {
            cases.add(
                kind,
                &allowed_by,
                "",
                attributes(json!({})),
                frame_may(page, page, allow, Place::SameOrigin),
            );
        }
        let sandboxed = attributes(json!({ "sandbox": "allow-scripts" }));
        let may = frame_may(page, page, allow, Place::Opaque);
        cases.add(
            "srcdoc frame",
            &format!("sandboxed, {allowed_by}"),
            "",
            sandboxed,
            may,
        );
        // The attribute's 'src' is the opaque origin of a data: URL.
        cases.add("data frame", &allowed_by, "", attributes(json!({})), may);
    }
    for header in INSIDE {
        let what = format!("{}: {}", header.name, header.value);
        let url = path_with("/policy-inside.js", header);
        let may = worker_may(header.says);
        cases.add("worker", &what, &url, json!({}), may);
        cases.add("worker in a blob worker", &what, &url, json!({}), may);
        cases.add("blob worker in a worker", &what, &url, json!({}), may);

        let url = path_with("/policy-inside.html", header);
        let may = frame_may(page, header.says, Allow::Everyone, Place::SameOrigin);
        let attributes = json!({ "allow": Allow::Everyone.value() });
        cases.add("frame navigated from inside", &what, &url, attributes, may);
    }
    for kind in ["blob worker", "data worker", "blob worker in a blob worker"] {
        cases.add(kind, "", "", json!({}), page_may(page));
    }
    cases
}

fn assert_outcomes(page: Header) {
    let other_site = Site::plain().headers_by_query().serve();
    let cases = cases(page.says, &other_site);
    let own_site = Site::plain()
        .headers_by_query()
        .generated("/cases.json", Value::from(cases.list).to_string())
        .serve();
    let result = own_site
        .visit(&path_with("/policy-matrix.html", page))
        .run();
    let wrong: Vec<_> = cases
        .expected
        .iter()
        .filter_map(|(name, may)| {
            let expected = match may {
                true => "allowed, allowed",
                false => "NotAllowedError, SecurityError",
            };
            let outcome = &result[name];
            (outcome != expected).then(|| format!("{name}: {outcome}, expected {expected}"))
        })
        .collect();
    let wrong_of = format!("{} of {}", wrong.len(), cases.expected.len());
    let page = format!("{}: {}", page.name, page.value);
    assert!(
        wrong.is_empty(),
        "page with {page}: {wrong_of} wrong\n{}",
        wrong.join("\n")
    );
    report(&format!(
        "page with {page}: {} environments",
        cases.expected.len()
    ));
}

#[test]
fn every_combination_is_decided_by_the_rules() {
    for page in OF_PAGE {
        assert_outcomes(page);
    }
}

#[test]
fn the_preference_allows_everyone() {
    let cases = [
        json!({ "kind": "top level", "name": "top level" }),
        json!({ "kind": "frame", "name": "frame", "url": "/policy-inside.html" }),
        json!({
            "kind": "srcdoc frame",
            "name": "denied",
            "attributes": { "sandbox": "allow-scripts", "allow": "js-profiling 'none'" },
        }),
        json!({ "kind": "worker", "name": "worker", "url": "/policy-inside.js" }),
        json!({ "kind": "data worker", "name": "data worker" }),
    ];
    let site = Site::plain()
        .generated("/cases.json", Value::from(cases.to_vec()).to_string())
        .serve();
    let outcomes = |preference| {
        let visit = site.visit("/policy-matrix.html").preference(preference);
        let outcomes = visit.run();
        cases
            .each_ref()
            .map(|case| outcomes[case["name"].as_str().unwrap()].clone())
    };
    assert_eq!(outcomes("js_profiling_allow=true"), ["allowed, allowed"; 5]);
    assert_eq!(
        outcomes("js_profiling_allow=false"),
        ["NotAllowedError, SecurityError"; 5]
    );
}
