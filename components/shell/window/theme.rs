/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The colours of the window around a page, for the light and the dark theme.

use egui::style::WidgetVisuals;
use egui::{Color32, Context, CornerRadius, Shadow, Stroke, Theme, Visuals};

/// The window's colours that are not colours of widgets.
#[derive(Clone, Copy)]
pub struct Palette {
    /// Behind the tabs.
    pub tab_strip: Color32,
    /// A tab under the pointer.
    pub tab_hovered: Color32,
    /// The toolbar and the tab in front, which joins it.
    pub toolbar: Color32,
    pub field: Color32,
    /// Between the window and the page, and around fields.
    pub line: Color32,
    pub text: Color32,
    pub weak_text: Color32,
    /// Disabled widgets.
    pub disabled: Color32,
    /// Behind a button that is under the pointer or pressed.
    pub hovered: Color32,
    pub pressed: Color32,
    /// The keyboard's focus, progress, and selection.
    pub accent: Color32,
    pub selection: Color32,
    /// A recording in progress, and errors.
    pub alert: Color32,
    /// Over a page that waits for an answer.
    pub veil: Color32,
}

const LIGHT: Palette = Palette {
    tab_strip: Color32::from_rgb(0xdd, 0xe1, 0xe7),
    tab_hovered: Color32::from_rgb(0xeb, 0xee, 0xf2),
    toolbar: Color32::from_rgb(0xfa, 0xfb, 0xfc),
    field: Color32::from_rgb(0xff, 0xff, 0xff),
    line: Color32::from_rgb(0xc4, 0xca, 0xd3),
    text: Color32::from_rgb(0x1f, 0x24, 0x2b),
    weak_text: Color32::from_rgb(0x5b, 0x64, 0x70),
    disabled: Color32::from_rgb(0xb3, 0xba, 0xc4),
    hovered: Color32::from_rgb(0xe6, 0xe9, 0xee),
    pressed: Color32::from_rgb(0xd5, 0xda, 0xe2),
    accent: Color32::from_rgb(0x1a, 0x64, 0xc8),
    selection: Color32::from_rgb(0xb8, 0xd5, 0xfa),
    alert: Color32::from_rgb(0xc6, 0x28, 0x28),
    veil: Color32::from_rgba_premultiplied(0x0a, 0x0c, 0x10, 0x60),
};

const DARK: Palette = Palette {
    tab_strip: Color32::from_rgb(0x17, 0x19, 0x1d),
    tab_hovered: Color32::from_rgb(0x22, 0x25, 0x2b),
    toolbar: Color32::from_rgb(0x2b, 0x2f, 0x36),
    field: Color32::from_rgb(0x1c, 0x1f, 0x24),
    line: Color32::from_rgb(0x45, 0x4b, 0x55),
    text: Color32::from_rgb(0xe8, 0xea, 0xee),
    weak_text: Color32::from_rgb(0xa3, 0xab, 0xb7),
    disabled: Color32::from_rgb(0x5c, 0x63, 0x6e),
    hovered: Color32::from_rgb(0x3a, 0x3f, 0x48),
    pressed: Color32::from_rgb(0x4a, 0x50, 0x5b),
    accent: Color32::from_rgb(0x6c, 0xab, 0xf7),
    selection: Color32::from_rgb(0x2c, 0x55, 0x8c),
    alert: Color32::from_rgb(0xff, 0x7b, 0x72),
    veil: Color32::from_rgba_premultiplied(0x02, 0x02, 0x03, 0x90),
};

/// The colours for the current theme of `context`.
pub fn palette(context: &Context) -> Palette {
    of(context.theme())
}

fn of(theme: Theme) -> Palette {
    match theme {
        Theme::Light => LIGHT,
        Theme::Dark => DARK,
    }
}

/// Gives the widgets of both themes these colours, and all text a readable size.
pub fn install(context: &Context) {
    // A press counts as a click however long the button is held, even when drawing is slow.
    context.options_mut(|options| options.input_options.max_click_duration = f64::INFINITY);
    for theme in [Theme::Light, Theme::Dark] {
        context.set_visuals_of(theme, visuals(theme));
    }
    context.all_styles_mut(|style| {
        style.spacing.button_padding = egui::vec2(12., 5.);
        style.spacing.interact_size.y = 26.;
        style.interaction.selectable_labels = false;
        for (text_style, font) in &mut style.text_styles {
            if !matches!(text_style, egui::TextStyle::Heading) {
                font.size = 13.5;
            }
        }
    });
}

fn visuals(theme: Theme) -> Visuals {
    let colours = of(theme);
    let base = match theme {
        Theme::Light => Visuals::light(),
        Theme::Dark => Visuals::dark(),
    };
    let widget = |fill, line| WidgetVisuals {
        bg_fill: fill,
        weak_bg_fill: fill,
        bg_stroke: Stroke::new(1., line),
        corner_radius: CornerRadius::same(6),
        fg_stroke: Stroke::new(1., colours.text),
        expansion: 0.,
    };
    let mut visuals = Visuals {
        panel_fill: colours.toolbar,
        window_fill: colours.toolbar,
        window_stroke: Stroke::new(1., colours.line),
        window_corner_radius: CornerRadius::same(10),
        menu_corner_radius: CornerRadius::same(8),
        extreme_bg_color: colours.field,
        text_edit_bg_color: Some(colours.field),
        faint_bg_color: colours.hovered,
        hyperlink_color: colours.accent,
        error_fg_color: colours.alert,
        weak_text_color: Some(colours.weak_text),
        window_shadow: Shadow {
            offset: [0, 6],
            blur: 24,
            spread: 0,
            color: Color32::from_black_alpha(70),
        },
        popup_shadow: Shadow {
            offset: [0, 3],
            blur: 12,
            spread: 0,
            color: Color32::from_black_alpha(60),
        },
        ..base
    };
    visuals.selection.bg_fill = colours.selection;
    visuals.selection.stroke = Stroke::new(1.5, colours.accent);
    visuals.widgets.noninteractive = widget(colours.toolbar, colours.line);
    visuals.widgets.inactive = widget(colours.hovered, colours.line);
    visuals.widgets.hovered = widget(colours.pressed, colours.line);
    visuals.widgets.active = widget(colours.pressed, colours.accent);
    visuals.widgets.open = widget(colours.hovered, colours.line);
    visuals
}
