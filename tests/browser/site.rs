/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A web site that is served on this machine.

use std::collections::HashMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    LOCATION,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};
use tokio::sync::oneshot;
use url::form_urlencoded;

use crate::Visit;

/// The header that lets every page of [`Site::allowing`] profile.
const ALLOWING_HEADER: (&str, &str) = ("Document-Policy", "js-profiling");

/// The test answers requests for paths below this one.
const CHECKPOINT: &str = "/checkpoint/";

/// What can happen while a test's page is open.
pub(crate) enum Event {
    /// The page posted something.
    Posted { path: String, body: Vec<u8> },
    /// The page waits for the test's answer.
    Checkpoint {
        name: String,
        answer: oneshot::Sender<Value>,
    },
    /// The page asked for a path that does not exist.
    NotFound(String),
    /// The browser has ended.
    Ended,
}

/// The content of a site, before it is served.
#[derive(Default)]
pub struct SiteContent {
    folder: PathBuf,
    headers_of_all: Vec<(HeaderName, HeaderValue)>,
    headers: HashMap<String, Vec<(HeaderName, HeaderValue)>>,
    generated: HashMap<String, String>,
    statuses: HashMap<String, StatusCode>,
    headers_by_query: bool,
    /// The paths that were asked for, and the headers of the requests.
    requests: Arc<Mutex<Vec<(String, HeaderMap)>>>,
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

    /// Adds a file that the test generated.
    pub fn generated(mut self, path: &str, content: String) -> Self {
        self.generated.insert(path.to_owned(), content);
        self
    }

    /// Answers requests for a file with this status.
    pub fn status(mut self, path: &str, status: u16) -> Self {
        let status = StatusCode::from_u16(status).expect("a status of HTTP");
        self.statuses.insert(path.to_owned(), status);
        self
    }

    /// Sends the headers that a request's query asks for: see [`path_with_header`]. A response with a
    /// `Location` is a redirect.
    pub fn headers_by_query(mut self) -> Self {
        self.headers_by_query = true;
        self
    }

    /// Starts to serve it on its own port. So two sites have two origins.
    pub fn serve(self) -> Site {
        let runtime = runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .expect("a runtime");
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a port of this machine");
        let address = listener.local_addr().expect("an IP address");
        let (sender, events) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let requests = self.requests.clone();
        let thread = thread::spawn({
            let sender = sender.clone();
            move || serve(runtime, listener, Arc::new(self), sender, stopped)
        });
        Site {
            origin: format!("http://{address}"),
            stop: Some(stop),
            thread: Some(thread),
            sender,
            events,
            requests,
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        events: Sender<Event>,
    ) -> Result<Response<Full<Bytes>>, hyper::Error> {
        let path = request.uri().path().to_owned();
        let query = request.uri().query().unwrap_or_default().to_owned();
        let asked = (path.clone(), request.headers().clone());
        self.requests.lock().expect("no panic").push(asked);
        let mut response = Response::new(Full::default());
        if let Some(name) = path.strip_prefix(CHECKPOINT) {
            let (answer, answered) = oneshot::channel();
            let _ = events.send(Event::Checkpoint {
                name: name.to_owned(),
                answer,
            });
            // Pages of any origin may read the answer. An error means that the test is over.
            let answer = answered.await.unwrap_or_default();
            *response.body_mut() = answer.to_string().into();
            let anyone = HeaderValue::from_static("*");
            response
                .headers_mut()
                .insert(ACCESS_CONTROL_ALLOW_ORIGIN, anyone);
        } else if *request.method() == Method::POST {
            let body = request.into_body().collect().await?.to_bytes().to_vec();
            // This comes first, because the page closes itself when it has the answer.
            let _ = events.send(Event::Posted { path, body });
            *response.status_mut() = StatusCode::NO_CONTENT;
        } else if let Some(content) = self.content(&path) {
            *response.body_mut() = content.into();
            if let Some(status) = self.statuses.get(&path) {
                *response.status_mut() = *status;
            }
            let headers = response.headers_mut();
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type(&path)));
            let of_path = self.headers.get(&path).into_iter().flatten();
            headers.extend(of_path.chain(&self.headers_of_all).cloned());
            let no_store = HeaderValue::from_static("no-store");
            headers.entry(CACHE_CONTROL).or_insert(no_store);
            if self.headers_by_query {
                let by_query = form_urlencoded::parse(query.as_bytes());
                headers.extend(by_query.map(|(name, value)| header(&name, &value)));
                if headers.contains_key(LOCATION) {
                    *response.status_mut() = StatusCode::FOUND;
                }
            }
        } else {
            // Every browser asks for the icon.
            if path != "/favicon.ico" {
                let _ = events.send(Event::NotFound(path));
            }
            *response.status_mut() = StatusCode::NOT_FOUND;
        }
        Ok(response)
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

/// The path of a file with one more header, on a site with [`SiteContent::headers_by_query`].
pub fn path_with_header(path: &str, name: &str, value: &str) -> String {
    let mut query = form_urlencoded::Serializer::for_suffix(format!("{path}?"), path.len() + 1);
    query.append_pair(name, value).finish()
}

fn header(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    match (name.parse(), value.parse()) {
        (Ok(name), Ok(value)) => (name, value),
        _ => panic!("no header: {name}: {value}"),
    }
}

/// Serves any number of connections until told to stop.
fn serve(
    runtime: Runtime,
    listener: TcpListener,
    content: Arc<SiteContent>,
    events: Sender<Event>,
    stopped: oneshot::Receiver<()>,
) {
    let accept = async {
        loop {
            let Ok((stream, _)) = listener.accept().await else {
                continue;
            };
            let (content, events) = (content.clone(), events.clone());
            let service = service_fn(move |request| {
                let (content, events) = (content.clone(), events.clone());
                async move { content.answer(request, events).await }
            });
            // Errors of a connection do not matter: a killed browser does not wait for its answer.
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    };
    runtime.block_on(async {
        tokio::select! {
            () = accept => {},
            _ = stopped => {},
        }
    });
}

fn media_type(path: &str) -> &'static str {
    match Path::new(path).extension().and_then(|name| name.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("css") => "text/css; charset=utf-8",
        Some("wasm") => "application/wasm",
        _ => panic!("the media type of {path} is not known here"),
    }
}

/// A web site that is being served, until it is dropped.
pub struct Site {
    origin: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
    pub(crate) sender: Sender<Event>,
    pub(crate) events: Receiver<Event>,
    requests: Arc<Mutex<Vec<(String, HeaderMap)>>>,
}

impl Site {
    /// The test pages, without a header that allows profiling.
    pub fn plain() -> SiteContent {
        Self::of(crate::pages())
    }

    /// The test pages, with a header that allows profiling.
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

    /// How often a path was asked for.
    pub fn requests_for(&self, path: &str) -> usize {
        let requests = self.requests.lock().expect("no panic");
        requests.iter().filter(|(one, _)| one == path).count()
    }

    /// A header of each request for a path, if the request has it.
    pub fn header_of_requests(&self, path: &str, name: &str) -> Vec<Option<String>> {
        let requests = self.requests.lock().expect("no panic");
        let of_path = requests.iter().filter(|(one, _)| one == path);
        of_path
            .map(|(_, headers)| Some(headers.get(name)?.to_str().ok()?.to_owned()))
            .collect()
    }

    /// A visit to one of the site's pages.
    pub fn visit(&self, path: &str) -> Visit<'_> {
        self.visit_url(self.url(path))
    }

    /// A visit to a page at any URL that posts its result to this site.
    pub fn visit_url(&self, url: String) -> Visit<'_> {
        Visit::new(self, url)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Visits a test page that may profile, and gives its result.
pub fn visit_allowed(path: &str) -> Value {
    Site::allowing().serve().visit(path).run()
}
