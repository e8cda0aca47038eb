/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The state of the profiler as about:profiling shows it.

use profile_formats::RecordedBy;
use profile_recorder::{ProcessStatus, Progress, Recorder};
use serde::Serialize;

use super::recordings::Entry;

#[derive(Serialize)]
pub struct State {
    browser: RecordedBy,
    processes: Vec<ProcessStatus>,
    recording: Option<Progress>,
    /// Failures of the current or else the last recording, as sentences.
    failures: Vec<String>,
    /// What is missing from the last recording, as sentences.
    notices: Vec<String>,
    recordings: Vec<Entry>,
}

impl State {
    /// `map_notices` are about the source maps of the last recording.
    pub fn of(recorder: &Recorder, map_notices: Vec<String>, recordings: Vec<Entry>) -> Self {
        Self {
            browser: recorder.recorded_by().clone(),
            processes: recorder.status().processes,
            recording: recorder.progress(),
            failures: recorder.failures(),
            notices: [recorder.notices(), map_notices].concat(),
            recordings,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use profile_formats::{EventLoopKind, Program};
    use profile_recorder::{BrowserEventLoopId, EventLoopStatus, RecordedStatus, SessionStatus};

    use super::*;

    fn event_loop(number: u64, kind: EventLoopKind) -> EventLoopStatus {
        EventLoopStatus {
            id: BrowserEventLoopId {
                process: 4711,
                event_loop: number,
            },
            name: "n".to_owned(),
            kind,
            without_stacks: None,
            sessions: Vec::new(),
            recorded: None,
            memory: 1,
        }
    }

    /// The scripts of about:profiling read it.
    #[test]
    fn the_members_stay() {
        let page = EventLoopKind::Page {
            documents: vec!["https://a.test/".to_owned()],
        };
        let program = |name, version| Program::new(name, version).unwrap();
        let engines = vec![program("Servo", Some("0.7.0")), program("e", None)];
        let state = State {
            browser: RecordedBy::new(program("Strobe", Some("0.1.0")), engines).unwrap(),
            processes: vec![ProcessStatus {
                pid: 4711,
                name: "Web content".to_owned(),
                gone: false,
                event_loops: vec![
                    EventLoopStatus {
                        without_stacks: Some("Because.".to_owned()),
                        sessions: vec![SessionStatus {
                            interval: Duration::from_millis(10),
                            taken: 2,
                            missed: 3,
                            unwalkable: 4,
                            truncated: 5,
                            realm: "https://a.test/".to_owned(),
                        }],
                        recorded: Some(RecordedStatus {
                            interval: Duration::from_micros(1_500),
                            samples: 6,
                            missed: 7,
                            unwalkable: 8,
                            truncated: 9,
                        }),
                        ..event_loop(1, page)
                    },
                    event_loop(2, EventLoopKind::Worker),
                    event_loop(3, EventLoopKind::Unknown),
                ],
            }],
            recording: Some(Progress {
                elapsed: Duration::from_secs(2),
                interval: Duration::from_micros(1_500),
                samples: 10,
                missed: 11,
                unwalkable: 12,
                event_loops: 13,
                memory: 14,
                keep_last: Some(Duration::from_millis(2_500)),
                long_tasks: None,
            }),
            failures: vec!["f".to_owned()],
            notices: vec!["m".to_owned()],
            recordings: vec![Entry {
                id: "1".to_owned(),
                name: "Recording 1".to_owned(),
                samples: 15,
                event_loops: 16,
            }],
        };
        let expected = concat!(
            r#"{"browser":{"name":"Strobe","version":"0.1.0","engines":["#,
            r#"{"name":"Servo","version":"0.7.0"},{"name":"e","version":null}]},"#,
            r#""processes":[{"pid":4711,"name":"Web content","gone":false,"eventLoops":["#,
            r#"{"id":"4711.1","name":"n","kind":"page","documents":["https://a.test/"],"#,
            r#""withoutStacks":"Because.","sessions":[{"interval":10.0,"taken":2,"missed":3,"#,
            r#""unwalkable":4,"truncated":5,"realm":"https://a.test/"}],"recorded":{"#,
            r#""interval":1.5,"taken":6,"missed":7,"unwalkable":8,"truncated":9},"memory":1},"#,
            r#"{"id":"4711.2","name":"n","kind":"worker","documents":[],"withoutStacks":null,"#,
            r#""sessions":[],"recorded":null,"memory":1},"#,
            r#"{"id":"4711.3","name":"n","kind":"unknown","documents":[],"withoutStacks":null,"#,
            r#""sessions":[],"recorded":null,"memory":1}]}],"#,
            r#""recording":{"elapsed":2000.0,"interval":1.5,"samples":10,"missed":11,"#,
            r#""unwalkable":12,"eventLoops":13,"memory":14,"keepLast":2500.0,"longTasks":null},"#,
            r#""failures":["f"],"notices":["m"],"#,
            r#""recordings":[{"id":"1","name":"Recording 1","samples":15,"eventLoops":16}]}"#,
        );
        assert_eq!(serde_json::to_string(&state).unwrap(), expected);
    }
}
