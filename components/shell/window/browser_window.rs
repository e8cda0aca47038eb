/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The window itself, and its state. `draw.rs` draws it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use dpi::{LogicalSize, PhysicalSize};
use egui::{ClippedPrimitive, Context, Event, Pos2, Rect, ViewportId, pos2, vec2};
use egui_glow::Painter;
use servo::{
    OffscreenRenderingContext, RenderingContext, Theme, WebViewId, WindowRenderingContext,
};
use winit::event::WindowEvent;
use winit::event_loop::ActiveEventLoop;
use winit::raw_window_handle::{HasDisplayHandle, HasWindowHandle};
use winit::window::{Fullscreen, Theme as WinitTheme, Window};

use super::layout::{CHROME_HEIGHT, PageArea, page_size_within};
use super::{address_focus, theme, window_system};
use crate::frame_clock::{DEFAULT_FRAME_INTERVAL, FrameClock};
use crate::page::Page;

/// The title of a window whose page has no title, and the end of all other titles.
const NAME: &str = "Strobe";

/// The minimum size of a window in points. It leaves room for the address.
const MIN_SIZE: (f64, f64) = (360., 240.);

pub struct BrowserWindow {
    /// What draws the tabs and the toolbar.
    context: Context,
    pub(super) input: RefCell<egui_winit::State>,
    /// Keys for dialogs of a page that wait for a later drawing.
    pub(super) held_keys: RefCell<Vec<Event>>,
    pub(super) drawing: RefCell<Drawing>,
    /// The target that the pages are drawn on. They all have the same size, and one is visible at a time.
    page_context: Rc<OffscreenRenderingContext>,
    pub(super) window_context: Rc<WindowRenderingContext>,
    frame_clock: FrameClock,
    /// The theme that the command line asks for, if any. Otherwise it is the desktop's.
    wanted_theme: Option<Theme>,
    selected: Cell<Option<WebViewId>>,
    /// Whether the toolbar, the page or the size has changed since the last drawing.
    pub(super) chrome_changed: Cell<bool>,
    pub(super) page_changed: Cell<bool>,
    pub(super) size_changed: Cell<bool>,
    /// When to draw the tabs and the toolbar again even if there is no event.
    pub(super) chrome_due: Cell<Option<Instant>>,
    is_fullscreen: Cell<bool>,
    /// In fullscreen, whether the toolbar is shown at the moment.
    is_chrome_called: Cell<bool>,
    is_focused: Cell<bool>,
    is_occluded: Cell<bool>,
    title: RefCell<String>,
    pointer: Cell<Pos2>,
    /// Whether an input method may compose text, in the toolbar or in a page.
    pub(super) is_ime_allowed: Cell<bool>,
    /// What went wrong, until the person has read it.
    notice: RefCell<Option<String>>,
    // This field is dropped last, because the rendering contexts draw on the window.
    window: Window,
}

pub struct Drawing {
    pub painter: Painter,
    /// The shapes of the tabs and the toolbar as drawn last, including the place of the page.
    pub primitives: Vec<ClippedPrimitive>,
}

impl Drop for Drawing {
    fn drop(&mut self) {
        self.painter.destroy();
    }
}

impl BrowserWindow {
    /// Opens a window for pages of `page_size`, in logical pixels.
    pub fn open(
        event_loop: &ActiveEventLoop,
        page_size: PhysicalSize<u32>,
        wanted_theme: Option<Theme>,
    ) -> Result<Self, String> {
        let height = f64::from(page_size.height) + f64::from(CHROME_HEIGHT);
        let attributes = Window::default_attributes()
            .with_title(NAME)
            .with_min_inner_size(LogicalSize::new(MIN_SIZE.0, MIN_SIZE.1))
            .with_theme(wanted_theme.map(|theme| match theme {
                Theme::Light => WinitTheme::Light,
                Theme::Dark => WinitTheme::Dark,
            }))
            .with_inner_size(LogicalSize::new(f64::from(page_size.width), height));
        let window = event_loop
            .create_window(attributes)
            .map_err(|error| window_system::message(&error))?;
        let display_handle = event_loop
            .display_handle()
            .map_err(|error| error.to_string())?;
        let window_handle = window.window_handle().map_err(|error| error.to_string())?;
        let no_opengl = |error: &dyn std::fmt::Debug| format!("OpenGL is not available: {error:?}");
        let window_context =
            WindowRenderingContext::new(display_handle, window_handle, window.inner_size())
                .map(Rc::new)
                .map_err(|error| no_opengl(&error))?;
        window_context
            .make_current()
            .map_err(|error| no_opengl(&error))?;
        let scale = window.scale_factor() as f32;
        let page_context =
            window_context.offscreen_context(page_size_within(window.inner_size(), scale, true));
        let painter = Painter::new(window_context.glow_gl_api(), "", None, false)
            .map_err(|error| no_opengl(&error))?;
        let context = Context::default();
        theme::install(&context);
        let input = egui_winit::State::new(
            context.clone(),
            ViewportId::ROOT,
            event_loop,
            Some(scale),
            window.theme(),
            Some(painter.max_texture_side()),
        );
        let frame_interval = window
            .current_monitor()
            .and_then(|monitor| monitor.refresh_rate_millihertz())
            .filter(|rate| *rate > 0)
            .map_or(DEFAULT_FRAME_INTERVAL, |rate| {
                Duration::from_secs(1000) / rate
            });
        let window = Self {
            context,
            input: RefCell::new(input),
            held_keys: RefCell::default(),
            drawing: RefCell::new(Drawing {
                painter,
                primitives: Vec::new(),
            }),
            page_context: Rc::new(page_context),
            window_context,
            frame_clock: FrameClock::new(frame_interval),
            wanted_theme,
            selected: Cell::default(),
            chrome_changed: Cell::new(true),
            page_changed: Cell::new(true),
            size_changed: Cell::new(true),
            chrome_due: Cell::default(),
            is_fullscreen: Cell::default(),
            is_chrome_called: Cell::default(),
            // True until the window system says otherwise. Servo assumes the same of a page.
            is_focused: Cell::new(true),
            is_occluded: Cell::default(),
            title: RefCell::default(),
            pointer: Cell::default(),
            is_ime_allowed: Cell::default(),
            notice: RefCell::default(),
            window,
        };
        window.apply_theme();
        Ok(window)
    }

    pub fn winit(&self) -> &Window {
        &self.window
    }

    pub fn context(&self) -> &Context {
        &self.context
    }

    pub fn page_context(&self) -> Rc<OffscreenRenderingContext> {
        self.page_context.clone()
    }

    pub fn frame_clock(&self) -> &FrameClock {
        &self.frame_clock
    }

    /// Device pixels per point.
    pub fn scale(&self) -> f32 {
        self.window.scale_factor() as f32
    }

    /// The theme of the window and its pages.
    pub fn theme(&self) -> Theme {
        match (self.wanted_theme, self.window.theme()) {
            (Some(wanted), _) => wanted,
            (None, Some(WinitTheme::Dark)) => Theme::Dark,
            // A desktop that does not say is usually light.
            (None, Some(WinitTheme::Light) | None) => Theme::Light,
        }
    }

    /// Applies the desktop's current theme.
    pub fn apply_theme(&self) {
        self.context.set_theme(match self.theme() {
            Theme::Light => egui::Theme::Light,
            Theme::Dark => egui::Theme::Dark,
        });
        self.redraw_chrome();
    }

    /// The tab in front.
    pub fn selected(&self) -> Option<WebViewId> {
        self.selected.get()
    }

    /// The page of the tab in front.
    pub fn in_front<'a, S>(&self, pages: &'a [Page<S>]) -> Option<&'a Page<S>> {
        pages
            .iter()
            .find(|page| Some(page.webview.id()) == self.selected())
    }

    pub fn select(&self, tab: WebViewId) {
        if self.selected.replace(Some(tab)) != Some(tab) {
            // Text that was being typed stays with its tab.
            self.leave_chrome();
            self.redraw_page();
        }
    }

    /// A tab has been opened.
    pub fn tab_added(&self, tab: WebViewId, in_front: bool) {
        if in_front || self.selected.get().is_none() {
            self.select(tab);
        }
        self.redraw_chrome();
    }

    /// Gives the keys to the page in front.
    pub fn leave_chrome(&self) {
        self.context.memory_mut(|memory| {
            if let Some(focused) = memory.focused() {
                memory.surrender_focus(focused);
            }
        });
        self.redraw_chrome();
    }

    /// Whether keys go to the tabs and the toolbar, or to what a page asks.
    pub fn chrome_has_keyboard(&self) -> bool {
        self.context.memory(|memory| memory.focused().is_some())
    }

    pub fn is_editing_address(&self) -> bool {
        address_focus::is_editing_address(&self.context)
    }

    pub fn is_focused(&self) -> bool {
        self.is_focused.get()
    }

    pub fn set_focused(&self, focused: bool) {
        self.is_focused.set(focused);
        self.redraw_chrome();
    }

    /// Whether any part of the window is visible.
    pub fn is_visible(&self) -> bool {
        !self.is_occluded.get()
    }

    pub fn set_occluded(&self, occluded: bool) {
        self.is_occluded.set(occluded);
        self.redraw_page();
    }

    /// Draws the tabs and the toolbar again soon.
    pub fn redraw_chrome(&self) {
        self.chrome_changed.set(true);
        self.window.request_redraw();
    }

    /// Draws the page again soon, because the engine has a new picture of it.
    pub fn redraw_page(&self) {
        self.page_changed.set(true);
        self.window.request_redraw();
    }

    pub fn size_changed(&self) {
        self.size_changed.set(true);
        self.redraw_chrome();
    }

    pub fn is_fullscreen(&self) -> bool {
        self.is_fullscreen.get()
    }

    pub fn set_fullscreen(&self, fullscreen: bool) {
        if self.is_fullscreen.replace(fullscreen) != fullscreen {
            let mode = fullscreen.then_some(Fullscreen::Borderless(None));
            self.window.set_fullscreen(mode);
            self.is_chrome_called.set(false);
            self.size_changed();
        }
    }

    /// In fullscreen, shows the toolbar or hides it again.
    pub fn call_chrome(&self, called: bool) {
        if self.is_chrome_called.replace(called) != called {
            self.redraw_chrome();
        }
    }

    /// Whether the tabs and the toolbar are shown.
    pub fn has_chrome(&self) -> bool {
        !self.is_fullscreen.get() || self.is_chrome_called.get()
    }

    /// The place of the page in the window. In fullscreen the toolbar covers part of the page.
    pub fn page_area(&self) -> PageArea {
        let scale = self.scale();
        let inner = self.window.inner_size();
        let size = page_size_within(inner, scale, !self.is_fullscreen.get());
        let corner = vec2(0., inner.height.saturating_sub(size.height) as f32);
        let rect = Rect::from_min_size(
            (corner / scale).to_pos2(),
            vec2(size.width as f32, size.height as f32) / scale,
        );
        PageArea {
            rect,
            scale,
            zoom: 1.,
        }
    }

    /// Where the mouse was last, in points.
    pub fn pointer(&self) -> Pos2 {
        self.pointer.get()
    }

    pub fn set_pointer(&self, pointer: Pos2) {
        self.pointer.set(pointer);
    }

    /// Whether the page is at this place of the window, in points.
    pub fn is_page_at(&self, position: Pos2) -> bool {
        let chrome_bottom = match self.has_chrome() {
            true => CHROME_HEIGHT,
            false => 0.,
        };
        position.y >= chrome_bottom
            && self.page_area().rect.contains(position)
            && self
                .context
                .layer_id_at(position)
                .is_none_or(|layer| layer.order == egui::Order::Background)
    }

    /// Passes an event to the tabs and the toolbar.
    pub fn chrome_event(&self, event: &WindowEvent) {
        let response = self.input.borrow_mut().on_window_event(&self.window, event);
        if response.repaint {
            self.redraw_chrome();
        }
    }

    /// Converts a place from device pixels to points.
    pub fn to_points(&self, x: f64, y: f64) -> Pos2 {
        pos2(x as f32, y as f32) / self.scale()
    }

    /// When to draw the window again even if there is no event.
    pub fn next_drawing(&self) -> Option<Instant> {
        self.chrome_due.get()
    }

    /// Requests the drawing if it is due.
    pub fn request_due_drawing(&self, now: Instant) {
        if self.chrome_due.get().is_some_and(|due| due <= now) {
            self.chrome_due.set(None);
            self.redraw_chrome();
        }
    }

    /// Shows a notice to the person, or removes it.
    pub fn set_notice(&self, notice: Option<String>) {
        *self.notice.borrow_mut() = notice;
        self.redraw_chrome();
    }

    pub fn notice(&self) -> Option<String> {
        self.notice.borrow().clone()
    }

    /// Names the window after its page.
    pub fn set_title(&self, title: &str) {
        let title = match title {
            "" => NAME.to_owned(),
            title => format!("{title} – {NAME}"),
        };
        if *self.title.borrow() != title {
            self.window.set_title(&title);
            *self.title.borrow_mut() = title;
        }
    }
}
