/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The leak suite: every way in which code that a page may not see could appear in its trace.
//!
//! Each case runs such hidden code while it is sampled, and records when it ran. The test knows exactly which
//! frames the samples of that time may show: nothing of the hidden code, and everything of the page's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use browser_tests::{Frame, Sample, Site, SiteContent, Trace, Visit, report, repository};
use serde_json::Value;

/// The page in tests/pages/leaks that has the cases.
struct Group {
    page: &'static str,
    cases: &'static [Case],
}

pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The stacks while the case's code runs, from `visible` on. The first one must be seen, the others may be.
    /// `-` stands for no stack at all, built-ins are in brackets, and `name*3` is recursion.
    pub(crate) stacks: &'static [&'static str],
}

const fn case(name: &'static str, stacks: &'static [&'static str]) -> Case {
    Case { name, stacks }
}

/// A function of the page calls hidden functions.
const CALLED: &[&str] = &["visible"];
const CALLED_BY_ARROW: &[&str] = &["visible > (anonymous)"];
const CALLED_AGAIN_AND_AGAIN: &[&str] = &[
    "visible > (anonymous) > during > (anonymous)",
    "visible > (anonymous) > during",
    "visible > (anonymous) > during > [now]",
    "visible > (anonymous) > during > [get performance]",
];
/// The event loop calls hidden functions.
const NOTHING: &[&str] = &["-"];
/// Another event loop calls hidden functions. It may begin while the page is still busy starting it.
const NOTHING_BESIDE: &[&str] = &[
    "-",
    "(anonymous) > traced > (anonymous) > tell > [postMessage]",
    "(anonymous) > traced > (anonymous) > tell",
    "(anonymous) > traced > (anonymous)",
    "(anonymous) > traced",
    "(anonymous)",
];

const MUTED: Group = Group {
    page: "muted",
    cases: &[
        case("function", CALLED),
        case("arrow function", CALLED),
        case("method", CALLED_BY_ARROW),
        case("getter", CALLED_BY_ARROW),
        case("setter", CALLED_BY_ARROW),
        case("constructor", CALLED_BY_ARROW),
        case("class field", CALLED_BY_ARROW),
        case("private method", CALLED_BY_ARROW),
        case("static block", CALLED),
        case("base class", &["visible > (anonymous) > VisibleDerived"]),
        case("generator", &["visible > (anonymous) > [next]"]),
        case("generator in for-of", &["visible > (anonymous) > [next]"]),
        case(
            "delegating generator",
            &["visible > (anonymous) > [next] > visibleGenerator > [next]"],
        ),
        case("async function", NOTHING),
        case("async generator", NOTHING),
        case("bound function", CALLED),
        case("proxy get", CALLED_BY_ARROW),
        case("proxy has", CALLED_BY_ARROW),
        case("proxy apply", CALLED),
        case("tagged template", CALLED_BY_ARROW),
        case("default argument", CALLED_BY_ARROW),
        case("conversion", CALLED_BY_ARROW),
        // The page calls `toString`, which calls hidden code.
        case("string tag", &["visible > (anonymous) > [toString]"]),
        case("iteration", CALLED_BY_ARROW),
        case("instanceof", CALLED_BY_ARROW),
        case("thenable", NOTHING),
        case("await of a thenable", NOTHING),
        case("comparator", &["visible > (anonymous) > [sort]"]),
        case("replacer", &["visible > (anonymous) > [replace]"]),
        case("reviver", &["visible > (anonymous) > [parse]"]),
        case("toJSON", &["visible > (anonymous) > [stringify]"]),
        case("callback of map", &["visible > (anonymous) > [map]"]),
        case("Reflect.apply", &["visible > (anonymous) > [apply]"]),
        case(
            "event listener",
            &["visible > (anonymous) > [dispatchEvent]"],
        ),
        case("custom element", &["visible > (anonymous) > [append]"]),
        case("direct eval", CALLED),
        case("indirect eval", CALLED),
        case("eval with a source URL", CALLED),
        case("new Function", CALLED),
        case("new GeneratorFunction", &["visible > (anonymous) > [next]"]),
        case("text of a timer", NOTHING),
        case("wasm, called by the page", CALLED_AGAIN_AND_AGAIN),
        case("wasm, called by its script", CALLED_BY_ARROW),
        case("wasm that calls back", VISIBLE_CALLBACK),
        case("wasm that calls its script", CALLED_BY_ARROW),
        case("callback", VISIBLE_CALLBACK),
        case("callback by map", VISIBLE_CALLBACK),
        case("callback by sort", VISIBLE_COMPARE),
        case("callback by Reflect.apply", VISIBLE_CALLBACK),
        case(
            "hidden between hidden",
            &["visible > (anonymous)*2 > visibleCallback2"],
        ),
        case("throws", CALLED_BY_ARROW),
        case("catches", CALLED_BY_ARROW),
        case("finally", CALLED_BY_ARROW),
        case(
            "inlined into the page's",
            &[
                "visible > (anonymous) > during > visibleLoop",
                "visible > (anonymous) > during",
                "visible > (anonymous) > during > [now]",
                "visible > (anonymous) > during > [get performance]",
            ],
        ),
        case(
            "the page's inlined into it",
            &[
                "visible > (anonymous)*2 > visibleSmall",
                "visible > (anonymous)*2",
                "visible > (anonymous)",
            ],
        ),
        case("depth", CALLED_BY_ARROW),
        case("depth below a callback", VISIBLE_CALLBACK),
        case("more depth than is walked", VISIBLE_CALLBACK),
        case("depth on top of the page's", ON_TOP_OF_DEPTH),
        case(
            "more depth than is walked, on top of the page's",
            ON_TOP_OF_DEPTH,
        ),
        case("depth, with built-ins in between", VISIBLE_CALLBACK),
        case("long name", CALLED),
        case("depths", CALLED_BY_ARROW),
        case("built-in: sort", CALLED_BY_ARROW),
        case("built-in: parse", CALLED_BY_ARROW),
        case("built-in: stringify", CALLED_BY_ARROW),
        case("built-in: replace", CALLED_BY_ARROW),
        case("built-in: exec", CALLED_BY_ARROW),
        case("built-in: map", CALLED_BY_ARROW),
        case("built-in: dom", CALLED_BY_ARROW),
        case("built-in: now", CALLED_BY_ARROW),
        case("task: timer", NOTHING),
        case("task: microtask", NOTHING),
        case("task: reaction", NOTHING),
        case("task: message", NOTHING),
        case("task: frame", NOTHING),
        case("task: mutation", NOTHING),
    ],
};

/// Hidden frames do not use up the depth of the page's own frames.
const ON_TOP_OF_DEPTH: &[&str] = &["visible > (anonymous) > visibleRecursion*301 > (anonymous)"];
/// A function of the page that hidden code calls.
const VISIBLE_CALLBACK: &[&str] = &[
    "visible > (anonymous) > visibleCallback > visibleSpin > during > visibleStep",
    "visible > (anonymous) > visibleCallback > visibleSpin > during",
    "visible > (anonymous) > visibleCallback > visibleSpin > during > [now]",
    "visible > (anonymous) > visibleCallback > visibleSpin > during > [get performance]",
];
const VISIBLE_COMPARE: &[&str] = &[
    "visible > (anonymous) > visibleCompare > visibleSpin > during > visibleStep",
    "visible > (anonymous) > visibleCompare > visibleSpin > during",
    "visible > (anonymous) > visibleCompare > visibleSpin > during > [now]",
    "visible > (anonymous) > visibleCompare > visibleSpin > during > [get performance]",
];
/// The page calls the built-in itself, through a function of another realm.
const VISIBLE_COMPARE_BY_CALL: &[&str] = &[
    "visible > (anonymous) > [call] > visibleCompare > visibleSpin > during > visibleStep",
    "visible > (anonymous) > [call] > visibleCompare > visibleSpin > during",
    "visible > (anonymous) > [call] > visibleCompare > visibleSpin > during > [now]",
    "visible > (anonymous) > [call] > visibleCompare > visibleSpin > during > [get performance]",
];

const LOADS: Group = Group {
    page: "loads",
    cases: &[
        case("script", CALLED),
        case("async script", CALLED),
        case("ordered script", CALLED),
        case("script of a fragment", CALLED),
        case("redirect from the page's origin", CALLED),
        case("redirect to the page's origin", CALLED),
        case("redirect there and back", CALLED),
        case("preload", CALLED),
        case("preload with CORS", CALLED),
        case("after the same with CORS", CALLED),
        case("wasm", CALLED_AGAIN_AND_AGAIN),
        case("wasm, after the same with CORS", CALLED_AGAIN_AND_AGAIN),
        case(
            "wasm, after the page's own of a URL with the same hash",
            CALLED_AGAIN_AND_AGAIN,
        ),
        case("CORS header, but no CORS request", CALLED),
        case("source URL", CALLED),
        case("source map", CALLED),
        case("top level", NOTHING),
        case("script of a muted script", CALLED),
        case(
            "page's script, loaded by a muted one",
            &["visible > visibleLoaded"],
        ),
        case(
            "handler of a muted script",
            &["visible > (anonymous) > [click] > onclick"],
        ),
        case("javascript: URL of a muted script", &["(script)"]),
        case("blob: script that calls it", &["visible > visibleBlob"]),
        case("data: script that calls it", &["visible > visibleData"]),
        case(
            "module that calls it, imported statically",
            &["visible > sharedCall"],
        ),
        case(
            "module that calls it, imported dynamically",
            &["visible > sharedCall"],
        ),
        case(
            "module that calls it, redirected",
            &["visible > sharedCall"],
        ),
        case(
            "module that calls it, imported by a muted script",
            &["visible > sharedCall"],
        ),
    ],
};

const REALMS: Group = Group {
    page: "realms",
    cases: &[
        case("function", CALLED),
        case("arrow function", CALLED),
        case("getter", CALLED_BY_ARROW),
        case("constructor", CALLED_BY_ARROW),
        case("base class", &["visible > (anonymous) > VisibleDerived"]),
        case("generator", CALLED_BY_ARROW),
        case("async function", NOTHING),
        case("bound function", CALLED),
        case("function bound by the page", CALLED),
        case("proxy", CALLED_BY_ARROW),
        case("page's proxy", CALLED_BY_ARROW),
        case("eval", CALLED_BY_ARROW),
        case("Function", CALLED),
        case("comparator", &["visible > (anonymous) > [sort]"]),
        case(
            "event listener",
            &["visible > (anonymous) > [dispatchEvent]"],
        ),
        case("wasm", CALLED_BY_ARROW),
        case("built-ins", CALLED_BY_ARROW),
        case("depth", CALLED_BY_ARROW),
        case("depth below a callback", VISIBLE_CALLBACK),
        case("depth on top of the page's", ON_TOP_OF_DEPTH),
        case("more depth than is walked", VISIBLE_CALLBACK),
        case(
            "more depth than is walked, on top of the page's",
            ON_TOP_OF_DEPTH,
        ),
        case("throws", CALLED_BY_ARROW),
        case("callback", VISIBLE_CALLBACK),
        case(
            "its built-in",
            &[
                "visible > (anonymous) > during > (anonymous)",
                "visible > (anonymous) > during",
                "visible > (anonymous) > during > [now]",
                "visible > (anonymous) > during > [get performance]",
            ],
        ),
        case(
            "its built-in with the page's callback",
            VISIBLE_COMPARE_BY_CALL,
        ),
        case("timer", NOTHING),
        case("reaction", NOTHING),
        case("page's timer", NOTHING),
        case("frame that was removed", CALLED),
        case("frame that was navigated", CALLED),
        case("srcdoc", CALLED),
        case("about:blank", CALLED),
        case("blob: frame", CALLED),
        case("frame of another origin", NOTHING),
        case("frame of another origin, in a reaction", NOTHING),
        case("frame of another origin, in built-ins", NOTHING),
        case(
            "frame of another origin, thousands of new functions",
            NOTHING,
        ),
        case("sandboxed frame", NOTHING_BESIDE),
        case("data: frame", NOTHING_BESIDE),
        case("nested frames", NOTHING),
        case("parent of the frame that profiles", CALLED),
        case("refused: a frame of another origin", REFUSED),
        case("refused: a sandboxed frame of another origin", REFUSED),
        case("refused: a frame in a frame of another origin", REFUSED),
        case("document.domain", CALLED),
    ],
};

/// The answer of a frame that may not profile.
const REFUSED: &[&str] = &["NotAllowedError"];

const WORKERS: Group = Group {
    page: "workers",
    cases: &[
        case("importScripts", CALLED_BY_ARROW),
        case("importScripts, redirected", CALLED_BY_ARROW),
        case(
            "importScripts, redirected to the worker's origin",
            CALLED_BY_ARROW,
        ),
        case("importScripts with a CORS header", CALLED_BY_ARROW),
        case("importScripts with a source URL", CALLED_BY_ARROW),
        case("importScripts, built-ins", CALLED_BY_ARROW),
        case("importScripts, eval", CALLED_BY_ARROW),
        case("importScripts, new Function", CALLED_BY_ARROW),
        case(
            "importScripts, callback",
            &[
                "visible > (anonymous) > visibleCallback",
                "visible > (anonymous) > visibleCallback > [now]",
                "visible > (anonymous) > visibleCallback > [get performance]",
            ],
        ),
        case("importScripts, timer", NOTHING),
        case("blob: worker", CALLED_BY_ARROW),
        case("data: worker", CALLED_BY_ARROW),
        case(
            "data: worker and a script of its creator's",
            CALLED_BY_ARROW,
        ),
        case("nested worker", CALLED_BY_ARROW),
        case("shared worker", CALLED_BY_ARROW),
        case("service worker", CALLED_BY_ARROW),
        case("worker beside the page", NOTHING),
        case("nested worker beside the page", NOTHING),
    ],
};

const OUTLETS: Group = Group {
    page: "outlets",
    cases: &[
        case("the object", CALLED),
        case("json-gzip", CALLED),
        case("JSON.stringify", CALLED),
        case("structured clone", CALLED),
        case("entry of the timeline", CALLED),
        case("json-gzip in the timeline", CALLED),
        case("observer", CALLED),
        case("full buffer", CALLED),
        case("profile()", CALLED),
        case("one of two profilers", CALLED),
        case(
            "profiler that starts below a muted script",
            &["visible > (anonymous)*2"],
        ),
        case(
            "profiler that stops below a muted script",
            &["visible > (anonymous)*2"],
        ),
    ],
};

/// The minimum number of samples while a case's code runs, even on a busy machine. Usually there are about
/// fifty.
const ENOUGH: usize = 3;

/// The cases of a group end by then. The page repeats those that a busy machine has taken too few samples of.
const TIME_BOUND: Duration = Duration::from_secs(600);

/// The shortest sample interval, in milliseconds.
const INTERVAL: f64 = 1.;

/// How far the clocks of two documents may seem to differ, in milliseconds. Their time origins are not more
/// accurate.
const MARGIN: f64 = 1.;

/// What was found in a case.
#[derive(Default)]
pub(crate) struct Found {
    samples: usize,
    pub(crate) wrong: Vec<String>,
}

impl Case {
    /// Checks the page's result for this case.
    pub(crate) fn check(&self, result: &Value) -> Found {
        let mut wrong = Vec::new();
        if let Some(error) = result.get("error") {
            wrong.push(format!("the page failed: {error}"));
        } else if let Some(answer) = result.get("answer") {
            if !self.stacks.iter().any(|expected| answer == expected) {
                wrong.push(format!("the answer is {answer}"));
            }
        } else {
            return self.check_trace(result);
        }
        Found {
            wrong,
            ..Found::default()
        }
    }

    fn check_trace(&self, result: &Value) -> Found {
        let mut wrong = Vec::new();
        let text = result["trace"].to_string();
        // Every name and URL that must not appear contains this word.
        if let Some(at) = text.to_lowercase().find("hidden") {
            let from = text.floor_char_boundary(at.saturating_sub(40));
            let to = text.ceil_char_boundary((at + 60).min(text.len()));
            wrong.push(format!("the trace has {:?}", &text[from..to]));
        }
        let trace = Trace::read(&result["trace"]);
        let windows: Vec<[f64; 2]> = serde_json::from_value(result["windows"].clone())
            .expect("windows are pairs of numbers");
        wrong.extend(extra_samples(&trace));
        let mut seen: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for [start, end] in windows {
            let (start, end) = (start + MARGIN, end - MARGIN);
            for sample in trace.samples_between(start, end) {
                seen.entry(shown(&trace, sample)).or_default().push(sample);
            }
        }
        let samples = seen.values().map(Vec::len).sum::<usize>();
        if samples < ENOUGH {
            wrong.push(format!("{samples} samples are too few"));
        }
        for (stack, found) in &seen {
            if !self.stacks.contains(&&**stack) {
                let count = found.len();
                wrong.push(format!("{count} of {samples} samples show {stack}"));
            }
        }
        if !seen.contains_key(self.stacks[0]) {
            wrong.push(format!("no sample shows {}", self.stacks[0]));
        }
        Found { samples, wrong }
    }
}

/// Reports more samples than ticks: then something other than the clock has caused samples.
fn extra_samples(trace: &Trace) -> Option<String> {
    let (first, last) = (trace.samples.first()?, trace.samples.last()?);
    // The thread may have stopped late for the first sample and immediately for the last one, and the number of ticks in a time
    // varies by some seven. A tick that the thread did not stop for gives no sample later.
    let most = (last.timestamp - first.timestamp) / INTERVAL * 1.02 + 30.;
    let count = trace.samples.len();
    (count as f64 > most).then(|| {
        format!(
            "{count} samples are more than {most:.0}, which leaves room for more than all ticks"
        )
    })
}

/// The text of a sample's stack, from `visible` on.
fn shown(trace: &Trace, sample: &Sample) -> String {
    let marker = sample.marker.map(|marker| format!(" ({marker:?})"));
    let frames = sample.stack_id.map_or_else(Vec::new, |id| trace.stack(id));
    let from = frames.iter().position(|frame| frame.name == "visible");
    let mut runs: Vec<(String, usize)> = Vec::new();
    for frame in &frames[from.unwrap_or(0)..] {
        let label = label(frame);
        match runs.last_mut() {
            Some((last, count)) if *last == label => *count += 1,
            _ => runs.push((label, 1)),
        }
    }
    let runs: Vec<_> = runs
        .into_iter()
        .map(|(label, count)| match count {
            1 => label,
            _ => format!("{label}*{count}"),
        })
        .collect();
    let stack = match runs.is_empty() {
        true => "-".to_owned(),
        false => runs.join(" > "),
    };
    stack + &marker.unwrap_or_default()
}

fn label(frame: &Frame) -> String {
    match frame.resource_id {
        None if !frame.name.is_empty() => format!("[{}]", frame.name),
        _ => frame.label().to_owned(),
    }
}

impl Group {
    fn run(&self) {
        self.run_in(|visit| visit);
    }

    /// Runs the cases while everything in the browser is recorded. The page's trace must be the same.
    fn run_recorded(&self) {
        let console = self.run_in(|visit| visit.recorded());
        // The recording has what the page may not see: this is in the list of the functions with the most samples.
        assert!(
            console.contains("hiddenStep"),
            "the hidden code was not recorded\n{console}"
        );
    }

    /// Gives the browser's output.
    fn run_in(&self, how: impl for<'a> FnOnce(Visit<'a>) -> Visit<'a>) -> String {
        // Frames from this site may not profile.
        let other = Site::plain().headers_by_query().serve();
        let site = site();
        let page = format!("/leaks/{}.html?other={}", self.page, other.origin());
        let (result, console) = how(site.visit(&page))
            .preference("dom_sharedworker_enabled=true")
            .preference("dom_serviceworker_enabled=true")
            // Without this, Servo cannot register service workers.
            .preference("dom_indexeddb_enabled=true")
            .time_bound(TIME_BOUND)
            .run_and_listen();
        let results = result.as_object().expect("a result for each case");
        let names: BTreeSet<_> = self.cases.iter().map(|case| case.name).collect();
        assert_eq!(names.len(), self.cases.len(), "two cases of one name");
        let run: BTreeSet<_> = results.keys().map(String::as_str).collect();
        assert_eq!(run, names);
        let mut failures = Vec::new();
        let mut samples = 0;
        for case in self.cases {
            let found = case.check(&results[case.name]);
            samples += found.samples;
            for wrong in found.wrong {
                failures.push(format!("{}: {}: {wrong}", self.page, case.name));
            }
        }
        report(&format!(
            "{}: {} cases; {samples} samples",
            self.page,
            self.cases.len()
        ));
        for failure in &failures {
            report(failure);
        }
        assert!(failures.is_empty(), "{} failures", failures.len());
        console
    }
}

/// A site whose pages may profile, and whose responses have the headers that requests ask for. Code is compiled
/// from the beginning, so that it is known what is inlined.
fn site() -> Site {
    content().serve()
}

pub(crate) fn content() -> SiteContent {
    Site::plain()
        .header_of_all("Document-Policy", "js-profiling-mode=eager")
        .headers_by_query()
}

#[test]
fn scripts_of_another_origin() {
    MUTED.run();
}

#[test]
fn scripts_of_another_origin_during_a_recording() {
    MUTED.run_recorded();
}

#[test]
fn ways_to_load_a_script() {
    LOADS.run();
}

#[test]
fn frames() {
    REALMS.run();
}

#[test]
fn frames_during_a_recording() {
    REALMS.run_recorded();
}

#[test]
fn workers() {
    WORKERS.run();
}

#[test]
fn ways_out_of_a_trace() {
    OUTLETS.run();
}

#[test]
fn the_suite_is_as_large_as_it_says() {
    let security = fs::read_to_string(repository().join("docs/security.md")).unwrap();
    for group in [&MUTED, &LOADS, &REALMS, &WORKERS, &OUTLETS] {
        let said = format!("cases of `{}` ({})", group.page, group.cases.len());
        assert!(
            security.contains(&said),
            "docs/security.md does not say {said:?}"
        );
    }
}
