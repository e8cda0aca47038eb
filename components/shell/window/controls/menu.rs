/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A menu that opens over a page. The pointer and the keyboard can both use it.

use egui::{
    Align2, Area, Context, CornerRadius, Frame, Id, Key, Margin, Modifiers, Order, Rect,
    ScrollArea, Sense, TextStyle, Ui, WidgetInfo, WidgetType, pos2, vec2,
};

use crate::window::address_focus::is_editing_address;
use crate::window::icons::Icon;
use crate::window::layout::PageArea;
use crate::window::theme::palette;

/// A line of a menu.
pub enum Line<'a> {
    Item(Item<'a>),
    Heading(&'a str),
    Separator,
}

pub struct Item<'a> {
    pub label: &'a str,
    pub enabled: bool,
    pub checked: bool,
    /// Whether the item is beneath a heading.
    pub indented: bool,
}

/// The state of a menu. Lines are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Choice {
    None,
    Line(usize),
    Dismiss,
}

/// The state of a menu while it is open.
#[derive(Default)]
pub struct Menu {
    /// The line that the keyboard has selected.
    highlighted: Option<usize>,
    /// Whether to scroll to the highlighted line.
    moved: bool,
    is_shown: bool,
    /// Whether there is room for check marks to the left of the lines.
    has_checks: bool,
}

const LINE_HEIGHT: f32 = 26.;
const SEPARATOR_HEIGHT: f32 = 9.;

impl Menu {
    /// A menu in which the keyboard starts at this line.
    pub fn at(highlighted: Option<usize>) -> Self {
        Self {
            highlighted,
            moved: true,
            ..Self::default()
        }
    }

    /// Shows the menu below `anchor`, or above it if there is more room.
    pub fn show(
        &mut self,
        context: &Context,
        page: PageArea,
        anchor: Rect,
        lines: &[Line],
    ) -> Choice {
        let is_checked = |line: &Line| matches!(line, Line::Item(item) if item.checked);
        // The room for check marks stays when the last one is removed.
        self.has_checks |= lines.iter().any(is_checked);
        let mut choice = self.follow_keys(context, lines);
        let room_below = page.rect.max.y - anchor.max.y;
        let room_above = anchor.min.y - page.rect.min.y;
        let wanted: f32 = lines.iter().map(Line::height).sum::<f32>() + 14.;
        let goes_up = wanted > room_below && room_above > room_below;
        let (pivot, corner, room) = match goes_up {
            true => (Align2::LEFT_BOTTOM, anchor.left_top(), room_above),
            false => (Align2::LEFT_TOP, anchor.left_bottom(), room_below),
        };
        let width = self.width(context, lines).max(anchor.width()).max(120.);
        let shown = Area::new(Id::new("page menu"))
            .order(Order::Foreground)
            .pivot(pivot)
            .fixed_pos(pos2(corner.x, corner.y))
            .constrain_to(page.rect)
            .show(context, |ui| {
                let frame = Frame::menu(&context.global_style()).inner_margin(Margin::same(5));
                frame.show(ui, |ui| {
                    ui.spacing_mut().item_spacing.y = 0.;
                    let height = (room - 14.).max(4. * LINE_HEIGHT);
                    ScrollArea::vertical().max_height(height).show(ui, |ui| {
                        ui.set_width(width.min(page.rect.width() - 24.));
                        for (number, line) in lines.iter().enumerate() {
                            if self.line(ui, number, line) {
                                choice = Choice::Line(number);
                            }
                        }
                    });
                });
            });
        // The press that opened the menu must not close it.
        let was_shown = std::mem::replace(&mut self.is_shown, true);
        let pressed_beside = context.input(|input| {
            let outside = |position| !shown.response.rect.contains(position);
            input.pointer.any_pressed() && input.pointer.interact_pos().is_some_and(outside)
        });
        if choice == Choice::None && was_shown && pressed_beside {
            choice = Choice::Dismiss;
        }
        self.moved = false;
        choice
    }

    fn width(&self, context: &Context, lines: &[Line]) -> f32 {
        let font = TextStyle::Body.resolve(&context.global_style());
        let text_width = |text: &str| {
            let colour = palette(context).text;
            let galley = context
                .fonts_mut(|fonts| fonts.layout_no_wrap(text.to_owned(), font.clone(), colour));
            galley.size().x
        };
        lines
            .iter()
            .map(|line| match line {
                Line::Item(item) => text_width(item.label) + self.text_offset(item) + 20.,
                Line::Heading(label) => text_width(label) + 20.,
                Line::Separator => 0.,
            })
            .fold(0., f32::max)
    }

    /// Where the label of an item starts.
    fn text_offset(&self, item: &Item) -> f32 {
        let checks = match self.has_checks {
            true => 28.,
            false => 10.,
        };
        match item.indented {
            true => checks + 12.,
            false => checks,
        }
    }

    fn follow_keys(&mut self, context: &Context, lines: &[Line]) -> Choice {
        if is_editing_address(context) {
            return Choice::None;
        }
        let pressed = |key| context.input_mut(|input| input.consume_key(Modifiers::NONE, key));
        if pressed(Key::Escape) || pressed(Key::Tab) {
            return Choice::Dismiss;
        }
        if (pressed(Key::Enter) || pressed(Key::Space))
            && let Some(line) = self.highlighted
        {
            return Choice::Line(line);
        }
        let usable: Vec<usize> = (0..lines.len())
            .filter(|number| matches!(&lines[*number], Line::Item(item) if item.enabled))
            .collect();
        let at = self
            .highlighted
            .and_then(|line| usable.iter().position(|usable| *usable == line));
        let last = usable.len().saturating_sub(1);
        let next = if pressed(Key::ArrowDown) {
            Some(at.map_or(0, |at| (at + 1).min(last)))
        } else if pressed(Key::ArrowUp) {
            Some(at.map_or(last, |at| at.saturating_sub(1)))
        } else if pressed(Key::Home) || pressed(Key::PageUp) {
            Some(0)
        } else if pressed(Key::End) || pressed(Key::PageDown) {
            Some(last)
        } else {
            self.typed(context, lines, &usable, at)
        };
        if let Some(line) = next.and_then(|next| usable.get(next)) {
            self.highlighted = Some(*line);
            self.moved = true;
        }
        Choice::None
    }

    /// The next line that starts with the typed letter, as an index of `usable`.
    fn typed(
        &self,
        context: &Context,
        lines: &[Line],
        usable: &[usize],
        at: Option<usize>,
    ) -> Option<usize> {
        let letter = context.input(|input| {
            input.events.iter().find_map(|event| match event {
                egui::Event::Text(text) => text.chars().next(),
                _ => None,
            })
        })?;
        let starts_with_it = |index: &usize| match &lines[usable[*index]] {
            Line::Item(item) => item
                .label
                .chars()
                .next()
                .is_some_and(|first| first.to_lowercase().eq(letter.to_lowercase())),
            Line::Heading(_) | Line::Separator => false,
        };
        let from = at.map_or(0, |at| at + 1);
        (from..usable.len())
            .chain(0..from.min(usable.len()))
            .find(starts_with_it)
    }

    /// Draws a line. True if it was chosen.
    fn line(&mut self, ui: &mut Ui, number: usize, line: &Line) -> bool {
        let colours = palette(ui.ctx());
        let width = ui.available_width();
        let font = TextStyle::Body.resolve(ui.style());
        match line {
            Line::Separator => {
                let (rect, _) =
                    ui.allocate_exact_size(vec2(width, SEPARATOR_HEIGHT), Sense::hover());
                let stroke = egui::Stroke::new(1., colours.line);
                ui.painter().hline(rect.x_range(), rect.center().y, stroke);
                false
            },
            Line::Heading(label) => {
                let (rect, _) = ui.allocate_exact_size(vec2(width, LINE_HEIGHT), Sense::hover());
                let start = rect.left_center() + vec2(8., 0.);
                ui.painter()
                    .text(start, Align2::LEFT_CENTER, label, font, colours.weak_text);
                false
            },
            Line::Item(item) => {
                let sense = match item.enabled {
                    true => Sense::click(),
                    false => Sense::hover(),
                };
                let (rect, response) = ui.allocate_exact_size(vec2(width, LINE_HEIGHT), sense);
                response.widget_info(|| {
                    WidgetInfo::selected(WidgetType::Button, item.enabled, item.checked, item.label)
                });
                if response.hovered() && item.enabled && ui.input(|input| input.pointer.is_moving())
                {
                    self.highlighted = Some(number);
                }
                if self.highlighted == Some(number) {
                    ui.painter()
                        .rect_filled(rect, CornerRadius::same(5), colours.selection);
                    if self.moved {
                        ui.scroll_to_rect(rect, None);
                    }
                }
                let colour = match item.enabled {
                    true => colours.text,
                    false => colours.disabled,
                };
                if item.checked {
                    let square =
                        Rect::from_center_size(rect.left_center() + vec2(14., 0.), vec2(16., 16.));
                    Icon::Check.paint(ui.painter(), square, colour);
                }
                let start = rect.left_center() + vec2(self.text_offset(item), 0.);
                ui.painter_at(rect)
                    .text(start, Align2::LEFT_CENTER, item.label, font, colour);
                response.clicked()
            },
        }
    }
}

impl Line<'_> {
    fn height(&self) -> f32 {
        match self {
            Self::Item(_) | Self::Heading(_) => LINE_HEIGHT,
            Self::Separator => SEPARATOR_HEIGHT,
        }
    }
}
