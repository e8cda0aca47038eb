# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The commands of ./mach and their arguments."""

import argparse
import math
import re
import signal
import sys
from pathlib import Path

from .errors import MachError

DESCRIPTION = "Builds, runs and tests Strobe, the JS Self-Profiling API for the Servo browser."
EPILOG = """\
Two commands do everything on a fresh Debian or Ubuntu machine, set-up included:
  ./mach run     a demo page that profiles itself, and what the profile says
  ./mach test    every test
`./mach COMMAND --help` explains a command."""

# The options of `profile` that are not for the browser.
PROFILE_OPTIONS = ("--release", "-h", "--help")
# What the runner of web-platform-tests takes for its log.
RUNNER_LOG = re.compile(r"--log-[a-z-]+(=|$)")
# The suites of `check`.
CHECKS = ("models", "miri", "valgrind", "sanitizers", "walk-calls", "all")


def main(arguments: list[str]) -> int:
    """Runs a command; 0 if all went well, 1 with a message if not, 2 for wrong arguments, 130 for Ctrl-C."""
    # In a log, our lines and those of the programs we run keep their order.
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, _end)
    options, for_browser = _parse(arguments)
    try:
        COMMANDS[options.command](options, for_browser)
    except MachError as error:
        if str(error):
            print(f"mach {options.command}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nmach {options.command}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of our output has gone, as in `./mach run | head`.
        sys.stderr.close()
        return 1
    return 0


def _end(number, _frame):
    """So that programs we have started are ended too."""
    raise SystemExit(128 + number)


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and what is for the browser: of `run` what stands after `--`, of `profile` all but a few options."""
    parser = make_parser()
    for_browser = []
    if arguments[:1] == ["profile"]:
        # All but our own are the browser's, which knows what is an option and what its value.
        ours = [argument for argument in arguments if argument in PROFILE_OPTIONS]
        options = parser.parse_args(["profile", *ours])
        return options, [argument for argument in arguments[1:] if argument not in PROFILE_OPTIONS]
    if "--" in arguments:
        at = arguments.index("--")
        arguments, for_browser = arguments[:at], arguments[at + 1 :]
    if not arguments:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    options, unknown = parser.parse_known_args(arguments)
    if options.command == "test-wpt":
        options.log = [argument for argument in unknown if RUNNER_LOG.match(argument)]
        # argparse takes positional arguments from one place only.
        options.paths += [argument for argument in unknown if not argument.startswith("-")]
        unknown = [argument for argument in unknown if argument not in (*options.log, *options.paths)]
        if options.base_binary and not options.compare_base:
            options.parser.error("--base-binary is for --compare-base")
        if options.compare_base and (options.log or options.repeat != 1):
            options.parser.error("--compare-base takes neither --repeat nor --log")
    if unknown:
        hint = "; arguments for the browser stand after `--`" if options.command == "run" else ""
        options.parser.error(f"unknown arguments: {' '.join(unknown)}{hint}")
    if for_browser and options.command != "run":
        options.parser.error(f"takes nothing after `--`: {' '.join(for_browser)}")
    return options, for_browser


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mach", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add(name: str, summary: str, more: str = "", **options) -> argparse.ArgumentParser:
        command = commands.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}. {more}".strip(),
            allow_abbrev=False,
            **options,
        )
        command.set_defaults(parser=command)
        return command

    def add_release(command: argparse.ArgumentParser):
        command.add_argument("--release", action="store_true", help="the optimised build (slower to make)")

    add(
        "bootstrap",
        "install what a build needs and prepare the upstream trees",
        "System packages come from apt-get (without root, the exact command to run is printed), Rust from rustup. "
        "The published Servo crates that Strobe hooks are unpacked and hooked in a cache that all checkouts share "
        "(~/.cache/strobe, or STROBE_CACHE_DIR). Commands that need this do it by themselves; a second time does "
        "nothing.",
    )
    build = add("build", "build the browser", "Ends with the path of its binary.")
    add_release(build)
    run = add(
        "run",
        "build the browser and open a page",
        "Without URL, a bundled demo page profiles its own JavaScript, and the terminal shows its functions by self "
        "and total time and where the trace was saved.",
        usage="mach run [-h] [--release] [URL] [-- BROWSER_ARGUMENT ...]",
    )
    add_release(run)
    run.add_argument("url", metavar="URL", nargs="?", help="http, https, file or data URL, or a path")
    profile = add(
        "profile",
        "build the browser and profile a page",
        "All functions of all origins are recorded from before the page is opened; the table at the end has those "
        "with the most samples, and the file opens in about:profiling or in the tool of its format. Ctrl-C saves "
        "what there is.",
        usage="mach profile [-h] [--release] [OPTION ...] URL",
        epilog="Options, of which `strobe profile --help` says more: --interval MS, --duration S or --until-load or "
        "--until-js EXPR, --keep-last S, --long-tasks MS, --event-loops all|main, --format FORMAT, -o FILE, --top N, "
        "and those of the browser, such as --headless, --window-size WxH, --pref NAME=VALUE and --multiprocess. "
        "Formats are firefox, speedscope, cpuprofile, collapsed, trace and html.",
    )
    add_release(profile)
    add(
        "test",
        "run all tests",
        "test-tidy, test-unit, test-browser and, where WPT_DIR names a checkout, test-wpt; the last line counts what "
        "passed and failed.",
    )
    add("test-unit", "run the tests of mach and of our crates")
    test_browser = add("test-browser", "build the browser and run the tests that start it")
    test_browser.add_argument("filter", metavar="FILTER", nargs="?", help="only tests with this in their name")
    test_wpt = add(
        "test-wpt",
        "build the browser and run web-platform-tests in it",
        "By the upstream runner, unmodified, of the checkout that WPT_DIR names, or else of a clone of the folders "
        "needed, which is made in the cache. Ends with totals per directory and fails if anything is not as "
        "tests/wpt/meta expects. Options --log-NAME=FILE are the runner's, such as --log-raw=FILE.",
        usage="mach test-wpt [-h] [--release] [--repeat N] [--log-NAME=FILE ...] [--compare-base] [PATH ...]",
    )
    add_release(test_wpt)
    test_wpt.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        help="a file or folder of the checkout, or below tests/wpt/tests (default: js-self-profiling "
        "performance-timeline user-timing hr-time tests/wpt/tests)",
    )
    test_wpt.add_argument("--repeat", metavar="N", type=_count, default=1, help="run everything N times (default: 1)")
    test_wpt.add_argument(
        "--compare-base",
        action="store_true",
        help="run the tests on Servo without our hooks, too, which is built first, and print what changed",
    )
    test_wpt.add_argument(
        "--base-binary", metavar="FILE", type=Path, help="for --compare-base, another browser, which is there already"
    )
    test_formats = add(
        "test-formats",
        "have other tools read our profiles",
        "Recordings are written in each format and read by speedscope and by the model of Chrome's DevTools, which "
        "come from npm, and by a check of what the Firefox Profiler takes for granted; each function must have its "
        "samples. Needs Node.js and npm. Not a part of test.",
    )
    test_formats.add_argument(
        "profiles", metavar="PROFILE", nargs="*", type=Path, help="profiles to write (default: random ones)"
    )
    fuzz = add(
        "fuzz",
        "run parsers on random input",
        "The targets are the programs of tests/fuzz. An input that makes one fail is saved in target/fuzz/TARGET, and "
        "ends that target; inputs that reach new code are kept in the cache, for the next time.",
        usage="mach fuzz [-h] [--seconds N] [--jobs N] [--seed S] [TARGET ...]\n"
        "       mach fuzz TARGET --replay FILE",
    )
    fuzz.add_argument("targets", metavar="TARGET", nargs="*", help="default: all")
    fuzz.add_argument("--seconds", metavar="N", type=_count, default=60, help="for each target (default: 60)")
    fuzz.add_argument("--jobs", metavar="N", type=_count, help="targets at once (default: one per processor)")
    fuzz.add_argument("--seed", metavar="S", type=_count, help="where the random numbers begin (default: anywhere)")
    fuzz.add_argument("--replay", metavar="FILE", type=Path, help="run one input again")
    stress = add(
        "stress",
        "make the browser's life hard at random, and see whether it survives",
        "Episodes follow one another: each is a browser with random pages, to which something is done. Fails if it "
        "crashes, hangs or leaks, if a thread of it panics, or if a page finds a profile that cannot be. What fails is "
        "printed with the command that does the same episode again; logs and stacks are in target/stress. "
        "STROBE_BINARY names another browser than the one that is built.",
        usage="mach stress [-h] [--release] [--minutes N] [--seed S] [--feature NAME ...] [--no-profilers]\n"
        "       mach stress [-h] [--release] --seed S --episode K [--no-profilers]",
    )
    add_release(stress)
    stress.add_argument("--minutes", metavar="N", type=_amount, default=10.0, help="how long (default: 10)")
    stress.add_argument("--seed", metavar="S", type=_count, help="where the plan begins (default: anywhere)")
    stress.add_argument("--episode", metavar="K", type=_number, help="this episode of the plan alone")
    stress.add_argument(
        "--feature",
        metavar="NAME",
        action="append",
        default=[],
        dest="features",
        help="only episodes about this, such as workers or kills; may be repeated",
    )
    stress.add_argument(
        "--no-profilers",
        action="store_true",
        help="without profilers, to see whether something is Servo's own failure",
    )
    check = add(
        "check",
        "look for what tests do not see",
        "models: every order of the threads of a handshake, by loom. miri: the same with ordinary threads, and crates "
        "without unsafe code, by Miri, which needs a nightly toolchain. valgrind: the tests of those crates. "
        "sanitizers: the sampling component, C++ and Rust, in an embedding of SpiderMonkey without Servo, by "
        "AddressSanitizer and UndefinedBehaviorSanitizer. walk-calls: what the compiled walk of a stack calls, against "
        "the list with the reasons. Only the last is a part of test.",
    )
    check.add_argument("suites", metavar="SUITE", nargs="+", choices=CHECKS, help=", ".join(CHECKS))
    check.add_argument(
        "--seconds", metavar="N", type=_count, default=60, help="how long the sanitizers' program runs (default: 60)"
    )
    add(
        "test-tidy",
        "check formatting, lints, licence headers and hook files",
        "Each problem is printed as file:line: what.",
    )
    bench = add("bench", "measure what profiling costs, and whether samples are right")
    suites = bench.add_subparsers(dest="suite", metavar="SUITE", required=True)

    def add_suite(name: str, summary: str, more: str) -> argparse.ArgumentParser:
        description = f"{summary[0].upper()}{summary[1:]}. {more}"
        suite = suites.add_parser(name, help=summary, description=description, allow_abbrev=False)
        suite.set_defaults(parser=suite)
        add_release(suite)
        return suite

    def add_count(suite: argparse.ArgumentParser, option: str, default: int, what: str):
        suite.add_argument(option, metavar="N", type=_count, default=default, help=f"{what} (default: {default})")

    def add_comparison(name: str, summary: str, more: str, rounds: int) -> argparse.ArgumentParser:
        suite = add_suite(name, summary, f"{more} A control beside each figure shows how much of it is noise.")
        suite.add_argument(
            "--vs",
            choices=["chromium"],
            help="measure the `chromium` of the PATH, or the one that CHROMIUM names, too, round by round",
        )
        add_count(suite, "--rounds", rounds, "how often each browser is started anew for each page")
        return suite

    overhead = add_comparison(
        "overhead",
        "JavaScript kernels with and without a profiler, at 10 and 1 ms",
        "Figures are ratios of runs within one page load; the processor time is that of all processes of the browser.",
        rounds=3,
    )
    add_count(overhead, "--pairs", 3, "pairs of runs per round, kernel and interval")
    add_count(overhead, "--blocks", 2, "pairs of blocks per round of which the processor time is taken")
    policy = add_comparison(
        "policy",
        "loading 5 MB of script where a policy allows profiling and nobody profiles",
        "Load time and script time with each header, against those without. The pages with the headers are open at the "
        "same time, in a browser each, and load in turn.",
        rounds=2,
    )
    add_count(policy, "--loads", 20, "loads per round and header")
    instructions = add_suite(
        "instructions",
        "the instructions of the loads of policy, counted by valgrind",
        "They say what a header costs where times are too noisy to tell. The machine may be at work. The "
        "engine's instructions are counted from the browser's start to its end: of the rounds the least counts.",
    )
    add_count(instructions, "--rounds", 2, "how often each browser is started anew for each page")
    add_count(instructions, "--loads", 3, "loads per round and header")
    add_comparison(
        "trace",
        "stopping profilers with 100,000 samples",
        "How long stop() takes, how long the event loop is blocked, and what memory the samples took.",
        rounds=3,
    )
    scale = add_comparison(
        "scale",
        "JavaScript kernels with 50 profilers against one, and how many there may be",
        "Figures are ratios of runs within one page load.",
        rounds=3,
    )
    add_count(scale, "--pairs", 3, "pairs of runs per round, kernel and interval")
    add_comparison(
        "start",
        "the first profiler of a page with 8,000 hot functions",
        "The time of its creation, and the speed of the functions before and after.",
        rounds=12,
    )
    soak = add_suite(
        "soak",
        "minutes of everything that makes a stack hard to walk",
        "A page and its workers run a mix of programs under profilers at the base interval, and check every stack "
        "against the known call graph. Fails if the browser crashes, if more than 0.1 % of the samples are "
        "unwalkable, if fewer than 99.9 % of the stacks end in a known root, or if a caller on a stack never was.",
    )
    soak.add_argument("--minutes", metavar="N", type=_amount, default=10.0, help="how long (default: 10)")
    soak.add_argument(
        "--base-interval-us", metavar="N", type=_count, default=1000, help="the sample interval, in µs (default: 1000)"
    )
    soak.add_argument(
        "--walker", choices=["table", "stock"], default="table", help="how stacks are walked (default: table)"
    )
    accuracy = add_suite(
        "accuracy",
        "whether samples have the right function, come in time and in the right shares",
        "Wants an idle machine. Fails if a limit is missed that its tables name.",
    )
    accuracy.add_argument(
        "--seconds",
        metavar="N",
        type=_amount,
        default=100.0,
        help="the time of all programs with known shares together; the others take about twice as long (default: 100)",
    )
    stops = add_suite(
        "stops",
        "for how long a sample stops its thread, by the depth of the stack",
        "By the sampler's own clock. Wants an idle machine. Fails if a limit is missed that is named below its table.",
    )
    stops.add_argument(
        "--seconds", metavar="N", type=_amount, default=20.0, help="how long at each depth (default: 20)"
    )
    workers = add_suite(
        "workers",
        "32 workers with a profiler each, started and terminated at random",
        "Fails if the browser crashes or hangs, or holds more threads or files at the end than at the start, or has "
        "grown by more memory than without profilers.",
    )
    workers.add_argument(
        "--seconds", metavar="N", type=_amount, default=60.0, help="how long with and how long without (default: 60)"
    )
    docs = suites.add_parser(
        "docs",
        help="write docs/performance.md from the saved figures",
        description="Write sections of docs/performance.md from the figures that suites have saved in target/bench.",
        allow_abbrev=False,
    )
    docs.set_defaults(parser=docs)
    docs.add_argument("suites", metavar="SUITE", nargs="*", help="default: all that have figures")
    hooks = add(
        "update-hooks",
        "change the hooks of an upstream crate",
        "First --checkout, then edit the tree, then --from. A hook inserts lines, or replaces a single one.",
    )
    hooks.add_argument("folder", metavar="CRATE_FOLDER", help="the crate's folder in components/, such as script")
    direction = hooks.add_mutually_exclusive_group(required=True)
    direction.add_argument(
        "--checkout", metavar="DIR", type=Path, help="unpack the crate with its current hooks into a new folder"
    )
    direction.add_argument(
        "--from", metavar="DIR", type=Path, dest="edited", help="write hooks.patch from an edited copy of the crate"
    )
    return parser


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0")
    return int(text)


def _amount(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


# Each command imports what it needs: `./mach --help` is quick, and modules may ask for the command names.


def _bootstrap(options, _):
    from . import bootstrap

    bootstrap.bootstrap()


def _build(options, _):
    from . import build

    print(build.build(options.release))


def _run(options, for_browser):
    from . import run

    run.run(options.url, for_browser, options.release)


def _profile(options, for_browser):
    from . import profile

    profile.profile(for_browser, options.release)


def _test(options, _):
    from . import test

    test.test()


def _test_unit(options, _):
    from . import test

    test.test_unit().finish()


def _test_browser(options, _):
    from . import test

    test.test_browser(options.filter).finish()


def _test_wpt(options, _):
    from . import wpt

    if options.compare_base:
        wpt.compare_base(options.paths, options.base_binary, options.release)
    else:
        wpt.test_wpt(options.paths, options.repeat, options.log, options.release).finish()


def _test_formats(options, _):
    from . import formats

    formats.test_formats(options.profiles)


def _fuzz(options, _):
    from . import fuzz

    if options.replay:
        fuzz.replay(options.targets, options.replay)
    else:
        fuzz.fuzz(options.targets, options.seconds, options.jobs, options.seed)


def _stress(options, _):
    from . import stress

    profile = not options.no_profilers
    stress.stress(options.minutes, options.seed, options.episode, options.features, options.release, profile)


def _check(options, _):
    from . import check

    check.check(options.suites, options.seconds)


def _test_tidy(options, _):
    from . import tidy

    tidy.test_tidy().finish()


def _bench(options, _):
    from . import bench

    bench.bench(options)


def _update_hooks(options, _):
    from . import hooks

    hooks.update_hooks(options.folder, options.checkout, options.edited)


COMMANDS = {
    "bootstrap": _bootstrap,
    "build": _build,
    "run": _run,
    "profile": _profile,
    "test": _test,
    "test-unit": _test_unit,
    "test-browser": _test_browser,
    "test-wpt": _test_wpt,
    "test-formats": _test_formats,
    "fuzz": _fuzz,
    "stress": _stress,
    "check": _check,
    "test-tidy": _test_tidy,
    "bench": _bench,
    "update-hooks": _update_hooks,
}
