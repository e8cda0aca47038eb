/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The options of a `<select>` element.

use egui::Context;
use servo::{SelectElement, SelectElementOption, SelectElementOptionOrOptgroup};

use super::menu::{Choice, Item, Line, Menu};
use crate::window::layout::PageArea;

pub struct Select {
    element: SelectElement,
    menu: Menu,
}

impl Select {
    pub fn new(element: SelectElement) -> Self {
        let selected = element.selected_options();
        let highlighted = lines(&element)
            .into_iter()
            .position(|(option, _)| option.is_some_and(|option| selected.contains(&option.id)));
        Self {
            menu: Menu::at(highlighted),
            element,
        }
    }

    /// None once it is closed.
    pub fn show(mut self, context: &Context, page: PageArea) -> Option<Self> {
        let anchor = page.place(self.element.position());
        let selected = self.element.selected_options();
        let options = lines(&self.element);
        let shown: Vec<_> = options
            .iter()
            .map(|(option, heading)| match option {
                Some(option) => Line::Item(Item {
                    label: &option.label,
                    enabled: !option.is_disabled,
                    checked: selected.contains(&option.id),
                    indented: heading.is_some(),
                }),
                None => Line::Heading(heading.unwrap_or_default()),
            })
            .collect();
        match self.menu.show(context, page, anchor, &shown) {
            Choice::None => return Some(self),
            Choice::Line(line) => {
                let chosen = options[line].0.map(|option| option.id);
                if self.element.allow_select_multiple() {
                    self.element.select(toggled(selected, chosen));
                    return Some(self);
                }
                self.element.select(chosen.into_iter().collect());
            },
            Choice::Dismiss => {},
        }
        self.element.submit();
        None
    }
}

/// An option and the heading above it, or only a heading.
type OptionLine<'a> = (Option<&'a SelectElementOption>, Option<&'a str>);

/// The lines of the menu, from top to bottom.
fn lines(element: &SelectElement) -> Vec<OptionLine<'_>> {
    let mut lines = Vec::new();
    for entry in element.options() {
        match entry {
            SelectElementOptionOrOptgroup::Option(option) => lines.push((Some(option), None)),
            SelectElementOptionOrOptgroup::Optgroup { label, options } => {
                lines.push((None, Some(label.as_str())));
                lines.extend(
                    options
                        .iter()
                        .map(|option| (Some(option), Some(label.as_str()))),
                );
            },
        }
    }
    lines
}

/// `selected` with `option` added, or removed if it was selected.
fn toggled(mut selected: Vec<usize>, option: Option<usize>) -> Vec<usize> {
    let Some(option) = option else {
        return selected;
    };
    match selected.iter().position(|selected| *selected == option) {
        Some(place) => drop(selected.remove(place)),
        None => selected.push(option),
    }
    selected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_several_is_added_and_taken_away() {
        assert_eq!(toggled(vec![], Some(3)), [3]);
        assert_eq!(toggled(vec![3, 1], Some(2)), [3, 1, 2]);
        assert_eq!(toggled(vec![3, 1, 2], Some(1)), [3, 2]);
        assert_eq!(toggled(vec![3], None), [3]);
    }
}
