/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Pages cannot get at about:profiling.

use std::thread;
use std::time::{Duration, Instant};

use browser_tests::{Driver, Hosts, Site, scaled};
use serde_json::{Value, json};

const PAGE: &str = "about:profiling";

/// A text that looks like a token but is not one.
const NO_TOKEN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// Everything comes quickly. If not, the test fails.
const BOUND: Duration = Duration::from_secs(60);

/// The token in a document, or null.
const TOKEN: &str = "return document.querySelector('meta[name=profiling-token]')?.content ?? null;";

fn token(driver: &Driver) -> String {
    let token = driver.execute(TOKEN);
    token.as_str().expect("about:profiling has one").to_owned()
}

/// The status and the text of the answer to a fetch in the page, or null.
fn fetched(driver: &Driver, url: &str) -> Value {
    driver.execute(&format!(
        "return fetch({}).then(
            async response => [response.status, await response.text()],
            () => null);",
        json!(url)
    ))
}

fn wait_for(what: &str, is_there: impl Fn() -> bool) {
    let deadline = Instant::now() + scaled(BOUND);
    while !is_there() {
        assert!(Instant::now() < deadline, "{what} never came");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_page_asks_its_server_by_its_token() {
    let driver = Driver::start(&[]);
    driver.open(PAGE);
    let first = token(&driver);
    let status = format!("profiling:status?token={first}");
    let answer = fetched(&driver, &status);
    assert_eq!(answer[0], 200, "{answer}");
    let text: Value = serde_json::from_str(answer[1].as_str().unwrap()).unwrap();
    assert_eq!(text["recordings"], json!([]));
    let answer = fetched(&driver, &format!("profiling:dance?token={first}"));
    assert_eq!(answer[0], 404, "{answer}");
    assert!(answer[1].as_str().unwrap().contains("dance"), "{answer}");

    // A body of many chunks arrives whole.
    let answer = driver.execute(&format!(
        "const body = 'function;'.repeat(3) + 'leaf 1\\n';
        return fetch('profiling:load?name=big.folded&token={first}', {{
            method: 'POST', body: body.repeat(200000),
        }}).then(response => response.json());"
    ));
    assert_eq!(answer, json!({ "recording": "1", "notices": [] }));
    let answer = fetched(&driver, &status);
    let text: Value = serde_json::from_str(answer[1].as_str().unwrap()).unwrap();
    assert_eq!(text["recordings"][0]["samples"], 200_000);

    // Every load gets a new token.
    driver.post("/refresh", &json!({})).unwrap();
    let second = token(&driver);
    assert_ne!(first, second);
    let answer = fetched(&driver, &format!("profiling:status?token={second}"));
    assert_eq!(answer[0], 200, "{answer}");
    // The same when the page navigates itself.
    driver.execute("location.reload();");
    let is_third = format!(
        "![undefined, {}].includes(document.querySelector('meta[name=profiling-token]')?.content)",
        json!(second)
    );
    assert!(driver.becomes_true(&is_third, BOUND), "no third token came");
}

#[test]
fn a_token_is_worth_nothing_elsewhere() {
    let (hosts, site) = (Hosts::new(), Site::plain().serve());
    let url_of = |path: &str| hosts.url(&site, Hosts::NAMES[0], path);
    let driver = Driver::start_with(&[], &[hosts.variable()]);
    driver.open(PAGE);
    let url = format!("profiling:status?token={}", token(&driver));
    let wrong = format!("profiling:status?token={NO_TOKEN}");
    assert_eq!(fetched(&driver, &wrong), Value::Null);
    assert_eq!(fetched(&driver, "profiling:status"), Value::Null);
    assert_eq!(fetched(&driver, &url)[0], 200);
    let home = driver.get("/window").unwrap();
    for elsewhere in [
        PAGE,
        &url_of("/intruder.html"),
        "data:text/html,x",
        "about:blank",
        "about:memory",
    ] {
        driver.switch_to(&driver.new_tab());
        driver.open(elsewhere);
        assert_eq!(fetched(&driver, &url), Value::Null, "{elsewhere}");
    }
    driver.switch_to(&home);
    assert_eq!(fetched(&driver, &url)[0], 200);
}

#[test]
fn a_page_cannot_load_any_of_it() {
    let (hosts, site) = (Hosts::new(), Site::plain().serve());
    let url_of = |path: &str| hosts.url(&site, Hosts::NAMES[0], path);
    let driver = Driver::start_with(&[], &[hosts.variable()]);
    driver.open(PAGE);
    let stolen = token(&driver);
    let home = driver.get("/window").unwrap();
    driver.switch_to(&driver.new_tab());
    driver.open(&url_of("/intruder.html"));
    let script = url_of("/busy.js");
    // The methods themselves work.
    for way in ["fetch", "XMLHttpRequest", "script", "fetch in a worker"] {
        let way = json!(way);
        let got = driver.execute(&format!(
            "return ways[{way}]({}).then(String);",
            json!(script)
        ));
        assert!(got.is_string(), "{way}: {got}");
    }
    let count = driver.execute("return Object.keys(ways).length;");
    for url in [
        PAGE.to_owned(),
        "profiling:status".to_owned(),
        format!("profiling:status?token={NO_TOKEN}"),
        format!("profiling:status?token={stolen}"),
        format!("profiling:start?interval=1&token={stolen}"),
    ] {
        let got = driver.execute(&format!("return all({});", json!(url)));
        let got = got.as_object().unwrap();
        assert_eq!(json!(got.len()), count);
        for (way, text) in got {
            assert_eq!(*text, Value::Null, "{way} of {url}");
        }
    }

    // The requests had no effect either, though the same one has its effect at home.
    driver.switch_to(&home);
    let status = || {
        let answer = fetched(&driver, &format!("profiling:status?token={stolen}"));
        assert_eq!(answer[0], 200, "{answer}");
        serde_json::from_str::<Value>(answer[1].as_str().unwrap()).unwrap()
    };
    let before = status();
    assert_eq!(before["recording"], Value::Null, "{before}");
    assert_eq!(before["recordings"], json!([]), "{before}");
    let start = format!("profiling:start?interval=1&token={stolen}");
    assert_eq!(fetched(&driver, &start)[0], 200);
    let after = status();
    assert!(after["recording"].is_object(), "{after}");
}

#[test]
fn a_page_cannot_frame_it() {
    let (hosts, site) = (Hosts::new(), Site::plain().serve());
    let url_of = |path: &str| hosts.url(&site, Hosts::NAMES[0], path);
    let driver = Driver::start_with(&[], &[hosts.variable()]);
    for page in [&*url_of("/intruder.html"), "data:text/html,x"] {
        driver.open(page);
        for url in [PAGE, "about:profiling#x", "profiling:status"] {
            driver.execute(&format!(
                "const frame = document.createElement('iframe');
                frame.src = {};
                document.body.append(frame);",
                json!(url)
            ));
            driver.post("/frame", &json!({ "id": 0 })).unwrap();
            let is_there = "document.title === 'Error loading page'
                || document.querySelector('meta[name=profiling-token]') !== null";
            assert!(
                driver.becomes_true(is_there, BOUND),
                "what is in the frame of {url} in {page} never came"
            );
            assert_eq!(driver.execute(TOKEN), Value::Null, "{url} in {page}");
            let text = driver.execute("return document.documentElement.textContent;");
            let text = text.as_str().unwrap();
            assert!(!text.contains("recordings"), "{url} in {page}: {text}");
            driver.post("/frame", &json!({ "id": null })).unwrap();
            driver.execute("document.querySelector('iframe').remove();");
        }
    }
}

#[test]
fn a_page_cannot_navigate_to_it() {
    let (hosts, site) = (Hosts::new(), Site::plain().serve());
    let url_of = |path: &str| hosts.url(&site, Hosts::NAMES[0], path);
    let driver = Driver::start_with(&[], &[hosts.variable()]);
    let start = url_of("/intruder.html");
    driver.open(&start);
    let first = driver.get("/window").unwrap();
    let ways = driver.execute("return Object.keys(leading);");
    for way in ways.as_array().unwrap() {
        for url in [PAGE, "profiling:status"] {
            driver.switch_to(&driver.new_tab());
            driver.open(&start);
            driver.execute(&format!("leading[{way}]({});", json!(url)));
            // Navigations happen in the order in which they begin. When this one is done, the other was refused.
            let after = url_of("/driven.html");
            let has_come = format!(
                "(() => {{
                    if (location.href === {}) location.href = {after};
                    return location.href === {after};
                }})()",
                json!(start),
                after = json!(after)
            );
            assert!(
                driver.becomes_true(&has_come, BOUND),
                "what comes after {way} never came"
            );
            assert_eq!(driver.get("/url").unwrap(), json!(after));
            driver.delete("/window").unwrap();
            driver.switch_to(&first);
        }
    }

    // A document with an opaque origin cannot either. Its navigations look like the person's.
    driver.open("data:text/html,<title>x</title>");
    driver.execute("location.href = 'about:profiling';");
    let after = url_of("/driven.html");
    let has_come = format!(
        "(() => {{
            if (location.protocol === 'data:') location.href = {after};
            return location.href === {after};
        }})()",
        after = json!(after)
    );
    assert!(
        driver.becomes_true(&has_come, BOUND),
        "what comes after never came"
    );
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
    let refused = console
        .matches("error: a page may not open about:profiling")
        .count();
    assert!(refused > ways.as_array().unwrap().len(), "{console}");
}

#[test]
fn a_page_cannot_go_through_its_history_to_it() {
    let (hosts, site) = (Hosts::new(), Site::plain().serve());
    let page = hosts.url(&site, Hosts::NAMES[0], "/driven.html");
    let driver = Driver::start_with(&[], &[hosts.variable()]);
    driver.open(PAGE);
    driver.open(&page);
    let ways = ["history.back()", "history.go(-1)", "navigation.back()"];
    let mut tried = 0;
    for way in ways {
        let returned = format!(
            "returned = false;
            addEventListener('pageshow', () => {{ returned = true; }}, {{ once: true }});
            try {{ {way}; }} catch (error) {{ return error.name; }}"
        );
        if driver.execute(&returned) != Value::Null {
            // Servo has no `navigation`.
            continue;
        }
        tried += 1;
        let is_back = format!("location.href === {} && returned", json!(page));
        assert!(
            driver.becomes_true(&is_back, BOUND),
            "the page never came back: {way}"
        );
    }
    assert!(tried >= 2);
    // The person can go there.
    driver.post("/back", &json!({})).unwrap();
    assert_eq!(driver.get("/url").unwrap(), PAGE);
    let token = token(&driver);
    let answer = fetched(&driver, &format!("profiling:status?token={token}"));
    assert_eq!(answer[0], 200, "{answer}");
    driver.post("/forward", &json!({})).unwrap();
    assert_eq!(driver.get("/url").unwrap(), json!(page));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
    let refused =
        console.matches("error: a page may not go through its history to about:profiling");
    assert_eq!(refused.count(), tried, "{console}");
}

#[test]
fn a_page_cannot_open_it_nor_look_into_a_window_that_shows_it() {
    let (hosts, site) = (Hosts::new(), Site::plain().serve());
    let url_of = |path: &str| hosts.url(&site, Hosts::NAMES[0], path);
    let driver = Driver::start_with(&[], &[hosts.variable()]);
    driver.open(&url_of("/intruder.html"));
    let opener = driver.get("/window").unwrap();
    driver.execute("opened = open('about:profiling'); second = open('driven.html');");
    let windows = || {
        let handles = driver.get("/window/handles").unwrap();
        handles.as_array().unwrap().clone()
    };
    // A window exists before its page has loaded.
    let driven = || {
        windows().into_iter().find(|window| {
            driver.switch_to(window);
            driver.get("/title").is_ok_and(|title| title == "Driven")
        })
    };
    wait_for("two windows, one with its page", || {
        windows().len() == 3 && driven().is_some()
    });
    for window in windows() {
        if window != opener {
            driver.switch_to(&window);
            // It may still be between two documents.
            assert!(driver.becomes_true("true", BOUND), "a window has no page");
            assert_eq!(driver.execute(TOKEN), Value::Null);
        }
    }

    // The person opens it in a window that a page had opened.
    let second = driven().expect("it has its page");
    driver.switch_to(&second);
    driver.open(PAGE);
    let token = token(&driver);
    driver.execute("heard = 0; addEventListener('message', () => { heard++; });");
    driver.switch_to(&opener);
    let got = driver.execute(
        "const attempts = [
            () => second.document,
            () => second.fetch,
            () => second.location.href,
            () => second.eval('1'),
            () => second[0],
        ];
        return attempts.map(attempt => {
            try { return String(attempt()); } catch (error) { return error.name; }
        });",
    );
    for result in got.as_array().unwrap() {
        assert!(
            ["SecurityError", "undefined"].contains(&result.as_str().unwrap()),
            "{got}"
        );
    }
    // The page does not answer messages.
    driver.execute(
        "answers = 0;
        addEventListener('message', () => { answers++; });
        for (const message of ['status', { token: null }, { type: 'recording', id: '1' }]) {
            second.postMessage(message, '*');
        }",
    );
    driver.switch_to(&second);
    wait_for("what the page says", || {
        driver.execute("return heard;") == 3
    });
    driver.switch_to(&opener);
    assert_eq!(driver.execute("return answers;"), 0);
    driver.switch_to(&second);
    let answer = fetched(&driver, &format!("profiling:status?token={token}"));
    assert_eq!(answer[0], 200, "{answer}");
}
