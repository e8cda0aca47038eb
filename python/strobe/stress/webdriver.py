# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""A WebDriver client with a limit on every wait: <https://w3c.github.io/webdriver/>."""

import http.client
import json
import threading
import time
from collections.abc import Callable

from ..errors import MachError
from ..slowness import scaled

RETRY_INTERVAL = 0.05
# Seconds that a connection waits. If the browser hangs, the watchdog notices it earlier.
CONNECTION_BOUND = 600.0

# Sends a request to the server of about:profiling, as its page does.
ASK = """
const token = document.querySelector("meta[name=profiling-token]").content;
return fetch(`profiling:${arguments[0]}token=${token}`).then((response) => response.json());
"""


class Driver:
    """A session. `attend` is called repeatedly while the driver waits for an answer, and may raise an exception."""

    def __init__(self, port: int, attend: Callable[[], None]):
        self.port = port
        self.attend = attend
        self.session = None
        self.tab = None

    def begin(self):
        """Begins a session, and opens about:profiling in its own tab."""
        self.session = self.command("POST", "/session", {"capabilities": {}})["sessionId"]
        self.page = self.get("/window")
        self.tab = self.post("/window/new", {"type": "tab"})["handle"]
        self.post("/window", {"handle": self.tab})
        self.post("/url", {"url": "about:profiling"})

    def ask(self, request: str) -> dict:
        """The answer of the server of about:profiling."""
        self.post("/window", {"handle": self.tab})
        return self.post("/execute/sync", {"script": ASK, "args": [request]})

    def force_sample(self):
        """Forces a sample of the first page."""
        self.post("/window", {"handle": self.page})
        self.post("/forcesample", {})

    def get(self, path: str):
        return self.command("GET", f"/session/{self.session}{path}", None)

    def post(self, path: str, parameters: dict):
        return self.command("POST", f"/session/{self.session}{path}", parameters)

    def command(self, method: str, path: str, parameters: dict | None):
        answers = []
        worker = threading.Thread(target=lambda: answers.append(self._exchange(method, path, parameters)), daemon=True)
        worker.start()
        while worker.is_alive():
            worker.join(RETRY_INTERVAL)
            self.attend()
        status, value = answers[0]
        if status is None:
            raise MachError(f"{method} {path}: {value}")
        if status != 200:
            raise Refused(f"{method} {path}: {value.get('error')}: {value.get('message')}")
        return value

    def _exchange(self, method: str, path: str, parameters: dict | None) -> tuple[int | None, object]:
        body = None if parameters is None else json.dumps(parameters)
        deadline = time.monotonic() + scaled(CONNECTION_BOUND)
        while True:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=scaled(CONNECTION_BOUND))
            try:
                connection.request(method, path, body, {"Content-Type": "application/json", "Connection": "close"})
                response = connection.getresponse()
                return response.status, json.loads(response.read())["value"]
            except ConnectionRefusedError as error:
                # The server is still starting.
                if self.session is not None or time.monotonic() > deadline:
                    return None, error
                time.sleep(RETRY_INTERVAL)
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                return None, error
            finally:
                connection.close()


class Refused(Exception):
    """A command was answered with an error."""
