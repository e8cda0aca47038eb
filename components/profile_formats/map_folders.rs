/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Source maps from folders of this machine, for recordings of scripts that were built there.

use std::path::PathBuf;

use source_maps::{Deadline, FoundMap, MapFolder, Notice, SourceMap, map_beside};
use url::Url;

use crate::bounds::MAX_MAPS_BYTES;
use crate::recording::Recording;
use crate::source_mapped::{Notices, apply_source_maps};

/// How many scripts without a map are named.
const MAX_NAMED: usize = 5;

/// Applies the maps in folders, and in the folders in them, to a recording. The first folder with a map for a script
/// has it. The recording is whole whatever is in the folders; each notice is about a map that is not used. Maps that are
/// not done when `deadline` passes are left out.
pub fn apply_map_folders(
    recording: &mut Recording,
    folders: &[PathBuf],
    deadline: &Deadline,
) -> Vec<Notice> {
    if folders.is_empty() {
        return Vec::new();
    }
    let mut notices = Notices::default();
    let mut maps = Maps::default();
    for path in folders {
        match MapFolder::open(path) {
            Ok(folder) => {
                for notice in folder.notices() {
                    notices.push(notice.clone());
                }
                maps.folders.push(folder);
            },
            Err(notice) => notices.push(notice),
        }
    }
    apply_source_maps(recording, &mut notices, deadline, |script, notices| {
        maps.of_script(script, notices, deadline)
    });
    if !maps.folders.is_empty() {
        maps.tell_missing(folders, &mut notices);
    }
    notices.into_vec()
}

/// Applies the maps that scripts of this machine link to, in the scripts' own folders, to a recording. Functions that were
/// mapped before stay as they are. Each notice is about a map that is not used.
pub fn apply_maps_beside(recording: &mut Recording, deadline: &Deadline) -> Vec<Notice> {
    let mut notices = Notices::default();
    let mut room = Room::default();
    apply_source_maps(recording, &mut notices, deadline, |script, notices| {
        if !room.is_left(deadline) {
            return None;
        }
        let map = map_beside(script).and_then(|found| {
            let Some(found) = found else { return Ok(None) };
            let base = Url::from_file_path(&found.path).ok();
            room.read(&found, base.as_ref(), deadline).map(Some)
        });
        map.unwrap_or_else(|notice| {
            notices.push_of_script(notice, script);
            None
        })
    });
    room.tell("linked source maps", &mut notices);
    notices.into_vec()
}

#[derive(Default)]
struct Maps {
    folders: Vec<MapFolder>,
    room: Room,
    /// The first scripts without a map.
    missing: Vec<String>,
    more_missing: u64,
}

/// How many maps may still be read.
#[derive(Default)]
struct Room {
    /// Of those that were read.
    bytes: u64,
    /// How many scripts come after as much was read as may be.
    unread: u64,
    /// How many scripts come after the deadline, and why there was one.
    late: u64,
    why_late: String,
}

impl Room {
    /// Whether there is time and memory for one more map. If not, that is remembered.
    fn is_left(&mut self, deadline: &Deadline) -> bool {
        if let Some(why) = deadline.passed() {
            self.late += 1;
            self.why_late = why;
            return false;
        }
        if self.bytes > MAX_MAPS_BYTES {
            self.unread += 1;
            return false;
        }
        true
    }

    fn read(
        &mut self,
        found: &FoundMap,
        base: Option<&Url>,
        deadline: &Deadline,
    ) -> Result<SourceMap, Notice> {
        self.bytes += found.content.len() as u64;
        let name = found.path.to_string_lossy();
        SourceMap::read(&found.content, &name, base, deadline)
    }

    /// Tells how many scripts have no map because there was no room. `name` is that of the maps.
    fn tell(&self, name: &str, notices: &mut Notices) {
        if self.unread > 0 {
            let why = format!(
                "more than {MAX_MAPS_BYTES} bytes of source maps are not read, so {} scripts are shown as they ran",
                self.unread
            );
            notices.push(Notice::new(name, why));
        }
        if self.late > 0 {
            let scripts = match self.late {
                1 => "a script is shown as it ran".to_owned(),
                more => format!("{more} scripts are shown as they ran"),
            };
            let why = format!("{scripts}, because {}", self.why_late);
            notices.push(Notice::new(name, why));
        }
    }
}

impl Maps {
    fn of_script(
        &mut self,
        script: &str,
        notices: &mut Notices,
        deadline: &Deadline,
    ) -> Option<SourceMap> {
        if !self.room.is_left(deadline) {
            return None;
        }
        let mut is_told = false;
        for folder in &self.folders {
            let found = match folder.find(script, deadline) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(notice) => {
                    notices.push_of_script(notice, script);
                    is_told = true;
                    continue;
                },
            };
            // As if the map were deployed beside the script.
            let base = Url::parse(script).ok();
            match self.room.read(&found, base.as_ref(), deadline) {
                Ok(map) => return Some(map),
                Err(notice) => {
                    notices.push_of_script(notice, script);
                    is_told = true;
                },
            }
        }
        if !is_told {
            match self.missing.len() < MAX_NAMED {
                true => self.missing.push(terminal_text::shortened(script, 100)),
                false => self.more_missing += 1,
            }
        }
        None
    }

    fn tell_missing(&self, folders: &[PathBuf], notices: &mut Notices) {
        let paths: Vec<_> = folders.iter().map(|path| path.to_string_lossy()).collect();
        let paths = paths.join(", ");
        self.room.tell(&paths, notices);
        if !self.missing.is_empty() {
            let more = match self.more_missing {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let why = format!("no source map of {}{more}", self.missing.join(", "));
            notices.push(Notice::new(&paths, why));
        }
    }
}
