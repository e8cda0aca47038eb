# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach run: opens any page in the built browser, or the bundled demo page that profiles itself."""

import json
import os
import queue
import shlex
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from . import build, crashes, paths, process
from .errors import MachError
from .server import PageServer
from .slowness import scaled

DEMO = paths.ROOT / "resources" / "demo"
# The time limit of the demo, in seconds; the page itself works for about three.
DEMO_BOUND = 120.0


def run(url: str | None, browser_arguments: list[str], release: bool = False):
    binary = build.build(release)
    if url is None:
        saved = paths.target_dir() / "demo-trace.json"
        demo(binary, browser_arguments, saved)
        print_report(binary, saved)
        return
    command = [str(binary), *browser_arguments, url]
    with crashes.watched(binary, Path.cwd()) as watched:
        browser = watched.process = process.start(command, cwd=watched.folder, env=build.browser_environment())
        try:
            status = browser.wait()
        finally:
            process.end(browser)
        if status != 0:
            raise MachError(f"the browser {process.describe_status(status)}")


def demo(binary: Path, browser_arguments: list[str], saved: Path, bound: float = DEMO_BOUND):
    """Opens the demo page, and saves the trace that it posts."""

    def received(body: bytes):
        result = read_result(body, "the demo page")
        if "trace" not in result:
            raise MachError("the demo page posted no trace")
        saved.parent.mkdir(parents=True, exist_ok=True)
        saved.write_text(json.dumps(result["trace"], separators=(",", ":")) + "\n", encoding="utf-8")

    with PageServer(DEMO, inbox="/trace") as server:
        # The person's arguments may name files.
        visit(binary, browser_arguments, server, "/index.html", received, bound, folder=Path.cwd())


def print_report(binary: Path, saved: Path):
    command = [str(binary), "report", "--from=trace", str(saved)]
    if status := process.stream(command, env=build.browser_environment(), heartbeat=False):
        raise MachError(f"{shlex.join(command)} {process.describe_status(status)}")
    print(f"The trace is in {shown_from_here(saved)}")


def read_json(text: bytes, what: str):
    """The value of a JSON text, or MachError. NaN and Infinity are not JSON, though Python reads them."""

    def refuse(constant):
        raise ValueError(f"{constant} is not a JSON number")

    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError as error:
        raise MachError(f"{what} is not JSON: {error}") from None


def visit(
    binary: Path,
    browser_arguments: list[str],
    server: PageServer,
    page: str,
    received: Callable[[bytes], None],
    bound: float,
    *,
    started: Callable[[int], None] | None = None,
    on_log: Callable[[str], None] | None = None,
    log_filter: str | None = None,
    ends: bool = True,
    folder: Path | None = None,
):
    """Opens a page that posts one result and closes itself. Returns when the browser has ended without an error.

    `started` gets the browser's process id. `on_log` gets the lines of its standard error; without it they go where
    ours go. `log_filter` is RUST_LOG for the browser. A browser that does not end with its page (`ends` is False) is
    ended when the result has come. It works in `folder`, or else in a folder of its own.

    Raises MachError if the result does not come, the browser fails, or `bound` seconds pass; Crashed if the browser or
    one of its processes crashes.
    """
    with crashes.watched(binary, folder) as watched:
        bound = scaled(bound)
        deadline = time.monotonic() + bound
        command = [str(binary), *browser_arguments, server.origin + page]
        environment = build.browser_environment()
        if log_filter is not None:
            environment["RUST_LOG"] = log_filter
        reader = None
        if on_log is None:
            browser = process.start(command, env=environment, cwd=watched.folder)
        else:
            texts = {"text": True, "encoding": "utf-8", "errors": "replace"}
            browser = process.start(command, env=environment, cwd=watched.folder, stderr=subprocess.PIPE, **texts)
            reader = process.read_lines(browser.stderr, on_log)
        watched.process = browser
        waiting = True
        try:
            if started:
                started(browser.pid)
            while True:
                # The status is read first: then all that the page posted before the browser ended is in the queue.
                status = browser.poll()
                try:
                    if waiting:
                        body = server.posts.get(timeout=0 if status is not None else 0.1)
                        waiting = False
                        received(body)
                        if not ends:
                            return
                    elif status is None:
                        browser.wait(timeout=0.1)
                except (queue.Empty, subprocess.TimeoutExpired):
                    pass
                if status is not None:
                    break
                if time.monotonic() > deadline:
                    missing = "did not post its result" if waiting else "posted its result, but the browser did not end"
                    raise MachError(f"{server.origin + page} {missing} within {bound:.0f} s")
        finally:
            crashes.await_cores([browser.pid])
            process.end(browser)
            if reader:
                reader.join()
                browser.stderr.close()
        if status != 0:
            when = " before the page's result" if waiting else ""
            raise MachError(f"the browser {process.describe_status(status)}{when}")
        if waiting:
            raise MachError(f"the browser ended before {page} posted its result; its console messages are above")


def read_result(body: bytes, page: str) -> dict:
    """The object that a page of ours posts, or MachError with the error that the page reports."""
    result = read_json(body, f"what {page} posted")
    if not isinstance(result, dict):
        raise MachError(f"what {page} posted is not a JSON object")
    if "error" in result:
        raise MachError(f"{page} could not be profiled: {result['error']}")
    return result


def shown_from_here(path: Path) -> str:
    """A path as a person in the current folder would type it."""
    return os.path.relpath(path)
