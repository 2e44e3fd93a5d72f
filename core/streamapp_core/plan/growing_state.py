"""Warnings about state that nothing bounds: an app that never ends outgrows every disk with it."""

from collections.abc import Iterator, Mapping

from streamapp_core.graph.graph import Graph, Operator
from streamapp_core.plan.stream_types.stream_type import StreamType, Upsert
from streamapp_core.problems import PlanWarning, WarningCode
from streamapp_core.spec.groups import Keep
from streamapp_core.spec.operators import OperatorKind

_OR_TTL = "`ttl`, how long after its last row a key is kept, which may be `forever`"

_HINT = (
    "write behind its `select` how long after its last row a key is kept, or 'forever': /*+ STATE_TTL('a' = '30d') */"
)
_IN_SQL = {
    OperatorKind.JOIN: "bound the event times of both sides, or write how long a row is kept, which may be 'forever', "
    "behind its `select`: /*+ STATE_TTL('a' = '30d', 'b' = '30d') */",
    OperatorKind.DEDUP: _HINT,
    OperatorKind.OVER: "write `range between interval '30' days preceding and current row`, or behind its `select` "
    "that it is right: /*+ STATE_TTL('a' = 'forever') */",
    OperatorKind.TOP_N: _HINT,
}
"""What to write in a query."""


def find_growing_state(graph: Graph, types: Mapping[str, StreamType]) -> Iterator[PlanWarning]:
    """Find the operators that keep rows or keys for ever, though nobody has said so.

    The keys of an `aggregate` are its result, which grows with them anyway; it is not warned of. What
    reads such results keeps as many rows as there are.
    """
    for operator in graph.of_kinds(OperatorKind.JOIN, OperatorKind.DEDUP, OperatorKind.TOP_N, OperatorKind.OVER):
        if all(isinstance(types[name].changes, Upsert) for name in operator.inputs):
            continue
        found = _growth(operator)
        if found is not None:
            message, repair = found
            if operator.in_sql:
                repair = _IN_SQL[operator.kind]
            yield PlanWarning(
                path=operator.path(operator.kind), code=WarningCode.STATE_GROWS, message=message, repair=repair
            )


def _growth(operator: Operator) -> tuple[str, str] | None:
    """Return what an operator keeps for ever, and what to do about it; None: it keeps nothing, or is told to."""
    join, dedup, top_n = operator.spec.join, operator.spec.dedup, operator.spec.top_n
    if join is not None and join.within is None and join.ttl is None and not join.as_of:
        return (
            f"`{operator.name}` keeps all rows of both sides for ever",
            "set `within`, how far apart in event time the rows of a pair may be, or `ttl`, how long a row is kept, "
            "which may be `forever`",
        )
    if dedup is not None and dedup.within is None and dedup.ttl is None:
        return (
            f"`{operator.name}` keeps every value of {_names(dedup.by)} for ever",
            f"set `within`, how far apart in event time duplicates may be, or {_OR_TTL}"
            if dedup.keep is Keep.FIRST
            else f"put a `topN` of `n: 1` into a `window`, or set {_OR_TTL}",
        )
    if top_n is not None and top_n.ttl is None:
        return (
            f"`{operator.name}` keeps the first rows of every value of {_names(top_n.by)} for ever",
            f"put the `topN` into a `window`, or set {_OR_TTL}",
        )
    over = operator.spec.over
    if over is not None and over.range_ is None:
        return (
            f"`{operator.name}` keeps the last rows of every value of {_names(over.by)} for ever",
            "set `range` beside `rows`, how far back in event time rows count at most, which may be `forever`",
        )
    return None


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(f"`{column}`" for column in columns)
