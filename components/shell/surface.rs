/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What a page is drawn on, and what its window does for it.

use std::rc::Rc;

use euclid::Scale;
use servo::{
    AuthenticationRequest, Cursor, DeviceIndependentPixel, DeviceIntPoint, DeviceIntSize,
    DevicePixel, EmbedderControl, EmbedderControlId, InputEventId, InputEventResult,
    RenderingContext, ScreenGeometry, SimpleDialog, Theme, WebView,
};
use url::Url;

use crate::frame_clock::FrameClock;

/// What a page is drawn on: a tab of a window, or memory.
pub trait Surface: 'static {
    /// Whether a person sees the page. If not, a page that crashed or could not be loaded is closed.
    const INTERACTIVE: bool;

    /// Pages may share one. Then they all have its size, and the surface ensures that only one is visible.
    fn rendering_context(&self) -> Rc<dyn RenderingContext>;
    /// Device pixels per logical pixel.
    fn hidpi_scale_factor(&self) -> Scale<f32, DeviceIndependentPixel, DevicePixel>;
    /// The theme of the page, if it is known.
    fn theme(&self) -> Option<Theme> {
        None
    }
    fn screen_geometry(&self) -> ScreenGeometry;
    /// Decides when the page is drawn.
    fn frame_clock(&self) -> &FrameClock;
    /// Draws `webview`, the page of this surface, at once or as soon as the window system lets it.
    fn draw(&self, webview: &WebView);
    /// The page asks for this size of its window, with decorations, in device pixels.
    fn resize_to(&self, webview: &WebView, outer_size: DeviceIntSize);
    /// The page asks for its window to be at this place on the screen, in device pixels.
    fn move_to(&self, _position: DeviceIntPoint) {}
    /// Makes the page as large as the screen allows.
    fn maximize(&self) {}
    /// Shows the page to the person, and gives it the keyboard's focus.
    fn focus(&self, _webview: &WebView) {}
    /// The page was opened. `in_front` says whether to show it now.
    fn added(&self, _webview: &WebView, _in_front: bool) {}
    /// Something that the window shows around the page has changed, such as its title, history or load status.
    fn page_changed(&self, _webview: &WebView) {}
    fn url_changed(&self, _url: &Url) {}
    fn favicon_changed(&self, _webview: &WebView) {}
    fn cursor_changed(&self, _cursor: Cursor) {}
    /// The page has handled an input event. Servo has not drawn the effects yet.
    fn input_event_handled(
        &self,
        _webview: &WebView,
        _event: InputEventId,
        _result: InputEventResult,
    ) {
    }
    fn fullscreen_changed(&self, _fullscreen: bool) {}
    /// The page's script waits for an answer. By default the dialog is dismissed.
    fn show_dialog(&self, _webview: &WebView, _id: EmbedderControlId, dialog: SimpleDialog) {
        dialog.dismiss();
    }
    /// Shows any control except a dialog. A control that is dropped counts as "nothing chosen".
    fn show_control(&self, _control: EmbedderControl) {}
    /// A dialog or control no longer needs an answer.
    fn hide_control(&self, _id: EmbedderControlId) {}
    /// Asks for a name and a password. A request that is dropped goes on without them.
    fn sign_in(&self, _request: AuthenticationRequest) {}
}
