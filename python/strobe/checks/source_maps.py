# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-source-maps: records programs that bundlers from npm made, and checks the profiles."""

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from .. import build, crashes, npm, paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..run import read_json, read_result, shown_from_here, visit
from ..server import PageServer
from . import formats

SCRIPTS = paths.ROOT / "tests" / "source_maps"
# What the browser loads. The original files are not served.
SERVED = ("page.html", "page.js", "dist")
# How long a program works, in ms.
WORK = 1500
# Seconds that a command of the browser may take.
BOUND = 120.0

# Every format, and the ending of its files.
ENDINGS = {
    "html": ".html",
    "firefox": ".firefox.json",
    "speedscope": ".speedscope.json",
    "speedscope-lines": ".speedscope-lines.json",
    "cpuprofile": ".cpuprofile",
    "collapsed": ".collapsed",
    "collapsed-lines": ".collapsed-lines",
    "trace": ".trace.json",
}
# No tool of npm reads these. The test pprof.rs of profile_formats lets Go read them.
READ_BY_OTHERS = ("pprof",)
WITH_LINES = ("html", "firefox", "cpuprofile", "collapsed-lines", "speedscope-lines")
# These have no definitions, which a map needs.
WITHOUT_DEFINITIONS = ("speedscope-lines",)
# Only these have the columns of places, which a map needs.
WITH_PLACES = ("html", "firefox")
# A warning that is only about the page's own script.
OWN_SCRIPT = re.compile(r": no source map of [^, ]+/page\.js$")


def test_source_maps(release: bool = False):
    """Bundles the programs, profiles them in every way, and reads the profiles with tools of their formats."""
    npm.check_node()
    binary = build.find(release)
    folder = paths.target_dir() / "source-maps"
    with cache_lock("test-source-maps"):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        # check.mjs reads formats by the scripts of ./mach test-formats.
        npm.install(formats.SCRIPTS)
        tools = npm.install(SCRIPTS)
        programs = _bundle(tools)
        for name in SERVED:
            copy = shutil.copytree if (tools / name).is_dir() else shutil.copy
            copy(tools / name, folder / name)
    profiles = []
    with PageServer(folder, inbox="/trace") as server:
        for program in programs:
            print(f"profiling {program}", flush=True)
            profiles += Profiles(binary, folder, server, program).make()
    listed = {"profiles": profiles, "page": profiles[0]["file"]}
    (folder / "profiles.json").write_text(json.dumps(listed, indent=1) + "\n", encoding="utf-8")
    status = process.stream(["node", str(tools / "check.mjs"), str(folder)])
    if status == 1:
        raise MachError(f"see above; the files are in {shown_from_here(folder)}")
    if status != 0:
        raise MachError(f"the checks {process.describe_status(status)}")


def _bundle(tools: Path) -> list[str]:
    """Makes `dist/` in the folder of the tools, and returns the names of the programs."""
    lines: list[str] = []
    status = process.stream(["node", "bundle.mjs"], cwd=tools, on_line=lines.append)
    if status != 0:
        raise MachError(f"bundle.mjs {process.describe_status(status)}")
    return read_json("".join(lines).encode(), "what bundle.mjs printed")


class Profiles:
    """Makes the profiles of a program, in a folder that also has its script and map."""

    def __init__(self, binary: Path, folder: Path, server: PageServer, program: str):
        self.binary = binary
        self.folder = folder
        self.server = server
        self.program = program
        self.page = f"/page.html?program={program}&time={WORK}"
        self.maps = ["--source-maps", str(folder / "dist")]
        self.made: list[dict] = []

    def make(self) -> list[dict]:
        """Entries for check.mjs. The first one is a saved page."""
        raw = self._file("raw", "html")
        self._record("html", raw, "--no-linked-maps")
        self._add("recorded without maps", "html", raw, is_mapped=False)
        for format in ENDINGS:
            recorded = self._file("recorded", format)
            self._record(format, recorded, "--no-linked-maps", *self.maps)
            self._add("recorded with maps", format, recorded, has_lines=format in WITH_LINES)
            converted = self._file("converted", format)
            self._convert("html", raw, format, converted, *self.maps)
            self._add("mapped by convert", format, converted, has_lines=format in WITH_LINES)
        # The maps are fetched as the page can fetch them.
        linked = self._file("linked", "html")
        self._record("html", linked)
        self._add("recorded with linked maps", "html", linked, has_lines=True)
        with_texts = self._file("with-texts", "html")
        self._record("html", with_texts, "--sources")
        self._add("recorded with linked maps and texts", "html", with_texts, has_lines=True)
        for format in ENDINGS:
            if format != "html":
                converted = self._file("of-linked", format)
                self._convert("html", linked, format, converted)
                self._add("recorded with linked maps", format, converted, has_lines=format in WITH_LINES)
        for format in ENDINGS:
            if format in WITHOUT_DEFINITIONS:
                continue
            unmapped = self._file("unmapped", format)
            self._convert("html", raw, format, unmapped)
            mapped = self._file(f"of-{format}", "html")
            self._convert(format, unmapped, "html", mapped, *self.maps)
            self._add("saved in a format, then mapped", "html", mapped, label=format, has_lines=format in WITH_PLACES)
        trace = self._file("sent-home", "trace")
        self._profile_itself(trace)
        for format in ENDINGS:
            converted = self._file("of-sent-home", format)
            self._convert("trace", trace, format, converted, *self.maps)
            self._add("a trace that the page sent home", format, converted)
        return self.made

    def _file(self, stem: str, format: str) -> Path:
        return self.folder / f"{self.program}.{stem}{ENDINGS[format]}"

    def _add(
        self,
        way: str,
        format: str,
        file: Path,
        *,
        label: str | None = None,
        is_mapped: bool = True,
        has_lines: bool = False,
    ):
        entry = {"program": self.program, "way": way, "format": format, "label": label or format, "file": file.name}
        self.made.append({**entry, "isMapped": is_mapped, "hasLines": has_lines})

    def _record(self, format: str, file: Path, *options: str):
        arguments = ["profile", "--headless", "--until-js", "globalThis.isDone", "--format", format, "-o", str(file)]
        self._run([*arguments, *options, self.server.origin + self.page])

    def _convert(self, from_format: str, source: Path, to_format: str, file: Path, *options: str):
        self._run(["convert", "--from", from_format, "--to", to_format, *options, str(source), str(file)])

    def _profile_itself(self, file: Path):
        def received(body: bytes):
            result = read_result(body, "the page")
            file.write_text(json.dumps(result["trace"], separators=(",", ":")) + "\n", encoding="utf-8")

        visit(self.binary, ["--headless"], self.server, f"{self.page}&profiled", received, BOUND)

    def _run(self, arguments: list[str]):
        """Runs the browser's program, which must end well and warn only of what has no map."""
        command = [str(self.binary), *arguments]
        texts = {"text": True, "encoding": "utf-8", "errors": "replace"}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with crashes.watched(self.binary) as watched:
            options = {"env": build.browser_environment(), "cwd": watched.folder, **pipes, **texts}
            browser = watched.process = process.start(command, **options)
            try:
                said, _ = browser.communicate(timeout=BOUND)
            except subprocess.TimeoutExpired:
                raise MachError(f"`{shlex.join(command)}` did not end within {BOUND:.0f} s") from None
            finally:
                process.end(browser)
                browser.stdout.close()
            if browser.returncode != 0:
                raise MachError(f"{said}`{shlex.join(command)}` {process.describe_status(browser.returncode)}")
        if warnings := unexpected_warnings(said):
            raise MachError(f"`{shlex.join(command)}` warns: {'; '.join(warnings)}")


def unexpected_warnings(said: str) -> list[str]:
    """The warnings in what the browser printed. Only the page's own script is expected to have no map."""
    warnings = [line for line in said.splitlines() if line.startswith("strobe: warning: ")]
    return [line for line in warnings if not OWN_SCRIPT.search(line)]
