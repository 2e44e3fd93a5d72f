"""Columns that are folders in the paths of files (`folderColumns`): which there are, and of what types."""

from collections.abc import Iterator

from streamapp_core.graph.graph import Graph
from streamapp_core.plan.row_schemas import RowFlow, stream_schemas
from streamapp_core.problems import Edit, Problem, ProblemCode, Repair
from streamapp_core.schema import Schema, TypeKind
from streamapp_core.spec.streams import StreamSpec

_NAMEABLE = frozenset(
    {
        TypeKind.STRING,
        TypeKind.BOOLEAN,
        TypeKind.TINYINT,
        TypeKind.SMALLINT,
        TypeKind.INT,
        TypeKind.BIGINT,
        TypeKind.DECIMAL,
        TypeKind.DATE,
        TypeKind.TIMESTAMP,
        TypeKind.TIMESTAMP_NTZ,
    }
)
"""The types whose equal values have one text, and that it says all of."""


def check_folder_columns(graph: Graph, rows: RowFlow) -> Iterator[Problem]:
    """Find `folderColumns` of streams that are no files, or that name what can't be a folder."""
    for name, stream in graph.spec.streams.items():
        system = graph.spec.systems.get(stream.system)
        if name in graph.opaque or system is None or not stream.folder_columns:
            continue
        if not system.kind.holds_files:
            yield _no_files(name)
            continue
        for schema in stream_schemas(graph, rows, name):
            yield from _check_columns(name, stream, schema)


def _no_files(name: str) -> Problem:
    path = f"spec.streams.{name}.folderColumns"
    edit = Edit(op="remove", pointer=f"/spec/streams/{name}/folderColumns")
    return Problem(
        path=path,
        code=ProblemCode.NOT_SUPPORTED,
        message=f"`{name}` is no stream of files, and only files lie in folders",
        repair=Repair(text=f"remove `{path}`", edits=(edit,)),
    )


def _check_columns(name: str, stream: StreamSpec, schema: Schema) -> Iterator[Problem]:
    path = f"spec.streams.{name}.folderColumns"
    seen: set[str] = set()
    for number, column in enumerate(stream.folder_columns):
        found, place = schema.get(column), f"{path}[{number}]"
        if found is None:
            columns = ", ".join(f"`{known}`" for known in schema.names)
            yield Problem(
                path=place,
                code=ProblemCode.UNKNOWN_COLUMN,
                message=f"`{name}` has no column `{column}`; columns: {columns}",
            )
        elif column.lower() in seen:
            yield Problem(
                path=place, code=ProblemCode.INVALID_SPEC, message=f"`{column}` stands twice; name each column once"
            )
        elif found.type.kind not in _NAMEABLE:
            yield Problem(
                path=place,
                code=ProblemCode.TYPE_MISMATCH,
                message=f"`{column}` is {found.type}, and folders have the names of texts, booleans, whole numbers, "
                "decimals, dates and timestamps; compute one of these in a `map` before",
            )
        seen.add(column.lower())
    if seen.issuperset(known.lower() for known in schema.names):
        yield Problem(
            path=path,
            code=ProblemCode.INVALID_SPEC,
            message=f"all columns of `{name}` are folders, and nothing is left for the files; leave one out",
        )
