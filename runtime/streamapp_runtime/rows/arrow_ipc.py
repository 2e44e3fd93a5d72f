"""Batches of rows as bytes, for intermediate streams: one Arrow IPC stream with one record batch.

The schema travels with the batch, so that rows written under another plan are detected instead of misread.
"""

import pyarrow as pa

from streamapp_core.ssp import Ssp
from streamapp_runtime.errors import RuntimeFailure


def encode_rows(rows: pa.Table) -> bytes:
    """Encode rows (with their hidden event time) as one message."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as writer:
        writer.write_table(rows)
    data: bytes = sink.getvalue().to_pybytes()
    return data


def decode_rows(data: bytes, schema: pa.Schema, ssp: Ssp, offset: int) -> pa.Table:
    """Decode a message of `encode_rows`.

    Raises:
        RuntimeFailure: the bytes are no rows of this schema.
    """
    rows = _read(data, ssp, offset)
    if not rows.schema.equals(schema):
        raise RuntimeFailure(
            f"{ssp}, offset {offset}: the rows have columns ({_columns(rows.schema)}), the plan expects "
            f"({_columns(schema)}); they were written by another version of the app: start a new run id"
        )
    return rows


def decode_shared_rows(data: bytes, schema: pa.Schema, ssp: Ssp, offset: int) -> pa.Table:
    """Decode a message of `encode_rows` in another app: the columns of this schema, whatever others there are.

    Raises:
        RuntimeFailure: the bytes are no rows, or a column is missing or of another type.
    """
    rows = _read(data, ssp, offset)
    wrong = [field for field in schema if not _has(rows.schema, field)]
    if wrong:
        raise RuntimeFailure(
            f"{ssp}, offset {offset}: the rows have columns ({_columns(rows.schema)}), and none is "
            f"{', '.join(f'`{field.name} {field.type}`' for field in wrong)}: correct the schema in "
            f"spec.streams.{ssp.stream}, which need not name all that the other app writes"
        )
    return pa.Table.from_arrays(rows.select(schema.names).columns, schema=schema)


def _read(data: bytes, ssp: Ssp, offset: int) -> pa.Table:
    try:
        return pa.ipc.open_stream(data).read_all()
    except (pa.ArrowException, OSError) as error:
        raise RuntimeFailure(f"{ssp}, offset {offset}: no batch of rows in Arrow's format: {error}") from None


def _has(schema: pa.Schema, field: pa.Field) -> bool:
    return field.name in schema.names and schema.field(field.name).type == field.type


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
