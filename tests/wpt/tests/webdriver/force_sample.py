# This Source Code Form is subject to the terms of the Mozilla Public
# License, v. 2.0. If a copy of the MPL was not distributed with this
# file, You can obtain one at https://mozilla.org/MPL/2.0/.

"""The Force Sample command: https://wicg.github.io/js-self-profiling/#force-sample"""

import json
import os

import pytest
import webdriver

PAGE = "http://{}:{}/_strobe/js-self-profiling/resources/sampled.html"


@pytest.fixture
def session():
    with open(os.environ["WDSPEC_CONFIG_FILE"], encoding="utf-8") as file:
        config = json.load(file)
    session = webdriver.Session(config["host"], config["port"], capabilities={"alwaysMatch": config["capabilities"]})
    session.start()
    session.url = PAGE.format(config["wptserve"]["browser_host"], config["wptserve"]["ports"]["http"][0])
    yield session
    session.end()


def force_sample(session):
    return session.send_session_command("POST", "forcesample", {})


def trace(session):
    return session.execute_script("return profiler.stop()")


def test_it_gives_null(session):
    assert force_sample(session) is None


def test_one_sample_for_each_command(session):
    for _ in range(5):
        force_sample(session)
    # The first sample was taken when the profiler began.
    assert len(trace(session)["samples"]) == 1 + 5


def test_samples_are_in_order_and_not_in_the_future(session):
    force_sample(session)
    force_sample(session)
    result = session.execute_script("return profiler.stop().then(trace => [trace, performance.now()])")
    began, first, second = (sample["timestamp"] for sample in result[0]["samples"])
    assert 0 < began <= first <= second <= result[1]


def test_a_sample_without_a_running_script_has_no_stack(session):
    force_sample(session)
    _, forced = trace(session)["samples"]
    assert "stackId" not in forced


def test_a_running_script_is_on_the_stack(session):
    session.execute_script("setTimeout(busy, 0, 1000)")
    for _ in range(30):
        force_sample(session)
    result = trace(session)
    assert "busy" in [frame["name"] for frame in result["frames"]]
    assert any("stackId" in sample for sample in result["samples"])


def test_a_stopped_profiler_is_not_sampled(session):
    trace(session)
    force_sample(session)
    entries = session.execute_script("return performance.getEntriesByType('profile').map(entry => entry.sampleCount)")
    assert entries == [1]


def test_a_page_without_profilers(session):
    session.url = "about:blank"
    assert force_sample(session) is None


def test_a_closed_window(session):
    kept = session.window_handle
    session.window_handle = session.new_window()
    session.window.close()
    with pytest.raises(webdriver.error.NoSuchWindowException):
        force_sample(session)
    session.window_handle = kept
    assert force_sample(session) is None


def test_a_session_that_is_not_there(session):
    real = session.session_id
    session.session_id = "not-there"
    with pytest.raises(webdriver.error.InvalidSessionIdException):
        force_sample(session)
    session.session_id = real
