/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The frame of a dialog. A dialog is drawn over its page, which is dimmed, and never over the toolbar. So a page
//! cannot pass its text off as the browser's.

use egui::{
    Align, Align2, Area, Button, Context, CornerRadius, Frame, Id, Key, Layout, Margin, Modifiers,
    Order, Pos2, Response, RichText, Ui, pos2,
};

use crate::window::address_focus::is_editing_address;
use crate::window::layout::PageArea;
use crate::window::theme::palette;

/// The state of a dialog.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    None,
    Accept,
    Dismiss,
}

/// The maximum width of a dialog's content, in points.
const WIDTH: f32 = 420.;

/// Shows a dialog with a title.
pub fn show<R>(
    context: &Context,
    page: PageArea,
    title: &str,
    contents: impl FnOnce(&mut Ui) -> R,
) -> R {
    let colours = palette(context);
    let frame = Frame::window(&context.global_style()).inner_margin(Margin::same(16));
    let margins = frame.total_margin().sum();
    let width = WIDTH.min(page.rect.width() - margins.x - 16.).max(120.);
    context
        .layer_painter(egui::LayerId::new(Order::Background, Id::new("veil")))
        .with_clip_rect(page.rect)
        .rect_filled(page.rect, CornerRadius::ZERO, colours.veil);
    Area::new(Id::new("dialog"))
        .order(Order::Middle)
        .pivot(Align2::CENTER_TOP)
        .fixed_pos(default_corner(page))
        .constrain_to(page.rect)
        .show(context, |ui| {
            frame
                .show(ui, |ui| {
                    ui.set_width(width);
                    ui.spacing_mut().item_spacing.y = 10.;
                    ui.add(egui::Label::new(RichText::new(title).strong().size(14.5)).truncate());
                    contents(ui)
                })
                .inner
        })
        .inner
}

/// The corner for a control that has no place of its own.
pub fn default_corner(page: PageArea) -> Pos2 {
    pos2(page.rect.center().x, page.rect.min.y + 24.)
}

/// Shows the buttons at the bottom of a dialog, and handles their keys. Without `dismiss` there is only one
/// button.
pub fn buttons(ui: &mut Ui, accept: &str, can_accept: bool, dismiss: Option<&str>) -> Answer {
    let mut answer = Answer::None;
    let row = Layout::right_to_left(Align::Center);
    ui.with_layout(row, |ui| {
        let colours = palette(ui.ctx());
        let text = RichText::new(accept).color(match can_accept {
            true => colours.toolbar,
            false => colours.disabled,
        });
        let mut button = Button::new(text).min_size(egui::vec2(84., 0.));
        if can_accept {
            button = button.fill(colours.accent);
        }
        let accept = ui.add_enabled(can_accept, button);
        let dismiss = dismiss.map(|text| ui.add(Button::new(text).min_size(egui::vec2(84., 0.))));
        if ui.ctx().memory(|memory| memory.focused().is_none()) {
            accept.request_focus();
        }
        let is_on_dismiss = dismiss.as_ref().is_some_and(Response::has_focus);
        if accept.clicked() || can_accept && !is_on_dismiss && pressed(ui, Key::Enter) {
            answer = Answer::Accept;
        } else if dismiss.is_some_and(|button| button.clicked()) || pressed(ui, Key::Escape) {
            answer = Answer::Dismiss;
        }
    });
    answer
}

/// Whether this key was pressed for the dialog. While an address is being typed, no key is for the dialog,
/// because a page could open one at any moment.
pub fn pressed(ui: &Ui, key: Key) -> bool {
    !is_editing_address(ui.ctx()) && ui.input_mut(|input| input.consume_key(Modifiers::NONE, key))
}
