# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What a stress run does not count as a failure, though it looks like one: Servo's own defects, and consequences of
what the run itself has done.

An exemption is about one thing. It holds in one state only, and at most as often in an episode as its cap says. The
run counts how often each was used. The panics of Servo that are listed here happen without profilers, too
(--no-profilers).
"""

import calendar
import re
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..bench.sample_counts import LOGGED, PANIC
from ..crashes import Crash
from .episode import Episode

# The query of an address in the name of a thread.
QUERY = re.compile(r"\?[^ ,]+")
# What the panic hook writes after the text of a panic; see message() in components/shell/crash.rs.
THREAD = re.compile(r" \(thread (.*?)(?:, (\S+:\d+:\d+))?\)$")
# The most lines of a panic's text: that of assert_eq!, for example, has several.
MOST_LINES = 12
# The texts with which std ends the whole process after a panic. It has no others.
NO_UNWINDING = re.compile(r"^panic in a (?:function that cannot unwind|destructor during cleanup)\b")
# Begins each line that the browser itself writes.
SAYS = "strobe: "
# Stands between the page and the reason.
CRASHED = " crashed: "
ENGINE_DID_NOT_SHUT_DOWN = "the engine did not shut down within"
# The names of threads that run scripts begin with these: those of documents, of dedicated and of shared workers.
DOCUMENT_THREAD, WORKER_THREAD, SHARED_WORKER_THREAD = "Script#", "WW:", "SWW:"
SCRIPT_THREADS = (DOCUMENT_THREAD, WORKER_THREAD, SHARED_WORKER_THREAD)

# In the stacks that gdb prints: the name of a thread, and a function.
THREAD_NAME = re.compile(r'^[^\n]*"([^"\n]*)"')
FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?(.*)$", re.MULTILINE)
# The innermost function of a thread that waits.
WAITS = re.compile(r"^(?:syscall|epoll_wait|\w*poll|\w*futex_\w+|\w*nanosleep\w*|\w*(?:recv|read)\w*) \(")
# A collection of garbage, and what begins one because there is no room for an object.
COLLECTS = re.compile(r"\bjs::gc::GCRuntime::(?:collect|minorGC|gcCycle)\(")
ALLOCATES = re.compile(r"\bjs::gc::CellAllocator::|\bjs::gc::GCRuntime::attemptLastDitchGC\(")
# Our code, in Rust, in C++ and among Servo's.
OURS = re.compile(r"\bjs_profiler|\bprofile_recorder|\bstrobe(?:::|_)|\bdom::profiler\b")


@dataclass(frozen=True)
class Panic:
    """A panic of a thread that is not the main one, as the browser logs it."""

    # In seconds since 1970; the log has whole seconds.
    time: float
    # With the thread and the place, but without the queries of addresses.
    text: str

    @property
    def thread(self) -> str:
        match = THREAD.search(self.text)
        return match.group(1) if match else ""


@dataclass
class Circumstances:
    """What a play knows of its episode."""

    episode: Episode
    counts: dict[str, int] = field(default_factory=dict)
    # Processes of pages that it has killed.
    killed: set[int] = field(default_factory=set)
    # The earliest time at which the browser may have begun to end, and the time at which a page was first told to
    # leave, in seconds since 1970.
    ending: float | None = None
    left: float | None = None
    # Whether a page had sent a heartbeat before the browser was told to end.
    was_ready: bool = True
    # Whether every window that the browser was started with may have been in a process that was killed.
    lost_all_pages: bool = False
    # How many pages have sent no more heartbeats with an exemption.
    lost_pages: int = 0
    # Whether the browser had no processor on which it could have ended in time.
    was_starved: bool = False
    # The names of its threads when it was last seen, and whether it did nothing in the last seconds before.
    last_threads: frozenset[str] = frozenset()
    ended_idly: bool = False
    # Threads with an excused panic for lack of memory.
    denied: set[str] = field(default_factory=set)
    # Whether each process that crashes leaves a core.
    keeps_cores: bool = True
    # How many pages, and how many processes, have crashed with an exemption.
    crashed_pages: int = 0
    aborted: int = 0
    # How many threads of pages have panicked with an exemption.
    panicked_scripts: int = 0


@dataclass(frozen=True)
class State:
    """The state in which an exemption holds. `holds` gets the panic or the match of the pattern, if there is one."""

    # Stands after "only" in a message.
    text: str
    holds: Callable[[Circumstances, Panic | None, re.Match | None], bool]


@dataclass(frozen=True)
class Exemption:
    # As the figures name it.
    name: str
    # Why it is not a failure of ours.
    reason: str
    state: State
    # How often it may be used in an episode.
    cap: int
    # Matches the text of a panic, or a line of the browser.
    pattern: re.Pattern = re.compile("")


@dataclass(frozen=True)
class Deadlock(Exemption):
    """Two threads that wait for each other. `waits` match their stacks as gdb prints them, with no code of ours."""

    waits: tuple[re.Pattern, ...] = ()


@dataclass(frozen=True)
class Abort(Exemption):
    """A process that ends itself. `pattern` matches the line of the log that says why."""

    signals: tuple[int, ...] = ()
    # Matches a function on the stack of the thread that ends the process.
    function: re.Pattern = re.compile("")


def _ending(circumstances: Circumstances, panic: Panic | None, match: re.Match | None) -> bool:
    # The log has whole seconds: a panic in the second in which the end began may have come after that.
    return circumstances.ending is not None and panic is not None and panic.time + 1 > circumstances.ending


def _goes_away(circumstances: Circumstances, panic: Panic | None, match: re.Match | None) -> bool:
    counts = circumstances.counts
    if not counts.get("framesAdded"):
        return False
    has_left = circumstances.left is not None and panic is not None and panic.time + 1 > circumstances.left
    removed = counts.get("framesRemoved") or counts.get("windowsClosed")
    return bool(removed) or has_left or _ending(circumstances, panic, match)


def _only_shared_workers_are_left(circumstances: Circumstances) -> bool:
    left = [name for name in circumstances.last_threads if name.startswith(SCRIPT_THREADS)]
    return bool(left) and all(name.startswith(SHARED_WORKER_THREAD) for name in left)


ENDING = State("while the browser ends", _ending)
FRAMES_GO = State("where frames were added, and then one was removed or a page left", _goes_away)
# A page has its own process, so a kill takes no more than one of the pages that are watched.
KILLED_FOR_EACH = State(
    "after a process of pages was killed for each such page", lambda known, *_: len(known.killed) > known.lost_pages
)
KILLED_AND_IDLE = State(
    "after a process of pages was killed, where the browser did nothing while it ended",
    lambda known, *_: bool(known.killed) and known.ended_idly,
)
OF_KILLED = State("of a process that was killed", lambda known, _, match: int(match.group(1)) in known.killed)
SHORT_OF_MEMORY = State("in episodes about low memory", lambda known, *_: known.episode.short_of_memory)
AFTER_DENIAL = State(
    "in episodes about low memory, in a thread that was refused memory",
    lambda known, panic, _: known.episode.short_of_memory and panic.thread in known.denied,
)
# Where no core is kept, a process that crashed looks the same.
PROCESS_GONE = State(
    "after a process of pages was killed, or has ended itself for lack of memory, where cores are kept",
    lambda known, *_: bool(known.killed or known.aborted) and known.keeps_cores,
)
SHARED_WORKERS = State(
    "where of all threads that run scripts only those of shared workers are left",
    lambda known, *_: "sharedWorkers" in known.counts and _only_shared_workers_are_left(known),
)
STARVED = State("where the browser waited for a processor while it ended", lambda known, *_: known.was_starved)
SIGNALLED_EARLY = State(
    "where a signal comes before the first heartbeat",
    lambda known, *_: not known.was_ready and known.episode.ending.startswith("SIG"),
)
RECORDED_NOTHING = State(
    "where `strobe profile` ends before the first heartbeat",
    lambda known, *_: not known.was_ready and known.episode.profile_command is not None,
)
NO_PAGES = State(
    "where every page was killed, or a page has crashed with an exemption",
    lambda known, *_: bool(known.crashed_pages or known.aborted or (known.killed and known.lost_all_pages)),
)
ONE_PROCESS = State("in a single process", lambda known, *_: not known.episode.multiprocess)
TERMINATED_WORKERS = State(
    "in episodes about leaks, where a terminated worker runs",
    lambda known, *_: known.episode.feature == "leaks" and bool(known.counts.get("workersTerminated")),
)
FORCED = State("in episodes with a WebDriver session", lambda known, *_: known.episode.webdriver)
LEAKS = State("in episodes about leaks", lambda known, *_: known.episode.feature == "leaks")

_PLACE = r":\d+:\d+\)$"
_WORKER = r"\(thread S?WW:.*"
# A place in Servo's code or the engine's. Our files among Servo's have "profil" in their paths.
_SERVOS_OWN = r" \(thread .*, (?!\S*profil)\S*/(?:servo-script|servo-script-bindings|mozjs)-[^/]+/\S*" + _PLACE

SERVO_PANICS = (
    Exemption(
        "fetch-gone",
        "A worker fetches, but the thread that fetches for it has ended, perhaps in another process.",
        ENDING,
        8,
        re.compile(
            r"`Err` value: (?:Disconnected|SerializationError\(\"Error in IO: Broken pipe .*) "
            + _WORKER
            + r"/fetch/fetch\.rs"
            + _PLACE
        ),
    ),
    Exemption(
        "blob-url-gone",
        "A worker makes or revokes the URL of a blob, but the thread that keeps these URLs has ended.",
        ENDING,
        8,
        re.compile(r"`Err` value: Disconnected " + _WORKER + r"/url/url\.rs" + _PLACE),
    ),
    Exemption(
        "frame-owner-gone",
        "A frame is added or removed, but the constellation has ended.",
        ENDING,
        4,
        re.compile(r"`Err` value: Disconnected \(thread .*/htmliframeelement\.rs" + _PLACE),
    ),
    Exemption(
        "frame-parent-inactive",
        "A frame starts in another event loop than its parent, which is no longer active.",
        FRAMES_GO,
        3,
        re.compile(r"parent_proxy\.currently_active\(\)\.is_some\(\) \(thread .*/windowproxy\.rs" + _PLACE),
    ),
    Exemption(
        "page-browser-gone",
        "A page has a message for the constellation or the browser, which has ended.",
        ENDING,
        4,
        re.compile(
            r"`Err` value: (?:Disconnected|SerializationError\(\"Error in IO: (?:Broken pipe|Connection reset) .*) "
            r"\(thread .*/dom/window/window\.rs" + _PLACE
        ),
    ),
    Exemption(
        "embedder-gone",
        "A page has a message for the embedder, such as a change of its address, but the browser has ended.",
        ENDING,
        4,
        re.compile(r"`Err` value: Disconnected \(thread .*/dom/globalscope/globalscope\.rs" + _PLACE),
    ),
    Exemption(
        "fonts-gone",
        "A page is laid out, but the thread that has the fonts has ended.",
        ENDING,
        4,
        re.compile(
            r"^(?:SystemFontService has already exited\.|Failed to receive a response from live font cache) "
            r"\(thread .*/system_font_service_proxy\.rs" + _PLACE
        ),
    ),
    Exemption(
        "channel-untaken",
        "A message that holds a channel is dropped, because nobody receives it any more (only with debug assertions).",
        ENDING,
        4,
        re.compile(
            r"^assertion failed: self\.fd == -1 \(thread router-proxy, \S*/ipc-channel-[^/]+/\S*/mod\.rs" + _PLACE
        ),
    ),
    Exemption(
        "channel-untaken-told",
        "The thread that joins the one with such a message gets its panic.",
        ENDING,
        4,
        re.compile(r"^Failed to join on the router proxy thread: Any .*/ipc-channel-[^/]+/\S*router\.rs" + _PLACE),
    ),
    Exemption(
        "memory-reporter-unknown",
        "A process of pages was killed before it had registered its memory reporter. The thread that unregisters it "
        "panics.",
        OF_KILLED,
        1,
        re.compile(r"^UnregisterReporter: 'system-content-(\d+)' name is unknown \(thread MemoryProfiler, "),
    ),
)
# Panics whose text or place shows that memory was refused.
DENIALS = (
    Exemption(
        "memory-no-object",
        "The engine has no memory for an object, but Servo takes for granted that it gets one.",
        SHORT_OF_MEMORY,
        20,
        re.compile(r"^assertion failed: !\S*is_null\(\)" + _SERVOS_OWN),
    ),
    Exemption(
        "memory-call-failed",
        "A call of the engine fails for lack of memory, but Servo takes for granted that it succeeds.",
        SHORT_OF_MEMORY,
        20,
        re.compile(
            r"(?:^assertion failed: (?:unsafe \{ )?(?:\w+::)*JS_\w+\(.*|`Err` value: (?:JSFailed|\(\)))" + _SERVOS_OWN,
            re.DOTALL,
        ),
    ),
    Exemption(
        "memory-told",
        "Servo panics, and the text says that there is no memory.",
        SHORT_OF_MEMORY,
        20,
        re.compile(r"^.*\b(?:[Oo]ut of memory|OOM)\b.*" + _SERVOS_OWN),
    ),
)
# A panic in a place where it may not unwind, which ends the process.
NO_UNWINDING_FOR_MEMORY = Exemption(
    "memory-no-unwinding",
    "A panic for lack of memory happens below C++ of the engine or in another panic, where it may not unwind.",
    AFTER_DENIAL,
    4,
    NO_UNWINDING,
)
ABORTS = (
    Abort(
        "memory-abort",
        "Rust ends a process in which a panic for lack of memory may not unwind.",
        SHORT_OF_MEMORY,
        4,
        # Only excused panics of this kind are given to the pattern.
        NO_UNWINDING,
        # The engine replaces abort() where it can, and ends itself by a write to address 0.
        signals=(signal.SIGABRT, signal.SIGSEGV),
        function=re.compile(r"panic_nounwind|panic_cannot_unwind|panic_in_cleanup"),
    ),
    Abort(
        "memory-engine",
        "The engine ends a process where it cannot go on without the memory that it is refused.",
        SHORT_OF_MEMORY,
        4,
        re.compile(r"Hit MOZ_CRASH\(\[unhandlable oom\]"),
        # The engine ends itself by a write to address 0.
        signals=(signal.SIGSEGV,),
        function=re.compile(r"AutoEnterOOMUnsafeRegion::crash"),
    ),
    Abort(
        "memory-allocator",
        "Rust ends a process that is refused memory.",
        SHORT_OF_MEMORY,
        4,
        re.compile(r"^memory allocation of \d+ bytes failed"),
        signals=(signal.SIGABRT,),
        function=re.compile(r"handle_alloc_error|rust_oom|default_alloc_error_hook"),
    ),
)
SERVO_DEADLOCKS = (
    Deadlock(
        "namespace-deadlock",
        "A new worker holds the lock of the pipeline namespace and waits for an answer of the constellation, which is "
        "making a page in the same process and waits for the lock.",
        ONE_PROCESS,
        1,
        waits=(
            re.compile(r'^[^\n]*"Constellation"(?s:.*)lock_slow(?s:.*)PipelineNamespace::set_installer_sender'),
            re.compile(r'^[^\n]*"S?WW:(?s:.*)recv(?s:.*)PipelineNamespace::auto_install'),
        ),
    ),
)
PAGE_CRASHES = (
    Exemption(
        "page-process-gone",
        "Servo has a message for a page, but the page's process has ended.",
        PROCESS_GONE,
        10,
        re.compile(r"^Send failed \("),
    ),
)
# Messages after which the browser goes on.
HARMLESS = (
    Exemption(
        "page-process-told",
        "A process of pages says what it cannot do, as when the browser ends before it has come. Its pages go on.",
        State("in several processes", lambda known, *_: known.episode.multiprocess),
        20,
        re.compile(rf"^{SAYS}a page's process cannot "),
    ),
    Exemption(
        "servo-told",
        "Servo reports an error of its own to the browser, and goes on.",
        State("in every episode", lambda *_: True),
        20,
        re.compile(rf"^{SAYS}Servo: "),
    ),
)
# A line of a process of pages.
SCRIPT_THREAD_TOLD = Exemption(
    "script-thread-told",
    "The main thread of a process of pages joins the thread that runs them, and gets its panic.",
    State(
        "in several processes, where a thread of pages has panicked with an exemption",
        lambda known, *_: known.episode.multiprocess and known.panicked_scripts > 0,
    ),
    4,
    re.compile(
        r"^strobe: internal error: Failed to join on the script thread\.: Any .* \(thread main, "
        r"\S*/servo-\d[^/]*/\S*servo\.rs" + _PLACE
    ),
)
# Why the browser gives up waiting for the engine, the likeliest cause first.
UNENDED = (
    Exemption(
        "shared-worker-unended",
        "Servo waits for shared workers, which nobody ends. One that does nothing is enough.",
        SHARED_WORKERS,
        1,
    ),
    Exemption(
        "kill-unnoticed",
        "Servo waits for a message that a killed process would have sent.",
        KILLED_AND_IDLE,
        1,
    ),
    Exemption("end-starved", "The browser had no processor on which it could have ended in time.", STARVED, 1),
)
EARLY_SIGNAL = Exemption("signal-early", "The browser has no signal handler yet, or no page.", SIGNALLED_EARLY, 1)
EARLY_RECORDING = Exemption(
    "recording-early", "There is nothing to record, and the exit status says so.", RECORDED_NOTHING, 1
)
OWN_END = Exemption("own-end", "The browser ends when it has no page left.", NO_PAGES, 1)
LOST_PAGE = Exemption(
    "page-killed", "The page's process may have been killed, so the page sends no heartbeats.", KILLED_FOR_EACH, 3
)
UNENDED_WORKER = Exemption(
    "worker-unended", "Servo has terminated a worker, but its script still runs and is profiled.", TERMINATED_WORKERS, 3
)
# An episode forces ten samples at most.
UNFORCED_SAMPLE = Exemption(
    "sample-unforced",
    "A forced sample is refused, because a thread could not be stopped.",
    FORCED,
    3,
    re.compile(r": unknown error: \d+ profiling sessions have no sample: their thread could not be sampled$"),
)
COLLECTING_HANG = Exemption(
    "hang-collecting",
    "The engine's heap is full, so that it collects garbage whenever an object is made.",
    SHORT_OF_MEMORY,
    1,
)
OWN_HANG = Exemption(
    "hang-of-servos",
    "An engine that is almost out of memory may do nothing but collect garbage. It hangs without profilers, too.",
    SHORT_OF_MEMORY,
    1,
)
UNREPEATED_LEAK = Exemption(
    "leak-unrepeated",
    "What Servo and the allocator keep differs from run to run. Only what grows each time is a leak.",
    LEAKS,
    2,
)
EXEMPTIONS = (
    *SERVO_PANICS,
    *DENIALS,
    NO_UNWINDING_FOR_MEMORY,
    *ABORTS,
    *SERVO_DEADLOCKS,
    *PAGE_CRASHES,
    SCRIPT_THREAD_TOLD,
    *HARMLESS,
    *UNENDED,
    EARLY_SIGNAL,
    EARLY_RECORDING,
    OWN_END,
    LOST_PAGE,
    UNENDED_WORKER,
    UNFORCED_SAMPLE,
    COLLECTING_HANG,
    OWN_HANG,
    UNREPEATED_LEAK,
)


class Excuses:
    """How often each exemption was used in one episode."""

    def __init__(self):
        self.hits: dict[str, int] = {}

    def refuse(
        self,
        exemption: Exemption,
        circumstances: Circumstances,
        panic: Panic | None = None,
        match: re.Match | None = None,
    ) -> str | None:
        """Uses an exemption, or returns the reason why it does not hold."""
        if not exemption.state.holds(circumstances, panic, match):
            return f"known as {exemption.name}, but only {exemption.state.text}"
        if self.hits.get(exemption.name, 0) >= exemption.cap:
            return f"known as {exemption.name}, but no more than {exemption.cap} times in an episode"
        self.hits[exemption.name] = self.hits.get(exemption.name, 0) + 1
        return None

    def take(self, exemption: Exemption, circumstances: Circumstances) -> bool:
        return self.refuse(exemption, circumstances) is None

    def judge_panic(self, panic: Panic, circumstances: Circumstances) -> str | None:
        """The failure that a panic is, or None if it is excused."""
        problem = ""
        for exemption in (*SERVO_PANICS, *DENIALS, NO_UNWINDING_FOR_MEMORY):
            if match := exemption.pattern.search(panic.text):
                if (refusal := self.refuse(exemption, circumstances, panic, match)) is None:
                    if exemption in DENIALS:
                        circumstances.denied.add(panic.thread)
                    circumstances.panicked_scripts += panic.thread.startswith("Script#")
                    return None
                problem = f" ({refusal})"
        return f"a thread panicked: {panic.text}{problem}"

    def judge_page_crash(self, reason: str, excused: Iterable[str], circumstances: Circumstances) -> bool:
        """Whether the crash of a page is excused: by its panic, one of `excused`, or by its own exemption."""
        is_excused = reason in excused or any(
            exemption.pattern.search(reason) and self.take(exemption, circumstances) for exemption in PAGE_CRASHES
        )
        circumstances.crashed_pages += is_excused
        return is_excused

    def judge_crash(self, crash: Crash, told: list[str], circumstances: Circumstances) -> bool:
        """Whether the crash of a process is excused. `told` has the reasons in the log; the crash uses one up.

        Only the stack of the thread that crashed shows that it is the known crash. Without a stack none is excused.
        """
        for exemption in ABORTS:
            line = next((line for line in told if exemption.pattern.search(line)), None)
            is_its = crash.signal in exemption.signals and exemption.function.search(crash.stack)
            if line is not None and is_its and self.take(exemption, circumstances):
                told.remove(line)
                circumstances.aborted += 1
                return True
        return False

    def judge_deadlock(self, stacks: str, circumstances: Circumstances) -> bool:
        """Whether stacks, as gdb prints them, show a deadlock that is excused."""
        threads = _threads(stacks)
        return any(
            all(any(waits.search(thread) for thread in threads) for waits in deadlock.waits)
            and self.take(deadlock, circumstances)
            for deadlock in SERVO_DEADLOCKS
        )

    def judge_collections(self, stacks: str, circumstances: Circumstances) -> bool:
        """Whether stacks, as gdb prints them, show an engine that does nothing but collect garbage, and is excused."""
        return only_collects(stacks) and self.take(COLLECTING_HANG, circumstances)


def only_collects(stacks: str) -> bool:
    """Whether every thread that runs scripts waits, or is in a collection that an allocation has begun.

    There must be such a collection, and none of these threads may be in our code. Without a debugger there is no
    function to be seen.
    """
    collects = False
    for thread in _threads(stacks):
        name = THREAD_NAME.match(thread)
        if name is None or not name.group(1).startswith(SCRIPT_THREADS):
            continue
        frames = FRAME.findall(thread)
        if not frames or any(OURS.search(frame) for frame in frames):
            return False
        collections = [at for at, frame in enumerate(frames) if COLLECTS.search(frame)]
        # The innermost function is the first.
        if collections and any(ALLOCATES.search(frame) for frame in frames[collections[-1] :]):
            collects = True
        elif not WAITS.match(frames[0]):
            return False
    return collects


def _threads(stacks: str) -> list[str]:
    return re.split(r"^Thread \d+ ", stacks, flags=re.MULTILINE)


def without_queries(text: str) -> str:
    return QUERY.sub("?...", text)


def read_panics(log: str) -> list[Panic]:
    lines = log.splitlines()
    panics = []
    for at, line in enumerate(lines):
        if match := PANIC.match(line):
            text = _whole_text(match.group(1), lines[at + 1 : at + MOST_LINES])
            panics.append(Panic(_read_time(line), without_queries(text)))
    return panics


def said(log: str) -> list[str]:
    """The lines that the browser itself writes, rather than the log."""
    lines = log.splitlines()
    return [
        _whole_text(line, lines[at + 1 : at + MOST_LINES]) if CRASHED in line else line
        for at, line in enumerate(lines)
        if line.startswith(SAYS)
    ]


def denials_told(log: str) -> list[str]:
    """The lines of the log, panics apart, in which a process says that it ends for lack of memory."""
    return [
        line
        for line in log.splitlines()
        if any(exemption.pattern is not NO_UNWINDING and exemption.pattern.search(line) for exemption in ABORTS)
    ]


def _whole_text(first: str, following: list[str]) -> str:
    """A text up to the name of its thread, which may be on a later line; only the first line if no thread follows."""
    text = first
    for line in ["", *following]:
        if line and (LOGGED.match(line) or line.startswith(SAYS)):
            break
        text += f"\n{line}" if line else ""
        if THREAD.search(text):
            return text
    return first


def _read_time(line: str) -> float:
    stamp = line[1:].split(maxsplit=1)[0]
    return calendar.timegm(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))
