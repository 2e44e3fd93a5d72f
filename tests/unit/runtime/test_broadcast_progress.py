"""Where new tasks of an app without state begin in streams that every task reads."""

import json
from contextlib import ExitStack
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control.control_snapshot import ControlSnapshot, SourceSnapshot
from streamapp_core.spec.job import OnBrokenClaim
from streamapp_core.spec.parse import parse_text
from streamapp_core.ssp import Ssp
from streamapp_runtime.driver.plan_run import plan_new_run
from streamapp_runtime.processor.broadcast_progress import continued_checkpoints, raise_starts, streams_read_for_others
from streamapp_runtime.processor.claim_checker import ClaimChecker
from streamapp_runtime.processor.connections import Connections
from streamapp_runtime.state.checkpoint import Checkpoint, InputPosition
from streamapp_systems.protocols import StreamSystemError
from streamapp_systems.registry import local_systems
from support.growth import HUB, Growing

WRITER = "Partition 0"
TASKS = [WRITER, "Partition 1", "Partition 2", "Partition 3"]
STREAMS = {"rates": SimpleNamespace(broadcast=True), "orders": SimpleNamespace(broadcast=False)}


def plan(*, stateful=False):
    return SimpleNamespace(stateful=stateful, streams=STREAMS)


def context(*, stateful=False):
    return SimpleNamespace(plan=plan(stateful=stateful), broadcast_writer=WRITER)


def checkpoint(offset: int) -> Checkpoint:
    """A checkpoint at one offset in all streams, whose watermarks are the offset, too."""
    control = ControlSnapshot(
        watermarks=dict.fromkeys(STREAMS, offset),
        intermediate=(),
        sources=tuple(
            SourceSnapshot(stream=name, partition=0, latest=offset, active_at=7, ended=offset == 9) for name in STREAMS
        ),
    )
    return Checkpoint(
        positions={name: {0: InputPosition(offset=offset, rows=offset, ungated=True)} for name in STREAMS},
        control=control.model_dump_json(),
        not_used={"rates": {"unreadable": 1}},
        written={"out": 5},
    )


CHECKPOINTS = st.fixed_dictionaries({}, optional={task: st.none() | st.integers(0, 9) for task in TASKS}).map(
    lambda offsets: {task: None if offset is None else checkpoint(offset) for task, offset in offsets.items()}
)


@given(CHECKPOINTS)
def test_a_new_task_takes_over_where_the_one_is_that_is_furthest_behind_in_broadcast_streams(checkpoints):
    continued = continued_checkpoints(context(), checkpoints)
    known = {task: own for task, own in checkpoints.items() if own is not None}
    assert {task: continued[task] for task in known} == known
    behind = min((own.positions["rates"][0].offset for own in known.values()), default=None)
    for task in checkpoints.keys() - known.keys():
        if behind is None or task == WRITER:
            assert task not in continued
        else:
            assert continued[task].positions == {"rates": {0: InputPosition(offset=behind, rows=behind, ungated=True)}}
            snapshot = continued[task].snapshot()
            assert snapshot.watermarks == {"rates": behind}
            assert [(source.stream, source.ended) for source in snapshot.sources] == [("rates", behind == 9)]
            assert (continued[task].written, continued[task].not_used) == ({}, {})


@given(CHECKPOINTS)
def test_tasks_of_an_app_with_state_need_all_there_was(checkpoints):
    known = {task: own for task, own in checkpoints.items() if own is not None}
    assert continued_checkpoints(context(stateful=True), checkpoints) == known


def test_what_is_read_without_effect_begins_with_what_is_still_there():
    model = SimpleNamespace(broadcast_writer=WRITER, tasks={WRITER: SimpleNamespace(processor="1")})
    assert streams_read_for_others(plan(), model, "0") == {"rates"}
    assert streams_read_for_others(plan(), model, "1") == frozenset()
    assert streams_read_for_others(plan(stateful=True), model, "0") == frozenset()
    starts = {"rates": {0: 5, 1: 5}, "orders": {0: 5}}
    oldest = {Ssp("log", "rates", 0): 8, Ssp("log", "rates", 1): 2}
    assert raise_starts(starts, oldest) == {"rates": {0: 8, 1: 5}, "orders": {0: 5}}
    assert raise_starts(starts, {}) == starts
    assert raise_starts({}, {Ssp("log", "shared", 1): 7}) == {"shared": {1: 7}}


class System:
    """A system whose only partition begins with an offset."""

    def __init__(self, oldest: int) -> None:
        self._oldest = oldest

    def open_admin(self, *_):
        return self

    def open_consumer(self, *_):
        return self

    def assign(self, *_):
        pass

    def start_offsets(self, streams):
        return {Ssp(HUB, stream.name, 0): self._oldest for stream in streams}

    def end_offsets(self, streams):
        return {Ssp(HUB, stream.name, 0): 100 for stream in streams}

    def close(self):
        pass


@pytest.mark.parametrize(("oldest", "missed"), [(0, False), (40, False), (41, True)])
def test_reading_from_the_oldest_record_for_a_new_task_does_not_hide_that_others_miss_some(tmp_path, oldest, missed):
    ssp = Ssp(HUB, "in", 0)
    text = json.dumps(Growing(tmp_path, {"log": {"path": "log.db"}}).document())
    planned = plan_new_run(parse_text(text), local_systems(tmp_path), "r1", "here").plan
    claims = ClaimChecker({}, OnBrokenClaim.FAIL, lambda: 0.0, Random(0))
    with ExitStack() as handles:
        connections = Connections(planned, System(oldest), handles)
        if missed:
            with pytest.raises(
                StreamSystemError, match=r"hub\.in\[0\]: reading is to go on at offset 40, .* that of 41"
            ):
                connections.inputs({ssp: 0}, {}, claims, {ssp: {40, 50}})
        else:
            connections.inputs({ssp: 0}, {}, claims, {ssp: {40, 50}})
