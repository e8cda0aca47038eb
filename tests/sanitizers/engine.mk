# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

# Make reads this before makefile.cargo of mozjs_sys, by the variable MAKEFILES: see python/strobe/asan.py. The engine then knows
# of the sanitizer: it marks memory that it has reserved and does not use, and leaves abort() and the stack's limits to it.
maybe-configure: CONFIGURE_FLAGS += --enable-address-sanitizer
