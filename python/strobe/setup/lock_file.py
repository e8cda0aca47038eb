# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The text of Cargo's lock files, package by package."""

import re
from collections.abc import Callable

PACKAGE = re.compile(r"^\[\[package\]\]\n.*?(?=^\[\[package\]\]\n|\Z)", re.M | re.S)


def packages(text: str) -> tuple[str, list[str]]:
    """What is before the first package, and the text of each package, which ends with one newline."""
    return text.partition("[[package]]")[0], [match[0].strip("\n") + "\n" for match in PACKAGE.finditer(text)]


def joined(header: str, texts: list[str]) -> str:
    return header + "\n".join(texts)


def changed(text: str, change: Callable[[str], str]) -> str:
    """The lock file with each package's text changed."""
    header, texts = packages(text)
    return joined(header, [change(package) for package in texts])


def value(package: str, key: str) -> str:
    """What a package has for `name`, `version`, `source` or `checksum`."""
    return re.search(rf'^{key} = "(.*)"$', package, re.M)[1]


def without_source(package: str) -> str:
    """A package as it is for a crate in a folder."""
    return re.sub(r"^(source|checksum) = .*\n", "", package, flags=re.M)


def with_source(package: str, source: str, checksum: str) -> str:
    """A package as it is for a crate from a registry."""
    lines = f'source = "{source}"\nchecksum = "{checksum}"\n'
    return re.sub(r"^version = .*\n", lambda match: match[0] + lines, package, count=1, flags=re.M)
