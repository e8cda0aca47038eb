/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The header that Permissions-Policy has replaced, and the `allow` attribute of iframe elements, which kept
//! the grammar: `js-profiling 'self' https://a.example; camera 'none'`.
//!
//! <https://www.w3.org/TR/2019/WD-feature-policy-1-20190416/#algo-parse-header>,
//! <https://w3c.github.io/webappsec-permissions-policy/#iframe-allow-attribute>

use profiling_policy_traits::{Allowlist, Declaration};
use servo_url::ImmutableOrigin;

use crate::JS_PROFILING;
use crate::allowlist::{self, intersection, origin_of};

/// What `Feature-Policy: value` declares for a document of `origin` that it was sent with.
///
/// Commas separate policies, and semicolons separate the declarations in a policy. If a feature is declared
/// more than once, the draft lets the first policy win, but the last declaration within a policy; Chromium
/// lets the first of all win (<https://github.com/w3c/webappsec-permissions-policy/issues/148>). Here all of
/// them must enable the feature, so an explicit denial wins by any of these rules.
pub(crate) fn declaration(value: &[u8], origin: &ImmutableOrigin) -> Declaration {
    let value = String::from_utf8_lossy(value);
    let declarations = value.split([',', ';']).filter_map(targets).map(|targets| {
        let allowlist = allowlist(&targets, origin, None);
        allowlist::declaration(allowlist)
    });
    combined(declarations)
}

/// What the `allow` attribute of an element declares for the document in the element.
/// <https://w3c.github.io/webappsec-permissions-policy/#algo-process-policy-attributes>
///
/// `container` is the origin of the element's document, and `target` the element's declared origin.
/// `js-profiling 'none'` is a denial. No other list is one, even if no word of it can be read: such an
/// attribute grants nothing, and the document keeps what its own header grants.
pub(crate) fn allow_declaration(
    value: &str,
    container: &ImmutableOrigin,
    target: &ImmutableOrigin,
) -> Declaration {
    let declarations = value
        .split(';')
        .filter_map(targets)
        .map(|targets| match targets[..] {
            [word] if word.eq_ignore_ascii_case("'none'") => Declaration::Disabled,
            _ => Declaration::For(allowlist(&targets, container, Some(target))),
        });
    combined(declarations)
}

/// What all of the declarations enable. One denial makes the result a denial. Lists that have no origin in
/// common do not.
fn combined(declarations: impl Iterator<Item = Declaration>) -> Declaration {
    declarations
        .reduce(|all, declaration| match (all, declaration) {
            (Declaration::For(all), Declaration::For(allowlist)) => {
                Declaration::For(intersection(all, &allowlist))
            },
            _ => Declaration::Disabled,
        })
        .unwrap_or_default()
}

/// The target list of a declaration of `js-profiling`; `None` if it is for another feature.
/// <https://w3c.github.io/webappsec-permissions-policy/#algo-parse-policy-directive>, step 2.
fn targets(serialized_declaration: &str) -> Option<Vec<&str>> {
    // Step 2.1. Let tokens be the result of splitting serialized-declaration on ASCII whitespace.
    let mut tokens = serialized_declaration.split_ascii_whitespace();
    // Steps 2.2–2.5. Let feature-name be the first element of tokens. If feature-name does not
    // identify any recognized policy-controlled feature, then continue.
    if tokens.next() != Some(JS_PROFILING) {
        return None;
    }
    // Step 2.6. Let targetlist be the remaining elements, if any, of tokens.
    Some(tokens.collect())
}

fn allowlist(
    targetlist: &[&str],
    container_origin: &ImmutableOrigin,
    target_origin: Option<&ImmutableOrigin>,
) -> Allowlist {
    // Step 2.8. If any element of targetlist is the string "*", set allowlist to the special
    // value *.
    if targetlist.contains(&"*") {
        return Allowlist::EveryOrigin;
    }
    // Step 2.9.2. If targetlist is empty and target origin is given, append target origin to
    // allowlist. A bare name in a header stands for 'self', as in Chromium.
    if targetlist.is_empty() {
        return Allowlist::Origins(vec![target_origin.unwrap_or(container_origin).clone()]);
    }
    // Step 2.9.3. For each element in targetlist: if element is an ASCII case-insensitive match
    // for "'self'", let result be container origin; if target origin is given and element is an
    // ASCII case-insensitive match for "'src'", let result be target origin; otherwise, let result be
    // the result of executing the URL parser on element.
    // 'none' is not a URL and adds nothing.
    let origins = targetlist.iter().filter_map(|element| match target_origin {
        _ if element.eq_ignore_ascii_case("'self'") => Some(container_origin.clone()),
        Some(target_origin) if element.eq_ignore_ascii_case("'src'") => Some(target_origin.clone()),
        _ => origin_of(element),
    });
    Allowlist::Origins(origins.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::allowlist::matches;

    fn example_com() -> ImmutableOrigin {
        origin_of("https://example.com").unwrap()
    }

    /// Whether an origin is on the list; `None` if there is no list.
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
            ("js-profiling 'self'", Some(true)),
            ("js-profiling 'SELF'", Some(true)),
            ("js-profiling *", Some(true)),
            ("js-profiling", Some(true)),
            ("js-profiling;", Some(true)),
            ("js-profiling https://example.com", Some(true)),
            ("js-profiling https://a.example 'self'", Some(true)),
            ("js-profiling 'none' *", Some(true)),
            ("\tjs-profiling \t 'self' ", Some(true)),
            (
                "camera 'none'; js-profiling 'self' https://a.example; usb",
                Some(true),
            ),
            ("camera 'none',, ;js-profiling 'self'", Some(true)),
            ("js-profiling 'none'", Some(false)),
            ("js-profiling https://a.example", Some(false)),
            // 'src' belongs to the `allow` attribute; the other forms belong to Permissions-Policy.
            ("js-profiling 'src'", Some(false)),
            ("js-profiling self", Some(false)),
            ("js-profiling (self)", Some(false)),
            ("js-profiling \"https://example.com\"", Some(false)),
            ("js-profiling=(self)", None),
            ("JS-Profiling 'self'", None),
            ("camera js-profiling 'self'", None),
            ("", None),
        ];
        for (value, expected) in cases {
            let declaration = declaration(value.as_bytes(), &example_com());
            assert_eq!(enables(&declaration, &example_com()), expected, "{value}");
        }
    }

    #[test]
    fn two_declarations_must_both_enable() {
        for separator in [';', ','] {
            for (first, second, expected) in [
                ("'self'", "*", true),
                ("'self'", "'none'", false),
                ("'none'", "'self'", false),
            ] {
                let value = format!("js-profiling {first}{separator} js-profiling {second}");
                let declaration = declaration(value.as_bytes(), &example_com());
                assert_eq!(
                    enables(&declaration, &example_com()),
                    Some(expected),
                    "{value}"
                );
            }
        }
    }

    #[test]
    fn an_opaque_origin_matches_star_alone() {
        let opaque = ImmutableOrigin::new_opaque();
        for (value, expected) in [
            ("js-profiling *", true),
            ("js-profiling", false),
            ("js-profiling 'self'", false),
        ] {
            let declaration = declaration(value.as_bytes(), &opaque);
            assert_eq!(enables(&declaration, &opaque), Some(expected), "{value}");
        }
    }

    #[test]
    fn attributes() {
        let target = origin_of("https://inside.example").unwrap();
        // What it grants to the element's own document, to the document that it declares, and to a third.
        let cases = [
            ("js-profiling", Some([false, true, false])),
            ("js-profiling;", Some([false, true, false])),
            ("js-profiling 'src'", Some([false, true, false])),
            ("js-profiling 'SRC'", Some([false, true, false])),
            ("js-profiling 'self'", Some([true, false, false])),
            ("js-profiling 'self' 'src'", Some([true, true, false])),
            ("js-profiling *", Some([true, true, true])),
            (
                "js-profiling https://third.example",
                Some([false, false, true]),
            ),
            ("js-profiling 'none' 'src'", Some([false, true, false])),
            ("camera; js-profiling; usb *", Some([false, true, false])),
            (
                "js-profiling *; js-profiling 'self'",
                Some([true, false, false]),
            ),
            // A comma does not separate anything in an attribute: "js-profiling," is another name.
            ("js-profiling, camera", None),
            ("js-profiling camera", Some([false, false, false])),
            ("camera", None),
            ("", None),
        ];
        let origins = [
            example_com(),
            target.clone(),
            origin_of("https://third.example").unwrap(),
        ];
        for (value, expected) in cases {
            let declaration = allow_declaration(value, &example_com(), &target);
            let enabled = origins
                .each_ref()
                .map(|origin| enables(&declaration, origin));
            assert_eq!(
                enabled,
                match expected {
                    Some(expected) => expected.map(Some),
                    None => [None; 3],
                },
                "{value}"
            );
        }
    }

    #[test]
    fn none_in_an_attribute_is_a_denial() {
        for value in [
            "js-profiling 'none'",
            "js-profiling 'NONE'",
            "camera; js-profiling 'none'",
            "js-profiling *; js-profiling 'none'",
        ] {
            assert_eq!(
                allow_declaration(value, &example_com(), &example_com()),
                Declaration::Disabled,
                "{value}"
            );
        }
    }

    #[test]
    fn a_sandboxed_frame_needs_star() {
        let opaque = ImmutableOrigin::new_opaque();
        for (value, expected) in [
            ("js-profiling", false),
            ("js-profiling 'src'", false),
            ("js-profiling *", true),
        ] {
            let declaration = allow_declaration(value, &example_com(), &opaque);
            assert_eq!(enables(&declaration, &opaque), Some(expected), "{value}");
        }
    }
}
