/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Writes the man pages and the shell completions of `strobe-tool`.

#![deny(unsafe_code)]

#[path = "../../../packaging/command_docs/docs.rs"]
mod docs;

use std::process::ExitCode;

fn main() -> ExitCode {
    docs::main(strobe_tool::command)
}
