/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The checks of the fuzz targets: one function per target, which panics if something is wrong. It returns whether the
//! input is accepted: it is read to its end, or grants what the policy is about.
//!
//! If a parser reads text, the inputs are text, so that people can write and read a corpus. The checks use the
//! public functions of a crate, and do not depend on how it parses. They are a separate crate so that
//! `./mach test-unit` can run them over `corpus/` without building anything for fuzzing.

#![deny(unsafe_code)]

// Rebuilt in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod address;
mod allow_attribute;
mod command_line;
mod document_policy;
mod envelope;
mod feature_policy;
mod frames;
mod permissions_policy;
mod profiles;
mod profiling_query;
mod reports;
mod requests;
mod response;
mod source_map;

pub use address::address;
pub use allow_attribute::allow_attribute;
pub use command_line::command_line;
pub use document_policy::document_policy;
pub use envelope::envelope;
pub use feature_policy::feature_policy;
pub use frames::frames;
pub use permissions_policy::permissions_policy;
pub use profiles::{
    any_profile, chrome_trace, collapsed, cpuprofile, firefox, hermes, html, pprof, speedscope,
    web_trace,
};
pub use profiling_query::profiling_query;
pub use reports::reports;
pub use requests::requests;
pub use source_map::source_map;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// `accepted` is how many of the inputs are accepted. If a parser refuses everything, its other checks pass, too.
    fn check_corpus(target: &str, check: fn(&[u8]) -> bool, accepted: usize) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../corpus")
            .join(target);
        let mut found = 0;
        for file in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            // The name is shown if the check panics.
            println!("{}", file.path().display());
            let is_accepted = check(&fs::read(file.path()).unwrap());
            println!("  {}", if is_accepted { "accepted" } else { "refused" });
            found += usize::from(is_accepted);
        }
        assert!(accepted > 0);
        assert_eq!(found, accepted, "inputs of {target} that are accepted");
    }

    #[test]
    fn address_corpus() {
        check_corpus("address", address, 11);
    }

    #[test]
    fn allow_attribute_corpus() {
        check_corpus("allow_attribute", allow_attribute, 16);
    }

    #[test]
    fn any_profile_corpus() {
        check_corpus("any_profile", any_profile, 12);
    }

    #[test]
    fn chrome_trace_corpus() {
        check_corpus("chrome_trace", chrome_trace, 4);
    }

    #[test]
    fn collapsed_corpus() {
        check_corpus("collapsed", collapsed, 335);
    }

    #[test]
    fn command_line_corpus() {
        check_corpus("command_line", command_line, 12);
    }

    #[test]
    fn cpuprofile_corpus() {
        check_corpus("cpuprofile", cpuprofile, 8);
    }

    #[test]
    fn document_policy_corpus() {
        check_corpus("document_policy", document_policy, 10);
    }

    #[test]
    fn envelope_corpus() {
        check_corpus("envelope", envelope, 7);
    }

    #[test]
    fn feature_policy_corpus() {
        check_corpus("feature_policy", feature_policy, 15);
    }

    #[test]
    fn firefox_corpus() {
        check_corpus("firefox", firefox, 13);
    }

    #[test]
    fn frames_corpus() {
        check_corpus("frames", frames, 13);
    }

    #[test]
    fn hermes_corpus() {
        check_corpus("hermes", hermes, 2);
    }

    #[test]
    fn html_corpus() {
        check_corpus("html", html, 6);
    }

    #[test]
    fn permissions_policy_corpus() {
        check_corpus("permissions_policy", permissions_policy, 15);
    }

    #[test]
    fn pprof_corpus() {
        check_corpus("pprof", pprof, 6);
    }

    #[test]
    fn profiling_query_corpus() {
        check_corpus("profiling_query", profiling_query, 7);
    }

    #[test]
    fn reports_corpus() {
        check_corpus("reports", reports, 13);
    }

    #[test]
    fn requests_corpus() {
        check_corpus("requests", requests, 74);
    }

    #[test]
    fn source_map_corpus() {
        check_corpus("source_map", source_map, 23);
    }

    #[test]
    fn speedscope_corpus() {
        check_corpus("speedscope", speedscope, 9);
    }

    #[test]
    fn web_trace_corpus() {
        check_corpus("web_trace", web_trace, 8);
    }
}
