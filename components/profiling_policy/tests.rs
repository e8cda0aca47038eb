/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

use http::HeaderName;
use profiling_policy_traits::ProfilingMode;

use super::*;
use crate::allowlist::origin_of;

const OWN: &str = "https://example.com";
const OTHER: &str = "https://other.example";

/// Header lines, as names and values.
type Lines<'a> = &'a [(&'a str, &'a str)];

/// A document around another one: its origin, its header lines and the `allow` attribute of its element.
type Around<'a> = (&'a str, Lines<'a>, Option<&'a str>);

fn headers(lines: Lines) -> HeaderMap {
    lines
        .iter()
        .map(|(name, value)| {
            (
                name.parse::<HeaderName>().unwrap(),
                HeaderValue::from_bytes(value.as_bytes()).unwrap(),
            )
        })
        .collect()
}

/// A top-level document of `OWN`.
fn top_level(lines: Lines) -> ProfilingPolicy {
    document_in(&[], OWN, lines)
}

/// A document of `origin` in a frame. `around` are the documents around it, the outermost first.
fn document_in(around: &[Around], origin: &str, lines: Lines) -> ProfilingPolicy {
    let mut navigation = ProfilingPolicy::default();
    for (index, (parent_origin, parent_lines, allow)) in around.iter().enumerate() {
        let parent_origin = origin_of(parent_origin).unwrap();
        let parent = for_document(
            Some(&headers(parent_lines)),
            &parent_origin,
            &navigation,
            index == 0,
        );
        let inner_origin = around.get(index + 1).map_or(origin, |(origin, ..)| origin);
        let declared_origin = origin_of(inner_origin).unwrap();
        let allow = allow.map(|allow| (allow, &declared_origin));
        navigation = for_frame(&parent, &parent, &parent_origin, allow);
    }
    for_document(
        Some(&headers(lines)),
        &origin_of(origin).unwrap(),
        &navigation,
        around.is_empty(),
    )
}

/// Each header by itself, then every pair of two headers. A denial wins, and a malformed or silent header
/// counts as no header. What remains must have at least one grant.
#[test]
fn a_grant_is_needed_and_a_denial_wins() {
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Says {
        Grants(ProfilingMode),
        Denies,
        Nothing,
    }
    use ProfilingMode::*;
    use Says::*;
    let cases = [
        ("document-policy", "js-profiling", Grants(Eager)),
        ("document-policy", "js-profiling-mode=lazy", Grants(Lazy)),
        ("document-policy", "js-profiling=?0", Denies),
        ("document-policy", "js-profiling=(", Nothing),
        ("document-policy", "sync-xhr", Nothing),
        ("permissions-policy", "js-profiling=(self)", Grants(Lazy)),
        ("permissions-policy", "js-profiling=()", Denies),
        ("permissions-policy", "js-profiling=(", Nothing),
        ("permissions-policy", "camera=*", Nothing),
        ("feature-policy", "js-profiling 'self'", Grants(Lazy)),
        ("feature-policy", "js-profiling 'none'", Denies),
        ("feature-policy", "camera *", Nothing),
    ];
    for (name, value, says) in cases {
        let expected = match says {
            Grants(mode) => Some(mode),
            _ => None,
        };
        assert_eq!(
            top_level(&[(name, value)]).mode,
            expected,
            "{name}: {value}"
        );

        for (other_name, other_value, other) in cases {
            if name == other_name {
                continue;
            }
            let allowed = ![says, other].contains(&Denies)
                && [says, other].iter().any(|says| matches!(says, Grants(_)));
            assert_eq!(
                top_level(&[(name, value), (other_name, other_value)])
                    .mode
                    .is_some(),
                allowed,
                "{name}: {value}, {other_name}: {other_value}"
            );
        }
    }
}

#[test]
fn without_a_declaration_nobody_profiles() {
    assert_eq!(top_level(&[]), ProfilingPolicy::default());
}

#[test]
fn a_report_only_header_is_not_a_policy_header() {
    let lines = [("document-policy-report-only", "js-profiling")];
    assert_eq!(top_level(&lines), ProfilingPolicy::default());
}

#[test]
fn document_policy_determines_the_mode() {
    let lines = [
        ("feature-policy", "js-profiling *"),
        ("permissions-policy", "js-profiling=*"),
        ("document-policy", "js-profiling-mode=eager"),
    ];
    assert_eq!(top_level(&lines).mode, Some(ProfilingMode::Eager));
}

#[test]
fn repeated_headers_combine() {
    let cases: [(&str, &str, &str, bool); 8] = [
        ("document-policy", "sync-xhr=?0", "js-profiling", true),
        ("document-policy", "js-profiling", "js-profiling=(", false),
        // RFC 9651, 4.2.2: the last of two members with the same name counts.
        ("document-policy", "js-profiling", "js-profiling=?0", false),
        (
            "permissions-policy",
            "camera=*",
            "js-profiling=(self)",
            true,
        ),
        (
            "permissions-policy",
            "js-profiling=()",
            "js-profiling=(self)",
            true,
        ),
        (
            "permissions-policy",
            "js-profiling=(self)",
            "js-profiling=()",
            false,
        ),
        ("feature-policy", "camera *", "js-profiling 'self'", true),
        (
            "feature-policy",
            "js-profiling 'self'",
            "js-profiling 'none'",
            false,
        ),
    ];
    for (name, first, second, allowed) in cases {
        let policy = top_level(&[(name, first), (name, second)]);
        assert_eq!(policy.mode.is_some(), allowed, "{name}: {first}, {second}");
    }
}

#[test]
fn the_headers_are_kept_for_the_refusal() {
    let policy = top_level(&[
        ("feature-policy", "camera *"),
        ("feature-policy", "js-profiling 'none'"),
        ("document-policy", "js-profiling"),
        ("content-type", "text/html"),
    ]);
    let expected = [
        Declared {
            name: "Document-Policy".into(),
            value: "js-profiling".into(),
            declaration: Declaration::Enabled(ProfilingMode::Eager),
        },
        Declared {
            name: "Feature-Policy".into(),
            value: "camera *, js-profiling 'none'".into(),
            declaration: Declaration::Disabled,
        },
    ];
    assert_eq!(policy.headers, expected);
    assert_eq!(policy.mode, None);
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced() {
    for name in ["document-policy", "permissions-policy", "feature-policy"] {
        let mut headers = HeaderMap::new();
        let value = HeaderValue::from_bytes(b"js-profiling \xff\x80").unwrap();
        headers.insert(HeaderName::from_static(name), value);
        let policy = for_worker(&headers, &ImmutableOrigin::new_opaque());
        assert_eq!(policy.mode, None, "{name}");
        assert_eq!(policy.headers[0].value, "js-profiling \u{fffd}\u{fffd}");
    }
}

#[test]
fn a_frame_needs_every_document_around_it_and_its_own_header() {
    let all = ("permissions-policy", "js-profiling=*");
    let own = ("permissions-policy", "js-profiling=(self)");
    let only_other = (
        "permissions-policy",
        "js-profiling=(\"https://other.example\")",
    );
    let cases: [(&str, Around, &str, Lines, bool); 11] = [
        (
            "all agree",
            (OWN, &[all], Some("js-profiling")),
            OTHER,
            &[own],
            true,
        ),
        ("no attribute", (OWN, &[all], None), OTHER, &[own], false),
        (
            "another's attribute",
            (OWN, &[all], Some("camera")),
            OTHER,
            &[own],
            false,
        ),
        (
            "attribute of another origin",
            (OWN, &[all], Some("js-profiling 'self'")),
            OTHER,
            &[own],
            false,
        ),
        (
            "no header of its own",
            (OWN, &[all], Some("js-profiling")),
            OTHER,
            &[],
            false,
        ),
        (
            "no header outside",
            (OWN, &[], Some("js-profiling")),
            OTHER,
            &[own],
            false,
        ),
        (
            "not for the frame's origin",
            (OWN, &[own], Some("js-profiling")),
            OTHER,
            &[own],
            false,
        ),
        (
            "for the frame's origin alone",
            (OWN, &[only_other], Some("js-profiling")),
            OTHER,
            &[own],
            false,
        ),
        (
            "same origin",
            (OWN, &[own], Some("js-profiling")),
            OWN,
            &[own],
            true,
        ),
        (
            "same origin, no attribute",
            (OWN, &[own], None),
            OWN,
            &[own],
            false,
        ),
        (
            "same origin, 'none'",
            (OWN, &[own], Some("js-profiling 'none'")),
            OWN,
            &[own],
            false,
        ),
    ];
    for (what, around, origin, inner, allowed) in cases {
        let policy = document_in(&[around], origin, inner);
        assert_eq!(policy.mode.is_some(), allowed, "{what}");
    }
}

const DOCUMENT_POLICY: (&str, &str) = ("document-policy", "js-profiling-mode=lazy");

/// What documents around a frame may say without denying anything: nothing, nothing that can be read, or that
/// somebody else may profile.
const NO_DENIALS: [Lines; 14] = [
    &[],
    &[("document-policy", "js-profiling")],
    &[("document-policy", "js-profiling=(")],
    &[("permissions-policy", "js-profiling=(")],
    &[("permissions-policy", "js-profiling=?0")],
    &[("permissions-policy", "js-profiling=*")],
    &[("permissions-policy", "js-profiling=(self)")],
    &[(
        "permissions-policy",
        "js-profiling=(self \"https://a.example\")",
    )],
    &[(
        "permissions-policy",
        "js-profiling=(\"https://*.a.example\")",
    )],
    &[("feature-policy", "js-profiling *")],
    &[("feature-policy", "js-profiling 'self'")],
    &[("feature-policy", "js-profiling 'none' https://a.example")],
    // Together they allow nobody, but neither of them denies it.
    &[(
        "feature-policy",
        "js-profiling 'self'; js-profiling https://a.example",
    )],
    &[
        ("permissions-policy", "js-profiling=(self)"),
        ("feature-policy", "js-profiling https://a.example"),
    ],
];

/// What denies profiling to everybody.
const DENIALS: [Lines; 11] = [
    &[("document-policy", "js-profiling=?0")],
    &[("permissions-policy", "js-profiling=()")],
    // Elements that are not allowlist values are left out, and the list is then as empty as "()".
    &[("permissions-policy", "js-profiling=(none)")],
    &[("permissions-policy", "js-profiling=(self), js-profiling=()")],
    &[("feature-policy", "js-profiling 'none'")],
    &[("feature-policy", "js-profiling 'NONE'")],
    &[("feature-policy", "js-profiling none")],
    &[("feature-policy", "js-profiling *, js-profiling 'none'")],
    &[("feature-policy", "js-profiling 'none'; js-profiling *")],
    &[
        ("permissions-policy", "js-profiling=*"),
        ("feature-policy", "js-profiling 'none'"),
    ],
    &[
        ("document-policy", "js-profiling"),
        ("permissions-policy", "js-profiling=()"),
    ],
];

/// Attributes that are not denials.
const OTHER_ATTRIBUTES: [Option<&str>; 6] = [
    None,
    Some(""),
    Some("camera 'none'"),
    Some("js-profiling"),
    Some("js-profiling 'self' https://a.example"),
    Some("js-profiling none"),
];

const NONE_ATTRIBUTES: [&str; 2] = ["js-profiling 'none'", "js-profiling *; js-profiling 'NONE'"];

#[test]
fn a_frames_own_document_policy_is_enough_unless_somebody_says_no() {
    let mode = |lines, allow, origin| {
        let policy = document_in(&[(OWN, lines, allow)], origin, &[DOCUMENT_POLICY]);
        policy.mode
    };
    for origin in [OTHER, OWN] {
        for lines in NO_DENIALS {
            for allow in OTHER_ATTRIBUTES {
                assert_eq!(
                    mode(lines, allow, origin),
                    Some(ProfilingMode::Lazy),
                    "{origin} in {lines:?}, {allow:?}"
                );
            }
            for allow in NONE_ATTRIBUTES {
                assert_eq!(
                    mode(lines, Some(allow), origin),
                    None,
                    "{origin} in {lines:?}, {allow:?}"
                );
            }
        }
        for lines in DENIALS {
            for allow in OTHER_ATTRIBUTES {
                assert_eq!(
                    mode(lines, allow, origin),
                    None,
                    "{origin} in {lines:?}, {allow:?}"
                );
            }
        }
    }
}

/// Every document around a frame can deny it, however far out it is.
#[test]
fn a_denial_counts_at_any_depth_and_an_omission_at_none() {
    let silent: Around = (OTHER, &[], None);
    let mode = |place, around| {
        let mut all = [silent; 4];
        all[place] = around;
        document_in(&all, OWN, &[DOCUMENT_POLICY]).mode
    };
    for place in 0..4 {
        for lines in NO_DENIALS {
            let around = (OTHER, lines, None);
            assert_eq!(
                mode(place, around),
                Some(ProfilingMode::Lazy),
                "{place}: {lines:?}"
            );
        }
        for lines in DENIALS {
            let around = (OTHER, lines, Some("js-profiling *"));
            assert_eq!(mode(place, around), None, "{place}: {lines:?}");
        }
        for allow in NONE_ATTRIBUTES {
            let around = (OTHER, NO_DENIALS[0], Some(allow));
            assert_eq!(mode(place, around), None, "{place}: {allow:?}");
        }
    }
}

/// A list that leaves a frame out does not matter if the frame has a Document-Policy. It does if the frame
/// has another header, or none.
#[test]
fn a_list_that_leaves_a_frame_out_denies_it_without_a_document_policy() {
    let all = ("permissions-policy", "js-profiling=*");
    let own: [Lines; 5] = [
        &[],
        &[("document-policy", "sync-xhr")],
        &[("document-policy", "js-profiling=1")],
        &[all],
        &[("feature-policy", "js-profiling 'self'")],
    ];
    let outside: [Lines; 2] = [
        &[("permissions-policy", "js-profiling=(self)")],
        &[("feature-policy", "js-profiling https://a.example")],
    ];
    let allow = Some("js-profiling *");
    for own in own {
        for outside in outside {
            let parent = document_in(&[(OWN, outside, allow)], OTHER, own);
            assert_eq!(parent.mode, None, "{own:?} in {outside:?}");
            // The document between them is on every list.
            let around: [Around; 2] = [(OWN, outside, allow), (OWN, &[all], allow)];
            let grandparent = document_in(&around, OTHER, own);
            assert_eq!(grandparent.mode, None, "{own:?} in {outside:?}");
        }
    }
}

#[test]
fn a_document_is_denied_anywhere_by_its_own_list_without_it() {
    let own: [Lines; 2] = [
        &[
            DOCUMENT_POLICY,
            ("permissions-policy", "js-profiling=(\"https://a.example\")"),
        ],
        &[
            DOCUMENT_POLICY,
            ("feature-policy", "js-profiling https://a.example"),
        ],
    ];
    for own in own {
        assert_eq!(top_level(own).mode, None, "{own:?}");
        let framed = document_in(&[(OTHER, &[], None)], OWN, own);
        assert_eq!(framed.mode, None, "{own:?}");
    }
}

/// A document without headers of its own has the headers of its creator, in the same frame or in a frame
/// inside it.
#[test]
fn documents_made_by_a_widget_may_do_what_the_widget_may() {
    let own = origin_of(OWN).unwrap();
    let other = origin_of(OTHER).unwrap();
    let mode_inside = |lines: Lines, allow: Option<&str>, origin| {
        let outer = top_level(lines);
        let frame = for_frame(&outer, &outer, &own, None);
        let widget = for_document(Some(&headers(&[DOCUMENT_POLICY])), &other, &frame, false);
        let allow = allow.map(|allow| (allow, &other));
        let inner_frame = for_frame(&widget, &widget, &other, allow);
        for_document(None, origin, &inner_frame, false).mode
    };
    let list: Lines = &[("permissions-policy", "js-profiling=(self)")];
    let denial: Lines = &[("permissions-policy", "js-profiling=()")];
    for origin in [&other, &ImmutableOrigin::new_opaque()] {
        assert!(mode_inside(list, None, origin).is_some());
        assert!(mode_inside(list, Some("js-profiling 'none'"), origin).is_none());
        assert!(mode_inside(denial, None, origin).is_none());
    }

    // If an embedder fills a frame with its own text, the frame has the embedder's headers and not the
    // widget's.
    let outer = top_level(list);
    let frame = for_frame(&outer, &outer, &own, None);
    assert_eq!(for_document(None, &own, &frame, false).mode, None);
}

#[test]
fn a_grandparent_counts() {
    let all = ("permissions-policy", "js-profiling=*");
    let denied = ("permissions-policy", "js-profiling=()");
    let allow = Some("js-profiling");
    let nested = |outermost: (&'static str, &'static str), outer_allow| {
        let around: [Around; 2] = [(OWN, &[outermost], outer_allow), (OTHER, &[all], allow)];
        document_in(&around, OWN, &[all]).mode.is_some()
    };
    assert!(nested(all, allow));
    assert!(!nested(denied, allow));
    assert!(!nested(all, None));
    assert!(!nested(all, Some("js-profiling 'none'")));
}

#[test]
fn a_response_without_headers_has_its_creators() {
    let creator = top_level(&[("document-policy", "js-profiling-mode=lazy")]);
    let opaque = ImmutableOrigin::new_opaque();
    assert_eq!(for_document(None, &opaque, &creator, true), creator);

    // 'self' is the creator's origin. An opaque origin is a different one.
    let creator = top_level(&[("permissions-policy", "js-profiling=(self)")]);
    let own = origin_of(OWN).unwrap();
    assert!(for_document(None, &own, &creator, true).mode.is_some());
    assert!(for_document(None, &opaque, &creator, true).mode.is_none());
}

#[test]
fn a_top_level_document_is_in_no_frame() {
    // A document in a frame that is forbidden to profile navigates the top-level document.
    let own = origin_of(OWN).unwrap();
    let parent = top_level(&[("permissions-policy", "js-profiling=()")]);
    let framed = for_frame(&parent, &parent, &own, None);
    let lines = headers(&[("document-policy", "js-profiling")]);
    assert!(
        for_document(Some(&lines), &own, &framed, true)
            .mode
            .is_some()
    );
    assert!(
        for_document(Some(&lines), &own, &framed, false)
            .mode
            .is_none()
    );
}

#[test]
fn a_worker_needs_document_policy() {
    let cases: [(Lines, bool); 5] = [
        (&[("document-policy", "js-profiling")], true),
        (&[("permissions-policy", "js-profiling=*")], false),
        (&[("feature-policy", "js-profiling *")], false),
        (
            &[
                ("document-policy", "js-profiling"),
                ("permissions-policy", "js-profiling=()"),
            ],
            false,
        ),
        (&[], false),
    ];
    for (lines, allowed) in cases {
        let policy = for_worker(&headers(lines), &origin_of(OWN).unwrap());
        assert_eq!(policy.mode.is_some(), allowed, "{lines:?}");
    }
}

#[test]
fn a_refusal_says_what_was_seen_and_what_to_send() {
    let own = origin_of(OWN).unwrap();
    let told = |policy: &ProfilingPolicy, environment| {
        refusal(policy, &own, "https://example.com/page", environment)
    };
    let cases: [(ProfilingPolicy, Environment, &str); 12] = [
        (
            top_level(&[]),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: no policy header was seen. \
             To allow it, send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            top_level(&[
                ("document-policy", "sync-xhr=?0"),
                ("feature-policy", "camera *"),
            ]),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Document-Policy: sync-xhr=?0\" does not name js-profiling. \
             \"Feature-Policy: camera *\" does not name js-profiling. \
             To allow it, send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            top_level(&[("document-policy", "js-profiling=1")]),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Document-Policy: js-profiling=1\" is ignored: \
             js-profiling is not a boolean (?1 or ?0). \
             To allow it, send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            top_level(&[("permissions-policy", "js-profiling=()")]),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Permissions-Policy: js-profiling=()\" forbids it for https://example.com. \
             To allow it, remove what forbids it and send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            document_in(
                &[(
                    OTHER,
                    &[("document-policy", "js-profiling=?0")],
                    Some("js-profiling 'none'"),
                )],
                OWN,
                &[("feature-policy", "js-profiling *")],
            ),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Feature-Policy: js-profiling *\" allows it, but the document's frame does not. \
             \"Document-Policy: js-profiling=?0\" of the embedding document of \
             https://other.example forbids it. \
             \"allow: js-profiling 'none'\" of the embedding document of \
             https://other.example forbids it. \
             To allow it, remove what forbids it and send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            for_worker(&headers(&[("permissions-policy", "js-profiling=*")]), &own),
            Environment::Worker,
            "JS profiling is disabled for https://example.com/page: \
             \"Permissions-Policy: js-profiling=*\" is for documents, not for workers. \
             To allow it, send \"Document-Policy: js-profiling\" with it.",
        ),
        // Its Document-Policy overrules the list, but not the denial further out.
        (
            document_in(
                &[
                    (
                        "https://out.example",
                        &[("permissions-policy", "js-profiling=()")],
                        None,
                    ),
                    (
                        OTHER,
                        &[("permissions-policy", "js-profiling=(self)")],
                        None,
                    ),
                ],
                OWN,
                &[("document-policy", "js-profiling")],
            ),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Document-Policy: js-profiling\" allows it, but the document's frame does not. \
             \"Permissions-Policy: js-profiling=()\" of the embedding document of \
             https://out.example forbids it. \
             To allow it, remove what forbids it and send \"Document-Policy: js-profiling\" with it.",
        ),
        // An embedder's list is named as a cause if another header allows the document ...
        (
            document_in(
                &[(
                    OTHER,
                    &[("permissions-policy", "js-profiling=(self)")],
                    Some("js-profiling"),
                )],
                OWN,
                &[("feature-policy", "js-profiling 'self'")],
            ),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Feature-Policy: js-profiling 'self'\" allows it, but the document's frame does not. \
             \"Permissions-Policy: js-profiling=(self)\" of the embedding document of \
             https://other.example does not list the document's origin. \
             To allow it, send \"Document-Policy: js-profiling\" with it.",
        ),
        // ... and not named if no header does.
        (
            document_in(
                &[(
                    OTHER,
                    &[("permissions-policy", "js-profiling=(self)")],
                    None,
                )],
                OWN,
                &[],
            ),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: no policy header was seen. \
             To allow it, send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            document_in(
                &[(
                    OTHER,
                    &[("permissions-policy", "js-profiling=(self)")],
                    None,
                )],
                OWN,
                &[("feature-policy", "js-profiling 'none'")],
            ),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Feature-Policy: js-profiling 'none'\" forbids it for https://example.com. \
             To allow it, remove what forbids it and send \"Document-Policy: js-profiling\" with it.",
        ),
        // One of its own headers forbids it, so no frame is blamed.
        (
            top_level(&[
                ("document-policy", "js-profiling"),
                ("permissions-policy", "js-profiling=()"),
            ]),
            Environment::Document,
            "JS profiling is disabled for https://example.com/page: \
             \"Document-Policy: js-profiling\" allows it. \
             \"Permissions-Policy: js-profiling=()\" forbids it for https://example.com. \
             To allow it, remove what forbids it and send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            for_worker(
                &headers(&[
                    ("document-policy", "js-profiling"),
                    ("permissions-policy", "js-profiling=()"),
                ]),
                &own,
            ),
            Environment::Worker,
            "JS profiling is disabled for https://example.com/page: \
             \"Document-Policy: js-profiling\" allows it. \
             \"Permissions-Policy: js-profiling=()\" forbids it for https://example.com. \
             To allow it, remove what forbids it and send \"Document-Policy: js-profiling\" with it.",
        ),
    ];
    for (policy, environment, message) in cases {
        assert_eq!(policy.mode, None);
        assert_eq!(told(&policy, environment), message);
    }
}

/// The length of texts that are longer than any message. Miri is a thousand times slower.
const LONG: usize = if cfg!(miri) { 500 } else { 10_000 };

#[test]
fn a_long_header_is_cut_in_the_message() {
    let long = format!("camera=({}", "x".repeat(LONG));
    let policy = top_level(&[("permissions-policy", &long)]);
    let own = origin_of(OWN).unwrap();
    let message = refusal(
        &policy,
        &own,
        "https://example.com/page",
        Environment::Document,
    );
    assert!(message.contains("xxx…\""), "{message}");
    assert!(message.len() < 1_000, "{}", message.len());
}

#[test]
fn a_refusal_is_a_line_of_bounded_length() {
    let long = "x".repeat(LONG);
    // As long as possible in each place.
    let far = |number| format!("https://{number}.{long}.example");
    let denying = [
        format!("js-profiling=?0, {long}"),
        format!("js-profiling=(), {long}"),
        format!("js-profiling 'none', {long}"),
    ];
    let names = ["document-policy", "permissions-policy", "feature-policy"];
    let lines: Vec<_> = names
        .into_iter()
        .zip(denying.iter().map(String::as_str))
        .collect();
    let allow = format!("js-profiling 'none';\n\r\u{85}\u{2028}\u{2029}{long}");
    let origins: Vec<_> = (0..40).map(far).collect();
    let around: Vec<_> = origins
        .iter()
        .map(|origin| (origin.as_str(), lines.as_slice(), Some(allow.as_str())))
        .collect();
    let policy = document_in(&around, &far(40), &lines);
    let origin = origin_of(&far(40)).unwrap();
    let url = format!("https://example.com/\n\u{2028}{long}");
    let message = refusal(&policy, &origin, &url, Environment::Document);

    assert!(message.starts_with("JS profiling is disabled for https://example.com/  xxx"));
    assert!(
        message.contains("xxx…: \"Document-Policy: js-profiling=?0, xxx"),
        "{message}"
    );
    assert!(
        message.contains("So do 155 more of embedding documents. "),
        "{message}"
    );
    assert!(!message.contains(|c: char| c.is_control() || ('\u{2028}'..='\u{2029}').contains(&c)));
    let length = message.chars().count();
    assert!(length <= 4_100, "{length}");

    // Lists that leave it out, shown with as many headers of its own.
    let listing = [
        format!("js-profiling=(self), {long}"),
        format!("js-profiling 'self'; {long}"),
    ];
    let lines = |document_policy| {
        let values = [document_policy, &listing[0], &listing[1]];
        names
            .into_iter()
            .zip(values.map(String::as_str))
            .collect::<Vec<_>>()
    };
    let outside = lines(&long);
    let around: Vec<_> = origins
        .iter()
        .map(|origin| (origin.as_str(), outside.as_slice(), None))
        .collect();
    let policy = document_in(
        &around,
        &far(40),
        &lines(&format!("js-profiling=1, {long}")),
    );
    let message = refusal(&policy, &origin, &url, Environment::Document);
    assert!(
        message.contains("Nor do 75 more of embedding documents. "),
        "{message}"
    );
    let length = message.chars().count();
    assert!(length <= 4_100, "{length}");
}

#[test]
fn deep_frames_take_no_longer() {
    // Asking twice per document would take 2⁶⁴ steps.
    let all: Lines = &[("permissions-policy", "js-profiling=*")];
    let around = vec![(OWN, all, Some("js-profiling")); 64];
    let policy = document_in(&around, OWN, all);
    assert_eq!(policy.mode, Some(ProfilingMode::Lazy));
}

/// A generator of numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        // https://doi.org/10.18637/jss.v008.i14 (xorshift)
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A structured field that grants, with an error inserted. An error anywhere voids the whole dictionary.
fn malformed_dictionary(numbers: &mut Numbers, granting: &[&str]) -> String {
    let members = [
        "camera=*",
        "usb=(self \"https://a.example\")",
        "x;y=1",
        "sync-xhr=?0",
    ];
    // None of these is valid outside a string.
    let errors = ["{", "}", "[", "]", "\\", "\"", "((", ")", ",,", "=="];
    let mut list = vec![numbers.pick(granting)];
    for _ in 0..numbers.below(3) {
        list.insert(numbers.below(list.len() + 1), numbers.pick(&members));
    }
    let mut value = list.join(", ");
    // Never inside a string, where it might be text.
    let places: Vec<_> = (0..=value.len())
        .filter(|place| value[..*place].matches('"').count() % 2 == 0)
        .collect();
    value.insert_str(places[numbers.below(places.len())], numbers.pick(&errors));
    value
}

/// A Feature-Policy that grants, with the name of the feature misspelt.
fn misspelt_feature(numbers: &mut Numbers) -> String {
    let mut name = JS_PROFILING.to_owned();
    let errors = ["=", "-", "'", "\"", "(", "x", "X", "_", ":", "\u{e9}"];
    name.insert_str(numbers.below(name.len() + 1), numbers.pick(&errors));
    let targets = numbers.pick(&["", " *", " 'self'", " https://example.com"]);
    let around = numbers.pick(&["", "camera *; ", ",, ;", "usb, "]);
    format!("{around}{name}{targets}")
}

#[test]
fn a_thousand_malformed_values_are_refused() {
    let mut numbers = Numbers(0x5eed);
    for _ in 0..1_000 {
        let document =
            malformed_dictionary(&mut numbers, &["js-profiling", "js-profiling-mode=eager"]);
        let permissions = malformed_dictionary(
            &mut numbers,
            &[
                "js-profiling=*",
                "js-profiling=(self)",
                "js-profiling=(\"https://example.com\")",
            ],
        );
        let feature = misspelt_feature(&mut numbers);
        for (name, value) in [
            ("document-policy", &document),
            ("permissions-policy", &permissions),
            ("feature-policy", &feature),
        ] {
            let policy = top_level(&[(name, value)]);
            assert_eq!(policy.mode, None, "{name}: {value}");
            // It must not spoil anything else either.
            let other = match name {
                "document-policy" => ("permissions-policy", "js-profiling=*"),
                _ => ("document-policy", "js-profiling"),
            };
            assert!(
                top_level(&[(name, value), other]).mode.is_some(),
                "{name}: {value}"
            );
        }
    }
}
