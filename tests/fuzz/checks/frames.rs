/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is a chain of documents, each in a frame of the one before:
//!
//! ```text
//! https://outer.example
//! Permissions-Policy: js-profiling=*
//! allow: js-profiling
//! https://inner.example
//! Document-Policy: js-profiling-mode=lazy
//! ```
//!
//! A line that begins with neither a header's name nor `allow:` is the URL of the next document. `allow:` is
//! the attribute of the frame's element that holds that document. Documents beyond `DEEPEST` are left out.

use http::{HeaderName, HeaderValue};
use profiling_policy::{Environment, for_document, for_frame};
use profiling_policy_traits::{Declaration, ProfilingMode, ProfilingPolicy};
use servo_url::ImmutableOrigin;

use crate::response::*;

/// Far more than pages have. The work of a check grows with the square of the depth.
const DEEPEST: usize = 32;

#[derive(Clone)]
struct Document {
    origin: ImmutableOrigin,
    fields: Vec<Field>,
    /// The attribute of the element that holds the next document.
    allow: Option<String>,
}

fn chain(input: &[u8]) -> Vec<Document> {
    let headers: [(&[u8], HeaderName); 3] = [
        (b"Document-Policy: ", DOCUMENT_POLICY),
        (b"Permissions-Policy: ", PERMISSIONS_POLICY),
        (b"Feature-Policy: ", FEATURE_POLICY),
    ];
    let mut chain: Vec<Document> = Vec::new();
    for line in lines(input) {
        let header = headers
            .iter()
            .find_map(|(start, name)| Some((name, line.strip_prefix(*start)?)));
        let depth = chain.len();
        match (chain.last_mut(), header, line.strip_prefix(b"allow:")) {
            (Some(document), Some((name, value)), _) => {
                let value = HeaderValue::from_bytes(value).ok();
                document
                    .fields
                    .extend(value.map(|value| (name.clone(), value)));
            },
            (Some(document), None, Some(allow)) => {
                document.allow = Some(String::from_utf8_lossy(allow).into_owned());
            },
            _ if depth == DEEPEST => break,
            _ => chain.push(Document {
                origin: origin_of(&String::from_utf8_lossy(line)),
                fields: Vec::new(),
                allow: None,
            }),
        }
    }
    chain
}

/// The policies of the documents, from the outermost, each with the policy of its navigation.
fn policies(chain: &[Document]) -> Vec<(ProfilingPolicy, ProfilingPolicy)> {
    let mut navigation = ProfilingPolicy::default();
    let mut policies = Vec::new();
    for (index, document) in chain.iter().enumerate() {
        let headers = headers(&document.fields);
        let policy = for_document(Some(&headers), &document.origin, &navigation, index == 0);
        let next = chain.get(index + 1);
        let allow = document.allow.as_deref();
        let next = next.map(|next| {
            let allow = allow.map(|allow| (allow, &next.origin));
            for_frame(&policy, &policy, &document.origin, allow)
        });
        let brought = std::mem::replace(&mut navigation, next.unwrap_or_default());
        policies.push((policy, brought));
    }
    policies
}

fn mode(chain: &[Document]) -> Option<ProfilingMode> {
    policies(chain).last().and_then(|(policy, _)| policy.mode)
}

pub fn frames(input: &[u8]) -> bool {
    let chain = chain(input);
    let Some((innermost, outer)) = chain.split_last() else {
        return false;
    };
    let policies = policies(&chain);
    let (policy, navigation) = policies.last().unwrap();
    let (policy, navigation, origin) = (policy, navigation, &innermost.origin);

    check_response(&innermost.fields);
    check_inheritance(policy, origin, navigation, outer.is_empty());
    let text = String::from_utf8_lossy(input);
    check_refusal(policy, origin, Environment::Document, &text);

    if policy.mode.is_some() {
        assert!(
            names_the_feature(&innermost.fields),
            "granted by headers that do not name it"
        );
        let by_itself = top_level_mode(&innermost.fields, origin);
        assert_eq!(policy.mode, by_itself, "not the mode of its own headers");
    }
    let by_own_header = policy
        .headers
        .iter()
        .any(|header| matches!(header.declaration, Declaration::Enabled(_)));
    if policy.mode.is_some() && !by_own_header {
        // It was granted by allowlists. So every document around it may profile too, and delegates the permission.
        for (document, (policy, _)) in outer.iter().zip(&policies) {
            assert!(policy.mode.is_some(), "granted inside a refused document");
            let allow = document.allow.as_deref().unwrap_or_default();
            assert!(allow.contains("js-profiling"), "granted without allow");
        }
    }

    // A denial anywhere, in the innermost document or in one around it, wins.
    for index in [0, outer.len() / 2, outer.len()] {
        let denials = [
            (&DOCUMENT_POLICY, "js-profiling=?0"),
            (&PERMISSIONS_POLICY, "js-profiling=()"),
            (&FEATURE_POLICY, "js-profiling 'none'"),
        ];
        for (name, denial) in denials {
            let mut denied = chain.clone();
            let fields = &mut denied[index].fields;
            *fields = with(&without(fields, name), name, denial);
            assert_eq!(
                mode(&denied),
                None,
                "{index}: granted beside {name}: {denial}"
            );
        }
        if index < outer.len() {
            let mut denied = chain.clone();
            let allow = denied[index].allow.take().unwrap_or_default();
            denied[index].allow = Some(format!("{allow};js-profiling 'none'"));
            assert_eq!(mode(&denied), None, "{index}: granted by 'none'");
        }
    }

    // An outer document whose list excludes the document changes nothing for a document whose own Document-Policy
    // enables it. Any other document loses the permission.
    for (name, list) in [
        (
            &PERMISSIONS_POLICY,
            "js-profiling=(self \"https://elsewhere.example\")",
        ),
        (&FEATURE_POLICY, "js-profiling https://elsewhere.example"),
    ] {
        let outermost = Document {
            origin: origin_of("https://outermost.example"),
            fields: vec![field(name, list)],
            allow: Some("js-profiling *".to_owned()),
        };
        let mut listed = vec![outermost];
        listed.extend(chain.iter().cloned());
        let is_listed = ["https://outermost.example", "https://elsewhere.example"]
            .map(origin_of)
            .contains(origin);
        if !is_listed {
            let expected = policy.mode.filter(|_| by_own_header);
            assert_eq!(mode(&listed), expected, "{name}: {list}");
        }
    }

    // One more document around all of them that grants everything changes nothing.
    let outermost = Document {
        origin: OWN.clone(),
        fields: vec![field(&PERMISSIONS_POLICY, "js-profiling=*")],
        allow: Some("js-profiling *".to_owned()),
    };
    let mut deeper = vec![outermost];
    deeper.extend(chain.iter().cloned());
    assert_eq!(
        mode(&deeper),
        policy.mode,
        "an embedder that grants everything changes the result"
    );
    // An outermost document without headers gives nobody more.
    deeper[0].fields.clear();
    let within = mode(&deeper);
    assert!(within.is_none() || within == policy.mode);
    assert!(within.is_none() || by_own_header);
    policy.mode.is_some()
}
