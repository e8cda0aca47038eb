# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach build --asan: the browser with all of its code under AddressSanitizer.

- Rust: all crates of the browser, but not build scripts and macros.
- C and C++ of all crates, by compilers that stand in for clang: `compiler` says why.
- SpiderMonkey, which is also told by its own option: tests/sanitizers/engine.mk.
- Our C++ is under UndefinedBehaviorSanitizer as well.

Nothing is shared with other builds: intermediate files are in the cache, in asan/, and the browser is in target/asan/.
"""

import hashlib
import os
import re
import shutil
from pathlib import Path

from . import paths, process, slowness
from .errors import MachError
from .lock import cache_lock
from .setup import bootstrap, toolchain

# Names the toolchain for Miri and for this build.
TOOLCHAIN_VARIABLE = "STROBE_NIGHTLY"
SANITIZERS = paths.ROOT / "tests" / "sanitizers"
# The package of the program with mistakes that must be found. In one command with the browser, it is linked with the
# same engine and glue.
FAULTS = "sanitizer_embedding"
# A browser test that takes a second with a dev build takes some seconds with this one.
TIME_FACTOR = 6
# The status with which a process ends that has an error or a leak. The browser has no such status.
STATUS = 86
# Bytes. Frames are several times as large.
STACK_SIZE = 64 << 20

# Both compilers use one interface of LLVM, whose version has not changed in years. The runtime is Rust's.
RUST_FLAGS = ("-Zsanitizer=address", "-Cforce-frame-pointers=yes")
C_FLAGS = ("-fsanitize=address", "-fno-omit-frame-pointer", "-gline-tables-only")
# Of our C++.
CXX_FLAGS = (
    "-fsanitize=address,undefined",
    # These checks need type information, which the engine is compiled without.
    "-fno-sanitize=vptr,function",
    "-fno-omit-frame-pointer",
    "-fno-sanitize-recover=undefined",
    "-g1",
)
# The engine handles traps of WebAssembly by SIGSEGV, on its own alternate stack. It finds the stack by the addresses of
# variables, which must be on it.
ASAN_OPTIONS = {
    "detect_stack_use_after_return": 0,
    "use_sigaltstack": 0,
    "allow_user_segv_handler": 1,
    "strict_string_checks": 1,
    "detect_leaks": 1,
}
UBSAN_OPTIONS = {"print_stacktrace": 1, "halt_on_error": 1}
BROWSER_OPTIONS = {
    **ASAN_OPTIONS,
    # Libraries of the system are not ours to mend.
    "strict_string_checks": 0,
    # The engine asks for more than there is on purpose, and must be refused.
    "allocator_may_return_null": 1,
    # The engine's `new` and Rust's allocator take memory by malloc().
    "alloc_dealloc_mismatch": 0,
    # A driver for drawing that is loaded late: https://github.com/google/sanitizers/issues/1322
    "intercept_tls_get_addr": 0,
    # What two libraries define alike does no harm.
    "detect_odr_violation": 1,
    "exitcode": STATUS,
}
LEAKS = SANITIZERS / "browser_leaks.supp"

# The first and the last line of a report. UndefinedBehaviorSanitizer's is one line.
REPORT = re.compile(r"^==\d+==ERROR: (?:Address|Leak)Sanitizer: |^\S+: runtime error: ", re.M)
SUMMARY = re.compile(r"^SUMMARY: .*$", re.M)


def build() -> Path:
    """Builds the browser and the program with mistakes, and returns the path of the browser."""
    folder = paths.cache_dir() / "asan"
    with cache_lock("build --asan"):
        bootstrap.ensure()
        host = host_triple()
        config = folder / "config.toml"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("CC", "CXX"):
            write_if_changed(folder / name.lower(), compiler(toolchain.build_environment()[name], host))
            (folder / name.lower()).chmod(0o755)
        write_if_changed(config, configuration(folder))
        process.run(command(host, config), env=build_environment(folder))
    return target_dir() / host / "debug" / "strobe"


def command(host: str, config: Path) -> list[str]:
    chosen = os.environ.get(TOOLCHAIN_VARIABLE)
    cargo = ["cargo", f"+{chosen}"] if chosen and shutil.which("rustup") else ["cargo"]
    # With --target, build scripts and macros are compiled without sanitizers.
    arguments = ["build", "--locked", f"--target={host}", f"--config={config}", "-p", "strobe", "-p", FAULTS]
    return [*cargo, *arguments, f"--features={FAULTS}/faults"]


def configuration(folder: Path) -> str:
    """Cargo configuration. What is here replaces what the checkout's configuration and Cargo.toml say."""
    # Cargo cannot know that a file is compiled that only a flag names.
    faults = SANITIZERS / "faults.cpp"
    digest = hashlib.sha256(faults.read_bytes()).hexdigest()[:12]
    glue = [*CXX_FLAGS, "-include", str(faults), f"-DSTROBE_FAULTS={digest}"]
    variables = {
        "CC": folder / "cc",
        "CXX": folder / "cxx",
        "MAKEFILES": SANITIZERS / "engine.mk",
        "STROBE_GLUE_FLAGS": " ".join(glue),
        # The engine's build runs programs that are compiled for it.
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    lines = ["[env]", *(f'{name} = {{ value = "{value}", force = true }}' for name, value in variables.items())]
    # Without optimisation, frames would not fit into the stacks of Servo's threads. A report has lines of all crates.
    lines += ["[profile.dev]", "opt-level = 1", "[profile.dev.package.'*']", 'debug = "line-tables-only"']
    # The compilers add these to the engine.
    lines += ["[profile.dev.package.mozjs_sys]", "debug = false"]
    return "\n".join(lines) + "\n"


def compiler(program: str, host: str) -> str:
    """A script that stands in for a compiler.

    A variable with flags would also apply to what is compiled for build scripts (a compiler of shaders), because these
    are for the same machine. They are told apart by Cargo's folder for what is compiled with --target.
    """
    flags = " ".join(C_FLAGS)
    return f'#!/bin/sh\ncase "$OUT_DIR" in\n*/{host}/*) exec {program} {flags} "$@" ;;\nesac\nexec {program} "$@"\n'


def build_environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        **toolchain.build_environment(),
        # A stable compiler knows sanitizers, too, with this variable.
        "RUSTC_BOOTSTRAP": "1",
        "CARGO_BUILD_BUILD_DIR": str(folder / "build"),
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(RUST_FLAGS),
        "CARGO_TARGET_DIR": str(target_dir()),
    }


def target_dir() -> Path:
    return paths.target_dir() / "asan"


def faults_program() -> Path:
    """The program that `build` makes beside the browser."""
    return target_dir() / host_triple() / "debug" / "sanitizer_faults"


def host_triple() -> str:
    host = process.output(["rustc", "--print", "host-tuple"])
    if host is None:
        raise MachError("`rustc --print host-tuple` fails")
    return host.strip()


def environment() -> dict[str, str]:
    """The variables with which the browser is run. Those of the person are added to them, and come last."""
    options = {
        "ASAN_OPTIONS": joined(BROWSER_OPTIONS),
        "LSAN_OPTIONS": joined({"suppressions": LEAKS, "print_suppressions": 0, "exitcode": STATUS, "max_leaks": 20}),
        "UBSAN_OPTIONS": joined({**UBSAN_OPTIONS, "exitcode": STATUS}),
    }
    more = {name: f"{value}:{os.environ[name]}" for name, value in options.items() if os.environ.get(name)}
    return {
        **options,
        **more,
        "ASAN_SYMBOLIZER_PATH": f"/usr/lib/llvm-{toolchain.CLANG}/bin/llvm-symbolizer",
        "RUST_MIN_STACK": str(STACK_SIZE),
        slowness.VARIABLE: os.environ.get(slowness.VARIABLE, str(TIME_FACTOR)),
    }


def use() -> Path:
    """Builds the browser, and makes this process and all that it starts ready to run it. Returns its path."""
    binary = build()
    os.environ.update(environment())
    return binary


def reports(log: str) -> list[str]:
    """The reports of sanitizers in a log, each by its first line and its summary."""
    found = []
    for match in REPORT.finditer(log):
        first = log[match.start() :].partition("\n")[0]
        summary = SUMMARY.search(log, match.end())
        found.append(f"{first}\n  {summary[0]}" if summary else first)
    return found


def joined(options: dict) -> str:
    return ":".join(f"{name}={value}" for name, value in options.items())


def write_if_changed(file: Path, text: str):
    """A file that does not change keeps its age."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
