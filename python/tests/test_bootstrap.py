# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from strobe.errors import MachError
from strobe.setup import bootstrap, toolchain, workspace

PACKAGES = [name for names in toolchain.SYSTEM_PACKAGES.values() for name in names]


class BootstrapTest(unittest.TestCase):
    """The PATH has only the programs that a test writes, and the shell that they are written for."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.log = self.root / "log"
        self.log.touch()
        (self.root / "bin").mkdir()
        environment = {"PATH": str(self.root / "bin"), "CARGO_HOME": str(self.root / "cargo"), "LOG": str(self.log)}
        self.enterContext(mock.patch.dict(os.environ, environment))
        os.environ.pop("RUSTUP_TOOLCHAIN", None)
        self.output = self.enterContext(contextlib.redirect_stdout(io.StringIO()))

    def program(self, name: str, script: str, folder: str = "bin"):
        path = self.root / folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def logged(self) -> list[str]:
        return self.log.read_text().splitlines()

    def rust(self, version: str, folder: str = "bin"):
        for tool in ("rustc", "cargo", "rustfmt"):
            self.program(tool, f'echo "{tool} {version} (0a1b2c 2026-01-01)"', folder)


class SystemPackagesTest(BootstrapTest):
    def debian(self, missing: list[str]):
        """A Debian on which `missing` are not installed until apt-get has run."""
        lines = "\n".join(f'echo "{name} installed"' for name in PACKAGES if name not in missing)
        later = "\n".join(f'echo "{name} installed"' for name in missing)
        self.program("dpkg-query", f'{lines}\nif [ -s "$LOG" ]; then :\n{later}\nelse exit 1; fi' if missing else lines)
        self.program("apt-get", 'echo "apt-get $*" >> "$LOG"')
        self.program("env", 'echo "env $*" >> "$LOG"')
        self.program("sudo", 'exit 1')

    def test_nothing_to_do(self):
        self.debian([])
        bootstrap.ensure_system_packages()
        self.assertEqual((self.logged(), self.output.getvalue()), ([], ""))

    @mock.patch("os.geteuid", return_value=0)
    def test_root_installs_what_is_missing(self, _):
        self.debian(["m4", "clang-19"])
        bootstrap.ensure_system_packages()
        self.assertEqual(
            self.logged(),
            [
                "env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 update",
                "env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y m4 clang-19",
            ],
        )

    @mock.patch("os.geteuid", return_value=1000)
    def test_without_root_the_command_is_shown(self, _):
        self.debian(["m4", "clang-19"])
        with self.assertRaises(MachError) as caught:
            bootstrap.ensure_system_packages()
        apt = "sudo env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120"
        self.assertIn(f"\n  {apt} update && {apt} install -y m4 clang-19\n", str(caught.exception))
        self.assertEqual(self.logged(), [])

    @mock.patch("os.geteuid", return_value=1000)
    def test_sudo_that_does_not_ask_is_used(self, _):
        self.debian(["m4"])
        self.program("sudo", '[ "$2" = true ] || echo "sudo $*" >> "$LOG"')
        bootstrap.ensure_system_packages()
        self.assertEqual(len(self.logged()), 2)
        self.assertTrue(self.logged()[1].startswith("sudo -n env "), self.logged())

    @mock.patch("os.geteuid", return_value=0)
    def test_a_failing_apt_get_is_named(self, _):
        self.debian(["m4"])
        self.program("env", "exit 100")
        with self.assertRaisesRegex(MachError, "^`env DEBIAN_FRONTEND=.* update` failed with status 100$"):
            bootstrap.ensure_system_packages()

    def test_a_system_without_apt(self):
        with self.assertRaisesRegex(MachError, "(?s)^this system has no apt-get;.*drawing, .*: libegl1-mesa-dev"):
            bootstrap.ensure_system_packages()


class ClangTest(BootstrapTest):
    def test_another_version(self):
        for tool in ("clang-19", "clang++-19", "llvm-ar-19"):
            self.program(tool, 'echo "Debian clang version 18.1.8"')
        with self.assertRaisesRegex(MachError, "^clang-19 reports version 18.1.8; clang 19 is needed$"):
            bootstrap.check_clang()

    def test_a_missing_tool(self):
        self.program("clang-19", 'echo "Debian clang version 19.1.7"')
        with self.assertRaisesRegex(MachError, r"^clang\+\+-19 is not on the PATH"):
            bootstrap.check_clang()


class RustTest(BootstrapTest):
    def test_new_enough(self):
        self.rust(workspace.rust_version() + ".0")
        bootstrap.ensure_rust()
        self.assertEqual(self.output.getvalue(), "")

    def test_versions_are_numbers(self):
        self.rust("1.100.0")
        bootstrap.ensure_rust()

    def test_cargo_home_is_looked_at(self):
        self.rust("1.63.0")
        self.rust("1.99.0", folder="cargo/bin")
        bootstrap.ensure_rust()
        self.assertEqual(os.environ["PATH"].split(":")[0], str(self.root / "cargo/bin"))

    def test_an_old_default_and_a_new_stable_toolchain(self):
        self.rust("1.63.0")
        for tool in ("rustc", "cargo"):
            script = f'if [ "$RUSTUP_TOOLCHAIN" = stable ]; then echo {tool} 1.99.0; else echo {tool} 1.63.0; fi'
            self.program(tool, script)
        self.program("rustup", "echo rustc 1.99.0")
        bootstrap.ensure_rust()
        self.assertEqual(os.environ["RUSTUP_TOOLCHAIN"], "stable")

    def test_the_installer_where_there_is_no_rustup(self):
        self.program(
            "curl",
            'echo "curl $*" >> "$LOG"\nwhile [ "$1" != -o ]; do shift; done\n'
            'echo \'echo "installer $*" >> "$LOG"\n/bin/cp -r "$CARGO_HOME.new" "$CARGO_HOME"\' > "$2"',
        )
        self.program("sh", 'exec /bin/sh "$@"')
        self.rust("1.99.0", folder="cargo.new/bin")
        bootstrap.ensure_rust()
        self.assertRegex(self.logged()[0], r"^curl --proto =https --tlsv1\.2 -sSf -o \S+ https://sh\.rustup\.rs$")
        self.assertEqual(
            self.logged()[1],
            "installer -y --no-modify-path --default-toolchain stable --profile minimal "
            "--component rustfmt --component clippy",
        )
        self.assertIn("found rustc missing, cargo missing", self.output.getvalue())

    def test_an_installer_that_fails_is_named(self):
        self.program("curl", "exit 6")
        with self.assertRaisesRegex(MachError, r"^`curl .* https://sh\.rustup\.rs` failed with status 6$"):
            bootstrap.ensure_rust()

    def test_missing_components(self):
        self.rust("1.99.0")
        self.program("cargo", 'if [ "$1" = clippy ]; then exit 1; fi; echo cargo 1.99.0')
        with self.assertRaisesRegex(MachError, "^this Rust installation lacks clippy, and there is no rustup"):
            bootstrap.ensure_rust()
        self.program("rustup", 'echo "rustup $*" >> "$LOG"')
        bootstrap.ensure_rust()
        self.assertEqual(self.logged(), ["rustup component add clippy"])
