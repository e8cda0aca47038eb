# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Newer versions of Servo and the engine: what ./mach check upstream says, and what ./mach update-upstream does.

Cargo itself asks a registry of this machine and finds the versions: see fake_registry.py.
"""

import contextlib
import io
import os
import shutil
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from strobe.errors import MachError
from strobe.moving import check, move, registry, targets
from strobe.moving.cpp_source import Name, Source, Sources, code_of
from strobe.moving.versions import Version, satisfies
from strobe.setup import upstream

from .fake_registry import ENGINE_FILES, ENTRIES, JIT, SCRIPT_LIB, FakeRegistryTest, server

OLD, NEW = ("153.3.0-1", "0.26.4"), ("153.6.0-2", "0.26.14")
TABLE = JIT + "JitcodeMap.cpp"
# Four lines more at the top. The line after `remove` is now at the place of the one after `find`, which looks the same.
SHIFTED = ENTRIES.replace("#include", "// A\n// B\n// C\n// D\n#include")


class MovingTest(FakeRegistryTest):
    def check(self) -> tuple[str, str]:
        """What the command prints, and its error; that is empty if it succeeds."""
        error = ""
        with contextlib.redirect_stdout(io.StringIO()) as output:
            try:
                check.check(self.root / "components", self.lock)
            except MachError as failure:
                error = str(failure)
        return output.getvalue(), error

    def move(self, name: str, version: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as output:
            move.update_upstream(name, version, self.root)
        return output.getvalue()

    def pins(self, lock: str = "upstream/Cargo.lock") -> dict[str, str]:
        return {name: entry["version"] for name, entry in upstream.pinned_packages(self.root / lock).items()}


class CheckTest(MovingTest):
    def test_pins_that_are_the_newest(self):
        output, error = self.check()
        self.assertEqual(error, "")
        self.assertEqual(
            output, "servo 0.7.0: nothing newer\nmozjs 0.26.4: nothing newer\nmozjs_sys 153.3.0-1: nothing newer\n"
        )

    def test_a_newer_engine(self):
        self.publish_engine("153.4.0-0", "0.26.5")
        self.publish_engine(*NEW, {"build.rs": "// First.\n" + ENGINE_FILES["build.rs"]})
        before = self.contents()
        output, error = self.check()
        self.assertEqual(error, "newer versions are published: mozjs 0.26.14, mozjs_sys 153.6.0-2")
        self.assertIn("servo 0.7.0: nothing newer\n", output)
        self.assertIn("mozjs 0.26.4: 0.26.5, 0.26.14\n", output)
        self.assertIn("mozjs_sys 153.3.0-1: 153.4.0-0, 153.6.0-2\n", output)
        self.assertIn("engine that the pins can take: mozjs 0.26.14 with mozjs_sys 153.6.0-2\n", output)
        self.assertIn("hooks of mozjs_sys 153.3.0-1 on 153.6.0-2: 2 apply unchanged, 1 moved, 0 are lost\n", output)
        self.assertIn(f"  unchanged: {TABLE}: 2\n  moved: build.rs: line 2 to 3\n", output)
        self.assertIn("./mach update-upstream mozjs 0.26.14\n", output)
        self.assertEqual(self.contents(), before)

    def test_the_pins_of_afterwards(self):
        self.publish_engine(*NEW)
        self.move("mozjs", "0.26.14")
        output, error = self.check()
        self.assertEqual(error, "")
        self.assertIn("mozjs 0.26.14: nothing newer\nmozjs_sys 153.6.0-2: nothing newer\n", output)

    def test_a_hook_that_is_lost_is_named(self):
        self.publish_engine(*NEW, {TABLE: ENTRIES.replace("Entry* entry) {\n  insert", "Entry* one) {\n  insert")})
        output, _ = self.check()
        self.assertIn("2 apply unchanged, 0 moved, 1 are lost\n", output)
        self.assertRegex(output, rf"  lost: {TABLE}: @@ -4,1 \+4,1 @@ at \w{{8}}: its neighbours are not found\n")

    def test_a_hook_whose_file_is_gone_is_named(self):
        self.publish_engine(*NEW)
        self.publish("mozjs_sys", NEW[0], {}, {name: text for name, text in ENGINE_FILES.items() if name != "build.rs"})
        output, _ = self.check()
        self.assertRegex(output, r"  lost: build.rs: @@ -2,0 \+3,1 @@ at \w{8}: not in mozjs_sys-153.6.0-2\n")

    def test_a_file_of_ours_that_the_crate_has_by_now_is_named(self):
        self.publish_engine(*NEW, {"mozjs/js/src/vm/Ours.h": "// Theirs.\n"})
        output, _ = self.check()
        self.assertRegex(output, r"components/mozjs_sys/mozjs/js/src/vm/Ours.h: the crate has a file of that name\n")

    def test_headers_that_changed_are_named(self):
        self.publish_engine(
            *NEW,
            {
                JIT + "JitFrames.h": "class FrameLayout {\n  void* callee_;\n  void* returnAddress_;\n};\n",
                "mozjs/js/public/Value.h": "// A comment.\nclass Value {};\n",
                # The glue includes none of it.
                "mozjs/js/src/jit/Other.h": "class Other {};\n",
            },
        )
        output, _ = self.check()
        self.assertIn("files of the engine that the walk relies on: 2 of 10 changed\n", output)
        self.assertIn(f"  {JIT}JitFrames.h: +1 -0\n", output)
        self.assertIn("  mozjs/js/public/Value.h: +1 -0, only comments\n", output)
        self.assertIn("list of the walk's calls: 0 of 1 changed\n", output)

    def test_a_header_that_is_gone_is_named(self):
        self.publish_engine(*NEW)
        files = {name: text for name, text in ENGINE_FILES.items() if name != "mozjs/mfbt/Vector.h"}
        self.publish("mozjs_sys", NEW[0], {}, files)
        self.assertIn("  mozjs/mfbt/Vector.h: is gone\n", self.check()[0])

    def test_functions_that_changed_are_named(self):
        self.publish_engine(*NEW, {TABLE: ENTRIES.replace("return lookup(address);", "return search(address);")})
        output, _ = self.check()
        self.assertIn("list of the walk's calls: 1 of 1 changed\n", output)
        self.assertIn(f"  js::jit::JitcodeTable::find(void*): {TABLE}\n", output)

    def test_a_function_that_only_moved_has_not_changed(self):
        self.publish_engine(*NEW, {TABLE: SHIFTED.replace("// What the walk calls.", "// What every walk calls.")})
        self.assertIn("list of the walk's calls: 0 of 1 changed\n", self.check()[0])

    def test_what_is_not_found_is_named(self):
        self.write(self.root / "components/js_profiler/spidermonkey/glue.cpp", '#include "vm/Missing.h"\n')
        calls = self.root / "components/js_profiler/spidermonkey/walk_calls.toml"
        calls.write_text(calls.read_text().replace("JitcodeTable::find(", "JitcodeTable::seek("))
        self.publish_engine(*NEW)
        output, _ = self.check()
        self.assertIn("  vm/Missing.h: no such file in mozjs_sys-153.3.0-1\n", output)
        self.assertIn("  js::jit::JitcodeTable::seek(void*): its source is not found in mozjs_sys-153.3.0-1\n", output)

    def test_yanked_versions_and_pre_releases_do_not_count(self):
        self.publish_engine(*NEW)
        self.yank("mozjs", "0.26.14")
        self.yank("mozjs_sys", "153.6.0-2")
        self.publish_engine("153.7.0-rc.1", "0.27.0-beta")
        self.publish_servo("0.8.0-rc1", "0.26.4")
        output, error = self.check()
        self.assertEqual(error, "")
        self.assertEqual(output.count("nothing newer\n"), 3)

    def test_a_pin_that_is_yanked_is_marked(self):
        self.yank("mozjs_sys", OLD[0])
        self.assertIn("mozjs_sys 153.3.0-1 (yanked): nothing newer\n", self.check()[0])

    def test_the_line_with_long_term_support_is_apart(self):
        """Its newest engine is newer than the pinned one, and so are the bindings and the Servo for it."""
        self.publish_engine("153.9.0-0-lts", "0.26.20")
        self.publish_servo("0.7.9", "0.26.20")
        output, error = self.check()
        self.assertEqual(error, "")
        for name, version, lts in (
            ("servo", "0.7.0", "0.7.9"),
            ("mozjs", "0.26.4", "0.26.20"),
            ("mozjs_sys", "153.3.0-1", "153.9.0-0-lts"),
        ):
            apart = f"  apart from it, the line with long-term support: {lts}\n"
            self.assertIn(f"{name} {version}: nothing newer\n{apart}", output)

    def test_pins_of_the_line_with_long_term_support(self):
        self.publish_engine("153.9.0-0-lts", "0.26.20")
        self.move("mozjs", "0.26.20")
        self.publish_engine("153.9.1-0", "0.26.21")
        self.assertIn("mozjs 0.26.20: nothing newer\n  apart from it, the line without", self.check()[0])
        self.publish_engine("153.9.2-0-lts", "0.26.22")
        self.assertIn("mozjs 0.26.20: 0.26.22\n", self.check()[0])

    def test_an_engine_that_is_not_to_be_had_is_passed_over(self):
        self.publish_engine("153.4.0-0", "0.26.5")
        self.publish_engine(*NEW)
        self.yank("mozjs_sys", NEW[0])
        self.assertIn("pins can take: mozjs 0.26.5 with mozjs_sys 153.4.0-0\n", self.check()[0])

    def test_bindings_that_servo_was_not_written_for(self):
        self.publish_engine("160.0.0-0", "0.27.0")
        output, error = self.check()
        self.assertIn("mozjs 0.26.4: 0.27.0\n", output)
        self.assertIn("no newer engine that the pins can take: no compatible version after mozjs 0.26.4", output)
        self.assertEqual(error, "newer versions are published: mozjs 0.27.0, mozjs_sys 160.0.0-0")

    def test_a_newer_servo(self):
        self.publish_servo("0.8.0", "0.26.4", "mod air;\n" + SCRIPT_LIB)
        output, error = self.check()
        self.assertEqual(error, "newer versions are published: servo 0.8.0")
        self.assertIn("the newest Servo: 0.8.0\n", output)
        self.assertIn("hooks of servo-script 0.7.0 on 0.8.0: 1 apply unchanged, 1 moved, 0 are lost\n", output)
        self.assertIn("  moved: lib.rs: line 2 to 3\n", output)

    def test_a_registry_that_does_not_answer(self):
        # Nothing listens there.
        self.write_cargo_config("http://127.0.0.1:1")
        with mock.patch.dict(os.environ, CARGO_NET_RETRY="0"):
            _, error = self.check()
        self.assertRegex(error, r"(?s)^servo: Cargo wrote no index of it; it says:\n.*127.0.0.1")

    def test_an_index_in_another_form(self):
        with mock.patch.object(registry, "INDEX_FORMAT", b"\x04"):
            self.assertRegex(self.check()[1], "^servo: this version of Cargo writes its index in another form")


class MoveTest(MovingTest):
    def assert_locks_hold(self):
        """Cargo finds nothing to change in any lock file."""
        self.prepare()
        for package in ("", "tests/apart"):
            self.cargo("metadata --locked --format-version 1", package)

    def test_everything_moves(self):
        self.publish_engine(*NEW, {"build.rs": "// First.\n" + ENGINE_FILES["build.rs"]})
        output = self.move("mozjs", "0.26.14")
        for lock in ("upstream/Cargo.lock", "Cargo.lock", "tests/apart/Cargo.lock"):
            pins = self.pins(lock)
            versions = (pins["mozjs_sys"], pins["mozjs"], pins["mozjs_glue"])
            self.assertEqual(versions, (*NEW, "153.6.0"), lock)
        pinned = upstream.pinned_packages(self.lock)
        for name, version in (("mozjs_sys", NEW[0]), ("mozjs", NEW[1]), ("servo-script", "0.7.0")):
            published = {entry["vers"]: entry["cksum"] for entry in self.index[name]}
            self.assertEqual(pinned[name]["checksum"], published[version])
            self.assertEqual(pinned[name]["source"], "registry+https://github.com/rust-lang/crates.io-index")
        manifest = (self.root / "Cargo.toml").read_text()
        dependencies = tomllib.loads(manifest)["workspace"]["dependencies"]
        self.assertEqual(dependencies["mozjs"], {"version": "=0.26.14", "default-features": False})
        self.assertEqual((dependencies["mozjs_sys"], dependencies["servo"]), ("=153.6.0-2", "=0.7.0"))
        self.assertIn('# A comment that names mozjs = "=0.26.4" as it was.\n', manifest)
        apart = tomllib.loads((self.root / "tests/apart/Cargo.toml").read_text())["dependencies"]
        self.assertEqual(apart["bindings"]["version"], "=0.26.14")
        self.assertIn("  mozjs 0.26.4 to 0.26.14\n  mozjs_glue 153.3.0 to 153.6.0\n  mozjs_sys 153.3.0-1 to ", output)
        self.assert_locks_hold()

    def test_the_published_crate_asks_for_the_new_engine_by_one_hook(self):
        self.publish_engine(*NEW)
        before = (self.root / "components/script/hooks.patch").read_text()
        self.move("mozjs", "0.26.14")
        after = (self.root / "components/script/hooks.patch").read_text()
        head, pin = "--- a/Cargo.toml\n+++ b/Cargo.toml\n", r'-version = "=0.26.4"\n\+version = "=0.26.14"\n'
        self.assertRegex(after, "^" + head.replace("+", r"\+") + r"@@ -10,1 \+10,1 @@ at \w{8}\n" + pin + "@@ ")
        self.assertEqual(head + after.partition('0.26.14"\n')[2], before)
        self.publish_engine("153.7.0-0", "0.26.15")
        self.move("mozjs", "0.26.15")
        again = (self.root / "components/script/hooks.patch").read_text()
        self.assertEqual(again, after.replace("0.26.14", "0.26.15"))

    def test_an_engine_moves_with_its_bindings(self):
        self.publish_engine(*NEW)
        # These ask for an older engine, and the newest for none of either.
        self.publish("mozjs", "0.26.15", {"mozjs_sys": f"={OLD[0]}"})
        self.publish("mozjs", "0.26.16", {})
        self.move("mozjs_sys", NEW[0])
        pins = self.pins()
        self.assertEqual((pins["mozjs_sys"], pins["mozjs"]), NEW)

    def test_there_and_back_again(self):
        self.publish_engine(*NEW, {TABLE: SHIFTED})
        before = self.contents()
        self.move("mozjs", NEW[1])
        self.assertNotEqual(self.contents(), before)
        self.move("mozjs", OLD[1])
        self.assertEqual(self.contents(), before)

    def test_hooks_go_where_their_lines_went(self):
        """At the old line of one of them are neighbours that look the same. Its digest alone would leave it there."""
        self.publish_engine(*NEW, {TABLE: SHIFTED})
        hooks = self.root / "components/mozjs_sys/hooks.patch"
        old_hunk = next(hunk for hunk in upstream.read_hunks(hooks.read_text()) if hunk.start == 14)
        self.assertEqual(upstream.anchor_of(SHIFTED.split("\n"), 14, 0), old_hunk.anchor)
        output = self.move("mozjs", NEW[1])
        self.assertIn(f"  moved: {TABLE}: line 14 to 18\n", output)
        self.prepare()
        hooked = (self.crate("mozjs_sys").tree / TABLE).read_text()
        self.assertIn("erase(entry);\n}\nvoid JitcodeTable::count() {}\n", hooked)
        self.assertIn("insert(ours(entry));", hooked)

    def test_a_hook_that_is_lost_stays_and_is_named(self):
        self.publish_engine(*NEW, {TABLE: SHIFTED.replace("Entry* entry) {\n  insert", "Entry* one) {\n  insert")})
        output = self.move("mozjs", NEW[1])
        place = "  place 1 lost hook of mozjs_sys by hand: ./mach update-hooks mozjs_sys --checkout DIR\n"
        self.assertIn(place, output)
        self.assertEqual(self.pins()["mozjs"], NEW[1])
        hooks = (self.root / "components/mozjs_sys/hooks.patch").read_text()
        self.assertRegex(hooks, r"@@ -4,1 \+4,1 @@ at \w{8}\n-  insert\(entry\);\n\+  insert\(ours\(entry\)\);\n")
        with self.assertRaisesRegex(MachError, f"mozjs_sys/hooks.patch: hook does not apply: {TABLE} line 4 is not"):
            self.prepare()

    def test_a_hook_whose_neighbours_are_found_elsewhere_is_to_be_looked_at(self):
        function = "void JitcodeTable::add(Entry* entry) {\n  insert(entry);\n}\n\n"
        self.publish_engine(*NEW, {TABLE: ENTRIES.replace(function, "") + "\n" + function})
        output = self.move("mozjs", NEW[1])
        self.assertIn("  look at 1 hook of mozjs_sys whose neighbours were changed\n", output)
        self.assertIn(f"  moved: {TABLE}: line 4 to 17 (its neighbours were changed, and are found at another ", output)

    def test_what_a_person_has_to_do(self):
        self.publish_engine(
            *NEW, {JIT + "JitFrames.h": "class Frame {};\n", TABLE: ENTRIES.replace("lookup(address)", "nullptr")}
        )
        tasks = self.move("mozjs", NEW[1]).partition("for a person to do:\n")[2]
        self.assertIn("  read the differences of 1 file of the engine\n", tasks)
        self.assertIn("  read 1 function again, and what walk_calls.toml says of each\n", tasks)
        self.assertIn("  README.md:1 names 0.26.4\n", tasks)
        self.assertNotIn("README.md:2", tasks)

    def test_bindings_that_servo_was_not_written_for_are_to_be_looked_at(self):
        self.publish_engine("160.0.0-0", "0.27.0")
        output = self.move("mozjs", "0.27.0")
        self.assertIn("  find what differs for servo-script, which asks for mozjs =0.26.4\n", output)

    def test_a_newer_servo(self):
        """It has the engine that the pins have, so that the hook for it goes."""
        self.publish_engine(*NEW)
        self.move("mozjs", NEW[1])
        self.publish_servo("0.8.0", NEW[1], "mod air;\n" + SCRIPT_LIB)
        output = self.move("servo", "0.8.0")
        pins = self.pins()
        self.assertEqual((pins["servo"], pins["servo-script"], pins["mozjs"]), ("0.8.0", "0.8.0", NEW[1]))
        self.assertIn('servo = "=0.8.0"', (self.root / "upstream/Cargo.toml").read_text())
        self.assertIn('servo = "=0.8.0"', (self.root / "Cargo.toml").read_text())
        hooks = (self.root / "components/script/hooks.patch").read_text()
        self.assertNotIn("0.26", hooks)
        self.assertIn("  moved: lib.rs: line 2 to 3\n", output)

    def test_a_newer_servo_does_not_move_the_engine_back(self):
        self.publish_engine(*NEW)
        self.move("mozjs", NEW[1])
        self.publish_servo("0.7.1", OLD[1])
        self.move("servo", "0.7.1")
        pins = self.pins()
        self.assertEqual((pins["servo"], pins["mozjs_sys"], pins["mozjs"]), ("0.7.1", *NEW))

    def test_what_is_pinned_already(self):
        before = self.contents()
        self.assertEqual(self.move("mozjs", OLD[1]), "the pins have mozjs 0.26.4 already; nothing is changed\n")
        self.assertEqual(self.contents(), before)

    def assert_refused(self, name: str, version: str, message: str):
        before = self.contents()
        with self.assertRaisesRegex(MachError, message):
            self.move(name, version)
        self.assertEqual(self.contents(), before)

    def test_versions_that_there_are_not(self):
        self.publish_engine(*NEW)
        self.assert_refused("mozjs", "0.26.15", "^mozjs 0.26.15: no such version; the newest are 0.26.4, 0.26.14$")
        self.assert_refused("mozjs", "newest", "^'newest' is no version; one looks like 0.26.14 or 153.6.0-2$")
        self.assert_refused("mozjs_glue", "153.6.0", "^mozjs_glue: only servo, mozjs and mozjs_sys can be moved$")
        self.yank("mozjs", NEW[1])
        self.assert_refused("mozjs", NEW[1], "^mozjs 0.26.14 is yanked$")
        self.assert_refused("mozjs_sys", NEW[0], "^mozjs_sys 153.6.0-2: no version of mozjs asks for it$")

    def test_an_engine_without_its_crates_changes_nothing(self):
        self.publish_engine(*NEW)
        self.yank("mozjs_glue", "153.6.0")
        message = r"(?s)^Cargo finds no versions for the lock file of upstream:\n.*mozjs_glue"
        self.assert_refused("mozjs", NEW[1], message)

    def test_an_archive_that_is_not_the_published_one_changes_nothing(self):
        self.publish_engine(*NEW)
        server().served[f"/crates/mozjs_sys-{NEW[0]}"] = b"other"
        self.assert_refused("mozjs", NEW[1], "^`cargo fetch` in .* failed")

    def test_a_requirement_in_another_form_changes_nothing(self):
        self.publish_engine(*NEW)
        manifest = self.root / "tests/apart/Cargo.toml"
        table = '[dependencies.bindings]\npackage = "mozjs"\nversion = "=0.26.4"\n'
        manifest.write_text(manifest.read_text().partition("[dependencies]")[0] + table + "\n[workspace]\n")
        self.assert_refused("mozjs", NEW[1], "^tests/apart/Cargo.toml: asks for mozjs =0.26.4 in a form that is not ")

    def test_a_file_that_cannot_be_written_changes_nothing(self):
        self.publish_engine(*NEW)
        original, calls = os.replace, []

        def replace(source, target):
            calls.append(target)
            if len(calls) == 3:
                raise PermissionError(13, "Permission denied", str(target))
            original(source, target)

        with mock.patch.object(os, "replace", replace):
            self.assert_refused("mozjs", NEW[1], "Permission denied; nothing is changed$")
        self.assertEqual(len(calls), 3)

    def test_a_file_that_somebody_else_changes_meanwhile(self):
        self.publish_engine(*NEW)
        manifest = self.root / "Cargo.toml"
        original = move._move_locks

        def move_locks(*arguments):
            original(*arguments)
            manifest.write_text(manifest.read_text() + "# Mine.\n")

        with mock.patch.object(move, "_move_locks", move_locks), self.assertRaisesRegex(
            MachError, "^Cargo.toml: was changed by somebody else meanwhile; nothing is changed$"
        ):
            self.move("mozjs", NEW[1])
        self.assertEqual(self.pins()["mozjs"], OLD[1])
        self.assertTrue(manifest.read_text().endswith("# Mine.\n"))


class YankedTest(MovingTest):
    def test_a_pin_that_is_yanked_can_still_be_fetched(self):
        """It comes from the registry, because this machine has not had it."""
        for archive in self.cargo_home.glob("registry/*/*/mozjs_sys-*"):
            shutil.rmtree(archive) if archive.is_dir() else archive.unlink()
        self.yank("mozjs_sys", OLD[0])
        archive = upstream.crate_archive(self.crate("mozjs_sys"), lambda _: None)
        self.assertTrue(archive.is_relative_to(self.cargo_home))


class VersionTest(unittest.TestCase):
    def test_the_order(self):
        ordered = ["0.1.7", "0.26.4", "0.26.14", "140.17.0-0-lts", "153.3.0-1", "153.3.0-2", "153.3.0-10", "153.6.0-0"]
        ordered += ["153.6.0-0-lts", "153.6.0-rc.1", "153.6.0"]
        self.assertEqual([str(version) for version in sorted(map(Version.parse, reversed(ordered)))], ordered)

    def test_which_are_releases(self):
        for text, is_prerelease, is_lts in (
            ("0.26.14", False, False),
            ("153.6.0-2", False, False),
            ("140.17.0-0-lts", False, True),
            ("0.1.0-rc1", True, False),
            ("1.0.0-beta.2", True, False),
        ):
            version = Version.parse(text)
            self.assertEqual((version.is_prerelease, version.is_lts), (is_prerelease, is_lts), text)

    def test_requirements(self):
        for version, requirement, expected in (
            ("0.26.4", "=0.26.4", True),
            ("0.26.5", "=0.26.4", False),
            ("0.21.6", "=0.21", True),
            ("0.22.0", "=0.21", False),
            ("153.6.0-2", "=153.6.0-2", True),
            ("153.6.0-1", "=153.6.0-2", False),
            ("1.3.0", "^1.2", True),
            ("1.3.0", "1.2", True),
            ("1.1.0", "1.2", False),
            ("2.0.0", "^1", False),
            ("0.2.1", "^0.1.4", False),
            ("0.1.5", "^0.1.4", True),
            ("0.0.5", "^0.0.4", False),
            ("0.9.9", "^0", True),
            ("153.6.0-2", "^153.3.0", False),
            ("153.6.0-2", "^153.6.0-1", True),
        ):
            self.assertEqual(satisfies(Version.parse(version), requirement), expected, (version, requirement))
        with self.assertRaisesRegex(MachError, "the requirement '>=1, <3' is not understood"):
            satisfies(Version.parse("1.0.0"), ">=1, <3")


class SourceTest(unittest.TestCase):
    def definitions(self, name: str, text: str) -> list[str]:
        found = Sources({"a.cpp": Source(text)}).definitions(Name.parse(name), ["a.cpp"])
        return found.get("a.cpp", [])

    def test_names(self):
        for readable, scope, own in (
            ("js::jit::Table::find(void*)", "Table", "find"),
            ("js::jit::CodeIndex<js::jit::Entry<int>>::find(unsigned long) const", "CodeIndex", "find"),
            ("JS::Iterator::operator++()", "Iterator", "operator++"),
            ("js::Context::operator[](js::Index) const", "Context", "operator[]"),
            ("JS::Iterator::~Iterator()", "Iterator", "~Iterator"),
            ("CanUnwind(unsigned char*)", "", "CanUnwind"),
        ):
            self.assertEqual(Name.parse(readable), Name(scope, own))
        for readable in ("memcpy", "gimli::*", "core::option::unwrap_failed"):
            self.assertIsNone(Name.parse(readable))

    def test_functions_of_a_class(self):
        text = """
            class Table final : public Base<int> {
              int find(int a) const { return a; }  // inside
              int find(int a, int b);
              int other() { return find(1); }
            };
            class Other { int find(int a) { return -a; } };
            int jit::Table::find(int a, int b) { if (Table::find(a)) { return "}"[0]; } return b; }
            int Wider::Table2::find(int a) { return 7; }
            int find() { return 8; }
        """
        found = self.definitions("js::jit::Table::find(int)", text)
        self.assertEqual(len(found), 2, found)
        self.assertEqual(found[0], "find(int a) const { return a; }")
        self.assertTrue(found[1].endswith("return b; }"))

    def test_functions_of_a_namespace(self):
        text = """
            namespace js::wasm {
            int LookUp(void* pc);
            static inline int LookUp(void* pc) MOZ_NO_TSAN { return 1; }
            }
            int wasm::LookUp(int) noexcept(true) { return 2; }
            int x = LookUp(pc);
            void f() { if (LookUp(pc)) { g(); } while (!LookUp(pc)) {} }
        """
        found = self.definitions("js::wasm::LookUp(void*)", text)
        self.assertEqual([code[-13:] for code in found], ["{ return 1; }", "{ return 2; }"])

    def test_constructors_and_operators(self):
        text = """
            Walk::Walk(int a, Map<int, int> b) : Base(a), map_{b}, done_(b.empty() ? 1 : f({a})) { begin(); }
            Walk::~Walk() { end(); }
            void Walk::operator++() { next(); }
            Walk::Walk() = default;
            class Walk { Walk(); };
        """
        self.assertEqual([code[-12:] for code in self.definitions("Walk::Walk(int)", text)], ["{ begin(); }"])
        self.assertEqual(len(self.definitions("Walk::~Walk()", text)), 1)
        self.assertEqual(len(self.definitions("Walk::operator++()", text)), 1)

    def test_comments_are_no_code(self):
        text = 'int f() { /* } */ return g("// no comment", \'{\'); // }\n}\n'
        found = self.definitions("f()", text)
        self.assertEqual(found, ['f() { return g("// no comment", \'{\'); }'])
        self.assertEqual(code_of("a /* b */\n  c // d\n"), "a c")


class PinsTest(unittest.TestCase):
    def test_a_crate_that_is_not_pinned(self):
        with self.assertRaisesRegex(MachError, "upstream/Cargo.lock pins no mozjs"):
            targets.Pins({}).version("mozjs")


class RealHooksTest(unittest.TestCase):
    def test_hook_files_are_written_as_they_are_read(self):
        for hooks in sorted(Path(upstream.paths.COMPONENTS).glob(f"*/{upstream.HOOKS}")):
            text = hooks.read_text(encoding="utf-8")
            hunks = upstream.read_hunks(text)
            self.assertEqual(upstream.write_hunks(hunks), text)
            placed = [upstream.Placement(hunk, hunk.start) for hunk in hunks]
            self.assertEqual(upstream.write_hunks(upstream.renumbered(placed)), text)
