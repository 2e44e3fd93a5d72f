"""Streams that jobs of Spark write: where their rows go, which types are written, and what makes it exactly once."""

import re
from collections.abc import Iterator

from streamapp_core.data_types import NESTED, Column, TypeKind
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import superfluous_option
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.spec.job import Delivery
from streamapp_core.spec.spark_system import SparkSystem
from streamapp_core.spec.streams import CHANGE_COLUMN, StreamChanges, StreamFormat, StreamSpec

JDBC, DELTA = "jdbc", "delta"
"""The formats that are written exactly once by what their stores have: transactions, and versions with marks."""
PLACES = ("dbtable", "query", "path", "paths")
"""Options that say what is read; where there is none, the stream's name does."""
_MARKS = ("txnappid", "txnversion")
_NEEDED = ("url", "driver")
_FORMATS = (StreamFormat.JSON, StreamFormat.PARQUET)
_TABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*){0,2}")


def check_spark_outputs(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what jobs of Spark can't write: two streams in one place, types, and what would not be exactly once."""
    spark = graph.spec.systems[stream.system].spark
    if name not in graph.senders or spark is None:
        return
    yield from _check_declaration(graph, name, stream, spark)
    yield from _check_options(name, stream.system, spark)
    yield from _check_delivery(graph, stream.system, spark)
    for schema in stream_schemas(graph, rows, name)[:1]:
        for column in schema.columns:
            yield from _check_column(name, column, spark)
        if stream.changes is StreamChanges.LOG and schema.get(CHANGE_COLUMN) is not None:
            message = f"`{name}` has a column `{CHANGE_COLUMN}`, and the history of its changes has one, too: rename it"
            yield _problem(f"spec.streams.{name}", message)


def _check_declaration(graph: Graph, name: str, stream: StreamSpec, spark: SparkSystem) -> Iterator[Problem]:
    if stream.format not in _FORMATS:
        yield superfluous_option(name, ("format",), f"rows of `{name}` are written by Spark's `{spark.format}`")
    if stream.folder_columns:
        yield superfluous_option(name, ("folderColumns",), f"`{name}` is written by Spark: its `options` say how")
    if stream.partitions is not None:
        yield superfluous_option(name, ("partitions",), f"`{name}` is written, and has no partitions of the app's")
    address = stream.name or name
    twin = next(
        (other for other in graph.senders if other < name and _place(graph, other) == _place(graph, name)), None
    )
    if twin is not None:
        yield _problem(
            f"spec.streams.{name}.name",
            f"`{name}` and `{twin}` are written to one place: send to `{twin}` alone, or name another place",
        )
    if spark.format == JDBC and spark.write is None and not _TABLE.fullmatch(address):
        yield _problem(
            f"spec.streams.{name}.name",
            f"`{address}` is no name of a table: write `table` or `schema.table`, of letters, digits and `_`",
        )


def _check_options(name: str, system: str, spark: SparkSystem) -> Iterator[Problem]:
    place = f"spec.systems.{system}.spark.options"
    for option in spark.options:
        if option.lower() in PLACES:
            why = (
                f"`{name}` is written to the place that its `name` says; a stream that is read so needs its own system"
            )
        elif option.lower() in _MARKS and spark.format == DELTA:
            why = "the app sets it: it is what makes a generation be written once"
        else:
            continue
        pointer = f"/spec/systems/{system}/spark/options/{option.replace('~', '~0').replace('/', '~1')}"
        repair = Repair(text=f"remove `{place}.{option}`", edits=(Edit(op="remove", pointer=pointer),))
        yield _problem(f"{place}.{option}", f"`{option}` can't be set where `{name}` is written: {why}", repair)
    given = {option.lower() for option in spark.options}
    missing = [option for option in _NEEDED if option not in given]
    if spark.format == JDBC and spark.write is None and missing:
        yield _problem(
            place,
            f"`{name}` is written by JDBC, which needs {' and '.join(f'`{option}`' for option in missing)}, such as "
            "`url: jdbc:postgresql://host/shop` and `driver: org.postgresql.Driver`",
        )


def _check_delivery(graph: Graph, system: str, spark: SparkSystem) -> Iterator[Problem]:
    """Find formats of which nothing is known that could tell whether a generation was written."""
    promised = (spark.delivery, graph.spec.job.delivery)
    if spark.format in (JDBC, DELTA) or spark.write is not None or Delivery.AT_LEAST_ONCE in promised:
        return
    place = f"spec.systems.{system}.spark.delivery"
    edit = Edit(op="add", pointer=f"/spec/systems/{system}/spark/delivery", value=Delivery.AT_LEAST_ONCE.value)
    yield Problem(
        path=place,
        code=ProblemCode.DELIVERY_UNSUPPORTED,
        message=f"Spark's writer of `{spark.format}` appends rows, and does not say which it has: what a job had "
        "written before it died would be written again. Accept that (`delivery: atLeastOnce`), name a function that "
        f"writes a generation so that it may be repeated (`write`), or use `{JDBC}` or `{DELTA}`",
        repair=Repair(text=f"set `{place}` to `{Delivery.AT_LEAST_ONCE}`", edits=(edit,)),
    )


def _check_column(name: str, column: Column, spark: SparkSystem) -> Iterator[Problem]:
    refused = NESTED | {TypeKind.VARIANT} if spark.format == JDBC else {TypeKind.VARIANT}
    if refused & column.type.kinds:
        yield _problem(
            f"spec.streams.{name}",
            f"column `{column.name}` of `{name}` is {column.type}, which is not written by Spark's `{spark.format}`: "
            f"write `to_json({column.name})` in a `map`",
        )


def _place(graph: Graph, name: str) -> tuple[str, str] | None:
    stream = graph.spec.streams.get(name)
    system = None if stream is None else graph.spec.systems.get(stream.system)
    return (
        None if stream is None or system is None or system.spark is None else (system.spark.path, stream.name or name)
    )


def _problem(path: str, message: str, repair: Repair | None = None) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message, repair=repair)
