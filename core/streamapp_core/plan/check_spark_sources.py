"""Streams of rows that jobs of Spark read: what their declarations need not say, and by which column rows are new."""

from collections.abc import Iterator

from streamapp_core.data_types import TypeKind
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import superfluous_option
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.schema import Schema
from streamapp_core.spec.spark_system import Incremental
from streamapp_core.spec.streams import StartFrom, StreamFormat, StreamSpec

_FORMATS = (StreamFormat.JSON, StreamFormat.PARQUET)
"""The default, which says nothing, and what staged files are."""
_GROWING = frozenset(
    {TypeKind.TINYINT, TypeKind.SMALLINT, TypeKind.INT, TypeKind.BIGINT, TypeKind.DECIMAL, TypeKind.TIMESTAMP}
)
"""The types that databases and Spark put in the same order, of values that grow."""


def check_spark_sources(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what a stream that jobs of Spark read can't be, and columns by which no row is known to be new."""
    if name in graph.senders:
        return
    if stream.format not in _FORMATS:
        yield superfluous_option(name, ("format",), f"what Spark reads as `{name}` is staged as parquet")
    if stream.folder_columns:
        yield superfluous_option(name, ("folderColumns",), f"Spark reads all columns of `{name}` as rows")
    if stream.start_from is StartFrom.LATEST and name not in graph.side_inputs:
        yield superfluous_option(
            name,
            ("startFrom",),
            f"`{name}` is read from its beginning: which of its rows are staged when a run starts is chance. A query "
            "of the system's `options` may leave old rows out",
        )
    incremental = graph.spec.systems[stream.system].spark
    if incremental is not None and incremental.incremental is not None:
        for schema in stream_schemas(graph, rows, name)[:1]:
            yield from _check_incremental(name, stream.system, schema, incremental.incremental)


def _check_incremental(name: str, system: str, schema: Schema, incremental: Incremental) -> Iterator[Problem]:
    place = f"spec.systems.{system}.spark.incremental"
    column = next((found for found in schema.columns if found.name == incremental.column), None)
    if column is None:
        near = schema.get(incremental.column)
        advice = f"it is written `{near.name}` there" if near else f"add it to `spec.streams.{name}.schema`"
        yield _problem(f"{place}.column", f"`{name}` has no column `{incremental.column}`: {advice}")
        return
    if column.type.kind not in _GROWING:
        yield _problem(
            f"{place}.column",
            f"`{column.name}` of `{name}` is {column.type}, and rows are new by a number or a timestamp: name another "
            "column, or have a query of the system's `options` compute one",
        )
    elif incremental.delay is not None and column.type.kind is not TypeKind.TIMESTAMP:
        pointer = f"/spec/systems/{system}/spark/incremental/delay"
        yield _problem(
            f"{place}.delay",
            f"`{column.name}` of `{name}` is {column.type}, and only a timestamp says how old a row is",
            Repair(text=f"remove `{place}.delay`", edits=(Edit(op="remove", pointer=pointer),)),
        )


def _problem(path: str, message: str, repair: Repair | None = None) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message, repair=repair)
