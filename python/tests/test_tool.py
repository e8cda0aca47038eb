# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What is promised of strobe-tool: that it is installed in a fresh clone, and the form of its reports for programs."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from strobe import paths
from strobe.setup.environments import ensure_environment

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
    def test_a_fresh_clone_installs_the_tool(self):
        """As README.md says, but without optimisation, and with no hooks, no cache of ours and no configuration."""
        own = ("CARGO_BUILD_", "CARGO_TARGET_", "STROBE_", "MOZJS_", "LIBCLANG_")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        # Neither bootstrap nor a compiler of C++ has been here.
        environment |= {"CC": "/nonexistent", "CXX": "/nonexistent", "CLICOLOR": "0"}
        with tempfile.TemporaryDirectory() as folder:
            clone, root = Path(folder, "clone"), Path(folder, "installed")
            environment["STROBE_CACHE_DIR"] = str(Path(folder, "cache"))
            fresh_clone(clone)
            self.assertFalse((clone / ".cargo").exists())
            install = ["cargo", "install", "--locked", "--debug", "--root", str(root), "--path", "components/tool"]
            subprocess.run(install, cwd=clone, env=environment, check=True, capture_output=True, text=True)
            profile = clone / "components/profile_formats/tests/cases/node-26.12.1.cpuprofile"
            command = [str(root / "bin" / "strobe-tool"), "report", str(profile)]
            report = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
            self.assertRegex(report.stdout, r"^92 samples at ")
            self.assertEqual(report.stderr, "")
            self.assertFalse(Path(folder, "cache").exists(), "the tool needs no cache")


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
