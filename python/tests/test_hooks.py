# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import io

from strobe.errors import MachError
from strobe.setup import hooks, upstream

from .fake_crates import EDITED_LIB, FILES, FakeCrateTest


class UpdatingHooksTest(FakeCrateTest):
    def setUp(self):
        super().setUp()
        self.hook_lib()
        self.edited = self.root / "to-edit"

    def checkout(self, folder: str = "paint"):
        with contextlib.redirect_stdout(io.StringIO()):
            hooks.checkout(folder, self.edited, self.components, self.lock)

    def update(self, folder: str = "paint"):
        with contextlib.redirect_stdout(io.StringIO()):
            hooks.update(folder, self.edited, self.components, self.lock)

    def test_checkout_and_update_without_an_edit_change_nothing(self):
        before = (self.folder / upstream.HOOKS).read_text()
        self.checkout()
        self.assertEqual((self.edited / "lib.rs").read_text(), EDITED_LIB)
        self.update("components/paint/")
        self.assertEqual((self.folder / upstream.HOOKS).read_text(), before)

    def test_an_edit_becomes_a_hook(self):
        self.checkout()
        (self.edited / "brush.rs").write_text(FILES["brush.rs"] + "pub fn dip_twice() {}\n")
        self.update()
        self.assertIn("+pub fn dip_twice() {}\n", (self.folder / upstream.HOOKS).read_text())
        self.assertTrue(self.prepare())

    def test_first_hooks_of_a_folder(self):
        (self.folder / upstream.HOOKS).unlink()
        self.checkout()
        self.assertEqual((self.edited / "lib.rs").read_text(), FILES["lib.rs"])
        (self.edited / "lib.rs").write_text(EDITED_LIB)
        self.update()
        self.assertTrue(self.prepare())

    def test_an_edit_that_cannot_be_a_hook_is_refused(self):
        before = (self.folder / upstream.HOOKS).read_text()
        self.checkout()
        (self.edited / "canvas.rs").write_text("")
        with self.assertRaises(MachError) as caught:
            self.update()
        self.assertRegex(
            str(caught.exception),
            r"(?s)these changes cannot be hooks:\n  hunk inserts nothing; a hook inserts lines or replaces a single "
            r"one:\n    canvas.rs: @@ -1,1 \+0,0 @@",
        )
        self.assertEqual((self.folder / upstream.HOOKS).read_text(), before)

    def test_hooks_without_a_place_are_named_and_the_tree_stays(self):
        self.publish({**FILES, "lib.rs": FILES["lib.rs"].replace("mod canvas;", "mod drawing;")})
        with self.assertRaisesRegex(MachError, r"must be placed by hand:\n  lib.rs: @@ -2,0 \+3,1 @@ at \w{8}: its "):
            self.checkout()
        self.assertIn("brush::dip_twice", (self.edited / "lib.rs").read_text())

    def test_wrong_folders(self):
        with self.assertRaisesRegex(MachError, "^sculpt: no such folder in components/; .* with hooks are paint$"):
            self.checkout("sculpt")
        self.edited.mkdir()
        with self.assertRaisesRegex(MachError, "already exists; name a new folder"):
            self.checkout()
        with self.assertRaisesRegex(MachError, "has no Cargo.toml; it must be an edited copy of servo-paint"):
            self.update()
