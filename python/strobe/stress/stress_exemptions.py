# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What a stress run does not count as a failure, though it looks like one: defects of Servo's own, and what follows
from what the run itself has done.

An exemption is about one thing. It holds in one state alone, and no more often in an episode than its cap says. The
run counts how often each was used. Panics of Servo's that are here happen without profilers, too (--no-profilers).
"""

import calendar
import re
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from ..bench.sample_counts import LOGGED, PANIC
from .stress_episode import Episode

# Of an address in the name of a thread.
QUERY = re.compile(r"\?[^ ,]+")
# What the panic hook writes behind the text of a panic; see message() in components/shell/crash.rs.
THREAD = re.compile(r" \(thread (.*?)(?:, (\S+:\d+:\d+))?\)$")
# A text of more than one line, such as that of assert_eq!, has no more than these.
MOST_LINES = 12
# After which a panic ends the whole process: std has no other texts for it.
NO_UNWINDING = re.compile(r"^panic in a (?:function that cannot unwind|destructor during cleanup)\b")
# What the browser itself says begins with it.
SAYS = "strobe: "
# Between the page and the reason.
CRASHED = " crashed: "
ENGINE_DID_NOT_SHUT_DOWN = "the engine did not shut down within"


@dataclass(frozen=True)
class Panic:
    """A panic of a thread that is not the main one, as the browser logs it."""

    # In seconds since 1970; the log has whole ones.
    time: float
    # With the thread and the place, and without the queries of addresses.
    text: str

    @property
    def thread(self) -> str:
        match = THREAD.search(self.text)
        return match.group(1) if match else ""


@dataclass(frozen=True)
class Crash:
    """A process that a signal of an error has ended."""

    pid: int
    # 0 if it is not known.
    signal: int
    # Of the thread that crashed; "" if there is no core or no debugger.
    stack: str


@dataclass
class Circumstances:
    """What a play knows of its episode."""

    episode: Episode
    counts: dict[str, int] = field(default_factory=dict)
    # Processes of pages that it has killed.
    killed: set[int] = field(default_factory=set)
    # When the browser began to end at the earliest, and when a page was first told to leave, in seconds since 1970.
    ending: float | None = None
    left: float | None = None
    # Whether a page had come to life when the browser was to end.
    was_ready: bool = True
    # Whether every window that the browser was started with may have been in a process that was killed.
    lost_all_pages: bool = False
    # Whether the browser had no processor on which it could have ended in time.
    was_starved: bool = False
    # Threads with an excused panic for want of memory.
    denied: set[str] = field(default_factory=set)
    # Pages with an excused crash, and processes.
    crashed_pages: int = 0
    aborted: int = 0


@dataclass(frozen=True)
class State:
    """In which an exemption holds. `holds` gets what it is about, if that is a panic or a match of the pattern."""

    # Behind "only".
    text: str
    holds: Callable[[Circumstances, Panic | None, re.Match | None], bool]


@dataclass(frozen=True)
class Exemption:
    # As the figures have it.
    name: str
    # Why it is no failure of ours.
    reason: str
    state: State
    # How often in an episode.
    cap: int
    # Of the text of a panic, or of what the browser says.
    pattern: re.Pattern = re.compile("")


@dataclass(frozen=True)
class Deadlock(Exemption):
    """What each of two threads waits in, as gdb prints them, with no code of ours."""

    waits: tuple[re.Pattern, ...] = ()


@dataclass(frozen=True)
class Abort(Exemption):
    """A process that ends itself. `pattern` is of the line of the log that says why."""

    signal: int = 0
    # Of a function in the stack of the thread that ends it.
    function: re.Pattern = re.compile("")


def _ending(circumstances: Circumstances, panic: Panic | None, match: re.Match | None) -> bool:
    # What is logged in the second in which it began may have come after that.
    return circumstances.ending is not None and panic is not None and panic.time + 1 > circumstances.ending


def _goes_away(circumstances: Circumstances, panic: Panic | None, match: re.Match | None) -> bool:
    counts = circumstances.counts
    if not counts.get("framesAdded"):
        return False
    has_left = circumstances.left is not None and panic is not None and panic.time + 1 > circumstances.left
    removed = counts.get("framesRemoved") or counts.get("windowsClosed")
    return bool(removed) or has_left or _ending(circumstances, panic, match)


ENDING = State("while the browser ends", _ending)
FRAMES_GO = State("where frames were added, and then one was removed or a page left", _goes_away)
KILLED = State("after a process of pages was killed", lambda known, *_: bool(known.killed))
OF_KILLED = State("of a process that was killed", lambda known, _, match: int(match.group(1)) in known.killed)
SHORT_OF_MEMORY = State("in episodes about short memory", lambda known, *_: known.episode.short_of_memory)
AFTER_DENIAL = State(
    "in episodes about short memory, in a thread that was denied some",
    lambda known, panic, _: known.episode.short_of_memory and panic.thread in known.denied,
)
PROCESS_GONE = State(
    "after a process of pages was killed, or has ended itself for want of memory",
    lambda known, *_: bool(known.killed or known.aborted),
)
SHARED_WORKERS = State("where a shared worker was started", lambda known, *_: "sharedWorkers" in known.counts)
STARVED = State("where the end waited for a processor", lambda known, *_: known.was_starved)
SIGNALLED_EARLY = State(
    "where a signal comes before any page beats",
    lambda known, *_: not known.was_ready and known.episode.ending.startswith("SIG"),
)
RECORDED_NOTHING = State(
    "where `strobe profile` ends before any page beats",
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
# No code of ours, also where it is among Servo's.
_SERVOS_OWN = r" \(thread .*, (?!\S*profil)\S*/(?:servo-script|servo-script-bindings|mozjs)-[^/]+/\S*" + _PLACE

SERVO_PANICS = (
    Exemption(
        "fetch-gone",
        "A worker fetches, and what fetches for it, in another process perhaps, has gone.",
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
        "A worker makes or revokes the URL of a blob, and what keeps these has gone.",
        ENDING,
        8,
        re.compile(r"`Err` value: Disconnected " + _WORKER + r"/url/url\.rs" + _PLACE),
    ),
    Exemption(
        "frame-owner-gone",
        "A frame is removed or begins, and the constellation has gone.",
        ENDING,
        4,
        re.compile(r"`Err` value: Disconnected \(thread .*/htmliframeelement\.rs" + _PLACE),
    ),
    Exemption(
        "frame-parent-inactive",
        "A frame in another event loop than its parent's begins when that is not active any more.",
        FRAMES_GO,
        3,
        re.compile(r"parent_proxy\.currently_active\(\)\.is_some\(\) \(thread .*/windowproxy\.rs" + _PLACE),
    ),
    Exemption(
        "page-browser-gone",
        "A page has a message for the constellation or the browser, which has gone.",
        ENDING,
        4,
        re.compile(r"`Err` value: Disconnected \(thread .*/dom/window/window\.rs" + _PLACE),
    ),
    Exemption(
        "embedder-gone",
        "A page has a message for the embedder, a change of its address perhaps, and the browser has gone.",
        ENDING,
        4,
        re.compile(r"`Err` value: Disconnected \(thread .*/dom/globalscope/globalscope\.rs" + _PLACE),
    ),
    Exemption(
        "fonts-gone",
        "A page is laid out, and what has the fonts has gone.",
        ENDING,
        4,
        re.compile(
            r"^SystemFontService has already exited\. \(thread .*/system_font_service_proxy\.rs" + _PLACE
        ),
    ),
    Exemption(
        "channel-untaken",
        "A message with a channel in it is dropped, for nobody takes it any more (with debug assertions alone).",
        ENDING,
        4,
        re.compile(
            r"^assertion failed: self\.fd == -1 \(thread router-proxy, \S*/ipc-channel-[^/]+/\S*/mod\.rs" + _PLACE
        ),
    ),
    Exemption(
        "channel-untaken-told",
        "Who waits for the thread of such a message is told of its panic.",
        ENDING,
        4,
        re.compile(r"^Failed to join on the router proxy thread: Any .*/ipc-channel-[^/]+/\S*router\.rs" + _PLACE),
    ),
    Exemption(
        "memory-reporter-unknown",
        "A process of pages was killed before it had told of its memory. The thread that is told ends with it.",
        OF_KILLED,
        1,
        re.compile(r"^UnregisterReporter: 'system-content-(\d+)' name is unknown \(thread MemoryProfiler, "),
    ),
)
# Panics that say, or show by where they are, that memory was denied.
DENIALS = (
    Exemption(
        "memory-no-object",
        "The engine has no memory for an object, and Servo takes for granted that it gets one.",
        SHORT_OF_MEMORY,
        20,
        re.compile(r"^assertion failed: !\S*is_null\(\)" + _SERVOS_OWN),
    ),
    Exemption(
        "memory-call-failed",
        "A call of the engine fails for want of memory, and Servo takes for granted that it does not.",
        SHORT_OF_MEMORY,
        20,
        re.compile(
            r"(?:^assertion failed: (?:unsafe \{ )?(?:\w+::)*JS_\w+\(.*|`Err` value: JSFailed)" + _SERVOS_OWN, re.DOTALL
        ),
    ),
    Exemption(
        "memory-told",
        "Servo panics with a text that tells of no memory.",
        SHORT_OF_MEMORY,
        20,
        re.compile(r"^.*\b(?:[Oo]ut of memory|OOM)\b.*" + _SERVOS_OWN),
    ),
)
# The panic of a panic, which ends the process.
NO_UNWINDING_FOR_MEMORY = Exemption(
    "memory-no-unwinding",
    "A panic for want of memory is in C++ of the engine's or in another panic, through which nothing may unwind.",
    AFTER_DENIAL,
    4,
    NO_UNWINDING,
)
ABORTS = (
    Abort(
        "memory-abort",
        "Rust ends a process in which a panic for want of memory may not unwind.",
        SHORT_OF_MEMORY,
        4,
        # Those that are excused.
        NO_UNWINDING,
        signal=signal.SIGABRT,
        function=re.compile(r"panic_nounwind|panic_cannot_unwind|panic_in_cleanup"),
    ),
    Abort(
        "memory-engine",
        "The engine ends a process where it cannot go on without the memory that it is denied.",
        SHORT_OF_MEMORY,
        4,
        re.compile(r"Hit MOZ_CRASH\(\[unhandlable oom\]"),
        # It writes to address 0.
        signal=signal.SIGSEGV,
        function=re.compile(r"AutoEnterOOMUnsafeRegion::crash"),
    ),
    Abort(
        "memory-allocator",
        "Rust ends a process that is denied memory.",
        SHORT_OF_MEMORY,
        4,
        re.compile(r"^memory allocation of \d+ bytes failed"),
        signal=signal.SIGABRT,
        function=re.compile(r"handle_alloc_error|rust_oom|default_alloc_error_hook"),
    ),
)
SERVO_DEADLOCKS = (
    Deadlock(
        "namespace-deadlock",
        "A new worker has the lock of what hands out namespaces, and waits for the constellation to answer. That is "
        "making a page in the same process, and waits for the lock.",
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
        "Servo has a message for a page, and finds that its process has gone.",
        PROCESS_GONE,
        10,
        re.compile(r"^Send failed \("),
    ),
)
# Why the browser gives the engine up, the likeliest cause first.
UNENDED = (
    Exemption(
        "shared-worker-unended",
        "Servo waits for shared workers, which nobody ends: one that does nothing is enough for that.",
        SHARED_WORKERS,
        1,
    ),
    Exemption(
        "kill-unnoticed",
        "Servo waits for what a killed process would have sent.",
        KILLED,
        1,
    ),
    Exemption("end-starved", "The browser had no processor on which it could have ended in time.", STARVED, 1),
)
EARLY_SIGNAL = Exemption(
    "signal-early", "The browser has no handler of signals yet, or no page.", SIGNALLED_EARLY, 1
)
EARLY_RECORDING = Exemption(
    "recording-early", "There is nothing to record, and the command says so by its status.", RECORDED_NOTHING, 1
)
OWN_END = Exemption("own-end", "The browser ends when it has no page any more.", NO_PAGES, 1)
LOST_PAGE = Exemption(
    "page-killed", "The process of a page was killed, perhaps, so that it does not beat any more.", KILLED, 3
)
UNENDED_WORKER = Exemption(
    "worker-unended", "Servo has terminated a worker, and its script goes on, profiled.", TERMINATED_WORKERS, 3
)
UNFORCED_SAMPLE = Exemption(
    "sample-unforced", "A sample that was asked for is refused, for a thread could not be stopped.", FORCED, 10
)
OWN_HANG = Exemption(
    "hang-of-servos",
    "An engine at the end of its memory may do nothing but collect garbage: it hangs without profilers, too.",
    SHORT_OF_MEMORY,
    1,
)
UNREPEATED_LEAK = Exemption(
    "leak-unrepeated",
    "What Servo and the allocator keep differs from run to run: a leak is what is seen each time.",
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
    *UNENDED,
    EARLY_SIGNAL,
    EARLY_RECORDING,
    OWN_END,
    LOST_PAGE,
    UNENDED_WORKER,
    UNFORCED_SAMPLE,
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
        """Uses an exemption, or says why that cannot be."""
        if not exemption.state.holds(circumstances, panic, match):
            return f"known as {exemption.name}, but only {exemption.state.text}"
        if self.hits.get(exemption.name, 0) >= exemption.cap:
            return f"known as {exemption.name}, but no more than {exemption.cap} times in an episode"
        self.hits[exemption.name] = self.hits.get(exemption.name, 0) + 1
        return None

    def take(self, exemption: Exemption, circumstances: Circumstances) -> bool:
        return self.refuse(exemption, circumstances) is None

    def judge_panic(self, panic: Panic, circumstances: Circumstances) -> str | None:
        """Says what is wrong with a panic, if anything is."""
        problem = ""
        for exemption in (*SERVO_PANICS, *DENIALS, NO_UNWINDING_FOR_MEMORY):
            if match := exemption.pattern.search(panic.text):
                if (refusal := self.refuse(exemption, circumstances, panic, match)) is None:
                    if exemption in DENIALS:
                        circumstances.denied.add(panic.thread)
                    return None
                problem = f" ({refusal})"
        return f"a thread panicked: {panic.text}{problem}"

    def judge_page_crash(self, reason: str, excused: Iterable[str], circumstances: Circumstances) -> bool:
        """Whether the crash of a page is excused: by that of its own panic, which is one of these, or by its own."""
        is_excused = reason in excused or any(
            exemption.pattern.search(reason) and self.take(exemption, circumstances) for exemption in PAGE_CRASHES
        )
        circumstances.crashed_pages += is_excused
        return is_excused

    def judge_crash(self, crash: Crash, told: list[str], circumstances: Circumstances) -> bool:
        """Whether the crash of a process is excused. `told` is what the log has of reasons; one is used up by it."""
        for exemption in ABORTS:
            line = next((line for line in told if exemption.pattern.search(line)), None)
            is_its = crash.signal == exemption.signal and (not crash.stack or exemption.function.search(crash.stack))
            if line is not None and is_its and self.take(exemption, circumstances):
                told.remove(line)
                circumstances.aborted += 1
                return True
        return False

    def judge_deadlock(self, stacks: str, circumstances: Circumstances) -> bool:
        """Whether stacks as gdb prints them show a deadlock that is excused."""
        threads = re.split(r"^Thread \d+ ", stacks, flags=re.MULTILINE)
        return any(
            all(any(waits.search(thread) for thread in threads) for waits in deadlock.waits)
            and self.take(deadlock, circumstances)
            for deadlock in SERVO_DEADLOCKS
        )


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
    """What the browser itself says to who started it."""
    lines = log.splitlines()
    return [
        _whole_text(line, lines[at + 1 : at + MOST_LINES]) if CRASHED in line else line
        for at, line in enumerate(lines)
        if line.startswith(SAYS)
    ]


def denials_told(log: str) -> list[str]:
    """Lines of the log in which a process says that it ends for want of memory, beside panics."""
    return [
        line
        for line in log.splitlines()
        if any(exemption.pattern is not NO_UNWINDING and exemption.pattern.search(line) for exemption in ABORTS)
    ]


def _whole_text(first: str, following: list[str]) -> str:
    """A text that ends with its thread, though it may have more lines than one; only the first if it does not."""
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
