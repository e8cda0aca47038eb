# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A registry with small crates for Cargo, and a checkout whose pins are in it.

Its crates depend on each other as Servo, the bindings and the engine do: servo on servo-script, that on one mozjs, that
on one mozjs_sys, and that on one mozjs_glue.
"""

import functools
import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
import threading
import unittest
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

from strobe.moving import engine
from strobe.setup import upstream

JIT = "mozjs/js/src/jit/"
# Two functions that look alike to a hook between them: it has only a bracket and an empty line beside it.
ENTRIES = """\
#include "jit/JitcodeMap.h"

void JitcodeTable::add(Entry* entry) {
  insert(entry);
}

// What the walk calls.
Entry* JitcodeTable::find(void* address) {
  return lookup(address);
}

void JitcodeTable::remove(Entry* entry) {
  erase(entry);
}

void JitcodeTable::sweep() {
  clear();
}
"""
ENGINE_FILES = {
    **{engine.ENGINE + name: f"// {name}\n" for name in engine.FRAMES},
    JIT + "JitFrames.h": "class FrameLayout {\n  void* returnAddress_;\n};\n",
    JIT + "JitcodeMap.h": "class JitcodeTable {\n  Entry* find(void* address);\n};\n",
    JIT + "JitcodeMap.cpp": ENTRIES,
    "mozjs/js/public/Value.h": "class Value {};\n",
    "mozjs/mfbt/Vector.h": "class Vector {};\n",
    "build.rs": "fn main() {\n    build();\n}\n",
}
# Inserts a line after `remove`, replaces one of `add`, and inserts one in another file.
ENGINE_HOOKS = {
    JIT + "JitcodeMap.cpp": ENTRIES.replace("insert(entry);", "insert(ours(entry));").replace(
        "  erase(entry);\n}\n", "  erase(entry);\n}\nvoid JitcodeTable::count() {}\n"
    ),
    "build.rs": "fn main() {\n    build();\n    export();\n}\n",
}
SCRIPT_LIB = "mod dom;\nmod timers;\n"
WALK_CALLS = """\
[classes.table.hazards]
every_hazard = "It only looks."

[[functions]]
name = "js::jit::JitcodeTable::find(void*)"
class = "table"
reads = "The table."
reason = "It only looks."

[[functions]]
name = "memcpy"
class = "table"
reads = "What it is given."
reason = "It only looks."
"""
WORKSPACE = """\
[workspace]
resolver = "3"
members = ["components/js_profiler"]
exclude = ["upstream", "tests/apart"]

[workspace.dependencies]
js_profiler = "0.1.0"
# A comment that names mozjs = "=0.26.4" as it was.
mozjs = { version = "=0.26.4", default-features = false }
mozjs_sys = "=153.3.0-1"
servo = "=0.7.0"

[patch.crates-io]
js_profiler = { path = "components/js_profiler" }
"""
PROFILER = """\
[package]
name = "js_profiler"
version = "0.1.0"
edition = "2024"

[lib]
path = "lib.rs"

[dependencies]
mozjs = { workspace = true }
mozjs_sys = { workspace = true }

[dev-dependencies]
servo = { workspace = true }
"""
PINS = """\
[package]
name = "upstream"
version = "0.0.0"
edition = "2024"

[lib]
path = "pins.rs"

[dependencies]
servo = "=0.7.0"

[workspace]
"""
APART = """\
[package]
name = "apart"
version = "0.0.0"
edition = "2024"

[lib]
path = "lib.rs"

[dependencies]
bindings = { package = "mozjs", version = "=0.26.4" }

[workspace]
"""


def manifest(name: str, version: str, dependencies: dict[str, str]) -> str:
    """As Cargo writes it into a crate that it publishes. A dependency may be given as `KEY:CRATE`."""
    text = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2024"\n\n[lib]\npath = "lib.rs"\n'
    for key, requirement in dependencies.items():
        key, _, package = key.partition(":")
        text += f'\n[dependencies.{key}]\nversion = "{requirement}"\n' + (f'package = "{package}"\n' if package else "")
    return text


class Server:
    """Answers each request with what `served` has for its path."""

    def __init__(self):
        self.served: dict[str, bytes] = {}
        served = self.served

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802
                content = served.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_):
                pass

        http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{http.server_port}"
        threading.Thread(target=http.serve_forever, daemon=True).start()


@dataclass
class Template:
    """What each test begins with: it is made once, because Cargo takes seconds."""

    # With the folders checkout, cargo (the home folder) and cache.
    folder: tempfile.TemporaryDirectory
    served: dict[str, bytes]
    index: dict[str, list[dict]]


@functools.cache
def server() -> Server:
    return Server()


class FakeRegistryTest(unittest.TestCase):
    """`self.root` is a checkout. The registry is this machine's, and Cargo's configuration leads to it."""

    template: Template | None = None

    def setUp(self):
        if FakeRegistryTest.template is None:
            FakeRegistryTest.template = self._make_template()
        template = FakeRegistryTest.template
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self._begin(Path(scratch.name).resolve(), Path(template.folder.name).resolve() / "cache")
        for folder in ("checkout", "cargo"):
            shutil.copytree(Path(template.folder.name, folder), self.scratch / folder)
        server().served.clear()
        server().served.update(template.served)
        self.index = dict(template.index)

    def _begin(self, scratch: Path, cache: Path):
        self.scratch = scratch
        self.root = scratch / "checkout"
        self.cargo_home = scratch / "cargo"
        environment = {"STROBE_CACHE_DIR": str(cache), "CARGO_HOME": str(self.cargo_home)}
        # The person may have variables for Cargo.
        kept = {name: value for name, value in os.environ.items() if not name.startswith("CARGO_")}
        patch = mock.patch.dict(os.environ, {**kept, **environment}, clear=True)
        patch.start()
        self.addCleanup(patch.stop)

    def _make_template(self) -> Template:
        folder = tempfile.TemporaryDirectory()
        self._begin(Path(folder.name).resolve(), Path(folder.name).resolve() / "cache")
        server().served.clear()
        self.index: dict[str, list[dict]] = {}
        server().served["/index/config.json"] = json.dumps(
            {"dl": server().address + "/crates/{crate}-{version}"}
        ).encode()
        self.write_cargo_config(server().address)
        self.publish_servo("0.7.0", "0.26.4")
        self.publish_engine("153.3.0-1", "0.26.4")
        self._write_checkout()
        return Template(folder, dict(server().served), dict(self.index))

    def write_cargo_config(self, address: str):
        """The registry is at this address."""
        self.write(
            self.cargo_home / "config.toml",
            '[source.crates-io]\nreplace-with = "kept"\n\n'
            f'[source.kept]\nregistry = "sparse+{address}/index/"\n',
        )

    def publish(self, name: str, version: str, dependencies: dict[str, str], files: dict[str, str] | None = None):
        files = {"lib.rs": "", "Cargo.toml": manifest(name, version, dependencies), **(files or {})}
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as tar:
            for file, text in files.items():
                member = tarfile.TarInfo(f"{name}-{version}/{file}")
                member.size = len(text.encode())
                tar.addfile(member, io.BytesIO(text.encode()))
        server().served[f"/crates/{name}-{version}"] = archive.getvalue()
        keys = (key.partition(":") for key in dependencies)
        entry = {
            "name": name,
            "vers": version,
            "deps": [
                {
                    "name": key,
                    "req": requirement,
                    "features": [],
                    "optional": False,
                    "default_features": True,
                    "target": None,
                    "kind": "normal",
                    **({"package": package} if package else {}),
                }
                for (key, _, package), requirement in zip(keys, dependencies.values(), strict=True)
            ],
            "cksum": hashlib.sha256(archive.getvalue()).hexdigest(),
            "features": {},
            "yanked": False,
        }
        kept = [other for other in self.index.get(name, []) if other["vers"] != version]
        self._set_index(name, [*kept, entry])

    def publish_engine(self, version: str, bindings: str, files: dict[str, str] | None = None):
        """An engine, and the bindings for it, whose version is `bindings`."""
        plain = version.partition("-")[0]
        self.publish("mozjs_glue", plain, {})
        self.publish("mozjs_sys", version, {"mozjs_glue": f"={plain}"}, {**ENGINE_FILES, **(files or {})})
        self.publish("mozjs", bindings, {"mozjs_sys": f"={version}"})

    def publish_servo(self, version: str, bindings: str, script_lib: str = SCRIPT_LIB):
        script = {"js:mozjs": f"={bindings}"}
        self.publish("servo-script", version, script, {"lib.rs": script_lib, "dom.rs": "", "timers.rs": ""})
        lock = f'version = 4\n\n[[package]]\nname = "servo"\nversion = "{version}"\n'
        self.publish("servo", version, {"script:servo-script": f"={version}"}, {"Cargo.lock": lock})

    def yank(self, name: str, version: str):
        entries = self.index[name]
        self._set_index(name, [{**entry, "yanked": entry["yanked"] or entry["vers"] == version} for entry in entries])

    def _set_index(self, name: str, entries: list[dict]):
        self.index[name] = entries
        text = "".join(json.dumps(entry) + "\n" for entry in entries)
        server().served[f"/index/{name[:2]}/{name[2:4]}/{name}"] = text.encode()

    def write(self, path: Path, text: str):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _write_checkout(self):
        components = self.root / "components"
        for file, text in {
            "Cargo.toml": WORKSPACE,
            "README.md": "Made with mozjs 0.26.4.\nNot with 0.26.40.\n",
            "components/js_profiler/Cargo.toml": PROFILER,
            "components/js_profiler/lib.rs": "",
            "components/js_profiler/spidermonkey/glue.h": '#include "js/Value.h"\n',
            "components/js_profiler/spidermonkey/glue.cpp": '#include "glue.h"\n#include "mozilla/Vector.h"\n'
            '#include "vm/Ours.h"\n',
            "components/js_profiler/spidermonkey/walk_calls.toml": WALK_CALLS,
            "components/mozjs_sys/mozjs/js/src/vm/Ours.h": "",
            "upstream/Cargo.toml": PINS,
            "upstream/pins.rs": "",
            "tests/apart/Cargo.toml": APART,
            "tests/apart/lib.rs": "",
        }.items():
            self.write(self.root / file, text)
        self.write(components / "mozjs_sys" / upstream.HOOKS, self._hooks(ENGINE_FILES, ENGINE_HOOKS))
        published = manifest("servo-script", "0.7.0", {"js:mozjs": "=0.26.4"})
        ours = published + '\n[dependencies.js_profiler]\nversion = "0.1.0"\n'
        script = {"lib.rs": SCRIPT_LIB, "Cargo.toml": published}
        hooked = {"lib.rs": SCRIPT_LIB + "mod profiler;\n", "Cargo.toml": ours}
        self.write(components / "script" / upstream.HOOKS, self._hooks(script, hooked))
        for package in ("upstream", "tests/apart"):
            self.cargo("generate-lockfile", package)
        self.prepare()
        self.cargo("generate-lockfile", "")

    def _hooks(self, files: dict[str, str], edited: dict[str, str]) -> str:
        """The hook file that edits these files of a crate."""
        with tempfile.TemporaryDirectory() as scratch:
            trees = [Path(scratch, "pristine"), Path(scratch, "edited")]
            for tree, texts in zip(trees, (files, {**files, **edited}), strict=True):
                for file, text in texts.items():
                    self.write(tree / file, text)
            return upstream.make_hooks(*trees)

    def cargo(self, command: str, package: str):
        """Runs Cargo for a package. Only the workspace is built with the configuration that `prepare` writes."""
        arguments = ["cargo", *command.split(), f"--manifest-path={self.root / package / 'Cargo.toml'}"]
        folder = self.root if package == "" else self.scratch
        result = subprocess.run(arguments, cwd=folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, 0, result.stderr)

    @property
    def lock(self) -> Path:
        return self.root / "upstream" / "Cargo.lock"

    def prepare(self):
        """What `./mach bootstrap` does to the upstream trees."""
        configuration = self.root / ".cargo" / "config.toml"
        upstream.prepare(lambda _: None, self.root / "components", self.lock, configuration)

    def crate(self, folder: str) -> upstream.UpstreamCrate:
        return upstream.crate_of(self.root / "components" / folder, self.lock)

    def contents(self) -> dict[str, bytes]:
        """Every file of the checkout. What `prepare` writes is none of it."""
        return {
            str(file.relative_to(self.root)): file.read_bytes()
            for file in sorted(self.root.rglob("*"))
            if file.is_file() and ".cargo" not in file.parts
        }
