"""Polls put together: nothing is lost, the order in a partition stays, and a backlog makes large batches."""

from collections.abc import Collection, Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.control.messages import Watermark
from streamapp_core.ssp import Ssp
from streamapp_runtime.processor.batch_coalescer import BatchCoalescer
from streamapp_runtime.rows.decoded_batch import DecodedBatch

SSPS = [Ssp("k", "s", partition) for partition in range(2)]
MANY, ALL = 20_000, 1_000_000


def part(partition: int, first: int, rows: int, *, control: bool = False, column: str = "n") -> DecodedBatch:
    mark = Watermark(timestamps=(("t", first),), task_count=1, idle=False, version=1)
    return DecodedBatch(
        ssp=SSPS[partition],
        next_offset=first + rows,
        rows=pa.table({column: range(first, first + rows)}) if rows else None,
        controls=(mark,) if control else (),
        not_used={"unreadable": 1} if control else {},
        bad_rows=("bad",) if control else (),
    )


class Polls:
    """Gives what each poll brings; nothing once all have been given."""

    def __init__(self, polls: list[list[DecodedBatch]]) -> None:
        self._polls = iter(polls)
        self.timeouts: list[float] = []

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        self.timeouts.append(timeout)
        yield from next(self._polls, [])


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(st.lists(st.lists(st.tuples(st.integers(0, 1), st.sampled_from([0, 3, MANY]), st.booleans()), max_size=3)))
def test_all_parts_of_a_partition_come_in_their_order(sizes: list[list[tuple[int, int, bool]]]) -> None:
    ends = [0, 0]
    polls = []
    for poll in sizes:
        polls.append([part(number, ends[number], rows, control=control) for number, rows, control in poll])
        for decoded in polls[-1]:
            ends[SSPS.index(decoded.ssp)] = max(decoded.next_offset, ends[SSPS.index(decoded.ssp)])
            assert decoded.rows is None or decoded.next_offset >= len(decoded.rows)
    gathering = BatchCoalescer(Polls(polls), Clock())
    emitted = [decoded for _ in range(len(polls) + 1) for decoded in gathering.poll(SSPS, ALL, 0.0)]
    for ssp in SSPS:
        wanted = [decoded for poll in polls for decoded in poll if decoded.ssp == ssp]
        found = [decoded for decoded in emitted if decoded.ssp == ssp]
        assert _numbers(found) == _numbers(wanted)
        assert [c for d in found for c in d.controls] == [c for d in wanted for c in d.controls]
        assert sum(d.not_used.get("unreadable", 0) for d in found) == sum(len(d.bad_rows) for d in wanted)
        assert [d.next_offset for d in found][-1:] == [d.next_offset for d in wanted][-1:]


def practised(polls: Polls) -> BatchCoalescer:
    """Give one that takes large batches, since the first two took no time."""
    gathering = BatchCoalescer(Polls([[part(0, 0, MANY)]] * 2), Clock())
    for _ in range(2):
        assert len(list(gathering.poll(SSPS, ALL, 0.0))) == 1
    gathering._inputs = polls
    return gathering


def test_a_backlog_comes_at_once_and_few_rows_without_a_wait_for_more() -> None:
    backlog = Polls([[part(0, 0, MANY)], [part(0, MANY, MANY), part(1, 0, 1)], [part(1, 1, 1)]])
    first = list(practised(backlog).poll(SSPS, ALL, 0.5))
    assert [(decoded.ssp, decoded.next_offset) for decoded in first] == [(SSPS[0], 2 * MANY), (SSPS[1], 2)]
    assert backlog.timeouts == [0.5, 0.0, 0.0]


def test_rows_with_other_columns_stay_apart() -> None:
    gathering = practised(Polls([[part(0, 0, MANY)], [part(0, MANY, 1, column="m")]]))
    assert [decoded.next_offset for decoded in gathering.poll(SSPS, ALL, 0.0)] == [MANY, MANY + 1]


class Rows:
    """As many rows as are asked for, and no end of them."""

    def __init__(self) -> None:
        self.asked = 0

    def poll(self, ssps: Collection[Ssp], max_rows: int, timeout: float) -> Iterator[DecodedBatch]:
        self.asked += max_rows
        yield part(0, 0, max_rows)


@pytest.mark.parametrize("seconds_a_row", [1e-5, 1e-3, 1e-2])
def test_batches_take_about_two_seconds_however_long_a_row_takes_and_none_takes_much_longer(seconds_a_row) -> None:
    clock, rows = Clock(), Rows()
    gathering = BatchCoalescer(rows, clock)
    taken = []
    for _ in range(10):
        before = rows.asked
        list(gathering.poll(SSPS, ALL, 0.0))
        taken.append((rows.asked - before) * seconds_a_row)
        clock.now += taken[-1]
    assert max(taken) <= 10.0
    assert taken[-1] == pytest.approx(2.0, rel=0.1)


def test_batches_shrink_when_rows_take_longer_than_before() -> None:
    clock, rows = Clock(), Rows()
    gathering = BatchCoalescer(rows, clock)
    sizes = []
    for seconds in [0.1] * 4 + [100.0] * 6:
        before = rows.asked
        list(gathering.poll(SSPS, ALL, 0.0))
        sizes.append(rows.asked - before)
        clock.now += seconds
    assert sizes[:4] == sorted(sizes[:4])
    assert sizes[3] > 100 * sizes[0]
    assert sizes[-1] <= sizes[0]


def _numbers(parts: list[DecodedBatch]) -> list[int]:
    return [number for decoded in parts if decoded.rows is not None for number in decoded.rows.column(0).to_pylist()]
