/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How a content process and the browser find each other, and what goes between them.
//!
//! Servo starts a content process as a child of the browser, with a channel of its own that is no affair of ours. So
//! the browser listens at a Unix socket in the abstract namespace, where nothing is left behind. The socket's name is
//! made by chance, so that nobody can take it before. A content process finds the name by the kernel's lists: which
//! sockets its parent has open, and which of them listens. Others may connect, too, and the kernel says who they are:
//! the browser hangs up at once unless it is a child of its own, of the same user, that has no connection yet.
//! Nothing is read before that.
//!
//! ```text
//!   browser                                content process
//!   ───────                                ───────────────
//!   listen                                 find the parent's socket, connect
//!   accept, check that it is a child       check that it is the parent
//!   SetPreferences  ─────────────────────► the page's event loops can begin
//!   requests        ─────────────────────►
//!   ◄─────────────────────────────────────  reports
//! ```
//!
//! Requests and reports go over the socket as frames: four bytes with the length, the lowest first, and the value in
//! postcard's format. A frame has a greatest length, and takes memory only as its bytes come.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::process;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use js_profiler_traits::recording::{Report, Request};
use rustix::net::sockopt::socket_peercred;
use rustix::process::getuid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

/// The browser sends its first request at once; a process that waits for it longer goes on without.
const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// A process that takes no request for so long is cut off.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(1);

/// In bytes. Requests name event loops and preferences.
const MAX_REQUEST_LENGTH: usize = 1 << 20;

/// In bytes. A report has the new functions of a quarter of a second, at first all of them, with their names and URLs.
pub const MAX_REPORT_LENGTH: usize = 1 << 28;

/// What the name of the browser's socket begins with.
const NAME: &str = "strobe-profile-recorder-";

/// The sending end of requests, in the browser.
#[derive(Clone)]
pub struct Requests(Arc<Mutex<UnixStream>>);

/// The receiving end of a content process' reports, in the browser.
pub struct Reports(UnixStream);

/// A content process, as the browser has it.
pub struct Accepted {
    pub pid: u32,
    pub requests: Requests,
    pub reports: Reports,
}

/// The browser, as a content process has it.
pub struct Connected(UnixStream);

#[cfg(target_os = "linux")]
fn address(name: &[u8]) -> io::Result<SocketAddr> {
    use std::os::linux::net::SocketAddrExt;
    SocketAddr::from_abstract_name(name)
}

#[cfg(not(target_os = "linux"))]
fn address(_name: &[u8]) -> io::Result<SocketAddr> {
    Err(ErrorKind::Unsupported.into())
}

/// Lets the content processes of this browser connect.
pub fn listen() -> io::Result<UnixListener> {
    let name = format!("{NAME}{}", Uuid::new_v4().simple());
    UnixListener::bind_addr(&address(name.as_bytes())?)
}

/// Takes in a process that has connected, if it is a content process of this browser. `is_connected` says whether
/// a process has a connection already.
pub fn accept(stream: UnixStream, is_connected: impl FnOnce(u32) -> bool) -> io::Result<Accepted> {
    let peer = socket_peercred(&stream)?;
    let pid = peer.pid.as_raw_nonzero().get() as u32;
    let refuse = |why: &str| Err(io::Error::other(format!("process {pid} {why}")));
    if peer.uid != getuid() {
        return refuse("belongs to another user");
    }
    if parent_of(pid)? != process::id() {
        return refuse("was not started by this one");
    }
    if is_connected(pid) {
        return refuse("is connected already");
    }
    stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
    Ok(Accepted {
        pid,
        requests: Requests(Arc::new(Mutex::new(stream.try_clone()?))),
        reports: Reports(stream),
    })
}

/// The process that has started a process.
fn parent_of(pid: u32) -> io::Result<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // Behind the name, which may hold anything: the state and the parent.
    let parent = stat
        .rsplit_once(") ")
        .and_then(|(_, behind)| behind.split(' ').nth(1)?.parse().ok());
    parent.ok_or_else(|| ErrorKind::InvalidData.into())
}

/// Connects to the browser that has started this process.
pub fn connect() -> io::Result<Connected> {
    connect_to(std::os::unix::process::parent_id())
}

pub(crate) fn connect_to(browser: u32) -> io::Result<Connected> {
    let stream = UnixStream::connect_addr(&address(&name_at(browser)?)?)?;
    let peer = socket_peercred(&stream)?;
    if peer.pid.as_raw_nonzero().get() as u32 != browser || peer.uid != getuid() {
        return Err(io::Error::other(format!(
            "process {} is not the one that started this one",
            peer.pid.as_raw_nonzero()
        )));
    }
    Ok(Connected(stream))
}

/// The name of the socket that a process listens at.
fn name_at(process: u32) -> io::Result<Vec<u8>> {
    let descriptors = fs::read_dir(format!("/proc/{process}/fd"))?;
    let sockets: Vec<_> = descriptors
        .filter_map(|descriptor| socket_number(&descriptor.ok()?.path()))
        .collect();
    let listed = fs::read("/proc/net/unix")?;
    let mut lines = listed.split(|byte| *byte == b'\n');
    let found = lines.find_map(|line| {
        let (number, name) = listening(line)?;
        (sockets.contains(&number) && name.starts_with(NAME.as_bytes())).then(|| name.to_vec())
    });
    found.ok_or_else(|| {
        io::Error::new(
            ErrorKind::NotFound,
            format!("process {process} does not listen to its processes"),
        )
    })
}

/// The number of an open socket, as in `socket:[123]`.
fn socket_number(descriptor: &Path) -> Option<u64> {
    let link = fs::read_link(descriptor).ok()?;
    let number = link.to_str()?.strip_prefix("socket:[")?;
    number.strip_suffix(']')?.parse().ok()
}

/// The number and the abstract name of a socket that listens, of a line of
/// <https://man7.org/linux/man-pages/man5/proc_net.5.html>.
fn listening(line: &[u8]) -> Option<(u64, &[u8])> {
    const ACCEPTS_CONNECTIONS: &[u8] = b"00010000";
    let columns = line.split(|byte| byte.is_ascii_whitespace());
    // num, refcount, protocol, flags, type, state, inode, path
    let mut columns = columns.filter(|column| !column.is_empty()).skip(3);
    let is_listening = columns.next()? == ACCEPTS_CONNECTIONS;
    let number = str::from_utf8(columns.nth(2)?).ok()?.parse().ok()?;
    let name = columns.next()?.strip_prefix(b"@")?;
    is_listening.then_some((number, name))
}

impl Requests {
    /// Sends a request. One that cannot be sent ends the connection, as the receiver of the reports finds.
    pub fn send(&self, request: &Request) {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if write_frame(&stream, request, MAX_REQUEST_LENGTH).is_err() {
            // Part of it may have been sent. An error means that there is no connection any more.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

impl Reports {
    /// The next report; none when the process has gone.
    pub fn receive(&mut self) -> io::Result<Option<Report>> {
        read_frame(&mut self.0, MAX_REPORT_LENGTH)
    }
}

impl Drop for Reports {
    /// Whoever holds the other end hears of it.
    fn drop(&mut self) {
        let _ = self.0.shutdown(std::net::Shutdown::Both);
    }
}

impl Connected {
    /// What the browser asks first, with the time it has for that.
    pub fn first_request(&mut self) -> io::Result<Request> {
        self.0.set_read_timeout(Some(FIRST_REQUEST_TIMEOUT))?;
        let request = self.receive()?;
        self.0.set_read_timeout(None)?;
        request.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    /// The next request; none when the browser has gone.
    pub fn receive(&mut self) -> io::Result<Option<Request>> {
        read_frame(&mut self.0, MAX_REQUEST_LENGTH)
    }

    pub fn send(&self, report: &Report) -> io::Result<()> {
        write_frame(&self.0, report, MAX_REPORT_LENGTH)
    }

    /// Another handle of the same connection.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Sends any bytes.
    #[cfg(test)]
    pub fn send_bytes(&self, bytes: &[u8]) -> io::Result<()> {
        (&self.0).write_all(bytes)
    }
}

fn write_frame<T: Serialize>(
    mut stream: &UnixStream,
    value: &T,
    max_length: usize,
) -> io::Result<()> {
    let mut frame = postcard::to_extend(value, vec![0; 4]).map_err(io::Error::other)?;
    let length = frame.len() - 4;
    if length > max_length {
        return Err(too_long(length, max_length));
    }
    frame[..4].copy_from_slice(&(length as u32).to_le_bytes());
    stream.write_all(&frame)
}

/// None at the end of the stream.
fn read_frame<T: DeserializeOwned>(
    stream: &mut impl Read,
    max_length: usize,
) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > max_length {
        return Err(too_long(length, max_length));
    }
    let mut bytes = Vec::new();
    stream.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Ok(None);
    }
    match postcard::take_from_bytes(&bytes) {
        Ok((value, [])) => Ok(Some(value)),
        Ok((_, rest)) => Err(io::Error::new(
            ErrorKind::InvalidData,
            format!("{} bytes behind it", rest.len()),
        )),
        Err(error) => Err(io::Error::new(ErrorKind::InvalidData, error)),
    }
}

fn too_long(length: usize, max_length: usize) -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        format!("a message of {length} bytes, and {max_length} are the most"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_socket_that_listens_is_read() {
        let line = b"0000000000000000: 00000002 00000000 00010000 0001 01 4711 @strobe-profile-recorder-0a";
        assert_eq!(
            listening(line),
            Some((4711, &b"strobe-profile-recorder-0a"[..]))
        );
        for other in [
            &b"Num       RefCount Protocol Flags    Type St Inode Path"[..],
            b"0000000000000000: 00000003 00000000 00000000 0001 03 4712 @strobe-profile-recorder-0a",
            b"0000000000000000: 00000002 00000000 00010000 0001 01 4713 /run/socket",
            b"0000000000000000: 00000002 00000000 00010000 0001 01 4714",
            b"",
        ] {
            assert_eq!(listening(other), None);
        }
    }

    #[test]
    fn a_frame_is_as_long_as_it_may_be() {
        let (mut reader, writer) = UnixStream::pair().unwrap();
        for value in ["", "report", &"x".repeat(99)] {
            write_frame(&writer, &value, 100).unwrap();
            let read: Option<String> = read_frame(&mut reader, 100).unwrap();
            assert_eq!(read.as_deref(), Some(value));
        }
        let long = "x".repeat(100);
        let error = write_frame(&writer, &long, 100).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a message of 101 bytes, and 100 are the most"
        );
        write_frame(&writer, &long, 101).unwrap();
        let error = read_frame::<String>(&mut reader, 100).unwrap_err();
        assert!(error.to_string().contains("101 bytes"), "{error}");
    }

    #[test]
    fn a_frame_that_ends_early_is_the_end() {
        for sent in [&b""[..], b"\x02\0", b"\x05\0\0\0\x04abc"] {
            let (mut reader, writer) = UnixStream::pair().unwrap();
            (&writer).write_all(sent).unwrap();
            drop(writer);
            assert_eq!(read_frame::<String>(&mut reader, 100).unwrap(), None);
        }
        let (mut reader, writer) = UnixStream::pair().unwrap();
        (&writer).write_all(b"\x03\0\0\0\x01ab").unwrap();
        let error = read_frame::<String>(&mut reader, 100).unwrap_err();
        assert!(error.to_string().contains("1 bytes behind it"), "{error}");
    }
}
