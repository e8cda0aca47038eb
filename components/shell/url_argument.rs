/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! From what a person types on the command line to the URL of a page.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use url::{ParseError, Url};

/// The URL that `argument` means: an http, https, file, data or about URL, or the path of a file,
/// relative to `working_directory` unless absolute. A path may be followed by a query and a
/// fragment.
///
/// The error says what is wrong with the argument, which it names.
pub fn resolve(argument: &OsStr, working_directory: &Path) -> Result<Url, String> {
    let Some(text) = argument.to_str() else {
        // A URL is always Unicode, but a file name need not be.
        return resolve_path(Path::new(argument), working_directory)
            .ok_or_else(|| not_found(argument, working_directory));
    };
    if text.is_empty() {
        return Err("bad URL '': it is empty".to_owned());
    }

    match Url::parse(text) {
        Ok(url) => match url.scheme() {
            "http" | "https" | "about" => Ok(url),
            "data" if text.contains(',') => Ok(url),
            "data" => Err(format!(
                "bad URL '{text}': a data URL has a comma before its content"
            )),
            "file" => {
                let exists = url.to_file_path().is_ok_and(|path| path.exists());
                exists
                    .then_some(url)
                    .ok_or_else(|| format!("bad URL '{text}': there is no such file"))
            },
            scheme => resolve_path_text(text, working_directory)
                .ok_or_else(|| unsupported_scheme(text, scheme)),
        },
        Err(ParseError::RelativeUrlWithoutBase) => resolve_path_text(text, working_directory)
            .ok_or_else(|| not_found(argument, working_directory)),
        Err(error) => Err(format!("bad URL '{text}': {error}")),
    }
}

/// The file URL of an existing file. The name of the file may be followed by a query, a fragment or
/// both.
fn resolve_path_text(text: &str, working_directory: &Path) -> Option<Url> {
    if let Some(url) = resolve_path(Path::new(text), working_directory) {
        return Some(url);
    }
    let (path, suffix) = text.split_at(text.find(['?', '#'])?);
    let mut url = resolve_path(Path::new(path), working_directory)?;
    let (query, fragment) = match suffix.split_once('#') {
        Some((query, fragment)) => (query, Some(fragment)),
        None => (suffix, None),
    };
    url.set_query(query.strip_prefix('?'));
    url.set_fragment(fragment);
    Some(url)
}

fn resolve_path(path: &Path, working_directory: &Path) -> Option<Url> {
    let path = working_directory.join(path);
    let url = if fs::metadata(&path).ok()?.is_dir() {
        Url::from_directory_path(path)
    } else {
        Url::from_file_path(path)
    };
    // Parsing removes `.` and `..` from the path, as for every other URL.
    Url::parse(url.ok()?.as_str()).ok()
}

fn not_found(argument: &OsStr, working_directory: &Path) -> String {
    format!(
        "'{}' is neither a URL nor a file: there is no {}",
        argument.display(),
        working_directory.join(argument).display()
    )
}

fn unsupported_scheme(text: &str, scheme: &str) -> String {
    // `localhost:8000` and `example.com:8000/page` are URLs with the scheme "localhost" and so on.
    let port = text[scheme.len() + 1..]
        .split(['/', '?', '#'])
        .next()
        .unwrap_or_default();
    if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("bad URL '{text}': it has no scheme, as in 'http://{text}'");
    }
    format!(
        "bad URL '{text}': the scheme '{scheme}' is not one of http, https, file, data and about"
    )
}

/// The path in the home folder that `~/PATH` means. None for any other text.
pub fn in_home(text: &str) -> Option<PathBuf> {
    Some(env::home_dir()?.join(text.strip_prefix("~/")?))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    /// A folder with a few files, gone when dropped.
    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("pages")).unwrap();
            for file in ["page.html", "pages/a b.html", "odd?name#.html"] {
                fs::write(folder.path().join(file), "").unwrap();
            }
            Self(folder)
        }

        fn resolve(&self, argument: &str) -> Result<String, String> {
            resolve(OsStr::new(argument), self.0.path()).map(String::from)
        }

        fn url(&self, path: &str) -> Result<String, String> {
            Ok(format!("file://{}/{path}", self.0.path().display()))
        }
    }

    #[test]
    fn urls_stay_as_they_are() {
        let folder = Folder::new();
        for url in [
            "http://localhost:8000/page?a=b#c",
            "https://example.com/",
            "data:text/html,<p>hello</p>",
            "about:blank",
        ] {
            assert_eq!(folder.resolve(url), Ok(url.to_owned()));
        }
        let file = folder.url("page.html?a=b#c").unwrap();
        assert_eq!(folder.resolve(&file), Ok(file));
    }

    #[test]
    fn paths_are_relative_to_the_working_directory_or_absolute() {
        let folder = Folder::new();
        assert_eq!(folder.resolve("page.html"), folder.url("page.html"));
        assert_eq!(
            folder.resolve("./pages/../page.html"),
            folder.url("page.html")
        );
        assert_eq!(
            folder.resolve("pages/a b.html"),
            folder.url("pages/a%20b.html")
        );
        assert_eq!(folder.resolve("pages"), folder.url("pages/"));
        let absolute = folder.0.path().join("page.html");
        assert_eq!(
            folder.resolve(absolute.to_str().unwrap()),
            folder.url("page.html")
        );
    }

    #[test]
    fn a_path_may_have_a_query_and_a_fragment_unless_a_file_has_that_name() {
        let folder = Folder::new();
        assert_eq!(
            folder.resolve("page.html?interval=1#top"),
            folder.url("page.html?interval=1#top")
        );
        assert_eq!(
            folder.resolve("page.html#top?"),
            folder.url("page.html#top?")
        );
        assert_eq!(
            folder.resolve("odd?name#.html"),
            folder.url("odd%3Fname%23.html")
        );
    }

    #[cfg(unix)]
    #[test]
    fn the_name_of_a_file_need_not_be_unicode() {
        use std::os::unix::ffi::OsStrExt;

        let folder = Folder::new();
        let name = OsStr::from_bytes(b"\xff.html");
        assert!(resolve(name, folder.0.path()).is_err());
        fs::write(folder.0.path().join(name), "").unwrap();
        assert_eq!(
            resolve(name, folder.0.path()).map(String::from),
            folder.url("%FF.html")
        );
    }

    #[test]
    fn an_error_names_the_argument_and_what_is_wrong() {
        let folder = Folder::new();
        let missing = folder.resolve("missing.html").unwrap_err();
        assert!(missing.contains("'missing.html'"), "{missing}");
        assert!(
            missing.contains(folder.0.path().join("missing.html").to_str().unwrap()),
            "{missing}"
        );
        for (argument, complaint) in [
            ("", "empty"),
            ("http://", "empty host"),
            ("https://[::1", "invalid IPv6 address"),
            ("file:///no/such/page.html", "no such file"),
            ("file://elsewhere/page.html", "no such file"),
            ("data:text/html", "comma"),
            ("gopher://example.com/", "'gopher'"),
            ("localhost:8000", "'http://localhost:8000'"),
            ("example.com:80/page", "'http://example.com:80/page'"),
        ] {
            let message = folder.resolve(argument).unwrap_err();
            assert!(
                message.starts_with(&format!("bad URL '{argument}'")),
                "{message}"
            );
            assert!(message.contains(complaint), "{message}");
        }
    }
}
