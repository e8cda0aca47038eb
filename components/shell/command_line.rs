/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The command line: what to open, and when to end.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, Command, value_parser};
use dpi::PhysicalSize;
use servo::DeviceIntSize;
use url::Url;

use crate::{preferences, url_argument};

/// What a person asked for.
#[derive(Debug, PartialEq)]
pub struct CommandLine {
    /// Without a window, even where there is a display.
    pub headless: bool,
    /// The size of each page: device pixels without a window, logical pixels in one.
    pub window_size: PhysicalSize<u32>,
    /// Where the picture of the first page goes.
    pub screenshot: Option<PathBuf>,
    /// When to end although pages are open.
    pub exit_after: Option<ExitAfter>,
    /// Names and values of preferences, in order.
    pub preferences: Vec<(String, String)>,
    /// The user agent instead of Servo's.
    pub user_agent: Option<String>,
    /// The pages to open; at least one.
    pub urls: Vec<Url>,
}

/// When to end although pages are open.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ExitAfter {
    /// Once every page of the command line has loaded, and the screenshot is written.
    Load,
    /// This long after the pages were opened.
    Elapsed(Duration),
}

/// What the command line comes to.
#[derive(Debug, PartialEq)]
pub enum Parsed {
    /// Open pages.
    Run(CommandLine),
    /// Print this, which was asked for, and end.
    Information(String),
}

/// Servo's textures, and so a page, can be no larger than this on common machines.
const MAX_SIDE: u32 = 8192;

const DEFAULT_WINDOW_SIZE: &str = "1024x740";

/// Lines as `--help` shows them.
const AFTER_HELP: &str = "\
Console messages of the pages go to standard output, one line each; errors and warnings are
marked. Dialogs are printed too, and dismissed.

Preferences are Servo's, by the names of its `Preferences`, and js_profiling_allow=true, which
lets every top-level page profile itself whatever its headers say.

The browser ends when its last page is closed, after --exit-after, and on SIGINT and SIGTERM.
Exit status: 0 if all went well; 1 if a page crashed or could not be loaded, or its screenshot
could not be taken; 2 if the command line is wrong.";

impl CommandLine {
    /// Reads `arguments`, of which the first is the name of the program. Paths are relative to
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
                    ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                        Ok(Parsed::Information(error.render().to_string()))
                    },
                    _ => Err(one_line(&error)),
                };
            },
        };

        let urls = matches
            .remove_many::<OsString>("URL")
            .expect("clap requires one")
            .map(|argument| url_argument::resolve(&argument, working_directory))
            .collect::<Result<_, _>>()?;
        let screenshot = matches
            .remove_one::<PathBuf>("screenshot")
            .map(|file| screenshot_file(&file, working_directory))
            .transpose()?;
        Ok(Parsed::Run(Self {
            headless: matches.get_flag("headless"),
            window_size: matches
                .remove_one("window-size")
                .expect("clap has a default"),
            screenshot,
            exit_after: matches.remove_one("exit-after"),
            preferences: matches
                .remove_many("pref")
                .map(Iterator::collect)
                .unwrap_or_default(),
            user_agent: matches.remove_one("user-agent"),
            urls,
        }))
    }
}

fn command() -> Command {
    Command::new("strobe")
        .about("A browser whose pages can profile their own JavaScript")
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .after_help(AFTER_HELP)
        .arg(
            Arg::new("headless")
                .long("headless")
                .action(ArgAction::SetTrue)
                .help("Open no window; so it is anyway where there is no display"),
        )
        .arg(
            Arg::new("window-size")
                .long("window-size")
                .value_name("WxH")
                .value_parser(window_size)
                .default_value(DEFAULT_WINDOW_SIZE)
                .help("The size of a page in pixels"),
        )
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
                .help("End when all pages have loaded, or after so many seconds"),
        )
        .arg(
            Arg::new("pref")
                .long("pref")
                .value_name("NAME=VALUE")
                .action(ArgAction::Append)
                .value_parser(preference)
                .help("Set a preference; may be repeated"),
        )
        .arg(
            Arg::new("user-agent")
                .long("user-agent")
                .value_name("UA")
                .value_parser(preferences::user_agent)
                .help("Call the browser this in requests"),
        )
        .arg(
            Arg::new("URL")
                .required(true)
                .num_args(1..)
                .value_parser(value_parser!(OsString))
                .help("Pages to open: http, https, file and data URLs, or paths of files"),
        )
}

/// Clap's message on one line, without the usage, which `--help` prints.
fn one_line(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::MissingRequiredArgument {
        return "no URL given; try 'strobe --help'".to_owned();
    }
    let text = error.render().to_string();
    let mut message = String::new();
    for line in text.lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        // That any argument may be passed as a URL by force is no help to anybody.
        if line.is_empty() || line.starts_with("tip: to pass") {
            continue;
        }
        if !message.is_empty() {
            message.push_str("; ");
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

/// The size nearest to what a page asks for that a page can have.
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

/// Says so before the page is loaded if there is no place for its picture.
fn screenshot_file(file: &Path, working_directory: &Path) -> Result<PathBuf, String> {
    let file = working_directory.join(file);
    let complaint = if file.is_dir() {
        "is a directory"
    } else if !file.parent().is_some_and(Path::is_dir) {
        "is in a directory that is not there"
    } else {
        return Ok(file);
    };
    Err(format!("--screenshot: {} {complaint}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Parsed, String> {
        let arguments = ["strobe"].iter().chain(arguments).map(OsString::from);
        CommandLine::parse(arguments, Path::new("/"))
    }

    fn run(arguments: &[&str]) -> CommandLine {
        match parse(arguments) {
            Ok(Parsed::Run(command_line)) => command_line,
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
                urls: vec![Url::parse("about:blank").unwrap()],
            }
        );
    }

    #[test]
    fn all_options_are_read_before_and_behind_urls() {
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
                urls: vec![
                    Url::parse("http://a.test/").unwrap(),
                    Url::parse("http://b.test/").unwrap(),
                ],
            }
        );
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
    fn help_and_version_are_no_errors() {
        let Ok(Parsed::Information(help)) = parse(&["--help"]) else {
            panic!("no help");
        };
        for option in [
            "--headless",
            "--window-size",
            "--screenshot",
            "--exit-after",
            "--pref",
            "--user-agent",
            "URL",
        ] {
            assert!(help.contains(option), "{option} is not in {help}");
        }
        assert_eq!(
            parse(&["--version"]),
            Ok(Parsed::Information(format!(
                "strobe {}\n",
                env!("CARGO_PKG_VERSION")
            )))
        );
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
            (
                &["--screenshot", "/", "about:blank"],
                "--screenshot",
                "directory",
            ),
            (
                &["--screenshot", "/no/such/a.png", "about:blank"],
                "/no/such/a.png",
                "not there",
            ),
            (&["/no/such/page.html"], "/no/such/page.html", "neither"),
        ] {
            let message = parse(arguments).expect_err("a wrong command line");
            assert!(message.contains(named), "{arguments:?}: {message}");
            assert!(message.contains(complaint), "{arguments:?}: {message}");
            assert!(!message.contains("Usage"), "{arguments:?}: {message}");
        }
    }

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
    }
}
