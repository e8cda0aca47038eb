# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench"""

import argparse
from pathlib import Path

from .arguments import add_release, amount, count

SUMMARY = "measure what profiling costs, and whether samples are right"


def add_arguments(parser: argparse.ArgumentParser):
    suites = parser.add_subparsers(dest="suite", metavar="SUITE", required=True)

    def add_suite(name: str, summary: str, more: str) -> argparse.ArgumentParser:
        description = f"{summary[0].upper()}{summary[1:]}. {more}"
        suite = suites.add_parser(name, help=summary, description=description, allow_abbrev=False)
        suite.set_defaults(parser=suite)
        add_release(suite)
        return suite

    def add_count(suite: argparse.ArgumentParser, option: str, default: int, what: str):
        suite.add_argument(option, metavar="N", type=count, default=default, help=f"{what} (default: {default})")

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
    hooks = add_suite(
        "hooks",
        "what our hooks cost pages that never profile, against Servo as it is published",
        "Time, memory and instructions of kernels and of a page load, in Strobe and in the same shell around the "
        "published crates, which is built in the cache the first time (a full build); and in that one again, as the "
        "control. They take turns, but for the instructions, which valgrind counts. Wants an idle machine.",
    )
    add_count(hooks, "--rounds", 5, "how often each browser is started anew for each page")
    add_count(hooks, "--pairs", 6, "runs of each kernel per round and browser")
    add_count(hooks, "--loads", 10, "loads per round and browser")
    add_count(hooks, "--counts", 2, "in how many of the rounds instructions are counted, too")
    hooks.add_argument("--base-binary", metavar="FILE", type=Path, help="a browser without hooks that is there already")
    soak = add_suite(
        "soak",
        "minutes of everything that makes a stack hard to walk",
        "A page and its workers run a mix of programs under profilers at the base interval, and check every stack "
        "against the known call graph. Fails if the browser crashes, if more than 0.1 % of the samples are "
        "unwalkable, if fewer than 99.9 % of the stacks end in a known root, or if a caller on a stack never was.",
    )
    soak.add_argument("--minutes", metavar="N", type=amount, default=10.0, help="how long (default: 10)")
    soak.add_argument(
        "--base-interval-us", metavar="N", type=count, default=1000, help="the sample interval, in µs (default: 1000)"
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
        type=amount,
        default=100.0,
        help="the time of all programs with known shares together; the others take about twice as long (default: 100)",
    )
    stops = add_suite(
        "stops",
        "for how long a sample stops its thread, by the depth of the stack",
        "By the sampler's own clock. Wants an idle machine. Fails if a limit is missed that is named below its table.",
    )
    stops.add_argument(
        "--seconds", metavar="N", type=amount, default=20.0, help="how long at each depth (default: 20)"
    )
    workers = add_suite(
        "workers",
        "32 workers with a profiler each, started and terminated at random",
        "Fails if the browser crashes or hangs, or holds more threads or files at the end than at the start, or has "
        "grown by more memory than without profilers.",
    )
    workers.add_argument(
        "--seconds", metavar="N", type=amount, default=60.0, help="how long with and how long without (default: 60)"
    )
    docs = suites.add_parser(
        "docs",
        help="write docs/performance.md from the saved figures",
        description="Write sections of docs/performance.md from the figures that suites have saved in target/bench.",
        allow_abbrev=False,
    )
    docs.set_defaults(parser=docs)
    docs.add_argument("suites", metavar="SUITE", nargs="*", help="default: all that have figures")


def run(options, _):
    from ..bench import bench

    bench.bench(options)
