"""Batches that tasks read which are at different places: each batch is all old or all new to each of them."""

from collections.abc import Collection, Iterator
from itertools import pairwise
from types import SimpleNamespace

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.batch_coalescer import BatchCoalescer
from streamapp_runtime.processor.decoding_input_source import split_batch
from streamapp_runtime.processor.task_assembly import AssembledTasks, InputRouting
from streamapp_runtime.rows.decoded_batch import DecodedBatch
from streamapp_runtime.state.checkpoint import InputPosition
from streamapp_systems.protocols import FetchedBatch, Message, MessageTuple

SSP = Ssp("log", "everywhere", 0)
END = 12


class Splitting:
    """Gives batches, split, with a row for each message."""

    def __init__(self, polls: list[FetchedBatch], starts: Collection[int]) -> None:
        self._polls, self._starts = iter(polls), starts

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        for fetched in self._polls:
            for part in split_batch(fetched, self._starts):
                numbers = [message.offset for message in part.messages]
                numbers += [] if part.rows is None else part.rows["n"].to_pylist()
                rows = pa.table({"n": pa.array(numbers, pa.int64())})
                yield DecodedBatch(ssp=SSP, next_offset=part.next_offset, rows=rows, ended=part.ended)


def fetched(begin: int, end: int, *, gaps: bool, messages: bool) -> FetchedBatch:
    numbers = [number for number in range(begin, end) if not gaps or number % 3]
    parts = (
        {"messages": MessageTuple(Message(offset=n, key=None, value=b"", timestamp=0) for n in numbers)}
        if messages
        else {"rows": pa.record_batch({"n": pa.array(range(begin, end), pa.int64())})}
    )
    return FetchedBatch(ssp=SSP, offset=begin, next_offset=end, ended=end == END, **parts)


@given(st.sets(st.integers(1, END - 1)), st.sets(st.integers(0, END)), st.booleans(), st.booleans())
def test_every_reader_finds_each_row_from_its_own_start_on(bounds, starts, gaps, messages):
    polls = [
        fetched(*bound, gaps=gaps and messages, messages=messages) for bound in pairwise([0, *sorted(bounds), END])
    ]
    batches = list(BatchCoalescer(Splitting(polls, starts), lambda: 0.0, {SSP: starts}).poll([SSP], 1_000, 0.0))
    for start in starts:
        taken = [batch.rows["n"].to_pylist() for batch in batches if batch.next_offset > start]
        wanted = [number for number in range(start, END) if not (gaps and messages) or number % 3]
        assert [number for numbers in taken for number in numbers] == wanted
    assert [batch.ended for batch in batches] == [*[False] * (len(batches) - 1), True]


@given(st.lists(st.integers(0, END), min_size=1))
def test_reading_begins_where_the_task_is_that_is_furthest_behind(offsets):
    tasks = [SimpleNamespace(positions={SSP: InputPosition(offset=offset, rows=0)}) for offset in offsets]
    for task in tasks:
        task.side_inputs = SimpleNamespace(positions={})
    routing = InputRouting(side_inputs={}, intermediate={}, inputs={})
    assembled = AssembledTasks(tasks=tuple(tasks), shared=SimpleNamespace(positions={}), routing=routing)
    assert assembled.positions[SSP].offset == min(offsets)
    assert assembled.later_starts.get(SSP, frozenset()) == set(offsets) - {min(offsets)}


def test_a_partition_waits_as_long_as_one_of_its_readers_does():
    def reader(offset: int, *, ungated: bool) -> SimpleNamespace:
        return SimpleNamespace(positions={SSP: InputPosition(offset=offset, rows=offset, ungated=ungated)})

    nothing = SimpleNamespace(positions={})
    routing = InputRouting(side_inputs={}, intermediate={}, inputs={})
    for waits, furthest in ((True, False), (False, True), (False, False)):
        behind, ahead = reader(10, ungated=not waits), reader(20, ungated=not furthest)
        for tasks in ((behind, ahead), (ahead, behind)):
            sides = tuple(SimpleNamespace(positions=task.positions, side_inputs=nothing) for task in tasks)
            position = AssembledTasks(tasks=sides, shared=nothing, routing=routing).positions[SSP]
            assert (position.offset, position.ungated) == (10, not waits and not furthest)
