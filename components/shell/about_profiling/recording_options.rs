/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What to record, as the query of `profiling:start` says.

use profile_recorder::{BrowserEventLoopId, EventLoops, Options, Wanted};

use super::query::Query;

/// The page of the recorder, which is left out of recordings unless it is asked for.
pub const OWN_PAGE: &str = "about:profiling";

/// Stands for no ids of event loops.
const NO_IDS: &str = "none";

/// `present` returns the event loops that exist now: all of them, or only those of documents.
pub fn recording_options(
    query: &mut Query,
    present: impl Fn(Present) -> EventLoops,
) -> Result<Options, String> {
    let interval = query
        .milliseconds("interval")?
        .ok_or_else(|| "interval is missing".to_owned())?;
    let event_loops = query.take("eventLoops").unwrap_or_else(|| "all".to_owned());
    let new_ones = query.flag("newOnes")?;
    // Naming the page's event loop by its id asks for it, too.
    let is_all_by_ids = !["all", "main"].contains(&&*event_loops) && new_ones != Some(true);
    let with_own_page = query.flag("ownPage")?.unwrap_or(is_all_by_ids);
    let event_loops = match (&*event_loops, new_ones) {
        ("all", None | Some(true)) => EventLoops::All,
        ("main", None | Some(true)) => EventLoops::Main,
        ("all", Some(false)) => present(Present::All),
        ("main", Some(false)) => present(Present::Main),
        (NO_IDS, new_ones) => EventLoops::These {
            ids: Vec::new(),
            new_ones: new_ones == Some(true),
        },
        (ids, new_ones) => EventLoops::These {
            ids: ids
                .split(',')
                .map(|id| {
                    id.parse::<BrowserEventLoopId>()
                        .map_err(|error| format!("eventLoops: {error}"))
                })
                .collect::<Result<_, _>>()?,
            new_ones: new_ones == Some(true),
        },
    };
    Ok(Options {
        interval,
        event_loops,
        kept: Wanted {
            max_samples: query.parse("maxSamples")?,
            keep_last: query.milliseconds("keepLast")?,
            long_tasks: query.milliseconds("longTasks")?,
            without_page: (!with_own_page).then_some(OWN_PAGE),
        },
        sources: query.flag("sources")?.unwrap_or_default(),
        linked_maps: query.flag("linkedMaps")?.unwrap_or(true),
    })
}

/// Which of the existing event loops to record.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Present {
    All,
    /// Only those of documents.
    Main,
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::*;

    #[test]
    fn maps_are_fetched_unless_the_person_says_otherwise() {
        for (query, linked_maps, sources) in [
            ("", true, false),
            ("&linkedMaps=0", false, false),
            ("&linkedMaps=1&sources=1", true, true),
            ("&linkedMaps=0&sources=1", false, true),
        ] {
            let url = Url::parse(&format!("profiling:start?interval=1{query}")).unwrap();
            let options = recording_options(&mut Query::of(&url), |_| EventLoops::All).unwrap();
            assert_eq!(
                (options.linked_maps, options.sources),
                (linked_maps, sources),
                "{query}"
            );
        }
    }

    #[test]
    fn new_event_loops_may_be_recorded_alone() {
        let event_loops = |query: &str| {
            let url = Url::parse(&format!("profiling:start?interval=1{query}")).unwrap();
            let options = recording_options(&mut Query::of(&url), |_| EventLoops::All);
            options.map(|options| options.event_loops)
        };
        for new_ones in [true, false] {
            assert_eq!(
                event_loops(&format!("&eventLoops=none&newOnes={}", u8::from(new_ones))),
                Ok(EventLoops::These {
                    ids: Vec::new(),
                    new_ones
                })
            );
        }
        assert!(event_loops("&eventLoops=").is_err());
        assert!(event_loops("&eventLoops=none,1.2").is_err());
    }

    #[test]
    fn its_own_page_is_recorded_only_if_it_is_asked_for() {
        for (query, is_recorded) in [
            ("", false),
            ("&eventLoops=main", false),
            ("&eventLoops=all&newOnes=0", false),
            ("&ownPage=1", true),
            ("&eventLoops=1.2", true),
            ("&eventLoops=1.2&ownPage=0", false),
            ("&eventLoops=1.2&newOnes=1", false),
            ("&eventLoops=1.2&newOnes=1&ownPage=1", true),
        ] {
            let url = Url::parse(&format!("profiling:start?interval=1{query}")).unwrap();
            let present = |_| EventLoops::All;
            let options = recording_options(&mut Query::of(&url), present).unwrap();
            let expected = (!is_recorded).then_some(OWN_PAGE);
            assert_eq!(options.kept.without_page, expected, "{query}");
        }
    }
}
