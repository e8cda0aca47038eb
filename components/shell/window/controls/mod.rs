/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Controls that a page cannot draw itself: dialogs, menus and pickers. They are shown over the page.

mod colour_picker;
mod context_menu;
mod dialog;
mod file_picker;
mod keys;
mod menu;
mod message;
mod select;
mod sign_in;

use egui::{Context, Event, Pos2};
use servo::{AuthenticationRequest, EmbedderControl, EmbedderControlId, SimpleDialog};

use colour_picker::ColourPicker;
use context_menu::PageMenu;
use file_picker::FileDialog;
use message::Message;
use select::Select;
use sign_in::SignIn;

use super::layout::PageArea;

/// The open controls of one page. A control that is dropped without an answer counts as dismissed.
#[derive(Default)]
pub struct Controls {
    /// The newest is last, and is the only visible one.
    open: Vec<Open>,
}

struct Open {
    id: Option<EmbedderControlId>,
    control: Control,
    /// Whether the person has seen it.
    is_drawn: bool,
}

enum Control {
    Message(Message),
    Select(Select),
    ContextMenu(PageMenu),
    File(FileDialog),
    Colour(ColourPicker),
    SignIn(SignIn),
}

impl Controls {
    /// While this is false, keys and pointer do not go to the page.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Removes from `events` the keys that must wait for a later drawing.
    pub fn hold_keys(&self, events: &mut Vec<Event>) -> Vec<Event> {
        match self.open.last() {
            Some(open) => keys::hold(events, open.is_drawn),
            None => Vec::new(),
        }
    }

    fn open(&mut self, id: Option<EmbedderControlId>, control: Control) {
        self.open.push(Open {
            id,
            control,
            is_drawn: false,
        });
    }

    /// Adds a script's dialog. `origin` names the page to the person.
    pub fn ask(&mut self, id: EmbedderControlId, dialog: SimpleDialog, origin: &str) {
        let message = Message::new(dialog, origin);
        self.open(Some(id), Control::Message(message));
    }

    /// Adds any control except a script's dialog and an input method. `pointer` is the mouse's place in the
    /// window, in points.
    pub fn add(&mut self, control: EmbedderControl, pointer: Pos2) {
        let id = control.id();
        let control = match control {
            EmbedderControl::SelectElement(element) => Control::Select(Select::new(element)),
            EmbedderControl::ContextMenu(menu) => {
                Control::ContextMenu(PageMenu::new(menu, pointer))
            },
            EmbedderControl::FilePicker(picker) => Control::File(FileDialog::new(picker)),
            EmbedderControl::ColorPicker(picker) => Control::Colour(ColourPicker::new(picker)),
            EmbedderControl::SimpleDialog(_) | EmbedderControl::InputMethod(_) => return,
        };
        self.open(Some(id), control);
    }

    pub fn sign_in(&mut self, request: AuthenticationRequest) {
        self.open(None, Control::SignIn(SignIn::new(request)));
    }

    /// Removes a control that the page has withdrawn.
    pub fn remove(&mut self, id: EmbedderControlId) {
        self.open.retain(|open| open.id != Some(id));
    }

    /// Shows the newest control over the page.
    pub fn show(&mut self, context: &Context, page: PageArea) {
        let Some(Open { id, control, .. }) = self.open.pop() else {
            return;
        };
        let still_open = match control {
            Control::Message(message) => message.show(context, page).map(Control::Message),
            Control::Select(select) => select.show(context, page).map(Control::Select),
            Control::ContextMenu(menu) => menu.show(context, page).map(Control::ContextMenu),
            Control::File(file) => file.show(context, page).map(Control::File),
            Control::Colour(picker) => picker.show(context, page).map(Control::Colour),
            Control::SignIn(sign_in) => sign_in.show(context, page).map(Control::SignIn),
        };
        match still_open {
            Some(control) => self.open.push(Open {
                id,
                control,
                is_drawn: true,
            }),
            None => reveal_page(context),
        }
    }
}

/// Draws again at once, without the closed control. egui uses the last drawing to find what is under the pointer,
/// so otherwise the page beneath the control would not get the next event.
fn reveal_page(context: &Context) {
    context.request_discard("what a page asks has been answered");
}

#[cfg(test)]
mod tests {
    use egui::{Id, LayerId, Order, RawInput, Rect, vec2};

    use super::*;

    #[test]
    fn a_closed_dialog_leaves_the_pointer_to_the_page_at_once() {
        let context = Context::default();
        let rect = Rect::from_min_size(Pos2::ZERO, vec2(800., 600.));
        let page = PageArea {
            rect,
            scale: 1.,
            zoom: 1.,
        };
        let inside = dialog::default_corner(page) + vec2(0., 20.);
        let draw = |mut is_open: bool, is_answered: bool| {
            let input = RawInput {
                screen_rect: Some(rect),
                ..RawInput::default()
            };
            let _ = context.run_ui(input, |ui| {
                if is_open {
                    dialog::show(ui.ctx(), page, "Really?", |_| ());
                }
                if is_answered {
                    is_open = false;
                    reveal_page(ui.ctx());
                }
            });
            context.layer_id_at(inside)
        };
        let dialog = Some(LayerId::new(Order::Middle, Id::new("dialog")));
        // The first drawing determines the size of the dialog.
        draw(true, false);
        assert_eq!(draw(true, false), dialog);
        assert_ne!(draw(true, true), dialog);
    }
}
