/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The map of a script, by its response header or by a comment.
//! <https://tc39.es/ecma426/#sec-linking-generated-code>

use data_url::DataUrl;
use url::Url;

use crate::bounds::MAX_MAP_BYTES;
use crate::notice::{Notice, quoted};

const NAME: &str = "sourceMappingURL=";

/// Where the map of a script is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Link {
    /// It is in the link itself, a `data:` URL. Its sources are relative to the script's URL.
    Inline(Vec<u8>),
    /// It is to be fetched. Its sources are relative to this URL, or to the one that it was redirected to.
    Url(Url),
}

impl Link {
    /// The map of a script, if it has one. `header` is the value of its response header `SourceMap`, or else of
    /// the older `X-SourceMap`; it has precedence over a comment in `text`. `script_url` may be the page's, where
    /// the script has none.
    pub fn of_script(
        script_url: &str,
        header: Option<&str>,
        text: Option<&str>,
    ) -> Result<Option<Self>, Notice> {
        let header = header.map(str::trim_ascii).filter(|link| !link.is_empty());
        let link = header.or_else(|| link_in_text(text?));
        link.map(|link| Self::resolve(link, script_url)).transpose()
    }

    /// The place of a map. `link` is relative to the URL of the script.
    pub fn resolve(link: &str, script_url: &str) -> Result<Self, Notice> {
        if has_data_scheme(link) {
            return inline(link).map_err(|why| Notice::new(script_url, why));
        }
        let base = Url::parse(script_url).ok();
        match Url::options().base_url(base.as_ref()).parse(link) {
            Ok(url) => Ok(Self::Url(url)),
            Err(error) => {
                let link = quoted(link);
                let why = format!("the URL of its source map, {link}, is not valid: {error}");
                Err(Notice::new(script_url, why))
            },
        }
    }
}

fn has_data_scheme(link: &str) -> bool {
    let scheme = link.split(':').next().unwrap_or_default();
    scheme.len() < link.len() && scheme.eq_ignore_ascii_case("data")
}

fn inline(link: &str) -> Result<Link, String> {
    // Base64 makes it a third longer, and percent-encoding three times as long.
    if link.len() as u64 > 3 * MAX_MAP_BYTES {
        return Err(format!(
            "its source map, in a data: URL, is longer than {MAX_MAP_BYTES} bytes"
        ));
    }
    let bad = |why: &str| format!("its source map, in a data: URL, cannot be decoded: {why}");
    let url = DataUrl::process(link).map_err(|_| bad("it has no comma"))?;
    match url.decode_to_vec() {
        Ok((content, _)) => Ok(Link::Inline(content)),
        Err(_) => Err(bad("it is not base64")),
    }
}

/// The link in the last comment of a script. It is JavaScriptExtractSourceMapURL without parsing, with the lines from
/// the last one on. <https://tc39.es/ecma426/#sec-JavaScriptExtractSourceMapURL>
///
/// The link may be empty, which resolves to the script itself.
pub fn link_in_text(text: &str) -> Option<&str> {
    let lines = text.rsplit(['\n', '\r', '\u{2028}', '\u{2029}']);
    for line in lines {
        match last_in_line(line) {
            Line::Comments(None) => {},
            Line::Comments(link) => return link,
            Line::Code => return None,
        }
    }
    None
}

/// What a line ends with.
enum Line<'a> {
    /// Comments with only white space after them, and the link in the last of them that has one.
    Comments(Option<&'a str>),
    /// Code without such a comment after it.
    Code,
}

fn last_in_line(line: &str) -> Line<'_> {
    let mut found = None;
    let mut has_code = false;
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(is_white_space);
        if let Some(comment) = rest.strip_prefix("//") {
            found = match_link(comment).or(found);
            break;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            let Some((comment, behind)) = comment.split_once("*/") else {
                break;
            };
            found = match_link(comment).or(found);
            rest = behind;
        } else if let Some(first) = rest.chars().next() {
            has_code = true;
            found = None;
            rest = &rest[first.len_utf8()..];
        } else {
            break;
        }
    }
    match found {
        None if has_code => Line::Code,
        found => Line::Comments(found),
    }
}

/// `^[@#]\s*sourceMappingURL=(\S*?)\s*$` <https://tc39.es/ecma426/#sec-MatchSourceMapURL>
fn match_link(comment: &str) -> Option<&str> {
    let comment = comment.strip_prefix(['@', '#'])?;
    let link = comment.trim_start_matches(is_white_space);
    let link = link.strip_prefix(NAME)?.trim_end_matches(is_white_space);
    (!link.contains(is_white_space)).then_some(link)
}

/// WhiteSpace of ECMA-262. Callers pass no line terminators.
fn is_white_space(character: char) -> bool {
    character.is_whitespace() || character == '\u{feff}'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_comment_links_if_no_code_is_behind_it() {
        for (text, link) in [
            ("", None),
            ("a()", None),
            ("a()\n//# sourceMappingURL=a.js.map", Some("a.js.map")),
            (
                "a()\n//# sourceMappingURL=a.js.map\n\n \t\n",
                Some("a.js.map"),
            ),
            ("a()\r\n//# sourceMappingURL=a.js.map\r\n", Some("a.js.map")),
            (
                "a()\u{2028}//@ sourceMappingURL=a.js.map\u{2029}",
                Some("a.js.map"),
            ),
            ("a() //# sourceMappingURL=a.js.map", Some("a.js.map")),
            ("a();/*# sourceMappingURL=a.js.map */", Some("a.js.map")),
            (
                "/*@\u{a0}sourceMappingURL=a.js.map*/ // end",
                Some("a.js.map"),
            ),
            (
                "//# sourceMappingURL=a.map\n//# sourceMappingURL=b.map",
                Some("b.map"),
            ),
            ("//# sourceMappingURL=a.map\n// the end", Some("a.map")),
            (
                "/*# sourceMappingURL=a.map */ /*# sourceMappingURL=b.map */",
                Some("b.map"),
            ),
            ("/*# sourceMappingURL=a.map */ a", None),
            ("//# sourceMappingURL=a.map\na()", None),
            // Other comments.
            ("// # sourceMappingURL=a.map", None),
            ("//# sourceMappingURL= a.map", None),
            ("//# sourceMappingURL=a b.map", None),
            ("//# sourceURL=a.js", None),
            ("/*# sourceMappingURL=a.map", None),
            ("//#sourceMappingURL=", Some("")),
            // Within text it is not looked for what the text is.
            ("`\n//# sourceMappingURL=a.map\n//`", Some("a.map")),
            ("a / 2 //# sourceMappingURL=ü😀.map", Some("ü😀.map")),
        ] {
            assert_eq!(link_in_text(text), link, "{text:?}");
        }
    }

    #[test]
    fn a_link_is_relative_to_the_script() {
        let script = "https://a.test/js/app.min.js?v=1#x";
        for (link, url) in [
            ("app.min.js.map", "https://a.test/js/app.min.js.map"),
            ("../maps/a.map?x", "https://a.test/maps/a.map?x"),
            ("/a.map", "https://a.test/a.map"),
            ("//b.test/a.map", "https://b.test/a.map"),
            ("http://b.test/a.map", "http://b.test/a.map"),
            ("ü.map", "https://a.test/js/%C3%BC.map"),
        ] {
            let url = Link::Url(Url::parse(url).unwrap());
            assert_eq!(Link::resolve(link, script), Ok(url), "{link}");
        }
        let notice = Link::resolve("a.map", "eval").unwrap_err();
        assert_eq!(
            notice.to_string(),
            "eval: the URL of its source map, \"a.map\", is not valid: relative URL without a base"
        );
        let notice = Link::resolve("https://[", script).unwrap_err();
        assert!(notice.why.contains("is not valid"), "{notice}");
    }

    #[test]
    fn the_header_has_precedence() {
        let url = |url| Ok(Some(Link::Url(Url::parse(url).unwrap())));
        let text = "//# sourceMappingURL=text.map";
        let of = |header, text| Link::of_script("https://a.test/a.js", header, text);
        assert_eq!(
            of(Some(" header.map "), Some(text)),
            url("https://a.test/header.map")
        );
        assert_eq!(of(Some(""), Some(text)), url("https://a.test/text.map"));
        assert_eq!(of(None, Some(text)), url("https://a.test/text.map"));
        assert_eq!(of(None, Some("a()")), Ok(None));
        assert_eq!(of(None, None), Ok(None));
    }

    #[test]
    fn a_data_url_is_decoded() {
        for link in [
            "data:application/json;base64,eyJhIjoi4oKsIn0=",
            "data:application/json;charset=utf-8;base64,eyJhIjoi4oKsIn0",
            "DATA:;base64,eyJhIjoi4oKsIn0=",
            "data:application/json,%7B%22a%22:%22%E2%82%AC%22%7D",
            "data:,{\"a\":\"€\"}",
        ] {
            let content = "{\"a\":\"€\"}".as_bytes().to_vec();
            assert_eq!(
                Link::resolve(link, "a.js"),
                Ok(Link::Inline(content)),
                "{link}"
            );
        }
        for (link, why) in [
            (
                "data:application/json;base64,e30*",
                "a.js: its source map, in a data: URL, cannot be decoded: it is not base64",
            ),
            (
                "data:application/json",
                "a.js: its source map, in a data: URL, cannot be decoded: it has no comma",
            ),
        ] {
            assert_eq!(Link::resolve(link, "a.js").unwrap_err().to_string(), why);
        }
    }
}
