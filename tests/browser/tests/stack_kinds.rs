/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The whole stack of every kind of function and call, in every tier of the engine.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use browser_tests::{Frame, Marker, Position, Sample, Site, Source, Trace, alone, report};
use serde_json::Value;

/// The stacks of each kind, from the root to the leaf, as `kind: function > function`. They begin
/// below the kind's own function, which the test calls again and again, or after `(root)`.
///
/// Built-ins have no resource and are in brackets. Functions that have no name, or that are not
/// found by it, are in [`PLACES`].
///
/// Each stack must be seen, except those that are marked by `?`. Every other stack that is seen must
/// be the beginning of one of these. `*` stands for any calls.
const KINDS: &str = "
    getter: get property > busy
    setter: set property > busy
    classField: WithField > (field) > busy
    staticField: (static field) > busy
    staticBlock: (static block) > busy
    defaultConstructor: Derived > Base > busy
    arrowOfOneIdentifier: ofOneIdentifier > busy
    anonymousArrow: (arrow) > busy
    boundFunction: boundTarget > busy
    functionOfText: [anonymous] > busy
    directEval: (nameless) > busy
    indirectEval: (nameless) > busy
    generator: [next] > endless > busy
    generatorInForOf: [next] > three > busy
    ? generatorInForOf: three
    ? generatorInForOf: [[Symbol.iterator]]
    delegatingGenerator: [next] > delegating > [next] > three > busy
    ? delegatingGenerator: delegating
    ? delegatingGenerator: [[Symbol.iterator]]
    ? delegatingGenerator: [next] > delegating > three
    ? delegatingGenerator: [next] > delegating > [[Symbol.iterator]]
    inlinedChain: level1 > level2 > level3 > level4 > level5 > level6 > level7 > level8 > level9 \
        > level10 > level11 > level12 > busy
    mutualRecursion: even > odd > even > odd > even > odd > even > odd > even > odd > even > odd \
        > even > odd > busy

    proxyGet: get > busy
    proxySet: set > busy
    proxyHas: has > busy
    proxyDelete: deleteProperty > busy
    proxyOwnKeys: [ownKeys] > ownKeys > busy
    proxyApply: apply > busy
    proxyConstruct: construct > busy

    sortComparator: [sort] > compare > busy
    replaceCallback: [replace] > replacer > busy
    reviver: [parse] > revive > busy
    stringifyReplacer: [stringify] > replaceValue > busy
    mapCallback: [map] > mapped > busy
    mapArrow: [map] > (map arrow) > busy
    forEachCallback: [forEach] > forEached > busy
    fromCallback: [from] > fromMapped > busy
    eventListener: [dispatchEvent] > listener > busyInTurn > busy
    inlineHandler: [click] > onclick > busyInTurn > busy

    wasm: wasm-function[2]
    wasmCallback: wasm-function[1] > calledByWasm > busy
    wasmToJSON: [stringify] > wasm-function[2]
    wasmNamed: namedSpin
    wasmNested: namedCallBack > calledByNamedWasm > wasm-function[1] > calledByWasm > busy
    wasmStreamed: streamedSpin

    sort: [sort]
    sortByDifference: [sort]
    parse: [parse]
    stringify: [stringify]
    exec: [exec]
    replace: [replace]
    push: [push]
    mapSet: [set]
    dateNow:
    ? dateNow: [now]
    performanceNow: [now]
    mathSin:
    ? mathSin: [sin]
    from: [from]
    builtInCalledByBuiltIn: [map]
    appendChild: [appendChild]
    querySelector: [querySelector]
    interfaceConstructor: [URLSearchParams]
    getBoundingClientRect: [getBoundingClientRect]
    getInnerHTML: [get innerHTML]
    setInnerHTML: [set innerHTML]
    setTextContent: [set textContent]

    asyncFunction: (root) > asyncFunction > awaiting > beforeAwait > busyInTurn > busy
    asyncFunction: (root) > awaiting > afterAwait > busyInTurn > busy
    ? asyncFunction: (root) > (test) > asyncFunction > awaiting > beforeAwait > busyInTurn > busy
    promiseReaction: (root) > reaction > busyInTurn > busy
    ? promiseReaction: (root) > (test) > promiseReaction
    ? promiseReaction: (root) > (test) > promiseReaction > [resolve]
    ? promiseReaction: (root) > (test) > promiseReaction > [then]
    ? promiseReaction: (root) > promiseReaction > [resolve]
    ? promiseReaction: (root) > promiseReaction > [then]
    messageListener: (root) > onMessage > busyInTurn > busy
    ? messageListener: (root) > onMessage > [postMessage]
    ? messageListener: (root) > onMessage > (nameless)
    ? messageListener: (root) > (test) > messageListener > perMessage > *
    microtaskOfListener: (root) > onMessage > queueing > busyInTurn > busy
    microtaskOfListener: (root) > microtask > busyInTurn > busy
    ? microtaskOfListener: (root) > onMessage > queueing > [queueMicrotask]
    ? microtaskOfListener: (root) > onMessage > [postMessage]
    ? microtaskOfListener: (root) > onMessage > (nameless)
    ? microtaskOfListener: (root) > (test) > microtaskOfListener > perMessage > *
    topLevelScript: (root) > (script) > busy
    ? topLevelScript: (root) > (test) > topLevelScript > loadScript > *
    module: (root) > (module) > busy
    ? module: (root) > (test) > module > loadScript > *
    profilerConstructor: (root) > profilerConstructor > [Profiler]
    ? profilerConstructor: (root) > profilerConstructor > [stop]
    ? profilerConstructor: (root) > (test) > profilerConstructor
    performanceProfile: (root) > performanceProfile > [profile]
    ? performanceProfile: (root) > performanceProfile > [stop]
    ? performanceProfile: (root) > (test) > performanceProfile > [profile]

    inlineScript: (root) > (inline script) > busy
    ? inlineScript: (root) > (inline script) > start > [Profiler]
    ? inlineScript: (root) > (inline script) > start > [now]
    ? inlineScript: (root) > (inline script) > [stop]
    coldStarter: (root) > (test) > coldStarter > busyInTurn > busy
    ? coldStarter: (root) > (test) > coldStarter > start > [Profiler]
    hotStarter: (root) > (test) > hotStarter > hotStarter > hotStarter > hotStarter > coldStarter \
        > busyInTurn > busy
    ? hotStarter: (root) > (test) > hotStarter > hotStarter > hotStarter > hotStarter > coldStarter \
        > start > [Profiler]
";

/// The stacks of the test itself while a profiler is running.
const OF_THE_TEST: &[&[&str]] = &[
    &["(test)", "[Profiler]"],
    &["(test)", "[stop]"],
    &["(test)", "drive", "[now]"],
    &["(test)", "start", "[Profiler]"],
    &["(test)", "start", "[now]"],
];

/// Functions that may be called from everywhere, to know when to end.
const CLOCK: &[&str] = &["isOver", "[now]"];

const PAGE: &str = "stack-kinds.html";
const SCRIPT: &str = "stack-kinds.js";

/// Label, name, file, and a part of the file. If the part ends with a parenthesis, this begins the
/// parameter list and is the function's position. Otherwise the position is the beginning of the part. An
/// empty part is the beginning of the file.
const PLACES: &[(&str, &str, &str, &str)] = &[
    ("(test)", "", SCRIPT, "runTest(async ("),
    ("(field)", "", SCRIPT, "field = busy"),
    ("(static field)", "", SCRIPT, "placed = busy"),
    ("(static block)", "", SCRIPT, "static { busy"),
    // An implicit constructor has the position of its class.
    ("WithField", "WithField", SCRIPT, "class WithField"),
    ("Derived", "Derived", SCRIPT, "class Derived"),
    ("Base", "Base", SCRIPT, "constructor("),
    (
        "ofOneIdentifier",
        "ofOneIdentifier",
        SCRIPT,
        "value => busy",
    ),
    ("(arrow)", "", SCRIPT, "anonymousArrow() { return (("),
    ("(map arrow)", "", SCRIPT, "item => busy"),
    ("(script)", "", "stack-kinds-script.js", ""),
    ("(module)", "", "stack-kinds-module.js", ""),
    // Servo gives the engine the line of the element.
    ("(inline script)", "", PAGE, "<script>\n"),
    // Servo gives the engine only the page of a handler.
    ("onclick", "onclick", PAGE, ""),
];

/// Functions of WebAssembly modules that the script makes.
const WASM: &[&str] = &[
    "wasm-function[1]",
    "wasm-function[2]",
    "namedCallBack",
    "namedSpin",
];

/// A function of a fetched module.
const STREAMED_WASM: &[&str] = &["streamedSpin"];

/// The minimum percentage of a kind's samples that must have each required stack. Normally a fifth of at least
/// seventy samples have it. If a frame is missing, it is missing from all of them.
const LEAST_SHARE: usize = 6;

/// The minimum percentage of the samples of all kinds that must have one of the required stacks of their kind.
const LEAST_SHARE_OF_ALL: usize = 40;

/// Kinds with a single stack that takes all their time, and the minimum share of that stack. A built-in that is
/// found only at some of its instructions has a smaller share.
const PURE: &[&str] = &[
    "interfaceConstructor",
    "querySelector",
    "getBoundingClientRect",
    "from",
];
const LEAST_SHARE_OF_PURE: usize = 85;

/// The minimum percentage of samples inside the function of a kind that the test calls again and again.
const LEAST_SHARE_INSIDE: usize = 60;

/// The stacks of a kind, as labels from the root to the leaf.
#[derive(Default)]
struct Stacks {
    must: Vec<Vec<&'static str>>,
    may: Vec<Vec<&'static str>>,
}

/// Reads the table.
fn kinds() -> BTreeMap<&'static str, Stacks> {
    let mut kinds: BTreeMap<_, Stacks> = BTreeMap::new();
    for line in KINDS.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (may, line) = match line.strip_prefix("? ") {
            Some(line) => (true, line),
            None => (false, line),
        };
        let (kind, stack) = line
            .split_once(':')
            .unwrap_or_else(|| panic!("no kind: {line}"));
        let (mut frames, stack) = match stack.trim().strip_prefix("(root) > ") {
            Some(stack) => (Vec::new(), stack),
            None => (vec!["(test)", "drive", kind], stack.trim()),
        };
        frames.extend(stack.split(" > ").filter(|label| !label.is_empty()));
        let stacks = kinds.entry(kind).or_default();
        let list = if may {
            &mut stacks.may
        } else {
            &mut stacks.must
        };
        list.push(frames);
    }
    kinds
}

impl Stacks {
    fn all(&self) -> impl Iterator<Item = &[&'static str]> {
        self.must.iter().chain(&self.may).map(Vec::as_slice)
    }

    /// Whether this is the beginning of one of the stacks.
    fn may_be(&self, stack: &[String]) -> bool {
        let mut known = self.all().chain(OF_THE_TEST.iter().copied());
        known.any(|known| {
            let (known, open) = match known {
                [known @ .., "*"] => (known, true),
                _ => (known, false),
            };
            let same = known.iter().zip(stack).take_while(|(a, b)| a == b).count();
            let rest = &stack[same..];
            let is_clock = rest.len() <= CLOCK.len() && rest.iter().zip(CLOCK).all(|(a, b)| a == b);
            is_clock || (open && same == known.len())
        })
    }
}

/// What identifies a function in a trace.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Function {
    name: String,
    resource: Option<String>,
    position: Option<Position>,
}

/// The labels of the functions that the table names, by what they must be in a trace.
struct Labels(HashMap<Function, &'static str>);

impl Labels {
    fn new(kinds: &BTreeMap<&'static str, Stacks>, site: &Site, streamed_url: &str) -> Self {
        let script = Source::of_page(SCRIPT);
        let script_url = site.url(&format!("/{SCRIPT}"));
        let mut labels = Self(HashMap::new());
        for &(label, name, file, part) in PLACES {
            let source = Source::of_page(file);
            let position = match part {
                "" => Position { line: 1, column: 1 },
                _ if part.ends_with('(') => source.parameters_of(part),
                _ => source.place_of(part),
            };
            labels.add(
                label,
                name,
                Some(&site.url(&format!("/{file}"))),
                Some(position),
            );
        }
        for name in WASM {
            labels.add(name, name, Some(&script_url), None);
        }
        for name in STREAMED_WASM {
            labels.add(name, name, Some(streamed_url), None);
        }
        // Code of eval, and functions that settle a promise.
        labels.add("(nameless)", "", None, None);
        let known: BTreeSet<_> = labels.0.values().copied().chain(["*"]).collect();
        let stacks = kinds.values().flat_map(Stacks::all);
        let stacks = stacks.chain(OF_THE_TEST.iter().copied()).chain([CLOCK]);
        let used: BTreeSet<_> = stacks.flatten().copied().collect();
        for label in used.difference(&known).copied() {
            if let Some(name) = label.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                labels.add(label, name, None, None);
                continue;
            }
            // The definition is a declaration or a member of an object.
            let definition = ["function ", "function* ", "\n  ", "\n  async "]
                .into_iter()
                .map(|before| format!("{before}{label}("))
                .find(|definition| script.contains(definition))
                .unwrap_or_else(|| panic!("{label} is not in {SCRIPT}"));
            labels.add(
                label,
                label,
                Some(&script_url),
                Some(script.parameters_of(&definition)),
            );
        }
        labels
    }

    fn add(
        &mut self,
        label: &'static str,
        name: &str,
        resource: Option<&str>,
        position: Option<Position>,
    ) {
        let function = Function {
            name: name.to_owned(),
            resource: resource.map(str::to_owned),
            position,
        };
        let before = self.0.insert(function, label);
        assert_eq!(before, None, "the same function as {label}");
    }

    /// The label of a function, or a description if the table does not name it.
    fn of(&self, frame: &Frame, trace: &Trace) -> String {
        let function = Function {
            name: frame.name.clone(),
            resource: frame.resource_id.map(|id| trace.resources[id].clone()),
            position: frame.position(),
        };
        match self.0.get(&function) {
            Some(label) => (*label).to_owned(),
            None => format!("{function:?}"),
        }
    }
}

/// How many times each stack occurs, the most frequent first.
fn counted<'a>(stacks: impl Iterator<Item = &'a [String]>) -> Vec<(usize, String)> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for stack in stacks {
        *counts.entry(stack.join(" > ")).or_default() += 1;
    }
    let mut counts: Vec<_> = counts
        .into_iter()
        .map(|(stack, count)| (count, stack))
        .collect();
    counts.sort_by_key(|(count, _)| Reverse(*count));
    counts
}

/// What was found in the samples of a kind.
struct Found {
    faults: Vec<String>,
    /// The samples that count, and those of them that have one of the required stacks.
    samples: usize,
    required: usize,
}

/// Checks the samples of a kind.
fn check(kind: &str, stacks: &Stacks, labels: &Labels, rounds: &[Value]) -> Found {
    let mut all = Vec::new();
    // Samples after the function of the kind is compiled.
    let mut hot_samples = 0;
    let mut hot = Vec::new();
    for round in rounds {
        let trace = Trace::read(&round["trace"]);
        let time = |name: &str| round[name].as_f64().expect("is a time");
        let of_sample = |sample: &Sample| -> Vec<String> {
            let frames = sample.stack_id.map_or_else(Vec::new, |id| trace.stack(id));
            frames
                .into_iter()
                .map(|frame| labels.of(frame, &trace))
                .collect()
        };
        all.extend(trace.samples.iter().map(of_sample));
        // A sample that a collection of garbage falls on has what is still there of the stack before. A collection may
        // take longer than a round.
        let between = trace.samples_between(time("hot"), time("end"));
        for sample in between.filter(|sample| sample.marker != Some(Marker::Gc)) {
            hot_samples += 1;
            if sample.stack_id.is_some() {
                hot.push(of_sample(sample));
            }
        }
    }
    let mut faults = Vec::new();

    let may_not_be = all
        .iter()
        .map(Vec::as_slice)
        .filter(|stack| !stacks.may_be(stack));
    for (count, stack) in counted(may_not_be) {
        faults.push(format!(
            "false in {count} of {} samples: {stack}",
            all.len()
        ));
    }

    let is_required = |stack: &[String]| stacks.must.iter().any(|expected| stack == expected);
    let least_share = match PURE.contains(&kind) {
        true => LEAST_SHARE_OF_PURE,
        false => LEAST_SHARE,
    };
    for expected in &stacks.must {
        let count = hot.iter().filter(|stack| *stack == expected).count();
        if hot.is_empty() || count * 100 < hot.len() * least_share {
            let most = counted(hot.iter().map(Vec::as_slice));
            let most: Vec<_> = most
                .iter()
                .take(3)
                .map(|(count, stack)| format!("{count} {stack}"))
                .collect();
            faults.push(format!(
                "in {count} of {} samples only: {} (but {})",
                hot.len(),
                expected.join(" > "),
                most.join("; ")
            ));
        }
    }
    let called = ["(test)", "drive", kind];
    if stacks.must.iter().all(|stack| stack.starts_with(&called)) {
        // During this time the test only runs the function of the kind.
        let is_inside = |stack: &&Vec<String>| {
            stack
                .get(..called.len())
                .is_some_and(|start| start == called)
        };
        let inside = hot.iter().filter(is_inside).count();
        for (count, share, what) in [
            (hot.len(), 95, "have a stack"),
            (inside, LEAST_SHARE_INSIDE, "are in it"),
        ] {
            if count * 100 < hot_samples * share {
                faults.push(format!("{count} of {hot_samples} samples only {what}"));
            }
        }
    }
    Found {
        faults,
        samples: hot.len(),
        required: hot.iter().filter(|stack| is_required(stack)).count(),
    }
}

/// Checks all kinds in one tier. The built-ins of the kinds in `without_trace` have no frames in that tier.
fn check_kinds(tier: &str, preferences: &[&str], without_trace: &[&'static str]) {
    let _alone = alone();
    let site = Site::allowing().serve();
    let mut visit = site
        .visit("/stack-kinds.html")
        .preference("js_profiling_all_markers=true")
        .log("js_profiler=debug");
    for preference in preferences {
        visit = visit.preference(preference);
    }
    let (result, console) = visit.run_and_listen();
    let mut kinds = kinds();
    for kind in without_trace {
        let stacks = kinds.get_mut(kind).expect("a kind of the table");
        stacks.may.append(&mut stacks.must);
        stacks.must.push(vec!["(test)", "drive", kind]);
    }
    let streamed_url = result["streamedURL"].as_str().expect("is a URL");
    let labels = Labels::new(&kinds, &site, streamed_url);
    let results = result["results"].as_object().expect("an object");
    let run: BTreeSet<_> = results.keys().map(String::as_str).collect();
    assert_eq!(run, kinds.keys().copied().collect());
    let mut faults = Vec::new();
    let (mut samples, mut required) = (0, 0);
    for (kind, stacks) in &kinds {
        let rounds = results[*kind].as_array().expect("an array");
        let found = check(kind, stacks, &labels, rounds);
        let of_kind = found.faults.into_iter();
        faults.extend(of_kind.map(|fault| format!("{kind}: {fault}")));
        samples += found.samples;
        required += found.required;
    }
    let share = format!("{required} of {samples} samples have a required stack");
    report(&format!("{tier}: {share}"));
    if required * 100 < samples * LEAST_SHARE_OF_ALL {
        faults.push(share);
    }
    // Why stacks could not be walked, if any.
    let log: Vec<_> = console
        .lines()
        .filter(|line| line.contains("unwalkable: {"))
        .collect();
    assert!(
        faults.is_empty(),
        "in {tier}:\n{}\nThe log:\n{}",
        faults.join("\n"),
        log.join("\n")
    );
}

#[test]
fn every_kind_has_its_stacks_in_the_interpreter() {
    check_kinds(
        "the interpreter",
        &["js_baseline_interpreter_enabled=false"],
        &[],
    );
}

#[test]
fn every_kind_has_its_stacks_in_the_baseline_interpreter() {
    check_kinds(
        "the Baseline interpreter",
        &["js_baseline_jit_enabled=false"],
        &[],
    );
}

#[test]
fn every_kind_has_its_stacks_in_baseline() {
    check_kinds("Baseline", &["js_ion_enabled=false"], &[]);
}

/// Each kind begins in the interpreter, and is compiled twice while it is called.
#[test]
fn every_kind_has_its_stacks_in_ion() {
    check_kinds("Ion", &[], &[]);
}
