/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The context menu of a page.

use egui::{Context, Pos2, Rect, Vec2};
use servo::{ContextMenu, ContextMenuItem};

use super::menu::{Choice, Item, Line, Menu};
use crate::window::layout::PageArea;

pub struct PageMenu {
    menu: ContextMenu,
    state: Menu,
    pointer: Pos2,
}

impl PageMenu {
    pub fn new(menu: ContextMenu, pointer: Pos2) -> Self {
        Self {
            menu,
            pointer,
            state: Menu::default(),
        }
    }

    /// None once it is closed.
    pub fn show(mut self, context: &Context, page: PageArea) -> Option<Self> {
        // The menu may have been opened in a frame, and the page does not know where its frames are.
        let anchor = Rect::from_min_size(self.pointer, Vec2::ZERO);
        let lines: Vec<_> = self
            .menu
            .items()
            .iter()
            .map(|item| match item {
                ContextMenuItem::Item { label, enabled, .. } => Line::Item(Item {
                    label,
                    enabled: *enabled,
                    checked: false,
                    indented: false,
                }),
                ContextMenuItem::Separator => Line::Separator,
            })
            .collect();
        let choice = self.state.show(context, page, anchor, &lines);
        let action = match choice {
            Choice::None => return Some(self),
            Choice::Dismiss => None,
            Choice::Line(line) => match self.menu.items()[line] {
                ContextMenuItem::Item { action, .. } => Some(action),
                ContextMenuItem::Separator => None,
            },
        };
        match action {
            Some(action) => self.menu.select(action),
            None => self.menu.dismiss(),
        }
        None
    }
}
