/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! One thread of a browser is stopped, and all others run, as if the kernel gave it no processor.

#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::{io, ptr};

use crate::visit::thread_ids;

/// A thread that is stopped until this is dropped. Only the thread that has stopped it may let it run.
pub struct StoppedThread {
    id: libc::pid_t,
    of_this_thread: PhantomData<*const ()>,
}

impl StoppedThread {
    /// Stops the only thread with this name in a process, which must be a child.
    ///
    /// # Errors
    ///
    /// If the kernel does not allow it.
    pub fn stop(process: u32, name: &str) -> io::Result<Self> {
        let found = thread_ids(process, name);
        let [id] = found[..] else {
            panic!("{} threads are called {name}", found.len());
        };
        request(libc::PTRACE_SEIZE, id)?;
        let stopped = Self {
            id,
            of_this_thread: PhantomData,
        };
        request(libc::PTRACE_INTERRUPT, id)?;
        // SAFETY: the kernel writes no status.
        match unsafe { libc::waitpid(id, ptr::null_mut(), libc::__WALL) } {
            waited if waited == id => Ok(stopped),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for StoppedThread {
    fn drop(&mut self) {
        // The process may have ended.
        let _ = request(libc::PTRACE_DETACH, self.id);
    }
}

fn request(request: libc::c_uint, thread: libc::pid_t) -> io::Result<()> {
    let nothing = ptr::null_mut::<libc::c_void>();
    // SAFETY: these requests read and write no memory.
    match unsafe { libc::ptrace(request, thread, nothing, nothing) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
