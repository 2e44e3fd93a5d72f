"""Spark's documented examples of its own functions, and their outcome here: right, refused or wrong.

Taken are the examples that are `SELECT <expression>` without rows to read, of functions whose result depends on nothing
but their arguments, and all of aggregates. They run in UTC with ANSI mode off.
"""

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import NullType

from streamapp_core.data_types import VARIANT_PARTS
from streamapp_core.expressions import (
    ExpressionError,
    check_aggregate,
    check_flat_map,
    check_select,
    select_sql,
    table,
)
from streamapp_core.expressions.functions import GENERATOR_NAMES
from streamapp_core.schema import SchemaError, parse_schema
from streamapp_runtime.operators.running_aggregate import Aggregate
from streamapp_runtime.rows.event_time_column import add_event_time, without_event_time
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.state.memory_store import MemoryEnvironment
from streamapp_systems.variants.variant_columns import is_variant

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.log.level": "OFF",
}
_EXAMPLE = re.compile(r"^\s*> (SELECT .*?);\s*$", re.DOTALL | re.MULTILINE | re.IGNORECASE)
_READS_ROWS = re.compile(r"\)\s*from\b|\bfrom (values|range|\(|test_)|\bas \(", re.IGNORECASE)
_AGGREGATES = "agg_funcs"
_OVER_ROWS = re.compile(
    r"SELECT (?P<list>.*?) FROM (?P<rows>VALUES .*?(?:\bAS )? *\w+ *\([\w, ]+\)|\(SELECT .*\)(?: \w+)?)",
    re.DOTALL | re.IGNORECASE,
)
_CHANGING = frozenset(
    [
        "rand",
        "randn",
        "random",
        "uuid",
        "randstr",
        "uniform",
        "shuffle",
        "now",
        "current_timestamp",
        "current_date",
        "curdate",
        "current_time",
        "localtimestamp",
        "unix_timestamp",
        "monotonically_increasing_id",
        "spark_partition_id",
        "input_file_name",
        "input_file_block_start",
        "input_file_block_length",
        "java_method",
        "reflect",
        "try_reflect",
        "current_user",
        "user",
        "session_user",
        "current_catalog",
        "current_database",
        "current_schema",
        "current_path",
        "version",
        "current_timezone",
        "collations",
        "sql_keywords",
        "python_worker_logs",
    ]
)
_OF_VARIANTS = dict(zip(VARIANT_PARTS, ("value", "metadata"), strict=True))
_ROW = pa.table({"one": pa.array([1], pa.int32())})
_SCHEMA = parse_schema("one int")


class Verdict(StrEnum):
    """The outcome of an example."""

    RIGHT = "right"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedExample:
    """An example of a function, of one of Spark's groups of functions; `detail` is why it is refused or wrong."""

    function: str
    group: str
    text: str
    verdict: Verdict
    detail: str = ""


def judged_examples() -> Iterator[JudgedExample]:
    """Run every example in Spark and here, and yield what was found, in the order of the functions' names."""
    builder = SparkSession.builder.master("local[1]")
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        with SqlEngine() as engine:
            for function, group, text in _examples(spark):
                try:
                    theirs = spark.sql(text).toArrow()
                except (PySparkException, pa.ArrowException):
                    continue  # an example of an error, or of a type that Arrow does not have
                if group == _AGGREGATES:
                    verdict, detail = _judged_aggregate(text, theirs, spark, engine)
                else:
                    verdict, detail = _judged(text, theirs, engine)
                yield JudgedExample(function=function, group=group, text=text, verdict=verdict, detail=detail)
    finally:
        spark.stop()


def _examples(spark: SparkSession) -> Iterator[tuple[str, str, str]]:
    jvm: Any = spark._jvm  # noqa: SLF001 - Spark has no public way to the examples as they are written
    registry = jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    for (name,) in spark.sql("SHOW SYSTEM FUNCTIONS").collect():
        found = registry.lookupFunction(jvm.org.apache.spark.sql.catalyst.FunctionIdentifier(name))
        if name in _CHANGING or found.isEmpty():
            continue
        for text in _EXAMPLE.findall(found.get().getExamples()):
            group = found.get().getGroup() or "others"
            if group == _AGGREGATES or not _READS_ROWS.search(text):
                yield name, group, text


def type_text(kind: pa.DataType) -> str:
    """Return the text of a type, without the names of what lists and maps hold and whether it may be null."""
    if pa.types.is_map(kind):
        return f"map<{type_text(kind.key_type)}, {type_text(kind.item_type)}>"
    if pa.types.is_list(kind):
        return f"list<{type_text(kind.value_type)}>"
    if is_variant(kind):
        return type_text(pa.struct([(name, pa.binary()) for name in _OF_VARIANTS.values()]))
    if pa.types.is_struct(kind):
        return f"struct<{', '.join(f'{field.name}: {type_text(field.type)}' for field in kind.fields)}>"
    return str(kind)


def _judged(text: str, theirs: pa.Table, engine: SqlEngine) -> tuple[Verdict, str]:
    body = text[len("SELECT") :].strip()
    try:
        if body.partition("(")[0].strip().lower() in GENERATOR_NAMES:
            select = check_flat_map(body, _SCHEMA)
        else:
            select = check_select(f"({body}) as c" if theirs.num_columns == 1 else body, _SCHEMA)
    except ExpressionError as error:
        return Verdict.REFUSED, str(error)
    try:
        ours = engine.query(select_sql(select.columns, table("t")), t=_ROW)
    except duckdb.Error as error:
        return Verdict.WRONG, str(error)
    return _compared(ours, theirs)


def _judged_aggregate(text: str, theirs: pa.Table, spark: SparkSession, engine: SqlEngine) -> tuple[Verdict, str]:
    """Compute an aggregate of rows (Spark's own, where a query yields them), row by row, as `aggregate` does."""
    match = _OVER_ROWS.fullmatch(text)
    if match is None or theirs.num_columns != 1:
        return Verdict.REFUSED, "it is no aggregate of rows"
    rows = spark.sql(f"SELECT * FROM {match['rows']}")
    for field in rows.schema:  # a column has a type here also if all its values are null
        if field.dataType == NullType():
            rows = rows.withColumn(field.name, rows[field.name].cast("double"))
    try:
        schema = parse_schema(", ".join(f"{field.name} {field.dataType.simpleString()}" for field in rows.schema))
        aggregation = check_aggregate(f"{match['list']} as c", [], schema)
    except (ExpressionError, SchemaError) as error:
        return Verdict.REFUSED, str(error)
    operator = Aggregate(engine, MemoryEnvironment().store("example"), aggregation)
    batch = add_event_time(rows.toArrow(), ())
    try:
        results = [operator.process(batch.slice(at, 1)) for at in range(len(batch))]
    except duckdb.Error as error:
        return Verdict.WRONG, str(error)
    last = results[-1]
    assert last is not None
    return _compared(without_event_time(last), theirs)


def _compared(ours: pa.Table, theirs: pa.Table) -> tuple[Verdict, str]:
    if [type_text(field.type) for field in ours.schema] == [type_text(field.type) for field in theirs.schema]:
        pairs = zip(_plain(ours.to_pylist()), _plain(theirs.to_pylist()), strict=True)
        if len(ours) == len(theirs) and all(list(mine.values()) == list(other.values()) for mine, other in pairs):
            return Verdict.RIGHT, ""
    return Verdict.WRONG, f"{ours.to_pylist()} ({ours.schema}), Spark's is {theirs.to_pylist()} ({theirs.schema})"


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever a column holds
    """Return values that compare by `==`: NaN equals NaN, and -0.0 does not equal 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack("d", value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_OF_VARIANTS.get(name, name): _plain(item) for name, item in value.items()}
    return value
