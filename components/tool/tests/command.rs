/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The program as a person or a script meets it.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

fn tool(folder: &TempDir) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_strobe-tool"));
    command.current_dir(folder.path());
    for variable in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(variable);
    }
    command
}

fn run(folder: &TempDir, arguments: &[&str]) -> Output {
    tool(folder).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// A folder with the profile `a.folded`.
fn folder(profile: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.folded"), profile).unwrap();
    folder
}

/// A profile whose report is longer than a pipe holds.
fn long() -> TempDir {
    let lines = (0..20_000).map(|number| format!("main;function{number} {number}\n"));
    folder(&lines.collect::<String>())
}

#[test]
fn the_status_says_how_it_went_and_one_line_what_went_wrong() {
    let folder = folder("f;g 2\nf 1\n");
    let report = run(&folder, &["report", "a.folded"]);
    assert!(report.status.success(), "{report:?}");
    assert!(text(&report.stdout).starts_with("3 samples"), "{report:?}");
    assert!(report.stderr.is_empty(), "{report:?}");

    for arguments in [
        &["report", "none.folded"][..],
        &["convert", "a.folded", "no/b.html"],
        &["view", "none.folded"],
    ] {
        let failed = run(&folder, arguments);
        assert_eq!(failed.status.code(), Some(1), "{failed:?}");
        assert!(failed.stdout.is_empty(), "{failed:?}");
        let message = text(&failed.stderr);
        assert!(message.starts_with("strobe-tool: "), "{message}");
        assert!(message.ends_with("No such file or directory (os error 2)\n"));
        assert_eq!(message.lines().count(), 1, "{message}");
    }

    for (arguments, part) in [
        (&["report"][..], "<FILE>"),
        (&["report", "a.folded", "--topp=3"], "'--top'"),
        (&["convert", "a.folded", "b.json"], "--to"),
        (&["dance"], "'dance'"),
        (&[], "Usage:"),
        (&["view", "a.folded", "--port=80"], "--serve"),
        (&["view", "a.folded", "-o", "no/a.html"], "does not exist"),
        (&["merge", "a.folded", "-o", "b.json"], "--to"),
        (&["merge", "a.folded"], "--output"),
        (&["diff", "a.folded"], "BASE and NEW"),
        (&["view", ".", "--where=x"], "no condition"),
        (
            &["view", ".", "--by=release", "--event-loop=0"],
            "--event-loop",
        ),
    ] {
        let wrong = run(&folder, arguments);
        assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
        assert!(wrong.stdout.is_empty(), "{wrong:?}");
        assert!(text(&wrong.stderr).contains(part), "{wrong:?}");
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    let folder = folder("f 1\n");
    for (arguments, part) in [
        (&["--help"][..], "Exit status"),
        (&["-h"], "report"),
        (&["report", "--help"], "--markdown"),
        (&["convert", "--help"], "cpuprofile"),
        (&["view", "--help"], "--serve"),
        (&["merge", "--help"], "--label-names"),
        (&["diff", "--help"], "--fail-above"),
        (&["--version"], env!("CARGO_PKG_VERSION")),
    ] {
        let help = run(&folder, arguments);
        assert!(help.status.success(), "{help:?}");
        assert!(text(&help.stdout).contains(part), "{help:?}");
        assert!(!text(&help.stdout).contains('\u{1b}'), "{help:?}");
    }
}

#[test]
fn colours_are_only_for_those_who_want_them() {
    let folder = folder("f 1\n");
    let with = |variables: &[(&str, &str)]| {
        let variables = variables.iter().copied();
        let output = tool(&folder).arg("--helpp").envs(variables).output();
        text(&output.unwrap().stderr).contains('\u{1b}')
    };
    assert!(!with(&[]), "no terminal");
    assert!(with(&[("CLICOLOR_FORCE", "1")]));
    assert!(!with(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = long();
    for arguments in [
        &["report", "--top=20000", "a.folded"][..],
        &["report", "--json", "--top=20000", "a.folded"],
        &["convert", "a.folded", "-", "--to=firefox"],
        &["view", "a.folded", "-o", "-"],
        &["diff", "--json", "a.folded", "a.folded"],
        &["completions", "bash"],
        &["--help"],
    ] {
        let mut command = tool(&folder);
        let command = command.args(arguments).stderr(Stdio::piped());
        // Nobody reads the pipe.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = command.stdout(writer).spawn().unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{arguments:?}: {ended:?}");
        assert!(ended.stderr.is_empty(), "{arguments:?}: {ended:?}");
    }
}

#[test]
fn a_full_disk_is_one() {
    let folder = long();
    for arguments in [
        &["report", "a.folded"][..],
        &["convert", "a.folded", "-", "--to=firefox"],
        &["view", "a.folded", "-o", "-"],
        &["diff", "a.folded", "a.folded"],
        &["completions", "bash"],
    ] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = tool(&folder).args(arguments).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        let message = text(&output.stderr);
        assert!(
            message.contains("No space left"),
            "{arguments:?}: {message}"
        );
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn profiles_come_from_standard_input_too() {
    let folder = folder("f;g 2\n");
    let mut command = tool(&folder);
    let command = command.args(["report", "-"]).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"f;g 7\n").unwrap();
    let report = child.wait_with_output().unwrap();
    assert!(text(&report.stdout).starts_with("7 samples"), "{report:?}");
}

/// Twenty sessions of two releases, as lines of envelopes. `work` takes 40 ms in the first one and 60 ms in the second, and
/// each session takes a little longer than the one before.
fn sessions() -> String {
    let session = |number: usize| {
        let release = ["1", "2"][number % 2];
        let work = [40, 60][number % 2] + number / 2;
        let samples = (0..150 + number / 2).map(|at| {
            let stack = usize::from(at >= work);
            format!(r#"{{"timestamp":{at},"stackId":{stack}}}"#)
        });
        let samples: Vec<_> = samples.collect();
        format!(
            concat!(
                r#"{{"v":1,"session":"s{}","release":"{}","trace":{{"resources":["https://a.test/app.js"],"#,
                r#""frames":[{{"name":"work","resourceId":0,"line":1,"column":1}},"#,
                r#"{{"name":"rest","resourceId":0,"line":9,"column":1}}],"#,
                r#""stacks":[{{"frameId":0}},{{"frameId":1}}],"samples":[{}]}}}}"#,
                "\n"
            ),
            number,
            release,
            samples.join(",")
        )
    };
    (0..20).map(session).collect()
}

#[test]
fn thousands_of_profiles_become_one() {
    let folder = folder("f;g 2\n");
    fs::write(folder.path().join("all.ndjson"), sessions() + "{\n").unwrap();
    let merged = run(&folder, &["merge", "all.ndjson", "-o", "all.collapsed"]);
    assert!(merged.status.success(), "{merged:?}");
    assert!(merged.stdout.is_empty(), "{merged:?}");
    let told = text(&merged.stderr);
    let first = "strobe-tool: warning: ";
    assert!(told.starts_with(first), "{told}");
    for part in [
        "all.ndjson: line 21: ",
        "strobe-tool: 20 profiles of 20 sessions are merged\n",
        "strobe-tool: 1 inputs were left out\n",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let strict = run(
        &folder,
        &["merge", "--strict", "all.ndjson", "-o", "no.collapsed"],
    );
    assert_eq!(strict.status.code(), Some(1), "{strict:?}");
    assert!(text(&strict.stderr).contains("line 21"), "{strict:?}");
    assert!(!folder.path().join("no.collapsed").exists());

    // Each sample is worth the millisecond until the next one.
    let of_release = |release: &str| {
        let condition = format!("--where=release={release}");
        let merge = ["merge", "all.ndjson", "-o", "-", "--to=collapsed"];
        let merged = run(&folder, &[&merge[..], &[&*condition]].concat());
        text(&merged.stdout).to_owned()
    };
    for (release, milliseconds) in [("1", 400 + 45), ("2", 600 + 45)] {
        let lines = of_release(release);
        let work = format!("work (https://a.test/app.js:1:1) {milliseconds}000\n");
        assert!(lines.contains(&work), "{lines}");
    }
}

#[test]
fn two_sets_are_compared_and_judged() {
    let folder = folder("f 1\n");
    fs::write(folder.path().join("all.ndjson"), sessions()).unwrap();
    let compare = |arguments: &[&str]| {
        let diff = ["diff", "all.ndjson", "--by", "release"];
        run(&folder, &[&diff[..], arguments].concat())
    };
    let grown = compare(&["1", "2", "--fail-above=5%"]);
    assert_eq!(grown.status.code(), Some(1), "{grown:?}");
    assert!(text(&grown.stdout).contains("work"), "{grown:?}");
    let message = text(&grown.stderr);
    assert_eq!(
        message,
        "strobe-tool: 1 functions grew by more than 5 %: work\n"
    );
    let shrunk = compare(&["2", "1", "--fail-above=30%"]);
    assert_eq!(shrunk.status.code(), Some(0), "{shrunk:?}");
    assert!(shrunk.stderr.is_empty(), "{shrunk:?}");

    // Nothing tells the sessions of a merged file apart.
    let merge = |to: &str, also: &[&str]| {
        let merge = ["merge", "all.ndjson", "-o", to];
        let merged = run(&folder, &[&merge[..], also].concat());
        assert!(merged.status.success(), "{merged:?}");
    };
    let judge = |file: &str| run(&folder, &["diff", file, file, "--fail-above=5%"]);
    merge("all.pb.gz", &[]);
    let refused = judge("all.pb.gz");
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(
        text(&refused.stderr).contains("--fail-above"),
        "{refused:?}"
    );
    merge("apart.pb.gz", &["--sessions"]);
    let same = judge("apart.pb.gz");
    assert_eq!(same.status.code(), Some(0), "{same:?}");
}

#[test]
fn a_report_on_sessions_has_percentiles_and_the_slowest() {
    let folder = folder("f 1\n");
    fs::write(folder.path().join("all.ndjson"), sessions()).unwrap();
    let report = |arguments: &[&str]| {
        let report = run(&folder, &[&["report", "all.ndjson"], arguments].concat());
        assert!(report.status.success(), "{report:?}");
        text(&report.stdout).to_owned()
    };
    // `work` takes 60 to 69 ms in the sessions of the second release, of which s19 is the last one.
    let of_second = report(&["--where=release=2"]);
    assert!(of_second.starts_with("10 sessions, "), "{of_second}");
    assert!(
        of_second.contains("645.000  64.000  69.000  work "),
        "{of_second}"
    );
    assert!(
        of_second.contains("s19 (69.000), s17 (68.000)"),
        "{of_second}"
    );
    let by_release = report(&["--by=release", "--json"]);
    for part in ["\"label\": \"release\"", "\"session\": \"s18\""] {
        assert!(by_release.contains(part), "{by_release}");
    }
    let missing = run(&folder, &["report", "all.ndjson", "--by=pagee"]);
    assert_eq!(missing.status.code(), Some(1), "{missing:?}");
    assert!(text(&missing.stderr).contains("--by pagee"), "{missing:?}");
}

#[test]
fn functions_of_one_name_get_their_places() {
    let folder = folder("work (https://a.test/a.js:1:2) 2\nwork (https://a.test/b.js:3:4) 1\n");
    let names = |how: &str| {
        let names = format!("--names={how}");
        let converted = run(
            &folder,
            &["convert", "a.folded", "-", "--to=speedscope", &names],
        );
        text(&converted.stdout).to_owned()
    };
    assert!(names("plain").contains("\"name\":\"work\""));
    let with_places = names("file");
    for name in ["work a.js:1:2", "work b.js:3:4"] {
        assert!(with_places.contains(name), "{name}: {with_places}");
    }
}

#[test]
fn each_shell_completes_each_subcommand() {
    let folder = folder("f 1\n");
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(&folder, &["completions", shell]);
        assert!(script.status.success(), "{script:?}");
        for word in [
            "report",
            "convert",
            "view",
            "completions",
            "markdown",
            "merge",
            "diff",
        ] {
            assert!(text(&script.stdout).contains(word), "{shell}: {word}");
        }
    }
}

#[test]
fn view_writes_a_new_page_and_says_where() {
    let folder = folder("f;g 2\n");
    for name in ["a.html", "a-2.html"] {
        let view = run(&folder, &["view", "a.folded"]);
        let path = folder.path().join(name).canonicalize().unwrap();
        let said = format!("The page is file://{}\n", path.display());
        assert_eq!(text(&view.stdout), said, "{view:?}");
        let page = fs::read_to_string(path).unwrap();
        assert!(page.starts_with("<!DOCTYPE html>"), "{page}");
    }
    let named = run(&folder, &["view", "a.folded", "-o", "a.html"]);
    assert!(text(&named.stdout).ends_with("/a.html\n"), "{named:?}");
}

#[test]
fn many_profiles_are_viewed_as_one_or_by_the_value_of_a_label() {
    let folder = tempfile::tempdir().unwrap();
    for (name, profile) in [
        ("1.folded", "f 1\n"),
        ("2.folded", "g 2\n"),
        ("3.folded", "h 3\n"),
    ] {
        fs::write(folder.path().join(name), profile).unwrap();
    }
    let processes = |arguments: &[&str]| {
        let common = ["view", ".", "-o", "-", "--label-names={release}.folded"];
        let view = run(&folder, &[&common[..], arguments].concat());
        assert!(view.status.success(), "{view:?}");
        let (recording, _) = profile_formats::read(&view.stdout, None, None).unwrap();
        let processes = recording.processes.iter().map(|process| {
            let functions = process.event_loops.iter().flat_map(|of| of.functions());
            let functions = functions.map(|function| function.name.clone());
            (
                process.name.clone(),
                functions.collect::<Vec<_>>().join(" "),
            )
        });
        processes.collect::<Vec<_>>()
    };
    let named = |name: &str, functions: &str| (name.to_owned(), functions.to_owned());
    assert_eq!(processes(&["--where=release!=2"]), [named("", "f h")]);
    let expected = [named("release=1", "f"), named("release=3", "h")];
    assert_eq!(processes(&["--where=release!=2", "--by=release"]), expected);
    let none = run(&folder, &["view", ".", "-o", "-", "--where=release=7"]);
    assert_eq!(none.status.code(), Some(1), "{none:?}");
    assert!(
        text(&none.stderr).contains("no profile is left"),
        "{none:?}"
    );
}

#[test]
fn no_name_gets_out_of_the_page() {
    let names = [
        "</script><script>alert(1)</script>",
        "</SCRIPT ><img src=x onerror=alert(1)>",
        "<!--<script>",
        "]]>",
        "\u{2028}\u{2029}",
        "&lt/script&gt",
        "\\u003c/script>",
    ];
    let profile: String = names.iter().map(|name| format!("{name} 1\n")).collect();
    let folder = folder(&profile);
    let view = run(&folder, &["view", "a.folded", "--from=collapsed"]);
    assert!(view.status.success(), "{view:?}");
    let page = fs::read_to_string(folder.path().join("a.html")).unwrap();
    let start = r#"<script type="application/json" id="recording">"#;
    let (_, rest) = page.split_once(start).unwrap();
    let (data, after) = rest.split_once("</script>").unwrap();
    assert!(!data.contains('<'), "{data}");
    assert!(!after.contains("alert(1)"), "{after}");
    for name in names {
        let quoted = name.replace('\\', "\\\\").replace('<', "\\u003c");
        assert!(data.contains(&quoted), "{name:?} in {data}");
    }
    let back = run(&folder, &["convert", "a.html", "-", "--to=collapsed"]);
    assert_eq!(text(&back.stdout).lines().count(), names.len(), "{back:?}");
}

/// Ends with the test, however that ends.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn view_serves_the_page_to_who_knows_its_address() {
    let folder = folder("f;g 2\n");
    let mut command = tool(&folder);
    let command = command.args(["view", "a.folded", "--serve"]);
    let mut server = Server(command.stdout(Stdio::piped()).spawn().unwrap());
    let mut output = BufReader::new(server.0.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    let address = line.strip_prefix("The page is http://").unwrap().trim();
    let (host, path) = address.split_once('/').unwrap();
    assert!(host.starts_with("127.0.0.1:"), "{host}");
    let get = |path: &str| {
        let mut connection = TcpStream::connect(host).unwrap();
        write!(
            connection,
            "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        connection.read_to_string(&mut response).unwrap();
        response
    };
    let page = get(path);
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("<!DOCTYPE html>"), "{page}");
    let other = get("");
    assert!(other.starts_with("HTTP/1.1 404 "), "{other}");
    assert!(!other.contains("<!DOCTYPE html>"), "{other}");
    assert!(!folder.path().join("a.html").exists());
}
