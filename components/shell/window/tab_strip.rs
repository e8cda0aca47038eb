/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The tabs at the top of the window.

use egui::scroll_area::ScrollBarVisibility;
use egui::{
    CornerRadius, Id, Rect, ScrollArea, Sense, TextStyle, Ui, UiBuilder, Vec2, WidgetInfo,
    WidgetType, pos2, vec2,
};
use servo::LoadStatus;

use super::action::Action;
use super::browser_window::BrowserWindow;
use super::icons::{self, Icon};
use super::layout::TAB_STRIP_HEIGHT;
use super::tab::Tab;
use super::theme::palette;
use super::toolbar;
use crate::page::Page;

/// In points, like all lengths here.
const WIDEST: f32 = 230.;
const NARROWEST: f32 = 96.;
/// Room for the button that opens a tab.
const BUTTON_ROOM: f32 = 42.;
const GAP: f32 = 2.;
const ICON_SIDE: f32 = 16.;
const CLOSE_SIDE: f32 = 20.;

/// How many times per second the circle of a loading page moves. This is enough to see that it moves.
const PROGRESS_STEPS: f32 = 10.;

pub fn show(ui: &mut Ui, window: &BrowserWindow, pages: &[Page<Tab>], actions: &mut Vec<Action>) {
    ui.spacing_mut().item_spacing = vec2(GAP, 0.);
    let room = ui.max_rect();
    let for_tabs = room.width() - BUTTON_ROOM - 6.;
    let count = pages.len().max(1) as f32;
    let width = (for_tabs / count - GAP).clamp(NARROWEST, WIDEST);
    let all = ((width + GAP) * pages.len() as f32).min(for_tabs);
    let strip = Rect::from_min_size(room.min + vec2(6., 0.), vec2(all, TAB_STRIP_HEIGHT));
    let mut tabs = ui.new_child(UiBuilder::new().max_rect(strip));
    ScrollArea::horizontal()
        .scroll_bar_visibility(ScrollBarVisibility::AlwaysHidden)
        .auto_shrink(false)
        .show(&mut tabs, |ui| {
            ui.horizontal(|ui| {
                for page in pages {
                    tab(ui, window, page, width, actions);
                }
            });
        });
    let button = Rect::from_center_size(
        pos2(strip.max.x + 21., room.center().y + 1.),
        Vec2::splat(30.),
    );
    let mut button = ui.new_child(UiBuilder::new().max_rect(button));
    if icons::icon_button(&mut button, Icon::Plus, "New tab (Ctrl+T)", true).clicked() {
        actions.push(Action::OpenTab(None));
    }
}

fn tab(
    ui: &mut Ui,
    window: &BrowserWindow,
    page: &Page<Tab>,
    width: f32,
    actions: &mut Vec<Action>,
) {
    let id = page.webview.id();
    let is_selected = window.selected() == Some(id);
    let colours = palette(ui.ctx());
    let title = title(page);

    let (room, _) = ui.allocate_exact_size(vec2(width, TAB_STRIP_HEIGHT), Sense::hover());
    // The tab in front joins the toolbar beneath it.
    let rect = Rect::from_min_max(room.min + vec2(0., 5.), room.max);
    let response = ui.interact(rect, Id::new(("tab", id)), Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(WidgetType::SelectableLabel, true, is_selected, &title)
    });
    let fill = match () {
        () if is_selected => Some(colours.toolbar),
        () if response.hovered() => Some(colours.tab_hovered),
        () => None,
    };
    let corners = CornerRadius {
        nw: 8,
        ne: 8,
        sw: 0,
        se: 0,
    };
    if let Some(fill) = fill {
        ui.painter().rect_filled(rect, corners, fill);
    }
    if response.has_focus() {
        icons::paint_focus(ui, rect.shrink(2.));
    }
    if is_selected && !ui.clip_rect().contains_rect(rect.shrink(1.)) {
        ui.scroll_to_rect(room, None);
    }

    let icon = Rect::from_center_size(
        pos2(rect.min.x + 10. + ICON_SIDE / 2., rect.center().y),
        Vec2::splat(ICON_SIDE),
    );
    paint_icon(ui, page, icon);

    // In a narrow tab the title needs the room more than the button does.
    let is_pointed_at = ui.rect_contains_pointer(rect);
    let has_close = is_selected || is_pointed_at || width > 120.;
    let close = Rect::from_center_size(
        pos2(rect.max.x - 8. - CLOSE_SIDE / 2., rect.center().y),
        Vec2::splat(CLOSE_SIDE),
    );
    let text_end = match has_close {
        true => close.min.x - 4.,
        false => rect.max.x - 8.,
    };
    let text_start = icon.max.x + 8.;
    paint_title(ui, &title, rect, text_start, text_end, is_selected);

    let mut closes = response.middle_clicked();
    let mut selects = response.clicked();
    if has_close {
        let button = ui.interact(close, Id::new(("close", id)), Sense::click());
        button.widget_info(|| {
            WidgetInfo::labeled(WidgetType::Button, true, format!("Close {title}"))
        });
        if button.hovered() {
            let fill = match button.is_pointer_button_down_on() {
                true => colours.pressed,
                false => colours.hovered,
            };
            ui.painter().rect_filled(close, CornerRadius::same(5), fill);
        }
        if button.has_focus() {
            icons::paint_focus(ui, close);
        }
        Icon::Cross.paint(
            &ui.painter().with_clip_rect(close),
            close.shrink(1.),
            colours.weak_text,
        );
        if button.clicked() || button.middle_clicked() {
            closes = true;
            selects = false;
        }
        button.on_hover_text("Close this tab (Ctrl+W)");
    }
    if closes {
        actions.push(Action::CloseThisTab(id));
    } else if selects {
        actions.push(Action::SelectTab(id));
    }
    response.on_hover_ui(|ui| {
        ui.set_max_width(420.);
        ui.label(&title);
        if let Some(url) = page.webview.url().filter(|url| url.as_str() != title) {
            let url = egui::RichText::new(shortened(url.as_str())).small().weak();
            ui.add(egui::Label::new(url).wrap());
        }
    });
}

/// The name of a tab: its page's title, or else its address.
pub fn title(page: &Page<Tab>) -> String {
    if let Some(title) = page.webview.page_title().filter(|title| !title.is_empty()) {
        return title;
    }
    match page.webview.url() {
        Some(url) if url.as_str() == toolbar::BLANK => "New tab".to_owned(),
        Some(url) => {
            let text = url.as_str();
            let text = text
                .strip_prefix("https://")
                .or_else(|| text.strip_prefix("http://"))
                .or_else(|| text.strip_prefix("file://"))
                .unwrap_or(text);
            shortened(text.trim_end_matches('/'))
        },
        None => "Loading…".to_owned(),
    }
}

/// A data URL can be very long.
fn shortened(text: &str) -> String {
    const LENGTH: usize = 300;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn paint_icon(ui: &Ui, page: &Page<Tab>, rect: Rect) {
    let colours = palette(ui.ctx());
    if page.webview.load_status() != LoadStatus::Complete {
        let step = (ui.input(|input| input.time) as f32 * PROGRESS_STEPS).floor();
        icons::paint_progress(ui.painter(), rect, step / PROGRESS_STEPS, colours.accent);
        ui.ctx().request_repaint_after_secs(1. / PROGRESS_STEPS);
    } else if let Some(favicon) = page.surface.favicon() {
        let whole = Rect::from_min_max(pos2(0., 0.), pos2(1., 1.));
        ui.painter()
            .image(favicon.id(), rect, whole, egui::Color32::WHITE);
    } else {
        Icon::Page.paint(ui.painter(), rect, colours.weak_text);
    }
}

fn paint_title(ui: &Ui, title: &str, tab: Rect, start: f32, end: f32, is_selected: bool) {
    let colours = palette(ui.ctx());
    let colour = match is_selected {
        true => colours.text,
        false => colours.weak_text,
    };
    let font = TextStyle::Body.resolve(ui.style());
    let mut job = egui::text::LayoutJob::simple_singleline(title.to_owned(), font, colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width((end - start).max(0.));
    let galley = ui.painter().layout_job(job);
    let top = tab.center().y - galley.size().y / 2.;
    ui.painter().galley(pos2(start, top), galley, colour);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_address_is_cut_between_characters() {
        assert_eq!(shortened("short"), "short");
        let long = "é".repeat(301);
        assert_eq!(shortened(&long), format!("{}…", "é".repeat(300)));
    }
}
