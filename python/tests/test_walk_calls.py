# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import copy
import io
import json
import subprocess
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

from strobe import test
from strobe.checks import object_code, walk_calls
from strobe.checks.walk_calls import Calls
from strobe.errors import MachError
from strobe.setup import toolchain

# The flags of the glue and the engine.
FLAGS = ("-O2", "-fPIC", "-ffunction-sections", "-fdata-sections", "-fno-exceptions")
TARGET = "--target=x86_64-unknown-linux-gnu"

CLASSES = {
    "safe": {"hazards": {"every_hazard": "It is a test."}},
    "end": {"hazards": {"every_hazard": "It does not return."}, "ends_process": True},
}


def function(name: str, **more) -> dict:
    return {"name": name, "class": "safe", "reads": "Nothing.", "reason": "It is short.", **more}


def variable(name: str) -> dict:
    return {"name": name, "class": "safe", "reason": "It is a constant."}


def listed(functions=(), variables=(), own=()) -> Calls:
    used = {entry["class"] for entry in (*functions, *variables)}
    classes = {name: values for name, values in CLASSES.items() if name in used}
    content = {"classes": classes, "functions": functions, "variables": variables, "own": own}
    return Calls.read(content)


class WalkTest(unittest.TestCase):
    """The calls that are found in programs of a few lines."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.archives = []

    def archive(self, *sources: str, name: str = "code", flags: tuple[str, ...] = FLAGS):
        """Compiles a library. The first one is the walk's own."""
        objects = []
        for number, source in enumerate(sources):
            folder = self.root / f"{len(self.archives)}-{number}"
            folder.mkdir()
            objects.append(str(folder / f"{name}.o"))
            command = [f"clang++-{toolchain.CLANG}", TARGET, *flags, "-x", "c++", "-c", "-", "-o", objects[-1]]
            subprocess.run(command, input=source, text=True, check=True)
        self.archives.append(self.root / f"{len(self.archives)}.a")
        # Some files have the same name.
        subprocess.run([f"llvm-ar-{toolchain.CLANG}", "qc", self.archives[-1], *objects], check=True)

    def problems(self, calls: Calls, root: str = "strobe_walk") -> list[str]:
        with tempfile.TemporaryDirectory() as scratch:
            program = object_code.Program(self.archives, Path(scratch))
            return walk_calls.Walk(program, calls, [root]).problems()

    def assert_found(self, calls: Calls, *expected: str):
        self.assertEqual(self.problems(calls), [text.strip("\n") for text in expected])

    def test_what_is_listed_and_reached_is_no_problem(self):
        self.archive('namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive("namespace js { int look(int i) { return i * 2; } }")
        self.assert_found(listed([function("js::look(int)")]))

    def test_a_call_that_is_not_listed_is_named_with_its_callers(self):
        self.archive(
            """
            namespace js { int look(int); }
            namespace strobe { [[gnu::noinline]] int step(int i) { return js::look(i) + 1; } }
            extern "C" int strobe_walk(int i) { return strobe::step(i) + 1; }
            """
        )
        self.archive("namespace js { int look(int i) { return i * 2; } }")
        self.assert_found(
            listed(),
            """
js::look(int): not listed
    strobe_walk
    → strobe::step(int)
    → js::look(int)
""",
        )

    def test_what_a_listed_function_calls_is_listed_too(self):
        self.archive('namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive(
            "namespace js { int lock(int); int look(int i) { return lock(i) * 2; } }",
            "namespace js { int lock(int i) { return i + 3; } }",
        )
        self.assert_found(
            listed([function("js::look(int)")]),
            """
js::lock(int): not listed
    strobe_walk
    → js::look(int)
    → js::lock(int)
""",
        )

    def test_what_is_not_listed_is_not_followed(self):
        self.archive('namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive("namespace js { int lock(int); int look(int i) { return lock(i) * 2; } }")
        (problem,) = self.problems(listed())
        self.assertTrue(problem.startswith("js::look(int): not listed\n"), problem)

    def test_functions_of_the_system_are_listed_too(self):
        self.archive('extern "C" { int getpid(); int strobe_walk() { return getpid() + 1; } }')
        self.assert_found(listed(), "getpid: not listed\n    strobe_walk\n    → getpid")
        self.assert_found(listed([function("getpid")]))

    def test_a_jump_at_the_end_is_a_call(self):
        self.archive('extern "C" { int getpid(); int strobe_walk() { return getpid(); } }')
        self.assert_found(listed(), "getpid: not listed\n    strobe_walk\n    → getpid")

    def test_taking_an_address_is_a_call(self):
        self.archive('extern "C" { int getpid(); void* strobe_walk() { return (void*)&getpid; } }')
        self.assert_found(listed(), "getpid: not listed\n    strobe_walk\n    → getpid")

    def test_a_call_within_a_section_has_no_relocation(self):
        self.archive(
            """
            namespace js { [[gnu::noinline]] static int look(int i) { asm volatile(""); return i * 2; } }
            extern "C" int strobe_walk(int i) { return js::look(i) + 1; }
            """,
            flags=("-O2", "-fPIC", "-fno-function-sections"),
        )
        self.assert_found(listed(), "js::look(int): not listed\n    strobe_walk\n    → js::look(int)")

    def test_the_address_of_a_static_function_is_a_place_in_a_section(self):
        self.archive(
            """
            namespace js {
            [[gnu::used]] static int one(int i) { return i * 2; }
            [[gnu::used]] static int two(int i) { return i * 3; }
            }
            extern "C" void* strobe_walk() { return (void*)&js::two; }
            """,
            flags=("-O2", "-fPIC", "-fno-function-sections"),
        )
        self.assert_found(listed(), "js::two(int): not listed\n    strobe_walk\n    → js::two(int)")

    def test_a_system_call_by_itself_is_listed_too(self):
        self.archive('extern "C" void strobe_walk() { asm volatile("syscall"); }')
        self.assert_found(listed(), "syscall: not listed\n    strobe_walk\n    → syscall")

    def test_our_own_functions_are_not_listed(self):
        self.archive(
            """
            namespace { [[gnu::noinline]] int one(int i) { asm volatile(""); return i; } }
            [[gnu::noinline]] static int two(int i) { asm volatile(""); return one(i) + 1; }
            namespace strobe { struct Walk { [[gnu::noinline]] int three(int i) const { return two(i) + 1; } }; }
            extern "C" int strobe_walk(int i) { return strobe::Walk().three(i) + 1; }
            """
        )
        self.assert_found(listed())

    def test_what_we_have_added_to_the_engine_is_listed(self):
        self.archive('extern "C" { int strobe_look(int); int strobe_walk(int i) { return strobe_look(i) + 1; } }')
        self.archive('extern "C" int strobe_look(int i) { return i * 2; }')
        self.assert_found(listed(), "strobe_look: not listed\n    strobe_walk\n    → strobe_look")

    def test_inline_functions_of_the_engine_are_listed_too(self):
        self.archive(
            """
            namespace js { [[gnu::noinline]] inline int look(int i) { asm volatile(""); return i; } }
            extern "C" int strobe_walk(int i) { return js::look(i) + 1; }
            """
        )
        self.assert_found(listed(), "js::look(int): not listed\n    strobe_walk\n    → js::look(int)")

    def test_of_several_definitions_any_may_be_linked(self):
        inline = "namespace js {{ int {0}(int); [[gnu::noinline]] inline int look(int i) {{ return {0}(i) + 1; }} }}"
        self.archive(inline.format("one") + 'extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive(inline.format("two") + "int other(int i) { return js::look(i) + 1; }")
        found = self.problems(listed([function("js::look(int)")]))
        self.assertEqual([problem.split(": ")[0] for problem in found], ["js::one(int)", "js::two(int)"])

    def test_files_of_one_name_are_kept_apart(self):
        self.archive(
            'namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }',
            "namespace js { int lock(int); int look(int i) { return lock(i) + 1; } }",
        )
        self.assert_found(
            listed([function("js::look(int)")]),
            "js::lock(int): not listed\n    strobe_walk\n    → js::look(int)\n    → js::lock(int)",
        )

    def test_static_functions_are_followed(self):
        self.archive('namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive(
            """
            namespace js {
            int lock(int);
            [[gnu::noinline]] static int find(int i) { return lock(i) + 1; }
            int look(int i) { return find(i) + 1; }
            }
            """
        )
        self.assert_found(
            listed([function("js::look(int)"), function("js::find(int)")]),
            "js::lock(int): not listed\n    strobe_walk\n    → js::look(int)\n    → js::find(int)\n    → js::lock(int)",
        )

    INDIRECT = 'extern "C" int strobe_walk(int (*f)(int), int (**g)(int)) { return f(1) + (*g)(2) + 1; }'

    def test_indirect_calls_are_counted(self):
        self.archive(self.INDIRECT)
        self.assert_found(listed(), "strobe_walk: indirect calls: 2 in the code, 0 in the list")
        own = {"name": "strobe_walk", "reason": "It must.", "indirect_calls": 2, "leads_to": "Functions that it gets."}
        self.assert_found(listed(own=[own]))
        self.assert_found(
            listed(own=[{**own, "indirect_calls": 3}]), "strobe_walk: indirect calls: 2 in the code, 3 in the list"
        )

    def test_indirect_calls_of_the_engine_are_named_with_their_callers(self):
        self.archive('namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive("namespace js { int (*hook)(int); int look(int i) { return hook(i); } }")
        calls = listed([function("js::look(int)")], [variable("js::hook")])
        self.assert_found(
            calls, "js::look(int): indirect calls: 1 in the code, 0 in the list\n    strobe_walk\n    → js::look(int)"
        )
        hooked = function("js::look(int)", indirect_calls=1, leads_to="What is in js::hook.")
        self.assert_found(listed([hooked], [variable("js::hook")]))

    def test_a_switch_is_no_indirect_call(self):
        cases = "".join(f"case {i}: return f{i}(i) + {i};" for i in range(8))
        declarations = "".join(f"int f{i}(int);" for i in range(8))
        self.archive(f'extern "C" {{ {declarations} int strobe_walk(int i) {{ switch (i) {{ {cases} }} return 0; }} }}')
        self.assert_found(listed([function(f"f{i}") for i in range(8)]))

    def test_an_atomic_write_has_a_reason(self):
        for instruction in ("__atomic_fetch_add(count, 1, 5)", "__atomic_exchange_n(count, 1, 5)"):
            with self.subTest(instruction):
                self.archives = []
                self.root = self.root / "next"
                self.root.mkdir()
                self.archive(f'extern "C" int strobe_walk(int* count) {{ return {instruction}; }}')
                (problem,) = self.problems(listed())
                self.assertEqual(
                    problem, "strobe_walk: writes memory atomically, and the list does not say which memory"
                )
                own = {"name": "strobe_walk", "reason": "It counts.", "atomic_writes": "What it is given."}
                self.assert_found(listed(own=[own]))

    def test_a_listed_atomic_write_must_exist(self):
        self.archive('extern "C" int strobe_walk(int* count) { return ++*count; }')
        own = {"name": "strobe_walk", "reason": "It counts.", "atomic_writes": "What it is given."}
        self.assert_found(
            listed(own=[own]), "strobe_walk: does not write memory atomically, though the list says so"
        )

    def test_variables_are_listed_and_constants_are_not(self):
        self.archive(
            """
            namespace js {
            extern int heap;
            static int count;
            static const int sizes[] = {1, 2, 3};
            extern const char* const names[3];
            [[gnu::noinline]] int* next() { return &count; }
            }
            extern "C" int strobe_walk(int i) { return js::heap + ++js::count + js::sizes[i] + *js::names[i]; }
            """
        )
        # The loader fills in these addresses, which then are constants.
        names = 'extern const char* const names[3]; const char* const names[3] = {"one", "two", "three"};'
        self.archive(f"namespace js {{ int heap = 3; {names} }}")
        self.assert_found(
            listed(),
            "variable js::count: not listed\n    strobe_walk\n    → js::count",
            "variable js::heap: not listed\n    strobe_walk\n    → js::heap",
        )
        self.assert_found(listed(variables=[variable("js::heap"), variable("js::count")]))

    def test_variables_of_one_section_are_told_apart(self):
        self.archive(
            """
            namespace js {
            static int one, two, three;
            [[gnu::used]] static int* places[] = {&one, &two, &three};
            }
            extern "C" int strobe_walk() { return js::two; }
            """,
            flags=("-O2", "-fPIC", "-fno-data-sections"),
        )
        self.assert_found(listed(), "variable js::two: not listed\n    strobe_walk\n    → js::two")

    def test_variables_of_threads_are_listed(self):
        self.archive('static thread_local int depth; extern "C" int strobe_walk() { return ++depth; }')
        found = self.problems(listed([function("__tls_get_addr")]))
        self.assertEqual(found, ["variable depth: not listed\n    strobe_walk\n    → depth"])

    def test_what_ends_the_process_is_not_followed(self):
        self.archive('namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive("namespace js { int lock(int); int look(int i) { return lock(i) * 2; } }")
        ending = {"name": "js::look(int)", "class": "end", "reason": "It is a crash."}
        self.assert_found(listed([ending]))

    def test_an_entry_may_be_for_all_that_begin_so(self):
        self.archive('namespace js { int look(int); } extern "C" int strobe_walk(int i) { return js::look(i) + 1; }')
        self.archive("namespace js { int lock(int i) { return i; } int look(int i) { return lock(i) * 2; } }")
        self.assert_found(listed([function("js::*")]))

    def test_an_entry_that_nothing_reaches_is_an_error(self):
        self.archive('extern "C" int strobe_walk() { return 1; } namespace strobe { int other() { return 1; } }')
        own = {"name": "strobe::other()", "reason": "It counts.", "atomic_writes": "What it is given."}
        self.assert_found(
            listed([function("js::look(int)"), function("gimli::*")], [variable("js::heap")], [own]),
            "js::look(int): listed, but nothing reaches it",
            "gimli::*: listed, but nothing reaches it",
            "js::heap: listed, but nothing reaches it",
            "strobe::other(): listed, but nothing reaches it",
        )

    def test_what_is_not_listed_may_reach_what_is(self):
        self.archive('extern "C" { int getpid(); int strobe_walk() { return getpid() + 1; } }')
        self.assert_found(listed([function("js::look(int)")]), "getpid: not listed\n    strobe_walk\n    → getpid")

    def test_an_own_function_without_anything_special_has_no_entry(self):
        self.archive('extern "C" int strobe_walk() { return 1; }')
        self.assert_found(
            listed(own=[{"name": "strobe_walk", "reason": "It is ours."}]),
            "strobe_walk: a function of the walk itself, which needs no entry",
        )

    def test_without_the_walk_nothing_is_checked(self):
        self.archive('extern "C" int strobe_other() { return 1; }')
        with self.assertRaisesRegex(MachError, "strobe_walk: no library defines it"):
            self.problems(listed())


class ListTest(unittest.TestCase):
    RIGHT = {
        "classes": {"safe": {"hazards": {" ".join(walk_calls.HAZARDS): "It is a test."}}},
        "functions": [function("js::look(int)")],
    }

    def assert_wrong(self, error: str, change):
        content = copy.deepcopy(self.RIGHT)
        change(content)
        with self.assertRaisesRegex(MachError, error):
            Calls.read(content)

    def test_each_class_says_something_of_each_hazard(self):
        Calls.read(self.RIGHT)
        hazards = {key: "It is a test." for key in walk_calls.HAZARDS if key != "tier_up"}
        self.assert_wrong(
            "class safe: does not say why it is safe while code of WebAssembly is replaced",
            lambda content: content["classes"]["safe"].update(hazards=hazards),
        )
        self.assert_wrong(
            "class safe: unknown key 'rain'", lambda content: content["classes"]["safe"]["hazards"].update(rain="")
        )
        self.assert_wrong(
            "class safe: no reason",
            lambda content: content["classes"]["safe"].update(hazards={"every_hazard": " "}),
        )

    def test_each_entry_is_complete(self):
        for key in ("reads", "reason"):
            self.assert_wrong(
                rf"js::look\(int\): no `{key}`", lambda content, key=key: content["functions"][0].pop(key)
            )
        self.assert_wrong("no class 'other'", lambda content: content["functions"][0].update({"class": "other"}))
        self.assert_wrong("unknown key 'reeds'", lambda content: content["functions"][0].update(reeds="x"))
        self.assert_wrong("need each other", lambda content: content["functions"][0].update(indirect_calls=1))

    def test_nothing_is_listed_twice_or_without_use(self):
        self.assert_wrong("listed twice", lambda content: content["functions"].append(function("js::look(int)")))
        self.assert_wrong("class safe: no entry is of this class", lambda content: content.update(functions=[]))
        self.assert_wrong("the list: unknown key 'function'", lambda content: content.update(function=[]))

    def test_the_error_names_the_file(self):
        with tempfile.NamedTemporaryFile(suffix=".toml") as file:
            file.write(b"[classes")
            file.flush()
            with self.assertRaisesRegex(MachError, f"{file.name}: "):
                Calls.load(Path(file.name))

    def test_the_committed_list_is_complete(self):
        Calls.load(walk_calls.LIST)
        with open(walk_calls.LIST, "rb") as file:
            self.assertLessEqual({"classes", "functions", "variables"}, set(tomllib.load(file)))


class NamesTest(unittest.TestCase):
    def test_names_of_rust_do_not_differ_from_build_to_build(self):
        symbols = {
            "_ZN5gimli4read3cfi20UnwindTable$LT$R$GT$8next_row17h12278466d0aadc56E": (
                "gimli::read::cfi::UnwindTable<R>::next_row"
            ),
            "_ZN50_$LT$gimli..Rows$u20$as$u20$core..clone..Clone$GT$5clone17hb76c2c47dd80eff2E": (
                "<gimli::Rows as core::clone::Clone>::clone"
            ),
            "_ZN2js4lookEi": "js::look(int)",
            "memcpy": "memcpy",
        }
        self.assertEqual(object_code.readable(symbols), symbols)

    def test_what_is_ours(self):
        for symbol in ("strobe_walk_table", "_ZN6strobe4Walk3endEv", "_ZNK6strobe4Walk3endEv", "_ZL3endv"):
            self.assertTrue(walk_calls.is_own(symbol, symbol), symbol)
        for symbol in ("memcpy", "_ZN2js6strobeEv", "_ZNK2js4Walk3endEv", "_ZN2jsL3endEv", "_ZSt4moveIiEvT_"):
            self.assertFalse(walk_calls.is_own(symbol, symbol), symbol)


class BuildTest(unittest.TestCase):
    def built(self, *libraries: tuple[str, str], status: int = 0) -> list[str]:
        messages = ["   Compiling a", json.dumps({"reason": "build-finished", "success": True})]
        for crate, path in libraries:
            messages.append(
                json.dumps(
                    {
                        "reason": "compiler-artifact",
                        "profile": {"test": False},
                        "target": {"name": crate},
                        "filenames": [path, path.replace(".rlib", ".rmeta")],
                    }
                )
            )

        def stream(command, on_line):
            self.assertEqual(command, ["cargo", "build", "--message-format=json-render-diagnostics"])
            for message in messages:
                on_line(message + "\n")
            return status

        with mock.patch.object(walk_calls.process, "stream", stream):
            return [str(path) for path in walk_calls.built(["cargo", "build"])]

    ALL = [("gimli", "/g1.rlib"), ("mozjs_sys", "/m.rlib"), ("js_profiler", "/p.rlib"), ("gimli", "/g2.rlib")]

    def test_libraries_are_those_of_the_build_and_ours_is_first(self):
        self.assertEqual(self.built(*self.ALL), ["/p.rlib", "/m.rlib", "/g1.rlib", "/g2.rlib"])

    def test_a_build_that_is_not_as_expected_is_an_error(self):
        with self.assertRaisesRegex(MachError, "could not be built: cargo failed with status 101"):
            self.built(status=101)
        with self.assertRaisesRegex(MachError, "no library of the crate gimli"):
            self.built(*self.ALL[1:3])
        with self.assertRaisesRegex(MachError, "several libraries of the crate js_profiler"):
            self.built(*self.ALL, ("js_profiler", "/q.rlib"))

    def test_it_is_one_of_the_unit_tests(self):
        with mock.patch.object(walk_calls, "check") as check, contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(test._check_walk_calls(["cargo"]).passed, 1)
            check.side_effect = MachError("2 problems\nmore")
            self.assertEqual(test._check_walk_calls(["cargo"]).failures, ["walk-calls: 2 problems"])
