# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import os
import shutil
from unittest import mock

from strobe.errors import MachError
from strobe.setup import upstream

from .fake_crates import EDITED_LIB, FILES, NAME, VERSION, FakeCrateTest


class PreparingTest(FakeCrateTest):
    def setUp(self):
        super().setUp()
        self.hook_lib()
        (self.folder / "easel.rs").write_text("pub fn set_up() {}\n", encoding="utf-8")

    def state(self) -> dict:
        """Every prepared file with its content and its time of change, which Cargo compares."""
        files = [path for path in (self.root / "cache").rglob("*") if path.is_file()] + [self.cargo_config]
        return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files}

    def test_a_tree_has_hooks_and_our_files(self):
        self.assertTrue(self.prepare())
        tree = self.crate().tree
        self.assertEqual((tree / "lib.rs").read_text(), EDITED_LIB)
        self.assertEqual((tree / "easel.rs").read_text(), "pub fn set_up() {}\n")
        self.assertEqual((tree / "brush.rs").read_text(), FILES["brush.rs"])
        self.assertIn(f'{NAME} = {{ path = "{tree}" }}', self.cargo_config.read_text())

    def test_preparing_twice_changes_nothing(self):
        self.prepare()
        before = self.state()
        reports = list(self.reports)
        self.assertFalse(self.prepare())
        self.assertEqual(self.state(), before)
        self.assertEqual(self.reports, reports)

    def test_a_changed_file_of_ours_changes_only_itself(self):
        self.prepare()
        before = self.state()
        (self.folder / "easel.rs").write_text("pub fn set_up() { todo!() }\n", encoding="utf-8")
        self.assertTrue(self.prepare())
        after = self.state()
        changed = {path.name for path in after if after[path] != before.get(path)}
        self.assertEqual(changed, {"easel.rs"})

    def test_a_removed_file_of_ours_leaves_the_tree(self):
        self.prepare()
        (self.folder / "easel.rs").unlink()
        self.assertTrue(self.prepare())
        self.assertFalse((self.crate().tree / "easel.rs").exists())

    def test_changed_hooks_make_another_tree(self):
        self.prepare()
        before = self.crate().tree
        self.hook_lib(FILES["lib.rs"].replace("mod canvas;\n", "mod canvas;\nmod easel;\n"))
        self.prepare()
        self.assertNotEqual(self.crate().tree, before)
        self.assertTrue(before.exists())

    def test_moved_pins_are_a_patch_of_their_own(self):
        """A build without hooks has the same engine, so the version of a dependency is moved there, too."""
        manifest = '[package]\nname = "servo-paint"\n\n[dependencies.oil]\nversion = "=1.2.3"\n\n[lib]\n'
        pristine = self.write_tree("pristine", {**FILES, "Cargo.toml": manifest})
        moved = manifest.replace("=1.2.3", "=1.3.0")
        more = moved.replace("[package]", "# ours\n[package]") + '\n[dependencies.easel]\nversion = "0.1.0"\n'
        edited = self.write_tree("edited", {**FILES, "lib.rs": EDITED_LIB, "Cargo.toml": more})
        self.publish({**FILES, "Cargo.toml": manifest})
        (self.folder / upstream.HOOKS).write_text(upstream.make_hooks(pristine, edited), encoding="utf-8")
        trees = upstream.prepare_published(self.reports.append, self.components, self.lock)
        self.assertEqual(trees, {NAME: self.crate().published_tree})
        self.assertEqual((trees[NAME] / "Cargo.toml").read_text(), moved)
        self.assertEqual((trees[NAME] / "lib.rs").read_text(), FILES["lib.rs"])
        self.assertEqual(upstream.prepare_published(self.reports.append, self.components, self.lock), trees)

    def test_without_moved_pins_the_published_crate_serves(self):
        self.assertEqual(upstream.prepare_published(self.reports.append, self.components, self.lock), {})

    def test_a_replaced_line_of_a_manifest_that_is_no_version_is_an_error(self):
        pristine = self.write_tree("pristine", FILES)
        edited = self.write_tree("edited", {**FILES, "Cargo.toml": FILES["Cargo.toml"].replace("paint", "ink")})
        with self.assertRaisesRegex(MachError, "Cargo.toml: a hook replaces .*servo-paint.*only the version"):
            upstream.moved_pins(upstream.make_hooks(pristine, edited))

    def test_a_checksum_that_differs_is_an_error(self):
        self.publish({**FILES, "brush.rs": "pub fn dip() { evil() }\n"}, pin=False)
        with self.assertRaises(MachError) as caught:
            self.prepare()
        self.assertRegex(
            str(caught.exception),
            rf"(?s)^{NAME} {VERSION}: checksum differs\n  file     {self.archive}\n  actual   \w{{64}}\n"
            rf"  expected \w{{64}} \({self.lock}\)$",
        )
        self.assertFalse(self.crate().tree.exists())

    def test_a_hook_whose_neighbours_changed_is_an_error(self):
        self.publish({**FILES, "lib.rs": FILES["lib.rs"].replace("mod canvas;", "mod drawing;")})
        with self.assertRaises(MachError) as caught:
            self.prepare()
        self.assertRegex(
            str(caught.exception),
            r"(?s)^\S+/components/paint/hooks.patch: hook does not apply: lib.rs line 2 is not the line it was made "
            r"for\n  hunk @@ -2,0 \+3,1 @@ at \w{8}\n  the neighbours' digest is now \w{8}; see docs/hooks.md",
        )
        self.assertEqual(list((self.root / "cache" / "upstream").iterdir()), [], "no half-patched tree stays")

    def test_a_hook_for_a_missing_file_is_an_error(self):
        self.publish({name: text for name, text in FILES.items() if name != "lib.rs"})
        with self.assertRaisesRegex(MachError, r"hooks.patch: hook does not apply: lib.rs is not in servo-paint"):
            self.prepare()

    def test_our_file_must_not_replace_an_upstream_one(self):
        (self.folder / "canvas.rs").write_text("pub fn fill() { /* ours */ }\n", encoding="utf-8")
        with self.assertRaisesRegex(
            MachError, r"components/paint/canvas.rs: servo-paint has a file of that name; ours must not replace it"
        ):
            self.prepare()

    def test_a_folder_that_is_named_after_no_crate_is_an_error(self):
        shutil.copytree(self.folder, self.components / "pain_t")
        with self.assertRaisesRegex(MachError, "pins no crate named servo-pain-t or pain_t"):
            self.prepare()

    def test_a_missing_cargo_is_named(self):
        self.archive.unlink()
        with mock.patch.dict(os.environ, PATH=str(self.root)), self.assertRaisesRegex(
            MachError, "^cargo: cannot be run: .* needed for `cargo info"
        ):
            self.prepare()


class MakingHooksTest(FakeCrateTest):
    def setUp(self):
        super().setUp()
        self.hook_lib()
        self.hooks = self.folder / upstream.HOOKS
        self.pristine = self.root / "pristine"

    def test_the_text(self):
        text = self.hooks.read_text()
        self.assertRegex(
            text,
            r"^--- a/lib.rs\n\+\+\+ b/lib.rs\n"
            r"@@ -2,0 \+3,1 @@ at \w{8}\n\+mod easel;\n"
            r"@@ -5,1 \+6,2 @@ at \w{8}\n-    brush::dip\(\);\n"
            r"\+    easel::set_up\(\);\n\+    brush::dip_twice\(\);\n$",
        )

    def test_applied_and_made_again_it_is_the_same(self):
        applied = self.write_tree("applied", FILES)
        upstream.apply_hooks(self.hooks, applied)
        self.assertEqual((applied / "lib.rs").read_text(), EDITED_LIB)
        self.assertEqual(upstream.make_hooks(self.pristine, applied), self.hooks.read_text())

    def test_hunks_at_both_ends_of_a_file(self):
        self.hook_lib("// first\n" + FILES["lib.rs"] + "// last\n")
        applied = self.write_tree("applied", FILES)
        upstream.apply_hooks(self.hooks, applied)
        self.assertEqual(upstream.make_hooks(self.pristine, applied), self.hooks.read_text())

    def test_files_that_no_hook_can_make(self):
        edited = self.write_tree("added", {**FILES, "easel.rs": ""})
        with self.assertRaisesRegex(MachError, "easel.rs is not in the upstream crate; our files go to components/"):
            upstream.make_hooks(self.pristine, edited)
        edited = self.write_tree("removed", {"lib.rs": ""})
        with self.assertRaisesRegex(MachError, "Cargo.toml is gone"):
            upstream.make_hooks(self.pristine, edited)

    def test_placing_in_a_new_version(self):
        """The insertion has moved by two lines, and the replaced line has other neighbours."""
        moved = FILES["lib.rs"].replace("mod brush;", "mod air;\nmod bag;\nmod brush;").replace("canvas::fill", "fill")
        tree = self.write_tree("next", {**FILES, "lib.rs": moved})
        unplaced = upstream.place_hooks(self.hooks, tree)
        self.assertEqual((tree / "lib.rs").read_text(), moved.replace("mod canvas;\n", "mod canvas;\nmod easel;\n"))
        self.assertEqual(len(unplaced), 1)
        self.assertRegex(str(unplaced[0]), r"^lib.rs: @@ -5,1 \+6,2 @@ at \w{8}: its neighbours are not found$")

    def test_placing_in_the_same_version_is_applying(self):
        tree = self.write_tree("same", FILES)
        self.assertEqual(upstream.place_hooks(self.hooks, tree), [])
        self.assertEqual((tree / "lib.rs").read_text(), EDITED_LIB)
