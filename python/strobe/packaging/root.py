# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A fresh Debian in a folder, made by debootstrap, and programs that run in it.

Each program has its own namespaces of mounts and of processes. What it mounts and starts ends with it, however it ends,
and nothing is ever mounted in the folder for the rest of the system.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .. import paths, process
from ..errors import MachError

# How the namespaces are made. All processes in them are killed when `unshare` ends.
UNSHARE = ("unshare", "--mount", "--pid", "--fork", "--kill-child")
# What a program finds in the root, beside its files. The first argument is the root.
ENTER = """
mount -t proc proc "$1/proc"
mount -t tmpfs tmpfs "$1/dev/shm"
mount -t devpts devpts "$1/dev/pts"
exec chroot "$@"
"""
# Files of this system that say how the network is reached.
NETWORK = ("etc/hosts", "etc/resolv.conf")
ENVIRONMENT = {
    "DEBIAN_FRONTEND": "noninteractive",
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM": "dumb",
}
# These go from our environment to that of the programs.
PROXIES = ("http_proxy", "https_proxy", "no_proxy")

# Seconds.
DEBOOTSTRAP_BOUND = 900
COPY_BOUND = 300


class Root:
    """The folder of a system, and what runs in it."""

    def __init__(self, folder: Path):
        self.folder = folder

    def run(self, *command: str, bound: int) -> str:
        """The output of a program in the root, its errors included. MachError if it fails or takes too long."""
        environment = {**ENVIRONMENT, **{name: os.environ[name] for name in PROXIES if name in os.environ}}
        inside = [*UNSHARE, "sh", "-ec", ENTER, "sh", str(self.folder), *command]
        return run_within(inside, bound, environment, shown=" ".join(command))

    def path(self, place: str) -> Path:
        """The place outside of the root of a file in it."""
        return self.folder / place.lstrip("/")

    def install(self, *packages: str, bound: int) -> str:
        """Installs packages, named or as files of the root, without those that are only recommended."""
        return self.run("apt-get", "install", "-y", "-q", "--no-install-recommends", *packages, bound=bound)

    def find(self, name: str) -> list[str]:
        """The files of the root whose name matches a pattern, without those of the kernel."""
        return sorted(
            "/" + str(Path(place, found).relative_to(self.folder))
            for place, folders, files in os.walk(self.folder)
            for found in (*folders, *files)
            if Path(found).match(name)
        )


def why_not() -> str | None:
    """Why roots cannot be made here, or None if they can."""
    if os.geteuid() != 0:
        return "needs root, to make a fresh Debian"
    if missing := [program for program in ("debootstrap", "unshare", "chroot") if not shutil.which(program)]:
        return f"{missing[0]} is not installed"
    with_mount = [*UNSHARE, "mount", "-t", "proc", "proc", str(paths.ROOT / "python")]
    if process.output(with_mount) is None:
        return "this system does not allow mounts in a namespace"
    return None


def sources(suite: str) -> list[str]:
    """Lines of sources.list for a release of Debian or Ubuntu, from the sources of this machine.

    The first one is the release itself. If the machine has other releases only, it is taken from the same place.
    """
    fields = "$(ORIGIN) $(REPO_URI) $(CODENAME) $(RELEASE)"
    listing = process.output(["apt-get", "indextargets", "--format", fields, "Created-By: Packages"])
    return choose_sources(listing or "", suite)


def choose_sources(listing: str, suite: str) -> list[str]:
    """The same, from the output of `apt-get indextargets`."""
    targets = [line.split() for line in listing.splitlines() if len(line.split()) == 4]
    # Updates of the release have its name and a suffix, such as bookworm-security.
    ours = [target for target in targets if target[2] == suite or target[2].startswith(f"{suite}-")]
    ours.sort(key=lambda target: (target[2] != suite, target[2]))
    lines = [f"deb {uri} {release} main" for _, uri, _, release in ours]
    if not ours or ours[0][2] != suite:
        # Sources of updates alone, such as debian-security, hold no release.
        places = [uri for origin, uri, codename, _ in targets if origin == "Debian" and "-" not in codename]
        lines = [f"deb {uri} {suite} main" for uri in places[:1]] + lines
    return list(dict.fromkeys(lines))


@contextmanager
def fresh_root(suite: str) -> Iterator[Root]:
    """A root with the packages that every Debian has. It is deleted at the end."""
    lines = sources(suite)
    if not lines:
        raise MachError(f"apt has no source of Debian here, so there is no {suite} to install")
    with _folder("fresh") as folder:
        print(f"installing {suite} by debootstrap", flush=True)
        mirror = lines[0].split()[1]
        command = ["debootstrap", "--variant=minbase", suite, str(folder), mirror]
        # In namespaces, because it mounts file systems, and leaves them there if it is killed.
        run_within([*UNSHARE, *command], DEBOOTSTRAP_BOUND, dict(os.environ), shown=" ".join(command))
        (folder / "etc" / "apt" / "sources.list").write_text("".join(f"{line}\n" for line in lines))
        for name in NETWORK:
            if Path("/", name).is_file():
                (folder / name).unlink(missing_ok=True)
                shutil.copyfile(Path("/", name), folder / name)
        root = Root(folder)
        root.run("apt-get", "update", "-q", bound=DEBOOTSTRAP_BOUND)
        yield root


@contextmanager
def copy_of(root: Root, name: str) -> Iterator[Root]:
    """A copy of a root. It is deleted at the end."""
    with _folder(name) as folder:
        command = ["cp", "--archive", f"{root.folder}/.", str(folder)]
        run_within(command, COPY_BOUND, dict(os.environ), shown=" ".join(command))
        yield Root(folder)


@contextmanager
def _folder(name: str) -> Iterator[Path]:
    """An empty folder, also if a run was killed before it could delete it."""
    folder = paths.target_dir() / "package" / "roots" / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def run_within(command: list[str], bound: int, environment: dict[str, str], shown: str) -> str:
    """The output of a program, its errors included. MachError if it fails, or does not end within `bound` seconds."""
    child = process.start(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    try:
        output, _ = child.communicate(timeout=bound)
    except subprocess.TimeoutExpired as error:
        so_far = (error.stdout or b"").decode(errors="replace")
        raise MachError(f"`{shown}` did not end within {bound} s; its output ends in\n{_last_lines(so_far)}") from None
    finally:
        # `unshare` ignores that it is asked to end, and is killed. With it end all that it has started.
        if child.poll() is None:
            child.kill()
            child.wait()
        child.stdout.close()
    if child.returncode != 0:
        what = process.describe_status(child.returncode)
        raise MachError(f"`{shown}` {what}; its output ends in\n{_last_lines(output)}")
    return output


def _last_lines(output: str, count: int = 20) -> str:
    return "\n".join(output.rstrip().splitlines()[-count:])
