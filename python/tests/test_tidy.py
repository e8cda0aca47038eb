# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import os
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe import paths, tidy
from strobe.errors import MachError

from .fake_crates import FILES, FakeCrateTest

FIXTURES = Path(__file__).with_name("tidy_fixtures")


@contextlib.contextmanager
def cargo_kept_quiet():
    """Hides expected errors, which would look like real ones in the output of the tests."""
    errors = os.dup(2)
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(errors, 2)
        os.close(errors)


def messages(check, root: Path) -> list[str]:
    return [str(problem) for problem in sorted(set(check(root)))]


class FixtureTest(unittest.TestCase):
    """Each check must find exactly these problems in a small tree."""

    def check(self, check, *expected: str):
        self.assertEqual(messages(check, FIXTURES / check.__name__), list(expected))

    def test_rust_formatting(self):
        self.check(tidy.rust_formatting, "components/script/dom/profiler.rs:6: not formatted by rustfmt")

    def test_python_style(self):
        self.check(
            tidy.python_style,
            "style.py:6: tab",
            "style.py:6: trailing whitespace",
            "style.py:9: 129 characters, more than 120",
            "syntax.py:5: does not compile: invalid syntax",
        )

    def test_python_lints(self):
        self.check(
            tidy.python_lints,
            "lints.py:5: F401: `os` imported but unused",
            "lints.py:8: B006: Do not use mutable data structures for argument defaults",
        )

    def test_javascript_lints(self):
        try:
            self.check(
                tidy.javascript_lints,
                "unused.js:6: no-unused-vars: 'left' is assigned a value but never used. "
                "Allowed unused vars must match /^_/u.",
            )
        except tidy.Skipped as reason:
            self.skipTest(str(reason))

    def test_javascript_types(self):
        try:
            self.check(
                tidy.javascript_types,
                "resources/about-profiling/data/escaped.js:1: "
                "no `// @ts-check`, and no reason in tests/types/unchecked.toml",
                "resources/about-profiling/data/sums.js:14: TS7006: Parameter 'value' implicitly has an 'any' type.",
                "resources/about-profiling/data/view.js:9: TS2322: Type 'string' is not assignable to type 'number'.",
                "tests/types/unchecked.toml:1: `data/sums.js` has `// @ts-check`",
                "tests/types/unchecked.toml:1: no script `data/gone.js`",
            )
        except tidy.Skipped as reason:
            self.skipTest(str(reason))

    def test_without_node_javascript_is_not_linted_and_that_is_counted(self):
        with mock.patch("strobe.npm.check_node", side_effect=MachError("no node")):
            with self.assertRaisesRegex(tidy.Skipped, "^no node$"):
                list(tidy.javascript_lints(FIXTURES / "javascript_lints"))
        with (
            mock.patch.dict(tidy.CHECKS, {"eslint": mock.Mock(side_effect=tidy.Skipped("no node"))}, clear=True),
            mock.patch("strobe.setup.bootstrap.ensure"),
            # The command that runs these tests holds the lock.
            mock.patch("strobe.tidy.cache_lock"),
        ):
            tally = tidy.test_tidy()
        self.assertEqual((tally.passed, tally.failures, tally.skipped), (0, [], ["tidy: eslint: no node"]))

    def test_licence_headers(self):
        self.check(
            tidy.licence_headers,
            "ci/run:1: no MPL-2.0 header",
            "page.css:1: no MPL-2.0 header",
            "src/other.rs:1: no MPL-2.0 header",
        )

    def test_unsafe_code(self):
        self.check(
            tidy.unsafe_code,
            "components/js_profiler/group.rs:5: unsafe code outside the places that CONTRIBUTING.md names",
            "components/js_profiler/group.rs:8: unsafe code outside the places that CONTRIBUTING.md names",
        )

    def test_tool_versions(self):
        self.check(
            tidy.tool_versions,
            "components/tool/Cargo.lock:1: changed 1.2.3: Cargo.lock has another version or checksum",
            "components/tool/Cargo.lock:1: newer 2.0.0: Cargo.lock has another version or checksum",
            "components/tool/Cargo.lock:1: unknown 1.0.0: Cargo.lock has no such package",
            "components/tool/Cargo.toml:1: rust-version is '1.80', and '1.92' in the workspace",
        )

    def test_hook_files(self):
        file = "components/script/hooks.patch"
        self.check(
            tidy.hook_files,
            f"{file}:3: hunk replaces 2 lines; a hook inserts lines or replaces a single one",
            f"{file}:7: hunk inserts nothing; a hook inserts lines or replaces a single one",
            f"{file}:9: hunk without the digest of its neighbours; make it with ./mach update-hooks",
            f"{file}:12: a context line; hunks have none",
            f"{file}:16: not a file name, a hunk header or a line of a hunk",
            f"{file}:17: not `--- a/PATH`; hooks change upstream files, files of ours stand beside hooks.patch",
            f"{file}:20: the last hunk lacks 1 of its lines",
        )

    def test_documented_commands(self):
        self.check(
            tidy.documented_commands,
            "CONTRIBUTING.md:1: mach has no command `update-hook`",
            "README.md:6: mach has no command `dance`",
            "docs/commands.md:1: mach has no command `sing`",
        )

    def test_links_of_documents(self):
        self.check(
            tidy.links_of_documents,
            "README.md:3: no file `docs/missing.md`",
            "docs/figures/stops.md:1: no file `there.md`",
            "docs/there.md:5: `docs/there.md` has no heading `#below`",
            "docs/there.md:6: `../README.md` has no heading `#why`",
            "tests/browser/README.md:3: no file `../pages`",
        )

    def test_clippy(self):
        # Outside the repository, whose Cargo configuration is not for this crate.
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as output:
            root = Path(folder, "clippy")
            shutil.copytree(FIXTURES / "clippy", root)
            with mock.patch.dict(os.environ, CARGO_TARGET_DIR=str(root / "target")), cargo_kept_quiet():
                found = messages(tidy.clippy, root)
        self.assertEqual(
            found,
            [
                "components/timer/lib.rs:6: unneeded `return` statement",
                "components/timer/lib.rs:13: used `assert_eq!` with a literal bool",
            ],
        )
        self.assertIn("needless_return", output.getvalue(), "what clippy advises is shown")


class UpstreamFilesTest(FakeCrateTest):
    def test_upstream_files(self):
        root = self.root / "fixture"
        shutil.copytree(FIXTURES / "upstream_files", root)
        self.publish({**FILES, "src/lib.rs": "mod canvas;\n", "src/canvas.rs": "pub fn fill() {}\n"})
        (root / "upstream" / "Cargo.lock").write_text(self.lock.read_text())
        self.assertEqual(
            messages(tidy.upstream_files, root),
            ["components/paint/src/canvas.rs:1: servo-paint 0.7.0 has a file of that name"],
        )


class CheckTest(unittest.TestCase):
    def test_every_check_has_a_fixture(self):
        self.assertEqual(
            sorted(check.__name__ for check in tidy.CHECKS.values()), sorted(path.name for path in FIXTURES.iterdir())
        )

    def test_the_repository_is_checked_without_the_fixtures(self):
        files = set(tidy.our_files(paths.ROOT))
        self.assertIn(Path("mach"), files)
        self.assertIn(Path(".ci/run"), files)
        self.assertIn(Path("python/tests/test_tidy.py"), files)
        self.assertFalse([file for file in files if file.is_relative_to(tidy.FIXTURES)])
        self.assertFalse([file for file in files if file.parts[0] in ("target", ".git", ".cargo")])

    def test_rust_that_does_not_parse(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "lib.rs").write_text("pub fn f( {}\n")
            (found,) = messages(tidy.rust_formatting, Path(folder))
        self.assertRegex(found, r"^lib\.rs:1: ")

    def test_a_hunk_that_is_cut_off(self):
        patch = "--- a/x\n+++ b/x\n@@ -1,0 +2,2 @@ at 0123abcd\n+a\n--- a/y\n"
        self.assertEqual(list(tidy.hook_problems(patch)), [(5, "the previous hunk lacks 1 of its lines")])

    def test_warnings_about_build_scripts_of_hooked_crates_are_not_ours(self):
        def is_problem(level: str, manifest: str) -> bool:
            report = {"message": {"level": level}, "manifest_path": manifest}
            return tidy.is_problem(report, Path("/a/strobe"))

        self.assertTrue(is_problem("warning", "/a/strobe/components/timer/Cargo.toml"))
        self.assertTrue(is_problem("error", "/cache/upstream/mozjs_sys-1/Cargo.toml"))
        self.assertFalse(is_problem("warning", "/cache/upstream/mozjs_sys-1/Cargo.toml"))
        self.assertFalse(is_problem("note", "/a/strobe/components/timer/Cargo.toml"))

    def test_clippy_that_cannot_run(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FIXTURES / "clippy", folder, dirs_exist_ok=True)
            manifest = Path(folder, "components/timer/Cargo.toml")
            manifest.write_text(manifest.read_text().replace("lib.rs", "none.rs"))
            with self.assertRaisesRegex(MachError, "^`cargo clippy .* failed with status 101$"), cargo_kept_quiet():
                tidy.clippy(Path(folder))
