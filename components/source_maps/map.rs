/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A map that was read, and what it says about places.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use sourcemap::{DecodedMap, Token};
use url::Url;

use crate::bounds::{
    MAX_ENTRIES, MAX_MAP_BYTES, MAX_MAPPINGS, MAX_ONE_URL_BYTES, MAX_OUTLINE_BYTES,
    MAX_OUTLINED_BYTES, MAX_SCOPES_BYTES, MAX_SECTIONS, MAX_URL_BYTES,
};
use crate::deadline::Deadline;
use crate::mappings;
use crate::notice::Notice;
use crate::outline::{Columns, Outline};
use crate::scopes::Scopes;

/// The beginning of a line that a server may put before a map. <https://tc39.es/ecma426/#sec-FetchSourceMap>
const PREFIX_LINE: &[u8] = b")]}'";
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// A place of a script, as the engine tells it: line and column begin with 1, and columns are in UTF-16.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

/// Where code was written. Line and column begin with 1, and columns are in UTF-16.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Original<'a> {
    pub source: Source<'a>,
    pub line: u32,
    pub column: u32,
    /// The name of the variable, function or property there.
    pub name: Option<&'a str>,
}

/// A file that code was written in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Source<'a> {
    /// Resolved against the map's URL; a path if there is no such URL. The same text for each place in it.
    pub url: &'a str,
    pub text: Option<&'a str>,
}

/// The map of a script. A look-up takes a time that grows with the logarithm of the number of mappings, so one map
/// can answer for all frames of a profile.
pub struct SourceMap {
    name: String,
    /// In the order of their beginnings.
    pub(crate) sections: Vec<Section>,
    outlined_bytes: AtomicUsize,
    notices: Vec<Notice>,
}

/// A part of a script with mappings of its own.
pub(crate) struct Section {
    /// Line and column of its beginning, from 0 on.
    start: (u32, u32),
    pub(crate) map: DecodedMap,
    sources: Vec<SourceEntry>,
    pub(crate) scopes: Scopes,
}

struct SourceEntry {
    /// `None` if the map does not name it.
    url: Option<Box<str>>,
    /// Whether functions are looked for in its text, by its name.
    is_script: bool,
    outline: OnceLock<Option<Box<Outlined>>>,
}

/// The functions of a source.
pub(crate) struct Outlined {
    pub(crate) outline: Outline,
    pub(crate) columns: Columns,
}

impl SourceMap {
    /// Reads a map. Its sources are relative to `base`, which is the URL of the map, or of the script if the map is in
    /// a `data:` URL. `name` is what a notice calls it: its URL or path, or that of the script. It is not read if `deadline`
    /// passes before it is done.
    pub fn read(
        content: &[u8],
        name: &str,
        base: Option<&Url>,
        deadline: &Deadline,
    ) -> Result<Self, Notice> {
        let reader = Reader {
            name,
            base,
            deadline,
        };
        reader.read(content).map_err(|why| Notice::new(name, why))
    }

    /// What a notice calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Parts of it that are not used.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Where the code at a place was written, if the map says so.
    pub fn original(&self, place: Place) -> Option<Original<'_>> {
        let (section, token) = self.token(place)?;
        section.original(token)
    }

    /// All sources with a name, in the order of the map. Those of an index map may be the same in several sections.
    pub fn sources(&self) -> impl Iterator<Item = Source<'_>> {
        self.sections.iter().flat_map(|section| {
            (0..section.sources.len() as u32).filter_map(|id| section.source(id))
        })
    }

    /// The section that a place is in, with its line and column there, from 0 on.
    pub(crate) fn section(&self, place: Place) -> Option<(&Section, (u32, u32))> {
        let section = &self.sections[self.index_of_section(place)?];
        Some((
            section,
            section.in_section((place.line - 1, place.column - 1)),
        ))
    }

    /// The index of the section that a place is in.
    pub(crate) fn index_of_section(&self, place: Place) -> Option<usize> {
        let place = (place.line.checked_sub(1)?, place.column.checked_sub(1)?);
        let behind = self
            .sections
            .partition_point(|section| section.start <= place);
        behind.checked_sub(1)
    }

    /// The indices of the sections that have a part of a line, which is counted from 1.
    pub(crate) fn sections_of_line(&self, line: u32) -> Range<usize> {
        let Some(line) = line.checked_sub(1) else {
            return 0..0;
        };
        let sections = &self.sections;
        let first = sections.partition_point(|section| section.start.0 < line);
        let behind = sections.partition_point(|section| section.start.0 <= line);
        // The one before may go on into the line.
        first.saturating_sub(1)..behind
    }

    /// The mapping that a place belongs to: the last one before it on its line.
    pub(crate) fn token(&self, place: Place) -> Option<(&Section, Token<'_>)> {
        let (section, (line, column)) = self.section(place)?;
        let token = section.decoded().lookup_token(line, column)?;
        (token.get_dst_line() == line).then_some((section, token))
    }

    pub(crate) fn outlined<'a>(
        &'a self,
        section: &'a Section,
        source: u32,
    ) -> Option<(&'a Outlined, &'a str)> {
        let entry = section.sources.get(source as usize)?;
        if !entry.is_script {
            return None;
        }
        let text = section.decoded().get_source_contents(source)?;
        let outlined = entry.outline.get_or_init(|| {
            let bytes = text.len().min(MAX_OUTLINED_BYTES);
            let all = self.outlined_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if text.len() > MAX_OUTLINE_BYTES || all > MAX_OUTLINED_BYTES {
                return None;
            }
            // A real source has eight bytes a line and sixteen bytes a function, or more. Others are not searched.
            Some(Box::new(Outlined {
                columns: Columns::of(text, text.len() / 8 + 1_000)?,
                outline: Outline::of(text, text.len() / 16 + 1_000),
            }))
        });
        Some((outlined.as_deref()?, text))
    }
}

impl fmt::Debug for SourceMap {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = formatter.debug_struct("SourceMap");
        shown.field("name", &self.name).finish_non_exhaustive()
    }
}

impl Section {
    pub(crate) fn decoded(&self) -> &sourcemap::SourceMap {
        match &self.map {
            DecodedMap::Regular(map) => map,
            DecodedMap::Hermes(map) => map,
            DecodedMap::Index(_) => unreachable!("sections are not given to the library"),
        }
    }

    /// A line of the script, from 0 on, counted from the beginning of the section.
    pub(crate) fn line_in_section(&self, line: u32) -> u32 {
        line - self.start.0
    }

    /// Line and column from 0 on, counted from the beginning of the section.
    pub(crate) fn in_section(&self, (line, column): (u32, u32)) -> (u32, u32) {
        let (first_line, first_column) = self.start;
        match line - first_line {
            0 => (0, column - first_column),
            line => (line, column),
        }
    }

    fn original<'a>(&'a self, token: Token<'a>) -> Option<Original<'a>> {
        let source = self.source(token.get_src_id())?;
        let (line, column) = token.get_src();
        Some(Original {
            source,
            line: line + 1,
            column: column + 1,
            name: token.get_name().filter(|name| !name.is_empty()),
        })
    }

    pub(crate) fn source(&self, id: u32) -> Option<Source<'_>> {
        let entry = self.sources.get(id as usize)?;
        Some(Source {
            url: entry.url.as_deref()?,
            text: self.decoded().get_source_contents(id),
        })
    }
}

/// The fields of a map, before anything is made of them. <https://tc39.es/ecma426/#sec-source-map-format>
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    version: Option<&'a RawValue>,
    #[serde(rename = "sourceRoot")]
    source_root: Option<String>,
    #[serde(borrow)]
    sources: Option<&'a RawValue>,
    #[serde(borrow, rename = "sourcesContent")]
    sources_content: Option<&'a RawValue>,
    #[serde(borrow)]
    names: Option<&'a RawValue>,
    #[serde(borrow)]
    mappings: Option<&'a RawValue>,
    scopes: Option<String>,
    #[serde(borrow)]
    x_facebook_sources: Option<&'a RawValue>,
    #[serde(borrow)]
    sections: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RawSection<'a> {
    offset: Offset,
    #[serde(borrow)]
    map: Option<&'a RawValue>,
    url: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Offset {
    line: u32,
    column: u32,
}

/// Whether a field is null or not there.
fn is_none(field: Option<&RawValue>) -> bool {
    field.is_none_or(|field| field.get() == "null")
}

struct Reader<'a> {
    name: &'a str,
    base: Option<&'a Url>,
    deadline: &'a Deadline,
}

impl Reader<'_> {
    /// ParseSourceMap <https://tc39.es/ecma426/#sec-ParseSourceMap>
    fn read(&self, content: &[u8]) -> Result<SourceMap, String> {
        if content.len() as u64 > MAX_MAP_BYTES {
            return Err(format!(
                "the source map has {} bytes; more than {MAX_MAP_BYTES} are not read",
                content.len()
            ));
        }
        let mut content = content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content);
        if content.starts_with(PREFIX_LINE) {
            let line_end = content
                .iter()
                .position(|byte| matches!(byte, b'\n' | b'\r'));
            content = &content[line_end.unwrap_or(content.len())..];
        }
        if content.trim_ascii().is_empty() {
            return Err("the source map is empty".to_owned());
        }
        self.deadline.check()?;
        let fields = read_fields(content)?;
        let mut map = SourceMap {
            name: self.name.to_owned(),
            sections: Vec::new(),
            outlined_bytes: AtomicUsize::new(0),
            notices: Vec::new(),
        };
        let Some(sections) = fields.sections else {
            self.push_section(&mut map, (0, 0), fields)?;
            return Ok(map);
        };
        self.read_sections(&mut map, &fields, sections)?;
        Ok(map)
    }

    /// DecodeIndexSourceMap <https://tc39.es/ecma426/#sec-DecodeIndexSourceMap>
    fn read_sections(
        &self,
        map: &mut SourceMap,
        fields: &Fields<'_>,
        sections: &RawValue,
    ) -> Result<(), String> {
        check_version(fields)?;
        let count = count(Some(sections), "sections")?;
        if count > MAX_SECTIONS {
            return Err(format!(
                "it has {count} sections; more than {MAX_SECTIONS} are not read"
            ));
        }
        let sections: Vec<RawSection<'_>> = serde_json::from_str(sections.get())
            .map_err(|error| format!("its sections are wrong: {error}"))?;
        let (mut mappings, mut sources, mut url_bytes) = (0, 0, 0);
        let mut last = None;
        for (index, section) in sections.into_iter().enumerate() {
            self.deadline.check()?;
            let bad = |why: &str| format!("its section {} {why}", index + 1);
            let start = (section.offset.line, section.offset.column);
            if last.is_some_and(|last| start < last) {
                return Err(bad("begins before the one before it"));
            }
            last = Some(start);
            let Some(raw) = section.map else {
                return Err(bad(match section.url {
                    Some(_) => "is in another file, which ECMA-426 has no more",
                    None => "has no map",
                }));
            };
            let fields = read_fields(raw.get().as_bytes())
                .map_err(|why| bad(&format!("is wrong: {why}")))?;
            if fields.sections.is_some() {
                return Err(bad("has sections itself"));
            }
            self.push_section(map, start, fields)
                .map_err(|why| bad(&format!("is wrong: {why}")))?;
            let section = map.sections.last().expect("it was pushed");
            mappings += section.decoded().get_token_count() as usize;
            sources += section.sources.len();
            let urls = section.sources.iter().filter_map(|one| one.url.as_deref());
            url_bytes += urls.map(str::len).sum::<usize>();
            if mappings > MAX_MAPPINGS || sources > MAX_ENTRIES {
                return Err(format!(
                    "it has more than {MAX_MAPPINGS} mappings or {MAX_ENTRIES} sources"
                ));
            }
            if url_bytes > MAX_URL_BYTES {
                return Err(too_long_urls());
            }
        }
        Ok(())
    }

    /// DecodeSourceMap <https://tc39.es/ecma426/#sec-DecodeSourceMap>
    fn push_section(
        &self,
        map: &mut SourceMap,
        start: (u32, u32),
        fields: Fields<'_>,
    ) -> Result<(), String> {
        check_version(&fields)?;
        if is_none(fields.mappings) {
            return Err("it has no mappings".to_owned());
        }
        if is_none(fields.sources) {
            return Err("it has no sources".to_owned());
        }
        let sources = count(fields.sources, "sources")?;
        let names = count(fields.names, "names")?;
        count(fields.sources_content, "sourcesContent")?;
        self.deadline.check()?;
        let mappings = text(fields.mappings, "mappings")?;
        let (mappings, wrong) = mappings::checked(mappings, sources, names)?;
        // In base64 there is nothing that JSON escapes.
        let corrected = (wrong > 0).then(|| format!("\"{mappings}\""));
        drop(mappings);

        let mut left_out = Vec::new();
        if wrong > 0 {
            left_out.push(format!(
                "{wrong} of its mappings are left out, for they refer to sources, lines or names that are not there"
            ));
        }
        let is_short = |field: &&RawValue| field.get().len() <= MAX_SCOPES_BYTES;
        let functions = fields.x_facebook_sources.filter(is_short);
        if functions.is_none() && fields.x_facebook_sources.is_some() {
            left_out.push(format!(
                "its x_facebook_sources are not read: they have more than {MAX_SCOPES_BYTES} bytes"
            ));
        }
        self.deadline.check()?;
        let functions = functions.filter(|one| one.get() != "null");
        let known = known_fields(&fields, corrected.as_deref(), functions);
        drop(corrected);
        let decoded = sourcemap::decode_slice(known.as_bytes())
            .map_err(|error| format!("it cannot be read: {error}"))?;
        drop(known);
        self.deadline.check()?;

        let scopes = match &fields.scopes {
            Some(scopes) if scopes.len() > MAX_SCOPES_BYTES => {
                Err(format!("they have more than {MAX_SCOPES_BYTES} bytes"))
            },
            Some(scopes) if !scopes.is_empty() => Scopes::decode(scopes, names),
            _ => Ok(Scopes::default()),
        };
        let scopes = scopes.unwrap_or_else(|why| {
            left_out.push(format!("its scopes are not read: {why}"));
            Scopes::default()
        });
        map.notices
            .extend(left_out.iter().map(|why| Notice::new(self.name, why)));
        let sources = self.sources(&fields)?;
        map.sections.push(Section {
            start,
            map: decoded,
            sources,
            scopes,
        });
        Ok(())
    }

    /// DecodeSourceMapSources <https://tc39.es/ecma426/#sec-DecodeSourceMapSources>
    fn sources(&self, fields: &Fields<'_>) -> Result<Vec<SourceEntry>, String> {
        let names: Vec<Option<String>> = table(fields.sources, "sources")?;
        let root = fields.source_root.as_deref().unwrap_or_default();
        let separator = if root.is_empty() || root.ends_with('/') {
            ""
        } else {
            "/"
        };
        let mut bytes = 0;
        let mut entries = Vec::with_capacity(names.len());
        for name in names {
            self.deadline.check()?;
            let is_script = name.as_deref().is_some_and(is_script);
            let url = name.map(|name| self.resolve(&format!("{root}{separator}{name}")));
            bytes += url.as_ref().map_or(0, String::len);
            if bytes > MAX_URL_BYTES {
                return Err(too_long_urls());
            }
            entries.push(SourceEntry {
                url: url.map(String::into_boxed_str),
                is_script,
                outline: OnceLock::new(),
            });
        }
        Ok(entries)
    }

    /// A text that is not a URL stays as it is.
    fn resolve(&self, source: &str) -> String {
        let source = cut(source, MAX_ONE_URL_BYTES);
        match Url::options().base_url(self.base).parse(&source) {
            Ok(url) => cut(url.as_str(), MAX_ONE_URL_BYTES).into_owned(),
            Err(_) => source.into_owned(),
        }
    }
}

/// Endings of files that hold JavaScript or TypeScript, if only in parts.
const SCRIPT_ENDINGS: [&str; 11] = [
    "astro", "cjs", "cts", "js", "jsx", "mjs", "mts", "svelte", "ts", "tsx", "vue",
];

/// Whether a source may have functions in its text, by its name.
fn is_script(source: &str) -> bool {
    // Bundlers add a query.
    let path = source.split(['?', '#']).next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    match name.rsplit_once('.') {
        Some((_, ending)) => SCRIPT_ENDINGS.contains(&ending.to_ascii_lowercase().as_str()),
        None => true,
    }
}

/// A text of at most `most` bytes. What is left out is marked.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    const MARK: char = '…';
    match text.len() <= most {
        true => Cow::Borrowed(text),
        false => {
            let end = text.floor_char_boundary(most - MARK.len_utf8());
            Cow::Owned(format!("{}{MARK}", &text[..end]))
        },
    }
}

fn read_fields(json: &[u8]) -> Result<Fields<'_>, String> {
    serde_json::from_slice(json).map_err(|error| format!("it is no source map: {error}"))
}

fn check_version(fields: &Fields<'_>) -> Result<(), String> {
    match fields.version.map(RawValue::get) {
        Some("3") => Ok(()),
        Some(version) => Err(format!(
            "its version is {}, and only version 3 is known",
            terminal_text::shortened(version, 20)
        )),
        None => Err("it has no version".to_owned()),
    }
}

/// The number of entries of a table.
fn count(field: Option<&RawValue>, what: &str) -> Result<usize, String> {
    let entries: Vec<IgnoredAny> = table(field, what)?;
    match entries.len() {
        count if count > MAX_ENTRIES => Err(format!(
            "it has {count} {what}; more than {MAX_ENTRIES} are not read"
        )),
        count => Ok(count),
    }
}

fn table<'a, T: Deserialize<'a>>(
    field: Option<&'a RawValue>,
    what: &str,
) -> Result<Vec<T>, String> {
    match field {
        Some(field) if field.get() != "null" => serde_json::from_str(field.get())
            .map_err(|error| format!("its {what} are wrong: {error}")),
        _ => Ok(Vec::new()),
    }
}

fn text<'a>(field: Option<&'a RawValue>, what: &str) -> Result<Cow<'a, str>, String> {
    let json = field.map_or("null", RawValue::get);
    if let Ok(text) = serde_json::from_str(json) {
        return Ok(Cow::Borrowed(text));
    }
    let text =
        serde_json::from_str(json).map_err(|error| format!("its {what} are wrong: {error}"))?;
    Ok(Cow::Owned(text))
}

/// The map with the fields that are read, and no others. The library keeps unknown fields in tables that are many times
/// as large as their text, and reads `rangeMappings` by an earlier draft.
///
/// `mappings` takes the place of those of the map.
fn known_fields(
    fields: &Fields<'_>,
    mappings: Option<&str>,
    functions: Option<&RawValue>,
) -> String {
    let known = [
        ("sources", fields.sources.map(RawValue::get)),
        ("sourcesContent", fields.sources_content.map(RawValue::get)),
        ("names", fields.names.map(RawValue::get)),
        ("mappings", mappings.or(fields.mappings.map(RawValue::get))),
        ("x_facebook_sources", functions.map(RawValue::get)),
    ];
    let mut json = "{\"version\":3".to_owned();
    for (name, value) in known {
        if let Some(value) = value {
            json.extend([",\"", name, "\":", value]);
        }
    }
    json.push('}');
    json
}

fn too_long_urls() -> String {
    format!("the URLs of its sources have more than {MAX_URL_BYTES} bytes")
}
