/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

use url::{Origin, Url};

/// <https://w3c.github.io/webappsec-permissions-policy/#allowlists>
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Allowlist {
    /// The special value `*`.
    EveryOrigin,
    Origins(Vec<Origin>),
}

impl Allowlist {
    /// <https://w3c.github.io/webappsec-permissions-policy/#matches>
    ///
    /// An opaque origin is matched by `*` alone. It is same origin with itself, so that 'self'
    /// would match it, but a sandboxed document counts as cross-origin.
    pub(crate) fn matches(&self, origin: &Origin) -> bool {
        match self {
            Self::EveryOrigin => true,
            Self::Origins(origins) => origin.is_tuple() && origins.contains(origin),
        }
    }
}

/// The steps which the two allowlist headers share for an element that is not a keyword:
///
/// > let *result* be the result of executing the URL parser on *element*. If *result* is not
/// > failure: Let *target* be the origin of *result*. If *target* is not an opaque origin, append
/// > *target* to *allowlist*.
///
/// A wildcard such as `https://*.example.com` is a URL whose origin is no document's: it matches
/// nothing.
pub(crate) fn origin_of(element: &str) -> Option<Origin> {
    let origin = Url::parse(element).ok()?.origin();
    origin.is_tuple().then_some(origin)
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
        for (element, matches) in cases {
            let allowlist = Allowlist::Origins(vec![origin_of(element).unwrap()]);
            let origin = origin_of("https://example.com").unwrap();
            assert_eq!(allowlist.matches(&origin), matches, "{element}");
        }
    }

    #[test]
    fn an_opaque_origin_matches_star_alone() {
        let opaque = Origin::new_opaque();
        assert!(Allowlist::EveryOrigin.matches(&opaque));
        assert!(!Allowlist::Origins(vec![opaque.clone()]).matches(&opaque));
    }

    #[test]
    fn what_is_no_tuple_origin_is_left_out() {
        for element in ["", "example.com", "'none'", "data:text/html,x", "file:///x"] {
            assert_eq!(origin_of(element), None, "{element}");
        }
    }
}
