# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach bootstrap"""

SUMMARY = "install what a build needs and prepare the upstream trees"
MORE = (
    "Installs system packages with apt-get, or prints the command if that needs root. Installs Rust with rustup. "
    "Unpacks the published Servo crates that Strobe changes, and applies the hooks, in a cache that all checkouts "
    "share (~/.cache/strobe, or STROBE_CACHE_DIR). Other commands do this themselves when it is needed."
)


def run(options, _):
    from ..setup import bootstrap

    bootstrap.bootstrap()
