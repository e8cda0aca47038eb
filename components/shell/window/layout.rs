/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Where the parts of the window are. Lengths are in points, unless it says otherwise.

use dpi::PhysicalSize;
use egui::{Rect, vec2};
use servo::DeviceIntRect;

pub const TAB_STRIP_HEIGHT: f32 = 38.;

pub const TOOLBAR_HEIGHT: f32 = 42.;

/// The height of the tabs and the toolbar together.
pub const CHROME_HEIGHT: f32 = TAB_STRIP_HEIGHT + TOOLBAR_HEIGHT;

/// Where a page is in the window.
#[derive(Clone, Copy)]
pub struct PageArea {
    /// In points.
    pub rect: Rect,
    /// Device pixels per point.
    pub scale: f32,
    /// Points per CSS pixel.
    pub zoom: f32,
}

impl PageArea {
    /// Converts the place of a control to points in the window. Servo 0.7.0 gives CSS pixels of the document,
    /// although the type says otherwise.
    pub fn place(&self, rect: DeviceIntRect) -> Rect {
        let corner = vec2(rect.min.x as f32, rect.min.y as f32) * self.zoom;
        let size = vec2(rect.width() as f32, rect.height() as f32) * self.zoom;
        Rect::from_min_size(self.rect.min + corner, size)
    }
}

/// The size of a page in a window with this inner size, in device pixels.
pub fn page_size_within(
    inner: PhysicalSize<u32>,
    scale: f32,
    has_chrome: bool,
) -> PhysicalSize<u32> {
    let chrome = match has_chrome {
        true => (CHROME_HEIGHT * scale).round() as u32,
        false => 0,
    };
    PhysicalSize::new(
        inner.width.max(1),
        inner.height.saturating_sub(chrome).max(1),
    )
}
