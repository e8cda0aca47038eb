# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The exception that mach prints as a message, without a traceback."""


class MachError(Exception):
    """A message that says what went wrong and what to do about it, ready to print."""
