/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

use http::HeaderName;
use profiling_policy_traits::{Allowlist, ProfilingMode};

use super::*;
use crate::allowlist::origin_of;

const OWN: &str = "https://example.com";
const OTHER: &str = "https://other.example";

/// Header lines, names and values.
type Lines<'a> = &'a [(&'a str, &'a str)];

/// A document around another: its origin, its header lines and its element's `allow` attribute.
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

/// A document of `origin` in a frame of the documents `around` it, the outermost first.
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

/// Each header by itself, then every pair of two headers: a denial wins, a malformed or silent
/// header counts as no header, and what is left must hold at least one grant.
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
fn report_only_is_no_policy_header() {
    let lines = [("document-policy-report-only", "js-profiling")];
    assert_eq!(top_level(&lines), ProfilingPolicy::default());
}

#[test]
fn the_mode_is_document_policys() {
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
        // RFC 9651, 4.2.2: the last member of a name is the one that counts.
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
fn the_headers_are_told() {
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
            declaration: Declaration::For(Allowlist::Origins(vec![])),
        },
    ];
    assert_eq!(policy.headers, expected);
    assert_eq!(policy.mode, None);
}

#[test]
fn bytes_that_are_no_utf_8_are_survived() {
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

#[test]
fn a_frames_own_document_policy_is_enough_unless_forbidden() {
    let granting = ("document-policy", "js-profiling-mode=lazy");
    let cases: [(&str, Lines, Option<&str>, bool); 8] = [
        ("nothing outside", &[], None, true),
        (
            "attribute of another origin",
            &[],
            Some("js-profiling 'self'"),
            true,
        ),
        ("attribute 'none'", &[], Some("js-profiling 'none'"), false),
        (
            "malformed outside",
            &[("permissions-policy", "js-profiling=(")],
            None,
            true,
        ),
        (
            "denied outside",
            &[("permissions-policy", "js-profiling=()")],
            None,
            false,
        ),
        (
            "not on the list outside",
            &[("feature-policy", "js-profiling 'self'")],
            None,
            false,
        ),
        (
            "document policy denied outside",
            &[("document-policy", "js-profiling=?0")],
            None,
            false,
        ),
        (
            "on the list outside",
            &[("feature-policy", "js-profiling *")],
            None,
            true,
        ),
    ];
    for (what, outer, allow, allowed) in cases {
        let policy = document_in(&[(OWN, outer, allow)], OTHER, &[granting]);
        assert_eq!(
            policy.mode,
            allowed.then_some(ProfilingMode::Lazy),
            "{what}"
        );
    }
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

    // 'self' is the creator's origin, which an opaque one is not.
    let creator = top_level(&[("permissions-policy", "js-profiling=(self)")]);
    let own = origin_of(OWN).unwrap();
    assert!(for_document(None, &own, &creator, true).mode.is_some());
    assert!(for_document(None, &opaque, &creator, true).mode.is_none());
}

#[test]
fn a_top_level_document_is_in_no_frame() {
    // A document in a frame that was forbidden navigates the top-level one.
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
    let cases: [(ProfilingPolicy, Environment, &str); 6] = [
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
             \"Permissions-Policy: js-profiling=()\" forbids it to https://example.com. \
             To allow it, take away what forbids it and send \"Document-Policy: js-profiling\" with it.",
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
             To allow it, take away what forbids it and send \"Document-Policy: js-profiling\" with it.",
        ),
        (
            for_worker(&headers(&[("permissions-policy", "js-profiling=*")]), &own),
            Environment::Worker,
            "JS profiling is disabled for https://example.com/page: \
             \"Permissions-Policy: js-profiling=*\" is for documents, not for workers. \
             To allow it, send \"Document-Policy: js-profiling\" with it.",
        ),
    ];
    for (policy, environment, message) in cases {
        assert_eq!(policy.mode, None);
        assert_eq!(told(&policy, environment), message);
    }
}

/// Of what is longer than any message. Miri reads a thousand times slower.
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
    // As long as what can stand in each place.
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
}

#[test]
fn deep_frames_take_no_longer() {
    // With two questions per document they would take 2⁶⁴ steps.
    let all: Lines = &[("permissions-policy", "js-profiling=*")];
    let around = vec![(OWN, all, Some("js-profiling")); 64];
    let policy = document_in(&around, OWN, all);
    assert_eq!(policy.mode, Some(ProfilingMode::Lazy));
}

/// A generator whose numbers are the same in every run.
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

/// A structured field that grants, spoiled: a dictionary with an error in any place is none.
fn malformed_dictionary(numbers: &mut Numbers, granting: &[&str]) -> String {
    let members = [
        "camera=*",
        "usb=(self \"https://a.example\")",
        "x;y=1",
        "sync-xhr=?0",
    ];
    // None of these stands for itself outside a string.
    let errors = ["{", "}", "[", "]", "\\", "\"", "((", ")", ",,", "=="];
    let mut list = vec![numbers.pick(granting)];
    for _ in 0..numbers.below(3) {
        list.insert(numbers.below(list.len() + 1), numbers.pick(&members));
    }
    let mut value = list.join(", ");
    // Behind a space or at the end: never inside a string, where it might be text.
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
            // And it spoils nothing else.
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
