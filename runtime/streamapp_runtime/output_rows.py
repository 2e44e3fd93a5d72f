"""The rows that the outputs of an app hold, as Arrow."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial

import pyarrow as pa

from streamapp_core.app_tests.tested_outputs import find_output
from streamapp_core.plan.plan import Plan, PlannedStream, StreamRole
from streamapp_core.spec.streams import StreamChanges
from streamapp_core.spec.systems import SystemKind
from streamapp_runtime.app_streams import output_descriptor
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.record_reader import RecordReader
from streamapp_runtime.rows.message_rows import MessageDecoder
from streamapp_runtime.stream_sample import stream_decoder
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.protocols import BadRecord, FetchedBatch
from streamapp_systems.registry import Systems

_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class _ReadRows:
    offset: int
    table: pa.Table


def read_output(name: str, plan: Plan, systems: Systems) -> pa.Table:
    """Return all rows that an output holds now, those of earlier runs and of other writers among them.

    Raises:
        RuntimeFailure: there is no such output, its rows change, or they are in no form that is read here.
        StreamSystemError: its system can't be read.
    """
    stream = _readable(name, plan)
    described, system = output_descriptor(stream), plan.app.system(stream.system)
    assert described.schema is not None
    schema = arrow_schema(described.schema)
    with closing(systems.open_admin(stream.system, system)) as admin:
        starts, ends = admin.start_offsets([described]), admin.end_offsets([described])
    decoder = stream_decoder(plan, stream, systems)
    reader = RecordReader(
        partial(systems.open_consumer, stream.system, system, [described]),
        lambda fetched: _tables(name, fetched, decoder),
        ends=ends,
        rows=_ROWS,
        bounded=True,
    )
    found = [read.table for _, read in reader.read({ssp: starts.get(ssp, 0) for ssp in ends})]
    return pa.concat_tables([schema.empty_table(), *(table.select(schema.names).cast(schema) for table in found)])


def _tables(name: str, fetched: FetchedBatch | BadRecord, decoder: MessageDecoder | None) -> Iterator[_ReadRows]:
    if isinstance(fetched, BadRecord):
        raise RuntimeFailure(f"{name}: a row can't be read: {fetched}") from fetched
    if fetched.rows is not None:
        yield _ReadRows(fetched.offset, pa.Table.from_batches([fetched.rows]))
    elif len(fetched.messages):
        assert decoder is not None
        decoded = decoder.decode(fetched.messages, fetched.ssp)
        if decoded.bad:
            raise RuntimeFailure(f"{name}: a row can't be read: {decoded.bad[0].reason}")
        yield _ReadRows(fetched.offset, decoded.rows)


def _readable(name: str, plan: Plan) -> PlannedStream:
    stream, output = plan.streams.get(name), find_output(name, plan)
    if stream is None or stream.spec is None or output is None:
        written = ", ".join(known for known, found in plan.streams.items() if found.role is StreamRole.OUTPUT)
        raise RuntimeFailure(f"{plan.app.metadata.name} has no output {name}; it writes {written}")
    elsewhere = stream.system_kind.grows or stream.system_kind is SystemKind.POSTGRESQL
    if elsewhere or plan.app.system(stream.system).url is not None:
        raise RuntimeFailure(f"{name} is written to {stream.address} in system {stream.system}: read it there")
    if output.schema is None or stream.schema is None:
        raise RuntimeFailure(f"{name} has rows of different columns: they are no table")
    if output.key is not None and stream.spec.changes is StreamChanges.APPEND:
        raise RuntimeFailure(
            f"the rows of {name} change, so what is written are changes, and no table: "
            + (
                f"set `changes` of {name} to `final` for the newest row of each key, or to `log` for all changes"
                if stream.system_kind is SystemKind.FILE
                else "write to a stream of files, with `changes` set to `final`, for the newest row of each key"
            )
        )
    return stream
