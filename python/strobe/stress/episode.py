# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""An episode of ./mach stress: a run of the browser, and what is done to it."""

from dataclasses import asdict, dataclass, field


@dataclass
class Step:
    """Something that is done to the browser."""

    # In seconds since the browser was started.
    at: float
    what: str
    arguments: dict = field(default_factory=dict)


@dataclass
class Episode:
    """A run of the browser, as planned."""

    seed: int
    number: int
    feature: str
    # Seconds until the browser is ended.
    duration: float
    ending: str
    # Options of the browser, in addition to those of every episode.
    options: list[str]
    # The addresses of the first pages, each after the name of its site: "SITE/stress/page.html?...".
    pages: list[str]
    steps: list[Step] = field(default_factory=list)
    # Whether the pages must come to rest before the end: everything that they asked for must have been answered.
    settles: bool = False
    # Whether it is also driven by WebDriver.
    webdriver: bool = False
    # The options of `strobe profile`, if the episode runs that command.
    profile_command: list[str] | None = None
    # Whether memory is limited. Pages may then crash, because Servo itself is refused memory.
    short_of_memory: bool = False

    @property
    def multiprocess(self) -> bool:
        return "--multiprocess" in self.options

    @property
    def name(self) -> str:
        return f"{self.number} ({self.feature})"

    def to_json(self) -> dict:
        return asdict(self)
