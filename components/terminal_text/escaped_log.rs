/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The log messages of crates that do not escape text for a terminal.

use log::{Log, Metadata, Record};

use crate::on_one_line;

/// Forwards records to another logger, each with its message escaped on one line.
pub struct EscapedLog<L>(pub L);

impl<L: Log> Log for EscapedLog<L> {
    fn enabled(&self, metadata: &Metadata) -> bool {
        self.0.enabled(metadata)
    }

    fn log(&self, record: &Record) {
        // Most records are not wanted, so they are not formatted.
        if !self.0.enabled(record.metadata()) {
            return;
        }
        let message = on_one_line(&record.args().to_string());
        self.0.log(
            &Record::builder()
                .metadata(record.metadata().clone())
                .module_path(record.module_path())
                .file(record.file())
                .line(record.line())
                .args(format_args!("{message}"))
                .build(),
        );
    }

    fn flush(&self) {
        self.0.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use log::Level;

    use super::*;

    /// Keeps warnings and errors.
    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);

    impl Log for Kept {
        fn enabled(&self, metadata: &Metadata) -> bool {
            metadata.level() <= Level::Warn
        }

        fn log(&self, record: &Record) {
            let line = format!("{} {}: {}", record.level(), record.target(), record.args());
            self.0.lock().unwrap().push(line);
        }

        fn flush(&self) {}
    }

    #[test]
    fn a_message_is_escaped_and_the_rest_of_a_record_stays() {
        let log = EscapedLog(Kept::default());
        let title = "x\n[ERROR] y\u{1b}[2J";
        for level in [Level::Error, Level::Info] {
            log.log(
                &Record::builder()
                    .level(level)
                    .target("net")
                    .args(format_args!("title {title}"))
                    .build(),
            );
        }
        assert_eq!(
            *log.0.0.lock().unwrap(),
            ["ERROR net: title x\\n[ERROR] y\\u{1b}[2J"]
        );
    }
}
