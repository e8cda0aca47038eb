/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A line of NDJSON: the trace of a page in an envelope that says whose it is, or a profile alone.
//! `docs/compare.md` describes it.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use profile_formats::content;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::bounds::MAX_LABEL_BYTES;
use crate::labels::Labels;

/// The version of envelopes that is read.
const VERSION: u64 = 1;

/// An envelope's content.
#[derive(Debug)]
pub struct Envelope<'a> {
    /// Absent if the line does not say.
    pub session: Option<String>,
    pub labels: Labels,
    /// A profile in any format.
    pub profile: Cow<'a, [u8]>,
}

#[derive(Deserialize)]
struct Line<'a> {
    v: Option<u64>,
    session: Option<String>,
    release: Option<String>,
    page: Option<String>,
    labels: Option<Map<String, Value>>,
    #[serde(borrow)]
    trace: Option<&'a RawValue>,
}

/// Whether a line is an object that has a trace in it. Any other one is a profile, or none.
pub fn is_envelope(line: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Marks<'a> {
        #[serde(borrow)]
        trace: Option<&'a RawValue>,
    }
    serde_json::from_slice::<Marks<'_>>(line).is_ok_and(|marks| marks.trace.is_some())
}

impl<'a> Envelope<'a> {
    /// A profile alone, of which nothing is known.
    pub fn of_profile(profile: &'a [u8]) -> Self {
        Self {
            session: None,
            labels: Labels::default(),
            profile: Cow::Borrowed(profile),
        }
    }

    /// The error is a clause about the line.
    pub fn read(line: &'a [u8]) -> Result<Self, String> {
        // A profile may be in a format whose members are of other types.
        let read = match serde_json::from_slice::<Line<'_>>(line) {
            Ok(read) => read,
            Err(error) if is_envelope(line) => {
                return Err(format!("a member of the envelope is wrong: {error}"));
            },
            Err(_) => return Ok(Self::of_profile(line)),
        };
        let Some(trace) = read.trace else {
            return Ok(Self::of_profile(line));
        };
        match read.v {
            Some(VERSION) => {},
            Some(version) => {
                return Err(format!(
                    "v: {version} is not a version of envelopes that is known"
                ));
            },
            None => return Err("v: the envelope does not say its version".to_owned()),
        }
        let mut labels = Labels::default();
        for (name, value) in [("release", read.release), ("page", read.page)] {
            if let Some(value) = value {
                labels.set(name, &value);
            }
        }
        for (name, value) in read.labels.unwrap_or_default() {
            match value {
                Value::String(value) => labels.set(&name, &value),
                Value::Number(value) => labels.set(&name, &value.to_string()),
                Value::Bool(value) => labels.set(&name, &value.to_string()),
                Value::Null => {},
                Value::Array(_) | Value::Object(_) => {
                    return Err(format!("labels: the value of {name:?} is no text"));
                },
            }
        }
        let profile = match trace.get().starts_with('"') {
            true => Cow::Owned(decoded(trace.get())?),
            false => Cow::Borrowed(trace.get().as_bytes()),
        };
        let session = read.session.filter(|session| !session.is_empty());
        if let Some(session) = &session
            && session.len() > MAX_LABEL_BYTES
        {
            return Err(format!(
                "session: {} bytes, and {MAX_LABEL_BYTES} at most are kept",
                session.len()
            ));
        }
        Ok(Self {
            session,
            labels,
            profile,
        })
    }
}

/// The text whose gzip is in a text of JSON as base64.
fn decoded(text: &str) -> Result<Vec<u8>, String> {
    let text: Cow<'_, str> =
        serde_json::from_str(text).map_err(|error| format!("trace: {error}"))?;
    let gzip = STANDARD
        .decode(text.as_bytes())
        .map_err(|error| format!("trace: not base64: {error}"))?;
    content(MultiGzDecoder::new(&*gzip))
        .map_err(|error| format!("trace: not a gzip that can be read: {error}"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    const TRACE: &str = r#"{"frames":[],"resources":[],"samples":[],"stacks":[]}"#;

    fn labels(envelope: &Envelope<'_>) -> Vec<(String, String)> {
        envelope.labels.iter().cloned().collect()
    }

    #[test]
    fn an_envelope_says_whose_its_trace_is() {
        let line = format!(
            r#"{{"v":1,"session":"s1","release":"2.1","page":"/shop","labels":{{"browser":"strobe","build":7,"none":null}},"trace":{TRACE}}}"#
        );
        let envelope = Envelope::read(line.as_bytes()).unwrap();
        assert_eq!(envelope.session.as_deref(), Some("s1"));
        assert_eq!(&*envelope.profile, TRACE.as_bytes());
        let expected = [
            ("browser", "strobe"),
            ("build", "7"),
            ("page", "/shop"),
            ("release", "2.1"),
        ];
        assert_eq!(
            labels(&envelope),
            expected.map(|(a, b)| (a.to_owned(), b.to_owned()))
        );
    }

    #[test]
    fn a_trace_may_be_base64_of_its_gzip() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(TRACE.as_bytes()).unwrap();
        let text = STANDARD.encode(encoder.finish().unwrap());
        let line = format!(r#"{{"v":1,"trace":"{text}"}}"#);
        let envelope = Envelope::read(line.as_bytes()).unwrap();
        assert_eq!(&*envelope.profile, TRACE.as_bytes());
        assert_eq!(envelope.session, None);
    }

    #[test]
    fn a_line_without_a_trace_in_it_is_a_profile() {
        for line in [TRACE, r#"{"v":"x","nodes":[]}"#, "f 1"] {
            let envelope = Envelope::read(line.as_bytes()).unwrap();
            assert_eq!(&*envelope.profile, line.as_bytes());
        }
    }

    #[test]
    fn a_wrong_envelope_is_refused_with_the_member() {
        for (line, expected) in [
            (r#"{"trace":{}}"#, "v: the envelope does not say"),
            (r#"{"v":2,"trace":{}}"#, "v: 2 is not"),
            (
                r#"{"v":1,"session":7,"trace":{}}"#,
                "a member of the envelope is wrong",
            ),
            (
                r#"{"v":1,"labels":{"a":[]},"trace":{}}"#,
                "labels: the value of \"a\"",
            ),
            (r#"{"v":1,"trace":"%"}"#, "trace: not base64"),
            (
                r#"{"v":1,"trace":"AAAA"}"#,
                "trace: not a gzip that can be read",
            ),
        ] {
            let error = Envelope::read(line.as_bytes()).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
