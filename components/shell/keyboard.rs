/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Converts keys from the window system's types to Servo's.

use servo::{Code, Key, KeyState, KeyboardEvent, Location, Modifiers, NamedKey};
use winit::event::{ElementState, KeyEvent};
use winit::keyboard::{
    Key as WinitKey, KeyCode, KeyLocation, ModifiersState, NamedKey as WinitNamedKey, PhysicalKey,
};

/// The event that a page gets for `event`, while `modifiers` are held.
pub fn keyboard_event(event: &KeyEvent, modifiers: ModifiersState) -> KeyboardEvent {
    KeyboardEvent::new_without_event(
        match event.state {
            ElementState::Pressed => KeyState::Down,
            ElementState::Released => KeyState::Up,
        },
        key(&event.logical_key),
        code(event.physical_key),
        match event.location {
            KeyLocation::Standard => Location::Standard,
            KeyLocation::Left => Location::Left,
            KeyLocation::Right => Location::Right,
            KeyLocation::Numpad => Location::Numpad,
        },
        modifiers_of(modifiers),
        event.repeat,
        false,
    )
}

fn modifiers_of(state: ModifiersState) -> Modifiers {
    [
        (state.shift_key(), Modifiers::SHIFT),
        (state.control_key(), Modifiers::CONTROL),
        (state.alt_key(), Modifiers::ALT),
        (state.super_key(), Modifiers::META),
    ]
    .into_iter()
    .filter_map(|(held, modifier)| held.then_some(modifier))
    .collect()
}

fn key(key: &WinitKey) -> Key {
    match key {
        WinitKey::Character(text) => Key::Character(text.to_string()),
        WinitKey::Named(named) => named_key(*named),
        WinitKey::Dead(_) => Key::Named(NamedKey::Dead),
        WinitKey::Unidentified(_) => Key::Named(NamedKey::Unidentified),
    }
}

/// Winit and keyboard-types both name keys as <https://www.w3.org/TR/uievents-key/> does, except for
/// those listed here. So a key is converted by its name.
fn named_key(named: WinitNamedKey) -> Key {
    match named {
        WinitNamedKey::Space => Key::Character(" ".to_owned()),
        WinitNamedKey::Super => Key::Named(NamedKey::Meta),
        named => Key::Named(format!("{named:?}").parse().unwrap_or_default()),
    }
}

/// Does the same as [`named_key`], for <https://www.w3.org/TR/uievents-code/>.
fn code(key: PhysicalKey) -> Code {
    match key {
        PhysicalKey::Code(KeyCode::SuperLeft) => Code::MetaLeft,
        PhysicalKey::Code(KeyCode::SuperRight) => Code::MetaRight,
        PhysicalKey::Code(code) => format!("{code:?}").parse().unwrap_or_default(),
        PhysicalKey::Unidentified(_) => Code::Unidentified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_names() {
        for (winit, ours) in [
            (WinitNamedKey::Enter, NamedKey::Enter),
            (WinitNamedKey::Backspace, NamedKey::Backspace),
            (WinitNamedKey::ArrowLeft, NamedKey::ArrowLeft),
            (WinitNamedKey::PageDown, NamedKey::PageDown),
            (WinitNamedKey::F12, NamedKey::F12),
            (WinitNamedKey::AltGraph, NamedKey::AltGraph),
            (WinitNamedKey::MediaPlayPause, NamedKey::MediaPlayPause),
            (WinitNamedKey::Super, NamedKey::Meta),
        ] {
            assert_eq!(key(&WinitKey::Named(winit)), Key::Named(ours));
        }
        assert_eq!(
            key(&WinitKey::Named(WinitNamedKey::Space)),
            Key::Character(" ".to_owned())
        );
        assert_eq!(
            key(&WinitKey::Character("é".into())),
            Key::Character("é".to_owned())
        );
        assert_eq!(key(&WinitKey::Dead(Some('^'))), Key::Named(NamedKey::Dead));
    }

    #[test]
    fn codes_keep_their_names() {
        for (winit, ours) in [
            (KeyCode::KeyA, Code::KeyA),
            (KeyCode::Digit0, Code::Digit0),
            (KeyCode::NumpadAdd, Code::NumpadAdd),
            (KeyCode::IntlBackslash, Code::IntlBackslash),
            (KeyCode::ControlRight, Code::ControlRight),
            (KeyCode::F24, Code::F24),
            (KeyCode::SuperLeft, Code::MetaLeft),
        ] {
            assert_eq!(code(PhysicalKey::Code(winit)), ours);
        }
    }

    #[test]
    fn modifiers_are_carried_over() {
        assert_eq!(modifiers_of(ModifiersState::empty()), Modifiers::empty());
        assert_eq!(
            modifiers_of(ModifiersState::CONTROL | ModifiersState::SUPER),
            Modifiers::CONTROL | Modifiers::META
        );
    }
}
