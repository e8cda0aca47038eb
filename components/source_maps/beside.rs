/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! The map that a script of this machine links to, in the script's own folder.
//!
//! Which scripts there are is what a profile says, and that may be a stranger's. So nothing outside of the script's folder
//! is read, however the link is written, and neither are links of the file system, devices and pipes.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use url::Url;

use crate::bounds::MAX_MAP_BYTES;
use crate::folder::FoundMap;
use crate::link::{Link, link_in_text};
use crate::notice::{Notice, quoted};

/// The map of a script, by the script's URL. `None` if the URL is none of a file of this machine, or if the script links
/// to no map.
pub fn map_beside(script: &str) -> Result<Option<FoundMap>, Notice> {
    let Some(path) = path_of(script) else {
        return Ok(None);
    };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let at = |path: &Path, error: io::Error| Notice::new(&path.to_string_lossy(), error);
    let folder = folder.canonicalize().map_err(|error| at(folder, error))?;
    let path = folder.join(name);
    let text = read(&path).map_err(|error| at(&path, error))?;
    let text = String::from_utf8_lossy(&text);
    let Some(link) = link_in_text(&text) else {
        return Ok(None);
    };
    let refuse = |why: &str| {
        let link = quoted(link);
        let why = format!(
            "its source map, {link}, {why}, and is not read; --source-maps DIR reads the maps of a folder"
        );
        Notice::new(script, why)
    };
    let map = match Link::resolve(link, script)? {
        Link::Inline(content) => return Ok(Some(FoundMap { path, content })),
        Link::Url(url) => {
            path_of(url.as_str()).ok_or_else(|| refuse("is no file of this machine"))?
        },
    };
    // The URL has no `..` any more. Its beginning is the folder as the script's URL has it.
    let outside = || refuse("is outside of the script's folder");
    let own = path_of(script).and_then(|script| script.parent().map(Path::to_owned));
    let own = own.ok_or_else(outside)?;
    let inside = map.strip_prefix(own).map_err(|_| outside())?;
    let map = folder.join(inside);
    let whole = map.canonicalize().map_err(|error| at(&map, error))?;
    // A link on the way, even to a file in the folder.
    if whole != map {
        return Err(refuse("is reached through a link of the file system"));
    }
    let content = read(&map).map_err(|error| at(&map, error))?;
    Ok(Some(FoundMap { path: map, content }))
}

/// The path of a file of this machine.
fn path_of(url: &str) -> Option<PathBuf> {
    let url = Url::parse(url).ok().filter(|url| url.scheme() == "file")?;
    let path = url.to_file_path().ok()?;
    // An encoded slash or a dot segment that the URL has kept would lead elsewhere.
    let is_plain = |part: std::path::Component| {
        matches!(
            part,
            std::path::Component::RootDir | std::path::Component::Normal(_)
        )
    };
    path.components().all(is_plain).then_some(path)
}

/// A regular file, which is no link of the file system.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let refuse = |why: String| Err(io::Error::other(why));
    let expected = path.symlink_metadata()?;
    if !expected.is_file() {
        return refuse("is no regular file, and is not read".to_owned());
    }
    let file = File::open(path)?;
    let found = file.metadata()?;
    // Another file may have taken its place.
    if (found.dev(), found.ino()) != (expected.dev(), expected.ino()) {
        return refuse("has changed while it was opened, and is not read".to_owned());
    }
    let mut content = Vec::new();
    file.take(MAX_MAP_BYTES + 1).read_to_end(&mut content)?;
    match content.len() as u64 > MAX_MAP_BYTES {
        true => refuse(format!(
            "has more than {MAX_MAP_BYTES} bytes, and is not read"
        )),
        false => Ok(content),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    /// A folder `dist` beside a folder `other`, with a map in each.
    struct Site(tempfile::TempDir);

    impl Site {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["dist/maps", "other", "dist2"] {
                fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            for name in [
                "dist/a.js.map",
                "dist/maps/a.map",
                "other/a.js.map",
                "dist2/a.js.map",
            ] {
                fs::write(folder.path().join(name), name).unwrap();
            }
            Self(folder)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        /// What is found for a script in `dist` that ends with this link.
        fn map(&self, link: &str) -> Result<Option<String>, String> {
            let script = self.path("dist/a.js");
            fs::write(&script, format!("a()\n//# sourceMappingURL={link}\n")).unwrap();
            self.map_of(Url::from_file_path(script).unwrap().as_str())
        }

        fn map_of(&self, script: &str) -> Result<Option<String>, String> {
            match map_beside(script) {
                Ok(found) => Ok(found.map(|found| String::from_utf8(found.content).unwrap())),
                Err(notice) => Err(notice.to_string()),
            }
        }
    }

    #[test]
    fn a_map_in_the_folder_of_the_script_is_read() {
        let site = Site::new();
        for link in [
            "a.js.map".to_owned(),
            "./a.js.map?v=1#x".to_owned(),
            "maps/../a.js.map".to_owned(),
            "../dist/a.js.map".to_owned(),
            Url::from_file_path(site.path("dist/a.js.map"))
                .unwrap()
                .into(),
        ] {
            assert_eq!(
                site.map(&link),
                Ok(Some("dist/a.js.map".to_owned())),
                "{link}"
            );
        }
        assert_eq!(
            site.map("maps/a.map"),
            Ok(Some("dist/maps/a.map".to_owned()))
        );
        assert_eq!(site.map("data:,%7B%7D"), Ok(Some("{}".to_owned())));
        let script = Url::from_file_path(site.path("dist/a.js")).unwrap();
        site.map("a.js.map").unwrap();
        let with_query = format!("{script}?v=1");
        assert_eq!(
            site.map_of(&with_query),
            Ok(Some("dist/a.js.map".to_owned()))
        );
    }

    #[test]
    fn scripts_without_a_link_and_of_elsewhere_have_none() {
        let site = Site::new();
        let script = site.path("dist/b.js");
        fs::write(&script, "b()\n").unwrap();
        let script = Url::from_file_path(script).unwrap();
        for script in [
            script.as_str(),
            "https://a.test/dist/a.js",
            "node:internal/fs",
            "dist/a.js",
            "",
            "file://a.test/dist/a.js",
            "file:///",
        ] {
            assert_eq!(site.map_of(script), Ok(None), "{script}");
        }
    }

    #[test]
    fn nothing_outside_of_the_folder_is_read() {
        let site = Site::new();
        let elsewhere: String = Url::from_file_path(site.path("other/a.js.map"))
            .unwrap()
            .into();
        symlink(site.path("other/a.js.map"), site.path("dist/link.map")).unwrap();
        symlink(site.path("other"), site.path("dist/linked")).unwrap();
        symlink(site.path("dist/a.js.map"), site.path("dist/inner.map")).unwrap();
        for link in [
            "../other/a.js.map",
            "..%2Fother%2Fa.js.map",
            "%2e%2e/other/a.js.map",
            "maps/../../other/a.js.map",
            "../dist2/a.js.map",
            "..\\other\\a.js.map",
            "/etc/passwd",
            &elsewhere,
            "https://a.test/a.js.map",
            "//a.test/a.js.map",
            "link.map",
            "linked/a.js.map",
            "inner.map",
        ] {
            let error = site.map(link).unwrap_err();
            let is_told = error.contains("is not read") || error.contains("No such file");
            assert!(is_told, "{link}: {error}");
            assert!(!error.contains("root:"), "{link}: {error}");
        }
        for (link, why) in [
            ("../other/a.js.map", "outside of the script's folder"),
            ("..%2Fother%2Fa.js.map", "no file of this machine"),
            ("linked/a.js.map", "through a link"),
            ("maps", "no regular file"),
            ("none.map", "No such file"),
        ] {
            let error = site.map(link).unwrap_err();
            assert!(error.contains(why), "{link}: {error}");
        }
    }

    #[test]
    fn neither_is_what_only_looks_like_a_script() {
        let site = Site::new();
        site.map("a.js.map").unwrap();
        symlink(site.path("dist/a.js"), site.path("other/a.js")).unwrap();
        let linked = Url::from_file_path(site.path("other/a.js")).unwrap();
        for script in [
            linked.as_str(),
            "file:///dev/zero",
            "file:///proc",
            "file:///none/a.js",
        ] {
            let error = site.map_of(script).unwrap_err();
            let is_told = error.contains("no regular file") || error.contains("No such file");
            assert!(is_told, "{script}: {error}");
        }
        // A folder may be reached through a link: what counts is the folder itself.
        symlink(site.path("dist"), site.path("current")).unwrap();
        let current = Url::from_file_path(site.path("current/a.js")).unwrap();
        assert_eq!(
            site.map_of(current.as_str()),
            Ok(Some("dist/a.js.map".to_owned()))
        );
    }
}
