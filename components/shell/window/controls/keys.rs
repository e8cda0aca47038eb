/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Handling of keys that are pressed faster than the window is drawn.

use egui::Event;

/// Removes from `events` those that must wait for a later drawing. So no key is lost while a control has not been
/// drawn, and each key acts on the result of the previous one.
pub fn hold(events: &mut Vec<Event>, is_drawn: bool) -> Vec<Event> {
    let is_press = |event: &Event| matches!(event, Event::Key { pressed: true, .. });
    let is_typed = |event: &Event| matches!(event, Event::Text(_) | Event::Paste(_));
    let first = match is_drawn {
        // The text of a key follows its press, so the second press is the first to wait.
        true => {
            let mut presses = events
                .iter()
                .enumerate()
                .filter(|(_, event)| is_press(event));
            presses.nth(1).map(|(place, _)| place)
        },
        false => events
            .iter()
            .position(|event| is_press(event) || is_typed(event)),
    };
    first.map_or_else(Vec::new, |first| events.split_off(first))
}

#[cfg(test)]
mod tests {
    use egui::{Key, Modifiers};

    use super::*;

    fn press(key: Key) -> Event {
        Event::Key {
            key,
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::NONE,
        }
    }

    fn release(key: Key) -> Event {
        Event::Key {
            key,
            physical_key: None,
            pressed: false,
            repeat: false,
            modifiers: Modifiers::NONE,
        }
    }

    fn text(text: &str) -> Event {
        Event::Text(text.to_owned())
    }

    #[test]
    fn a_drawn_control_gets_one_key_at_a_time() {
        let all = [
            Event::PointerGone,
            press(Key::End),
            release(Key::End),
            press(Key::A),
            text("a"),
            release(Key::A),
            press(Key::Enter),
        ];
        let mut events = all.to_vec();
        let held = hold(&mut events, true);
        assert_eq!(events, all[..3]);
        let mut events = held;
        let held = hold(&mut events, true);
        assert_eq!(events, all[3..6]);
        let mut events = held;
        assert_eq!(hold(&mut events, true), []);
        assert_eq!(events, all[6..]);
    }

    #[test]
    fn a_control_that_is_not_drawn_gets_no_key() {
        let all = [
            Event::PointerGone,
            release(Key::B),
            press(Key::A),
            text("a"),
        ];
        let mut events = all.to_vec();
        assert_eq!(hold(&mut events, false), all[2..]);
        assert_eq!(events, all[..2]);
        let mut events = vec![text("composed")];
        assert_eq!(hold(&mut events, false), [text("composed")]);
        assert_eq!(events, []);
    }
}
