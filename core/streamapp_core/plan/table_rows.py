"""The rows of tables: those that fill them, their keys, and those that a join finds."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamapp_core.expressions import Select, SelectColumn, UserFunctions, check_select
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.joined_columns import difference, lacking
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.problems import PathPart, ProblemCode, path_text
from streamapp_core.schema import DataType, Schema
from streamapp_core.spec.tables import TableSpec

_KEY = "table_key"  # a select list needs names; this one is never shown


@dataclass(frozen=True, slots=True, kw_only=True)
class TableRows:
    """Rows with `filling` fill a table, rows with `stored` are looked up (None: not known).

    `key` has the parts of the key, and `key_columns` is set if they are plain columns of the rows that fill the table.
    If they are `extracted` by a
    function, any rows may fill it.
    """

    filling: Schema | None = None
    stored: Schema | None = None
    key: tuple[SelectColumn, ...] = ()
    value: Select | None = None
    key_columns: tuple[str, ...] | None = None
    extracted: bool = False

    @property
    def key_types(self) -> tuple[DataType, ...]:
        """The types of the parts of the key; none if they are not known."""
        return tuple(part.type for part in self.key)


def read_tables(
    graph: Graph, streams: Mapping[str, Schema | None], functions: UserFunctions, collector: ProblemCollector
) -> Mapping[str, TableRows]:
    """Find the rows of every table, given the schemas of all streams; problems go to `collector`."""
    found = {}
    for name, table in graph.spec.tables.items():
        filling = _filling(graph, name, table, streams, collector)
        found[name] = _rows(f"spec.tables.{name}", table, filling, functions, collector)
    return found


def _rows(
    path: str, table: TableSpec, filling: Schema | None, functions: UserFunctions, collector: ProblemCollector
) -> TableRows:
    if table.extractor is not None or filling is None:
        return TableRows(filling=filling, stored=filling, extracted=table.extractor is not None)
    value = None
    key = _read_key(path, table, filling, functions, collector)
    sources = [part.source_column for part in key if part.source_column is not None]
    stored: Schema | None = filling
    if table.value is not None:
        value = collector.compile(check_select, (path, "value"), table.value, filling, functions)
        stored = None if value is None else value.schema
    columns = tuple(sources) if key and len(sources) == len(key) else None
    return TableRows(filling=filling, stored=stored, key=key, value=value, key_columns=columns)


def _read_key(
    path: str, table: TableSpec, filling: Schema, functions: UserFunctions, collector: ProblemCollector
) -> tuple[SelectColumn, ...]:
    """Compile the parts of the key; none if one is refused."""
    found: list[SelectColumn] = []
    for position, part in enumerate(table.keys):
        field: tuple[PathPart, ...] = ("key",) if len(table.keys) == 1 else ("key", position)
        compiled = collector.compile(check_select, (path, *field), f"{part}\nas {_KEY}", filling, functions)
        if compiled is not None and len(compiled.columns) == 1:
            found += compiled.columns
        elif compiled is not None:
            message = "the key of a table is one column or expression, or a list of them"
            collector.add(path_text((path, *field)), ProblemCode.INVALID_EXPRESSION, message)
    return tuple(found) if len(found) == len(table.keys) else ()


def _filling(
    graph: Graph, name: str, table: TableSpec, streams: Mapping[str, Schema | None], collector: ProblemCollector
) -> Schema | None:
    path = f"spec.tables.{name}"
    if table.table_schema is not None:
        declared = collector.parse(f"{path}.schema", table.table_schema)
        if declared is not None and table.extractor is None:
            _check_side_inputs(f"{path}.sideInputs", table, declared, streams, collector)
        return declared
    if table.extractor is not None or (name in graph.fillers and not table.side_inputs):
        collector.add(
            path,
            ProblemCode.INVALID_SPEC,
            f"`{name}` needs a `schema`: the columns of its rows can't be derived from "
            + ("its extractor" if table.extractor is not None else "what `sendToTable` sends"),
        )
        return None
    if not table.side_inputs:
        return None
    first = streams.get(table.side_inputs[0])
    for position, stream in enumerate(table.side_inputs):
        schema = streams.get(stream)
        differs = None if schema is None or first is None else difference(schema, first)
        if differs is not None:
            collector.add(
                f"{path}.sideInputs[{position}]",
                ProblemCode.TYPE_MISMATCH,
                f"`{stream}` does not fit to `{table.side_inputs[0]}`, which fills `{name}` too: {differs}",
            )
    return first


def _check_side_inputs(
    path: str, table: TableSpec, declared: Schema, streams: Mapping[str, Schema | None], collector: ProblemCollector
) -> None:
    for position, stream in enumerate(table.side_inputs):
        schema = streams.get(stream)
        lacks = None if schema is None else lacking(schema, declared)
        if lacks is not None:
            collector.add(
                f"{path}[{position}]",
                ProblemCode.TYPE_MISMATCH,
                f"`{stream}` does not fit to the schema of the table: {lacks}",
            )
