/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The versions of Strobe and of what it is built on. The parts of this program say them, so they are those of the parts that
//! are in it.

use profile_formats::{Program, RecordedBy};
use profile_recorder::engine_version;
use servo::UserAgentPlatform;

/// This browser, as its recordings say.
pub fn browser() -> RecordedBy {
    of("Strobe")
}

/// What `strobe --version` prints: `strobe 0.1.0 (Servo 0.7.0, SpiderMonkey 153.6.0)`.
pub fn line() -> String {
    format!("{}\n", of("strobe"))
}

fn of(name: &str) -> RecordedBy {
    let program = |name, version| Program::new(name, version).expect("it has a name");
    let servo = servo_version();
    let engines = vec![
        program("Servo", servo.as_deref()),
        program("SpiderMonkey", engine_version()),
    ];
    let strobe = program(name, Some(env!("CARGO_PKG_VERSION")));
    RecordedBy::new(strobe, engines).expect("two engines are not too many")
}

/// Servo says its version in its user agent, and nowhere else. `None` if it does so no more.
fn servo_version() -> Option<String> {
    let user_agent = UserAgentPlatform::default().to_user_agent_string();
    let version = user_agent
        .split(' ')
        .find_map(|product| product.strip_prefix("Servo/"));
    version.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The version of a crate in the lock file that this program was built with.
    fn locked(name: &str) -> &'static str {
        const LOCK: &str = include_str!("../../Cargo.lock");
        let entry = format!("name = \"{name}\"\nversion = \"");
        let (_, rest) = LOCK.split_once(&entry).unwrap_or_else(|| panic!("{name}"));
        rest.split_once('"').unwrap().0
    }

    #[test]
    fn the_versions_are_those_of_the_crates_in_this_program() {
        // Behind the engine's version, its crate has a number of its own: 153.6.0-2.
        let engine = locked("mozjs_sys").split('-').next().unwrap();
        let versions = format!(
            "{} (Servo {}, SpiderMonkey {engine})",
            locked("strobe"),
            locked("servo")
        );
        assert_eq!(browser().to_string(), format!("Strobe {versions}"));
        assert_eq!(line(), format!("strobe {versions}\n"));
    }
}
