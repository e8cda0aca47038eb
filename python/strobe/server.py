# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A local HTTP server for pages that may profile themselves and post their results."""

import queue
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

MIME_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".wasm": "application/wasm",
}
CHECKPOINT = "/checkpoint/"
ALLOWING_HEADERS = {"Document-Policy": "js-profiling"}
# In bytes. A trace of some minutes at 1 ms takes a few MB, so a larger post is an error of the page.
LARGEST_POST = 256 * 1024 * 1024


class PageServer:
    """Serves a folder on a free port of 127.0.0.1, to be used in a `with` statement.

    Documents have `document_headers`, which by default allow profiling. Bodies that a page posts to `inbox` (a path
    such as "/trace") are kept in `posts`, in order of arrival. A post to "/checkpoint/NAME" is answered when
    `at_checkpoint(NAME)` has returned, with the JSON text that it returns, if any. `generated` has functions that
    make the text of files, by their paths; these files come before those of the folder. `answers` has functions by
    path: each gets the body of a post and returns the JSON text of the answer.
    """

    def __init__(
        self,
        folder: Path,
        inbox: str,
        at_checkpoint: Callable[[str], str | None] | None = None,
        *,
        document_headers: dict[str, str] = ALLOWING_HEADERS,
        generated: dict[str, Callable[[], str]] | None = None,
        answers: dict[str, Callable[[bytes], str]] | None = None,
    ):
        self.posts: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        members = {
            "folder": folder.resolve(),
            "inbox": inbox,
            "posts": self.posts,
            "document_headers": document_headers,
            "generated": generated or {},
            "answers": answers or {},
        }
        if at_checkpoint is not None:
            members["at_checkpoint"] = staticmethod(at_checkpoint)
        handler = type("Handler", (_Handler,), members)
        self._server = _Server(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        # A page may go away before it gets its answer.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    folder: Path
    inbox: str
    posts: queue.SimpleQueue
    at_checkpoint: Callable[[str], str | None] | None = None
    document_headers: dict[str, str]
    generated: dict[str, Callable[[], str]]
    answers: dict[str, Callable[[bytes], str]]

    # The connection stays open between a document and its scripts.
    protocol_version = "HTTP/1.1"
    server_version = "mach"

    def do_GET(self):
        self._serve(send_body=True)

    def do_HEAD(self):
        self._serve(send_body=False)

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > LARGEST_POST:
            # The unread body must not be taken for the next request.
            self.close_connection = True
            self._respond(HTTPStatus.REQUEST_ENTITY_TOO_LARGE if length.isdecimal() else HTTPStatus.LENGTH_REQUIRED)
            return
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            # The browser was killed before it had sent all of it.
            self.close_connection = True
            return
        path = urlsplit(self.path).path
        if path == self.inbox:
            self.posts.put(body)
        elif path.startswith(CHECKPOINT) and self.at_checkpoint is not None:
            answer = self.at_checkpoint(path.removeprefix(CHECKPOINT))
            if answer is not None:
                self._respond(HTTPStatus.OK, answer.encode(), {"Content-Type": MIME_TYPES[".json"]})
                return
        elif answer := self.answers.get(path):
            self._respond(HTTPStatus.OK, answer(body).encode(), {"Content-Type": MIME_TYPES[".json"]})
            return
        else:
            self._respond(HTTPStatus.NOT_FOUND)
            return
        self._respond(HTTPStatus.NO_CONTENT)

    def _serve(self, send_body: bool):
        path = unquote(urlsplit(self.path).path).lstrip("/")
        if generate := self.generated.get(f"/{path}"):
            self._respond(HTTPStatus.OK, generate().encode(), self._content_headers(Path(path)), send_body)
            return
        file = (self.folder / (path or "index.html")).resolve()
        if not file.is_relative_to(self.folder) or not file.is_file():
            self._respond(HTTPStatus.NOT_FOUND)
            return
        self._respond(HTTPStatus.OK, file.read_bytes(), self._content_headers(file), send_body)

    def _content_headers(self, file: Path) -> dict[str, str]:
        own = self.document_headers if file.suffix == ".html" else {}
        return {"Content-Type": MIME_TYPES.get(file.suffix, "application/octet-stream"), **own}

    def _respond(self, status: HTTPStatus, body: bytes = b"", headers: dict | None = None, send_body: bool = True):
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Cache-Control", "no-store")
        if status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if send_body and body:
            self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing, because a person wants to see the browser's console messages."""
