"""Results that are replaced later (`upsert`), and operators that would take each of them for an event.

A running aggregate emits a new result of a key again and again. How many there are depends on commits and batches; only
the last one is the meaning. So an operator after it is right only if it does the same to every result of a key
(docs/planner.md).
"""

from collections.abc import Iterator, Mapping

from streamapp_core.expressions import Condition
from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.columns_read import columns_used
from streamapp_core.plan.row_schemas import RowFlow
from streamapp_core.plan.stream_types.stream_type import StreamType, Upsert
from streamapp_core.problems import Problem, ProblemCode
from streamapp_core.spec.operators import OperatorKind, TableJoinType

_INSTEAD = "aggregate the rows themselves, or use a `window`, whose results are final"


def check_changes(graph: Graph, rows: RowFlow, types: Mapping[str, StreamType]) -> Iterator[Problem]:
    """Find operators that read results which are replaced later, and can't follow the replacement."""
    for operator in graph.operators.values():
        for position, name in enumerate(operator.inputs):
            type_ = types.get(name)
            if type_ is None or not isinstance(type_.changes, Upsert):
                continue
            trouble = _trouble(graph, operator, type_.changes, rows, types)
            if trouble is None:
                continue
            path, reason = trouble
            keys = ", ".join(f"`{column}`" for column in type_.changes.columns)
            yield Problem(
                path=operator.input_path(position) if path is None else path,
                code=ProblemCode.CHANGES_UNSUPPORTED,
                message=f"the rows of `{name}` are running results of `{type_.changed_by}`: a later one of the same "
                f"{keys} replaces an earlier one, and {reason}",
            )


def _trouble(
    graph: Graph, operator: Operator, changes: Upsert, rows: RowFlow, types: Mapping[str, StreamType]
) -> tuple[str | None, str] | None:
    """Return the path (None: of the input) and the reason why an operator can't take such rows."""
    spec, keys = operator.spec, frozenset(changes.columns)
    names = ", ".join(f"`{column}`" for column in changes.columns)
    match operator.kind:
        case OperatorKind.AGGREGATE | OperatorKind.WINDOW:
            return None, f"`{operator.name}` would count every one of them; {_INSTEAD}"
        case OperatorKind.JOIN:
            return None, f"`{operator.name}` would join those that are replaced, too; {_INSTEAD}"
        case OperatorKind.MERGE:
            return None, f"`{operator.name}` would lose which ones belong together; {_INSTEAD}"
        case OperatorKind.FLAT_MAP:
            return None, f"the rows that `{operator.name}` made of an earlier one would stay; {_INSTEAD}"
        case OperatorKind.FILTER:
            compiled = rows.compiled.get(operator.name)
            if isinstance(compiled, Condition) and not columns_used(compiled) <= keys:
                return operator.path("filter"), (
                    f"one that `{operator.name}` lets pass would stay when the next one does not pass; filter by "
                    f"{names} only, or where the results are read, or {_INSTEAD}"
                )
        case OperatorKind.MAP:
            if operator.name in rows.compiled and not isinstance(types[operator.name].changes, Upsert):
                return operator.path("map"), f"that can't be seen without the key: keep {names} in the list"
        case OperatorKind.PARTITION_BY:
            assert spec.partition_by is not None
            if spec.partition_by.key.lower() not in keys:
                return operator.path("partitionBy", "key"), (
                    f"would be in another partition where `{spec.partition_by.key}` has changed; partition by {names}"
                )
        case OperatorKind.JOIN_TABLE:
            assert spec.join_table is not None
            if spec.join_table.type is TableJoinType.INNER and spec.join_table.on.lower() not in keys:
                return operator.path("joinTable", "type"), (
                    f"one that `{operator.name}` emitted would stay when the next one finds nothing; use a left join"
                )
        case OperatorKind.SEND_TO_TABLE:
            assert spec.send_to_table is not None
            table = rows.tables.get(spec.send_to_table)
            column = None if table is None or table.key_column is None else table.key_column.lower()
            if table is not None and keys != {column}:
                return None, (
                    f"table `{spec.send_to_table}` would keep both, since its key is another one; give it the key "
                    f"{names}"
                )
        case OperatorKind.SEND_TO:
            stream = graph.spec.streams.get(spec.send_to or "")
            if stream is not None and stream.key is not None and stream.key.lower() not in keys:
                return None, (
                    f"who reads `{spec.send_to}` could not tell which one is the last, since its `key` is "
                    f"`{stream.key}`; set spec.streams.{spec.send_to}.key to {names}"
                )
        case _:
            pass
    return None
