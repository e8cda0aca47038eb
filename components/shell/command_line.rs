/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The command line.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use dpi::PhysicalSize;
use profile_commands::arguments::{
    input_argument, input_format_argument, inputs, saved_source_maps_argument, unit_argument,
};
use profile_commands::{MergedSessions, SavedRecording, Task, merged_arguments, saved_file};
use servo::{DeviceIntSize, Theme};
use url::Url;

use crate::arguments::ExitAfter;
use crate::profile::ProfileOptions;
use crate::{preferences, url_argument};

/// The options of a run of the browser.
#[derive(Debug, PartialEq)]
pub struct CommandLine {
    /// Whether to run without a window, even if there is a display.
    pub headless: bool,
    /// The size of each page: device pixels without a window, logical pixels in one.
    pub window_size: PhysicalSize<u32>,
    /// The file for a picture of the first page.
    pub screenshot: Option<PathBuf>,
    /// When to end even if pages are still open.
    pub exit_after: Option<ExitAfter>,
    /// Names and values of preferences, in order.
    pub preferences: Vec<(String, String)>,
    /// The user agent to use instead of Servo's.
    pub user_agent: Option<String>,
    /// The local port on which to listen for WebDriver commands.
    pub webdriver: Option<u16>,
    /// Whether the process ends at the first page that crashes.
    pub hard_fail: bool,
    /// Whether Servo watches for tasks that hang.
    pub background_hang_monitor: bool,
    /// A PEM file with certificates that are trusted instead of the usual ones.
    pub certificate_path: Option<String>,
    /// Whether every certificate is trusted.
    pub ignore_certificate_errors: bool,
    /// The theme of the window and its pages. None for the desktop's.
    pub theme: Option<Theme>,
    /// Style sheets that are applied to every page in addition to its own.
    pub user_stylesheets: Vec<StyleSheet>,
    /// Whether pages of different sites are in different processes.
    pub multiprocess: bool,
    /// Whether those processes run in a sandbox.
    pub sandbox: bool,
    /// What to record. There is only one page then.
    pub profile: Option<ProfileOptions>,
    /// Saved profiles to show, each on a page of its own. There are no other pages then.
    pub views: Vec<SavedRecording>,
    /// Saved profiles to show as one, instead of those.
    pub merged_view: Option<MergedSessions>,
    /// The pages to open. Empty only with WebDriver or for saved profiles.
    pub urls: Vec<Url>,
}

/// A style sheet of the user.
#[derive(Debug, PartialEq)]
pub struct StyleSheet {
    /// The URL of its file.
    pub url: Url,
    pub source: String,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub enum Parsed {
    /// Open pages.
    Run(Box<CommandLine>),
    /// Read saved profiles, without a browser.
    Saved(Task),
    /// Print this help, and end.
    Information(String),
    /// Print the versions of the browser and its engines, and end.
    Version,
}

/// The largest side of a texture on common machines. A page is drawn into a texture of Servo.
const MAX_SIDE: u32 = 8192;

const DEFAULT_WINDOW_SIZE: &str = "1024x740";

/// The lines are printed as they are.
const AFTER_HELP: &str = "\
The console messages of the pages go to standard output, one line each; errors and warnings are
marked. Dialogs are printed too; without a window they are dismissed. Control characters and
invisible characters are printed as escapes, such as \\u{1b}.

A preference is one of Servo's, named as in its `Preferences`, or one of the profiler's. For example,
js_profiling_allow=true lets every page and worker profile itself, whatever its headers say.

If HOST_FILE is set in the environment, addresses are looked up first in the file that it names. The
file has the format of /etc/hosts.

about:profiling records what the pages do and shows it; no page can open it. `strobe profile` records
one page, and `strobe view` shows saved profiles.

The browser ends when its last page is closed (except with --webdriver), when --exit-after says so,
and on SIGINT and SIGTERM.
Exit status: 0 if all went well; 1 if a page crashed or could not be loaded, or its screenshot
could not be taken; 2 if the command line is wrong.";

const AFTER_VIEW_HELP: &str = "\
The files may have any format that `strobe convert` reads. Each one is shown in a tab of about:profiling.
If a source map of --source-maps is missing or wrong, a warning says so, and the profile is complete without it.

--where, --by LABEL and --label show many profiles as one: the files are what `strobe merge` takes, such as a folder. With --by LABEL
the profiles of each value are a process, at most 20.

Options of `strobe` itself have the same meaning here.

Without a display, print a profile with `strobe report FILE`, or turn it into a page for any browser with
`strobe convert FILE a.html`.
Exit status: 0 if all went well; 1 if a file could not be read or if there is no display; 2 if the
command line is wrong.";

impl CommandLine {
    /// Reads `arguments`. The first one is the name of the program. Paths are relative to
    /// `working_directory`.
    ///
    /// The error is one line that names the argument and what is wrong with it.
    pub fn parse(
        arguments: impl IntoIterator<Item = OsString>,
        working_directory: &Path,
    ) -> Result<Parsed, String> {
        let mut matches = match command().try_get_matches_from(arguments) {
            Ok(matches) => matches,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::DisplayHelp => Ok(Parsed::Information(error.render().to_string())),
                    ErrorKind::DisplayVersion => Ok(Parsed::Version),
                    _ => Err(one_line(&error)),
                };
            },
        };
        let mut profile = None;
        let mut views = Vec::new();
        let mut merged_view = None;
        let mut pages = Vec::new();
        let (mut screenshot, mut webdriver, mut exit_after) = (None, None, None);
        match matches.remove_subcommand() {
            Some((name, of_subcommand)) => {
                matches = of_subcommand;
                if let Some(task) = Task::of(&name, &mut matches, working_directory) {
                    return task.map(Parsed::Saved);
                }
                if name == "view" {
                    let merged =
                        MergedSessions::of(&mut matches.clone(), "FILE", working_directory);
                    merged_view = merged.transpose()?;
                    if merged_view.is_none() {
                        views = inputs(&mut matches, None, working_directory);
                    }
                    webdriver = matches.remove_one("webdriver");
                } else {
                    let (options, end) = ProfileOptions::of(&mut matches, working_directory)?;
                    profile = Some(options);
                    exit_after = end;
                    pages = page_arguments(&mut matches);
                }
            },
            None => {
                screenshot = matches.remove_one::<PathBuf>("screenshot");
                webdriver = matches.remove_one("webdriver");
                exit_after = matches.remove_one("exit-after");
                pages = page_arguments(&mut matches);
            },
        }

        let urls = pages
            .iter()
            .map(|argument| url_argument::resolve(argument, working_directory))
            .collect::<Result<_, _>>()?;
        let screenshot = screenshot
            .map(|file| screenshot_file(&file, working_directory))
            .transpose()?;
        let certificate_path = matches
            .remove_one::<PathBuf>("certificate-path")
            .map(|file| certificate_file(&file, working_directory))
            .transpose()?;
        let user_stylesheets = matches
            .remove_many::<PathBuf>("user-stylesheet")
            .into_iter()
            .flatten()
            .map(|file| stylesheet(&file, working_directory))
            .collect::<Result<_, _>>()?;
        if webdriver.is_some() && exit_after == Some(ExitAfter::Load) {
            return Err(
                "--webdriver cannot be used with --exit-after load: a session loads its own pages"
                    .to_owned(),
            );
        }
        Ok(Parsed::Run(Box::new(Self {
            headless: matches.get_flag("headless"),
            window_size: matches
                .remove_one("window-size")
                .expect("clap has a default"),
            screenshot,
            exit_after,
            preferences: matches
                .remove_many("pref")
                .map(Iterator::collect)
                .unwrap_or_default(),
            user_agent: matches.remove_one("user-agent"),
            webdriver,
            hard_fail: matches.get_flag("hard-fail"),
            background_hang_monitor: matches.get_flag("background-hang-monitor"),
            certificate_path,
            ignore_certificate_errors: matches.get_flag("ignore-certificate-errors"),
            theme: matches.remove_one("theme"),
            user_stylesheets,
            multiprocess: matches.get_flag("multiprocess"),
            sandbox: matches.get_flag("sandbox"),
            profile,
            views,
            merged_view,
            urls,
        })))
    }
}

fn view_command() -> Command {
    Command::new("view")
        .about("Show saved profiles in the browser")
        .after_help(AFTER_VIEW_HELP)
        .arg(
            input_argument("FILE")
                .num_args(1..)
                .help("Files to show, which may be compressed with gzip, or - for standard input"),
        )
        .arg(input_format_argument())
        .arg(unit_argument())
        .arg(saved_source_maps_argument())
        .args(merged_arguments())
        .arg(webdriver_argument())
        .args(shared_arguments())
}

fn page_arguments(matches: &mut ArgMatches) -> Vec<OsString> {
    matches
        .remove_many("URL")
        .map(Iterator::collect)
        .unwrap_or_default()
}

/// What `strobe` understands. Its man pages and its shell completions are made from it, too.
pub fn command() -> Command {
    Command::new("strobe")
        .about("A browser whose pages can profile their own JavaScript")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .args_conflicts_with_subcommands(true)
        .subcommand_negates_reqs(true)
        .subcommands(Task::commands())
        .subcommand(view_command())
        .subcommand(ProfileOptions::command(
            shared_arguments().into_iter().chain([page_argument()]),
        ))
        .after_help(AFTER_HELP)
        .args(shared_arguments())
        .arg(
            Arg::new("screenshot")
                .long("screenshot")
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("Write a picture of the first page to this PNG file once it has loaded"),
        )
        .arg(
            Arg::new("exit-after")
                .long("exit-after")
                .value_name("load|SECONDS")
                .value_parser(exit_after)
                .help("End when all pages have loaded, or after this many seconds"),
        )
        .arg(webdriver_argument().conflicts_with("screenshot"))
        .arg(
            page_argument()
                .required(false)
                .required_unless_present("webdriver")
                .num_args(1..)
                .help("Pages to open: http, https, file and data URLs, or paths of files"),
        )
}

fn webdriver_argument() -> Arg {
    Arg::new("webdriver")
        .long("webdriver")
        .value_name("PORT")
        .value_parser(value_parser!(u16).range(1..))
        .help("Listen for WebDriver commands on this port, from this machine only")
}

fn page_argument() -> Arg {
    Arg::new("URL")
        .required(true)
        .value_parser(value_parser!(OsString))
        .help("The page: an http, https, file or data URL, or the path of a file")
}

/// The options that `strobe`, `strobe profile` and `strobe view` have in common.
fn shared_arguments() -> [Arg; 12] {
    [
        Arg::new("headless")
            .long("headless")
            .action(ArgAction::SetTrue)
            .help("Run without a window (the default where there is no display)"),
        Arg::new("window-size")
            .long("window-size")
            .value_name("WxH")
            .value_parser(window_size)
            .default_value(DEFAULT_WINDOW_SIZE)
            .help("The size of a page in pixels"),
        Arg::new("theme")
            .long("theme")
            .value_name("light|dark")
            .value_parser(PossibleValuesParser::new(["light", "dark"]).map(|name| {
                match name.as_str() {
                    "dark" => Theme::Dark,
                    _ => Theme::Light,
                }
            }))
            .help("The theme of the window and its pages (default: the desktop's)"),
        Arg::new("pref")
            .long("pref")
            .value_name("NAME=VALUE")
            .action(ArgAction::Append)
            .value_parser(preference)
            .help("Set a preference; may be repeated"),
        Arg::new("user-agent")
            .short('u')
            .long("user-agent")
            .value_name("UA")
            .value_parser(preferences::user_agent)
            .help("Send this as the User-Agent header of requests"),
        Arg::new("multiprocess")
            .long("multiprocess")
            .action(ArgAction::SetTrue)
            .help("Run pages of different sites in separate processes"),
        Arg::new("sandbox")
            .long("sandbox")
            .action(ArgAction::SetTrue)
            .requires("multiprocess")
            .help("Run these processes in a sandbox"),
        Arg::new("hard-fail")
            .long("hard-fail")
            .action(ArgAction::SetTrue)
            .help("End at once when a page crashes"),
        Arg::new("background-hang-monitor")
            .long("background-hang-monitor")
            .action(ArgAction::SetTrue)
            .help("Log page tasks that hang (shown with RUST_LOG=servo_constellation=warn)"),
        Arg::new("certificate-path")
            .long("certificate-path")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("Trust the certificates in this PEM file, and no others"),
        Arg::new("ignore-certificate-errors")
            .long("ignore-certificate-errors")
            .action(ArgAction::SetTrue)
            .help("Trust every certificate"),
        Arg::new("user-stylesheet")
            .long("user-stylesheet")
            .value_name("FILE")
            .action(ArgAction::Append)
            .value_parser(value_parser!(PathBuf))
            .help("Apply this style sheet to every page; may be repeated"),
    ]
}

/// Clap's message on one line, without the usage, which `--help` prints.
fn one_line(error: &clap::Error) -> String {
    let is_url_missing = error.kind() == ErrorKind::MissingRequiredArgument
        && matches!(
            error.get(ContextKind::InvalidArg),
            Some(ContextValue::Strings(arguments))
                if arguments.iter().any(|argument| argument.starts_with("<URL>"))
        );
    if is_url_missing {
        return "no URL given; try 'strobe --help'".to_owned();
    }
    let text = error.render().to_string();
    let mut message = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        // Clap suggests `--` to pass an option as a URL, which does not help here.
        if line.is_empty() || line.starts_with("tip: to pass") {
            continue;
        }
        if !message.is_empty() {
            message.push_str(if message.ends_with(':') { " " } else { "; " });
        }
        message.push_str(line.strip_prefix("error: ").unwrap_or(line));
    }
    message
}

fn window_size(value: &str) -> Result<PhysicalSize<u32>, String> {
    let side = |text: &str| {
        text.parse()
            .ok()
            .filter(|side| (1..=MAX_SIDE).contains(side))
    };
    value
        .split_once('x')
        .and_then(|(width, height)| Some(PhysicalSize::new(side(width)?, side(height)?)))
        .ok_or_else(|| {
            format!(
                "it must be a width and a height from 1 to {MAX_SIDE}, as in {DEFAULT_WINDOW_SIZE}"
            )
        })
}

/// The allowed size that is nearest to the size a page asks for.
pub fn within_bounds(size: DeviceIntSize) -> PhysicalSize<u32> {
    let side = |side: i32| side.cast_unsigned().clamp(1, MAX_SIDE);
    PhysicalSize::new(side(size.width.max(1)), side(size.height.max(1)))
}

fn exit_after(value: &str) -> Result<ExitAfter, String> {
    if value == "load" {
        return Ok(ExitAfter::Load);
    }
    value
        .parse()
        .ok()
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .map(ExitAfter::Elapsed)
        .ok_or_else(|| "it must be 'load' or a number of seconds".to_owned())
}

fn preference(value: &str) -> Result<(String, String), String> {
    match value.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("it must be a name, '=' and a value".to_owned()),
    }
}

/// Fails, before the page is loaded, if the picture cannot be written there.
fn screenshot_file(file: &Path, working_directory: &Path) -> Result<PathBuf, String> {
    let file = working_directory.join(file);
    saved_file::check_place(&file).map_err(|complaint| format!("--screenshot: {complaint}"))?;
    Ok(file)
}

/// Fails if the file has no certificates. Servo would ignore such a file and trust the usual certificates.
fn certificate_file(file: &Path, working_directory: &Path) -> Result<String, String> {
    let name = file.display();
    let complain = |complaint: &str| format!("--certificate-path: {name} {complaint}");
    let file = working_directory.join(file);
    let content =
        fs::read(&file).map_err(|error| format!("--certificate-path: {name}: {error}"))?;
    let mark = b"-----BEGIN CERTIFICATE-----";
    if !content.windows(mark.len()).any(|text| text == mark) {
        return Err(complain("contains no certificate in PEM format"));
    }
    file.into_os_string()
        .into_string()
        .map_err(|_| complain("has a path that is not Unicode"))
}

fn stylesheet(file: &Path, working_directory: &Path) -> Result<StyleSheet, String> {
    let path = working_directory.join(file);
    let source = fs::read_to_string(&path)
        .map_err(|error| format!("--user-stylesheet: {}: {error}", file.display()))?;
    let url = Url::from_file_path(&path).map_err(|()| {
        format!(
            "--user-stylesheet: {} is not an absolute path",
            path.display()
        )
    })?;
    Ok(StyleSheet { url, source })
}

#[cfg(test)]
mod tests {
    use profile_commands::SourceMaps;
    use profile_formats::Format;
    use profile_recorder::{EventLoops, Options, Wanted};
    use tempfile::NamedTempFile;

    use super::*;
    use crate::profile::Output;

    fn parse(arguments: &[&str]) -> Result<Parsed, String> {
        let arguments = ["strobe"].iter().chain(arguments).map(OsString::from);
        CommandLine::parse(arguments, Path::new("/"))
    }

    fn run(arguments: &[&str]) -> CommandLine {
        match parse(arguments) {
            Ok(Parsed::Run(command_line)) => *command_line,
            other => panic!("{arguments:?}: {other:?}"),
        }
    }

    #[test]
    fn a_url_is_enough() {
        assert_eq!(
            run(&["about:blank"]),
            CommandLine {
                headless: false,
                window_size: PhysicalSize::new(1024, 740),
                screenshot: None,
                exit_after: None,
                preferences: vec![],
                user_agent: None,
                webdriver: None,
                hard_fail: false,
                background_hang_monitor: false,
                certificate_path: None,
                ignore_certificate_errors: false,
                theme: None,
                user_stylesheets: vec![],
                multiprocess: false,
                sandbox: false,
                profile: None,
                views: vec![],
                merged_view: None,
                urls: vec![Url::parse("about:blank").unwrap()],
            }
        );
    }

    #[test]
    fn all_options_are_read_before_and_after_urls() {
        assert_eq!(
            run(&[
                "--headless",
                "http://a.test/",
                "--window-size=320x200",
                "--screenshot",
                "picture.png",
                "--exit-after",
                "load",
                "http://b.test/",
                "--pref",
                "js_ion_enabled=false",
                "--pref=fonts_default=a=b",
                "--user-agent",
                "Test/1.0 (x)",
                "--hard-fail",
                "--ignore-certificate-errors",
                "--theme=dark",
            ]),
            CommandLine {
                headless: true,
                window_size: PhysicalSize::new(320, 200),
                screenshot: Some(PathBuf::from("/picture.png")),
                exit_after: Some(ExitAfter::Load),
                preferences: vec![
                    ("js_ion_enabled".to_owned(), "false".to_owned()),
                    ("fonts_default".to_owned(), "a=b".to_owned()),
                ],
                user_agent: Some("Test/1.0 (x)".to_owned()),
                webdriver: None,
                hard_fail: true,
                background_hang_monitor: false,
                certificate_path: None,
                ignore_certificate_errors: true,
                theme: Some(Theme::Dark),
                user_stylesheets: vec![],
                multiprocess: false,
                sandbox: false,
                profile: None,
                views: vec![],
                merged_view: None,
                urls: vec![
                    Url::parse("http://a.test/").unwrap(),
                    Url::parse("http://b.test/").unwrap(),
                ],
            }
        );
    }

    /// A temporary file, deleted when dropped.
    struct File(NamedTempFile);

    impl File {
        fn new(content: &str) -> Self {
            let file = NamedTempFile::new().unwrap();
            fs::write(&file, content).unwrap();
            Self(file)
        }

        fn path(&self) -> &str {
            self.0.path().to_str().unwrap()
        }
    }

    #[test]
    fn the_options_of_a_conformance_run_are_understood() {
        let certificates = File::new("-----BEGIN CERTIFICATE-----\n");
        let stylesheets = ["p {}", "b {}"].map(File::new);
        // In the order of wptrunner.
        let command_line = run(&[
            "--webdriver=4444",
            "--hard-fail",
            "-u",
            "Servo/wptrunner",
            "--ignore-certificate-errors",
            "--window-size",
            "800x600",
            "about:blank",
            "--certificate-path",
            certificates.path(),
            "--pref",
            "js_ion_enabled=true",
            "--user-stylesheet",
            stylesheets[0].path(),
            "--user-stylesheet",
            stylesheets[1].path(),
            "--headless",
        ]);
        assert_eq!(
            command_line,
            CommandLine {
                headless: true,
                window_size: PhysicalSize::new(800, 600),
                screenshot: None,
                exit_after: None,
                preferences: vec![("js_ion_enabled".to_owned(), "true".to_owned())],
                user_agent: Some("Servo/wptrunner".to_owned()),
                webdriver: Some(4444),
                hard_fail: true,
                background_hang_monitor: false,
                certificate_path: Some(certificates.path().to_owned()),
                ignore_certificate_errors: true,
                theme: None,
                user_stylesheets: [(&stylesheets[0], "p {}"), (&stylesheets[1], "b {}")]
                    .map(|(file, source)| StyleSheet {
                        url: Url::from_file_path(file.path()).unwrap(),
                        source: source.to_owned(),
                    })
                    .into(),
                multiprocess: false,
                sandbox: false,
                profile: None,
                views: vec![],
                merged_view: None,
                urls: vec![Url::parse("about:blank").unwrap()],
            }
        );
    }

    #[test]
    fn webdriver_needs_no_page() {
        let command_line = run(&["--webdriver", "4444"]);
        assert_eq!(command_line.webdriver, Some(4444));
        assert!(command_line.urls.is_empty());
    }

    #[test]
    fn a_file_without_certificates_is_refused() {
        let file = File::new("nothing");
        let message = parse(&["--certificate-path", file.path(), "about:blank"]).unwrap_err();
        assert!(message.contains(file.path()), "{message}");
        assert!(message.contains("no certificate"), "{message}");
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        for (value, milliseconds) in [("2", 2000), ("0.25", 250), ("0", 0)] {
            assert_eq!(
                run(&["--exit-after", value, "about:blank"]).exit_after,
                Some(ExitAfter::Elapsed(Duration::from_millis(milliseconds)))
            );
        }
    }

    #[test]
    fn help_and_version_are_not_errors() {
        let Ok(Parsed::Information(help)) = parse(&["--help"]) else {
            panic!("no help");
        };
        for option in [
            "--headless",
            "--window-size",
            "--screenshot",
            "--exit-after",
            "--pref",
            "-u, --user-agent",
            "--webdriver",
            "--hard-fail",
            "--certificate-path",
            "--ignore-certificate-errors",
            "--user-stylesheet",
            "HOST_FILE",
            "URL",
        ] {
            assert!(help.contains(option), "{option} is not in {help}");
        }
        for option in ["--version", "-V"] {
            assert_eq!(parse(&[option]), Ok(Parsed::Version));
        }
    }

    #[test]
    fn an_error_is_one_line_that_names_the_argument() {
        for (arguments, named, complaint) in [
            (&["--headles", "about:blank"][..], "--headles", "--headless"),
            (&["-x", "about:blank"], "-x", "unexpected"),
            (&["--headless"], "URL", "no URL"),
            (&["--window-size", "10", "about:blank"], "'10'", "1024x740"),
            (&["--window-size", "0x9", "about:blank"], "'0x9'", "from 1"),
            (
                &["--window-size", "9x8193", "about:blank"],
                "'9x8193'",
                "8192",
            ),
            (
                &["--exit-after", "soon", "about:blank"],
                "'soon'",
                "seconds",
            ),
            (&["--exit-after=-1", "about:blank"], "'-1'", "seconds"),
            (&["--exit-after=1e400", "about:blank"], "'1e400'", "seconds"),
            (&["--exit-after=NaN", "about:blank"], "'NaN'", "seconds"),
            (&["--pref", "x", "about:blank"], "'x'", "'='"),
            (&["--pref", "=x", "about:blank"], "'=x'", "'='"),
            (
                &["--user-agent", "", "about:blank"],
                "--user-agent",
                "empty",
            ),
            (
                &["--user-agent", "a\nb", "about:blank"],
                "--user-agent",
                "ASCII",
            ),
            (&["about:blank", "--pref"], "--pref", "value is required"),
            (&["--webdriver"], "--webdriver", "value is required"),
            (&["--webdriver=0"], "'0'", "1..=65535"),
            (&["--webdriver=65536"], "'65536'", "65535"),
            (&["--webdriver=about:blank"], "'about:blank'", "--webdriver"),
            (
                &["--webdriver=1", "--screenshot", "a.png", "about:blank"],
                "--webdriver",
                "--screenshot",
            ),
            (
                &["--webdriver=1", "--exit-after=load"],
                "--webdriver",
                "--exit-after",
            ),
            (
                &["--certificate-path", "/no/such.pem", "about:blank"],
                "/no/such.pem",
                "No such file",
            ),
            (
                &["--user-stylesheet", "/no/such.css", "about:blank"],
                "/no/such.css",
                "No such file",
            ),
            (
                &["--screenshot", "/", "about:blank"],
                "--screenshot",
                "directory",
            ),
            (
                &["--screenshot", "/a.png/", "about:blank"],
                "--screenshot",
                "is a directory",
            ),
            (
                &["--screenshot", "/no/such/a.png", "about:blank"],
                "/no/such/a.png",
                "does not exist",
            ),
            (&["/no/such/page.html"], "/no/such/page.html", "neither"),
        ] {
            let message = parse(arguments).expect_err("a wrong command line");
            assert!(message.contains(named), "{arguments:?}: {message}");
            assert!(message.contains(complaint), "{arguments:?}: {message}");
            assert!(!message.contains("Usage"), "{arguments:?}: {message}");
        }
    }

    fn profile(arguments: &[&str]) -> Result<Parsed, String> {
        let arguments: Vec<_> = ["profile"].iter().chain(arguments).copied().collect();
        parse(&arguments)
    }

    #[test]
    fn a_page_is_profiled() {
        let with = |arguments: &[&str]| match profile(arguments) {
            Ok(Parsed::Run(command_line)) => {
                let profile = command_line.profile.clone().expect("it is a profile");
                (command_line, profile)
            },
            other => panic!("{arguments:?}: {other:?}"),
        };
        let (command_line, options) = with(&["http://a.test/"]);
        assert_eq!(
            command_line.exit_after,
            Some(ExitAfter::Elapsed(Duration::from_secs(10)))
        );
        assert_eq!(command_line.urls, [Url::parse("http://a.test/").unwrap()]);
        assert_eq!(
            options,
            ProfileOptions {
                recording: Options {
                    interval: Duration::from_millis(1),
                    event_loops: EventLoops::All,
                    kept: Wanted::default(),
                    sources: false,
                    linked_maps: true,
                },
                until_js: None,
                format: Format::Firefox,
                output: Output::NewFile(PathBuf::from("/")),
                top: 10,
                source_maps: Vec::new(),
            }
        );

        let (command_line, options) = with(&[
            "--interval=0.5",
            "--until-js",
            "-x > 3",
            "http://a.test/",
            "--event-loops",
            "main",
            "--long-tasks=50",
            "--sources",
            "--no-linked-maps",
            "--keep-last=2.5",
            "--top=3",
            "--source-maps=dist",
            "-o",
            "/a.html",
            "--headless",
            "--multiprocess",
            "--pref",
            "js_ion_enabled=false",
        ]);
        assert_eq!(command_line.exit_after, None);
        assert!(command_line.headless && command_line.multiprocess && !command_line.sandbox);
        assert_eq!(command_line.preferences.len(), 1);
        assert_eq!(
            options,
            ProfileOptions {
                recording: Options {
                    interval: Duration::from_micros(500),
                    event_loops: EventLoops::Main,
                    kept: Wanted {
                        keep_last: Some(Duration::from_millis(2500)),
                        long_tasks: Some(Duration::from_millis(50)),
                        ..Wanted::default()
                    },
                    sources: true,
                    linked_maps: false,
                },
                until_js: Some("-x > 3".to_owned()),
                format: Format::Html,
                output: Output::File(PathBuf::from("/a.html")),
                top: 3,
                source_maps: vec![PathBuf::from("/dist")],
            }
        );

        let ends = |arguments: &[&str]| {
            let arguments = [arguments, &["http://a.test/"]].concat();
            with(&arguments).0.exit_after
        };
        assert_eq!(ends(&["--until-load"]), Some(ExitAfter::Load));
        assert_eq!(ends(&["--keep-last=5"]), None, "until it is stopped");
        let quarter = Some(ExitAfter::Elapsed(Duration::from_millis(250)));
        assert_eq!(ends(&["--keep-last=5", "--duration=0.25"]), quarter);
    }

    #[test]
    fn a_wrong_profile_is_refused() {
        for (arguments, named, complaint) in [
            (&["--top=3"][..], "URL", "no URL"),
            (&["a.test", "b.test"], "'b.test'", "unexpected"),
            (&["--interval=0", "x:"], "'0'", "above 0"),
            (&["--duration=-1", "x:"], "'-1'", "seconds"),
            (&["--long-tasks=x", "x:"], "'x'", "milliseconds"),
            (&["--keep-last=NaN", "x:"], "'NaN'", "seconds"),
            (
                &["--duration=1", "--until-load", "x:"],
                "--duration",
                "--until-load",
            ),
            (&["--event-loops=some", "x:"], "'some'", "main"),
            (&["--format=perf", "x:"], "'perf'", "speedscope"),
            (&["-o", "a.json", "x:"], "/a.json", "--format"),
            (
                &["-o", "/no/such/a.html", "x:"],
                "/no/such/a.html",
                "does not exist",
            ),
            (&["--webdriver=1", "x:"], "--webdriver", "unexpected"),
            (&["--sandbox", "about:blank"], "--multiprocess", "required"),
            (&["gopher://x/"], "gopher", "scheme"),
        ] {
            let message = profile(arguments).expect_err("a wrong command line");
            assert!(message.contains(named), "{arguments:?}: {message}");
            assert!(message.contains(complaint), "{arguments:?}: {message}");
            assert!(!message.contains("Usage"), "{arguments:?}: {message}");
        }
        let Ok(Parsed::Information(help)) = profile(&["--help"]) else {
            panic!("no help");
        };
        for part in [
            "--until-js",
            "--multiprocess",
            "--keep-last",
            "10 seconds",
            "URL",
        ] {
            assert!(help.contains(part), "{part} is not in {help}");
        }
    }

    #[test]
    fn saved_profiles_are_shown_as_urls_are() {
        let saved = |file: &str, format| SavedRecording {
            file: PathBuf::from(file),
            format,
            unit: None,
            event_loop: None,
            source_maps: Vec::new(),
        };
        let command_line = run(&["view", "a.html", "/b/c.json.gz", "-"]);
        assert_eq!(
            command_line.views,
            [
                saved("/a.html", None),
                saved("/b/c.json.gz", None),
                saved("-", None)
            ]
        );
        assert!(command_line.urls.is_empty());
        assert!(!command_line.headless);
        assert_eq!(command_line.exit_after, None);
        let names = command_line.views.iter().map(SavedRecording::name);
        let names: Vec<_> = names.collect();
        assert_eq!(names, ["a.html", "c.json.gz", "standard input"]);

        let command_line = run(&[
            "view",
            "--from=trace",
            "--headless",
            "a",
            "--theme=dark",
            "--webdriver=4444",
        ]);
        assert_eq!(command_line.views, [saved("/a", Some(Format::Trace))]);
        assert!(command_line.headless);
        assert_eq!(command_line.theme, Some(Theme::Dark));
        assert_eq!(command_line.webdriver, Some(4444));
        let command_line = run(&["view", "a", "--source-maps=dist", "b"]);
        let folders = command_line.views.iter().map(|view| &*view.source_maps);
        let folders: Vec<_> = folders.collect();
        let dist = [SourceMaps::Folder(PathBuf::from("/dist"))];
        assert_eq!(folders, [&dist[..]; 2]);
        assert_eq!(command_line.merged_view, None);
        for option in ["--where=release=2", "--by=release", "--label=release=2"] {
            let command_line = run(&["view", "a", "b", option]);
            assert_eq!(command_line.views, []);
            let merged = command_line.merged_view.expect("several profiles as one");
            assert_eq!(merged.name(), "2 inputs");
        }
        for (arguments, named) in [
            (&["view", "a", "--where=x"][..], "no condition"),
            (&["view"], "<FILE>"),
            (&["view", "a", "--to=html"], "'--to'"),
            (&["view", "a", "--screenshot=b.png"], "'--screenshot'"),
            (&["view", "a", "--from=perf"], "'perf'"),
        ] {
            let message = parse(arguments).unwrap_err();
            assert!(message.contains(named), "{arguments:?}: {message}");
        }
        // A file with this name is still opened as a page.
        let message = parse(&["./view"]).unwrap_err();
        assert!(message.contains("'./view' is neither"), "{message}");
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }
}
