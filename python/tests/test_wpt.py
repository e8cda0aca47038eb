# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import configparser
import contextlib
import io
import json
import os
import re
import socket
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from strobe import build, paths
from strobe.errors import MachError
from strobe.setup import toolchain, upstream
from strobe.tally import Failed
from strobe.wpt import wpt
from strobe.wpt.results import compared, read_lines


def log(*entries: dict) -> list[str]:
    return [json.dumps(entry) for entry in entries]


def start(test: str) -> dict:
    return {"action": "test_start", "test": test}


def status(test: str, subtest: str, status: str, **more) -> dict:
    return {"action": "test_status", "test": test, "subtest": subtest, "status": status, **more}


def end(test: str, status: str, **more) -> dict:
    return {"action": "test_end", "test": test, "status": status, **more}


def read(*entries: dict):
    return read_lines(log({"action": "suite_start"}, *entries, {"action": "log", "message": "x"}), wpt.OWN_URL_BASE)


A, B, OWN = "/hr-time/a.any.html", "/user-timing/b.html", "/_strobe/c.html"
MIXED = (
    start(A),
    status(A, "one", "PASS"),
    status(A, "two", "FAIL"),
    status(A, "three", "FAIL", expected="PASS", message="it is 2\nand not 1"),
    end(A, "OK"),
    start(B),
    status(B, "one", "PASS"),
    end(B, "TIMEOUT", expected="OK"),
    start(OWN),
    end(OWN, "PASS"),
)


class ResultsTest(unittest.TestCase):
    def test_totals_per_directory(self):
        self.assertEqual(
            read(*MIXED).table().split("\n"),
            [
                "directory        tests  results  passed  failed as expected  unexpected",
                "hr-time              1        3       1                   1           1",
                "user-timing          1        2       1                   0           1",
                "tests/wpt/tests      1        1       1                   0           0",
                "together             3        6       3                   1           2",
            ],
        )

    def test_what_is_unexpected_fails(self):
        tally = read(*MIXED).tally()
        self.assertEqual(tally.passed, 4)
        self.assertEqual(
            tally.failures,
            [f"wpt: {A} | three: FAIL, expected PASS: it is 2", f"wpt: {B}: TIMEOUT, expected OK"],
        )
        with mock.patch("builtins.print"), self.assertRaises(Failed):
            tally.finish()

    def test_a_pass_that_was_not_expected_fails_too(self):
        results = read(start(A), status(A, "one", "PASS", expected="FAIL"), end(A, "OK"))
        self.assertEqual(results.tally().failures, [f"wpt: {A} | one: PASS, expected FAIL"])

    def test_either_of_two_statuses_may_be_expected(self):
        results = read(start(A), status(A, "one", "FAIL", expected="PASS", known_intermittent=["FAIL"]), end(A, "OK"))
        self.assertEqual(results.unexpected, [])

    def test_repeated_tests_are_counted_each_time(self):
        results = read(*MIXED, *MIXED)
        self.assertEqual((len(results.tests), len(results.counted)), (6, 12))

    def test_what_has_not_ended(self):
        begin, finish = {"action": "suite_start"}, {"action": "suite_end"}
        self.assertEqual(read_lines(log(begin, start(A), end(A, "OK"), finish), wpt.OWN_URL_BASE).begun, set())
        self.assertEqual(read_lines(log(begin, start(A), end(A, "OK")), wpt.OWN_URL_BASE).begun, {"the suite"})
        self.assertEqual(read_lines(log(begin, start(A), finish), wpt.OWN_URL_BASE).begun, {A})
        # With --repeat there is one after the other.
        twice = log(begin, start(A), end(A, "OK"), finish, begin, start(A), end(A, "OK"), finish)
        self.assertEqual(read_lines(twice, wpt.OWN_URL_BASE).begun, set())

    def test_a_log_that_was_cut_off_is_an_error(self):
        with self.assertRaisesRegex(MachError, "^line 2 of the runner's log is not JSON"):
            read_lines([*log(start(A)), '{"action": "test_e'], wpt.OWN_URL_BASE)

    def test_what_changed(self):
        before = read(
            start(A), status(A, "lost", "PASS"), status(A, "won", "FAIL"), status(A, "same", "FAIL"), end(A, "OK"),
            start(B), status(B, "gone", "PASS"), status(B, "other", "FAIL"), end(B, "OK"),
        )
        after = read(
            start(A), status(A, "lost", "FAIL"), status(A, "won", "PASS"), status(A, "same", "FAIL"), end(A, "OK"),
            start(B), status(B, "other", "NOTRUN"), end(B, "CRASH"),
        )
        self.assertEqual(
            compared(before, after).report().split("\n"),
            [
                "2 pass on Servo and not on Strobe",
                f"  {A} | lost: PASS -> FAIL",
                f"  {B} | gone: PASS -> absent",
                "1 pass on Strobe and not on Servo",
                f"  {A} | won: FAIL -> PASS",
                "2 fail in another way",
                f"  {B} | other: FAIL -> NOTRUN",
                f"  {B}: absent -> CRASH",
                "1 the same",
            ],
        )


class CheckoutTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.checkout = self.root / "checkout"
        (self.checkout / "tools" / "wptrunner").mkdir(parents=True)
        (self.checkout / "hr-time").mkdir()
        (self.checkout / "hr-time" / "a.any.js").touch()

    def environment(self, **values: str):
        patched = {name: value for name, value in os.environ.items() if name != "WPT_DIR"} | values
        return mock.patch.dict(os.environ, patched, clear=True)

    def test_the_checkout_that_is_named(self):
        with self.environment(WPT_DIR=str(self.checkout)):
            self.assertTrue(wpt.available())
            self.assertEqual(wpt.find_or_clone(), self.checkout.resolve())
        with self.environment(WPT_DIR=str(self.root)), self.assertRaisesRegex(MachError, "no tools/wptrunner"):
            wpt.find_or_clone()

    @unittest.skipUnless("WPT_DIR" in os.environ, "no checkout of web-platform-tests is named")
    def test_a_clone_has_what_the_tests_load(self):
        checkout = Path(os.environ["WPT_DIR"])
        loaded = re.compile(r"""(?:src="|// META: script=)/([^"\s?]+)/[^/"\s?]+""")
        seen = set()
        for folder in wpt.DEFAULT_PATHS:
            root = wpt.TESTS if folder == wpt.OWN else checkout / folder
            for file in root.rglob("*"):
                if file.suffix in (".html", ".js"):
                    seen.update(loaded.findall(file.read_text(encoding="utf-8")))
        self.assertIn("resources", seen)
        missing = [
            folder
            for folder in seen
            if not any(f"{folder}/".startswith(f"{known}/") for known in wpt.SPARSE_FOLDERS)
        ]
        self.assertEqual(missing, [])

    @unittest.skipUnless("WPT_DIR" in os.environ, "no checkout of web-platform-tests is named")
    def test_the_ports_are_the_runners(self):
        environment = Path(os.environ["WPT_DIR"]) / "tools/wptrunner/wptrunner/environment.py"
        table = re.search(r"ports = \{(.*?)\}", environment.read_text(encoding="utf-8"), re.S).group(1)
        theirs = {name: tuple(map(int, ports.split(","))) for name, ports in re.findall(r'"([^"]+)": \[(.*?)\]', table)}
        del theirs["webtransport-h3"]
        self.assertEqual(wpt.PORTS, theirs)

    def test_a_port_that_is_taken_is_told_in_one_line(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            with (
                mock.patch.dict(wpt.PORTS, {"https": (port,)}, clear=True),
                mock.patch.object(wpt, "ensure_packages"),
                self.assertRaisesRegex(MachError, f"^port {port} of this machine, on which the tests' https server .*"),
            ):
                wpt.run(Path("strobe"), self.checkout, [])
        with mock.patch.dict(wpt.PORTS, {"https": (port,)}, clear=True):
            wpt.check_ports()

    def run_with(self, status: int, name: str, *entries: dict):
        """Runs a runner that logs this and ends with this status."""

        def stream(command, **_):
            place = next(argument for argument in command if argument.startswith("--log-raw="))
            Path(place.partition("=")[2]).write_text("\n".join(log(*entries)) + "\n")
            return status

        with (
            mock.patch.object(wpt.paths, "target_dir", lambda: self.root / "target"),
            mock.patch.object(wpt.process, "stream", stream),
        ):
            return wpt._run(Path("python"), Path("strobe"), self.checkout, [], name, 1, [])

    def test_a_runner_that_crashed_is_an_error_whatever_it_has_logged(self):
        begin, finish = {"action": "suite_start"}, {"action": "suite_end"}
        failing = (start(A), status(A, "one", "FAIL", expected="PASS"), end(A, "OK"))
        # Also for the runs of --compare-base, which have names.
        for name in ("", "Servo", "Strobe"):
            self.assertEqual(len(self.run_with(1, name, begin, *failing, finish).unexpected), 1)
            for code, entries, left in (
                (1, (begin, *failing), "failed with status 1, and did not end the suite; its log is "),
                (1, (begin, *failing, start(B)), f"failed with status 1, and did not end {B} and the suite; "),
                (0, (begin, *failing), "ended, and did not end the suite; its log is "),
                (-11, (begin, *failing, finish), r"was ended by signal 11 .*; its log is "),
                (2, (begin, *failing, finish), "failed with status 2; its log is "),
            ):
                with self.assertRaisesRegex(MachError, f"^the runner of web-platform-tests {left}"):
                    self.run_with(code, name, *entries)
            passing = (begin, start(A), end(A, "PASS"), finish)
            with self.assertRaisesRegex(MachError, "failed with status 1, though every result is as expected"):
                self.run_with(1, name, *passing)

    def test_a_clone_of_our_own(self):
        upstream = self.root / "upstream"
        git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(upstream)]
        for folder in ("tools/wptrunner", "hr-time", "css"):
            (upstream / folder).mkdir(parents=True)
            (upstream / folder / "file").write_text("x")
        subprocess.run(["git", "init", "--quiet", str(upstream)], check=True)
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", "-m", "x"], check=True)
        for name in ("uploadpack.allowAnySHA1InWant", "uploadpack.allowFilter"):
            subprocess.run([*git, "config", name, "true"], check=True)
        commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
        with (
            self.environment(STROBE_CACHE_DIR=str(self.root / "cache")),
            mock.patch.object(wpt, "COMMIT", commit),
            mock.patch.object(wpt, "REPOSITORY", f"file://{upstream}"),
            mock.patch("builtins.print"),
        ):
            self.assertFalse(wpt.available())
            clone = wpt.find_or_clone()
            self.assertTrue(wpt.available())
        self.assertEqual((clone / "hr-time" / "file").read_text(), "x")
        # A folder that is not asked for.
        self.assertFalse((clone / "css").exists())

    def test_a_clone_that_fails_leaves_nothing(self):
        with (
            self.environment(STROBE_CACHE_DIR=str(self.root / "cache")),
            mock.patch.object(wpt, "REPOSITORY", f"file://{self.root / 'nowhere'}"),
            mock.patch("builtins.print"),
            self.assertRaisesRegex(MachError, "(?s)could not be cloned: .*set WPT_DIR to a checkout"),
        ):
            wpt.find_or_clone()
        self.assertEqual([path.name for path in (self.root / "cache").iterdir()], ["lock"])

    def test_paths_are_files_folders_or_urls(self):
        own = "js-self-profiling/options.window"
        for path, name in {
            "hr-time": f"{self.checkout}/hr-time",
            "./hr-time/": f"{self.checkout}/hr-time",
            "hr-time/a.any.js": f"{self.checkout}/hr-time/a.any.js",
            "hr-time/a.any.js?x": f"{self.checkout}/hr-time/a.any.js?x",
            "hr-time/a.any.worker.html": "/hr-time/a.any.worker.html",
            "tests/wpt/tests": "/_strobe/",
            "tests/wpt/tests/webdriver": f"{wpt.TESTS}/webdriver",
            f"tests/wpt/tests/{own}.js": f"{wpt.TESTS}/{own}.js",
            f"_strobe/{own}.html?x": f"/_strobe/{own}.html?x",
        }.items():
            self.assertEqual(wpt.included([path], self.checkout), [name])
        for path in ("hr-tim", "hr-time/b.html", "tests/wpt/tests/nothing.html", "tests/wpt"):
            with self.assertRaisesRegex(MachError, f"^{re.escape(path)}: neither in "):
                wpt.included([path], self.checkout)

    def test_the_configuration(self):
        checkout = self.checkout.rename(self.root / "100%")
        file = wpt.write_configuration(self.root, checkout)
        parser = configparser.ConfigParser()
        parser.read(file)
        roots = {parser[name]["url_base"]: parser[name] for name in parser.sections() if name.startswith("manifest:")}
        self.assertEqual(list(roots), ["/", "/_strobe/"])
        self.assertEqual(roots["/"]["tests"], str(checkout))
        self.assertEqual(roots["/_strobe/"]["tests"], str(wpt.TESTS))
        self.assertEqual(len({root["manifest"] for root in roots.values()}), 2)


class BaseTest(unittest.TestCase):
    """The workspace of the build without hooks."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        build.write_base_workspace(self.folder)

    def test_it_holds_the_shell_and_no_hooked_crate(self):
        manifest = tomllib.loads((self.folder / "Cargo.toml").read_text())
        self.assertEqual(manifest["workspace"]["members"], list(build.BASE_CRATES))
        patches = {name: patch["path"] for name, patch in manifest["patch"]["crates-io"].items()}
        for name in ("servo-script", "servo-script-bindings"):
            tree = Path(patches.pop(name))
            self.assertIn(f"/{name}-0.7.0-published-", str(tree))
            # Its engine is the pinned one, and that is all.
            dependency = tomllib.loads((tree / "Cargo.toml").read_text())["dependencies"]["js"]
            self.assertEqual(dependency["version"], f"={upstream.pinned_packages()['mozjs']['version']}")
            self.assertNotIn("profiler", "".join(path.name for path in tree.rglob("*")))
        self.assertEqual(
            patches,
            {
                "js_profiler": build.BASE_JS_PROFILER,
                "js_profiler_traits": "components/shared/js_profiler",
                "terminal_text": "components/terminal_text",
            },
        )
        self.assertTrue((self.folder / "resources" / "about-profiling" / "app.js").exists())
        lock = tomllib.loads((self.folder / "Cargo.lock").read_text())
        packages = {package["name"]: package for package in lock["package"]}
        for name in ("servo-script", "mozjs_sys", "servo-webdriver-server"):
            self.assertEqual("checksum" in packages[name], name != "servo-script", name)
            self.assertNotIn("js_profiler", packages[name]["dependencies"], name)

    def test_it_is_built_as_it_is_published(self):
        """Without our flags for the compiler, and where no configuration of the checkout applies."""
        commands = []

        def run(command, cwd, env):
            commands.append((command, cwd, env))

        with (
            contextlib.redirect_stdout(io.StringIO()),
            mock.patch.dict(os.environ, {"STROBE_CACHE_DIR": str(self.folder)}),
            mock.patch.object(build.bootstrap, "ensure"),
            mock.patch.object(build.process, "run", run),
        ):
            binary = build.build_base(release=True)
        [(command, cwd, environment)] = commands
        self.assertEqual(command, ["cargo", "build", "-p", "strobe", "--release"])
        self.assertEqual((cwd, binary), (self.folder / "base", self.folder / "base" / "target" / "release" / "strobe"))
        self.assertEqual(list((self.folder / "base").rglob(".cargo")), [])
        places = {"CARGO_TARGET_DIR": str(cwd / "target"), "CARGO_BUILD_BUILD_DIR": str(self.folder / "build")}
        own = {**toolchain.build_environment(), **places}
        self.assertEqual(environment, {**os.environ, "STROBE_CACHE_DIR": str(self.folder), **own})
        self.assertNotIn("RUSTFLAGS", own)

    def test_it_cannot_be_in_the_checkout(self):
        inside = str(paths.ROOT / "target" / "cache")
        with mock.patch.dict(os.environ, {"STROBE_CACHE_DIR": inside}), mock.patch.object(build.process, "run") as run:
            with self.assertRaisesRegex(MachError, "/target/cache/base: is in the checkout, so Cargo would"):
                build.build_base()
        run.assert_not_called()

    def test_a_base_that_is_there_already(self):
        named = self.folder / "Cargo.toml"
        with (
            mock.patch.object(build, "build", return_value=Path("ours")),
            mock.patch.object(build, "build_base", return_value=Path("built")) as built,
        ):
            self.assertEqual(build.build_both(named), (Path("ours"), named.resolve()))
            with self.assertRaisesRegex(MachError, "^--base-binary: nowhere: no such file$"):
                build.build_both(Path("nowhere"))
            built.assert_not_called()
            self.assertEqual(build.build_both(None, release=True), (Path("ours"), Path("built")))
            built.assert_called_once_with(True)

    def test_writing_it_twice_changes_no_source(self):
        main = self.folder / "components" / "shell" / "main.rs"
        self.assertEqual(main.read_bytes(), (paths.COMPONENTS / "shell" / "main.rs").read_bytes())
        removed = main.with_name("removed.rs")
        removed.touch()
        before = main.stat().st_mtime_ns
        build.write_base_workspace(self.folder)
        self.assertEqual(main.stat().st_mtime_ns, before)
        self.assertFalse(removed.exists())

