/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Every error that a page can cause by asking for a profiler, in both ways.

use browser_tests::{Site, Trace, visit_allowed};
use serde_json::{Value, json};

/// The outcomes of the constructor and of `performance.profile()` for the arguments that a page tries.
struct Outcomes(Value);

impl Outcomes {
    fn assert_error(&self, arguments: &str, name: &str, types: &[&str], in_message: &[&str]) {
        for (way, how) in [("constructor", "throws"), ("profile", "rejects")] {
            let outcome = &self.0[way][arguments];
            assert_eq!(outcome["how"], how, "{way}, {arguments}: {outcome}");
            assert_eq!(outcome["name"], name, "{way}, {arguments}: {outcome}");
            assert_eq!(
                outcome["types"],
                json!(types),
                "{way}, {arguments}: {outcome}"
            );
            let message = outcome["message"].as_str().unwrap();
            for part in in_message {
                assert!(
                    message.contains(part),
                    "{way}, {arguments}: {part} is not in: {message}"
                );
            }
        }
    }
}

fn all_but_valid(outcomes: &Outcomes) {
    let type_error = |arguments, in_message: &[&str]| {
        outcomes.assert_error(arguments, "TypeError", &["TypeError"], in_message);
    };
    type_error("nothing", &[]);
    type_error("undefined", &[]);
    type_error("null", &[]);
    type_error("a number", &[]);
    type_error("no members", &[]);
    type_error("no sampleInterval", &["sampleInterval"]);
    type_error("no maxBufferSize", &["maxBufferSize"]);
    type_error("undefined sampleInterval", &["sampleInterval"]);
    type_error("NaN as sampleInterval", &[]);
    type_error("infinite sampleInterval", &[]);
    type_error("a symbol as sampleInterval", &[]);
    type_error("a symbol as maxBufferSize", &[]);
    type_error("a big integer as maxBufferSize", &[]);
    type_error("a symbol as name", &[]);
    type_error("an unknown format", &["object"]);
    // Web IDL conversion comes before the check of the range.
    type_error("an unknown format and a negative sampleInterval", &["json"]);
    // An exception of a getter is passed on.
    outcomes.assert_error(
        "a throwing getter",
        "EvalError",
        &["EvalError"],
        &["thrown"],
    );
    let without_new = &outcomes.0["constructor"]["without new"];
    assert_eq!(
        [&without_new["how"], &without_new["name"]],
        ["throws", "TypeError"]
    );
    let of_another = &outcomes.0["profile"]["of another object"];
    assert_eq!(
        [&of_another["how"], &of_another["name"]],
        ["rejects", "TypeError"]
    );
}

#[test]
fn a_missing_member_is_a_type_error_and_a_negative_interval_a_range_error() {
    let outcomes = Outcomes(visit_allowed("/errors.html"));
    let valid = |way: &str| outcomes.0[way]["valid"].clone();
    assert_eq!(
        valid("constructor"),
        json!({ "how": "gives", "isProfiler": true })
    );
    assert_eq!(
        valid("profile"),
        json!({ "how": "resolves", "isProfiler": true })
    );
    all_but_valid(&outcomes);
    for (arguments, interval) in [
        ("negative sampleInterval", "-1"),
        ("slightly negative sampleInterval", "-0.001"),
    ] {
        outcomes.assert_error(
            arguments,
            "RangeError",
            &["RangeError"],
            &["sampleInterval", interval],
        );
    }
}

#[test]
fn a_page_that_may_not_profile_is_told_so_in_each_way() {
    let site = Site::plain().serve();
    let outcomes = Outcomes(site.visit("/errors.html").run());
    let message = "JS profiling is disabled by Document Policy.";
    assert_eq!(
        outcomes.0["constructor"]["valid"],
        json!({
            "how": "throws", "name": "NotAllowedError", "message": message, "types": ["DOMException"],
        })
    );
    let refused = &outcomes.0["profile"]["valid"];
    assert_eq!(
        [&refused["how"], &refused["name"]],
        ["rejects", "SecurityError"]
    );
    assert_eq!(refused["types"], json!(["DOMException"]));
    assert_ne!(refused["message"], "");
    // Web IDL conversion comes before the check of the policy.
    all_but_valid(&outcomes);
}

#[test]
fn the_101st_profiler_at_once_is_a_type_error() {
    let result = visit_allowed("/concurrent.html");
    let message = "Reached maximum concurrent amount of profilers";
    let refusals = json!([
        { "how": "throws", "isTypeError": true, "message": message },
        { "how": "rejects", "isTypeError": true, "message": message },
    ]);
    for when in ["whenAllRun", "whenAllRunAgain", "whenOneIsFull"] {
        assert_eq!(result[when], refusals, "{when}");
    }
    for trace in result["traces"].as_array().unwrap() {
        Trace::read(trace);
    }
}
