# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The imports among the files of a crate, and of mach, have no circles: neither among files nor among folders."""

import ast
import contextlib
import graphlib
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path

from strobe import paths

from . import rust_imports

# The crates, and the module of servo-script that is ours.
CRATES = {
    "components/js_profiler": (),
    "components/profile_commands": (),
    "components/profile_formats": (),
    "components/profile_recorder": (),
    "components/profile_sets": (),
    "components/script/dom/profiler": ("dom", "profiler"),
    "components/shared/js_profiler": (),
    "components/shell": (),
    "components/source_maps": (),
}


def crate_imports(crate: str) -> dict[str, set[str]]:
    return rust_imports.imports(paths.ROOT / crate, CRATES[crate])


def python_imports(package: Path) -> dict[str, set[str]]:
    """The modules of a package that each of them imports, also within functions and only for types."""
    files = {}
    for file in sorted(package.rglob("*.py")):
        parts = (package.name, *file.relative_to(package).with_suffix("").parts)
        files[".".join(parts).removesuffix(".__init__")] = file
    graph = {}
    for module, file in files.items():
        own_package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        imported = set()
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                base = own_package.split(".")
                base = base[: len(base) - node.level + 1] if node.level else []
                source = ".".join([*base, *([node.module] if node.module else [])])
                named = {f"{source}.{alias.name}" for alias in node.names}
                imported |= named & files.keys()
                # The import is of something in the module itself.
                if named - files.keys():
                    imported.add(source)
            elif isinstance(node, ast.Import):
                imported |= {alias.name for alias in node.names}
        graph[module] = (imported & files.keys()) - {module}
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A circle of modules, which ends with the first one again; empty if there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


@contextlib.contextmanager
def crate_of(files: dict[str, str]) -> Iterator[Path]:
    """A crate with these files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = Path(folder, name)
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
        yield Path(folder)


class ImportsTest(unittest.TestCase):
    def test_no_crate_has_a_circle_of_imports(self):
        for crate in CRATES:
            graph = crate_imports(crate)
            with self.subTest(crate):
                self.assertEqual(circle(graph), [])
            for level in rust_imports.levels(graph):
                with self.subTest(crate, folder=sorted(level)):
                    self.assertEqual(circle(level), [])

    def test_mach_has_no_circle_of_imports(self):
        self.assertEqual(circle(python_imports(paths.ROOT / "python" / "strobe")), [])

    def test_imports_of_python_are_found(self):
        graph = python_imports(paths.ROOT / "python" / "strobe")
        self.assertIn("strobe.tidy", graph["strobe.commands.test_tidy"], "within a function, from the folder above")
        self.assertIn("strobe.commands", graph["strobe.door"])
        self.assertIn("strobe.commands.arguments", graph["strobe.commands.build"])
        self.assertEqual(graph["strobe.commands"], set())

    def test_imports_are_found(self):
        graph = crate_imports("components/js_profiler")
        self.assertIn("sampling_thread", graph["registry"])
        self.assertIn("registry", graph["recorded_process"], "in braces")
        self.assertIn("stop::linux", graph["sampled_thread"], "what another file re-exports")
        self.assertIn("sampled_thread::walk", graph["sampled_thread"], "of a parent")
        self.assertIn("event_loop", graph["crate"], "of the root")
        self.assertIn("stop::handshake", graph["stop::linux"], "of a sibling")
        self.assertEqual(graph["stop::handshake"], set())
        self.assertNotIn("every_instruction", graph, "a test")

        graph = next(level for level in rust_imports.levels(graph) if "sampled_thread" in level)
        self.assertIn("stop", graph["sampled_thread"], "a folder")
        self.assertEqual(graph["stop"], {"arch"}, "of a file with another name")
        self.assertEqual(graph["arch"], set())

    def test_imports_of_the_binary_and_of_the_module_of_script_are_found(self):
        graph = crate_imports("components/shell")
        self.assertIn("window::controls::dialog", graph["window::controls::message"])
        self.assertIn("window::theme", graph["window::controls::dialog"])
        self.assertIn("window", graph["crate"])
        graph = crate_imports("components/script/dom/profiler")
        self.assertIn("profiler", graph["profilingstate"], "by the path in the crate, re-exported")
        self.assertIn("description", graph["profilingstate"])

    def test_a_circle_is_found_whichever_way_a_module_is_named(self):
        imports_of_a = (
            "use crate::a::A;",
            "use crate::{a, c};",
            "use crate::{c::{C, D}, a::A};",
            "use super::a::A;",
            "pub(crate) use crate::a::{self as other};",
            "fn f() { crate::a::f(); }",
            "fn f() { use super::a; }",
        )
        for import_of_a in imports_of_a:
            with self.subTest(import_of_a), crate_of(
                {
                    "lib.rs": 'mod a;\n#[path = "b_linux.rs"]\nmod b;\nmod c;\n',
                    "a.rs": "use crate::b::B;\n",
                    "b_linux.rs": import_of_a + "\n",
                    "c/mod.rs": "// use crate::a::A;\n",
                }
            ) as crate:
                self.assertEqual(set(circle(rust_imports.imports(crate))), {"a", "b"})
                unimported = (
                    f'// {import_of_a}\nconst TEXT: &str = "{import_of_a}";\n'
                    f"#[cfg(test)]\nuse crate::a::B;\n\n#[cfg(test)]\nmod tests {{\n    {import_of_a}\n}}\n"
                )
                (crate / "b_linux.rs").write_text(unimported)
                self.assertEqual(circle(rust_imports.imports(crate)), [])

    def test_a_circle_within_a_folder_is_found(self):
        siblings, with_parent = {"f::x", "f::y"}, {"f", "f::x"}
        for parent, x, y, expected in (
            ("mod x;\nmod y;", "use super::y::Y;", "use super::x::X;", siblings),
            ("mod x;\nmod y;", "use crate::f::y::Y;", "fn f() { super::x::g(); }", siblings),
            # What the parent re-exports is the other file's.
            ("mod x;\nmod y;\npub use self::{x::X, y::Y};", "use super::Y;", "use super::X;", siblings),
            ("mod x;\nmod y;\npub use x::*;\nuse y::Y;", "use super::Y;\npub fn g() {}", "use super::g;", siblings),
            # The parent has something that its child imports.
            ("mod x;\nmod y;\nuse self::x::X;\npub const P: u8 = 1;", "use super::P;", "", with_parent),
            ("mod x;\nmod y;\nfn f() { x::f(); }\npub fn p() {}", "fn f() { super::p(); }", "", with_parent),
        ):
            for file in ("f/mod.rs", "f.rs"):
                files = {"main.rs": "mod f;", file: parent, "f/x.rs": x, "f/y.rs": y}
                with self.subTest(parent=parent, x=x, y=y, file=file), crate_of(files) as crate:
                    self.assertEqual(set(circle(rust_imports.imports(crate))), expected)

    def test_a_parent_that_only_declares_and_re_exports_is_in_no_circle(self):
        files = {
            "lib.rs": "mod f;\npub use f::X;",
            "f/mod.rs": "mod x;\nmod y;\n\npub use self::x::X;\nuse self::y::Y;",
            "f/x.rs": "use super::Y;\nuse super::y;\npub struct X;\nfn f() { y::Y::new(); }",
            "f/y.rs": "pub struct Y;",
        }
        with crate_of(files) as crate:
            graph = rust_imports.imports(crate)
        self.assertEqual(graph, {"crate": {"f::x"}, "f": {"f::x", "f::y"}, "f::x": {"f::y"}, "f::y": set()})
        self.assertEqual(circle(graph), [])

    def test_a_circle_of_folders_without_one_of_files_is_found(self):
        files = {
            "lib.rs": "mod f;\nmod g;",
            "f/mod.rs": "pub mod x;\npub mod y;",
            "f/x.rs": "use crate::g::x::X;",
            "f/y.rs": "pub struct Y;",
            "g/mod.rs": "pub mod x;\npub mod y;",
            "g/x.rs": "pub struct X;",
            "g/y.rs": "use crate::f::y::Y;",
        }
        with crate_of(files) as crate:
            graph = rust_imports.imports(crate)
        self.assertEqual(circle(graph), [])
        self.assertEqual([set(found) for level in rust_imports.levels(graph) if (found := circle(level))], [{"f", "g"}])

    def test_a_module_of_another_crate_has_its_path(self):
        files = {
            "mod.rs": "mod x;\nmod y;\npub(crate) use self::x::X;",
            "x.rs": "use crate::dom::y::Y;\nuse crate::dom::profiler::y::Y as Other;",
            "y.rs": "use super::super::x::X;\nuse crate::dom::profiler::X;",
        }
        with crate_of(files) as crate:
            self.assertEqual(set(circle(rust_imports.imports(crate, ("dom", "profiler")))), {"x", "y"})
            (crate / "y.rs").write_text("use super::super::x::X;")
            graph = rust_imports.imports(crate, ("dom", "profiler"))
            self.assertEqual(graph, {"crate": {"x"}, "x": {"y"}, "y": set()})

    def test_groups_of_imports_are_read(self):
        tree = "crate::{self, a::{self, B as C, d::{E, F}}, g::*, super::h,}"
        self.assertEqual(
            list(rust_imports.imported_names(rust_imports.TOKEN.findall(tree))),
            [
                (("crate",), "crate"),
                (("crate", "a"), "a"),
                (("crate", "a", "B"), "C"),
                (("crate", "a", "d", "E"), "E"),
                (("crate", "a", "d", "F"), "F"),
                (("crate", "g"), "*"),
                (("crate", "super", "h"), "h"),
            ],
        )
