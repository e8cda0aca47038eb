/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The icons of the window. They are drawn as lines, so they need no font and are sharp at every scale.

use std::f32::consts::{PI, TAU};

use egui::emath::GuiRounding;
use egui::{
    Color32, CornerRadius, Painter, Pos2, Rect, Response, Sense, Shape, Stroke, StrokeKind, Ui,
    Vec2, WidgetInfo, WidgetType, pos2, vec2,
};

use super::theme::palette;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Icon {
    Back,
    Forward,
    Reload,
    /// Stop loading, or close.
    Cross,
    Plus,
    /// Start to record.
    Record,
    /// Stop the recording.
    StopRecording,
    /// A flame chart.
    Profile,
    /// A page without its own icon.
    Page,
    Folder,
    Check,
}

/// The side of an icon in points. Its drawing uses a grid with the same number of units.
pub const SIZE: f32 = 16.;

impl Icon {
    /// Draws the icon in the middle of `rect`.
    pub fn paint(self, painter: &Painter, rect: Rect, colour: Color32) {
        let origin =
            (rect.center() - Vec2::splat(SIZE / 2.)).round_to_pixels(painter.pixels_per_point());
        let at = |x: f32, y: f32| origin + vec2(x, y);
        let stroke = Stroke::new(1.6, colour);
        let lines = |points: &[(f32, f32)]| {
            let points = points.iter().map(|(x, y)| at(*x, *y)).collect();
            painter.add(Shape::line(points, stroke));
        };
        match self {
            Self::Back => {
                lines(&[(13.5, 8.), (2.8, 8.)]);
                lines(&[(7.5, 3.), (2.5, 8.), (7.5, 13.)]);
            },
            Self::Forward => {
                lines(&[(2.5, 8.), (13.2, 8.)]);
                lines(&[(8.5, 3.), (13.5, 8.), (8.5, 13.)]);
            },
            Self::Reload => {
                // From the arrow's tip clockwise around three quarters of a circle.
                arc(painter, at(8., 8.), 5.4, -0.25 * PI, 1.5 * PI, stroke);
                lines(&[(12.3, 1.2), (12.3, 4.7), (8.8, 4.7)]);
            },
            Self::Cross => {
                lines(&[(3.5, 3.5), (12.5, 12.5)]);
                lines(&[(12.5, 3.5), (3.5, 12.5)]);
            },
            Self::Plus => {
                lines(&[(8., 2.5), (8., 13.5)]);
                lines(&[(2.5, 8.), (13.5, 8.)]);
            },
            Self::Record => {
                painter.circle_stroke(at(8., 8.), 6.2, stroke);
                painter.circle_filled(at(8., 8.), 3.4, colour);
            },
            Self::StopRecording => {
                painter.circle_stroke(at(8., 8.), 6.2, stroke);
                let square = Rect::from_center_size(at(8., 8.), Vec2::splat(5.4));
                painter.rect_filled(square, CornerRadius::same(1), colour);
            },
            Self::Profile => {
                for (x, y, width) in [(1.5, 11., 13.), (1.5, 7., 9.), (4.5, 3., 4.5)] {
                    let bar = Rect::from_min_size(at(x, y), vec2(width, 2.8));
                    painter.rect_filled(bar, CornerRadius::ZERO, colour);
                }
            },
            Self::Page => {
                lines(&[
                    (9.5, 2.),
                    (3.5, 2.),
                    (3.5, 14.),
                    (12.5, 14.),
                    (12.5, 5.),
                    (9.5, 2.),
                    (9.5, 5.),
                    (12.5, 5.),
                ]);
            },
            Self::Folder => {
                lines(&[
                    (1.8, 13.),
                    (1.8, 3.5),
                    (6.2, 3.5),
                    (7.8, 5.5),
                    (14.2, 5.5),
                    (14.2, 13.),
                    (1.8, 13.),
                ]);
            },
            Self::Check => lines(&[(3., 8.5), (6.5, 12.), (13., 4.5)]),
        }
    }
}

/// A circle that turns while a page loads. `turn` is the number of turns.
pub fn paint_progress(painter: &Painter, rect: Rect, turn: f32, colour: Color32) {
    let start = turn.fract() * TAU;
    arc(
        painter,
        rect.center(),
        SIZE / 2. - 2.,
        start,
        start + 1.4 * PI,
        Stroke::new(1.8, colour),
    );
}

fn arc(painter: &Painter, center: Pos2, radius: f32, from: f32, to: f32, stroke: Stroke) {
    const SEGMENTS: usize = 28;
    let points = (0..=SEGMENTS)
        .map(|segment| {
            let angle = from + (to - from) * segment as f32 / SEGMENTS as f32;
            pos2(
                center.x + radius * angle.cos(),
                center.y + radius * angle.sin(),
            )
        })
        .collect();
    painter.add(Shape::line(points, stroke));
}

/// A button that shows only an icon. `what` says what it does, in its tooltip and to assistive technology.
pub fn icon_button(ui: &mut Ui, icon: Icon, what: &str, enabled: bool) -> Response {
    let colour = palette(ui.ctx()).text;
    coloured_icon_button(ui, icon, what, enabled, colour)
}

pub fn coloured_icon_button(
    ui: &mut Ui,
    icon: Icon,
    what: &str,
    enabled: bool,
    colour: Color32,
) -> Response {
    let sense = match enabled {
        true => Sense::click(),
        false => Sense::hover(),
    };
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(30.), sense);
    response.widget_info(|| WidgetInfo::labeled(WidgetType::Button, enabled, what));
    let colours = palette(ui.ctx());
    if let Some(fill) = match enabled {
        true if response.is_pointer_button_down_on() => Some(colours.pressed),
        true if response.hovered() => Some(colours.hovered),
        _ => None,
    } {
        ui.painter().rect_filled(rect, CornerRadius::same(6), fill);
    }
    if response.has_focus() {
        paint_focus(ui, rect);
    }
    let colour = match enabled {
        true => colour,
        false => colours.disabled,
    };
    icon.paint(ui.painter(), rect, colour);
    response.on_hover_text(what)
}

/// Shows that what is in `rect` has the keyboard's focus.
pub fn paint_focus(ui: &Ui, rect: Rect) {
    let stroke = Stroke::new(2., palette(ui.ctx()).accent);
    ui.painter()
        .rect_stroke(rect, CornerRadius::same(6), stroke, StrokeKind::Inside);
}
