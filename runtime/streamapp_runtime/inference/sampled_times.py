"""The event times of a sample: which column has them, and how far rows are out of their order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from streamapp_core.data_types import Column, DataType, TypeKind
from streamapp_core.inference.time_names import event_time_rank
from streamapp_core.inference.value_types import epoch_unit
from streamapp_core.spec.streams import JsonTimestamps
from streamapp_runtime.inference.source_sample import SourceSample
from streamapp_runtime.rows.event_time_column import add_event_time, event_times

_BOUNDS = tuple(
    seconds * 1_000
    for seconds in (1, 2, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 172_800, 604_800)
)
_DAY = 86_400_000
_WINDOWS = (1_000, 10_000, 60_000, 300_000, 3_600_000, 86_400_000)
_MOST_WINDOWS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledTimes:
    """The event times of the rows of a sample; times are milliseconds.

    No row is later than one before it, in its partition, by more than `disorder`. `missing` rows have no time; `span`
    is the time from the earliest to the latest.
    """

    path: str
    rows: int
    missing: int
    disorder: int
    span: int

    @property
    def bound(self) -> int:
        """The bound for rows that are out of order: twice the disorder of the sample, rounded up to a usual length."""
        wanted = 2 * self.disorder
        if wanted == 0:
            return 0
        return next((bound for bound in _BOUNDS if bound >= wanted), -(-wanted // _DAY) * _DAY)

    @property
    def window(self) -> int:
        """The length of windows of which the sample fills some."""
        return next((size for size in _WINDOWS if size * _MOST_WINDOWS >= self.span), _WINDOWS[-1])


def find_event_times(sample: SourceSample) -> SampledTimes | None:
    """Return the event times of a sample: of the column that most rows have, whose name says so most; None: of none."""
    found = [times for path in _paths(sample) if (times := _measure(sample, path)) is not None]
    return min(found, key=lambda times: (times.missing > 0, -event_time_rank(times.path), times.missing), default=None)


def _paths(sample: SourceSample) -> Iterator[str]:
    """Yield the columns, and the fields of structs, that event times can be in."""
    for column in sample.schema.columns:
        yield from _inside(column, "", sample)


def _inside(column: Column, before: str, sample: SourceSample) -> Iterator[str]:
    path = f"{before}{column.name}"
    if "." in column.name:
        return
    if column.type.kind is TypeKind.STRUCT:
        for part in column.type.fields:
            yield from _inside(part, f"{path}.", sample)
    elif _may_be_time(column.type, column.name, path, sample):
        yield path


def _may_be_time(kind: DataType, name: str, path: str, sample: SourceSample) -> bool:
    """Return whether values are moments: timestamps, or whole numbers that look like milliseconds since 1970."""
    if kind.kind is TypeKind.TIMESTAMP:
        return True
    if kind.kind is not TypeKind.BIGINT:
        return False
    numbers = [number for rows in sample.rows for number in _present(add_event_time(rows, (path,)))]
    return epoch_unit(name, numbers) is JsonTimestamps.MILLIS


def _present(rows: pa.Table) -> Sequence[int]:
    times, missing = event_times(rows)
    found: list[int] = times[~missing].tolist()
    return found


def _measure(sample: SourceSample, path: str) -> SampledTimes | None:
    partitions, missing = [], 0
    for rows in sample.rows:
        times, absent = event_times(add_event_time(rows, (path,)))
        partitions.append(times[~absent])
        missing += int(absent.sum())
    return _measured(path, partitions, missing) if any(map(len, partitions)) else None


def _measured(path: str, partitions: Sequence[np.ndarray], missing: int) -> SampledTimes:
    filled = [times for times in partitions if len(times)]
    behind = [int((np.maximum.accumulate(times) - times).max()) for times in filled]
    return SampledTimes(
        path=path,
        rows=sum(map(len, filled)),
        missing=missing,
        disorder=max(behind, default=0),
        span=max((int(times.max()) for times in filled), default=0) - min((int(t.min()) for t in filled), default=0),
    )
