/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser as a WebDriver session drives it: <https://w3c.github.io/webdriver/>.
//!
//! Servo's WebDriver server has its own thread. It handles one command after another, and waits for the
//! browser's answer to each request. So every request must be answered, even when a page goes away or a
//! dialog blocks its script. Dropping an answer's sender is an error for the server. An answer that the
//! server no longer waits for may still be sent.

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use crossbeam_channel::{Receiver, Sender, unbounded};
use servo::{
    DeviceIndependentIntRect, EmbedderControlId, EventLoopWaker, GenericSender, InputEventId,
    JSValue, Preferences, ScreenshotCaptureError, Servo, SimpleDialog, TraversalId,
    WebDriverCommandMsg, WebDriverJSResult, WebDriverLoadStatus, WebDriverScriptCommand,
    WebDriverUserPrompt, WebDriverUserPromptAction, WebViewId, convert_rect_to_css_pixel,
};
use socket2::{Domain, Socket, Type};

use crate::page::Page;
use crate::surface::Surface;

/// What the server asks of the browser itself, rather than of an open page.
pub enum Request {
    /// Open a page with about:blank, and give its id to [`WebDriver::page_opened`].
    Open(NewPage),
    /// Close a page, and then call this function.
    Close(WebViewId, Box<dyn FnOnce()>),
    /// Shut down.
    End,
}

/// A page that the server waits for.
pub struct NewPage {
    opened: Box<dyn FnOnce(WebViewId)>,
    loaded: Option<GenericSender<WebDriverLoadStatus>>,
}

/// The server's side of the browser.
pub struct WebDriver {
    commands: Receiver<WebDriverCommandMsg>,
    /// Where to report the end of a page's next load.
    loads: HashMap<WebViewId, GenericSender<WebDriverLoadStatus>>,
    /// Where to report the end of a step in the history.
    traversals: HashMap<TraversalId, GenericSender<WebDriverLoadStatus>>,
    /// Where to report that a page has handled an input event.
    input_events: HashMap<InputEventId, (WebViewId, Sender<()>)>,
    /// Where to send the value of a script.
    script: Option<GenericSender<WebDriverJSResult>>,
    /// The dialogs that are open, the newest last.
    dialogs: Vec<Dialog>,
    /// The page that the session chose last.
    selected: Option<WebViewId>,
}

struct Dialog {
    page: WebViewId,
    id: EmbedderControlId,
    dialog: SimpleDialog,
}

/// Fails if nothing can listen on `port`. The server itself would panic in that case.
pub fn check_port(port: u16) -> Result<(), String> {
    bind(port).map_err(|error| format!("--webdriver={port}: cannot listen there: {error}"))
}

/// Tries to bind to the port without listening on it. If this listened, a client that waits for the server would
/// be accepted here and then lose its connection.
fn bind(port: u16) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    // As a server does, so that old connections of an ended server do not count.
    socket.set_reuse_address(true)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, port)).into())
}

impl WebDriver {
    /// Starts the server on a port that only this machine can reach. Each command wakes `waker`. A
    /// session that resets preferences returns to `preferences`.
    pub fn start(port: u16, waker: Box<dyn EventLoopWaker>, preferences: Preferences) -> Self {
        let (sender, commands) = unbounded();
        webdriver_server::start_server(port, sender, waker, preferences);
        Self {
            commands,
            loads: HashMap::new(),
            traversals: HashMap::new(),
            input_events: HashMap::new(),
            script: None,
            dialogs: Vec::new(),
            selected: None,
        }
    }

    /// Carries out commands up to the first one that opens or closes a page or ends the browser. The caller
    /// must carry that one out before it calls again. None when there are no more commands.
    pub fn next_request<S: Surface>(
        &mut self,
        servo: &Servo,
        pages: &[Page<S>],
    ) -> Option<Request> {
        loop {
            let command = self.commands.try_recv().ok()?;
            if let Some(request) = self.obey(command, servo, pages) {
                return Some(request);
            }
        }
    }

    fn obey<S: Surface>(
        &mut self,
        command: WebDriverCommandMsg,
        servo: &Servo,
        pages: &[Page<S>],
    ) -> Option<Request> {
        let page_of = |id: WebViewId| pages.iter().find(|page| page.webview.id() == id);
        match command {
            WebDriverCommandMsg::Shutdown => return Some(Request::End),
            WebDriverCommandMsg::NewWindow(_, opened, loaded) => {
                let opened = Box::new(move |id| drop(opened.send(id)));
                return Some(Request::Open(NewPage { opened, loaded }));
            },
            WebDriverCommandMsg::CloseWebView(id, closed) => {
                let closed = Box::new(move || drop(closed.send(())));
                return Some(Request::Close(id, closed));
            },

            WebDriverCommandMsg::GetAllWebViews(answer) => {
                // Servo creates a page's browsing context with its first document. Before that, a command
                // for the page would fail with "no such window".
                let ready = pages.iter().filter(|page| page.webview.url().is_some());
                let _ = answer.send(ready.map(|page| page.webview.id()).collect());
            },
            WebDriverCommandMsg::IsWebViewOpen(id, answer) => {
                let _ = answer.send(page_of(id).is_some());
            },
            WebDriverCommandMsg::GetWebViewSelectedForInteraction(answer) => {
                let selected = self.selected.and_then(page_of).or(pages.first());
                let _ = answer.send(selected.map(|page| page.webview.id()));
            },
            WebDriverCommandMsg::SelectWebViewForInteraction(id) => {
                self.selected = Some(id);
                for page in pages {
                    page.webview.set_focused(page.webview.id() == id);
                }
                if let Some(page) = page_of(id) {
                    page.surface.focus(&page.webview);
                }
            },

            WebDriverCommandMsg::LoadUrl(id, url, loaded) => {
                if let Some(page) = page_of(id) {
                    self.close_dialogs(id);
                    self.loads.insert(id, loaded);
                    page.load(url);
                } else {
                    let _ = loaded.send(WebDriverLoadStatus::NavigationStop);
                }
            },
            WebDriverCommandMsg::Refresh(id, loaded) => {
                if let Some(page) = page_of(id) {
                    self.loads.insert(id, loaded);
                    page.webview.reload();
                } else {
                    let _ = loaded.send(WebDriverLoadStatus::NavigationStop);
                }
            },
            WebDriverCommandMsg::GoBack(id, done) => {
                self.traverse(page_of(id).and_then(Page::go_back), done);
            },
            WebDriverCommandMsg::GoForward(id, done) => {
                self.traverse(page_of(id).and_then(Page::go_forward), done);
            },

            WebDriverCommandMsg::ScriptCommand(_, ref script_command) => {
                match script_command {
                    WebDriverScriptCommand::AddLoadStatusSender(id, sender) => {
                        self.loads.insert(*id, sender.clone());
                    },
                    WebDriverScriptCommand::RemoveLoadStatusSender(id) => {
                        self.loads.remove(id);
                    },
                    WebDriverScriptCommand::ExecuteScriptWithCallback(_, value) => {
                        self.script = Some(value.clone());
                    },
                    _ => self.script = None,
                }
                servo.execute_webdriver_command(command);
            },
            WebDriverCommandMsg::IsBrowsingContextOpen(..)
            | WebDriverCommandMsg::FocusBrowsingContext(..) => {
                servo.execute_webdriver_command(command);
            },

            WebDriverCommandMsg::InputEvent(id, event, handled) => {
                if let Some(page) = page_of(id) {
                    let event = page.webview.notify_input_event(event);
                    if let Some(handled) = handled {
                        self.input_events.insert(event, (id, handled));
                    }
                }
            },
            WebDriverCommandMsg::TakeScreenshot(id, rect, answer) => match page_of(id) {
                Some(page) => {
                    let rect = rect.map(|rect| rect.to_box2d().into());
                    page.webview
                        .take_screenshot(rect, move |image| drop(answer.send(image)));
                },
                None => drop(answer.send(Err(ScreenshotCaptureError::WebViewDoesNotExist))),
            },

            WebDriverCommandMsg::GetWindowRect(id, answer) => {
                if let Some(page) = page_of(id) {
                    let _ = answer.send(window_rect(page));
                }
            },
            WebDriverCommandMsg::SetWindowRect(id, rect, answer) => {
                if let Some(page) = page_of(id) {
                    let rect = (rect.to_f32() * page.surface.hidpi_scale_factor())
                        .round()
                        .to_i32();
                    page.surface.resize_to(&page.webview, rect.size());
                    page.surface.move_to(rect.min);
                    let _ = answer.send(window_rect(page));
                }
            },
            WebDriverCommandMsg::MaximizeWebView(id, answer) => {
                if let Some(page) = page_of(id) {
                    page.surface.maximize();
                    let _ = answer.send(window_rect(page));
                }
            },
            WebDriverCommandMsg::GetViewportSize(id, answer) => {
                if let Some(page) = page_of(id) {
                    let size = page.surface.rendering_context().size2d().to_f32();
                    let _ = answer.send(size / page.surface.hidpi_scale_factor());
                }
            },

            WebDriverCommandMsg::CurrentUserPrompt(id, answer) => {
                let prompt = self.newest_dialog(id).map(|dialog| match dialog {
                    SimpleDialog::Alert(_) => WebDriverUserPrompt::Alert,
                    SimpleDialog::Confirm(_) => WebDriverUserPrompt::Confirm,
                    SimpleDialog::Prompt(_) => WebDriverUserPrompt::Prompt,
                });
                let _ = answer.send(prompt);
            },
            WebDriverCommandMsg::GetAlertText(id, answer) => {
                let dialog = self.newest_dialog(id);
                let _ = answer.send(dialog.map(|dialog| dialog.message().to_owned()).ok_or(()));
            },
            WebDriverCommandMsg::SendAlertText(id, text) => {
                if let Some(SimpleDialog::Prompt(prompt)) = self.newest_dialog(id) {
                    prompt.set_current_value(&text);
                }
            },
            WebDriverCommandMsg::HandleUserPrompt(id, action, answer) => {
                let _ = answer.send(self.answer_dialog(id, &action).ok_or(()));
            },

            WebDriverCommandMsg::ResetAllCookies(done) => {
                let cleared = move || {
                    let _ = done.send(());
                };
                servo
                    .site_data_manager()
                    .clear_cookies(Some(Box::new(cleared)));
            },
        }
        None
    }

    fn traverse(
        &mut self,
        traversal: Option<TraversalId>,
        done: GenericSender<WebDriverLoadStatus>,
    ) {
        match traversal {
            Some(traversal) => {
                self.traversals.insert(traversal, done);
            },
            None => drop(done.send(WebDriverLoadStatus::Complete)),
        }
    }

    fn newest_dialog(&mut self, page: WebViewId) -> Option<&mut SimpleDialog> {
        let mut dialogs = self.dialogs.iter_mut().rev();
        let found = dialogs.find(|dialog| dialog.page == page)?;
        Some(&mut found.dialog)
    }

    /// Answers the newest dialog and returns its text.
    fn answer_dialog(
        &mut self,
        page: WebViewId,
        action: &WebDriverUserPromptAction,
    ) -> Option<String> {
        let index = self
            .dialogs
            .iter()
            .rposition(|dialog| dialog.page == page)?;
        let text = self.dialogs[index].dialog.message().to_owned();
        match action {
            WebDriverUserPromptAction::Accept => self.dialogs.remove(index).dialog.confirm(),
            WebDriverUserPromptAction::Dismiss => self.dialogs.remove(index).dialog.dismiss(),
            WebDriverUserPromptAction::Ignore => {},
        }
        Some(text)
    }

    /// Dismisses the dialogs of a page.
    fn close_dialogs(&mut self, page: WebViewId) {
        self.dialogs.retain(|dialog| dialog.page != page);
    }

    /// Reports that a requested page is open.
    pub fn page_opened(&mut self, page: NewPage, id: WebViewId) {
        if let Some(loaded) = page.loaded {
            self.loads.insert(id, loaded);
        }
        (page.opened)(id);
    }

    pub fn page_loaded(&mut self, page: WebViewId) {
        self.load_ended(page, WebDriverLoadStatus::Complete);
    }

    /// The page crashed or was closed. It will not answer its open requests, so they are dropped.
    pub fn page_lost(&mut self, page: WebViewId) {
        self.load_ended(page, WebDriverLoadStatus::NavigationStop);
        self.input_events.retain(|_, (of, _)| *of != page);
        self.close_dialogs(page);
    }

    fn load_ended(&mut self, page: WebViewId, status: WebDriverLoadStatus) {
        if let Some(waiting) = self.loads.remove(&page) {
            let _ = waiting.send(status);
        }
    }

    pub fn traversed(&mut self, traversal: TraversalId) {
        if let Some(waiting) = self.traversals.remove(&traversal) {
            let _ = waiting.send(WebDriverLoadStatus::Complete);
        }
    }

    pub fn input_event_handled(&mut self, event: InputEventId) {
        if let Some((_, waiting)) = self.input_events.remove(&event) {
            let _ = waiting.send(());
        }
    }

    /// A page's script waits until the dialog is answered. The session learns of the dialog when it
    /// sends its next command, so the current command must end.
    pub fn dialog_opened(&mut self, page: WebViewId, id: EmbedderControlId, dialog: SimpleDialog) {
        if let Some(script) = self.script.take() {
            let _ = script.send(Ok(JSValue::Null));
        }
        self.load_ended(page, WebDriverLoadStatus::Blocked);
        self.input_events.retain(|_, (of, _)| *of != page);
        self.dialogs.push(Dialog { page, id, dialog });
    }

    /// Servo takes a dialog back.
    pub fn dialog_gone(&mut self, id: EmbedderControlId) {
        self.dialogs.retain(|dialog| dialog.id != id);
    }
}

/// The place of a page's window on the screen, in CSS pixels.
fn window_rect<S: Surface>(page: &Page<S>) -> DeviceIndependentIntRect {
    convert_rect_to_css_pixel(
        page.surface.screen_geometry().window_rect,
        page.surface.hidpi_scale_factor(),
    )
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;

    /// A listener on a free port. The port is free again when the listener is dropped.
    fn listen() -> (TcpListener, u16) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        (listener, port)
    }

    #[test]
    fn a_port_that_is_listened_on_is_refused() {
        let (listener, port) = listen();
        let error = check_port(port).unwrap_err();
        let begin = format!("--webdriver={port}: cannot listen there: ");
        assert!(error.starts_with(&begin), "{error}");
        drop(listener);
        assert_eq!(check_port(port), Ok(()));
    }

    #[test]
    fn the_check_of_a_port_accepts_nobody() {
        let (listener, port) = listen();
        drop(listener);
        thread::scope(|scope| {
            let client = scope.spawn(|| {
                // A client whose own end happens to get this port is connected to itself.
                let is_accepted =
                    |stream: &TcpStream| stream.local_addr().ok() != stream.peer_addr().ok();
                let connections =
                    (0..20_000).map(|_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)));
                connections.flatten().filter(is_accepted).count()
            });
            while !client.is_finished() {
                // The check fails while the client's own end of a connection has the port.
                let _ = check_port(port);
            }
            assert_eq!(client.join().unwrap(), 0);
        });
    }
}
