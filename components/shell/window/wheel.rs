/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The wheel and the touchpad: which numbers a page gets for a turn, and how far it scrolls.

use winit::event::{DeviceEvent, ElementState, MouseScrollDelta};

/// The distance that a page gets for one notch of the wheel, in CSS pixels. Chromium on Linux uses the same
/// number, and Firefox uses a similar one.
const NOTCH: f64 = 120.;

/// How many logical pixels of a touchpad count as one notch. On Wayland, ten of them make a notch of a wheel, and
/// Chromium treats a touchpad in the same way. So a touchpad behaves as on X11.
const PIXELS_OF_NOTCH: f64 = 10.;

/// A turn of the wheel, in CSS pixels. Positive numbers scroll to the left and up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    pub x: f64,
    pub y: f64,
}

impl Turn {
    /// The turn that winit reports, in a window with `scale` device pixels per logical pixel.
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

    /// How far the page scrolls. With Shift, a vertical turn scrolls horizontally, but the page is still told of a
    /// vertical turn.
    fn scrolled(self, with_shift: bool) -> Self {
        match with_shift && self.x == 0. {
            true => Self { x: self.y, y: 0. },
            false => self,
        }
    }

    /// How far to scroll in addition after Servo has scrolled by this turn, in device pixels. Positive numbers scroll
    /// to the right and down. Servo reports the turn to the page in CSS pixels, but scrolls by the same number of
    /// device pixels.
    pub fn left_to_scroll(self, with_shift: bool, device_pixels_per_pixel: f64) -> (f64, f64) {
        let scrolled = self.scrolled(with_shift);
        (
            self.x - scrolled.x * device_pixels_per_pixel,
            self.y - scrolled.y * device_pixels_per_pixel,
        )
    }
}

/// X11 has buttons for a wheel that is not an axis, such as that of a mouse on a remote screen. winit reports a turn
/// when such a button is pressed, and another one when it is released. This filters the second one out. While another
/// window has the focus, winit reports no device events, and both turns count.
#[derive(Default)]
pub struct WheelButtons {
    /// The button that was released last, until winit reports its turn.
    released: Option<u32>,
}

impl WheelButtons {
    /// X11 first reports a button as a device event, whichever window is under the pointer.
    pub fn device_event(&mut self, event: &DeviceEvent) {
        if let DeviceEvent::Button { button, state } = *event {
            self.released = (state == ElementState::Released).then_some(button);
        }
    }

    /// Forgets a button that was released outside the window.
    pub fn pointer_moved(&mut self) {
        self.released = None;
    }

    /// Whether `delta` only reports the release of a button. The press was the turn.
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
        // Servo scrolls by 12 device pixels to the left and 120 down, which are 6 and 60 CSS pixels.
        assert_eq!(turn.left_to_scroll(false, 2.), (-12., 120.));
        assert_eq!(turn.left_to_scroll(false, 0.5), (6., -60.));
    }

    #[test]
    fn with_shift_the_wheel_scrolls_sideways() {
        // The page is told "down" and scrolls to the right: the scroll down is undone.
        let down = Turn { x: 0., y: -120. };
        assert_eq!(down.left_to_scroll(true, 1.), (120., -120.));
        assert_eq!(down.left_to_scroll(true, 2.), (240., -120.));
        // A wheel that also turns sideways is not changed by Shift.
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
            // A turn without a button comes from a wheel that is an axis.
            assert!(!buttons.is_release(delta));
        }
        // Another wheel turned.
        buttons.device_event(&event(5, ElementState::Released));
        assert!(!buttons.is_release(UP));
        buttons.device_event(&event(1, ElementState::Released));
        assert!(!buttons.is_release(DOWN));
        // The button was released in another window.
        buttons.device_event(&event(5, ElementState::Released));
        buttons.pointer_moved();
        assert!(!buttons.is_release(DOWN));
    }
}
