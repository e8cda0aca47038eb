# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach profile: builds the browser and runs `strobe profile` with the same options."""

from pathlib import Path

from . import build, process
from .errors import MachError


def profile(arguments: list[str], release: bool = False):
    run(build.build(release), arguments)


def run(binary: Path, arguments: list[str]):
    browser = process.start([str(binary), "profile", *arguments], cwd=Path.cwd(), env=build.browser_environment())
    try:
        status = _wait(browser)
    finally:
        process.end(browser)
    if status != 0:
        raise MachError(f"the browser {process.describe_status(status)}")


def _wait(browser) -> int:
    """The browser's exit status. Ctrl-C also reaches the browser, which saves the recording and then ends."""
    while True:
        try:
            return browser.wait()
        except KeyboardInterrupt:
            continue
