"""Results that are replaced later (`upsert`), and operators that would take each of them for an event.

A running aggregate emits a new result of a key again and again, as do `topN` and `dedup` with `keep: last`. How many
there are depends on commits and batches; only the last one is the meaning. So an operator after it is right only if it
does the same to every result of a key (docs/planner.md).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.plan.stream_types.stream_type import APPEND, StreamType, Upsert
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.operators import JoinType, OperatorKind, TableJoinType
from streamapp_core.spec.streams import CHANGE_COLUMN, StreamChanges, StreamSpec


@dataclass(frozen=True, slots=True)
class _Reader:
    """An operator that reads running results: `changes` says which of them replace which."""

    operator: Operator
    changes: Upsert
    changed_by: str | None
    graph: Graph
    rows: RowFlow
    types: Mapping[str, StreamType]

    @property
    def keys(self) -> str:
        """The columns of the key, for messages."""
        return _listed(self.changes.columns)

    @property
    def written_key(self) -> str:
        """The key as a spec has it."""
        columns = self.changes.columns
        return self.keys if len(columns) == 1 else f"`[{', '.join(columns)}]`"

    @property
    def changed_stream(self) -> StreamSpec | None:
        """The stream whose records are these changes; None where an operator of the app made them."""
        return self.graph.spec.streams.get(self.changed_by or "")

    def instead(self, results: str, changes: str) -> str:
        """Return what to do for rows that stay: of results of the app, or of changes that it reads."""
        stream = self.changed_stream
        if stream is None:
            return results
        if stream.changes is not StreamChanges.UPSERT:
            return changes
        return f"{changes}, or, if each record is an event, leave `changes` out of spec.streams.{self.changed_by}"

    def has_key(self, columns: Sequence[str]) -> bool:
        """Return whether columns are of the key."""
        return {column.lower() for column in columns} <= {*self.changes.columns}

    def is_key(self, columns: Sequence[str]) -> bool:
        """Return whether columns are the key, in whatever order."""
        return {column.lower() for column in columns} == {*self.changes.columns}


def _check_left_joins(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find left joins of events that nothing bounds in time."""
    for operator in graph.of_kinds(OperatorKind.JOIN):
        join, inputs = operator.spec.join, [types.get(name) for name in operator.inputs]
        if join is None or join.type is not JoinType.LEFT or join.within is not None or join.as_of:
            continue
        if all(type_ is not None and not type_.unknown and type_.changes is APPEND for type_ in inputs):
            yield Problem(
                path=operator.path("join", "type"),
                code=ProblemCode.INVALID_SPEC,
                message="a left join of events needs `within`: without a bound in time a partner may always come, so "
                "no row is ever known to have none; set `within`, or make it an inner join",
            )


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(f"`{column}`" for column in columns)


_Reason = tuple[str | None, str]
"""The path of what is wrong (None: the input), and why."""


def check_changes(graph: Graph, rows: RowFlow, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find operators that read results which are replaced later, and can't follow the replacement."""
    yield from _check_places(graph, types)
    yield from _check_orders(graph, types)
    yield from _check_left_joins(graph, types)
    running = [name for name, type_ in types.items() if isinstance(type_.changes, Upsert)]
    for operator in graph.readers_of(running):
        for position, name in enumerate(operator.inputs):
            type_ = types.get(name)
            if type_ is None or not isinstance(type_.changes, Upsert):
                continue
            reader = _Reader(operator, type_.changes, type_.changed_by, graph, rows, types)
            rule = _RULES.get(operator.kind)
            reason = (None if rule is None else rule(reader)) or _ttl(reader)
            if reason is not None:
                path, why = reason
                yield Problem(
                    path=path or operator.input_path(position),
                    code=ProblemCode.CHANGES_UNSUPPORTED,
                    message=f"the rows of `{name}` are {_kind(graph, type_)} of `{type_.changed_by}`: a later one of "
                    f"the same {reader.keys} replaces an earlier one, and {why}",
                )


def _kind(graph: Graph, type_: StreamType) -> str:
    return "changes" if type_.changed_by in graph.spec.streams else "running results"


def _check_places(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find several first rows of a group that neither a place nor a key of their own tells apart."""
    for operator in graph.of_kinds(OperatorKind.TOP_N):
        top, type_ = operator.spec.top_n, types.get(operator.inputs[0])
        if top is None or top.n == 1 or top.rank is not None or type_ is None or type_.unknown:
            continue
        if not isinstance(type_.changes, Upsert):
            yield Problem(
                path=operator.path("topN"),
                code=ProblemCode.INVALID_SPEC,
                message="name the column of the place in `rank`: of several rows of a group a later result says by its "
                "place which one it replaces",
            )


def _check_orders(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find orders of rows that are events: these go by event time, so that none has to be corrected."""
    for operator in graph.of_kinds(OperatorKind.OVER):
        over, type_ = operator.spec.over, types.get(operator.inputs[0])
        if over is None or over.order_by is None or type_ is None or type_.unknown:
            continue
        if not isinstance(type_.changes, Upsert):
            yield Problem(
                path=operator.path("over", "orderBy"),
                code=ProblemCode.INVALID_SPEC,
                message=f"the rows of `{operator.inputs[0]}` are events, which go by event time: leave `orderBy` out; "
                "or give them a key, by which a later result replaces an earlier one, by a `dedup` with `keep: last` "
                f"before `{operator.name}`",
            )


def _instead(reader: _Reader) -> str:
    return reader.instead(
        "aggregate the rows themselves, or use a `window`, whose results are final",
        "use an `aggregate`, which takes back what the earlier one gave",
    )


def _group(reader: _Reader) -> _Reason | None:
    return None, f"`{reader.operator.name}` would count every one of them; {_instead(reader)}"


def _dedup(reader: _Reader) -> _Reason | None:
    dedup = reader.operator.spec.dedup
    by = () if dedup is None else tuple(column.lower() for column in dedup.by)
    if frozenset(by) >= frozenset(reader.changes.columns):
        return reader.operator.path("dedup"), f"there is one row of each already; leave `{reader.operator.name}` out"
    return reader.operator.path("dedup"), (
        f"which row of {', '.join(f'`{column}`' for column in by)} was the first or the last depends on how often they "
        "change; say which one you want by an order, in a `topN` with `n: 1` and the same `by`; or, if you want their "
        "different values alone, count the rows of each by an `aggregate`, in a query by `count(*)` and `group by`"
    )


def _join(reader: _Reader) -> _Reason | None:
    operator, join = reader.operator, reader.operator.spec.join
    if join is None:
        return None
    if join.as_of:
        return operator.path("join", "asOf"), (
            f"at which times each was valid depends on how often they change; `{operator.name}` pairs events with "
            "versions that stay: "
            + reader.instead("read the rows that they are made of", "look up what is there now by a `joinTable`")
        )
    if join.within is not None:
        return operator.path("join", "within"), (
            f"`{operator.name}` would join those that are replaced, too; leave `within` out: then its pairs follow them"
        )
    if join.type is JoinType.LEFT and reader.changes is reader.types[operator.inputs[1]].changes:
        lacking = set(reader.changes.columns) - {column.lower() for column in join.columns[1]}
        if lacking:
            return operator.path("join", "on"), (
                f"a row of `{operator.inputs[0]}` may have several partners, which come and go; a left join is by the "
                f"whole key of `{operator.inputs[1]}`: add {_listed(sorted(lacking))} to `on`, or make it an inner join"
            )
    events = [name for name in operator.inputs if not isinstance(reader.types[name].changes, Upsert)]
    if not events or any(reader.types[name].unknown for name in events):
        return None
    return None, (
        f"the rows of `{events[0]}` are events, which have no key by which a pair could replace an earlier one; give "
        f"them one by a `dedup` with `keep: last` before `{operator.name}`, or look up a table by a `joinTable`"
    )


def _merge(reader: _Reader) -> _Reason | None:
    return None, f"`{reader.operator.name}` would lose which ones belong together; {_instead(reader)}"


def _flat_map(reader: _Reader) -> _Reason | None:
    return None, f"the rows that `{reader.operator.name}` made of an earlier one would stay; {_instead(reader)}"


def _map(reader: _Reader) -> _Reason | None:
    name = reader.operator.name
    if name not in reader.rows.compiled or isinstance(reader.types[name].changes, Upsert):
        return None
    return reader.operator.path("map"), f"that can't be seen without the key: keep {reader.keys} in the list"


def _partition_by(reader: _Reader) -> _Reason | None:
    regrouped = reader.operator.spec.partition_by
    if regrouped is None or regrouped.stream is None or not reader.types[reader.operator.name].deletes:
        return None
    return reader.operator.path("partitionBy", "stream"), (
        f"who reads `{regrouped.stream}` would not be told when its "
        f"{_listed(regrouped.columns)} has changed; leave `stream` out, "
        f"or partition by {reader.keys}"
    )


def _join_table(reader: _Reader) -> _Reason | None:
    join = reader.operator.spec.join_table
    if join is None or join.type is TableJoinType.LEFT or reader.has_key(join.columns):
        return None
    return reader.operator.path("joinTable", "type"), (
        f"one that `{reader.operator.name}` emitted would stay when the next one finds nothing; use a left join"
    )


def _send_to_table(reader: _Reader) -> _Reason | None:
    name = reader.operator.spec.send_to_table or ""
    table = reader.rows.tables.get(name)
    if table is None or (table.key_columns is not None and reader.is_key(table.key_columns)):
        return None
    return None, f"table `{name}` would keep both, since its key is another one; give it the key {reader.keys}"


def _append_to_table(name: str) -> _Reason:
    return f"spec.streams.{name}.changes", (
        f"`{name}` is a table that is only appended to; set it to `final` for the rows as they are when a bounded "
        f"app has ended, or to `log` for a row with `{CHANGE_COLUMN}` for each change"
    )


def _replace_in_table(reader: _Reader, name: str, key: Sequence[str]) -> _Reason | None:
    if reader.is_key(key):
        return None
    return f"spec.streams.{name}.key", (
        f"table `{name}` has one row for each key, and its `key` is {_listed(key) or 'not given'}; set it to "
        f"{reader.written_key}"
    )


def _send_to(reader: _Reader) -> _Reason | None:  # noqa: PLR0911 - a reason each
    name = reader.operator.spec.send_to or ""
    stream = reader.graph.spec.streams.get(name)
    if stream is None or stream.changes is StreamChanges.FINAL:  # that has each key once
        return None
    system = reader.graph.spec.systems.get(stream.system)
    if system is not None and system.kind.appends_rows and stream.changes is not StreamChanges.LOG:
        return _append_to_table(name)
    if system is not None and system.kind.replaces_rows and stream.changes is not StreamChanges.LOG:
        return _replace_in_table(reader, name, stream.key_columns)
    moving = [column for column in stream.folder_columns if column.lower() not in reader.changes.fixed]
    if moving:
        return f"spec.streams.{name}.folderColumns", (
            f"who reads `{name}` could not tell which one is the last, since those of one key would be in several "
            f"folders; leave {', '.join(f'`{column}`' for column in moving)} out, which may change"
        )
    in_records = stream.changes is not StreamChanges.LOG and system is not None and not system.kind.holds_files
    if reader.changes.deletes and in_records:
        if reader.is_key(stream.key_columns):
            return None
        return None, (
            f"a key that is gone is deleted by a record without a value, for which `{name}` needs the key: set "
            f"spec.streams.{name}.key to {reader.written_key}"
        )
    if reader.has_key(stream.key_columns):
        return None
    return None, (
        f"who reads `{name}` could not tell which one is the last, since its `key` is "
        f"{_listed(stream.key_columns)}; set spec.streams.{name}.key to {reader.written_key}"
    )


def _ttl(reader: _Reader) -> _Reason | None:
    operator = reader.operator
    if operator.spec.ttl is None:
        return None
    return operator.path(operator.kind, "ttl"), (
        f"what `{operator.name}` had forgotten of one that stays could not be taken back; leave `ttl` out, or give it "
        "to the operator whose results they are"
    )


def _deletions(reader: _Reader) -> _Reason | None:
    if not reader.changes.deletes:
        return None
    return None, f"some of them only delete their key, which `{reader.operator.name}` would not be told"


def _over(reader: _Reader) -> _Reason | None:
    over = reader.operator.spec.over
    if over is None or over.order_by is not None:
        return None
    return reader.operator.path("over"), (
        f"`{reader.operator.name}` would count both; say in `orderBy` which rows come before which, and in `rows` how "
        "many count"
    )


def _sorted(reader: _Reader) -> _Reason:
    instead = reader.instead("sort the rows that they are made of", f"leave `{reader.operator.name}` out")
    return None, f"an order by event times could put a later one first; {instead}"


_RULES: Mapping[OperatorKind, Callable[[_Reader], _Reason | None]] = {
    OperatorKind.DEDUP: _dedup,
    OperatorKind.WINDOW: _group,
    OperatorKind.JOIN: _join,
    OperatorKind.MERGE: _merge,
    OperatorKind.FLAT_MAP: _flat_map,
    OperatorKind.MAP: _map,
    OperatorKind.PARTITION_BY: _partition_by,
    OperatorKind.JOIN_TABLE: _join_table,
    OperatorKind.SEND_TO_TABLE: _send_to_table,
    OperatorKind.SEND_TO: _send_to,
    OperatorKind.BROADCAST: _deletions,
    OperatorKind.PROCESS: _deletions,
    OperatorKind.SORTED: _sorted,
    OperatorKind.OVER: _over,
}
"""Operators that are not here follow the replacement: `aggregate`, `topN` and `filter`."""
