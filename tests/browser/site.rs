/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A web site on this machine.

use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use serde_json::Value;
use tiny_http::{Header, Method, Request, Response, Server};
use url::form_urlencoded;

use crate::Visit;

/// The header that lets every page of [`Site::allowing`] profile.
const ALLOWING_HEADER: (&str, &str) = ("Document-Policy", "js-profiling");

/// Requests for `CHECKPOINT/name` are answered by the test.
const CHECKPOINT: &str = "/checkpoint/";

/// What comes to a test while its page is open.
pub(crate) enum Event {
    /// The page posted something.
    Posted { path: String, body: Vec<u8> },
    /// The page waits for the test's answer.
    Checkpoint { name: String, request: Request },
    /// The page asked for what is not there.
    NotFound(String),
    /// The browser has ended.
    Ended,
}

/// What a site consists of, before it is served.
#[derive(Default)]
pub struct SiteContent {
    folder: PathBuf,
    headers_of_all: Vec<Header>,
    headers: HashMap<String, Vec<Header>>,
    generated: HashMap<String, String>,
    headers_by_query: bool,
}

impl SiteContent {
    /// Adds a header to the response for `path`.
    pub fn header(mut self, path: &str, name: &str, value: &str) -> Self {
        let headers = self.headers.entry(path.to_owned()).or_default();
        headers.push(header(name, value));
        self
    }

    /// Adds a header to all responses.
    pub fn header_of_all(mut self, name: &str, value: &str) -> Self {
        self.headers_of_all.push(header(name, value));
        self
    }

    /// Adds a file that the test has made.
    pub fn generated(mut self, path: &str, content: String) -> Self {
        self.generated.insert(path.to_owned(), content);
        self
    }

    /// Sends the headers that a request's query asks for: see [`path_with_header`].
    pub fn headers_by_query(mut self) -> Self {
        self.headers_by_query = true;
        self
    }

    /// Serves it from now on, on a port of its own: two sites are of two origins.
    pub fn serve(self) -> Site {
        let server = Arc::new(Server::http("127.0.0.1:0").expect("a port of this machine"));
        let address = server.server_addr().to_ip().expect("an IP address");
        let (sender, events) = mpsc::channel();
        let thread = thread::spawn({
            let (server, sender) = (server.clone(), sender.clone());
            move || {
                for request in server.incoming_requests() {
                    self.answer(request, &sender);
                }
            }
        });
        Site {
            origin: format!("http://{address}"),
            server,
            thread: Some(thread),
            sender,
            events,
        }
    }

    fn answer(&self, mut request: Request, events: &Sender<Event>) {
        let url = request.url();
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let (path, query) = (path.to_owned(), query.to_owned());
        if let Some(name) = path.strip_prefix(CHECKPOINT) {
            let name = name.to_owned();
            let _ = events.send(Event::Checkpoint { name, request });
            return;
        }
        // A browser that is killed no longer wants its answer: errors of the connection are its own.
        let _ = if *request.method() == Method::Post {
            let mut body = Vec::new();
            match request.as_reader().read_to_end(&mut body) {
                // First the answer: the page closes itself when it has it.
                Ok(_) => {
                    let _ = events.send(Event::Posted { path, body });
                    request.respond(Response::empty(204))
                },
                Err(error) => Err(error),
            }
        } else if let Some(content) = self.content(&path) {
            let mut response = Response::from_data(content);
            response.add_header(header("Content-Type", media_type(&path)));
            response.add_header(header("Cache-Control", "no-store"));
            let headers = self.headers.get(&path).into_iter().flatten();
            for header in headers.chain(&self.headers_of_all) {
                response.add_header(header.clone());
            }
            if self.headers_by_query {
                for (name, value) in form_urlencoded::parse(query.as_bytes()) {
                    response.add_header(header(&name, &value));
                }
            }
            request.respond(response)
        } else {
            // Every browser asks for this one.
            if path != "/favicon.ico" {
                let _ = events.send(Event::NotFound(path));
            }
            request.respond(Response::empty(404))
        };
    }

    fn content(&self, path: &str) -> Option<Vec<u8>> {
        if let Some(content) = self.generated.get(path) {
            return Some(content.clone().into_bytes());
        }
        let path = Path::new(path.strip_prefix('/')?);
        let inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !inside {
            return None;
        }
        fs::read(self.folder.join(path)).ok()
    }
}

/// The path on a site with [`SiteContent::headers_by_query`] where a file is sent with one more header.
pub fn path_with_header(path: &str, name: &str, value: &str) -> String {
    let mut query = form_urlencoded::Serializer::for_suffix(format!("{path}?"), path.len() + 1);
    query.append_pair(name, value).finish()
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).unwrap_or_else(|()| panic!("no header: {name}: {value}"))
}

/// The answer to a page at a checkpoint, which a page of any origin may read.
pub(crate) fn checkpoint_response(answer: &Value) -> Response<impl Read + use<>> {
    Response::from_string(answer.to_string())
        .with_header(header("Access-Control-Allow-Origin", "*"))
}

fn media_type(path: &str) -> &'static str {
    match Path::new(path).extension().and_then(|name| name.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json") => "application/json",
        Some("css") => "text/css; charset=utf-8",
        _ => panic!("the media type of {path} is not known here"),
    }
}

/// A web site that is being served, until it is dropped.
pub struct Site {
    origin: String,
    server: Arc<Server>,
    thread: Option<JoinHandle<()>>,
    pub(crate) sender: Sender<Event>,
    pub(crate) events: Receiver<Event>,
}

impl Site {
    /// The test pages, without a header that allows profiling.
    pub fn plain() -> SiteContent {
        Self::of(crate::pages())
    }

    /// The test pages, all of which may profile.
    pub fn allowing() -> SiteContent {
        let (name, value) = ALLOWING_HEADER;
        Self::plain().header_of_all(name, value)
    }

    /// The files of a folder.
    pub fn of(folder: PathBuf) -> SiteContent {
        SiteContent {
            folder,
            ..SiteContent::default()
        }
    }

    /// The origin, as a URL without a path.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.origin)
    }

    /// A visit to one of the site's pages.
    pub fn visit(&self, path: &str) -> Visit<'_> {
        self.visit_url(self.url(path))
    }

    /// A visit to a page from anywhere, whose result comes to this site.
    pub fn visit_url(&self, url: String) -> Visit<'_> {
        Visit::new(self, url)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server.unblock();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Visits a test page that may profile, and gives its result.
pub fn visit_allowed(path: &str) -> Value {
    Site::allowing().serve().visit(path).run()
}
