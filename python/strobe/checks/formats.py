# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-formats: checks that other tools, which come from npm, can read our profiles, and that we read theirs."""

import os
import shutil
import sys
from pathlib import Path

from .. import npm, paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..run import shown_from_here
from ..setup import bootstrap
from ..setup.environments import ensure_environment
from ..setup.programs import ensure_program

SCRIPTS = paths.ROOT / "tests" / "formats"
# What writes files that we read.
TOOLS = SCRIPTS / "tools"
# What writes source maps that we read.
BUILDERS = SCRIPTS / "builders"
# From PyPI, and from crates.io.
PY_SPY = "py-spy==0.4.3"
INFERNO = "0.12.8"
SAMPLY = "0.13.1"
# By the name that scripts have for them: the name of the program, and of its package in Debian.
INSTALLED = {
    "chromium": ("chromium", "chromium"),
    "firefox": ("firefox-esr", "firefox-esr"),
    "perf": ("perf", "linux-perf"),
}
# At a higher level samply does not record; in many virtual machines, which count no cycles, not even as root.
PERF_EVENTS = Path("/proc/sys/kernel/perf_event_paranoid")
MOST_PARANOID = 1


def test_formats(profiles: list[Path]):
    """Writes recordings in every format, and runs the tools on them. Without `profiles` the recordings are random."""
    for profile in profiles:
        if not profile.is_file():
            raise MachError(f"{profile}: no such file")
    npm.check_node()
    with cache_lock("test-formats"):
        bootstrap.ensure()
        folder = paths.target_dir() / "formats"
        shutil.rmtree(folder, ignore_errors=True)
        command = ["cargo", "run", "--quiet", "--locked", "--package=profile_formats", "--example=every_format", "--"]
        process.run([*command, str(folder), *(str(profile.resolve()) for profile in profiles)])
        tools = npm.install(SCRIPTS)
        if not profiles:
            _check_tools()
    status = process.stream(["node", str(tools / "check.mjs"), str(folder)])
    if status == 1:
        raise MachError(f"see above; the files are in {shown_from_here(folder)}")
    if status != 0:
        raise MachError(f"the checks {process.describe_status(status)}")


def _check_tools():
    """What other tools write: profiles, and source maps."""
    programs = {name: _installed(*names) for name, names in INSTALLED.items()}
    _check_perf_events()
    _check_files_of_tools(paths.target_dir() / "formats-of-tools", programs)
    _check_maps_of_builders(paths.target_dir() / "formats-of-builders", programs)


def _installed(program: str, package: str) -> str:
    if found := shutil.which(program):
        return found
    raise MachError(f"there is no `{program}` on the PATH; on Debian: sudo apt-get install {package}")


def _check_perf_events():
    level = int(PERF_EVENTS.read_text())
    if level > MOST_PARANOID:
        allow = f"sudo sysctl kernel.perf_event_paranoid={MOST_PARANOID}"
        raise MachError(f"{PERF_EVENTS} is {level}, so samply may not record; until the next boot: {allow}")


def _check_files_of_tools(folder: Path, programs: dict[str, str]):
    """Makes a file with each tool, and compares the self times that we read with those that a test computes."""
    shutil.rmtree(folder, ignore_errors=True)
    tools = npm.install(TOOLS)
    more = {
        "py-spy": ensure_environment("py-spy", [PY_SPY]) / "py-spy",
        "python": sys.executable,
        "inferno": ensure_program("inferno", INFERNO, program="inferno-collapse-perf"),
        "samply": ensure_program("samply", SAMPLY),
    }
    named = [f"{name}={file}" for name, file in {**programs, **more}.items()]
    process.run(["node", str(tools / "make.mjs"), str(folder), *named])
    command = ["cargo", "test", "--quiet", "--locked", "--package=profile_formats", "--test=tools"]
    process.run(command, env={**os.environ, "STROBE_TOOLS": str(folder)})


def _check_maps_of_builders(folder: Path, programs: dict[str, str]):
    """Records what each builder makes of a program. Names, files and lines must be as they were written."""
    shutil.rmtree(folder, ignore_errors=True)
    tools = npm.install(BUILDERS, lacks_optional=True)
    scripts, recorded = str(folder / "dist"), str(folder / "recorded")
    process.run(["node", str(tools / "build.mjs"), scripts])
    node = npm.install(TOOLS) / "node_modules" / "node-26" / "bin" / "node"
    browsers = [programs["chromium"], programs["firefox"]]
    process.run(["node", str(tools / "record.mjs"), scripts, recorded, str(node), *browsers])
    process.run(["cargo", "build", "--quiet", "--locked", "--package=profile_formats", "--example=mapped_functions"])
    example = paths.target_dir() / "debug" / "examples" / "mapped_functions"
    if process.stream(["node", str(tools / "check.mjs"), scripts, recorded, str(example)]) != 0:
        raise MachError(f"see above; the files are in {shown_from_here(folder)}")
