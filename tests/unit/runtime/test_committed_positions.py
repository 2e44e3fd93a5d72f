"""The offsets below which the records of streams may be deleted."""

import json

import pytest

from streamapp_core.plan.planner import plan
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.maintenance import committed_positions
from streamapp_runtime.processor.processor_report import Incarnation, ProcessorReport
from support import apps


@pytest.fixture
def planned():
    document = apps.document(
        [
            {"name": "by-k", "from": "numbers", "partitionBy": {"key": "k"}},
            {"name": "to-all", "from": "numbers", "broadcast": {}},
            {"name": "sent", "from": "by-k", "sendTo": "out"},
            {"name": "all-sent", "from": "to-all", "sendTo": "all-out"},
        ],
        numbers={"schema": "k int"},
        **{"out": {}, "all-out": {}},
        job={"intermediateStreamPartitions": 2},
    )
    return plan(parse_text(json.dumps(document)), {"numbers": 2}).plan


def report(processor, committed):
    incarnation = Incarnation(processor=processor, epoch=1, version=1, number=1)
    return ProcessorReport(incarnation=incarnation, committed=committed)


def test_what_one_task_owns_has_been_read_as_far_as_anybody_ever_committed(planned):
    reports = {"0": report("0", {"by-k": {0: 7, 1: 1}}), "1": report("1", {"by-k": {1: 5}})}
    positions = committed_positions(planned, reports, ["0", "1", "2"])
    assert positions == {Ssp("log", "by-k", 0): 7, Ssp("log", "by-k", 1): 5}


def test_a_broadcast_stream_has_been_read_as_far_as_its_slowest_reader(planned):
    reports = {"0": report("0", {"to-all": {0: 7}}), "1": report("1", {"to-all": {0: 5}})}
    assert committed_positions(planned, reports, ["0", "1"]) == {Ssp("log", "to-all", 0): 5}


@pytest.mark.parametrize("other", [{}, {"1": report("1", {})}])
def test_of_a_broadcast_stream_nothing_is_known_before_all_have_reported(planned, other):
    reports = {"0": report("0", {"to-all": {0: 7}})} | other
    assert committed_positions(planned, reports, ["0", "1"]) == {}
