/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Each input is the query of `profiling:start`, without its question mark.

use fuzz_parts::{BrowserEventLoopId, EventLoops, Query, recording_options};
use url::Url;

/// The parameters that the server reads from the query.
const NAMES: [&str; 9] = [
    "interval",
    "eventLoops",
    "newOnes",
    "ownPage",
    "maxSamples",
    "keepLast",
    "longTasks",
    "sources",
    "linkedMaps",
];

pub fn profiling_query(input: &[u8]) -> bool {
    let text = String::from_utf8_lossy(input);
    let text = text.trim_end_matches('\n');
    let Ok(url) = Url::parse(&format!("profiling:start?{text}")) else {
        return false;
    };
    let none = |_| EventLoops::These {
        ids: Vec::new(),
        new_ones: false,
    };
    let mut query = Query::of(&url);
    match recording_options(&mut query, none) {
        Ok(options) => {
            assert!(!options.interval.is_zero());
            assert!(options.kept.keep_last.is_none_or(|kept| !kept.is_zero()));
            assert!(options.kept.long_tasks.is_none_or(|least| !least.is_zero()));
            if let EventLoops::These { ids, .. } = &options.event_loops {
                for id in ids {
                    assert_eq!(id.to_string().parse::<BrowserEventLoopId>(), Ok(*id));
                }
            }
            for name in NAMES {
                assert_eq!(query.take(name), None, "{name} is still there");
            }
            let rest: Vec<_> = url.query_pairs().map(|(name, _)| name).collect();
            let unknown = rest.iter().find(|name| !NAMES.contains(&&***name));
            match (query.end(), unknown) {
                (Ok(()), None) => true,
                (Err(message), Some(name)) => {
                    assert!(message.starts_with(&**name), "{message}");
                    false
                },
                (result, _) => panic!("{result:?} with {unknown:?}"),
            }
        },
        Err(message) => {
            let named = NAMES.iter().any(|name| message.starts_with(name));
            assert!(named, "it names no parameter: {message}");
            false
        },
    }
}
