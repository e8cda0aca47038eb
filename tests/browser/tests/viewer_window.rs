/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! about:profiling in the browser's window, used by a real mouse and keyboard. What the page calculates is tested
//! without a window: see `viewer.rs` and `about_profiling.rs`.

use std::fs;
use std::thread;
use std::time::Instant;

use browser_tests::{CHROME_HEIGHT, Display, Driver, RETRY_INTERVAL, Site, TIME_BOUND, scaled};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::about_profiling::Person;
use crate::viewer::TRACE;

const LEFT: u32 = 1;
const RIGHT: u32 = 3;
const WHEEL_UP: u32 = 4;

/// True in the page when a recording is shown.
const IS_READY: &str = "document.documentElement.dataset.ready === ''";

/// The window of about:profiling.
struct Window {
    // Ends before its display.
    driver: Driver,
    display: Display,
    folder: TempDir,
}

impl Window {
    /// Shows the recorder.
    fn with_recorder() -> Self {
        let window = Self::start(Driver::start_on, &[]);
        window.driver.open("about:profiling");
        window
    }

    /// Shows a profile, as `strobe view` does.
    fn with_profile(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("profile.json");
        fs::write(&file, text).unwrap();
        let window = Self::start(Driver::view_on, &[file.to_str().unwrap()]);
        window.driver.switch_to(&window.driver.tabs(1)[0]);
        window.person().wait_until(IS_READY);
        window
    }

    fn start(start: fn(&Display, &[&str]) -> Driver, arguments: &[&str]) -> Self {
        let display = Display::start(1300, 900);
        let driver = start(&display, &[&["--window-size=1300x800"], arguments].concat());
        display.focus(&driver.process());
        Self {
            driver,
            display,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn person(&self) -> Person<'_> {
        Person(&self.driver)
    }

    /// A place on the screen, from an expression for a place in the page. What is there has been drawn.
    fn on_screen(&self, place: &str) -> (i32, i32) {
        let place = self.person().read(place);
        self.person().wait_for_picture();
        let [x, y] = [0, 1].map(|axis| place[axis].as_f64().expect("a coordinate").round() as i32);
        (x, y + CHROME_HEIGHT)
    }

    /// The place in an element at these shares of its width and its height.
    fn in_element(&self, selector: &str, across: f64, down: f64) -> (i32, i32) {
        self.on_screen(&format!(
            "(({{ left, top, width, height }}) => [left + width * {across}, top + height * {down}])(
                document.querySelector({}).getBoundingClientRect())",
            json!(selector)
        ))
    }

    fn in_box(&self, name: &str, index: usize) -> (i32, i32) {
        self.person()
            .wait_until(&format!("strobe.inspect.boxes('{name}').length > {index}"));
        self.on_screen(&format!("strobe.inspect.boxes('{name}')[{index}].centre"))
    }

    fn click(&self, selector: &str) {
        self.see(selector, "");
        let (x, y) = self.in_element(selector, 0.5, 0.5);
        self.display.click(LEFT, x, y);
    }

    /// Replaces the text in a field.
    fn fill(&self, selector: &str, text: &str) {
        self.click(selector);
        self.display.key("ctrl+a");
        self.display.write(text);
    }

    /// Waits until one of the elements that a selector matches is shown and has this text.
    fn see(&self, selector: &str, text: &str) {
        let shown = format!(
            "[...document.querySelectorAll({})].filter(one => one.getClientRects().length > 0)
                .map(one => one.textContent)",
            json!(selector)
        );
        let has_text = format!("{shown}.some(one => one.includes({}))", json!(text));
        if !self.driver.becomes_true(&has_text, TIME_BOUND) {
            let (shown, error) = (self.person().read(&shown), self.person().error());
            panic!("{selector} does not show {text:?} but {shown}; the page's error is {error}");
        }
    }

    /// Waits until the picture of the window has an element's background at the element's upper edge. So the element
    /// is drawn, and nothing is in front of it.
    fn see_in_picture(&self, selector: &str) {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        let colour = self.person().read(&format!(
            "getComputedStyle(document.querySelector({})).backgroundColor.match(/\\d+/g).slice(0, 3)
                .reduce((all, part) => 256 * all + Number(part), 0)",
            json!(selector)
        ));
        loop {
            // Below the border, and above the text.
            let (x, y) = self.in_element(selector, 0.5, 0.0);
            let drawn = self.display.colour(x as u32, y as u32 + 1);
            if colour == drawn {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "{selector} is #{drawn:06x} in the picture at {x}, {y}, and not {colour}"
            );
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// The texts of the elements that a selector matches and that are shown.
    fn texts(&self, selector: &str) -> Value {
        self.person().read(&format!(
            "[...document.querySelectorAll({})].filter(one => one.getClientRects().length > 0)
                .map(one => one.textContent)",
            json!(selector)
        ))
    }

    /// The texts of the elements that a selector matches and whose text is wider than they are.
    fn too_wide(&self, selector: &str) -> Value {
        self.see(selector, "");
        self.person().read(&format!(
            "[...document.querySelectorAll({})].filter(one => one.scrollWidth > one.clientWidth)
                .map(one => one.textContent)",
            json!(selector)
        ))
    }

    /// Pastes what was copied, which begins with `start`, into the field for the search.
    fn paste_into_search(&self, start: &str) {
        self.fill("#search", "");
        self.display.key("ctrl+v");
        self.person().wait_until(&format!(
            "document.getElementById('search').value.startsWith({})",
            json!(start)
        ));
    }

    /// Writes a file, and opens it by its path in the recorder.
    fn open(&self, name: &str, text: &str) {
        let file = self.folder.path().join(name);
        fs::write(&file, text).unwrap();
        self.click("#show-recorder");
        self.fill("#open-path", file.to_str().unwrap());
        self.display.key("Return");
        self.see("#recording-name", name);
        self.person().wait_until(IS_READY);
    }

    fn end(self) {
        let (status, console) = self.driver.shut_down();
        assert!(status.success(), "{status}\n{console}");
    }
}

#[test]
fn the_lines_beside_the_mouse_are_about_the_box_under_it() {
    // sort runs at 30 ms, and again at 50 and 60.
    let text = TRACE.replace(
        r#"{ "timestamp": 40, "stackId": 2 }"#,
        r#"{ "timestamp": 40, "stackId": 1 }"#,
    );
    let window = Window::with_profile(&text);
    for (index, own) in ["10.0 ms, from 20.0 ms on", "20.0 ms, from 40.0 ms on"]
        .iter()
        .enumerate()
    {
        let (x, y) = window.in_box("sort", index);
        window.display.point(x, y);
        window.see("#tip", &format!("this box {own}"));
        window.see("#tip", "this call path, in all 30.0 ms");
        window.see_in_picture("#tip");
    }
    window.end();
}

#[test]
fn an_opened_file_has_an_address_and_is_there_again_after_a_reload() {
    let window = Window::with_recorder();
    window.open("first.folded", "f;g 2\n");
    window.open("second.folded", "h 3\n");
    assert_eq!(
        window.driver.get("/url").unwrap(),
        "about:profiling#recording=2"
    );
    window.driver.execute("window.isBeforeReload = true;");
    window.display.key("F5");
    window
        .person()
        .wait_until(&format!("!window.isBeforeReload && {IS_READY}"));
    window.see("#recording-name", "second.folded");
    window.see("#shown", "3 of 3 samples");
    window.end();
}

#[test]
fn the_key_0_shows_all_of_the_time_after_a_range_was_closed() {
    let window = Window::with_profile(TRACE);
    let places = [0.2, 0.4, 0.68].map(|across| window.in_element("#lanes", across, 0.7));
    window.display.drag(&places);
    window.see("#shown", "4 of 8 samples");
    window.click("#zoom-range");
    window.see("#range-text", "Counted: ");
    window
        .person()
        .wait_until("(([from, to]) => to - from < 60)(strobe.inspect.facts().window)");
    window.click("#clear-range");
    window.see("#range-text", "Counted: all of the time · on the screen: ");
    window.display.key("0");
    window.person().wait_until(
        "document.getElementById('range-text').textContent === 'Counted: all of the time'",
    );
    window.end();
}

#[test]
fn event_loops_are_saved_in_a_file_each() {
    let window = Window::with_recorder();
    window.open("two.folded", "[main];f;g 2\n[main];f 1\n[worker];h 4\n");
    for format in ["cpuprofile", "trace"] {
        let [first, second] =
            ["all", "all-2"].map(|stem| window.folder.path().join(format!("{stem}.{format}")));
        window.click("#save-button");
        assert_eq!(window.too_wide("#save-panel .formats span"), json!([]));
        window.fill("#save-path", first.to_str().unwrap());
        window.click(&format!("#save-{format}"));
        window.see(
            "#save-result",
            &format!("Saved as {}, {}", first.display(), second.display()),
        );
        assert!(first.exists() && second.exists(), "{format}");
        window.display.key("Escape");
    }
    window.end();
}

#[test]
fn what_counts_is_said_when_the_wheel_has_zoomed() {
    let window = Window::with_profile(TRACE);
    let (x, y) = window.in_element("#flame-chart-canvas", 0.5, 0.5);
    window.display.click(WHEEL_UP, x, y);
    window.display.click(WHEEL_UP, x, y);
    window.see(
        "#range-text",
        "Counted: all of the time · on the screen: 16.4 ms – 63.6 ms",
    );
    window.see("#shown", "8 of 8 samples");
    window.click("#select-visible");
    window.see("#range-text", "Counted: 16.4 ms – 63.6 ms (47.2 ms)");
    window.see("#shown", "5 of 8 samples");
    window.end();
}

/// Two tabs: about:profiling, which is in front, and a page that is busy at any moment. The viewer folds the event loops
/// that were idle.
fn recorder_beside_a_busy_page(site: &Site) -> Window {
    let window = Window::with_recorder();
    window.display.key("ctrl+t");
    // From then on the address field has the keys.
    window.display.wait_for_window("New tab");
    window.display.write(&site.url("/busy.html?hidden"));
    window.display.key("Return");
    window.driver.tabs(2);
    window.display.key("ctrl+1");
    window.see("#loops-body .name", "/busy.html?hidden");
    window
}

/// The numbers of samples of the event loops whose name ends in `page`.
fn counts(page: &str) -> String {
    format!(
        "[...document.querySelectorAll('#loops-body tr.loop')]
            .filter(row => row.querySelector('.name').textContent.endsWith('{page}'))
            .map(row => row.querySelector('[data-figure=samples]').textContent)"
    )
}

#[test]
fn the_recorder_is_not_in_its_recording_unless_that_is_ticked() {
    let site = Site::plain().serve();
    let window = recorder_beside_a_busy_page(&site);
    for is_ticked in [false, true] {
        window.click("#record");
        window.see("#record-label", "Stop recording");
        window
            .person()
            .wait_until("Number(document.querySelector('#progress').dataset.samples) >= 500");
        window
            .driver
            .execute("delete document.documentElement.dataset.ready;");
        window.click("#record");
        window.person().wait_until(IS_READY);
        window.see("#lane-list .name", "/busy.html?hidden");
        let lanes = window.texts("#lane-list .name").to_string();
        assert_eq!(lanes.contains("about:profiling"), is_ticked, "{lanes}");
        window.click("#show-recorder");
        window.see("#record-label", "Start recording");
        window.click("#own-page");
    }
    window.end();
}

#[test]
fn event_loops_are_counted_in_the_list_while_they_are_recorded() {
    let site = Site::plain().serve();
    let window = recorder_beside_a_busy_page(&site);
    let samples = counts("/busy.html?hidden");
    window.person().wait_until(&format!("{samples}[0] === '–'"));
    window.click("#record");
    // Digits are in groups.
    window
        .person()
        .wait_until(&format!("Number({samples}[0].replace(/\\D/g, '')) > 100"));
    window.end();
}

#[test]
fn the_right_button_opens_the_menu_of_a_function_and_no_other() {
    let window = Window::with_profile(TRACE);
    let (x, y) = window.in_box("work", 0);
    window.display.click(RIGHT, x, y);
    window.see("#function-menu .menu-title", "work");
    window.see_in_picture("#function-menu");
    // The keys go to this menu. Its second line copies the place.
    window.display.key("Down");
    window.display.key("Return");
    window.see("#copied-text", "");
    window.display.key("ctrl+c");
    window.display.key("Escape");
    window.paste_into_search("https://a.example/app.js:10:14");
    window.end();
}

#[test]
fn a_search_marks_the_text_that_it_found() {
    let window = Window::with_profile(TRACE);
    window.click("#tab-call-tree");
    window.see("#call-tree .name", "sort");
    window.click("#search");
    window.display.write("B.example");
    window.see("#call-tree .match", "b.example");
    window.see_in_picture("#call-tree .match");
    assert_eq!(window.texts("#call-tree .match"), json!(["b.example"]));
    assert_eq!(
        window.texts("#call-tree .place .match"),
        json!(["b.example"])
    );
    window.end();
}

#[test]
fn samples_and_milliseconds_are_not_two_columns_of_the_same_figures() {
    for (text, titles) in [
        (
            TRACE.to_owned(),
            json!([
                "Total #", "Total ms", "%", "Self #", "Self ms", "%", "Function"
            ]),
        ),
        (
            TRACE.replace("0, \"stackId\"", ", \"stackId\""),
            json!(["Total ms", "%", "Self ms", "%", "Function"]),
        ),
    ] {
        let window = Window::with_profile(&text);
        window.click("#tab-call-tree");
        window.see("#call-tree .name", "sort");
        assert_eq!(window.texts("#call-tree [role=columnheader]"), titles);
        window.end();
    }
}

#[test]
fn nested_rows_of_bottom_up_have_the_part_of_the_row_above() {
    let window = Window::with_profile(TRACE);
    window.click("#tab-bottom-up");
    window.see("#bottom-up .name", "sort");
    // The totals, in ms. The only path up from sort is open: the four samples of sort came through it.
    assert_eq!(
        window.person().read(
            "[...document.querySelectorAll('#bottom-up .tree-scroller .tree-row:not([hidden])')]
                .map(row => ['.name', '.tree-cell:nth-child(5)'].map(one => row.querySelector(one).textContent))"
        ),
        json!([
            ["sort", "40"],
            ["work", "40"],
            ["main", "40"],
            ["main", "80"],
            ["work", "60"]
        ])
    );
    window.end();
}
