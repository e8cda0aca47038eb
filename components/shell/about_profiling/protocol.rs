/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The server as a protocol of Servo.

use std::future;
use std::pin::Pin;
use std::sync::Arc;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS};
use http::{HeaderValue, StatusCode};
use net_traits::request::Request;
use profile_formats::{MAX_TEXT_BYTES, viewer_page};
use servo::protocol_handler::{
    DoneChannel, FetchContext, NetworkError, ProtocolHandler, ResourceFetchTiming, Response,
    ResponseBody,
};

use super::address::is_profiling_page;
use super::endpoints::{Endpoints, Failure};
use super::query::Query;
use super::tokens::Tokens;
use super::{access, request_body};

type FutureResponse<'a> = Pin<Box<dyn Future<Output = Response> + Send + 'a>>;

pub struct ProfilingProtocol {
    pub tokens: Arc<Tokens>,
    pub endpoints: Arc<Endpoints>,
}

impl ProtocolHandler for ProfilingProtocol {
    fn load<'a>(
        &'a self,
        request: &'a mut Request,
        _: &mut DoneChannel,
        _: &FetchContext,
    ) -> FutureResponse<'a> {
        match is_profiling_page(request.current_url().as_url()) {
            true => Box::pin(future::ready(self.page(request))),
            false => Box::pin(self.data(request)),
        }
    }

    /// Lets the page read the answers. Requests from others fail with an error.
    fn is_fetchable(&self) -> bool {
        true
    }
}

impl ProfilingProtocol {
    fn page(&self, request: &Request) -> Response {
        if let Err(why) = access::may_have_page(request) {
            return refusal(why);
        }
        let (Some(page), Some(document)) = (request.target_webview_id, request.pipeline_id) else {
            return refusal("about:profiling can only be opened in a page");
        };
        let token = self.tokens.issue(page, document);
        let content = viewer_page(None, Some(&token)).into_bytes();
        let mut response = response(request, StatusCode::OK, "text/html; charset=utf-8", content);
        // Servo obeys this header but not frame-ancestors of a Content-Security-Policy.
        response
            .headers
            .insert(X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        response
    }

    async fn data(&self, request: &mut Request) -> Response {
        let url = request.current_url().into_url();
        let mut query = Query::of(&url);
        let token = query.take("token").unwrap_or_default();
        let is_of_page = access::may_have_data(request)
            && request
                .pipeline_id
                .zip(access::origin_of(request))
                .is_some_and(|(document, origin)| self.tokens.is_of(&token, document, origin));
        if !is_of_page {
            // The answer does not depend on what is wrong, and no page can read it.
            return refusal("only about:profiling can use profiling: URLs");
        }
        let endpoints = self.endpoints.clone();
        let body = request.body.clone();
        // An answer may read files and whole recordings, and may wait for the page.
        let answering = tokio::task::spawn_blocking(move || {
            let body = || match &body {
                Some(body) => request_body::read(body, MAX_TEXT_BYTES),
                None => Err("there is no body: send the text by POST".to_owned()),
            };
            endpoints.answer(url.path(), query, body)
        });
        let answer = answering.await.unwrap_or_else(|_| {
            Err(Failure {
                status: StatusCode::INTERNAL_SERVER_ERROR,
                message: "the server failed; the browser's standard error has the details"
                    .to_owned(),
            })
        });
        let (status, json) = match answer {
            Ok(json) => (StatusCode::OK, json),
            Err(failure) => (failure.status, failure.to_json()),
        };
        response(request, status, "application/json", json)
    }
}

fn response(
    request: &Request,
    status: StatusCode,
    content_type: &'static str,
    content: Vec<u8>,
) -> Response {
    let timing = ResourceFetchTiming::new(request.timing_type());
    let mut response = Response::new(request.current_url(), timing);
    response.status = status.into();
    for (name, value) in [
        (CONTENT_TYPE, content_type),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        response
            .headers
            .insert(name, HeaderValue::from_static(value));
    }
    *response.body.lock() = ResponseBody::Done(content);
    response
}

fn refusal(why: &str) -> Response {
    Response::network_error(NetworkError::ResourceLoadError(why.to_owned()))
}
