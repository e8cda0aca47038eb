/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Even without a window, Servo's rendering looks for a Wayland display. libwayland looks in the folder that
//! XDG_RUNTIME_DIR names, and prints an error if that is not an absolute path.
//! <https://gitlab.freedesktop.org/wayland/wayland/-/blob/1.22.0/src/wayland-client.c#L1103>
//!
//! A program cannot safely set a variable of its own environment. So it starts itself again, in the same
//! process, with the variable set.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const RUNTIME_FOLDER: &str = "XDG_RUNTIME_DIR";

/// Debian's name for a folder that does not exist. Only root could make it.
const NO_FOLDER: &str = "/nonexistent";

/// Takes back what [`prepare`] has set, for a program that has a window.
pub fn undo(command: &mut Command) {
    if env::var_os(RUNTIME_FOLDER).is_some_and(|folder| folder == NO_FOLDER) {
        command.env_remove(RUNTIME_FOLDER);
    }
}

/// For a run without a window: starts this program again, in this process, if libwayland would print its error.
/// Otherwise it returns. It also returns if that is not possible: the error does no harm.
pub fn prepare() {
    let names_path =
        |variable| env::var_os(variable).is_some_and(|value| Path::new(&value).is_absolute());
    if names_path(RUNTIME_FOLDER) || names_path("WAYLAND_DISPLAY") {
        return;
    }
    let Ok(program) = env::current_exe() else {
        return;
    };
    let mut arguments = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    // Returns only an error.
    let _ = command
        .args(arguments)
        .env(RUNTIME_FOLDER, NO_FOLDER)
        .exec();
}
