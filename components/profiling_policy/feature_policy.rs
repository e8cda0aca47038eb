/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The header that Permissions-Policy replaced, in its own grammar:
//! `js-profiling 'self' https://a.example; camera 'none'`.
//! <https://www.w3.org/TR/2019/WD-feature-policy-1-20190416/#algo-parse-header>

use url::Origin;

use crate::allowlist::{Allowlist, origin_of};
use crate::{Declaration, JS_PROFILING};

/// What `Feature-Policy: value` says to a document of `origin`.
///
/// Commas separate policies, semicolons the declarations in one. Where a feature is declared more
/// than once the draft has the first policy win, but in one policy the last declaration, and
/// Chromium the first of all (<https://github.com/w3c/webappsec-permissions-policy/issues/148>).
/// Here all must enable it, so that an explicit denial wins whoever reads it.
pub(crate) fn declaration(value: &[u8], origin: &Origin) -> Declaration {
    let allowlists: Vec<_> = String::from_utf8_lossy(value)
        .split([',', ';'])
        .filter_map(|serialized_declaration| declared_allowlist(serialized_declaration, origin))
        .collect();
    Declaration::from_allowlists(&allowlists, origin)
}

/// <https://w3c.github.io/webappsec-permissions-policy/#algo-parse-policy-directive>, step 2, of
/// a header: there is no target origin.
fn declared_allowlist(serialized_declaration: &str, origin: &Origin) -> Option<Allowlist> {
    // Step 2.1. Let tokens be the result of splitting serialized-declaration on ASCII whitespace.
    let mut tokens = serialized_declaration.split_ascii_whitespace();
    // Steps 2.2–2.5. Let feature-name be the first element of tokens. If feature-name does not
    // identify any recognized policy-controlled feature, then continue.
    if tokens.next() != Some(JS_PROFILING) {
        return None;
    }
    // Step 2.6. Let targetlist be the remaining elements, if any, of tokens.
    let targetlist: Vec<_> = tokens.collect();

    // Step 2.8. If any element of targetlist is the string "*", set allowlist to the special
    // value *.
    if targetlist.contains(&"*") {
        return Some(Allowlist::EveryOrigin);
    }
    // Step 2.9.2 speaks of an empty targetlist only where there is a target origin. A bare name in
    // a header stands for 'self', as in Chromium.
    if targetlist.is_empty() {
        return Some(Allowlist::Origins(vec![origin.clone()]));
    }
    // Step 2.9.3. For each element in targetlist: if element is an ASCII case-insensitive match
    // for "'self'", let result be container origin; otherwise, let result be the result of
    // executing the URL parser on element.
    // 'none' and 'src' are no URLs and add nothing.
    let origins = targetlist.into_iter().filter_map(|element| {
        if element.eq_ignore_ascii_case("'self'") {
            Some(origin.clone())
        } else {
            origin_of(element)
        }
    });
    Some(Allowlist::Origins(origins.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProfilingMode;

    const ENABLED: Declaration = Declaration::Enabled(ProfilingMode::Lazy);

    #[test]
    fn declarations() {
        let cases = [
            ("js-profiling 'self'", ENABLED),
            ("js-profiling 'SELF'", ENABLED),
            ("js-profiling *", ENABLED),
            ("js-profiling", ENABLED),
            ("js-profiling;", ENABLED),
            ("js-profiling https://example.com", ENABLED),
            ("js-profiling https://a.example 'self'", ENABLED),
            ("js-profiling 'none' *", ENABLED),
            ("\tjs-profiling \t 'self' ", ENABLED),
            (
                "camera 'none'; js-profiling 'self' https://a.example; usb",
                ENABLED,
            ),
            ("camera 'none',, ;js-profiling 'self'", ENABLED),
            ("js-profiling 'none'", Declaration::Disabled),
            ("js-profiling https://a.example", Declaration::Disabled),
            // 'src' belongs to the allow attribute; the others are Permissions-Policy's.
            ("js-profiling 'src'", Declaration::Disabled),
            ("js-profiling self", Declaration::Disabled),
            ("js-profiling (self)", Declaration::Disabled),
            (
                "js-profiling \"https://example.com\"",
                Declaration::Disabled,
            ),
            ("js-profiling=(self)", Declaration::Absent),
            ("JS-Profiling 'self'", Declaration::Absent),
            ("camera js-profiling 'self'", Declaration::Absent),
            ("", Declaration::Absent),
        ];
        let origin = origin_of("https://example.com").unwrap();
        for (value, expected) in cases {
            assert_eq!(declaration(value.as_bytes(), &origin), expected, "{value}");
        }
    }

    #[test]
    fn of_two_declarations_both_must_enable() {
        let origin = origin_of("https://example.com").unwrap();
        for separator in [';', ','] {
            for (first, second, expected) in [
                ("'self'", "*", ENABLED),
                ("'self'", "'none'", Declaration::Disabled),
                ("'none'", "'self'", Declaration::Disabled),
            ] {
                let value = format!("js-profiling {first}{separator} js-profiling {second}");
                assert_eq!(declaration(value.as_bytes(), &origin), expected, "{value}");
            }
        }
    }

    #[test]
    fn an_opaque_origin_matches_star_alone() {
        let opaque = Origin::new_opaque();
        for (value, expected) in [
            ("js-profiling *", ENABLED),
            ("js-profiling", Declaration::Disabled),
            ("js-profiling 'self'", Declaration::Disabled),
        ] {
            assert_eq!(declaration(value.as_bytes(), &opaque), expected, "{value}");
        }
    }
}
