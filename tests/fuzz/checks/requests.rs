/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is a message that asks a content process to record something.

use std::time::Duration;

use ipc_channel::ipc::IpcMessage;
use js_profiler_traits::EventLoopId;
use js_profiler_traits::preferences;
use js_profiler_traits::recording::{EventLoopKind, Request, recording_interval};

pub fn requests(input: &[u8]) -> bool {
    let Ok(request) = IpcMessage::from_data(input.to_vec()).to::<Request>() else {
        return false;
    };
    match request {
        Request::SetPreferences(assignments) => {
            for (name, value) in assignments {
                let before = preferences::all();
                match preferences::set(&name, &value) {
                    Ok(()) => assert!(preferences::all().iter().any(|(known, _)| *known == name)),
                    Err(message) => {
                        assert!(message.contains(&name), "{message}");
                        assert_eq!(preferences::all(), before, "a bad value changes something");
                    },
                }
            }
            for (name, value) in preferences::all() {
                assert_eq!(preferences::set(&name, &value), Ok(()), "{name}={value}");
            }
        },
        Request::Start(options) => {
            for base in [100, 1_000, 1_000_000].map(Duration::from_micros) {
                let interval = recording_interval(options.interval, base);
                assert!(interval >= base);
                assert!(interval <= options.interval.max(base));
                assert_eq!(interval.as_nanos() % base.as_nanos(), 0);
            }
            for kind in [EventLoopKind::Page, EventLoopKind::Worker] {
                options.event_loops.includes(EventLoopId(1), kind, true);
            }
        },
        Request::EndEventLoop { .. }
        | Request::Stop(_)
        | Request::Status { .. }
        | Request::EndSampling => {},
    }
    true
}
