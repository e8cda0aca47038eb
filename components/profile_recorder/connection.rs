/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! How a content process and the browser find each other, and how they exchange messages.
//!
//! Servo starts a content process as a child of the browser, with a channel that is only for its own messages.
//! So the browser listens at a Unix socket in the abstract namespace, where no file is left behind.
//!
//! ```text
//!   browser                                    content process
//!   ───────                                    ───────────────
//!   listen at a random name
//!   tell the name by a descriptor
//!                                              read the name among the parent's descriptors
//!                                              connect, check that it is the parent
//!   accept, check that it is a child
//!   SetPreferences  ─────────────────────────► the page's event loops can begin
//! ```
//!
//! - **The name** cannot be guessed, so nobody can take it first. The browser also holds a memory file of that
//!   name. The kernel shows the descriptors of a process only to the same user, and nobody else can add one. So
//!   a child that reads them gets the name that its parent chose.
//! - **Both ask the kernel** who is at the other end. The browser accepts only its own children, and a content
//!   process only its parent.
//! - **Nobody waits for a peer.** A peer that has passed these checks is connected, and both send over this one
//!   socket. There is no handshake that a peer could leave unfinished. A process is connected only once, and the
//!   number of connected processes is limited. A connection holds one thread and two descriptors of one socket
//!   until the peer ends.
//! - **A message** is its length in four bytes, little-endian, and then that many bytes of postcard. A message
//!   longer than [`MAX_LENGTH`] ends the connection. Memory is allocated as bytes arrive, not as announced. A
//!   channel of ipc-channel would allocate what the peer announces, and its one-shot server would wait without
//!   limit for a peer to connect.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::net::Shutdown;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, fs, process};

use js_profiler_traits::recording::{Report, Request};
use rustix::fd::OwnedFd;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::sockopt::socket_peercred;
use rustix::process::getuid;
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

/// A process that accepts no data for this long is given up, and so is a browser that does not send its
/// preferences in this time.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The greatest length of a message, in bytes. A report has only what is new since the last one, which is far
/// less.
pub const MAX_LENGTH: u32 = 64 << 20;

/// The greatest number of processes that are connected at the same time.
const MAX_PROCESSES: usize = 1_000;

/// The beginning of the name at which a browser listens.
const PREFIX: &str = "strobe-profile-recorder-";

/// A content process, as the browser sees it.
pub struct Accepted {
    /// Its process id, from the kernel.
    pub pid: u32,
    /// Sends requests to it.
    pub requests: Sender<Request>,
    /// Receives its reports.
    pub reports: Receiver<Report>,
    _place: Place,
}

/// The browser, as a content process sees it.
pub struct Connected {
    /// Receives the browser's requests.
    pub requests: Receiver<Request>,
    /// Sends reports to the browser.
    pub reports: Sender<Report>,
}

/// Accepts the content processes of this browser.
pub struct Listener {
    socket: UnixListener,
    /// Its name is the name of the socket.
    _name: OwnedFd,
    places: Places,
}

/// Starts listening for the content processes of this browser.
pub fn listen() -> io::Result<Listener> {
    let name = random_name();
    let socket = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    Ok(Listener {
        socket,
        // Made last, so that a process that reads the name can connect.
        _name: memfd_create(name, MemfdFlags::CLOEXEC)?,
        places: Places::new(MAX_PROCESSES),
    })
}

/// A name that cannot be guessed.
pub fn random_name() -> String {
    format!("{PREFIX}{}", Uuid::new_v4())
}

impl Listener {
    /// Waits for the next connection, whatever process it is from.
    pub fn next(&self) -> io::Result<UnixStream> {
        Ok(self.socket.accept()?.0)
    }

    /// Takes a connection. Waits for nobody.
    ///
    /// # Errors
    ///
    /// If the process is not a child of this one or belongs to another user, if it is connected already, or
    /// if too many processes are.
    pub fn take(&self, stream: UnixStream) -> io::Result<Accepted> {
        let peer = socket_peercred(&stream)?;
        let pid = peer.pid.as_raw_nonzero().get() as u32;
        if peer.uid != getuid() {
            return Err(io::Error::other(format!(
                "process {pid} belongs to another user"
            )));
        }
        if parent_of(pid)? != process::id() {
            return Err(io::Error::other(format!(
                "process {pid} is not a child of this one"
            )));
        }
        let place = self.places.take(pid)?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        let (requests, reports) = ends(stream)?;
        Ok(Accepted {
            pid,
            requests,
            reports,
            _place: place,
        })
    }
}

/// Connects to the browser that has started this process.
///
/// # Errors
///
/// If the parent does not listen, or if another process has answered.
pub fn connect() -> io::Result<Connected> {
    let parent = std::os::unix::process::parent_id();
    let address = SocketAddr::from_abstract_name(name_told_by(parent)?)?;
    let stream = UnixStream::connect_addr(&address)?;
    let peer = socket_peercred(&stream)?;
    let pid = peer.pid.as_raw_nonzero().get() as u32;
    if pid != parent || peer.uid != getuid() {
        return Err(io::Error::other(format!(
            "process {pid} is not the one that started this one"
        )));
    }
    let (reports, requests) = ends(stream)?;
    Ok(Connected { requests, reports })
}

/// The name at which a process listens. It is the name of one of its memory files.
pub fn name_told_by(pid: u32) -> io::Result<String> {
    for descriptor in fs::read_dir(format!("/proc/{pid}/fd"))? {
        // The descriptor may have been closed meanwhile.
        let Ok(target) = fs::read_link(descriptor?.path()) else {
            continue;
        };
        let name = target.to_str().and_then(|target| {
            let name = target.strip_prefix("/memfd:")?;
            name.strip_suffix(" (deleted)")
        });
        if let Some(name) = name.filter(|name| name.starts_with(PREFIX)) {
            return Ok(name.to_owned());
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!("process {pid} does not listen"),
    ))
}

fn parent_of(pid: u32) -> io::Result<u32> {
    parent_in(&fs::read(format!("/proc/{pid}/stat"))?)
}

/// The parent in the text `PID (NAME) STATE PARENT …`, where the name may contain anything.
fn parent_in(stat: &[u8]) -> io::Result<u32> {
    let after_name = stat.iter().rposition(|byte| *byte == b')');
    let rest = after_name.and_then(|position| str::from_utf8(&stat[position + 1..]).ok());
    let parent = rest.and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
    parent.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The processes that are connected.
#[derive(Clone)]
struct Places {
    pids: Arc<Mutex<BTreeSet<u32>>>,
    max: usize,
}

/// A process counts as connected as long as this exists.
struct Place {
    pid: u32,
    places: Places,
}

impl Places {
    fn new(max: usize) -> Self {
        Self {
            pids: Arc::default(),
            max,
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.pids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, pid: u32) -> io::Result<Place> {
        let mut pids = self.lock();
        if pids.contains(&pid) {
            return Err(io::Error::other(format!(
                "process {pid} is connected already"
            )));
        }
        if pids.len() >= self.max {
            return Err(io::Error::other(format!(
                "process {pid} is one too many: {} are connected",
                self.max
            )));
        }
        pids.insert(pid);
        Ok(Place {
            pid,
            places: self.clone(),
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.places.lock().remove(&self.pid);
    }
}

/// Sends messages of the type `T`.
pub struct Sender<T> {
    stream: Arc<Mutex<UnixStream>>,
    kind: PhantomData<fn(T)>,
}

/// Receives messages of the type `T`. Dropping it closes the connection, so nothing more can be sent either.
pub struct Receiver<T> {
    stream: UnixStream,
    kind: PhantomData<fn() -> T>,
}

/// Whether an error of receiving means that the other side has closed the connection. Otherwise the connection is open,
/// but no message came in time, or the message cannot be read.
pub fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
    )
}

fn ends<S, R>(stream: UnixStream) -> io::Result<(Sender<S>, Receiver<R>)> {
    let sender = Sender {
        stream: Arc::new(Mutex::new(stream.try_clone()?)),
        kind: PhantomData,
    };
    let receiver = Receiver {
        stream,
        kind: PhantomData,
    };
    Ok((sender, receiver))
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Self {
            stream: self.stream.clone(),
            kind: PhantomData,
        }
    }
}

impl<T: Serialize> Sender<T> {
    /// Sends a message. After an error the connection is closed.
    pub fn send(&self, message: &T) -> io::Result<()> {
        let bytes = postcard::to_stdvec(message).map_err(io::Error::other)?;
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let result = length_of(&bytes).and_then(|length| {
            stream.write_all(&length.to_le_bytes())?;
            stream.write_all(&bytes)
        });
        if result.is_err() {
            // The other side would take the next message for the rest of this one.
            let _ = stream.shutdown(Shutdown::Both);
        }
        result
    }
}

fn length_of(bytes: &[u8]) -> io::Result<u32> {
    let length = u32::try_from(bytes.len()).ok();
    length
        .filter(|length| *length <= MAX_LENGTH)
        .ok_or_else(|| too_long(bytes.len()))
}

fn too_long(length: impl fmt::Display) -> io::Error {
    io::Error::other(format!(
        "a message of {length} bytes is longer than {MAX_LENGTH}"
    ))
}

impl<T: DeserializeOwned> Receiver<T> {
    /// Waits for a message.
    pub fn receive(&self) -> io::Result<T> {
        let mut length = [0; 4];
        (&self.stream).read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_LENGTH {
            return Err(too_long(length));
        }
        let mut bytes = Vec::new();
        (&self.stream).take(length.into()).read_to_end(&mut bytes)?;
        if bytes.len() < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        postcard::from_bytes(&bytes).map_err(io::Error::other)
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}

impl Connected {
    /// The first request of the browser. The browser has [`TIMEOUT`] to send it.
    pub fn first_request(&self) -> io::Result<Request> {
        let stream = &self.requests.stream;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let request = self.requests.receive();
        stream.set_read_timeout(None)?;
        request
    }
}

#[cfg(test)]
mod tests {
    use std::env;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::process::{Command, Stdio};
    use std::thread::sleep;

    use super::*;
    use crate::tests::one_at_a_time;

    /// Names the socket for the process of a test.
    const NAME: &str = "STROBE_TESTED_SOCKET";

    impl<T> Sender<T> {
        /// The same connection, for messages of another type.
        pub fn of<U>(self) -> Sender<U> {
            Sender {
                stream: self.stream,
                kind: PhantomData,
            }
        }
    }

    fn pair() -> (UnixStream, Receiver<String>) {
        let (stream, other) = UnixStream::pair().unwrap();
        // A receiver that waits in vain fails.
        other
            .set_read_timeout(Some(Duration::from_secs(10)))
            .unwrap();
        let (_, receiver) = ends::<(), _>(other).unwrap();
        (stream, receiver)
    }

    #[test]
    fn a_message_arrives_however_it_is_cut() {
        let _guard = one_at_a_time();
        let (mut stream, receiver) = pair();
        let message = postcard::to_stdvec("message").unwrap();
        let sent = [&(message.len() as u32).to_le_bytes()[..], &message].concat();
        let writer = std::thread::spawn(move || {
            for byte in sent {
                stream.write_all(&[byte]).unwrap();
            }
        });
        assert_eq!(receiver.receive().unwrap(), "message");
        assert!(is_gone(&receiver.receive().unwrap_err()));
        writer.join().unwrap();
    }

    #[test]
    fn a_message_that_is_too_long_is_neither_taken_nor_sent() {
        let _guard = one_at_a_time();
        let (mut stream, receiver) = pair();
        stream.write_all(&(MAX_LENGTH + 1).to_le_bytes()).unwrap();
        let error = receiver.receive().unwrap_err();
        assert!(!is_gone(&error));
        assert!(error.to_string().contains("is longer than"), "{error}");

        let (sender, receiver) = {
            let (stream, receiver) = pair();
            (ends::<String, ()>(stream).unwrap().0, receiver)
        };
        let message = "x".repeat(MAX_LENGTH as usize);
        let error = sender.send(&message).unwrap_err().to_string();
        assert!(error.contains("is longer than"), "{error}");
        assert!(is_gone(&receiver.receive().unwrap_err()));
    }

    #[test]
    fn a_truncated_message_is_not_received() {
        let _guard = one_at_a_time();
        let (mut stream, receiver) = pair();
        stream.write_all(&MAX_LENGTH.to_le_bytes()).unwrap();
        stream.write_all(b"abc").unwrap();
        drop(stream);
        assert!(is_gone(&receiver.receive().unwrap_err()));
    }

    #[test]
    fn a_peer_that_reads_nothing_is_given_up() {
        let _guard = one_at_a_time();
        let (stream, receiver) = pair();
        stream
            .set_write_timeout(Some(Duration::from_millis(10)))
            .unwrap();
        let (sender, _unused) = ends::<String, ()>(stream).unwrap();
        let message = "x".repeat(1_000);
        while sender.send(&message).is_ok() {}
        // After the messages that could be sent the stream ends. It must not have the beginning of another
        // message.
        let end = loop {
            match receiver.receive() {
                Ok(received) => assert_eq!(received, message),
                Err(error) => break error,
            }
        };
        assert!(is_gone(&end), "{end}");
        assert!(sender.send(&message).is_err());
    }

    /// A process that connects to a socket, and does nothing else.
    #[test]
    #[ignore = "A process of other tests"]
    fn connected_process() {
        let name = env::var_os(NAME).expect("other tests run this one");
        let address = SocketAddr::from_abstract_name(name.as_bytes()).unwrap();
        let _stream = UnixStream::connect_addr(&address).unwrap();
        // Until the other process closes it.
        let _ = io::stdin().read(&mut [0]);
    }

    #[test]
    fn a_process_that_is_taken_has_ten_seconds_for_each_message() {
        let _guard = one_at_a_time();
        let listener = listen().unwrap();
        listener.socket.set_nonblocking(true).unwrap();
        let address = listener.socket.local_addr().unwrap();
        let name = OsStr::from_bytes(address.as_abstract_name().unwrap());
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "connection::tests::connected_process",
                "--ignored",
            ])
            .env(NAME, name)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let stream = loop {
            match listener.next() {
                Ok(stream) => break stream,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
            assert_eq!(child.try_wait().unwrap(), None, "it has ended");
            sleep(Duration::from_millis(1));
        };
        let accepted = listener.take(stream).unwrap();
        let sender = accepted.requests.stream.lock().unwrap();
        let ten_seconds = Some(Duration::from_secs(10));
        assert_eq!(sender.write_timeout().unwrap(), ten_seconds);
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }

    #[test]
    fn a_thousand_processes_are_connected_at_most() {
        let _guard = one_at_a_time();
        let places = listen().unwrap().places;
        let taken: Vec<_> = (1..=1_000).map(|pid| places.take(pid).unwrap()).collect();
        let error = places.take(1_001).err().unwrap().to_string();
        assert_eq!(error, "process 1001 is one too many: 1000 are connected");
        drop(taken);
        places.take(1_001).unwrap();
    }

    #[test]
    fn a_process_connects_once_and_their_number_is_limited() {
        let places = Places::new(2);
        let first = places.take(1).unwrap();
        let second = places.take(2).unwrap();
        let error = |pid| places.take(pid).err().unwrap().to_string();
        assert_eq!(error(1), "process 1 is connected already");
        assert_eq!(error(3), "process 3 is one too many: 2 are connected");
        drop(first);
        let _third = places.take(3).unwrap();
        assert_eq!(error(1), "process 1 is one too many: 2 are connected");
        drop(second);
        places.take(1).unwrap();
    }

    #[test]
    fn the_parent_of_a_process_is_found_whatever_its_name() {
        use std::os::unix::process::parent_id;
        assert_eq!(parent_of(process::id()).unwrap(), parent_id());
        assert!(parent_of(u32::MAX).is_err());
        assert_eq!(parent_in(b"7 (a) R 1 (b)) S 42 7 7").unwrap(), 42);
        assert!(parent_in(b"7 (a").is_err());
    }
}
