/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The about:profiling page alone: what it calculates from a recording, and its use by mouse and keyboard. The
//! browser's side of it is tested elsewhere.

use browser_tests::{Driver, Site, TIME_BOUND, alone, report, repository};
use serde_json::{Value, json};

/// Keys of WebDriver.
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";
const ARROW_UP: &str = "\u{e013}";
const ARROW_LEFT: &str = "\u{e012}";
const ARROW_RIGHT: &str = "\u{e014}";
const ARROW_DOWN: &str = "\u{e015}";
const SHIFT: char = '\u{e008}';

const PAGE: &str = "/resources/about-profiling/about-profiling.html";

/// It has eight samples. main is in all of them, work is in six and is the leaf of two, sort is in four, and idle is in
/// none.
pub(crate) const TRACE: &str = r#"{
  "resources": ["https://a.example/app.js", "https://b.example/library.js"],
  "frames": [
    { "name": "main", "resourceId": 0, "line": 1, "column": 1 },
    { "name": "work", "resourceId": 0, "line": 10, "column": 14 },
    { "name": "sort", "resourceId": 1, "line": 3, "column": 2 }
  ],
  "stacks": [{ "frameId": 0 }, { "parentId": 0, "frameId": 1 }, { "parentId": 1, "frameId": 2 }],
  "samples": [
    { "timestamp": 10, "stackId": 0 }, { "timestamp": 20, "stackId": 1 }, { "timestamp": 30, "stackId": 2 },
    { "timestamp": 40, "stackId": 2 }, { "timestamp": 50, "stackId": 2 }, { "timestamp": 60, "stackId": 2 },
    { "timestamp": 70, "stackId": 1 }, { "timestamp": 80, "stackId": 0 }
  ]
}"#;

/// Two processes, one of which ends, and an event loop that does nothing. The page has five samples. main is in all
/// that are not idle, work in three, sort (a built-in) in two, and advertise (of another origin) in one.
fn recording() -> String {
    let no_functions =
        json!({ "name": [], "kind": [], "resource": [], "line": [], "column": [], "realm": [] });
    json!({
        "version": 2, "interval": 1, "timeOrigin": null,
        "processes": [
            { "name": "browser", "pid": 1, "ended": null, "eventLoops": [
                {
                    "name": "Page https://a.example/shop.html", "kind": "page", "documents": ["https://a.example/shop.html"],
                    "resources": ["https://a.example/app.js", "https://b.example/ad.js"],
                    "realms": [
                        { "url": "https://a.example/shop.html", "origin": "https://a.example" },
                        { "url": "https://b.example/", "origin": "https://b.example" },
                    ],
                    "functions": {
                        "name": ["main", "work", "sort", "advertise"], "kind": [0, 0, 1, 0], "resource": [0, 0, -1, 1],
                        "line": [1, 10, 0, 2], "column": [1, 14, 0, 9], "realm": [0, 0, 0, 1],
                    },
                    "frames": { "function": [0, 1, 2, 3], "line": [0, 0, 0, 0], "column": [0, 0, 0, 0] },
                    "stacks": { "parent": [-1, 0, 1, 0], "frame": [0, 1, 2, 3] },
                    "samples": {
                        "time": [1000, 1000, 1000, 1000, 1000], "stack": [1, 2, 2, 3, -1], "activity": [1, 1, 1, 1, 0],
                    },
                },
                {
                    "name": "Page about:blank", "kind": "page", "documents": ["about:blank"], "resources": [], "realms": [],
                    "functions": no_functions, "frames": { "function": [], "line": [], "column": [] }, "stacks": { "parent": [], "frame": [] },
                    "samples": { "time": [1000, 1000], "stack": [-1, -1], "activity": [0, 0] },
                },
            ] },
            { "name": "content", "pid": 2, "ended": 4, "eventLoops": [{
                "name": "Worker indexer", "kind": "worker", "documents": [], "resources": [], "realms": [],
                "functions": { "name": ["index"], "kind": [0], "resource": [-1], "line": [0], "column": [0], "realm": [-1] },
                "frames": { "function": [0], "line": [0], "column": [0] },
                "stacks": { "parent": [-1], "frame": [0] },
                "samples": { "time": [1000, 1000], "stack": [0, 0], "activity": [1, 1] },
            }] },
        ],
    })
    .to_string()
}

/// Eight samples of 1 ms each. main calls step from line 2, and packed from line 3. step runs at line 6 for 3 ms and at
/// line 7 for 1 ms. packed runs at two columns of its only line, for 1 ms and for 2 ms. main itself runs at line 3,
/// too. `texts` are those of app.js and of packed.js.
fn recording_with_lines(texts: [Option<&str>; 2]) -> String {
    let names = ["https://a.example/app.js", "https://a.example/packed.js"];
    let mut sources = Vec::new();
    let ids = [0, 1].map(|script: usize| match texts[script] {
        Some(text) => {
            sources.push(json!({ "name": names[script], "text": text, "line": 1, "column": 1 }));
            sources.len() as i64 - 1
        },
        None => -1,
    });
    json!({
        "version": 2, "interval": 1, "timeOrigin": null,
        "processes": [{ "name": "", "pid": null, "ended": null, "eventLoops": [{
            "name": "Page https://a.example/", "kind": "page", "documents": [], "realms": [],
            "resources": names, "sources": sources,
            "functions": {
                "name": ["main", "step", "packed"], "kind": [0, 0, 0], "resource": [0, 0, 1],
                "line": [1, 5, 1], "column": [1, 1, 2000], "realm": [-1, -1, -1], "source": [ids[0], ids[0], ids[1]],
            },
            "frames": {
                "function": [0, 0, 1, 1, 2, 2], "line": [2, 3, 6, 7, 1, 1], "column": [3, 3, 9, 5, 2040, 9000],
            },
            "stacks": { "parent": [-1, -1, 0, 0, 1, 1], "frame": [0, 1, 2, 3, 4, 5] },
            "samples": {
                "time": [1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000],
                "stack": [2, 2, 2, 3, 1, 4, 5, 5], "activity": [1, 1, 1, 1, 1, 1, 1, 1],
            },
        }] }],
    })
    .to_string()
}

const APP: &str = "function main() {
  step();
  packed();
}
function step() {
  let sum = square(7);
  add(sum);
}
";

#[test]
fn what_the_viewer_calculates_is_right() {
    let site = Site::of(repository()).serve();
    let checks = site.visit("/tests/pages/viewer-logic.html").run();
    let checks = checks.as_object().expect("checks by name");
    let failed: Vec<_> = checks
        .iter()
        .filter(|(_, outcome)| *outcome != "passed")
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
    assert!(checks.len() > 20, "{} checks", checks.len());
}

/// The page without a server.
struct Viewer {
    driver: Driver,
    _site: Site,
}

impl Viewer {
    fn empty() -> Self {
        Self::of_size("1100x800")
    }

    fn of_size(size: &str) -> Self {
        let site = Site::of(repository()).serve();
        let driver = Driver::start(&[&format!("--window-size={size}")]);
        driver.open(&site.url(PAGE));
        Self {
            driver,
            _site: site,
        }
    }

    fn with_trace() -> Self {
        Self::with(TRACE)
    }

    fn with(text: &str) -> Self {
        let viewer = Self::empty();
        viewer.show(text);
        viewer
    }

    fn show(&self, text: &str) {
        self.paste(text);
        self.wait_for("document.documentElement.dataset.ready === ''");
    }

    /// Puts a text into the paste box and presses the button.
    fn paste(&self, text: &str) {
        self.driver.execute(&format!(
            "document.getElementById('paste').value = {};",
            json!(text)
        ));
        self.click("#paste-button");
    }

    /// Shows a recording of the generator, and gives how many samples it has.
    fn show_generated(&self, options: &str) -> Value {
        let samples = self.driver.execute(&format!(
            "return new Promise((resolve, reject) => {{
                const script = document.createElement('script');
                script.src = '/tests/viewer/generate.js';
                script.onload = () => {{
                    const recording = generateRecording({options});
                    strobe.app.openText(JSON.stringify(recording), 'generated');
                    resolve(recording.processes.flatMap(process => process.eventLoops)
                        .reduce((sum, {{ samples }}) => sum + samples.time.length, 0));
                }};
                script.onerror = () => reject(new Error('the generator does not load'));
                document.head.append(script);
            }});"
        ));
        self.wait_for("document.documentElement.dataset.ready === ''");
        assert_eq!(self.facts()["samples"], samples);
        samples
    }

    fn click(&self, selector: &str) {
        self.driver.click(selector);
    }

    /// Types into the focused element.
    fn keys(&self, keys: &str) {
        let actions: Vec<_> = keys
            .chars()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        self.act_by_keys(&actions);
    }

    /// Types a key while Shift is held.
    fn shift(&self, key: &str) {
        let shift = |kind: &str| json!({ "type": kind, "value": SHIFT });
        let [down, up] = ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key }));
        let actions = [shift("keyDown"), down, up, shift("keyUp")];
        self.act_by_keys(&actions);
    }

    fn act_by_keys(&self, actions: &[Value]) {
        let keyboard = json!({ "type": "key", "id": "keys", "actions": actions });
        self.driver.act(&keyboard);
    }

    /// Presses the main mouse button at the first place, moves to the others, and releases it.
    fn press(&self, places: &[[f64; 2]]) {
        let go = |[x, y]: [f64; 2]| json!({ "type": "pointerMove", "duration": 0, "origin": "viewport", "x": x.round(), "y": y.round() });
        let mut actions = vec![go(places[0]), json!({ "type": "pointerDown", "button": 0 })];
        actions.extend(places[1..].iter().map(|place| go(*place)));
        actions.push(json!({ "type": "pointerUp", "button": 0 }));
        self.driver.act(&json!({
            "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" }, "actions": actions,
        }));
    }

    /// Clicks with the other button.
    fn press_other(&self, [x, y]: [f64; 2]) {
        self.driver.act(&json!({
            "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" },
            "actions": [
                { "type": "pointerMove", "duration": 0, "origin": "viewport", "x": x.round(), "y": y.round() },
                { "type": "pointerDown", "button": 2 },
                { "type": "pointerUp", "button": 2 },
            ],
        }));
    }

    fn value(&self, expression: &str) -> Value {
        self.driver.execute(&format!("return {expression};"))
    }

    fn wait_for(&self, expression: &str) {
        assert!(
            self.driver.becomes_true(expression, TIME_BOUND),
            "{expression} does not become true"
        );
    }

    fn facts(&self) -> Value {
        self.value("strobe.inspect.facts()")
    }

    /// [name, self, total] of each row of a tree that is on the screen, in order.
    fn rows(&self, tree: &str) -> Value {
        self.value(&format!(
            "[...document.querySelectorAll('#{tree} .tree-scroller .tree-row')]
                .filter(row => !row.hidden)
                .sort((a, b) => a.dataset.index - b.dataset.index)
                .map(row => [row.dataset.name, Number(row.dataset.self), Number(row.dataset.total)])"
        ))
    }

    /// Moves the mouse to a place, waits for a line beside it, and gives all of them.
    fn tip_at(&self, [x, y]: [f64; 2], line: &str) -> Vec<String> {
        self.driver.act(&json!({
            "type": "pointer", "id": "mouse", "parameters": { "pointerType": "mouse" },
            "actions": [{ "type": "pointerMove", "duration": 0, "origin": "viewport", "x": x.round(), "y": y.round() }],
        }));
        let lines =
            "[...document.getElementById('tip').children].map(({ textContent }) => textContent)";
        self.wait_for(&format!(
            "!document.getElementById('tip').hidden && {lines}.includes('{line}')"
        ));
        let lines = self.value(lines);
        let lines = lines.as_array().expect("a list").iter();
        lines
            .map(|line| line.as_str().expect("a text").to_owned())
            .collect()
    }

    /// Drags over the time line, from one part of its width to another.
    fn choose_time(&self, from: f64, to: f64) {
        let lanes = self.value(
            "(({ left, top, width, height }) => [left, top, width, height])(
                document.getElementById('lanes').getBoundingClientRect())",
        );
        let part = |index: usize| lanes[index].as_f64().expect("a number");
        let at = |share: f64| [part(0) + share * part(2), part(1) + part(3) - 12.0];
        self.press(&[at(from), at((from + to) / 2.0), at(to)]);
    }

    fn box_of(&self, name: &str) -> [f64; 2] {
        let boxes = self.value(&format!("strobe.inspect.boxes({})", json!(name)));
        let centre = &boxes[0]["centre"];
        let part = |index: usize| {
            centre[index]
                .as_f64()
                .unwrap_or_else(|| panic!("no box of {name}: {boxes}"))
        };
        [part(0), part(1)]
    }
}

#[test]
fn a_pasted_trace_has_its_totals_in_every_view() {
    let viewer = Viewer::with_trace();
    let facts = viewer.facts();
    assert_eq!(facts["samples"], 8);
    assert_eq!(facts["shown"], 8);
    viewer.click("#tab-call-tree");
    viewer.wait_for("document.querySelector('#call-tree [data-name=sort]')");
    // A single path is opened to its end.
    assert_eq!(
        viewer.rows("call-tree"),
        json!([["main", 2, 8], ["work", 2, 6], ["sort", 4, 4]])
    );
    viewer.click("#tab-bottom-up");
    viewer.wait_for("document.querySelector('#bottom-up [data-name=sort]')");
    let rows = viewer.rows("bottom-up");
    assert_eq!(rows[0], json!(["sort", 4, 4]));
    viewer.click("#tab-sources");
    viewer.wait_for("document.querySelector('#sources .tree-row[data-name]')");
    assert_eq!(
        viewer.rows("sources"),
        json!([
            ["https://a.example/app.js", 4, 8],
            ["https://b.example/library.js", 4, 4]
        ])
    );
    viewer.click("#tab-flame-graph");
    viewer.wait_for("strobe.inspect.boxes('main').length === 1");
    let width = |name: &str| {
        let boxes = viewer.value(&format!("strobe.inspect.boxes({})", json!(name)));
        boxes[0]["width"].as_f64().expect("a box")
    };
    // Boxes begin and end at whole pixels.
    assert!((width("work") / width("main") - 0.75).abs() < 0.01);
    assert!((width("sort") / width("main") - 0.5).abs() < 0.01);
    viewer.click("#tab-flame-chart");
    viewer.wait_for("strobe.inspect.boxes('sort').length === 1");
    assert_eq!(viewer.value("strobe.inspect.boxes('work').length"), 1);
}

#[test]
fn a_box_of_the_flame_chart_says_its_own_time_and_that_of_its_path() {
    // sort runs at 30 ms, and again at 50 and 60.
    let viewer = Viewer::with(&TRACE.replace(
        r#"{ "timestamp": 40, "stackId": 2 }"#,
        r#"{ "timestamp": 40, "stackId": 1 }"#,
    ));
    viewer.wait_for("strobe.inspect.boxes('sort').length === 2");
    for (index, own) in ["10.0 ms, from 20.0 ms on", "20.0 ms, from 40.0 ms on"]
        .iter()
        .enumerate()
    {
        let centre = viewer.value(&format!("strobe.inspect.boxes('sort')[{index}].centre"));
        let part = |axis: usize| centre[axis].as_f64().expect("a number");
        let place = [part(0), part(1)];
        let lines = viewer.tip_at(place, &format!("this box {own}"));
        assert_eq!(lines[0], "sort");
        assert!(
            lines[3].starts_with("this call path, in all 30.0 ms"),
            "{lines:?}"
        );
        // The mouse is not beside it now.
        viewer.press(&[place]);
        viewer.wait_for(&format!(
            "document.getElementById('details').textContent.includes('{own}')"
        ));
    }
}

#[test]
fn a_stretch_without_samples_is_unknown_and_cuts_no_call_in_pieces() {
    // The gap is from 50 to 60 ms, which is 40 to 50 ms after the beginning. All three functions are on the stack
    // before and after it.
    let viewer = Viewer::with(&TRACE.replace(r#"{ "timestamp": 50, "stackId": 2 }, "#, ""));
    viewer.wait_for("strobe.inspect.gaps().length === 1");
    for name in ["main", "work", "sort"] {
        let boxes = viewer.value(&format!("strobe.inspect.boxes('{name}').length"));
        assert_eq!(boxes, 1, "{name}");
    }
    let gap = viewer.value("strobe.inspect.gaps()[0]");
    let part = |index: usize| gap["centre"][index].as_f64().expect("a number");
    let said = "no samples from 40.0 ms to 50.0 ms";
    let lines = viewer.tip_at([part(0), part(1)], said);
    // This line is about the box that goes on there.
    assert_eq!(lines[0], "work");
    // In the time line, too, with nothing else beside the event loop's name.
    let lanes = viewer.value(
        "(({ left, top, width, height }) => [left + width * 4.5 / 8, top + height - 12])(
            document.getElementById('lanes').getBoundingClientRect())",
    );
    let part = |index: usize| lanes[index].as_f64().expect("a number");
    let lines = viewer.tip_at([part(0), part(1)], said);
    assert_eq!(lines.len(), 2, "{lines:?}");
}

#[test]
fn a_text_has_the_samples_of_its_lines_and_follows_the_selection() {
    let viewer = Viewer::with(&recording_with_lines([Some(APP), None]));
    let lines = || {
        viewer.value(
            "strobe.inspect.lines().map(({ line, self, total, functions }) =>
                [line, self, total, functions[0]])",
        )
    };
    let current = |line: u32, function: &str| {
        viewer.wait_for(&format!(
            "document.querySelector('#source-text .tree-row[aria-selected=true]')?.dataset.line === '{line}'
                && strobe.inspect.facts().selection === '{function}'"
        ));
    };
    let cell = |line: u32, number: u32| {
        viewer.value(&format!(
            "document.querySelector('#source-text [data-line=\"{line}\"] .tree-cell:nth-child({number})').textContent"
        ))
    };
    viewer.click("#tab-sources");
    viewer.wait_for("strobe.inspect.lines().length === 4");
    assert_eq!(
        lines(),
        json!([
            [2, 0, 4, "main"],
            [3, 1, 4, "main"],
            [6, 3, 3, "step"],
            [7, 1, 1, "step"]
        ])
    );
    assert_eq!(cell(6, 5), "  let sum = square(7);");
    assert_eq!([cell(6, 2), cell(6, 3)], ["3", "3"]);
    assert_eq!([cell(4, 2), cell(4, 3)], ["", ""]);
    // A click selects the function, and the text stays where it is.
    let line = viewer.value(
        "(({ left, top }) => [left + 12, top + 8])(
            document.querySelector('#source-text [data-line=\"2\"] .code').getBoundingClientRect())",
    );
    let part = |index: usize| line[index].as_f64().expect("a number");
    viewer.press(&[[part(0), part(1)]]);
    current(2, "main");
    // A function that is selected elsewhere is shown at its hottest line.
    viewer.click("#callees button[data-name=step]");
    current(6, "step");
    assert_eq!(
        viewer.value(
            "[...document.querySelectorAll('#source-text .of-selection')].map(row => Number(row.dataset.line))
                .sort((a, b) => a - b)",
        ),
        json!([5, 6, 7])
    );
    viewer.click("#source-unit");
    viewer
        .wait_for("document.getElementById('source-unit').getAttribute('aria-pressed') === 'true'");
    assert_eq!([cell(6, 2), cell(2, 3)], ["37.5 %", "50.0 %"]);
    // By keys, and with only the samples that match.
    viewer.click("#search");
    viewer.keys("packed");
    viewer.wait_for("strobe.inspect.facts().shown === 3");
    assert_eq!(lines(), json!([[3, 0, 3, "main"]]));
    viewer.click("#tab-sources");
    viewer.keys("h");
    viewer.wait_for("document.activeElement.id === 'source-text'");
    current(3, "step");
    viewer.keys(ARROW_UP);
    current(2, "step");
    viewer.keys(ARROW_DOWN);
    current(3, "main");
}

#[test]
fn lines_are_shown_without_a_text_and_in_parts_if_they_are_long() {
    let notice = "document.getElementById('source-notice').textContent";
    let columns = "strobe.inspect.lines().map(({ line, column, self }) => [line, column, self])";
    let show = |text: Option<&str>| {
        let viewer = Viewer::with(&recording_with_lines([None, text]));
        viewer.click("#tab-sources");
        viewer.wait_for("document.querySelector('#sources [data-name$=\"/packed.js\"]')");
        let row = viewer.value(
            "(({ left, top }) => [left + 20, top + 10])(
                document.querySelector('#sources [data-name$=\"/packed.js\"]').getBoundingClientRect())",
        );
        let part = |index: usize| row[index].as_f64().expect("a number");
        viewer.press(&[[part(0), part(1)]]);
        viewer.wait_for("document.getElementById('source-name').textContent === 'packed.js'");
        assert_eq!(viewer.value(columns), json!([[1, 2040, 1], [1, 9000, 2]]));
        viewer
    };
    let viewer = show(None);
    assert_eq!(
        viewer.value(notice),
        "The recording has no text of this script. The lines that have samples are listed."
    );
    assert_eq!(
        viewer.value("document.querySelector('#source-text [data-self=\"2\"]').textContent"),
        "1:900022packed"
    );
    // A test has one browser at a time.
    drop(viewer);
    let text = format!("{}hot(){}", "a".repeat(2039), "b".repeat(7500));
    let viewer = show(Some(&text));
    assert_eq!(viewer.value(notice), "");
    let shown =
        viewer.value("document.querySelector('#source-text [data-self=\"1\"] .code').textContent");
    let shown = shown.as_str().expect("a text");
    assert!(
        shown.starts_with("…aaa")
            && shown.ends_with("bbb…")
            && shown.contains("ahot()b")
            && shown.len() < 300,
        "{shown}"
    );
    assert_eq!(
        viewer.value("document.querySelector('#source-text [data-self=\"1\"] .hot').textContent"),
        "hot"
    );
}

#[test]
fn the_lines_of_a_function_are_said_in_the_details_and_beside_the_mouse() {
    let viewer = Viewer::with(&recording_with_lines([None, None]));
    let lines = || {
        viewer.value(
            "[...document.querySelectorAll('#function-lines tr[data-line]')]
                .map(({ dataset }) => [dataset.line, Number(dataset.self), Number(dataset.total)])",
        )
    };
    viewer.wait_for("strobe.inspect.boxes('step').length === 1");
    viewer.tip_at(viewer.box_of("step"), "executing line 6, column 9");
    viewer.tip_at(viewer.box_of("packed"), "executing line 1, column 9000");
    let quarter = viewer.value(
        "(({ centre: [x, y], width }) => [x - width / 4, y])(strobe.inspect.boxes('main')[0])",
    );
    let part = |index: usize| quarter[index].as_f64().expect("a number");
    let place = [part(0), part(1)];
    viewer.tip_at(place, "calling from line 2, column 3");
    viewer.press(&[place]);
    viewer.wait_for("strobe.inspect.facts().selection === 'main'");
    assert_eq!(lines(), json!([["3", 1, 4], ["2", 0, 4]]));
    assert_eq!(
        viewer.value(
            "[...document.querySelectorAll('#callees .call')].map(({ textContent }) => textContent)"
        ),
        json!(["called at line 2", "called at line 3"])
    );
    viewer.click("#callees button[data-name=packed]");
    viewer.wait_for("strobe.inspect.facts().selection === 'packed'");
    assert_eq!(lines(), json!([["1:9000", 2, 2], ["1:2040", 1, 1]]));
    viewer.click("#function-lines [data-line=\"1:2040\"] button");
    viewer.wait_for(
        "document.querySelector('#source-text .tree-row[aria-selected=true]')?.dataset.self === '1'",
    );
    viewer.click("#tab-call-tree");
    viewer.wait_for(
        "document.querySelector('#call-tree [data-name=packed] .call')?.textContent === 'called at line 3'",
    );
}

#[test]
fn the_details_say_as_what_a_function_ran() {
    let mut data: Value = serde_json::from_str(&recording_with_lines([None, None])).unwrap();
    data["processes"][0]["eventLoops"][0]["functions"]["generated"] = json!({
        "name": ["", "u", ""], "resource": [-1, 1, -1], "line": [0, 1, 0], "column": [0, 2040, 0],
    });
    let viewer = Viewer::with(&data.to_string());
    let ran_as = "[...document.querySelectorAll('#details dt')]
        .filter(({ textContent }) => textContent === 'Ran as')
        .map(({ nextElementSibling }) => nextElementSibling.textContent)";
    viewer.press(&[viewer.box_of("step")]);
    viewer.wait_for("strobe.inspect.facts().selection === 'step'");
    assert_eq!(
        viewer.value(ran_as),
        json!(["u https://a.example/packed.js:1:2040"])
    );
    viewer.click("#callers button");
    viewer.wait_for("strobe.inspect.facts().selection === 'main'");
    assert_eq!(viewer.value(ran_as), json!([]));
}

#[test]
fn nested_rows_of_bottom_up_are_shares_of_their_root() {
    let viewer = Viewer::with_trace();
    viewer.click("#tab-bottom-up");
    viewer.wait_for("document.querySelector('#bottom-up [data-name=sort]')");
    // The only path up from the heaviest function is open: of the eight samples with main, four ended in sort.
    assert_eq!(
        viewer.rows("bottom-up"),
        json!([
            ["sort", 4, 4],
            ["work", 4, 4],
            ["main", 4, 4],
            ["main", 2, 8],
            ["work", 2, 6]
        ])
    );
}

#[test]
fn a_function_selected_in_one_view_is_selected_in_all() {
    let viewer = Viewer::with_trace();
    viewer.click("#tab-flame-graph");
    viewer.wait_for("strobe.inspect.boxes('work').length === 1");
    viewer.press(&[viewer.box_of("work")]);
    viewer.wait_for("strobe.inspect.facts().selection === 'work'");
    assert_eq!(
        viewer.value("document.getElementById('details-place').textContent"),
        "https://a.example/app.js:10:14"
    );
    assert_eq!(
        viewer.value("document.getElementById('selection-description').textContent"),
        "Selected: work in app.js:10:14; self 2 samples, 25.0 %; total 6 samples, 75.0 %."
    );
    let relatives = |id: &str| {
        viewer.value(&format!(
            "[...document.querySelectorAll('#{id} .relative')]
                .map(one => [one.dataset.name ?? null, Number(one.dataset.samples)])"
        ))
    };
    assert_eq!(relatives("callers"), json!([["main", 6]]));
    assert_eq!(relatives("callees"), json!([["sort", 4]]));
    for (tab, tree) in [
        ("#tab-call-tree", "call-tree"),
        ("#tab-bottom-up", "bottom-up"),
        ("#tab-sources", "sources"),
    ] {
        viewer.click(tab);
        viewer.wait_for(&format!(
            "document.querySelector('#{tree} .tree-row[aria-selected=true]')?.dataset.name === 'work'"
        ));
    }
    // The keyboard goes from the callee to the caller.
    viewer.click("#callees button");
    viewer.wait_for("strobe.inspect.facts().selection === 'sort'");
    viewer.keys(ESCAPE);
    viewer.wait_for("strobe.inspect.facts().selection === null");
}

#[test]
fn the_search_counts_only_what_matches() {
    let viewer = Viewer::with_trace();
    viewer.click("#tab-call-tree");
    viewer.keys("/");
    viewer.wait_for("document.activeElement.id === 'search'");
    viewer.keys(&format!("library{ENTER}"));
    viewer.wait_for("strobe.inspect.facts().selection === 'sort'");
    assert_eq!(viewer.facts()["shown"], 4);
    viewer.wait_for("document.querySelector('#call-tree [data-name=main]')?.dataset.total === '4'");
    viewer.click("#search-filters");
    viewer.wait_for("strobe.inspect.facts().shown === 8");
    viewer.click("#clear-search");
    viewer.wait_for("!strobe.state.matches");
}

#[test]
fn what_the_search_found_is_marked_where_it_is() {
    let viewer = Viewer::with_trace();
    let marked = |tree: &str, row: &str| {
        viewer.value(&format!(
            "[...document.querySelectorAll('#{tree} [data-name=\"{row}\"] .match')]
                .map(one => [one.parentNode.classList[0], one.textContent])"
        ))
    };
    let search = |text: &str| {
        viewer.click("#search");
        viewer
            .driver
            .execute("document.getElementById('search').select();");
        viewer.keys(text);
        viewer.wait_for(&format!("strobe.state.search === {}", json!(text)));
    };
    viewer.click("#tab-call-tree");
    viewer.wait_for("document.querySelector('#call-tree [data-name=sort]')");
    search("or");
    viewer.wait_for("document.querySelector('#call-tree .match')");
    assert_eq!(marked("call-tree", "work"), json!([["name", "or"]]));
    assert_eq!(marked("call-tree", "main"), json!([]));
    // In the file's name, which stands beside the function's.
    search("library");
    viewer.wait_for("document.querySelector('#call-tree .place .match')");
    assert_eq!(marked("call-tree", "sort"), json!([["place", "library"]]));
    // In a part of the URL that is not shown otherwise.
    search("B.EXAMPLE");
    viewer.wait_for("document.querySelector('#call-tree .match')?.textContent === 'b.example'");
    assert_eq!(marked("call-tree", "sort"), json!([["place", "b.example"]]));
    viewer.click("#tab-sources");
    let script = "https://b.example/library.js";
    viewer.wait_for("document.querySelector('#sources .match')");
    assert_eq!(marked("sources", script), json!([["place", "b.example"]]));
}

#[test]
fn a_function_has_a_menu_of_its_own_in_every_view() {
    let viewer = Viewer::with_trace();
    // This is also checked where a page may write to the clipboard.
    viewer.driver.execute(
        "Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true });",
    );
    let is_open = "!document.getElementById('function-menu').hidden";
    let items = "[...document.querySelectorAll('#function-menu [role=menuitem]')]
        .map(({ dataset }) => dataset.item)";
    let copied = |item: &str| {
        viewer.click(&format!("#function-menu [data-item={item}]"));
        viewer.wait_for("document.activeElement.id === 'copied-text'");
        let text = viewer.value("document.getElementById('copied-text').value");
        let selected =
            "document.activeElement.selectionEnd - document.activeElement.selectionStart";
        assert_eq!(
            viewer.value(selected),
            text.as_str().expect("a text").chars().count()
        );
        viewer.keys(ESCAPE);
        viewer.wait_for(&format!("!({is_open})"));
        text
    };
    let open_on_box = || {
        viewer.press_other(viewer.box_of("work"));
        viewer.wait_for(is_open);
    };
    viewer.wait_for("strobe.inspect.boxes('work').length === 1");
    open_on_box();
    assert_eq!(
        viewer.value(items),
        json!([
            "copy-name",
            "copy-place",
            "copy-stack",
            "search",
            "show-in-flame-graph",
            "show-in-call-tree",
            "show-in-bottom-up",
            "show-in-sources"
        ])
    );
    assert_eq!(copied("copy-name"), "work");
    open_on_box();
    assert_eq!(copied("copy-place"), "https://a.example/app.js:10:14");
    open_on_box();
    assert_eq!(
        copied("copy-stack"),
        "work (https://a.example/app.js:10:14)\nmain (https://a.example/app.js:1:1)"
    );
    open_on_box();
    viewer.click("#function-menu [data-item=show-in-call-tree]");
    viewer.wait_for(
        "document.querySelector('#call-tree .tree-row[aria-selected=true]')?.dataset.name === 'work'",
    );
    // A row, and the keyboard.
    let row = viewer.value(
        "(({ left, top }) => [left + 20, top + 10])(
            document.querySelector('#call-tree [data-name=sort]').getBoundingClientRect())",
    );
    let part = |index: usize| row[index].as_f64().expect("a number");
    viewer.press_other([part(0), part(1)]);
    viewer.wait_for("strobe.inspect.facts().selection === 'sort'");
    viewer.wait_for(is_open);
    viewer.keys(ESCAPE);
    viewer.wait_for(&format!("!({is_open})"));
    viewer.keys("m");
    viewer.wait_for(is_open);
    viewer.click("#function-menu [data-item=search]");
    viewer.wait_for("strobe.inspect.facts().shown === 4");
    assert_eq!(
        viewer.value("document.getElementById('search').value"),
        "sort"
    );
}

/// In a window that has room for both.
#[test]
fn samples_have_a_column_where_they_are_no_milliseconds() {
    let viewer = Viewer::of_size("1300x800");
    let titles = || {
        viewer.value(
            "[...document.querySelectorAll('#call-tree [role=columnheader]')]
                .filter(one => getComputedStyle(one).display !== 'none').map(one => one.textContent)",
        )
    };
    viewer.show(TRACE);
    viewer.click("#tab-call-tree");
    viewer.wait_for("document.querySelector('#call-tree [data-name=sort]')");
    assert_eq!(
        titles(),
        json!([
            "Total #", "Total ms", "%", "Self #", "Self ms", "%", "Function"
        ])
    );
    viewer.click("#show-recorder");
    viewer
        .driver
        .execute("delete document.documentElement.dataset.ready;");
    viewer.show(&recording());
    assert_eq!(
        titles(),
        json!(["Total ms", "%", "Self ms", "%", "Function"])
    );
}

#[test]
fn time_is_chosen_by_mouse_and_by_keys() {
    let viewer = Viewer::with_trace();
    // The samples at 30 to 60 ms, of 10 to 90.
    viewer.choose_time(0.2, 0.68);
    viewer.wait_for("strobe.inspect.facts().shown === 4");
    assert_eq!(
        viewer.value("strobe.inspect.functions().map(({ name, self }) => [name, self])"),
        json!([["main", 0], ["work", 0], ["sort", 4]])
    );
    viewer.keys(ESCAPE);
    viewer.wait_for("strobe.inspect.facts().shown === 8");
    viewer.keys("+");
    viewer.wait_for("strobe.inspect.facts().window[0] > 10");
    let before = viewer.facts()["window"].clone();
    viewer.keys(ARROW_LEFT);
    viewer.wait_for(&format!("strobe.inspect.facts().window[0] < {}", before[0]));
    viewer.keys("s");
    viewer.wait_for("strobe.inspect.facts().shown < 8");
    viewer.keys("0");
    viewer.wait_for("strobe.inspect.facts().window[0] === 10");
}

#[test]
fn the_zoom_is_reset_by_a_key_wherever_the_focus_is() {
    let viewer = Viewer::with_trace();
    let zoomed = "strobe.inspect.facts().window[1] - strobe.inspect.facts().window[0] < 60";
    let reset =
        "strobe.inspect.facts().window[0] === 10 && strobe.inspect.facts().window[1] === 90";
    viewer.choose_time(0.2, 0.68);
    viewer.wait_for("strobe.inspect.facts().shown === 4");
    viewer.click("#zoom-range");
    viewer.wait_for(zoomed);
    // The button goes away with the range.
    viewer.click("#clear-range");
    viewer.wait_for("strobe.inspect.facts().range === null");
    viewer.keys("0");
    viewer.wait_for(reset);
    viewer.click("#tab-sources");
    viewer.keys("++");
    viewer.wait_for(zoomed);
    viewer.keys("0");
    viewer.wait_for(reset);
}

#[test]
fn what_counts_is_said_where_the_screen_shows_another_time() {
    let viewer = Viewer::with_trace();
    let said = "document.getElementById('range-text').textContent";
    let wait_until_said = |text: &str| viewer.wait_for(&format!("{said} === '{text}'"));
    wait_until_said("Counted: all of the time");
    viewer.keys("+");
    wait_until_said("Counted: all of the time · on the screen: 13.3 ms – 66.7 ms");
    assert_eq!(viewer.facts()["shown"], 8);
    viewer.click("#select-visible");
    wait_until_said("Counted: 13.3 ms – 66.7 ms (53.3 ms)");
    assert_eq!(viewer.facts()["shown"], 5);
    viewer.keys("0");
    wait_until_said("Counted: 13.3 ms – 66.7 ms · on the screen: 0 ms – 80.0 ms");
    assert_eq!(viewer.facts()["shown"], 5);
    viewer.click("#zoom-range");
    wait_until_said("Counted: 13.3 ms – 66.7 ms (53.3 ms)");
    viewer.click("#clear-range");
    wait_until_said("Counted: all of the time · on the screen: 13.3 ms – 66.7 ms");
    assert_eq!(viewer.facts()["shown"], 8);
}

#[test]
fn everything_is_reached_by_keys() {
    let viewer = Viewer::with_trace();
    viewer.keys("3");
    viewer.wait_for("document.activeElement.id === 'call-tree'");
    viewer.keys(&ARROW_DOWN.repeat(2));
    viewer.wait_for("strobe.inspect.facts().selection === 'work'");
    viewer.keys(ARROW_LEFT);
    viewer.wait_for(
        "document.querySelector('#call-tree .selected')?.getAttribute('aria-expanded') === 'false'",
    );
    viewer.keys("?");
    viewer.wait_for("!document.getElementById('help').hidden");
    viewer.keys(ESCAPE);
    viewer.wait_for("document.getElementById('help').hidden");
    let unnamed = viewer.value(
        "[...document.querySelectorAll('button, input, textarea, canvas, [role=treegrid]')].filter(one =>
            !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length)).map(one => one.id)",
    );
    assert_eq!(unnamed, json!([]));
    // The keys move along the calls of the flame graph, to the callee and back to the caller.
    viewer.keys("2");
    viewer.wait_for("document.activeElement.id === 'flame-graph-canvas'");
    viewer.keys(ESCAPE);
    for (key, selected) in [
        (ARROW_DOWN, "main"),
        (ARROW_DOWN, "work"),
        (ARROW_DOWN, "sort"),
        (ARROW_RIGHT, "sort"),
        (ARROW_UP, "work"),
    ] {
        viewer.shift(key);
        viewer.wait_for(&format!(
            "strobe.inspect.facts().selection === '{selected}'"
        ));
    }
}

#[test]
fn filters_are_chosen_by_clicks() {
    let viewer = Viewer::with(&recording());
    let names = || {
        viewer.value(
            "Object.fromEntries(strobe.inspect.functions().map(({ name, self }) => [name, self]))",
        )
    };
    assert_eq!(
        names(),
        json!({ "main": 0, "work": 1, "sort": 2, "advertise": 1, "index": 2 })
    );
    viewer.click("#kinds-button");
    viewer.click("#kinds-panel [data-name='Built-in functions'] input");
    // The built-in's samples now count as self samples of its caller.
    assert_eq!(
        names(),
        json!({ "main": 0, "work": 3, "advertise": 1, "index": 2 })
    );
    viewer.click("#origins-button");
    viewer.click("#origins-panel [data-name='https://b.example'] input");
    assert_eq!(names(), json!({ "main": 1, "work": 3, "index": 2 }));
    viewer.click("#realms-button");
    viewer.click("#realms-panel [data-name='not recorded'] input");
    assert_eq!(names(), json!({ "main": 1, "work": 3 }));
    viewer.keys(ESCAPE);
    viewer.click("#reset-filters");
    viewer.wait_for("strobe.inspect.facts().shown === 6");
    viewer.click("#show-idle");
    viewer.wait_for("strobe.inspect.facts().shown === 9");
    viewer.click("#show-idle");
    viewer.click("#lane-list .lane[data-event-loop='0'] input");
    viewer.wait_for("strobe.inspect.facts().shown === 2");
    viewer.click("#all-loops");
    viewer.wait_for("strobe.inspect.facts().shown === 6");
}

#[test]
fn idle_event_loops_are_folded_and_ended_processes_marked() {
    let viewer = Viewer::with(&recording());
    let lanes = || {
        viewer.value(
            "[...document.querySelectorAll('#lane-list .lane')].map(lane =>
                [lane.querySelector('.name').textContent, lane.querySelector('.more').textContent])",
        )
    };
    let busy = json!([
        ["a.example/shop.html", "browser · page"],
        ["indexer", "ended · content · worker"]
    ]);
    assert_eq!(lanes(), busy);
    viewer.click("#idle-loops");
    assert_eq!(lanes()[2], json!(["about:blank", "browser · page"]));
    viewer.click("#idle-loops");
    assert_eq!(lanes(), busy);
}

/// The page's measurement of its own speed is printed. The test only checks that the number is plausible.
#[test]
fn a_large_recording_is_shown_and_panned() {
    let _alone = alone();
    let viewer = Viewer::empty();
    let samples = viewer.show_generated("{}");
    assert!(samples.as_u64() >= Some(700_000), "{samples}");
    let speed = viewer.value("strobe.measure.pan({ frames: 12 })");
    assert_eq!(speed["frames"], 12);
    assert!(speed["framesPerSecond"].as_f64() > Some(0.0), "{speed}");
    let load = viewer.value("document.documentElement.dataset.loadMs");
    report(&format!(
        "about:profiling: {samples} samples loaded in {} ms, panned at {:.1} frames a second",
        load.as_str().expect("a number"),
        speed["framesPerSecond"].as_f64().expect("a number"),
    ));
}

/// As above. Only the rows on the screen are in the document, wherever the text is scrolled.
#[test]
fn a_long_text_is_scrolled() {
    let _alone = alone();
    let viewer = Viewer::empty();
    viewer.show_generated("{ samples: 3000, eventLoops: 1, lines: true }");
    viewer.click("#tab-sources");
    viewer.wait_for("strobe.inspect.lines().length > 0");
    let lines = "Number(document.getElementById('source-text').getAttribute('aria-rowcount')) - 1";
    assert_eq!(viewer.value(lines), 10_000);
    let speed = viewer.value("strobe.measure.scroll({ frames: 12 })");
    assert_eq!(speed["frames"], 12);
    let rows = viewer.value("document.querySelectorAll('#source-text .tree-row').length");
    assert!(rows.as_u64() < Some(100), "{rows}");
    report(&format!(
        "about:profiling: a text of 10000 lines is scrolled at {:.1} frames a second",
        speed["framesPerSecond"].as_f64().expect("a number"),
    ));
}

/// As above: the page's figures about its own speed are printed for the reader.
#[test]
fn every_view_is_switched_to_and_searched_in() {
    let _alone = alone();
    let viewer = Viewer::empty();
    let samples = viewer.show_generated("{ samples: 12000, eventLoops: 1 }");
    assert_eq!(samples, 12_000);
    let actions = viewer.value("strobe.measure.actions({ search: 'render', times: 3 })");
    let actions = actions.as_object().expect("figures by view");
    assert_eq!(actions.len(), 5);
    let taken = |tab: &str, action: &str| {
        actions[tab][action]
            .as_f64()
            .unwrap_or_else(|| panic!("no figure for {action} in {tab}: {actions:?}"))
    };
    for tab in actions.keys() {
        report(&format!(
            "about:profiling: {samples} samples: to {tab} in {:.0} ms; a search there takes {:.0} ms, to end it {:.0} ms",
            taken(tab, "switch"),
            taken(tab, "search"),
            taken(tab, "clear"),
        ));
    }
    // They were searched, and all is as before.
    assert_eq!(viewer.facts()["tab"], "sources");
    assert_eq!(viewer.value("strobe.state.search"), "");
}

#[test]
fn a_function_without_a_source_is_shown_by_its_name_alone() {
    let recording = json!({
        "version": 2, "interval": 1, "timeOrigin": null,
        "processes": [{ "name": "", "pid": null, "ended": null, "eventLoops": [{
            "name": "", "kind": "unknown", "documents": [], "resources": [], "realms": [],
            "functions": { "name": [""], "kind": [0], "resource": [-1], "line": [1], "column": [1], "realm": [-1] },
            "frames": { "function": [0], "line": [0], "column": [0] },
            "stacks": { "parent": [-1], "frame": [0] },
            "samples": { "time": [1000, 1000], "stack": [0, 0], "activity": [1, 1] },
        }] }],
    });
    let viewer = Viewer::with(&recording.to_string());
    let centre = viewer.box_of("(anonymous)");
    let lines = viewer.tip_at(centre, "(anonymous)");
    assert!(!lines.iter().any(|line| line.contains(":1:1")), "{lines:?}");
    viewer.press(&[centre]);
    viewer.wait_for("strobe.inspect.facts().selection === '(anonymous)'");
    assert_eq!(
        viewer.value("document.getElementById('details-place').textContent"),
        "no source"
    );
    viewer.click("#tab-call-tree");
    viewer.wait_for("document.querySelector('#call-tree .tree-row[aria-selected=true]')");
    assert_eq!(
        viewer.value(
            "(({ name, place }) => [name, place])(
                document.querySelector('#call-tree .tree-row[aria-selected=true]').dataset)",
        ),
        json!(["(anonymous)", ""])
    );
}

#[test]
fn an_error_in_a_file_is_shown_with_its_place() {
    let viewer = Viewer::empty();
    let error = || {
        viewer.wait_for("!document.getElementById('error').hidden");
        let text = viewer.value("document.getElementById('error-text').textContent");
        viewer.click("#dismiss-error");
        text.as_str().expect("a text").to_owned()
    };
    viewer.paste("{");
    assert!(error().starts_with("Open: this is not JSON: "));
    viewer.paste("[]");
    assert_eq!(
        error(),
        "Open: this is neither viewer data nor the trace of a web page"
    );
    viewer.paste(&TRACE.replace("\"parentId\": 1", "\"parentId\": 7"));
    assert_eq!(
        error(),
        "Open: stacks[2].parentId: 7 is not one of the 2 there are"
    );
    // No recording was opened.
    assert_eq!(viewer.value("strobe.state.recording"), Value::Null);
}
