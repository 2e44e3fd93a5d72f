"""The rows that a test gives to streams, as the records of these."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamapp_core.app_tests.app_test import TIME_FIELD
from streamapp_core.app_tests.placed_rows import PlacedRow
from streamapp_core.plan.plan import Plan, PlannedOperator, PlannedStream
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.base import format_duration
from streamapp_core.spec.operators import OperatorKind, ProcessOrder
from streamapp_core.spec.streams import CHANGE_COLUMN, StreamChanges
from streamapp_core.ssp import Ssp
from streamapp_runtime.app_streams import descriptor
from streamapp_runtime.app_tests.debezium_records import debezium_record
from streamapp_runtime.app_tests.json_rows import json_line, read_rows, value_problems
from streamapp_runtime.rows.partitioning import key_bytes
from streamapp_runtime.rows.record_keys import record_key
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file.file_chunks import UnreadableRow
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import TransactionOwner

_TIME = pa.field(TIME_FIELD, pa.timestamp("us", tz="UTC"))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
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
class GivenRecord:
    """A record of a stream; `time` is in milliseconds, None of a row without any."""

    value: bytes | None
    key: bytes | None
    time: int | None


def read_given(rows: Sequence[PlacedRow], stream: PlannedStream) -> tuple[list[GivenRecord | None], list[Problem]]:
    """Return the record of each row of a partition, and what is no row of the stream, whose record is None."""
    if stream.schema is None:
        return [None] * len(rows), []
    schema = arrow_schema(stream.schema)
    dated = schema.append(_TIME)
    records: list[GivenRecord | None] = []
    problems: list[Problem] = []
    lines = [_line(row) for row in rows]
    for placed, line, row in zip(rows, lines, read_rows(lines, dated, stream.time_zone), strict=True):
        if placed.unreadable is not None:
            records.append(GivenRecord(value=line, key=None, time=None))
            problems += [] if isinstance(row, UnreadableRow) else [_readable(placed)]
            continue
        problems += value_problems(placed, row, dated)
        if isinstance(row, UnreadableRow):
            records.append(None)
            continue
        (values,) = row.to_pylist()
        key, value = _key(row, stream), None if placed.deletes else line
        if stream.spec is not None and stream.spec.changes is StreamChanges.DEBEZIUM:
            key, value = debezium_record(json.loads(line), values, stream.spec, deletes=placed.deletes)
        records.append(GivenRecord(value=value, key=key, time=_time(values, stream)))
    return records, problems


def find_late_rows(
    rows: Sequence[PlacedRow], records: Sequence[GivenRecord | None], stream: PlannedStream, plan: Plan
) -> Iterator[Problem]:
    """Yield the rows of a partition that may be late, where operators drop such rows: batches decide on them."""
    fed = _fed_streams(stream.name, plan)
    timed = [operator.name for operator in plan.operators.values() if fed & operator.streams and _timed(operator)]
    event_time = None if stream.spec is None else stream.spec.event_time
    bound = 0 if event_time is None else event_time.max_out_of_orderness
    allowed = format_duration(bound) if bound else "nothing"
    latest = None
    for placed, record in zip(rows, records, strict=True) if timed else ():
        if record is None or record.time is None:
            continue
        if latest is not None and record.time < latest - bound:
            yield Problem(
                path=placed.path,
                code=ProblemCode.NOT_SUPPORTED,
                message=f"the row is {format_duration(latest - record.time)} before one above it, and "
                f"`maxOutOfOrderness` allows {allowed}: it depends on batches whether it is late for "
                f"`{timed[0]}`, so no test can tell. Put it in its order, into another partition, or set "
                f"`spec.streams.{stream.name}.eventTime.maxOutOfOrderness`",
            )
        latest = max(record.time, latest if latest is not None else record.time)


def write_stream(stream: PlannedStream, partitions: Sequence[Sequence[GivenRecord]], path: Path) -> None:
    """Write the records of a stream to a log, or to files below a folder, at `path`."""
    if not stream.system_kind.transactional:
        folder = path / stream.address
        folder.mkdir(parents=True)
        for number, records in enumerate(partitions):
            (folder / f"{number}.json").write_bytes(b"".join(record.value or b"" for record in records))
        return
    described = descriptor(stream)
    with closing(LogAdmin(path)) as admin:
        admin.create({described: len(partitions)})
    with closing(LogProducer(path, [described], TransactionOwner(id=f"given-{stream.name}", epoch=1))) as producer:
        for number, records in enumerate(partitions):
            for record in records:
                ssp = Ssp(stream.system, stream.name, number)
                producer.send(ssp, record.value, key=record.key, timestamp=record.time or 0)
        producer.commit()


def _line(row: PlacedRow) -> bytes:
    if row.unreadable is not None:
        return row.unreadable.encode() + b"\n"
    return json_line({name: value for name, value in row.row.items() if name != CHANGE_COLUMN})


def _readable(row: PlacedRow) -> Problem:
    text = f"`{row.unreadable}` is a row in JSON: give it as one, or write what is none, such as a word"
    return Problem(path=row.path, code=ProblemCode.INVALID_SPEC, message=text)


def _key(row: pa.Table, stream: PlannedStream) -> bytes | None:
    if not stream.key or not (stream.system_kind.transactional or isinstance(stream.type.changes, Upsert)):
        return None
    keys: list[bytes | None] = key_bytes(record_key(stream).values(row).combine_chunks(), stream.key_format).to_pylist()
    return keys[0]


def _time(row: Mapping[str, Any], stream: PlannedStream) -> int | None:
    event_time = None if stream.spec is None else stream.spec.event_time
    if event_time is None:
        found = row[TIME_FIELD] or (_EPOCH if stream.system_kind.transactional else None)
    else:
        found = next((time for path in event_time.columns if (time := _at(row, path)) is not None), None)
    return found if found is None or isinstance(found, int) else round((found - _EPOCH).total_seconds() * 1_000)


def _at(row: Mapping[str, Any], path: str) -> Any:  # noqa: ANN401 - a timestamp or a number
    """Return the value of a column, or of a field of structs, whatever the case of their names."""
    value: Any = row
    for name in [path] if path.lower() in map(str.lower, row) else path.split("."):
        value = None if value is None else {field.lower(): held for field, held in value.items()}.get(name.lower())
    return value


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
