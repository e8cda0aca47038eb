/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Pages without a window.

use std::rc::Rc;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use dpi::PhysicalSize;
use euclid::{Point2D, Scale};
use servo::{
    DeviceIndependentPixel, DeviceIntRect, DeviceIntSize, DevicePixel, EventLoopWaker,
    RenderingContext, ScreenGeometry, SoftwareRenderingContext, WebView,
};

use crate::browser::{Browser, Ended, Next, Settings};
use crate::command_line;
use crate::frame_clock::{DEFAULT_FRAME_INTERVAL, FrameClock};
use crate::surface::Surface;

/// Runs the browser without a window. The error says why no page could be opened.
pub fn run(settings: Settings) -> Result<Ended, String> {
    let (waker, woken) = Waker::new();
    let size = settings.command_line.window_size;
    let open_surface = || MemorySurface::new(size);
    let mut browser = Browser::start(settings, Box::new(waker), open_surface)?;
    loop {
        let waiting = match browser.step(open_surface) {
            Next::End => return Ok(browser.shut_down()),
            Next::Wait(Some(time)) => woken.recv_deadline(time),
            Next::Wait(None) => woken.recv().map_err(RecvTimeoutError::from),
        };
        // Nothing is left that could wake this loop.
        if waiting == Err(RecvTimeoutError::Disconnected) {
            return Ok(browser.shut_down());
        }
    }
}

/// Wakes the loop from any thread.
#[derive(Clone)]
struct Waker(Sender<()>);

impl Waker {
    fn new() -> (Self, Receiver<()>) {
        // One place is enough: a loop that is about to wake need not be woken again.
        let (sender, receiver) = bounded(1);
        (Self(sender), receiver)
    }
}

impl EventLoopWaker for Waker {
    fn clone_box(&self) -> Box<dyn EventLoopWaker> {
        Box::new(self.clone())
    }

    fn wake(&self) {
        let _ = self.0.try_send(());
    }
}

/// Memory into which software rendering draws a page.
struct MemorySurface {
    rendering_context: Rc<SoftwareRenderingContext>,
    frame_clock: FrameClock,
}

impl MemorySurface {
    fn new(size: PhysicalSize<u32>) -> Result<Self, String> {
        let rendering_context = SoftwareRenderingContext::new(size).map_err(|error| {
            format!("software OpenGL is not available (is Mesa installed?): {error:?}")
        })?;
        Ok(Self {
            rendering_context: Rc::new(rendering_context),
            frame_clock: FrameClock::new(DEFAULT_FRAME_INTERVAL),
        })
    }
}

impl Surface for MemorySurface {
    const INTERACTIVE: bool = false;

    fn rendering_context(&self) -> Rc<dyn RenderingContext> {
        self.rendering_context.clone()
    }

    fn hidpi_scale_factor(&self) -> Scale<f32, DeviceIndependentPixel, DevicePixel> {
        Scale::new(1.)
    }

    /// The page fills the whole screen.
    fn screen_geometry(&self) -> ScreenGeometry {
        let size = self.rendering_context.size2d().to_i32();
        ScreenGeometry {
            size,
            available_size: size,
            window_rect: DeviceIntRect::from_origin_and_size(Point2D::origin(), size),
        }
    }

    fn frame_clock(&self) -> &FrameClock {
        &self.frame_clock
    }

    fn draw(&self, webview: &WebView) {
        webview.paint();
    }

    fn resize_to(&self, webview: &WebView, outer_size: DeviceIntSize) {
        webview.resize(command_line::within_bounds(outer_size));
    }
}
