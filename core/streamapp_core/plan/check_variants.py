"""Variants where they can't be: Parquet files, and Python functions (docs/nested-data.md)."""

from collections.abc import Iterator

from streamapp_core.data_types import Column, TypeKind
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.schema import Schema
from streamapp_core.spec.operators import OperatorKind
from streamapp_core.spec.streams import StreamFormat

_BEFORE = "in a `map` before, take out what it needs, as in `variant_get({0}, '$.a', 'int') as a`, or write "
_BEFORE += "`to_json({0})`"


def check_variants(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find variants in Parquet files, and in what Python functions take and return."""
    for name, stream in graph.spec.streams.items():
        if stream.format is StreamFormat.PARQUET and name not in graph.opaque:
            yield from _check_parquet(name, stream_schemas(graph, rows, name))
    for operator in graph.of_kinds(OperatorKind.PROCESS):
        path = operator.path("process", "function")
        yield from _taken(path, "a `process` function", rows.schemas.get(operator.inputs[0]))
        yield from _returned(operator.path("process", "schema"), rows.schemas.get(operator.name))
    for name, table in graph.spec.tables.items():
        if table.extractor is not None:
            path = f"spec.tables.{name}.extractor"
            for side_input in table.side_inputs:
                yield from _taken(path, "an `extractor`", rows.schemas.get(side_input), before="")
            yield from _returned(f"spec.tables.{name}.schema", rows.tables[name].stored)
    for function in rows.functions.signatures:
        path = f"spec.functions.{function.name}"
        yield from _returned(f"{path}.parameters", function.parameters, what="takes")
        yield from _returned(f"{path}.returns", Schema((Column("the result", function.result),)))


def _check_parquet(name: str, schemas: list[Schema]) -> Iterator[Problem]:
    for column in filter(None, map(_variant, schemas)):
        yield _problem(
            f"spec.streams.{name}.format",
            f"column `{column.name}` of `{name}` is {column.type}, and variants are not read from or written to "
            "Parquet; json has them",
            Repair(
                text=f"set `spec.streams.{name}.format` to `json`",
                edits=(Edit(op="replace", pointer=f"/spec/streams/{name}/format", value=StreamFormat.JSON.value),),
            ),
        )


def _taken(path: str, what: str, schema: Schema | None, before: str = _BEFORE) -> Iterator[Problem]:
    column = _variant(schema)
    if column is not None:
        instead = before.format(column.name) if before else "declare it as string, which is its JSON text"
        yield _problem(path, f"column `{column.name}` is {column.type}, and {what} takes no variants: {instead}")


def _returned(path: str, schema: Schema | None, *, what: str = "returns") -> Iterator[Problem]:
    column = _variant(schema)
    if column is not None:
        yield _problem(
            path,
            f"`{column.name}` is {column.type}, and no Python function {what} variants: declare a string that is "
            f"JSON, and write parse_json or to_json where the rows come from or go to",
        )


def _variant(schema: Schema | None) -> Column | None:
    """Return the first column that is or holds a variant."""
    columns = () if schema is None else schema.columns
    return next((column for column in columns if TypeKind.VARIANT in column.type.kinds), None)


def _problem(path: str, message: str, repair: Repair | None = None) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message, repair=repair)
