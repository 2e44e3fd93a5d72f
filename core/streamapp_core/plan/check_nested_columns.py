"""Columns of nested types and variants, where these can't be: keys, CSV, and keys of maps (docs/nested-data.md)."""

from collections.abc import Iterator

from streamapp_core.data_types import NESTED, Column, DataType, TypeKind, all_types
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.schema import Schema
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import StreamFormat, StreamSpec

_NOT_PLAIN = frozenset({*NESTED, TypeKind.VARIANT})
_NO_KEYS = _NOT_PLAIN | {TypeKind.TIMESTAMP_NTZ}
_KEYED = (OperatorKind.PARTITION_BY, OperatorKind.JOIN, OperatorKind.JOIN_TABLE, OperatorKind.PROCESS)


def check_nested_columns(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find keys that are no plain values, nested columns of CSV, and maps in streams whose keys are nested."""
    for operator in graph.of_kinds(*_KEYED):
        yield from _check_operator(operator, rows)
    for name, table in rows.tables.items():
        for key_type in table.key_types:
            if key_type.kind in _NO_KEYS:
                yield _no_key(f"spec.tables.{name}.key", f"the key of table `{name}`", key_type)
    for name, stream in graph.spec.streams.items():
        if name not in graph.opaque:
            yield from _check_stream(graph, name, stream, rows)


def _check_operator(operator: Operator, rows: RowFlow) -> Iterator[Problem]:
    spec = operator.spec
    keys: list[tuple[str, int, tuple[str, ...]]] = []
    if spec.partition_by is not None:
        keys = [(key, 0, ("key",)) for key in spec.partition_by.columns]
    elif spec.join is not None:
        keys = [(key, side, ("on",)) for side, columns in enumerate(spec.join.columns) for key in columns]
    elif spec.join_table is not None:
        keys = [(key, 0, ("on",)) for key in spec.join_table.columns]
    elif spec.process is not None and spec.process.state is not None:
        keys = [(key, 0, ("state", "key")) for key in spec.process.state.columns]
    for key, side, place in keys:
        schema = rows.schemas.get(operator.inputs[side])
        column = None if schema is None else schema.get(key)
        if column is not None and column.type.kind in _NO_KEYS:
            yield _no_key(operator.path(operator.kind, *place), f"`{column.name}`", column.type)


def _check_stream(graph: Graph, name: str, stream: StreamSpec, rows: RowFlow) -> Iterator[Problem]:
    path = f"spec.streams.{name}"
    for schema in _written_or_read(graph, rows, name):
        for column in map(schema.get, stream.key_columns):
            if column is not None and column.type.kind in _NO_KEYS:
                yield _no_key(f"{path}.key", f"`{column.name}`", column.type)
        nested = next((column for column in schema.columns if column.type.kind in _NOT_PLAIN), None)
        if nested is not None and stream.format is StreamFormat.CSV:
            yield _no_csv(name, nested)
        for column in schema.columns:
            if any(part.kind is TypeKind.MAP and part.key.nested for part in all_types(column.type)):
                yield _problem(
                    f"{path}.schema" if stream.stream_schema is not None else path,
                    f"column `{column.name}` of `{name}` is {column.type}: the keys of maps in a stream are plain "
                    "values; make an array of structs of it",
                )


def _written_or_read(graph: Graph, rows: RowFlow, name: str) -> list[Schema]:
    senders = [rows.schemas.get(sender.inputs[0]) for sender in graph.senders.get(name, ())]
    return [schema for schema in (*senders, rows.schemas.get(name)) if schema is not None]


def _no_key(path: str, what: str, data_type: DataType) -> Problem:
    if data_type.kind is TypeKind.TIMESTAMP_NTZ:
        return _problem(path, f"{what} is {data_type}, which is no key; cast it to timestamp in a map")
    if data_type.kind is TypeKind.VARIANT:
        repair = "take one out of it in a map, as in `variant_get(v, '$.id', 'string') as k, *`"
        return _problem(path, f"{what} is {data_type}: a key is a plain value; {repair}")
    return _problem(
        path, f"{what} is {data_type}: a key is a plain value; take one out of it in a map, as in `a.b as k, *`"
    )


def _no_csv(name: str, column: Column) -> Problem:
    others = "json has" if TypeKind.VARIANT in column.type.kinds else "json and parquet have"
    return _problem(
        f"spec.streams.{name}.format",
        f"column `{column.name}` of `{name}` is {column.type}, which CSV has no form for; {others}",
        Repair(
            text=f"set `spec.streams.{name}.format` to `json`",
            edits=(Edit(op="replace", pointer=f"/spec/streams/{name}/format", value=StreamFormat.JSON.value),),
        ),
    )


def _problem(path: str, message: str, repair: Repair | None = None) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message, repair=repair)
