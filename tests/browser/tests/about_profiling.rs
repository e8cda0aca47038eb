/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Use of about:profiling as a person does it, by clicks and keys.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use base64::prelude::{BASE64_STANDARD as BASE64, Engine};
use browser_tests::{Driver, Site, Source, TIME_BOUND, alone, report};
use profile_formats::Format;
use serde_json::{Value, json};

/// Enough samples, of all event loops together, that a share is accurate to a few percentage points. The page must be
/// busy all the time.
const SAMPLES: u64 = 8_000;

/// A page that is busy all the time, even in a tab that is not shown.
const BUSY: &str = "/busy.html?hidden";

/// A person who uses about:profiling.
pub(crate) struct Person<'a>(pub(crate) &'a Driver);

impl Person<'_> {
    /// Waits until an expression is true in the page.
    pub(crate) fn wait_until(&self, expression: &str) {
        if !self.0.becomes_true(expression, TIME_BOUND) {
            let error = self.error();
            panic!("{expression} did not become true; the page's error is {error}");
        }
    }

    /// What the page says is wrong.
    pub(crate) fn error(&self) -> Value {
        self.read("document.querySelector('#error-text')?.textContent")
    }

    pub(crate) fn read(&self, expression: &str) -> Value {
        self.0.execute(&format!("return {expression};"))
    }

    /// Waits until what the page shows now has been drawn: the frame after the next one begins then.
    pub(crate) fn wait_for_picture(&self) {
        self.read(
            "new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
        );
    }

    fn click(&self, selector: &str) {
        self.0.click(selector);
    }

    /// Types into a field, replacing its content.
    fn fill(&self, selector: &str, text: &str) {
        let element = self.0.element(selector);
        self.0
            .post(&format!("{element}/clear"), &json!({}))
            .unwrap();
        self.0
            .post(&format!("{element}/value"), &json!({ "text": text }))
            .unwrap_or_else(|failure| panic!("{selector}: {failure:?}"));
    }

    /// Same as [`Person::fill`], at once, for long texts.
    fn paste(&self, selector: &str, text: &str) {
        self.0.execute(&format!(
            "const field = document.querySelector({});
            field.focus();
            field.value = {};
            field.dispatchEvent(new Event('input', {{ bubbles: true }}));",
            json!(selector),
            json!(text)
        ));
    }

    /// Presses keys, one after the other, wherever the focus is.
    fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|what| json!({ "type": what, "value": key })))
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.0.act(&keyboard);
    }

    /// Clicks at a place of the window, in CSS pixels.
    fn click_at(&self, place: &Value) {
        let [x, y] = [0, 1].map(|axis| place[axis].as_f64().expect("a coordinate").round());
        self.0
            .act(&json!({ "type": "pointer", "id": "mouse", "actions": [
            { "type": "pointerMove", "x": x, "y": y },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerUp", "button": 0 },
        ] }));
    }

    /// Opens a page in another tab, and returns that tab when `at_work` is true there.
    fn open_beside(&self, url: &str, at_work: &str) -> Value {
        let ours = self.0.get("/window").unwrap();
        let tab = self.0.new_tab();
        self.0.switch_to(&tab);
        self.0.open(url);
        self.wait_until(at_work);
        self.0.switch_to(&ours);
        tab
    }

    /// Records until there are as many samples, of all event loops together, and opens the recording.
    fn record(&self, samples: u64) {
        // What an earlier recording has left.
        self.0.execute(
            "delete document.documentElement.dataset.ready;
            delete document.querySelector('#progress').dataset.samples;",
        );
        self.click("#record");
        self.wait_for_samples(samples);
        self.stop();
    }

    /// Stops recording, and returns when the recording is shown.
    fn stop(&self) {
        self.click("#record");
        self.wait_until("document.documentElement.dataset.ready === ''");
    }

    /// Shows the recorder in the place of a recording, and returns when its form can be filled in.
    fn show_recorder(&self) {
        self.click("#show-recorder");
        self.wait_until("!document.querySelector('#interval').disabled");
    }

    /// Waits until a recording has as many samples, of all event loops together. There is a bound for the next samples
    /// only, because a busy machine misses many.
    fn wait_for_samples(&self, samples: u64) {
        let number = "Number(document.querySelector('#progress').dataset.samples ?? 0)";
        let mut seen = 0;
        while seen < samples {
            self.wait_until(&format!("{number} > {seen}"));
            seen = self.read(number).as_u64().expect("a number");
        }
    }

    /// For each function by name, its self samples and its total samples. Those of one name are added up, for a file of
    /// speedscope's lines has a function for each line.
    fn functions(&self) -> BTreeMap<String, (u64, u64)> {
        let functions = self.read("strobe.inspect.functions()");
        let mut by_name: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for one in functions.as_array().expect("a list") {
            let name = one["name"].as_str().expect("a name");
            if name.starts_with('(') {
                continue;
            }
            let weight = |key: &str| one[key].as_u64().expect("a number");
            let (itself, total) = by_name.entry(name.to_owned()).or_default();
            *itself += weight("self");
            *total += weight("total");
        }
        by_name
    }

    /// The rows of a tree or a list that are on the screen: name, self samples and total samples.
    fn rows(&self, panel: &str) -> Vec<(String, u64, u64)> {
        // They are drawn in a later frame.
        self.wait_until(&format!(
            "document.querySelector('#{panel} [role=row][data-name]') !== null"
        ));
        let rows = self.read(&format!(
            "[...document.querySelectorAll('#{panel} [role=row][data-name]')].map(row => \
             [row.dataset.name, Number(row.dataset.self), Number(row.dataset.total)])"
        ));
        let rows = rows.as_array().expect("a list").iter();
        rows.map(|row| {
            let weight = |at: usize| row[at].as_u64().expect("a number");
            (
                row[0].as_str().expect("a name").to_owned(),
                weight(1),
                weight(2),
            )
        })
        .collect()
    }

    fn save(&self, format: &str, file: &Path) {
        self.click("#save-button");
        let said = self.save_from_menu(format, file);
        assert_eq!(said, format!("Saved as {}", file.display()), "{format}");
        self.press("\u{e00c}");
    }

    /// Returns what the open menu says about the result.
    fn save_from_menu(&self, format: &str, file: &Path) -> Value {
        self.paste("#save-path", file.to_str().expect("is text"));
        self.click(&format!("#save-{format}"));
        self.wait_until("document.querySelector('#save-result').textContent !== 'Saving…'");
        self.read("document.querySelector('#save-result').textContent")
    }

    fn open(&self, file: &Path) {
        self.click("#show-recorder");
        self.0
            .execute("delete document.documentElement.dataset.ready;");
        self.paste("#open-path", file.to_str().expect("is text"));
        self.click("#open-path-button");
        self.wait_until("document.documentElement.dataset.ready === ''");
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    100. * part as f64 / whole as f64
}

#[test]
fn a_recording_of_a_busy_page_is_seen_in_every_view() {
    let _alone = alone();
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    // By then they are compiled and inlined, but only after about:profiling was opened.
    person.open_beside(&site.url(BUSY), "rounds > 300");
    person.record(SAMPLES);

    // The two functions do 70 and 30 of 100 operations, and are inlined into the same loop.
    let functions = person.functions();
    let (seventy, thirty) = (functions["seventy"].0, functions["thirty"].0);
    let both = seventy + thirty;
    report(&format!(
        "seventy {:.1} %, thirty {:.1} % of {both} samples of theirs",
        percent(seventy, both),
        percent(thirty, both)
    ));
    assert!(both > 400, "{both} samples");
    assert!(
        (60. ..80.).contains(&percent(seventy, both)),
        "{functions:?}"
    );
    let (_, in_turn) = functions["turn"];
    assert!(in_turn >= both, "turn calls both: {functions:?}");

    let script = site.url("/busy.js");
    let position = Source::of_page("busy.js").parameters_of("function seventy(");

    // Both pictures have a box for each function, and a click on it selects the function everywhere.
    for tab in ["flame-chart", "flame-graph"] {
        person.click(&format!("#tab-{tab}"));
        let boxes = person.read("strobe.inspect.boxes('seventy')");
        let widest = boxes.as_array().expect("a list").iter().max_by(|a, b| {
            let width = |one: &Value| one["width"].as_f64().expect("a number");
            width(a).total_cmp(&width(b))
        });
        let widest = widest.unwrap_or_else(|| panic!("{tab}: no box of seventy"));
        person.click_at(&widest["centre"]);
        person.wait_until("strobe.inspect.facts().selection === 'seventy'");
        let details = person.read("document.querySelector('#details-name').textContent");
        assert_eq!(details, "seventy", "{tab}");
        let place = person.read("document.querySelector('#details-place').textContent");
        assert_eq!(
            place,
            format!("{script}:{}:{}", position.line, position.column),
            "{tab}"
        );
        person.press("\u{e00c}");
        person.wait_until("strobe.inspect.facts().selection === null");
    }

    // The keyboard opens the call tree.
    person.click("#tab-call-tree");
    let root = person.rows("call-tree");
    assert!(root.iter().any(|row| row.0 == "turn"), "{root:?}");
    person.click("#call-tree [role=row][data-name=turn]");
    person.press("*");
    // The rows that this opens are drawn in a later frame.
    person
        .wait_until("document.querySelector('#call-tree [role=row][data-name=seventy]') !== null");
    let tree = person.rows("call-tree");
    let path = ["turn", "busy", "loop", "seventy"];
    let places: Vec<_> = path
        .iter()
        .map(|name| tree.iter().position(|row| row.0 == *name))
        .collect();
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{tree:?}"
    );
    // Nearly all samples: while a loop is compiled, a sample may have another path.
    let (_, on_path, _) = tree[places[3].unwrap()];
    assert!(
        on_path <= seventy && on_path * 10 >= seventy * 9,
        "{on_path} of {seventy}: {tree:?}"
    );

    person.click("#tab-bottom-up");
    let inverted = person.rows("bottom-up");
    let row = inverted
        .iter()
        .find(|row| row.0 == "seventy")
        .expect("a row");
    assert_eq!(row.1, seventy, "{inverted:?}");

    person.click("#tab-sources");
    let sources = person.rows("sources");
    let row = sources
        .iter()
        .find(|row| script.ends_with(&row.0) || row.0.ends_with("/busy.js"));
    let row = row.unwrap_or_else(|| panic!("no {script} in {sources:?}"));
    assert!(row.1 >= both, "{sources:?}");

    // Only samples with a match count.
    person.press("/");
    person.press("thirty");
    person.wait_until(&format!(
        "strobe.inspect.facts().shown === {}",
        functions["thirty"].1
    ));
    let matching = person.functions();
    assert_eq!(matching["thirty"], functions["thirty"]);
    assert!(!matching.contains_key("seventy"), "{matching:?}");
    person.click("#clear-search");
    person.wait_until(&format!("strobe.inspect.facts().shown >= {in_turn}"));

    // Zoom in, and count only what is on the screen.
    person.click("#tab-flame-chart");
    let window = person.read("strobe.inspect.facts().window");
    let all = person
        .read("strobe.inspect.facts().shown")
        .as_u64()
        .unwrap();
    driver.execute("document.querySelector('#flame-chart-canvas').focus();");
    person.press("+++");
    person.wait_until(&format!(
        "strobe.inspect.facts().window[1] - strobe.inspect.facts().window[0] < {}",
        (window[1].as_f64().unwrap() - window[0].as_f64().unwrap()) / 3.
    ));
    person.press("s");
    person.wait_until("strobe.inspect.facts().range !== null");
    let zoomed = person
        .read("strobe.inspect.facts().shown")
        .as_u64()
        .unwrap();
    assert!(0 < zoomed && zoomed < all / 2, "{zoomed} of {all}");
    person.press("\u{e00c}0");
    person.wait_until("strobe.inspect.facts().range === null");
    assert_eq!(person.functions(), functions);

    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn each_event_loop_is_counted_while_it_is_recorded() {
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    person.open_beside(&site.url("/busy.html"), "rounds > 0");
    let samples = "[...document.querySelectorAll('#loops-body tr.loop')]
        .filter(row => row.querySelector('.name').textContent.includes('/busy.html'))
        .map(row => row.querySelector('[data-figure=samples]').textContent)";
    person.wait_until(&format!("{samples}[0] === '–'"));
    person.click("#record");
    // Digits are in groups. A busy machine may leave the event loop out of a report.
    person.wait_until(&format!("Number({samples}[0]?.replace(/\\D/g, '')) > 100"));
    person.stop();
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn another_interval_than_the_requested_one_is_told() {
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    let record = |interval: &str, told: &str| {
        driver.execute("delete document.documentElement.dataset.ready;");
        person.show_recorder();
        person.fill("#interval", interval);
        person.click("#record");
        let state = "document.querySelector('#record-state').textContent";
        person.wait_until(&format!("{state} === {}", json!(told)));
        person.stop();
    };
    record(
        "0.1",
        "Recording every 1 ms (not 100 µs: see js_profiling_base_interval_us)",
    );
    record("2", "Recording every 2 ms");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn the_page_records_itself_only_if_it_is_asked_to() {
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    person.open_beside(&site.url(BUSY), "rounds > 0");
    let record = || {
        person.record(500);
        let names = person.read("strobe.inspect.facts().eventLoops.map(({ name }) => name)");
        person.click("#show-recorder");
        let names = names.as_array().expect("a list").iter();
        names
            .map(|name| name.as_str().expect("a name").to_owned())
            .collect::<Vec<_>>()
    };
    let is_there = |names: &[String], page: &str| names.iter().any(|name| name.contains(page));
    let names = record();
    assert!(is_there(&names, "/busy.html"), "{names:?}");
    assert!(!is_there(&names, "about:profiling"), "{names:?}");
    person.wait_until("!document.querySelector('#own-page').disabled");
    person.click("#own-page");
    let names = record();
    assert!(is_there(&names, "/busy.html"), "{names:?}");
    assert!(is_there(&names, "about:profiling"), "{names:?}");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

/// The event loops of a recording that is shown: name and samples.
fn recorded_loops(person: &Person) -> Vec<(String, u64)> {
    let loops = person.read("strobe.inspect.facts().eventLoops");
    let loops = loops.as_array().expect("a list").iter();
    let loops = loops.map(|one| {
        let name = one["name"].as_str().expect("a name").to_owned();
        (name, one["samples"].as_u64().expect("a number"))
    });
    loops.collect()
}

/// The addresses of the event loops of a recording that is shown, in order. The recorder is shown then.
fn recorded_names(person: &Person) -> Vec<String> {
    let loops = recorded_loops(person);
    person.show_recorder();
    let mut names: Vec<_> = loops.into_iter().map(|(name, _)| name).collect();
    names.sort();
    names
}

#[test]
fn the_event_loops_that_are_chosen_are_recorded_and_no_others() {
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    let ours = driver.get("/window").unwrap();
    let busy = person.open_beside(
        &site.url("/busy.html?hidden&worker"),
        "rounds > 0 && workerRounds > 0",
    );
    let shown = |path: &str| site.url(path).replacen("http://", "", 1);
    let page = shown("/busy.html?hidden&worker");
    let worker = shown("/busy-worker.js");

    // The tabs have had empty pages before, which may have been event loops of their own.
    let of_site = || {
        let mut names = recorded_names(&person);
        names.retain(|name| name != "about:blank");
        names
    };
    person.record(500);
    assert_eq!(of_site(), [&*worker, &page]);
    person.click("input[name=loops][value=main]");
    person.record(500);
    assert_eq!(of_site(), [&*page]);

    // Ticks say the rest.
    person.click("input[name=loops][value=ticked]");
    person.click("#record");
    let none =
        "document.querySelector('#error-text')?.textContent.includes('none of them is ticked')";
    person.wait_until(none);
    let tick = |name: &str| {
        let row = format!(
            "[...document.querySelectorAll('#loops-body tr.loop')]
                .find(row => row.textContent.includes({}))?.dataset.eventLoop",
            json!(name)
        );
        person.wait_until(&row);
        let id = person.read(&row);
        person.click(&format!("#loops-body input[data-event-loop={id}]"));
    };
    tick("busy-worker.js");
    person.record(500);
    assert_eq!(recorded_names(&person), [&*worker]);
    tick("busy-worker.js");
    tick("busy.html");
    person.record(500);
    assert_eq!(recorded_names(&person), [&*page]);

    // New ones come while it records.
    tick("busy.html");
    person.click("#new-ones");
    driver.execute("delete document.documentElement.dataset.ready;");
    person.click("#record");
    person.wait_until("document.querySelector('#record-label').textContent === 'Stop recording'");
    driver.switch_to(&busy);
    driver.execute(
        "globalThis.newWorker = new Worker('busy-worker.js?new');
        return new Promise(resolve => { newWorker.onmessage = resolve; });",
    );
    driver.switch_to(&ours);
    person.wait_until("Number(document.querySelector('#progress').dataset.samples) > 100");
    person.stop();
    assert_eq!(recorded_names(&person), [format!("{worker}?new")]);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_field_with_a_wrong_value_is_named_and_nothing_is_recorded() {
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    person.click("#flight");
    person.click("#long-tasks");
    for (field, right, wrong, said) in [
        (
            "interval",
            "1",
            "0",
            "Interval: “0” is not a number above 0",
        ),
        (
            "max-samples",
            "",
            "1.5",
            "Buffer: “1.5” is not a whole number above 0",
        ),
        (
            "keep-last",
            "30",
            "x",
            "Flight recorder: “x” is not a number above 0",
        ),
        (
            "long-tasks-ms",
            "50",
            "-1",
            "Long tasks: “-1” is not a number above 0",
        ),
    ] {
        let selector = format!("#{field}");
        person.fill(&selector, wrong);
        person.click("#record");
        let said = json!(format!("Record: {said}"));
        person.wait_until(&format!(
            "document.querySelector('#error-text')?.textContent === {said}"
        ));
        assert_eq!(person.read("document.activeElement.id"), field);
        let recording = person.read("strobe.server.status().then(({ recording }) => recording)");
        assert_eq!(recording, Value::Null, "{field}");
        person.fill(&selector, right);
    }
    // With the right values it does.
    person.click("#record");
    person.wait_until(
        "document.querySelector('#record-state').textContent ===
            'Recording every 1 ms, the last 30.0 s, tasks longer than 50.0 ms'",
    );
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_buffer_and_a_flight_recorder_keep_only_a_part() {
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    let ours = driver.get("/window").unwrap();
    let busy = person.open_beside(
        &site.url("/busy.html?hidden&worker"),
        "rounds > 0 && workerRounds > 0",
    );

    let busy_loops = || {
        let mut loops = recorded_loops(&person);
        loops.retain(|(name, _)| name.contains("/busy"));
        assert_eq!(loops.len(), 2, "{loops:?}");
        loops
    };

    // The buffer is that of each event loop.
    person.fill("#max-samples", "200");
    person.click("#record");
    person.wait_for_samples(400);
    driver.switch_to(&busy);
    driver.execute("globalThis.before = [rounds, workerRounds];");
    person.wait_until("rounds > before[0] + 200 && workerRounds > before[1] + 200");
    driver.switch_to(&ours);
    person.stop();
    let samples: Vec<_> = busy_loops().into_iter().map(|(_, count)| count).collect();
    assert_eq!(samples, [200, 200]);

    // The flight recorder keeps the end.
    driver.execute("delete document.documentElement.dataset.ready;");
    person.show_recorder();
    person.fill("#max-samples", "");
    person.click("#flight");
    person.fill("#keep-last", "1");
    person.click("#record");
    let state = "document.querySelector('#record-state').textContent";
    person.wait_until(&format!(
        "{state} === 'Recording every 1 ms, the last 1.00 s'"
    ));
    // Ten seconds or more.
    person.wait_until(
        "/^(\\d\\d\\.|\\d+ min)/.test(document.querySelector('#progress-elapsed').textContent)",
    );
    person.stop();
    for (name, samples) in busy_loops() {
        assert!(samples > 0, "{name}");
    }
    let shown = person.read("strobe.inspect.facts().window");
    let [from, to] = [0, 1].map(|end| shown[end].as_f64().unwrap());
    assert!(to - from < 1_100., "{from} to {to}");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn what_an_event_loop_did_in_short_tasks_is_left_out_if_that_is_ticked() {
    // An event loop that goes from one task to the next is busy all the time.
    let script = "
        let cycles = 0;
        const idle = () => new Promise(resolve => setTimeout(resolve, 50));
        function shortTask() {
          work(20);
        }
        function longTask() {
          const end = performance.now() + 4000;
          while (performance.now() < end);
        }
        (async () => {
          for (;;) {
            for (let i = 0; i < 10; i++) {
              await idle();
              shortTask();
            }
            await idle();
            longTask();
            cycles++;
          }
        })();";
    let site = Site::plain()
        .generated("/tasks.js", script.to_owned())
        .generated(
            "/tasks.html",
            "<!DOCTYPE html><meta charset='utf-8'><script src='harness.js'></script><script src='tasks.js'></script>"
                .to_owned(),
        )
        .serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    let ours = driver.get("/window").unwrap();
    let tasks = person.open_beside(&site.url("/tasks.html"), "cycles >= 0");
    let record = || {
        driver.execute("delete document.documentElement.dataset.ready;");
        person.click("#record");
        person
            .wait_until("document.querySelector('#record-label').textContent === 'Stop recording'");
        driver.switch_to(&tasks);
        let cycles = person.read("cycles").as_u64().unwrap();
        person.wait_until(&format!("cycles >= {}", cycles + 2));
        driver.switch_to(&ours);
        person.stop();
        person.functions()
    };
    let all = record();
    assert!(all["longTask"].1 > 0 && all["shortTask"].1 > 0, "{all:?}");
    person.click("#show-recorder");
    person.wait_until("!document.querySelector('#long-tasks').disabled");
    person.click("#long-tasks");
    person.fill("#long-tasks-ms", "2000");
    let long = record();
    assert!(long["longTask"].1 > 0, "{long:?}");
    assert!(!long.contains_key("shortTask"), "{long:?}");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn the_texts_of_scripts_are_recorded_if_that_is_ticked() {
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    person.open_beside(&site.url(BUSY), "rounds > 0");
    person.click("#with-sources");
    person.record(500);
    // How much the texts take is told with the recording.
    let facts = "document.querySelector('#details .facts').textContent";
    person.wait_until(&format!("/Texts\\d+ scripts?, \\d/.test({facts})"));
    person.click("#tab-sources");
    person.click("#sources [data-name$='/busy.js']");
    person.wait_until("document.querySelector('#source-text .code .hot')");
    let text = person.read("document.getElementById('source-text').textContent");
    assert!(text.as_str().expect("a text").contains("x ^= x"), "{text}");
    assert_eq!(
        person.read("document.getElementById('source-notice').textContent"),
        ""
    );
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn functions_are_shown_as_written_unless_maps_are_not_to_be_fetched() {
    // Timers run seldom in a tab that is not shown.
    let script = "function built() {\n  const end = performance.now() + 20;\n  while (performance.now() < end);\n}\n\
         var rounds = 0;\nconst { port1, port2 } = new MessageChannel();\n\
         port1.onmessage = () => { built(); rounds++; port2.postMessage(null); };\nport2.postMessage(null);\n\
         //# sourceMappingURL=app.map";
    let map = json!({
        "version": 3, "sources": ["app.ts"], "names": ["written"],
        "sourcesContent": [format!("{}function written() {{\n  waste();\n  time();\n}}\n", "\n".repeat(10))],
        "mappings": "AAUA,SAASA;AACP;AACA;AACA;A",
    });
    let site = Site::plain()
        .generated("/app.js", script.to_owned())
        .generated("/app.map", map.to_string())
        .generated(
            "/app.html",
            "<!DOCTYPE html><meta charset='utf-8'><script src='app.js'></script>".to_owned(),
        )
        .serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    person.open_beside(&site.url("/app.html"), "rounds > 0");
    let record = || {
        person.record(500);
        // It has no texts.
        let facts = person.read("document.querySelector('#details .facts').textContent");
        assert!(
            !facts.as_str().expect("a text").contains("Texts"),
            "{facts}"
        );
        let functions = person.read("strobe.inspect.functions()");
        let functions = functions.as_array().expect("a list").iter();
        let functions = functions.filter(|one| one["name"] == "written" || one["name"] == "built");
        let shown: Vec<_> = functions
            .map(|one| [one["name"].clone(), one["place"].clone()])
            .collect();
        person.click("#show-recorder");
        shown
    };
    assert_eq!(
        record(),
        [[json!("written"), json!(site.url("/app.ts:11:10"))]]
    );
    assert_eq!(site.requests_for("/app.map"), 1);
    person.wait_until("!document.querySelector('#linked-maps').disabled");
    person.click("#linked-maps");
    assert_eq!(
        record(),
        [[json!("built"), json!(site.url("/app.js:1:15"))]]
    );
    assert_eq!(site.requests_for("/app.map"), 1);
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

/// A second has some 50 turns of a page that has a processor.
const ENOUGH_TURNS: f64 = 20.;

#[test]
fn a_page_goes_on_while_a_recording_of_it_is_stopped() {
    let _alone = alone();
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    let ours = driver.get("/window").unwrap();
    let page = driver.new_tab();
    driver.switch_to(&page);
    driver.open(&site.url("/gaps.html"));
    person.wait_until("turns > 10");
    driver.switch_to(&ours);

    person.click("#record");
    person.wait_for_samples(SAMPLES);
    // A period with only the recording, for comparison.
    let now = || person.read("Date.now()").as_f64().expect("a time");
    let quiet = now();
    thread::sleep(Duration::from_secs(1));
    let stop = now();
    person.stop();
    let shown = now();
    driver.switch_to(&page);
    let number = |script: &str| person.read(script).as_f64().expect("a number");
    let before = number("turns");
    person.wait_until(&format!("turns > {before}"));
    let longest = |from: f64, to: f64| {
        let gaps = format!("gaps.filter(gap => {from} <= gap[0] && gap[0] <= {to})");
        number(&format!("Math.max(0, ...{gaps}.map(gap => gap[1]))"))
    };
    let turns = |from: f64, to: f64| {
        number(&format!(
            "ends.filter(end => {from} <= end && end <= {to}).length"
        ))
    };
    report(&format!(
        "the page's thread paused for at most {:.2} ms in the {:.0} ms of stopping and showing, \
         and for at most {:.2} ms in the {:.0} ms before",
        longest(stop, shown),
        shown - stop,
        longest(quiet, stop),
        stop - quiet,
    ));
    let (before, meanwhile) = (turns(quiet, stop), turns(stop, shown));
    // The browser and about:profiling need the processors meanwhile, too. A page that waited for them would do none. Few turns
    // say no more than that.
    let least = match before >= ENOUGH_TURNS {
        true => before / (stop - quiet) * (shown - stop) / 4.,
        false => 1.,
    };
    assert!(
        meanwhile >= least,
        "{meanwhile} turns while a recording is stopped and shown, of {least:.1} at least; {before} before"
    );
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_recording_saved_in_each_format_is_the_same_when_it_is_opened() {
    let site = Site::plain().serve();
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    // By then they are compiled and inlined, but only after about:profiling was opened.
    person.open_beside(&site.url(BUSY), "rounds > 300");
    let versions = person.read("document.querySelector('#versions').textContent.split(' · ')");
    let versions = versions.as_array().expect("a list");
    for (version, name) in versions.iter().zip(["Strobe", "Servo", "SpiderMonkey"]) {
        let version = version.as_str().and_then(|one| one.strip_prefix(name));
        let is_there = version.is_some_and(|version| version.starts_with(" "));
        assert!(is_there, "{name}: {versions:?}");
    }
    person.record(SAMPLES);
    let recorded_by = "strobe.inspect.facts().recordedBy";
    assert_eq!(person.read(recorded_by), json!(versions));
    // Select one event loop, because some formats hold only one.
    person.click("#lane-list [aria-label^='Only '][aria-label*='/busy.html']");
    let recorded = person.functions();
    assert!(recorded["seventy"].0 > 500, "{recorded:?}");

    let file_of = |format: &str| folder.path().join(format!("saved.{format}"));
    for format in Format::ALL.map(Format::as_str) {
        person.save(format, &file_of(format));
    }
    for format in Format::ALL.map(Format::as_str) {
        person.open(&file_of(format));
        let opened = person.functions();
        for name in ["seventy", "thirty", "loop", "turn"] {
            assert_eq!(opened[name], recorded[name], "{name} in {format}");
        }
        let said = match format {
            "firefox" | "html" | "speedscope" | "speedscope-lines" => json!(versions),
            _ => json!([]),
        };
        assert_eq!(person.read(recorded_by), said, "{format}");
    }
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn event_loops_are_saved_one_by_one_where_a_file_holds_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(
        path("two.folded"),
        "[main];f;g 2\n[main];f 1\n[worker];h 4\n",
    )
    .unwrap();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    person.open(&path("two.folded"));
    person.click("#save-button");
    // The one with the most stacks first.
    let [worker, main] = ["all.cpuprofile", "all-2.cpuprofile"].map(path);
    assert_eq!(
        person.save_from_menu("cpuprofile", &worker),
        format!("Saved as {}, {}", worker.display(), main.display())
    );
    person.click("#save-loops input[value='0']");
    let chosen = path("chosen.trace.json");
    assert_eq!(
        person.save_from_menu("trace", &chosen),
        format!("Saved as {}", chosen.display())
    );
    person.press("\u{e00c}");
    let of_main = BTreeMap::from([("f".to_owned(), (1, 3)), ("g".to_owned(), (2, 2))]);
    for (file, functions) in [
        (worker, BTreeMap::from([("h".to_owned(), (4, 4))])),
        (main, of_main.clone()),
        (chosen, of_main),
    ] {
        person.open(&file);
        assert_eq!(person.functions(), functions, "{}", file.display());
    }
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn what_was_opened_is_shown_again_when_the_page_is_loaded_again() {
    let folder = tempfile::tempdir().unwrap();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    for (name, text) in [("first.folded", "f;g 2\n"), ("second.folded", "h 3\n")] {
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        person.open(&file);
    }
    assert_eq!(driver.get("/url").unwrap(), "about:profiling#recording=2");
    driver.post("/refresh", &json!({})).unwrap();
    person.wait_until("document.documentElement.dataset.ready === ''");
    assert_eq!(
        person.read("document.querySelector('#recording-name').textContent"),
        "second.folded"
    );
    assert_eq!(person.functions()["h"], (3, 3));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn the_trace_of_a_page_can_be_pasted() {
    let driver = Driver::start(&["--window-size", "1200x900"]);
    driver.open("about:profiling");
    let person = Person(&driver);
    let trace = r#"{"resources":["https://a.example/a.js"],
        "frames":[{"name":"outer","resourceId":0,"line":1,"column":15},{"name":"inner","resourceId":0,"line":2,"column":15}],
        "stacks":[{"frameId":0},{"frameId":1,"parentId":0}],
        "samples":[{"timestamp":1,"stackId":0},{"timestamp":2,"stackId":1},{"timestamp":3,"stackId":1},{"timestamp":4}]}"#;
    person.paste(
        "#paste",
        &trace.replace("\"timestamp\":2", "\"timestamp\":\"2\""),
    );
    person.click("#paste-button");
    person.wait_until("!document.querySelector('#error').hidden");
    let error = person.read("document.querySelector('#error-text').textContent");
    let error = error.as_str().expect("text");
    assert!(
        error.contains("samples[1]"),
        "what is wrong is named: {error}"
    );

    person.paste("#paste", trace);
    person.click("#paste-button");
    person.wait_until("document.documentElement.dataset.ready === ''");
    assert!(
        person
            .read("document.querySelector('#error').hidden")
            .as_bool()
            .unwrap()
    );
    let functions = person.functions();
    assert_eq!(functions["outer"], (1, 3));
    assert_eq!(functions["inner"], (2, 2));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

/// Not a test: writes the pictures of docs/about-profiling.md.
#[test]
#[ignore = "writes into docs/"]
fn pictures() {
    /// The pages of the docs show a long recording.
    const SAMPLES: u64 = 20_000;
    let site = Site::plain().serve();
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    fs::create_dir_all(&docs).unwrap_or_else(|error| panic!("{}: {error}", docs.display()));
    for theme in ["light", "dark"] {
        for (width, height) in [(800, 700), (1920, 1000)] {
            let size = format!("{width}x{height}");
            let driver = Driver::start(&["--window-size", &size, "--theme", theme]);
            driver.open("about:profiling");
            let person = Person(&driver);
            let take = |view: &str| {
                person.wait_for_picture();
                let picture = driver.get("/screenshot").unwrap();
                let picture = BASE64.decode(picture.as_str().expect("text")).unwrap();
                let file = docs.join(format!("{view}-{theme}-{width}.png"));
                fs::write(&file, picture)
                    .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            };
            person.open_beside(&site.url("/catalogue.html"), "document.querySelector('li')");
            person.record(SAMPLES);
            for view in [
                "flame-chart",
                "flame-graph",
                "call-tree",
                "bottom-up",
                "sources",
            ] {
                person.click(&format!("#tab-{view}"));
                if view == "flame-graph" {
                    let boxes = person.read("strobe.inspect.boxes('byPrice')");
                    person.click_at(&boxes[0]["centre"]);
                }
                take(view);
            }
            person.click("#show-recorder");
            take("recorder");
        }
    }
}
