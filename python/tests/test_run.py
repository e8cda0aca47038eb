# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

import contextlib
import http.client
import io
import json
import math
import socket
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
from pathlib import Path
from unittest import mock

from strobe import run
from strobe.errors import MachError
from strobe.server import PageServer

FAKE_BROWSER = str(Path(__file__).with_name("fake_browser.py"))
TRACE = {"resources": [], "frames": [{"name": "sort"}], "stacks": [{"frameId": 0}], "samples": []}
RESULT = {"trace": TRACE, "sampleInterval": 2, "requestedInterval": 2.5}
# Long enough for any machine to start Python.
BOUND = 60.0


class DemoTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.saved = Path(scratch.name) / "target" / "demo-trace.json"

    def demo(self, body, *flags: str, bound: float = BOUND) -> str:
        body = body if isinstance(body, str) else json.dumps(body)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            run.demo(Path(sys.executable), [FAKE_BROWSER, "/trace", body, *flags], self.saved, bound)
        return output.getvalue()

    def check_error(self, message: str, *arguments, **options):
        with self.assertRaisesRegex(MachError, message):
            self.demo(*arguments, **options)

    def test_the_trace_is_saved(self):
        self.assertEqual(self.demo(RESULT), "")
        self.assertEqual(json.loads(self.saved.read_text()), TRACE)

    def test_the_report_is_the_browsers(self):
        with self.assertRaisesRegex(MachError, "^/nowhere/strobe: cannot be run: No such file or directory"):
            run.print_report(Path("/nowhere/strobe"), self.saved)
        with self.assertRaisesRegex(MachError, "^/bin/false report --from=trace .*json failed with status 1$"):
            run.print_report(Path("/bin/false"), self.saved)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            run.print_report(Path("/bin/true"), self.saved)
        self.assertIn("demo-trace.json", output.getvalue())

    def test_a_page_that_could_not_be_profiled(self):
        self.check_error("the demo page could not be profiled: SecurityError: no", {"error": "SecurityError: no"})

    def test_what_is_no_result(self):
        self.check_error("^what the demo page posted is not JSON: ", "{")
        self.check_error("^what the demo page posted is not a JSON object$", [1])
        self.check_error("^the demo page posted no trace$", {"sampleInterval": 1})

    def test_browsers_that_fail(self):
        self.check_error("^the browser failed with status 3$", RESULT, "--status", "3")
        self.assertTrue(self.saved.exists(), "what came is kept")
        self.check_error("^the browser failed with status 3 before the page's result$", "", "--status", "3")
        self.check_error("^the browser ended before /index.html posted its result", "")

    def test_a_browser_that_does_not_end_is_ended(self):
        results = []
        with run.PageServer(run.DEMO, inbox="/trace") as server:
            arguments = [FAKE_BROWSER, "/trace", "{}", "--stay"]
            run.visit(Path(sys.executable), arguments, server, "/index.html", results.append, BOUND, ends=False)
        self.assertEqual(results, [b"{}"])

    def test_the_bound(self):
        self.check_error("index.html did not post its result within 0 s$", "", "--stay", bound=0.5)
        # However long the browser takes to start, the time passes when its result has come.
        clock = mock.Mock(monotonic=lambda: math.inf if self.saved.exists() else 0.0)
        with mock.patch.object(run, "time", clock):
            self.check_error(f"posted its result, but the browser did not end within {BOUND:.0f} s$", RESULT, "--stay")

    def test_a_browser_that_is_not_there(self):
        with self.assertRaisesRegex(MachError, "^/nowhere/strobe: cannot be run: No such file or directory"):
            run.demo(Path("/nowhere/strobe"), [], self.saved)


class ReadJsonTest(unittest.TestCase):
    def test_text(self):
        self.assertEqual(run.read_json(b'{"a": 1}', "it"), {"a": 1})
        with self.assertRaisesRegex(MachError, "^it is not JSON: Expecting"):
            run.read_json(b"{", "it")
        with self.assertRaisesRegex(MachError, "^it is not JSON: NaN is not a JSON number$"):
            run.read_json(b"[NaN]", "it")


class ServerTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        folder = Path(scratch.name) / "pages"
        folder.mkdir()
        (folder / "index.html").write_text("<p>")
        (folder / "a b.js").write_text("1")
        (folder.parent / "secret.html").write_text("no")
        self.server = PageServer(folder, "/inbox")
        self.enterContext(self.server)

    def get(self, path: str):
        with urllib.request.urlopen(self.server.origin + path) as response:
            return response.read(), response.headers

    def test_a_document_may_profile(self):
        for path in ("/", "/index.html?pairs=3"):
            body, headers = self.get(path)
            self.assertEqual(body, b"<p>")
            self.assertEqual(headers["Document-Policy"], "js-profiling")
            self.assertEqual(headers["Content-Type"], "text/html; charset=utf-8")
            self.assertEqual(headers["Cache-Control"], "no-store")

    def test_a_script(self):
        body, headers = self.get("/a%20b.js")
        self.assertEqual((body, headers["Content-Type"]), (b"1", "text/javascript; charset=utf-8"))
        self.assertIsNone(headers["Document-Policy"])

    def test_other_headers_and_generated_scripts(self):
        texts = iter(("first", "second"))
        headers = {"Permissions-Policy": "js-profiling=(self)"}
        generated = {"/made/up.js": lambda: next(texts), "/made.html": lambda: "<b>", "/index.html": lambda: "<i>"}
        answer = {"time": "1.5", "none": None}.__getitem__
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (folder / "index.html").write_text("<p>")
        server = PageServer(folder, "/inbox", answer, document_headers=headers, generated=generated)
        self.server = self.enterContext(server)
        _, headers = self.get("/")
        self.assertEqual(headers["Permissions-Policy"], "js-profiling=(self)")
        self.assertIsNone(headers["Document-Policy"])
        for text in (b"first", b"second"):
            body, headers = self.get("/made/up.js?3")
            self.assertEqual((body, headers["Content-Type"]), (text, "text/javascript; charset=utf-8"))
            self.assertIsNone(headers["Permissions-Policy"])
        # One of the folder's name comes before the folder's.
        for path, text in (("/made.html", b"<b>"), ("/index.html", b"<i>")):
            body, headers = self.get(path)
            self.assertEqual((body, headers["Content-Type"]), (text, "text/html; charset=utf-8"))
            self.assertEqual(headers["Permissions-Policy"], "js-profiling=(self)")
        for name, status, body in (("time", 200, b"1.5"), ("none", 204, b"")):
            request = urllib.request.Request(f"{server.origin}/checkpoint/{name}", b"", method="POST")
            with urllib.request.urlopen(request) as response:
                self.assertEqual((response.status, response.read()), (status, body))

    def test_nothing_outside_the_folder(self):
        for path in ("/../secret.html", "/%2e%2e/secret.html", "/missing.html"):
            with self.assertRaises(urllib.error.HTTPError) as caught:
                self.get(path)
            self.assertEqual(caught.exception.code, 404)
            caught.exception.close()

    def test_posts(self):
        connection = http.client.HTTPConnection(self.server.origin.removeprefix("http://"))
        self.addCleanup(connection.close)
        for path, status in (("/inbox", 204), ("/elsewhere", 404), ("/inbox", 204)):
            connection.request("POST", path, body=path.encode())
            with connection.getresponse() as response:
                self.assertEqual(response.status, status)
                response.read()
        self.assertEqual([self.server.posts.get_nowait(), self.server.posts.get_nowait()], [b"/inbox", b"/inbox"])
        self.assertTrue(self.server.posts.empty())

    def test_a_post_that_is_cut_off(self):
        host, port = self.server.origin.removeprefix("http://").split(":")
        for sent in (b"", b"ha"):
            with socket.create_connection((host, int(port)), timeout=BOUND) as connection:
                connection.sendall(b"POST /inbox HTTP/1.1\r\nContent-Length: 4\r\n\r\n" + sent)
                connection.shutdown(socket.SHUT_WR)
                self.assertEqual(connection.recv(100), b"")
        self.assertTrue(self.server.posts.empty())
