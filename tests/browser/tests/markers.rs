/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Markers: what the browser was doing when a sample was taken, and which pages may know.

use std::collections::BTreeMap;

use browser_tests::{Marker, Sample, Site, Trace, alone, report};
use serde_json::Value;

/// More samples of each kind of work are enough: without its marker there would be none. It takes hundreds of ticks, but a busy
/// machine misses many.
const ENOUGH: usize = 10;

/// How many of the samples in a function that forces style or layout have such a marker, in percent. The rest is its
/// script.
const LEAST_FORCED: usize = 50;

/// How many of the samples in a function that is only script are marked as script or a collection, in percent. One at its
/// beginning may be marked otherwise.
const LEAST_SCRIPT: usize = 95;

/// The most samples of script while the page only awaits a frame some dozens of times. Most runs have none, of about
/// 500 samples.
const MOST_FOR_PROMISES: usize = 3;

/// A preference for people who trust the pages that they open.
const ALL_MARKERS: &str = "js_profiling_all_markers=true";

/// The page's traces of kinds of work.
fn traces(kinds: &[&str], preferences: &[&str]) -> BTreeMap<String, Trace> {
    let other = Site::plain().serve();
    let site = Site::allowing().serve();
    let frame = other.url("/markers-frame.html");
    let page = format!("/markers.html?kinds={}&other={frame}", kinds.join(","));
    let visit = preferences
        .iter()
        .fold(site.visit(&page), |visit, preference| {
            visit.preference(preference)
        });
    let Value::Object(result) = visit.run() else {
        panic!("no traces");
    };
    let traces: BTreeMap<_, _> = result
        .into_iter()
        .map(|(kind, trace)| (kind, Trace::read(&trace)))
        .collect();
    for (kind, trace) in &traces {
        let of_script = markers(trace, |sample| sample.stack_id.is_some());
        let others = markers(trace, |sample| sample.stack_id.is_none());
        report(&format!(
            "markers of {kind} {preferences:?}: {of_script:?} with a stack, {others:?} without"
        ));
    }
    traces
}

/// How many of the counted samples have each marker.
fn markers(trace: &Trace, is_counted: impl Fn(&Sample) -> bool) -> BTreeMap<Option<Marker>, usize> {
    let mut counts = BTreeMap::new();
    for sample in trace.samples.iter().filter(|sample| is_counted(sample)) {
        *counts.entry(sample.marker).or_default() += 1;
    }
    counts
}

fn is_in(trace: &Trace, sample: &Sample, function: &str) -> bool {
    trace.labels(sample).contains(&function)
}

/// Checks that at least this percentage of the samples has one of these markers.
fn assert_share(
    what: &str,
    counts: &BTreeMap<Option<Marker>, usize>,
    markers: &[Option<Marker>],
    least: usize,
) {
    let all: usize = counts.values().sum();
    let found: usize = markers.iter().filter_map(|marker| counts.get(marker)).sum();
    assert!(
        all > 0 && found * 100 >= all * least,
        "{what}: {found} of {all} samples have one of {markers:?}: {counts:?}"
    );
}

fn assert_only(trace: &Trace, allowed: &[Marker]) {
    let counts = markers(trace, |_| true);
    let mut found = counts.keys().flatten();
    assert!(found.all(|marker| allowed.contains(marker)), "{counts:?}");
}

#[test]
fn style_and_layout_are_marked_with_the_stack_of_the_script_that_forces_them() {
    let _alone = alone();
    use Marker::{Layout, Style};
    let traces = traces(&["style", "layout", "rendering", "script", "garbage"], &[]);
    for (kind, marker) in [("style", Style), ("layout", Layout)] {
        let trace = &traces[kind];
        let function = format!("force{marker:?}");
        let forced = markers(trace, |sample| is_in(trace, sample, &function));
        assert!(
            forced.get(&Some(marker)) > Some(&ENOUGH),
            "{kind}: {forced:?}"
        );
        // The function does little else.
        assert_share(kind, &forced, &[Some(Style), Some(Layout)], LEAST_FORCED);
        // The code around it is not marked.
        let around = markers(trace, |sample| trace.leaf(sample) == Some("repeat"));
        assert!(around.keys().all(Option::is_none), "{kind}: {around:?}");
        assert_only(trace, &[Style, Layout]);
    }
    // These samples have no script: the browser renders.
    let rendering = markers(&traces["rendering"], |sample| sample.stack_id.is_none());
    assert!(
        rendering.get(&Some(Layout)) > Some(&ENOUGH),
        "{rendering:?}"
    );
    assert!(rendering.contains_key(&Some(Style)), "{rendering:?}");
    assert_only(&traces["rendering"], &[Style, Layout]);
    // A page that is not cross-origin isolated may not see these markers.
    for (kind, function) in [("script", "spin"), ("garbage", "makeGarbage")] {
        let trace = &traces[kind];
        trace.assert_sampled(&[function]);
        let inside = markers(trace, |sample| is_in(trace, sample, function));
        assert!(inside.keys().all(Option::is_none), "{kind}: {inside:?}");
    }
}

#[test]
fn work_for_another_document_is_not_marked() {
    let _alone = alone();
    for preferences in [&[][..], &[ALL_MARKERS]] {
        let traces = traces(&["frame", "other"], preferences);
        let frame = &traces["frame"];
        for function in ["forceStyle", "forceLayout"] {
            let forced = markers(frame, |sample| {
                // The page's own function also runs at times.
                is_in(frame, sample, function) && sample.marker != Some(Marker::Script)
            });
            assert!(forced.get(&None) > Some(&ENOUGH), "{function}: {forced:?}");
            assert!(
                forced
                    .keys()
                    .all(|marker| matches!(marker, None | Some(Marker::Gc))),
                "{function}: {forced:?}"
            );
        }
        for (kind, trace) in &traces {
            let counts = markers(trace, |sample| sample.stack_id.is_none());
            assert!(counts.get(&None) > Some(&ENOUGH), "{kind}: {counts:?}");
            for marker in [Marker::Style, Marker::Layout, Marker::Paint] {
                assert!(!counts.contains_key(&Some(marker)), "{kind}: {counts:?}");
            }
            // The event loop calls built-ins of the page's own realm for its promises.
            let most = match (preferences, &**kind) {
                ([ALL_MARKERS], "frame") => MOST_FOR_PROMISES,
                _ => 0,
            };
            let script = counts.get(&Some(Marker::Script)).unwrap_or(&0);
            assert!(*script <= most, "{kind} {preferences:?}: {counts:?}");
            if preferences.is_empty() {
                assert_only(trace, &[]);
            }
        }
    }
}

#[test]
fn a_page_that_is_trusted_sees_all_markers() {
    let _alone = alone();
    let traces = traces(
        &[
            "style",
            "layout",
            "rendering",
            "script",
            "garbage",
            "messages",
            "idle",
        ],
        &[ALL_MARKERS],
    );
    let of = |kind: &str, function: &str| {
        let trace = &traces[kind];
        markers(trace, |sample| is_in(trace, sample, function))
    };
    let forced = of("style", "forceStyle");
    assert!(
        forced.get(&Some(Marker::Style)) > Some(&ENOUGH),
        "{forced:?}"
    );
    let forced = of("layout", "forceLayout");
    assert!(
        forced.get(&Some(Marker::Layout)) > Some(&ENOUGH),
        "{forced:?}"
    );
    let script = of("script", "spin");
    assert!(
        script.get(&Some(Marker::Script)) > Some(&ENOUGH),
        "{script:?}"
    );
    let of_script = [Some(Marker::Script), Some(Marker::Gc)];
    assert_share("script", &script, &of_script, LEAST_SCRIPT);
    let garbage = of("garbage", "makeGarbage");
    assert_share("garbage", &garbage, &of_script, LEAST_SCRIPT);
    for marker in [Marker::Script, Marker::Gc] {
        assert!(garbage.get(&Some(marker)) > Some(&ENOUGH), "{garbage:?}");
    }
    let rendering = markers(&traces["rendering"], |sample| sample.stack_id.is_none());
    for marker in [Marker::Layout, Marker::Paint] {
        assert!(
            rendering.contains_key(&Some(marker)),
            "{marker:?}: {rendering:?}"
        );
    }
    // The engine collects garbage without script on the stack.
    let messages = markers(&traces["messages"], |sample| sample.stack_id.is_none());
    assert!(messages.contains_key(&Some(Marker::Gc)), "{messages:?}");
    let idle = markers(&traces["idle"], |_| true);
    assert!(idle.get(&None) > Some(&ENOUGH), "{idle:?}");
    // A script begins and ends it. On a busy machine that takes longer.
    assert_share("idle", &idle, &[None], 75);
}

#[test]
fn parsing_is_other_work() {
    let _alone = alone();
    // The content is hidden, so that it is only parsed and not rendered.
    let mut page = "<!DOCTYPE html>
        <title>Much to parse</title>
        <script src=harness.js></script>
        <script src=markers-parsing.js></script>
        <div hidden>"
        .to_owned();
    page.extend((0..12_000).map(|i| format!("<p class=c{i}><b>Paragraph</b> <i>{i}</i>\n")));
    let site = Site::allowing().generated("/parsing.html", page).serve();
    let visit = site.visit("/parsing.html").preference(ALL_MARKERS);
    let trace = Trace::read(&visit.run());
    let counts = markers(&trace, |sample| sample.stack_id.is_none());
    report(&format!("markers of parsing: {counts:?}"));
    assert!(
        counts.get(&Some(Marker::Other)) > Some(&ENOUGH),
        "{counts:?}"
    );
    // The thread may also wait for more of the page.
    let mut working = counts;
    working.remove(&None);
    assert_share("parsing", &working, &[Some(Marker::Other)], 50);
}

#[test]
fn a_worker_has_no_style_and_no_layout() {
    let _alone = alone();
    let allow = "js_profiling_allow=true";
    let trace = &traces(&["worker"], &[allow])["worker"];
    trace.assert_sampled(&["spin", "makeGarbage"]);
    assert_only(trace, &[]);

    let trace = &traces(&["worker"], &[allow, ALL_MARKERS])["worker"];
    assert_only(trace, &[Marker::Script, Marker::Gc, Marker::Other]);
    let counts = markers(trace, |sample| sample.stack_id.is_some());
    for marker in [Marker::Script, Marker::Gc] {
        assert!(counts.get(&Some(marker)) > Some(&ENOUGH), "{counts:?}");
    }
}
