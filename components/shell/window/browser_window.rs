/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The window itself, and how it is drawn. The engine draws the page in front into an image. The window draws
//! that image beneath its toolbar.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use dpi::{LogicalSize, PhysicalPosition, PhysicalSize};
use egui::{ClippedPrimitive, Context, Event, PaintCallback, Pos2, Rect, ViewportId, pos2, vec2};
use egui_glow::{CallbackFn, Painter};
use euclid::default::{Point2D, Rect as EuclidRect, Size2D};
use servo::{
    OffscreenRenderingContext, RenderingContext, Theme, WebViewId, WindowRenderingContext,
};
use winit::event::WindowEvent;
use winit::event_loop::ActiveEventLoop;
use winit::raw_window_handle::{HasDisplayHandle, HasWindowHandle};
use winit::window::{Fullscreen, Theme as WinitTheme, Window};

use super::action::Action;
use super::chrome::{self, Shown};
use super::controls::PageArea;
use super::{tab::Tab, theme, toolbar, window_system_message};
use crate::frame_clock::{DEFAULT_FRAME_INTERVAL, FrameClock};
use crate::page::Page;

/// The title of a window whose page has no title, and the end of all other titles.
const NAME: &str = "Strobe";

/// The minimum size of a window in points. It leaves room for the address.
const MIN_SIZE: (f64, f64) = (360., 240.);

pub struct BrowserWindow {
    /// What draws the tabs and the toolbar.
    context: Context,
    input: RefCell<egui_winit::State>,
    /// Keys for dialogs of a page that wait for a later drawing.
    held_keys: RefCell<Vec<Event>>,
    drawing: RefCell<Drawing>,
    /// The target that the pages are drawn on. They all have the same size, and one is visible at a time.
    page_context: Rc<OffscreenRenderingContext>,
    window_context: Rc<WindowRenderingContext>,
    frame_clock: FrameClock,
    /// The theme that the command line asks for, if any. Otherwise it is the desktop's.
    wanted_theme: Option<Theme>,
    selected: Cell<Option<WebViewId>>,
    /// Whether the toolbar, the page or the size has changed since the last drawing.
    chrome_changed: Cell<bool>,
    page_changed: Cell<bool>,
    size_changed: Cell<bool>,
    /// When to draw the tabs and the toolbar again even if there is no event.
    chrome_due: Cell<Option<Instant>>,
    is_fullscreen: Cell<bool>,
    /// In fullscreen, whether the toolbar is shown at the moment.
    is_chrome_called: Cell<bool>,
    is_focused: Cell<bool>,
    is_occluded: Cell<bool>,
    title: RefCell<String>,
    pointer: Cell<Pos2>,
    /// Whether an input method may compose text, in the toolbar or in a page.
    is_ime_allowed: Cell<bool>,
    /// What went wrong, until the person has read it.
    notice: RefCell<Option<String>>,
    // This field is dropped last, because the rendering contexts draw on the window.
    window: Window,
}

struct Drawing {
    painter: Painter,
    /// The shapes of the tabs and the toolbar as drawn last, including the place of the page.
    primitives: Vec<ClippedPrimitive>,
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
        let height = f64::from(page_size.height) + f64::from(chrome::HEIGHT);
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
            .map_err(|error| window_system_message(&error))?;
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
    pub fn in_front<'a>(&self, pages: &'a [Page<Tab>]) -> Option<&'a Page<Tab>> {
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
        toolbar::is_editing_address(&self.context)
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
            true => chrome::HEIGHT,
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

    /// Draws what has changed, and returns the person's actions.
    pub fn draw(&self, pages: &[Page<Tab>], shown: &Shown) -> Vec<Action> {
        let inner_size = self.window.inner_size();
        if inner_size.width == 0 || inner_size.height == 0 {
            return Vec::new();
        }
        if self.window_context.make_current().is_err() {
            return Vec::new();
        }
        let in_front = self.in_front(pages);
        if self.size_changed.take() {
            if self.window_context.size() != inner_size {
                self.window_context.resize(inner_size);
            }
            let page_size = page_size_within(inner_size, self.scale(), !self.is_fullscreen.get());
            match in_front {
                Some(page) => page.webview.resize(page_size),
                None => self.page_context.resize(page_size),
            }
            self.page_changed.set(true);
            self.chrome_changed.set(true);
        }
        if self.page_changed.take()
            && let Some(page) = in_front
        {
            page.webview.paint();
        }
        let mut actions = Vec::new();
        if self.chrome_changed.take() {
            actions = self.draw_chrome(pages, shown);
        }
        if self.window_context.make_current().is_err() {
            return actions;
        }
        self.window_context.prepare_for_rendering();
        let size = [inner_size.width, inner_size.height];
        let background = theme::palette(&self.context)
            .toolbar
            .to_normalized_gamma_f32();
        let Drawing {
            painter,
            primitives,
        } = &mut *self.drawing.borrow_mut();
        painter.clear(size, background);
        painter.paint_primitives(size, self.scale(), primitives);
        self.window.pre_present_notify();
        self.window_context.present();
        actions
    }

    fn draw_chrome(&self, pages: &[Page<Tab>], shown: &Shown) -> Vec<Action> {
        let mut input = self.input.borrow_mut().take_egui_input(&self.window);
        let mut events = self.held_keys.take();
        events.append(&mut input.events);
        if let Some(page) = self.in_front(pages) {
            let held = page.surface.controls().borrow().hold_keys(&mut events);
            self.held_keys.replace(held);
        }
        input.events = events;
        let mut actions = Vec::new();
        let page_area = self.page_area();
        let page_picture = self.page_picture(page_area.rect);
        let output = self.context.run_ui(input, |ui| {
            if let Some(picture) = &page_picture {
                ui.painter().add(picture.clone());
            }
            chrome::show(ui, self, pages, shown, page_area, &mut actions);
            if !self.held_keys.borrow().is_empty() {
                ui.ctx().request_repaint();
            }
        });
        let place = self.input_method_of_page(pages);
        let is_page_typed_into = output.platform_output.ime.is_none() && place.is_some();
        let mut input = self.input.borrow_mut();
        // While the person types into the page, egui must not turn the input method off.
        input.set_allow_ime(self.is_ime_allowed.get() && !is_page_typed_into);
        input.handle_platform_output(&self.window, output.platform_output);
        if is_page_typed_into && !self.is_ime_allowed.get() {
            self.window.set_ime_allowed(true);
        }
        self.is_ime_allowed
            .set(is_page_typed_into || input.allow_ime());
        drop(input);
        if is_page_typed_into && let Some(place) = place {
            let place = place * self.scale();
            self.window.set_ime_cursor_area(
                PhysicalPosition::new(place.min.x, place.min.y),
                PhysicalSize::new(place.width().max(1.), place.height().max(1.)),
            );
        }
        let delay = output
            .viewport_output
            .get(&ViewportId::ROOT)
            .map_or(Duration::MAX, |output| output.repaint_delay)
            // At most one drawing per frame of the display.
            .max(self.frame_clock.interval());
        self.chrome_due.set(Instant::now().checked_add(delay));

        let primitives = self
            .context
            .tessellate(output.shapes, output.pixels_per_point);
        let mut drawing = self.drawing.borrow_mut();
        for (id, delta) in &output.textures_delta.set {
            drawing.painter.set_texture(*id, delta);
        }
        drawing.primitives = primitives;
        for id in output.textures_delta.free {
            drawing.painter.free_texture(id);
        }
        actions
    }

    /// A callback that copies the engine's picture of the page into `rect` whenever the window is drawn.
    fn page_picture(&self, rect: Rect) -> Option<PaintCallback> {
        let copy = self.page_context.render_to_parent_callback()?;
        let callback = CallbackFn::new(move |info, painter| {
            let place = info.viewport_in_pixels();
            let place = EuclidRect::new(
                Point2D::new(place.left_px, place.from_bottom_px),
                Size2D::new(place.width_px, place.height_px),
            );
            copy(painter.gl(), place);
        });
        Some(PaintCallback {
            rect,
            callback: Arc::new(callback),
        })
    }

    /// The place of the text input in the page in front, in points.
    fn input_method_of_page(&self, pages: &[Page<Tab>]) -> Option<Rect> {
        let page = self.in_front(pages)?;
        let place = page.surface.input_method()?;
        let area = PageArea {
            zoom: page.webview.page_zoom(),
            ..self.page_area()
        };
        Some(area.place(place))
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

/// The size of a page in a window with this inner size, in device pixels.
fn page_size_within(inner: PhysicalSize<u32>, scale: f32, has_chrome: bool) -> PhysicalSize<u32> {
    let chrome = match has_chrome {
        true => (chrome::HEIGHT * scale).round() as u32,
        false => 0,
    };
    PhysicalSize::new(
        inner.width.max(1),
        inner.height.saturating_sub(chrome).max(1),
    )
}
