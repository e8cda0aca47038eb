/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The server for about:profiling.
//!
//! What the profiler sees of all pages is for the person alone. So the page itself is only given to a
//! navigation that the person, or the page, has begun ([`access`]), and answers only to who has the token
//! that was given with the page, from the document to which it was given ([`tokens`]).

mod access;
mod endpoints;
mod history;
mod protocol;
mod query;
mod recording_options;
mod recordings;
mod request_body;
mod status;
mod tokens;

use std::sync::Arc;

use profile_recorder::Recorder;
use servo::WebViewId;
use servo::protocol_handler::ProtocolRegistry;

pub use self::access::{is_profiling_page, may_navigate};
pub use self::endpoints::Endpoints;
pub use self::history::{Return, SessionHistory};
use self::protocol::ProfilingProtocol;
use self::tokens::Tokens;

/// The scheme of the server, under which Servo also asks it for about:profiling.
const SCHEME: &str = "profiling";

/// The server, for the browser; pages reach it through Servo's network code.
pub struct ProfilingServer {
    tokens: Arc<Tokens>,
    endpoints: Arc<Endpoints>,
}

impl ProfilingServer {
    /// Starts to serve, in a browser with these protocols.
    pub fn start(recorder: Recorder, protocols: &mut ProtocolRegistry) -> Self {
        let tokens = Arc::new(Tokens::default());
        let endpoints = Arc::new(Endpoints::new(recorder));
        let protocol = ProfilingProtocol {
            tokens: tokens.clone(),
            endpoints: endpoints.clone(),
        };
        protocols
            .register(SCHEME, protocol)
            .expect("no other protocol of Servo or of ours has this name");
        Self { tokens, endpoints }
    }

    /// What the page does for a person, for who has buttons of their own.
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// A page is closed, and the tokens of its documents are worth nothing any more.
    pub fn page_closed(&self, webview: WebViewId) {
        self.tokens.forget_page(webview);
    }
}
