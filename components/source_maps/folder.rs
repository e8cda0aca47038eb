/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Maps that are not deployed, in a folder of this machine.
//!
//! A script may be built in any folder and served below any URL. Both paths have the same end, so that decides.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::value::RawValue;
use url::Url;
use walkdir::WalkDir;

use crate::bounds::{MAX_FOLDER_BYTES, MAX_FOLDER_DEPTH, MAX_FOLDER_ENTRIES, MAX_MAP_BYTES};
use crate::deadline::Deadline;
use crate::link::{Link, link_in_text};
use crate::notice::Notice;

const SCRIPT_ENDINGS: [&str; 3] = ["js", "mjs", "cjs"];

/// The maps and the scripts in a folder and the folders in it.
#[derive(Debug)]
pub struct MapFolder {
    path: PathBuf,
    /// The names of the folder and of its parents.
    root: Vec<String>,
    files: Vec<FoundFile>,
    /// The indices of files by their names.
    by_name: HashMap<String, Vec<usize>>,
    /// The indices of maps by the name in their field `file`.
    by_script: OnceLock<HashMap<String, Vec<usize>>>,
    notices: Vec<Notice>,
}

#[derive(Debug)]
struct FoundFile {
    path: PathBuf,
    /// The names in its path, from the folder on.
    names: Vec<String>,
}

/// The map of a script.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FoundMap {
    /// The map, or the script that it is in.
    pub path: PathBuf,
    pub content: Vec<u8>,
}

impl MapFolder {
    /// Lists the files. Symbolic links are followed.
    pub fn open(path: &Path) -> Result<Self, Notice> {
        let notice = |why: &dyn std::fmt::Display| Notice::new(&path.to_string_lossy(), why);
        let metadata = path.metadata().map_err(|error| notice(&error))?;
        if !metadata.is_dir() {
            return Err(notice(&"is not a folder"));
        }
        let root = path.canonicalize().map_err(|error| notice(&error))?;
        let mut folder = Self {
            path: path.to_owned(),
            root: names(&root),
            files: Vec::new(),
            by_name: HashMap::new(),
            by_script: OnceLock::new(),
            notices: Vec::new(),
        };
        let entries = WalkDir::new(path)
            .follow_links(true)
            .max_depth(MAX_FOLDER_DEPTH)
            .sort_by_file_name();
        for (count, entry) in entries.into_iter().enumerate() {
            if count >= MAX_FOLDER_ENTRIES {
                folder.notices.push(notice(&format_args!(
                    "has more than {MAX_FOLDER_ENTRIES} files and folders; only maps among the first ones are used"
                )));
                break;
            }
            match entry {
                Ok(entry) => {
                    if entry.depth() == MAX_FOLDER_DEPTH && entry.file_type().is_dir() {
                        let why = format!(
                            "is in more than {MAX_FOLDER_DEPTH} folders, and is not looked into"
                        );
                        folder
                            .notices
                            .push(Notice::new(&entry.path().to_string_lossy(), why));
                    } else if entry.file_type().is_file() {
                        folder.add(entry.into_path());
                    }
                },
                // The folder that the link leads back to is listed anyway.
                Err(error) if error.loop_ancestor().is_some() => {},
                Err(error) => {
                    let place = error.path().unwrap_or(path).to_string_lossy().into_owned();
                    let why = error
                        .io_error()
                        .map_or_else(|| error.to_string(), io::Error::to_string);
                    folder.notices.push(Notice::new(&place, why));
                },
            }
        }
        Ok(folder)
    }

    fn add(&mut self, path: PathBuf) {
        let relative = path.strip_prefix(&self.path).unwrap_or(&path);
        let names = names(relative);
        let Some(name) = names.last() else {
            return;
        };
        let is_of_interest = name
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "map" || SCRIPT_ENDINGS.contains(&ending));
        if is_of_interest {
            self.by_name
                .entry(name.clone())
                .or_default()
                .push(self.files.len());
            self.files.push(FoundFile { path, names });
        }
    }

    /// Files and folders that could not be listed.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The map of a script, by the script's URL or path. These are tried in turn:
    ///
    /// 1. a map with the script's name followed by `.map`,
    /// 2. the map that a script of the same name in this folder links to,
    /// 3. a map whose field `file` has the script's name.
    ///
    /// If there are several, the one is taken whose path has the longest end in common with the script's. If that is true
    /// of several, the notice names them.
    ///
    /// If `deadline` passes while maps are read to see which script they are for, only those that were read are known.
    pub fn find(&self, script: &str, deadline: &Deadline) -> Result<Option<FoundMap>, Notice> {
        let wanted = names_in_url(script);
        let Some(name) = wanted.last().filter(|name| !name.is_empty()) else {
            return Ok(None);
        };
        let no_files = &Vec::new();
        let named = |name: &str| self.by_name.get(name).unwrap_or(no_files);
        let maps = named(&format!("{name}.map"));
        if let Some(map) = self.nearest(script, maps, &wanted)? {
            return self.read(map).map(Some);
        }
        let is_script = |index: &&usize| {
            self.files[**index]
                .names
                .last()
                .is_some_and(|name| !name.ends_with(".map"))
        };
        let scripts: Vec<_> = named(name).iter().filter(is_script).copied().collect();
        if let Some(built) = self.nearest(script, &scripts, &wanted)?
            && let Some(map) = self.linked_from(built)?
        {
            return Ok(Some(map));
        }
        let maps = self.by_script(deadline).get(name).unwrap_or(no_files);
        match self.nearest(script, maps, &wanted)? {
            Some(map) => self.read(map).map(Some),
            None => Ok(None),
        }
    }

    /// The file whose folders have the longest end in common with those of `wanted`.
    fn nearest(
        &self,
        script: &str,
        files: &[usize],
        wanted: &[String],
    ) -> Result<Option<usize>, Notice> {
        let folders = |names: &[String]| names[..names.len().saturating_sub(1)].to_vec();
        let wanted = folders(wanted);
        let rank = |index: &usize| {
            let own = folders(&self.files[*index].names);
            let all = self.root.iter().chain(&own).rev();
            let common = all
                .zip(wanted.iter().rev())
                .take_while(|(one, other)| one == other)
                .count();
            // If that is equal, a file whose folders are all in the URL.
            (common, common >= own.len())
        };
        let Some(best) = files.iter().map(rank).max() else {
            return Ok(None);
        };
        let best: Vec<_> = files.iter().filter(|index| rank(index) == best).collect();
        match best[..] {
            [index] => Ok(Some(*index)),
            _ => {
                const MAX_SHOWN: usize = 5;
                let shown = best.iter().take(MAX_SHOWN);
                let shown: Vec<_> = shown
                    .map(|index| self.files[**index].path.to_string_lossy())
                    .collect();
                let more = if best.len() > MAX_SHOWN {
                    " and others"
                } else {
                    ""
                };
                let why = format!(
                    "no source map is used, for each of these may be its own: {}{more}",
                    shown.join(", ")
                );
                Err(Notice::new(script, why))
            },
        }
    }

    /// The map that a script of the folder links to.
    fn linked_from(&self, script: usize) -> Result<Option<FoundMap>, Notice> {
        let FoundFile { path, names } = &self.files[script];
        let shown = path.to_string_lossy();
        let text = read(path)?;
        let text = String::from_utf8_lossy(&text);
        let Some(link) = link_in_text(&text) else {
            return Ok(None);
        };
        // A URL, so that the link is resolved as on a server.
        let mut url = Url::parse("file:///").expect("it is a URL");
        url.path_segments_mut()
            .expect("it has a path")
            .extend(names);
        match Link::resolve(link, url.as_str()).map_err(|notice| Notice::new(&shown, notice.why))? {
            Link::Inline(content) => Ok(Some(FoundMap {
                path: path.clone(),
                content,
            })),
            Link::Url(url) => {
                let wanted = names_in_url(url.as_str());
                let maps = wanted.last().and_then(|name| self.by_name.get(name));
                let is_map = |index: &&usize| self.files[**index].path != *path;
                let maps: Vec<_> = maps.into_iter().flatten().filter(is_map).copied().collect();
                match self.nearest(&shown, &maps, &wanted)? {
                    Some(map) => self.read(map).map(Some),
                    None => Ok(None),
                }
            },
        }
    }

    /// Maps by the name in their field `file`. It is often a name from before the last step of a build, so it is tried
    /// last.
    fn by_script(&self, deadline: &Deadline) -> &HashMap<String, Vec<usize>> {
        #[derive(Deserialize)]
        struct Fields<'a> {
            #[serde(borrow)]
            file: Option<&'a RawValue>,
        }
        self.by_script.get_or_init(|| {
            let mut by_script: HashMap<String, Vec<usize>> = HashMap::new();
            let mut bytes = 0;
            for (index, file) in self.files.iter().enumerate() {
                let is_map = file.names.last().is_some_and(|name| name.ends_with(".map"));
                // If it cannot be read, `find` says so once the map is wanted.
                let Some(content) = is_map.then(|| read(&file.path).ok()).flatten() else {
                    continue;
                };
                bytes += content.len() as u64;
                if bytes > MAX_FOLDER_BYTES || deadline.passed().is_some() {
                    break;
                }
                let fields: Result<Fields<'_>, _> = serde_json::from_slice(&content);
                let script = fields.ok().and_then(|fields| fields.file);
                let script: Option<String> =
                    script.and_then(|file| serde_json::from_str(file.get()).ok());
                if let Some(name) = script.and_then(|script| names_in_url(&script).pop()) {
                    by_script.entry(name).or_default().push(index);
                }
            }
            by_script
        })
    }

    fn read(&self, file: usize) -> Result<FoundMap, Notice> {
        let path = self.files[file].path.clone();
        let content = read(&path)?;
        Ok(FoundMap { path, content })
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Notice> {
    let notice = |why: &dyn std::fmt::Display| Notice::new(&path.to_string_lossy(), why);
    let file = File::open(path).map_err(|error| notice(&error))?;
    let mut content = Vec::new();
    file.take(MAX_MAP_BYTES + 1)
        .read_to_end(&mut content)
        .map_err(|error| notice(&error))?;
    match content.len() as u64 > MAX_MAP_BYTES {
        true => Err(notice(&format_args!(
            "has more than {MAX_MAP_BYTES} bytes, and is not read"
        ))),
        false => Ok(content),
    }
}

/// The names in a path of this machine.
fn names(path: &Path) -> Vec<String> {
    use std::path::Component;
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name.to_string_lossy().into_owned()),
            _ => None,
        })
        .collect()
}

/// The names in the path of a URL or in a path.
fn names_in_url(url: &str) -> Vec<String> {
    let decoded = |name: &str| percent_decode_str(name).decode_utf8_lossy().into_owned();
    let path = match Url::parse(url) {
        Ok(url) if url.has_host() || url.scheme() == "file" => {
            return url
                .path_segments()
                .into_iter()
                .flatten()
                .map(decoded)
                .collect();
        },
        _ => url.split(['?', '#']).next().unwrap_or_default(),
    };
    let names = path.split(['/', '\\']);
    names
        .filter(|name| !matches!(*name, "" | "." | ".."))
        .map(decoded)
        .collect()
}
