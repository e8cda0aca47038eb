/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! `<input type=file>`: a path to type, and folders to look through.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use egui::{
    Align2, Context, CornerRadius, Key, Label, RichText, ScrollArea, Sense, TextEdit, TextStyle,
    Ui, Vec2, WidgetInfo, WidgetType, vec2,
};
use servo::FilePicker;

use super::dialog::{self, Answer};
use crate::url_argument;
use crate::window::icons::Icon;
use crate::window::layout::PageArea;
use crate::window::theme::palette;

pub struct FileDialog {
    picker: FilePicker,
    folder: PathBuf,
    /// What is in the folder, or why it cannot be read.
    entries: Result<Vec<Entry>, String>,
    chosen: Vec<PathBuf>,
    /// The path in the field.
    typed: String,
    /// What is wrong with it.
    complaint: Option<String>,
    is_new: bool,
}

#[derive(Debug, PartialEq)]
struct Entry {
    name: String,
    path: PathBuf,
    is_folder: bool,
}

const ROW_HEIGHT: f32 = 24.;

impl FileDialog {
    pub fn new(picker: FilePicker) -> Self {
        let chosen = picker.current_paths().to_vec();
        let folder = chosen
            .first()
            .and_then(|path| path.parent())
            .map(Path::to_owned)
            .or_else(|| env::current_dir().ok())
            .unwrap_or_else(|| PathBuf::from("/"));
        let mut dialog = Self {
            entries: Ok(Vec::new()),
            typed: shown(&chosen),
            picker,
            folder,
            chosen,
            complaint: None,
            is_new: true,
        };
        dialog.read_folder();
        dialog
    }

    /// None once files have been chosen or the dialog was dismissed.
    pub fn show(mut self, context: &Context, page: PageArea) -> Option<Self> {
        let title = match self.picker.allow_select_multiple() {
            true => "Choose files",
            false => "Choose a file",
        };
        let mut answer = dialog::show(context, page, title, |ui| {
            let field = TextEdit::singleline(&mut self.typed)
                .hint_text("The path of a file")
                .desired_width(f32::INFINITY)
                .margin(vec2(8., 6.));
            let field = ui.add(field);
            if self.is_new {
                field.request_focus();
            }
            if field.changed() {
                self.complaint = None;
            }
            if let Some(complaint) = &self.complaint {
                ui.colored_label(palette(ui.ctx()).alert, complaint);
            }
            let folder = self.folder.display().to_string();
            ui.add(Label::new(RichText::new(folder).small().weak()).truncate());
            let height = (page.rect.height() - 260.).clamp(3. * ROW_HEIGHT, 12. * ROW_HEIGHT);
            let mut answer = self.list(ui, height);
            match dialog::buttons(ui, "Open", true, Some("Cancel")) {
                Answer::None => {},
                chosen => answer = chosen,
            }
            answer
        });
        self.is_new = false;
        if answer == Answer::Accept && !self.take_typed() {
            answer = Answer::None;
        }
        match answer {
            Answer::None => return Some(self),
            Answer::Accept => {
                self.picker.select(&self.chosen);
                self.picker.submit();
            },
            Answer::Dismiss => self.picker.dismiss(),
        }
        None
    }

    /// Lists the folder. Accepted if a file was clicked twice.
    fn list(&mut self, ui: &mut Ui, height: f32) -> Answer {
        let mut entered = None;
        let mut answer = Answer::None;
        let entries = match &self.entries {
            Ok(entries) => entries,
            Err(message) => {
                ui.colored_label(palette(ui.ctx()).alert, message);
                &Vec::new()
            },
        };
        let parent = self.folder.parent().map(|parent| Entry {
            name: "..".to_owned(),
            path: parent.to_owned(),
            is_folder: true,
        });
        let mut clicked = None;
        ScrollArea::vertical()
            .id_salt(&self.folder)
            .auto_shrink(false)
            .max_height(height)
            .show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 0.;
                for entry in parent.iter().chain(entries) {
                    let is_chosen = self.chosen.contains(&entry.path);
                    let response = row(ui, entry, is_chosen);
                    if entry.is_folder && response.clicked() {
                        entered = Some(entry.path.clone());
                    } else if response.clicked() {
                        clicked = Some(entry.path.clone());
                    }
                    if !entry.is_folder && response.double_clicked() {
                        answer = Answer::Accept;
                    }
                }
            });
        if let Some(path) = clicked {
            let several = self.picker.allow_select_multiple()
                && ui.input(|input| input.modifiers.command || input.modifiers.shift);
            self.choose(path, several);
        }
        if let Some(folder) = entered {
            self.enter(folder);
        }
        answer
    }

    fn choose(&mut self, path: PathBuf, several: bool) {
        match self.chosen.iter().position(|chosen| *chosen == path) {
            Some(place) if several => drop(self.chosen.remove(place)),
            _ if several => self.chosen.push(path),
            _ => self.chosen = vec![path],
        }
        self.typed = shown(&self.chosen);
        self.complaint = None;
    }

    fn enter(&mut self, folder: PathBuf) {
        self.folder = folder;
        self.chosen.clear();
        self.typed.clear();
        self.complaint = None;
        self.read_folder();
    }

    fn read_folder(&mut self) {
        let patterns: Vec<_> = self
            .picker
            .filter_patterns()
            .iter()
            .map(|pattern| pattern.0.as_str())
            .collect();
        self.entries = entries(&self.folder, &patterns)
            .map_err(|error| format!("{}: {error}", self.folder.display()));
    }

    /// Chooses the file that the field names, unless files were chosen by clicks. False if the field
    /// does not name a file: then the folder is entered, or the person is told what is wrong.
    fn take_typed(&mut self) -> bool {
        if self.typed == shown(&self.chosen) && !self.chosen.is_empty() {
            return true;
        }
        let typed = self.typed.trim();
        if typed.is_empty() {
            self.complaint = Some("Choose a file, or type its path.".to_owned());
            return false;
        }
        let path = url_argument::in_home(typed).unwrap_or_else(|| self.folder.join(typed));
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {
                self.enter(path);
                false
            },
            Ok(_) => {
                self.chosen = vec![path];
                true
            },
            Err(error) => {
                self.complaint = Some(format!("{}: {error}", path.display()));
                false
            },
        }
    }
}

/// How chosen files are written in the field.
fn shown(paths: &[PathBuf]) -> String {
    match paths {
        [] => String::new(),
        [path] => path.display().to_string(),
        several => format!("{} files", several.len()),
    }
}

/// The folders, and then the files, that are not hidden. With `extensions`, only files that have one
/// of these.
fn entries(folder: &Path, extensions: &[&str]) -> std::io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        // A link stands for what it leads to. A link that leads nowhere cannot be chosen.
        let Ok(metadata) = fs::metadata(entry.path()) else {
            continue;
        };
        let is_folder = metadata.is_dir();
        if name.starts_with('.') || !is_folder && !has_extension(&entry.path(), extensions) {
            continue;
        }
        entries.push(Entry {
            name,
            path: entry.path(),
            is_folder,
        });
    }
    entries.sort_by_cached_key(|entry| (!entry.is_folder, entry.name.to_lowercase()));
    Ok(entries)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    extensions.is_empty()
        || extensions
            .iter()
            .any(|wanted| wanted.eq_ignore_ascii_case(extension))
}

fn row(ui: &mut Ui, entry: &Entry, is_chosen: bool) -> egui::Response {
    let colours = palette(ui.ctx());
    let size = vec2(ui.available_width(), ROW_HEIGHT);
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    response.widget_info(|| {
        WidgetInfo::selected(WidgetType::SelectableLabel, true, is_chosen, &entry.name)
    });
    let fill = match () {
        () if is_chosen => Some(colours.selection),
        () if response.hovered() || response.has_focus() => Some(colours.hovered),
        () => None,
    };
    if let Some(fill) = fill {
        ui.painter().rect_filled(rect, CornerRadius::same(5), fill);
    }
    let square = egui::Rect::from_center_size(rect.left_center() + vec2(16., 0.), Vec2::splat(16.));
    let icon = match entry.is_folder {
        true => Icon::Folder,
        false => Icon::Page,
    };
    icon.paint(ui.painter(), square, colours.weak_text);
    let font = TextStyle::Body.resolve(ui.style());
    ui.painter_at(rect).text(
        rect.left_center() + vec2(32., 0.),
        Align2::LEFT_CENTER,
        &entry.name,
        font,
        colours.text,
    );
    // A focused folder is entered by its key, as a button is pressed.
    if response.has_focus() {
        ui.input_mut(|input| input.consume_key(egui::Modifiers::NONE, Key::Enter));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_come_first_and_hidden_files_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("zoo")).unwrap();
        for name in ["b.txt", "A.TXT", "c.png", ".hidden"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let names = |extensions: &[&str]| -> Vec<_> {
            let entries = entries(folder.path(), extensions).unwrap();
            entries.into_iter().map(|entry| entry.name).collect()
        };
        assert_eq!(names(&[]), ["zoo", "A.TXT", "b.txt", "c.png"]);
        assert_eq!(names(&["txt"]), ["zoo", "A.TXT", "b.txt"]);
        assert!(entries(&folder.path().join("none"), &[]).is_err());
    }
}
