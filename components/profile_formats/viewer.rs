/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The viewer of recordings, `resources/about-profiling/`, composed into one document that loads nothing.
//!
//! In the folder it is a page with stylesheets and scripts beside it. A line of the page names each of them,
//! `<link rel="stylesheet" href="FILE">` or `<script src="FILE"></script>`, and is replaced by its text. The names of
//! functions and the URLs in a recording were chosen by the pages that were recorded. So the document has a policy
//! that lets only these scripts run, and nothing be loaded.

use std::io::Write;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::ser::Formatter;
use sha2::{Digest, Sha256};

use crate::error::WriteError;
use crate::recording::Recording;
use crate::viewer_data;

/// The element that holds the data.
pub const RECORDING_START: &str = r#"<script type="application/json" id="recording">"#;
pub const RECORDING_END: &str = "</script>";

/// The scheme of the server for about:profiling. A saved page has no such server.
const SERVER: &str = "profiling:";

// `PAGE`, the text of the page, and `RESOURCES`: the lines of it that name a file, each with the element that takes its
// place and the text of the file.
include!(concat!(env!("OUT_DIR"), "/viewer_resources.rs"));

/// The document in the pieces between which the token and the data are put.
struct Document {
    before_token: String,
    before_recording: String,
    end: String,
}

static DOCUMENT: LazyLock<Document> = LazyLock::new(Document::compose);

/// The viewer as one document: with a recording, which it shows at once, or with the token by which the server for
/// about:profiling recognises it.
pub fn viewer_page(recording: Option<&Recording>, token: Option<&str>) -> String {
    let mut page = Vec::new();
    let data = recording.map(viewer_data::data);
    write(data, token, &mut page).expect("nothing fails in memory");
    String::from_utf8(page).expect("only text is written")
}

/// Writes the viewer with the data of a recording.
pub fn write(
    data: Option<impl Serialize>,
    token: Option<&str>,
    mut writer: impl Write,
) -> Result<(), WriteError> {
    let document = &*DOCUMENT;
    writer.write_all(document.before_token.as_bytes())?;
    if let Some(token) = token {
        let token = attribute(token);
        writeln!(writer, r#"<meta name="profiling-token" content="{token}">"#)?;
    }
    writer.write_all(document.before_recording.as_bytes())?;
    if let Some(data) = data {
        writer.write_all(RECORDING_START.as_bytes())?;
        let mut serializer = serde_json::Serializer::with_formatter(&mut writer, InElement);
        data.serialize(&mut serializer)?;
        writeln!(writer, "{RECORDING_END}")?;
    }
    Ok(writer.write_all(document.end.as_bytes())?)
}

impl Document {
    fn compose() -> Self {
        let mut lines = PAGE.split_inclusive('\n').peekable();
        let mut before_token = String::new();
        // Browsers look for the encoding at the beginning.
        for line in lines.by_ref() {
            before_token += line;
            if line.trim_ascii_start().starts_with("<meta charset=") {
                break;
            }
        }
        before_token += &format!(
            "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n",
            attribute(&policy())
        );
        let mut before_recording = String::new();
        // The data are there when the first script runs.
        while let Some(line) = lines.next_if(|line| !resource(line).is_some_and(is_script)) {
            before_recording += &inlined(line);
        }
        Self {
            before_token,
            before_recording,
            end: lines.map(inlined).collect(),
        }
    }
}

/// A line of the page, or the text of the file that it names.
fn inlined(line: &str) -> String {
    match resource(line) {
        Some((_, element, text)) => format!("<{element}>{text}</{element}>\n"),
        None => line.to_owned(),
    }
}

fn resource(line: &str) -> Option<&'static (&'static str, &'static str, &'static str)> {
    let line = line.trim_ascii();
    RESOURCES.iter().find(|(other, ..)| *other == line)
}

fn is_script((_, element, _): &(&str, &str, &str)) -> bool {
    *element == "script"
}

/// <https://www.w3.org/TR/CSP3/>. Scripts are known by their digests; an attribute that a name had smuggled
/// into the document would not be run.
fn policy() -> String {
    let digests: String = RESOURCES
        .iter()
        .filter(|resource| is_script(resource))
        .map(|(.., text)| {
            let digest = BASE64.encode(Sha256::digest(text));
            format!(" 'sha256-{digest}'")
        })
        .collect();
    format!(
        "default-src 'none'; script-src{digests}; style-src 'unsafe-inline'; img-src blob: data:; \
         connect-src {SERVER}; base-uri 'none'; form-action 'none'"
    )
}

/// Text as the value of an attribute between double quotes.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

/// JSON as the text of a script element. A `<` could end the element, so it is escaped; in JSON it occurs only in
/// strings.
struct InElement;

impl Formatter for InElement {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> std::io::Result<()> {
        for (number, part) in fragment.split('<').enumerate() {
            if number > 0 {
                writer.write_all(br"\u003c")?;
            }
            writer.write_all(part.as_bytes())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::recording::EventLoop;

    #[test]
    fn the_page_names_all_files_of_the_list_and_no_others() {
        let named: Vec<_> = PAGE
            .lines()
            .map(str::trim_ascii)
            .filter(|line| resource(line).is_some())
            .collect();
        let listed: BTreeSet<_> = RESOURCES.iter().map(|(line, ..)| *line).collect();
        assert_eq!(named.iter().copied().collect::<BTreeSet<_>>(), listed);
        assert_eq!(named.len(), listed.len(), "a file is named twice");

        let page = viewer_page(None, None);
        for (line, _, text) in RESOURCES {
            assert!(page.contains(text), "{line}");
        }
        // In another form than the two that are put in place.
        let frame: String = PAGE
            .lines()
            .filter(|line| resource(line).is_none())
            .collect();
        for other in ["src=", "<link", "<script", "<style", "@import"] {
            assert!(!frame.contains(other), "about-profiling.html: {other}");
        }
    }

    #[test]
    fn no_file_can_end_its_element() {
        for (line, _, text) in RESOURCES {
            let text = text.to_ascii_lowercase();
            // <https://html.spec.whatwg.org/#restrictions-for-contents-of-script-elements>
            for part in ["</script", "<script", "<!--", "</style"] {
                assert!(!text.contains(part), "{line}: {part}");
            }
            // A browser replaces these when it reads the page, and then the digest would be wrong.
            assert!(!text.contains(['\r', '\0']), "{line}");
        }
    }

    #[test]
    fn a_token_and_data_stay_in_their_places() {
        let name = "</script><!-- <b>\u{2028}\\\"&";
        let recording = Recording::of_one(EventLoop::new(name, Default::default()), 1., None);
        let page = viewer_page(Some(&recording), Some("\"><b>&amp;"));
        assert!(page.contains(r#"<meta name="profiling-token" content="&quot;><b>&amp;amp;">"#));
        let (_, rest) = page.split_once(RECORDING_START).unwrap();
        let (data, _) = rest.split_once(RECORDING_END).unwrap();
        assert!(!data.contains('<'), "{data}");
        let read = viewer_data::read(data.as_bytes(), u64::MAX).unwrap();
        assert_eq!(read.event_loops().next().unwrap().name, name);

        let page = viewer_page(None, None);
        assert!(!page.contains(RECORDING_START));
        assert!(!page.contains(r#"<meta name="profiling-token""#));
    }

    #[test]
    fn the_encoding_is_said_first_and_the_policy_before_all_else() {
        let page = viewer_page(None, Some("a"));
        let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}"));
        let policy = at("<meta http-equiv=\"Content-Security-Policy\"");
        // <https://html.spec.whatwg.org/#charset>
        assert!(at("<meta charset=\"utf-8\">") < policy);
        assert!(policy < 1024);
        for element in ["<meta name", "<style", "<script", "<body"] {
            if let Some(element) = page.find(element) {
                assert!(policy < element);
            }
        }
    }

    #[test]
    fn every_script_has_its_digest_in_the_policy() {
        let page = viewer_page(None, None);
        let scripts = page.split("<script>").skip(1);
        let mut count = 0;
        for script in scripts {
            let text = script.split_once("</script>").unwrap().0;
            let digest = BASE64.encode(Sha256::digest(text));
            assert!(page.contains(&format!("'sha256-{digest}'")));
            count += 1;
        }
        let scripts = RESOURCES.iter().filter(|resource| is_script(resource));
        assert_eq!(count, scripts.count());
    }
}
