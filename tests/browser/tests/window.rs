/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser in a window, driven by keyboard and mouse as a person does.

use std::time::{Duration, Instant};
use std::{fs, thread};

use browser_tests::{BrowserWindow, CHROME_HEIGHT, Display, Driver, RETRY_INTERVAL, Site, scaled};
use serde_json::json;

/// Where the elements of windowed.html are, in CSS pixels of the page.
const LINK: i32 = 28;
const CONFIRM: i32 = 75;
const PROMPT: i32 = 115;
const SELECT: i32 = 155;
const FILE: i32 = 188;
const TEXT: i32 = 235;
const OPEN: i32 = 275;
const ELEMENTS_X: i32 = 35;
const MARK_X: i32 = 260;
const MARK_Y: i32 = 40;

/// The middles of the buttons of the toolbar, in points.
const TOOLBAR_Y: i32 = 59;
const BACK_X: i32 = 21;
const RELOAD_X: i32 = 85;

/// What has not happened by then will not happen.
const TIME_BOUND: Duration = Duration::from_secs(60);

fn page(site: &Site, name: &str) -> String {
    site.url(&format!("/windowed.html?name={name}"))
}

/// Replaces the address by another one and loads it.
fn go(window: &BrowserWindow, address: &str) {
    window.key("ctrl+l");
    window.write(address);
    window.key("Return");
}

/// Clicks into a page whose pixels are the size of the screen's.
fn click(window: &BrowserWindow, button: u32, y: i32) {
    window.click(button, ELEMENTS_X, CHROME_HEIGHT + y);
}

/// Waits until a page is visible in a window with `scale` pixels per point.
fn see(window: &mut BrowserWindow, name: &str, scale: i32) {
    // windowed.js colours its mark in this way.
    let colour = name
        .bytes()
        .fold(0, |sum, letter| (31 * sum + u32::from(letter)) & 0xFF_FF_FF);
    window.wait_for_colour(scale * MARK_X, scale * (CHROME_HEIGHT + MARK_Y), colour);
}

#[test]
fn tabs_the_address_and_the_history() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let (a, b, c, d) = (
        page(&site, "A"),
        page(&site, "B"),
        page(&site, "C"),
        page(&site, "D"),
    );
    let mut window = BrowserWindow::open(&display, &["--window-size=800x600", &a, &b], &[]);
    // Every page has the requested size, and the first one is visible.
    window.wait_for_title("A – Strobe");
    window.wait_for_line("A: size 800x600 at 1");
    window.key("ctrl+Next");
    window.wait_for_title("B – Strobe");

    go(&window, &c);
    window.wait_for_line("C: loaded");
    window.wait_for_title("C – Strobe");
    window.click(1, BACK_X, TOOLBAR_Y);
    window.wait_for_title("B – Strobe");
    window.key("alt+Right");
    window.wait_for_title("C – Strobe");
    window.key("F5");
    window.wait_for_line("C: loaded");
    window.click(1, RELOAD_X, TOOLBAR_Y);
    window.wait_for_line("C: loaded");

    // Text that is not an address is refused and stays in the field. More letters are added to it.
    window.key("ctrl+t");
    window.wait_for_title("New tab – Strobe");
    window.write("no such");
    window.key("Return");
    window.write(" page");
    window.key("Escape");
    go(&window, &d.replace("http://", ""));
    window.wait_for_line("D: loaded");
    window.wait_for_title("D – Strobe");
    // After loading from the address field, the page gets the keys.
    window.key("x");
    window.wait_for_line("D: key x");

    window.key("ctrl+w");
    window.wait_for_title("C – Strobe");
    window.key("ctrl+shift+t");
    window.wait_for_line("D: loaded");
    window.wait_for_title("D – Strobe");
    window.key("ctrl+1");
    window.wait_for_title("A – Strobe");
    window.key("ctrl+9");
    window.wait_for_title("D – Strobe");
    window.key("ctrl+Tab");
    window.wait_for_title("A – Strobe");
    window.key("ctrl+shift+Tab");
    window.wait_for_title("D – Strobe");
    window.key("ctrl+2");
    window.wait_for_title("C – Strobe");
    // The middle button closes the first tab. The other two remain.
    window.click(2, 100, 20);
    window.key("ctrl+1");
    window.wait_for_title("C – Strobe");
    // The left button selects the tab beside it.
    window.click(1, 330, 20);
    window.wait_for_title("D – Strobe");

    window.key("ctrl+w");
    window.wait_for_title("C – Strobe");
    window.key("ctrl+w");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn keys_go_through_addresses_tabs_and_the_history() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let [a, b, c] = ["A", "B", "C"].map(|name| page(&site, name));
    let mut window = BrowserWindow::open(&display, &["--window-size=800x600", &a], &[]);
    window.wait_for_line("A: loaded");
    window.key("alt+d");
    window.write(&b);
    window.key("Return");
    window.wait_for_line("B: loaded");
    window.wait_for_title("B – Strobe");
    // The address opens in another tab, though both keys are let go at once.
    window.key("F6");
    window.write(&c);
    window.key("alt+Return");
    window.wait_for_line("C: loaded");
    window.wait_for_title("C – Strobe");
    window.key("ctrl+Prior");
    window.wait_for_title("B – Strobe");
    window.key("ctrl+Next");
    window.wait_for_title("C – Strobe");
    window.key("ctrl+1");
    window.wait_for_title("B – Strobe");
    window.key("alt+Left");
    window.wait_for_title("A – Strobe");
    window.key("alt+Right");
    window.wait_for_title("B – Strobe");
    window.key("alt+Home");
    window.wait_for_line("A: loaded");
    window.wait_for_title("A – Strobe");

    // Eight tabs, and one more.
    for number in 3..=9 {
        window.key("ctrl+t");
        window.wait_for_title("New tab – Strobe");
        go(&window, &page(&site, &number.to_string()));
        window.wait_for_title(&format!("{number} – Strobe"));
    }
    for number in (3..=8).rev() {
        window.key(&format!("ctrl+{number}"));
        window.wait_for_title(&format!("{number} – Strobe"));
    }
    window.key("ctrl+9");
    window.wait_for_title("9 – Strobe");
    window.key("ctrl+q");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn keys_reload_a_page_with_the_cache_and_without_it() {
    let content = "<!DOCTYPE html><meta charset='utf-8'><title>Cached</title><script src='cached.js'></script>";
    let loading = "<!DOCTYPE html><meta charset='utf-8'><title>Loading</title>
        <script>addEventListener('keydown', ({ key }) => console.log(`key ${key}`));</script>
        <img src='/checkpoint/never'>";
    let site = Site::plain()
        .generated("/cached.html", content.to_owned())
        .generated(
            "/cached.js",
            "onload = () => console.log('loaded');".to_owned(),
        )
        .header("/cached.js", "Cache-Control", "max-age=3600")
        .generated("/loading.html", loading.to_owned())
        .serve();
    let display = Display::start(1024, 768);
    let url = site.url("/cached.html");
    let mut window = BrowserWindow::open(&display, &["--window-size=800x600", &url], &[]);
    window.wait_for_line("loaded");
    for (key, pages, scripts) in [
        ("F5", 2, 1),
        ("ctrl+r", 3, 1),
        ("ctrl+F5", 4, 2),
        ("shift+F5", 5, 3),
        ("ctrl+shift+r", 6, 4),
    ] {
        window.key(key);
        window.wait_for_line("loaded");
        let requests = ["/cached.html", "/cached.js"].map(|path| site.requests_for(path));
        assert_eq!(requests, [pages, scripts], "{key}");
    }

    // While a page loads, Escape is for the window.
    go(&window, &site.url("/loading.html"));
    window.wait_for_title("Loading – Strobe");
    for key in ["x", "Escape", "y"] {
        window.key(key);
    }
    window.wait_for_line("key x");
    window.wait_for_line("key y");
    window.key("ctrl+q");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
    assert!(!console.contains("key Escape"), "{console}");
}

#[test]
fn keys_make_the_page_fill_the_window_zoom_it_and_record() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let a = page(&site, "A");
    let mut window = BrowserWindow::open(&display, &["--window-size=800x600", &a], &[]);
    window.wait_for_line("A: size 800x600 at 1");
    window.wait_for_line("A: loaded");
    see(&mut window, "A", 1);
    // No window manager makes the window larger, but the toolbar goes.
    window.key("F11");
    window.wait_for_line(&format!("A: size 800x{} at 1", 600 + CHROME_HEIGHT));
    window.key("F11");
    window.wait_for_line("A: size 800x600 at 1");

    window.click(1, 400, CHROME_HEIGHT + 400);
    window.wait_for_line("A: click on html");
    window.click_with("ctrl", 4);
    window.wait_for_line("A: size 727x545 at 1.100000023841858");
    window.click_with("ctrl", 5);
    window.wait_for_line("A: size 800x600 at 1");

    assert_eq!(window.process().threads_named("JsSampler"), 0);
    window.key("ctrl+shift+p");
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while window.process().threads_named("JsSampler") == 0 {
        assert!(Instant::now() < deadline, "the recording does not begin");
        thread::sleep(RETRY_INTERVAL);
    }
    window.key("x");
    window.wait_for_line("A: key x");
    window.key("ctrl+shift+p");
    window.wait_for_title("Profiling – Strobe");
    window.key("ctrl+q");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_page_has_the_mouse_the_keys_and_the_size_of_its_window() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let a = page(&site, "A");
    let mut window = BrowserWindow::open(&display, &["--window-size=800x600", &a], &[]);
    window.wait_for_line("A: light");
    window.wait_for_line("A: loaded");

    window.resize(640, 400 + CHROME_HEIGHT);
    window.wait_for_line("A: size 640x400 at 1");
    see(&mut window, "A", 1);

    click(&window, 1, TEXT);
    window.write("Ab1");
    window.wait_for_line("A: text Ab1");
    // Text goes through the clipboard from the page into the address field and back.
    window.key("ctrl+a");
    window.key("ctrl+c");
    window.wait_for_line("A: after copy on text");
    window.key("ctrl+l");
    window.key("ctrl+v");
    window.key("ctrl+a");
    window.key("ctrl+c");
    window.key("Escape");
    window.key("Escape");
    click(&window, 1, TEXT);
    window.key("End");
    window.key("ctrl+v");
    window.wait_for_line("A: text Ab1Ab1");

    window.click(4, 400, CHROME_HEIGHT + 200);
    window.wait_for_line("A: wheel");
    // The page gets no clicks on the toolbar.
    window.click(1, 400, 10);
    click(&window, 1, LINK);
    window.wait_for_line("A: click on link");
    window.wait_for_title("A-linked – Strobe");
    see(&mut window, "A-linked", 1);
    let others: Vec<_> = window
        .lines()
        .into_iter()
        .filter(|line| line.contains("click"))
        .collect();
    assert!(others.is_empty(), "{others:?}");

    // A page that a page opens gets a tab in front.
    click(&window, 1, OPEN);
    window.wait_for_title("A-linked-opened – Strobe");
    window.key("ctrl+w");
    window.wait_for_title("A-linked – Strobe");

    // The zoom comes last: a page knows its new size before the picture is drawn, and clicks act on the picture.
    window.key("ctrl+plus");
    window.wait_for_line("A-linked: size 581x363 at 1.100000023841858");
    window.key("ctrl+minus");
    window.wait_for_line("A-linked: size 640x400 at 1");
    window.key("ctrl+minus");
    window.wait_for_line("A-linked: size 711x444 at 0.8999999761581421");
    window.key("ctrl+0");
    window.wait_for_line("A-linked: size 640x400 at 1");
    window.key("ctrl+q");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_notch_of_the_wheel_has_the_same_effect_as_in_other_browsers() {
    const UP: u32 = 4;
    const DOWN: u32 = 5;
    const LEFT: u32 = 6;
    const RIGHT: u32 = 7;
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    for scale in [1, 2] {
        let scale_factor = scale.to_string();
        let url = site.url("/wheel.html");
        let mut window = BrowserWindow::open(
            &display,
            &["--window-size=480x300", &url],
            &[("WINIT_X11_SCALE_FACTOR", &scale_factor)],
        );
        window.wait_for_colour(scale * 300, scale * (CHROME_HEIGHT + 200), 0x01_02_03);
        window.wait_for_colour(scale * 50, scale * (CHROME_HEIGHT + 50), 0x04_05_06);
        let turn = |window: &BrowserWindow, button, x, y| {
            window.click(button, scale * x, scale * (CHROME_HEIGHT + y));
        };

        // The page is told the same number of CSS pixels that it scrolls by, on every screen.
        turn(&window, DOWN, 300, 200);
        window.wait_for_line("turn 1: 0, 120 in unit 0");
        window.wait_for_line("at 0, 120");
        turn(&window, RIGHT, 300, 200);
        window.wait_for_line("turn 2: 120, 0 in unit 0");
        window.wait_for_line("at 120, 120");
        turn(&window, UP, 300, 200);
        window.wait_for_line("turn 3: 0, -120 in unit 0");
        window.wait_for_line("at 120, 0");
        // With Shift only the scrolling is sideways.
        window.click_with("shift", DOWN);
        window.wait_for_line("turn 4: 0, 120 in unit 0");
        window.wait_for_line("at 240, 0");
        turn(&window, LEFT, 300, 200);
        window.wait_for_line("turn 5: -120, 0 in unit 0");
        window.wait_for_line("at 120, 0");

        // A page that prevents the default action is not scrolled.
        turn(&window, DOWN, 50, 50);
        window.wait_for_line("turn 6: 0, 120 in unit 0");
        window.click_with("shift", DOWN);
        window.wait_for_line("turn 7: 0, 120 in unit 0");
        turn(&window, DOWN, 300, 200);
        window.wait_for_line("turn 8: 0, 120 in unit 0");
        window.wait_for_line("at 120, 120");

        // The zoom does not matter either.
        window.key("ctrl+plus");
        window.wait_for_line(&format!("zoom {:.2}", 1.1 * f64::from(scale)));
        turn(&window, DOWN, 300, 200);
        window.wait_for_line("turn 9: 0, 120 in unit 0");
        window.wait_for_line("at 120, 240");

        window.key("ctrl+q");
        let (status, console) = window.end();
        assert!(status.success(), "{status}\n{console}");
    }
}

#[test]
fn a_page_that_was_busy_gets_the_events_of_a_drag_in_their_order() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let url = site.url("/drag.html");
    let mut window = BrowserWindow::open(&display, &["--window-size=480x300", &url], &[]);
    window.wait_for_colour(300, CHROME_HEIGHT + 200, 0x01_02_03);
    window.key("b");
    window.wait_for_line("busy");
    display.drag(&[100, 200, 300].map(|x| (x, CHROME_HEIGHT + 100)));
    window.wait_for_line("pressed at 100, moved to 300, let go at 300");
    window.key("ctrl+q");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn dialogs_of_a_page_are_answered_in_the_window() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let a = page(&site, "A");
    let mut window = BrowserWindow::open(&display, &["--window-size=800x600", &a], &[]);
    window.wait_for_line("A: loaded");
    see(&mut window, "A", 1);

    // The first dialog comes in a fresh window.
    click(&window, 1, PROMPT);
    window.wait_for_line("prompt: Your name?");
    window.key("ctrl+a");
    window.write("Ada");
    window.key("Return");
    window.wait_for_line("A: prompted Ada");
    click(&window, 1, PROMPT);
    window.wait_for_line("prompt: Your name?");
    window.key("Escape");
    window.wait_for_line("A: prompted null");
    for (key, answer) in [("Return", "true"), ("Escape", "false")] {
        click(&window, 1, CONFIRM);
        window.wait_for_line("confirm: Really?");
        window.key(key);
        window.wait_for_line(&format!("A: confirmed {answer}"));
    }

    click(&window, 1, SELECT);
    window.wait_for_line("A: after click on select");
    window.key("End");
    window.key("Return");
    window.wait_for_line("A: selected third");

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("chosen.txt");
    fs::write(&file, "content").unwrap();
    click(&window, 1, FILE);
    window.wait_for_line("A: after click on file");
    window.key("ctrl+a");
    window.write(file.to_str().unwrap());
    window.key("Return");
    window.wait_for_line("A: file chosen.txt");

    // The last line of the page's context menu is Reload.
    window.click(3, 500, CHROME_HEIGHT + 300);
    window.wait_for_line("A: after contextmenu on html");
    window.key("End");
    window.key("Return");
    window.wait_for_line("A: loaded");
    window.key("ctrl+q");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_point_is_two_pixels_on_a_fine_screen_and_pages_have_the_windows_theme() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let a = page(&site, "A");
    let mut window = BrowserWindow::open(
        &display,
        &["--window-size=480x300", "--theme=dark", &a],
        &[("WINIT_X11_SCALE_FACTOR", "2")],
    );
    window.wait_for_line("A: size 480x300 at 2");
    window.wait_for_line("A: dark");
    window.wait_for_line("A: loaded");
    see(&mut window, "A", 2);
    window.click(1, 2 * ELEMENTS_X, 2 * (CHROME_HEIGHT + LINK));
    window.wait_for_line("A: click on link");
    window.wait_for_title("A-linked – Strobe");
    window.click(1, 2 * BACK_X, 2 * TOOLBAR_Y);
    window.wait_for_title("A – Strobe");
    window.key("ctrl+w");
    let (status, console) = window.end();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_session_drives_tabs() {
    let site = Site::plain().serve();
    let display = Display::start(1024, 768);
    let driver = Driver::start_on(&display, &[]);
    driver.open(&page(&site, "A"));
    let first = driver.get("/window").unwrap();
    let second = driver.new_tab();
    driver.switch_to(&second);
    driver.open(&page(&site, "B"));
    assert_eq!(driver.execute("return document.title;"), json!("B"));
    driver.switch_to(&first);
    assert_eq!(
        driver.execute(
            "return new Promise((resolve) => requestAnimationFrame(() => resolve(document.title)));"
        ),
        json!("A")
    );
    driver.click("#link");
    assert_eq!(driver.get("/title").unwrap(), "A-linked");
    assert_eq!(driver.delete("/window").unwrap(), json!([second]));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn a_button_records_and_shows_what_was_recorded() {
    let site = Site::plain().serve();
    let display = Display::start(1100, 900);
    let driver = Driver::start_on(&display, &["--window-size=800x600"]);
    driver.open(&page(&site, "A"));
    display.focus(&driver.process());
    let record = (800 - 53, TOOLBAR_Y);
    display.click(1, record.0, record.1);
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while driver.process().threads_named("JsSampler") == 0 {
        assert!(Instant::now() < deadline, "the recording does not begin");
        thread::sleep(RETRY_INTERVAL);
    }
    for _ in 0..3 {
        driver.post("/refresh", &json!({})).unwrap();
    }
    display.click(1, record.0, record.1);

    // The recording is shown in a new tab.
    let shown = driver.tabs(2).remove(1);
    driver.switch_to(&shown);
    let address = driver.get("/url").unwrap();
    assert_eq!(address, "about:profiling#recording=1");
    let samples = driver.execute(
        "return new Promise((resolve) => {
            const look = () => {
                const { ready, samples } = document.documentElement.dataset;
                ready === undefined ? setTimeout(look, 20) : resolve(Number(samples));
            };
            look();
        });",
    );
    assert!(samples.as_u64() > Some(0), "{samples}");

    // The second recording is shown in the same tab.
    display.click(1, record.0, record.1);
    driver.execute(
        "return new Promise((resolve) => {
            const look = async () => {
                const { recording } = await strobe.server.status();
                recording === null ? setTimeout(look, 20) : resolve();
            };
            look();
        });",
    );
    display.click(1, record.0, record.1);
    // WebDriver checks this, because a script of the page would be lost when the page is reloaded.
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while driver.get("/url").unwrap() != "about:profiling#recording=2" {
        assert!(
            Instant::now() < deadline,
            "the second recording is not shown"
        );
        thread::sleep(RETRY_INTERVAL);
    }
    assert_eq!(
        driver
            .get("/window/handles")
            .unwrap()
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}
