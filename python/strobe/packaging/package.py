# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach package: a package for Debian and Ubuntu, and an archive with the same files, from a release build.

All files are placed as they are to be installed, and Debian's tools do the rest, by packaging/debian/rules: symbols go
to a package of their own, dependencies are found, and archives are written.
"""

import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .. import build, paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..run import shown_from_here
from ..setup import bootstrap, toolchain, workspace
from . import libraries, licences, parts

SOURCE = paths.ROOT / "packaging"
# In pixels, beside the drawing that has no size of its own.
ICON_SIZES = (48, 128, 256)
# The names of the completions that clap makes, and the places where shells look for them.
COMPLETIONS = {
    "strobe.bash": "bash-completion/completions/strobe",
    "_strobe": "zsh/vendor-completions/_strobe",
    "strobe.fish": "fish/vendor_completions.d/strobe.fish",
}
TOOL_COMPLETIONS = {
    "strobe-tool.bash": "bash-completion/completions/strobe-tool",
    "_strobe-tool": "zsh/vendor-completions/_strobe-tool",
    "strobe-tool.fish": "fish/vendor_completions.d/strobe-tool.fish",
}
# `tar --zstd` alone compresses less.
ZSTD = "zstd -19 -T0"


@dataclass(frozen=True)
class Packages:
    """The results, in one folder."""

    deb: Path
    # The symbols of the program in `deb`, for gdb.
    symbols_deb: Path
    archive: Path
    # The same for the program in `archive`.
    symbols_archive: Path
    # strobe-tool alone.
    tool_archive: Path

    def all(self) -> tuple[Path, ...]:
        return (self.deb, self.symbols_deb, self.archive, self.symbols_archive, self.tool_archive)


def package() -> Packages:
    """Builds the browser, if STROBE_BINARY names none, and makes its packages."""
    binary = build.find(release=True)
    check_binary(binary)
    tool = build.tool()
    with cache_lock("package"):
        bootstrap.ensure()
        bootstrap.ensure_system_packages(toolchain.PACKAGING_PACKAGES)
        folder = paths.target_dir() / "package"
        work = folder / "work"
        shutil.rmtree(work, ignore_errors=True)
        tree = work / f"strobe-{workspace.version()}"
        moment = source_moment()
        place_files(tree / "files", binary, tool, moment)
        packages = Packages(*make_packages(tree, binary, moment, folder), make_tool_archive(tool, moment, folder))
    shutil.rmtree(work)
    print(f"\n{parts.report(binary)}\n\n{parts.megabytes(packages.all())}\n")
    for file in packages.all():
        print(shown_from_here(file))
    return packages


def package_tool() -> Path:
    """Builds strobe-tool, and makes an archive of it alone. That needs neither the browser nor Debian's tools."""
    tool = build.tool()
    with cache_lock("package", name="tool-lock"):
        if not shutil.which("zstd"):
            bootstrap.ensure_system_packages(toolchain.PACKAGING_PACKAGES)
        folder = paths.target_dir() / "package"
        folder.mkdir(parents=True, exist_ok=True)
        archive = make_tool_archive(tool, source_moment(), folder)
    print(f"\n{parts.megabytes((archive,))}\n")
    print(shown_from_here(archive))
    return archive


def find(folder: Path) -> Packages:
    """The packages that an earlier run has left in a folder."""
    version = workspace.version()
    patterns = (
        f"strobe_{version}_*.deb",
        # Ubuntu's tools name it .ddeb.
        f"strobe-dbgsym_{version}_*.*deb",
        f"{archive_name()}.tar.zst",
        f"{archive_name()}-symbols.tar.zst",
        f"{tool_archive_name()}.tar.zst",
    )
    found = [sorted(folder.glob(pattern)) for pattern in patterns]
    if missing := [pattern for pattern, files in zip(patterns, found) if not files]:
        raise MachError(f"{shown_from_here(folder)}: there is no {missing[0]}; run `./mach package` first")
    return Packages(*(files[0] for files in found))


def archive_name() -> str:
    return f"strobe-{workspace.version()}-linux-x86_64"


def tool_archive_name() -> str:
    return f"strobe-tool-{workspace.version()}-linux-x86_64"


def check_binary(binary: Path):
    """Raises MachError unless the binary has the symbols that the packages keep apart, and a name for them."""
    sections = process.output(["readelf", "--section-headers", "--wide", str(binary)])
    if sections is None:
        raise MachError(f"{binary}: is not a program for Linux")
    for section, what in ((".symtab", "symbols"), (".note.gnu.build-id", "build ID")):
        if not re.search(rf"\s{re.escape(section)}\s", sections):
            raise MachError(f"{binary}: has no {what}; a package needs a release build that is not stripped")


def source_moment() -> int:
    """The time of the packages and of the files in them, in seconds since 1970.

    It is the commit's, so that packages of one commit are alike. SOURCE_DATE_EPOCH names another one.
    """
    text = os.environ.get("SOURCE_DATE_EPOCH") or process.output(
        ["git", "-C", str(paths.ROOT), "log", "-1", "--format=%ct"]
    )
    if text is None:
        return int(time.time())
    if not re.fullmatch(r"\d{1,12}\s*", text):
        raise MachError(f"SOURCE_DATE_EPOCH={text}: must be a number of seconds since 1970")
    return int(text)


# Files


def place_files(root: Path, binary: Path, tool: Path, moment: int):
    """Places all files of the package below `root`, as they are to be installed."""
    share = root / "usr" / "share"
    _place(binary, root / "usr" / "bin" / "strobe")
    place_tool(root / "usr", tool, moment)
    _place(SOURCE / "strobe.desktop", share / "applications" / "strobe.desktop")
    _place_icons(share / "icons" / "hicolor")
    _place_command_docs(root.parent / "command_docs", share, moment)
    documents = share / "doc" / "strobe"
    _place(licences.standard_library_licences(), documents / "rust-standard-library.html")
    (documents / "third-party-licences.txt").write_text(licences.third_party_licences(), encoding="utf-8")


def place_tool(prefix: Path, tool: Path, moment: int):
    """Places strobe-tool, its man pages and its completions."""
    _place(tool, prefix / "bin" / "strobe-tool")
    with tempfile.TemporaryDirectory() as folder:
        make = build.tool_command(["run", "--quiet", "--example=command_docs", "--", folder, _date(moment)])
        process.run(make, **build.tool_place())
        _place_docs(Path(folder), prefix / "share", TOOL_COMPLETIONS)


def _place(source: Path, target: Path):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def _place_icons(theme: Path):
    drawing = SOURCE / "strobe.svg"
    _place(drawing, theme / "scalable" / "apps" / "strobe.svg")
    for size in ICON_SIZES:
        icon = theme / f"{size}x{size}" / "apps" / "strobe.png"
        icon.parent.mkdir(parents=True, exist_ok=True)
        process.run(["rsvg-convert", f"--width={size}", f"--height={size}", f"--output={icon}", str(drawing)])


def _place_command_docs(folder: Path, share: Path, moment: int):
    """Makes the man pages and the completions, from the command line that the browser itself reads."""
    command = ["cargo", "run", "--locked", "--quiet", "--package=command_docs", "--", str(folder), _date(moment)]
    process.run(command)
    _place_docs(folder, share, COMPLETIONS)


def _date(moment: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def _place_docs(folder: Path, share: Path, completions: dict[str, str]):
    for name, place in completions.items():
        _place(folder / name, share / place)
    for page in sorted(folder.glob("*.1")):
        _place(page, share / "man" / "man1" / page.name)


# Packages


def make_packages(tree: Path, binary: Path, moment: int, target: Path) -> tuple[Path, Path, Path, Path]:
    """Makes the packages of the files in a tree, and the archives with the same files."""
    shutil.copytree(SOURCE / "debian", tree / "debian")
    (tree / "debian" / "changelog").write_text(changelog(moment), encoding="utf-8")
    environment = {
        **os.environ,
        # These would change what is in the packages.
        "DEB_BUILD_OPTIONS": "",
        "DLOPEN_DEPENDS": ", ".join(libraries.opened_packages(binary)),
        "SOURCE_DATE_EPOCH": str(moment),
    }
    process.run(["dpkg-buildpackage", "--build=binary", "--no-sign"], cwd=tree, env=environment)
    for pattern in ("strobe_*.deb", "strobe-dbgsym_*.*deb", "strobe-*.tar.zst"):
        for file in target.glob(pattern):
            file.unlink()
        for file in tree.parent.glob(pattern):
            file.rename(target / file.name)
    debs = [next(target.glob(pattern), None) for pattern in ("strobe_*.deb", "strobe-dbgsym_*.*deb")]
    if None in debs:
        raise MachError("dpkg-buildpackage succeeded, but has not made both packages")
    archives = make_archives(*debs, tree.parent, moment, target)
    return (*debs, *archives)


def changelog(moment: int) -> str:
    """What Debian's tools know the version from. It also says what the package was made from."""
    control = (SOURCE / "debian" / "control").read_text(encoding="utf-8")
    maintainer = re.search(r"^Maintainer: (.+)$", control, re.M)[1]
    made_from = f"commit {commit}" if (commit := _commit()) else "a copy of the sources"
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(moment))
    head = f"strobe ({workspace.version()}) unstable; urgency=medium"
    return f"{head}\n\n  * Made from {made_from}.\n\n -- {maintainer}  {date}\n"


def _commit() -> str | None:
    """The name of the commit, which is marked if files were changed since."""
    commit = process.output(["git", "-C", str(paths.ROOT), "describe", "--always", "--abbrev=40", "--dirty"])
    return commit.strip() if commit else None


def make_archives(deb: Path, symbols_deb: Path, scratch: Path, moment: int, target: Path) -> tuple[Path, Path]:
    """Makes archives of what the two packages install."""
    name = archive_name()
    archive, symbols_archive = target / f"{name}.tar.zst", target / f"{name}-symbols.tar.zst"
    installed, symbols = scratch / "installed", scratch / "symbols"
    process.run(["dpkg-deb", "--extract", str(deb), str(installed)])
    process.run(["dpkg-deb", "--extract", str(symbols_deb), str(symbols)])
    fields = {
        "@ARCHIVE@": archive.name,
        "@DEPENDS@": field_of(deb, "Depends"),
        "@SYMBOLS@": symbols_archive.name,
        "@VERSION@": workspace.version(),
    }
    text = (SOURCE / "tarball" / "README").read_text(encoding="utf-8")
    for mark, value in fields.items():
        text = text.replace(mark, value)
    (installed / "usr" / "README").write_text(text, encoding="utf-8")
    make_archive(archive, installed / "usr", name, moment)
    make_archive(symbols_archive, _symbols_beside_program(symbols, scratch / "beside"), name, moment)
    return archive, symbols_archive


def make_tool_archive(tool: Path, moment: int, target: Path) -> Path:
    """Makes an archive of strobe-tool alone, with its man pages, completions and licences."""
    name = tool_archive_name()
    archive = target / f"{name}.tar.zst"
    archive.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place_tool(Path(folder), tool, moment)
        documents = Path(folder, "share", "doc", "strobe-tool")
        _place(paths.ROOT / "LICENSE", documents / "LICENSE")
        _place(licences.standard_library_licences(), documents / "rust-standard-library.html")
        (documents / "third-party-licences.txt").write_text(licences.licences_of_tool(), encoding="utf-8")
        text = (SOURCE / "tool" / "README").read_text(encoding="utf-8")
        for mark, value in {"@ARCHIVE@": archive.name, "@VERSION@": workspace.version()}.items():
            text = text.replace(mark, value)
        Path(folder, "README").write_text(text, encoding="utf-8")
        Path(folder).chmod(0o755)
        make_archive(archive, Path(folder), name, moment)
    return archive


def _symbols_beside_program(symbols: Path, folder: Path) -> Path:
    """A folder with the symbol file in a place relative to the program's, in which gdb looks for it."""
    files = sorted(symbols.glob("usr/lib/debug/.build-id/*/*.debug"))
    if len(files) != 1:
        raise MachError(f"the package of symbols has {len(files)} symbol files; it must have one")
    _place(files[0], folder / "bin" / ".debug" / files[0].name)
    return folder


def field_of(deb: Path, field: str) -> str:
    """A field of a package's control file."""
    text = process.output(["dpkg-deb", "--field", str(deb), field])
    if not text or not text.strip():
        raise MachError(f"{deb.name}: has no {field}")
    return text.strip()


def make_archive(archive: Path, folder: Path, name: str, moment: int):
    """Makes an archive whose only folder is `name`. It is the same for the same files."""
    command = ["tar", "--create", f"--file={archive}", f"--use-compress-program={ZSTD}", "--sort=name"]
    command += ["--owner=0", "--group=0", "--numeric-owner", f"--mtime=@{moment}", "--format=gnu"]
    process.run([*command, f"--transform=s,^\\.,{name},", f"--directory={folder}", "."])
