"""Rows of which no test can tell whether they are late: that depends on what is read before them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.app_tests.app_test import AppTest, Step
from streamapp_core.app_tests.placed_rows import PlacedRow
from streamapp_core.plan.plan import Plan, PlannedOperator
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.base import format_duration
from streamapp_core.spec.operators import OperatorKind, ProcessOrder
from streamapp_runtime.app_tests.given_records import GivenRecord

PlacedRecords = Mapping[str, Sequence[Sequence[tuple[PlacedRow, GivenRecord | None]]]]
"""The rows of one phase with their records, by stream and partition."""

_TIMELESS = (
    OperatorKind.FILTER,
    OperatorKind.MAP,
    OperatorKind.FLAT_MAP,
    OperatorKind.MERGE,
    OperatorKind.PARTITION_BY,
    OperatorKind.BROADCAST,
    OperatorKind.JOIN_TABLE,
    OperatorKind.SEND_TO_TABLE,
    OperatorKind.SEND_TO,
)
"""Operators to which no row is late."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TimedRow:
    """A row with a time (ms), in its `place`, stream and partition, which allows disorder of `bound` ms.

    `reached` is the watermark of its partition before it, None without any, and `of_step` that before its phase. Its
    partition may be `idle` when the phase begins. `operators` drop it if it is late.
    """

    path: str
    place: tuple[str, int]
    time: int
    bound: int
    reached: int | None
    of_step: int | None
    idle: bool
    operators: tuple[str, ...]

    @property
    def raises_to(self) -> int | None:
        """The watermark that its partition has by it, None if it does not rise in this phase."""
        watermark = self.time - self.bound
        return watermark if self.of_step is None or watermark > self.of_step else None


def find_undecided_rows(test: AppTest, phases: Sequence[PlacedRecords], plan: Plan) -> Iterator[Problem]:
    """Yield the rows of a test that are late or not by what is read before them in their phase.

    These are rows behind the watermark of their own partition, or of an idle one, while others of their phase raise the
    watermark beyond them. Where operators drop no row, it is the same.
    """
    timed = {name: _timed_operators(name, plan) for name in plan.streams}
    latest: dict[tuple[str, int], int] = {}
    silent: dict[tuple[str, int], int] = {}
    for phase, placed in zip(test.phases, phases, strict=True):
        passed = phase.idle or 0 if isinstance(phase, Step) else 0
        rows: list[_TimedRow] = []
        for name, partitions in placed.items():
            timing = plan.streams[name].spec
            event_time = None if timing is None else timing.event_time
            bound = 0 if event_time is None else event_time.max_out_of_orderness
            timeout = None if event_time is None else event_time.idle_timeout
            for number, records in enumerate(partitions):
                place = name, number
                silent[place] = silent.get(place, 0) + passed
                idle = timeout is not None and silent[place] >= timeout
                of_step = reached = latest.get(place)
                for row, record in records:
                    silent[place] = 0
                    if record is None or record.time is None:
                        continue
                    rows.append(
                        _TimedRow(
                            path=row.path,
                            place=place,
                            time=record.time,
                            bound=bound,
                            reached=reached,
                            of_step=of_step,
                            idle=idle,
                            operators=timed[name],
                        )
                    )
                    reached = latest[place] = max(record.time - bound, -1 << 62 if reached is None else reached)
        yield from _undecided(rows)


def _undecided(rows: Sequence[_TimedRow]) -> Iterator[Problem]:
    for number, row in enumerate(rows):
        behind = row.reached is not None and row.time < row.reached
        if not row.operators or not (behind or row.idle):
            continue
        raising = [other for at, other in enumerate(rows) if _raises_beyond(other, at, row, number)]
        if raising:
            first = max(raising, key=lambda other: (other.place == row.place, other.time))
            yield Problem(path=row.path, code=ProblemCode.NOT_SUPPORTED, message=_explain(row, first))


def _raises_beyond(other: _TimedRow, at: int, row: _TimedRow, number: int) -> bool:
    """Return whether another row of the phase, which may be read before, raises its watermark beyond a row."""
    if (other.place == row.place and at >= number) or not set(other.operators) & set(row.operators):
        return False
    return other.raises_to is not None and other.raises_to > row.time


def _explain(row: _TimedRow, first: _TimedRow) -> str:
    allowed = format_duration(first.bound) if first.bound else "nothing"
    if row.place == first.place:
        return (
            f"the row is {format_duration(first.time - row.time)} before one above it, and `maxOutOfOrderness` allows "
            f"{allowed}: it depends on batches whether it is late for `{row.operators[0]}`, so no test can tell. "
            f"Put it in its order, into a later step (`then`), into another partition, or set "
            f"`spec.streams.{row.place[0]}.eventTime.maxOutOfOrderness`"
        )
    return (
        f"it depends on whether {first.path} is read before it whether the row is late for `{row.operators[0]}`, so no "
        "test can tell. Put them into different steps (`then`)"
    )


def _timed_operators(name: str, plan: Plan) -> tuple[str, ...]:
    """Return the operators that a stream's rows reach and that drop late ones."""
    fed = _fed_streams(name, plan)
    return tuple(operator.name for operator in plan.operators.values() if fed & operator.streams and _timed(operator))


def _fed_streams(name: str, plan: Plan) -> set[str]:
    """Return a stream, and the intermediate streams that its rows come through."""
    fed, more = set[str](), {name}
    while more:
        fed |= more
        more = {stream for stream, sources in plan.feeding_streams.items() if sources & more} - fed
    return fed


def _timed(operator: PlannedOperator) -> bool:
    if operator.kind in _TIMELESS or any(isinstance(type_.changes, Upsert) for type_ in operator.input_types):
        return False
    if operator.kind is OperatorKind.PROCESS:
        return operator.order is ProcessOrder.EVENT_TIME
    dedup = operator.spec.dedup
    group = operator.spec.aggregate or operator.spec.top_n or dedup
    return group is None or group.ttl not in (None, "forever") or (dedup is not None and dedup.within is not None)
