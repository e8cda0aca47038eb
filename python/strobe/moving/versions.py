# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Version numbers and requirements of crates, as Cargo understands them."""

import re
from dataclasses import dataclass
from functools import total_ordering

from ..errors import MachError

VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")
# A part of a requirement may leave out the last numbers of a version.
COMPARATOR = re.compile(r"([=^]?) *(\d+)(?:\.(\d+)(?:\.(\d+)(?:-([0-9A-Za-z.-]+))?)?)?(?:\+[0-9A-Za-z.-]+)?")
# What mozjs_sys has after its hyphen is no pre-release, though it is one to Cargo. The number counts the releases of
# one version of the engine, and `lts` is the line with long-term support.
RELEASE = re.compile(r"\d+(-lts)?")


@total_ordering
@dataclass(frozen=True)
class Version:
    numbers: tuple[int, int, int]
    # What is after the hyphen; empty if there is none.
    suffix: str = ""

    @staticmethod
    def parse(text: str) -> "Version":
        match = VERSION.fullmatch(text)
        if not match:
            raise MachError(f"{text!r} is no version; one looks like 0.26.14 or 153.6.0-2")
        return Version(tuple(int(number) for number in match.groups()[:3]), match[4] or "")

    @property
    def is_prerelease(self) -> bool:
        return bool(self.suffix) and not RELEASE.fullmatch(self.suffix)

    @property
    def is_lts(self) -> bool:
        return self.suffix.endswith("-lts")

    def is_compatible_with(self, other: "Version") -> bool:
        """Whether a program for one of them should work with the other: the first number that is not 0 is equal."""
        for ours, theirs in zip(self.numbers, other.numbers, strict=True):
            if ours or theirs:
                return ours == theirs
        return True

    def __lt__(self, other: "Version") -> bool:
        return self._order() < other._order()

    def __str__(self):
        return ".".join(map(str, self.numbers)) + (f"-{self.suffix}" if self.suffix else "")

    def _order(self) -> tuple:
        # A version without a suffix is newer than those with one. Numbers are older than words.
        parts = [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in self.suffix.split(".")]
        return (self.numbers, not self.suffix, parts)


def satisfies(version: Version, requirement: str) -> bool:
    """Whether Cargo would take this version for a requirement such as `=0.26.4`, `=0.21` or `^1.2`."""
    return all(_meets(version, part.strip(), requirement) for part in requirement.split(","))


def lowest(requirement: str) -> Version:
    """The version that a requirement names."""
    return _comparator(requirement.split(",")[0].strip(), requirement)[2]


def _comparator(part: str, requirement: str) -> tuple[str, tuple[int, ...], Version]:
    """The operator, the numbers that are given, and the version with zeros for the others."""
    match = COMPARATOR.fullmatch(part)
    if not match:
        raise MachError(f"the requirement {requirement!r} is not understood; crates of Servo ask for `=VERSION`")
    operator, *numbers, suffix = match.groups()
    given = tuple(int(number) for number in numbers if number is not None)
    return operator, given, Version((*given, 0, 0)[:3], suffix or "")


def _meets(version: Version, part: str, requirement: str) -> bool:
    operator, given, least = _comparator(part, requirement)
    if operator == "=":
        return version.numbers[: len(given)] == given and version.suffix == least.suffix
    # Only a requirement that has a suffix itself admits versions with one.
    if version.suffix and (version.numbers != least.numbers or not least.suffix):
        return False
    if len(given) < 3 and not any(given):
        return version.numbers[: len(given)] == given
    return version >= least and version.is_compatible_with(least)
