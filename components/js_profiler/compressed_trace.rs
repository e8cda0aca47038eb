/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The trace format "json-gzip" of the 2018 draft of <https://github.com/WICG/js-self-profiling>: the JSON
//! text of a trace, compressed with gzip (RFC 1952).

use std::io::{BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use js_profiler_traits::{Frame, Sample, Stack, Trace};
use serde::{Serialize, Serializer};
use servo_base::cross_process_instant::CrossProcessInstant;
use servo_base::threadpool::ThreadPool;

/// Writes the trace as JSON, compresses it, and passes the bytes to `on_compressed`. All of that happens on a
/// thread of Servo's pool, so neither the caller nor the sampling thread waits for it.
///
/// `timestamp` converts the time of a sample to what the page may know of it, in milliseconds.
pub fn compress(
    trace: Trace,
    timestamp: impl Fn(CrossProcessInstant) -> f64 + Send + 'static,
    on_compressed: impl FnOnce(Vec<u8>) + Send + 'static,
) {
    ThreadPool::global().spawn(move || {
        on_compressed(gzip_of(&Json::new(&trace, timestamp)));
    });
}

/// The encoder gets large buffers, because each call of it costs more than the few bytes that serde_json
/// writes at a time. Level 6, the default, takes twice as long as 4 and makes the text of a long trace only
/// 1 % smaller.
fn gzip_of(value: &impl Serialize) -> Vec<u8> {
    const BUFFER: usize = 64 * 1024;
    const IN_MEMORY: &str = "writing to memory does not fail";
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(4));
    let mut buffered = BufWriter::with_capacity(BUFFER, &mut encoder);
    serde_json::to_writer(&mut buffered, value)
        .expect("writing to memory does not fail, and a trace has no maps");
    buffered.flush().expect(IN_MEMORY);
    drop(buffered);
    encoder.finish().expect(IN_MEMORY)
}

/// The text that `JSON.stringify()` makes of the object that a page gets. The members are in the order in
/// which Web IDL converts those of a dictionary, and numbers are written as in JavaScript.
#[derive(Serialize)]
#[serde(bound = "")]
struct Json<'a, F>
where
    F: Fn(CrossProcessInstant) -> f64,
{
    frames: &'a [Frame],
    resources: &'a [String],
    samples: Samples<'a, F>,
    #[serde(serialize_with = "stacks")]
    stacks: &'a [Stack],
}

impl<'a, F> Json<'a, F>
where
    F: Fn(CrossProcessInstant) -> f64,
{
    fn new(trace: &'a Trace, timestamp: F) -> Self {
        Self {
            frames: &trace.frames,
            resources: &trace.resources,
            samples: Samples {
                samples: &trace.samples,
                timestamp,
            },
            stacks: &trace.stacks,
        }
    }
}

struct Samples<'a, F> {
    samples: &'a [Sample],
    timestamp: F,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonSample {
    #[serde(skip_serializing_if = "Option::is_none")]
    marker: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stack_id: Option<u32>,
    #[serde(serialize_with = "number")]
    timestamp: f64,
}

impl<F> Serialize for Samples<'_, F>
where
    F: Fn(CrossProcessInstant) -> f64,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.samples.iter().map(|sample| JsonSample {
            marker: sample.marker.map(|marker| marker.as_str()),
            stack_id: sample.stack_id(),
            timestamp: (self.timestamp)(sample.time),
        }))
    }
}

/// Writes whole milliseconds without a fraction. JavaScript and serde_json both write the fewest digits that
/// give the same number back. JavaScript uses no exponent below 10²¹, and milliseconds stay below that.
fn number<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if number.fract() == 0. {
        serializer.serialize_i64(*number as i64)
    } else {
        serializer.serialize_f64(*number)
    }
}

/// A [`Stack`]. That type is also sent between processes, where no member may be left out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct JsonStack {
    frame_id: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<u32>,
}

fn stacks<S: Serializer>(stacks: &[Stack], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(stacks.iter().map(|stack| JsonStack {
        frame_id: stack.frame_id,
        parent_id: stack.parent_id,
    }))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::thread;

    use flate2::read::GzDecoder;
    use js_profiler_traits::Marker;

    use super::*;

    fn trace(times: &[CrossProcessInstant]) -> Trace {
        let frame = |name: &str, resource_id, line, column| Frame {
            name: name.to_owned(),
            resource_id,
            line,
            column,
        };
        let stack = |parent_id, frame_id| Stack {
            parent_id,
            frame_id,
        };
        let sample = |index: usize, stack_id, marker| Sample::new(times[index], stack_id, marker);
        Trace {
            resources: vec!["https://a.example/ü.js?\"".to_owned()],
            frames: vec![
                frame("", Some(0), Some(1), Some(1)),
                frame("sort", None, None, None),
                frame("a\\b\"\n\u{1}\u{7f}\u{2028}ü𝒳", Some(0), Some(12), Some(34)),
            ],
            stacks: vec![stack(None, 0), stack(Some(0), 2), stack(Some(1), 1)],
            samples: vec![
                sample(0, None, None),
                sample(1, Some(0), Some(Marker::Layout)),
                sample(2, Some(2), None),
            ],
            ..Trace::default()
        }
    }

    /// The text that `JSON.stringify()` gives in a page for the same members.
    const GOLDEN: &str = concat!(
        r#"{"frames":[{"column":1,"line":1,"name":"","resourceId":0},{"name":"sort"},"#,
        r#"{"column":34,"line":12,"name":"a\\b\"\n\u0001"#,
        "\u{7f}\u{2028}ü𝒳",
        r#"","resourceId":0}],"resources":["https://a.example/ü.js?\""],"#,
        r#""samples":[{"timestamp":0},{"marker":"layout","stackId":0,"timestamp":0.01},"#,
        r#"{"stackId":2,"timestamp":123456789.12}],"#,
        r#""stacks":[{"frameId":0},{"frameId":2,"parentId":0},{"frameId":1,"parentId":1}]}"#,
    );

    /// Three different instants, and a clock that converts them to these milliseconds.
    fn clock() -> (
        [CrossProcessInstant; 3],
        impl Fn(CrossProcessInstant) -> f64 + Send,
    ) {
        let times = [(); 3].map(|()| {
            let time = CrossProcessInstant::now();
            while CrossProcessInstant::now() == time {
                thread::yield_now();
            }
            time
        });
        let timestamp = move |time| {
            let index = times.iter().position(|other| *other == time);
            [0., 0.01, 123_456_789.12][index.expect("a sample's time")]
        };
        (times, timestamp)
    }

    #[test]
    fn the_text_is_that_of_json_stringify() {
        let (times, timestamp) = clock();
        let trace = trace(&times);
        let text = serde_json::to_string(&Json::new(&trace, timestamp)).unwrap();
        assert_eq!(text, GOLDEN);
        let empty = Trace::default();
        assert_eq!(
            serde_json::to_string(&Json::new(&empty, |_| 0.)).unwrap(),
            r#"{"frames":[],"resources":[],"samples":[],"stacks":[]}"#
        );
    }

    #[test]
    fn the_bytes_are_one_gzip_member_made_on_another_thread() {
        let (times, timestamp) = clock();
        let trace = trace(&times);
        let (sender, receiver) = crossbeam_channel::bounded(1);
        compress(trace, timestamp, move |bytes| {
            sender.send((bytes, thread::current().id())).unwrap();
        });
        let (bytes, thread) = receiver.recv().unwrap();
        assert_ne!(thread, thread::current().id());
        let mut decoder = GzDecoder::new(&*bytes);
        let mut text = String::new();
        decoder.read_to_string(&mut text).unwrap();
        assert_eq!(text, GOLDEN);
        assert!(decoder.into_inner().is_empty());
    }
}
