/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! One page on a port of this machine.
//!
//! A profile says what its program did, so no one else may read it. Only this machine reaches the port. Other users and
//! other pages on it do not know the address, which has 122 random bits, and a page of another name that resolves to
//! this machine is refused by its Host.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use uuid::Uuid;

/// How many connections there are at once. More wait.
const MAX_CONNECTIONS: usize = 32;

/// How long a browser may take to send a request.
const TIME_FOR_REQUEST: Duration = Duration::from_secs(10);

/// Headers of every response.
const HEADERS: [(HeaderName, &str); 5] = [
    (CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (REFERRER_POLICY, "no-referrer"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
];

/// Serves a page until the process ends. `tell` is called with its address once it can be opened. Port 0 is any that is
/// free.
///
/// The error is one line that says what failed.
pub fn serve(
    page: Vec<u8>,
    port: u16,
    tell: impl FnOnce(&str) -> Result<(), String>,
) -> Result<(), String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot serve the page: {error}"))?;
    runtime.block_on(async {
        let at_port = |error| format!("--port {port}: {error}");
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).await.map_err(at_port)?;
        let address = listener.local_addr().map_err(at_port)?;
        let served = Arc::new(Served {
            page: page.into(),
            path: format!("/{}/", Uuid::new_v4().simple()),
            host: address.to_string(),
        });
        tell(&format!("http://{}{}", served.host, served.path))?;
        let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        loop {
            let place = room.clone().acquire_owned().await;
            // One connection that fails is not all of them.
            let Ok((connection, _)) = listener.accept().await else {
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let served = served.clone();
            tokio::spawn(async move {
                let answer = service_fn(|request: Request<Incoming>| {
                    let response = served.answer(&request);
                    async { Ok::<_, Infallible>(response) }
                });
                let _ = http1::Builder::new()
                    .timer(TokioTimer::new())
                    .header_read_timeout(TIME_FOR_REQUEST)
                    .serve_connection(TokioIo::new(connection), answer)
                    .await;
                drop(place);
            });
        }
    })
}

struct Served {
    page: Bytes,
    path: String,
    host: String,
}

impl Served {
    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let (status, kind, body) = if !self.is_host(request.headers()) {
            let text = "This server is for its own address.\n";
            (StatusCode::MISDIRECTED_REQUEST, TEXT, text.into())
        } else if request.uri().path() != self.path {
            (
                StatusCode::NOT_FOUND,
                TEXT,
                "There is no such page.\n".into(),
            )
        } else if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let text = "This page can only be read.\n";
            (StatusCode::METHOD_NOT_ALLOWED, TEXT, text.into())
        } else {
            (
                StatusCode::OK,
                "text/html; charset=utf-8",
                self.page.clone(),
            )
        };
        let mut response = Response::new(Full::new(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        response
    }

    fn is_host(&self, headers: &HeaderMap) -> bool {
        let mut hosts = headers.get_all(HOST).iter();
        hosts.next().is_some_and(|host| host == self.host.as_str()) && hosts.next().is_none()
    }
}

const TEXT: &str = "text/plain; charset=utf-8";

#[cfg(test)]
mod tests {
    use hyper::header::ACCESS_CONTROL_ALLOW_ORIGIN;

    use super::*;

    fn status(method: &str, path: &str, host: Option<&str>) -> StatusCode {
        let served = Served {
            page: "<!DOCTYPE html>".into(),
            path: "/secret/".to_owned(),
            host: "127.0.0.1:8080".to_owned(),
        };
        let mut request = Request::builder().method(method).uri(path);
        if let Some(host) = host {
            request = request.header(HOST, host);
        }
        let response = served.answer(&request.body(()).unwrap());
        assert_eq!(response.headers()[CACHE_CONTROL], "no-store");
        assert!(!response.headers().contains_key(ACCESS_CONTROL_ALLOW_ORIGIN));
        response.status()
    }

    #[test]
    fn only_who_knows_the_address_gets_the_page() {
        let host = Some("127.0.0.1:8080");
        assert_eq!(status("GET", "/secret/", host), StatusCode::OK);
        assert_eq!(status("HEAD", "/secret/", host), StatusCode::OK);
        for path in ["/", "/secret", "/secret/x", "/other/", "//secret/"] {
            assert_eq!(status("GET", path, host), StatusCode::NOT_FOUND, "{path}");
        }
        for host in [
            None,
            Some("a.test:8080"),
            Some("127.0.0.1"),
            Some("127.0.0.1:81"),
        ] {
            let refused = StatusCode::MISDIRECTED_REQUEST;
            assert_eq!(status("GET", "/secret/", host), refused, "{host:?}");
        }
        let refused = StatusCode::METHOD_NOT_ALLOWED;
        assert_eq!(status("POST", "/secret/", host), refused);
    }
}
