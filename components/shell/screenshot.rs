/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The picture of a page.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;

use image::ImageFormat;
use servo::{RgbaImage, ScreenshotCaptureError, WebView, WebViewId};

/// A requested picture, from before its page has loaded until the file is written.
pub struct Screenshot {
    page: WebViewId,
    file: PathBuf,
    state: State,
}

enum State {
    /// The page is loading.
    Waiting,
    /// Servo waits for images, fonts and a frame with all of them.
    Taking(Rc<RefCell<Option<Result<RgbaImage, ScreenshotCaptureError>>>>),
    /// It has been written, or cannot be.
    Done,
}

impl Screenshot {
    pub fn new(page: WebViewId, file: PathBuf) -> Self {
        Self {
            page,
            file,
            state: State::Waiting,
        }
    }

    pub fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Takes the picture if `webview` is the page. Called when a page has loaded.
    pub fn take(&mut self, webview: &WebView) {
        if webview.id() != self.page || !matches!(self.state, State::Waiting) {
            return;
        }
        let result = Rc::new(RefCell::new(None));
        self.state = State::Taking(result.clone());
        webview.take_screenshot(None, move |image| *result.borrow_mut() = Some(image));
    }

    /// Writes the picture if Servo has delivered it. The error names the file.
    pub fn finish(&mut self) -> Result<(), String> {
        let State::Taking(result) = &self.state else {
            return Ok(());
        };
        let Some(result) = result.take() else {
            return Ok(());
        };
        self.state = State::Done;
        let image = result.map_err(|error| self.complaint(&format!("{error:?}")))?;
        image
            .save_with_format(&self.file, ImageFormat::Png)
            .map_err(|error| self.complaint(&error.to_string()))
    }

    /// Gives up the picture of `page` if it has not been taken; `why` is the reason.
    pub fn page_lost(&mut self, page: WebViewId, why: &str) -> Result<(), String> {
        if page == self.page {
            self.abandon(why)
        } else {
            Ok(())
        }
    }

    /// Gives up the picture if it has not been taken; `why` is the reason.
    pub fn abandon(&mut self, why: &str) -> Result<(), String> {
        if self.is_done() {
            return Ok(());
        }
        self.state = State::Done;
        Err(self.complaint(why))
    }

    fn complaint(&self, why: &str) -> String {
        format!("no screenshot in {}: {why}", self.file.display())
    }
}
