# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What is promised of reports to the programs that read them."""

import json
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
