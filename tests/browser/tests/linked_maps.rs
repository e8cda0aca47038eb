/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The source maps that scripts link to, in recordings.

use std::time::Duration;

use browser_tests::{Driver, Output, Site, SiteContent, alone, record};
use profile_formats::Recording;
use serde_json::json;

/// A page with these scripts. `isDone` is true when they have run.
fn page(scripts: &[&str]) -> String {
    let scripts: String = scripts
        .iter()
        .map(|script| format!("<script src='{script}'></script>\n"))
        .collect();
    format!(
        "<!DOCTYPE html>\n<meta charset='utf-8'>\n{scripts}<script>var isDone = globalThis.isDone ?? true;</script>"
    )
}

/// How long a script works, in milliseconds. It is sampled even if most samples are missed.
const WORK: u32 = 200;

/// A part of each script's text.
const PART_OF_TEXT: &str = "worked += Math.min(now - last, 1);";

/// The script that was built from `NAME.ts`. Its function `NAMEBuilt` runs for long enough to be sampled: at most 1 ms counts
/// from one reading of the clock to the next, for the thread may not have run in between. Then the script does more.
fn script(name: &str, more: &str, link: Option<&str>) -> String {
    let comment = link.map(|link| format!("//# sourceMappingURL={link}"));
    format!(
        "function {name}Built() {{\n  let worked = 0, last = performance.now();\n  \
         while (worked < {WORK}) {{ const now = performance.now(); {PART_OF_TEXT} last = now; }}\n}}\n\
         {name}Built();\n{more}\n{}",
        comment.unwrap_or_default()
    )
}

/// Its map: the function was written as `NAMEWork`.
fn map(name: &str) -> String {
    let written = format!("function {name}Work() {{\n  waste();\n  time();\n}}\n");
    json!({
        "version": 3,
        "sources": [format!("{name}.ts")],
        "sourcesContent": [written],
        "names": [format!("{name}Work")],
        // Nothing says where the call in the last line was written.
        "mappings": "AAAA,SAASA;AACP;AACA;AACA;A",
    })
    .to_string()
}

/// Records a page until it is done.
fn record_page(url: &str, more: &[&str]) -> (Recording, Output) {
    record(&[&["--until-js", "isDone", url], more].concat())
}

/// Records a page until it is done, with the texts of its scripts.
fn record_texts(url: &str, more: &[&str]) -> (Recording, Output) {
    record_page(url, &[&["--sources"], more].concat())
}

fn number_of_texts(recording: &Recording) -> usize {
    recording.event_loops().map(|one| one.sources().len()).sum()
}

/// How a script's function is shown: its name and file, and its name in the script that ran.
fn shown(recording: &Recording, name: &str) -> Vec<(String, String, Option<String>)> {
    let built = format!("{name}Built");
    let mut shown = Vec::new();
    for event_loop in recording.event_loops() {
        for function in event_loop.functions() {
            let generated = function.generated.as_ref().map(|one| one.name.clone());
            if *generated.as_ref().unwrap_or(&function.name) == built {
                let file = event_loop.resource_of(function).unwrap_or_default();
                shown.push((function.name.clone(), file.to_owned(), generated));
            }
        }
    }
    shown
}

#[track_caller]
fn assert_is_as_written(recording: &Recording, output: &Output, name: &str, file: &str) {
    let expected = (
        format!("{name}Work"),
        file.to_owned(),
        Some(format!("{name}Built")),
    );
    assert_eq!(shown(recording, name), [expected], "{}", output.stderr);
}

/// Checks that the function is shown as it ran, and that one warning names its script, its map and the reason.
#[track_caller]
fn assert_is_as_it_ran(
    recording: &Recording,
    output: &Output,
    name: &str,
    script: &str,
    (map, why): (&str, &str),
) {
    let expected = (format!("{name}Built"), script.to_owned(), None);
    assert_eq!(shown(recording, name), [expected], "{}", output.stderr);
    let warnings = output.stderr.lines();
    let warnings: Vec<_> = warnings.filter(|line| line.contains(script)).collect();
    let [warning] = warnings[..] else {
        panic!("{name}: {}", output.stderr);
    };
    assert!(warning.contains("warning: "), "{warning}");
    assert!(warning.contains(map) && warning.contains(why), "{warning}");
}

fn maps_are_applied(more: &[&str]) {
    let other = Site::plain()
        .generated("/shared.map", map("shared"))
        .header("/shared.map", "Access-Control-Allow-Origin", "*")
        .serve();
    let worker = "importScripts('imported.js', 'named.js');\npostMessage('');";
    let main = "
        var isDone = false;
        addEventListener('load', async () => {
          document.querySelector('iframe').remove();
          for (const name of ['closing', 'worker']) {
            const worker = new Worker(`/js/${name}.js`);
            await new Promise(resolve => { worker.onmessage = resolve; });
          }
          isDone = true;
        });";
    let link = |name: &str| format!("/maps/{name}.map");
    let mut site = Site::plain()
        .generated("/js/main.js", main.to_owned())
        .generated("/frame.html", page(&["js/frame.js"]))
        .generated(
            "/page.html",
            format!(
                "{}<iframe src='frame.html'></iframe>",
                page(&[
                    "js/relative.js",
                    "js/rooted.js",
                    "js/header.js",
                    "js/older.js",
                    "js/shared.js",
                    "js/main.js",
                ])
            ),
        )
        .header("/js/header.js", "SourceMap", "/maps/header.map")
        .header("/js/older.js", "X-SourceMap", "../maps/older.map")
        .header("/js/named.js", "SourceMap", "/maps/named.map")
        .generated(
            "/js/shared.js",
            script("shared", "", Some(&other.url("/shared.map"))),
        );
    let names = [
        ("relative", "", Some("../maps/relative.map".to_owned())),
        ("rooted", "", Some(link("rooted"))),
        ("header", "", None),
        ("older", "", Some("wrong.map".to_owned())),
        ("frame", "", Some(link("frame"))),
        ("worker", worker, Some(link("worker"))),
        ("imported", "", Some(link("imported"))),
        ("named", "", None),
        (
            "closing",
            "postMessage('');\nclose();",
            Some(link("closing")),
        ),
    ];
    for (name, more, map_link) in &names {
        site = site
            .generated(
                &format!("/js/{name}.js"),
                script(name, more, map_link.as_deref()),
            )
            .generated(&link(name), map(name));
    }
    let site = site.serve();
    let (recording, output) = record_page(&site.url("/page.html"), more);
    for (name, ..) in names {
        let file = site.url(&format!("/maps/{name}.ts"));
        assert_is_as_written(&recording, &output, name, &file);
    }
    let has_texts = more.contains(&"--sources");
    assert_eq!(number_of_texts(&recording) > 0, has_texts);
    assert_is_as_written(&recording, &output, "shared", &other.url("/shared.ts"));
    assert!(!output.stderr.contains("warning: "), "{}", output.stderr);
}

#[test]
fn maps_by_comment_and_header_are_fetched_and_applied() {
    maps_are_applied(&["--sources"]);
}

#[test]
fn maps_are_fetched_by_other_processes_too() {
    maps_are_applied(&["--sources", "--multiprocess"]);
}

#[test]
fn maps_are_fetched_and_applied_without_texts_too() {
    maps_are_applied(&[]);
}

#[test]
fn maps_are_fetched_without_texts_by_other_processes_too() {
    maps_are_applied(&["--multiprocess"]);
}

/// The line in `moved.ts` at which [`moved_map`]'s function is defined.
const MOVED_LINE: u32 = 11;

/// A map of the script `moved`, whose functions were written further down.
fn moved_map() -> String {
    map("moved").replace("AAAA,SAASA", "AAUA,SAASA")
}

/// A page with a script that links to a map, and one that contains its map.
fn site_of_maps() -> Site {
    let inside = map("inside").replace('%', "%25").replace('"', "%22");
    let inside = inside.replace(' ', "%20").replace('\\', "%5C");
    let inside = format!("data:application/json,{inside}");
    Site::plain()
        .generated("/js/moved.js", script("moved", "", Some("/maps/moved.map")))
        .generated("/maps/moved.map", moved_map())
        .generated("/js/inside.js", script("inside", "", Some(&inside)))
        .generated("/page.html", page(&["js/moved.js", "js/inside.js"]))
        .serve()
}

/// The lines at which a function was executing, and the line of its definition.
fn lines(recording: &Recording, name: &str) -> (Vec<u32>, Option<u32>) {
    let mut lines = Vec::new();
    let mut definition = None;
    for event_loop in recording.event_loops() {
        for frame in event_loop.frames() {
            let function = event_loop.function(frame.function);
            if function.name == name {
                definition = function.line.map(|line| line.get());
                lines.extend(frame.place.and_then(|place| Some(place.line()?.get())));
            }
        }
    }
    (lines, definition)
}

#[test]
fn a_recording_without_texts_shows_names_files_and_lines_as_written() {
    let site = site_of_maps();
    let (recording, output) = record_page(&site.url("/page.html"), &[]);
    let file = site.url("/maps/moved.ts");
    assert_is_as_written(&recording, &output, "moved", &file);
    let file = site.url("/js/inside.ts");
    assert_is_as_written(&recording, &output, "inside", &file);
    let (lines, definition) = lines(&recording, "movedWork");
    assert_eq!(definition, Some(MOVED_LINE));
    // The function has four lines.
    let is_written = |line: &u32| (MOVED_LINE..MOVED_LINE + 4).contains(line);
    assert!(
        !lines.is_empty() && lines.iter().all(is_written),
        "{lines:?}"
    );
    assert_eq!(number_of_texts(&recording), 0);
    // Neither the text of the script nor that of the file.
    let file = String::from_utf8_lossy(&output.stdout);
    assert!(!file.contains(PART_OF_TEXT) && !file.contains("waste();"));
    assert!(!output.stderr.contains("warning: "), "{}", output.stderr);
    assert_eq!(site.requests_for("/maps/moved.map"), 1);
}

#[test]
fn no_map_is_fetched_or_applied_if_the_person_says_so() {
    for more in [
        &["--no-linked-maps"][..],
        &["--no-linked-maps", "--sources"],
    ] {
        let site = site_of_maps();
        let (recording, output) = record_page(&site.url("/page.html"), more);
        for name in ["moved", "inside"] {
            let script = site.url(&format!("/js/{name}.js"));
            let expected = (format!("{name}Built"), script, None);
            assert_eq!(shown(&recording, name), [expected], "{more:?}");
        }
        let has_texts = more.contains(&"--sources");
        assert_eq!(number_of_texts(&recording) > 0, has_texts);
        assert!(!output.stderr.contains("warning: "), "{}", output.stderr);
        // The page's own requests are seen.
        assert_eq!(site.requests_for("/js/moved.js"), 1);
        assert_eq!(site.requests_for("/maps/moved.map"), 0, "{more:?}");
    }
}

#[test]
fn a_page_that_is_busy_at_the_end_is_shown_as_it_ran_and_this_is_told() {
    let _alone = alone();
    let site = Site::plain().serve();
    let url = site.url("/texts-busy.html");
    let (_, output) = record(&["--duration=15", &url]);
    let mut told = output.stderr.lines();
    let told = told.find(|line| line.contains("warning: "));
    let told = told.unwrap_or_else(|| panic!("{}", output.stderr));
    assert!(
        told.contains(&url) && told.contains(" ran, even if "),
        "{told}"
    );
    assert!(told.contains("the event loop was busy"), "{told}");
}

#[test]
fn a_map_that_does_not_come_is_a_warning_that_names_it() {
    let other = Site::plain()
        .generated("/private.map", map("private"))
        .serve();
    let private = other.url("/private.map");
    let file = "file:///etc/hostname";
    let names = ["missing", "private", "local", "broken", "wrong"];
    let site = Site::plain()
        .generated("/js/missing.js", script("missing", "", Some("missing.map")))
        .generated("/js/private.js", script("private", "", Some(&private)))
        .generated("/js/local.js", script("local", "", Some(file)))
        .generated("/js/broken.js", script("broken", "", Some("broken.map")))
        .generated("/js/broken.map", "<!DOCTYPE html>".to_owned())
        .generated("/js/wrong.js", script("wrong", "", Some("http://[")))
        .generated(
            "/page.html",
            page(
                &names
                    .map(|name| format!("js/{name}.js"))
                    .each_ref()
                    .map(|path| &**path),
            ),
        )
        .serve();
    let (recording, output) = record_texts(&site.url("/page.html"), &[]);
    let (missing, broken) = (site.url("/js/missing.map"), site.url("/js/broken.map"));
    for (name, map, why) in [
        ("missing", &*missing, "the answer has the HTTP status 404"),
        ("private", &*private, "(CORS)"),
        ("local", file, "not fetched from file: URLs"),
        ("broken", &*broken, "source map"),
        ("wrong", "http://[", "is not a valid URL"),
    ] {
        let script = site.url(&format!("/js/{name}.js"));
        assert_is_as_it_ran(&recording, &output, name, &script, (map, why));
    }
}

#[test]
fn a_map_is_not_waited_for_for_ever() {
    // No answer ever comes from there.
    let site = Site::plain()
        .generated(
            "/js/late.js",
            script("late", "", Some("/checkpoint/late.map")),
        )
        .generated("/js/early.js", script("early", "", Some("/maps/early.map")))
        .generated("/maps/early.map", map("early"))
        .generated("/page.html", page(&["js/late.js", "js/early.js"]))
        .serve();
    let (recording, output) = record_texts(&site.url("/page.html"), &[]);
    let (script, map) = (site.url("/js/late.js"), site.url("/checkpoint/late.map"));
    let why = (&*map, "did not come within 10 s");
    assert_is_as_it_ran(&recording, &output, "late", &script, why);
    let file = site.url("/maps/early.ts");
    assert_is_as_written(&recording, &output, "early", &file);
}

#[test]
fn a_map_is_fetched_with_the_rights_of_its_page_alone() {
    let other = Site::plain()
        .generated("/shared.map", map("shared"))
        .header("/shared.map", "Access-Control-Allow-Origin", "*")
        .serve();
    let map = other.url("/shared.map");
    let site = Site::plain()
        .generated("/js/shared.js", script("shared", "", Some(&map)))
        .generated("/page.html", page(&["js/shared.js"]))
        .header(
            "/page.html",
            "Content-Security-Policy",
            "connect-src 'self'",
        )
        .serve();
    let (recording, output) = record_texts(&site.url("/page.html"), &[]);
    let script = site.url("/js/shared.js");
    let why = (&*map, "Content-Security-Policy");
    assert_is_as_it_ran(&recording, &output, "shared", &script, why);
}

#[test]
fn a_request_for_a_map_has_the_cookies_of_its_page_at_home_and_never_a_referrer() {
    let other = Site::plain()
        .generated("/shared.map", map("shared"))
        .header("/shared.map", "Access-Control-Allow-Origin", "*")
        .serve();
    let shared = other.url("/shared.map");
    let site = Site::plain()
        .generated("/js/own.js", script("own", "", Some("/own.map")))
        .generated("/own.map", map("own"))
        .generated("/js/shared.js", script("shared", "", Some(&shared)))
        .generated("/page.html", page(&["js/own.js", "js/shared.js"]))
        // Cookies do not depend on the port: the browser has it for the other site, too.
        .header("/page.html", "Set-Cookie", "who=me")
        .serve();
    let url = site.url("/page.html");
    record_page(&url, &[]);
    let of_own = |name: &str| site.header_of_requests("/own.map", name);
    let of_shared = |name: &str| other.header_of_requests("/shared.map", name);
    assert_eq!(of_own("cookie"), [Some("who=me".to_owned())]);
    assert_eq!(of_shared("cookie"), [None]);
    assert_eq!(of_shared("origin"), [Some(site.origin().to_owned())]);
    assert_eq!([of_own("referer"), of_shared("referer")], [[None], [None]]);
    // The page's own requests have one.
    assert_eq!(
        site.header_of_requests("/js/own.js", "referer"),
        [Some(url)]
    );
}

/// A site whose page has these scripts. Each links to a map that the server says is elsewhere.
fn site_of_moved_maps(moved: &[(&str, &str)]) -> SiteContent {
    let paths: Vec<_> = moved
        .iter()
        .map(|(name, _)| format!("js/{name}.js"))
        .collect();
    let paths: Vec<_> = paths.iter().map(String::as_str).collect();
    let mut site = Site::plain()
        .headers_by_query()
        .generated("/page.html", page(&paths));
    for (name, place) in moved {
        let old = format!("/old/{name}.map");
        site = site
            .generated(&format!("/js/{name}.js"), script(name, "", Some(&old)))
            .generated(&old, String::new())
            .header(&old, "Location", place);
    }
    site
}

#[test]
fn a_map_that_has_moved_is_fetched_and_its_files_are_relative_to_where_it_is() {
    let other = Site::plain()
        .generated("/new/shared.map", map("shared"))
        .header("/new/shared.map", "Access-Control-Allow-Origin", "*")
        .generated("/new/private.map", map("private"))
        .serve();
    let [shared, private] =
        ["shared", "private"].map(|name| other.url(&format!("/new/{name}.map")));
    let site = site_of_moved_maps(&[
        ("moved", "../new/moved.map"),
        ("shared", &shared),
        ("private", &private),
        ("local", "file:///etc/hostname"),
        ("circle", "/old/circle.map"),
    ])
    .generated("/new/moved.map", map("moved"))
    .serve();
    let (recording, output) = record_texts(&site.url("/page.html"), &[]);
    for (name, file) in [
        ("moved", site.url("/new/moved.ts")),
        ("shared", other.url("/new/shared.ts")),
    ] {
        assert_is_as_written(&recording, &output, name, &file);
    }
    for (name, why) in [
        ("private", "(CORS)"),
        ("local", "it cannot be fetched"),
        ("circle", "it cannot be fetched"),
    ] {
        let script = site.url(&format!("/js/{name}.js"));
        let map = site.url(&format!("/old/{name}.map"));
        assert_is_as_it_ran(&recording, &output, name, &script, (&map, why));
    }
}

#[test]
fn a_map_may_not_move_to_where_the_pages_policy_forbids_it() {
    let other = Site::plain()
        .generated("/new/shared.map", map("shared"))
        .header("/new/shared.map", "Access-Control-Allow-Origin", "*")
        .serve();
    let site = site_of_moved_maps(&[("shared", &other.url("/new/shared.map"))])
        .header(
            "/page.html",
            "Content-Security-Policy",
            "connect-src 'self'",
        )
        .serve();
    let (recording, output) = record_texts(&site.url("/page.html"), &[]);
    let (script, map) = (site.url("/js/shared.js"), site.url("/old/shared.map"));
    let why = (&*map, "Content-Security-Policy");
    assert_is_as_it_ran(&recording, &output, "shared", &script, why);
}

/// Everything by which a page could notice a fetch.
const WATCHING: &str = "
    var seen = [];
    addEventListener('securitypolicyviolation', event => seen.push('violation of ' + event.blockedURI));
    new PerformanceObserver(list => {
      seen.push(...list.getEntries().map(entry => entry.name));
    }).observe({ type: 'resource', buffered: true });
    addEventListener('error', event => seen.push('error'), true);
    var beat = 0;
    setInterval(() => { beat++; }, 10);";

#[test]
fn a_page_sees_nothing_of_the_maps_that_are_fetched() {
    a_page_sees_nothing(false);
}

#[test]
fn a_page_sees_nothing_of_the_maps_that_are_fetched_with_its_texts() {
    a_page_sees_nothing(true);
}

fn a_page_sees_nothing(with_texts: bool) {
    const BOUND: Duration = Duration::from_secs(60);
    let other = Site::plain()
        .generated("/private.map", map("private"))
        .serve();
    let site = Site::plain()
        .generated("/js/own.js", script("own", "", Some("/maps/own.map")))
        .generated("/maps/own.map", map("own"))
        .generated("/js/gone.js", script("gone", "", Some("/maps/gone.map")))
        .generated(
            "/js/private.js",
            script("private", "", Some(&other.url("/private.map"))),
        )
        .generated(
            "/page.html",
            format!(
                "<!DOCTYPE html><meta charset='utf-8'><script>{WATCHING}
                 async function work() {{
                   for (const name of ['own', 'gone', 'private']) {{
                     const script = document.createElement('script');
                     script.src = `js/${{name}}.js`;
                     document.body.append(script);
                     await new Promise(resolve => {{ script.onload = resolve; }});
                   }}
                   isDone = true;
                 }}
                 var isDone = false;
                 </script><body>"
            ),
        )
        .header(
            "/page.html",
            "Content-Security-Policy",
            "connect-src 'self'",
        )
        .serve();
    let driver = Driver::start(&["--window-size", "1200x900"]);
    let wait_until = |expression: &str| {
        assert!(driver.becomes_true(expression, BOUND), "{expression}");
    };
    driver.open("about:profiling");
    let ours = driver.get("/window").unwrap();
    let page = driver.new_tab();
    driver.switch_to(&page);
    driver.open(&site.url("/page.html"));
    driver.switch_to(&ours);
    if with_texts {
        driver.click("#with-sources");
    }
    driver.click("#record");
    wait_until("Number(document.querySelector('#progress').dataset.samples) >= 10");
    driver.switch_to(&page);
    driver.execute("work();");
    wait_until("isDone");
    driver.switch_to(&ours);
    driver.click("#record");
    wait_until("document.documentElement.dataset.ready === ''");
    // The map was applied.
    let names = driver.execute("return strobe.inspect.functions().map(one => one.name);");
    let names = names.as_array().expect("a list");
    for name in ["ownWork", "goneBuilt", "privateBuilt"] {
        assert!(names.contains(&json!(name)), "{name}: {names:?}");
    }
    // What did not come is told beside the recording, to the person alone.
    wait_until("!document.querySelector('#notices').hidden");
    let told = driver.execute("return document.querySelector('#notices-text').textContent;");
    let told = told.as_str().expect("a text");
    for map in [site.url("/maps/gone.map"), other.url("/private.map")] {
        assert!(told.contains(&map), "{map}: {told}");
    }
    driver.click("#dismiss-notices");
    wait_until("document.querySelector('#notices').hidden");
    driver.switch_to(&page);
    // The events that could come have come.
    let beat = driver.execute("return beat;");
    wait_until(&format!("beat > {beat} + 5"));
    let expected: Vec<_> = ["own", "gone", "private"]
        .map(|name| json!(site.url(&format!("/js/{name}.js"))))
        .into();
    assert_eq!(driver.execute("return seen;"), json!(expected));
    let entries =
        driver.execute("return performance.getEntriesByType('resource').map(entry => entry.name);");
    assert_eq!(entries, json!(expected));
    let (status, console) = driver.shut_down();
    assert!(status.success(), "{status}\n{console}");
}
