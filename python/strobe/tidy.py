# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-tidy: checks of the sources that do not run them.

Each check is a function from a root folder to the problems below it, so that it can run on the repository and on
small failing trees (python/tests/tidy_fixtures/).
"""

import ast
import json
import os
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from . import build, commands, npm, paths, process
from .errors import MachError
from .lock import cache_lock
from .setup import bootstrap, lock_file, upstream, workspace
from .setup.environments import ensure_environment
from .tally import Tally

# Trees that are wrong on purpose.
FIXTURES = Path("python/tests/tidy_fixtures")
# Folders without files of ours. Hidden folders are skipped too, except those in OWN_HIDDEN_FOLDERS.
SKIPPED_FOLDERS = ("target", "__pycache__")
OWN_HIDDEN_FOLDERS = (".ci", ".github")

EDITION = "2024"
LONGEST_PYTHON_LINE = 120
# From PyPI.
RUFF = "ruff==0.17.6"
CLIPPY = ("--no-deps", "--all-targets", "--message-format=json")
ESLINT = paths.ROOT / "tests" / "eslint"
# TypeScript, with its configuration.
TYPES = paths.ROOT / "tests" / "types"
# The scripts whose types are checked, and the list of those among them whose types are not.
TYPED = "resources/about-profiling"
UNTYPED = Path("tests/types/unchecked.toml")
TYPE_ERROR = re.compile(r"^(.+?)\((\d+),\d+\): error (TS\d+: .+)$")
# Its first lines are both shell and Python.
PYTHON_PROGRAMS = ("mach",)

LICENCE = (
    "This Source Code Form is subject to the terms of the Mozilla Public "
    "License, v. 2.0. If a copy of the MPL was not distributed with this "
    "file, You can obtain one at https://mozilla.org/MPL/2.0/."
)
LICENSED = (".c", ".cpp", ".css", ".h", ".html", ".js", ".mjs", ".py", ".rs", ".sh", ".webidl")
# The header is at the top, or follows a `#!` line or a doctype.
LICENCE_LINES = 12

# In any folder, and all in this one.
DOCUMENTS = ("README.md", "CONTRIBUTING.md")
DOCUMENT_FOLDER = "docs"
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.*)$", re.MULTILINE)
MENTIONED_COMMAND = re.compile(r"\./mach\s+([a-z][a-z-]*)")


@dataclass(frozen=True, order=True)
class Problem:
    # Relative to the checked root.
    file: str
    line: int
    what: str

    def __str__(self):
        return f"{self.file}:{self.line}: {self.what}"


class Skipped(Exception):
    """The reason why a check cannot run here."""


def test_tidy() -> Tally:
    """Runs every check on the repository. Each check counts as one test."""
    with cache_lock("test-tidy"):
        bootstrap.ensure()
        tally = Tally()
        for name, check in CHECKS.items():
            try:
                problems = sorted(set(check(paths.ROOT)))
                for problem in problems:
                    print(problem)
                failure = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}" if problems else None
            except Skipped as reason:
                tally.skip(f"tidy: {name}: {reason}")
                continue
            except MachError as error:
                print(error)
                failure = "could not be checked"
            print(f"tidy: {name}: {failure or 'ok'}")
            if failure:
                tally.fail(f"tidy: {name}: {failure}")
            else:
                tally.passed += 1
    return tally


def our_files(root: Path) -> Iterator[Path]:
    """Every file of ours below a root, relative to it."""
    for folder, subfolders, names in os.walk(root):
        here = Path(folder).relative_to(root)
        subfolders[:] = sorted(
            name
            for name in subfolders
            if name not in SKIPPED_FOLDERS
            and (not name.startswith(".") or name in OWN_HIDDEN_FOLDERS)
            and here / name != FIXTURES
        )
        yield from (here / name for name in sorted(names))


# Formatting


def rust_formatting(root: Path) -> Iterable[Problem]:
    """Runs rustfmt on every file, because `cargo fmt` does not know our files in upstream crates' folders."""
    files = [str(file) for file in our_files(root) if file.suffix == ".rs"]
    if not files:
        return []
    result = subprocess.run(
        ["rustfmt", "--check", "--color", "never", "--edition", EDITION, *files],
        cwd=root,
        capture_output=True,
        text=True,
    )
    problems = [
        Problem(_relative(file, root), line, "not formatted by rustfmt")
        for file, line in _rustfmt_differences(result.stdout)
    ]
    problems += [
        Problem(_relative(match.group(2), root), int(match.group(3)), match.group(1))
        for match in re.finditer(r"^error(?:\[\w+\])?: (.+)\n +--> (.+?):(\d+):\d+$", result.stderr, re.MULTILINE)
    ]
    if result.returncode != 0 and not problems:
        raise MachError(f"rustfmt failed with status {result.returncode}:\n{result.stderr.strip()}")
    return problems


def _rustfmt_differences(report: str) -> Iterator[tuple[str, int]]:
    """(file, line) of each difference. rustfmt itself names the first line of the context before it."""
    place = None
    for text in report.split("\n"):
        if match := re.fullmatch(r"Diff in (.+?)(?: at line |:)(\d+):?", text):
            place = (match.group(1), int(match.group(2)))
        elif place and text.startswith(("-", "+")):
            yield place
            place = None
        elif place:
            place = (place[0], place[1] + 1)


def _relative(file: str, root: Path) -> str:
    path = Path(file)
    return str(path.relative_to(root.resolve())) if path.is_absolute() else file


def _python_files(root: Path) -> Iterator[Path]:
    return (file for file in our_files(root) if file.suffix == ".py" or str(file) in PYTHON_PROGRAMS)


def python_style(root: Path) -> Iterable[Problem]:
    for file in _python_files(root):
        text = _text(root / file)
        for number, line in enumerate(text.split("\n"), 1):
            if "\t" in line:
                yield Problem(str(file), number, "tab")
            if line != line.rstrip():
                yield Problem(str(file), number, "trailing whitespace")
            if len(line) > LONGEST_PYTHON_LINE:
                yield Problem(str(file), number, f"{len(line)} characters, more than {LONGEST_PYTHON_LINE}")
        try:
            ast.parse(text)
        except SyntaxError as error:
            yield Problem(str(file), error.lineno or 1, f"does not compile: {error.msg}")


# Licence


def licence_headers(root: Path) -> Iterable[Problem]:
    for file in our_files(root):
        text = _text(root / file)
        is_program = not file.suffix and text.startswith("#!")
        if (file.suffix in LICENSED or is_program) and not has_licence_header(text):
            yield Problem(str(file), 1, "no MPL-2.0 header")


def has_licence_header(text: str) -> bool:
    """Whether the words of the licence are near the top, in order, in a comment of any form."""
    top = [line.strip(" \t/*#!-<>;") for line in text.split("\n")[:LICENCE_LINES]]
    return LICENCE in " ".join(line for line in top if line).replace("http://mozilla", "https://mozilla")


# Upstream


def hook_files(root: Path) -> Iterable[Problem]:
    for hooks in sorted(root.glob(f"components/*/{upstream.HOOKS}")):
        name = str(hooks.relative_to(root))
        yield from (Problem(name, line, what) for line, what in hook_problems(_text(hooks)))


def hook_problems(patch: str) -> Iterator[tuple[int, str]]:
    """(line, what) of everything except insertions and single replaced lines."""
    lines = patch.removesuffix("\n").split("\n")
    in_file = False
    # Lines of the current hunk that are still to come.
    removals = insertions = 0
    for number, line in enumerate(lines, 1):
        if removals and line.startswith("-"):
            removals -= 1
        elif insertions and line.startswith("+"):
            insertions -= 1
        elif (removals or insertions) and line.startswith(" "):
            yield number, "a context line; hunks have none"
        elif removals or insertions:
            yield number, f"the previous hunk lacks {removals + insertions} of its lines"
            removals = insertions = 0
        elif line.startswith("--- "):
            in_file = False
            if not line.startswith("--- a/"):
                yield number, "not `--- a/PATH`; hooks change upstream files, files of ours stand beside hooks.patch"
        elif line.startswith("+++ "):
            in_file = True
            if not line.startswith("+++ b/"):
                yield number, "not `+++ b/PATH`; a hook cannot remove an upstream file"
        elif match := upstream.HUNK.match(line):
            counts = [1 if group is None else int(group) for group in (match.group(2), match.group(4))]
            removals, insertions = counts
            if not in_file:
                yield number, "hunk before any file name"
            if removals > 1:
                yield number, f"hunk replaces {removals} lines; a hook inserts lines or replaces a single one"
            if insertions == 0:
                yield number, "hunk inserts nothing; a hook inserts lines or replaces a single one"
            if not re.fullmatch(r"at [0-9a-f]{8}", match.group(5)):
                yield number, "hunk without the digest of its neighbours; make it with ./mach update-hooks"
        elif not line.startswith("\\ No newline"):
            yield number, "not a file name, a hunk header or a line of a hunk"
    if removals or insertions:
        yield len(lines), f"the last hunk lacks {removals + insertions} of its lines"


def upstream_files(root: Path) -> Iterable[Problem]:
    """Finds files of ours at places where the upstream crate has one."""
    for crate in upstream.hooked_crates(root / "components", root / "upstream" / "Cargo.lock"):
        ours = crate.our_files()
        # An archive is listed only if necessary: that of mozjs_sys takes seconds.
        published = upstream.archive_files(upstream.crate_archive(crate)) if ours else set()
        for file in ours:
            if str(file) in published:
                place = str((crate.folder / file).relative_to(root))
                yield Problem(place, 1, f"{crate.name} {crate.version} has a file of that name")


# The files and folders that may have unsafe code, as CONTRIBUTING.md says.
UNSAFE_CODE = (
    "components/js_profiler/embedding.rs",
    "components/js_profiler/every_instruction.rs",
    "components/js_profiler/examples/",
    "components/js_profiler/spidermonkey/",
    "components/js_profiler/stop/",
    "components/script/",
    "components/script_bindings/",
    "tests/",
)
UNSAFE = re.compile(r"^\s*(?:pub(?:\([a-z]+\))? )?unsafe (?:fn|extern|impl|trait)\b|\bunsafe \{|\ballow\(unsafe_code\)")


def unsafe_code(root: Path) -> Iterable[Problem]:
    for file in our_files(root):
        place = str(file)
        if file.suffix != ".rs" or place.startswith(UNSAFE_CODE):
            continue
        for number, line in enumerate(_text(root / file).split("\n"), 1):
            if UNSAFE.search(line.split("//")[0]):
                yield Problem(place, number, "unsafe code outside the places that CONTRIBUTING.md names")


# The tool


def tool_versions(root: Path) -> Iterable[Problem]:
    """Checks that strobe-tool is built from the same versions as the browser, though it has a lock file of its own."""
    manifest = paths.TOOL.relative_to(paths.ROOT) / "Cargo.toml"
    lock = manifest.with_name("Cargo.lock")
    with open(root / manifest, "rb") as file:
        package = tomllib.load(file)["package"]
    with open(root / "Cargo.toml", "rb") as file:
        ours = tomllib.load(file)["workspace"]["package"]
    for key, value in ours.items():
        if package.get(key) != value:
            yield Problem(str(manifest), 1, f"{key} is {package.get(key)!r}, and {value!r} in the workspace")
    _, texts = lock_file.packages(_text(root / "Cargo.lock"))
    known = {_identity(text) for text in texts}
    names = {identity[0] for identity in known}
    for text in lock_file.packages(_text(root / lock))[1]:
        identity = _identity(text)
        if identity[0] != package["name"] and identity not in known:
            what = "another version or checksum" if identity[0] in names else "no such package"
            yield Problem(str(lock), 1, f"{' '.join(identity[:2])}: Cargo.lock has {what}")


def _identity(package: str) -> tuple[str, str, str | None]:
    """The name, the version and the checksum of a package of a lock file; a crate of ours has no checksum."""
    checksum = lock_file.value(package, "checksum") if "\nchecksum = " in package else None
    return lock_file.value(package, "name"), lock_file.value(package, "version"), checksum


# Documents


def documents(root: Path) -> list[str]:
    """Every document of ours below a root, relative to it."""
    return [
        str(file)
        for file in our_files(root)
        if file.name in DOCUMENTS or (file.suffix == ".md" and file.parts[0] == DOCUMENT_FOLDER)
    ]


def documented_commands(root: Path) -> Iterable[Problem]:
    for document in documents(root):
        for number, line in enumerate(_text(root / document).split("\n"), 1):
            for command in MENTIONED_COMMAND.findall(line):
                if command not in commands.NAMES:
                    yield Problem(document, number, f"mach has no command `{command}`")


def links_of_documents(root: Path) -> Iterable[Problem]:
    """Checks that links within the repository lead to existing files, and to headings of documents."""
    for document in documents(root):
        for number, line in enumerate(_text(root / document).split("\n"), 1):
            for link in LINK.findall(line):
                place, _, heading = link.partition("#")
                target = (root / document).parent / place if place else root / document
                if not target.exists():
                    yield Problem(document, number, f"no file `{place}`")
                elif heading and heading not in map(_anchor, HEADING.findall(_text(target))):
                    yield Problem(document, number, f"`{place or document}` has no heading `#{heading}`")


def _anchor(heading: str) -> str:
    """The name of a heading in addresses, as GitHub and GitLab make it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


# Lints


def python_lints(root: Path) -> Iterable[Problem]:
    """Runs ruff with ruff.toml."""
    files = [str(file) for file in _python_files(root)]
    if not files:
        return []
    ruff = ensure_environment("ruff", [RUFF]) / "ruff"
    configuration = str(paths.ROOT / "ruff.toml")
    result = subprocess.run(
        [str(ruff), "check", "--no-cache", "--config", configuration, "--output-format", "json", *files],
        cwd=root,
        capture_output=True,
        text=True,
    )
    # 1 means that there are problems.
    if result.returncode not in (0, 1):
        raise MachError(f"ruff failed with status {result.returncode}:\n{result.stderr.strip()}")
    return [
        Problem(_relative(found["filename"], root), found["location"]["row"], f"{found['code']}: {found['message']}")
        for found in json.loads(result.stdout)
    ]


def javascript_lints(root: Path) -> Iterable[Problem]:
    """Runs eslint with the configuration of tests/eslint."""
    files = [str(file) for file in our_files(root) if file.suffix in (".js", ".mjs")]
    if not files:
        return []
    try:
        npm.check_node()
        tool = npm.install(ESLINT)
    except MachError as error:
        raise Skipped(str(error).splitlines()[0]) from None
    command = ["node", str(tool / "node_modules" / "eslint" / "bin" / "eslint.js"), "--format", "json"]
    command += ["--config", str(tool / "eslint.config.mjs"), *files]
    result = subprocess.run(command, cwd=root, capture_output=True, text=True)
    # 1 means that there are problems.
    if result.returncode not in (0, 1):
        raise MachError(f"eslint failed with status {result.returncode}:\n{result.stderr.strip()}")
    return [
        Problem(_relative(file["filePath"], root), found.get("line", 1), f"{found['ruleId']}: {found['message']}")
        for file in json.loads(result.stdout)
        for found in file["messages"]
    ]


def javascript_types(root: Path) -> Iterable[Problem]:
    """Runs TypeScript on the scripts of about:profiling, which have their types in comments and are not compiled.

    The scripts share their globals, so all of them are read. Only those with `// @ts-check` are checked.
    """
    scripts = [file for file in our_files(root) if file.suffix == ".js" and file.is_relative_to(TYPED)]
    if not scripts:
        return []
    problems = list(_unchecked_scripts(root, scripts))
    try:
        npm.check_node()
        tool = npm.install(TYPES)
    except MachError as error:
        # The list can be checked anywhere.
        if problems:
            return problems
        raise Skipped(str(error).splitlines()[0]) from None
    options = json.loads(_text(TYPES / "tsconfig.json"))["compilerOptions"]
    declarations = sorted(root.glob(f"{TYPED}/**/*.d.ts"))
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "tsconfig.json")
        files = [str(root.resolve() / file) for file in (*scripts, *declarations)]
        project.write_text(json.dumps({"compilerOptions": options, "files": files}))
        command = ["node", str(tool / "node_modules" / "typescript" / "bin" / "tsc"), "--pretty", "false"]
        result = subprocess.run([*command, "-p", str(project)], cwd=root, capture_output=True, text=True)
    errors = [match for line in result.stdout.splitlines() if (match := TYPE_ERROR.match(line))]
    if result.returncode != 0 and not errors:
        output = (result.stdout + result.stderr).strip()
        raise MachError(f"tsc failed with status {result.returncode}:\n{output}")
    for file, line, what in (match.groups() for match in errors):
        place = _relative(os.path.normpath(root.resolve() / file), root)
        problems.append(Problem(place, int(line), what))
    return problems


def _unchecked_scripts(root: Path, scripts: list[Path]) -> Iterator[Problem]:
    """Finds scripts without `// @ts-check` that are not on the list, and entries of the list that are wrong."""
    reasons = tomllib.loads(_text(root / UNTYPED)) if (root / UNTYPED).exists() else {}
    names = {str(file.relative_to(TYPED)) for file in scripts}
    unchecked = {name for name in names if "\n// @ts-check\n" not in _text(root / TYPED / name)}
    for name in sorted(unchecked - set(reasons)):
        yield Problem(f"{TYPED}/{name}", 1, f"no `// @ts-check`, and no reason in {UNTYPED}")
    for name, why in sorted(reasons.items()):
        if name not in names:
            yield Problem(str(UNTYPED), 1, f"no script `{name}`")
        elif name not in unchecked:
            yield Problem(str(UNTYPED), 1, f"`{name}` has `// @ts-check`")
        elif not why:
            yield Problem(str(UNTYPED), 1, f"no reason for `{name}`")


def clippy(root: Path) -> Iterable[Problem]:
    """Runs clippy with --no-deps: Cargo takes the hooked upstream crates for local ones, and would lint them too."""
    packages = workspace.package_arguments(workspace.crates(root))
    problems = _clippy(["cargo", "clippy", "--locked", *CLIPPY, *packages], root, root)
    # A workspace of its own, which small trees do not have.
    if root == paths.ROOT:
        problems += _clippy(build.tool_command(["clippy", *CLIPPY]), root, **build.tool_place())
    return problems


def _clippy(command: list[str], root: Path, cwd: Path, env: dict[str, str] | None = None) -> list[Problem]:
    problems = []

    def on_line(line: str):
        if not line.startswith("{"):
            print(line, end="")
            return
        report = json.loads(line)
        if report["reason"] == "compiler-message" and is_problem(report, root):
            message = report["message"]
            for span in message["spans"]:
                if span["is_primary"]:
                    print(message["rendered"], end="")
                    problems.append(Problem(span["file_name"], span["line_start"], message["message"]))

    status = process.stream([*command, "--", "-D", "warnings"], cwd=cwd, env=env, on_line=on_line)
    if status != 0 and not problems:
        raise MachError(f"`{' '.join(command)} -- -D warnings` {process.describe_status(status)}")
    return problems


def is_problem(report: dict, root: Path) -> bool:
    """Whether a message of Cargo is a problem: an error anywhere, or a warning about a crate of the checkout.

    `--no-deps` leaves the compiler's own warnings about the build scripts of hooked crates, whose text is not ours.
    """
    level = report["message"]["level"]
    return level == "error" or (level == "warning" and Path(report["manifest_path"]).is_relative_to(root))


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")


CHECKS = {
    "Rust formatting": rust_formatting,
    "Python style": python_style,
    "licence headers": licence_headers,
    "hook files": hook_files,
    "upstream files": upstream_files,
    "unsafe code": unsafe_code,
    "versions of the tool": tool_versions,
    "commands in documents": documented_commands,
    "links of documents": links_of_documents,
    "ruff": python_lints,
    "eslint": javascript_lints,
    "types of scripts": javascript_types,
    "clippy": clippy,
}
