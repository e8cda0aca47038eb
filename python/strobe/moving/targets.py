# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Which versions belong together: Servo asks for an exact version of mozjs, and mozjs for one of mozjs_sys."""

from ..errors import MachError
from .registry import Registry, Release
from .versions import Version, satisfies

SERVO, SCRIPT, BINDINGS, ENGINE = "servo", "servo-script", "mozjs", "mozjs_sys"
# What a person can ask to move. The others follow.
MOVABLE = (SERVO, BINDINGS, ENGINE)


class Pins:
    """The versions that a lock file pins."""

    def __init__(self, packages: dict[str, dict]):
        self._packages = packages

    def version(self, name: str) -> Version:
        if name not in self._packages:
            raise MachError(f"upstream/Cargo.lock pins no {name}")
        return Version.parse(self._packages[name]["version"])

    def servo_crates(self) -> list[str]:
        """The crates that are published with Servo, in the same version: servo itself, and those named after it."""
        servo = self._packages[SERVO]["version"]
        return [
            name
            for name, package in self._packages.items()
            if (name == SERVO or name.startswith(f"{SERVO}-")) and package["version"] == servo
        ]


def newer(registry: Registry, pins: Pins, name: str) -> list[Release]:
    """The newer versions of a crate, in the line of the pinned one. Pre-releases and what is yanked do not count."""
    pinned = registry.release(name, pins.version(name))
    is_lts = registry.is_lts(pinned)
    return [release for release in _line(registry, name, is_lts) if release.version > pinned.version]


def other_line(registry: Registry, pins: Pins, name: str) -> list[Release]:
    """The versions of a crate's other line: with support for long if the pinned one is without it."""
    is_lts = registry.is_lts(registry.release(name, pins.version(name)))
    return _line(registry, name, not is_lts)


def _line(registry: Registry, name: str, is_lts: bool) -> list[Release]:
    return [
        release
        for release in registry.releases(name)
        if not release.is_yanked and not release.version.is_prerelease and registry.is_lts(release) == is_lts
    ]


def with_engine(registry: Registry, bindings: Release) -> dict[str, Release]:
    """A version of mozjs with the engine that it asks for. MachError if that cannot be had."""
    requirement = bindings.requirements.get(ENGINE)
    engine = registry.newest(ENGINE, requirement) if requirement else None
    if engine is None:
        raise MachError(f"{bindings} asks for {ENGINE} {requirement}, which is not to be had")
    return {BINDINGS: bindings, ENGINE: engine}


def newest_engine(registry: Registry, pins: Pins) -> dict[str, Release] | None:
    """The newest mozjs that Servo's crates can take, with its engine; None if the pins have it.

    They ask for one exact version, which a hook moves. What they are written for is every version that is compatible.
    """
    for bindings in reversed(newer(registry, pins, BINDINGS)):
        if not bindings.version.is_compatible_with(pins.version(BINDINGS)):
            continue
        try:
            return with_engine(registry, bindings)
        except MachError:
            # The registry has its engine no more, or it is yanked.
            continue
    return None


def of_move(registry: Registry, pins: Pins, name: str, version: Version) -> dict[str, Release]:
    """All releases that move if a person asks for one. MachError if there is no such move."""
    if name not in MOVABLE:
        raise MachError(f"{name}: only {', '.join(MOVABLE[:-1])} and {MOVABLE[-1]} can be moved")
    release = registry.release(name, version)
    if release.is_yanked:
        raise MachError(f"{release} is yanked")
    if name == SERVO:
        return _of_servo(registry, pins, release)
    if name == BINDINGS:
        return with_engine(registry, release)
    for bindings in reversed(registry.releases(BINDINGS)):
        requirement = bindings.requirements.get(ENGINE)
        if requirement and not bindings.is_yanked and satisfies(version, requirement):
            return {BINDINGS: bindings, ENGINE: release}
    raise MachError(f"{release}: no version of {BINDINGS} asks for it")


def _of_servo(registry: Registry, pins: Pins, servo: Release) -> dict[str, Release]:
    script = registry.release(SCRIPT, servo.version)
    requirement = script.requirements.get(BINDINGS, "")
    bindings = registry.newest(BINDINGS, requirement) if requirement else None
    if bindings is None:
        raise MachError(f"{script} asks for {BINDINGS} {requirement}, which the registry does not have")
    pinned = pins.version(BINDINGS)
    # The engine is not moved back if the new Servo can have the pinned one.
    if pinned > bindings.version and pinned.is_compatible_with(bindings.version):
        bindings = registry.release(BINDINGS, pinned)
    crates = {name: registry.release(name, servo.version) for name in pins.servo_crates()}
    return {**crates, **with_engine(registry, bindings)}
