/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is the `allow` attribute of an iframe element, in a document that grants everything.

use profiling_policy::{Environment, for_document, for_frame};
use profiling_policy_traits::{Declaration, ProfilingPolicy};
use servo_url::ImmutableOrigin;

use crate::response::*;

const GRANTS: [Field; 1] = [(
    PERMISSIONS_POLICY,
    http::HeaderValue::from_static("js-profiling=*"),
)];

/// The policy of a document of `origin` in a frame whose element has the source origin `target`.
fn framed(
    allow: &str,
    target: &ImmutableOrigin,
    origin: &ImmutableOrigin,
    fields: &[Field],
) -> (ProfilingPolicy, ProfilingPolicy) {
    let parent = top_level(&GRANTS, &OWN);
    let navigation = for_frame(&parent, &parent, &OWN, Some((allow, target)));
    let policy = for_document(Some(&headers(fields)), origin, &navigation, false);
    (policy, navigation)
}

pub fn allow_attribute(input: &[u8]) -> bool {
    let mut is_accepted = false;
    let allow = String::from_utf8_lossy(input.strip_suffix(b"\n").unwrap_or(input));
    for target in origins() {
        for origin in origins() {
            let (policy, navigation) = framed(&allow, target, origin, &GRANTS);
            let mode = policy.mode;
            let declared = |allow: &str| {
                let (policy, _) = framed(allow, target, origin, &GRANTS);
                policy.embedders[0].allow.clone().unwrap().declaration
            };
            let mode_of = |allow: &str| framed(allow, target, origin, &GRANTS).0.mode;
            let declaration = declared(&allow);
            let is_silent = match &declaration {
                Declaration::Absent => true,
                Declaration::Disabled | Declaration::For(_) => false,
                declaration => panic!("{declaration:?}"),
            };

            if mode.is_some() {
                is_accepted = true;
                assert!(
                    allow.contains("js-profiling"),
                    "granted without the feature's name"
                );
                let has_star = allow.contains('*');
                assert!(
                    has_star || origin.is_tuple(),
                    "granted to an opaque origin without *"
                );
                if origin != target && *origin != *OWN {
                    let names_origin = allow.to_ascii_lowercase().contains("https:");
                    assert!(
                        has_star || names_origin,
                        "granted to a third origin that is not named"
                    );
                }
            }
            // A document's own response is enough without the attribute, but does not overrule a denial in it.
            let own = [field(&DOCUMENT_POLICY, "js-profiling")];
            let by_own = framed(&allow, target, origin, &own).0.mode;
            assert_eq!(by_own.is_none(), declaration == Declaration::Disabled);

            for denied in [
                format!("{allow};js-profiling 'none'"),
                format!("js-profiling 'NONE' ;{allow}"),
            ] {
                assert_eq!(mode_of(&denied), None, "granted by {denied:?}");
                let (policy, _) = framed(&denied, target, origin, &own);
                assert_eq!(policy.mode, None, "its own header overrules {denied:?}");
            }
            let and_all = mode_of(&format!("{allow}; js-profiling *"));
            if is_silent {
                assert_eq!(mode, None);
                assert!(and_all.is_some());
            } else {
                assert_eq!(and_all, mode, "a second declaration grants more");
            }
            for same in [
                format!("{allow};"),
                format!("camera *; {allow} ; usb 'none'"),
            ] {
                assert_eq!(declared(&same), declaration, "{same:?} is not the same");
            }

            check_inheritance(&policy, origin, &navigation, false);
            check_refusal(&policy, origin, Environment::Document, &allow);
        }
    }
    is_accepted
}
