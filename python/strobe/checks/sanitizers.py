# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach check sanitizers: the sampling component under AddressSanitizer and UndefinedBehaviorSanitizer.

The program is tests/sanitizers: SpiderMonkey without Servo, which runs scripts of all kinds while the component takes
samples. All Rust code is compiled with AddressSanitizer, and our C++ with both sanitizers. SpiderMonkey is that of the
dev build, without sanitizers. Its build script is not run: Cargo gets the output of the script's run in the dev build.
https://doc.rust-lang.org/cargo/reference/build-scripts.html#overriding-build-scripts
"""

import json
import os
import tomllib
from pathlib import Path

from .. import build as browser
from .. import paths, process
from ..asan import ASAN_OPTIONS, CXX_FLAGS, RUST_FLAGS, UBSAN_OPTIONS, host_triple, joined
from ..errors import MachError
from ..lock import cache_lock
from ..setup import bootstrap, toolchain

PROGRAM = "sanitizer_embedding"
ENGINE = "mozjs_sys"


def run(seconds: int):
    """Builds the program and runs it for some seconds. Raises MachError if anything is found."""
    program = build()
    environment = {
        **os.environ,
        "ASAN_OPTIONS": joined(ASAN_OPTIONS),
        "LSAN_OPTIONS": joined({"suppressions": paths.ROOT / "tests" / "sanitizers" / "leaks.supp"}),
        "UBSAN_OPTIONS": joined(UBSAN_OPTIONS),
        "ASAN_SYMBOLIZER_PATH": f"/usr/lib/llvm-{toolchain.CLANG}/bin/llvm-symbolizer",
    }
    process.run([str(program), str(seconds)], env=environment)


def build() -> Path:
    with cache_lock("check"):
        bootstrap.ensure()
        host = host_triple()
        folder = paths.cache_dir() / "check"
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "engine.toml"
        config.write_text(engine_config(engine_output(), host), encoding="utf-8")
        target_dir = paths.target_dir() / "check" / "sanitizers"
        environment = {
            **os.environ,
            **toolchain.build_environment(),
            # A stable compiler knows sanitizers, too, with this variable.
            "RUSTC_BOOTSTRAP": "1",
            "CARGO_BUILD_BUILD_DIR": str(folder / "sanitizers"),
            "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(RUST_FLAGS),
            "CARGO_TARGET_DIR": str(target_dir),
            # components/js_profiler/build.rs reads these. CXXFLAGS would also apply to the C++ of other crates.
            "STROBE_GLUE_FLAGS": " ".join(CXX_FLAGS),
        }
        # With --target, build scripts and macros are compiled without sanitizers.
        command = ["cargo", "build", "--locked", f"--target={host}", f"--config={config}", "-p", PROGRAM]
        process.run(command, env=environment)
    return target_dir / host / "debug" / PROGRAM


def engine_output() -> dict:
    """The output of the engine's build script in the dev build, which is made if it does not exist."""
    messages = []
    command = [*browser.command(), "--message-format=json-render-diagnostics"]
    status = process.stream(command, on_line=messages.append)
    if status != 0:
        raise MachError(f"the dev build, whose SpiderMonkey is used, {process.describe_status(status)}")
    for line in messages:
        message = json.loads(line) if line.startswith("{") else {}
        is_engine = f"/{ENGINE}-" in message.get("package_id", "") or f"#{ENGINE}@" in message.get("package_id", "")
        if message.get("reason") == "build-script-executed" and is_engine:
            return message
    raise MachError(f"the dev build has no {ENGINE}")


def engine_config(output: dict, host: str) -> str:
    """Cargo configuration with the output and the folder of the engine's build script in place of the script."""
    out_dir = Path(output["out_dir"])
    tree = upstream_tree(out_dir.parent / "output")
    values = {
        "rustc-link-lib": output["linked_libs"],
        "rustc-link-search": output["linked_paths"],
        "rustc-cfg": output["cfgs"],
        "outdir": tree["outdir"],
        "srcdir": tree["srcdir"],
    }
    lines = [f"[target.{host}.{links_name()}]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    lines += [f"[target.{host}.{links_name()}.rustc-env]", f"OUT_DIR = {json.dumps(str(out_dir))}"]
    return "\n".join(lines) + "\n"


def links_name() -> str:
    """Cargo's `links` name of the engine's crate."""
    with open(paths.CARGO_CONFIG, "rb") as file:
        tree = Path(tomllib.load(file)["patch"]["crates-io"][ENGINE]["path"])
    with open(tree / "Cargo.toml", "rb") as file:
        return tomllib.load(file)["package"]["links"]


def upstream_tree(output: Path) -> dict[str, str]:
    """The folders that the build script names for crates that compile against the engine's headers.

    See components/mozjs_sys/hooks.patch.
    """
    said = {}
    for line in output.read_text(encoding="utf-8").splitlines():
        for key in ("outdir", "srcdir"):
            if line.startswith(f"cargo:{key}="):
                said[key] = line.partition("=")[2]
    if len(said) != 2:
        raise MachError(f"{output}: {ENGINE} is not hooked")
    return said
