# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach build: builds the browser, or the same shell around Servo as published on the same engine, for comparison."""

import os
import re
from pathlib import Path

from . import asan, paths, process
from .errors import MachError
from .lock import cache_lock
from .setup import bootstrap, lock_file, toolchain, upstream, workspace

# Names a browser to use instead of building one, as for tests/browser.
BINARY_VARIABLE = "STROBE_BINARY"
# Replaces the sampling component, which needs the hooks.
BASE_JS_PROFILER = "tests/wpt/base/js_profiler"
# The crates of ours that the shell itself needs. They know nothing of the engine.
BASE_CRATES = (
    "components/shell",
    "components/shared/js_profiler",
    "components/profile_commands",
    "components/profile_formats",
    "components/profile_recorder",
    "components/profile_sets",
    "components/source_maps",
    "components/terminal_text",
    BASE_JS_PROFILER,
)
# Files that these crates include.
BASE_FILES = "resources/about-profiling"
OWN_PATCH = re.compile(r'^\w+ = \{ path = "([^"]*)" \}$')


def command(release: bool = False, also: tuple[str, ...] = ()) -> list[str]:
    """The command that builds the browser.

    `also` names packages that use the browser's SpiderMonkey. Alone, Cargo would build another one for them.
    """
    arguments = ["cargo", "build", "--locked"]
    for package in ("strobe", *also):
        arguments += ["-p", package]
    if release:
        arguments.append("--release")
    return arguments


def build(release: bool = False, also: tuple[str, ...] = ()) -> Path:
    """Builds the browser, after installing what is missing, and returns the path of its binary."""
    with cache_lock("build"):
        bootstrap.ensure()
        process.run(command(release, also))
    return paths.target_dir() / ("release" if release else "debug") / "strobe"


def tool() -> Path:
    """Builds a release of strobe-tool, which needs nothing but Rust, and returns the path of its binary."""
    # Another lock than the one of the browser's builds, which take long.
    with cache_lock("build", name="tool-lock"):
        bootstrap.ensure_rust()
        run_for_tool(["build", "--release"])
    return tool_target_dir() / "release" / "strobe-tool"


def tool_target_dir() -> Path:
    return paths.target_dir() / "tool"


def run_for_tool(arguments: list[str]):
    """Runs a command of Cargo on the tool."""
    process.run(tool_command(arguments), **tool_place())


def tool_command(arguments: list[str]) -> list[str]:
    subcommand, *rest = arguments
    return ["cargo", subcommand, "--locked", f"--manifest-path={paths.TOOL / 'Cargo.toml'}", *rest]


def tool_place() -> dict:
    """Where such a command is run: outside the checkout, whose configuration has the hooked crates of the browser."""
    folder = paths.cache_dir() / "tool"
    folder.mkdir(parents=True, exist_ok=True)
    own = ("CARGO_BUILD_BUILD_DIR",)
    environment = {name: value for name, value in os.environ.items() if name not in own}
    return {"cwd": folder, "env": {**environment, "CARGO_TARGET_DIR": str(tool_target_dir())}}


def chosen(release: bool = False, sanitized: bool = False) -> Path:
    """Builds the browser that the arguments of a command choose."""
    return asan.use() if sanitized else build(release)


def find(release: bool = False, sanitized: bool = False) -> Path:
    """The browser that STROBE_BINARY names, or else one that is built."""
    named = os.environ.get(BINARY_VARIABLE)
    if not named:
        return chosen(release, sanitized)
    binary = Path(named).resolve()
    if not os.access(binary, os.X_OK):
        raise MachError(f"{BINARY_VARIABLE}={named}: no such program")
    return binary


def build_both(base: Path | None, release: bool = False) -> tuple[Path, Path]:
    """The browser, and the shell around Servo without hooks, which is built unless `base` names one."""
    if base is not None and not base.is_file():
        raise MachError(f"--base-binary: {base}: no such file")
    return build(release), base.resolve() if base is not None else build_base(release)


def build_base(release: bool = False) -> Path:
    """Builds the shell around Servo without our hooks, with SpiderMonkey from source, and returns its binary.

    The build has its own workspace in the cache. Inside the checkout, Cargo would find the checkout's configuration in
    the folders above, and with it the hooked crates. Crates without hooks, and which need none with hooks, are
    compiled once for both builds.
    """
    folder = paths.cache_dir() / "base"
    if folder.is_relative_to(paths.ROOT):
        raise MachError(f"{folder}: is in the checkout, so Cargo would find its hooks; set STROBE_CACHE_DIR to another")
    with cache_lock("build"):
        bootstrap.ensure()
        write_base_workspace(folder)
        print("building Servo without hooks; the first time this takes as long as the first `./mach build`")
        profile = "release" if release else "debug"
        command = ["cargo", "build", "-p", "strobe", *(["--release"] if release else [])]
        places = {
            "CARGO_TARGET_DIR": str(folder / "target"),
            "CARGO_BUILD_BUILD_DIR": str(paths.cache_dir() / "build"),
        }
        process.run(command, cwd=folder, env={**os.environ, **toolchain.build_environment(), **places})
    return folder / "target" / profile / "strobe"


def write_base_workspace(folder: Path, root: Path = paths.ROOT):
    """Writes a workspace of the shell with the hooked crates as published, but for the version of the engine."""
    # Files that did not change keep their age, so that Cargo does not rebuild them.
    for part in (*BASE_CRATES, BASE_FILES):
        mirror(root / part, folder / part)
    manifest = (root / "Cargo.toml").read_text(encoding="utf-8")
    members = "".join(f'    "{crate}",\n' for crate in BASE_CRATES)
    manifest, count = re.subn(r"^members = \[\n.*?^\]\n", f"members = [\n{members}]\n", manifest, flags=re.M | re.S)
    if count != 1:
        raise MachError("Cargo.toml: there is no list of members for the build without hooks to replace")
    manifest = manifest.replace('path = "components/js_profiler"', f'path = "{BASE_JS_PROFILER}"')
    # Of our own crates, the shell needs only those that are members here.
    kept = [line for line in manifest.split("\n") if not (match := OWN_PATCH.match(line)) or match[1] in BASE_CRATES]
    trees = upstream.prepare_published(print, root / "components", root / "upstream" / "Cargo.lock")
    at = kept.index("[patch.crates-io]") + 1
    kept[at:at] = [f'{name} = {{ path = "{tree}" }}' for name, tree in trees.items()]
    (folder / "Cargo.toml").write_text("\n".join(kept), encoding="utf-8")
    (folder / "Cargo.lock").write_text(base_lock(root), encoding="utf-8")


def base_lock(root: Path = paths.ROOT) -> str:
    """The workspace's lock file, with the hooked crates as in upstream's lock file.

    Cargo itself removes the packages that are no longer needed.
    """
    crates = upstream.hooked_crates(root / "components", root / "upstream" / "Cargo.lock")
    hooked = {crate.name for crate in crates}
    in_trees = {crate.name for crate in crates if crate.published_tree}

    def packages(lock: Path) -> tuple[str, dict[tuple[str, str], str]]:
        header, texts = lock_file.packages(lock.read_text(encoding="utf-8"))
        return header, {(lock_file.value(text, "name"), lock_file.value(text, "version")): text for text in texts}

    header, ours = packages(root / "Cargo.lock")
    _, pins = packages(root / "upstream" / "Cargo.lock")
    for key in ours:
        if key[0] in hooked and key in pins:
            ours[key] = lock_file.without_source(pins[key]) if key[0] in in_trees else pins[key]
    return lock_file.joined(header, list(ours.values()))


def mirror(source: Path, target: Path):
    """Makes a folder the copy of another. Files that are the same keep their age."""
    wanted = {file.relative_to(source) for file in source.rglob("*") if file.is_file()}
    for file in target.rglob("*"):
        if file.is_file() and file.relative_to(target) not in wanted:
            file.unlink()
    for file in wanted:
        content = (source / file).read_bytes()
        if not (target / file).exists() or (target / file).read_bytes() != content:
            (target / file).parent.mkdir(parents=True, exist_ok=True)
            (target / file).write_bytes(content)


def build_tests(names: list[str]):
    """Compiles the tests of our crates without running them."""
    with cache_lock("test"):
        bootstrap.ensure()
        process.run(["cargo", "test", "--locked", "--no-run", *workspace.package_arguments(names)])


def browser_environment() -> dict[str, str]:
    """The environment of the browser. It has XDG_RUNTIME_DIR even if the session does not set it.

    Without it libwayland prints an error, even where there is no Wayland.
    """
    environment = dict(os.environ)
    if "XDG_RUNTIME_DIR" not in environment:
        place = paths.cache_dir() / "runtime"
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o700)
        environment["XDG_RUNTIME_DIR"] = str(place)
    return environment
