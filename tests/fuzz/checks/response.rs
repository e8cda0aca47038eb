/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Turns an input into headers, and checks what must be true of every policy that they result in.

use std::sync::LazyLock;

use http::{HeaderMap, HeaderName, HeaderValue};
use profiling_policy::{Environment, for_document, for_worker, refusal};
use profiling_policy_traits::{Declaration, ProfilingMode, ProfilingPolicy};
use servo_url::{ImmutableOrigin, ServoUrl};
use sfv::{BareItem, Dictionary, Item, ListEntry, Parser};

pub const DOCUMENT_POLICY: HeaderName = HeaderName::from_static("document-policy");
pub const PERMISSIONS_POLICY: HeaderName = HeaderName::from_static("permissions-policy");
pub const FEATURE_POLICY: HeaderName = HeaderName::from_static("feature-policy");

/// A field line of a response.
pub type Field = (HeaderName, HeaderValue);

/// The origin of the documents that the inputs of a corpus are written for.
pub static OWN: LazyLock<ImmutableOrigin> = LazyLock::new(|| origin_of("https://example.com"));
pub static OTHER: LazyLock<ImmutableOrigin> = LazyLock::new(|| origin_of("https://other.example"));
pub static OPAQUE: LazyLock<ImmutableOrigin> = LazyLock::new(ImmutableOrigin::new_opaque);

/// Every kind of origin that a document may have.
pub fn origins() -> [&'static ImmutableOrigin; 3] {
    [&OWN, &OTHER, &OPAQUE]
}

/// The origin of a URL. It is opaque for a text that is not a URL.
pub fn origin_of(url: &str) -> ImmutableOrigin {
    ServoUrl::parse(url).map_or_else(|_| ImmutableOrigin::new_opaque(), |url| url.origin())
}

/// The lines of an input. A newline at the end does not begin another line.
pub fn lines(input: &[u8]) -> Vec<&[u8]> {
    match input.strip_suffix(b"\n").unwrap_or(input) {
        [] if input.is_empty() => Vec::new(),
        text => text.split(|byte| *byte == b'\n').collect(),
    }
}

/// The lines of an input as field lines of one header, without those that are not valid in a response.
pub fn field_lines(name: &HeaderName, input: &[u8]) -> Vec<Field> {
    let values = lines(input).into_iter().map(HeaderValue::from_bytes);
    let values = values.filter_map(Result::ok);
    values.map(|value| (name.clone(), value)).collect()
}

pub fn field(name: &HeaderName, value: &'static str) -> Field {
    (name.clone(), HeaderValue::from_static(value))
}

/// The fields with one more.
pub fn with(fields: &[Field], name: &HeaderName, value: &'static str) -> Vec<Field> {
    let mut fields = fields.to_vec();
    fields.push(field(name, value));
    fields
}

/// The fields without those of one header.
pub fn without(fields: &[Field], name: &HeaderName) -> Vec<Field> {
    let mut fields = fields.to_vec();
    fields.retain(|(other, _)| other != name);
    fields
}

/// The whole value of a header as a structured field: all its field lines, joined.
pub fn value_of(fields: &[Field], name: &HeaderName) -> Vec<u8> {
    let values = fields.iter().filter(|(other, _)| other == name);
    values
        .map(|(_, value)| value.as_bytes())
        .collect::<Vec<_>>()
        .join(&b", "[..])
}

pub fn headers(fields: &[Field]) -> HeaderMap {
    fields.iter().cloned().collect()
}

/// The policy of a top-level document.
pub fn top_level(fields: &[Field], origin: &ImmutableOrigin) -> ProfilingPolicy {
    for_document(
        Some(&headers(fields)),
        origin,
        &ProfilingPolicy::default(),
        true,
    )
}

pub fn top_level_mode(fields: &[Field], origin: &ImmutableOrigin) -> Option<ProfilingMode> {
    top_level(fields, origin).mode
}

/// The declaration of a document with only one header.
pub fn declaration(fields: &[Field], origin: &ImmutableOrigin) -> Declaration {
    let mut headers = top_level(fields, origin).headers;
    let declared = headers.pop().map(|header| header.declaration);
    assert!(headers.is_empty(), "more than one header");
    declared.unwrap_or_default()
}

pub fn contains(text: &[u8], part: &str) -> bool {
    text.windows(part.len()).any(|at| at == part.as_bytes())
}

pub fn names_the_feature(fields: &[Field]) -> bool {
    fields
        .iter()
        .any(|(_, value)| contains(value.as_bytes(), "js-profiling"))
}

/// Checks what must be true of every response.
pub fn check_response(fields: &[Field]) {
    let others = [&PERMISSIONS_POLICY, &FEATURE_POLICY];
    for origin in origins() {
        let document = top_level(fields, origin);
        let worker = for_worker(&headers(fields), origin);

        if !names_the_feature(fields) {
            assert_eq!(
                document.mode, None,
                "granted by headers that do not name it"
            );
        }
        for name in [&DOCUMENT_POLICY, &PERMISSIONS_POLICY] {
            if is_malformed_dictionary(&value_of(fields, name)) {
                let left = top_level_mode(&without(fields, name), origin);
                assert_eq!(document.mode, left, "a malformed {name} changes something");
            }
        }
        let denials = [
            (&DOCUMENT_POLICY, "js-profiling=?0"),
            (&PERMISSIONS_POLICY, "js-profiling=()"),
            (&FEATURE_POLICY, "js-profiling 'none'"),
        ];
        for (name, denial) in denials {
            let denied = with(&without(fields, name), name, denial);
            let mode = top_level_mode(&denied, origin);
            assert_eq!(mode, None, "granted beside {name}: {denial}");
            let policy = for_worker(&headers(&denied), origin);
            assert_eq!(
                policy.mode, None,
                "granted to a worker beside {name}: {denial}"
            );
        }

        let mut left = fields.to_vec();
        left.retain(|(name, _)| !others.contains(&name));
        if worker.mode.is_some() {
            assert_eq!(worker.mode, document.mode);
            assert_eq!(worker.mode, for_worker(&headers(&left), origin).mode);
        }
        if top_level_mode(&left, origin).is_none() {
            // The two headers with allowlists have no mode.
            assert_ne!(document.mode, Some(ProfilingMode::Eager));
            assert_eq!(worker.mode, None, "a worker granted by allowlists");
        }

        check_order(fields, origin, &document);
        check_inheritance(&document, origin, &ProfilingPolicy::default(), true);
        check_refusal(&document, origin, Environment::Document, "");
        check_refusal(&worker, origin, Environment::Worker, "");
    }
}

/// Checks that other headers change nothing, and that the order of headers with different names does not matter.
fn check_order(fields: &[Field], origin: &ImmutableOrigin, policy: &ProfilingPolicy) {
    let unrelated = [
        ("document-policy-report-only", "js-profiling"),
        ("permissions-policy-report-only", "js-profiling=*"),
        ("require-document-policy", "js-profiling"),
        ("x-feature-policy", "js-profiling *"),
    ];
    let unrelated: Vec<_> = unrelated
        .into_iter()
        .map(|(name, value)| field(&HeaderName::from_static(name), value))
        .collect();
    let mut sorted = fields.to_vec();
    // The sort is stable, because the order of a header's own lines matters.
    sorted.sort_by(|(first, _), (second, _)| second.as_str().cmp(first.as_str()));
    let between = sorted.iter().cloned();
    let mut between: Vec<_> = between
        .zip(unrelated.iter().cycle().cloned())
        .flat_map(|(field, unrelated)| [field, unrelated])
        .collect();
    between.extend(unrelated.iter().cloned());
    let before: Vec<_> = unrelated
        .into_iter()
        .chain(fields.iter().cloned())
        .collect();
    for fields in [sorted, between, before] {
        assert_eq!(&top_level(&fields, origin), policy, "the order matters");
    }
}

/// Checks documents that inherit because they have no headers of their own: `about:blank`, `blob:` and `data:`.
pub fn check_inheritance(
    creator: &ProfilingPolicy,
    origin: &ImmutableOrigin,
    navigation: &ProfilingPolicy,
    is_top_level: bool,
) {
    // The navigation's policy is the creator's, except for the embedders of the frame.
    let navigation = ProfilingPolicy {
        headers: creator.headers.clone(),
        ..navigation.clone()
    };
    let same = for_document(None, origin, &navigation, is_top_level);
    assert_eq!(&same, creator, "the inherited policy differs");
    if creator.mode.is_none() {
        let opaque = for_document(None, &OPAQUE, &navigation, is_top_level);
        assert_eq!(
            opaque.mode, None,
            "granted to an opaque origin of a refused creator"
        );
    }
}

/// The length of the longest refusal in characters: see `refusal.rs` of profiling_policy.
const LONGEST_REFUSAL: usize = 4_100;

/// Checks that a refusal is one line of bounded length that names the document, whose URL ends in `url`.
pub fn check_refusal(
    policy: &ProfilingPolicy,
    origin: &ImmutableOrigin,
    environment: Environment,
    url: &str,
) {
    if policy.mode.is_some() {
        return;
    }
    const START: &str = "https://example.com/";
    let message = refusal(policy, origin, &format!("{START}{url}"), environment);
    // https://www.unicode.org/reports/tr14/#BK and CR, LF, NL.
    let breaks = ['\n', '\r', '\x0b', '\x0c', '\u{85}', '\u{2028}', '\u{2029}'];
    assert!(!message.contains(breaks), "more than one line: {message:?}");
    assert!(!message.contains('\0'), "NUL: {message:?}");
    let length = message.chars().count();
    assert!(length <= LONGEST_REFUSAL, "{length} characters: {message}");
    assert!(
        message.contains(START),
        "the document is not named: {message}"
    );
    assert!(message.contains("\"Document-Policy: js-profiling\""));
}

/// Whether a text is certainly not a dictionary of structured fields. An empty text is a dictionary.
/// <https://www.rfc-editor.org/rfc/rfc9651#name-parsing-a-dictionary>
pub fn is_malformed_dictionary(value: &[u8]) -> bool {
    let is_text = |byte: &u8| *byte == b'\t' || (0x20..0x7f).contains(byte);
    let trimmed = value.trim_ascii();
    let quotes = value.iter().filter(|byte| **byte == b'"').count();
    !value.iter().all(is_text)
        || trimmed.starts_with(b",")
        || trimmed.ends_with(b",")
        // Without a backslash, no quote can be escaped.
        || (quotes % 2 == 1 && !value.contains(&b'\\'))
        || Parser::new(value).parse::<Dictionary>().is_err()
}

/// Whether a dictionary has a member with this name whose value is not allowed.
pub fn has_other_value(value: &[u8], name: &str, is_allowed: fn(&BareItem) -> bool) -> bool {
    let Ok(dictionary) = Parser::new(value).parse::<Dictionary>() else {
        return false;
    };
    match dictionary.get(name) {
        None => false,
        Some(ListEntry::Item(Item { bare_item, .. })) => !is_allowed(bare_item),
        Some(ListEntry::InnerList(_)) => true,
    }
}
