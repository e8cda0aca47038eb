/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `<input type=color>`.

use egui::color_picker::{Alpha, color_picker_color32};
use egui::{Color32, Context};
use servo::{ColorPicker, RgbColor};

use super::dialog::{self, Answer};
use crate::window::layout::PageArea;

pub struct ColourPicker {
    picker: ColorPicker,
    colour: Color32,
}

impl ColourPicker {
    pub fn new(picker: ColorPicker) -> Self {
        let colour = picker.current_color().map_or(Color32::BLACK, |colour| {
            Color32::from_rgb(colour.red, colour.green, colour.blue)
        });
        Self { picker, colour }
    }

    /// None once a colour has been chosen or the dialog was dismissed.
    pub fn show(mut self, context: &Context, page: PageArea) -> Option<Self> {
        let answer = dialog::show(context, page, "Choose a colour", |ui| {
            color_picker_color32(ui, &mut self.colour, Alpha::Opaque);
            dialog::buttons(ui, "Choose", true, Some("Cancel"))
        });
        match answer {
            Answer::None => return Some(self),
            Answer::Accept => {
                let [red, green, blue, _] = self.colour.to_array();
                self.picker.select(Some(RgbColor { red, green, blue }));
                self.picker.submit();
            },
            // Submits the colour that it had before.
            Answer::Dismiss => self.picker.submit(),
        }
        None
    }
}
