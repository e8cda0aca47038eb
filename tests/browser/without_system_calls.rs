/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Executes another program, for which the kernel refuses some system calls, as a sandbox would:
//!
//! ```text
//! without_system_calls process_vm_readv,setpriority PROGRAM ARGUMENTS…
//! ```

#![deny(unsafe_code)]

use std::env;
use std::error::Error;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let names = arguments
        .next()
        .ok_or("names of system calls are missing")?;
    let names = names.into_string().map_err(|_| "a name is not Unicode")?;
    let program = arguments.next().ok_or("the program is missing")?;
    let numbers = names.split(',').map(number);
    let rules = numbers.map(|number| number.map(|number| (number, Vec::new())));
    let filter = SeccompFilter::new(
        rules.collect::<Result<_, _>>()?,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        env::consts::ARCH.try_into()?,
    )?;
    seccompiler::apply_filter(&BpfProgram::try_from(filter)?)?;
    // This returns only if it fails.
    Err(Command::new(program).args(arguments).exec().into())
}

fn number(name: &str) -> Result<i64, String> {
    match name {
        "process_vm_readv" => Ok(libc::SYS_process_vm_readv),
        "sched_setattr" => Ok(libc::SYS_sched_setattr),
        "setpriority" => Ok(libc::SYS_setpriority),
        "tgkill" => Ok(libc::SYS_tgkill),
        _ => Err(format!("{name} is not a known system call")),
    }
}
