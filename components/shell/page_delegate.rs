/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What Servo reports to the embedder about a page, and asks it to do.

use std::cell::RefCell;
use std::io;
use std::rc::Rc;

use servo::{
    AuthenticationRequest, ConsoleLogLevel, CreateNewWebViewRequest, Cursor, DeviceIntPoint,
    DeviceIntSize, EmbedderControl, EmbedderControlId, InputEventId, InputEventResult, LoadStatus,
    NavigationRequest, PermissionRequest, ScreenGeometry, ServoDelegate, ServoError, SimpleDialog,
    TraversalId, WebView, WebViewDelegate, WebViewId,
};
use url::Url;

use crate::about_profiling::{self, Return, SessionHistory};
use crate::console;
use crate::failure::report;
use crate::surface::Surface;

/// Something that changes which pages there are, or whether the browser goes on.
///
/// Servo calls delegates in the middle of its work. So delegates only record events, and the browser
/// handles them when Servo is done.
pub enum Event {
    /// The page and everything in it has loaded.
    Loaded(WebViewId),
    /// The page closed itself.
    Closed(WebViewId),
    /// The page's event loop panicked.
    Crashed {
        webview: WebViewId,
        reason: String,
        backtrace: Option<String>,
    },
    /// A page wants another page, as with `window.open()`.
    PageRequested(CreateNewWebViewRequest),
    /// A page's script waits until the dialog is answered.
    DialogOpened {
        webview: WebViewId,
        control: EmbedderControlId,
        dialog: SimpleDialog,
    },
    /// A dialog no longer needs an answer.
    DialogGone(EmbedderControlId),
    /// The page has handled an input event.
    InputEventHandled(InputEventId),
    /// A page of the history is shown.
    Traversed(TraversalId),
    /// Writing to standard output failed.
    OutputFailed(io::Error),
    /// Servo cannot go on.
    EngineLost,
}

/// The events that have not been handled yet, in order.
#[derive(Default)]
pub struct Events(RefCell<Vec<Event>>);

impl Events {
    pub fn take(&self) -> Vec<Event> {
        self.0.take()
    }

    fn push(&self, event: Event) {
        self.0.borrow_mut().push(event);
    }

    fn print(&self, line: &str) {
        if let Err(error) = console::print(line) {
            self.push(Event::OutputFailed(error));
        }
    }
}

/// The delegate of a page. Servo itself refuses the requests that are not mentioned here (devices,
/// notifications and the like), because nobody answers them.
pub struct PageDelegate<S> {
    pub events: Rc<Events>,
    pub surface: Rc<S>,
    pub history: Rc<SessionHistory>,
}

impl<S: Surface> WebViewDelegate for PageDelegate<S> {
    fn screen_geometry(&self, _: WebView) -> Option<ScreenGeometry> {
        Some(self.surface.screen_geometry())
    }

    fn notify_url_changed(&self, _: WebView, url: Url) {
        self.surface.url_changed(&url);
    }

    fn notify_page_title_changed(&self, webview: WebView, _: Option<String>) {
        self.surface.page_changed(&webview);
    }

    fn notify_status_text_changed(&self, webview: WebView, _: Option<String>) {
        self.surface.page_changed(&webview);
    }

    fn notify_history_changed(&self, webview: WebView, entries: Vec<Url>, current: usize) {
        self.surface.page_changed(&webview);
        let Some(way) = self.history.changed(entries, current) else {
            return;
        };
        self.events.print(&console::message_line(
            &ConsoleLogLevel::Error,
            "a page may not go through its history to about:profiling",
        ));
        match way {
            Return::Back(entries) => drop(webview.go_back(entries)),
            Return::Forward(entries) => drop(webview.go_forward(entries)),
            Return::Load(url) => webview.load(url),
        }
    }

    fn notify_favicon_changed(&self, webview: WebView) {
        self.surface.favicon_changed(&webview);
    }

    fn notify_load_status_changed(&self, webview: WebView, status: LoadStatus) {
        self.surface.page_changed(&webview);
        if status == LoadStatus::Complete {
            self.events.push(Event::Loaded(webview.id()));
        }
    }

    fn notify_cursor_changed(&self, _: WebView, cursor: Cursor) {
        self.surface.cursor_changed(cursor);
    }

    fn notify_new_frame_ready(&self, _: WebView) {
        self.surface.frame_clock().want_frame();
    }

    fn notify_closed(&self, webview: WebView) {
        self.events.push(Event::Closed(webview.id()));
    }

    fn notify_crashed(&self, webview: WebView, reason: String, backtrace: Option<String>) {
        self.events.push(Event::Crashed {
            webview: webview.id(),
            reason,
            backtrace,
        });
    }

    fn notify_fullscreen_state_changed(&self, _: WebView, fullscreen: bool) {
        self.surface.fullscreen_changed(fullscreen);
    }

    fn request_move_to(&self, _: WebView, position: DeviceIntPoint) {
        self.surface.move_to(position);
    }

    fn request_resize_to(&self, webview: WebView, outer_size: DeviceIntSize) {
        self.surface.resize_to(&webview, outer_size);
    }

    fn request_create_new(&self, _: WebView, request: CreateNewWebViewRequest) {
        self.events.push(Event::PageRequested(request));
    }

    fn request_navigation(&self, webview: WebView, request: NavigationRequest) {
        let current = webview.url();
        match about_profiling::may_navigate(current.as_ref(), &request.url) {
            true => request.allow(),
            false => {
                self.events.print(&console::message_line(
                    &ConsoleLogLevel::Error,
                    &format!(
                        "a page may not open {}",
                        console::quoted(request.url.as_str())
                    ),
                ));
                request.deny();
            },
        }
    }

    fn request_permission(&self, _: WebView, request: PermissionRequest) {
        request.deny();
    }

    fn request_authentication(&self, _: WebView, request: AuthenticationRequest) {
        self.surface.sign_in(request);
    }

    fn show_embedder_control(&self, webview: WebView, control: EmbedderControl) {
        let id = control.id();
        match control {
            EmbedderControl::SimpleDialog(dialog) => {
                self.events.print(&console::dialog_line(&dialog));
                self.events.push(Event::DialogOpened {
                    webview: webview.id(),
                    control: id,
                    dialog,
                });
            },
            control => self.surface.show_control(control),
        }
    }

    fn hide_embedder_control(&self, _: WebView, control: EmbedderControlId) {
        self.surface.hide_control(control);
        self.events.push(Event::DialogGone(control));
    }

    fn notify_input_event_handled(
        &self,
        webview: WebView,
        event: InputEventId,
        result: InputEventResult,
    ) {
        // Immediately, because Servo scrolls once for all the events that it has received.
        self.surface.input_event_handled(&webview, event, result);
        self.events.push(Event::InputEventHandled(event));
    }

    fn notify_traversal_complete(&self, _: WebView, traversal: TraversalId) {
        self.events.push(Event::Traversed(traversal));
    }

    fn show_console_message(&self, _: WebView, level: ConsoleLogLevel, message: String) {
        self.events.print(&console::message_line(&level, &message));
    }
}

/// The delegate for events that belong to no page, or to a page that no longer exists.
pub struct EngineDelegate(pub Rc<Events>);

impl ServoDelegate for EngineDelegate {
    fn notify_error(&self, error: ServoError) {
        match error {
            ServoError::LostConnectionWithBackend => self.0.push(Event::EngineLost),
            ServoError::DevtoolsFailedToStart | ServoError::ResponseFailedToSend(_) => {
                report(&format!("Servo: {error:?}"));
            },
        }
    }

    fn show_console_message(&self, level: ConsoleLogLevel, message: String) {
        self.0.print(&console::message_line(&level, &message));
    }
}
