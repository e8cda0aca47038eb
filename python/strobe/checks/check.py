# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach check: faults that tests do not show: other orders of threads, undefined behaviour, wrong uses of memory.

models      runs the handshake between the sampling thread and the stopped thread in every order, with loom
miri        runs it with ordinary threads, and the tests of crates that read untrusted data, under Miri
valgrind    runs the compiled tests of those crates under memcheck
sanitizers  runs the sampling component, C++ and Rust, in SpiderMonkey without Servo, under AddressSanitizer and
            UndefinedBehaviorSanitizer: see sanitizers.py
asan-build  checks that mistakes on purpose are found in everything that `./mach build --asan` compiles: see faults.py
walk-calls  compares what the compiled walk of a stack calls with the list of what it may call: see walk_calls.py
upstream    asks the registry for newer versions of Servo and the engine: see moving/check.py
"""

import json
import os
import shutil
import sys
from pathlib import Path

from .. import paths, process
from ..asan import TOOLCHAIN_VARIABLE
from ..errors import MachError
from ..lock import cache_lock
from ..moving import check as newer_upstream
from ..setup import bootstrap, toolchain
from . import faults, sanitizers, walk_calls

MODELS = paths.ROOT / "tests" / "models"

# Crates that depend neither on Servo's script crates nor on the engine. Miri cannot run the others.
PURE_CRATES = (
    "profile_formats",
    "profiling_policy",
    "profiling_policy_traits",
    "js_profiler_traits",
    "source_maps",
    "terminal_text",
)

# The toolchain that has Miri, which a stable one does not have.
DEFAULT_TOOLCHAIN = "nightly"

# How often Miri runs the threads of tests/models, each time in another order.
MIRI_SEEDS = 16
# Tests read files of the checkout, which Miri forbids otherwise.
MIRI_FLAGS = "-Zmiri-disable-isolation"
# Parts of the names of tests that would take Miri hours: those of the viewer's whole page and of very deep stacks.
TOO_SLOW_FOR_MIRI = ("viewer::", "page", "collapsed_stacks", "firefox_profiles", "stacks_may_be_as_deep")

# The exit status of a program in which memcheck finds an error.
VALGRIND_STATUS = 99


def check(wanted: list[str], seconds: int):
    """Runs all of these suites, even after one has failed. MachError names those that failed."""
    suites = {
        "models": models,
        "miri": miri,
        "valgrind": valgrind,
        "sanitizers": lambda: sanitizers.run(seconds),
        "asan-build": faults.check,
        "walk-calls": walk_calls.check,
        "upstream": upstream,
    }
    # `all` says the same of the same sources at any time, and without a network.
    everything = [name for name in suites if name != "upstream"]
    names = list(dict.fromkeys(suite for name in wanted for suite in (everything if name == "all" else [name])))
    failed = []
    for name in names:
        print(f"\n{name}\n{'=' * len(name)}", flush=True)
        try:
            suites[name]()
        except MachError as error:
            print(f"mach check {name}: {error}", file=sys.stderr)
            failed.append(name)
        else:
            print(f"{name}: nothing found", flush=True)
    if failed:
        raise MachError(f"failed: {', '.join(failed)}")


def models():
    """Runs the threads in every order, with the atomics of loom in place of the machine's."""
    _prepare()
    environment = _environment("models", {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(["--cfg", "loom"])})
    command = ["cargo", "test", "--locked", f"--manifest-path={MODELS / 'Cargo.toml'}"]
    process.run(command, cwd=_outside(), env=environment)


def miri():
    chosen = os.environ.get(TOOLCHAIN_VARIABLE) or DEFAULT_TOOLCHAIN
    # Without rustup there is only one toolchain.
    cargo = ["cargo", f"+{chosen}"] if shutil.which("rustup") else ["cargo"]
    check_miri(cargo, chosen)
    _prepare()
    threads = {"MIRIFLAGS": f"{MIRI_FLAGS} -Zmiri-many-seeds=0..{MIRI_SEEDS}"}
    command = [*cargo, "miri", "test", "--locked", f"--manifest-path={MODELS / 'Cargo.toml'}"]
    process.run(command, cwd=_outside(), env=_environment("miri", threads))
    packages = [argument for name in PURE_CRATES for argument in ("-p", name)]
    skipped = [argument for name in TOO_SLOW_FOR_MIRI for argument in ("--skip", name)]
    command = [*cargo, "miri", "test", "--locked", *packages, "--lib", "--tests", "--", *skipped]
    process.run(command, env=_environment("miri", {"MIRIFLAGS": MIRI_FLAGS}))


def check_miri(cargo: list[str], chosen: str):
    if process.output([*cargo, "miri", "--version"]) is not None:
        return
    raise MachError(
        f"the Rust toolchain {chosen!r} has no Miri; run\n\n"
        f"  rustup toolchain install {chosen} --component miri --component rust-src\n\n"
        f"or set {TOOLCHAIN_VARIABLE} to the name of one that has it"
    )


def valgrind():
    valgrind_program = toolchain.valgrind()
    _prepare()
    for program, folder in test_programs(PURE_CRATES):
        command = [
            valgrind_program,
            "--quiet",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
            f"--error-exitcode={VALGRIND_STATUS}",
            str(program),
            # One test at a time, because valgrind runs only one thread at a time anyway.
            "--test-threads=1",
        ]
        process.run(command, cwd=folder)


def test_programs(crates: tuple[str, ...]) -> list[tuple[Path, Path]]:
    """Compiles the tests of crates and returns their programs, each with the folder of its crate, where it runs."""
    packages = [argument for name in crates for argument in ("-p", name)]
    tests = ["--no-run", "--lib", "--tests"]
    messages = []
    with cache_lock("check"):
        # The person sees the compiler's errors.
        command = ["cargo", "test", "--locked", *tests, "--message-format=json-render-diagnostics", *packages]
        status = process.stream(command, on_line=messages.append)
    if status != 0:
        raise MachError(f"the tests could not be compiled: cargo {process.describe_status(status)}")
    programs = []
    for line in messages:
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") == "compiler-artifact" and message["profile"]["test"] and message["executable"]:
            programs.append((Path(message["executable"]), Path(message["manifest_path"]).parent))
    return programs


def upstream():
    bootstrap.ensure_rust()
    newer_upstream.check()


def _prepare():
    with cache_lock("check"):
        bootstrap.ensure()


def _outside() -> Path:
    """A folder outside the checkout, whose configuration is for the browser.

    Cargo takes configuration from the working folder and those above.
    """
    folder = paths.cache_dir() / "check"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _environment(name: str, more: dict[str, str]) -> dict[str, str]:
    return {
        **os.environ,
        **toolchain.build_environment(),
        "CARGO_BUILD_BUILD_DIR": str(paths.cache_dir() / "check" / name),
        "CARGO_TARGET_DIR": str(paths.target_dir() / "check" / name),
        "STROBE_CHECKOUT": str(paths.ROOT),
        **more,
    }
