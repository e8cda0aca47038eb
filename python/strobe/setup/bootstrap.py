# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bootstrap: installs and prepares everything that a build needs, from a bare Debian or Ubuntu on.

Each step looks first and acts only on what is missing. So a second run takes a fraction of a second, and every command
that builds can begin with it.
"""

import os
import re
import shlex
import shutil
import tempfile
from pathlib import Path

from .. import paths, process
from ..errors import MachError
from ..lock import cache_lock
from . import toolchain, upstream, workspace

RUSTUP_INSTALLER = "https://sh.rustup.rs"
RUST_COMPONENTS = ("rustfmt", "clippy")


def bootstrap():
    with cache_lock("bootstrap"):
        ensure()
        crates = upstream.hooked_crates()
    print(
        f"ready: clang {_version(_clang_version_text())}, rustc {_version(process.output(['rustc', '--version']))}, "
        f"upstream trees for {', '.join(crate.name for crate in crates) or 'no crate'}"
    )


def ensure():
    """Installs what is missing, or raises MachError that names it. The caller holds the cache lock."""
    ensure_system_packages()
    check_clang()
    ensure_rust()
    upstream.prepare()


# System packages


def ensure_system_packages(packages: dict[str, tuple[str, ...]] = toolchain.SYSTEM_PACKAGES):
    """Installs those of these packages that are missing. They are listed by purpose, as in toolchain.py."""
    missing = missing_packages(packages)
    if not missing:
        return
    runner = _as_root()
    apt = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-o", "DPkg::Lock::Timeout=120"]
    commands = [[*apt, "update"], [*apt, "install", "-y", *missing]]
    if runner is None:
        by_hand = " && ".join(shlex.join(["sudo", *command]) for command in commands)
        raise MachError(
            f"{len(missing)} system packages are missing and installing them needs root; run\n\n  {by_hand}\n\n"
            "and then this command again"
        )
    print(f"installing {len(missing)} system packages: {' '.join(missing)}")
    for command in commands:
        process.run([*runner, *command])
    if missing := missing_packages(packages):
        raise MachError(f"apt-get succeeded, but these packages are still not installed: {' '.join(missing)}")


def missing_packages(packages: dict[str, tuple[str, ...]]) -> list[str]:
    """Those of these packages that dpkg does not report as installed."""
    if not shutil.which("dpkg-query") or not shutil.which("apt-get"):
        lines = [f"  {purpose}: {', '.join(names)}" for purpose, names in packages.items()]
        raise MachError(
            "this system has no apt-get; Strobe is built on Debian 12 or Ubuntu 24.04 (or newer). "
            "A build needs these packages, by their names in Debian:\n" + "\n".join(lines)
        )
    wanted = [name for names in packages.values() for name in names]
    # The exit status is 1 if dpkg does not know one of the packages, so the text decides.
    query = ["dpkg-query", "--show", "--showformat", "${Package} ${db:Status-Status}\n", *wanted]
    listing = process.output(query, any_status=True)
    installed = {line.split()[0] for line in listing.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in installed]


def _as_root() -> list[str] | None:
    """The words before a command that run it as root without a password, or None."""
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") and process.output(["sudo", "-n", "true"]) is not None:
        return ["sudo", "-n"]
    return None


# Compilers


def check_clang():
    tools = toolchain.build_environment()
    for variable in ("CC", "CXX", "AR"):
        if not shutil.which(tools[variable]):
            raise MachError(f"{tools[variable]} is not on the PATH, though its Debian package is installed")
    found = _version(_clang_version_text())
    if found.split(".")[0] != toolchain.CLANG:
        raise MachError(f"{tools['CC']} reports version {found or 'nothing'}; clang {toolchain.CLANG} is needed")
    if not any(Path(tools["LIBCLANG_PATH"]).glob("libclang*.so*")):
        raise MachError(f"no libclang in {tools['LIBCLANG_PATH']}; bindgen needs libclang-{toolchain.CLANG}-dev")


def _clang_version_text() -> str | None:
    return process.output([toolchain.build_environment()["CC"], "--version"])


def ensure_rust():
    """Makes sure that this process and its children find a new enough `cargo` and `rustc`."""
    needed = workspace.rust_version()
    if not (_rust_suffices(needed) or _find_rust(needed)):
        _install_rust(needed)
        if not (_rust_suffices(needed) or _find_rust(needed)):
            raise MachError(f"rustc and cargo {needed} or newer are needed; the installation gave {_rust_found()}")
    _ensure_rust_components()


def _rust_suffices(needed: str) -> bool:
    found = [_version(process.output([tool, "--version"])) for tool in ("rustc", "cargo")]
    return all(version and _as_numbers(version) >= _as_numbers(needed) for version in found)


def _find_rust(needed: str) -> bool:
    """Looks where rustup installs. A new installation is not on the PATH before the next login."""
    binaries = str(paths.cargo_home() / "bin")
    if binaries != os.environ["PATH"].split(os.pathsep)[0] and Path(binaries, "cargo").exists():
        os.environ["PATH"] = binaries + os.pathsep + os.environ["PATH"]
        if _rust_suffices(needed):
            return True
    # The default toolchain may be too old while the stable one is new enough.
    if shutil.which("rustup") and "RUSTUP_TOOLCHAIN" not in os.environ:
        found = _version(process.output(["rustup", "run", "stable", "rustc", "--version"]))
        if found and _as_numbers(found) >= _as_numbers(needed):
            os.environ["RUSTUP_TOOLCHAIN"] = "stable"
            return _rust_suffices(needed)
    return False


def _install_rust(needed: str):
    print(f"installing Rust with rustup: {needed} or newer is needed, found {_rust_found()}")
    components = [argument for name in RUST_COMPONENTS for argument in ("--component", name)]
    if shutil.which("rustup"):
        process.run(
            ["rustup", "toolchain", "install", "stable", "--no-self-update", "--profile", "minimal", *components]
        )
        return
    with tempfile.TemporaryDirectory() as folder:
        script = str(Path(folder, "rustup-init.sh"))
        process.run(["curl", "--proto", "=https", "--tlsv1.2", "-sSf", "-o", script, RUSTUP_INSTALLER])
        options = ["-y", "--no-modify-path", "--default-toolchain", "stable", "--profile", "minimal", *components]
        process.run(["sh", script, *options])


def _ensure_rust_components():
    probes = {"rustfmt": ["rustfmt", "--version"], "clippy": ["cargo", "clippy", "--version"]}
    missing = [name for name in RUST_COMPONENTS if process.output(probes[name]) is None]
    if not missing:
        return
    if not shutil.which("rustup"):
        raise MachError(f"this Rust installation lacks {' and '.join(missing)}, and there is no rustup to add it")
    process.run(["rustup", "component", "add", *missing])


def _rust_found() -> str:
    tools = {tool: _version(process.output([tool, "--version"])) for tool in ("rustc", "cargo")}
    return ", ".join(f"{tool} {version or 'missing'}" for tool, version in tools.items())


def _version(text: str | None) -> str:
    """The first dotted number in the output of `--version`; empty if there is none."""
    match = re.search(r"\d+(\.\d+)+", text or "")
    return match.group() if match else ""


def _as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
