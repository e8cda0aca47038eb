/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Which functions of several profiles are one.
//!
//! - A function with an original place, by a source map, is known by its name, its file and its line there: bundlers move
//!   columns.
//! - Any other function is known by its name and the place of its definition, with the parts of its URL left out that change
//!   with the content: [`normalised_url`].
//! - Chromium gives an async arrow function the place of `async`, SpiderMonkey that of its parameters. So two functions of one
//!   name on one line whose columns are as far apart as that word is long are one, unless one profile has both.
//! - A built-in function has no place. Its name is all that is known.

use std::borrow::Cow;
use std::hash::Hash;
use std::num::NonZeroU32;

use profile_formats::{EventLoop, FrameId, Function, Place};

use crate::hash_tables::{HashMap, HashSet};

/// How far `async` is from the parameters behind it: `async(a)` and `async (a)`.
const ASYNC: [u32; 2] = [5, 6];

/// Characters of a part of a file's name that may be a hash.
const HASH_LENGTHS: std::ops::RangeInclusive<usize> = 8..=64;

/// What stands for a hash.
const ANY: &str = "*";

/// What a function is known by.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Key {
    pub name: String,
    /// Empty if there is none.
    pub url: String,
    pub line: Option<NonZeroU32>,
    pub column: Option<NonZeroU32>,
}

impl Key {
    pub fn of(event_loop: &EventLoop, function: &Function) -> Self {
        let url = event_loop.resource_of(function).unwrap_or_default();
        Self {
            name: function.name.clone(),
            url: normalised_url(url).into_owned(),
            line: function.line,
            column: function.column.filter(|_| function.generated.is_none()),
        }
    }
}

impl Key {
    /// A line of a function that is executing or calling, instead of its definition. Of several lines it is the first one. A
    /// function without lines stays whole.
    pub fn of_line(event_loop: &EventLoop, frame: FrameId) -> Self {
        let frame = event_loop.frame(frame);
        let function = Self::of(event_loop, event_loop.function(frame.function));
        match frame.place {
            Some(Place::Source { line, .. } | Place::Lines { first: line, .. }) => Self {
                line: Some(line),
                column: None,
                ..function
            },
            Some(Place::WasmOffset(_)) | None => function,
        }
    }
}

/// A URL without what changes with the content of a file: the query, the fragment, and hashes in the name of the file.
/// `https://a.test/js/app.3f2a9c1b.js?v=7` becomes `https://a.test/js/app.*.js`. A hash is a part of the name between points,
/// hyphens or underscores, but the first one, that has 8 to 64 letters and digits, with a digit among them or both small and
/// capital letters.
pub fn normalised_url(url: &str) -> Cow<'_, str> {
    // What is in a URL of data is its content.
    if !url.contains("://") && !url.starts_with('/') {
        return url.into();
    }
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (url_without, rest) = url.split_at(end);
    // Script that was made from text has its place behind the URL.
    let made = rest.find(" line ").map_or("", |at| &rest[at..]);
    let at = url_without.rfind('/').map_or(0, |at| at + 1);
    let (folder, name) = url_without.split_at(at);
    let mut normalised = String::new();
    let mut part_start = 0;
    let mut has_hash = false;
    let ends = name
        .char_indices()
        .filter(|(_, character)| matches!(character, '.' | '-' | '_'));
    let ends: Vec<usize> = ends.map(|(at, _)| at).chain([name.len()]).collect();
    for (index, end) in ends.iter().enumerate() {
        let part = &name[part_start..*end];
        // The first part is the name, and the last one the extension.
        let is_between = index > 0 && index + 1 < ends.len();
        match is_between && is_hash(part) {
            true => {
                has_hash = true;
                normalised += ANY;
            },
            false => normalised += part,
        }
        normalised += name.get(*end..*end + 1).unwrap_or_default();
        part_start = end + 1;
    }
    match has_hash || !rest.is_empty() {
        true => format!("{folder}{normalised}{made}").into(),
        false => url.into(),
    }
}

fn is_hash(part: &str) -> bool {
    let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
    HASH_LENGTHS.contains(&part.len())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && (has(u8::is_ascii_digit) || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}

/// The functions of one name on one line that one profile has in two columns, so that they are not one.
#[derive(Debug)]
pub struct Distinct<I>(HashSet<(I, I)>);

impl<I> Default for Distinct<I> {
    fn default() -> Self {
        Self(HashSet::default())
    }
}

impl<I: Copy + Eq + Hash + Ord> Distinct<I> {
    /// Adds those of a profile: its keys with the ids by which they are known.
    pub fn add<'a>(&mut self, functions: impl Iterator<Item = (&'a Key, I)>) {
        for on_line in by_line(functions).values() {
            for (one, other) in apart(on_line) {
                self.0.insert((one, other));
            }
        }
    }

    /// For each function that is another one: that one.
    pub fn same<'a>(&self, functions: impl Iterator<Item = (&'a Key, I)>) -> HashMap<I, I> {
        let mut same = HashMap::default();
        let mut targets = HashSet::default();
        for on_line in by_line(functions).values() {
            for pair in apart(on_line) {
                // No chains: of three in a row nobody knows which is which.
                let is_free = |id| !same.contains_key(id) && !targets.contains(id);
                if !self.0.contains(&pair) && is_free(&pair.0) && is_free(&pair.1) {
                    same.insert(pair.0, pair.1);
                    targets.insert(pair.1);
                }
            }
        }
        same
    }
}

type Columns<I> = Vec<(u32, I)>;

/// Functions by name, file and line, where there are several.
fn by_line<'a, I: Ord>(
    functions: impl Iterator<Item = (&'a Key, I)>,
) -> HashMap<(&'a str, &'a str, NonZeroU32), Columns<I>> {
    let mut lines: HashMap<_, Columns<I>> = HashMap::default();
    for (key, id) in functions {
        if let (Some(line), Some(column)) = (key.line, key.column) {
            let of_line = lines.entry((&*key.name, &*key.url, line)).or_default();
            of_line.push((column.get(), id));
        }
    }
    lines.retain(|_, columns| columns.len() > 1);
    for columns in lines.values_mut() {
        columns.sort_unstable();
    }
    lines
}

/// Those that are as far apart as `async` is long: the first one and the other.
fn apart<I: Copy>(columns: &Columns<I>) -> Vec<(I, I)> {
    let mut pairs = Vec::new();
    for (column, id) in columns {
        for distance in ASYNC {
            let wanted = column.saturating_add(distance);
            if let Ok(at) = columns.binary_search_by_key(&wanted, |(column, _)| *column) {
                pairs.push((*id, columns[at].1));
            }
        }
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_and_queries_are_left_out_of_urls() {
        for (url, expected) in [
            (
                "https://a.test/js/app.3f2a9c1b.js?v=7",
                "https://a.test/js/app.*.js",
            ),
            (
                "https://a.test/assets/index-BxYkPqRs.js",
                "https://a.test/assets/index-*.js",
            ),
            ("https://a.test/a.js#x", "https://a.test/a.js"),
            (
                "https://a.test/jquery-3.7.1.min.js",
                "https://a.test/jquery-3.7.1.min.js",
            ),
            (
                "https://a.test/react-dom.production.min.js",
                "https://a.test/react-dom.production.min.js",
            ),
            ("https://a.test/3f2a9c1b.js", "https://a.test/3f2a9c1b.js"),
            (
                "https://a.test/?v=1 line 3 > eval",
                "https://a.test/ line 3 > eval",
            ),
            ("/srv/app.3f2a9c1b.js", "/srv/app.*.js"),
            ("node:fs", "node:fs"),
            ("data:text/javascript,a?b", "data:text/javascript,a?b"),
            ("", ""),
        ] {
            assert_eq!(normalised_url(url), expected, "{url}");
        }
    }
}
