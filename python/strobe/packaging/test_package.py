# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-package: installs the packages in a fresh Debian without a compiler, and uses what they install."""

import os
import re
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from .. import paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..server import PageServer
from ..setup import bootstrap, toolchain, workspace
from ..tally import Tally
from . import package
from .root import Root, copy_of, fresh_root, run_within, why_not

PAGE = paths.ROOT / "tests" / "package"
# Built-in functions of the engine, and functions of the page. The page calls the first ones; those after an arrow are
# called back by the built-in before.
NAMES = {
    "sortNumbers": "callbacks.js",
    "writeNumbers": "callbacks.js",
    "compareNumbers": "callbacks.js",
    "replaceValue": "callbacks.js",
    "sort": "(built-in)",
    "stringify": "(built-in)",
}
STACKS = (("sortNumbers", "sort", "compareNumbers"), ("writeNumbers", "stringify", "replaceValue"))

# Of strobe and of strobe-tool: each has one for itself and one for each of its six subcommands.
MAN_PAGES = 14
# A profile for strobe-tool.
PROFILE = paths.COMPONENTS / "profile_formats" / "tests" / "cases" / "node-26.12.1.cpuprofile"

# Programs for the checks, which the browser does not need.
MANUAL_PACKAGES = ("man-db", "groff-base")
SHELL_PACKAGES = ("bash-completion", "zsh", "fish")
COMPILERS = ("cc", "gcc", "g++", "clang", "clang-19", "rustc", "ld")

# Seconds for each command.
INSTALL_BOUND = 600
RECORD_BOUND = 300
# Of any other program.
BOUND = 60
LINTIAN_BOUND = 600


@dataclass(frozen=True)
class Installation:
    """The installed browser."""

    root: Root
    # Where bin/ and share/ are, in the root.
    prefix: PurePosixPath

    @property
    def program(self) -> str:
        return str(self.prefix / "bin" / "strobe")

    def share(self, place: str) -> str:
        return str(self.prefix / "share" / place)

    def run(self, *command: str, bound: int = BOUND) -> str:
        return self.root.run(*command, bound=bound)


def test_package(suite: str, folder: Path | None):
    """Makes the packages, or takes those in `folder`, and tests them. Prints what was tested, and counts it."""
    tally = Tally()
    if reason := _prepare():
        tally.skip(f"package: {reason}")
        tally.finish()
        return
    packages = package.find(folder) if folder else package.package()
    if shutil.which("lintian"):
        tally.add(_run_checks("lintian", {"finds no error": lambda: check_lintian(packages)}))
    else:
        tally.skip("package: lintian is not installed")
    try:
        # Two runs would use the same folders.
        with cache_lock("test-package", name="roots-lock"), fresh_root(suite) as base:
            with copy_of(base, "deb") as root:
                tally.add(test_deb(root, packages))
            with copy_of(base, "archive") as root:
                tally.add(test_archive(root, packages))
            with copy_of(base, "tool") as root:
                tally.add(test_tool_archive(root, packages))
    except MachError as error:
        print(error)
        tally.fail(f"{suite}: {str(error).splitlines()[0]}")
    tally.finish()


def _prepare() -> str | None:
    """Installs what the test needs, and returns why it cannot run here, if it cannot."""
    if os.geteuid() == 0:
        try:
            bootstrap.ensure_system_packages(toolchain.PACKAGE_TEST_PACKAGES)
        except MachError as error:
            print(error, file=sys.stderr)
    return why_not()


def test_deb(root: Root, packages: package.Packages) -> Tally:
    """Tests the package for Debian, and that nothing is left when it is removed."""
    installation = Installation(root, PurePosixPath("/usr"))
    tally = _run_checks("deb", {"is installed": lambda: install_deb(root, packages.deb)})
    if tally.failures:
        return tally
    tally.add(_run_checks("deb", common_checks(installation)))
    checks = {
        "its symbols are found": lambda: check_symbols(
            installation, lambda: install_deb(root, packages.symbols_deb)
        ),
        "is removed completely": lambda: check_removal(root),
    }
    tally.add(_run_checks("deb", checks))
    return tally


def test_archive(root: Root, packages: package.Packages) -> Tally:
    """Tests the archive, in a root that has the libraries that its README names."""
    installation = Installation(root, PurePosixPath("/opt", package.archive_name()))
    tally = _run_checks("archive", {"is unpacked": lambda: unpack(installation, packages.archive)})
    if tally.failures:
        return tally
    tally.add(_run_checks("archive", common_checks(installation)))
    checks = {
        "its symbols are found": lambda: check_symbols(
            installation, lambda: _extract(root, packages.symbols_archive)
        )
    }
    tally.add(_run_checks("archive", checks))
    return tally


def test_tool_archive(root: Root, packages: package.Packages) -> Tally:
    """Tests the archive of strobe-tool, in a root without any other package."""
    installation = Installation(root, PurePosixPath("/opt", package.tool_archive_name()))
    checks = {
        "is unpacked": lambda: _extract(root, packages.tool_archive),
        "strobe-tool": lambda: check_tool(installation),
    }
    return _run_checks("tool", checks)


def common_checks(installation: Installation) -> dict[str, Callable[[], None]]:
    """The checks of any installation, by name. Those that install programs come last."""
    return {
        "there is no compiler": lambda: check_no_compiler(installation),
        "all libraries are found": lambda: check_libraries(installation),
        "strobe --version": lambda: check_version(installation),
        "strobe-tool": lambda: check_tool(installation),
        "licences": lambda: check_licences(installation),
        "a recording": lambda: check_recording(installation),
        "a window": lambda: check_window(installation),
        "desktop entry and icons": lambda: check_desktop_entry(installation),
        "man pages": lambda: check_man_pages(installation),
        "completions": lambda: check_completions(installation),
    }


def _run_checks(what: str, checks: dict[str, Callable[[], None]]) -> Tally:
    """Runs all checks, even after one has failed. Each counts as one test."""
    tally = Tally()
    for name, check in checks.items():
        started = time.monotonic()
        try:
            check()
        # A file that is not there fails the check that reads it.
        except (MachError, OSError) as error:
            print(error)
            tally.fail(f"package: {what}: {name}")
            tally.reasons[f"package: {what}: {name}"] = str(error).splitlines()[0]
            result = "FAILED"
        else:
            tally.passed += 1
            result = "ok"
        print(f"package: {what}: {name}: {result} ({time.monotonic() - started:.0f} s)", flush=True)
    return tally


# Installing


def install_deb(root: Root, deb: Path):
    """Installs a package as a person would, with the packages that it depends on."""
    place = root.path("/tmp") / deb.name
    place.write_bytes(deb.read_bytes())
    root.install(f"/tmp/{deb.name}", bound=INSTALL_BOUND)
    place.unlink()


def unpack(installation: Installation, archive: Path):
    _extract(installation.root, archive)
    readme = installation.root.path(str(installation.prefix / "README")).read_text(encoding="utf-8")
    satisfy = ["apt-get", "satisfy", "-y", "-q", "--no-install-recommends", dependencies(readme)]
    installation.run(*satisfy, bound=INSTALL_BOUND)


def dependencies(readme: str) -> str:
    """What the README of the archive says that it needs."""
    match = re.search(r"apt-get satisfy '([^'\n]+)'", readme)
    if not match:
        raise MachError("the archive's README does not say what it needs")
    return match[1]


def _extract(root: Root, archive: Path):
    place = root.path("/opt")
    place.mkdir(exist_ok=True)
    command = ["tar", "--extract", "--zstd", f"--file={archive}", f"--directory={place}"]
    run_within(command, BOUND, dict(os.environ), shown=" ".join(command))


def check_removal(root: Root):
    """Removes the packages, and looks for what they have left."""
    # The package of the symbols is not there if it could not be installed.
    names = root.run("dpkg-query", "--show", "--showformat=${Package}\\n", "strobe*", bound=BOUND).split()
    installed = root.run("dpkg", "--listfiles", *names, bound=BOUND).splitlines()
    root.run("apt-get", "purge", "-y", "-q", *names, bound=INSTALL_BOUND)
    files = [file for file in installed if root.path(file).is_file()]
    if left := sorted({*files, *root.find("*strobe*")}):
        raise MachError(f"{left[0]} is left after the removal{f', and {len(left) - 1} more' if left[1:] else ''}")


# Checks


def check_no_compiler(installation: Installation):
    """A compiler that a dependency has brought would hide that the browser needs one."""
    folders = ("usr/bin", "usr/local/bin", "bin")
    found = [name for name in COMPILERS for folder in folders if (installation.root.folder / folder / name).exists()]
    if found:
        raise MachError(f"the root has {found[0]}")


def check_libraries(installation: Installation):
    lines = installation.run("ldd", installation.program).splitlines()
    if missing := [line.strip() for line in lines if "not found" in line]:
        raise MachError(f"{installation.program}: {missing[0]}")


def check_version(installation: Installation):
    text = installation.run(installation.program, "--version")
    if not re.match(rf"strobe {re.escape(workspace.version())}\b", text):
        raise MachError(f"`strobe --version` says {text.strip()!r}; it should begin with strobe {workspace.version()}")


def check_tool(installation: Installation):
    """Has strobe-tool report on a profile."""
    place = installation.root.path("/tmp") / PROFILE.name
    shutil.copyfile(PROFILE, place)
    text = installation.run(str(installation.prefix / "bin" / "strobe-tool"), "report", f"/tmp/{PROFILE.name}")
    place.unlink()
    if not text.startswith("92 samples at ") or " spin " not in text:
        raise MachError(f"strobe-tool report: {text.strip()}")


def check_licences(installation: Installation):
    """Looks for a text of each source: a crate, C code in a crate, notices in the engine, and Rust itself."""
    wanted = {
        "third-party-licences.txt": ("servo-script ", "aws-lc/LICENSE", "mozjs_sys [^:]*: notices in source files"),
        "rust-standard-library.html": ("hashbrown",),
        "copyright": ("MPL-2.0",),
    }
    for name, texts in wanted.items():
        place = installation.share(f"doc/strobe/{name}")
        # Long documents are compressed.
        compressed = installation.root.path(f"{place}.gz").is_file()
        content = installation.run(*(["zcat", f"{place}.gz"] if compressed else ["cat", place]))
        if missing := [text for text in texts if not re.search(text, content)]:
            raise MachError(f"{place}: has no {missing[0]}")


def check_recording(installation: Installation):
    """Records a page of functions that native code calls, and reads the profile back."""
    recorded, collapsed = "/tmp/recorded.firefox.json", "/tmp/recorded.collapsed"
    program = installation.program
    with PageServer(PAGE, inbox="") as server:
        options = ["--headless", "--until-js=isDone", "-o", recorded]
        installation.run(program, "profile", *options, f"{server.origin}/index.html", bound=RECORD_BOUND)
    report = installation.run(program, "report", "--top=100", recorded)
    installation.run(program, "convert", recorded, collapsed)
    check_report(report)
    check_stacks(installation.root.path(collapsed).read_text(encoding="utf-8"))


def check_window(installation: Installation):
    """Opens a page in a window of X11, which needs libraries that are opened by name."""
    with PageServer(PAGE, inbox="") as server, _display() as display:
        command = ["env", f"DISPLAY={display}", installation.program, "--exit-after=load"]
        installation.run(*command, f"{server.origin}/index.html", bound=RECORD_BOUND)


@contextmanager
def _display() -> Iterator[str]:
    """A display outside of the root. Its socket has a name without a file, so programs in the root find it."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-ac", "-nolisten", "tcp", "-listen", "local"]
    with os.fdopen(reader, encoding="ascii") as numbers:
        try:
            server = process.start(command, pass_fds=(writer,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        finally:
            os.close(writer)
        try:
            # It writes the number of the display when that is there, or ends.
            is_ready = select.select([numbers], [], [], BOUND)[0]
            number = numbers.readline().strip() if is_ready else ""
            if not number:
                raise MachError("Xvfb has no display")
            yield f":{number}"
        finally:
            process.end(server)


def check_report(report: str):
    """Raises MachError that names what a report on the page lacks."""
    print(report.rstrip())
    for name, place in NAMES.items():
        if not re.search(rf"\s{name}\s+{re.escape(place)}", report):
            raise MachError(f"the report has no function {name} at {place}")


def check_stacks(collapsed: str):
    """Raises MachError that names a way through native code that no stack has."""
    # The place of a function follows its name.
    stacks = [
        [frame.split(" (")[0] for frame in line.rpartition(" ")[0].split(";")] for line in collapsed.splitlines()
    ]
    for wanted in STACKS:
        if not any(tuple(stack[at : at + 3]) == wanted for stack in stacks for at in range(len(stack))):
            raise MachError(f"no stack has {' -> '.join(wanted)}")


def check_desktop_entry(installation: Installation):
    installation.root.install("desktop-file-utils", bound=INSTALL_BOUND)
    entry = installation.share("applications/strobe.desktop")
    if said := installation.run("desktop-file-validate", entry).strip():
        raise MachError(f"desktop-file-validate: {said}")
    text = installation.root.path(entry).read_text(encoding="utf-8")
    if "\nExec=strobe " not in text or "\nIcon=strobe\n" not in text:
        raise MachError(f"{entry}: does not start strobe, or has another icon")
    theme = installation.share("icons/hicolor")
    drawn = [f"{size}x{size}/apps/strobe.png" for size in package.ICON_SIZES]
    for icon in [*drawn, "scalable/apps/strobe.svg"]:
        file = installation.root.path(f"{theme}/{icon}")
        begin = b"\x89PNG" if icon.endswith(".png") else b"<?xml"
        if not file.is_file() or not file.read_bytes().startswith(begin):
            raise MachError(f"{theme}/{icon}: is not there, or no picture")


def check_man_pages(installation: Installation):
    """Formats each page as `man` does, which must have nothing to complain about, and asks for its summary."""
    installation.root.install(*MANUAL_PACKAGES, bound=INSTALL_BOUND)
    folder = installation.root.path(installation.share("man/man1"))
    pages = sorted(file.name for file in folder.glob("strobe*"))
    if len(pages) != MAN_PAGES:
        raise MachError(f"there are {len(pages)} man pages, and not {MAN_PAGES}: {', '.join(pages)}")
    for name in pages:
        page = installation.share(f"man/man1/{name}")
        formatted = 'MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$1" > /dev/null'
        if said := installation.run("sh", "-ec", formatted, "sh", page).strip():
            raise MachError(f"{page}: {said}")
        summary = installation.run("lexgrog", page)
        if not re.search(rf'"{name.split(".")[0]} - \S', summary):
            raise MachError(f"{page}: has no summary: {summary.strip()}")
    text = installation.run("man", "--pager=cat", "-l", installation.share("man/man1/strobe.1.gz"))
    if "--window-size" not in text:
        raise MachError("strobe.1: does not have the option --window-size")


def check_completions(installation: Installation):
    """Has each shell complete an option of strobe, from the place where the package puts its completions."""
    installation.root.install(*SHELL_PACKAGES, bound=INSTALL_BOUND)
    share, is_usr = installation.share(""), installation.prefix == PurePosixPath("/usr")
    # Where the shell does not look by itself, it is told to.
    loads = {
        "bash": ". $1/bash-completion/completions/strobe",
        "zsh": "fpath=($1/zsh/vendor-completions $fpath)",
        "fish": "source $argv[1]/fish/vendor_completions.d/strobe.fish",
    }
    if is_usr:
        bash = ". /usr/share/bash-completion/bash_completion; _completion_loader strobe"
        loads = {"bash": bash, "zsh": ":", "fish": ":"}
    bash = f'{loads["bash"]}; COMP_WORDS=(strobe --window-s); COMP_CWORD=1; _strobe strobe --window-s strobe'
    zsh = f"{loads['zsh']}; autoload -Uz compinit && compinit -u -D; autoload +X $_comps[strobe]; functions _strobe"
    fish = f"{loads['fish']}; complete --do-complete='strobe --window-s'"
    outputs = {
        "bash": ["bash", "--norc", "--noprofile", "-c", f'{bash}; echo "${{COMPREPLY[@]}}"', "bash", share],
        "zsh": ["zsh", "-f", "-c", zsh, "zsh", share],
        "fish": ["fish", "-c", fish, share],
    }
    for shell, command in outputs.items():
        if "--window-size" not in (said := installation.run(*command)):
            raise MachError(f"{shell} does not complete --window-s to --window-size, but says {said.strip()!r}")


def check_symbols(installation: Installation, install: Callable[[], None]):
    """Asks gdb for a function of the engine: before the symbols are installed, and after."""
    installation.root.install("gdb", bound=INSTALL_BOUND)
    # gdb fails if there is no such function. Then its words are judged here.
    command = 'gdb -batch -nx -iex "set debuginfod enabled off" -ex "info line JS_NewContext" "$1" || true'

    def asked() -> str:
        return installation.run("sh", "-c", command, "sh", installation.program)

    before = asked()
    if "not defined" not in before:
        raise MachError(f"{installation.program}: is not stripped; gdb says {before.strip()!r}")
    install()
    after = asked()
    # A release build has no lines, so gdb knows only the address.
    if not re.search(r"address 0x[0-9a-f]+ <\w*JS_NewContext", after):
        raise MachError(f"gdb does not find the symbols, but says {after.strip()!r}")


def check_lintian(packages: package.Packages):
    """Prints what lintian says. An error fails; what is excused has its reason in packaging/debian/."""
    command = ["lintian", "--fail-on=error", "--allow-root", str(packages.deb), str(packages.symbols_deb)]
    print(run_within(command, LINTIAN_BOUND, dict(os.environ), shown="lintian").rstrip())
