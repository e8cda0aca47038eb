/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How a content process and the browser find each other.
//!
//! Servo starts a content process as a child of the browser, with a channel of its own that is no
//! affair of ours. So the browser listens at a Unix socket that is named after its process id, in the
//! abstract namespace, where nothing is left behind; a child knows its parent's. Both ask the kernel
//! who is at the other end. Over the socket goes the name of a one-shot server of ipc-channel, and all
//! else over that one.
//!
//! ```text
//!   browser                              content process
//!   ───────                              ───────────────
//!   listen                               connect, check that it is the parent
//!   accept, check that it is ours  ────► name of a one-shot server
//!                                        connect to that, send the ends of two channels
//!   ◄──────────────────────────────────  a line: they are sent
//!   receive them
//!   SetPreferences  ───────────────────► the page's event loops can begin
//! ```

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process;
use std::time::Duration;

use ipc_channel::ipc::{self, IpcOneShotServer, IpcReceiver, IpcSender};
use js_profiler_traits::recording::{Report, Request};
use rustix::net::sockopt::socket_peercred;
use rustix::process::getuid;
use serde::{Deserialize, Serialize};

/// A process that does not answer within this time is not waited for.
const TIMEOUT: Duration = Duration::from_secs(10);

/// What a content process sends first: its ends of the channels.
#[derive(Deserialize, Serialize)]
struct Ends {
    requests: IpcSender<Request>,
    reports: IpcReceiver<Report>,
}

/// A content process, as the browser has it.
pub struct Accepted {
    pub pid: u32,
    pub requests: IpcSender<Request>,
    pub reports: IpcReceiver<Report>,
}

/// The browser, as a content process has it.
pub struct Connected {
    pub requests: IpcReceiver<Request>,
    pub reports: IpcSender<Report>,
}

#[cfg(target_os = "linux")]
fn address(browser: u32) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(format!("strobe-profile-recorder-{browser}"))
}

#[cfg(not(target_os = "linux"))]
fn address(_browser: u32) -> io::Result<SocketAddr> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Lets the content processes of this browser connect.
pub fn listen() -> io::Result<UnixListener> {
    UnixListener::bind_addr(&address(process::id())?)
}

/// Takes the ends of the channels from a process that has connected.
pub fn accept(stream: &UnixStream) -> io::Result<Accepted> {
    let peer = socket_peercred(stream)?;
    if peer.uid != getuid() {
        return Err(io::Error::other(format!(
            "process {} belongs to another user",
            peer.pid.as_raw_nonzero()
        )));
    }
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let (server, name) = IpcOneShotServer::<Ends>::new()?;
    writeln!(&mut &*stream, "{name}")?;
    // Who has ended meanwhile will never connect to the server, which would wait for it.
    read_line(stream)?;
    let (_, ends) = server.accept().map_err(io::Error::other)?;
    Ok(Accepted {
        pid: peer.pid.as_raw_nonzero().get() as u32,
        requests: ends.requests,
        reports: ends.reports,
    })
}

/// Connects to the browser that has started this process.
pub fn connect() -> io::Result<Connected> {
    let parent = std::os::unix::process::parent_id();
    let stream = UnixStream::connect_addr(&address(parent)?)?;
    let peer = socket_peercred(&stream)?;
    if peer.pid.as_raw_nonzero().get() as u32 != parent || peer.uid != getuid() {
        return Err(io::Error::other(format!(
            "process {} is not the one that started this one",
            peer.pid.as_raw_nonzero()
        )));
    }
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    let name = read_line(&stream)?;
    let bootstrap = IpcSender::<Ends>::connect(name)?;
    let (request_sender, requests) = ipc::channel()?;
    let (reports, report_receiver) = ipc::channel()?;
    bootstrap
        .send(Ends {
            requests: request_sender,
            reports: report_receiver,
        })
        .map_err(io::Error::other)?;
    writeln!(&mut &stream, "connected")?;
    Ok(Connected { requests, reports })
}

fn read_line(stream: &UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    match line.pop() {
        Some('\n') => Ok(line),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

impl Connected {
    /// What the browser asks first, with the time it has for that.
    pub fn first_request(&self) -> io::Result<Request> {
        self.requests
            .try_recv_timeout(TIMEOUT)
            .map_err(|error| io::Error::other(format!("{error:?}")))
    }
}
