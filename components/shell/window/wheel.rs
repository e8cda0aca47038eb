/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The wheel and the touchpad: what a page is told of a turn, and how far it scrolls.

use winit::event::{DeviceEvent, ElementState, MouseScrollDelta};

/// What a page is told of a notch of the wheel, in CSS pixels: the number of Chromium on Linux, and roughly
/// Firefox's.
const NOTCH: f64 = 120.;

/// The logical pixels of a touchpad that count as a notch. Wayland counts ten of them for a notch of a wheel, and
/// Chromium takes a touchpad's for the same: so a touchpad does what it does on X11.
const PIXELS_OF_NOTCH: f64 = if cfg!(any(target_os = "macos", target_os = "windows")) {
    NOTCH
} else {
    10.
};

/// A turn of the wheel, in CSS pixels. Positive numbers show more of what is to the left and above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    pub x: f64,
    pub y: f64,
}

impl Turn {
    /// The turn that winit tells of, in a window with `scale` device pixels per logical pixel.
    pub fn new(delta: MouseScrollDelta, scale: f64) -> Self {
        let (x, y) = match delta {
            // Fractions come from touchpads on X11 and from finer wheels.
            MouseScrollDelta::LineDelta(x, y) => (f64::from(x), f64::from(y)),
            MouseScrollDelta::PixelDelta(distance) => {
                let distance = distance.to_logical::<f64>(scale);
                (distance.x / PIXELS_OF_NOTCH, distance.y / PIXELS_OF_NOTCH)
            },
        };
        Self {
            x: x * NOTCH,
            y: y * NOTCH,
        }
    }

    /// What the page scrolls by. With Shift a wheel that turns up and down scrolls to the left and right, though
    /// the page is told that it turns up and down.
    fn scrolled(self, with_shift: bool) -> Self {
        match with_shift && self.x == 0. {
            true => Self { x: self.y, y: 0. },
            false => self,
        }
    }

    /// How much is left to scroll when Servo has scrolled by this turn, in device pixels; positive numbers show
    /// more of what is to the right and below. Servo tells a page these numbers as CSS pixels, and scrolls by as
    /// many device pixels.
    pub fn left_to_scroll(self, with_shift: bool, device_pixels_per_pixel: f64) -> (f64, f64) {
        let scrolled = self.scrolled(with_shift);
        (
            self.x - scrolled.x * device_pixels_per_pixel,
            self.y - scrolled.y * device_pixels_per_pixel,
        )
    }
}

/// The buttons that X11 has for a wheel that is no axis, as of a mouse on a remote screen. winit tells of a turn
/// when such a button is pressed, and once more when it is released. While another window has the focus it tells
/// of no devices, and both count.
#[derive(Default)]
pub struct WheelButtons {
    /// The button that was released last, until winit tells of the turn.
    released: Option<u32>,
}

impl WheelButtons {
    /// X11 tells of a button first as of a device, whatever window is under the pointer.
    pub fn device_event(&mut self, event: &DeviceEvent) {
        if let DeviceEvent::Button { button, state } = *event {
            self.released = (state == ElementState::Released).then_some(button);
        }
    }

    /// What was released outside the window does not count any more.
    pub fn pointer_moved(&mut self) {
        self.released = None;
    }

    /// Whether `delta` is only the release of a button whose press was the turn.
    pub fn is_release(&mut self, delta: MouseScrollDelta) -> bool {
        let turn = match self.released.take() {
            Some(4) => (0., 1.),
            Some(5) => (0., -1.),
            Some(6) => (1., 0.),
            Some(7) => (-1., 0.),
            _ => return false,
        };
        delta == MouseScrollDelta::LineDelta(turn.0, turn.1)
    }
}

#[cfg(test)]
mod tests {
    use winit::dpi::PhysicalPosition;

    use super::*;

    const UP: MouseScrollDelta = MouseScrollDelta::LineDelta(0., 1.);
    const DOWN: MouseScrollDelta = MouseScrollDelta::LineDelta(0., -1.);

    fn turn(delta: MouseScrollDelta, scale: f64) -> (f64, f64) {
        let Turn { x, y } = Turn::new(delta, scale);
        (x, y)
    }

    #[test]
    fn a_notch_is_as_many_pixels_as_in_other_browsers() {
        assert_eq!(turn(UP, 1.), (0., 120.));
        assert_eq!(turn(DOWN, 2.), (0., -120.));
        let sideways = MouseScrollDelta::LineDelta(-0.25, 0.);
        assert_eq!(turn(sideways, 1.5), (-30., 0.));
    }

    #[test]
    fn a_touchpad_on_wayland_is_as_fast_as_on_x11() {
        let moved = |x, y| MouseScrollDelta::PixelDelta(PhysicalPosition::new(x, y));
        assert_eq!(turn(moved(0., -10.), 1.), (0., -120.));
        assert_eq!(turn(moved(5., -20.), 2.), (30., -120.));
    }

    #[test]
    fn a_page_scrolls_by_the_pixels_it_is_told() {
        let turn = Turn { x: 12., y: -120. };
        assert_eq!(turn.left_to_scroll(false, 1.), (0., 0.));
        // Servo scrolls by 12 device pixels to the left and 120 down: 6 and 60 CSS pixels.
        assert_eq!(turn.left_to_scroll(false, 2.), (-12., 120.));
        assert_eq!(turn.left_to_scroll(false, 0.5), (6., -60.));
    }

    #[test]
    fn with_shift_the_wheel_scrolls_sideways() {
        // Down is told, and becomes right: the way down is taken back.
        let down = Turn { x: 0., y: -120. };
        assert_eq!(down.left_to_scroll(true, 1.), (120., -120.));
        assert_eq!(down.left_to_scroll(true, 2.), (240., -120.));
        // A wheel that turns sideways does so with Shift too.
        let slanting = Turn { x: 120., y: -60. };
        assert_eq!(slanting.left_to_scroll(true, 1.), (0., 0.));
    }

    #[test]
    fn a_button_that_is_a_wheel_turns_it_once() {
        let mut buttons = WheelButtons::default();
        let event = |button, state| DeviceEvent::Button { button, state };
        for (button, x, y) in [(4, 0., 1.), (5, 0., -1.), (6, 1., 0.), (7, -1., 0.)] {
            let delta = MouseScrollDelta::LineDelta(x, y);
            buttons.device_event(&event(button, ElementState::Pressed));
            assert!(!buttons.is_release(delta));
            buttons.device_event(&event(button, ElementState::Released));
            assert!(buttons.is_release(delta));
            // A wheel that is an axis has no buttons.
            assert!(!buttons.is_release(delta));
        }
        // Another wheel turned.
        buttons.device_event(&event(5, ElementState::Released));
        assert!(!buttons.is_release(UP));
        buttons.device_event(&event(1, ElementState::Released));
        assert!(!buttons.is_release(DOWN));
        // It was released in another window.
        buttons.device_event(&event(5, ElementState::Released));
        buttons.pointer_moved();
        assert!(!buttons.is_release(DOWN));
    }
}
