/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Makes the list of the files that the viewer's page names, which the compiler then takes in: one that is
//! not there is its error.

use std::env;
use std::fmt::Write;
use std::fs;
use std::path::Path;

// Reading the variable makes Cargo rebuild this script in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

const PAGE: &str = "about-profiling.html";

fn main() {
    let variable = |name| env::var(name).expect("Cargo sets it");
    let folder = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../../resources/about-profiling");
    let file = |name: &str| {
        let file = folder.join(name);
        file.to_str().expect("a path that is text").to_owned()
    };
    println!("cargo::rerun-if-changed={}", file(PAGE));
    // Another checkout has a page of its own.
    println!("cargo::rerun-if-env-changed=STROBE_CHECKOUT");
    let page = fs::read_to_string(file(PAGE)).unwrap_or_else(|error| panic!("{PAGE}: {error}"));

    let mut list = format!("const PAGE: &str = include_str!({:?});\n", file(PAGE));
    list += "const RESOURCES: &[(&str, &str, &str)] = &[\n";
    for line in page.lines().map(str::trim_ascii) {
        if let Some((element, name)) = resource(line) {
            let file = file(name);
            writeln!(list, "({line:?}, {element:?}, include_str!({file:?})),")
                .expect("it is in memory");
        }
    }
    list += "];\n";
    let list_file = Path::new(&variable("OUT_DIR")).join("viewer_resources.rs");
    fs::write(&list_file, list).unwrap_or_else(|error| panic!("{}: {error}", list_file.display()));
}

/// The element that takes the place of a line of the page, and the file that the line names.
fn resource(line: &str) -> Option<(&str, &str)> {
    let between = |start: &str, end: &str| line.strip_prefix(start)?.strip_suffix(end);
    let stylesheet = between(r#"<link rel="stylesheet" href=""#, r#"">"#);
    let script = between(r#"<script src=""#, r#""></script>"#);
    stylesheet
        .map(|name| ("style", name))
        .or_else(|| script.map(|name| ("script", name)))
}
