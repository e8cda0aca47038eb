# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The entry point of ./mach: its arguments, its errors and its exit status."""

import argparse
import signal
import sys

from . import commands
from .errors import MachError

DESCRIPTION = "Builds, runs and tests Strobe, the JS Self-Profiling API for the Servo browser."
EPILOG = """\
Two commands do everything on a fresh Debian or Ubuntu machine, set-up included:
  ./mach run     opens a demo page that profiles itself, and prints its profile
  ./mach test    runs all tests
`./mach COMMAND --help` explains a command."""


def main(arguments: list[str]) -> int:
    """Runs a command; 0 if all went well, 1 with a message if not, 2 for wrong arguments, 130 for Ctrl-C."""
    # This keeps our lines and those of the programs we run in order in a log.
    sys.stdout.reconfigure(line_buffering=True)
    signal.signal(signal.SIGTERM, _end)
    options, for_browser = _parse(arguments)
    try:
        commands.load(options.command).run(options, for_browser)
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
    """Raises SystemExit, so that `finally` blocks end the programs that we have started."""
    raise SystemExit(128 + number)


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the arguments for the browser: those after `--`, or those that a command passes on."""
    parser = make_parser()
    if arguments and arguments[0] in commands.NAMES and hasattr(commands.load(arguments[0]), "own_arguments"):
        ours, for_browser = commands.load(arguments[0]).own_arguments(arguments[1:])
        return parser.parse_args([arguments[0], *ours]), for_browser
    for_browser = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, for_browser = arguments[:at], arguments[at + 1 :]
    if not arguments:
        parser.print_help(sys.stderr)
        raise SystemExit(2)
    options, unknown = parser.parse_known_args(arguments)
    if hasattr(commands.load(options.command), "take_unknown"):
        unknown = commands.load(options.command).take_unknown(options, unknown)
    # Only `run` passes arguments after `--` to a browser.
    is_run = options.command == "run"
    if unknown:
        hint = "; put arguments for the browser after `--`" if is_run else ""
        options.parser.error(f"unknown arguments: {' '.join(unknown)}{hint}")
    if for_browser and not is_run:
        options.parser.error(f"takes nothing after `--`: {' '.join(for_browser)}")
    return options, for_browser


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mach", description=DESCRIPTION, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name in commands.NAMES:
        command = commands.load(name)
        summary = command.SUMMARY
        parser_of_command = parsers.add_parser(
            name,
            help=summary,
            description=f"{summary[0].upper()}{summary[1:]}. {getattr(command, 'MORE', '')}".strip(),
            usage=getattr(command, "USAGE", None),
            epilog=getattr(command, "EPILOG", None),
            allow_abbrev=False,
        )
        parser_of_command.set_defaults(parser=parser_of_command)
        if hasattr(command, "add_arguments"):
            command.add_arguments(parser_of_command)
    return parser
