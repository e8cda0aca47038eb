# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach profile: builds the browser and runs `strobe profile` with the same options."""

import os
import signal
import sys
from pathlib import Path

from . import build
from .errors import MachError


def profile(arguments: list[str], release: bool = False):
    run(build.build(release), arguments)


def run(binary: Path, arguments: list[str]):
    """Becomes the browser, which is then the command that the person has typed: Ctrl-C is for it, and it may ask."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores this signal, and an ignored signal would stay ignored.
    before = signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        os.execve(binary, [str(binary), "profile", *arguments], build.browser_environment())
    except OSError as error:
        signal.signal(signal.SIGPIPE, before)
        raise MachError(f"{binary}: cannot be run: {error.strerror}") from None
