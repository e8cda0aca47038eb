/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each line of an input is a `Feature-Policy` header of the same response.

use profiling_policy_traits::{Declaration, ProfilingMode};

use crate::response::*;

pub fn feature_policy(input: &[u8]) -> bool {
    let fields = field_lines(&FEATURE_POLICY, input);
    check_response(&fields);

    let value = value_of(&fields, &FEATURE_POLICY);
    let mut is_accepted = false;
    for origin in origins() {
        let declared = declaration(&fields, origin);
        let mode = top_level_mode(&fields, origin);
        assert_ne!(mode, Some(ProfilingMode::Eager));
        is_accepted |= mode.is_some();
        let is_silent = match &declared {
            Declaration::For(_) | Declaration::Disabled => false,
            Declaration::Absent => true,
            declared => panic!("neither absent nor an allowlist: {declared:?}"),
        };
        if !origin.is_tuple() && mode.is_some() {
            assert!(
                value.contains(&b'*'),
                "granted to an opaque origin without *"
            );
        }

        // Every declaration must enable the feature.
        let denied = with(&fields, &FEATURE_POLICY, "js-profiling 'none'");
        assert_eq!(
            top_level_mode(&denied, origin),
            None,
            "granted after a denial"
        );
        let and_all = with(&fields, &FEATURE_POLICY, "js-profiling *");
        let expected = if is_silent {
            Some(ProfilingMode::Lazy)
        } else {
            mode
        };
        assert_eq!(top_level_mode(&and_all, origin), expected);

        let eager = with(&fields, &DOCUMENT_POLICY, "js-profiling");
        let expected = (is_silent || mode.is_some()).then_some(ProfilingMode::Eager);
        assert_eq!(top_level_mode(&eager, origin), expected);

        let more = with(&fields, &FEATURE_POLICY, "camera *; usb 'none'");
        assert_eq!(
            declaration(&more, origin),
            declared,
            "another feature changes the result"
        );
    }
    is_accepted
}
