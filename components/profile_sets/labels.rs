/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Labels of sessions and samples, conditions on them, and labels in the names of files.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fmt;
use std::path::Path;

use indexmap::IndexSet;

use crate::bounds::{MAX_LABEL_BYTES, MAX_LABELS, MAX_VALUES, OTHER};

/// Names with their values, in the order of names.
#[derive(Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// An empty value removes the label.
    pub fn set(&mut self, name: &str, value: &str) {
        let (name, value) = (cut(name), cut(value));
        match self.0.binary_search_by(|(other, _)| (**other).cmp(name)) {
            Ok(at) if value.is_empty() => {
                self.0.remove(at);
            },
            Ok(at) => self.0[at].1 = value.to_owned(),
            Err(_) if value.is_empty() => {},
            Err(at) => self.0.insert(at, (name.to_owned(), value.to_owned())),
        }
    }

    /// Adds those that are not there.
    pub fn add_missing(&mut self, others: &Self) {
        for (name, value) in &others.0 {
            if self.get(name).is_none() {
                self.set(name, value);
            }
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(other, _)| (**other).cmp(name));
        at.ok().map(|at| &*self.0[at].1)
    }

    pub fn remove(&mut self, name: &str) -> Option<String> {
        let at = self.0.binary_search_by(|(other, _)| (**other).cmp(name));
        at.ok().map(|at| self.0.remove(at).1)
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = &(String, String)> {
        self.0.iter()
    }
}

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LABEL_BYTES)]
}

/// A condition on labels: `release=2.1`, or `page~/shop` if the value has a text in it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Condition(Vec<Part>);

#[derive(Clone, Debug, Eq, PartialEq)]
struct Part {
    name: String,
    /// Whether the value has the text in it, and is not the text.
    is_part: bool,
    is_not: bool,
    text: String,
}

impl Condition {
    /// Parts with commas between them, all of which must be true. `!=` and `!~` are the opposites. The error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(|part| {
            let at = part.find(['=', '~']).filter(|at| *at > 0);
            let at = at.ok_or_else(|| {
                format!("{part:?} is no condition such as release=2.1 or page~/shop")
            })?;
            let name = part[..at].strip_suffix('!');
            Ok(Part {
                name: name.unwrap_or(&part[..at]).to_owned(),
                is_part: part[at..].starts_with('~'),
                is_not: name.is_some(),
                text: part[at + 1..].to_owned(),
            })
        });
        parts.collect::<Result<_, String>>().map(Self)
    }

    /// That, and that a label has a value.
    pub fn and(mut self, name: &str, value: &str) -> Self {
        self.0.push(Part {
            name: name.to_owned(),
            is_part: false,
            is_not: false,
            text: value.to_owned(),
        });
        self
    }

    /// A label that is not there has the empty value.
    pub fn holds(&self, labels: &Labels) -> bool {
        self.0.iter().all(|part| {
            let value = labels.get(&part.name).unwrap_or_default();
            let holds = match part.is_part {
                true => value.contains(&*part.text),
                false => value == part.text,
            };
            holds != part.is_not
        })
    }
}

/// A pattern of file names with labels in it: `{release}/{browser}-*.json`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct NamePattern(Vec<Piece>);

#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Text(String),
    /// Anything within a name. The value of a label if there is a name.
    Any(Option<String>),
}

impl NamePattern {
    /// The error is a sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('*') {
                pieces.push(Piece::Any(None));
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let (name, after) = after
                    .split_once('}')
                    .filter(|(name, _)| !name.is_empty())
                    .ok_or_else(|| {
                        format!("{text:?} has a {{ without a name and a }} behind it")
                    })?;
                pieces.push(Piece::Any(Some(name.to_owned())));
                rest = after;
            } else {
                let end = rest.find(['*', '{']).unwrap_or(rest.len());
                pieces.push(Piece::Text(rest[..end].to_owned()));
                rest = &rest[end..];
            }
        }
        Ok(Self(pieces))
    }

    /// The labels that a path has, from its end. None if it does not fit.
    pub fn labels_of(&self, path: &Path) -> Option<Labels> {
        let path = path.to_str()?;
        let starts = path.char_indices().map(|(at, _)| at);
        // The pattern begins at the beginning of a name.
        let starts = starts.filter(|at| *at == 0 || path[..*at].ends_with('/'));
        let mut fits = starts.filter_map(|start| {
            let mut labels = Labels::default();
            fits(&self.0, &path[start..], &mut labels).then_some(labels)
        });
        fits.next_back()
    }
}

/// The shortest text that fits is the value of each label.
fn fits(pieces: &[Piece], text: &str, labels: &mut Labels) -> bool {
    match pieces.split_first() {
        None => text.is_empty(),
        Some((Piece::Text(expected), rest)) => {
            let behind = text.strip_prefix(&**expected);
            behind.is_some_and(|behind| fits(rest, behind, labels))
        },
        Some((Piece::Any(name), rest)) => {
            let end = text.find('/').unwrap_or(text.len());
            let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
            for end in ends.take_while(|at| *at <= end) {
                if fits(rest, &text[end..], labels) {
                    if let Some(name) = name {
                        labels.set(name, &text[..end]);
                    }
                    return true;
                }
            }
            false
        },
    }
}

/// The values that labels have had, and how many were too many.
#[derive(Debug, Default)]
pub struct KnownValues {
    values: BTreeMap<String, IndexSet<String>>,
    /// By label: how often a value was taken for [`OTHER`].
    pub others: BTreeMap<String, u64>,
    /// How often a label was left out.
    pub left_out: u64,
}

impl KnownValues {
    /// The labels, with no more names and values than may be kept.
    pub fn bounded(&mut self, labels: &Labels) -> Labels {
        let mut bounded = Labels::default();
        for (name, value) in labels.iter() {
            let count = self.values.len();
            let values = match self.values.entry(name.clone()) {
                btree_map::Entry::Occupied(entry) => entry.into_mut(),
                btree_map::Entry::Vacant(_) if count == MAX_LABELS => {
                    self.left_out += 1;
                    continue;
                },
                btree_map::Entry::Vacant(entry) => entry.insert(IndexSet::new()),
            };
            if values.contains(value) || values.len() < MAX_VALUES {
                values.insert(value.clone());
                bounded.set(name, value);
            } else {
                *self.others.entry(name.clone()).or_default() += 1;
                bounded.set(name, OTHER);
            }
        }
        bounded
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, value)) in self.0.iter().enumerate() {
            let before = if index > 0 { ", " } else { "" };
            write!(formatter, "{before}{name}={value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(all: &[(&str, &str)]) -> Labels {
        let mut labels = Labels::default();
        for (name, value) in all {
            labels.set(name, value);
        }
        labels
    }

    #[test]
    fn all_parts_of_a_condition_must_be_true() {
        let of_shop = labels(&[("release", "2.1"), ("page", "https://a.test/shop?x")]);
        for (text, holds) in [
            ("release=2.1", true),
            ("release=2.1,page~/shop", true),
            ("release=2.1,page~/cart", false),
            ("release=2", false),
            ("release~2", true),
            ("release!=2", true),
            ("page!~/shop", false),
            ("browser=", true),
            ("browser=x", false),
        ] {
            assert_eq!(
                Condition::parse(text).unwrap().holds(&of_shop),
                holds,
                "{text}"
            );
        }
        for text in ["", "release", "=2", "release=1,"] {
            assert!(Condition::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn labels_are_read_from_the_names_of_files() {
        let pattern = NamePattern::parse("{release}/{browser}-*.json").unwrap();
        let of = |path: &str| pattern.labels_of(Path::new(path));
        let expected = labels(&[("release", "2.1"), ("browser", "strobe")]);
        assert_eq!(of("traces/2.1/strobe-7.json"), Some(expected.clone()));
        assert_eq!(of("2.1/strobe-7-x.json"), Some(expected));
        assert_eq!(of("strobe-7.json"), None);
        assert_eq!(of("2.1/strobe/7.json"), None);
        for text in ["{a", "{}"] {
            assert!(NamePattern::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn values_and_names_are_bounded_and_counted() {
        let mut known = KnownValues::default();
        for number in 0..MAX_VALUES + 5 {
            let bounded = known.bounded(&labels(&[("user", &number.to_string())]));
            let expected = match number < MAX_VALUES {
                true => number.to_string(),
                false => OTHER.to_owned(),
            };
            assert_eq!(bounded.get("user"), Some(&*expected));
        }
        assert_eq!(known.others["user"], 5);
        // A value that is known stays.
        assert_eq!(
            known.bounded(&labels(&[("user", "7")])).get("user"),
            Some("7")
        );
        for number in 0..MAX_LABELS + 2 {
            known.bounded(&labels(&[(&format!("label {number}"), "x")]));
        }
        assert_eq!(known.left_out, 3);
        let long = labels(&[("a", &"ü".repeat(MAX_LABEL_BYTES))]);
        assert_eq!(long.get("a").map(str::len), Some(MAX_LABEL_BYTES));
    }
}
