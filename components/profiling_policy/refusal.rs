/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What developers are told about a refusal.

use std::fmt::Write;

use profiling_policy_traits::{Declaration, Declared, Embedder, ProfilingPolicy};
use servo_url::ImmutableOrigin;

use crate::decision::{Environment, denials, is_declared_for, omissions, own_denials};

/// The header that allows every document or worker to profile if nothing forbids it.
const SUFFICES: &str = "Document-Policy: js-profiling";

/// How many characters of a URL, an origin or a header value are shown. The rest is cut.
const SHOWN: usize = 200;

/// How many declarations of embedding documents are shown at most, because frames may be nested to any depth.
const EMBEDDERS_TOLD: usize = 5;

/// Why the environment at `url` may not profile: the headers that were seen, what forbids it, and what to
/// send. One line of text for the console, of at most 4,100 characters.
pub fn refusal(
    policy: &ProfilingPolicy,
    origin: &ImmutableOrigin,
    url: &str,
    environment: Environment,
) -> String {
    let mut message = format!("JS profiling is disabled for {}: ", cut(url));
    let own_denials: Vec<_> = own_denials(&policy.headers, origin).collect();
    let denials: Vec<_> = denials(&policy.embedders).collect();
    if policy.headers.is_empty() && denials.is_empty() {
        message.push_str("no policy header was seen. ");
    }
    for header in &policy.headers {
        let said = match &header.declaration {
            Declaration::Absent => "does not name js-profiling".to_owned(),
            Declaration::Malformed(reason) => format!("is ignored: {reason}"),
            _ if own_denials.contains(&header) => {
                format!("forbids it for {}", ascii(origin))
            },
            Declaration::For(_) if environment == Environment::Worker => {
                "is for documents, not for workers".to_owned()
            },
            _ if own_denials.is_empty() => {
                "allows it, but the document's frame does not".to_owned()
            },
            _ => "allows it".to_owned(),
        };
        let _ = write!(message, "{} {said}. ", shown(header));
    }
    tell(&mut message, &denials, "forbids it", "So do");
    // An embedder's list that leaves the document out matters only if a list of the document's own includes
    // it.
    if denials.is_empty()
        && environment == Environment::Document
        && is_declared_for(&policy.headers, origin)
    {
        let omissions: Vec<_> = omissions(&policy.embedders, origin).collect();
        tell(
            &mut message,
            &omissions,
            "does not list the document's origin",
            "Nor do",
        );
    }
    let first = match own_denials.is_empty() && denials.is_empty() {
        true => "",
        false => "remove what forbids it and ",
    };
    let _ = write!(message, "To allow it, {first}send \"{SUFFICES}\" with it.");
    message
}

/// Adds what the declarations of embedding documents do. If there are too many, the others are counted.
fn tell(message: &mut String, declared: &[(&Declared, &Embedder)], does: &str, so_do: &str) {
    for (declared, embedder) in declared.iter().take(EMBEDDERS_TOLD) {
        let _ = write!(
            message,
            "{} of the embedding document of {} {does}. ",
            shown(declared),
            ascii(&embedder.origin)
        );
    }
    let more = declared.len().saturating_sub(EMBEDDERS_TOLD);
    if more > 0 {
        let _ = write!(message, "{so_do} {more} more of embedding documents. ");
    }
}

/// A header or an attribute, as it is written.
fn shown(declared: &Declared) -> String {
    format!("\"{}: {}\"", declared.name, cut(&declared.value))
}

fn ascii(origin: &ImmutableOrigin) -> String {
    match origin.is_tuple() {
        true => cut(&origin.ascii_serialization()),
        false => "an opaque origin".to_owned(),
    }
}

/// The beginning of a text, on one line.
fn cut(text: &str) -> String {
    let is_break = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let mut characters = text.chars();
    let mut beginning: String = characters
        .by_ref()
        .take(SHOWN)
        .map(|c| if is_break(c) { ' ' } else { c })
        .collect();
    if characters.next().is_some() {
        beginning.push('…');
    }
    beginning
}
