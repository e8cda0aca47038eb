/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input has the messages of a content process to the browser's recorder, as they are on the channel.
//! Two bytes before each message give its length. The first byte of the input says what to keep.

use std::collections::BTreeMap;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::time::Duration;

use fuzz_parts::{Kept, Wanted, kind};
use ipc_channel::ipc::IpcMessage;
use js_profiler_traits::Room;
use js_profiler_traits::recording::Report;
use servo_base::cross_process_instant::CrossProcessInstant;

use crate::profiles::check_recording;

/// A sample at 0 is from before the recording began.
const START: i64 = 1_000_000;
/// A sample after this is from the future: about 146 years after the machine was started.
const NOW: i64 = 1 << 62;

pub fn reports(input: &[u8]) -> bool {
    let Some((&first, messages)) = input.split_first() else {
        return false;
    };
    let bit = |number: u8| first >> number & 1 == 1;
    let wanted = Wanted {
        max_samples: NonZeroU64::new(4).filter(|_| bit(0)),
        keep_last: bit(1).then_some(Duration::from_millis(2)),
        long_tasks: bit(2).then_some(Duration::from_millis(1)),
        without_page: None,
    };
    // So little that a few rows fill it, or enough for all.
    let room = Arc::new(Room::of(if bit(3) { 1024 } else { usize::MAX }));
    let (start, now) = (instant(START), instant(NOW));
    let mut event_loops: BTreeMap<u64, Kept> = BTreeMap::new();
    let mut is_accepted = !messages.is_empty();
    for message in split(messages) {
        // As in recorder.rs, nothing more is taken from a process that sends an invalid report or nonsense.
        let Ok(report) = IpcMessage::from_data(message.to_vec()).to::<Report>() else {
            is_accepted = false;
            break;
        };
        match report {
            Report::Chunk(chunk) => {
                let kept = event_loops
                    .entry(chunk.event_loop.0)
                    .or_insert_with(|| Kept::new(wanted, start, room.clone()));
                let result = kept.add(*chunk, now);
                check_kept(kept, wanted);
                if let Err(nonsense) = result {
                    assert!(!nonsense.to_string().is_empty());
                    is_accepted = false;
                    break;
                }
            },
            Report::Source {
                event_loop, source, ..
            } => {
                let Some(kept) = event_loops.get_mut(&event_loop.0) else {
                    is_accepted = false;
                    break;
                };
                let memory = kept.memory();
                let result = kept.add_source(*source);
                check_kept(kept, wanted);
                match result {
                    Ok(()) => assert!(kept.memory() > memory),
                    Err(nonsense) => {
                        assert!(!nonsense.to_string().is_empty());
                        is_accepted = false;
                        break;
                    },
                }
            },
            Report::Map {
                event_loop, map, ..
            } => {
                let Some(kept) = event_loops.get_mut(&event_loop.0) else {
                    is_accepted = false;
                    break;
                };
                let result = kept.add_map(*map);
                check_kept(kept, wanted);
                if let Err(nonsense) = result {
                    assert!(!nonsense.to_string().is_empty());
                    is_accepted = false;
                    break;
                }
            },
            Report::Failed { .. }
            | Report::Stopped(_)
            | Report::SourcesLeftOut { .. }
            | Report::PageAnswer { .. } => {},
            Report::Status { event_loops, .. } => {
                for event_loop in event_loops {
                    event_loop.description.label();
                    kind(event_loop.description);
                }
            },
        }
    }
    let newest = event_loops.values().map(Kept::last_time).fold(0., f64::max);
    for kept in event_loops.into_values() {
        // Accepted data is not lost, whatever came after it.
        let samples = kept.samples();
        let finished = kept.finish(newest).expect("only valid data is accepted");
        assert!(finished.weight() <= samples);
        assert!(
            wanted
                .max_samples
                .is_none_or(|max| finished.weight() <= max.get())
        );
        let mut recording = profile_formats::Recording::of_one(finished, 1., None);
        profile_formats::apply_own_maps(&mut recording, &profile_formats::Deadline::none());
        check_recording(&recording);
    }
    is_accepted
}

fn check_kept(kept: &Kept, wanted: Wanted) {
    assert!(kept.last_time() >= 0. && kept.last_time().is_finite());
    kept.memory();
    if let Some(max) = wanted.max_samples {
        // With long tasks there may be more samples until it is known whether they belong to one.
        assert!(wanted.long_tasks.is_some() || kept.samples() <= max.get());
    }
}

fn instant(nanoseconds: i64) -> CrossProcessInstant {
    CrossProcessInstant::epoch() + time::Duration::nanoseconds(nanoseconds)
}

/// Splits an input into messages. The last one may be cut off.
fn split(mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (length, behind) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length)).min(behind.len());
        let message;
        (message, rest) = behind.split_at(length);
        // Empty messages could go on for ever, so the first one ends the input.
        NonZeroUsize::new(length).map(|_| message)
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::{env, fs};

    use js_profiler_traits::recording::{
        Chunk, Description, EventLoopKind, EventLoopStatus, LeftOut, LinkedMap, MissedReason,
        PageAnswer, Realm, RecordedFrame, RecordedFunction, RecordedFunctionKind, RecordedMissed,
        RecordedPosition, RecordedSample, RecordedSource, RecordingId, SessionStatus,
    };
    use js_profiler_traits::{EventLoopId, Marker, SampleCounts, Stack};
    use servo_base::id::TEST_WEBVIEW_ID;

    use super::*;

    /// The first line of a.js is that of a.ts.
    const MAP: &str = r#"{"version":3,"sources":["a.ts"],"names":["f"],"mappings":"AAAAA"}"#;

    const MILLISECOND: i64 = 1_000_000;

    fn sample(time: i64, stack: Option<u32>, marker: Option<Marker>) -> RecordedSample {
        RecordedSample {
            time: instant(time),
            stack,
            marker,
        }
    }

    fn chunk() -> Chunk {
        Chunk {
            recording: RecordingId(1),
            event_loop: EventLoopId(7),
            description: None,
            new_tables: true,
            resources: vec!["a.js".to_owned()],
            realms: vec![Realm {
                url: "https://a.test/".to_owned(),
                origin: Some("https://a.test".to_owned()),
            }],
            functions: vec![RecordedFunction {
                name: "f".to_owned(),
                kind: RecordedFunctionKind::Script,
                resource: Some(0),
                line: Some(1),
                column: Some(2),
                realm: Some(0),
                source: Some(5),
            }],
            frames: vec![RecordedFrame {
                function: 0,
                position: Some(RecordedPosition::Source { line: 2, column: 3 }),
            }],
            stacks: vec![Stack {
                parent_id: None,
                frame_id: 0,
            }],
            missed: vec![RecordedMissed {
                start: instant(MILLISECOND),
                end: instant(2 * MILLISECOND),
                samples: 1,
                why: MissedReason::NoProcessor,
            }],
            samples: vec![
                sample(2 * MILLISECOND, Some(0), Some(Marker::Script)),
                sample(3 * MILLISECOND, None, None),
            ],
            counts: SampleCounts::default(),
        }
    }

    /// A later chunk, with only new data.
    fn more(samples: Vec<RecordedSample>) -> Chunk {
        Chunk {
            new_tables: false,
            resources: vec![],
            realms: vec![],
            functions: vec![],
            frames: vec![],
            stacks: vec![],
            missed: vec![],
            samples,
            ..chunk()
        }
    }

    fn chunks(chunks: impl IntoIterator<Item = Chunk>) -> Vec<Report> {
        let reports = chunks.into_iter().map(|chunk| Report::Chunk(chunk.into()));
        reports.collect()
    }

    /// The inputs of the corpus, each with its first byte.
    fn inputs() -> Vec<(&'static str, u8, Vec<Report>)> {
        let busy = |from: i64, to: i64| {
            let times = from..to;
            let samples = times.map(|time| sample(time * MILLISECOND, Some(0), Some(Marker::Gc)));
            more(samples.collect())
        };
        let described = Chunk {
            description: Some(Description {
                kind: EventLoopKind::Page,
                name: "main".to_owned(),
                urls: vec!["https://a.test/".to_owned()],
            }),
            ..chunk()
        };
        let status = Report::Status {
            number: 3,
            event_loops: vec![EventLoopStatus {
                id: EventLoopId(7),
                description: Description::default(),
                without_stacks: None,
                sessions: vec![SessionStatus {
                    interval: Duration::from_millis(10),
                    counts: SampleCounts::default(),
                    realm: None,
                }],
                memory: 9,
            }],
        };
        let source_with = |id, line, text: Option<&str>, link: &str| Report::Source {
            recording: RecordingId(1),
            event_loop: EventLoopId(7),
            source: Box::new(RecordedSource {
                id,
                name: "a.js".to_owned(),
                line,
                column: 1,
                text: text.map(str::to_owned),
                map_url: Some(link.to_owned()),
            }),
        };
        let source = |id, line| source_with(id, line, Some("f();"), "a.js.map");
        let map = |sources: &[u32], content: Result<&str, &str>| Report::Map {
            recording: RecordingId(1),
            event_loop: EventLoopId(7),
            map: Box::new(LinkedMap {
                sources: sources.to_vec(),
                url: "https://a.example/a.js.map".to_owned(),
                content: content.map(str::to_owned).map_err(str::to_owned),
            }),
        };
        let left_out = Report::SourcesLeftOut {
            recording: RecordingId(1),
            event_loop: EventLoopId(7),
            why: LeftOut::Gone,
            count: 1,
            names: vec!["b.js".to_owned()],
        };
        let answer = |http_error| Report::PageAnswer {
            recording: RecordingId(1),
            answer: PageAnswer {
                webview: TEST_WEBVIEW_ID,
                http_error,
            },
        };
        let with_sources = |sources: Vec<Report>| {
            let mut reports = chunks([chunk()]);
            reports.extend(sources);
            reports
        };
        let no_stack = more(vec![sample(4 * MILLISECOND, Some(9), None)]);
        let backwards = more(vec![sample(MILLISECOND, None, None)]);
        let too_early = more(vec![sample(0, None, None)]);
        let no_frame = Chunk {
            frames: vec![],
            ..chunk()
        };
        let idle = more(vec![sample(30 * MILLISECOND, None, None)]);
        let other = Chunk {
            event_loop: EventLoopId(u64::MAX),
            ..chunk()
        };
        let stretch = |start: i64, end: i64, samples, why| RecordedMissed {
            start: instant(start * MILLISECOND),
            end: instant(end * MILLISECOND),
            samples,
            why,
        };
        let missed = |missed: &[RecordedMissed]| Chunk {
            missed: missed.to_vec(),
            ..more(vec![])
        };
        let late = |start, end, samples| stretch(start, end, samples, MissedReason::SamplerLate);
        let two_reasons = Chunk {
            missed: vec![late(3, 8, 4), stretch(3, 8, 1, MissedReason::NotStopped)],
            ..busy(8, 10)
        };
        let to_the_end = missed(&[stretch(9, 12, 2, MissedReason::LongWalks)]);
        let gaps = || chunks([chunk(), two_reasons.clone(), to_the_end.clone()]);
        let missed_alone = |of: &[RecordedMissed]| chunks([chunk(), missed(of)]);
        vec![
            ("missed", 0, gaps()),
            ("missed-everything", 7, gaps()),
            ("missed-backwards", 0, missed_alone(&[late(9, 4, 1)])),
            (
                "missed-twice",
                0,
                missed_alone(&[late(3, 8, 1), late(4, 9, 1)]),
            ),
            ("missed-none", 0, missed_alone(&[late(3, 8, 0)])),
            ("missed-too-many", 0, missed_alone(&[late(3, 8, u32::MAX)])),
            ("all", 0, chunks([chunk(), busy(4, 9), described])),
            ("several", 0, chunks([chunk(), other])),
            ("bounded", 1, chunks([chunk(), busy(4, 12)])),
            ("last", 2, chunks([chunk(), busy(4, 12), idle.clone()])),
            ("last-bounded", 3, chunks([chunk(), busy(4, 12)])),
            ("long-tasks", 4, chunks([chunk(), busy(4, 9), idle.clone()])),
            ("everything", 7, chunks([chunk(), busy(4, 20), idle])),
            ("new-tables", 2, chunks([chunk(), busy(4, 6), chunk()])),
            ("no-tables", 0, chunks([busy(4, 5)])),
            ("no-stack", 0, chunks([chunk(), no_stack])),
            ("no-frame", 0, chunks([no_frame])),
            ("backwards", 0, chunks([chunk(), backwards])),
            ("too-early", 0, chunks([chunk(), too_early])),
            (
                "sources",
                0,
                with_sources(vec![source(5, 1), source(6, 9), left_out]),
            ),
            (
                "source-twice",
                0,
                with_sources(vec![source(5, 1), source(5, 1)]),
            ),
            (
                "links",
                0,
                with_sources(vec![
                    source_with(5, 1, None, "a.js.map"),
                    source_with(6, 9, None, "data:,%7B%7D"),
                    map(&[5], Ok(MAP)),
                ]),
            ),
            ("source-nowhere", 0, with_sources(vec![source(5, 0)])),
            ("source-first", 0, vec![source(5, 1)]),
            (
                "maps",
                0,
                with_sources(vec![
                    source(5, 1),
                    source(6, 9),
                    map(&[5, 7], Ok(MAP)),
                    map(&[5, 6], Err("it is gone")),
                ]),
            ),
            (
                "map-of-nothing",
                0,
                with_sources(vec![source(5, 1), map(&[], Ok(MAP))]),
            ),
            ("map-first", 0, vec![map(&[5], Ok(MAP))]),
            ("status", 0, vec![status, Report::Stopped(RecordingId(1))]),
            ("answers", 0, vec![answer(None), answer(Some(404))]),
        ]
    }

    fn encode(first: u8, reports: &[Report]) -> Vec<u8> {
        let mut input = vec![first];
        for report in reports {
            // ipc-channel encodes messages in the same way.
            let message = postcard::to_stdvec(report).unwrap();
            input.extend(u16::try_from(message.len()).unwrap().to_le_bytes());
            input.extend(message);
        }
        input
    }

    /// After a change of the messages, `UPDATE_GOLDEN=1` writes the corpus again.
    #[test]
    fn the_corpus_is_what_processes_send() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus/reports");
        for (name, first, reports) in inputs() {
            let input = encode(first, &reports);
            let file = folder.join(name);
            if env::var_os("UPDATE_GOLDEN").is_some() {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&file, &input).unwrap();
            }
            let kept = fs::read(&file).unwrap_or_default();
            assert_eq!(kept, input, "{name}: write it with UPDATE_GOLDEN=1");
        }
    }

    #[test]
    fn messages_are_read_one_after_another() {
        let input = [&[2, 0][..], b"ab", &[1, 0], b"c", &[9, 0], b"d"].concat();
        let messages: Vec<_> = split(&input).collect();
        assert_eq!(messages, [&b"ab"[..], b"c", b"d"]);
    }
}
