# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The imports among the files of a crate, and of mach, have no circles."""

import ast
import graphlib
import re
import tempfile
import unittest
from pathlib import Path

from strobe import paths

CRATES = ("components/js_profiler", "components/profile_formats")

# A module's tests may import anything, so they are cut off.
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:pub )?mod tests \{", re.MULTILINE)
COMMENT = re.compile(r"//.*")
PATH_OF_MODULE = re.compile(r'#\[path = "(\w+)\.rs"\]\s*(?:pub )?mod (\w+);')
# `crate::module` anywhere, and each module of `use crate::{...}`.
IMPORT = re.compile(r"\bcrate::(\w+)")
GROUPED_IMPORT = re.compile(r"\bcrate::\{([^;]*)\};")
GROUPED_MODULE = re.compile(r"(?:^|,)\s*(\w+)")
NESTED_GROUP = re.compile(r"\{[^{}]*\}")


def imports(crate: Path) -> dict[str, set[str]]:
    """The modules that each module of a crate imports. A folder is one module; lib.rs imports all and is left out."""
    names = {file: name for file, name in PATH_OF_MODULE.findall((crate / "lib.rs").read_text())}
    texts: dict[str, str] = {}
    for file in sorted(crate.rglob("*.rs")):
        place = file.relative_to(crate)
        if str(place) in ("lib.rs", "build.rs") or place.parts[0] in ("examples", "tests"):
            continue
        stem = place.parts[0].removesuffix(".rs")
        module = names.get(stem, stem)
        product = TESTS.split(file.read_text(), maxsplit=1)[0]
        texts[module] = texts.get(module, "") + COMMENT.sub("", product)
    graph = {}
    for module, text in texts.items():
        imported = set(IMPORT.findall(text))
        for group in GROUPED_IMPORT.findall(text):
            while NESTED_GROUP.search(group):
                group = NESTED_GROUP.sub("", group)
            imported.update(GROUPED_MODULE.findall(group))
        graph[module] = (imported & texts.keys()) - {module}
    return graph


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


class ImportsTest(unittest.TestCase):
    def test_no_crate_has_a_circle_of_imports(self):
        for crate in CRATES:
            with self.subTest(crate):
                self.assertEqual(circle(imports(paths.ROOT / crate)), [])

    def test_mach_has_no_circle_of_imports(self):
        self.assertEqual(circle(python_imports(paths.ROOT / "python" / "strobe")), [])

    def test_imports_of_python_are_found(self):
        graph = python_imports(paths.ROOT / "python" / "strobe")
        self.assertIn("strobe.tidy", graph["strobe.commands.test_tidy"], "within a function, from the folder above")
        self.assertIn("strobe.commands", graph["strobe.door"])
        self.assertIn("strobe.commands.arguments", graph["strobe.commands.build"])
        self.assertEqual(graph["strobe.commands"], set())

    def test_imports_are_found(self):
        graph = imports(paths.ROOT / "components/js_profiler")
        self.assertIn("sampling_thread", graph["registry"])
        self.assertIn("registry", graph["recorded_process"], "in a group")
        self.assertIn("stop", graph["walks"], "a folder")
        self.assertEqual(graph["stop"], {"arch"}, "of a file with another name")
        self.assertEqual(graph["arch"], set())

    def test_a_circle_is_found_whichever_way_a_module_is_named(self):
        imports_of_a = (
            "use crate::a::A;",
            "use crate::{a, c};",
            "use crate::{c::{C, D}, a::A};",
            "fn f() { crate::a::f(); }",
        )
        for import_of_a in imports_of_a:
            with self.subTest(import_of_a), tempfile.TemporaryDirectory() as folder:
                crate = Path(folder)
                (crate / "lib.rs").write_text('mod a;\n#[path = "b_linux.rs"]\nmod b;\nmod c;\n')
                (crate / "a.rs").write_text("use crate::b::B;\n")
                (crate / "b_linux.rs").write_text(import_of_a + "\n")
                (crate / "c").mkdir()
                (crate / "c" / "mod.rs").write_text("// use crate::a::A;\n")
                self.assertEqual(set(circle(imports(crate))), {"a", "b"})
                unimported = f"// {import_of_a}\n#[cfg(test)]\nmod tests {{\n    {import_of_a}\n}}\n"
                (crate / "b_linux.rs").write_text(unimported)
                self.assertEqual(circle(imports(crate)), [])
