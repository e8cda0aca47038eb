/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The reports that `strobe report` and `strobe profile` print.

use profile_formats::{Notice, Outcome, Recording};
use profile_recorder::Progress;

use crate::saved_recording::SavedReport;

/// What `strobe report` prints. The error is one line that names the file that is wrong, and the place in it. `warn` is
/// called for each source map that is not used.
pub fn saved_report(wanted: &SavedReport, mut warn: impl FnMut(&Notice)) -> Result<String, String> {
    let mut files = Vec::new();
    for input in &wanted.inputs {
        files.push((input.name(), input.read(&mut warn)?));
    }
    let mut text = profile_formats::report_by(&files, wanted.by, wanted.top);
    if wanted.lines {
        text += &profile_formats::line_report_of(&files, wanted.top);
    }
    Ok(text)
}

/// The report on a recording that has just ended. `progress` is its last progress.
pub fn recording_report(recording: &Recording, progress: Option<&Progress>, top: usize) -> String {
    let outcome = progress.map(|progress| Outcome {
        elapsed: progress.elapsed,
        missed: progress.missed,
        unwalkable: progress.unwalkable,
    });
    profile_formats::report(recording, outcome, top)
}

#[cfg(test)]
mod tests {
    use profile_formats::By;

    use super::*;
    use crate::saved_recording::SavedRecording;

    #[test]
    fn the_report_of_a_file_is_that_of_its_recording() {
        let folder = tempfile::tempdir().unwrap();
        let report = |name: &str, event_loop| {
            let wanted = SavedReport {
                inputs: vec![SavedRecording {
                    file: folder.path().join(name),
                    format: None,
                    unit: None,
                    event_loop,
                    source_maps: Vec::new(),
                }],
                by: By::Function,
                top: 5,
                lines: false,
            };
            saved_report(&wanted, |notice| panic!("{notice}"))
        };
        std::fs::write(folder.path().join("a.folded"), "[a];f 2\n[b];g 1\n").unwrap();
        let text = report("a.folded", None).unwrap();
        assert!(
            text.contains("\n  66.7     66.7     2      2  f "),
            "{text}"
        );
        assert!(
            text.contains("\n  33.3     33.3     1      1  g "),
            "{text}"
        );
        let text = report("a.folded", Some(1)).unwrap();
        assert!(text.contains(" g ") && !text.contains(" f "), "{text}");
        let error = report("none", None).unwrap_err();
        assert!(
            error.contains("none: ") && error.contains("No such file"),
            "{error}"
        );
    }

    #[test]
    fn a_built_script_is_reported_by_its_sources() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.folded");
        std::fs::write(&file, "f (https://a.test/app.js:1:2) 3\n").unwrap();
        let map = r#"{"version":3,"sources":["src/a.ts"],"names":["alpha"],"mappings":"AAEAA"}"#;
        let wanted = SavedReport {
            inputs: vec![SavedRecording {
                file,
                format: None,
                unit: None,
                event_loop: None,
                source_maps: vec![folder.path().to_owned()],
            }],
            by: By::Function,
            top: 5,
            lines: false,
        };
        let report = || {
            let mut warnings = Vec::new();
            let text = saved_report(&wanted, |notice| warnings.push(notice.to_string()));
            (text.unwrap(), warnings)
        };
        let (text, warnings) = report();
        assert!(text.contains(" f         app.js:1:2\n"), "{text}");
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(
            warnings[0].contains("no source map of https://a.test/app.js"),
            "{warnings:?}"
        );

        std::fs::write(folder.path().join("app.js.map"), map).unwrap();
        let (text, warnings) = report();
        assert!(text.contains(" alpha     a.ts:3:1\n"), "{text}");
        assert_eq!(warnings.len(), 0, "{warnings:?}");
    }

    #[test]
    fn lines_are_reported_if_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.collapsed-lines");
        std::fs::write(&file, "f (https://a.test/b.js:3:14):5 6\n").unwrap();
        let report = |lines| {
            let input = SavedRecording {
                file: file.clone(),
                format: None,
                unit: None,
                event_loop: None,
                source_maps: Vec::new(),
            };
            let wanted = SavedReport {
                inputs: vec![input],
                by: By::Function,
                top: 3,
                lines,
            };
            saved_report(&wanted, |notice| panic!("{notice}")).unwrap()
        };
        let (with_lines, without) = (report(true), report(false));
        let lines = with_lines.strip_prefix(&without).expect("it begins alike");
        assert!(lines.contains(" b.js:5  "), "{with_lines}");
        assert!(!without.contains("samples  line"), "{without}");
    }

    #[test]
    fn several_files_are_added_up_and_each_has_its_event_loops() {
        let folder = tempfile::tempdir().unwrap();
        let inputs = [("a.folded", "f 2\n"), ("b.folded", "f 1\ng 1\n")].map(|(name, text)| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            SavedRecording {
                file,
                format: None,
                unit: None,
                event_loop: None,
                source_maps: Vec::new(),
            }
        });
        let wanted = SavedReport {
            inputs: inputs.into(),
            by: By::Function,
            top: 5,
            lines: false,
        };
        let text = saved_report(&wanted, |notice| panic!("{notice}")).unwrap();
        assert!(text.contains("\n      2  a.folded"), "{text}");
        assert!(text.contains("\n      2  b.folded"), "{text}");
        assert!(
            text.contains("\n  75.0     75.0     3      3  f "),
            "{text}"
        );
    }
}
