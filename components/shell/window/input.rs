/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Converts pointer, touch and text events from the window system's types to Servo's, and cursors back.

use egui::CursorIcon;
use servo::{
    CompositionEvent, CompositionState, Cursor, DevicePoint, ImeEvent, MouseButton,
    MouseButtonAction, TouchEvent, TouchEventType, TouchId, TouchPointerType, WheelDelta,
    WheelEvent, WheelMode,
};
use winit::event::{ElementState, Ime, MouseButton as WinitMouseButton, Touch, TouchPhase};

use super::wheel::Turn;

pub fn mouse_button(button: WinitMouseButton) -> MouseButton {
    match button {
        WinitMouseButton::Left => MouseButton::Primary,
        WinitMouseButton::Right => MouseButton::Secondary,
        WinitMouseButton::Middle => MouseButton::Auxiliary,
        WinitMouseButton::Back => MouseButton::Back,
        WinitMouseButton::Forward => MouseButton::Forward,
        WinitMouseButton::Other(number) => MouseButton::Other(number),
    }
}

pub fn mouse_action(state: ElementState) -> MouseButtonAction {
    match state {
        ElementState::Pressed => MouseButtonAction::Down,
        ElementState::Released => MouseButtonAction::Up,
    }
}

/// The event that a page gets for a turn of the wheel at `point` of the page.
pub fn wheel_event(turn: Turn, point: DevicePoint) -> WheelEvent {
    let delta = WheelDelta {
        x: turn.x,
        y: turn.y,
        z: 0.,
        mode: WheelMode::DeltaPixel,
    };
    WheelEvent::new(delta, point.into())
}

/// The event that a page gets for `touch` at `point` of the page.
pub fn touch_event(touch: &Touch, point: DevicePoint) -> TouchEvent {
    let kind = match touch.phase {
        TouchPhase::Started => TouchEventType::Down,
        TouchPhase::Moved => TouchEventType::Move,
        TouchPhase::Ended => TouchEventType::Up,
        TouchPhase::Cancelled => TouchEventType::Cancel,
    };
    // The id only has to distinguish fingers that are down at the same time.
    let id = TouchId(touch.id as i32);
    TouchEvent::new(kind, id, point.into(), TouchPointerType::Touch)
}

/// Tracks whether an input method is composing text in the page.
#[derive(Default)]
pub struct Composition {
    is_open: bool,
}

impl Composition {
    /// The events that a page gets for `event`.
    pub fn events(&mut self, event: &Ime) -> Vec<ImeEvent> {
        let composed = |state, text: &str| {
            ImeEvent::Composition(CompositionEvent {
                state,
                data: text.to_owned(),
            })
        };
        let mut events = Vec::new();
        match event {
            Ime::Enabled => {},
            // An empty text cancels the composition.
            Ime::Preedit(text, _) if text.is_empty() && !self.is_open => {},
            Ime::Preedit(text, _) => {
                if !self.is_open {
                    events.push(composed(CompositionState::Start, ""));
                }
                events.push(composed(CompositionState::Update, text));
                self.is_open = true;
            },
            Ime::Commit(text) => {
                if !self.is_open {
                    events.push(composed(CompositionState::Start, ""));
                }
                events.push(composed(CompositionState::End, text));
                self.is_open = false;
            },
            Ime::Disabled => {
                // The field keeps the focus, so only the composition ends.
                if self.is_open {
                    events.push(composed(CompositionState::End, ""));
                    self.is_open = false;
                }
            },
        }
        events
    }
}

/// The cursor that a page asks for.
pub fn cursor_icon(cursor: Cursor) -> CursorIcon {
    match cursor {
        Cursor::None => CursorIcon::None,
        Cursor::Default => CursorIcon::Default,
        Cursor::Pointer => CursorIcon::PointingHand,
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
        Cursor::EResize => CursorIcon::ResizeEast,
        Cursor::NResize => CursorIcon::ResizeNorth,
        Cursor::NeResize => CursorIcon::ResizeNorthEast,
        Cursor::NwResize => CursorIcon::ResizeNorthWest,
        Cursor::SResize => CursorIcon::ResizeSouth,
        Cursor::SeResize => CursorIcon::ResizeSouthEast,
        Cursor::SwResize => CursorIcon::ResizeSouthWest,
        Cursor::WResize => CursorIcon::ResizeWest,
        Cursor::EwResize => CursorIcon::ResizeHorizontal,
        Cursor::NsResize => CursorIcon::ResizeVertical,
        Cursor::NeswResize => CursorIcon::ResizeNeSw,
        Cursor::NwseResize => CursorIcon::ResizeNwSe,
        Cursor::ColResize => CursorIcon::ResizeColumn,
        Cursor::RowResize => CursorIcon::ResizeRow,
        Cursor::AllScroll => CursorIcon::AllScroll,
        Cursor::ZoomIn => CursorIcon::ZoomIn,
        Cursor::ZoomOut => CursorIcon::ZoomOut,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_composition_starts_once_and_ends_once() {
        let mut composition = Composition::default();
        let mut seen = Vec::new();
        let preedit = |text: &str| Ime::Preedit(text.to_owned(), None);
        for event in [
            Ime::Enabled,
            preedit(""),
            preedit("n"),
            preedit("ni"),
            preedit(""),
            Ime::Commit("你".to_owned()),
            Ime::Commit("é".to_owned()),
            preedit("h"),
            Ime::Disabled,
        ] {
            for event in composition.events(&event) {
                seen.push(match event {
                    ImeEvent::Composition(event) => {
                        format!("{}:{}", event.state.event_type(), event.data)
                    },
                    ImeEvent::Dismissed => "dismissed".to_owned(),
                });
            }
        }
        assert_eq!(
            seen,
            [
                "compositionstart:",
                "compositionupdate:n",
                "compositionupdate:ni",
                "compositionupdate:",
                "compositionend:你",
                "compositionstart:",
                "compositionend:é",
                "compositionstart:",
                "compositionupdate:h",
                "compositionend:",
            ]
        );
    }
}
