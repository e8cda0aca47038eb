/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each line of an input is a `Document-Policy` header of the same response.

use profiling_policy::for_worker;
use profiling_policy_traits::{Declaration, ProfilingMode};
use sfv::BareItem;

use crate::response::*;

pub fn document_policy(input: &[u8]) -> bool {
    let fields = field_lines(&DOCUMENT_POLICY, input);
    check_response(&fields);

    let value = value_of(&fields, &DOCUMENT_POLICY);
    let declared = declaration(&fields, &OWN);
    let mode = top_level_mode(&fields, &OWN);
    let names_mode = contains(&value, "js-profiling-mode");

    // The header applies to the document itself, whatever its origin, and to workers.
    for origin in origins() {
        assert_eq!(top_level_mode(&fields, origin), mode);
        assert_eq!(for_worker(&headers(&fields), origin).mode, mode);
    }
    match &declared {
        Declaration::Enabled(declared) => assert_eq!(mode, Some(*declared)),
        Declaration::For(_) => panic!("an allowlist: {declared:?}"),
        _ => assert_eq!(mode, None),
    }
    if mode == Some(ProfilingMode::Lazy) {
        assert!(names_mode, "lazy without the mode's name");
    }

    if has_other_value(&value, "js-profiling", |item| {
        matches!(item, BareItem::Boolean(_))
    }) || has_other_value(
        &value,
        "js-profiling-mode",
        |item| matches!(item, BareItem::Token(mode) if ["eager", "lazy"].contains(&mode.as_str())),
    ) {
        assert_eq!(mode, None, "granted by an invalid header");
    }

    // No other header grants what it denies. If it does not name the feature, other headers decide.
    let and_all = with(&fields, &PERMISSIONS_POLICY, "js-profiling=*");
    let expected = match &declared {
        Declaration::Disabled => None,
        _ => mode.or(Some(ProfilingMode::Lazy)),
    };
    assert_eq!(top_level_mode(&and_all, &OWN), expected);

    // The last member with a name counts, and the mode wins.
    let denied = with(&fields, &DOCUMENT_POLICY, "js-profiling=?0");
    if !names_mode {
        assert_eq!(
            top_level_mode(&denied, &OWN),
            None,
            "granted after a denial"
        );
    }
    if is_malformed_dictionary(&value) || value.trim_ascii().is_empty() {
        return mode.is_some();
    }
    let more = with(&fields, &DOCUMENT_POLICY, "sync-xhr=?0;report-to=x");
    assert_eq!(
        declaration(&more, &OWN),
        declared,
        "an unrelated member changes the result"
    );
    if !matches!(declared, Declaration::Malformed(_)) {
        let lazy = with(&fields, &DOCUMENT_POLICY, "js-profiling-mode=lazy");
        assert_eq!(top_level_mode(&lazy, &OWN), Some(ProfilingMode::Lazy));
    }
    mode.is_some()
}
