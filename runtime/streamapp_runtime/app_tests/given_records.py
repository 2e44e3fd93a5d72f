"""The rows that a test gives to streams, as the records of these."""

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from streamapp_core.app_tests.app_test import TIME_FIELD
from streamapp_core.app_tests.placed_rows import PlacedRow
from streamapp_core.plan.plan import PlannedStream
from streamapp_core.plan.stream_types.stream_type import Upsert
from streamapp_core.problems import Problem, ProblemCode
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
