# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""Stands in for the browser: `fake_browser.py INBOX BODY [--status N] [--stay] URL`.

It loads the page, posts BODY to INBOX (nothing if BODY is empty) and exits with the status, or never exits.
"""

import sys
import threading
import urllib.request
from urllib.parse import urljoin

inbox, body, *flags, url = sys.argv[1:]
with urllib.request.urlopen(url) as response:
    response.read()
if body:
    urllib.request.urlopen(urllib.request.Request(urljoin(url, inbox), body.encode(), method="POST")).close()
if "--stay" in flags:
    threading.Event().wait()
sys.exit(int(flags[flags.index("--status") + 1]) if "--status" in flags else 0)
