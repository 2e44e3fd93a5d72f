"""What the page of `streamapp dev` answers; a browser shows it in tests/integration/test_dev_page.py."""

import json
import urllib.error
import urllib.request
from contextlib import contextmanager

import msgspec
import pytest

from streamapp_cli.dev_page import PagePrinter
from streamapp_runtime.errors import RuntimeFailure
from support.dev_pages import PLAN, ROWS, SUMMARY, dev_page
from support.plan_documents import accepted, document, planned


class Printed:
    """Keeps what is printed."""

    def __init__(self):
        self.said = []

    @contextmanager
    def follow(self):
        yield lambda summary: self.said.append(("progress", summary))

    def __getattr__(self, name):
        return lambda value: self.said.append((name, value))


def ask(page, path, host=None):
    with page.serve(0) as server:
        request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}")
        if host is not None:
            request.add_header("Host", host)
        with urllib.request.urlopen(request) as answer:
            return answer.read()


def state(page):
    return json.loads(ask(page, "/state"))


def test_it_shows_the_plan_and_the_run():
    page, printed = dev_page(), Printed()
    printer = PagePrinter(printed, page)
    page.show_plan(PLAN, PLAN)
    with printer.follow() as listener:
        listener(SUMMARY)
        shown = state(page)
    assert (shown["app"], shown["message"]) == ("app", "runs")
    assert [node["name"] for node in shown["figure"]["nodes"]] == ["in", "out", "large", "o"]
    assert shown["figure"]["edges"][0]["type"] == "hashed(k), append"
    assert shown["run"]["streams"]["in"]["heldBack"] == "partition 2 since 1970-01-01 00:00:00"
    assert shown["run"]["written"] == {"out": 17}
    assert shown["run"]["told"][0] == "in: 3 rows not used (a bad record)"
    assert printed.said == [("progress", SUMMARY)]


def test_it_shows_how_a_run_ends_and_prints_it():
    page, printed = dev_page(), Printed()
    printer = PagePrinter(printed, page)
    printer.fail("no broker")
    assert state(page)["message"] == "no broker"
    printer.stop("waits")
    assert state(page)["message"] == "waits"
    printer.complete(SUMMARY)
    assert state(page)["message"] == "completed in 2.0 s"
    assert printed.said == [("fail", "no broker"), ("stop", "waits"), ("complete", SUMMARY)]


def test_problems_are_shown_until_there_is_a_plan():
    page = dev_page()
    refused = planned(document([{"name": "o", "from": "in", "sendTo": "out"}], streams={"in": "k string"}))
    PagePrinter(Printed(), page).refuse(refused.problems)
    assert [problem["path"] for problem in state(page)["problems"]] == ["spec.operators[0].sendTo"]
    page.show_plan(PLAN, PLAN)
    assert state(page)["problems"] == []


def test_rows_of_a_stream_are_sampled():
    page = dev_page()
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(page, "/rows?stream=in")
    page.show_plan(PLAN, PLAN)
    assert json.loads(ask(page, "/rows?stream=in")) == {"rows": ROWS["in"]}


def test_rows_of_an_operator_are_those_of_its_stream_in_a_sample():
    page = dev_page(lambda plan, stream: [{"row": {"of": [plan.run_id, stream]}}])
    operators = [{"name": "o", "from": "in", "sendTo": "out"}]
    run = accepted(document(operators, streams={"in": "k int", "out": {}}, runId="s"))
    page.show_plan(PLAN, run, sampled=True)
    assert json.loads(ask(page, "/rows?stream=large")) == {"rows": [{"row": {"of": ["s", "large--rows"]}}]}
    assert json.loads(ask(page, "/rows?stream=in")) == {"rows": [{"row": {"of": ["s", "in"]}}]}
    assert {node["name"]: node["hasRows"] for node in state(page)["figure"]["nodes"]} == {
        "in": True,
        "out": True,
        "large": True,
        "o": False,
    }
    page.show_progress(msgspec.structs.replace(SUMMARY, written={"out": 17, "large--rows": 18}))
    assert state(page)["run"]["written"] == {"out": 17, "large": 18}


def test_a_stream_that_can_not_be_read_is_told():
    def sample(_, stream):
        raise RuntimeFailure(f"app has no stream {stream}")

    page = dev_page(sample)
    page.show_plan(PLAN, PLAN)
    with pytest.raises(urllib.error.HTTPError, match="404") as told:
        ask(page, "/rows?stream=other")
    assert json.loads(told.value.read()) == {"message": "app has no stream other"}
    told.value.close()


def test_it_tells_how_far_a_run_is_behind_the_ends_of_its_streams():
    page = dev_page()
    assert json.loads(ask(page, "/lag")) == {}
    page.show_plan(PLAN, PLAN)
    assert json.loads(ask(page, "/lag")) == {"in": 2_345}


def test_a_sample_is_behind_nothing():
    page = dev_page()
    page.show_plan(PLAN, PLAN, sampled=True)
    assert json.loads(ask(page, "/lag")) == {}


def test_a_lag_that_is_not_known_is_told():
    def lag(_):
        raise RuntimeFailure("there is no run")

    page = dev_page(lag=lag)
    page.show_plan(PLAN, PLAN)
    with pytest.raises(urllib.error.HTTPError, match="404") as told:
        ask(page, "/lag")
    assert json.loads(told.value.read()) == {"message": "there is no run"}
    told.value.close()


def test_pages_of_other_hosts_are_refused():
    for host in ("rebound.example", "rebound.example:8080", ""):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            ask(dev_page(), "/state", host)
    assert b"<!doctype html>" in ask(dev_page(), "/", "localhost:8080")
