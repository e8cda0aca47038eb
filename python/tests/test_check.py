# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import json
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from strobe import paths
from strobe.checks import check, faults, sanitizers, walk_calls
from strobe.commands import check as check_command
from strobe.errors import MachError
from strobe.setup import workspace


class SuitesTest(unittest.TestCase):
    def check(self, *wanted: str, failing: tuple[str, ...] = ()) -> tuple[list[str], str]:
        """(the suites that ran, the error's text)."""
        ran = []

        def suite(name: str):
            def run(*_):
                ran.append(name)
                if name in failing:
                    raise MachError("on purpose")

            return run

        error = ""
        with (
            mock.patch.object(check, "models", suite("models")),
            mock.patch.object(check, "miri", suite("miri")),
            mock.patch.object(check, "valgrind", suite("valgrind")),
            mock.patch.object(sanitizers, "run", suite("sanitizers")),
            mock.patch.object(faults, "check", suite("asan-build")),
            mock.patch.object(walk_calls, "check", suite("walk-calls")),
            mock.patch.object(check, "upstream", suite("upstream")),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            try:
                check.check(list(wanted), seconds=1)
            except MachError as failure:
                error = str(failure)
        return ran, error

    def test_those_that_are_named_run_once_each(self):
        self.assertEqual(self.check("miri", "models", "miri"), (["miri", "models"], ""))

    def test_all_are_what_the_command_offers_but_for_the_one_that_needs_the_registry(self):
        ran, error = self.check("all")
        self.assertEqual(([*ran, "upstream", "all"], error), (list(check_command.SUITES), ""))
        ran, error = self.check("upstream", "all", "models")
        self.assertEqual(ran, ["upstream", *check_command.SUITES[:-2]])

    def test_others_run_after_one_has_failed_and_the_error_names_it(self):
        ran, error = self.check("all", failing=("models", "valgrind"))
        self.assertEqual(ran, list(check_command.SUITES[:-2]))
        self.assertEqual(error, "failed: models, valgrind")


class ToolsTest(unittest.TestCase):
    def test_without_miri_the_error_says_what_to_install(self):
        with (
            mock.patch.object(check.process, "output", return_value=None),
            self.assertRaisesRegex(MachError, "toolchain 'mine' has no Miri(.|\n)*install mine --component miri"),
        ):
            check.check_miri(["cargo", "+mine"], "mine")

    def test_without_valgrind_the_error_says_what_to_install(self):
        with (
            mock.patch("shutil.which", return_value=None),
            self.assertRaisesRegex(MachError, "apt-get install valgrind"),
        ):
            check.valgrind()

    def test_pure_crates_are_ours(self):
        self.assertLessEqual(set(check.PURE_CRATES), set(workspace.crates(under="components/")))

    def test_programs_of_tests_are_found(self):
        messages = [
            "   Compiling a",
            json.dumps({"reason": "compiler-artifact", "profile": {"test": False}, "executable": None}),
            json.dumps(
                {
                    "reason": "compiler-artifact",
                    "profile": {"test": True},
                    "executable": "/a/test",
                    "manifest_path": "/b/Cargo.toml",
                }
            ),
            json.dumps({"reason": "build-finished", "success": True}),
        ]

        def stream(command, on_line):
            self.assertIn("--message-format=json-render-diagnostics", command)
            for message in messages:
                on_line(message + "\n")
            return 0

        with (
            tempfile.TemporaryDirectory() as cache,
            mock.patch.dict(check.os.environ, {"STROBE_CACHE_DIR": cache}),
            mock.patch.object(check.process, "stream", stream),
        ):
            self.assertEqual(check.test_programs(("a",)), [(Path("/a/test"), Path("/b"))])


class EngineTest(unittest.TestCase):
    """The configuration that Cargo gets instead of running the engine's build script."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)

    def output(self, text: str) -> dict:
        (self.root / "out").mkdir(exist_ok=True)
        (self.root / "output").write_text(text)
        return {
            "out_dir": str(self.root / "out"),
            "linked_libs": ["static=js_static", "stdc++"],
            "linked_paths": ["native=/a"],
            "cfgs": [],
        }

    def test_it_says_where_the_dev_builds_engine_is(self):
        output = self.output("cargo:outdir=/o/build\ncargo:srcdir=/s/mozjs\ncargo:rustc-link-lib=x\n")
        with mock.patch.object(sanitizers, "links_name", return_value="mozjs"):
            config = tomllib.loads(sanitizers.engine_config(output, "x86_64-unknown-linux-gnu"))
        self.assertEqual(
            config["target"]["x86_64-unknown-linux-gnu"]["mozjs"],
            {
                "rustc-link-lib": ["static=js_static", "stdc++"],
                "rustc-link-search": ["native=/a"],
                "rustc-cfg": [],
                "outdir": "/o/build",
                "srcdir": "/s/mozjs",
                "rustc-env": {"OUT_DIR": str(self.root / "out")},
            },
        )

    def test_an_engine_without_hooks_is_an_error(self):
        self.output("cargo:rustc-link-lib=x\n")
        with self.assertRaisesRegex(MachError, "mozjs_sys is not hooked"):
            sanitizers.upstream_tree(self.root / "output")

    def test_leaks_that_are_known_have_a_file(self):
        self.assertTrue((paths.ROOT / "tests" / "sanitizers" / "leaks.supp").is_file())
