# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench"""

import argparse
from pathlib import Path

from .arguments import add_release, amount, count, number

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
            help="in each round also measure Chromium: `chromium` on the PATH, or the program that CHROMIUM names",
        )
        add_count(suite, "--rounds", rounds, "how many times each browser is started for each page")
        return suite

    overhead = add_comparison(
        "overhead",
        "JavaScript kernels with and without a profiler, at 10 and 1 ms",
        "Figures are ratios of runs within one page load. Processor time is that of all processes of the browser.",
        rounds=3,
    )
    add_count(overhead, "--pairs", 3, "pairs of runs per round, kernel and interval")
    add_count(overhead, "--blocks", 2, "pairs of blocks per round whose processor time is measured")
    floor = add_suite(
        "floor",
        "what the same signals cost a program whose handler does nothing",
        "Runs the kernels of `overhead`, and the libraries of `real` that need no document, in SpiderMonkey, without a "
        "browser. Needs Node.js and npm, and an idle machine.",
    )
    add_count(floor, "--rounds", 3, "how many times the program is started")
    add_count(floor, "--pairs", 6, "pairs of runs per round, kernel, and kind of interrupt")
    add_count(floor, "--library-pairs", 3, "pairs of runs per round, library, and kind of interrupt")
    add_count(floor, "--blocks", 4, "pairs of blocks per round whose processor time is measured")
    policy = add_comparison(
        "policy",
        "loading 5 MB of script under a policy that allows profiling, with no profiler running",
        "Compares load time and script time with each header to those without one. The pages with the headers are open "
        "at the same time, each in its own browser, and load in turn.",
        rounds=2,
    )
    add_count(policy, "--loads", 20, "loads per round and header")
    instructions = add_suite(
        "instructions",
        "the same loads as `policy`, measured in instructions, which valgrind counts",
        "Shows what a header costs where times are too noisy to tell. The machine need not be idle. The engine's "
        "instructions are counted from the start of the browser to its end, and the lowest count of all rounds is "
        "used.",
    )
    add_count(instructions, "--rounds", 2, "how many times each browser is started for each page")
    add_count(instructions, "--loads", 3, "loads per round and header")
    add_comparison(
        "trace",
        "stopping profilers with 100,000 samples",
        "Measures how long stop() takes, how long the event loop is blocked, and how much memory the samples take.",
        rounds=3,
    )
    scale = add_comparison(
        "scale",
        "JavaScript kernels with 50 profilers and with one, and how many profilers there may be",
        "Figures are ratios of runs within one page load.",
        rounds=3,
    )
    add_count(scale, "--pairs", 3, "pairs of runs per round, kernel and interval")
    add_comparison(
        "start",
        "the first profiler of a page with 8,000 hot functions",
        "Measures how long its creation takes, and the speed of the functions before and after.",
        rounds=12,
    )
    real = add_comparison(
        "real",
        "libraries from npm at work with and without a profiler, at 10 and 1 ms, and for how long samples stop them",
        "A TypeScript compiler, a parser, a minifier, two frameworks and others are bundled as a page would have them. "
        "Figures are ratios of sessions within one page load, and come with an interval. Needs Node.js and npm, and an "
        "idle machine.",
        rounds=2,
    )
    add_count(real, "--long", 4, "sets of sessions of a second per round and library")
    add_count(real, "--short", 8, "sets of sessions of 150 ms per round and library")
    add_count(real, "--seconds", 4, "seconds for which stops are measured, per library and interval")
    real.add_argument(
        "--library", metavar="NAME", action="append", default=[], help="measure only this library; may be repeated"
    )
    hooks = add_suite(
        "hooks",
        "what our hooks cost pages that never profile, compared with Servo as published",
        "Measures time, memory and instructions of kernels and of a page load: in Strobe, in the same shell around the "
        "published crates, and in that shell again as the control. The first run builds that shell in the cache, which "
        "is a full build. The browsers take turns, except for instructions, which valgrind counts. Needs an idle "
        "machine.",
    )
    add_count(hooks, "--rounds", 5, "how many times each browser is started for each page")
    add_count(hooks, "--pairs", 6, "runs of each kernel per round and browser")
    add_count(hooks, "--loads", 10, "loads per round and browser")
    add_count(hooks, "--counts", 2, "the number of rounds that also count instructions")
    hooks.add_argument("--base-binary", metavar="FILE", type=Path, help="an existing browser without hooks")
    compare = add_suite(
        "compare",
        "whether the build is no worse than the build of the commit before",
        "Measures the new build, the old one, and the old one again as the control, in turns: the cost of profiling, "
        "stops, shares and spacing of samples, and memory. What is too noisy is measured in more rounds. Fails unless "
        "every limit is met. The new build is that of the checkout, or the browser that STROBE_BINARY names. Needs an "
        "idle machine.",
    )
    compare.add_argument("--old", metavar="BINARY", type=Path, required=True, help="the browser to compare with")
    add_count(compare, "--rounds", 4, "how many times each page is opened in each browser")
    add_count(compare, "--most-rounds", 10, "how many times at most, as long as a control is out of its band")
    compare.add_argument(
        "--part",
        metavar="PART",
        action="append",
        default=[],
        help="measure only this part: overhead, stops, accuracy, trace or hooks, which opens the pages of that suite; "
        "may be repeated",
    )
    add_count(compare, "--pairs", 3, "pairs of runs per round, kernel and interval")
    add_count(compare, "--blocks", 4, "pairs of blocks per round whose processor time is measured")
    add_count(compare, "--loads", 6, "loads of a page that nobody profiles, per round")
    add_count(compare, "--stop-seconds", 4, "seconds for which stops are measured in a visit")
    add_count(compare, "--accuracy-seconds", 20, "the time of the programs with known shares, per round")
    compare.add_argument(
        "--libraries", action="store_true", help="also measure the stops of libraries; needs Node.js and npm"
    )
    compare.add_argument(
        "--counts",
        metavar="N",
        type=number,
        default=0,
        help="the number of rounds that also count instructions, which takes long (default: 0)",
    )
    formats = add_suite(
        "formats",
        "how soon a report on a large profile is there, beside the tools that people have",
        "Reads files of 74 and 300 MB that are made of a recording of Node.js, with the tool, with profiler-cli and "
        "with speedscope's importer, in turns. Needs Node.js and npm, 4 GB of memory and an idle machine. Fails "
        "unless every limit named below its table is met.",
    )
    formats.add_argument(
        "--tool", metavar="BINARY", type=Path, help="a release build to measure instead of building one"
    )
    formats.add_argument("--old", metavar="BINARY", type=Path, help="an older build to compare it with")
    add_count(formats, "--rounds", 3, "how many times each program reads each file")
    merge = add_suite(
        "merge",
        "how soon thousands of profiles are one, and the memory for it, beside `go tool pprof`",
        "Makes 10,000 sessions of recordings, as files of pprof and as traces that visitors send, and lets the tool "
        "and Go add them up in turns. Needs Go 1.26 or newer, 5 GB on the disk and an idle machine. Fails unless every "
        "limit named below its table is met.",
    )
    merge.add_argument(
        "--tool", metavar="BINARY", type=Path, help="a release build to measure instead of building one"
    )
    merge.add_argument(
        "--recording",
        metavar="FILE",
        type=Path,
        action="append",
        default=[],
        help="a recording to make sessions of, instead of small ones of the tests; may be repeated",
    )
    add_count(merge, "--rounds", 3, "how many times each program reads the sessions")
    add_count(merge, "--sessions", 10_000, "how many sessions are made")
    add_count(merge, "--samples", 2_000, "samples of each session")
    soak = add_suite(
        "soak",
        "several minutes of programs whose stacks are hard to walk",
        "A page and its workers run a mix of programs under profilers at the base interval, and check every stack "
        "against the known call graph. Fails if the browser crashes, if more than 0.1 % of the samples are "
        "unwalkable, if fewer than 99.9 % of the stacks end in a known root, or if a stack has a call that the call "
        "graph does not have.",
    )
    soak.add_argument("--minutes", metavar="N", type=amount, default=10.0, help="how long to run (default: 10)")
    soak.add_argument(
        "--base-interval-us", metavar="N", type=count, default=1000, help="the sample interval, in µs (default: 1000)"
    )
    accuracy = add_suite(
        "accuracy",
        "whether samples have the right function, come in time and in the right shares",
        "Needs an idle machine. Fails if a limit in its tables is missed.",
    )
    accuracy.add_argument(
        "--seconds",
        metavar="N",
        type=amount,
        default=100.0,
        help="total time of the programs with known shares; the other programs take about twice as long (default: 100)",
    )
    busy = add_comparison(
        "busy",
        "how many samples there are, and whether shares are right, beside 2, 4 and 8 busy programs",
        "The programs want all processors, at the priority of the browser. Fails if a limit named below its table is "
        "missed. Needs a machine that is idle otherwise.",
        rounds=2,
    )
    busy.add_argument(
        "--seconds", metavar="N", type=amount, default=10.0, help="seconds for each number of programs (default: 10)"
    )
    stops = add_suite(
        "stops",
        "how long a sample stops its thread, by the depth of the stack",
        "Uses the sampler's own clock. Needs an idle machine. Fails if a limit named below its table is missed.",
    )
    stops.add_argument(
        "--seconds", metavar="N", type=amount, default=20.0, help="how long to sample at each depth (default: 20)"
    )
    hostile = add_suite(
        "hostile",
        "pages that try to hold up whoever profiles or records them",
        "Their names, URLs and stacks have any size. Each page is compared with the same one with short names. "
        "Needs an idle machine. Fails if a limit named below its table is missed: the longest stop, the memory for a "
        "function, and the time from a signal to the file of a recording.",
    )
    hostile.add_argument(
        "--seconds", metavar="N", type=amount, default=5.0, help="how long to sample each page (default: 5)"
    )
    hostile.add_argument(
        "--page", metavar="NAME", action="append", default=[], help="measure only this page; may be repeated"
    )
    workers = add_suite(
        "workers",
        "32 workers with a profiler each, started and terminated at random",
        "Fails if the browser crashes or hangs, if it has more threads or open files at the end than at the start, or "
        "if its memory grows by more than without profilers.",
    )
    workers.add_argument(
        "--seconds", metavar="N", type=amount, default=60.0, help="seconds with profilers and without (default: 60)"
    )
    docs = suites.add_parser(
        "docs",
        help="write the tables of docs/figures/ from saved figures",
        description="Write the tables of docs/figures/ from the figures that the suites saved in target/bench.",
        allow_abbrev=False,
    )
    docs.set_defaults(parser=docs)
    docs.add_argument("suites", metavar="SUITE", nargs="*", help="suites to write (default: all that have figures)")


def run(options, _):
    from ..bench import bench

    bench.bench(options)
