# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The browsers that are measured: ours, and Chromium as the distribution has it, on the same pages."""

import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from . import process
from .errors import MachError
from .run import read_result, visit
from .server import PageServer

CHROMIUM_FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


@dataclass(frozen=True)
class Browser:
    name: str
    binary: Path
    version: str
    # Of the build, where it is known.
    build: str | None = None
    arguments: tuple[str, ...] = ()

    def measure(self, server: PageServer, page: str, bound: float, log: Path, started=None) -> dict:
        """Visits a page in a new browser and returns the result that it posts; what the browser logs goes to `log`."""
        results = []

        def received(body: bytes):
            results.append(read_result(body, f"{page} in {self.name}"))

        with log.open("a", encoding="utf-8") as log_file:
            self.visit(server, page, received, bound, started=started, on_log=log_file.write)
        return results[0]

    def visit(self, server: PageServer, page: str, received, bound: float, **options):
        visit(self.binary, [*self.arguments], server, page, received, bound, **options)


class Chromium(Browser):
    def visit(self, server: PageServer, page: str, received, bound: float, **options):
        # Its last processes may still write when it has ended.
        with tempfile.TemporaryDirectory(prefix="mach-chromium-", ignore_cleanup_errors=True) as profile:
            arguments = [*self.arguments, f"--user-data-dir={profile}"]
            # It stays when its last page has closed.
            visit(self.binary, arguments, server, page, received, bound, ends=False, **options)


def strobe(binary: Path, preferences: dict[str, str] | None = None) -> Browser:
    arguments = ["--headless"]
    for name, value in (preferences or {}).items():
        arguments += ["--pref", f"{name}={value}"]
    version = (process.output([str(binary), "--version"]) or "").removeprefix("strobe").strip()
    if not version:
        raise MachError(f"`{binary} --version` gives no version")
    return Browser("Strobe", binary, version, binary.parent.name, tuple(arguments))


def chromium() -> Browser:
    """The `chromium` of PATH, or the one that CHROMIUM names."""
    named = os.environ.get("CHROMIUM")
    found = shutil.which(named or "chromium")
    if found is None:
        what = f"CHROMIUM names {named}, which is no program" if named else "there is no `chromium` on the PATH"
        raise MachError(
            f"{what}; `apt-get install chromium` gets one on Debian, and CHROMIUM=FILE names one that is elsewhere"
        )
    version = process.output([found, "--version"]) or ""
    match = re.search(r"\d+(?:\.\d+)+", version)
    if match is None:
        raise MachError(f"`{found} --version` gives no version, but {version.strip()[:100]!r}")
    return Chromium("Chromium", Path(found), match[0], arguments=CHROMIUM_FLAGS)
