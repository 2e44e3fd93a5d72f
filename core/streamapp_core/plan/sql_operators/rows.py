"""Rows on their way through a query: the columns that its expressions may name, and the operator that emits them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamapp_core.plan.sql_operators.relations import Found, Path, Relation, Scope, Timing, backquoted
from streamapp_core.plan.sql_operators.step_builder import StepBuilder
from streamapp_core.plan.stream_types.stream_partitioning import Hashed
from streamapp_core.schema import DataType
from streamapp_core.sql.query_tree import Span, SqlIssue
from streamapp_core.sql.sql_expressions import Reference, SqlExpression, read_expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The rows that `operator` emits, with the names of the relations that they were made of; else as `Relation`."""

    operator: str
    scope: Scope
    types: Mapping[str, DataType]
    timing: Timing | None = None
    nulls: frozenset[Path] = frozenset()
    partitioned: Hashed | None = None
    key: tuple[str, ...] | None = None


def rows_of(builder: StepBuilder, relation: Relation) -> Rows:
    """Return the rows of one relation."""
    return Rows(
        operator=relation.operator,
        scope=Scope([relation]),
        types=types_of(builder, relation.operator),
        timing=relation.timing,
        nulls=relation.nulls,
        partitioned=relation.partitioned,
        key=relation.key,
    )


def partitioned_under(partitioned: Hashed | None, names: Mapping[str, Collection[str]]) -> Hashed | None:
    """Return a partitioning under the names (lower case) that its columns have now; None if a part has none."""
    if partitioned is None:
        return None
    parts = [{name for column in part for name in names.get(column, ())} for part in partitioned.columns]
    found = partitioned.with_columns(parts)
    return found if isinstance(found, Hashed) else None


def types_of(builder: StepBuilder, operator: str) -> Mapping[str, DataType]:
    """Return the types of the columns of a step, by their names in lower case."""
    schema = builder.schema(operator)
    return {} if schema is None else {column.name.lower(): column.type for column in schema.columns}


def joined_key(left: Rows, right: Rows, right_on: Sequence[str]) -> tuple[str, ...] | None:
    """Return the key of the pairs of two running results: those of both rows, with what they are joined by once."""
    if left.key is None or right.key is None:
        return None
    on = {column.lower() for column in right_on}
    return (*left.key, *(column for column in right.key if column.lower() not in on))


def has_key(rows: Rows | Relation, stored: str) -> bool:
    """Return whether a column stays with its row: rows that replace each other keep those of their key."""
    return rows.key is None or stored.lower() in map(str.lower, rows.key)


def write(expression: SqlExpression, scope: Scope, name: Callable[[Found], str] = lambda found: found.text) -> str:
    """Return the text of an expression over the columns of an operator.

    Raises:
        SqlIssue: `*` stands inside of it: the operator has other columns than the tables of the query.
    """
    if expression.has_inner_star:
        raise SqlIssue(expression.span, "`*` stands alone in a query, or in count(*): name the columns")

    def replaced(reference: Reference) -> str:
        found = scope.find(reference)
        text = name(found)
        if reference.names_field and text.strip("`").lower() != reference.parts[-1].lower():
            return f"{text} as {backquoted(reference.parts[-1])}"
        return text

    return expression.rewritten(replaced)


def filter_rows(builder: StepBuilder, rows: Rows, conditions: Sequence[Span], name: str) -> Rows:
    """Add the step that keeps the rows for which all conditions are true, if there are any.

    Raises:
        Refused: a condition can't be right; the issues are kept.
    """
    if not conditions:
        return rows
    expressions = builder.gather(lambda span: _condition(builder.text, span, rows.scope), conditions)
    texts = [text for text, _ in expressions]
    whole = texts[0] if len(texts) == 1 else " and ".join(f"({text})" for text in texts)
    builder.add(name, rows.operator, "filter", whole, dict(zip(texts, conditions, strict=True)))
    nulls = {path for _, path in expressions if path is not None}
    return replace(rows, operator=name, nulls=rows.nulls | nulls)


def _condition(text: str, span: Span, scope: Scope) -> tuple[str, Path | None]:
    """Return the text of a condition, and what is null where it is true."""
    expression = read_expression(text, span)
    node = expression.node
    null = isinstance(node, exp.Is) and isinstance(node.expression, exp.Null) and isinstance(node.this, exp.Column)
    path = None
    if null and len(expression.references) == 1:
        path = scope.find(expression.references[0]).origin
    return write(expression, scope), path
