"""Columns that are folders in the paths of files, `dt=2024-05-01/hm=09%3A05/`, as Hive and Spark lay them out.

The text of a value is that of CSV files. Null and empty text have one folder, whose value is null when it is read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_systems.file.file_chunks import Chunk, FileFormat, UnreadableRow, type_name
from streamapp_systems.file.text_values import format_text, parse_text
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile(r"""[\x00-\x1f\x7f"#%'*/:=?\\{\[\]^]""")


def split_by_folders(rows: pa.Table, columns: Sequence[str], *, keep: bool = False) -> Iterator[tuple[str, pa.Table]]:
    """Yield the folder of some rows, relative to the stream's, and the rows, in their order, without its columns.

    With `keep` the rows keep the columns, and empty text is another value than null.
    """
    names = [_name(column, rows.schema) for column in columns]
    empty = "" if keep else NULL_FOLDER
    folders = pc.binary_join_element_wise(*(_folders(rows.column(name), name, empty) for name in names), "/")
    encoded = folders.dictionary_encode()
    places = encoded.indices.to_numpy()
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(np.bincount(places, minlength=len(encoded.dictionary)))
    others = rows if keep else rows.drop_columns(names)
    for folder, begin, end in zip(encoded.dictionary.to_pylist(), [0, *ends[:-1]], ends, strict=True):
        yield folder, others if len(ends) == 1 else others.take(pa.array(order[begin:end]))


@dataclass(frozen=True, slots=True)
class FolderColumns:
    """The reader of files some of whose columns are folders in their paths; see `FileFormat`."""

    files: FileFormat
    columns: tuple[str, ...]

    def count(self, path: Place) -> int:
        """See `FileFormat.count`."""
        return self.files.count(path)

    def read(self, path: Place, schema: pa.Schema, start: int) -> Iterator[Chunk]:
        """See `FileFormat.read`."""
        names = {_name(column, schema) for column in self.columns}
        values = {name: _read_value(path, schema.field(name)) for name in names}
        stored = pa.schema([field for field in schema if field.name not in names])
        for chunk in self.files.read(path, stored, start):
            if isinstance(chunk, UnreadableRow):
                yield chunk
                continue
            arrays = [
                pa.repeat(values[name], len(chunk)) if name in values else chunk.column(name) for name in schema.names
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _name(column: str, schema: pa.Schema) -> str:
    """Return the name of a column as the schema writes it."""
    return next(str(name) for name in schema.names if name.lower() == column.lower())


def _folders(values: pa.ChunkedArray, name: str, empty: str) -> pa.Array:
    """Return the folder of each value of a column; `empty` is what stands for empty text."""
    encoded = format_text(values.combine_chunks()).dictionary_encode()
    texts = [f"{_escape(name)}={_escape(text) or empty}" for text in encoded.dictionary.to_pylist()]
    folders = pa.array(texts, pa.string()).take(encoded.indices)
    return pc.fill_null(folders, f"{_escape(name)}={NULL_FOLDER}")


def _read_value(path: Place, field: pa.Field) -> pa.Scalar:
    """Return the value of a column in a path.

    Raises:
        StreamSystemError: no folder has it, or it is none of the column's type.
    """
    found = [
        value for part in path.parts[:-1] for name, _, value in [part.partition("=")] if unquote(name) == field.name
    ]
    if not found:
        raise StreamSystemError(
            f"{path} is in no folder `{field.name}=...`, and `folderColumns` says that column {field.name} is one. "
            "Move the file, or take the column from the list if it is in the file"
        )
    text = None if found[-1] == NULL_FOLDER else unquote(found[-1])
    try:
        return parse_text(pa.array([text], pa.string()), field.type)[0]
    except ValueError as error:
        raise StreamSystemError(
            f"{path}: the folder `{field.name}={found[-1]}` is no {type_name(field.type)}"
        ) from error


def _escape(text: str) -> str:
    if text == NULL_FOLDER:
        return f"%{ord(text[0]):02X}{text[1:]}"
    return _ESCAPED.sub(lambda found: f"%{ord(found[0]):02X}", text)
