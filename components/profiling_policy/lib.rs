/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! May this document profile itself?
//!
//! The answer comes from three response headers, each with its own specification and grammar:
//! [`Document-Policy`](https://wicg.github.io/document-policy/),
//! [`Permissions-Policy`](https://w3c.github.io/webappsec-permissions-policy/) and its
//! predecessor [`Feature-Policy`](https://www.w3.org/TR/2019/WD-feature-policy-1-20190416/).
//! [`ProfilingPermission::from_headers`] reads them and says yes or no, and why.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod allowlist;
mod document_policy;
mod feature_policy;
mod permissions_policy;

use allowlist::Allowlist;
use http::{HeaderMap, HeaderValue};
use url::Origin;

/// The policy-controlled feature, and the boolean configuration point of Document Policy.
const JS_PROFILING: &str = "js-profiling";

/// When the engine is made ready for profiling.
/// <https://wicg.github.io/js-self-profiling/#js-profiling-mode>
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ProfilingMode {
    /// While the document loads.
    Eager,
    /// When the document starts its first profiler.
    Lazy,
}

/// What one header says of `js-profiling` to the document's own origin.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Declaration {
    /// The header does not name `js-profiling`.
    Absent,
    /// The document may profile itself.
    Enabled(ProfilingMode),
    /// The document may not profile itself: an explicit denial, or an allowlist without its origin.
    Disabled,
    /// The header, or its `js-profiling` member, is ignored, for the reason given.
    Malformed(String),
}

impl Declaration {
    /// Every allowlist must match `origin`: a denial is not undone by a second declaration.
    fn from_allowlists(allowlists: &[Allowlist], origin: &Origin) -> Self {
        if allowlists.is_empty() {
            Self::Absent
        } else if allowlists.iter().all(|list| list.matches(origin)) {
            // The two allowlist headers name no mode.
            Self::Enabled(ProfilingMode::Lazy)
        } else {
            Self::Disabled
        }
    }
}

/// A policy header of the response, for telling a person what was decided by it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PolicyHeader {
    /// As the specification spells it, e.g. `Document-Policy`.
    pub name: &'static str,
    /// All its field lines, joined with `, `. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub value: String,
    /// What it says to the document.
    pub declaration: Declaration,
}

/// Whether a top-level document may profile itself. The default is a refusal without headers.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ProfilingPermission {
    /// `None` is a refusal.
    pub mode: Option<ProfilingMode>,
    /// The policy headers that the response has, whatever they say: `Document-Policy`,
    /// `Permissions-Policy`, `Feature-Policy`, in this order.
    pub headers: Vec<PolicyHeader>,
}

impl ProfilingPermission {
    /// Decides from the headers of a top-level document's response; `origin` is that document's.
    ///
    /// The default allowlist of `js-profiling` is 'none', so a document without a declaration is
    /// refused. Any header may enable it; one that disables it overrules the others.
    pub fn from_headers(headers: &HeaderMap, origin: &Origin) -> Self {
        type Declare = fn(&[u8], &Origin) -> Declaration;
        let policies: [(&str, Declare); 3] = [
            ("Document-Policy", |value, _| {
                document_policy::declaration(value)
            }),
            ("Permissions-Policy", permissions_policy::declaration),
            ("Feature-Policy", feature_policy::declaration),
        ];
        let headers: Vec<_> = policies
            .into_iter()
            .filter_map(|(name, declaration)| {
                let value = header_value(headers, name)?;
                Some(PolicyHeader {
                    name,
                    value: String::from_utf8_lossy(&value).into_owned(),
                    declaration: declaration(&value, origin),
                })
            })
            .collect();

        let mut declarations = headers.iter().map(|header| &header.declaration);
        let mode = if declarations
            .clone()
            .any(|declaration| *declaration == Declaration::Disabled)
        {
            None
        } else {
            // Document-Policy comes first: it alone can name a mode.
            declarations.find_map(|declaration| match declaration {
                Declaration::Enabled(mode) => Some(*mode),
                _ => None,
            })
        };
        Self { mode, headers }
    }

    /// Whether the document may start a profiler.
    pub fn is_allowed(&self) -> bool {
        self.mode.is_some()
    }
}

/// <https://fetch.spec.whatwg.org/#concept-header-list-get>
///
/// The values of all the header's field lines, "separated from each other by 0x2C 0x20".
fn header_value(headers: &HeaderMap, name: &str) -> Option<Vec<u8>> {
    let lines: Vec<_> = headers
        .get_all(name)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    (!lines.is_empty()).then(|| lines.join(&b", "[..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderName;

    fn permission(lines: &[(&str, &str)]) -> ProfilingPermission {
        let headers = lines
            .iter()
            .map(|(name, value)| {
                (
                    name.parse::<HeaderName>().unwrap(),
                    HeaderValue::from_bytes(value.as_bytes()).unwrap(),
                )
            })
            .collect();
        let origin = url::Url::parse("https://example.com").unwrap().origin();
        ProfilingPermission::from_headers(&headers, &origin)
    }

    /// Each header by itself, then every pair of two headers: a denial wins, a malformed or silent
    /// header counts as no header, and what is left must hold at least one grant.
    #[test]
    fn a_grant_is_needed_and_a_denial_wins() {
        use Declaration::*;
        let headers = [
            (
                "document-policy",
                "js-profiling",
                Enabled(ProfilingMode::Eager),
            ),
            (
                "document-policy",
                "js-profiling-mode=lazy",
                Enabled(ProfilingMode::Lazy),
            ),
            ("document-policy", "js-profiling=?0", Disabled),
            (
                "document-policy",
                "js-profiling=(",
                Malformed(String::new()),
            ),
            ("document-policy", "sync-xhr", Absent),
            (
                "permissions-policy",
                "js-profiling=(self)",
                Enabled(ProfilingMode::Lazy),
            ),
            ("permissions-policy", "js-profiling=()", Disabled),
            (
                "permissions-policy",
                "js-profiling=(",
                Malformed(String::new()),
            ),
            ("permissions-policy", "camera=*", Absent),
            (
                "feature-policy",
                "js-profiling 'self'",
                Enabled(ProfilingMode::Lazy),
            ),
            ("feature-policy", "js-profiling 'none'", Disabled),
            ("feature-policy", "camera *", Absent),
        ];
        for (name, value, declaration) in &headers {
            let expected = match declaration {
                Enabled(mode) => Some(*mode),
                _ => None,
            };
            assert_eq!(
                permission(&[(name, value)]).mode,
                expected,
                "{name}: {value}"
            );

            for (other_name, other_value, other) in &headers {
                if name == other_name {
                    continue;
                }
                let allowed = ![declaration, other].contains(&&Disabled)
                    && [declaration, other].iter().any(|d| matches!(d, Enabled(_)));
                assert_eq!(
                    permission(&[(name, value), (other_name, other_value)]).is_allowed(),
                    allowed,
                    "{name}: {value}, {other_name}: {other_value}"
                );
            }
        }
    }

    #[test]
    fn without_a_declaration_nobody_profiles() {
        assert_eq!(permission(&[]), ProfilingPermission::default());
        assert!(!permission(&[]).is_allowed());
    }

    #[test]
    fn report_only_is_no_policy_header() {
        let lines = [("document-policy-report-only", "js-profiling")];
        assert_eq!(permission(&lines), ProfilingPermission::default());
    }

    #[test]
    fn the_mode_is_document_policys() {
        let lines = [
            ("feature-policy", "js-profiling *"),
            ("permissions-policy", "js-profiling=*"),
            ("document-policy", "js-profiling-mode=eager"),
        ];
        assert_eq!(permission(&lines).mode, Some(ProfilingMode::Eager));
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
            let permission = permission(&[(name, first), (name, second)]);
            assert_eq!(
                permission.is_allowed(),
                allowed,
                "{name}: {first}, {second}"
            );
        }
    }

    #[test]
    fn the_headers_are_told() {
        let permission = permission(&[
            ("feature-policy", "camera *"),
            ("feature-policy", "js-profiling 'none'"),
            ("document-policy", "js-profiling"),
            ("content-type", "text/html"),
        ]);
        let expected = [
            PolicyHeader {
                name: "Document-Policy",
                value: "js-profiling".into(),
                declaration: Declaration::Enabled(ProfilingMode::Eager),
            },
            PolicyHeader {
                name: "Feature-Policy",
                value: "camera *, js-profiling 'none'".into(),
                declaration: Declaration::Disabled,
            },
        ];
        assert_eq!(permission.headers, expected);
        assert_eq!(permission.mode, None);
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_survived() {
        for name in ["document-policy", "permissions-policy", "feature-policy"] {
            let mut headers = HeaderMap::new();
            let value = HeaderValue::from_bytes(b"js-profiling \xff\x80").unwrap();
            headers.insert(HeaderName::from_static(name), value);
            let origin = url::Origin::new_opaque();
            let permission = ProfilingPermission::from_headers(&headers, &origin);
            assert!(!permission.is_allowed(), "{name}");
            assert_eq!(permission.headers[0].value, "js-profiling \u{fffd}\u{fffd}");
        }
    }
}
