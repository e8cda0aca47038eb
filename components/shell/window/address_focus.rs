/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The keyboard's focus in the address field, which decides who gets the keys.

use egui::text::{CCursor, CCursorRange};
use egui::{Context, Id, TextEdit};

pub fn field_id() -> Id {
    Id::new("address")
}

/// Whether keys go to the address field.
pub fn is_editing_address(context: &Context) -> bool {
    context.memory(|memory| memory.has_focus(field_id()))
}

/// Focuses the address field and selects the whole address.
pub fn edit_address(context: &Context) {
    context.memory_mut(|memory| memory.request_focus(field_id()));
    select_all(context);
}

pub fn select_all(context: &Context) {
    let mut state = TextEdit::load_state(context, field_id()).unwrap_or_default();
    // The field limits the range to its text.
    let all = CCursorRange::two(CCursor::new(0), CCursor::new(usize::MAX / 2));
    state.cursor.set_char_range(Some(all));
    state.store(context, field_id());
}
