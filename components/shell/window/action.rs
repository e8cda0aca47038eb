/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What the window can be told to do: by a key, a button, a menu or a page.

use std::path::PathBuf;

use servo::WebViewId;
use url::Url;

/// What a person asked of the window. An action that names no page is for the tab in front.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    Back,
    Forward,
    Reload,
    /// Reload without what was cached.
    ReloadAll,
    Stop,
    Home,
    Load(Url),
    /// Open a tab, in front of the others: with a page, or without one to type an address.
    OpenTab(Option<Url>),
    CloseTab,
    CloseThisTab(WebViewId),
    /// Open the tab again that was closed last.
    ReopenTab,
    SelectTab(WebViewId),
    /// Counted from 0, from the left.
    SelectTabNumber(usize),
    SelectLastTab,
    NextTab,
    PreviousTab,
    EditAddress,
    ZoomIn,
    ZoomOut,
    ResetZoom,
    ToggleFullscreen,
    /// Start to record a profile, or stop and show it.
    ToggleRecording,
    OpenProfiling,
    /// A file was dropped onto the window.
    OpenFile(PathBuf),
    Quit,
}
