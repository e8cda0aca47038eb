# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""What py-spy profiles."""


class Shape:
    def __init__(self, side):
        self.side = side

    def area(self):
        total = 0
        for number in range(self.side):
            total += number % 7
        return total


def work(rounds):
    return sum(Shape(20_000).area() for _ in range(rounds))


work(300)
