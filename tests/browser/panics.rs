/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Finds panics in the browser's output, and what a sanitizer reports. Each one fails the test, unless the test excuses it.

use std::process::Command;

use crate::report;

/// Each line about a panic contains one of these: see `components/shell/crash.rs` and Rust's default hook. So does the first
/// line of each report of a sanitizer, and of `tests/quarantine/`: see `python/strobe/asan.py`.
const SIGNS: [&str; 7] = [
    " strobe::crash] ",
    "strobe: internal error: ",
    "panicked at ",
    "ERROR: AddressSanitizer: ",
    "ERROR: LeakSanitizer: ",
    ": runtime error: ",
    "quarantine: block ",
];

/// A known panic that does not fail a test.
#[derive(Debug)]
pub struct KnownPanic {
    /// The panic's line contains all of these.
    pub parts: &'static [&'static str],
    /// Why it is not our failure.
    pub reason: &'static str,
    /// The only state in which it may come. The test excuses it when this state begins.
    pub state: &'static str,
    /// The maximum number in one run of the browser.
    pub most: usize,
}

/// The panics that a run of the browser may print.
#[derive(Default)]
pub(crate) struct Excused(Vec<Excuse>);

struct Excuse {
    known: &'static KnownPanic,
    /// The panic is not excused before this offset in the output.
    from: usize,
}

impl Excused {
    /// Excuses a panic from now on. `printed` is the output so far.
    pub(crate) fn add(&mut self, known: &'static KnownPanic, printed: &str) {
        self.0.push(Excuse {
            known,
            from: printed.len(),
        });
    }

    /// Panics if the output has a panic that is not excused. Otherwise prints how many were excused.
    pub(crate) fn check(&self, printed: &str) {
        match self.tell(printed) {
            Ok(told) => told.iter().for_each(|line| report(line)),
            Err(panics) => panic!(
                "a thread of the browser panicked, or a sanitizer found an error:\n{}\n--- the browser's output\n{printed}---",
                panics.join("\n")
            ),
        }
    }

    /// The lines to print about excused panics. The error has the lines of panics that are not excused.
    fn tell(&self, printed: &str) -> Result<Vec<String>, Vec<String>> {
        let mut counts = vec![0; self.0.len()];
        let mut wrong = Vec::new();
        let mut at = 0;
        for line in printed.split_inclusive('\n') {
            let start = at;
            at += line.len();
            if !SIGNS.iter().any(|sign| line.contains(sign)) {
                continue;
            }
            let excuse = self.0.iter().position(|excuse| {
                start >= excuse.from && excuse.known.parts.iter().all(|part| line.contains(part))
            });
            match excuse {
                Some(index) if counts[index] < self.0[index].known.most => counts[index] += 1,
                _ => wrong.push(line.trim_end().to_owned()),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong);
        }
        let counted = self.0.iter().zip(counts).filter(|(_, count)| *count > 0);
        Ok(counted
            .map(|(Excuse { known, .. }, count)| {
                format!(
                    "EXCUSED {count} of at most {} panics {:?}, {}: {}",
                    known.most, known.parts, known.state, known.reason
                )
            })
            .collect())
    }
}

/// Makes the browser log its panics in addition to what it is asked to log.
pub(crate) fn log_panics(command: &mut Command) {
    const VARIABLE: &str = "RUST_LOG";
    let asked = command
        .get_envs()
        .find(|(name, _)| *name == VARIABLE)
        .and_then(|(_, value)| value?.to_str().map(str::to_owned))
        // A filter for all browsers, from the environment of the tests.
        .or_else(|| std::env::var(VARIABLE).ok());
    command.env(VARIABLE, with_panics(asked.as_deref()));
}

fn with_panics(filter: Option<&str>) -> String {
    // Without a filter, errors are logged.
    let filter = filter.filter(|filter| !filter.is_empty());
    format!("{},strobe::crash=error", filter.unwrap_or("error"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: KnownPanic = KnownPanic {
        parts: &["Disconnected", "fetch.rs:"],
        reason: "what fetches has gone",
        state: "once the browser ends",
        most: 2,
    };
    const PANIC: &str =
        "[2026-01-31T12:00:00Z ERROR strobe::crash] Disconnected (thread a, fetch.rs:1:2)\n";

    #[test]
    fn every_kind_of_panic_fails() {
        for panic in [
            PANIC,
            "strobe: internal error: oh (thread main, a.rs:1:2)\n",
            "thread 'a' (123) panicked at a.rs:1:2:\n",
            // Without a line end, and after another process' output on the same line.
            "half a line[2026-01-31T12:00:00Z ERROR strobe::crash] oh",
            "==12==ERROR: AddressSanitizer: heap-use-after-free on address 0x1\n",
            "==12==ERROR: LeakSanitizer: detected memory leaks\n",
            "quarantine: block 0x1 of 24 bytes was freed twice; the first time:\n",
            "a.cpp:1:2: runtime error: signed integer overflow: 1 + 2\n",
        ] {
            let printed = format!("a line\n{panic}");
            let wrong = Excused::default().tell(&printed).unwrap_err();
            assert_eq!(wrong.len(), 1, "{printed}");
        }
        let printed = "[2026-01-31T12:00:00Z ERROR servo] no panic\n";
        assert_eq!(Excused::default().tell(printed), Ok(Vec::new()));
    }

    #[test]
    #[should_panic(
        expected = "a thread of the browser panicked, or a sanitizer found an error:\n[2026"
    )]
    fn a_panic_is_shown() {
        Excused::default().check(PANIC);
    }

    #[test]
    fn a_known_panic_is_excused_in_its_state_up_to_its_cap_and_counted() {
        let mut excused = Excused::default();
        excused.add(&KNOWN, "before\n");
        let two = format!("before\n{PANIC}{PANIC}");
        let told = excused.tell(&two).unwrap();
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("EXCUSED 2 of at most 2 "), "{told:?}");
        // There is one too many.
        assert_eq!(excused.tell(&format!("{two}{PANIC}")).unwrap_err().len(), 1);
        // It comes too early.
        assert!(excused.tell(PANIC).is_err());
        // It is another panic.
        let other = PANIC.replace("fetch.rs", "other.rs");
        assert_eq!(
            excused.tell(&format!("{two}{other}")),
            Err(vec![other.trim_end().to_owned()])
        );
    }

    #[test]
    fn no_filter_hides_panics() {
        assert_eq!(with_panics(None), "error,strobe::crash=error");
        assert_eq!(with_panics(Some("")), "error,strobe::crash=error");
        assert_eq!(with_panics(Some("off")), "off,strobe::crash=error");
        let mut command = Command::new("browser");
        command.env("RUST_LOG", "a=debug");
        log_panics(&mut command);
        let (_, value) = command.get_envs().next().unwrap();
        assert_eq!(value.unwrap(), "a=debug,strobe::crash=error");
    }
}
