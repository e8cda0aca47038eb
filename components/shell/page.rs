/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! An open page: what is kept for it, and what a person or WebDriver can ask of it.

use std::rc::Rc;

use servo::{TraversalId, WebView};
use url::Url;

use crate::about_profiling::SessionHistory;
use crate::load_error;

/// A page and its surface.
pub struct Page<S> {
    // Before the surface, so that it is dropped first: the engine draws on the surface until then.
    pub webview: WebView,
    pub surface: Rc<S>,
    history: Rc<SessionHistory>,
    pub load: Load,
}

impl<S> Page<S> {
    pub fn new(webview: WebView, surface: Rc<S>, history: Rc<SessionHistory>, load: Load) -> Self {
        Self {
            webview,
            surface,
            history,
            load,
        }
    }
}

/// What the person asks of a page.
impl<S> Page<S> {
    pub fn load(&self, url: Url) {
        self.history.load(&url);
        self.webview.load(url);
    }

    /// None if this is the oldest entry of the history.
    pub fn go_back(&self) -> Option<TraversalId> {
        self.webview.can_go_back().then(|| {
            self.history.go_back();
            self.webview.go_back(1)
        })
    }

    /// None if this is the newest entry of the history.
    pub fn go_forward(&self) -> Option<TraversalId> {
        self.webview.can_go_forward().then(|| {
            self.history.go_forward();
            self.webview.go_forward(1)
        })
    }
}

/// The progress of a page's first load.
pub enum Load {
    /// The page is loading.
    Started(Url),
    /// It ended with a page that may be Servo's error page. The page is being asked.
    Checking(Url, load_error::Answer),
    /// It ended, or the page was not opened by the command line.
    Done,
}
