# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What is expected of the suites of ./mach test, as suites.toml beside this file says it."""

import tomllib
from pathlib import Path

from .run import shown_from_here
from .tally import Tally

EXPECTED = Path(__file__).with_name("suites.toml")


def check_count(suite: str, tally: Tally):
    """Fails a suite that has fewer tests than it had. One that fails already may not have come to all of them."""
    least = _expected()["least"][suite]
    if tally.tests < least and not tally.failures:
        tally.fail(f"{suite}: {tally.tests} tests, fewer than the {least} that {shown_from_here(EXPECTED)} asks for")


def refuse_skips(tally: Tally):
    """Makes a failure of each skipped test, unless it is on the list with the state that it was skipped for."""
    listed = tuple(f"{entry['test']}: {state}" for entry in _expected()["skip"] for state in entry["states"])
    skipped, tally.skipped = tally.skipped, []
    for what in skipped:
        if what.startswith(listed):
            tally.skip(what)
        else:
            tally.fail(f"{what} (skipped, but {shown_from_here(EXPECTED)} has no reason for it)")


def _expected() -> dict:
    return tomllib.loads(EXPECTED.read_text(encoding="utf-8"))
