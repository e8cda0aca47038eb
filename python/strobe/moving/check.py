# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach check upstream: which newer versions of Servo and the engine are published, and what a move to them means.

It changes nothing. It needs the registry, so it is no part of other commands.
"""

import tempfile
from pathlib import Path

from .. import paths
from ..errors import MachError
from ..setup import upstream
from . import targets
from .registry import Registry
from .review import review
from .targets import BINDINGS, ENGINE, MOVABLE, SERVO, Pins


def check(components: Path = paths.COMPONENTS, lock: Path = upstream.LOCK):
    """Prints what there is. MachError if anything newer is published."""
    registry = Registry()
    pins = Pins(upstream.pinned_packages(lock))
    behind = {}
    for name in MOVABLE:
        pinned = registry.release(name, pins.version(name))
        newer = targets.newer(registry, pins, name)
        versions = ", ".join(str(release.version) for release in newer) or "nothing newer"
        print(f"{pinned}{' (yanked)' if pinned.is_yanked else ''}: {versions}")
        if other := targets.other_line(registry, pins, name):
            support = "with" if registry.is_lts(other[-1]) else "without"
            print(f"  apart from it, the line {support} long-term support: {other[-1].version}")
        if newer:
            behind[name] = newer[-1]
    if behind.keys() & {BINDINGS, ENGINE}:
        _show_engine(registry, pins, components, lock)
    if servo := behind.get(SERVO):
        print(f"\nthe newest Servo: {servo.version}")
        _show(targets.of_move(registry, pins, SERVO, servo.version), f"{SERVO} {servo.version}", components, lock)
    if behind:
        raise MachError(f"newer versions are published: {', '.join(map(str, behind.values()))}")


def _show_engine(registry: Registry, pins: Pins, components: Path, lock: Path):
    found = targets.newest_engine(registry, pins)
    pinned = f"{BINDINGS} {pins.version(BINDINGS)}"
    if found is None:
        print(f"\nno newer engine that the pins can take: no compatible version after {pinned} has one")
        return
    print(f"\nthe newest engine that the pins can take: {found[BINDINGS]} with {found[ENGINE]}")
    _show(found, f"{BINDINGS} {found[BINDINGS].version}", components, lock)


def _show(moved: dict, arguments: str, components: Path, lock: Path):
    with tempfile.TemporaryDirectory() as scratch:
        found = review(moved, Path(scratch), components, lock)
    for line in found.lines():
        print(line)
    print(f"to move the pins: ./mach update-upstream {arguments}")
