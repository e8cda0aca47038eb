/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! A WebDriver client: <https://w3c.github.io/webdriver/>.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{self, Command, ExitStatus};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::command::signal;
use crate::display::Display;
use crate::panics::KnownPanic;
use crate::slowness::scaled;
use crate::turns::Turn;
use crate::visit::{Browser, BrowserProcess, binary};

/// A browser that has not answered by then, or a page that is not as expected by then, is stuck. Nothing takes nearly as
/// long.
pub const TIME_BOUND: Duration = Duration::from_secs(180);

/// How often to try to connect while the browser starts.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The key of an element in a command or an answer.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A command that was refused.
#[derive(Debug, PartialEq)]
pub struct Failure {
    /// The status of the response.
    pub status: u16,
    /// The error code of the specification.
    pub error: String,
    pub message: String,
}

impl Failure {
    /// Whether the page's document had just been replaced by another. Servo sends a script to the thread of the
    /// old document if it has not heard of the new one, and that thread no longer has the document.
    fn is_between_documents(&self) -> bool {
        self.error == "no such window" && self.message == "DocumentNotFound"
    }
}

/// A browser with a session that drives it, until it is dropped or shut down.
pub struct Driver {
    /// None when it has been shut down.
    browser: Option<Browser>,
    ended: Receiver<()>,
    port: u16,
    session: String,
    _turn: Turn,
}

impl Driver {
    /// Starts a browser without a page, and a session. The browser opens a page for the session.
    pub fn start(arguments: &[&str]) -> Self {
        Self::start_with(arguments, &[])
    }

    /// Same as [`Driver::start`], with variables in the browser's environment.
    pub fn start_with(arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = Command::new(binary());
        command
            .arg("--headless")
            .args(arguments)
            .envs(environment.iter().copied());
        Self::spawn(command)
    }

    /// Same as [`Driver::start`], through a launcher that prepares the system and then executes the browser. The
    /// launcher gets the command line of the browser.
    pub fn start_by(mut launcher: Command, arguments: &[&str]) -> Self {
        launcher.arg(binary()).arg("--headless").args(arguments);
        Self::spawn(launcher)
    }

    /// Same as [`Driver::start`], with the pages in a window on `display`.
    pub fn start_on(display: &Display, arguments: &[&str]) -> Self {
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .env("DISPLAY", display.name())
            .env_remove("WAYLAND_DISPLAY")
            .env("WINIT_X11_SCALE_FACTOR", "1");
        Self::spawn(command)
    }

    /// Starts `strobe view` in a window on `display`, and a session.
    pub fn view_on(display: &Display, arguments: &[&str]) -> Self {
        Self::start_on(display, &[&["view"], arguments].concat())
    }

    fn spawn(mut command: Command) -> Self {
        let turn = Turn::wait();
        let port = free_port();
        command.arg(format!("--webdriver={port}"));
        let (sender, ended) = mpsc::channel();
        let browser = Browser::spawn(command, move || {
            let _ = sender.send(());
        });
        let mut driver = Self {
            browser: Some(browser),
            ended,
            port,
            session: String::new(),
            _turn: turn,
        };
        driver.wait_for_server();
        let session = driver
            .send("POST", "/session", Some(&json!({ "capabilities": {} })))
            .unwrap_or_else(|failure| panic!("no session: {failure:?}"));
        driver.session = session["sessionId"].as_str().expect("an id").to_owned();
        // By itself the browser waits for a script for half a minute, however slow it is.
        let script = scaled(TIME_BOUND).as_millis() as u64;
        driver
            .post("/timeouts", &json!({ "script": script }))
            .unwrap_or_else(|failure| panic!("no time for scripts: {failure:?}"));
        driver
    }

    fn wait_for_server(&mut self) {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        while let Err(error) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)) {
            let has_ended = self.ended.try_recv().is_ok();
            if has_ended || Instant::now() > deadline {
                let (status, console) = self.browser.take().expect("runs").kill();
                panic!(
                    "nobody listens on port {}: {error}, {status}\n{console}",
                    self.port
                );
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }

    pub fn process(&self) -> BrowserProcess {
        let browser = self.browser.as_ref().expect("it has not been shut down");
        BrowserProcess::of(&browser.child)
    }

    /// Excuses this panic from now on.
    pub fn excuse(&mut self, known: &'static KnownPanic) {
        let browser = self.browser.as_mut();
        browser.expect("it has not been shut down").excuse(known);
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Sends any body to a command of the session, and gives the status and the body of the answer.
    pub fn post_bytes(&self, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        self.exchange("POST", &self.path(path), body)
    }

    /// Sends a command of the session. The path is the part after the session's id.
    pub fn get(&self, path: &str) -> Result<Value, Failure> {
        self.send("GET", &self.path(path), None)
    }

    pub fn post(&self, path: &str, parameters: &Value) -> Result<Value, Failure> {
        self.send("POST", &self.path(path), Some(parameters))
    }

    pub fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.send("DELETE", &self.path(path), None)
    }

    fn path(&self, path: &str) -> String {
        format!("/session/{}{path}", self.session)
    }

    /// Loads a page, and returns when it has loaded.
    pub fn open(&self, url: &str) {
        self.post("/url", &json!({ "url": url }))
            .unwrap_or_else(|failure| panic!("{url}: {failure:?}"));
    }

    /// Runs the body of a function in the page and gives its value. Waits for a promise.
    pub fn execute(&self, body: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": body, "args": [] }))
            .unwrap_or_else(|failure| panic!("{body}: {failure:?}"))
    }

    /// Waits until an expression is true in the page. False if it is not after `bound`.
    pub fn becomes_true(&self, expression: &str, bound: Duration) -> bool {
        let deadline = Instant::now() + scaled(bound);
        // A document that has only begun to load has no root element, and expressions may ask for it.
        let condition = format!("return Boolean(document.documentElement && ({expression}));");
        let parameters = json!({ "script": condition, "args": [] });
        loop {
            match self.post("/execute/sync", &parameters) {
                Ok(value) if value == true => return true,
                Ok(_) => {},
                Err(failure) if failure.is_between_documents() => {},
                Err(failure) => panic!("{expression}: {failure:?}"),
            }
            if Instant::now() > deadline {
                return false;
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// The path of the commands for the first element that a selector matches.
    pub fn element(&self, selector: &str) -> String {
        let parameters = json!({ "using": "css selector", "value": selector });
        let element = self
            .post("/element", &parameters)
            .unwrap_or_else(|failure| panic!("{selector}: {failure:?}"));
        format!("/element/{}", element[ELEMENT].as_str().expect("an id"))
    }

    /// Clicks on the first element that a selector matches.
    pub fn click(&self, selector: &str) {
        self.post(&format!("{}/click", self.element(selector)), &json!({}))
            .unwrap_or_else(|failure| panic!("{selector}: {failure:?}"));
    }

    /// Performs the actions of an input source, such as a mouse or a keyboard.
    pub fn act(&self, source: &Value) {
        self.post("/actions", &json!({ "actions": [source] }))
            .unwrap_or_else(|failure| panic!("{source}: {failure:?}"));
    }

    /// Opens a tab and gives its handle. Commands still go to the previous tab.
    pub fn new_tab(&self) -> Value {
        let mut tab = self
            .post("/window/new", &json!({ "type": "tab" }))
            .unwrap_or_else(|failure| panic!("a tab: {failure:?}"));
        tab["handle"].take()
    }

    /// The handles of all tabs, as soon as there are this many.
    pub fn tabs(&self, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        loop {
            let handles = self.get("/window/handles");
            let handles = handles.unwrap_or_else(|failure| panic!("the tabs: {failure:?}"));
            let handles = handles.as_array().expect("a list");
            if handles.len() >= count {
                return handles.clone();
            }
            assert!(Instant::now() < deadline, "{count} tabs: {handles:?}");
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// Sends the following commands to the tab with this handle.
    pub fn switch_to(&self, tab: &Value) {
        self.post("/window", &json!({ "handle": tab }))
            .unwrap_or_else(|failure| panic!("{tab}: {failure:?}"));
    }

    /// Sends a command and gives the value of the answer.
    ///
    /// Panics if the answer does not have the form of the specification.
    pub fn send(
        &self,
        method: &str,
        path: &str,
        parameters: Option<&Value>,
    ) -> Result<Value, Failure> {
        let parameters = parameters.map(Value::to_string).unwrap_or_default();
        let (status, body) = self
            .exchange(method, path, parameters.as_bytes())
            .unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        let mut answer: Value = serde_json::from_slice(&body).unwrap_or_else(|error| {
            panic!(
                "{method} {path}: {error}: {}",
                String::from_utf8_lossy(&body)
            )
        });
        let value = answer["value"].take();
        if status == 200 {
            return Ok(value);
        }
        let text = |key: &str| value[key].as_str().expect("is in every error").to_owned();
        Err(Failure {
            status,
            error: text("error"),
            message: text("message"),
        })
    }

    /// Sends one request on its own connection.
    fn exchange(&self, method: &str, path: &str, body: &[u8]) -> io::Result<(u16, Vec<u8>)> {
        let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        // Longer than for a script, whose error is clearer.
        connection.set_read_timeout(Some(2 * scaled(TIME_BOUND)))?;
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.port,
            body.len(),
        );
        connection.write_all(&[head.as_bytes(), body].concat())?;
        let mut response = Vec::new();
        connection.read_to_end(&mut response)?;
        let invalid = || io::Error::from(io::ErrorKind::InvalidData);
        let end = response
            .windows(4)
            .position(|bytes| bytes == b"\r\n\r\n")
            .ok_or_else(invalid)?;
        let status = String::from_utf8_lossy(&response[..end])
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok())
            .ok_or_else(invalid)?;
        Ok((status, response.split_off(end + 4)))
    }

    /// Shuts the browser down by a command, and gives its status and its output.
    ///
    /// Panics if it does not end in time, or if one of its threads panicked.
    pub fn shut_down(self) -> (ExitStatus, String) {
        let _ = self.delete("/servo/shutdown");
        self.wait_for_end()
    }

    /// Same as [`Driver::shut_down`], by the signal with this name.
    pub fn end_by_signal(self, name: &str) -> (ExitStatus, String) {
        signal(self.process().id(), name);
        self.wait_for_end()
    }

    /// Waits until the browser ends by itself, and gives its status and its output.
    pub fn wait_for_end(mut self) -> (ExitStatus, String) {
        let browser = self.browser.take().expect("runs");
        match self.ended.recv_timeout(scaled(TIME_BOUND)) {
            Ok(()) | Err(RecvTimeoutError::Disconnected) => browser.end(),
            Err(RecvTimeoutError::Timeout) => {
                let (_, console) = browser.kill();
                panic!("the browser did not end\n{console}");
            },
        }
    }
}

/// A port that nobody listens on, for a browser that listens there a moment later. Nobody else gets it meanwhile: each
/// browser of this process has another one, and the system gives out only higher ones by itself.
fn free_port() -> u16 {
    /// Each process of tests begins at one of these, so that two of them seldom try the same.
    const STARTS: u16 = 200;
    const FIRST: u16 = 10_000;
    const PORTS_OF_PROCESS: u16 = 100;
    static USED: AtomicU16 = AtomicU16::new(0);
    let start = (process::id() % u32::from(STARTS)) as u16 * PORTS_OF_PROCESS;
    loop {
        let port = FIRST + start + USED.fetch_add(1, Ordering::Relaxed);
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
