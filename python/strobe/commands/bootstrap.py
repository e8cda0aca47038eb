# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bootstrap"""

SUMMARY = "install what a build needs and prepare the upstream trees"
MORE = (
    "System packages come from apt-get (without root, the exact command to run is printed), Rust from rustup. The "
    "published Servo crates that Strobe hooks are unpacked and hooked in a cache that all checkouts share "
    "(~/.cache/strobe, or STROBE_CACHE_DIR). Commands that need this do it by themselves; a second time does nothing."
)


def run(options, _):
    from ..setup import bootstrap

    bootstrap.bootstrap()
