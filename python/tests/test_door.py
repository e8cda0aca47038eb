# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import os
import re
import signal
import unittest
from pathlib import Path
from unittest import mock

from strobe import commands, door
from strobe.errors import MachError


class DoorTest(unittest.TestCase):
    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

    def main(self, *arguments: str, action=lambda *_: None):
        """(status, standard error, the arguments of the command) with the command's action replaced."""
        command = mock.Mock(side_effect=action)
        errors = io.StringIO()
        output = io.TextIOWrapper(io.BytesIO())
        with contextlib.ExitStack() as replaced, contextlib.redirect_stderr(errors):
            for name in commands.NAMES:
                replaced.enter_context(mock.patch.object(commands.load(name), "run", command))
            with contextlib.redirect_stdout(output):
                try:
                    status = door.main(list(arguments))
                except SystemExit as exit:
                    status = exit.code
        return status, errors.getvalue(), command.call_args and command.call_args.args

    def test_every_command_has_help_and_an_action(self):
        for name in commands.NAMES:
            self.assertEqual(self.main(name, "--help")[0], 0, name)
        files = {file.stem for file in Path(commands.__file__).parent.glob("*.py")} - {"__init__", "arguments"}
        self.assertEqual(files, {name.replace("-", "_") for name in commands.NAMES}, "each file is a command")

    def test_wrong_arguments(self):
        cases = {
            (): "usage: mach",
            ("dance",): "invalid choice: 'dance'",
            ("build", "fast"): "mach build: error: unknown arguments: fast",
            ("build", "--rel"): "mach build: error: unknown arguments: --rel",
            ("test", "--", "x"): "mach test: error: takes nothing after `--`: x",
            ("run", "a.html", "--headless"): "unknown arguments: --headless; put arguments for the browser after `--`",
            ("bench", "speed"): "invalid choice: 'speed' (choose from overhead, floor, policy, ",
            ("bench", "overhead", "--pairs", "0"): "'0' is not a whole number of 1 or more",
            ("bench", "start", "--vs", "firefox"): "invalid choice: 'firefox' (choose from chromium)",
            ("bench", "soak", "--vs", "chromium"): "mach bench soak: error: unknown arguments: --vs chromium",
            ("bench", "soak", "--minutes", "-1"): "'-1' is not a number above 0",
            ("bench", "accuracy", "--minutes", "1"): "mach bench accuracy: error: unknown arguments: --minutes 1",
            ("stress", "--minutes", "0"): "'0' is not a number above 0",
            ("stress", "--seed", "1", "--episode", "-1"): "'-1' is not a whole number of 0 or more",
            ("stress", "5"): "mach stress: error: unknown arguments: 5",
            ("test-wpt", "--repeat", "0"): "'0' is not a whole number of 1 or more",
            ("test-wpt", "--logs=x"): "mach test-wpt: error: unknown arguments: --logs=x",
            ("test-wpt", "--base-binary=x"): "--base-binary needs --compare-base",
            ("test-wpt", "--compare-base", "--log-raw=x"): "--compare-base takes neither --repeat nor --log",
            ("build", "--log-raw=x"): "mach build: error: unknown arguments: --log-raw=x",
            ("update-hooks", "script"): "one of the arguments --checkout --from is required",
        }
        for arguments, message in cases.items():
            status, errors, called = self.main(*arguments)
            self.assertEqual((status, called), (2, None), arguments)
            # Some versions of Python quote the choices, some do not.
            choices = re.sub(r"\(choose from (.*)\)", lambda match: match.group().replace("'", ""), errors)
            self.assertIn(message, choices)

    def test_run(self):
        _, _, (options, for_browser) = self.main("run", "a.html", "--", "--headless", "--", "x")
        self.assertEqual((options.url, for_browser), ("a.html", ["--headless", "--", "x"]))
        _, _, (options, for_browser) = self.main("run")
        self.assertEqual((options.url, options.release, for_browser), (None, False, []))

    def test_profile(self):
        _, _, (options, for_browser) = self.main("profile", "--interval", "1", "a.html", "--release", "-o", "b.html")
        self.assertEqual((options.release, for_browser), (True, ["--interval", "1", "a.html", "-o", "b.html"]))
        _, _, (options, for_browser) = self.main("profile", "--until-js", "--x", "--headless", "a.html")
        self.assertEqual((options.release, for_browser), (False, ["--until-js", "--x", "--headless", "a.html"]))

    def test_bench(self):
        _, _, (options, _) = self.main("bench", "soak", "--minutes", "0.5")
        self.assertEqual((options.suite, options.minutes), ("soak", 0.5))
        self.assertFalse(options.release)
        _, _, (options, _) = self.main("bench", "workers", "--release")
        self.assertEqual((options.suite, options.seconds), ("workers", 60))
        self.assertTrue(options.release)
        _, _, (options, _) = self.main("bench", "stops")
        self.assertEqual((options.suite, options.seconds), ("stops", 20))
        _, _, (options, _) = self.main("bench", "policy", "--vs", "chromium", "--rounds", "9")
        self.assertEqual((options.suite, options.vs, options.rounds, options.loads), ("policy", "chromium", 9, 20))
        _, _, (options, _) = self.main("bench", "hooks", "--release", "--counts", "1", "--base-binary", "servo")
        self.assertEqual((options.suite, options.release, str(options.base_binary)), ("hooks", True, "servo"))
        self.assertEqual((options.rounds, options.pairs, options.loads, options.counts), (5, 6, 10, 1))
        _, _, (options, _) = self.main("bench", "real", "--vs", "chromium", "--library", "acorn", "--library=react")
        self.assertEqual((options.suite, options.vs, options.library), ("real", "chromium", ["acorn", "react"]))
        self.assertEqual((options.rounds, options.long, options.short, options.seconds), (2, 4, 8, 4))
        _, _, (options, _) = self.main("bench", "docs", "trace", "scale")
        self.assertEqual((options.suite, options.suites), ("docs", ["trace", "scale"]))

    def test_fuzz(self):
        _, _, (options, _) = self.main("fuzz")
        self.assertEqual((options.targets, options.seconds, options.jobs, options.seed), ([], 60, None, None))
        _, _, (options, _) = self.main("fuzz", "a", "b", "--seconds", "5", "--jobs=2", "--seed", "7")
        self.assertEqual((options.targets, options.seconds, options.jobs, options.seed), (["a", "b"], 5, 2, 7))
        _, _, (options, _) = self.main("fuzz", "a", "--replay", "x")
        self.assertEqual((options.targets, str(options.replay)), (["a"], "x"))
        self.assertIn("'0' is not a whole number of 1 or more", self.main("fuzz", "--jobs", "0")[1])

    def test_stress(self):
        _, _, (options, _) = self.main("stress")
        self.assertEqual((options.minutes, options.seed, options.episode, options.features), (10, None, None, []))
        _, _, (options, _) = self.main("stress", "--seed=3", "--episode", "0", "--release")
        self.assertEqual((options.seed, options.episode, options.release), (3, 0, True))
        _, _, (options, _) = self.main("stress", "--feature", "a", "--feature=b", "--no-profilers")
        self.assertEqual((options.features, options.no_profilers), (["a", "b"], True))

    def test_test_wpt(self):
        _, _, (options, _) = self.main("test-wpt")
        self.assertEqual((options.paths, options.repeat, options.log, options.compare_base), ([], 1, [], False))
        _, _, (options, _) = self.main("test-wpt", "a", "--repeat=3", "--log-raw=x.log", "b", "--log-mach-verbose")
        self.assertEqual((options.paths, options.repeat), (["a", "b"], 3))
        self.assertEqual(options.log, ["--log-raw=x.log", "--log-mach-verbose"])
        _, _, (options, _) = self.main("test-wpt", "--compare-base", "--base-binary", "servo")
        self.assertEqual((options.compare_base, str(options.base_binary)), (True, "servo"))

    def test_failures(self):
        def fail(*_):
            raise MachError("no bricks")

        self.assertEqual(self.main("build", action=fail)[:2], (1, "mach build: no bricks\n"))

        # A shell starts background jobs with the signal ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

        def interrupt(*_):
            os.kill(os.getpid(), signal.SIGINT)

        self.assertEqual(self.main("build", action=interrupt)[:2], (130, "\nmach build: interrupted\n"))

        def end(*_):
            os.kill(os.getpid(), signal.SIGTERM)

        self.assertEqual(self.main("build", action=end)[:2], (143, ""))
