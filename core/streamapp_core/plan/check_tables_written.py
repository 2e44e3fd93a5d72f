"""Outputs that are tables: what is appended to a table, and what can't be."""

import re
from collections.abc import Iterator

from streamapp_core.data_types import Column, TypeKind
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import superfluous_option
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Problem, ProblemCode, Repair
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import CHANGE_COLUMN, StreamChanges, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind

_UNNAMEABLE = re.compile(r"[ ,;{}()\n\t=]")
_FORMATS = (StreamFormat.JSON, StreamFormat.PARQUET)
"""The default, which says nothing of a table, and what its files are."""
_SHORT = frozenset({TypeKind.TINYINT, TypeKind.SMALLINT})
_NO_FOLDERS = {
    TypeKind.TIMESTAMP: ("nothing finer than dates", "date"),
    TypeKind.TIMESTAMP_NTZ: ("nothing finer than dates", "date"),
    # deltalake 1.6 writes -0.05 as `0.-5` when it compacts such a partition, and nobody can read the table after that.
    TypeKind.DECIMAL: ("no decimals, of which compaction by `deltalake` would break the negative ones", "string"),
}
"""The types that are no partition columns: what tables are partitioned by, and the type to write instead."""


def check_tables_written(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what is no table: files of another format, rows of several kinds, columns that tables have not."""
    path = f"spec.streams.{name}"
    if name not in graph.senders:
        return
    if stream.format not in _FORMATS:
        yield superfluous_option(name, ("format",), f"the files of table `{name}` are parquet, not {stream.format}")
    schemas = stream_schemas(graph, rows, name)
    if len({tuple((c.name, c.type) for c in schema.columns) for schema in schemas}) > 1:
        senders = " and ".join(f"`{sender.name}`" for sender in graph.senders[name])
        yield _problem(
            path,
            f"{senders} send other columns than each other to `{name}`, and a table has its columns: make them alike",
        )
    for schema in schemas[:1]:
        yield from _check_columns(name, stream, schema, graph.spec.systems[stream.system].kind)


def _check_columns(name: str, stream: StreamSpec, schema: Schema, kind: SystemKind) -> Iterator[Problem]:
    path = f"spec.streams.{name}"
    for column in schema.columns:
        reason = _not_stored(column) or (_not_in_iceberg(column) if kind is SystemKind.ICEBERG else None)
        if reason is not None:
            yield _problem(path, f"column `{column.name}` of `{name}` {reason}")
    if stream.changes is StreamChanges.LOG and schema.get(CHANGE_COLUMN) is not None:
        yield _problem(
            path, f"`{name}` has a column `{CHANGE_COLUMN}`, and the history of its changes has one, too: rename it"
        )
    for number, folder in enumerate(stream.folder_columns):
        found = schema.get(folder)
        if found is not None and found.type.kind in _NO_FOLDERS:
            by, instead = _NO_FOLDERS[found.type.kind]
            yield _problem(
                f"{path}.folderColumns[{number}]",
                f"`{found.name}` is {found.type}, and tables are partitioned by {by}: "
                f"`cast({found.name} as {instead})` in a `map`",
            )


def _not_stored(column: Column) -> str | None:
    if TypeKind.VARIANT in column.type.kinds:
        return f"is {column.type}, and variants are not written to tables: write `to_json({column.name})` in a `map`"
    if _UNNAMEABLE.search(column.name):
        return "has a name that tables don't have: rename it in a `map` to one without spaces and ,;{}()="
    return None


def _not_in_iceberg(column: Column) -> str | None:
    if _SHORT & column.type.kinds:
        instead = f"`cast({column.name} as int)`" if column.type.kind in _SHORT else "int in their place"
        return f"is {column.type}, and tables of Iceberg have no whole numbers below int: write {instead} in a `map`"
    if "." in column.name:
        return "has a name that stands for a field of another column in tables of Iceberg: rename it in a `map`"
    return None


def _problem(path: str, message: str, repair: Repair | None = None) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message, repair=repair)
