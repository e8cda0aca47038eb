/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The server for about:profiling.
//!
//! Only the person may see what the profiler sees of all pages. So the page is served only to a navigation that
//! the person or about:profiling itself began ([`access`]). Data is served only for the token that was put into
//! the page, and only to the document that received it ([`tokens`]).

mod access;
mod address;
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

pub use self::access::may_navigate;
use self::address::SCHEME;
pub use self::address::{is_profiling_page, page_url};
pub use self::endpoints::Endpoints;
pub use self::history::{Return, SessionHistory};
use self::protocol::ProfilingProtocol;
pub use self::recordings::Recordings;
use self::tokens::Tokens;

/// The browser's handle on the server. Pages reach the server through Servo's network code.
pub struct ProfilingServer {
    tokens: Arc<Tokens>,
    endpoints: Arc<Endpoints>,
}

impl ProfilingServer {
    /// Starts the server and adds its scheme to `protocols`. `recordings` are those that it has at first.
    pub fn start(
        recorder: Recorder,
        recordings: Recordings,
        protocols: &mut ProtocolRegistry,
    ) -> Self {
        let tokens = Arc::new(Tokens::default());
        let endpoints = Arc::new(Endpoints::new(recorder, recordings));
        let protocol = ProfilingProtocol {
            tokens: tokens.clone(),
            endpoints: endpoints.clone(),
        };
        protocols
            .register(SCHEME, protocol)
            .expect("no other protocol of Servo or of ours has this name");
        Self { tokens, endpoints }
    }

    /// The functions of the page, for the window's buttons.
    pub fn endpoints(&self) -> &Arc<Endpoints> {
        &self.endpoints
    }

    /// Invalidates the tokens of a closed page's documents.
    pub fn page_closed(&self, webview: WebViewId) {
        self.tokens.forget_page(webview);
    }
}
