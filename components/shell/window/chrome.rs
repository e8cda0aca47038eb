/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Everything around the page: the tabs, the toolbar, and short-lived things on top of the page.

use egui::{
    Align2, Area, Context, CornerRadius, Frame, Id, Label, Margin, Order, Panel, RichText, Ui, vec2,
};

use super::action::Action;
use super::browser_window::BrowserWindow;
use super::icons::{self, Icon};
use super::layout::{CHROME_HEIGHT, PageArea, TAB_STRIP_HEIGHT, TOOLBAR_HEIGHT};
use super::tab::Tab;
use super::theme::palette;
use super::{tab_strip, toolbar};
use crate::page::Page;

/// Lays out the window around the place of the page, and collects the person's actions.
pub fn show(
    ui: &mut Ui,
    window: &BrowserWindow,
    pages: &[Page<Tab>],
    is_recording: bool,
    area: PageArea,
    actions: &mut Vec<Action>,
) {
    let context = ui.ctx().clone();
    let in_front = window.in_front(pages);
    if window.has_chrome() {
        let colours = palette(&context);
        let bare = |fill| Frame::NONE.fill(fill);
        Panel::top("tabs")
            .exact_size(TAB_STRIP_HEIGHT)
            .show_separator_line(false)
            .frame(bare(colours.tab_strip))
            .show_inside(ui, |ui| tab_strip::show(ui, window, pages, actions));
        Panel::top("toolbar")
            .exact_size(TOOLBAR_HEIGHT)
            .show_separator_line(false)
            .frame(bare(colours.toolbar).inner_margin(Margin::symmetric(6, 0)))
            .show_inside(ui, |ui| {
                toolbar::show(ui, window, in_front, is_recording, actions);
                let lower_edge = CHROME_HEIGHT - 0.5;
                let line = egui::Stroke::new(1., colours.line);
                let width = context.content_rect().x_range();
                ui.painter().hline(width, lower_edge, line);
            });
    }
    let Some(page) = in_front else {
        return;
    };
    let mut area = PageArea {
        zoom: page.webview.page_zoom(),
        ..area
    };
    if window.has_chrome() {
        // In fullscreen the toolbar covers the top of the page.
        area.rect.min.y = area.rect.min.y.max(CHROME_HEIGHT);
    }
    page.surface.controls().borrow_mut().show(&context, area);
    if let Some(notice) = window.notice() {
        show_notice(&context, window, area, &notice);
    } else if let Some(status) = page.webview.status_text().filter(|text| !text.is_empty()) {
        show_status(&context, area, &status);
    }
    let is_over_page = context
        .pointer_latest_pos()
        .is_some_and(|position| window.is_page_at(position));
    if is_over_page && page.surface.controls().borrow().is_empty() {
        context.set_cursor_icon(super::input::cursor_icon(page.surface.cursor()));
    }
}

/// Shows where a link leads, in the lower left corner.
fn show_status(context: &Context, area: PageArea, status: &str) {
    let colours = palette(context);
    Area::new(Id::new("status"))
        .order(Order::Tooltip)
        .interactable(false)
        .pivot(Align2::LEFT_BOTTOM)
        .fixed_pos(area.rect.left_bottom())
        .show(context, |ui| {
            Frame::NONE
                .fill(colours.toolbar)
                .stroke(egui::Stroke::new(1., colours.line))
                .corner_radius(CornerRadius {
                    ne: 6,
                    ..CornerRadius::ZERO
                })
                .inner_margin(Margin::symmetric(8, 3))
                .show(ui, |ui| {
                    ui.set_max_width((area.rect.width() * 0.7).min(720.));
                    let text = RichText::new(status).size(12.5).color(colours.weak_text);
                    ui.add(Label::new(text).truncate());
                });
        });
}

/// Shows what went wrong, with a button to dismiss it.
fn show_notice(context: &Context, window: &BrowserWindow, area: PageArea, notice: &str) {
    let colours = palette(context);
    Area::new(Id::new("notice"))
        .order(Order::Foreground)
        .pivot(Align2::CENTER_BOTTOM)
        .fixed_pos(area.rect.center_bottom() - vec2(0., 12.))
        .show(context, |ui| {
            Frame::popup(ui.style())
                .inner_margin(Margin::symmetric(12, 4))
                .show(ui, |ui| {
                    ui.horizontal(|ui| {
                        ui.set_max_width((area.rect.width() - 48.).min(640.));
                        ui.add(Label::new(RichText::new(notice).color(colours.alert)).wrap());
                        if icons::icon_button(ui, Icon::Cross, "Close", true).clicked() {
                            window.set_notice(None);
                        }
                    });
                });
        });
}
