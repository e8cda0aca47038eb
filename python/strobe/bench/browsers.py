# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The measured browsers: ours, and the distribution's Chromium, on the same pages."""

import os
import re
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from .. import process
from ..crashes import Crashed
from ..errors import MachError
from ..run import read_result, visit
from ..server import PageServer
from ..setup import toolchain, upstream

CHROMIUM_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking")

# Only instructions are counted, also those of code that is generated at run time.
CACHEGRIND_FLAGS = ("--tool=cachegrind", "--cache-sim=no", "--branch-sim=no", "--smc-check=all-non-file", "--quiet")

# Functions of the engine in cachegrind's output, and code without a name, which the engine has compiled. The counts of
# other functions mean little, because these also wait, and poll while they wait.
ENGINE = re.compile(r"\b(js|JS|mozilla)::|^fn=\?\?\?$")
# Functions of the crates for documents, and of those crates of ours that they call. They wait in functions of other
# crates, even if these are instantiated for one of their types, so only the beginning of the name counts.
DOCUMENTS = re.compile(
    r"^fn=<*&?(?:mut )?(script|script_bindings|layout|style|js_profiler|js_profiler_traits|profiling_policy"
    r"|profiling_policy_traits)::"
)


@dataclass(frozen=True)
class Browser:
    name: str
    binary: Path
    version: str
    # The name of the build, if it is known.
    build: str | None = None
    arguments: tuple[str, ...] = ()

    def described(self) -> dict:
        """Its description in a saved measurement."""
        return {"name": self.name, "version": self.version, "build": self.build}

    def measure(self, server: PageServer, page: str, bound: float, log: Path, started=None, results=None) -> dict:
        """Visits a page in a new browser and returns the result that it posts; what the browser logs goes to `log`.

        With a list as `results`, the result is in the list even if the browser fails after it.
        """
        results = [] if results is None else results

        def received(body: bytes):
            results.append(read_result(body, f"{page} in {self.name}"))

        with log.open("a", encoding="utf-8") as log_file:
            self.visit(server, page, received, bound, started=started, on_log=log_file.write)
        return results[0]

    def visit(self, server: PageServer, page: str, received, bound: float, **options):
        visit(self.binary, [*self.arguments], server, page, received, bound, **options)


class Chromium(Browser):
    def visit(self, server: PageServer, page: str, received, bound: float, **options):
        # The last processes of the browser may still write after it has ended.
        with tempfile.TemporaryDirectory(prefix="mach-chromium-", ignore_cleanup_errors=True) as profile:
            arguments = [*self.arguments, f"--user-data-dir={profile}"]
            # Chromium does not end when its last page has closed.
            visit(self.binary, arguments, server, page, received, bound, ends=False, **options)


class Counted(Browser):
    """A browser under valgrind's cachegrind. A result has the instructions that were executed from start to end.

    `instructions` are the engine's, `documentInstructions` those of script, style and layout.
    """

    def measure(self, server: PageServer, page: str, bound: float, log: Path, started=None) -> dict:
        with tempfile.TemporaryDirectory(prefix="mach-cachegrind-") as folder:
            counts = Path(folder) / "counts"
            arguments = (*CACHEGRIND_FLAGS, f"--cachegrind-out-file={counts}", str(self.binary), *self.arguments)
            under = Browser(self.name, Path(toolchain.valgrind()), self.version, self.build, arguments)
            results = []
            try:
                under.measure(server, page, bound, log, started, results)
            except Crashed:
                raise
            except MachError:
                # The shell waits for the engine's end, but not for as long as this may take under valgrind.
                if not results or not counts.exists():
                    raise
            [result] = results
            return {
                **result,
                "instructions": read_instructions(counts, ENGINE, "of the engine"),
                "documentInstructions": read_instructions(counts, DOCUMENTS, "of documents"),
            }


def read_instructions(counts: Path, functions: re.Pattern[str], shown: str) -> int:
    """The sum over these functions in an output file of cachegrind."""
    # https://valgrind.org/docs/manual/cg-manual.html#cg-manual.impl-details
    total, is_counted = 0, False
    for line in counts.read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("fn="):
            is_counted = functions.search(line) is not None
        elif is_counted and line[:1].isdecimal():
            total += int(line.split()[1])
    if not total:
        raise MachError(f"cachegrind's output {counts.name} has no function {shown}")
    return total


def counted(browser: Browser) -> Counted:
    toolchain.valgrind()
    return Counted(browser.name, browser.binary, browser.version, browser.build, browser.arguments)


def strobe(binary: Path, preferences: dict[str, str] | None = None) -> Browser:
    arguments = ["--headless"]
    for name, value in (preferences or {}).items():
        arguments += ["--pref", f"{name}={value}"]
    return Browser("Strobe", binary, _version(binary), binary.parent.name, tuple(arguments))


def servo(binary: Path, preferences: dict[str, str] | None = None) -> Browser:
    """The same shell around Servo as published."""
    return replace(strobe(binary, preferences), name="Servo", version=upstream.pinned_packages()["servo"]["version"])


def chromium() -> Browser:
    """The `chromium` on the PATH, or the program that CHROMIUM names."""
    named = os.environ.get("CHROMIUM")
    found = shutil.which(named or "chromium")
    if found is None:
        what = f"CHROMIUM names {named}, which is not a program" if named else "there is no `chromium` on the PATH"
        raise MachError(
            f"{what}; `apt-get install chromium` gets one on Debian, and CHROMIUM=FILE names one that is elsewhere"
        )
    return Chromium("Chromium", Path(found), _version(Path(found)), arguments=CHROMIUM_FLAGS)


def _version(binary: Path) -> str:
    """The browser's own version, which is the first one in what it prints. It may name those of its parts after it."""
    printed = process.output([str(binary), "--version"]) or ""
    match = re.search(r"\d+(?:\.\d+)+", printed)
    if match is None:
        raise MachError(f"`{binary} --version` gives no version, but {printed.strip()[:100]!r}")
    return match[0]
