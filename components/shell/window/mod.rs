/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser in a window: tabs, a toolbar, and a page beneath them.

mod action;
mod address;
mod address_focus;
mod browser_window;
mod chrome;
mod controls;
mod draw;
mod icons;
mod input;
mod layout;
mod shortcuts;
mod tab;
mod tab_strip;
mod theme;
mod toolbar;
mod wheel;
mod window_system;
mod zoom;

use std::path::{self, Path};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, TryRecvError};
use servo::{
    DevicePoint, DeviceVector2D, EventLoopWaker, InputEvent, Key, KeyState, LoadStatus,
    MouseButtonEvent, MouseLeftViewportEvent, MouseMoveEvent, NamedKey, WebView, WebViewId,
};
use url::Url;
use winit::application::ApplicationHandler;
use winit::event::{
    DeviceEvent, DeviceId, ElementState, KeyEvent, MouseButton, MouseScrollDelta, Touch,
    TouchPhase, WindowEvent,
};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::keyboard::{ModifiersState, PhysicalKey};
use winit::window::WindowId;

use action::Action;
use browser_window::BrowserWindow;
use draw::draw_window;
use input::Composition;
use layout::CHROME_HEIGHT;
use tab::Tab;
use wheel::{Turn, WheelButtons};

use crate::about_profiling::{is_profiling_page, page_url};
use crate::browser::{Browser, Ended, Next, Settings};
use crate::keyboard::keyboard_event;
use crate::page::Page;
use crate::surface::Surface;

/// How often to check whether a recording is in progress.
const RECORDING_INTERVAL: Duration = Duration::from_millis(250);

/// How many closed tabs can be reopened.
const REMEMBERED_TABS: usize = 25;

/// Runs the browser in a window. The error says why there is no window.
pub fn run(settings: Settings) -> Result<Ended, String> {
    let no_window = |message: String| format!("cannot open a window (try --headless): {message}");
    let event_loop = EventLoop::with_user_event()
        .build()
        .map_err(|error| no_window(window_system::message(&error)))?;
    let mut application = Application {
        waker: Waker(event_loop.create_proxy()),
        state: State::Starting(Box::new(settings)),
    };
    event_loop
        .run_app(&mut application)
        .map_err(|error| no_window(window_system::message(&error)))?;
    match application.state {
        State::Ended(outcome) => outcome.map_err(no_window),
        State::Starting(_) | State::Running(_) | State::Taken => {
            Err(no_window("it was never ready".to_owned()))
        },
    }
}

/// The message by which other threads wake the event loop.
#[derive(Debug)]
struct Wake;

#[derive(Clone)]
struct Waker(EventLoopProxy<Wake>);

impl EventLoopWaker for Waker {
    fn clone_box(&self) -> Box<dyn EventLoopWaker> {
        Box::new(self.clone())
    }

    fn wake(&self) {
        // This fails if the loop has ended. Then there is nothing to wake.
        let _ = self.0.send_event(Wake);
    }
}

struct Application {
    waker: Waker,
    state: State,
}

enum State {
    /// A window can be opened only once the event loop runs.
    Starting(Box<Settings>),
    Running(Box<Session>),
    /// The other states are being changed.
    Taken,
    /// Holds the reason if no window could be opened.
    Ended(Result<Ended, String>),
}

impl ApplicationHandler<Wake> for Application {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if !matches!(self.state, State::Starting(_)) {
            return;
        }
        let State::Starting(settings) = std::mem::replace(&mut self.state, State::Taken) else {
            return;
        };
        self.state = match Session::start(event_loop, *settings, self.waker.clone()) {
            Ok(session) => State::Running(Box::new(session)),
            Err(message) => {
                event_loop.exit();
                State::Ended(Err(message))
            },
        };
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let State::Running(session) = &mut self.state else {
            return;
        };
        match session.step() {
            Next::Wait(Some(time)) => event_loop.set_control_flow(ControlFlow::WaitUntil(time)),
            Next::Wait(None) => event_loop.set_control_flow(ControlFlow::Wait),
            Next::End => event_loop.exit(),
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        // Windows need the connection to the display to close, so they are dropped here.
        self.state = match std::mem::replace(&mut self.state, State::Taken) {
            State::Running(session) => {
                let Session {
                    browser, window, ..
                } = *session;
                let ended = browser.shut_down();
                drop(window);
                State::Ended(Ok(ended))
            },
            other => other,
        };
    }

    fn device_event(&mut self, _: &ActiveEventLoop, _: DeviceId, event: DeviceEvent) {
        if let State::Running(session) = &mut self.state {
            session.wheel_buttons.device_event(&event);
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let State::Running(session) = &mut self.state else {
            return;
        };
        session.handle(event);
        if session.is_quitting {
            session.browser.closing();
            event_loop.exit();
        }
    }
}

/// The browser while its window is open.
struct Session {
    browser: Browser<Tab>,
    window: Rc<BrowserWindow>,
    /// The first page of the command line.
    home: Option<Url>,
    /// The URLs of closed tabs, the most recent last.
    closed: Vec<Url>,
    /// The index of the tab in front.
    place: usize,
    /// Whether the person wants the whole screen, regardless of the page.
    wants_fullscreen: bool,
    is_quitting: bool,
    /// Whether the button shows a recording. `watched` is when this was checked last.
    is_recording: bool,
    watched: Instant,
    /// The id of the recording that is being stopped, as soon as it has ended.
    stopping: Option<Receiver<Result<String, String>>>,
    waker: Waker,
    /// The modifier keys that are held.
    modifiers: ModifiersState,
    /// Keys whose press was not for the page, so their release is not either.
    kept_keys: Vec<PhysicalKey>,
    /// Where the pointer was last, in device pixels of the page.
    pointer: DevicePoint,
    is_pointer_on_page: bool,
    /// How many of the buttons that were pressed on the page are still held.
    buttons_on_page: u32,
    /// The fingers that touched down on the page.
    fingers_on_page: Vec<u64>,
    composition: Composition,
    wheel_buttons: WheelButtons,
}

impl Session {
    fn start(
        event_loop: &ActiveEventLoop,
        settings: Settings,
        waker: Waker,
    ) -> Result<Self, String> {
        let command_line = &settings.command_line;
        let window = BrowserWindow::open(event_loop, command_line.window_size, command_line.theme)?;
        let window = Rc::new(window);
        let home = command_line.urls.first().cloned();
        let browser = Browser::start(settings, Box::new(waker.clone()), || {
            Ok(Tab::new(window.clone()))
        })?;
        Ok(Self {
            browser,
            window,
            home,
            closed: Vec::new(),
            place: 0,
            wants_fullscreen: false,
            is_quitting: false,
            is_recording: false,
            watched: Instant::now(),
            stopping: None,
            waker,
            modifiers: ModifiersState::default(),
            kept_keys: Vec::new(),
            pointer: DevicePoint::default(),
            is_pointer_on_page: false,
            buttons_on_page: 0,
            fingers_on_page: Vec::new(),
            composition: Composition::default(),
            wheel_buttons: WheelButtons::default(),
        })
    }

    fn step(&mut self) -> Next {
        let window = &self.window;
        let next = self.browser.step(|| Ok(Tab::new(window.clone())));
        self.settle();
        let now = Instant::now();
        self.watch_recording(now);
        self.show_stopped();
        self.window.request_due_drawing(now);
        match next {
            Next::Wait(time) => {
                Next::Wait(time.into_iter().chain(self.window.next_drawing()).min())
            },
            Next::End => Next::End,
        }
    }

    /// The page in front.
    fn page(&self) -> Option<&Page<Tab>> {
        self.window.in_front(self.browser.pages())
    }

    fn webview(&self) -> Option<&WebView> {
        self.page().map(|page| &page.webview)
    }

    /// Whether a dialog or menu of the page in front is open.
    fn is_asked(&self) -> bool {
        self.page()
            .is_some_and(|page| !page.surface.controls().borrow().is_empty())
    }

    fn tell_page(&self, event: InputEvent) {
        if let Some(webview) = self.webview() {
            webview.notify_input_event(event);
        }
    }

    /// Updates the pages and the window to match the tab in front.
    fn settle(&mut self) {
        let pages = self.browser.pages();
        let selected = self.window.selected();
        let place = pages
            .iter()
            .position(|page| Some(page.webview.id()) == selected);
        match place {
            Some(place) => self.place = place,
            // The tab was closed; the one that moved into its place comes to the front.
            None => {
                self.place = self.place.min(pages.len().saturating_sub(1));
                if let Some(page) = pages.get(self.place) {
                    self.window.select(page.webview.id());
                }
            },
        }
        // A page keeps the focus while it has a dialog open: a page that loses it withdraws its dialogs.
        let page_has_keyboard =
            self.window.is_focused() && (self.is_asked() || !self.window.chrome_has_keyboard());
        let selected = self.window.selected();
        // Pages are hidden before one is shown, so that two pages never draw on the same picture.
        for is_selected in [false, true] {
            for page in self.browser.pages() {
                if (Some(page.webview.id()) == selected) != is_selected {
                    continue;
                }
                page.webview.set_focused(is_selected && page_has_keyboard);
                let is_seen = is_selected && self.window.is_visible();
                page.surface.show(&page.webview, is_seen);
            }
        }
        let in_front = self.page();
        let title = in_front.map(tab_strip::title).unwrap_or_default();
        let page_wants_fullscreen = in_front.is_some_and(|page| page.surface.wants_fullscreen());
        self.window.set_title(&title);
        self.window
            .set_fullscreen(self.wants_fullscreen || page_wants_fullscreen);
    }

    fn handle(&mut self, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested | WindowEvent::Destroyed => self.is_quitting = true,
            WindowEvent::RedrawRequested => self.draw(),
            WindowEvent::Resized(_) => self.window.size_changed(),
            WindowEvent::ScaleFactorChanged { .. } => {
                self.window.chrome_event(&event);
                for page in self.browser.pages() {
                    let scale = page.surface.hidpi_scale_factor();
                    page.webview.set_hidpi_scale_factor(scale);
                }
                self.window.size_changed();
            },
            WindowEvent::Focused(focused) => {
                self.window.chrome_event(&event);
                self.window.set_focused(focused);
                // The window is not told about keys that are released elsewhere.
                self.kept_keys.clear();
            },
            WindowEvent::Occluded(occluded) => self.window.set_occluded(occluded),
            WindowEvent::ThemeChanged(_) => {
                self.window.apply_theme();
                for page in self.browser.pages() {
                    page.webview.notify_theme_change(self.window.theme());
                }
            },
            WindowEvent::ModifiersChanged(modifiers) => {
                self.modifiers = modifiers.state();
                self.window.chrome_event(&event);
            },
            WindowEvent::KeyboardInput {
                event: ref key,
                // Synthetic events are for keys that were already held when the window got the focus.
                is_synthetic: false,
                ..
            } => self.key(key, &event),
            WindowEvent::Ime(ref ime) => {
                if self.window.chrome_has_keyboard() || self.is_asked() {
                    self.window.chrome_event(&event);
                } else {
                    for event in self.composition.events(ime) {
                        self.tell_page(InputEvent::Ime(event));
                    }
                }
            },
            WindowEvent::CursorMoved { position, .. } => {
                self.wheel_buttons.pointer_moved();
                self.pointer_moved(position.x, position.y, &event);
            },
            WindowEvent::CursorLeft { .. } => {
                self.window.chrome_event(&event);
                self.pointer_left_page();
            },
            WindowEvent::MouseInput { state, button, .. } => {
                self.mouse_button(state, button, &event);
            },
            WindowEvent::MouseWheel { delta, .. } => {
                let is_release = self.wheel_buttons.is_release(delta);
                if !is_release {
                    self.wheel(delta, &event);
                }
            },
            WindowEvent::PinchGesture { delta, .. } if self.is_pointer_on_page => {
                if let Some(webview) = self.webview() {
                    webview.adjust_pinch_zoom(1. + delta as f32, self.pointer);
                }
            },
            WindowEvent::Touch(touch) => self.touch(&touch, &event),
            WindowEvent::DroppedFile(file) => self.perform(Action::OpenFile(file)),
            _ => {},
        }
    }

    fn draw(&mut self) {
        let actions = draw_window(&self.window, self.browser.pages(), self.is_recording);
        for action in actions {
            self.perform(action);
        }
        self.settle();
    }

    fn key(&mut self, key: &KeyEvent, event: &WindowEvent) {
        let keyboard = keyboard_event(key, self.modifiers);
        let is_press = keyboard.event.state == KeyState::Down;
        let kept = self
            .kept_keys
            .iter()
            .position(|kept| *kept == key.physical_key);
        if !is_press && let Some(kept) = kept {
            self.kept_keys.remove(kept);
            self.window.chrome_event(event);
            return;
        }
        let is_for_page = if let Some(action) = shortcuts::action(&keyboard) {
            self.perform(action);
            false
        } else if self.window.chrome_has_keyboard() || self.is_asked() {
            self.window.chrome_event(event);
            false
        } else if is_press && keyboard.event.key == Key::Named(NamedKey::Escape) {
            !self.escape()
        } else {
            true
        };
        if is_for_page {
            self.tell_page(InputEvent::Keyboard(keyboard));
        } else if is_press && kept.is_none() {
            self.kept_keys.push(key.physical_key);
        }
    }

    /// Leaves fullscreen or stops a load. False if there is neither, so that the page gets the key.
    fn escape(&mut self) -> bool {
        let Some(page) = self.page() else {
            return false;
        };
        if page.surface.wants_fullscreen() {
            page.webview.exit_fullscreen();
        } else if page.webview.load_status() != LoadStatus::Complete {
            self.perform(Action::Stop);
        } else {
            return false;
        }
        true
    }

    fn pointer_moved(&mut self, x: f64, y: f64, event: &WindowEvent) {
        let position = self.window.to_points(x, y);
        self.pointer = self.on_page(x, y);
        self.window.set_pointer(position);
        if self.window.is_fullscreen() {
            let is_near = match self.window.has_chrome() {
                true => position.y < CHROME_HEIGHT + 16. || self.window.is_editing_address(),
                false => position.y < 2.,
            };
            self.window.call_chrome(is_near);
        }
        let was_on_page = self.is_pointer_on_page;
        self.find_pointer();
        // The toolbar gets one event after the pointer has left it, to learn that it did.
        if !(was_on_page && self.is_pointer_on_page) {
            self.window.chrome_event(event);
        }
    }

    /// Gives the pointer to the page if it is over the page, or else takes it away. What is under the pointer
    /// may have changed without a move.
    fn find_pointer(&mut self) {
        let is_dragging_on_page = self.buttons_on_page > 0;
        let is_on_page = is_dragging_on_page
            || self.window.is_page_at(self.window.pointer())
                && !self.is_asked()
                && !self.window.context().egui_is_using_pointer();
        if is_on_page {
            self.is_pointer_on_page = true;
            let moved = MouseMoveEvent::new(self.pointer.into());
            self.tell_page(InputEvent::MouseMove(moved));
        } else {
            self.pointer_left_page();
        }
    }

    fn pointer_left_page(&mut self) {
        if std::mem::take(&mut self.is_pointer_on_page) {
            let left = MouseLeftViewportEvent::default();
            self.tell_page(InputEvent::MouseLeftViewport(left));
        }
    }

    /// Converts a place in the window to device pixels of the page.
    fn on_page(&self, x: f64, y: f64) -> DevicePoint {
        let area = self.window.page_area();
        let corner = area.rect.min * area.scale;
        DevicePoint::new(x as f32 - corner.x, y as f32 - corner.y)
    }

    fn mouse_button(&mut self, state: ElementState, button: MouseButton, event: &WindowEvent) {
        let is_press = state == ElementState::Pressed;
        let through_history = match button {
            MouseButton::Back => Some(Action::Back),
            MouseButton::Forward => Some(Action::Forward),
            _ => None,
        };
        if let Some(action) = through_history {
            if is_press {
                self.perform(action);
            }
            return;
        }
        if is_press && !self.is_pointer_on_page {
            self.find_pointer();
        }
        // A press on the page also takes the keyboard's focus from the toolbar and closes what is open over the page.
        self.window.chrome_event(event);
        let is_for_page = match is_press {
            true => self.is_pointer_on_page && !self.is_asked(),
            false => self.buttons_on_page > 0,
        };
        if !is_for_page {
            return;
        }
        match is_press {
            true => {
                self.window.leave_chrome();
                self.buttons_on_page += 1;
            },
            false => self.buttons_on_page -= 1,
        }
        self.tell_page(InputEvent::MouseButton(MouseButtonEvent::new(
            input::mouse_action(state),
            input::mouse_button(button),
            self.pointer.into(),
        )));
    }

    fn wheel(&mut self, delta: MouseScrollDelta, event: &WindowEvent) {
        if !self.is_pointer_on_page {
            self.find_pointer();
        }
        if !self.is_pointer_on_page || self.is_asked() {
            self.window.chrome_event(event);
            return;
        }
        let turn = Turn::new(delta, self.window.scale().into());
        if self.modifiers.control_key() {
            match turn.y {
                y if y > 0. => self.perform(Action::ZoomIn),
                y if y < 0. => self.perform(Action::ZoomOut),
                _ => {},
            }
            return;
        }
        let Some(Page {
            webview, surface, ..
        }) = self.page()
        else {
            return;
        };
        let wheel = input::wheel_event(turn, self.pointer);
        let event = webview.notify_input_event(InputEvent::Wheel(wheel));
        let scale = webview.hidpi_scale_factor().get() * webview.page_zoom();
        let (x, y) = turn.left_to_scroll(self.modifiers.shift_key(), scale.into());
        if (x, y) != (0., 0.) {
            let distance = DeviceVector2D::new(x as f32, y as f32);
            surface.scroll_after(event, distance, self.pointer);
        }
    }

    fn touch(&mut self, touch: &Touch, event: &WindowEvent) {
        let (x, y) = (touch.location.x, touch.location.y);
        if touch.phase == TouchPhase::Started
            && self.window.is_page_at(self.window.to_points(x, y))
            && !self.is_asked()
        {
            self.window.leave_chrome();
            self.fingers_on_page.push(touch.id);
        }
        if !self.fingers_on_page.contains(&touch.id) {
            self.window.chrome_event(event);
            return;
        }
        if matches!(touch.phase, TouchPhase::Ended | TouchPhase::Cancelled) {
            self.fingers_on_page.retain(|finger| *finger != touch.id);
        }
        let place = self.on_page(x, y);
        self.tell_page(InputEvent::Touch(input::touch_event(touch, place)));
    }

    fn perform(&mut self, action: Action) {
        match action {
            Action::OpenTab(url) => match url {
                Some(url) => self.open(url),
                None => {
                    self.open(blank());
                    self.edit_address();
                },
            },
            Action::CloseTab => {
                if let Some(tab) = self.window.selected() {
                    self.close(tab);
                }
            },
            Action::CloseThisTab(tab) => self.close(tab),
            Action::ReopenTab => {
                if let Some(url) = self.closed.pop() {
                    self.open(url);
                }
            },
            Action::SelectTab(tab) => self.window.select(tab),
            Action::SelectTabNumber(number) => self.select_place(number),
            Action::SelectLastTab => {
                self.select_place(self.browser.pages().len().saturating_sub(1));
            },
            Action::NextTab => self.select_place(self.place_beside(1)),
            Action::PreviousTab => self.select_place(self.place_beside(-1)),
            Action::EditAddress => self.edit_address(),
            Action::ToggleFullscreen => self.toggle_fullscreen(),
            Action::ToggleRecording => {
                self.toggle_recording();
                self.is_recording = self.browser.profiling().is_recording();
            },
            Action::OpenProfiling => self.show_profiling(page_url(None)),
            Action::OpenFile(file) => self.open_file(&file),
            Action::Quit => self.is_quitting = true,
            Action::Home => {
                let home = self.home.clone().unwrap_or_else(blank);
                self.act_on_page(&Action::Load(home));
            },
            of_page => self.act_on_page(&of_page),
        }
        self.settle();
        self.window.redraw_chrome();
    }

    /// Performs an action that concerns only the page in front.
    fn act_on_page(&mut self, action: &Action) {
        let Some(page) = self.page() else {
            if let Action::Load(url) = action {
                self.open(url.clone());
            }
            return;
        };
        let webview = &page.webview;
        match action {
            Action::Back => drop(page.go_back()),
            Action::Forward => drop(page.go_forward()),
            Action::Reload => webview.reload(),
            Action::ReloadAll => {
                self.browser.clear_cache();
                webview.reload();
            },
            // Servo has no other way to stop a load.
            Action::Stop => {
                page.surface.address().borrow_mut().requested = None;
                webview.evaluate_javascript("window.stop()", |_| ());
            },
            Action::Load(url) => {
                page.surface.address().borrow_mut().requested = Some(url.clone());
                page.load(url.clone());
            },
            Action::ZoomIn => webview.set_page_zoom(zoom::larger(webview.page_zoom())),
            Action::ZoomOut => webview.set_page_zoom(zoom::smaller(webview.page_zoom())),
            Action::ResetZoom => webview.set_page_zoom(1.),
            _ => {},
        }
    }

    fn open(&mut self, url: Url) {
        self.browser.open(url, Tab::new(self.window.clone()));
    }

    fn close(&mut self, tab: WebViewId) {
        let closed = self
            .browser
            .pages()
            .iter()
            .find(|page| page.webview.id() == tab)
            .and_then(|page| page.webview.url())
            .filter(|url| url.as_str() != toolbar::BLANK);
        if let Some(url) = closed {
            if self.closed.len() == REMEMBERED_TABS {
                self.closed.remove(0);
            }
            self.closed.push(url);
        }
        self.browser.close(tab);
    }

    fn select_place(&self, place: usize) {
        if let Some(page) = self.browser.pages().get(place) {
            self.window.select(page.webview.id());
        }
    }

    /// The index of the tab that is `distance` tabs to the right, or to the left if it is negative. Wraps around.
    fn place_beside(&self, distance: isize) -> usize {
        let count = self.browser.pages().len().max(1);
        (self.place as isize + distance).rem_euclid(count as isize) as usize
    }

    fn edit_address(&self) {
        if self.window.is_fullscreen() {
            self.window.call_chrome(true);
        }
        address_focus::edit_address(self.window.context());
        self.window.redraw_chrome();
    }

    fn toggle_fullscreen(&mut self) {
        match self.page() {
            Some(page) if page.surface.wants_fullscreen() => page.webview.exit_fullscreen(),
            _ => self.wants_fullscreen = !self.wants_fullscreen,
        }
    }

    fn toggle_recording(&mut self) {
        if self.stopping.is_some() {
            return;
        }
        let server = self.browser.profiling();
        if !server.is_recording() {
            if let Err(message) = server.start_recording() {
                self.window.set_notice(Some(message));
            }
            return;
        }
        // Servo tells this loop about each source map that is fetched, so the loop must go on.
        let (server, waker) = (server.clone(), self.waker.clone());
        let (sender, stopped) = crossbeam_channel::bounded(1);
        let stop = move || {
            let _ = sender.send(server.stop_recording());
            waker.wake();
        };
        match thread::Builder::new().spawn(stop) {
            Ok(_) => self.stopping = Some(stopped),
            Err(error) => self.window.set_notice(Some(error.to_string())),
        }
    }

    /// Shows the recording that was being stopped, if it has ended.
    fn show_stopped(&mut self) {
        let Some(stopped) = self.stopping.as_ref().map(Receiver::try_recv) else {
            return;
        };
        match stopped {
            Ok(Ok(recording)) => self.show_profiling(page_url(Some(&recording))),
            Ok(Err(message)) => self.window.set_notice(Some(message)),
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => {},
        }
        self.stopping = None;
    }

    /// Updates the button when about:profiling starts or stops a recording.
    fn watch_recording(&mut self, now: Instant) {
        if now.duration_since(self.watched) < RECORDING_INTERVAL {
            return;
        }
        self.watched = now;
        let is_recording = self.browser.profiling().is_recording();
        if std::mem::replace(&mut self.is_recording, is_recording) != is_recording {
            self.window.redraw_chrome();
        }
    }

    /// Shows about:profiling, in its tab if it is open.
    fn show_profiling(&mut self, url: Url) {
        let open = self
            .browser
            .pages()
            .iter()
            .find(|page| page.webview.url().as_ref().is_some_and(is_profiling_page))
            .map(|page| (page.webview.clone(), page.webview.id()));
        match open {
            Some((webview, tab)) => {
                if url.fragment().is_some() {
                    webview.load(url);
                }
                self.window.select(tab);
            },
            None => self.open(url),
        }
    }

    /// Opens a file that was dropped onto the window. On about:profiling it is a profile, otherwise a page.
    fn open_file(&mut self, file: &Path) {
        let is_profile = self
            .webview()
            .and_then(WebView::url)
            .is_some_and(|url| is_profiling_page(&url));
        if is_profile && let Ok(file) = path::absolute(file) {
            match self.browser.profiling().load_file(&file) {
                Ok((recording, notices)) => {
                    self.show_profiling(page_url(Some(&recording)));
                    if !notices.is_empty() {
                        self.window.set_notice(Some(notices.join("; ")));
                    }
                },
                Err(message) => self.window.set_notice(Some(message)),
            }
            return;
        }
        let url = path::absolute(file).ok().and_then(|file| {
            if file.is_dir() {
                return Url::from_directory_path(file).ok();
            }
            Url::from_file_path(file).ok()
        });
        match url {
            Some(url) => self.act_on_page(&Action::Load(url)),
            None => {
                let notice = format!("{} cannot be opened.", file.display());
                self.window.set_notice(Some(notice));
            },
        }
    }
}

fn blank() -> Url {
    Url::parse(toolbar::BLANK).expect("is a URL")
}
