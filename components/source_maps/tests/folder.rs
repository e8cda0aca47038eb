/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Maps in a folder.

#![cfg(not(miri))]

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use source_maps::{Deadline, MAX_MAP_BYTES, MapFolder};
use tempfile::TempDir;

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::Builder::new().prefix("dist").tempdir().unwrap();
    for (path, content) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    folder
}

/// The map's path from the folder on and its content, or why there is none.
fn find(folder: &TempDir, script: &str) -> Result<Option<(String, String)>, String> {
    let maps = MapFolder::open(folder.path()).unwrap();
    assert_eq!(maps.notices(), []);
    let found = maps
        .find(script, &Deadline::none())
        .map_err(|notice| shown(folder, &notice.to_string()))?;
    Ok(found.map(|map| {
        let path = map.path.strip_prefix(folder.path()).unwrap();
        (
            path.to_str().unwrap().to_owned(),
            String::from_utf8(map.content).unwrap(),
        )
    }))
}

fn shown(folder: &TempDir, text: &str) -> String {
    text.replace(folder.path().to_str().unwrap(), "DIST")
}

#[track_caller]
fn assert_found(folder: &TempDir, script: &str, path: Option<&str>) {
    let found = find(folder, script).unwrap().map(|(path, _)| path);
    assert_eq!(found.as_deref(), path, "{script}");
}

#[test]
fn a_map_is_found_by_the_name_of_the_script() {
    let dist = folder(&[
        ("app.min.js.map", "1"),
        ("js/größe 1.js.map", "2"),
        ("app.min.js", "not read"),
        ("other.txt", ""),
    ]);
    for script in [
        "https://a.test/app.min.js",
        "https://a.test/static/v3/app.min.js?v=3#x",
        "file:///srv/www/app.min.js",
        "/srv/www/app.min.js",
        "app.min.js?v=3",
        "C:\\www\\app.min.js",
    ] {
        assert_eq!(
            find(&dist, script),
            Ok(Some(("app.min.js.map".into(), "1".into()))),
            "{script}"
        );
    }
    assert_found(
        &dist,
        "https://a.test/gr%C3%B6%C3%9Fe%201.js",
        Some("js/größe 1.js.map"),
    );
    for script in [
        "https://a.test/",
        "https://a.test/app.js",
        "https://a.test/app.min.js/",
        "https://a.test/app.min.js.map",
        "https://a.test/other.txt",
        "about:blank",
        "",
        "eval",
    ] {
        assert_found(&dist, script, None);
    }
}

#[test]
fn the_longest_end_in_common_decides() {
    let dist = folder(&[
        ("app.js.map", ""),
        ("a/app.js.map", ""),
        ("b/app.js.map", ""),
        ("b/a/app.js.map", ""),
        ("c/x/lib.js.map", ""),
        ("d/x/lib.js.map", ""),
    ]);
    for (script, map) in [
        ("https://a.test/app.js", "app.js.map"),
        ("https://a.test/a/app.js", "a/app.js.map"),
        ("https://a.test/static/a/app.js", "a/app.js.map"),
        ("https://a.test/b/app.js", "b/app.js.map"),
        ("https://a.test/b/a/app.js", "b/a/app.js.map"),
        ("https://a.test/other/app.js", "app.js.map"),
        ("https://a.test/d/x/lib.js", "d/x/lib.js.map"),
    ] {
        assert_found(&dist, script, Some(map));
    }
    // The folder's own name counts.
    let name = dist.path().file_name().unwrap().to_str().unwrap();
    let other = dist.path().join("e").join(name);
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("app.js.map"), "").unwrap();
    assert_found(
        &dist,
        &format!("https://a.test/{name}/app.js"),
        Some("app.js.map"),
    );
    assert_eq!(
        find(&dist, "https://a.test/x/lib.js"),
        Err(
            "https://a.test/x/lib.js: no source map is used, for each of these may be its own: \
             DIST/c/x/lib.js.map, DIST/d/x/lib.js.map"
                .to_owned()
        )
    );
}

#[test]
fn a_script_of_the_folder_links_to_its_map() {
    let data = BASE64_STANDARD.encode("inline");
    let dist = folder(&[
        ("js/app.js", "a()\n//# sourceMappingURL=../maps/x.map\n"),
        ("maps/x.map", "x"),
        ("maps/deep/x.map", "no"),
        (
            "inline.js",
            &format!("//# sourceMappingURL=data:application/json;base64,{data}"),
        ),
        (
            "absolute.mjs",
            "//# sourceMappingURL=https://maps.test/v1/maps/x.map?1",
        ),
        ("missing.js", "//# sourceMappingURL=missing.js.map2"),
        ("itself.js", "//# sourceMappingURL=itself.js"),
        ("without.js", "a()"),
        ("broken.js", "//# sourceMappingURL=data:,;base64"),
        ("bad.js", "//# sourceMappingURL=http://["),
        ("damaged.js", "//# sourceMappingURL=data:;base64,*"),
    ]);
    let found = |script: &str| find(&dist, script).map(|found| found.map(|(_, content)| content));
    assert_eq!(found("https://a.test/app.js"), Ok(Some("x".into())));
    assert_eq!(found("https://a.test/inline.js"), Ok(Some("inline".into())));
    assert_eq!(found("https://a.test/absolute.mjs"), Ok(Some("x".into())));
    for script in ["missing.js", "itself.js", "without.js"] {
        assert_eq!(found(script), Ok(None), "{script}");
    }
    assert_eq!(
        found("bad.js"),
        Err("DIST/bad.js: the URL of its source map, \"http://[\", is not valid: invalid IPv6 address".into())
    );
    assert_eq!(
        found("damaged.js"),
        Err(
            "DIST/damaged.js: its source map, in a data: URL, cannot be decoded: it is not base64"
                .into()
        )
    );
}

#[test]
fn a_map_may_say_for_which_script_it_is() {
    let dist = folder(&[
        ("1.map", r#"{"version":3,"file":"app.js"}"#),
        (
            "2.map",
            r#"{"version":3,"file":"https://a.test/js/lib.js?x"}"#,
        ),
        ("3.map", r#"{"version":3,"file":"../out/both.js"}"#),
        ("4.map", r#"{"version":3,"file":"both.js"}"#),
        ("5.map", r#"{"version":3,"file":7}"#),
        ("6.map", r#"{"file":"#),
        // Its name says more.
        ("named.js.map", r#"{"version":3,"file":"app.js"}"#),
        ("7.map", r#"{"version":3,"file":"named.js"}"#),
    ]);
    assert_found(&dist, "https://a.test/lib.js", Some("2.map"));
    assert_found(&dist, "https://a.test/named.js", Some("named.js.map"));
    assert_eq!(
        find(&dist, "https://a.test/app.js"),
        Err(
            "https://a.test/app.js: no source map is used, for each of these may be its own: \
             DIST/1.map, DIST/named.js.map"
                .to_owned()
        )
    );
    assert!(
        find(&dist, "https://a.test/both.js")
            .unwrap_err()
            .contains("DIST/3.map, DIST/4.map")
    );
}

#[test]
fn links_between_folders_come_to_an_end() {
    let dist = folder(&[("js/app.js.map", "1")]);
    let other = folder(&[("lib.js.map", "2")]);
    symlink(dist.path(), dist.path().join("js/loop")).unwrap();
    symlink(other.path(), dist.path().join("other")).unwrap();
    symlink("nowhere", dist.path().join("gone.js.map")).unwrap();
    let maps = MapFolder::open(dist.path()).unwrap();
    assert_eq!(
        maps.find("app.js", &Deadline::none())
            .unwrap()
            .unwrap()
            .content,
        b"1"
    );
    assert_eq!(
        maps.find("lib.js", &Deadline::none())
            .unwrap()
            .unwrap()
            .content,
        b"2"
    );
    let notices: Vec<_> = maps
        .notices()
        .iter()
        .map(|one| shown(&dist, &one.to_string()))
        .collect();
    assert_eq!(
        notices,
        ["DIST/gone.js.map: No such file or directory (os error 2)"]
    );
}

#[test]
fn what_is_too_deep_or_too_large_is_a_notice() {
    let deep = (0..40)
        .map(|depth| depth.to_string())
        .collect::<Vec<_>>()
        .join("/");
    let dist = folder(&[(&format!("{deep}/app.js.map"), "1")]);
    let maps = MapFolder::open(dist.path()).unwrap();
    assert_eq!(maps.find("app.js", &Deadline::none()), Ok(None));
    let [notice] = maps.notices() else {
        panic!("{:?}", maps.notices());
    };
    assert_eq!(
        notice.why,
        "is in more than 32 folders, and is not looked into"
    );

    let dist = folder(&[]);
    let large = File::create(dist.path().join("app.js.map")).unwrap();
    large.set_len(MAX_MAP_BYTES + 1).unwrap();
    assert_eq!(
        find(&dist, "app.js"),
        Err("DIST/app.js.map: has more than 100000000 bytes, and is not read".to_owned())
    );
}

/// Only the maps among the first 2 GB are looked into.
#[test]
fn a_folder_of_more_than_two_gigabytes_is_not_read_to_its_end() {
    let dist = folder(&[
        ("a.map", r#"{"file":"early.js"}"#),
        ("z.map", r#"{"file":"late.js"}"#),
    ]);
    // They take no room on the disk.
    let add_large = |number: usize| {
        let path = dist.path().join(format!("b{number:02}.map"));
        File::create(path).unwrap().set_len(MAX_MAP_BYTES).unwrap();
    };
    (0..19).for_each(add_large);
    assert_found(&dist, "late.js", Some("z.map"));
    // With the others these are more.
    add_large(19);
    let maps = MapFolder::open(dist.path()).unwrap();
    let is_found = |script: &str| maps.find(script, &Deadline::none()).unwrap().is_some();
    assert!(is_found("early.js"));
    assert!(!is_found("late.js"));
}

#[test]
fn what_is_no_folder_is_a_notice() {
    let notice = MapFolder::open(Path::new("/nonexistent/dist")).unwrap_err();
    assert_eq!(
        notice.to_string(),
        "/nonexistent/dist: No such file or directory (os error 2)"
    );
    let notice = MapFolder::open(Path::new("/dev/null")).unwrap_err();
    assert_eq!(notice.to_string(), "/dev/null: is not a folder");
}
