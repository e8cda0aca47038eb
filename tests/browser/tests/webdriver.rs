/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser under the control of WebDriver.

use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::time::Instant;

use browser_tests::{Driver, Edges, Site, TIME_BOUND, Trace, run_browser, scaled};
use serde_json::{Value, json};

/// An interval that is so long that a session takes only forced samples.
const NEVER: u32 = 3_600_000;

#[test]
fn pages_are_opened_switched_and_closed() {
    let site = Site::plain().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/driven.html"));
    assert_eq!(driver.get("/title").unwrap(), "Driven");
    assert_eq!(driver.get("/url").unwrap(), site.url("/driven.html"));

    let first = driver.get("/window").unwrap();
    let second = driver.new_tab();
    assert_eq!(
        driver
            .get("/window/handles")
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        2
    );
    driver.switch_to(&second);
    driver.open(&site.url("/driven.html?second"));
    driver.open(&site.url("/driven.html?third"));
    driver.post("/back", &json!({})).unwrap();
    assert_eq!(driver.execute("return location.search;"), "?second");
    driver.post("/forward", &json!({})).unwrap();
    assert_eq!(driver.execute("return location.search;"), "?third");
    driver.post("/refresh", &json!({})).unwrap();
    assert_eq!(driver.execute("return location.search;"), "?third");

    assert_eq!(driver.delete("/window").unwrap(), json!([first]));
    let failure = driver.get("/title").unwrap_err();
    assert_eq!((failure.status, &*failure.error), (404, "no such window"));
    driver.switch_to(&first);
    assert_eq!(driver.execute("return location.search;"), "");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}

#[test]
fn clicks_and_keys_arrive() {
    let site = Site::plain().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/driven.html"));
    driver.click("#button");
    let keys = json!({ "text": "Aé1\u{e003}2" });
    driver
        .post(&format!("{}/value", driver.element("#text")), &keys)
        .unwrap();
    assert_eq!(
        driver.execute("return [clicks, document.querySelector('#text').value];"),
        json!([1, "Aé2"])
    );

    // Two clicks in the middle of the button, as separate actions.
    let center = driver.execute(
        "const rect = document.querySelector('#button').getBoundingClientRect();
        return [Math.round(rect.x + rect.width / 2), Math.round(rect.y + rect.height / 2)];",
    );
    let pointer = json!({ "type": "pointer", "id": "mouse", "actions": [
        { "type": "pointerMove", "x": center[0], "y": center[1] },
        { "type": "pointerDown", "button": 0 },
        { "type": "pointerUp", "button": 0 },
        { "type": "pointerDown", "button": 0 },
        { "type": "pointerUp", "button": 0 },
    ]});
    driver.act(&pointer);
    driver.delete("/actions").unwrap();
    assert_eq!(driver.execute("return clicks;"), 3);

    // The answer to a click on a link comes after the navigation.
    driver.click("a");
    assert_eq!(driver.execute("return location.search;"), "?followed");
}

#[test]
fn a_window_has_the_requested_size_and_a_screenshot() {
    let site = Site::plain().serve();
    let driver = Driver::start(&["--window-size=320x200"]);
    driver.open(&site.url("/driven.html"));
    let rect = driver.get("/window/rect").unwrap();
    assert_eq!(
        (&rect["width"], &rect["height"]),
        (&json!(320), &json!(200))
    );
    let wanted = json!({ "width": 400, "height": 300 });
    let rect = driver.post("/window/rect", &wanted).unwrap();
    assert_eq!(
        (&rect["width"], &rect["height"]),
        (&json!(400), &json!(300))
    );
    assert_eq!(
        driver.execute("return [innerWidth, innerHeight];"),
        json!([400, 300])
    );
    let picture = driver.get("/screenshot").unwrap();
    // PNG's signature and the header with its size, in base64.
    let picture = picture.as_str().unwrap();
    assert!(
        picture.starts_with("iVBORw0KGgoAAAANSUhEUgAAAZAAAAEs"),
        "{}",
        &picture[..40]
    );
}

#[test]
fn dialogs_wait_for_the_session() {
    let site = Site::plain().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/driven.html"));
    assert_eq!(
        driver.get("/alert/text").unwrap_err().error,
        "no such alert"
    );

    // A script that waits for a dialog has no value.
    assert_eq!(driver.execute("answer = confirm('Sure?');"), Value::Null);
    assert_eq!(driver.get("/alert/text").unwrap(), "Sure?");
    driver.post("/alert/accept", &json!({})).unwrap();
    assert_eq!(driver.execute("return answer;"), true);

    // A dialog that a click opens does not delay the answer to the click.
    driver.click("#asking");
    driver
        .post("/alert/text", &json!({ "text": "Ada" }))
        .unwrap();
    driver.post("/alert/accept", &json!({})).unwrap();
    assert_eq!(driver.execute("return answer;"), "Ada");

    // Another command dismisses the dialog and reports it.
    driver.execute("answer = prompt('Name?');");
    let failure = driver.get("/title").unwrap_err();
    assert_eq!(failure.error, "unexpected alert open");
    assert_eq!(driver.execute("return answer;"), Value::Null);

    // The browser can be shut down while a dialog is open.
    driver.execute("alert('Late');");
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
    assert!(console.contains("alert: Late"), "{console}");
}

#[test]
fn cookies_and_timeouts_belong_to_the_session() {
    let site = Site::plain().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/driven.html"));
    let cookie = json!({ "cookie": { "name": "a", "value": "b" } });
    driver.post("/cookie", &cookie).unwrap();
    assert_eq!(driver.get("/cookie/a").unwrap()["value"], "b");
    assert_eq!(driver.execute("return document.cookie;"), "a=b");
    driver.delete("/cookie").unwrap();
    assert_eq!(driver.execute("return document.cookie;"), "");
    driver.post("/timeouts", &json!({ "script": 1 })).unwrap();
    assert_eq!(driver.get("/timeouts").unwrap()["script"], 1);
    let endless = json!({ "script": "return new Promise(() => {});", "args": [] });
    assert_eq!(
        driver.post("/execute/sync", &endless).unwrap_err().error,
        "script timeout"
    );
}

#[test]
fn a_forced_sample_is_in_the_trace_when_the_command_is_answered() {
    let site = Site::allowing().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/driven.html"));
    // There is nothing to sample.
    assert_eq!(
        driver.post("/forcesample", &json!({})).unwrap(),
        Value::Null
    );

    driver.execute(&format!("start({NEVER}, 4); start({NEVER}, 100);"));
    for _ in 0..3 {
        driver.post("/forcesample", &json!({})).unwrap();
    }
    let traces = driver.execute("return stopAll();");
    for trace in traces.as_array().unwrap() {
        let trace = Trace::read(trace);
        let (first, forced) = trace.samples.split_first().unwrap();
        // The first sample has the stack of the script that started the profiler.
        assert!(first.stack_id.is_some());
        assert_eq!(forced.len(), 3);
        // No script was running.
        assert!(forced.iter().all(|sample| sample.stack_id.is_none()));
    }

    // For one more sample, a full session sends the event.
    driver.execute(&format!("start({NEVER}, 1);"));
    for _ in 0..3 {
        driver.post("/forcesample", &json!({})).unwrap();
    }
    assert_eq!(driver.execute("return whenFull;"), "full");
}

/// Takes a sample. A thread that waits for a processor does not stop in time, which is an error of the command: then the next command
/// takes the sample.
fn force_sample(driver: &Driver) {
    let deadline = Instant::now() + scaled(TIME_BOUND);
    while let Err(failure) = driver.post("/forcesample", &json!({})) {
        let is_late = failure
            .message
            .contains("their thread could not be sampled");
        assert!(is_late && Instant::now() < deadline, "{failure:?}");
    }
}

#[test]
fn a_running_script_is_sampled_by_the_command() {
    let site = Site::allowing().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/driven.html"));
    driver.execute(&format!("start({NEVER}, 1000); setTimeout(workInTask, 0);"));
    for _ in 0..50 {
        force_sample(&driver);
    }
    let traces = driver.execute("return stopAll();");
    let trace = Trace::read(&traces[0]);
    assert_eq!(trace.samples.len(), 1 + 50);
    trace.assert_sampled(&["work"]);
    Edges::parse(
        "(root) > workInTask, (eval)
        (eval) > (eval), start
        start > Profiler
        workInTask > work",
    )
    .assert_hold(&trace);
}

#[test]
fn only_the_current_browsing_context_is_sampled() {
    let site = Site::allowing().serve();
    let driver = Driver::start(&["--pref", "js_profiling_allow=true"]);
    driver.open(&site.url("/driven.html"));
    driver.execute(&format!("start({NEVER}, 100);"));
    let first = driver.get("/window").unwrap();
    driver.switch_to(&driver.new_tab());
    driver.open(&site.url("/driven.html"));
    driver.execute(&format!("start({NEVER}, 100);"));
    driver.post("/forcesample", &json!({})).unwrap();
    let count = |driver: &Driver| {
        let traces = driver.execute("return stopAll();");
        traces[0]["samples"].as_array().unwrap().len()
    };
    // Each trace also has the sample of the start.
    assert_eq!(count(&driver), 1 + 1);

    // A closed context cannot be sampled.
    driver.delete("/window").unwrap();
    let failure = driver.post("/forcesample", &json!({})).unwrap_err();
    assert_eq!((failure.status, &*failure.error), (404, "no such window"));
    driver.switch_to(&first);
    assert_eq!(count(&driver), 1);
    let failure = driver
        .send("POST", "/session/nobody/forcesample", Some(&json!({})))
        .unwrap_err();
    assert_eq!(
        (failure.status, &*failure.error),
        (404, "invalid session id")
    );
}

#[test]
fn the_server_is_only_for_this_machine() {
    let driver = Driver::start(&[]);
    let listening: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .flat_map(|table| {
            // Local address, remote address, state; 0A is LISTEN.
            let rows = table
                .lines()
                .skip(1)
                .map(|row| row.split_whitespace().collect());
            rows.filter(|row: &Vec<&str>| row[3] == "0A")
                .map(|row| row[1].to_owned())
                .collect::<Vec<_>>()
        })
        .filter(|address| address.ends_with(&format!(":{:04X}", driver.port())))
        .collect();
    assert_eq!(listening, [format!("0100007F:{:04X}", driver.port())]);
}

#[test]
fn a_port_in_use_is_an_error() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let webdriver = format!("--webdriver={port}");
    // --exit-after ends a browser that does not notice.
    let (status, console) = run_browser(&["--headless", "--exit-after=5", &webdriver], &[]);
    assert_eq!(status.code(), Some(1), "{console}");
    let message =
        format!("strobe: --webdriver={port}: cannot listen there: Address already in use");
    assert!(console.contains(&message), "{console}");
}

#[test]
fn a_host_file_and_style_sheets_take_effect() {
    let folder = tempfile::tempdir().unwrap();
    let [hosts, stylesheet] = ["hosts", "user.css"].map(|name| folder.path().join(name));
    fs::write(&hosts, "127.0.0.1 pages.strobe.test\n").unwrap();
    fs::write(&stylesheet, "button { position: fixed !important }").unwrap();
    let site = Site::plain().serve();
    let driver = Driver::start_with(
        &[
            "--user-stylesheet",
            stylesheet.to_str().unwrap(),
            "-u",
            "Test/1",
        ],
        &[("HOST_FILE", hosts.to_str().unwrap())],
    );
    let url = site.url("/driven.html");
    driver.open(&url.replace("127.0.0.1", "pages.strobe.test"));
    assert_eq!(driver.get("/title").unwrap(), "Driven");
    let result = driver.execute(
        "return [location.hostname, navigator.userAgent,
            getComputedStyle(document.querySelector('button')).position];",
    );
    assert_eq!(result, json!(["pages.strobe.test", "Test/1", "fixed"]));
    // Pages that a page opens have it too.
    driver.execute("other = window.open('/driven.html?other');");
    let handles = driver.get("/window/handles").unwrap();
    let current = driver.get("/window").unwrap();
    let other = handles
        .as_array()
        .unwrap()
        .iter()
        .find(|handle| **handle != current);
    driver.switch_to(other.unwrap());
    // It is still loading. `Navigate To` would return when that load ends, because Servo reports the end of a
    // load without its document. So this page is not navigated.
    let loaded = "location.search == '?other' && document.readyState == 'complete'";
    assert!(driver.becomes_true(loaded, TIME_BOUND));
    let position =
        driver.execute("return getComputedStyle(document.querySelector('button')).position;");
    assert_eq!(position, "fixed");
    drop(driver);
}

#[test]
fn a_host_file_that_cannot_be_read_is_an_error() {
    let (status, console) = run_browser(
        &["--headless", "--exit-after=load", "about:blank"],
        &[("HOST_FILE", "/no/such/hosts")],
    );
    assert_eq!(status.code(), Some(2), "{console}");
    assert!(
        console.contains("HOST_FILE: /no/such/hosts: No such file"),
        "{console}"
    );
}
