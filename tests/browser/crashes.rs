/* This Source Code Form is subject to the terms of the Mozilla Public
 * License, v. 2.0. If a copy of the MPL was not distributed with this
 * file, You can obtain one at https://mozilla.org/MPL/2.0/. */

//! What is kept of a browser that crashes: its core, the stacks of all threads, and what the kernel says.
//! `python/strobe/crashes.py` does the same for the browsers that mach starts.

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirEntry, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tempfile::TempDir;

use crate::visit::BrowserProcess;

/// The signals that end a program because of an error in it.
const CRASH_SIGNALS: [(i32, &str); 6] = [
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGILL, "SIGILL"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGTRAP, "SIGTRAP"),
];

/// A shell's status for a command that a signal has ended, without the signal.
const STATUS_BY_SIGNAL: i32 = 128;

/// The kernel cuts a core at this size.
const LARGEST_CORE: u64 = 4 << 30;

/// How many cores and how many files with stacks are kept, the newest ones.
const MOST_CORES: usize = 3;
const MOST_STACKS: usize = 50;

/// gdb reads the symbols of the whole browser. It is killed after this time.
const DEBUGGER_BOUND: Duration = Duration::from_secs(300);

/// A core is written by then. That of the largest browser takes some seconds.
const CORE_BOUND: Duration = Duration::from_secs(60);

/// How often to check whether gdb, or the kernel, has finished.
const INTERVAL: Duration = Duration::from_millis(50);

/// How many lines of gdb, and of the kernel, are shown.
const MOST_LINES: usize = 20;

const CORE_PATTERN: &str = "/proc/sys/kernel/core_pattern";

/// What the kernel logs about a crash has one of these.
const KERNEL_SIGNS: [&str; 5] = [
    "segfault",
    "traps: ",
    "general protection",
    "Code: ",
    "Out of memory",
];

/// Watches for crashes of a browser and of its processes.
pub(crate) struct Watch {
    /// Where the kernel writes their cores. The error is the reason why it writes none.
    place: Result<Place, String>,
    /// Cores that were there before, with their times.
    old_cores: Vec<(PathBuf, SystemTime)>,
    /// What the kernel logs from now on. None if it may not be read.
    kernel_log: Option<File>,
    /// The folder in which the browser works.
    _own_folder: Option<TempDir>,
}

/// The files that may be cores.
#[derive(Clone, Debug, PartialEq)]
struct Place {
    folder: PathBuf,
    /// How their names begin.
    prefix: OsString,
    /// Whether the folder is that of one browser.
    is_own: bool,
}

/// What a core says.
#[derive(Debug, PartialEq)]
struct Core {
    process: u32,
    parent: u32,
    signal: i32,
}

impl Watch {
    /// Prepares a command that starts a browser. Each browser works in its own folder, unless the test has chosen one, so
    /// that cores with the same name do not replace each other.
    pub(crate) fn start(command: &mut Command) -> Self {
        let own_folder = command.get_current_dir().is_none().then(|| {
            let folder = tempfile::tempdir().expect("a folder for the browser");
            // Some tests run it as another user.
            let for_all = Permissions::from_mode(0o1777);
            fs::set_permissions(folder.path(), for_all).expect("it is ours");
            command.current_dir(folder.path());
            folder
        });
        let folder = command.get_current_dir().expect("was set");
        let pattern = fs::read_to_string(CORE_PATTERN).unwrap_or_default();
        let place = allow_cores().and_then(|()| place_of(pattern.trim_end(), folder));
        let old_cores = place.as_ref().map_or_else(|_| Vec::new(), Place::files);
        let kernel_log = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open("/dev/kmsg")
            .and_then(|mut log| log.seek(SeekFrom::End(0)).map(|_| log));
        Self {
            place,
            old_cores,
            kernel_log: kernel_log.ok(),
            _own_folder: own_folder,
        }
    }

    /// Ends a browser. If the kernel is just writing a core of it or of one of its processes, that is done first.
    pub(crate) fn kill(&self, browser: &mut Child) -> io::Result<ExitStatus> {
        let process = BrowserProcess::of(browser);
        let deadline = Instant::now() + CORE_BOUND;
        while [&[process.id()], &process.children()[..]]
            .concat()
            .into_iter()
            .any(writes_core)
            && Instant::now() < deadline
        {
            thread::sleep(INTERVAL);
        }
        // An error means that it has already ended.
        let _ = browser.kill();
        browser.wait()
    }

    /// What is known of the crashes of a browser that has ended, and of its processes. None if there were none.
    ///
    /// `program` is the browser's, for gdb.
    pub(crate) fn evidence(
        &self,
        process: u32,
        status: ExitStatus,
        program: &Path,
    ) -> Option<String> {
        let cores = self.cores(process);
        let crash = crash_signal(status);
        if crash.is_none() && cores.is_empty() {
            return None;
        }
        let mut told = Vec::new();
        for (file, core) in &cores {
            told.push(tell(file, core, program));
        }
        if let Some(signal) = crash
            && !cores.iter().any(|(_, core)| core.signal == signal)
        {
            let why = match &self.place {
                Ok(place) => format!("none was written to {}", place.folder.display()),
                Err(why) => why.clone(),
            };
            let name = signal_name(signal);
            told.push(format!(
                "process {process} of the browser crashed ({name})\n  no core: {why}"
            ));
        }
        told.push(self.kernel_lines());
        Some(told.join("\n"))
    }

    /// The new cores of a browser and its processes.
    fn cores(&self, process: u32) -> Vec<(PathBuf, Core)> {
        let Ok(place) = &self.place else {
            return Vec::new();
        };
        let new = place.files().into_iter();
        new.filter(|file| !self.old_cores.contains(file))
            .filter_map(|(file, _)| Some((read_core(&file).ok()??, file)))
            .filter(|(core, _)| place.is_own || core.process == process || core.parent == process)
            .map(|(core, file)| (file, core))
            .collect()
    }

    fn kernel_lines(&self) -> String {
        let Some(log) = &self.kernel_log else {
            return "  the kernel's log may not be read".to_owned();
        };
        let mut lines = Vec::new();
        let mut record = [0; 8192];
        loop {
            match (&mut &*log).read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    let record = String::from_utf8_lossy(&record[..length]);
                    // What is before the text are numbers.
                    let text = record.split_once(';').map_or("", |(_, text)| text);
                    let line = text.lines().next().unwrap_or_default();
                    if KERNEL_SIGNS.iter().any(|sign| line.contains(sign)) {
                        lines.push(format!("  kernel: {line}"));
                    }
                },
                // Older records were replaced by newer ones.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => {},
                Err(error) if error.kind() == ErrorKind::Interrupted => {},
                Err(_) => break,
            }
        }
        if lines.is_empty() {
            return "  the kernel has logged nothing about it".to_owned();
        }
        lines.truncate(MOST_LINES);
        lines.join("\n")
    }
}

impl Place {
    /// The files with their times.
    fn files(&self) -> Vec<(PathBuf, SystemTime)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let begins = |entry: &DirEntry| {
            let name = entry.file_name();
            name.as_encoded_bytes()
                .starts_with(self.prefix.as_encoded_bytes())
        };
        entries
            .filter(begins)
            .filter_map(|entry| {
                let about = entry.metadata().ok().filter(|about| about.is_file())?;
                Some((entry.path(), about.modified().ok()?))
            })
            .collect()
    }
}

fn writes_core(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/status"))
        .is_ok_and(|status| status.lines().any(|line| line == "CoreDumping:\t1"))
}

/// The signal by which a program crashed, if it did.
fn crash_signal(status: ExitStatus) -> Option<i32> {
    let signal = status
        .signal()
        .or_else(|| Some(status.code()? - STATUS_BY_SIGNAL))?;
    let is_crash = CRASH_SIGNALS.iter().any(|(number, _)| *number == signal);
    is_crash.then_some(signal)
}

fn signal_name(signal: i32) -> String {
    let known = CRASH_SIGNALS.iter().find(|(number, _)| *number == signal);
    known.map_or_else(
        || format!("signal {signal}"),
        |(_, name)| (*name).to_owned(),
    )
}

/// Lets this process and those that it starts write cores.
fn allow_cores() -> Result<(), String> {
    let hard = getrlimit(Resource::Core).maximum;
    let size = hard.map_or(LARGEST_CORE, |hard| hard.min(LARGEST_CORE));
    if size == 0 {
        return Err("the hard limit of cores is 0 (`ulimit -Hc`)".to_owned());
    }
    let limit = Rlimit {
        current: Some(size),
        maximum: hard,
    };
    setrlimit(Resource::Core, limit)
        .map_err(|error| format!("the limit of cores cannot be raised: {error}"))
}

/// Where a program that works in `folder` leaves its core, by the kernel's pattern: see core(5).
fn place_of(pattern: &str, folder: &Path) -> Result<Place, String> {
    if pattern.is_empty() {
        return Err(format!("{CORE_PATTERN} is empty"));
    }
    if pattern.starts_with('|') {
        return Err(format!(
            "the kernel gives cores to a program: {CORE_PATTERN} is `{pattern}`; with a file name there, such as \
             core.%p, they are kept"
        ));
    }
    let is_own = !pattern.starts_with('/');
    let file = folder.join(pattern);
    let (parent, name) = (file.parent(), file.file_name());
    let parent = parent.unwrap_or(Path::new("/")).to_owned();
    if parent.as_os_str().as_encoded_bytes().contains(&b'%') {
        return Err(format!("{CORE_PATTERN} has a variable folder: {pattern}"));
    }
    let name = name.and_then(OsStr::to_str).unwrap_or_default();
    Ok(Place {
        folder: parent,
        prefix: name.split('%').next().unwrap_or_default().into(),
        is_own,
    })
}

/// Reads what the kernel writes first into a core: see elf(5), and `elf_prstatus` and `elf_prpsinfo` in <sys/procfs.h>.
/// None if the file is no core of this processor.
fn read_core(file: &Path) -> io::Result<Option<Core>> {
    const HEADER: usize = 64;
    const PROGRAM_HEADER: usize = 56;
    const MOST_NOTES: u64 = 1 << 16;
    let file = File::open(file)?;
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0)?;
    let is_core = header.starts_with(b"\x7fELF\x02\x01") && header[16..18] == [4, 0];
    if !is_core {
        return Ok(None);
    }
    // The notes come first.
    let mut segment = [0; PROGRAM_HEADER];
    file.read_exact_at(&mut segment, long(&header, 32))?;
    let (offset, size) = (long(&segment, 8), long(&segment, 32));
    let mut notes = Vec::new();
    let mut from = &file;
    from.seek(SeekFrom::Start(offset))?;
    from.take(size.min(MOST_NOTES)).read_to_end(&mut notes)?;
    let aligned = |size: u32| (size as usize).next_multiple_of(4);
    let (mut rest, mut signal, mut ids) = (&notes[..], None, None);
    while let Some((head, body)) = rest.split_at_checked(12) {
        let name_size = aligned(word(head, 0));
        let size = aligned(word(head, 4));
        let Some(content) = body.get(name_size..name_size + size) else {
            break;
        };
        match word(head, 8) {
            // NT_PRSTATUS, of the thread that crashed first.
            1 if signal.is_none() && size >= 16 => {
                signal = Some(i32::from(content[12]) | (i32::from(content[13]) << 8));
            },
            // NT_PRPSINFO
            3 if size >= 32 => ids = Some((word(content, 24), word(content, 28))),
            _ => {},
        }
        rest = &body[name_size + size..];
    }
    Ok(signal.zip(ids).map(|(signal, (process, parent))| Core {
        process,
        parent,
        signal,
    }))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// Moves a core to where it is kept, writes the stacks beside it, and says where they are.
fn tell(file: &Path, core: &Core, program: &Path) -> String {
    /// Two tests may have crashes at once.
    static KEEPING: Mutex<()> = Mutex::new(());
    let Core {
        process, signal, ..
    } = core;
    let mut told = format!(
        "process {process} of the browser crashed ({})",
        signal_name(*signal)
    );
    let folder = folder();
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());
    let kept = folder.join(format!("{seconds}-{process}.core"));
    let _lock = KEEPING.lock();
    let moved = fs::create_dir_all(&folder).and_then(|()| {
        // The folder of cores may be on another disk.
        fs::rename(file, &kept).or_else(|_| {
            fs::copy(file, &kept)?;
            fs::remove_file(file)
        })
    });
    if let Err(error) = moved {
        return format!(
            "{told}\n  its core {} cannot be kept: {error}",
            file.display()
        );
    }
    told += &format!("\n  core: {}", kept.display());
    let stacks = kept.with_extension("txt");
    match save_stacks(&kept, program, &stacks) {
        Ok(text) => {
            told += &format!("\n  stacks of all threads: {}", stacks.display());
            let shown = text
                .lines()
                .filter(|line| line.starts_with('#') || line.starts_with("Program terminated"))
                .take(MOST_LINES);
            shown.for_each(|line| told += &format!("\n    {line}"));
        },
        Err(error) => told += &format!("\n  no stacks: gdb: {error}"),
    }
    remove_old(&folder, "core", MOST_CORES);
    remove_old(&folder, "txt", MOST_STACKS);
    told
}

/// The folder of what is kept, beside the other results of builds and tests.
fn folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    crate::repository().join(target).join("crashes")
}

/// Writes the stacks of all threads of a core, the crashed one first, and gives them.
fn save_stacks(core: &Path, program: &Path, saved: &Path) -> io::Result<String> {
    let output = File::create(saved)?;
    let mut debugger = Command::new("gdb");
    debugger.args(["-batch", "-nx", "-iex", "set debuginfod enabled off"]);
    for command in [
        "set pagination off",
        "backtrace 40",
        "info registers",
        "x/12i $pc-24",
        "thread apply all backtrace 30",
    ] {
        debugger.args(["-ex", command]);
    }
    let mut debugger = debugger
        .arg(program)
        .arg(core)
        .stdin(Stdio::null())
        .stderr(output.try_clone()?)
        .stdout(output)
        .spawn()
        .inspect_err(|_| drop(fs::remove_file(saved)))?;
    let deadline = Instant::now() + DEBUGGER_BOUND;
    while debugger.try_wait()?.is_none() {
        if Instant::now() > deadline {
            debugger.kill()?;
            debugger.wait()?;
            break;
        }
        thread::sleep(INTERVAL);
    }
    Ok(String::from_utf8_lossy(&fs::read(saved)?).into_owned())
}

/// Removes all but the newest files of a kind.
fn remove_old(folder: &Path, extension: &str, most: usize) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .map(|entry| entry.path())
        .filter(|file| file.extension().is_some_and(|found| found == extension))
        .filter_map(|file| Some((fs::metadata(&file).ok()?.modified().ok()?, file)))
        .collect();
    files.sort();
    let old = files.len().saturating_sub(most);
    for (_, file) in &files[..old] {
        let _ = fs::remove_file(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(script: &str) -> (Option<String>, Watch) {
        let shell = Path::new("/bin/sh");
        let mut command = Command::new(shell);
        command.args(["-c", script]);
        let watch = Watch::start(&mut command);
        let mut child = command.spawn().unwrap();
        let status = child.wait().unwrap();
        let evidence = watch.evidence(child.id(), status, shell);
        (evidence, watch)
    }

    /// The file after a word, if the evidence names one.
    fn file_after<'a>(evidence: &'a str, word: &str) -> Option<&'a Path> {
        let line = evidence.lines().find_map(|line| line.strip_prefix(word));
        line.map(Path::new)
    }

    fn assert_kept(script: &str, signal: &str) {
        let (evidence, watch) = run(script);
        let evidence = evidence.unwrap();
        assert!(
            evidence.contains(&format!(" crashed ({signal})")),
            "{evidence}"
        );
        assert!(evidence.contains("kernel"), "{evidence}");
        match (&watch.place, file_after(&evidence, "  core: ")) {
            (Ok(_), Some(core)) => {
                assert!(read_core(core).unwrap().is_some(), "{evidence}");
                match file_after(&evidence, "  stacks of all threads: ") {
                    Some(stacks) => {
                        let text = fs::read_to_string(stacks).unwrap();
                        assert!(text.contains("Program terminated with signal"), "{text}");
                        fs::remove_file(stacks).unwrap();
                    },
                    None => assert!(evidence.contains("no stacks: gdb: "), "{evidence}"),
                }
                fs::remove_file(core).unwrap();
            },
            (Ok(place), None) => panic!("{place:?}: {evidence}"),
            (Err(why), found) => {
                assert_eq!(found, None);
                assert!(evidence.contains(&format!("no core: {why}")), "{evidence}");
            },
        }
    }

    #[test]
    fn a_crash_leaves_its_core_and_stacks_or_the_reason_why_not() {
        assert_kept("kill -SEGV $$", "SIGSEGV");
        // A process of its own, whatever its own status is.
        let (_, watch) = run("true");
        if watch.place.is_ok() {
            assert_kept("sh -c 'kill -ABRT $$'; exit 0", "SIGABRT");
        }
    }

    #[test]
    fn other_ends_are_no_crashes() {
        for script in ["exit 0", "exit 1", "kill -KILL $$", "kill -TERM $$"] {
            assert_eq!(run(script).0, None, "{script}");
        }
    }

    #[test]
    fn a_shells_status_tells_of_a_crash() {
        let status = |number: i32| ExitStatus::from_raw(number << 8);
        assert_eq!(crash_signal(status(139)), Some(libc::SIGSEGV));
        for other in [0, 1, 2, 128, 130, 137, 143] {
            assert_eq!(crash_signal(status(other)), None);
        }
    }

    #[test]
    fn the_kernels_pattern_says_where_cores_are() {
        let place = |pattern| place_of(pattern, Path::new("/here"));
        let found = |folder: &str, prefix: &str, is_own| Place {
            folder: folder.into(),
            prefix: prefix.into(),
            is_own,
        };
        assert_eq!(place("core"), Ok(found("/here", "core", true)));
        assert_eq!(place("a/core.%e.%p"), Ok(found("/here/a", "core.", true)));
        assert_eq!(place("/tmp/%e.%p"), Ok(found("/tmp", "", false)));
        for none in ["", "|/usr/bin/handler %p", "/tmp/%e/core"] {
            assert!(place(none).is_err(), "{none}");
        }
    }

    #[test]
    fn only_the_newest_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..5 {
            let file = File::create(folder.path().join(format!("{number}.core"))).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(number))
                .unwrap();
        }
        File::create(folder.path().join("0.txt")).unwrap();
        remove_old(folder.path(), "core", 2);
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["0.txt", "3.core", "4.core"]);
    }
}
