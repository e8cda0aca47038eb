# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from unittest import mock

from strobe.errors import MachError
from strobe.packaging import libraries, licences, notices, package, parts, root, test_package
from strobe.packaging.licences import Crate, Text
from strobe.packaging.package import Packages
from strobe.setup import workspace
from strobe.tally import Failed


class FilesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def file(self, place: str, text: str = "") -> Path:
        file = self.folder / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


class LibrariesTest(FilesTest):
    def packages(self, content: bytes, linked: set[str]) -> list[str]:
        binary = self.folder / "strobe"
        binary.write_bytes(content)
        with mock.patch.object(libraries, "linked_libraries", return_value=linked):
            return libraries.opened_packages(binary)

    def test_names_that_stand_one_after_the_other(self):
        content = b"/usr/lib/linux-gnulibX11.so.6libX11.soXActivateScreenSaver\x00libEGL.so.1\x00libxkbcommon-x11.so"
        self.assertEqual(libraries.library_names(content), {"libX11", "libEGL", "libxkbcommon-x11"})

    def test_libraries_that_are_opened_have_their_packages(self):
        self.assertEqual(self.packages(b"libEGL.so\x00libXi.so.6", set()), ["libegl1", "libgl1-mesa-dri", "libxi6"])

    def test_linked_libraries_are_left_to_dpkg_shlibdeps(self):
        self.assertEqual(self.packages(b"libXi.so.6\x00libnew.so.1", {"libnew"}), ["libxi6"])

    def test_an_unknown_library_is_named(self):
        problem = r"has the name of libnew\.so, libolder\.so, of which no package is known"
        with self.assertRaisesRegex(MachError, problem):
            self.packages(b"libolder.so.2\x00libnew.so.1\x00libXi.so", set())

    def test_linked_libraries_are_read_from_a_program(self):
        self.assertIn("libc", libraries.linked_libraries(Path(shutil.which("cat")).resolve()))

    def test_a_file_that_is_no_program(self):
        with self.assertRaisesRegex(MachError, "strobe: "):
            libraries.linked_libraries(self.folder / "strobe")


BSD = "Redistribution and use are permitted."


class NoticesTest(FilesTest):
    def test_files_with_the_same_terms_have_one_entry(self):
        files = [
            self.file("a.c", f"/*\n * Copyright (C) 1999 A\n * {BSD}\n */\nint a;\n"),
            self.file("b.h", f"// Copyright 2001 B\n// {BSD}\n\n// An ordinary comment.\n"),
        ]
        self.assertEqual(notices.notices(files), [(["Copyright (C) 1999 A", "Copyright 2001 B"], BSD)])

    def test_holders_without_terms_come_last(self):
        files = [
            self.file("a.c", "/* Copyright (C) 1999 A */\n"),
            self.file("b.c", f"/* Copyright 2001 B\n{BSD} */\n"),
        ]
        self.assertEqual(
            notices.notices(files), [(["Copyright 2001 B"], BSD), (["Copyright (C) 1999 A"], "")]
        )

    def test_the_engines_own_licence_is_not_repeated(self):
        text = "/* This is subject to the terms of the Mozilla Public\n * License, v. 2.0. Copyright 2020 */"
        self.assertEqual(notices.notices([self.file("a.cpp", text)]), [])

    def test_code_without_copyright(self):
        text = "/*\n** The author disclaims copyright to this source code.\n*/"
        self.assertEqual(
            notices.notices([self.file("a.c", text)]), [([], "The author disclaims copyright to this source code.")]
        )


class LicencesTest(FilesTest):
    def crate(self, name: str, *files: str, has_build_script: bool = True) -> Crate:
        for file in files:
            self.file(f"{name}/{file}", f"text of {file}")
        (self.folder / name).mkdir(exist_ok=True)
        return Crate(name, "1.2.3", "MIT", self.folder / name, has_build_script)

    def problem(self, crates: list[Crate], entries: dict) -> str:
        with self.assertRaises(MachError) as caught:
            licences.bundled_texts(crates, entries)
        return str(caught.exception)

    def test_licence_files_are_copied(self):
        crate = self.crate("zstd-sys", "LICENSE", "zstd/LICENSE", "zstd/lib/a.c", "tests/LICENSE")
        entries = {"zstd-sys": {"files": ["zstd/LICENSE"], "left_out": ["tests"]}}
        self.assertEqual(
            licences.bundled_texts([crate], entries), [("zstd-sys 1.2.3: zstd/LICENSE", "text of zstd/LICENSE")]
        )

    def test_notices_are_copied(self):
        crate = self.crate("sqlite", "sqlite3.c")
        self.file("sqlite/sqlite3.c", f"/* Copyright 2001 B\n{BSD} */\n")
        self.assertEqual(
            licences.bundled_texts([crate], {"sqlite": {"notices": ["*.c"]}}),
            [("sqlite 1.2.3: notices in source files", f"Copyright 2001 B\n\n{BSD}")],
        )

    def test_c_code_that_is_not_listed_is_named(self):
        problem = self.problem([self.crate("new-sys", "src/a.c")], {})
        self.assertIn("new-sys 1.2.3: has C code, such as src/a.c, whose licence is unknown", problem)

    def test_c_code_that_no_build_script_compiles_needs_no_entry(self):
        self.assertEqual(licences.bundled_texts([self.crate("walkdir", "a.c", has_build_script=False)], {}), [])

    def test_a_licence_file_that_is_not_listed_is_named(self):
        crate = self.crate("a", "deep/COPYING.LIB", "deep/notice.rs", "LICENSE", has_build_script=False)
        self.assertIn("a 1.2.3: deep/COPYING.LIB: neither in `files` nor in `left_out`", self.problem([crate], {}))

    def test_a_pattern_without_files_is_named(self):
        problem = self.problem([self.crate("a", "a.c")], {"a": {"files": ["gone/LICENSE"]}})
        self.assertIn("a 1.2.3: gone/LICENSE: no such file", problem)

    def test_an_entry_without_a_crate_is_named(self):
        self.assertIn("gone: is listed, but is no crate of the browser", self.problem([], {"gone": {"files": []}}))

    def test_all_problems_are_named_at_once(self):
        problem = self.problem([self.crate("a", "a.c"), self.crate("b", "b.cc")], {})
        self.assertEqual(len(problem.splitlines()), 3)

    def test_a_wrong_key_is_named(self):
        with self.assertRaisesRegex(MachError, "bundled.toml: a: no such key: file"):
            licences.read_bundled('[a]\nfile = ["LICENSE"]\n')

    def test_what_two_programs_have_in_common_is_there_once(self):
        a, b, c = (Crate(name, "1.0.0", "MIT", self.folder) for name in "abc")
        one = [a, b], [Text("MIT", "text", ("a 1.0.0", "b 1.0.0"))]
        other = [b, c], [Text("MIT", "text", ("b 1.0.0", "c 1.0.0")), Text("MIT", "another", ("c 1.0.0",))]
        crates, texts = licences.merged(one, other)
        self.assertEqual(crates, [a, b, c])
        self.assertEqual(texts, [Text("MIT", "text", ("a 1.0.0", "b 1.0.0", "c 1.0.0")), other[1][1]])

    def test_the_committed_list_is_read(self):
        entries = licences.read_bundled(licences.BUNDLED.read_text())
        self.assertIn("mozjs/js/src/irregexp/LICENSE.v8", entries["mozjs_sys"]["files"])

    def test_the_document_has_every_crate_and_every_text(self):
        about = {
            "crates": [
                {
                    "package": {
                        "name": name,
                        "version": "1.0.0",
                        "manifest_path": f"/r/{name}/Cargo.toml",
                        "targets": [{"kind": kinds}],
                    },
                    "license": "MIT",
                }
                for name, kinds in (("b", ["lib"]), ("a", ["lib", "custom-build"]))
            ],
            "licenses": [
                {
                    "name": "MIT License",
                    "text": "Copyright A\r\nMIT \n",
                    "used_by": [{"crate": {"name": name, "version": "1.0.0"}} for name in ("b", "a")],
                }
            ],
        }
        crates, texts = licences.read_about(json.dumps(about))
        self.assertEqual([str(crate) for crate in crates], ["a 1.0.0", "b 1.0.0"])
        self.assertEqual([crate.has_build_script for crate in crates], [True, False])
        document = licences.render(crates, texts, [("a 1.0.0: c/LICENSE", "C text")])
        self.assertIn("these 2 crates", document)
        self.assertIn("MIT License, for:\n  a 1.0.0\n  b 1.0.0\n\nCopyright A\nMIT\n", document)
        self.assertTrue(document.endswith("a 1.0.0: c/LICENSE\n\nC text\n"))


class PartsTest(unittest.TestCase):
    def test_crates_and_libraries_by_names(self):
        for symbol, part in {
            "_ZN6script3dom4node4Node3new17h0123456789abcdefE": "script",
            "_ZN52_$LT$layout..flow..Flow$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE": "layout",
            "_ZN4core3ptr62drop_in_place$LT$script..dom..Node$GT$17h0123456789abcdefE": parts.RUST_LIBRARY,
            "_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE": parts.RUST_LIBRARY,
            "_RNvNtCs1234_5style6values5parse": "style",
            "_RNvCsabc_3std2rt": parts.RUST_LIBRARY,
            "_ZN2js3jit11IonCompilerE": "SpiderMonkey",
            "_ZNK2JS5Value8isObjectEv": "SpiderMonkey",
            "_ZN6icu_766LocaleC2Ev": "ICU",
            "hb_shape": "harfbuzz",
            "aws_lc_0_45_0_aes": "aws-lc",
            "inflate": parts.OTHER_C,
            "anon.74333b02e700.67.llvm.5683": parts.CONSTANTS,
        }.items():
            self.assertEqual(parts.part_of(symbol), part, symbol)

    def test_symbols_at_one_address_count_once(self):
        text = "00001000 00000010 T hb_a\n00001000 00000010 t hb_b\n         U memcpy\n"
        self.assertEqual(parts.read_symbols(text), {"harfbuzz": 16})

    def test_only_sections_in_memory_count(self):
        text = "strobe  :\nsection  size  addr\n.text  300  4096\n.comment  50  0\nTotal  350\n"
        self.assertEqual(parts.read_sections(text), {".text": 300})

    def test_what_is_not_shown_is_the_rest(self):
        lines = ["part         MB      %", "a           3.0   75.0", "all others  1.0   25.0", "total       4.0  100.0"]
        sizes = parts.Counter({"a": 3_000_000, "b": 900_000, "c": 100_000})
        for bound in ({"SHOWN": 1}, {"SMALLEST": 1_000_000}):
            with mock.patch.multiple(parts, **bound):
                self.assertEqual(parts._table("part", sizes).splitlines(), lines)


class PackageTest(FilesTest):
    def test_a_binary_without_symbols_is_refused(self):
        for sections, what in ((".note.gnu.build-id NOTE", "symbols"), (".symtab SYMTAB", "build ID")):
            with (
                mock.patch.object(package.process, "output", return_value=f"  [ 1] {sections} 0000\n"),
                self.assertRaisesRegex(MachError, f"^/b: has no {what}; a package needs a release build"),
            ):
                package.check_binary(Path("/b"))

    def test_a_binary_that_is_no_program_is_refused(self):
        with self.assertRaisesRegex(MachError, "is not a program for Linux"):
            package.check_binary(self.folder / "gone")

    def test_the_time_can_be_set(self):
        with mock.patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "86400"}):
            self.assertEqual(package.source_moment(), 86400)
        with (
            mock.patch.dict(os.environ, {"SOURCE_DATE_EPOCH": "today"}),
            self.assertRaisesRegex(MachError, "SOURCE_DATE_EPOCH=today: must be a number of seconds"),
        ):
            package.source_moment()

    def test_the_changelog_says_the_version_the_commit_and_the_time(self):
        with mock.patch.object(package, "_commit", return_value="0123abc"):
            text = package.changelog(86400)
        self.assertTrue(text.startswith(f"strobe ({workspace.version()}) "), text)
        self.assertIn("  * Made from commit 0123abc.\n", text)
        self.assertRegex(text, r"\n -- [^\n]+ <[^\n]+>  Fri, 02 Jan 1970 00:00:00 \+0000\n$")

    def test_the_control_file_has_all_kinds_of_dependencies(self):
        control = (package.SOURCE / "debian" / "control").read_text()
        depends = re.search(r"^Depends: (.*)$", control, re.M)[1].split(", ")
        self.assertLessEqual({"${shlibs:Depends}", "${dlopen:Depends}", "ca-certificates"}, set(depends))
        rules = (package.SOURCE / "debian" / "rules").read_text()
        self.assertIn("-Vdlopen:Depends=$(DLOPEN_DEPENDS)", rules)

    def test_packages_are_found_and_missing_ones_are_named(self):
        version = workspace.version()
        names = [
            f"strobe_{version}_amd64.deb",
            f"strobe-dbgsym_{version}_amd64.ddeb",
            f"strobe-{version}-linux-x86_64.tar.zst",
            f"strobe-{version}-linux-x86_64-symbols.tar.zst",
            f"strobe-tool-{version}-linux-x86_64.tar.zst",
        ]
        files = [self.file(name) for name in names]
        self.assertEqual(package.find(self.folder), Packages(*files))
        files[3].unlink()
        with self.assertRaisesRegex(MachError, r"there is no strobe-.*-symbols.tar.zst; run `./mach package` first"):
            package.find(self.folder)

    @unittest.skipUnless(shutil.which("zstd"), "zstd is not installed")
    def test_an_archive_of_the_same_files_is_the_same(self):
        archives = []
        for number, names in enumerate((("a", "b"), ("b", "a"))):
            for name in names:
                self.file(f"{number}/bin/{name}", name)
            archives.append(self.folder / f"{number}.tar.zst")
            package.make_archive(archives[-1], self.folder / str(number), "strobe-1", 86400)
        self.assertEqual(archives[0].read_bytes(), archives[1].read_bytes())
        listing = package.process.output(["tar", "--list", "--zstd", f"--file={archives[0]}"])
        self.assertEqual(listing.split(), ["strobe-1/", "strobe-1/bin/", "strobe-1/bin/a", "strobe-1/bin/b"])

    def test_every_symbol_file_has_its_place(self):
        self.file("usr/lib/debug/.build-id/12/34.debug", "symbols")
        folder = package._symbols_beside_program(self.folder, self.folder / "beside")
        self.assertEqual((folder / "bin" / ".debug" / "34.debug").read_text(), "symbols")
        self.file("usr/lib/debug/.build-id/56/78.debug", "symbols")
        with self.assertRaisesRegex(MachError, "has 2 symbol files; it must have one"):
            package._symbols_beside_program(self.folder, self.folder / "beside")


TARGETS = """\
Debian http://a/debian-security/ bookworm-security bookworm-security
Debian http://a/debian/ bookworm bookworm
Debian http://a/debian/ bookworm-updates bookworm-updates
Node\x20Source https://b/node nodistro nodistro
Other https://c/other bookworm2 bookworm2
"""


class RootTest(FilesTest):
    def test_a_release_and_its_updates_are_taken_from_the_machines_sources(self):
        self.assertEqual(
            root.choose_sources(TARGETS, "bookworm"),
            [
                "deb http://a/debian/ bookworm main",
                "deb http://a/debian-security/ bookworm-security main",
                "deb http://a/debian/ bookworm-updates main",
            ],
        )

    def test_another_release_comes_from_the_same_place(self):
        self.assertEqual(root.choose_sources(TARGETS, "trixie"), ["deb http://a/debian/ trixie main"])

    def test_a_machine_without_sources_of_debian(self):
        self.assertEqual(root.choose_sources("Ubuntu http://a/ubuntu noble noble\n", "bookworm"), [])
        self.assertEqual(
            root.choose_sources("Ubuntu http://a/ubuntu noble noble\n", "noble"), ["deb http://a/ubuntu noble main"]
        )

    def test_why_roots_cannot_be_made(self):
        with mock.patch("os.geteuid", return_value=1000):
            self.assertEqual(root.why_not(), "needs root, to make a fresh Debian")
        with mock.patch("os.geteuid", return_value=0):
            with mock.patch("shutil.which", lambda program: None if program == "debootstrap" else program):
                self.assertEqual(root.why_not(), "debootstrap is not installed")
            with (
                mock.patch("shutil.which", return_value="/bin/a"),
                mock.patch.object(root.process, "output", return_value=None),
            ):
                self.assertEqual(root.why_not(), "this system does not allow mounts in a namespace")

    def test_a_program_that_fails_is_named_with_the_end_of_its_output(self):
        command = [sys.executable, "-c", "print('\\n'.join(map(str, range(30)))); raise SystemExit(3)"]
        with self.assertRaises(MachError) as caught:
            root.run_within(command, 60, dict(os.environ), shown="a b")
        self.assertTrue(str(caught.exception).startswith("`a b` failed with status 3; its output ends in\n10\n11\n"))

    def test_a_program_that_does_not_end_is_killed(self):
        # It ignores SIGTERM, as `unshare` does.
        script = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('on', flush=True); signal.pause()"
        with self.assertRaisesRegex(MachError, "^`a b` did not end within 2 s; its output ends in\non$"):
            root.run_within([sys.executable, "-c", script], 2, dict(os.environ), shown="a b")

    def test_the_folder_of_a_root_is_deleted_after_an_error(self):
        with mock.patch.object(root.paths, "target_dir", return_value=self.folder):
            with self.assertRaises(KeyboardInterrupt), root._folder("fresh") as folder:
                (folder / "file").touch()
                raise KeyboardInterrupt
            self.assertFalse(folder.exists())

    def test_files_are_found_by_their_names(self):
        self.file("usr/share/doc/strobe/copyright")
        self.file("usr/bin/astrobe2")
        self.file("usr/bin/other")
        self.assertEqual(root.Root(self.folder).find("*strobe*"), ["/usr/bin/astrobe2", "/usr/share/doc/strobe"])


REPORT = """\
self %  total %   self  total  function        defined at
  37.0     50.6    900  1,230  stringify       (built-in)
  23.5     30.5    570    740  sort            (built-in)
   7.0      7.0    170    170  compareNumbers  callbacks.js:16:24
   4.5     36.6    110    890  sortNumbers     callbacks.js:20:21
   2.1     13.6     50    330  replaceValue    callbacks.js:25:22
   0.0     50.6      0  1,230  writeNumbers    callbacks.js:29:22
"""
COLLAPSED = """\
round (http://a/b.js:33:15);sortNumbers (http://a/b.js:20:21);sort;compareNumbers (http://a/b.js:16:24) 16
round (http://a/b.js:33:15);writeNumbers (http://a/b.js:29:22);stringify;replaceValue (http://a/b.js:25:22);toFixed 28
(gc) 4
"""


class ChecksTest(FilesTest):
    """The checks of ./mach test-package, without a fresh Debian."""

    def run_checks(self, checks: dict[str, Callable[[], None]]):
        with contextlib.redirect_stdout(io.StringIO()) as output:
            tally = test_package._run_checks("deb", checks)
        return tally, output.getvalue()

    def test_where_it_cannot_run_it_is_skipped_and_counted(self):
        with (
            mock.patch.object(test_package, "_prepare", return_value="debootstrap is not installed"),
            contextlib.redirect_stdout(io.StringIO()) as output,
        ):
            test_package.test_package("bookworm", None)
        self.assertEqual(
            output.getvalue(), "SKIPPED package: debootstrap is not installed\n0 passed, 0 failed, 1 skipped\n"
        )

    def test_without_the_programs_that_it_needs_it_is_skipped(self):
        with (
            mock.patch("os.geteuid", return_value=0),
            mock.patch.object(test_package.bootstrap, "ensure_system_packages", side_effect=MachError("no apt-get")),
            mock.patch.object(test_package, "why_not", return_value="debootstrap is not installed"),
            contextlib.redirect_stderr(io.StringIO()) as errors,
        ):
            self.assertEqual(test_package._prepare(), "debootstrap is not installed")
        self.assertEqual(errors.getvalue(), "no apt-get\n")

    def test_a_root_that_cannot_be_made_is_a_failure(self):
        with (
            mock.patch.object(test_package, "_prepare", return_value=None),
            mock.patch.object(test_package.package, "find"),
            mock.patch("shutil.which", return_value=None),
            mock.patch.dict(os.environ, {"STROBE_CACHE_DIR": str(self.folder)}),
            mock.patch.object(test_package, "fresh_root", side_effect=MachError("no network\nmore")),
            contextlib.redirect_stdout(io.StringIO()) as output,
            self.assertRaises(Failed),
        ):
            test_package.test_package("bookworm", self.folder)
        summary = "SKIPPED package: lintian is not installed\nFAILED bookworm: no network\n"
        self.assertTrue(output.getvalue().endswith(f"{summary}0 passed, 1 failed, 1 skipped\n"))

    def test_others_run_after_one_has_failed(self):
        def wrong():
            raise MachError("the report has no sort\nmore")

        tally, output = self.run_checks({"first": wrong, "second": lambda: None})
        self.assertEqual((tally.passed, tally.failures), (1, ["package: deb: first"]))
        self.assertEqual(tally.reasons, {"package: deb: first": "the report has no sort"})
        self.assertRegex(output, r"(?s)package: deb: first: FAILED.*package: deb: second: ok")

    def test_what_a_report_lacks_is_named(self):
        with contextlib.redirect_stdout(io.StringIO()):
            test_package.check_report(REPORT)
            for line in REPORT.splitlines()[1:]:
                name = line.split()[4]
                with self.assertRaisesRegex(MachError, f"the report has no function {name} at "):
                    test_package.check_report(REPORT.replace(line, ""))

    def test_a_stack_that_is_missing_is_named(self):
        test_package.check_stacks(COLLAPSED)
        with self.assertRaisesRegex(MachError, "no stack has writeNumbers -> stringify -> replaceValue"):
            test_package.check_stacks(COLLAPSED.replace("stringify;", ""))

    def test_the_page_has_the_functions_that_are_looked_for(self):
        page = (test_package.PAGE / "callbacks.js").read_text()
        for name, place in test_package.NAMES.items():
            self.assertIn(f"function {name}(" if place == "callbacks.js" else f".{name}(", page)

    def test_the_readme_of_the_archive_says_what_it_needs(self):
        readme = (package.SOURCE / "tarball" / "README").read_text().replace("@DEPENDS@", "libc6 (>= 2.36), libegl1")
        self.assertEqual(test_package.dependencies(readme), "libc6 (>= 2.36), libegl1")
        with self.assertRaisesRegex(MachError, "does not say what it needs"):
            test_package.dependencies("")

    def installation(self) -> test_package.Installation:
        return test_package.Installation(root.Root(self.folder), PurePosixPath("/usr"))

    def test_a_compiler_is_named(self):
        self.file("usr/bin/strobe")
        test_package.check_no_compiler(self.installation())
        self.file("usr/bin/gcc")
        with self.assertRaisesRegex(MachError, "the root has gcc"):
            test_package.check_no_compiler(self.installation())

    def test_outputs_of_programs_are_judged(self):
        for check, good, bad, problem in (
            (
                test_package.check_libraries,
                "libc.so.6 => /lib/libc.so.6 (0x1)",
                "\tlibz.so.1 => not found",
                "/usr/bin/strobe: libz.so.1 => not found",
            ),
            (
                test_package.check_version,
                f"strobe {workspace.version()}\n",
                "strobe 99.0\n",
                "says 'strobe 99.0'; it should begin with strobe",
            ),
        ):
            with mock.patch.object(root.Root, "run", return_value=good):
                check(self.installation())
            with mock.patch.object(root.Root, "run", return_value=bad), self.assertRaisesRegex(MachError, problem):
                check(self.installation())

    def test_what_is_left_after_the_removal_is_named(self):
        def run(_, *command, bound):
            return {"dpkg-query": "strobe\n", "dpkg": "/usr/share/icons/hicolor/index\n"}.get(command[0], "")

        with mock.patch.object(root.Root, "run", run):
            test_package.check_removal(root.Root(self.folder))
            self.file("etc/strobe.conf")
            with self.assertRaisesRegex(MachError, "^/etc/strobe.conf is left after the removal$"):
                test_package.check_removal(root.Root(self.folder))
            self.file("usr/share/icons/hicolor/index")
            with self.assertRaisesRegex(MachError, "is left after the removal, and 1 more$"):
                test_package.check_removal(root.Root(self.folder))

    def test_symbols_must_be_missing_before_and_there_after(self):
        found = "No line number information available for address 0x5474fd0 <_Z13JS_NewContextjP9JSRuntime>"
        missing = 'Function "JS_NewContext" not defined.'
        for answers, problem in (
            ((missing, found), None),
            ((found, found), "/usr/bin/strobe: is not stripped"),
            ((missing, missing), "gdb does not find the symbols, but says 'Function"),
        ):
            with mock.patch.object(root.Root, "run", side_effect=["installed", *answers]):
                if problem is None:
                    test_package.check_symbols(self.installation(), lambda: None)
                    continue
                with self.assertRaisesRegex(MachError, re.escape(problem)):
                    test_package.check_symbols(self.installation(), lambda: None)


if __name__ == "__main__":
    unittest.main()
