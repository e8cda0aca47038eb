# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What is promised of strobe-tool: that it is installed in a fresh clone, and the form of its reports for programs."""

import contextlib
import json
import os
import pty
import select
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from strobe import paths
from strobe.setup.environments import ensure_environment

# Seconds. Nothing takes so long unless it hangs.
BOUND = 60
SCHEMA = paths.ROOT / "docs" / "report.schema.json"
REPORTS = paths.COMPONENTS / "profile_formats" / "tests" / "golden" / "reports"
# From PyPI.
JSONSCHEMA = "jsonschema==4.26.0"
CHECK = """
import json, sys
import jsonschema
schema, *reports = [json.load(open(name, encoding="utf-8")) for name in sys.argv[1:]]
validator = jsonschema.Draft202012Validator
validator.check_schema(schema)
for name, report in zip(sys.argv[2:], reports):
    for error in validator(schema).iter_errors(report):
        print(f"{name}: {error.json_path}: {error.message}")
"""


def problems(schema: Path, reports: list[Path]) -> list[str]:
    python = ensure_environment("jsonschema", [JSONSCHEMA]) / "python"
    command = [str(python), "-c", CHECK, *map(str, [schema, *reports])]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def fresh_clone(place: Path):
    """The files of the checkout as a clone would have them, with what has changed since the last commit."""
    command = ["git", "-C", str(paths.ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    for name in filter(None, listing.split("\0")):
        if (source := paths.ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, place / name)


class InstallTest(unittest.TestCase):
    """The tool is installed as README.md says, but without optimisation, and with no hooks, cache or configuration."""

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = Path(scratch.name)
        clone, root = cls.folder / "clone", cls.folder / "installed"
        fresh_clone(clone)
        own = ("CARGO_BUILD_", "CARGO_TARGET_", "STROBE_", "MOZJS_", "LIBCLANG_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        # Neither bootstrap nor a compiler of C++ has been here.
        environment |= {"CC": "/nonexistent", "CXX": "/nonexistent", "STROBE_CACHE_DIR": str(cls.folder / "cache")}
        install = ["cargo", "install", "--locked", "--debug", "--root", str(root), "--path", "components/tool"]
        done = subprocess.run(install, cwd=clone, env=environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise AssertionError(f"`{' '.join(install)}`:\n{done.stderr}")
        cls.program = str(root / "bin" / "strobe-tool")
        cls.profile = clone / "components/profile_formats/tests/cases/node-26.12.1.cpuprofile"

    def test_a_fresh_clone_installs_the_tool(self):
        self.assertFalse((self.folder / "clone" / ".cargo").exists())
        self.assertFalse((self.folder / "cache").exists(), "the tool needs no cache")
        report = subprocess.run([self.program, "report", str(self.profile)], capture_output=True, text=True, check=True)
        self.assertRegex(report.stdout, "^92 samples at ")
        self.assertEqual(report.stderr, "")

    def report_slowly(self, errors: int, more: list[str]) -> tuple[subprocess.Popen, bytes]:
        """A report whose profile has not come to its end yet, and what is left of the profile."""
        content = self.profile.read_bytes()
        command = [self.program, "report", "-", *more]
        tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        self.addCleanup(tool.kill)
        tool.stdin.write(content[:100])
        tool.stdin.flush()
        return tool, content[100:]

    def test_who_waits_at_a_terminal_sees_how_far_it_is_and_a_pipe_gets_nothing(self):
        for more, told, begin in (
            ([], b"reading standard input", b"92 samples at "),
            (["--sessions"], b"reading profiles", b"1 sessions, "),
        ):
            with self.subTest(more):
                self.check_progress(more, told, begin)

    def check_progress(self, more: list[str], told: bytes, begin: bytes):
        ours, terminal = pty.openpty()
        self.addCleanup(os.close, ours)
        # It has waited longer than the one at the terminal, once that shows something.
        in_pipe, rest = self.report_slowly(subprocess.PIPE, more)
        at_terminal, _ = self.report_slowly(terminal, more)
        os.close(terminal)
        shown = b""
        while told not in shown:
            ready, _, _ = select.select([ours], [], [], BOUND)
            self.assertTrue(ready, f"nothing is shown after {BOUND} s: {shown!r}")
            shown += os.read(ours, 4096)
        output, _ = at_terminal.communicate(rest, timeout=BOUND)
        self.assertTrue(output.startswith(begin), output)
        with contextlib.suppress(OSError):
            # The end of a terminal is an error.
            while part := os.read(ours, 4096):
                shown += part
        self.assertTrue(shown.endswith(b"\r\x1b[2K"), f"it does not go away: {shown[-40:]!r}")
        output, errors = in_pipe.communicate(rest, timeout=BOUND)
        self.assertTrue(output.startswith(begin), output)
        self.assertEqual(errors, b"")


class SchemaTest(unittest.TestCase):
    def test_reports_have_the_documented_form(self):
        reports = sorted(REPORTS.glob("*.json"))
        self.assertGreaterEqual(len(reports), 19)
        self.assertEqual(problems(SCHEMA, reports), [])

    def test_another_form_is_noticed(self):
        report = json.loads((REPORTS / "names.folded.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            for member, value in (("version", 2), ("samples", "3"), ("rows", None)):
                file = Path(folder, f"{member}.json")
                file.write_text(json.dumps({**report, member: value}))
            del report["by"]
            Path(folder, "by.json").write_text(json.dumps(report))
            found = problems(SCHEMA, sorted(Path(folder).glob("*.json")))
        self.assertEqual(len(found), 4, found)

    def test_every_member_is_in_the_schema(self):
        schema = json.loads(SCHEMA.read_text())

        def check(value, described: dict):
            described = schema["$defs"][described["$ref"].split("/")[-1]] if "$ref" in described else described
            if isinstance(value, dict):
                self.assertLessEqual(value.keys(), described["properties"].keys())
                for name, member in value.items():
                    check(member, described["properties"][name])
            elif isinstance(value, list):
                for element in value:
                    check(element, described["items"])

        for file in REPORTS.glob("*.json"):
            check(json.loads(file.read_text()), schema)


if __name__ == "__main__":
    unittest.main()
