/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! May this document or worker profile itself?
//!
//! The answer depends on three response headers, each with its own specification and grammar:
//! [`Document-Policy`](https://wicg.github.io/document-policy/),
//! [`Permissions-Policy`](https://w3c.github.io/webappsec-permissions-policy/) and its predecessor
//! [`Feature-Policy`](https://www.w3.org/TR/2019/WD-feature-policy-1-20190416/). For a document in a frame it
//! also depends on the headers of the documents around it and on the `allow` attributes between them.
//!
//! A policy is made in two steps, because the two ends of a navigation may be in different processes:
//! [`for_frame`] where the navigation begins, and [`for_document`] where the response arrives.

#![deny(unsafe_code)]

// Reading the variable makes Cargo rebuild the crate in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod allowlist;
mod decision;
mod document_policy;
mod feature_policy;
mod permissions_policy;
mod refusal;

use http::{HeaderMap, HeaderValue};
use profiling_policy_traits::{Declaration, Declared, Embedder, ProfilingPolicy};
use servo_url::ImmutableOrigin;

pub use crate::decision::Environment;
pub use crate::refusal::refusal;

/// The policy-controlled feature, and the boolean configuration point of Document Policy.
const JS_PROFILING: &str = "js-profiling";

/// The policy of a document of `origin`.
///
/// `headers` are those of its response, or `None` if the response has none of its own (`about:`, `blob:`,
/// `data:`, `javascript:`). Then the headers of `navigation` count: the navigation has brought them from the
/// document that began it.
pub fn for_document(
    headers: Option<&HeaderMap>,
    origin: &ImmutableOrigin,
    navigation: &ProfilingPolicy,
    is_top_level: bool,
) -> ProfilingPolicy {
    let headers = match headers {
        Some(headers) => declared_headers(headers, origin),
        None => navigation.headers.clone(),
    };
    // A document in a frame may have begun this navigation of the top-level document.
    let embedders = match is_top_level {
        true => Vec::new(),
        false => navigation.embedders.clone(),
    };
    let mode = decision::decide(&headers, &embedders, origin, Environment::Document);
    ProfilingPolicy {
        headers,
        embedders,
        mode,
    }
}

/// The policy of a worker of `origin` whose script came with `headers`. A worker whose script came from a
/// `blob:` or `data:` URL has the policy of its creator instead.
pub fn for_worker(headers: &HeaderMap, origin: &ImmutableOrigin) -> ProfilingPolicy {
    let headers = declared_headers(headers, origin);
    let mode = decision::decide(&headers, &[], origin, Environment::Worker);
    ProfilingPolicy {
        headers,
        embedders: Vec::new(),
        mode,
    }
}

/// What a navigation of a frame brings along: the headers of `initiator`, the document that began it, and the
/// embedders of the frame. `parent` is the policy of the nearest embedder.
///
/// `allow` is the value of the element's attribute, with the element's declared origin; `None` if there is no
/// attribute.
pub fn for_frame(
    initiator: &ProfilingPolicy,
    parent: &ProfilingPolicy,
    parent_origin: &ImmutableOrigin,
    allow: Option<(&str, &ImmutableOrigin)>,
) -> ProfilingPolicy {
    let embedder = Embedder {
        origin: parent_origin.clone(),
        headers: parent.headers.clone(),
        allow: allow.map(|(value, declared_origin)| Declared {
            name: "allow".to_owned(),
            value: value.to_owned(),
            declaration: feature_policy::allow_declaration(value, parent_origin, declared_origin),
        }),
    };
    ProfilingPolicy {
        headers: initiator.headers.clone(),
        embedders: [embedder]
            .into_iter()
            .chain(parent.embedders.iter().cloned())
            .collect(),
        // Decided when the response has arrived.
        mode: None,
    }
}

/// What the policy headers of a response declare for a document or worker of `origin`.
fn declared_headers(headers: &HeaderMap, origin: &ImmutableOrigin) -> Vec<Declared> {
    type Declare = fn(&[u8], &ImmutableOrigin) -> Declaration;
    let policies: [(&str, Declare); 3] = [
        ("Document-Policy", |value, _| {
            document_policy::declaration(value)
        }),
        ("Permissions-Policy", permissions_policy::declaration),
        ("Feature-Policy", feature_policy::declaration),
    ];
    policies
        .into_iter()
        .filter_map(|(name, declaration)| {
            let value = header_value(headers, name)?;
            Some(Declared {
                name: name.to_owned(),
                value: String::from_utf8_lossy(&value).into_owned(),
                declaration: declaration(&value, origin),
            })
        })
        .collect()
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
mod tests;
