"""The rows of a Parquet file of a table, with the columns that are not in the file, or have another name there."""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from streamapp_systems.file.file_chunks import Chunk, UnreadableRow
from streamapp_systems.file.parquet_format import ParquetFormat
from streamapp_systems.objects import Place

_BATCH_ROWS = 16_384


def read_filled(
    path: Place, schema: pa.Schema, start: int, stored: Mapping[str, str], constants: Mapping[str, pa.Scalar]
) -> Iterator[Chunk]:
    """Read records, see `FileFormat.read`: `stored` has the names of columns in the file, `constants` the others."""
    columns = pa.schema([column.with_name(stored[column.name]) for column in schema if column.name in stored])
    for chunk in _stored(path, columns, start):
        if isinstance(chunk, UnreadableRow):
            yield chunk
            continue
        arrays = [
            chunk.column(stored[name]) if name in stored else pa.repeat(constants[name], chunk.num_rows)
            for name in schema.names
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _stored(path: Place, columns: pa.Schema, start: int) -> Iterator[Chunk]:
    if columns.names:
        yield from ParquetFormat().read(path, columns, start)
        return
    count = ParquetFormat().count(path)
    for first in range(start, count, _BATCH_ROWS):
        rows = min(_BATCH_ROWS, count - first)
        yield pa.RecordBatch.from_struct_array(pa.array([{}] * rows, pa.struct([])))
