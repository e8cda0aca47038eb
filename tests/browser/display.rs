/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The browser in a window on its own display, with a keyboard and a mouse.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::slowness::scaled;
use crate::turns::Turn;
use crate::visit::{Browser, BrowserProcess, binary};

/// What has not happened by then will not happen. Nothing here takes nearly as long.
const TIME_BOUND: Duration = Duration::from_secs(180);

/// How often to check whether something has happened.
pub const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// The height of the tabs and the toolbar above a page, in points.
pub const CHROME_HEIGHT: i32 = 80;

/// A screen in memory. It is removed when dropped.
pub struct Display {
    server: Child,
    name: String,
    /// The folder where the server keeps the picture.
    memory: TempDir,
}

impl Display {
    /// Starts an X server whose only screen has this size.
    ///
    /// Panics if there is no X server, and says what to install. Otherwise the window would not be tested.
    pub fn start(width: u32, height: u32) -> Self {
        let screen = format!("{width}x{height}x24");
        let memory = tempfile::tempdir().expect("a folder for the picture");
        let mut server = Command::new("Xvfb")
            .args(["-displayfd", "1", "-screen", "0", &screen, "-nolisten", "tcp"])
            // Without this the server resets when its last client leaves, and drops a client that connects at
            // that moment. That could be a browser that starts while xdotool looks for its window.
            .arg("-noreset")
            .arg("-fbdir")
            .arg(memory.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| {
                panic!(
                    "Xvfb, on which windows are tested, cannot be started: {error}; ./mach bootstrap \
                     installs it (package xvfb)"
                )
            });
        let output = server.stdout.take().expect("is piped");
        let (sender, line) = mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(output).read_line(&mut line);
            let _ = sender.send(read.map(|_| line));
        });
        let line = line.recv_timeout(scaled(TIME_BOUND));
        let number = match &line {
            Ok(Ok(line)) if !line.trim().is_empty() => line.trim(),
            _ => {
                let _ = server.kill();
                panic!("Xvfb has started no display: {line:?}, {:?}", server.wait());
            },
        };
        Self {
            server,
            name: format!(":{number}"),
            memory,
        }
    }

    /// Its name for the variable DISPLAY.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until a window has this text in its title.
    pub fn wait_for_window(&self, title: &str) {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        while let Err(error) = self.xdotool(&["search", "--onlyvisible", "--name", title]) {
            assert!(Instant::now() < deadline, "no window {title}: {error}");
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// The window of a process, by the window system's name, if it is on the screen.
    fn window_of(&self, process: &BrowserProcess) -> Option<String> {
        let pid = process.id().to_string();
        let found = self.xdotool(&["search", "--onlyvisible", "--pid", &pid]);
        found.ok()?.lines().next().map(str::to_owned)
    }

    /// Waits for the window of a browser that is driven otherwise, and gives it the keyboard's focus.
    pub fn focus(&self, process: &BrowserProcess) {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        let window = loop {
            if let Some(window) = self.window_of(process) {
                break window;
            }
            assert!(Instant::now() < deadline, "the browser has no window");
            thread::sleep(RETRY_INTERVAL);
        };
        self.focus_window(&window);
    }

    fn focus_window(&self, window: &str) {
        self.hands(&["windowfocus", "--sync", window]);
    }

    /// Presses and releases keys together, by their X names, such as "ctrl+l".
    pub fn key(&self, keys: &str) {
        self.hands(&["key", "--clearmodifiers", keys]);
    }

    /// Types a text, letter by letter.
    pub fn write(&self, text: &str) {
        self.hands(&["type", "--delay", "4", text]);
    }

    /// Moves the mouse to a place on the screen, in device pixels. Windows are in its upper left corner.
    pub fn point(&self, x: i32, y: i32) {
        let (x, y) = (x.to_string(), y.to_string());
        self.hands(&["mousemove", &x, &y]);
    }

    /// Clicks at a place: button 1 is the left one, 2 the middle one, 3 the right one. Buttons 4 to 7 turn the wheel.
    pub fn click(&self, button: u32, x: i32, y: i32) {
        self.point(x, y);
        self.hands(&["click", &button.to_string()]);
    }

    /// Clicks where the mouse is, while a key is held.
    pub fn click_with(&self, key: &str, button: u32) {
        let button = button.to_string();
        self.hands(&["keydown", key, "click", &button, "keyup", key]);
    }

    /// Presses the left button at the first place, moves to the others, and releases it.
    pub fn drag(&self, places: &[(i32, i32)]) {
        for (index, (x, y)) in places.iter().enumerate() {
            self.point(*x, *y);
            if index == 0 {
                self.hands(&["mousedown", "1"]);
            }
        }
        self.hands(&["mouseup", "1"]);
    }

    /// Does with the keyboard and the mouse what a command of `xdotool` says.
    fn hands(&self, arguments: &[&str]) {
        if let Err(error) = self.xdotool(arguments) {
            panic!("xdotool {}: {error}", arguments.join(" "));
        }
    }

    /// The colour of a pixel of the screen, as 0xRRGGBB.
    pub fn colour(&self, x: u32, y: u32) -> u32 {
        self.read_colour(x, y)
            .unwrap_or_else(|error| panic!("the pixel at {x}, {y} cannot be read: {error}"))
    }

    /// Reads an X window dump: a header of 32-bit numbers, most significant byte first, then the colour map and
    /// the pixels.
    /// <https://gitlab.freedesktop.org/xorg/proto/xorgproto/-/blob/master/include/X11/XWDFile.h>
    fn read_colour(&self, x: u32, y: u32) -> io::Result<u32> {
        const BYTES_OF_MAPPED_COLOUR: u32 = 12;
        let dump = File::open(self.memory.path().join("Xvfb_screen0"))?;
        let read = |at: u32| {
            let mut bytes = [0; 4];
            dump.read_exact_at(&mut bytes, at.into())?;
            io::Result::Ok(bytes)
        };
        let header = |index: u32| io::Result::Ok(u32::from_be_bytes(read(4 * index)?));
        let (header_size, byte_order, bits_per_pixel) = (header(0)?, header(7)?, header(11)?);
        let (bytes_per_line, mapped_colours) = (header(12)?, header(19)?);
        if bits_per_pixel != 32 {
            return Err(io::Error::other(format!("it has {bits_per_pixel} bits")));
        }
        let pixels = header_size + mapped_colours * BYTES_OF_MAPPED_COLOUR;
        let bytes = read(pixels + y * bytes_per_line + 4 * x)?;
        let pixel = match byte_order {
            0 => u32::from_le_bytes(bytes),
            _ => u32::from_be_bytes(bytes),
        };
        Ok(pixel & 0xFF_FF_FF)
    }

    /// The output of `xdotool` for a command, or its error.
    fn xdotool(&self, arguments: &[&str]) -> Result<String, String> {
        let output = Command::new("xdotool")
            .args(arguments)
            .env("DISPLAY", &self.name)
            .output()
            .unwrap_or_else(|error| {
                panic!(
                    "xdotool, which presses keys and buttons, cannot be started: {error}; ./mach \
                     bootstrap installs it (package xdotool)"
                )
            });
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The browser and its window, until it is dropped or has ended.
pub struct BrowserWindow<'a> {
    display: &'a Display,
    /// None when it has ended.
    browser: Option<Browser>,
    ended: Receiver<()>,
    /// The window system's name of the window.
    window: String,
    /// How many of the browser's lines have been consumed by waiting.
    lines_read: usize,
    _turn: Turn,
}

impl<'a> BrowserWindow<'a> {
    /// Opens a window and gives it the keyboard's focus.
    pub fn open(display: &'a Display, arguments: &[&str], environment: &[(&str, &str)]) -> Self {
        let turn = Turn::wait();
        let mut command = Command::new(binary());
        command
            .args(arguments)
            .env("DISPLAY", display.name())
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("WAYLAND_SOCKET")
            // A point is one pixel, regardless of this machine's font settings.
            .env("WINIT_X11_SCALE_FACTOR", "1")
            .envs(environment.iter().copied());
        let (sender, ended) = mpsc::channel();
        let browser = Browser::spawn(command, move || {
            let _ = sender.send(());
        });
        let process = BrowserProcess::of(&browser.child);
        let mut window = Self {
            display,
            browser: Some(browser),
            ended,
            window: String::new(),
            lines_read: 0,
            _turn: turn,
        };
        window.window = window.wait("a window", |_| display.window_of(&process));
        display.focus_window(&window.window);
        window
    }

    pub fn process(&self) -> BrowserProcess {
        BrowserProcess::of(&self.browser.as_ref().expect("runs").child)
    }

    /// See [`Display::key`].
    pub fn key(&self, keys: &str) {
        self.display.key(keys);
    }

    /// See [`Display::write`].
    pub fn write(&self, text: &str) {
        self.display.write(text);
    }

    /// See [`Display::click`].
    pub fn click(&self, button: u32, x: i32, y: i32) {
        self.display.click(button, x, y);
    }

    /// See [`Display::click_with`].
    pub fn click_with(&self, key: &str, button: u32) {
        self.display.click_with(key, button);
    }

    /// Resizes the window, in device pixels.
    pub fn resize(&self, width: i32, height: i32) {
        let (width, height) = (width.to_string(), height.to_string());
        let arguments = ["windowsize", &self.window, &width, &height];
        self.display.hands(&arguments);
    }

    /// Waits until the window has this title.
    pub fn wait_for_title(&mut self, title: &str) {
        let display = self.display;
        self.wait(&format!("the title '{title}'"), |window| {
            let name = display.xdotool(&["getwindowname", &window.window]).ok()?;
            (name.trim_end() == title).then_some(())
        });
    }

    /// Waits until a pixel of the window has this colour, 0xRRGGBB. A click acts on what is drawn.
    pub fn wait_for_colour(&mut self, x: i32, y: i32, colour: u32) {
        let display = self.display;
        self.wait(&format!("the colour #{colour:06x} at {x}, {y}"), |_| {
            (display.colour(x as u32, y as u32) == colour).then_some(())
        });
    }

    /// Waits until the browser prints this line, and consumes the lines up to it.
    pub fn wait_for_line(&mut self, line: &str) {
        self.lines_read = self.wait(&format!("the line '{line}'"), |window| {
            let console = window.console();
            let found = console
                .lines()
                .skip(window.lines_read)
                .position(|printed| printed == line)?;
            Some(window.lines_read + found + 1)
        });
    }

    /// The lines that have been printed so far and not consumed.
    pub fn lines(&self) -> Vec<String> {
        let console = self.console();
        let lines = console.lines().skip(self.lines_read);
        lines.map(str::to_owned).collect()
    }

    fn console(&self) -> String {
        self.browser
            .as_ref()
            .map(Browser::printed)
            .unwrap_or_default()
    }

    fn wait<R>(&mut self, what: &str, look: impl Fn(&Self) -> Option<R>) -> R {
        let deadline = Instant::now() + scaled(TIME_BOUND);
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let has_ended = self.ended.try_recv().is_ok();
            if has_ended || Instant::now() > deadline {
                let title = self.display.xdotool(&["getwindowname", &self.window]);
                let (status, console) = self.browser.take().expect("runs").kill();
                panic!("{what} never came; {status}; the window's title is {title:?}\n{console}");
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// Waits for the end of the browser, and gives its status and its output.
    pub fn end(mut self) -> (ExitStatus, String) {
        let browser = self.browser.take().expect("runs");
        match self.ended.recv_timeout(scaled(TIME_BOUND)) {
            Ok(()) => browser.end(),
            Err(_) => {
                let (_, console) = browser.kill();
                panic!("the browser does not end\n{console}");
            },
        }
    }
}
