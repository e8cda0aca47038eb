/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A page that has run for a while before anybody profiles: its functions have their true shares all the same.

use std::collections::BTreeMap;
use std::time::Duration;

use browser_tests::{Command, Driver, Site, Trace, alone, report};
use profile_formats::{Format, read};
use serde_json::Value;

/// The blocks of the page. Their shares of the samples are compared with those that the page measures.
const BLOCKS: &[&str] = &[
    "divisions",
    "steps",
    "arms",
    "maps",
    "reads",
    "walks",
    "layouts",
    "parses",
];

/// How far the share of a block may be from the truth, in percentage points. See [`tolerance`].
const TOLERANCE: f64 = 2.;

/// With fewer samples of all blocks the test says nothing.
const LEAST_SAMPLES: usize = 2500;

/// What the samples of a block must show, and their minimum share in percent. All else that a block does takes less
/// time than what is left of 100 %.
const INSIDE: &[(&str, &str, f64)] = &[
    ("maps", "mapped", 92.),
    ("reads", "get innerHTML", 97.),
    ("layouts", "get offsetHeight", 85.),
    ("parses", "set innerHTML", 97.),
];

/// Functions that are inlined into the same loop, and the share of the first one in the work of both, in percent.
const PAIRS: &[(&str, &str, f64)] = &[
    ("nine", "four", 100. * 9. / 13.),
    ("twentyTwo", "ten", 100. * 22. / 32.),
    // Of the 50,000 numbers that choose between the two, 24,933 are odd.
    ("left", "right", 100. * 24_933. / 50_000.),
];

/// How far the share in a pair may be from the truth, in percentage points. See [`tolerance`].
const TOLERANCE_OF_PAIR: f64 = 1.;

/// With fewer samples of a pair the test says nothing.
const LEAST_SAMPLES_OF_PAIR: usize = 10_000;

/// For enough samples of pairs in a short time.
const SHORT_INTERVAL: &str = "js_profiling_base_interval_us=100";

/// Layout waits for no other thread. The page measures how long its own thread runs.
const ONE_THREAD: &str = "layout_threads=1";

/// A page that profiles itself has ended by then. It is warm after a minute at most, and then has rounds for another one.
const TIME_BOUND_OF_PAGE: Duration = Duration::from_secs(240);

/// What has not happened by then will not happen.
const TIME_BOUND: Duration = Duration::from_secs(100);

/// How often the page does everything while it is recorded in about:profiling. The recording begins a moment before and
/// ends a moment after that.
const ROUNDS: u32 = 1200;

/// How long the page is recorded for pairs, at a short interval. Each pair gets some 60,000 samples, and fewer on a busy
/// machine.
const MILLISECONDS_OF_PAIRS: u32 = 25_000;

/// A header that lets the page profile itself.
type Header = (&'static str, &'static str);

const DOCUMENT_POLICY: Header = ("Document-Policy", "js-profiling");
const PERMISSIONS_POLICY: Header = ("Permissions-Policy", "js-profiling=(self)");

/// Stacks, as names from the root to the leaf.
type Stacks = Vec<Vec<String>>;

/// How far a share may be from the truth, in percentage points: `usual`, or four standard deviations if that is more because a
/// busy machine has missed samples. Of 16,000 shares that are true, one is farther off.
pub(crate) fn tolerance(usual: f64, truth: f64, samples: usize) -> f64 {
    let deviation = (truth * (100. - truth) / samples as f64).sqrt();
    usual.max(4. * deviation)
}

pub(crate) fn has(stack: &[String], name: &str) -> bool {
    stack.iter().any(|frame| frame == name)
}

fn count(stacks: &Stacks, name: &str) -> usize {
    stacks.iter().filter(|stack| has(stack, name)).count()
}

/// The times of the blocks in milliseconds, as the page has measured them: as if none had taken much longer than usual,
/// and as it was. Samples may be as the one or as the other, because a thread that waits for a processor is not sampled,
/// and one that is slow is. Both are nearly the same while little of the time is unusual, which each test reports.
type Times = BTreeMap<String, [f64; 2]>;

fn times(totals: &Value) -> Times {
    serde_json::from_value(totals.clone()).expect("two numbers for each block")
}

/// Faults of the blocks' shares. `counts` has the number of samples of each.
fn faults_of_blocks(counts: &BTreeMap<&str, usize>, times: &Times, who: &str) -> Vec<String> {
    let samples: usize = counts.values().sum();
    let all = [0, 1].map(|which| times.values().map(|time| time[which]).sum::<f64>());
    let mut faults = Vec::new();
    let mut most = 0_f64;
    for (&block, &count) in counts {
        let share = 100. * count as f64 / samples as f64;
        let [usual, whole] = [0, 1].map(|which| 100. * times[block][which] / all[which]);
        let off = (usual.min(whole) - share).max(share - usual.max(whole));
        most = most.max(off);
        if off > tolerance(TOLERANCE, usual, samples) {
            faults.push(format!(
                "{block}: {share:.2} %, not {usual:.2} or {whole:.2}"
            ));
        }
    }
    let unusual = 100. * (1. - all[0] / all[1]);
    report(&format!(
        "{who}: of {samples} samples, the blocks' shares are {most:.2} points off at most; {unusual:.1} % of the time was \
         unusual"
    ));
    if samples < LEAST_SAMPLES {
        faults.push(format!("{samples} samples"));
    }
    faults
}

/// `samples` gives the number of samples with a function on their stacks. Only its block calls what is inside.
fn assert_blocks(samples: impl Fn(&str) -> usize, times: &Times, who: &str) {
    let counts = BLOCKS.iter().map(|&block| (block, samples(block)));
    let mut faults = faults_of_blocks(&counts.collect(), times, who);
    for &(block, inside, least) in INSIDE {
        let all = samples(block);
        let share = 100. * samples(inside) as f64 / all as f64;
        let line = format!("{inside}: {share:.2} % of the {all} samples of {block}");
        report(&format!("{who}: {line}"));
        if share < least {
            faults.push(line);
        }
    }
    assert!(faults.is_empty(), "{who}:\n{}", faults.join("\n"));
}

fn assert_pairs(count: impl Fn(&str) -> usize, who: &str) {
    let mut faults = Vec::new();
    for &(one, other, truth) in PAIRS {
        let [of_one, of_other] = [one, other].map(&count);
        let samples = of_one + of_other;
        let share = 100. * of_one as f64 / samples as f64;
        let line = format!("{one}: {share:.2} % of {samples} samples, the truth is {truth:.2}");
        report(&format!("{who}: {line}"));
        let most = tolerance(TOLERANCE_OF_PAIR, truth, samples);
        if (share - truth).abs() > most || samples < LEAST_SAMPLES_OF_PAIR {
            faults.push(line);
        }
    }
    assert!(faults.is_empty(), "{who}:\n{}", faults.join("\n"));
}

/// The page profiles itself. Gives its stacks, and the times of its blocks.
fn profiles_itself(header: Header, query: &str) -> (Stacks, Times) {
    profiles_itself_with(header, query, &[SHORT_INTERVAL, ONE_THREAD])
}

fn profiles_itself_with(
    (name, value): Header,
    query: &str,
    preferences: &[&str],
) -> (Stacks, Times) {
    let site = Site::plain().header("/warmed.html", name, value).serve();
    let visit = site.visit(&format!("/warmed.html?own&{query}"));
    let mut visit = visit.time_bound(TIME_BOUND_OF_PAGE);
    for preference in preferences {
        visit = visit.preference(preference);
    }
    let result = visit.run();
    let mut stacks = Stacks::new();
    let mut all = BTreeMap::new();
    for round in result.as_array().expect("an array") {
        let trace = Trace::read(&round["trace"]);
        stacks.extend(
            trace
                .stacks_of_samples()
                .map(|stack| stack.into_iter().map(str::to_owned).collect()),
        );
        for (block, [usual, whole]) in times(&round["totals"]) {
            let sums: &mut [f64; 2] = all.entry(block).or_default();
            sums[0] += usual;
            sums[1] += whole;
        }
    }
    (stacks, all)
}

/// The same by `strobe profile`. What was recorded before the page was warm is left out.
fn is_recorded(arguments: &[&str], query: &str) -> (Stacks, Times) {
    let site = Site::plain().serve();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.firefox.json");
    let file = file.to_str().unwrap();
    let url = site.url(&format!("/warmed.html?{query}"));
    let fixed = [
        "profile",
        "--headless",
        "--until-js",
        "window.finished",
        "--pref",
        ONE_THREAD,
        "-o",
        file,
        &url,
    ];
    let output = Command::start(&[&fixed[..], arguments].concat()).end();
    output.assert_success();
    let text = output.text();
    let totals = text
        .lines()
        .find_map(|line| line.split_once("totals "))
        .unwrap_or_else(|| panic!("{text}\n{}", output.stderr))
        .1;
    let totals = serde_json::from_str(totals).unwrap_or_else(|error| panic!("{error}: {totals}"));
    let content = std::fs::read(file).unwrap();
    let recording = read(&content, None, Some(Format::Firefox)).unwrap().0;
    let mut stacks = Stacks::new();
    for event_loop in recording.event_loops() {
        for sample in event_loop.samples() {
            let frames = event_loop.frames_of(sample.stack).into_iter();
            let stack: Vec<_> = frames
                .map(|frame| event_loop.function_of(frame).name.clone())
                .collect();
            if has(&stack, "profiled") {
                stacks.push(stack);
            }
        }
    }
    (stacks, times(&totals))
}

#[test]
fn a_page_that_was_warm_profiles_itself_truly_under_document_policy() {
    let _alone = alone();
    let (stacks, times) = profiles_itself(DOCUMENT_POLICY, "samples=4000");
    assert_blocks(|name| count(&stacks, name), &times, "Document-Policy");
}

#[test]
fn a_page_that_was_warm_profiles_itself_truly_under_permissions_policy() {
    let _alone = alone();
    let (stacks, times) = profiles_itself(PERMISSIONS_POLICY, "samples=4000");
    assert_blocks(|name| count(&stacks, name), &times, "Permissions-Policy");
}

#[test]
fn a_page_that_was_warm_is_recorded_truly() {
    let _alone = alone();
    let (stacks, times) = is_recorded(&[], "seconds=8");
    assert_blocks(|name| count(&stacks, name), &times, "strobe profile");
}

const PAIRS_ONLY: &str = "only=divisions,steps,arms&interval=0.1&seconds=4";

#[test]
fn tiny_functions_that_were_inlined_before_are_true_under_document_policy() {
    let _alone = alone();
    let (stacks, _) = profiles_itself(DOCUMENT_POLICY, &format!("{PAIRS_ONLY}&samples=100000"));
    assert_pairs(|name| count(&stacks, name), "Document-Policy");
}

#[test]
fn tiny_functions_that_were_inlined_before_are_true_under_permissions_policy() {
    let _alone = alone();
    let (stacks, _) = profiles_itself(PERMISSIONS_POLICY, &format!("{PAIRS_ONLY}&samples=100000"));
    assert_pairs(|name| count(&stacks, name), "Permissions-Policy");
}

#[test]
fn tiny_functions_are_true_in_a_recording() {
    let _alone = alone();
    let arguments = ["--interval", "0.1", "--pref", SHORT_INTERVAL];
    let (stacks, _) = is_recorded(&arguments, "only=divisions,steps,arms&seconds=15");
    assert_pairs(|name| count(&stacks, name), "strobe profile");
}

fn wait_until(driver: &Driver, expression: &str) {
    assert!(
        driver.becomes_true(expression, TIME_BOUND),
        "{expression} did not become true"
    );
}

/// Records an endless page in about:profiling. `until` gets the time when the recording has begun, and gives an expression
/// that becomes true in the page. The page gets no new variable, because the engine might compile its code again for that.
/// Nothing samples it before it is warm. Gives the samples of each function by its name, and the times of the blocks.
fn is_recorded_in_about_profiling(
    query: &str,
    interval: &str,
    until: impl FnOnce(&Value) -> String,
    preferences: &[&str],
) -> (BTreeMap<String, usize>, Times) {
    let site = Site::plain().serve();
    let mut arguments = vec!["--window-size", "1200x900"];
    for preference in preferences {
        arguments.extend(["--pref", preference]);
    }
    let driver = Driver::start(&arguments);
    let page = driver.get("/window").unwrap();
    driver.open(&site.url(&format!("/warmed.html?endless&{query}")));
    wait_until(&driver, "isWarm");
    driver.switch_to(&driver.new_tab());
    driver.open("about:profiling");
    wait_until(&driver, "document.querySelector('#record') !== null");
    driver.execute(&format!(
        "document.querySelector('#interval').value = '{interval}';"
    ));
    driver.click("#record");
    let profiler = driver.get("/window").unwrap();
    driver.switch_to(&page);
    let begin = driver.execute("times = noTimes(); return clock.now();");
    wait_until(&driver, &until(&begin));
    let times = times(&driver.execute("return totals(times);"));
    driver.switch_to(&profiler);
    driver.click("#record");
    wait_until(&driver, "document.documentElement.dataset.ready === ''");
    let functions = driver.execute("return strobe.inspect.functions();");
    let mut samples: BTreeMap<String, usize> = BTreeMap::new();
    for function in functions.as_array().expect("a list") {
        let name = function["name"].as_str().expect("a name").to_owned();
        let total = function["total"].as_u64().expect("a number");
        *samples.entry(name).or_default() += usize::try_from(total).unwrap();
    }
    (samples, times)
}

#[test]
fn a_page_that_was_warm_is_recorded_truly_in_about_profiling() {
    let _alone = alone();
    let until = |_: &Value| format!("Object.values(times)[0].length >= {ROUNDS}");
    let (samples, times) = is_recorded_in_about_profiling("", "1", until, &[ONE_THREAD]);
    let count = |name: &str| samples.get(name).copied().unwrap_or_default();
    assert_blocks(count, &times, "about:profiling");
}

#[test]
fn tiny_functions_that_were_inlined_before_are_true_in_about_profiling() {
    let _alone = alone();
    let query = "only=divisions,steps,arms&rounds-of-turn=10";
    let preferences = [ONE_THREAD, SHORT_INTERVAL];
    let until = |begin: &Value| format!("clock.now() >= {begin} + {MILLISECONDS_OF_PAIRS}");
    let (samples, _) = is_recorded_in_about_profiling(query, "0.1", until, &preferences);
    let count = |name: &str| samples.get(name).copied().unwrap_or_default();
    assert_pairs(count, "about:profiling");
}

/// The page profiles itself where the engine runs no code of a better tier. `slowness` is how many times longer script
/// takes then. The interpreter needs more samples, because its shares inside blocks are nearer to their limits.
fn assert_true_in(tier: &str, preference: &str, slowness: u32, samples: u32) {
    let query = format!("samples={samples}&warm-iterations=300&slowness={slowness}");
    let preferences = [ONE_THREAD, preference];
    let (stacks, times) = profiles_itself_with(PERMISSIONS_POLICY, &query, &preferences);
    assert_blocks(|name| count(&stacks, name), &times, tier);
}

#[test]
fn a_page_that_was_warm_is_true_in_the_interpreter() {
    let _alone = alone();
    assert_true_in(
        "the interpreter",
        "js_baseline_interpreter_enabled=false",
        30,
        10_000,
    );
}

#[test]
fn a_page_that_was_warm_is_true_in_the_baseline_interpreter() {
    let _alone = alone();
    let preference = "js_baseline_jit_enabled=false";
    assert_true_in("the Baseline interpreter", preference, 20, 5000);
}

#[test]
fn a_page_that_was_warm_is_true_in_baseline() {
    let _alone = alone();
    assert_true_in("Baseline", "js_ion_enabled=false", 5, 5000);
}

/// Code that is hot for longer may be compiled again, or moved.
#[test]
fn a_page_that_has_run_for_a_minute_profiles_itself_truly() {
    let _alone = alone();
    let (stacks, times) = profiles_itself(PERMISSIONS_POLICY, "samples=4000&warm-seconds=60");
    assert_blocks(|name| count(&stacks, name), &times, "after a minute");
}
