# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Threads that run one at a time, each as often as the others."""

import random
import threading
from collections import deque


class Turns:
    """The turns of the members 0 to `members` - 1, in cycles. Each cycle has another order."""

    def __init__(self, members: int, cycles: int):
        # The orders are always the same, so that a measurement can be repeated.
        orders = random.Random(members)
        self._waiting = deque(member for _ in range(cycles) for member in orders.sample(range(members), members))
        self._changed = threading.Condition()
        # The member that has the turn.
        self._taker: int | None = None

    def take(self, member: int):
        """Ends the member's turn, if it has one, and waits for its next turn, if there is one."""
        with self._changed:
            if self._taker == member:
                self._taker = None
                self._changed.notify_all()
            self._changed.wait_for(lambda: self._is_next(member))
            if member in self._waiting:
                self._taker = self._waiting.popleft()

    def _is_next(self, member: int) -> bool:
        return member not in self._waiting or (self._taker is None and self._waiting[0] == member)

    def abandon(self):
        """Lets no member wait any more."""
        with self._changed:
            self._waiting.clear()
            self._changed.notify_all()
