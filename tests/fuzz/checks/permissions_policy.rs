/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each line of an input is a `Permissions-Policy` header of the same response.

use profiling_policy_traits::{Declaration, ProfilingMode};

use crate::response::*;

pub fn permissions_policy(input: &[u8]) -> bool {
    let fields = field_lines(&PERMISSIONS_POLICY, input);
    check_response(&fields);

    let value = value_of(&fields, &PERMISSIONS_POLICY);
    let and_all = with(&fields, &PERMISSIONS_POLICY, "js-profiling=*");
    let is_malformed_before = is_malformed_dictionary(&value_of(&and_all, &PERMISSIONS_POLICY));
    let mut is_accepted = false;
    for origin in origins() {
        let declared = declaration(&fields, origin);
        let mode = top_level_mode(&fields, origin);
        match declared {
            Declaration::Enabled(_) => panic!("not an allowlist: {declared:?}"),
            Declaration::For(_) => {},
            Declaration::Disabled => assert_eq!(mode, None),
            Declaration::Absent | Declaration::Malformed(_) => assert_eq!(mode, None),
        }
        assert_ne!(mode, Some(ProfilingMode::Eager));
        is_accepted |= mode.is_some();
        if !origin.is_tuple() && mode.is_some() {
            assert!(
                value.contains(&b'*'),
                "granted to an opaque origin without *"
            );
        }

        // The last member with a name counts.
        let denied = with(&fields, &PERMISSIONS_POLICY, "js-profiling=()");
        assert_eq!(
            top_level_mode(&denied, origin),
            None,
            "granted after a denial"
        );
        let expected = (!is_malformed_before).then_some(ProfilingMode::Lazy);
        assert_eq!(top_level_mode(&and_all, origin), expected);

        let eager = with(&fields, &DOCUMENT_POLICY, "js-profiling");
        let is_list = matches!(declared, Declaration::For(_) | Declaration::Disabled);
        let is_denied = is_list && mode.is_none();
        let expected = (!is_denied).then_some(ProfilingMode::Eager);
        assert_eq!(top_level_mode(&eager, origin), expected);

        if !is_malformed_dictionary(&value) && !value.trim_ascii().is_empty() {
            let more = with(&fields, &PERMISSIONS_POLICY, "camera=*;report-to=x");
            assert_eq!(
                declaration(&more, origin),
                declared,
                "an unrelated member changes the result"
            );
        }
    }
    is_accepted
}
