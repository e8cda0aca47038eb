/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What about:profiling may ask of its server: the endpoint names that follow `profiling:`, and the answers, in
//! JSON.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use profile_commands::saved_file;
use profile_formats::{EventLoopKind, Format, ReadOptions, WriteError, write_viewer_data};
use profile_recorder::{EventLoops, Options, Recorder, StartError, Wanted};
use serde::Serialize;
use serde_json::json;
use url::Url;

use super::query::Query;
use super::recording_options::{OWN_PAGE, Present, recording_options};
use super::recordings::{NamedRecording, Recordings};
use super::status::State;
use crate::url_argument;

/// The recorder and the recordings. The caller has checked that the request is allowed.
pub struct Endpoints {
    recorder: Recorder,
    recordings: Recordings,
    /// Whether the source maps that scripts link to are applied to the recording.
    linked_maps: AtomicBool,
    /// Which source maps of the last recording that was made here are not used, as sentences.
    map_notices: Mutex<Vec<String>>,
}

#[derive(Debug)]
pub struct Failure {
    pub status: StatusCode,
    /// For the person: what is wrong, and with what.
    pub message: String,
}

impl Failure {
    pub fn to_json(&self) -> Vec<u8> {
        json!({ "error": self.message }).to_string().into_bytes()
    }
}

/// The request cannot be understood.
impl From<String> for Failure {
    fn from(message: String) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            message,
        }
    }
}

fn failure(status: StatusCode, message: impl Into<String>) -> Failure {
    Failure {
        status,
        message: message.into(),
    }
}

impl Endpoints {
    pub fn new(recorder: Recorder, recordings: Recordings) -> Self {
        Self {
            recorder,
            recordings,
            linked_maps: AtomicBool::default(),
            map_notices: Mutex::default(),
        }
    }

    fn map_notices(&self) -> MutexGuard<'_, Vec<String>> {
        self.map_notices
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    pub fn is_recording(&self) -> bool {
        self.recorder.progress().is_some()
    }

    /// Records everything from now on, with default options. The window's button does this.
    pub fn start_recording(&self) -> Result<(), String> {
        let options = Options {
            interval: Duration::from_millis(1),
            event_loops: EventLoops::All,
            kept: Wanted {
                max_samples: NonZeroU64::new(10_000_000),
                without_page: Some(OWN_PAGE),
                ..Wanted::default()
            },
            sources: false,
            linked_maps: true,
        };
        self.start(options).map_err(|error| error.to_string())
    }

    fn start(&self, options: Options) -> Result<(), StartError> {
        let linked_maps = options.linked_maps;
        self.recorder.start(options)?;
        self.linked_maps.store(linked_maps, Ordering::Relaxed);
        self.map_notices().clear();
        Ok(())
    }

    /// Gives the recording's id.
    pub fn stop_recording(&self) -> Result<String, String> {
        let mut recording = self
            .recorder
            .stop()
            .ok_or_else(|| "no recording is running".to_owned())?;
        if self.linked_maps.load(Ordering::Relaxed) {
            let notices = profile_formats::apply_own_maps(
                &mut recording,
                &profile_formats::deadline_of_maps(),
            );
            *self.map_notices() = notices.iter().map(ToString::to_string).collect();
        }
        Ok(self.recordings.add_made(recording))
    }

    /// Gives the id of the recording in a file, and what was guessed of it or is not used, as sentences.
    pub fn load_file(&self, file: &Path) -> Result<(String, Vec<String>), String> {
        let content = read_file(file).map_err(|error| about_file(file, &error).message)?;
        self.keep(file, &content, None)
    }

    /// The answer is JSON. `body` is called only if the endpoint needs it.
    pub fn answer(
        &self,
        endpoint: &str,
        mut query: Query,
        body: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<Vec<u8>, Failure> {
        match endpoint {
            "status" => {
                query.end()?;
                let map_notices = self.map_notices().clone();
                to_json(&State::of(
                    &self.recorder,
                    map_notices,
                    self.recordings.list(),
                ))
            },
            "start" => {
                let options =
                    recording_options(&mut query, |present| self.present_event_loops(present))?;
                query.end()?;
                self.start(options)
                    .map_err(|error| failure(StatusCode::CONFLICT, error.to_string()))?;
                to_json(&json!({}))
            },
            "stop" => {
                query.end()?;
                let recording = self
                    .stop_recording()
                    .map_err(|error| failure(StatusCode::CONFLICT, error))?;
                to_json(&json!({ "recording": recording }))
            },
            "recording" => {
                let kept = self.recording(&mut query)?;
                query.end()?;
                let mut data = Vec::new();
                write_viewer_data(&kept.recording, &mut data).map_err(|error| {
                    failure(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
                })?;
                Ok(data)
            },
            "load" => {
                let (recording, notices) = self.load(query, body)?;
                to_json(&json!({ "recording": recording, "notices": notices }))
            },
            "save" => to_json(&json!({ "path": self.save(query)?.to_string_lossy() })),
            "forget" => {
                let id = query.require("id")?;
                query.end()?;
                match self.recordings.forget(&id) {
                    true => to_json(&json!({})),
                    false => Err(no_recording(&id)),
                }
            },
            _ => Err(failure(
                StatusCode::NOT_FOUND,
                format!("profiling:{endpoint}: there is no such endpoint"),
            )),
        }
    }

    fn present_event_loops(&self, present: Present) -> EventLoops {
        let processes = self.recorder.status().processes;
        let is_wanted = |kind: &EventLoopKind| match present {
            Present::All => true,
            Present::Main => matches!(kind, EventLoopKind::Page { .. }),
        };
        let ids = processes
            .iter()
            .filter(|process| !process.gone)
            .flat_map(|process| &process.event_loops)
            .filter(|event_loop| is_wanted(&event_loop.kind))
            .map(|event_loop| event_loop.id)
            .collect();
        EventLoops::These {
            ids,
            new_ones: false,
        }
    }

    fn recording(&self, query: &mut Query) -> Result<Arc<NamedRecording>, Failure> {
        let id = query.require("id")?;
        self.recordings.get(&id).ok_or_else(|| no_recording(&id))
    }

    /// Gives the recording's id, and notices as [`Self::load_file`] does.
    fn load(
        &self,
        mut query: Query,
        body: impl FnOnce() -> Result<Vec<u8>, String>,
    ) -> Result<(String, Vec<String>), Failure> {
        let format = format(&mut query)?;
        let (path, name) = (query.take("path"), query.take("name"));
        query.end()?;
        let (file, content) = match (path, name) {
            (Some(path), None) => {
                let path = typed_path(&path)?;
                let content = read_file(&path).map_err(|error| about_file(&path, &error))?;
                (path, content)
            },
            (None, Some(name)) => {
                let content = body().map_err(|complaint| format!("{name}: {complaint}"))?;
                (PathBuf::from(name), content)
            },
            _ => {
                return Err("give either the name or the path of a file"
                    .to_owned()
                    .into());
            },
        };
        Ok(self.keep(&file, &content, format)?)
    }

    /// Keeps the recording in a file, and gives its id and notices.
    fn keep(
        &self,
        file: &Path,
        content: &[u8],
        format: Option<Format>,
    ) -> Result<(String, Vec<String>), String> {
        let options = ReadOptions {
            format,
            ..ReadOptions::default()
        };
        let (recording, _, notices) = profile_formats::read_with(content, Some(file), options)
            .map_err(|error| format!("{}: {error}", file.display()))?;
        let name = file.file_name().unwrap_or(file.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let notices = notices.iter().map(ToString::to_string).collect();
        Ok((self.recordings.add_loaded(name, recording), notices))
    }

    /// Gives the path of the file that was written.
    fn save(&self, mut query: Query) -> Result<PathBuf, Failure> {
        let kept = self.recording(&mut query)?;
        let format = format(&mut query)?.ok_or_else(|| "format is missing".to_owned())?;
        let path = query
            .take("path")
            .map(|path| typed_path(&path))
            .transpose()?;
        let event_loop = query.parse::<usize>("eventLoop")?;
        query.end()?;
        let one;
        let recording = match event_loop {
            Some(index) => {
                one = kept.recording.only(index).ok_or_else(|| {
                    let count = kept.recording.event_loops().count();
                    format!(
                        "eventLoop={index}: the recording has {count} event loops, numbered from 0"
                    )
                })?;
                &one
            },
            None => &kept.recording,
        };
        let (path, error) = match path {
            Some(path) => match profile_formats::create_new(&path, format, recording) {
                Ok(()) => return Ok(path),
                Err(error) => (path, error),
            },
            None => {
                let (folder, extension) = (downloads()?, format.extension());
                let stem = saved_file::as_file_stem(&kept.name);
                match profile_formats::create_numbered(&folder, &stem, extension, format, recording)
                {
                    Ok(path) => return Ok(path),
                    Err(error) => error,
                }
            },
        };
        Err(match error {
            WriteError::Io(error) if error.kind() == io::ErrorKind::AlreadyExists => failure(
                StatusCode::CONFLICT,
                format!("{}: the file already exists", path.display()),
            ),
            WriteError::Io(error) => about_file(&path, &error),
            WriteError::Unfit(why) | WriteError::TooLarge(why) => {
                failure(StatusCode::UNPROCESSABLE_ENTITY, why)
            },
        })
    }
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value)
        .map_err(|error| failure(StatusCode::INTERNAL_SERVER_ERROR, error.to_string()))
}

fn no_recording(id: &str) -> Failure {
    failure(
        StatusCode::NOT_FOUND,
        format!("recording {id} does not exist any more"),
    )
}

fn about_file(path: &Path, error: &io::Error) -> Failure {
    failure(
        StatusCode::UNPROCESSABLE_ENTITY,
        format!("{}: {error}", path.display()),
    )
}

fn format(query: &mut Query) -> Result<Option<Format>, String> {
    query.read("format", |name| {
        Format::by_name(name).ok_or_else(|| format!("it must be one of {}", Format::names()))
    })
}

/// A path as a person types it, or the file URL of a file that was dropped.
fn typed_path(text: &str) -> Result<PathBuf, Failure> {
    let path = match Url::parse(text) {
        Ok(url) if url.scheme() == "file" => url
            .to_file_path()
            .map_err(|()| format!("{text}: it is not a file on this machine"))?,
        _ => url_argument::in_home(text).unwrap_or_else(|| PathBuf::from(text)),
    };
    match path.is_absolute() {
        true => Ok(path),
        // A person need not know in which directory the browser was started.
        false => Err(format!("{text}: it is not an absolute path").into()),
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    profile_formats::content(File::open(path)?)
}

/// The download folder, or else the home folder.
fn downloads() -> Result<PathBuf, Failure> {
    dirs::download_dir()
        .filter(|folder| folder.is_dir())
        .or_else(dirs::home_dir)
        .ok_or_else(|| {
            failure(
                StatusCode::UNPROCESSABLE_ENTITY,
                "there is no home folder to save to; give a path",
            )
        })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::Value;
    use tempfile::TempDir;

    use super::*;
    use crate::versions;

    const TEXT: &str = "[main];f;g 2\n[main];f 1\n[worker];h 4\n";

    fn no_body() -> Result<Vec<u8>, String> {
        Err("no body".to_owned())
    }

    struct Server {
        endpoints: Endpoints,
        folder: TempDir,
    }

    impl Server {
        fn new() -> Self {
            Self {
                endpoints: Endpoints::new(
                    Recorder::new(versions::browser()),
                    Recordings::default(),
                ),
                folder: tempfile::tempdir().unwrap(),
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn ask(&self, request: &str) -> Result<Value, Failure> {
            self.ask_with(request, no_body)
        }

        fn ask_with(
            &self,
            request: &str,
            body: impl FnOnce() -> Result<Vec<u8>, String>,
        ) -> Result<Value, Failure> {
            let url = Url::parse(&format!("profiling:{request}")).unwrap();
            let json = self.endpoints.answer(url.path(), Query::of(&url), body)?;
            Ok(serde_json::from_slice(&json).unwrap())
        }

        fn refused(&self, request: &str) -> (u16, String) {
            let failure = self.ask(request).expect_err(request);
            (failure.status.as_u16(), failure.message)
        }

        fn load(&self) -> String {
            let answer = self
                .ask_with("load?name=some.folded", || Ok(TEXT.into()))
                .unwrap();
            answer["recording"].as_str().unwrap().to_owned()
        }
    }

    #[test]
    fn a_loaded_recording_is_listed_shown_and_forgotten() {
        let server = Server::new();
        let id = server.load();
        let status = server.ask("status").unwrap();
        assert_eq!(
            status["recordings"],
            json!([{ "id": id, "name": "some.folded", "samples": 7, "eventLoops": 2 }])
        );
        assert_eq!(status["recording"], Value::Null);
        assert_eq!(status["browser"]["name"], "Strobe");
        let data = server.ask(&format!("recording?id={id}")).unwrap();
        assert_eq!(data["version"], 2);
        assert_eq!(data["processes"][0]["eventLoops"][1]["name"], "worker");
        assert_eq!(server.ask(&format!("forget?id={id}")).unwrap(), json!({}));
        assert_eq!(server.refused(&format!("forget?id={id}")).0, 404);
        assert_eq!(server.refused(&format!("recording?id={id}")).0, 404);
        assert_eq!(server.ask("status").unwrap()["recordings"], json!([]));
    }

    #[test]
    fn what_was_guessed_of_a_file_is_told() {
        let server = Server::new();
        let load = |text: &'static str| {
            let answer = server.ask_with("load?name=a.folded", || Ok(text.into()));
            answer.unwrap()["notices"].take()
        };
        assert_eq!(load("f 1\ng 2\n"), json!([]));
        let notices = load("f 200000\ng 300000\n");
        let notice = notices[0].as_str().unwrap();
        assert!(
            notice.starts_with("a.folded: the counts are taken for nanoseconds"),
            "{notice}"
        );
    }

    #[test]
    fn what_is_saved_is_loaded_again() {
        let server = Server::new();
        let id = server.load();
        for format in Format::ALL {
            let extension = format.extension();
            let path = server.path(&format!("a.{extension}"));
            let one = match format.holds_one_event_loop() {
                true => "&eventLoop=0",
                false => "",
            };
            let request = format!("save?id={id}&format={format}&path={}{one}", path.display());
            let saved = server.ask(&request).unwrap();
            assert_eq!(saved["path"], path.to_str().unwrap());
            let (status, message) = server.refused(&request);
            assert_eq!(status, 409, "{message}");
            assert!(message.contains(path.to_str().unwrap()), "{message}");

            let loaded = server.ask(&format!("load?path=file://{}", path.display()));
            let loaded = loaded.unwrap()["recording"].as_str().unwrap().to_owned();
            let listed = server.ask("status").unwrap()["recordings"].take();
            let listed = listed.as_array().unwrap().last().unwrap().clone();
            assert_eq!(listed["id"], loaded);
            let samples = if one.is_empty() { 7 } else { 3 };
            assert_eq!(listed["samples"], samples, "{format}");
        }
    }

    #[test]
    fn a_path_that_ends_in_gz_is_of_a_compressed_file() {
        let server = Server::new();
        let id = server.load();
        let path = server.path("a.json.gz").display().to_string();
        let request = format!("save?id={id}&format=speedscope&path={path}");
        assert_eq!(server.ask(&request).unwrap()["path"], path.as_str());
        assert!(fs::read(&path).unwrap().starts_with(b"\x1f\x8b"));
        server.ask(&format!("load?path={path}")).unwrap();
        let recordings = server.ask("status").unwrap()["recordings"].take();
        assert_eq!(recordings[1]["samples"], 7, "{recordings}");
    }

    #[test]
    fn what_would_be_too_large_is_refused_and_leaves_no_file() {
        let server = Server::new();
        let text: String = (0..1_000)
            .map(|name| format!("[{name}];f {}\n", 1_u64 << 52))
            .collect();
        let answer = server.ask_with("load?name=a.folded", || Ok(text.into_bytes()));
        let id = answer.unwrap()["recording"].as_str().unwrap().to_owned();
        let path = server.path("a.firefox.json");
        let (status, message) = server.refused(&format!(
            "save?id={id}&format=firefox&path={}",
            path.display()
        ));
        assert_eq!(status, 422, "{message}");
        assert!(message.contains("bytes"), "{message}");
        assert!(!path.exists());
    }

    #[test]
    fn an_error_names_what_and_where() {
        let server = Server::new();
        let id = server.load();
        let folder = server.folder.path().display().to_string();
        fs::write(server.path("bad.folded"), "f 1\nf x\n").unwrap();
        for (request, status, parts) in [
            ("dance", 404, &["profiling:dance"][..]),
            ("", 404, &["profiling:"]),
            ("status?x=1", 400, &["x: "]),
            ("start", 400, &["interval is missing"]),
            ("start?interval=0", 400, &["interval=0: "]),
            ("start?interval=1&eventLoops=7", 400, &["eventLoops", "'7'"]),
            ("start?interval=1&maxSamples=0", 400, &["maxSamples=0"]),
            ("start?interval=1&keepLast=x", 400, &["keepLast=x"]),
            ("start?interval=1&ownPage=x", 400, &["ownPage=x"]),
            ("start?interval=1&sources=x", 400, &["sources=x"]),
            ("start?interval=1&linkedMaps=x", 400, &["linkedMaps=x"]),
            ("start?interval=1&fast=1", 400, &["fast"]),
            ("stop", 409, &["no recording"]),
            ("recording", 400, &["id is missing"]),
            ("recording?id=x", 404, &["recording x"]),
            ("load", 400, &["name", "path"]),
            ("load?name=a.json", 400, &["a.json: no body"]),
            (
                "load?path=a.json",
                400,
                &["a.json: it is not an absolute path"],
            ),
            (
                "load?path=FOLDER/none",
                422,
                &["FOLDER/none: ", "No such file"],
            ),
            (
                "load?path=FOLDER/bad.folded",
                400,
                &["FOLDER/bad.folded: line 2: "],
            ),
            ("load?name=a&format=perf", 400, &["format=perf", "firefox"]),
            ("save?id=ID", 400, &["format is missing"]),
            ("save?id=ID&format=x", 400, &["format=x"]),
            (
                "save?id=ID&format=trace&path=FOLDER/a",
                422,
                &["one event loop", "worker"],
            ),
            (
                "save?id=ID&format=trace&path=FOLDER/a&eventLoop=2",
                400,
                &["eventLoop=2", "has 2 event loops"],
            ),
            (
                "save?id=ID&format=firefox&path=FOLDER/none/a",
                422,
                &["FOLDER/none/a: ", "No such file"],
            ),
        ] {
            let request = request.replace("FOLDER", &folder).replace("ID", &id);
            let (actual, message) = server.refused(&request);
            assert_eq!(actual, status, "{request}: {message}");
            for part in parts {
                let part = part.replace("FOLDER", &folder);
                assert!(message.contains(&part), "{request}: {message}");
            }
        }
        assert!(!server.path("a").exists());
    }
}
