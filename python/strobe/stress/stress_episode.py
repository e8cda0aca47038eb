# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""An episode of ./mach stress: one run of the browser, and what is done to it."""

from dataclasses import asdict, dataclass, field


@dataclass
class Step:
    """Something that is done to the browser."""

    # In seconds since it was started.
    at: float
    what: str
    arguments: dict = field(default_factory=dict)


@dataclass
class Episode:
    """One run of the browser."""

    seed: int
    number: int
    feature: str
    # In seconds, until it is ended.
    duration: float
    ending: str
    # Options of the browser beside those that every one of ours has.
    options: list[str]
    # The addresses of the pages it is started with, behind the name of their site: "SITE/stress/page.html?...".
    pages: list[str]
    steps: list[Step] = field(default_factory=list)
    # Whether its pages come to rest before it is ended: all that they asked for must have been answered.
    settles: bool = False
    # Driven through its WebDriver server, too.
    webdriver: bool = False
    # The options of `strobe profile`, if it is that command.
    profile_command: list[str] | None = None
    # Its pages may crash, for Servo itself needs memory that it is denied.
    short_of_memory: bool = False

    @property
    def multiprocess(self) -> bool:
        return "--multiprocess" in self.options

    @property
    def name(self) -> str:
        return f"{self.number} ({self.feature})"

    def to_json(self) -> dict:
        return asdict(self)
