/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Turns the text of the address field into the URL of a page.

use std::ffi::OsStr;
use std::path::Path;

use url::{Host, Url};

use crate::url_argument;

/// The URL that `text` means. It may be a URL; the path of a file, relative to `working_directory` or to the
/// home folder (`~/`); or the name of a host, with an optional port and path.
///
/// A host is requested by https, unless it is this machine, is a numeric address, or has a port: servers in
/// development seldom have a certificate.
///
/// The error is a sentence for the person.
pub fn interpret(text: &str, working_directory: &Path) -> Result<Url, String> {
    // Pasted text may contain line breaks. No address does.
    let text: String = text.trim().split(['\n', '\r']).collect();
    if text.is_empty() {
        return Err("Type the address of a page.".to_owned());
    }
    if let Some(path) = url_argument::in_home(&text) {
        return resolve(path.as_os_str(), working_directory);
    }
    // A query without a path would mean the folder itself, which no person means.
    let has_no_path = text.starts_with(['?', '#']) && !working_directory.join(&text).exists();
    let refusal = match resolve(OsStr::new(&text), working_directory) {
        Ok(url) if !has_no_path => return Ok(url),
        Ok(_) => String::new(),
        Err(refusal) => refusal,
    };
    match host_url(&text) {
        Some(url) => Ok(url),
        // For a URL with a scheme or a path, the reason can be given.
        None if has_scheme(&text) || text.starts_with(['/', '.']) => Err(refusal),
        None => Err(format!("“{text}” is neither an address nor a file.")),
    }
}

fn resolve(text: &OsStr, working_directory: &Path) -> Result<Url, String> {
    url_argument::resolve(text, working_directory)
}

/// Whether the text is a URL, valid or not, rather than a host with a port.
fn has_scheme(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| {
        let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-');
        !scheme.is_empty()
            && scheme.bytes().all(letters)
            && !rest.starts_with(|first: char| first.is_ascii_digit())
    })
}

/// The URL of a host that was typed without a scheme. None if the text is not a host.
fn host_url(text: &str) -> Option<Url> {
    // An `@` would follow a name and a password, which people hardly type. An e-mail address is not a page.
    if text.contains(char::is_whitespace) || text.starts_with(['/', '.']) || has_scheme(text) {
        return None;
    }
    let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') {
        return None;
    }
    let url = Url::parse(&format!("https://{text}")).ok()?;
    let is_local = match url.host()? {
        Host::Domain(name) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            let labels: Vec<_> = name.split('.').collect();
            if labels.iter().any(|label| label.is_empty()) {
                return None;
            }
            let is_local = labels.last() == Some(&"localhost");
            // A single word without a port may be anything.
            if labels.len() == 1 && !is_local && !has_port(authority) {
                return None;
            }
            is_local
        },
        // The parser takes `7` for an IPv4 address. A person hardly means that.
        Host::Ipv4(_) if authority.matches('.').count() < 3 => return None,
        Host::Ipv4(_) | Host::Ipv6(_) => true,
    };
    match is_local || url.port().is_some() {
        true => Url::parse(&format!("http://{text}")).ok(),
        false => Some(url),
    }
}

fn has_port(authority: &str) -> bool {
    authority
        .rsplit_once(':')
        .is_some_and(|(_, port)| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    /// A temporary folder with a page in it, deleted when dropped.
    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("page.html"), "").unwrap();
            Self(folder)
        }

        fn interpret(&self, text: &str) -> Result<String, String> {
            interpret(text, self.0.path()).map(String::from)
        }
    }

    #[test]
    fn urls_and_files_mean_the_same_as_on_the_command_line() {
        let folder = Folder::new();
        for url in [
            "http://localhost:8000/page?a=b#c",
            "https://example.com/",
            "about:profiling",
            "data:text/html,<p>a b</p>",
        ] {
            assert_eq!(folder.interpret(url), Ok(url.to_owned()));
        }
        let file = format!("file://{}/page.html", folder.0.path().display());
        assert_eq!(folder.interpret("page.html"), Ok(file.clone()));
        assert_eq!(
            folder.interpret(folder.0.path().join("page.html").to_str().unwrap()),
            Ok(file)
        );
    }

    #[test]
    fn a_host_needs_no_scheme() {
        let folder = Folder::new();
        for (text, expected) in [
            ("example.com", "https://example.com/"),
            ("  example.com\n", "https://example.com/"),
            ("example.com/a", "https://example.com/a"),
            ("EXAMPLE.com?q=1#top", "https://example.com/?q=1#top"),
            ("bücher.example", "https://xn--bcher-kva.example/"),
            ("example.com:443", "https://example.com/"),
            ("example.com:8080/page", "http://example.com:8080/page"),
            ("localhost", "http://localhost/"),
            ("localhost:8000", "http://localhost:8000/"),
            ("api.localhost:8000/x", "http://api.localhost:8000/x"),
            ("build-server:8000", "http://build-server:8000/"),
            ("127.0.0.1:8000/page", "http://127.0.0.1:8000/page"),
            ("192.168.1.7", "http://192.168.1.7/"),
            ("[::1]:8000", "http://[::1]:8000/"),
        ] {
            assert_eq!(folder.interpret(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn other_text_is_refused_by_name() {
        let folder = Folder::new();
        for text in [
            "hello world",
            "hello",
            "a..b",
            "7",
            "1.5",
            "name@example.com",
            "?",
        ] {
            let message = folder.interpret(text).unwrap_err();
            assert!(message.contains(&format!("“{text}”")), "{message}");
        }
        for (text, complaint) in [
            ("", "Type the address"),
            (" \n", "Type the address"),
            ("gopher://example.com/", "'gopher'"),
            ("javascript:alert(1)", "'javascript'"),
            ("mailto:name@example.com", "'mailto'"),
            ("https://", "empty host"),
            ("/no/such/page.html", "/no/such/page.html"),
            ("./missing.html", "missing.html"),
            ("file:///no/such/page.html", "no such file"),
        ] {
            let message = folder.interpret(text).unwrap_err();
            assert!(message.contains(complaint), "{text}: {message}");
        }
    }
}
