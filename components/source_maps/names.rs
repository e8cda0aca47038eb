/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The names that functions had in the code that was written.

use std::borrow::Cow;

use sourcemap::{DecodedMap, Token};

use crate::bounds::MAX_NAME_BYTES;
use crate::map::{Outlined, Place, Section, SourceMap, cut};
use crate::outline::Name;

/// What the engine says about a function of the script.
#[derive(Clone, Copy, Debug)]
pub struct GeneratedFunction<'a> {
    pub name: &'a str,
    /// Where it is defined: the round bracket before its parameters, or the parameter of `a => b`.
    pub definition: Option<Place>,
    /// Places in it that ran, if any are known.
    pub running: &'a [Place],
}

/// The text between a function's name and the place of its definition, as minifiers write it.
const BETWEEN: [&str; 9] = [
    "",
    "=",
    ":",
    "=async",
    ":async",
    "=async ",
    ":async ",
    "=function",
    ":function",
];

impl SourceMap {
    /// The name that a function had in the code that was written. These are tried in turn:
    ///
    /// 1. the map's `scopes`,
    /// 2. its `x_facebook_sources`, which React Native has, unless a function is `<anonymous>` there,
    /// 3. the name of the mapping at the function's round bracket, unless it is a getter, a setter or a constructor,
    /// 4. the text of the source,
    /// 5. the name of the mapping at the function's generated name.
    ///
    /// A function without a name that is within `outer` is called `outer/<`, as the engine does. If there is no `outer`
    /// either, the name is empty: what the engine calls it is made of generated names. This is also true of a function
    /// that the source does not have as one, such as the initial values of a class's fields, if the engine guessed its
    /// name. None if no name is known; the generated name is then the only one.
    ///
    /// A name that is too long is cut, and the cut is marked.
    pub fn function_name(&self, function: &GeneratedFunction<'_>) -> Option<Cow<'_, str>> {
        Some(match self.whole_function_name(function)? {
            Cow::Borrowed(name) => cut(name, MAX_NAME_BYTES),
            Cow::Owned(name) => Cow::Owned(cut(&name, MAX_NAME_BYTES).into_owned()),
        })
    }

    fn whole_function_name(&self, function: &GeneratedFunction<'_>) -> Option<Cow<'_, str>> {
        let places = || function.running.iter().copied().chain(function.definition);
        if let Some(name) = places().find_map(|place| self.name_in_scopes(place)) {
            return Some(Cow::Borrowed(name));
        }
        let mapped = function
            .definition
            .and_then(|place| Some((place, self.token(place)?)));
        let Some((place, (section, token))) = mapped else {
            let name = self.name_where_it_runs(function.running)?;
            return Some(Cow::Owned(name.shown()));
        };
        if let Some(name) = name_of_react_native(section, token) {
            return Some(Cow::Borrowed(name));
        }
        let in_source = self.name_in_source(section, token, place);
        if let Some(name) = self.name_at_bracket(section, token, place) {
            return Some(match in_source {
                Some(own) if own.is_of_method(name) => Cow::Owned(own.shown()),
                _ => Cow::Borrowed(name),
            });
        }
        match in_source {
            Some(Name::Of(name)) => Some(Cow::Owned(name)),
            unnamed => match self.name_of_mapping(function.name, place) {
                // V8 calls some functions by names of what is around them, and other code may happen to be so far before it.
                Some((name, named))
                    if unnamed.is_none() || self.may_name(section, named, token) =>
                {
                    Some(Cow::Borrowed(name))
                },
                Some(_) => Some(Cow::Owned(unnamed?.shown())),
                None => {
                    let guessed =
                        || is_guess(function.name).then(|| self.name_around(section, token));
                    let name = unnamed.or_else(|| guessed().flatten())?;
                    Some(Cow::Owned(name.shown()))
                },
            },
        }
    }

    /// <https://tc39.es/ecma426/branch/proposal-scopes/>
    fn name_in_scopes(&self, place: Place) -> Option<&str> {
        let (section, generated) = self.section(place)?;
        let name = match section.scopes.have_ranges() {
            true => section.scopes.name_in_script(generated)?,
            false => {
                let (_, token) = self.token(place)?;
                let source = token.get_src_id() as usize;
                section.scopes.name_in_source(source, token.get_src())?
            },
        };
        section
            .decoded()
            .get_name(name)
            .filter(|name| !name.is_empty())
    }

    /// The name of the mapping at the function's generated name, which stands before its definition, and that mapping.
    /// <https://tc39.es/ecma426/#sec-names-for-generated-javascript-code>
    fn name_of_mapping(&self, generated: &str, definition: Place) -> Option<(&str, Token<'_>)> {
        let is_word = |character: char| character.is_alphanumeric() || "_$#".contains(character);
        if generated.is_empty() || !generated.chars().all(is_word) {
            return None;
        }
        let length = generated.chars().map(char::len_utf16).sum::<usize>();
        BETWEEN.iter().find_map(|between| {
            let distance = u32::try_from(length + between.len()).ok()?;
            let place = Place {
                column: definition.column.checked_sub(distance)?,
                ..definition
            };
            let (section, token) = self.token(place)?;
            let is_there = section.columns_behind(token, place) == 0;
            let name = token.get_name().filter(|name| !name.is_empty());
            Some((name.filter(|_| is_there)?, token))
        })
    }

    /// Whether the source may have the name of a mapping as that of the function at a definition behind it. It is that of
    /// something else if anything ends between them.
    fn may_name(&self, section: &Section, named: Token<'_>, definition: Token<'_>) -> bool {
        if named.get_src_id() != definition.get_src_id() {
            return false;
        }
        let between = || {
            let (outlined, text) = self.outline_of(section, definition)?;
            let [start, end] = [named, definition].map(|token| {
                let (line, column) = token.get_src();
                outlined.columns.offset(text, line, column)
            });
            text.get(start?..end?)
        };
        between().is_none_or(|between| !between.contains([',', ';']))
    }

    /// Some compilers name the mapping of the round bracket after the function. If the source has no bracket there, the
    /// name may be that of a parameter.
    fn name_at_bracket<'a>(
        &'a self,
        section: &'a Section,
        token: Token<'a>,
        definition: Place,
    ) -> Option<&'a str> {
        let name = token.get_name().filter(|name| !name.is_empty())?;
        let (outlined, text) = self.outline_of(section, token)?;
        let (line, column) = token.get_src();
        let offset = outlined.columns.offset(text, line, column)?;
        let is_bracket = text[offset..].starts_with('(');
        (is_bracket && section.columns_behind(token, definition) == 0).then_some(name)
    }

    fn name_in_source(
        &self,
        section: &Section,
        token: Token<'_>,
        definition: Place,
    ) -> Option<Name> {
        let (outlined, text) = self.outline_of(section, token)?;
        let (line, column) = token.get_src();
        let offset = |column| outlined.columns.offset(text, line, column);
        let at = |column| outlined.outline.defined_at(text, offset(column)?);
        if let Some(name) = at(column) {
            return Some(name);
        }
        // The map has no mapping for this word, but one for the beginning of the code around it.
        match section.columns_behind(token, definition) {
            0 => None,
            behind => column
                .checked_add(behind)
                .and_then(at)
                .or_else(|| outlined.outline.defined_on_line(text, offset(column)?)),
        }
    }

    /// What a function is called that the source does not have as one, by the code around it.
    fn name_around(&self, section: &Section, token: Token<'_>) -> Option<Name> {
        let (outlined, text) = self.outline_of(section, token)?;
        let (line, column) = token.get_src();
        let offset = outlined.columns.offset(text, line, column)?;
        Some(match outlined.outline.running_at(text, offset) {
            Some(Name::Of(outer)) => Name::AnonymousIn(outer),
            Some(name) => name,
            None => Name::Unknown,
        })
    }

    fn outline_of<'a>(
        &'a self,
        section: &'a Section,
        token: Token<'_>,
    ) -> Option<(&'a Outlined, &'a str)> {
        self.outlined(section, token.get_src_id())
    }

    /// For a definition that is not mapped. Some places may be in other functions that were inlined, so all must agree.
    fn name_where_it_runs(&self, running: &[Place]) -> Option<Name> {
        let mut names = running.iter().filter_map(|place| {
            let (section, token) = self.token(*place)?;
            let (outlined, text) = self.outline_of(section, token)?;
            let (line, column) = token.get_src();
            let offset = outlined.columns.offset(text, line, column)?;
            // The bracket at the end of a function is one column. What comes after it is outside.
            let is_behind =
                text[offset..].starts_with('}') && section.columns_behind(token, *place) > 0;
            outlined
                .outline
                .running_at(text, offset + usize::from(is_behind))
        });
        let first = names.next()?;
        names.all(|name| name == first).then_some(first)
    }
}

/// Whether the engine made the name of those around the function, which has none.
fn is_guess(name: &str) -> bool {
    name.ends_with('<')
}

impl Name {
    /// Whether this is the name of a getter, a setter or a constructor, and `word` stands before its bracket. Engines put `get` or
    /// `set` before the name of a property, and a constructor has the name of its class. Babel's maps have the word.
    fn is_of_method(&self, word: &str) -> bool {
        let is_accessor = |name: &str| {
            let mut prefixes = ["get ", "set "].into_iter();
            prefixes.any(|prefix| name.strip_prefix(prefix) == Some(word))
        };
        word == "constructor" || matches!(self, Self::Of(name) if is_accessor(name))
    }

    fn shown(self) -> String {
        match self {
            Self::Of(name) => name,
            Self::AnonymousIn(outer) => format!("{outer}/<"),
            Self::Unknown => String::new(),
        }
    }
}

impl Section {
    /// The columns from the mapping to the place that belongs to it.
    pub(crate) fn columns_behind(&self, token: Token<'_>, place: Place) -> u32 {
        let (_, column) = self.in_section((place.line - 1, place.column - 1));
        column - token.get_dst_col()
    }
}

fn name_of_react_native<'a>(section: &'a Section, token: Token<'_>) -> Option<&'a str> {
    let DecodedMap::Hermes(map) = &section.map else {
        return None;
    };
    let name = map.get_scope_for_token(token)?;
    // The table has no more than the syntax of its builder knew. The text may have a name.
    let is_name = !name.is_empty() && name != "<global>" && name != "<anonymous>";
    is_name.then_some(name)
}
