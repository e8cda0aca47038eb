/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The two formats of a trace.

use std::collections::HashMap;

use browser_tests::{Trace, alone, visit_allowed};
use serde_json::{Value, json};

/// The stack of each timestamp of a trace.
fn moments(trace: &Trace) -> HashMap<u64, Vec<&str>> {
    let moments = trace.samples.iter();
    moments
        .map(|sample| (sample.timestamp.to_bits(), trace.labels(sample)))
        .collect()
}

#[test]
fn compressed_json_says_what_the_object_says() {
    let _alone = alone();
    let result = visit_allowed("/formats.html");
    assert_eq!(result["isBuffer"], "[object ArrayBuffer]");
    assert_eq!(result["isSame"], true);
    assert_eq!(result["isEntrysTrace"], true);
    // RFC 1952: the two magic bytes of gzip, and the method deflate.
    assert_eq!(result["head"], json!([0x1f, 0x8b, 8]));
    assert_eq!(result["isStringified"], true, "{}", result["text"]);
    assert_eq!(result["orders"][0], result["orders"][1]);
    assert_eq!(result["isOtherPlain"], true);

    let text: Value = serde_json::from_str(result["text"].as_str().unwrap()).unwrap();
    let (zipped, plain) = (Trace::read(&text), Trace::read(&result["trace"]));
    zipped.assert_sampled(&["work"]);
    for name in ["inner", "outer", "sort"] {
        assert_eq!(zipped.frame(name).line, plain.frame(name).line, "{name}");
    }
    // Sessions with the same interval are sampled together while both run. Only its first sample is a session's own.
    let plain_moments = moments(&plain);
    let first = plain.samples[1].timestamp;
    let common: Vec<_> = zipped
        .samples
        .iter()
        .filter(|sample| sample.timestamp >= first)
        .collect();
    assert!(common.len() > 50, "{zipped:?}");
    for sample in common {
        let moment = plain_moments.get(&sample.timestamp.to_bits());
        assert_eq!(moment, Some(&zipped.labels(sample)), "{sample:?}");
    }
}

#[test]
fn a_full_session_has_its_bytes_in_the_timeline() {
    let result = visit_allowed("/formats.html");
    assert_eq!(
        result["full"],
        json!({ "isSame": true, "sampleCount": 3, "samples": 3, "json": false })
    );
}

#[test]
fn an_unknown_format_is_a_type_error() {
    let result = visit_allowed("/formats.html");
    assert_eq!(result["rejections"], json!(vec!["TypeError"; 6]));
}
