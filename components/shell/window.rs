/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Pages in windows, one each.

use std::cell::Cell;
use std::fmt::Display;
use std::rc::Rc;
use std::time::Duration;

use dpi::{LogicalSize, PhysicalPosition, PhysicalSize};
use euclid::{Point2D, Scale, Size2D};
use servo::{
    Cursor, DeviceIndependentPixel, DeviceIntPoint, DeviceIntRect, DeviceIntSize, DevicePixel,
    DevicePoint, EventLoopWaker, InputEvent, Key, KeyState, KeyboardEvent, Modifiers, MouseButton,
    MouseButtonAction, MouseButtonEvent, MouseLeftViewportEvent, MouseMoveEvent, NamedKey,
    Preferences, RenderingContext, ScreenGeometry, Theme, WebView, WheelDelta, WheelEvent,
    WheelMode, WindowRenderingContext,
};
use winit::application::ApplicationHandler;
use winit::event::{ElementState, MouseButton as WinitMouseButton, MouseScrollDelta, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, EventLoopProxy};
use winit::keyboard::ModifiersState;
use winit::raw_window_handle::{HasDisplayHandle, HasWindowHandle};
use winit::window::{CursorIcon, Fullscreen, Theme as WinitTheme, Window, WindowId};

use crate::browser::{Browser, Next, Surface};
use crate::command_line::{self, CommandLine};
use crate::frame_clock::{DEFAULT_FRAME_INTERVAL, FrameClock};
use crate::keyboard::keyboard_event;

/// The title of a window whose page has none.
const DEFAULT_TITLE: &str = "Strobe";

/// How far a page scrolls for one line of a mouse wheel, in device pixels.
const LINE_LENGTH: f64 = 76.;

/// Runs the browser in windows. Gives the exit status of the process, or says why there are no
/// windows.
pub fn run(command_line: CommandLine, preferences: Preferences) -> Result<u8, String> {
    let no_window =
        |message: String| format!("cannot open a window (is --headless wanted?): {message}");
    let event_loop = EventLoop::with_user_event()
        .build()
        .map_err(|error| no_window(window_system_message(&error)))?;
    let mut application = Application {
        window_size: command_line.window_size,
        waker: Waker(event_loop.create_proxy()),
        state: State::Starting(Box::new((command_line, preferences))),
    };
    event_loop
        .run_app(&mut application)
        .map_err(|error| no_window(window_system_message(&error)))?;
    match application.state {
        State::Ended(outcome) => outcome.map_err(no_window),
        State::Starting(_) | State::Running(_) => Ok(0),
    }
}

/// What winit says of an error of the window system, without the place in winit's own source.
fn window_system_message(error: &dyn Display) -> String {
    let message = error.to_string();
    message
        .strip_prefix("os error at ")
        .and_then(|message| message.split_once(".rs:"))
        .and_then(|(_, message)| message.split_once(": "))
        .map_or(message.clone(), |(_, message)| message.to_owned())
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
        // It fails when the loop has ended, and then there is nothing to wake.
        let _ = self.0.send_event(Wake);
    }
}

struct Application {
    window_size: PhysicalSize<u32>,
    waker: Waker,
    state: State,
}

enum State {
    /// Windows can be opened only once the event loop runs.
    Starting(Box<(CommandLine, Preferences)>),
    Running(Box<Browser<WindowSurface>>),
    /// With the exit status, or the reason why no window could be opened.
    Ended(Result<u8, String>),
}

impl Application {
    /// The page in a window.
    fn page(&self, window: WindowId) -> Option<(&WebView, &WindowSurface)> {
        let State::Running(browser) = &self.state else {
            return None;
        };
        let page = browser.page_on(|surface| surface.window.id() == window)?;
        Some((&page.webview, &page.surface))
    }

    fn close(&mut self, window: WindowId) {
        let Some(webview) = self.page(window).map(|(webview, _)| webview.id()) else {
            return;
        };
        if let State::Running(browser) = &mut self.state {
            browser.close(webview);
        }
    }

    fn key_pressed(&mut self, window: WindowId, event: KeyboardEvent) {
        let Some((webview, _)) = self.page(window) else {
            return;
        };
        match Shortcut::of(&event) {
            Some(Shortcut::Reload) => webview.reload(),
            Some(Shortcut::Back) => {
                webview.go_back(1);
            },
            Some(Shortcut::Forward) => {
                webview.go_forward(1);
            },
            Some(Shortcut::Close) => self.close(window),
            None => {
                webview.notify_input_event(InputEvent::Keyboard(event));
            },
        }
    }
}

impl ApplicationHandler<Wake> for Application {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if !matches!(self.state, State::Starting(_)) {
            return;
        }
        let State::Starting(settings) = std::mem::replace(&mut self.state, State::Ended(Ok(0)))
        else {
            return;
        };
        let (command_line, preferences) = *settings;
        let size = self.window_size;
        let started = Browser::start(
            command_line,
            preferences,
            Box::new(self.waker.clone()),
            || WindowSurface::open(event_loop, size),
        );
        self.state = match started {
            Ok(browser) => State::Running(Box::new(browser)),
            Err(message) => {
                event_loop.exit();
                State::Ended(Err(message))
            },
        };
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let size = self.window_size;
        let State::Running(browser) = &mut self.state else {
            return;
        };
        match browser.step(|| WindowSurface::open(event_loop, size)) {
            Next::Wait(Some(time)) => event_loop.set_control_flow(ControlFlow::WaitUntil(time)),
            Next::Wait(None) => event_loop.set_control_flow(ControlFlow::Wait),
            Next::End => event_loop.exit(),
        }
    }

    fn exiting(&mut self, _: &ActiveEventLoop) {
        // While there is still a connection to the display, which windows need to close.
        if let State::Running(browser) = std::mem::replace(&mut self.state, State::Ended(Ok(0))) {
            self.state = State::Ended(Ok(browser.shut_down()));
        }
    }

    fn window_event(&mut self, _: &ActiveEventLoop, window: WindowId, event: WindowEvent) {
        let Some((webview, surface)) = self.page(window) else {
            return;
        };
        match event {
            WindowEvent::CloseRequested | WindowEvent::Destroyed => self.close(window),
            WindowEvent::RedrawRequested => {
                webview.paint();
                surface.window.pre_present_notify();
                surface.rendering_context.present();
            },
            WindowEvent::Resized(size) => {
                webview.resize(size);
                surface.window.request_redraw();
            },
            WindowEvent::ScaleFactorChanged { .. } => {
                webview.set_hidpi_scale_factor(surface.hidpi_scale_factor());
            },
            WindowEvent::Focused(focused) => webview.set_focused(focused),
            WindowEvent::ThemeChanged(theme) => webview.notify_theme_change(match theme {
                WinitTheme::Light => Theme::Light,
                WinitTheme::Dark => Theme::Dark,
            }),
            WindowEvent::CursorMoved { position, .. } => {
                let pointer = DevicePoint::new(position.x as f32, position.y as f32);
                surface.pointer.set(pointer);
                webview
                    .notify_input_event(InputEvent::MouseMove(MouseMoveEvent::new(pointer.into())));
            },
            WindowEvent::CursorLeft { .. } => {
                webview.notify_input_event(InputEvent::MouseLeftViewport(
                    MouseLeftViewportEvent::default(),
                ));
            },
            WindowEvent::MouseInput { state, button, .. } => {
                webview.notify_input_event(InputEvent::MouseButton(MouseButtonEvent::new(
                    match state {
                        ElementState::Pressed => MouseButtonAction::Down,
                        ElementState::Released => MouseButtonAction::Up,
                    },
                    mouse_button(button),
                    surface.pointer.get().into(),
                )));
            },
            WindowEvent::MouseWheel { delta, .. } => {
                webview.notify_input_event(InputEvent::Wheel(WheelEvent::new(
                    wheel_delta(delta),
                    surface.pointer.get().into(),
                )));
            },
            WindowEvent::ModifiersChanged(modifiers) => surface.modifiers.set(modifiers.state()),
            WindowEvent::KeyboardInput {
                event,
                // Of keys that were held when the window got the focus: nobody pressed them here.
                is_synthetic: false,
                ..
            } => {
                let event = keyboard_event(&event, surface.modifiers.get());
                self.key_pressed(window, event);
            },
            _ => {},
        }
    }
}

/// What the window does with a key instead of the page.
#[derive(Debug, PartialEq)]
enum Shortcut {
    Reload,
    Back,
    Forward,
    Close,
}

impl Shortcut {
    fn of(event: &KeyboardEvent) -> Option<Self> {
        let event = &event.event;
        if event.state != KeyState::Down {
            return None;
        }
        let control = event.modifiers == Modifiers::CONTROL;
        let alt = event.modifiers == Modifiers::ALT;
        match &event.key {
            Key::Named(NamedKey::F5) if event.modifiers.is_empty() => Some(Self::Reload),
            Key::Character(key) if control && key == "r" => Some(Self::Reload),
            Key::Character(key) if control && key == "w" => Some(Self::Close),
            Key::Named(NamedKey::ArrowLeft) if alt => Some(Self::Back),
            Key::Named(NamedKey::ArrowRight) if alt => Some(Self::Forward),
            _ => None,
        }
    }
}

fn mouse_button(button: WinitMouseButton) -> MouseButton {
    match button {
        WinitMouseButton::Left => MouseButton::Primary,
        WinitMouseButton::Right => MouseButton::Secondary,
        WinitMouseButton::Middle => MouseButton::Auxiliary,
        WinitMouseButton::Back => MouseButton::Back,
        WinitMouseButton::Forward => MouseButton::Forward,
        WinitMouseButton::Other(number) => MouseButton::Other(number),
    }
}

/// Servo wants pixels whatever the mode says.
fn wheel_delta(delta: MouseScrollDelta) -> WheelDelta {
    let (x, y, mode) = match delta {
        MouseScrollDelta::LineDelta(x, y) => (
            f64::from(x) * LINE_LENGTH,
            f64::from(y) * LINE_LENGTH,
            WheelMode::DeltaLine,
        ),
        MouseScrollDelta::PixelDelta(delta) => (delta.x, delta.y, WheelMode::DeltaPixel),
    };
    WheelDelta { x, y, z: 0., mode }
}

/// A window that a page fills.
struct WindowSurface {
    rendering_context: Rc<WindowRenderingContext>,
    frame_clock: FrameClock,
    /// Where the mouse was last.
    pointer: Cell<DevicePoint>,
    /// The modifier keys that are held.
    modifiers: Cell<ModifiersState>,
    // Last, to be dropped last: the rendering context draws on it.
    window: Window,
}

impl WindowSurface {
    /// Opens a window for a page of `size`, in logical pixels.
    fn open(event_loop: &ActiveEventLoop, size: PhysicalSize<u32>) -> Result<Self, String> {
        let attributes = Window::default_attributes()
            .with_title(DEFAULT_TITLE)
            .with_inner_size(LogicalSize::new(size.width, size.height));
        let window = event_loop
            .create_window(attributes)
            .map_err(|error| window_system_message(&error))?;
        let display_handle = event_loop
            .display_handle()
            .map_err(|error| error.to_string())?;
        let window_handle = window.window_handle().map_err(|error| error.to_string())?;
        let rendering_context =
            WindowRenderingContext::new(display_handle, window_handle, window.inner_size())
                .map_err(|error| format!("no OpenGL for it: {error:?}"))?;
        let frame_interval = window
            .current_monitor()
            .and_then(|monitor| monitor.refresh_rate_millihertz())
            .filter(|rate| *rate > 0)
            .map_or(DEFAULT_FRAME_INTERVAL, |rate| {
                Duration::from_secs(1000) / rate
            });
        Ok(Self {
            rendering_context: Rc::new(rendering_context),
            frame_clock: FrameClock::new(frame_interval),
            pointer: Cell::default(),
            modifiers: Cell::default(),
            window,
        })
    }
}

impl Surface for WindowSurface {
    const INTERACTIVE: bool = true;

    fn rendering_context(&self) -> Rc<dyn RenderingContext> {
        self.rendering_context.clone()
    }

    fn hidpi_scale_factor(&self) -> Scale<f32, DeviceIndependentPixel, DevicePixel> {
        Scale::new(self.window.scale_factor() as f32)
    }

    fn screen_geometry(&self) -> ScreenGeometry {
        let outer_size = size(self.window.outer_size());
        let screen_size = self
            .window
            .current_monitor()
            .map_or(outer_size, |monitor| size(monitor.size()));
        // Wayland tells no window where it is.
        let position = self.window.outer_position().unwrap_or_default();
        ScreenGeometry {
            size: screen_size,
            available_size: screen_size,
            window_rect: DeviceIntRect::from_origin_and_size(
                Point2D::new(position.x, position.y),
                outer_size,
            ),
        }
    }

    fn frame_clock(&self) -> &FrameClock {
        &self.frame_clock
    }

    fn draw(&self, _: &WebView) {
        self.window.request_redraw();
    }

    fn resize_to(&self, webview: &WebView, outer_size: DeviceIntSize) {
        let decorations = size(self.window.outer_size()) - size(self.window.inner_size());
        let inner_size = command_line::within_bounds(outer_size - decorations);
        // The window system either tells of the new size later, or gives it at once.
        if let Some(given) = self.window.request_inner_size(inner_size) {
            webview.resize(given);
        }
    }

    fn move_to(&self, position: DeviceIntPoint) {
        self.window
            .set_outer_position(PhysicalPosition::new(position.x, position.y));
    }

    fn maximize(&self) {
        self.window.set_maximized(true);
    }

    fn focus(&self) {
        self.window.focus_window();
    }

    fn title_changed(&self, title: Option<&str>) {
        self.window.set_title(
            title
                .filter(|title| !title.is_empty())
                .unwrap_or(DEFAULT_TITLE),
        );
    }

    fn cursor_changed(&self, cursor: Cursor) {
        self.window.set_cursor_visible(cursor != Cursor::None);
        if let Some(icon) = cursor_icon(cursor) {
            self.window.set_cursor(icon);
        }
    }

    fn fullscreen_changed(&self, fullscreen: bool) {
        self.window
            .set_fullscreen(fullscreen.then_some(Fullscreen::Borderless(None)));
    }
}

fn size(size: PhysicalSize<u32>) -> DeviceIntSize {
    Size2D::new(size.width, size.height).to_i32()
}

fn cursor_icon(cursor: Cursor) -> Option<CursorIcon> {
    Some(match cursor {
        Cursor::None => return None,
        Cursor::Default => CursorIcon::Default,
        Cursor::Pointer => CursorIcon::Pointer,
        Cursor::ContextMenu => CursorIcon::ContextMenu,
        Cursor::Help => CursorIcon::Help,
        Cursor::Progress => CursorIcon::Progress,
        Cursor::Wait => CursorIcon::Wait,
        Cursor::Cell => CursorIcon::Cell,
        Cursor::Crosshair => CursorIcon::Crosshair,
        Cursor::Text => CursorIcon::Text,
        Cursor::VerticalText => CursorIcon::VerticalText,
        Cursor::Alias => CursorIcon::Alias,
        Cursor::Copy => CursorIcon::Copy,
        Cursor::Move => CursorIcon::Move,
        Cursor::NoDrop => CursorIcon::NoDrop,
        Cursor::NotAllowed => CursorIcon::NotAllowed,
        Cursor::Grab => CursorIcon::Grab,
        Cursor::Grabbing => CursorIcon::Grabbing,
        Cursor::EResize => CursorIcon::EResize,
        Cursor::NResize => CursorIcon::NResize,
        Cursor::NeResize => CursorIcon::NeResize,
        Cursor::NwResize => CursorIcon::NwResize,
        Cursor::SResize => CursorIcon::SResize,
        Cursor::SeResize => CursorIcon::SeResize,
        Cursor::SwResize => CursorIcon::SwResize,
        Cursor::WResize => CursorIcon::WResize,
        Cursor::EwResize => CursorIcon::EwResize,
        Cursor::NsResize => CursorIcon::NsResize,
        Cursor::NeswResize => CursorIcon::NeswResize,
        Cursor::NwseResize => CursorIcon::NwseResize,
        Cursor::ColResize => CursorIcon::ColResize,
        Cursor::RowResize => CursorIcon::RowResize,
        Cursor::AllScroll => CursorIcon::AllScroll,
        Cursor::ZoomIn => CursorIcon::ZoomIn,
        Cursor::ZoomOut => CursorIcon::ZoomOut,
    })
}

#[cfg(test)]
mod tests {
    use servo::{Code, Location};

    use super::*;

    fn shortcut(state: KeyState, key: Key, modifiers: Modifiers) -> Option<Shortcut> {
        Shortcut::of(&KeyboardEvent::new_without_event(
            state,
            key,
            Code::Unidentified,
            Location::Standard,
            modifiers,
            false,
            false,
        ))
    }

    #[test]
    fn only_shortcuts_are_kept_from_the_page() {
        let character = |key: &str| Key::Character(key.to_owned());
        let down = KeyState::Down;
        for (key, modifiers, expected) in [
            (
                Key::Named(NamedKey::F5),
                Modifiers::empty(),
                Some(Shortcut::Reload),
            ),
            (character("r"), Modifiers::CONTROL, Some(Shortcut::Reload)),
            (character("w"), Modifiers::CONTROL, Some(Shortcut::Close)),
            (
                Key::Named(NamedKey::ArrowLeft),
                Modifiers::ALT,
                Some(Shortcut::Back),
            ),
            (
                Key::Named(NamedKey::ArrowRight),
                Modifiers::ALT,
                Some(Shortcut::Forward),
            ),
            (character("r"), Modifiers::empty(), None),
            (character("c"), Modifiers::CONTROL, None),
            (character("w"), Modifiers::CONTROL | Modifiers::SHIFT, None),
            (Key::Named(NamedKey::ArrowLeft), Modifiers::empty(), None),
        ] {
            assert_eq!(shortcut(down, key.clone(), modifiers), expected, "{key:?}");
            assert_eq!(
                shortcut(KeyState::Up, key.clone(), modifiers),
                None,
                "{key:?}"
            );
        }
    }

    #[test]
    fn the_window_systems_words_are_kept_without_the_place_in_winit() {
        assert_eq!(
            window_system_message(&"os error at /src/linux/mod.rs:788: Failed: no X server"),
            "Failed: no X server"
        );
        assert_eq!(window_system_message(&"not supported"), "not supported");
    }

    #[test]
    fn a_line_of_the_wheel_is_many_pixels() {
        let delta = wheel_delta(MouseScrollDelta::LineDelta(0., -2.));
        assert_eq!((delta.x, delta.y), (0., -152.));
        assert_eq!(delta.mode, WheelMode::DeltaLine);
        let delta = wheel_delta(MouseScrollDelta::PixelDelta(PhysicalPosition::new(1., 2.)));
        assert_eq!((delta.x, delta.y), (1., 2.));
        assert_eq!(delta.mode, WheelMode::DeltaPixel);
    }
}
