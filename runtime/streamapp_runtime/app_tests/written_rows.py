"""The rows that an app has written in a test."""

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from streamapp_core.app_tests.app_test import DELETION
from streamapp_core.app_tests.compare_rows import ComparedRow
from streamapp_core.app_tests.tested_outputs import find_output
from streamapp_core.plan.plan import Plan, PlannedStream
from streamapp_core.spec.streams import CHANGE_COLUMN
from streamapp_runtime.app_streams import descriptor
from streamapp_runtime.app_tests.json_rows import compared_row, read_rows
from streamapp_runtime.errors import RuntimeFailure
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.file import partition_files
from streamapp_systems.file.file_chunks import UnreadableRow
from streamapp_systems.protocols import Message
from streamapp_systems.registry import Systems

_ROWS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    """A row as it was written; one that deletes may be nothing but a key."""

    row: ComparedRow | None
    key: bytes | None = None
    deletes: bool = False


def read_written(name: str, plan: Plan, systems: Systems) -> list[ComparedRow]:
    """Return the rows of an output: all of them, or of changes the newest row of each key that is not deleted.

    Raises:
        RuntimeFailure: it has a row that can't be read.
        StreamSystemError: it can't be read.
    """
    stream = plan.streams[name]
    written = _read_log(stream, plan, systems) if stream.system_kind.transactional else _read_files(stream, plan)
    output = find_output(name, plan)
    if output is None or output.key is None:
        return [found.row for found in written if found.row is not None]
    assert stream.schema is not None
    columns = [column.name for part in output.key if (column := stream.schema.get(part)) is not None]
    table: dict[object, _Written] = {}
    for found in written:
        if found.row is None:
            table = {identity: row for identity, row in table.items() if row.key != found.key}
            continue
        identity = found.row.key(columns)
        table.pop(identity, None)
        if not found.deletes:
            table[identity] = found
    return [found.row for found in table.values() if found.row is not None]


def _read_files(stream: PlannedStream, plan: Plan) -> Iterator[_Written]:
    system = plan.app.spec.systems[stream.system].file
    assert system is not None
    for path in partition_files(Path(system.path), descriptor(stream)):
        for line in path.read_bytes().splitlines(keepends=True):
            yield _written(stream, line)


def _read_log(stream: PlannedStream, plan: Plan, systems: Systems) -> Iterator[_Written]:
    described, system = descriptor(stream), plan.app.system(stream.system)
    with closing(systems.open_admin(stream.system, system)) as admin:
        ends = {ssp: end for ssp, end in admin.end_offsets([described]).items() if end}
    with closing(systems.open_consumer(stream.system, system, [described])) as consumer:
        consumer.assign(dict.fromkeys(ends, 0), ends)
        unread = set(ends)
        while unread:
            for batch in consumer.poll(sorted(unread), _ROWS, 0):
                for message in batch.messages:
                    yield _message(stream, message)
                if batch.ended:
                    unread.remove(batch.ssp)


def _message(stream: PlannedStream, message: Message) -> _Written:
    if message.value is None:
        return _Written(row=None, key=message.key, deletes=True)
    return _written(stream, message.value + b"\n", message.key)


def _written(stream: PlannedStream, line: bytes, key: bytes | None = None) -> _Written:
    assert stream.schema is not None
    (row,) = read_rows([line], arrow_schema(stream.schema), stream.time_zone)
    if isinstance(row, UnreadableRow):
        raise RuntimeFailure(f"{stream.name}: a row that was written can't be read: {row.reason}")
    deletes = json.loads(line).get(CHANGE_COLUMN) == DELETION
    return _Written(row=compared_row(row), key=key, deletes=deletes)
