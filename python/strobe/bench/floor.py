# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bench floor: what the signals of the sampler cost if their handler does nothing.

The program runs the kernels of `overhead`, and the libraries of `real` that need no document. Beside the signals it
measures interrupts without a signal.
"""

import json
from pathlib import Path

from .. import build, npm, process
from ..errors import MachError
from . import real
from .visits import measure_rounds

PROGRAM = "empty_handler"
LIBRARIES = [library for library in real.LIBRARIES if library not in real.NEED_DOCUMENT]


def floor(release: bool, settings: dict[str, int], saved: Path) -> dict:
    """The measurement, of the form of the suite overhead, with libraries beside the kernels."""
    # Checked first, because a build takes longer to fail.
    npm.check_node()
    binary = build.build(release, also=(PROGRAM,))
    scripts = real.bundle(LIBRARIES, saved.with_suffix("") / "scripts")
    libraries = [f"{library}={script}" for library, script in scripts.items()]
    counts = [str(settings[name]) for name in ("pairs", "blocks", "library pairs")]
    command = [str(binary.with_name(PROGRAM)), *counts, *libraries]

    def measure_round(_number: int, _log: Path) -> list[list[dict]]:
        posted = process.output(command)
        if posted is None:
            raise MachError(f"`{' '.join(command)}` failed")
        return [[json.loads(posted)]]

    described = [{"name": "empty handler", "version": "", "build": binary.parent.name}]
    return measure_rounds("floor", described, settings, saved, measure_round)
