/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! Servers whose certificates are trusted, or not.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{self, Child, Stdio};

use browser_tests::Command;
use tempfile::TempDir;

/// What the page of a server writes to its console.
const LOADED: &str = "the page has loaded";

/// Runs openssl in a folder.
fn openssl(folder: &Path) -> process::Command {
    let mut openssl = process::Command::new("openssl");
    openssl.current_dir(folder);
    openssl
}

/// Makes a certificate NAME.pem, and its key NAME.key.
fn make_certificate(folder: &Path, name: &str, options: &[&str]) {
    let output = openssl(folder)
        .args(["req", "-x509", "-noenc", "-days=2", "-newkey=ec"])
        .args(["-pkeyopt=ec_paramgen_curve:P-256"])
        .arg(format!("-subj=/CN={name}"))
        .arg(format!("-keyout={name}.key"))
        .arg(format!("-out={name}.pem"))
        .args(options)
        .output()
        .unwrap_or_else(|error| {
            panic!("openssl cannot be started: {error}; ./mach bootstrap installs it")
        });
    assert!(output.status.success(), "{name}: {output:?}");
}

/// A server with a certificate of an authority that nobody knows, until it is dropped.
struct SecureServer {
    folder: TempDir,
    server: Child,
    url: String,
}

impl SecureServer {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        make_certificate(folder.path(), "authority", &[]);
        make_certificate(folder.path(), "other", &[]);
        let of_server = [
            "-CA=authority.pem",
            "-CAkey=authority.key",
            "-addext=subjectAltName=IP:127.0.0.1",
            "-addext=basicConstraints=critical,CA:FALSE",
        ];
        make_certificate(folder.path(), "server", &of_server);
        let page = format!("<!DOCTYPE html><script>console.log('{LOADED}');</script>");
        fs::write(folder.path().join("page.html"), page).unwrap();
        let mut server = openssl(folder.path())
            .args(["s_server", "-WWW", "-accept=127.0.0.1:0"])
            .args(["-cert=server.pem", "-key=server.key"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(server.stdout.take().unwrap());
        let place = output
            .lines()
            .map_while(Result::ok)
            .find_map(|line| line.strip_prefix("ACCEPT ").map(str::to_owned));
        let place = place.unwrap_or_else(|| panic!("{:?}", server.wait()));
        Self {
            folder,
            server,
            url: format!("https://{place}/page.html"),
        }
    }

    fn file(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        path.to_str().unwrap().to_owned()
    }
}

impl Drop for SecureServer {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn only_certificates_that_the_person_trusts_are_accepted() {
    let server = SecureServer::start();
    let path = |name: &str| format!("--certificate-path={}", server.file(name));
    for (option, is_trusted) in [
        (None, false),
        (Some(path("authority.pem")), true),
        (Some("--ignore-certificate-errors".to_owned()), true),
        (Some(path("other.pem")), false),
    ] {
        let mut arguments = vec!["--headless", "--exit-after=load", &*server.url];
        arguments.extend(option.as_deref());
        let output = Command::start(&arguments).end();
        let told = format!("{option:?}: {}\n{}", output.text(), output.stderr);
        assert_eq!(output.text().contains(LOADED), is_trusted, "{told}");
        let refusal = format!("strobe: cannot load {}: ", server.url);
        assert_eq!(!output.stderr.contains(&refusal), is_trusted, "{told}");
        let status = if is_trusted { 0 } else { 1 };
        assert_eq!(output.status.code(), Some(status), "{told}");
    }
}
