/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Several sessions, and how they end.

use browser_tests::{
    Display, Driver, Edges, Site, TIME_BOUND, Trace, alone, report, visit_allowed,
};
use serde_json::{Value, json};

#[test]
fn each_of_two_profilers_has_its_own_samples_and_frames() {
    let _alone = alone();
    let result = visit_allowed("/two-profilers.html");
    let start = result["start"].as_f64().unwrap();
    let end = result["end"].as_f64().unwrap();
    let often = Trace::read(&result["oftenTrace"]);
    let seldom = Trace::read(&result["seldomTrace"]);
    for trace in [&often, &seldom] {
        Edges::parse(
            "(root) > (anonymous)
            (anonymous) > early, shared, late
            early > work
            shared > work
            late > work",
        )
        .assert_hold(trace);
    }
    // The intervals are 5 and 20 ms, and each has ticks of its own. A busy machine misses more of the short ones, so their ratio
    // may be below four. Or it happens to miss more of the others: then their number is within five standard deviations of a
    // quarter.
    let times = |trace: &Trace| trace.samples_between(start, end).count();
    let [often_count, seldom_count] = [&often, &seldom].map(|trace| times(trace) as f64);
    let least = often_count / 4. - 5. * (often_count * 0.25 * 0.75).sqrt();
    assert!(
        often_count > seldom_count && seldom_count >= least,
        "{often_count} and {seldom_count} samples"
    );
    for label in ["early", "shared", "late"] {
        assert!(often.has_frame(label), "{label}");
    }
    // The profiler did not run while the other two functions did.
    assert!(seldom.has_frame("shared"));
    assert!(!seldom.has_frame("early") && !seldom.has_frame("late"));
    // The same functions have the same frames in both.
    assert_eq!(
        often.frame("shared").position(),
        seldom.frame("shared").position()
    );
}

#[test]
fn a_page_that_goes_away_leaves_nothing_to_the_next() {
    // One page is replaced before it has loaded. The other stays in the history.
    for path in ["/left-running.html", "/left-running.html?loaded"] {
        let trace = Trace::read(&visit_allowed(path));
        Edges::parse(
            "(root) > (anonymous)
            (anonymous) > secondPageWork, task
            secondPageWork > work
            task > (anonymous)",
        )
        .assert_hold(&trace);
        assert!(trace.has_frame("secondPageWork"));
        let first = |url: &String| url.ends_with("/left-running.js");
        assert!(!trace.resources.iter().any(first), "{:?}", trace.resources);
    }
}

#[test]
fn an_inactive_page_is_not_sampled_until_it_is_shown_again() {
    let _alone = alone();
    let result = visit_allowed("/inactive.html");
    let trace = Trace::read(&result["trace"]);
    let time = |name: &str| result[name].as_f64().unwrap();
    let (hidden, shown) = (time("hidden"), time("shown"));
    let before = trace.samples_between(0., hidden).count();
    let meanwhile = trace.samples_between(hidden, shown).count();
    let after = trace.samples_between(shown, f64::MAX).count();
    assert!(before > 0 && after > 0, "{before} before, {after} after");
    // The other page works for 200 ms. The sampling thread may hear a moment later that the page is hidden, and the page may see a
    // moment later that it is shown.
    assert!(meanwhile <= 20, "{meanwhile} samples of {before}, {after}");
    assert!(trace.has_frame("workBefore") && trace.has_frame("workAfter"));
}

#[test]
fn a_page_in_a_hidden_tab_is_not_sampled_until_it_is_shown_again() {
    /// A round is 5 ms of work.
    const ROUNDS: usize = 60;
    let _alone = alone();
    let site = Site::allowing().serve();
    let display = Display::start(800, 600);
    let driver = Driver::start_on(&display, &["--window-size=640x480"]);
    driver.open(&site.url("/hidden-tab.html"));
    let wait_for_rounds = || {
        let condition = format!("marks.at(-1).rounds >= {ROUNDS}");
        assert!(driver.becomes_true(&condition, TIME_BOUND), "{condition}");
    };
    let tab = driver.get("/window").unwrap();
    wait_for_rounds();
    // A session has its tab in front.
    driver.switch_to(&driver.new_tab());
    driver.open(&site.url("/driven.html"));
    driver.execute(&format!(
        "globalThis.channel = new BroadcastChannel('hidden-tab');
        channel.postMessage('hidden');
        return new Promise(resolve => {{
            channel.onmessage = ({{ data: {{ marks, rounds }} }}) => {{
                if (marks === 2 && rounds === {ROUNDS}) {{
                    channel.postMessage('still hidden');
                }} else if (marks === 3) {{
                    resolve();
                }}
            }};
        }});"
    ));
    driver.switch_to(&tab);
    driver.execute("mark();");
    wait_for_rounds();
    let result = driver.execute("return stop();");
    let marks = result["marks"].as_array().unwrap();
    let times: Vec<_> = marks
        .iter()
        .map(|mark| mark["time"].as_f64().unwrap())
        .collect();
    let trace = Trace::read(&result["trace"]);
    let worked = |from: f64, to: f64| {
        let samples = trace.samples_between(from, to);
        let of_work = samples.filter(|sample| trace.labels(sample).contains(&"workInTab"));
        of_work.count()
    };
    let [_, hidden, still_hidden, shown] = times[..] else {
        panic!("{times:?}");
    };
    let before = worked(0., hidden);
    let meanwhile = worked(hidden, still_hidden);
    let after = worked(shown, f64::MAX);
    report(&format!(
        "a tab that was hidden: {before} samples before, {meanwhile} meanwhile, {after} afterwards"
    ));
    assert!(before > 20 && after > 20, "{before} before, {after} after");
    // The sampling thread may hear a moment later that the tab is hidden.
    assert!(meanwhile <= 20, "{meanwhile} samples of {before}, {after}");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_page_that_loads_itself_again_with_a_running_profiler_can_profile_again() {
    let result = visit_allowed("/reloaded-running.html");
    assert_eq!(result["round"], 10);
    Trace::read(&result["trace"]).assert_sampled(&["work"]);
}

#[test]
fn a_page_may_close_with_its_profilers_running() {
    assert_eq!(visit_allowed("/closed-running.html"), false);
}

/// A page's script can remove a frame during any call, and still hold the frame's profilers.
#[test]
fn a_promise_for_the_trace_of_a_removed_frame_is_rejected() {
    let outcomes = visit_allowed("/removed-frame.html");
    let ways = outcomes.as_object().unwrap();
    assert_eq!(ways.len(), 8);
    let is_told = |outcome: &Value| outcome == "InvalidStateError";
    assert!(ways.values().all(is_told), "{outcomes:#}");
}

#[test]
fn starting_and_stopping_200_times_gives_200_traces() {
    let traces = visit_allowed("/two-hundred.html");
    let traces = traces.as_array().unwrap();
    assert_eq!(traces.len(), 200);
    let mut samples = 0;
    for trace in traces {
        let trace = Trace::read(trace);
        Edges::parse(
            "(root) > (anonymous)
            (anonymous) > some
            some > work",
        )
        .assert_hold(&trace);
        samples += trace.self_count("work");
    }
    assert!(samples > 0);
}

/// Servo holds back tasks of the performance timeline task source while there are others.
#[test]
fn a_page_that_always_has_other_tasks_gets_its_event_and_its_traces() {
    assert_eq!(visit_allowed("/flooded.html"), 3);
}

#[test]
fn the_sampling_thread_is_there_for_profilers_alone() {
    let site = Site::allowing().serve();
    let result = site
        .visit("/off.html")
        .at_checkpoints(|_, browser| browser.threads_named("JsSampler").into())
        .run();
    assert_eq!(result, json!({ "before": 0, "during": 1 }));
}

#[test]
fn the_sampling_thread_ends_with_the_last_event_loop_that_profiled() {
    let site = Site::allowing().serve();
    // A page with an opaque origin does not share its event loop with other pages.
    let scripts: String = ["/harness.js", "/wait-for-thread.js"]
        .map(|script| format!("<script src=\"{}\"></script>", site.url(script)))
        .concat();
    let mut profiled = false;
    let result = site
        .visit("/profile-and-close.html")
        .and(format!("data:text/html,{scripts}"))
        .at_checkpoints(|name, browser| -> Value {
            let threads = browser.threads_named("JsSampler");
            if name == "profiling" {
                assert_eq!(threads, 1);
                profiled = true;
            }
            json!({ "profiled": profiled, "threads": threads })
        })
        .run();
    assert_eq!(result, "ended");
}

/// The thread walks its own stack at times that are set in advance.
#[test]
fn walks_that_are_requested_ahead_serve_every_session_that_is_due() {
    let _alone = alone();
    let site = Site::allowing().serve();
    let driver = driver_of_kept_busy(&site);
    assert_eq!(driver.execute("return start(1);"), 0);
    assert_eq!(driver.execute("return start(3);"), 1);
    // Sessions start and stop while walks are requested.
    for session in 2..12 {
        driver.execute("return turned(40);");
        assert_eq!(driver.execute("return start(1);"), session);
        driver.execute("return turned(20);");
        let stopped = driver.execute(&format!("return stop({session});"));
        Trace::read(&stopped["trace"]).assert_sampled(&["seventy"]);
    }
    let [often, seldom] = [0, 1]
        .map(|session| Trace::read(&driver.execute(&format!("return stop({session});"))["trace"]));
    for trace in [&often, &seldom] {
        trace.assert_sampled(&["seventy"]);
        let times: Vec<_> = trace
            .samples
            .iter()
            .map(|sample| sample.timestamp)
            .collect();
        // Two walks on a busy machine may be so near that the coarsened clock says the same.
        assert!(times.is_sorted(), "{times:?}");
    }
    let often_times: Vec<_> = often
        .samples
        .iter()
        .map(|sample| sample.timestamp)
        .collect();
    let end = often_times.last().expect("there are samples");
    // The first sample is taken when the session starts, only for that session.
    for sample in &seldom.samples[1..] {
        // The other session is stopped a little later.
        assert!(
            sample.timestamp > *end || often_times.contains(&sample.timestamp),
            "only one has a sample at {}",
            sample.timestamp
        );
    }
    assert_many_are_timed(driver, often.samples.len());
}

#[test]
fn walks_are_requested_ahead_at_an_interval_of_10_ms_too() {
    let _alone = alone();
    let site = Site::allowing().serve();
    let driver = driver_of_kept_busy(&site);
    assert_eq!(driver.execute("return start(10);"), 0);
    driver.execute("return turned(100);");
    let trace = Trace::read(&driver.execute("return stop(0);")["trace"]);
    trace.assert_sampled(&["seventy"]);
    assert_many_are_timed(driver, trace.samples.len());
}

/// A browser that shows a busy page and logs what the sampler does.
fn driver_of_kept_busy(site: &Site) -> Driver {
    let driver = Driver::start_with(&[], &[("RUST_LOG", "js_profiler=debug")]);
    driver.open(&site.url("/kept-busy.html"));
    driver
}

/// Ends the browser. Panics unless the sampler says that timed walks made at least a tenth of the samples.
fn assert_many_are_timed(driver: Driver, samples: usize) {
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
    let (before, _) = console.split_once(" timed walks").expect("it is logged");
    let timed = before.rsplit(' ').next().expect("a number");
    assert!(
        timed.parse::<usize>().expect("a number") > samples / 10,
        "{timed} of {samples} samples",
    );
}
