/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The Force Sample command with any body. Each request is answered, only valid bodies are accepted, and the browser
//! goes on.

use browser_tests::{Driver, Site, report};
use serde_json::{Value, json};

const RANDOM_BODIES: usize = 400;

const COMMAND: &str = "/forcesample";

const RIGHT_BODIES: [&str; 4] = ["{}", " { } \n", r#"{"x":null}"#, r#"{"":{}}"#];

const WRONG_BODIES: [&str; 12] = [
    "",
    " ",
    "null",
    "[]",
    "0",
    "\"\"",
    "{",
    "{]",
    "{}{}",
    "{},",
    "{\"a\":1e999}",
    "{\"\\ud800\":0}",
];

/// Whether the command succeeded. A refusal must be an error of the specification.
fn force_sample(driver: &Driver, body: &[u8]) -> bool {
    let text = String::from_utf8_lossy(body);
    let text: String = text.chars().take(200).collect();
    let (status, answer) = driver
        .post_bytes(COMMAND, body)
        .unwrap_or_else(|error| panic!("{text:?}: {error}"));
    let answer: Value = serde_json::from_slice(&answer)
        .unwrap_or_else(|error| panic!("{text:?}: {error}: {answer:?}"));
    if str::from_utf8(body).is_err() {
        // Servo's server refuses the body before it looks at the command.
        assert_eq!(status, 500, "{text:?}: {answer}");
        assert_eq!(answer["value"]["error"], "unknown error", "{text:?}");
        return false;
    }
    match status {
        200 => assert_eq!(answer["value"], Value::Null, "{text:?}"),
        _ => {
            assert_eq!(status, 400, "{text:?}: {answer}");
            assert_eq!(answer["value"]["error"], "invalid argument", "{text:?}");
            let message = answer["value"]["message"].as_str().expect("a message");
            assert!(!message.is_empty(), "{text:?}");
        },
    }
    status == 200
}

/// The specification asks for an object and nothing else.
/// <https://w3c.github.io/webdriver/#processing-model>
fn is_object(body: &[u8]) -> bool {
    serde_json::from_slice(body).is_ok_and(|value: Value| value.is_object())
}

/// Changes a body at random places.
fn changed(body: &[u8], random: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    const PIECES: [&[u8]; 10] = [
        b"{", b"}", b"[", b"\"", b":", b",", b"\0", b"\xff", b"1e9", b"\\u0000",
    ];
    let mut changed = body.to_vec();
    for _ in 0..=random(4) {
        let at = random(changed.len() + 1);
        match random(3) {
            0 => {
                changed.splice(at..at, PIECES[random(PIECES.len())].iter().copied());
            },
            1 => changed.truncate(at),
            _ => {
                if let Some(byte) = changed.get_mut(at) {
                    *byte = random(256) as u8;
                }
            },
        }
    }
    changed
}

#[test]
fn every_body_is_answered() {
    let site = Site::allowing().serve();
    let driver = Driver::start(&[]);
    driver.open(&site.url("/driven.html"));
    driver.execute("start(1000000, 1000000);");
    let mut done = 0;
    let mut send = |body: &[u8]| {
        let was_done = force_sample(&driver, body);
        let text = String::from_utf8_lossy(body);
        let text: String = text.chars().take(200).collect();
        assert_eq!(was_done, is_object(body), "{text:?}");
        done += usize::from(was_done);
        was_done
    };
    for body in RIGHT_BODIES {
        assert!(send(body.as_bytes()), "{body:?}");
    }
    for body in WRONG_BODIES {
        assert!(!send(body.as_bytes()), "{body:?}");
    }
    let deep = [&b"{\"a\":"[..], &[b'['; 100_000]].concat();
    assert!(!send(&deep));
    let long = json!({ "a": "x".repeat(1 << 20) }).to_string();
    assert!(send(long.as_bytes()));
    // The numbers are the same in every run.
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let bodies = RIGHT_BODIES.into_iter().chain(WRONG_BODIES).cycle();
    for body in bodies.take(RANDOM_BODIES) {
        send(&changed(body.as_bytes(), &mut random));
    }
    report(&format!("Force Sample succeeded for {done} bodies"));
    // Each command that succeeded took one sample, and the others took none. The first sample comes from
    // the start.
    let traces = driver.execute("return stopAll();");
    assert_eq!(
        traces[0]["samples"].as_array().expect("an array").len(),
        1 + done
    );
}
