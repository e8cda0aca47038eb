# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The tools that a build needs: their versions, their places, and the environment that selects them."""

import shutil

from ..errors import MachError

CLANG = "19"

# The names of packages in Debian 12 and Ubuntu 24.04, by purpose.
SYSTEM_PACKAGES = {
    "the C and C++ tool chain": ("build-essential", "make", "cmake", "ninja-build", "m4", "pkg-config"),
    f"clang {CLANG} and its linker: SpiderMonkey, our glue and bindgen must see one compiler": (
        f"clang-{CLANG}",
        f"libclang-{CLANG}-dev",
        f"llvm-{CLANG}",
        f"lld-{CLANG}",
    ),
    "SpiderMonkey's build system is written in Python": ("python3", "python3-venv"),
    "fetching crates, applying hooks": ("git", "curl", "ca-certificates"),
    "fonts and text": ("libfontconfig1-dev", "libfreetype-dev", "libharfbuzz-dev", "fonts-dejavu-core"),
    "windows, keyboards and gamepads": (
        "libx11-dev",
        "libxcb1-dev",
        "libxkbcommon-dev",
        "libdbus-1-dev",
        "libudev-dev",
    ),
    "a display, keys and a mouse for the tests of windows": ("xvfb", "xdotool"),
    "certificates and a server for the tests of them": ("openssl",),
    "stacks of a browser that crashed or hangs": ("gdb",),
    "drawing, with a graphics card or without": ("libegl1-mesa-dev", "libgles2-mesa-dev", "libgl1-mesa-dri"),
    "cryptography and stack unwinding in Servo's dependencies": ("libssl-dev", "libunwind-dev"),
}

# The same for `./mach package` and for `./mach test-package`, which alone install them.
PACKAGING_PACKAGES = {
    "Debian's way to make packages": ("debhelper", "dpkg-dev"),
    "icons in pixels": ("librsvg2-bin",),
    "the compressed archive": ("zstd",),
}
PACKAGE_TEST_PACKAGES = {
    "a fresh Debian, to install the package in": ("debootstrap",),
    "a display": ("xvfb",),
    "what Debian checks of every package": ("lintian",),
}


def build_environment() -> dict[str, str]:
    """The environment of every build script. SpiderMonkey and our glue must be compiled by one compiler."""
    return {
        "CC": f"clang-{CLANG}",
        "CXX": f"clang++-{CLANG}",
        "AR": f"llvm-ar-{CLANG}",
        "LIBCLANG_PATH": f"/usr/lib/llvm-{CLANG}/lib",
        # The prebuilt archives have no headers and cannot be hooked.
        "MOZJS_FROM_SOURCE": "1",
    }


def valgrind() -> str:
    found = shutil.which("valgrind")
    if found is None:
        raise MachError("valgrind is not installed; run `apt-get install valgrind`")
    return found
