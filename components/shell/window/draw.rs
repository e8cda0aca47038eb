/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Draws the window. The engine draws the page in front into an image. The window draws that image beneath its
//! toolbar.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dpi::{PhysicalPosition, PhysicalSize};
use egui::{PaintCallback, Rect, ViewportId};
use egui_glow::CallbackFn;
use euclid::default::{Point2D, Rect as EuclidRect, Size2D};
use servo::RenderingContext;

use super::action::Action;
use super::browser_window::{BrowserWindow, Drawing};
use super::layout::{PageArea, page_size_within};
use super::tab::Tab;
use super::{chrome, theme};
use crate::page::Page;

/// Draws what has changed, and returns the person's actions.
pub fn draw_window(window: &BrowserWindow, pages: &[Page<Tab>], is_recording: bool) -> Vec<Action> {
    let inner_size = window.winit().inner_size();
    if inner_size.width == 0 || inner_size.height == 0 {
        return Vec::new();
    }
    if window.window_context.make_current().is_err() {
        return Vec::new();
    }
    let in_front = window.in_front(pages);
    if window.size_changed.take() {
        if window.window_context.size() != inner_size {
            window.window_context.resize(inner_size);
        }
        let page_size = page_size_within(inner_size, window.scale(), !window.is_fullscreen());
        match in_front {
            Some(page) => page.webview.resize(page_size),
            None => window.page_context().resize(page_size),
        }
        window.page_changed.set(true);
        window.chrome_changed.set(true);
    }
    if window.page_changed.take()
        && let Some(page) = in_front
    {
        page.webview.paint();
    }
    let mut actions = Vec::new();
    if window.chrome_changed.take() {
        actions = draw_chrome(window, pages, is_recording);
    }
    if window.window_context.make_current().is_err() {
        return actions;
    }
    window.window_context.prepare_for_rendering();
    let size = [inner_size.width, inner_size.height];
    let background = theme::palette(window.context())
        .toolbar
        .to_normalized_gamma_f32();
    let Drawing {
        painter,
        primitives,
    } = &mut *window.drawing.borrow_mut();
    painter.clear(size, background);
    painter.paint_primitives(size, window.scale(), primitives);
    window.winit().pre_present_notify();
    window.window_context.present();
    actions
}

fn draw_chrome(window: &BrowserWindow, pages: &[Page<Tab>], is_recording: bool) -> Vec<Action> {
    let mut input = window.input.borrow_mut().take_egui_input(window.winit());
    let mut events = window.held_keys.take();
    events.append(&mut input.events);
    if let Some(page) = window.in_front(pages) {
        let held = page.surface.controls().borrow().hold_keys(&mut events);
        window.held_keys.replace(held);
    }
    input.events = events;
    let mut actions = Vec::new();
    let page_area = window.page_area();
    let page_picture = page_picture(window, page_area.rect);
    let output = window.context().run_ui(input, |ui| {
        if let Some(picture) = &page_picture {
            ui.painter().add(picture.clone());
        }
        chrome::show(ui, window, pages, is_recording, page_area, &mut actions);
        if !window.held_keys.borrow().is_empty() {
            ui.ctx().request_repaint();
        }
    });
    let place = input_method_of_page(window, pages);
    let is_page_typed_into = output.platform_output.ime.is_none() && place.is_some();
    let mut input = window.input.borrow_mut();
    // While the person types into the page, egui must not turn the input method off.
    input.set_allow_ime(window.is_ime_allowed.get() && !is_page_typed_into);
    input.handle_platform_output(window.winit(), output.platform_output);
    if is_page_typed_into && !window.is_ime_allowed.get() {
        window.winit().set_ime_allowed(true);
    }
    window
        .is_ime_allowed
        .set(is_page_typed_into || input.allow_ime());
    drop(input);
    if is_page_typed_into && let Some(place) = place {
        let place = place * window.scale();
        window.winit().set_ime_cursor_area(
            PhysicalPosition::new(place.min.x, place.min.y),
            PhysicalSize::new(place.width().max(1.), place.height().max(1.)),
        );
    }
    let delay = output
        .viewport_output
        .get(&ViewportId::ROOT)
        .map_or(Duration::MAX, |output| output.repaint_delay)
        // At most one drawing per frame of the display.
        .max(window.frame_clock().interval());
    window.chrome_due.set(Instant::now().checked_add(delay));

    let primitives = window
        .context()
        .tessellate(output.shapes, output.pixels_per_point);
    let mut drawing = window.drawing.borrow_mut();
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
fn page_picture(window: &BrowserWindow, rect: Rect) -> Option<PaintCallback> {
    let copy = window.page_context().render_to_parent_callback()?;
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
fn input_method_of_page(window: &BrowserWindow, pages: &[Page<Tab>]) -> Option<Rect> {
    let page = window.in_front(pages)?;
    let place = page.surface.input_method()?;
    let area = PageArea {
        zoom: page.webview.page_zoom(),
        ..window.page_area()
    };
    Some(area.place(place))
}
