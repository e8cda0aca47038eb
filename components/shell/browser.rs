/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! One run of the browser: its pages, their events, and its end.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use crossbeam_channel::{RecvTimeoutError, Sender, bounded};
use profile_recorder::Recorder;
use servo::protocol_handler::ProtocolRegistry;
use servo::user_contents::UserStyleSheet;
use servo::{
    CreateNewWebViewRequest, EventLoopWaker, Opts, Preferences, Servo, ServoBuilder, Theme,
    UserContentManager, WebView, WebViewBuilder, WebViewId,
};
use terminal_text::shortened;
use url::Url;

use crate::about_profiling::{Endpoints, ProfilingServer, Recordings, SessionHistory};
use crate::arguments::ExitAfter;
use crate::command_line::CommandLine;
use crate::failure::{FAILURE, report};
use crate::load_error;
use crate::page::{Load, Page};
use crate::page_delegate::{EngineDelegate, Event, Events, PageDelegate};
use crate::profile::{self, Haste, ProfileRecording};
use crate::screenshot::Screenshot;
use crate::surface::Surface;
use crate::termination::{Second, Termination};
use crate::webdriver::{self, Request, WebDriver};
use crate::{console, crash};

/// In characters. The reason ends with a place in the source and may quote the page before that.
const MAX_CRASH_REASON: usize = 1_000;

/// What the event loop should do.
#[derive(Debug, PartialEq)]
pub enum Next {
    /// Come back when woken, and at this time at the latest.
    Wait(Option<Instant>),
    /// Shut the browser down.
    End,
}

/// How a run ended.
pub struct Ended {
    /// The exit status of the process.
    pub status: u8,
    /// The profiles that were saved to new files, if all went well.
    pub new_profiles: Vec<PathBuf>,
    pub termination: Termination,
}

/// What a run of the browser is started with.
pub struct Settings {
    pub command_line: CommandLine,
    pub preferences: Preferences,
    pub recorder: Recorder,
    /// What about:profiling has from the beginning.
    pub recordings: Recordings,
}

/// Servo and its pages.
pub struct Browser<S> {
    pages: Vec<Page<S>>,
    servo: Servo,
    events: Rc<Events>,
    termination: Termination,
    exit_after: Option<ExitAfter>,
    hard_fail: bool,
    /// The theme of all pages, if the command line sets one.
    theme: Option<Theme>,
    /// The user's style sheets, which every page has.
    user_contents: Rc<UserContentManager>,
    /// Present if WebDriver drives the browser.
    webdriver: Option<WebDriver>,
    screenshot: Option<Screenshot>,
    profiling_server: ProfilingServer,
    recorder: Recorder,
    /// Whether the purpose of this run is a recording.
    is_for_profile: bool,
    /// That recording, while it is in progress.
    profile: Option<ProfileRecording>,
    /// The new files in which it was saved.
    new_profiles: Vec<PathBuf>,
    /// The first page of the command line, which is the one that a recording is made of, and its URL there.
    first_page: Option<(WebViewId, Url)>,
    /// When the pages of the command line were opened.
    start: Instant,
    /// When the person closed the window.
    closed: Option<Instant>,
    /// The exit status so far.
    status: u8,
    /// Whether nothing can be asked of Servo any more.
    is_engine_lost: bool,
}

impl<S: Surface> Browser<S> {
    /// Starts Servo, and opens the pages of the command line, each on a surface of its own.
    pub fn start(
        settings: Settings,
        waker: Box<dyn EventLoopWaker>,
        mut open_surface: impl FnMut() -> Result<S, String>,
    ) -> Result<Self, String> {
        let Settings {
            command_line,
            preferences,
            recorder,
            recordings,
        } = settings;
        let second = match command_line.profile {
            Some(_) => Second::Hurries,
            None => Second::Ends,
        };
        let termination = Termination::watch(waker.clone(), second)
            .map_err(|error| format!("cannot watch for signals: {error}"))?;
        if let Some(port) = command_line.webdriver {
            webdriver::check_port(port)?;
        }
        // Before Servo, so that nothing has to be shut down if there is no surface.
        let surfaces = command_line
            .urls
            .iter()
            .map(|_| open_surface())
            .collect::<Result<Vec<_>, _>>()?;

        // The recording starts before the page loads, to include the load.
        let profile = command_line
            .profile
            .map(|options| ProfileRecording::start(options, recorder.clone()))
            .transpose()?;

        let mut protocols = ProtocolRegistry::default();
        let profiling_server = ProfilingServer::start(recorder.clone(), recordings, &mut protocols);
        let servo = ServoBuilder::default()
            .opts(Opts {
                // The shell reports crashed pages itself.
                hard_fail: false,
                multiprocess: command_line.multiprocess,
                sandbox: command_line.sandbox,
                background_hang_monitor: command_line.background_hang_monitor,
                certificate_path: command_line.certificate_path,
                ignore_certificate_errors: command_line.ignore_certificate_errors,
                ..Opts::default()
            })
            .preferences(preferences.clone())
            .protocol_registry(protocols)
            .event_loop_waker(waker.clone())
            .build();
        servo.setup_logging();
        let events = Rc::new(Events::default());
        servo.set_delegate(Rc::new(EngineDelegate(events.clone())));
        let user_contents = Rc::new(UserContentManager::new(&servo));
        for stylesheet in command_line.user_stylesheets {
            let stylesheet = UserStyleSheet::new(stylesheet.source, stylesheet.url);
            user_contents.add_stylesheet(Rc::new(stylesheet));
        }

        let mut browser = Self {
            pages: Vec::new(),
            servo,
            events,
            termination,
            exit_after: command_line.exit_after,
            hard_fail: command_line.hard_fail,
            theme: command_line.theme,
            user_contents,
            webdriver: None,
            screenshot: None,
            profiling_server,
            recorder,
            is_for_profile: profile.is_some(),
            profile,
            new_profiles: Vec::new(),
            first_page: None,
            start: Instant::now(),
            closed: None,
            status: 0,
            is_engine_lost: false,
        };
        for (url, surface) in command_line.urls.into_iter().zip(surfaces) {
            let builder =
                WebViewBuilder::new(&browser.servo, surface.rendering_context()).url(url.clone());
            let in_front = browser.pages.is_empty();
            let page = browser.add_page(builder, surface, Load::Started(url.clone()), in_front);
            if in_front {
                browser.first_page = Some((page, url));
            }
        }
        browser.screenshot = command_line
            .screenshot
            .map(|file| Screenshot::new(browser.pages[0].webview.id(), file));
        browser.webdriver = command_line
            .webdriver
            .map(|port| WebDriver::start(port, waker, preferences));
        Ok(browser)
    }

    /// Lets Servo work, handles the events, and draws what is due.
    ///
    /// `open_surface` creates the surface for a page that a page opens.
    pub fn step(&mut self, mut open_surface: impl FnMut() -> Result<S, String>) -> Next {
        self.servo.spin_event_loop();
        let mut ending = self.termination.asked();
        for event in self.events.take() {
            match event {
                Event::Loaded(webview) => self.page_loaded(webview),
                Event::Closed(webview) => self.close(webview),
                Event::Crashed {
                    webview,
                    reason,
                    backtrace,
                } => self.page_crashed(webview, &reason, backtrace),
                Event::PageRequested(request) => {
                    self.open_requested_page(request, &mut open_surface);
                },
                Event::DialogOpened {
                    webview,
                    control,
                    dialog,
                } => match &mut self.webdriver {
                    Some(webdriver) => webdriver.dialog_opened(webview, control, dialog),
                    None => match self.page_mut(webview) {
                        Some(page) => page.surface.show_dialog(&page.webview, control, dialog),
                        None => dialog.dismiss(),
                    },
                },
                Event::DialogGone(control) => {
                    self.with_webdriver(|webdriver| webdriver.dialog_gone(control));
                },
                Event::InputEventHandled(event) => {
                    self.with_webdriver(|webdriver| webdriver.input_event_handled(event));
                },
                Event::Traversed(traversal) => {
                    self.with_webdriver(|webdriver| webdriver.traversed(traversal));
                },
                Event::OutputFailed(error) => {
                    // It is not a failure if the reader, such as `head`, has seen enough.
                    if error.kind() != io::ErrorKind::BrokenPipe {
                        self.fail(&format!("standard output: {error}"));
                    }
                    ending = true;
                },
                Event::EngineLost => {
                    // Shutting down would wait for the engine for ever.
                    report("the engine stopped unexpectedly");
                    self.is_engine_lost = true;
                    self.finish_profile();
                    crash::exit_at_once();
                },
            }
        }
        self.finish_checks();
        ending |= self.obey_webdriver(&mut open_surface);

        let now = Instant::now();
        let next_frame = self.draw_due_frames(now);
        // After the drawing, during which Servo delivers the picture.
        self.with_screenshot(Screenshot::finish);
        ending |= self.profile_is_over(now);
        if ending || self.is_over(now) {
            return Next::End;
        }
        let next_of_profile = self.profile.as_ref().and_then(ProfileRecording::next_time);
        let times = next_frame.into_iter().chain(self.deadline());
        Next::Wait(times.chain(next_of_profile).min())
    }

    /// The pages in the order in which they were opened.
    pub fn pages(&self) -> &[Page<S>] {
        &self.pages
    }

    /// Opens a page that the person asked for.
    pub fn open(&mut self, url: Url, surface: S) {
        let builder = WebViewBuilder::new(&self.servo, surface.rendering_context()).url(url);
        self.add_page(builder, surface, Load::Done, true);
    }

    /// The server of about:profiling.
    pub fn profiling(&self) -> &Arc<Endpoints> {
        self.profiling_server.endpoints()
    }

    /// Clears the network cache.
    pub fn clear_cache(&self) {
        self.servo.network_manager().clear_cache();
    }

    /// Closes a page. The run ends with the last one, unless the browser is driven from outside.
    pub fn close(&mut self, webview: WebViewId) {
        self.pages.retain(|page| page.webview.id() != webview);
        self.profiling_server.page_closed(webview);
        self.with_webdriver(|webdriver| webdriver.page_lost(webview));
        self.with_screenshot(|screenshot| screenshot.page_lost(webview, "its page was closed"));
    }

    /// Notes that the person closes the window: what is to be saved must not take long.
    pub fn closing(&mut self) {
        self.closed.get_or_insert_with(Instant::now);
    }

    /// Shuts Servo down in order.
    ///
    /// When this returns, no thread of Servo is running. A running thread would crash in destructors of
    /// statics when the process exits.
    pub fn shut_down(mut self) -> Ended {
        self.with_screenshot(|screenshot| {
            screenshot.abandon("the browser ended before its page was drawn")
        });
        self.finish_profile();
        self.recorder.end_sampling();
        let Self {
            pages,
            servo,
            events,
            user_contents,
            webdriver,
            status,
            mut new_profiles,
            termination,
            ..
        } = self;
        let _watchdog = ShutdownWatchdog::start();
        // Pages, requests for pages and style sheets keep Servo alive. Servo shuts down when the last
        // of them is dropped, and that drop returns when it is done.
        drop(pages);
        drop(events.take());
        drop(user_contents);
        // A page whose dialog is open waits for the answer.
        drop(webdriver);
        drop(servo);
        if status != 0 {
            new_profiles.clear();
        }
        Ended {
            status,
            new_profiles,
            termination,
        }
    }

    /// Carries out WebDriver commands. True if the browser should end.
    fn obey_webdriver(&mut self, mut open_surface: impl FnMut() -> Result<S, String>) -> bool {
        loop {
            let Some(webdriver) = &mut self.webdriver else {
                return false;
            };
            match webdriver.next_request(&self.servo, &self.pages) {
                Some(Request::Open(page)) => match open_surface() {
                    Ok(surface) => {
                        let builder = WebViewBuilder::new(&self.servo, surface.rendering_context());
                        // A session switches to a new page by a separate command.
                        let in_front = self.pages.is_empty();
                        let id = self.add_page(builder, surface, Load::Done, in_front);
                        self.with_webdriver(|webdriver| webdriver.page_opened(page, id));
                    },
                    Err(message) => {
                        self.fail(&format!("cannot open a page for WebDriver: {message}"));
                    },
                },
                Some(Request::Close(webview, closed)) => {
                    self.close(webview);
                    closed();
                },
                Some(Request::End) => return true,
                None => return false,
            }
        }
    }

    fn with_webdriver(&mut self, act: impl FnOnce(&mut WebDriver)) {
        if let Some(webdriver) = &mut self.webdriver {
            act(webdriver);
        }
    }

    fn add_page(
        &mut self,
        builder: WebViewBuilder,
        surface: S,
        load: Load,
        in_front: bool,
    ) -> WebViewId {
        let surface = Rc::new(surface);
        let history = Rc::<SessionHistory>::default();
        let delegate = PageDelegate {
            events: self.events.clone(),
            surface: surface.clone(),
            history: history.clone(),
        };
        let webview = builder
            .hidpi_scale_factor(surface.hidpi_scale_factor())
            .user_content_manager(self.user_contents.clone())
            .delegate(Rc::new(delegate))
            .build();
        if let Some(theme) = self.theme.or(surface.theme()) {
            webview.notify_theme_change(theme);
        }
        surface.added(&webview, in_front);
        let id = webview.id();
        self.pages.push(Page::new(webview, surface, history, load));
        id
    }

    fn open_requested_page(
        &mut self,
        request: CreateNewWebViewRequest,
        open_surface: impl FnOnce() -> Result<S, String>,
    ) {
        match open_surface() {
            Ok(surface) => {
                let builder = request.builder(surface.rendering_context());
                self.add_page(builder, surface, Load::Done, true);
            },
            // Dropping the request refuses it.
            Err(message) => self.fail(&format!(
                "cannot open a page that a page asked for: {message}"
            )),
        }
    }

    fn page_mut(&mut self, webview: WebViewId) -> Option<&mut Page<S>> {
        self.pages
            .iter_mut()
            .find(|page| page.webview.id() == webview)
    }

    fn page_loaded(&mut self, webview: WebViewId) {
        self.with_webdriver(|webdriver| webdriver.page_loaded(webview));
        let Some(page) = self.page_mut(webview) else {
            return;
        };
        // Only the first load is checked.
        let Load::Started(url) = &page.load else {
            return;
        };
        if load_error::is_possible(page.webview.page_title().as_deref()) {
            let url = url.clone();
            page.load = Load::Checking(url, load_error::ask(&page.webview));
            return;
        }
        page.load = Load::Done;
        let webview = page.webview.clone();
        self.take_screenshot(&webview);
    }

    /// Handles the answers of pages that may be error pages.
    fn finish_checks(&mut self) {
        let mut loaded = Vec::new();
        let mut failed = Vec::new();
        for page in &mut self.pages {
            let Load::Checking(url, answer) = &page.load else {
                continue;
            };
            let Some(answer) = answer.take() else {
                continue;
            };
            match answer {
                Some(reason) => failed.push((page.webview.id(), url.clone(), reason)),
                None => loaded.push(page.webview.clone()),
            }
            page.load = Load::Done;
        }
        for webview in loaded {
            self.take_screenshot(&webview);
        }
        for (webview, url, reason) in failed {
            self.fail(&format!("cannot load {url}: {}", console::quoted(&reason)));
            self.page_lost(webview, "its page could not be loaded");
            if !S::INTERACTIVE && self.webdriver.is_none() {
                self.close(webview);
            }
        }
    }

    fn page_crashed(&mut self, webview: WebViewId, reason: &str, backtrace: Option<String>) {
        // One crash may be reported more than once.
        let Some(page) = self.page_mut(webview) else {
            return;
        };
        let url = page
            .webview
            .url()
            .map_or_else(|| "a page".to_owned(), String::from);
        let reason = shortened(reason, MAX_CRASH_REASON);
        self.fail(&format!("{} crashed: {reason}", console::quoted(&url)));
        if let Some(backtrace) = backtrace.filter(|_| crash::backtraces_wanted()) {
            eprint!("{}", console::paragraph(&backtrace));
        }
        if self.hard_fail {
            self.finish_profile();
            crash::exit_at_once();
        }
        self.with_webdriver(|webdriver| webdriver.page_lost(webview));
        self.page_lost(webview, "its page crashed");
        if !S::INTERACTIVE {
            self.close(webview);
        }
    }

    /// A page crashed or could not be loaded. A person sees what Servo shows instead, and may reload the
    /// page.
    fn page_lost(&mut self, webview: WebViewId, why: &str) {
        self.with_screenshot(|screenshot| screenshot.page_lost(webview, why));
        // Only the first page is recorded.
        if self
            .pages
            .first()
            .is_some_and(|page| page.webview.id() == webview)
        {
            self.finish_profile();
        }
        if let Some(page) = self.page_mut(webview) {
            page.load = Load::Done;
        }
    }

    fn take_screenshot(&mut self, webview: &WebView) {
        self.with_screenshot(|screenshot| {
            screenshot.take(webview);
            Ok(())
        });
    }

    fn with_screenshot(&mut self, act: impl FnOnce(&mut Screenshot) -> Result<(), String>) {
        if let Some(Err(message)) = self.screenshot.as_mut().map(act) {
            self.fail(&message);
        }
    }

    /// Lets the recording do what is due. True if this run is for a recording and the recording is over.
    fn profile_is_over(&mut self, now: Instant) -> bool {
        let Some(profile) = &mut self.profile else {
            return self.is_for_profile;
        };
        let page = self.pages.first();
        let is_loaded = page.is_some_and(|page| matches!(page.load, Load::Done));
        match profile.step(page.map(|page| &page.webview), is_loaded, now) {
            profile::Next::GoOn => false,
            profile::Next::End => true,
            profile::Next::Fail(message) => {
                self.fail(&message);
                true
            },
        }
    }

    /// Ends the recording and writes it. The run has failed if the page has not come yet, because the recording has
    /// nothing of it, and if the page was answered with an HTTP error, because it is not the one that was asked for.
    fn finish_profile(&mut self) {
        let Some(profile) = self.profile.take() else {
            return;
        };
        let page = self.pages.first();
        let missing = page.and_then(|page| match &page.load {
            // Servo names the URL with the first document.
            Load::Started(url) if page.webview.url().is_none() => Some(url.clone()),
            Load::Checking(url, _) => Some(url.clone()),
            Load::Started(_) | Load::Done => None,
        });
        let spin = || {
            if !self.is_engine_lost {
                self.servo.spin_event_loop();
            }
        };
        let haste = Haste::new(self.termination.clone(), self.closed);
        match profile.finish(&haste, spin) {
            Ok(new_files) => self.new_profiles = new_files,
            Err(message) => self.fail(&message),
        }
        if let Some(url) = missing {
            self.fail(&format!(
                "cannot load {url}: the recording ended before the page came"
            ));
        } else if let Some(message) = self.told_http_error() {
            self.fail(&message);
        }
    }

    /// What the person is told if the page that was recorded was answered with an HTTP error.
    fn told_http_error(&self) -> Option<String> {
        let (page, url) = self.first_page.as_ref()?;
        let status = self.recorder.http_error(*page)?;
        Some(format!("{url} was answered with the HTTP status {status}"))
    }

    fn fail(&mut self, message: &str) {
        report(message);
        self.status = FAILURE;
    }

    fn is_over(&self, now: Instant) -> bool {
        if self.pages.is_empty() && self.webdriver.is_none() {
            return true;
        }
        match self.exit_after {
            Some(ExitAfter::Load) => {
                self.pages
                    .iter()
                    .all(|page| matches!(page.load, Load::Done))
                    && self.screenshot.as_ref().is_none_or(Screenshot::is_done)
            },
            Some(ExitAfter::Elapsed(_)) => self.deadline().is_some_and(|deadline| now >= deadline),
            None => false,
        }
    }

    /// When the run ends, if it ends at a given time.
    fn deadline(&self) -> Option<Instant> {
        match self.exit_after {
            // A time that the clock cannot represent never comes.
            Some(ExitAfter::Elapsed(duration)) => self.start.checked_add(duration),
            Some(ExitAfter::Load) | None => None,
        }
    }

    /// Draws the pages that are due, and returns when the next one is.
    fn draw_due_frames(&self, now: Instant) -> Option<Instant> {
        let mut next = None;
        for page in &self.pages {
            let clock = page.surface.frame_clock();
            match clock.next_frame(now) {
                Some(due) if due <= now => {
                    clock.frame_drawn(now);
                    page.surface.draw(&page.webview);
                },
                Some(due) => next = Some(next.map_or(due, |next: Instant| next.min(due))),
                None => {},
            }
        }
        next
    }
}

/// Ends the process if Servo does not shut down in time, for example because one of its threads waits
/// for something that never comes. Otherwise the process would stay although its work is done.
struct ShutdownWatchdog {
    _stop: Sender<()>,
}

impl ShutdownWatchdog {
    /// Shutting down takes some tens of milliseconds.
    const LIMIT: Duration = Duration::from_secs(10);

    /// Watches until it is dropped. If no thread can be started, nothing watches.
    fn start() -> Self {
        let (stop, stopped) = bounded(0);
        let _ = thread::Builder::new()
            .name("ShutdownWatchdog".to_owned())
            .spawn(move || {
                if stopped.recv_timeout(Self::LIMIT) == Err(RecvTimeoutError::Timeout) {
                    report(&format!(
                        "the engine did not shut down within {} s",
                        Self::LIMIT.as_secs()
                    ));
                    crash::exit_at_once();
                }
            });
        Self { _stop: stop }
    }
}
