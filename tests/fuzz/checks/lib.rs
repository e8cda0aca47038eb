/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the fuzz targets check: a function per target, which panics where something is not as it must
//! be.
//!
//! Inputs are text, so that a corpus can be written and read by people. The checks go through the public
//! functions of a crate, and know nothing of how it parses. They are a crate of their own so that
//! `./mach test-unit` runs them over `corpus/` without building anything for fuzzing.

#![deny(unsafe_code)]

// Built anew in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

mod allow_attribute;
mod document_policy;
mod feature_policy;
mod frames;
mod permissions_policy;
mod response;

pub use allow_attribute::allow_attribute;
pub use document_policy::document_policy;
pub use feature_policy::feature_policy;
pub use frames::frames;
pub use permissions_policy::permissions_policy;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn check_corpus(target: &str, check: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../corpus")
            .join(target);
        let files: Vec<_> = fs::read_dir(&folder).unwrap().map(Result::unwrap).collect();
        assert!(!files.is_empty(), "{target} has no corpus");
        for file in files {
            // Shown if it panics.
            println!("{}", file.path().display());
            check(&fs::read(file.path()).unwrap());
        }
    }

    #[test]
    fn allow_attribute_corpus() {
        check_corpus("allow_attribute", allow_attribute);
    }

    #[test]
    fn document_policy_corpus() {
        check_corpus("document_policy", document_policy);
    }

    #[test]
    fn feature_policy_corpus() {
        check_corpus("feature_policy", feature_policy);
    }

    #[test]
    fn frames_corpus() {
        check_corpus("frames", frames);
    }

    #[test]
    fn permissions_policy_corpus() {
        check_corpus("permissions_policy", permissions_policy);
    }
}
