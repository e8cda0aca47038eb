/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The toolbar: history, address and profiling.

use std::env;

use egui::{
    Align, Area, Button, Context, CornerRadius, Event, Frame, Id, Key, Label, Layout, Margin,
    Modifiers, Order, RichText, Stroke, StrokeKind, TextEdit, Ui, vec2,
};
use servo::LoadStatus;

use super::action::Action;
use super::address_focus::{edit_address, field_id, is_editing_address, select_all};
use super::browser_window::BrowserWindow;
use super::icons::{self, Icon};
use super::tab::Tab;
use super::theme::palette;
use super::{address, zoom};
use crate::page::Page;

/// In points.
const FIELD_HEIGHT: f32 = 30.;

/// The page of new tabs.
pub const BLANK: &str = "about:blank";

pub fn show(
    ui: &mut Ui,
    window: &BrowserWindow,
    page: Option<&Page<Tab>>,
    is_recording: bool,
    actions: &mut Vec<Action>,
) {
    ui.spacing_mut().item_spacing.x = 2.;
    ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
        let can_go_back = page.is_some_and(|page| page.webview.can_go_back());
        let can_go_forward = page.is_some_and(|page| page.webview.can_go_forward());
        let is_loading =
            page.is_some_and(|page| page.webview.load_status() != LoadStatus::Complete);
        let mut button = |ui: &mut Ui, icon, what, enabled, action| {
            if icons::icon_button(ui, icon, what, enabled).clicked() {
                actions.push(action);
            }
        };
        button(ui, Icon::Back, "Back (Alt+Left)", can_go_back, Action::Back);
        button(
            ui,
            Icon::Forward,
            "Forward (Alt+Right)",
            can_go_forward,
            Action::Forward,
        );
        match is_loading {
            true => button(ui, Icon::Cross, "Stop (Escape)", true, Action::Stop),
            false => button(
                ui,
                Icon::Reload,
                "Reload (Ctrl+R)",
                page.is_some(),
                Action::Reload,
            ),
        }
        ui.add_space(4.);
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            profiling_buttons(ui, is_recording, actions);
            if let Some(page) = page {
                if let Some(label) = zoom::label(page.webview.page_zoom()) {
                    let button = Button::new(RichText::new(label).size(12.)).frame(true);
                    let button = ui.add(button).on_hover_text("Reset the zoom (Ctrl+0)");
                    if button.clicked() {
                        actions.push(Action::ResetZoom);
                    }
                }
                ui.add_space(4.);
                address_field(ui, window, page, actions);
            }
        });
    });
}

/// The buttons are added from right to left.
fn profiling_buttons(ui: &mut Ui, is_recording: bool, actions: &mut Vec<Action>) {
    if icons::icon_button(ui, Icon::Profile, "Open about:profiling", true).clicked() {
        actions.push(Action::OpenProfiling);
    }
    let colours = palette(ui.ctx());
    let (icon, what, colour) = match is_recording {
        true => (
            Icon::StopRecording,
            "Stop the recording and show it (Ctrl+Shift+P)",
            colours.alert,
        ),
        false => (
            Icon::Record,
            "Record a profile (Ctrl+Shift+P)",
            colours.text,
        ),
    };
    if icons::coloured_icon_button(ui, icon, what, true, colour).clicked() {
        actions.push(Action::ToggleRecording);
    }
}

fn address_field(ui: &mut Ui, window: &BrowserWindow, page: &Page<Tab>, actions: &mut Vec<Action>) {
    let colours = palette(ui.ctx());
    let context = ui.ctx().clone();
    let mut draft = page.surface.address().borrow_mut();
    let address = match &draft.requested {
        Some(url) => url.to_string(),
        None => page.webview.url().map(String::from).unwrap_or_default(),
    };
    let address = match address.as_str() {
        BLANK => String::new(),
        _ => address,
    };
    let mut text = draft.typed.clone().unwrap_or_else(|| address.clone());
    let had_focus = is_editing_address(&context);
    // These are read before the field handles them, because it loses the focus then. The modifiers are those of the moment
    // when the key was pressed: they may have been let go since then.
    let pressed = |wanted: Key| {
        context.input(|input| {
            input.events.iter().find_map(|event| match event {
                Event::Key {
                    key,
                    pressed: true,
                    modifiers,
                    ..
                } if had_focus && *key == wanted => Some(*modifiers),
                _ => None,
            })
        })
    };
    let (escaped, entered) = (pressed(Key::Escape).is_some(), pressed(Key::Enter));
    let field = TextEdit::singleline(&mut text)
        .id(field_id())
        .hint_text("Type an address")
        .desired_width(f32::INFINITY)
        .vertical_align(Align::Center)
        .frame(Frame::NONE.inner_margin(Margin::symmetric(12, 4)));
    let size = vec2(ui.available_width(), FIELD_HEIGHT);
    let background = ui.painter().add(egui::Shape::Noop);
    let response = ui.add_sized(size, field);
    let stroke = match response.has_focus() {
        true => Stroke::new(2., colours.accent),
        false => Stroke::new(1., colours.line),
    };
    ui.painter().set(
        background,
        egui::epaint::RectShape::new(
            response.rect,
            CornerRadius::same(8),
            colours.field,
            stroke,
            StrokeKind::Inside,
        ),
    );

    // The first click selects the address to replace it. The second one places the cursor to edit it. The
    // selection is made on release, because the press moves the cursor.
    let click = Id::new("address was entered by a click");
    if response.gained_focus() && context.input(|input| input.pointer.any_down()) {
        context.data_mut(|data| data.insert_temp(click, true));
    }
    if context.input(|input| input.pointer.any_released())
        && context
            .data_mut(|data| data.remove_temp::<bool>(click))
            .is_some()
    {
        let nothing_selected = TextEdit::load_state(&context, field_id())
            .and_then(|state| state.cursor.char_range())
            .is_none_or(|range| range.is_empty());
        if response.has_focus() && nothing_selected {
            select_all(&context);
            context.request_repaint();
        }
    }

    if response.changed() {
        draft.typed = (text != address).then(|| text.clone());
        draft.complaint = None;
    }
    if escaped {
        // The first Escape restores the page's address, and the second returns the keyboard to the page.
        let was_changed = draft.typed.take().is_some();
        draft.complaint = None;
        draft.requested = None;
        if was_changed {
            edit_address(&context);
        } else {
            window.leave_chrome();
        }
        context.request_repaint();
    } else if let Some(modifiers) = entered {
        let folder = env::current_dir().unwrap_or_default();
        match address::interpret(&text, &folder) {
            Ok(url) => {
                draft.typed = None;
                draft.complaint = None;
                draft.requested = Some(url.clone());
                window.leave_chrome();
                actions.push(match modifiers == Modifiers::ALT {
                    true => Action::OpenTab(Some(url)),
                    false => Action::Load(url),
                });
            },
            Err(complaint) => {
                draft.complaint = Some(complaint);
                response.request_focus();
            },
        }
    }
    if let Some(complaint) = &draft.complaint {
        show_complaint(&context, response.rect, complaint);
    }
}

/// Shows what is wrong with the address, beneath it.
fn show_complaint(context: &Context, field: egui::Rect, complaint: &str) {
    let colours = palette(context);
    Area::new(Id::new("complaint"))
        .order(Order::Foreground)
        .fixed_pos(field.left_bottom() + vec2(0., 6.))
        .interactable(false)
        .show(context, |ui| {
            Frame::popup(ui.style())
                .inner_margin(Margin::symmetric(12, 8))
                .show(ui, |ui| {
                    ui.set_max_width((field.width() - 26.).clamp(120., 640.));
                    let text = RichText::new(complaint).color(colours.alert);
                    ui.add(Label::new(text).wrap());
                });
        });
}
