/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The actions of the window, which a key, a button, a menu or a page can cause.

use std::path::PathBuf;

use servo::WebViewId;
use url::Url;

/// What the person asked the window to do. An action that names no page is for the tab in front.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Back,
    Forward,
    Reload,
    /// Reload without the cache.
    ReloadAll,
    Stop,
    Home,
    Load(Url),
    /// Open a tab in front of the others, with a page or with an empty address field.
    OpenTab(Option<Url>),
    CloseTab,
    CloseThisTab(WebViewId),
    /// Reopen the tab that was closed last.
    ReopenTab,
    SelectTab(WebViewId),
    /// Select a tab by its index from the left, starting at 0.
    SelectTabNumber(usize),
    SelectLastTab,
    NextTab,
    PreviousTab,
    EditAddress,
    ZoomIn,
    ZoomOut,
    ResetZoom,
    ToggleFullscreen,
    /// Start to record a profile, or stop the recording and show it.
    ToggleRecording,
    OpenProfiling,
    /// A file was dropped onto the window.
    OpenFile(PathBuf),
    Quit,
}
