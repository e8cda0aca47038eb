/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

use profiling_policy_traits::{Allowlist, Declaration};
use servo_url::{ImmutableOrigin, ServoUrl};

/// Whether an allowlist matches an origin: <https://w3c.github.io/webappsec-permissions-policy/#matches>
///
/// Only `*` matches an opaque origin. Such an origin is same origin with itself, so 'self' would match it,
/// but a sandboxed document counts as cross-origin.
pub(crate) fn matches(allowlist: &Allowlist, origin: &ImmutableOrigin) -> bool {
    match allowlist {
        Allowlist::EveryOrigin => true,
        Allowlist::Origins(origins) => origin.is_tuple() && origins.contains(origin),
    }
}

/// What a header with this list declares. A list without any origin, such as `()` or `'none'`, is a denial.
/// So is a list whose elements cannot be read: the specifications leave these out, and what remains is the
/// same empty list.
pub(crate) fn declaration(allowlist: Allowlist) -> Declaration {
    match allowlist {
        Allowlist::Origins(origins) if origins.is_empty() => Declaration::Disabled,
        allowlist => Declaration::For(allowlist),
    }
}

/// The origins that both lists match.
pub(crate) fn intersection(first: Allowlist, second: &Allowlist) -> Allowlist {
    match first {
        Allowlist::EveryOrigin => second.clone(),
        Allowlist::Origins(mut origins) => {
            origins.retain(|origin| matches(second, origin));
            Allowlist::Origins(origins)
        },
    }
}

/// The steps that the two allowlist headers share for an element that is not a keyword:
///
/// > let *result* be the result of executing the URL parser on *element*. If *result* is not
/// > failure: Let *target* be the origin of *result*. If *target* is not an opaque origin, append
/// > *target* to *allowlist*.
///
/// A wildcard such as `https://*.example.com` is a URL whose origin no document has, so it matches nothing.
pub(crate) fn origin_of(element: &str) -> Option<ImmutableOrigin> {
    Some(ServoUrl::parse(element).ok()?.origin()).filter(ImmutableOrigin::is_tuple)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_same_origin_only() {
        let cases = [
            ("https://example.com", true),
            ("https://example.com:443", true),
            ("https://EXAMPLE.com/path?query", true),
            ("http://example.com", false),
            ("https://example.com:8443", false),
            ("https://www.example.com", false),
            ("https://*.example.com", false),
        ];
        for (element, expected) in cases {
            let allowlist = Allowlist::Origins(vec![origin_of(element).unwrap()]);
            let origin = origin_of("https://example.com").unwrap();
            assert_eq!(matches(&allowlist, &origin), expected, "{element}");
        }
    }

    #[test]
    fn an_opaque_origin_matches_star_alone() {
        let opaque = ImmutableOrigin::new_opaque();
        assert!(matches(&Allowlist::EveryOrigin, &opaque));
        assert!(!matches(&Allowlist::Origins(vec![opaque.clone()]), &opaque));
    }

    #[test]
    fn elements_without_a_tuple_origin_are_left_out() {
        for element in ["", "example.com", "'none'", "data:text/html,x", "file:///x"] {
            assert_eq!(origin_of(element), None, "{element}");
        }
    }

    #[test]
    fn an_intersection_is_matched_by_what_both_match() {
        let origins = |urls: &[&str]| {
            Allowlist::Origins(urls.iter().map(|url| origin_of(url).unwrap()).collect())
        };
        let (a, b, c) = (
            "https://a.example",
            "https://b.example",
            "https://c.example",
        );
        assert_eq!(
            intersection(origins(&[a, b]), &origins(&[b, c])),
            origins(&[b])
        );
        assert_eq!(
            intersection(Allowlist::EveryOrigin, &origins(&[a])),
            origins(&[a])
        );
        assert_eq!(
            intersection(origins(&[a]), &Allowlist::EveryOrigin),
            origins(&[a])
        );
        assert_eq!(
            intersection(Allowlist::EveryOrigin, &Allowlist::EveryOrigin),
            Allowlist::EveryOrigin
        );
    }
}
