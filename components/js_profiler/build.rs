/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Compiles the C++ glue against the SpiderMonkey that the hooked mozjs_sys was built from, and declares it in Rust.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{env, fs};

use bindgen::callbacks::{DeriveInfo, EnumVariantValue, ParseCallbacks};

// Reading the variable makes Cargo rebuild this script in every checkout: see the generated .cargo/config.toml.
const _: Option<&str> = option_env!("STROBE_CHECKOUT");

const SOURCES: [&str; 5] = [
    "code_tables.cpp",
    "natives.cpp",
    "script_sources.cpp",
    "trace_objects.cpp",
    "wasm_frames.cpp",
];

/// What nearly every walk runs. In the program this code is in one piece, so that it can be prefetched.
const WALK_SOURCES: [&str; 8] = [
    "cells.cpp",
    "frame_text.cpp",
    "interpreter_frames.cpp",
    "jit_code.cpp",
    "jit_frames.cpp",
    "native_frames.cpp",
    "stack_writer.cpp",
    "table_walk.cpp",
];

/// The environment variable that holds further flags for the compiler.
const MORE_FLAGS: &str = "STROBE_GLUE_FLAGS";

fn main() {
    let variable = |name: &str| {
        let hint = "is mozjs_sys hooked? run ./mach bootstrap";
        PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: {hint}")))
    };
    let build = variable("DEP_MOZJS_OUTDIR");
    let source = variable("DEP_MOZJS_SRCDIR");
    let encoding_c_mem = variable("DEP_ENCODING_C_MEM_INCLUDE_DIR");

    let mut glue = cc::Build::new();
    glue.cpp(true)
        .std("gnu++20")
        .pic(true)
        // One text, because the engine's headers take nearly all of the time.
        .file(unified(&variable("OUT_DIR")))
        .include("spidermonkey");
    // The engine's headers: public ones, internal ones, and those its build generated.
    for path in [
        build.join("dist/include"),
        build.join("js/src"),
        source.join("js/src"),
        encoding_c_mem,
    ] {
        // As system headers, so that their warnings are not reported.
        glue.flag("-isystem").flag(path);
    }
    glue.flag("-include")
        .flag(build.join("js/src/js-confdefs.h"))
        // The engine itself is compiled with these; a difference would give another layout of its structures.
        .define("STATIC_JS_API", None)
        .define("NDEBUG", "1")
        .define("TRIMMED", "1")
        .define("WASM_SUPPORTS_HUGE_MEMORY", None)
        .define("MOZ_HAS_MOZGLUE", None);
    for flag in [
        "-fno-rtti",
        "-fno-exceptions",
        "-fno-sized-deallocation",
        "-fno-aligned-new",
        "-fno-strict-aliasing",
        "-Wno-invalid-offsetof",
    ] {
        glue.flag(flag);
    }
    // Sanitizers need flags of their own: see python/strobe/checks/sanitizers.py.
    let more = env::var(MORE_FLAGS).unwrap_or_default();
    for flag in more.split_whitespace() {
        glue.flag(flag);
    }
    // A thread stands still during the walk, so the walk must be fast even in a dev build.
    glue.opt_level(2).warnings(true).compile("strobe_glue");
    declare(variable("OUT_DIR").join("glue.rs"));

    // Another checkout has glue of its own.
    println!("cargo::rerun-if-env-changed=STROBE_CHECKOUT");
    println!("cargo::rerun-if-env-changed={MORE_FLAGS}");
    // Not the whole folder: the list of what the walk may call is there, too.
    for entry in fs::read_dir("spidermonkey").expect("the folder is there") {
        let file = entry.expect("its entries can be read").path();
        if matches!(file.extension().and_then(OsStr::to_str), Some("cpp" | "h")) {
            println!("cargo::rerun-if-changed={}", file.display());
        }
    }
}

/// A source file that includes all sources, those of the walk last. So two of them may not define the same name.
fn unified(folder: &Path) -> PathBuf {
    let file = folder.join("unified.cpp");
    let include = |name: &&str| format!("#include \"{name}\"\n");
    let mut lines: Vec<_> = SOURCES.iter().map(include).collect();
    lines.push("void strobe_walk_code_begin() {}\n".to_owned());
    lines.extend(WALK_SOURCES.iter().map(include));
    lines.push("void strobe_walk_code_end() {}\n".to_owned());
    fs::write(&file, lines.concat()).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    file
}

/// Writes the declarations of `glue.h` in Rust.
fn declare(file: PathBuf) {
    let glue = bindgen::builder()
        .header("spidermonkey/glue.h")
        .clang_args(["-x", "c++", "-std=gnu++20", "-fparse-all-comments"])
        .allowlist_item("(Strobe|STROBE_|strobe_).*")
        // These are written in Rust.
        .blocklist_type("JSContext|JSObject|StrobeRegisters|StrobeStopped")
        .blocklist_function("strobe_function_begin|strobe_unwind")
        .rustified_enum(".*")
        .formatter(bindgen::Formatter::None)
        .parse_callbacks(Box::new(ForRust))
        .generate()
        .expect("glue.h has declarations that bindgen knows");
    glue.write_to_file(file)
        .expect("the declarations can be written");
}

/// What the declarations have in Rust and not in C++.
#[derive(Debug)]
struct ForRust;

impl ParseCallbacks for ForRust {
    /// `STROBE_FRAME_SELF_HOSTED` is `StrobeFrameKind::SelfHosted`.
    fn enum_variant_name(
        &self,
        _: Option<&str>,
        name: &str,
        _: EnumVariantValue,
    ) -> Option<String> {
        let words = name.split('_').skip(2);
        let capitalised = words.map(|word| word[..1].to_owned() + &word[1..].to_lowercase());
        Some(capitalised.collect())
    }

    fn add_derives(&self, info: &DeriveInfo<'_>) -> Vec<String> {
        let derives: &[&str] = match info.name {
            "StrobeCodeRange" => &["Default"],
            "StrobeFrameKind" => &["MallocSizeOf"],
            "StrobeFramePlace" => &["Eq", "MallocSizeOf", "PartialEq"],
            "StrobeFunctionKey" => &["Eq", "Hash", "MallocSizeOf", "PartialEq"],
            "StrobeKeptFrame" => &["Default"],
            "StrobeKnownPosition" => &["Default", "MallocSizeOf"],
            "StrobePlaceKind" => &["MallocSizeOf"],
            "StrobePosition" => &["Default", "Eq", "Hash", "MallocSizeOf", "PartialEq"],
            _ => &[],
        };
        derives.iter().map(|&derive| derive.to_owned()).collect()
    }
}
