/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The header `Permissions-Policy`:
//! <https://w3c.github.io/webappsec-permissions-policy/#algo-process-response-policy>

use std::slice;

use profiling_policy_traits::{Allowlist, Declaration};
use servo_url::ImmutableOrigin;
use sfv::{BareItem, Dictionary, Item, ListEntry, Parser};

use crate::JS_PROFILING;
use crate::allowlist::{self, origin_of};

/// What `Permissions-Policy: value` declares for a document of `origin` that it was sent with.
pub(crate) fn declaration(value: &[u8], origin: &ImmutableOrigin) -> Declaration {
    match declared_allowlist(value, origin) {
        Ok(Some(allowlist)) => allowlist::declaration(allowlist),
        Ok(None) => Declaration::Absent,
        Err(reason) => Declaration::Malformed(reason),
    }
}

fn declared_allowlist(value: &[u8], origin: &ImmutableOrigin) -> Result<Option<Allowlist>, String> {
    // Step 1. Let parsed header be the result of executing get a structured field value given
    // "Permissions-Policy" and "dictionary" from response's header list.
    // Step 2. If parsed header is null, abort these steps.
    let dictionary: Dictionary = Parser::new(value)
        .parse()
        .map_err(|error| error.to_string())?;

    // Step 3. Let policy be the result of executing Construct policy from dictionary and origin.
    // https://w3c.github.io/webappsec-permissions-policy/#algo-construct-policy
    let items = match dictionary.get(JS_PROFILING) {
        None => return Ok(None),
        Some(ListEntry::InnerList(list)) => list.items.as_slice(),
        Some(ListEntry::Item(item)) if is_allowlist_value(item) => slice::from_ref(item),
        // https://w3c.github.io/webappsec-permissions-policy/#structured-header-serialization
        // "Member Values of any other form will cause the entire Dictionary Member to be ignored
        // by the processing steps."
        Some(ListEntry::Item(_)) => {
            return Err(format!(
                "{JS_PROFILING} is not *, self, a string or an inner list"
            ));
        },
    };

    // Step 2.4. If value is the token `*`, or if value is a list which contains the token `*`, set
    // allowlist to the special value `*`.
    if items.iter().any(|item| is_token(item, "*")) {
        return Ok(Some(Allowlist::EveryOrigin));
    }
    // Step 2.5. Otherwise, for each element in value: if element is the token `self`, append
    // origin to allowlist; otherwise, execute the URL parser on element.
    let origins = items.iter().filter_map(|item| match &item.bare_item {
        _ if is_token(item, "self") => Some(origin.clone()),
        BareItem::String(string) => origin_of(string.as_str()),
        _ => None,
    });
    Ok(Some(Allowlist::Origins(origins.collect())))
}

fn is_token(item: &Item, token: &str) -> bool {
    matches!(&item.bare_item, BareItem::Token(value) if value.as_str() == token)
}

fn is_allowlist_value(item: &Item) -> bool {
    is_token(item, "*") || is_token(item, "self") || matches!(item.bare_item, BareItem::String(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowlist::matches;

    fn at_example_com(value: &str) -> Declaration {
        declaration(value.as_bytes(), &origin_of("https://example.com").unwrap())
    }

    /// Whether an origin is on the list of the header; `None` if there is no list.
    fn enables(declaration: &Declaration, origin: &ImmutableOrigin) -> Option<bool> {
        match declaration {
            Declaration::For(allowlist) => Some(matches(allowlist, origin)),
            Declaration::Disabled => Some(false),
            Declaration::Absent => None,
            declaration => panic!("{declaration:?}"),
        }
    }

    #[test]
    fn declarations() {
        let cases = [
            ("js-profiling=(self)", Some(true)),
            ("js-profiling=self", Some(true)),
            ("js-profiling=*", Some(true)),
            ("js-profiling=(*)", Some(true)),
            ("js-profiling=(\"https://a.example\" *)", Some(true)),
            ("js-profiling=(\"https://a.example\" self)", Some(true)),
            (
                "js-profiling=(\"https://a.example\" \"https://example.com\")",
                Some(true),
            ),
            ("js-profiling=\"https://example.com\"", Some(true)),
            ("js-profiling=(self);report-to=x", Some(true)),
            ("camera=(), js-profiling=(self), x=1", Some(true)),
            ("js-profiling=()", Some(false)),
            ("js-profiling=(\"https://a.example\")", Some(false)),
            ("js-profiling=\"https://a.example\"", Some(false)),
            // Elements of an inner list that are not allowlist values are left out.
            ("js-profiling=(none)", Some(false)),
            (
                "js-profiling=(\"self\" \"*\" SELF https://example.com 1 ?1)",
                Some(false),
            ),
            ("js-profiling=(1 self)", Some(true)),
            ("", None),
            ("camera=(self)", None),
            ("js-profiling-x=(self)", None),
            // RFC 9651, 4.2.2: the last of two members with the same name counts.
            ("js-profiling=(), js-profiling=(self)", Some(true)),
            ("js-profiling=(self), js-profiling=()", Some(false)),
        ];
        for (value, expected) in cases {
            let origin = origin_of("https://example.com").unwrap();
            assert_eq!(
                enables(&at_example_com(value), &origin),
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn a_syntax_error_anywhere_voids_the_header() {
        for value in [
            "js-profiling=(self",
            "js-profiling=(self),",
            "js-profiling=(self), Camera=*",
            "js-profiling=(self); camera=(",
            "js-profiling 'self'",
            "js-profiling='self'",
        ] {
            let declaration = at_example_com(value);
            assert!(
                matches!(declaration, Declaration::Malformed(_)),
                "{value}: {declaration:?}"
            );
        }
    }

    #[test]
    fn a_member_of_another_form_is_ignored() {
        let reason = "js-profiling is not *, self, a string or an inner list";
        for value in [
            "js-profiling",
            "js-profiling=?0",
            "js-profiling=1",
            "js-profiling=none",
        ] {
            assert_eq!(
                at_example_com(value),
                Declaration::Malformed(reason.into()),
                "{value}"
            );
        }
    }

    #[test]
    fn an_opaque_origin_matches_star_alone() {
        let opaque = ImmutableOrigin::new_opaque();
        for (value, expected) in [("js-profiling=(self)", false), ("js-profiling=*", true)] {
            let declaration = declaration(value.as_bytes(), &opaque);
            assert_eq!(enables(&declaration, &opaque), Some(expected), "{value}");
        }
    }
}
