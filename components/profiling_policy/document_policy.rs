/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The header `Document-Policy`: <https://wicg.github.io/document-policy/#algo-parse-document-policy>

use profiling_policy_traits::{Declaration, ProfilingMode};
use sfv::{BareItem, Dictionary, Item, ListEntry, Parser};

use crate::JS_PROFILING;

/// The enum configuration point. Any value enables profiling, and takes precedence over the boolean one.
const JS_PROFILING_MODE: &str = "js-profiling-mode";

/// What `Document-Policy: value` says.
pub(crate) fn declaration(value: &[u8]) -> Declaration {
    parse(value).unwrap_or_else(Declaration::Malformed)
}

/// "Parse document policy", for our two configuration points. A failure voids the header.
fn parse(policy_string: &[u8]) -> Result<Declaration, String> {
    // Step 3. Let dict be the result of parsing policyString as a dictionary.
    // Step 4. If parsing fails, then fail.
    let dict: Dictionary = Parser::new(policy_string)
        .parse()
        .map_err(|error| error.to_string())?;

    // Step 5. For each name->(value,parameters) in dict: if name is the name of a supported
    // configuration point, then:

    // If configuration point's type is boolean, then: If value is not a Boolean, then fail.
    let boolean = match bare_item(&dict, JS_PROFILING) {
        None => None,
        Some(Some(BareItem::Boolean(value))) => Some(*value),
        Some(_) => return Err(format!("{JS_PROFILING} is not a boolean (?1 or ?0)")),
    };

    // If configuration point's type is enum, then: If value is not a Token, then fail. If value is
    // not the name of one of configuration points allowed enum values, then fail.
    let mode = match bare_item(&dict, JS_PROFILING_MODE) {
        None => None,
        Some(Some(BareItem::Token(token))) if token.as_str() == "eager" => {
            Some(ProfilingMode::Eager)
        },
        Some(Some(BareItem::Token(token))) if token.as_str() == "lazy" => Some(ProfilingMode::Lazy),
        Some(_) => return Err(format!("{JS_PROFILING_MODE} is not eager or lazy")),
    };

    Ok(match (mode, boolean) {
        (Some(mode), _) => Declaration::Enabled(mode),
        // The boolean configuration point is older than the modes, and means "eager".
        (None, Some(true)) => Declaration::Enabled(ProfilingMode::Eager),
        (None, Some(false)) => Declaration::Disabled,
        (None, None) => Declaration::Absent,
    })
}

/// The value of the member `name`; `Some(None)` if it is an inner list.
fn bare_item<'a>(dict: &'a Dictionary, name: &str) -> Option<Option<&'a BareItem>> {
    dict.get(name).map(|entry| match entry {
        ListEntry::Item(Item { bare_item, .. }) => Some(bare_item),
        ListEntry::InnerList(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProfilingMode::*;

    #[test]
    fn declarations() {
        let cases = [
            ("js-profiling", Declaration::Enabled(Eager)),
            ("js-profiling=?1", Declaration::Enabled(Eager)),
            ("js-profiling=?0", Declaration::Disabled),
            ("js-profiling=?0;report-to=x", Declaration::Disabled),
            ("js-profiling-mode=eager", Declaration::Enabled(Eager)),
            ("js-profiling-mode=lazy", Declaration::Enabled(Lazy)),
            (
                "js-profiling-mode=lazy;report-to=x",
                Declaration::Enabled(Lazy),
            ),
            // The mode takes precedence.
            (
                "js-profiling, js-profiling-mode=lazy",
                Declaration::Enabled(Lazy),
            ),
            (
                "js-profiling-mode=lazy, js-profiling",
                Declaration::Enabled(Lazy),
            ),
            (
                "js-profiling=?0, js-profiling-mode=lazy",
                Declaration::Enabled(Lazy),
            ),
            // RFC 9651, 4.2.2: the last of two members with the same name counts.
            ("js-profiling=?0, js-profiling", Declaration::Enabled(Eager)),
            ("js-profiling=1, js-profiling", Declaration::Enabled(Eager)),
            // Unknown members are ignored, whatever their values.
            ("", Declaration::Absent),
            ("sync-xhr=?0", Declaration::Absent),
            ("js-profiling-x", Declaration::Absent),
            (
                "*;report-to=x, sync-xhr=(1 2), js-profiling",
                Declaration::Enabled(Eager),
            ),
        ];
        for (value, expected) in cases {
            assert_eq!(declaration(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn a_bad_value_of_a_known_member_voids_the_header() {
        let cases = [
            (
                "js-profiling=1, js-profiling-mode=lazy",
                "js-profiling is not a boolean (?1 or ?0)",
            ),
            (
                "js-profiling=true",
                "js-profiling is not a boolean (?1 or ?0)",
            ),
            (
                "js-profiling=(?1)",
                "js-profiling is not a boolean (?1 or ?0)",
            ),
            (
                "js-profiling, js-profiling-mode",
                "js-profiling-mode is not eager or lazy",
            ),
            (
                "js-profiling, js-profiling-mode=off",
                "js-profiling-mode is not eager or lazy",
            ),
            (
                "js-profiling, js-profiling-mode=EAGER",
                "js-profiling-mode is not eager or lazy",
            ),
            (
                "js-profiling, js-profiling-mode=\"eager\"",
                "js-profiling-mode is not eager or lazy",
            ),
            (
                "js-profiling=?0, js-profiling-mode=(lazy)",
                "js-profiling-mode is not eager or lazy",
            ),
        ];
        for (value, reason) in cases {
            let expected = Declaration::Malformed(reason.into());
            assert_eq!(declaration(value.as_bytes()), expected, "{value}");
        }
    }

    #[test]
    fn a_syntax_error_anywhere_voids_the_header() {
        for value in [
            "js-profiling,",
            "js-profiling, =",
            "js-profiling; X",
            "JS-Profiling",
            "js-profiling 'self'",
        ] {
            let declaration = declaration(value.as_bytes());
            assert!(
                matches!(declaration, Declaration::Malformed(_)),
                "{value}: {declaration:?}"
            );
        }
    }
}
