/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The keyboard shortcuts of the window.

use servo::{Code, Key, KeyState, KeyboardEvent, Modifiers, NamedKey};

use super::action::Action;

/// The usual modifier of shortcuts.
const COMMAND: Modifiers = Modifiers::CONTROL;

/// The action of a key event. The page does not get such a key.
///
/// Escape is not included: its effect depends on the state of the page.
pub fn action(event: &KeyboardEvent) -> Option<Action> {
    let keyboard = &event.event;
    if keyboard.state != KeyState::Down {
        return None;
    }
    let modifiers =
        keyboard.modifiers & (COMMAND | Modifiers::ALT | Modifiers::SHIFT | Modifiers::CONTROL);
    let shift = modifiers.contains(Modifiers::SHIFT);
    if modifiers - Modifiers::SHIFT == COMMAND
        && let Some(character) = character(&keyboard.key, keyboard.code)
    {
        return command(character, shift);
    }
    let Key::Named(key) = &keyboard.key else {
        // Alt+D is the only other shortcut with a character.
        return (modifiers == Modifiers::ALT
            && character(&keyboard.key, keyboard.code) == Some('d'))
        .then_some(Action::EditAddress);
    };
    let control = modifiers - Modifiers::SHIFT == Modifiers::CONTROL;
    Some(match key {
        NamedKey::Tab if control && shift => Action::PreviousTab,
        NamedKey::Tab if control => Action::NextTab,
        NamedKey::PageUp if control && !shift => Action::PreviousTab,
        NamedKey::PageDown if control && !shift => Action::NextTab,
        NamedKey::F4 if control && !shift => Action::CloseTab,
        NamedKey::F5 if control && !shift => Action::ReloadAll,
        NamedKey::F5 if modifiers == Modifiers::SHIFT => Action::ReloadAll,
        NamedKey::F5 if modifiers.is_empty() => Action::Reload,
        NamedKey::F6 if modifiers.is_empty() => Action::EditAddress,
        NamedKey::F11 if modifiers.is_empty() => Action::ToggleFullscreen,
        NamedKey::ArrowLeft if modifiers == Modifiers::ALT => Action::Back,
        NamedKey::ArrowRight if modifiers == Modifiers::ALT => Action::Forward,
        NamedKey::Home if modifiers == Modifiers::ALT => Action::Home,
        NamedKey::BrowserBack if modifiers.is_empty() => Action::Back,
        NamedKey::BrowserForward if modifiers.is_empty() => Action::Forward,
        NamedKey::BrowserRefresh if modifiers.is_empty() => Action::Reload,
        NamedKey::BrowserStop if modifiers.is_empty() => Action::Stop,
        NamedKey::BrowserHome if modifiers.is_empty() => Action::Home,
        _ => return None,
    })
}

/// The action of a character together with the command key.
fn command(character: char, shift: bool) -> Option<Action> {
    Some(match (character, shift) {
        ('r', false) => Action::Reload,
        ('r', true) => Action::ReloadAll,
        ('t', false) => Action::OpenTab(None),
        ('t', true) => Action::ReopenTab,
        ('w', false) => Action::CloseTab,
        ('q', false) | ('w' | 'q', true) => Action::Quit,
        ('l', false) => Action::EditAddress,
        ('p', true) => Action::ToggleRecording,
        // Some keyboards have plus above the equals sign, others have a separate key.
        ('+' | '=', _) => Action::ZoomIn,
        ('-' | '_', _) => Action::ZoomOut,
        ('0', false) => Action::ResetZoom,
        ('9', false) => Action::SelectLastTab,
        ('1'..='8', false) => Action::SelectTabNumber(character as usize - '1' as usize),
        _ => return None,
    })
}

/// The character of a key, in lower case. On a keyboard without Latin letters it is the character of a
/// Latin keyboard at the same place, so that shortcuts stay in their places.
fn character(key: &Key, code: Code) -> Option<char> {
    let Key::Character(text) = key else {
        return None;
    };
    let mut characters = text.chars();
    let typed = characters.next()?;
    if characters.next().is_none() && typed.is_ascii() && !typed.is_ascii_control() {
        return Some(typed.to_ascii_lowercase());
    }
    let name = code.to_string();
    let on_latin = name
        .strip_prefix("Key")
        .or_else(|| name.strip_prefix("Digit"))?;
    on_latin
        .chars()
        .next()
        .map(|letter| letter.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use servo::Location;

    use super::*;

    const SHIFT: Modifiers = Modifiers::SHIFT;
    const ALT: Modifiers = Modifiers::ALT;

    fn pressed(state: KeyState, key: Key, code: Code, modifiers: Modifiers) -> Option<Action> {
        action(&KeyboardEvent::new_without_event(
            state,
            key,
            code,
            Location::Standard,
            modifiers,
            false,
            false,
        ))
    }

    fn typed(character: &str, modifiers: Modifiers) -> Option<Action> {
        let key = Key::Character(character.to_owned());
        assert_eq!(
            pressed(KeyState::Up, key.clone(), Code::Unidentified, modifiers),
            None
        );
        pressed(KeyState::Down, key, Code::Unidentified, modifiers)
    }

    fn named(key: NamedKey, modifiers: Modifiers) -> Option<Action> {
        let key = Key::Named(key);
        assert_eq!(
            pressed(KeyState::Up, key.clone(), Code::Unidentified, modifiers),
            None
        );
        pressed(KeyState::Down, key, Code::Unidentified, modifiers)
    }

    #[test]
    fn shortcuts_are_those_of_other_browsers() {
        for (character, modifiers, expected) in [
            ("t", COMMAND, Action::OpenTab(None)),
            ("T", COMMAND | SHIFT, Action::ReopenTab),
            ("w", COMMAND, Action::CloseTab),
            ("W", COMMAND | SHIFT, Action::Quit),
            ("q", COMMAND, Action::Quit),
            ("r", COMMAND, Action::Reload),
            ("R", COMMAND | SHIFT, Action::ReloadAll),
            ("l", COMMAND, Action::EditAddress),
            ("d", ALT, Action::EditAddress),
            ("P", COMMAND | SHIFT, Action::ToggleRecording),
            ("+", COMMAND | SHIFT, Action::ZoomIn),
            ("=", COMMAND, Action::ZoomIn),
            ("-", COMMAND, Action::ZoomOut),
            ("0", COMMAND, Action::ResetZoom),
            ("1", COMMAND, Action::SelectTabNumber(0)),
            ("8", COMMAND, Action::SelectTabNumber(7)),
            ("9", COMMAND, Action::SelectLastTab),
        ] {
            assert_eq!(typed(character, modifiers), Some(expected), "{character}");
        }
        let control = Modifiers::CONTROL;
        for (key, modifiers, expected) in [
            (NamedKey::Tab, control, Action::NextTab),
            (NamedKey::Tab, control | SHIFT, Action::PreviousTab),
            (NamedKey::PageDown, control, Action::NextTab),
            (NamedKey::PageUp, control, Action::PreviousTab),
            (NamedKey::F4, control, Action::CloseTab),
            (NamedKey::F5, Modifiers::empty(), Action::Reload),
            (NamedKey::F5, SHIFT, Action::ReloadAll),
            (NamedKey::F5, control, Action::ReloadAll),
            (NamedKey::F6, Modifiers::empty(), Action::EditAddress),
            (NamedKey::F11, Modifiers::empty(), Action::ToggleFullscreen),
            (NamedKey::ArrowLeft, ALT, Action::Back),
            (NamedKey::ArrowRight, ALT, Action::Forward),
            (NamedKey::Home, ALT, Action::Home),
            (NamedKey::BrowserBack, Modifiers::empty(), Action::Back),
        ] {
            assert_eq!(named(key, modifiers), Some(expected), "{key:?}");
        }
    }

    #[test]
    fn other_keys_go_to_the_page() {
        for (character, modifiers) in [
            ("t", Modifiers::empty()),
            ("r", ALT),
            ("c", COMMAND),
            ("v", COMMAND),
            ("x", COMMAND),
            ("a", COMMAND),
            ("t", COMMAND | ALT),
            ("1", COMMAND | SHIFT),
            ("d", Modifiers::empty()),
            ("d", ALT | SHIFT),
        ] {
            assert_eq!(typed(character, modifiers), None, "{character}");
        }
        for (key, modifiers) in [
            (NamedKey::Tab, Modifiers::empty()),
            (NamedKey::Tab, SHIFT),
            (NamedKey::PageDown, Modifiers::empty()),
            (NamedKey::ArrowLeft, Modifiers::empty()),
            (NamedKey::ArrowLeft, ALT | SHIFT),
            (NamedKey::Home, Modifiers::empty()),
            (NamedKey::Escape, Modifiers::empty()),
            (NamedKey::Enter, Modifiers::empty()),
            (NamedKey::F12, Modifiers::empty()),
        ] {
            assert_eq!(named(key, modifiers), None, "{key:?}");
        }
    }

    #[test]
    fn shortcuts_keep_their_places_on_keyboards_with_other_letters() {
        let cyrillic = Key::Character("е".to_owned());
        assert_eq!(
            pressed(KeyState::Down, cyrillic.clone(), Code::KeyT, COMMAND),
            Some(Action::OpenTab(None))
        );
        // A Latin letter of the person's keyboard layout counts, wherever its key is.
        assert_eq!(
            pressed(
                KeyState::Down,
                Key::Character("w".to_owned()),
                Code::KeyZ,
                COMMAND
            ),
            Some(Action::CloseTab)
        );
    }
}
