"""Conditions of joins: equalities of the columns of two sources, and bounds on the time between two rows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import TokenType

from streamapp_core.expressions.expression_issues import Refusal
from streamapp_core.expressions.type_rules import NUMERIC, common_number
from streamapp_core.plan.joined_columns import keys_match
from streamapp_core.plan.sql_operators.relations import Found, Scope
from streamapp_core.plan.sql_operators.step_builder import Refused, StepBuilder
from streamapp_core.problems import ProblemCode
from streamapp_core.schema import STRING, DataType, TypeKind
from streamapp_core.sql.query_tree import JoinKind, Span
from streamapp_core.sql.sql_expressions import SqlExpression, read_expression
from streamapp_core.sql.time_lengths import DAY, read_length
from streamapp_core.sql.token_cursor import split_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Equality:
    """Two expressions that are equal: over sources that are joined already, and over the next one."""

    left: SqlExpression
    right: SqlExpression


def sources_of(builder: StepBuilder, span: Span, scope: Scope) -> set[int]:
    """Return the sources that a condition reads.

    Raises:
        SqlIssue: it reads an unknown column.
    """
    return {scope.find(reference).relation for reference in read_expression(builder.text, span).references}


def equality_of(builder: StepBuilder, span: Span, scope: Scope, joined: Collection[int], at: int) -> Equality | None:
    """Return what a condition equates of joined sources and of the next one; None if it does not."""
    expression = read_expression(builder.text, span)
    if not isinstance(expression.node, exp.EQ):
        return None
    parts = split_at(expression.tokens, lambda token: token.token_type is TokenType.EQ)
    if len(parts) != 2 or not all(parts):  # noqa: PLR2004 - the two sides
        return None
    sides = [Span(span.start + part[0].start, span.start + part[-1].end + 1) for part in parts]
    read_ = [sources_of(builder, side, scope) for side in sides]
    if read_[1] == {at} and read_[0] and read_[0] <= {*joined}:
        return Equality(left=read_expression(builder.text, sides[0]), right=read_expression(builder.text, sides[1]))
    if read_[0] == {at} and read_[1] and read_[1] <= {*joined}:
        return Equality(left=read_expression(builder.text, sides[1]), right=read_expression(builder.text, sides[0]))
    return None


def compared_columns(equality: Equality, scope: Scope) -> tuple[Found | None, Found | None]:
    """Return the columns that an equality compares; None for what is no plain column."""
    left, right = (
        None if side.reference is None else scope.find(side.reference) for side in (equality.left, equality.right)
    )
    return (None if left is None or left.fields else left, None if right is None or right.fields else right)


def equalities_of_key(
    found: Sequence[tuple[Span, Equality]], scope: Scope, keys: Sequence[tuple[int, str]]
) -> Sequence[tuple[Span, Equality]]:
    """Return an equality for each column of the key of a table, in their order; none if one has none."""
    by_column: dict[tuple[object, ...], tuple[Span, Equality]] = {}
    for span, equality in found:
        if equality.right.reference is not None:
            by_column.setdefault(scope.find(equality.right.reference).key, (span, equality))
    return [by_column[key] for key in keys] if by_column.keys() >= set(keys) else ()


def is_key(data_type: DataType) -> bool:
    """Return whether values of a type may be a part of a key."""
    return not data_type.nested and data_type.kind not in (TypeKind.VARIANT, TypeKind.TIMESTAMP_NTZ)


def check_keys(
    builder: StepBuilder, equality: Equality, left: DataType, right: DataType, kind: JoinKind = JoinKind.INNER
) -> None:
    """Check that rows with equal keys meet, whose types these are, and that the left one holds what a join has.

    Raises:
        Refused: the types differ; the issue is kept.
    """
    spans = (equality.left.span, equality.right.span)
    texts = [builder.text[span.start : span.end] for span in spans]
    common, instead = _common_key(left, right), "cast one of them to the type of the other"
    why = "rows with such keys never meet"
    if keys_match(left, right):
        if left in (common, right) or kind in (JoinKind.INNER, JoinKind.LEFT):
            return
        why = f"rows of a {kind} join without a partner have either key in one column"
    if common is not None:
        sides = zip(texts, (left, right), strict=True)
        written = [text if type_ == common else f"cast({text} as {common})" for text, type_ in sides]
        instead = f"write {' = '.join(written)}"
    builder.refuse_as(
        ProblemCode.TYPE_MISMATCH,
        Span(min(span.start for span in spans), max(span.end for span in spans)),
        f"`{texts[0]}` is {left} and `{texts[1]}` is {right}: {why}; {instead}",
    )
    raise Refused


def _common_key(left: DataType, right: DataType) -> DataType | None:
    """Return the type to which keys of two types are best cast; None if there is none that suits all."""
    if STRING in (left, right):
        return STRING
    try:
        return common_number(left, right) if {left.kind, right.kind} <= NUMERIC else None
    except Refusal:
        return None


def time_bounds(
    builder: StepBuilder, conditions: Sequence[Span], scope: Scope, left: int, right: int
) -> tuple[int, int] | None:
    """Return how many milliseconds the right row of a pair may be earlier, and later; None if nothing bounds it.

    The conditions still have to be checked: they may allow less.
    """
    bounds: list[tuple[int | None, int | None]] = []
    for span in conditions:
        node = read_expression(builder.text, span).node
        times = _Times(scope, left, right, turned=bool(builder.turned_zone))
        if isinstance(node, exp.Between):
            bounds += times.compare(exp.GTE, node.this, node.args["low"])
            bounds += times.compare(exp.LTE, node.this, node.args["high"])
        elif isinstance(node, exp.EQ):
            bounds += times.compare(exp.GTE, node.this, node.expression)
            bounds += times.compare(exp.LTE, node.this, node.expression)
        elif isinstance(node, exp.GT | exp.GTE | exp.LT | exp.LTE):
            bounds += times.compare(type(node), node.this, node.expression)
    least = [low for low, _ in bounds if low is not None]
    most = [high for _, high in bounds if high is not None]
    return (max(-max(least), 0), max(min(most), 0)) if least and most else None


class _Times:
    """The event times of two sources, in the terms of comparisons: left, or right, and milliseconds that are added.

    These are the least and the most: where clocks are `turned`, days have more and fewer hours.
    """

    def __init__(self, scope: Scope, left: int, right: int, *, turned: bool) -> None:
        self._scope = scope
        self._sides = (left, right)
        self._turned = turned

    def compare(self, operator: type[exp.Expr], one: exp.Expr, other: exp.Expr) -> list[tuple[int | None, int | None]]:
        """Return the least and the greatest difference (right less left) that a comparison allows."""
        first, second = self._term(one), self._term(other)
        if first is None or second is None or first[0] == second[0]:
            return []
        if first[0] == self._sides[0]:
            return self.compare(_TURNED[operator], other, one)
        # right + a >= left + b: right - left >= b - a
        return [(second[1] - first[2], None)] if operator in (exp.GT, exp.GTE) else [(None, second[2] - first[1])]

    def _term(self, node: exp.Expr) -> tuple[int, int, int] | None:
        if isinstance(node, exp.Paren):
            return self._term(node.this)
        if isinstance(node, exp.Add | exp.Sub) and isinstance(node.expression, exp.Interval):
            term, length = self._term(node.this), _milliseconds(node.expression)
            if term is None or length is None:
                return None
            added = length if isinstance(node, exp.Add) else -length
            # Of 24 hours or more the days go by the clocks, which are turned by a day at most, over the date line.
            turned = DAY if self._turned and length >= DAY else 0
            return term[0], term[1] + added - turned, term[2] + added + turned
        if not isinstance(node, exp.Column):
            return None
        names = [part.name.lower() for part in node.parts]
        for at in self._sides:
            relation = self._scope.relations[at]
            path = names[1:] if relation.alias and names[0] == relation.alias.lower() else names
            column = relation.get(path[0]) if path else None
            if column is None or (path is names and len(self._owners(path[0])) > 1):
                continue
            origin = None if column.origin is None else (*column.origin, *path[1:])
            timed = relation.timing is not None and relation.timing.time_of(origin, relation.nulls)
            return (at, 0, 0) if timed else None
        return None

    def _owners(self, name: str) -> list[int]:
        return [at for at, relation in enumerate(self._scope.relations) if relation.get(name) is not None]


_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
}


def _milliseconds(interval: exp.Interval) -> int | None:
    literal = interval.this
    if interval.args.get("unit") is not None or not isinstance(literal, exp.Literal):
        return None
    return read_length(str(literal.this))
