/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A tab: the state that the window keeps for one page.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use dpi::{PhysicalPosition, PhysicalSize};
use egui::{ColorImage, TextureHandle, TextureOptions};
use euclid::{Point2D, Scale, Size2D};
use image::RgbaImage;
use image::imageops::{self, FilterType};
use servo::{
    AuthenticationRequest, Cursor, DeviceIndependentPixel, DeviceIntPoint, DeviceIntRect,
    DeviceIntSize, DevicePixel, DevicePoint, DeviceVector2D, EmbedderControl, EmbedderControlId,
    Image, InputEventId, InputEventResult, PixelFormat, RenderingContext, ScreenGeometry, Scroll,
    SimpleDialog, Theme, WebView, WebViewId,
};
use url::{Origin, Url};

use super::browser_window::BrowserWindow;
use super::controls::Controls;
use crate::command_line;
use crate::frame_clock::FrameClock;
use crate::surface::Surface;

pub struct Tab {
    window: Rc<BrowserWindow>,
    id: Cell<Option<WebViewId>>,
    /// Whether Servo has been told that the page is visible.
    is_shown: Cell<bool>,
    /// The cursor that the page wants.
    cursor: Cell<Cursor>,
    address: RefCell<AddressDraft>,
    controls: RefCell<Controls>,
    favicon: RefCell<Option<Favicon>>,
    /// Where the page wants the window of an input method, while the person types into it.
    input_method: Cell<Option<(EmbedderControlId, DeviceIntRect)>>,
    /// Whether the page has asked for the whole screen.
    wants_fullscreen: Cell<bool>,
    /// How far and where to scroll if the page does not prevent the default action of a wheel event.
    scrolls: RefCell<HashMap<InputEventId, (DeviceVector2D, DevicePoint)>>,
}

/// The content of the address field. A tab keeps it while another one is in front.
#[derive(Default)]
pub struct AddressDraft {
    /// The typed text, if it differs from the address of the page.
    pub typed: Option<String>,
    /// What is wrong with the typed text.
    pub complaint: Option<String>,
    /// The requested page, until it has come.
    pub requested: Option<Url>,
}

struct Favicon {
    texture: TextureHandle,
    origin: Option<Origin>,
}

impl Tab {
    pub fn new(window: Rc<BrowserWindow>) -> Self {
        Self {
            window,
            id: Cell::default(),
            // Servo assumes this for a new page.
            is_shown: Cell::new(true),
            cursor: Cell::new(Cursor::Default),
            address: RefCell::default(),
            controls: RefCell::default(),
            favicon: RefCell::default(),
            input_method: Cell::default(),
            wants_fullscreen: Cell::default(),
            scrolls: RefCell::default(),
        }
    }

    pub fn address(&self) -> &RefCell<AddressDraft> {
        &self.address
    }

    pub fn controls(&self) -> &RefCell<Controls> {
        &self.controls
    }

    pub fn cursor(&self) -> Cursor {
        self.cursor.get()
    }

    pub fn favicon(&self) -> Option<TextureHandle> {
        let favicon = self.favicon.borrow();
        favicon.as_ref().map(|favicon| favicon.texture.clone())
    }

    /// The place of the text input, in the page's own coordinates.
    pub fn input_method(&self) -> Option<DeviceIntRect> {
        self.input_method.get().map(|(_, place)| place)
    }

    pub fn wants_fullscreen(&self) -> bool {
        self.wants_fullscreen.get()
    }

    /// Scrolls at a point of the page, unless the page prevents it when it handles `event`.
    pub fn scroll_after(&self, event: InputEventId, distance: DeviceVector2D, point: DevicePoint) {
        let mut scrolls = self.scrolls.borrow_mut();
        scrolls.insert(event, (distance, point));
    }

    /// Tells the page whether it is visible. A hidden page draws nothing, and its timers are slow.
    pub fn show(&self, webview: &WebView, is_shown: bool) {
        if self.is_shown.replace(is_shown) == is_shown {
            return;
        }
        match is_shown {
            true => webview.show(),
            false => webview.hide(),
        }
    }
}

impl Surface for Tab {
    const INTERACTIVE: bool = true;

    fn rendering_context(&self) -> Rc<dyn RenderingContext> {
        self.window.page_context()
    }

    fn hidpi_scale_factor(&self) -> Scale<f32, DeviceIndependentPixel, DevicePixel> {
        Scale::new(self.window.scale())
    }

    fn theme(&self) -> Option<Theme> {
        Some(self.window.theme())
    }

    fn screen_geometry(&self) -> ScreenGeometry {
        let window = self.window.winit();
        let outer_size = size(window.outer_size());
        let screen_size = window
            .current_monitor()
            .map_or(outer_size, |monitor| size(monitor.size()));
        // Wayland does not tell a window where it is.
        let position = window.outer_position().unwrap_or_default();
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
        self.window.frame_clock()
    }

    fn input_event_handled(
        &self,
        webview: &WebView,
        event: InputEventId,
        result: InputEventResult,
    ) {
        let scroll = self.scrolls.borrow_mut().remove(&event);
        if let Some((distance, point)) = scroll
            && !result.contains(InputEventResult::DefaultPrevented)
        {
            webview.notify_scroll_event(Scroll::Delta(distance.into()), point.into());
        }
    }

    fn draw(&self, _: &WebView) {
        // All tabs share one clock, so the frame may be for another tab.
        self.window.redraw_page();
    }

    fn resize_to(&self, _: &WebView, outer_size: DeviceIntSize) {
        let window = self.window.winit();
        let decorations = size(window.outer_size()) - size(window.inner_size());
        let inner_size = command_line::within_bounds(outer_size - decorations);
        // The window system either reports the new size later or returns it now.
        if window.request_inner_size(inner_size).is_some() {
            self.window.size_changed();
        }
    }

    fn move_to(&self, position: DeviceIntPoint) {
        let position = PhysicalPosition::new(position.x, position.y);
        self.window.winit().set_outer_position(position);
    }

    fn maximize(&self) {
        self.window.winit().set_maximized(true);
    }

    fn focus(&self, webview: &WebView) {
        self.window.select(webview.id());
        self.window.winit().focus_window();
    }

    fn added(&self, webview: &WebView, in_front: bool) {
        self.id.set(Some(webview.id()));
        self.window.tab_added(webview.id(), in_front);
    }

    fn page_changed(&self, _: &WebView) {
        self.window.redraw_chrome();
    }

    fn url_changed(&self, url: &Url) {
        let mut address = self.address.borrow_mut();
        address.requested = None;
        let is_in_front = self.window.selected() == self.id.get();
        if !is_in_front || !self.window.is_editing_address() {
            *address = AddressDraft::default();
        }
        // Servo does not say that a page has no icon.
        let mut favicon = self.favicon.borrow_mut();
        if favicon
            .as_ref()
            .is_some_and(|favicon| favicon.origin.as_ref() != Some(&url.origin()))
        {
            *favicon = None;
        }
        self.window.redraw_chrome();
    }

    fn favicon_changed(&self, webview: &WebView) {
        let texture = webview
            .favicon()
            .and_then(|image| picture(&image))
            .map(|picture| {
                let context = self.window.context();
                context.load_texture("favicon", picture, TextureOptions::LINEAR)
            });
        *self.favicon.borrow_mut() = texture.map(|texture| Favicon {
            texture,
            origin: webview.url().map(|url| url.origin()),
        });
        self.window.redraw_chrome();
    }

    fn cursor_changed(&self, cursor: Cursor) {
        self.cursor.set(cursor);
        self.window.redraw_chrome();
    }

    fn fullscreen_changed(&self, fullscreen: bool) {
        self.wants_fullscreen.set(fullscreen);
        self.window.redraw_chrome();
    }

    fn show_dialog(&self, webview: &WebView, id: EmbedderControlId, dialog: SimpleDialog) {
        let origin = webview.url().map_or_else(
            || "This page".to_owned(),
            |url| match url.host_str() {
                Some(host) => host.to_owned(),
                None => format!("This {}: page", url.scheme()),
            },
        );
        self.controls.borrow_mut().ask(id, dialog, &origin);
        self.window.redraw_chrome();
    }

    fn show_control(&self, control: EmbedderControl) {
        match control {
            EmbedderControl::InputMethod(input_method) => {
                let place = input_method.position();
                self.input_method.set(Some((input_method.id(), place)));
            },
            control => {
                let pointer = self.window.pointer();
                self.controls.borrow_mut().add(control, pointer);
            },
        }
        self.window.redraw_chrome();
    }

    fn hide_control(&self, id: EmbedderControlId) {
        if self.input_method.get().is_some_and(|(of, _)| of == id) {
            self.input_method.set(None);
        }
        self.controls.borrow_mut().remove(id);
        self.window.redraw_chrome();
    }

    fn sign_in(&self, request: AuthenticationRequest) {
        self.controls.borrow_mut().sign_in(request);
        self.window.redraw_chrome();
    }
}

fn size(size: PhysicalSize<u32>) -> DeviceIntSize {
    Size2D::new(size.width, size.height).to_i32()
}

/// The largest side of an icon in pixels. No screen shows more detail of it in a tab.
const FAVICON_SIDE: u32 = 48;

/// Converts a picture for the window. None if the picture is incomplete.
fn picture(image: &Image) -> Option<ColorImage> {
    let channels = match image.format {
        PixelFormat::K8 => 1,
        PixelFormat::KA8 => 2,
        PixelFormat::RGB8 => 3,
        PixelFormat::RGBA8 | PixelFormat::BGRA8 => 4,
    };
    let rgba: Vec<u8> = image
        .data()
        .chunks_exact(channels)
        .flat_map(|pixel| match image.format {
            PixelFormat::K8 => [pixel[0], pixel[0], pixel[0], 255],
            PixelFormat::KA8 => [pixel[0], pixel[0], pixel[0], pixel[1]],
            PixelFormat::RGB8 => [pixel[0], pixel[1], pixel[2], 255],
            PixelFormat::RGBA8 => [pixel[0], pixel[1], pixel[2], pixel[3]],
            PixelFormat::BGRA8 => [pixel[2], pixel[1], pixel[0], pixel[3]],
        })
        .collect();
    let mut picture = RgbaImage::from_raw(image.width, image.height, rgba)?;
    if picture.width() == 0 || picture.height() == 0 {
        return None;
    }
    if picture.width().max(picture.height()) > FAVICON_SIDE {
        picture = imageops::resize(&picture, FAVICON_SIDE, FAVICON_SIDE, FilterType::Triangle);
    }
    let size = [picture.width() as usize, picture.height() as usize];
    Some(ColorImage::from_rgba_unmultiplied(size, picture.as_raw()))
}
