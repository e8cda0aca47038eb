# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""./mach test-wpt: runs web-platform-tests, and our own tests in the same form, by the upstream runner.

Upstream's checkout is only read: the manifests, the configuration and the log are in target/wpt, the runner's
Python packages in the cache. Its server and the browser meet only on this machine. The runner gives the
browser a hosts file, so the names of its test domains need not resolve anywhere else.
"""

import hashlib
import os
import shutil
import socket
from pathlib import Path

from .. import build, paths, process
from ..errors import MachError
from ..lock import cache_lock
from ..setup.environments import ensure_environment
from ..tally import Tally
from .results import Results, compared, read_log

# The commit of upstream that is cloned if no checkout is named.
REPOSITORY = "https://github.com/web-platform-tests/wpt.git"
COMMIT = "dd54691426c23a08c6f4a0972b2c40965307e5ce"
# The folders that the runner needs, and those with the tests.
SPARSE_FOLDERS = (
    "common",
    "docs",
    "document-policy",
    "feature-policy",
    "fonts",
    "hr-time",
    "html/browsers/browsing-the-web/back-forward-cache/resources",
    "html/browsers/browsing-the-web/remote-context-helper/resources",
    "images",
    "interfaces",
    "js-self-profiling",
    "performance-timeline",
    "permissions-policy",
    "resources",
    "tools",
    "user-timing",
    "websockets",
)
# The ports of the runner's servers, as in its environment.py. Those for HTTP/3 are not started.
PORTS = {
    "http": (8000, 8001),
    "http-private": (8002,),
    "http-public": (8003,),
    "https": (8443, 8444),
    "https-private": (8445,),
    "https-public": (8446,),
    "ws": (8888,),
    "wss": (8889,),
    "h2": (9000,),
}

TESTS = paths.ROOT / "tests" / "wpt" / "tests"
METADATA = paths.ROOT / "tests" / "wpt" / "meta"
# The path at which the upstream server serves our own tests, and the folder of their expectations.
OWN_URL_BASE = "/_strobe/"
OWN_METADATA = METADATA / "_strobe"

OWN = str(TESTS.relative_to(paths.ROOT))
# The paths that `./mach test` runs.
FIRST_PATHS = ("js-self-profiling", OWN)
DEFAULT_PATHS = ("js-self-profiling", "performance-timeline", "user-timing", "hr-time", OWN)

RUNNER = Path(__file__).with_name("run_wptrunner.py")


def test_wpt(
    wanted: list[str], repeat: int = 1, log_options: list[str] = (), release: bool = False
) -> Tally:
    """Runs the tests below `wanted`, or the default ones, and prints totals per directory."""
    binary = build.build(release)
    checkout = find_or_clone()
    tests = included(wanted or DEFAULT_PATHS, checkout)
    results = run(binary, checkout, tests, repeat=repeat, log_options=log_options)
    print(f"\n{results.table()}\n")
    return results.tally()


def compare_base(wanted: list[str], base: Path | None = None, release: bool = False):
    """Runs the same tests on Servo without our hooks, and prints what is different on ours.

    MachError if something that passes there does not pass on ours.
    """
    binary, base = build.build_both(base, release)
    checkout = find_or_clone()
    tests = included(wanted or DEFAULT_PATHS, checkout)
    names = {"Servo": base, "Strobe": binary}
    before, after = (run(binary, checkout, tests, name=name) for name, binary in names.items())
    for name, results in zip(names, (before, after)):
        print(f"\n{name}\n{results.table()}")
    comparison = compared(before, after)
    print(f"\n{comparison.report()}")
    if comparison.lost:
        raise MachError(f"{len(comparison.lost)} results that pass on Servo do not pass on Strobe")


def available() -> bool:
    """Whether there is a checkout without fetching one."""
    return "WPT_DIR" in os.environ or _clone().exists()


# The checkout


def find_or_clone() -> Path:
    """The checkout that WPT_DIR names, or else our own in the cache."""
    if named := os.environ.get("WPT_DIR"):
        checkout = Path(named).resolve()
        if not (checkout / "tools" / "wptrunner").is_dir():
            raise MachError(f"WPT_DIR={named}: is not a checkout of web-platform-tests: it has no tools/wptrunner")
        return checkout
    with cache_lock("test-wpt"):
        checkout = _clone()
        if not checkout.exists():
            _make_clone(checkout)
    return checkout


def _clone() -> Path:
    return paths.cache_dir() / f"wpt-{COMMIT[:12]}"


def _make_clone(checkout: Path):
    """Clones beside the final place, and renames the clone when it is complete."""
    print(f"cloning {REPOSITORY} at {COMMIT[:12]}, {len(SPARSE_FOLDERS)} folders of it")
    scratch = checkout.with_name(checkout.name + ".partial")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(parents=True)
    try:
        for command in (
            ["git", "init", "--quiet"],
            ["git", "remote", "add", "origin", REPOSITORY],
            ["git", "sparse-checkout", "set", "--cone", *SPARSE_FOLDERS],
            ["git", "fetch", "--depth=1", "--filter=blob:none", "origin", COMMIT],
            ["git", "checkout", "--quiet", "--detach", "FETCH_HEAD"],
        ):
            process.run(command, cwd=scratch)
        scratch.rename(checkout)
    except MachError as error:
        raise MachError(
            f"web-platform-tests could not be cloned: {error}\nset WPT_DIR to a checkout that you have"
        ) from None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def included(wanted, checkout: Path) -> list[str]:
    """The runner's names of paths, which are relative to the checkout, or of our paths in tests/wpt/tests.

    It knows files and folders by their own paths, and tests that are generated from a file by their URLs.
    """
    result = []
    for path in wanted:
        path = path.removeprefix("./").strip("/")
        if path == OWN or path.startswith(OWN + "/"):
            root, url_base, inside = TESTS, OWN_URL_BASE, path.removeprefix(OWN).strip("/")
        elif f"/{path}/".startswith(OWN_URL_BASE):
            root, url_base, inside = TESTS, OWN_URL_BASE, path.removeprefix(OWN_URL_BASE.strip("/")).strip("/")
        else:
            root, url_base, inside = checkout, "/", path
        place = root / inside.partition("?")[0]
        # A whole root is named only by its URL.
        if inside and place.exists():
            result.append(str(root / inside))
        elif not inside or has_source(place):
            result.append(url_base + inside)
        else:
            raise MachError(f"{path}: neither in {root} nor a test that is generated from a file there")
    return result


def has_source(test: Path) -> bool:
    """Whether a test may be generated from a file: a.any.worker.html is generated from a.any.js."""
    stem = test.name.partition(".")[0]
    return test.parent.is_dir() and any(file.name.startswith(f"{stem}.") for file in test.parent.iterdir())


# The runner


def run(
    binary: Path,
    checkout: Path,
    tests: list[str],
    *,
    name: str = "",
    repeat: int = 1,
    log_options: list[str] = (),
) -> Results:
    """Runs the upstream runner to its end and reads its log. Its own lines go where ours go."""
    python = ensure_packages(checkout)
    # Its servers have ports of their own, which are the same in every checkout.
    with cache_lock("test-wpt", name="wpt-lock"):
        check_ports()
        return _run(python, binary, checkout, tests, name, repeat, log_options)


def check_ports():
    """Checks the ports first: the runner would report a port in use in sixty lines, and run no test."""
    for scheme, ports in PORTS.items():
        for port in ports:
            with socket.socket() as server:
                # The rest of a connection that was just closed does not block the port.
                server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    server.bind(("127.0.0.1", port))
                    server.listen()
                except OSError as error:
                    raise MachError(
                        f"port {port} of this machine, on which the tests' {scheme} server listens: {error.strerror}"
                    ) from None


def _run(
    python: Path, binary: Path, checkout: Path, tests: list[str], name: str, repeat: int, log_options: list[str]
) -> Results:
    folder = paths.target_dir() / "wpt"
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / f"{name or 'wpt'}.log.jsonl"
    log.unlink(missing_ok=True)
    certificates = checkout / "tools" / "certs"
    command = [
        str(python),
        "-P",
        str(RUNNER),
        str(checkout),
        "--product=servodriver",
        f"--binary={binary}",
        f"--config={write_configuration(folder, checkout)}",
        "--headless",
        # HTTP/3, which is not available here.
        "--no-enable-webtransport-h3",
        "--no-pause-after-test",
        f"--repeat={repeat}",
        "--ssl-type=pregenerated",
        f"--ca-cert-path={certificates / 'cacert.pem'}",
        f"--host-key-path={certificates / 'web-platform.test.key'}",
        f"--host-cert-path={certificates / 'web-platform.test.pem'}",
        f"--log-raw={log}",
        *(log_options or ["--log-mach=-", "--log-mach-level=warning"]),
        *tests,
    ]
    # The checkout may be read-only.
    environment = build.browser_environment() | {"PYTHONPYCACHEPREFIX": str(folder / "pycache")}
    status = process.stream(command, cwd=folder, env=environment, heartbeat=bool(log_options))
    results = read_log(log, OWN_URL_BASE) if log.exists() else Results()
    if not results.tests:
        raise MachError(f"the runner of web-platform-tests ran no test ({process.describe_status(status)})")
    # A runner that crashes may have the status of one with unexpected results.
    if results.begun or status not in (0, 1):
        left = f", and did not end {' and '.join(sorted(results.begun))}" if results.begun else ""
        raise MachError(
            f"the runner of web-platform-tests {process.describe_status(status) if status else 'ended'}{left}; its log "
            f"is {log}"
        )
    if status != 0 and not results.unexpected:
        raise MachError(
            f"the runner of web-platform-tests {process.describe_status(status)}, though every result is as expected"
        )
    return results


def write_configuration(folder: Path, checkout: Path) -> Path:
    """The roots of the tests and of their expectations. A manifest belongs to one checkout."""
    digest = hashlib.sha256(str(checkout).encode()).hexdigest()[:12]
    roots = {"/": (checkout, METADATA), OWN_URL_BASE: (TESTS, OWN_METADATA)}
    lines = ["[products]", "", "[web-platform-tests]"]
    for number, (url_base, (tests, metadata)) in enumerate(roots.items()):
        metadata.mkdir(parents=True, exist_ok=True)
        lines += [
            "",
            f"[manifest:{number}]",
            f"url_base = {url_base}",
            f"tests = {_escaped(tests)}",
            f"metadata = {_escaped(metadata)}",
            f"manifest = {_escaped(folder / f'MANIFEST-{digest}-{number}.json')}",
        ]
    configuration = folder / "wptrunner.ini"
    configuration.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return configuration


def _escaped(path: Path) -> str:
    """The text as configparser reads it."""
    return str(path).replace("%", "%%")


def ensure_packages(checkout: Path) -> Path:
    """A Python in the cache with the packages that the runner requires."""
    requirements = checkout / "tools" / "wptrunner" / "requirements.txt"
    # Type stubs are only for its developers.
    needed = [line for line in requirements.read_text().splitlines() if not line.startswith("types-")]
    return ensure_environment("wpt-python", needed) / "python"
