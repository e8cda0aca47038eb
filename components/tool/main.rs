/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `strobe-tool`: reads saved profiles, without a browser. `strobe-tool --help` lists what it does.

#![deny(unsafe_code)]

use std::env;
use std::process::ExitCode;

fn main() -> ExitCode {
    strobe_tool::run(env::args_os())
}
