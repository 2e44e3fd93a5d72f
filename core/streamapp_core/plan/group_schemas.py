"""The columns of groups: aggregates, rankings, duplicates and windows, and their expressions compiled on the way."""

from collections.abc import MutableMapping, Sequence
from dataclasses import replace as replace_ordering
from typing import Any

from msgspec.structs import replace

from streamapp_core.data_types import check_column_name
from streamapp_core.expressions import (
    Aggregation,
    Ordering,
    OverFrames,
    UserFunctions,
    check_aggregate,
    check_ordering,
)
from streamapp_core.graph.graph import Operator
from streamapp_core.plan.joined_columns import repeated
from streamapp_core.plan.problem_collector import ProblemCollector
from streamapp_core.plan.required_columns import require_columns
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import INT, TIMESTAMP, Column, Schema, SchemaError
from streamapp_core.spec.groups import Aggregate, Dedup, Over, Ranking, Window
from streamapp_core.spec.operators import OperatorKind

Group = Aggregation | Ordering | OverFrames
GROUP_KINDS = frozenset(
    [OperatorKind.AGGREGATE, OperatorKind.TOP_N, OperatorKind.DEDUP, OperatorKind.OVER, OperatorKind.WINDOW]
)
WINDOW_COLUMNS = (Column("window_start", TIMESTAMP), Column("window_end", TIMESTAMP))
_INSTEAD = "compute it in a `map` before, and use its column"


class GroupFlow:
    """Follows the columns through the operators of `GROUP_KINDS`."""

    def __init__(
        self, collector: ProblemCollector, functions: UserFunctions, compiled: MutableMapping[str, Any]
    ) -> None:
        """Add the expressions of operators to `compiled`, and problems to `collector`."""
        self._collector = collector
        self._functions = replace(functions, instead=_INSTEAD)
        self._compiled = compiled

    def follow(self, operator: Operator, schema: Schema) -> Schema | None:
        """Check one operator and return its columns; None if something is wrong with it."""
        spec = operator.spec
        if spec.top_n is not None:
            return self._ranking(operator, spec.top_n, spec.top_n.by, schema)
        if spec.dedup is not None:
            return self._dedup(operator, spec.dedup, schema)
        if spec.over is not None:
            return self._over(operator, spec.over, schema)
        if spec.window is not None and spec.window.top_n is not None:
            return self._ranking(operator, spec.window.top_n, spec.window.by, schema)
        group = spec.window or spec.aggregate
        assert group is not None
        assert group.select is not None
        return self._group(operator, group, group.select, schema)

    def _group(self, operator: Operator, group: Window | Aggregate, select: str, schema: Schema) -> Schema | None:
        kind = operator.kind
        known = self._known(operator, group.by, schema)
        aggregation = self._collector.compile(
            check_aggregate, operator.path_parts(kind, "select"), select, known, schema, self._functions
        )
        if aggregation is None or len(known) < len(group.by):
            return None
        self._compiled[operator.name] = aggregation
        by = [column for name in group.by if (column := schema.get(name)) is not None]
        between = WINDOW_COLUMNS if kind is OperatorKind.WINDOW else ()
        columns = (*by, *between, *(Column(column.name, column.type) for column in aggregation.columns))
        bounds = "window_start, window_end, " if between else ""
        return self._distinct(
            operator.path(kind, "select"), columns, f"it has the columns of `by`, {bounds}and those of `select`"
        )

    def _dedup(self, operator: Operator, dedup: Dedup, schema: Schema) -> Schema | None:
        known = self._known(operator, dedup.by, schema)
        groups = self._collector.compile(check_ordering, operator.path_parts("dedup", "by"), None, known, schema)
        if groups is None or len(known) < len(dedup.by):
            return None
        self._compiled[operator.name] = groups
        return schema

    def _over(self, operator: Operator, over: Over, schema: Schema) -> Schema | None:
        known = self._known(operator, over.by, schema)
        compile_, path = self._collector.compile, operator.path_parts
        aggregation = compile_(check_aggregate, path("over", "select"), over.select, known, schema, self._functions)
        order = path("over", "orderBy")
        ordering = compile_(check_ordering, order, over.order_by, (), schema, self._functions)
        if aggregation is None or ordering is None or len(known) < len(over.by):
            return None
        ordering = replace_ordering(ordering, by_columns=aggregation.by_columns)
        self._compiled[operator.name] = OverFrames(aggregation=aggregation, ordering=ordering)
        added = (Column(column.name, column.type) for column in aggregation.columns)
        return self._distinct(
            operator.path("over", "select"),
            (*schema.columns, *added),
            f"it has the columns of `{operator.inputs[0]}`, and those of `select`; rename one",
        )

    def _ranking(self, operator: Operator, ranking: Ranking, by: tuple[str, ...], schema: Schema) -> Schema | None:
        field = ("topN",) if operator.spec.top_n is not None else ("window", "topN")
        known = self._known(operator, by, schema)
        ordering = self._collector.compile(
            check_ordering, operator.path_parts(*field, "orderBy"), ranking.order_by, known, schema, self._functions
        )
        if ordering is None or len(known) < len(by) or not self._nameable(operator.path(*field, "rank"), ranking.rank):
            return None
        self._compiled[operator.name] = ordering
        bounds = WINDOW_COLUMNS if operator.kind is OperatorKind.WINDOW else ()
        place = () if ranking.rank is None else (Column(ranking.rank, INT),)
        added = [*(column.name for column in bounds), *(["that of `rank`"] if place else [])]
        return self._distinct(
            operator.path(*field),
            (*schema.columns, *bounds, *place),
            f"it has the columns of `{operator.inputs[0]}`, {', '.join(added)}; rename one with a map",
        )

    def _known(self, operator: Operator, by: Sequence[str], schema: Schema) -> tuple[str, ...]:
        """Return those columns of a group that its rows have, each once; the others are problems."""
        known: dict[str, str] = {}
        for name in by:
            if name.lower() in known:
                self._collector.add(
                    operator.path(operator.kind, "by"),
                    ProblemCode.TYPE_MISMATCH,
                    f"`{name}` stands twice; name each column once (upper and lower case make no difference)",
                )
            elif require_columns(self._collector, operator, [name], schema, operator.kind, "by"):
                known[name.lower()] = name
        return tuple(known.values())

    def _nameable(self, path: str, name: str | None) -> bool:
        """Return whether a new column may have this name."""
        try:
            if name is not None:
                check_column_name(name)
        except SchemaError as error:
            self._collector.add(path, ProblemCode.INVALID_SPEC, str(error))
            return False
        return True

    def _distinct(self, path: str, columns: Sequence[Column], has: str) -> Schema | None:
        """Return the schema of a result, unless two of its columns have one name."""
        twice = repeated(columns)
        if twice is None:
            return Schema(tuple(columns))
        self._collector.add(
            path, ProblemCode.TYPE_MISMATCH, f"two columns of the result would be named `{twice.name}`; {has}"
        )
        return None
