"""Tables of PostgreSQL as outputs: what they hold, and by which key rows replace each other in them."""

import re
from collections.abc import Iterator, Mapping

from streamapp_core.data_types import NESTED, TypeKind
from streamapp_core.graph.graph import Graph
from streamapp_core.plan.message_schemas import sent_schemas, several_schemas_problems, superfluous_option
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.plan.stream_types.stream_type import APPEND, StreamType, Upsert
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.schema import Schema
from streamapp_core.spec.streams import JsonOptions, KeyFormat, RecordTime, StreamChanges, StreamFormat, StreamSpec
from streamapp_core.spec.systems import SystemKind

_NAME = re.compile(r"[^\s.\"\0]+(\.[^\s.\"\0]+)?")
_LONGEST_NAME = 63
"""Bytes of a name; PostgreSQL cuts off what is longer."""
_UNNAMEABLE = re.compile(r"ctid|[xc]min|[xc]max|tableoid|streamapp\..*|.*\0.*")
"""The names of columns that every table has, or that tables of staged rows have."""
_NO_COLUMNS = NESTED | {TypeKind.VARIANT}


def check_database_tables(graph: Graph, rows: RowFlow, name: str, stream: StreamSpec) -> Iterator[Problem]:
    """Find what is no table of PostgreSQL that an app can write, and what the declaration of one need not say."""
    path = f"spec.streams.{name}"
    if name not in graph.senders:
        yield _problem(
            f"{path}.system",
            f"`{name}` is not written, and tables in `{stream.system}` are only written: read their changes from "
            "Kafka, as Debezium writes them (`changes: debezium`)",
        )
        return
    address = stream.name or name
    twin = next(
        (other for other in graph.senders if other < name and _table(graph, other) == _table(graph, name)), None
    )
    if twin is not None:
        yield _problem(
            f"{path}.name",
            f"`{name}` and `{twin}` are one table, and which rows of both replace each other would be in no order: "
            f"send to `{twin}` alone, or name another table",
        )
    if not _NAME.fullmatch(address) or any(len(part.encode()) > _LONGEST_NAME for part in address.split(".")):
        yield _problem(
            f"{path}.name",
            f"`{address}` is no name of a table: write `table` or `schema.table`, without spaces and quotes, of at "
            f"most {_LONGEST_NAME} bytes each",
        )
    if stream.format is not StreamFormat.JSON:
        yield superfluous_option(name, ("format",), f"rows of table `{name}` are no {stream.format}: they have columns")
    if stream.partitions is not None:
        yield superfluous_option(name, ("partitions",), f"table `{name}` has no partitions of the app's")
    if stream.json_options != JsonOptions():
        yield superfluous_option(name, ("json",), f"rows of table `{name}` have columns, and no JSON")
    if stream.key_format is not KeyFormat.STRING:
        yield superfluous_option(name, ("keyFormat",), f"keys of table `{name}` are its columns")
    if stream.record_time is not RecordTime.EVENT_TIME:
        yield superfluous_option(name, ("recordTime",), f"rows of table `{name}` have no time beside their columns")
    schemas = sent_schemas(graph, rows, name)
    yield from several_schemas_problems(name, schemas)
    for schema in schemas[:1]:
        yield from _check_columns(path, name, schema)


def check_replaced_rows(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find tables of PostgreSQL whose keys nothing goes by, or in which several operators would replace rows."""
    for name, stream in graph.spec.streams.items():
        system, senders = graph.spec.systems.get(stream.system), graph.senders.get(name, ())
        if name in graph.opaque or system is None or system.kind is not SystemKind.POSTGRESQL:
            continue
        sent = {sender.inputs[0]: types.get(sender.inputs[0]) for sender in senders}
        known = {source: type_.changes for source, type_ in sent.items() if type_ is not None and not type_.unknown}
        if stream.changes is StreamChanges.LOG and stream.key is not None:
            yield superfluous_option(
                name, ("key",), f"table `{name}` gets a row for each change: none replaces another"
            )
        if stream.changes is not StreamChanges.APPEND or len(known) < len(sent):
            continue
        events = [source for source, changes in known.items() if changes is APPEND]
        if stream.key is not None and len(events) == len(sent) > 0:
            yield superfluous_option(
                name,
                ("key",),
                f"rows of {_listed(events)} are events, which are inserted, each as a row of its own: the key of table "
                f"`{name}` says which rows replace each other",
            )
        elif len(senders) > 1 and any(isinstance(changes, Upsert) for changes in known.values()):
            yield _problem(
                f"spec.streams.{name}",
                f"{_listed([sender.name for sender in senders])} write to table `{name}`, and rows of both may have "
                "the same key, in no order: write them to tables of their own",
            )


def _check_columns(path: str, name: str, schema: Schema) -> Iterator[Problem]:
    for column in schema.columns:
        if found := _NO_COLUMNS & column.type.kinds:
            kind = "nested" if found & NESTED else "a variant"
            yield _problem(
                path,
                f"column `{column.name}` of `{name}` is {column.type}, which is {kind}: write `to_json({column.name})` "
                "in a `map`, as text or for a column `jsonb`",
            )
        elif _UNNAMEABLE.fullmatch(column.name) or len(column.name.encode()) > _LONGEST_NAME:
            yield _problem(
                path,
                f"column `{column.name}` of `{name}` has a name that columns of PostgreSQL can't have: rename it in a "
                f"`map`; it is at most {_LONGEST_NAME} bytes long, and no name that all tables have, such as `ctid`",
            )


def _table(graph: Graph, name: str) -> tuple[str, str] | None:
    """Return the database and the name of the table of a stream; None: it has none."""
    stream = graph.spec.streams.get(name)
    system = None if stream is None else graph.spec.systems.get(stream.system)
    if stream is None or system is None or system.postgresql is None:
        return None
    return system.postgresql.uri, (stream.name or name).removeprefix("public.")


def _listed(names: list[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


def _problem(path: str, message: str) -> Problem:
    return Problem(path=path, code=ProblemCode.NOT_SUPPORTED, message=message)
