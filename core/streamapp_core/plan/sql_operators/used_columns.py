"""The columns that a query reads of its sources: all are there, and no others go through a join."""

from collections.abc import Callable, Collection, Sequence

from sqlglot import exp

from streamapp_core.plan.sql_operators.relations import Found, Scope
from streamapp_core.plan.sql_operators.step_builder import StepBuilder
from streamapp_core.sql.query_tree import Selection, Span, SqlIssue
from streamapp_core.sql.sql_expressions import Reference, SqlExpression, read_expression, read_ordering


def check_columns(builder: StepBuilder, selection: Selection, conditions: Sequence[Span], scope: Scope) -> None:
    """Look up all columns that a query reads: those behind `where` and `on` are in `conditions`.

    Raises:
        Refused: some are not there; the issues of all are kept.
    """
    ordered = [item.window for item in selection.items if item.window is not None]
    grouping = [*selection.group_by, *([selection.having] if selection.having else [])]
    spans = [item.expression for item in selection.items if item.row_number is None]
    spans += [*conditions, *grouping, *(span for window in ordered for span in window.partition)]
    windows = {"window", "session_window"} if selection.group_by else set()
    names = {item.name.lower() for item in selection.items if item.name}

    def check(read_: Callable[[str, Span], SqlExpression], span: Span) -> None:
        others = windows | names if span in grouping else windows
        builder.gather(lambda one: _look_up(one, scope, others), read_(builder.text, span).references)

    expressions = [*((read_expression, span) for span in spans), *((read_ordering, window.order) for window in ordered)]
    builder.gather(lambda expression: check(*expression), expressions)


def _look_up(reference: Reference, scope: Scope, others: Collection[str]) -> None:
    """Look up a name, which may also be one of others that are no columns: an item, or the window of a group."""
    try:
        scope.find(reference)
    except SqlIssue as issue:
        if not issue.unknown or reference.parts[0].lower() not in others:
            raise


def used_columns(builder: StepBuilder, selection: Selection, conditions: Sequence[Span], scope: Scope) -> list[Found]:
    """Return what the expressions of a query read, in the order of the text.

    Names that are none of a column are left out: they may be those of an item, or are refused where they are read.
    """
    found: list[Found] = []
    for expression in _expressions(builder.text, selection, conditions):
        found += _stars(expression, scope)
        for reference in expression.references:
            try:
                found.append(scope.find(reference))
            except SqlIssue as issue:
                if not issue.unknown:
                    raise
    return found


def _expressions(text: str, selection: Selection, conditions: Sequence[Span]) -> list[SqlExpression]:
    spans = [item.expression for item in selection.items if item.row_number is None]
    spans += [*conditions, *selection.group_by, *([selection.having] if selection.having else [])]
    spans += [span for source in selection.sources for span in source.on]
    ordered = [item.window for item in selection.items if item.window is not None]
    spans += [span for window in ordered for span in window.partition]
    return [
        *(read_expression(text, span) for span in spans),
        *(read_ordering(text, window.order) for window in ordered),
    ]


def _stars(expression: SqlExpression, scope: Scope) -> list[Found]:
    node = expression.node
    if isinstance(node, exp.Star):
        return scope.starred(None, expression.span)
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        names = [part.name for part in node.parts[:-1]]
        return scope.starred(names[0], expression.span) if len(names) == 1 else []
    return []
