/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `alert()`, `confirm()` and `prompt()`.

use egui::{Context, Id, Label, ScrollArea, TextEdit};
use servo::SimpleDialog;

use super::dialog::{self, Answer};
use crate::window::layout::PageArea;

pub struct Message {
    dialog: SimpleDialog,
    title: String,
    /// The text in the field of a prompt.
    text: String,
    is_new: bool,
}

impl Message {
    pub fn new(dialog: SimpleDialog, origin: &str) -> Self {
        let text = match &dialog {
            SimpleDialog::Prompt(prompt) => prompt.current_value().to_owned(),
            SimpleDialog::Alert(_) | SimpleDialog::Confirm(_) => String::new(),
        };
        Self {
            dialog,
            title: format!("{origin} says"),
            text,
            is_new: true,
        }
    }

    /// None once it has been answered.
    pub fn show(mut self, context: &Context, page: PageArea) -> Option<Self> {
        let answer = dialog::show(context, page, &self.title, |ui| {
            let height = (page.rect.height() * 0.5).max(60.);
            ScrollArea::vertical().max_height(height).show(ui, |ui| {
                ui.add(Label::new(self.dialog.message()).wrap());
            });
            if matches!(self.dialog, SimpleDialog::Prompt(_)) {
                let field = TextEdit::singleline(&mut self.text)
                    .id(Id::new("prompt"))
                    .desired_width(f32::INFINITY)
                    .margin(egui::vec2(8., 6.));
                let field = ui.add(field);
                if self.is_new {
                    field.request_focus();
                }
            }
            let dismiss = match self.dialog {
                SimpleDialog::Alert(_) => None,
                SimpleDialog::Confirm(_) | SimpleDialog::Prompt(_) => Some("Cancel"),
            };
            dialog::buttons(ui, "OK", true, dismiss)
        });
        self.is_new = false;
        match answer {
            Answer::None => return Some(self),
            Answer::Accept => {
                if let SimpleDialog::Prompt(prompt) = &mut self.dialog {
                    prompt.set_current_value(&self.text);
                }
                self.dialog.confirm();
            },
            Answer::Dismiss => self.dialog.dismiss(),
        }
        None
    }
}
