/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The form for a server that asks for a name and a password.

use egui::{Context, Grid, TextEdit, Ui};
use servo::AuthenticationRequest;

use super::dialog::{self, Answer};
use crate::window::layout::PageArea;

pub struct SignIn {
    request: AuthenticationRequest,
    name: String,
    password: String,
    is_new: bool,
}

impl SignIn {
    pub fn new(request: AuthenticationRequest) -> Self {
        Self {
            request,
            name: String::new(),
            password: String::new(),
            is_new: true,
        }
    }

    /// None once it has been answered. If it is dismissed, the server's own page is shown.
    pub fn show(mut self, context: &Context, page: PageArea) -> Option<Self> {
        let answer = dialog::show(context, page, "Sign in", |ui| {
            let url = self.request.url();
            let what = match self.request.for_proxy() {
                true => "The proxy for",
                false => "The server",
            };
            let host = url.host_str().unwrap_or(url.as_str());
            ui.label(format!("{what} {host} asks for a name and a password."));
            if url.scheme() == "http" {
                ui.weak("The connection is not private: others may read what you type.");
            }
            let field = |ui: &mut Ui, label: &str, text: &mut String, is_password| {
                let label = ui.label(label);
                let field = TextEdit::singleline(text)
                    .password(is_password)
                    .desired_width(f32::INFINITY)
                    .margin(egui::vec2(8., 6.));
                let response = ui.add(field).labelled_by(label.id);
                ui.end_row();
                response
            };
            Grid::new("sign in").num_columns(2).show(ui, |ui| {
                let name = field(ui, "Name", &mut self.name, false);
                if self.is_new {
                    name.request_focus();
                }
                field(ui, "Password", &mut self.password, true);
            });
            dialog::buttons(ui, "Sign in", !self.name.is_empty(), Some("Cancel"))
        });
        self.is_new = false;
        match answer {
            Answer::None => Some(self),
            Answer::Accept => {
                self.request.authenticate(self.name, self.password);
                None
            },
            Answer::Dismiss => None,
        }
    }
}
