"""Windows of event time in a `group by`: `window(at, '10 seconds')`, `session_window(at, '10 seconds')`."""

from dataclasses import dataclass

from sqlglot import exp

from streamapp_core.plan.sql_operators.rows import Rows
from streamapp_core.spec.base import format_duration
from streamapp_core.sql.query_tree import Span, SqlIssue
from streamapp_core.sql.sql_expressions import SqlExpression
from streamapp_core.sql.time_lengths import has_days, read_length

_LENGTH_ONLY, _WITH_STEP = 2, 3
"""Arguments of a tumbling window (or a session), and of a sliding one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventWindow:
    """A window: `name` as the query calls it, `fields` those of a `window` operator.

    Rows for which `condition` is not true have no time, and are in no window.
    """

    expression: SqlExpression
    name: str
    fields: dict[str, object]
    condition: str | None

    @property
    def span(self) -> Span:
        """Its place in the text."""
        return self.expression.span


def read_window(expression: SqlExpression, rows: Rows, turned_zone: str) -> EventWindow | None:
    """Read the window that rows are grouped by; None if it is another expression.

    The days of a session are those of `turned_zone`, if its name is not empty.

    Raises:
        SqlIssue: it is a window that does not go by the event time of the rows, or one that does not exist here.
    """
    node = expression.node
    name = str(node.this).lower() if isinstance(node, exp.Anonymous) else ""
    if name not in ("window", "session_window"):
        return None
    assert isinstance(node, exp.Anonymous)
    arguments = node.expressions
    most = _LENGTH_ONLY if name == "session_window" else _WITH_STEP
    if not _LENGTH_ONLY <= len(arguments) <= most:
        usage = "window(at, '10 seconds'[, '5 seconds'])" if name == "window" else "session_window(at, '10 seconds')"
        raise SqlIssue(expression.span, f"it is called as {usage}; windows start at multiples of their step since 1970")
    lengths = [_length(argument, expression.span) for argument in arguments[1:]]
    condition = check_event_time(arguments[0], expression, rows, "the first argument of a window")
    if name == "session_window":
        if turned_zone and has_days(str(arguments[1])):
            raise SqlIssue(
                expression.span, f"days have 23 to 25 hours in {turned_zone}: write hours, as '24 hours' for '1 day'"
            )
        fields: dict[str, object] = {"session": format_duration(lengths[0])}
    elif len(lengths) == 1 or lengths[0] == lengths[1]:
        fields = {"tumbling": format_duration(lengths[0])}
    else:
        if lengths[1] > lengths[0]:
            raise SqlIssue(
                expression.span, "windows would begin later than the one before has ended; make the step shorter"
            )
        fields = {"sliding": format_duration(lengths[0]), "every": format_duration(lengths[1])}
    return EventWindow(expression=expression, name=name, fields=fields, condition=condition)


def _length(node: exp.Expr, span: Span) -> int:
    literal = node if isinstance(node, exp.Literal) else node.this if isinstance(node, exp.Interval) else None
    length = read_length(str(literal.this)) if isinstance(literal, exp.Literal) else None
    if not length:
        raise SqlIssue(span, "write lengths as '10 seconds', '5 minutes', '1 hour' or '1 day'")
    return length


def check_event_time(node: exp.Expr, expression: SqlExpression, rows: Rows, what: str) -> str | None:
    """Return the condition that a row has a time, where others count in the stream instead; None: all have.

    Raises:
        SqlIssue: the expression is not the event time; `what` says where it is to stand.
    """
    references = expression.references
    plain = isinstance(node, exp.Column) and len(references) == 1
    if not plain:
        raise SqlIssue(expression.span, f"{what} is the column of the event time")
    found = rows.scope.find(references[0])
    timing = rows.timing
    if timing is None:
        raise SqlIssue(
            expression.span,
            f"{what} is the event time of rows, and here no column is known to be it: it is that of `eventTime` of "
            "the stream, in rows that are neither joined nor grouped",
        )
    if not timing.time_of(found.origin, rows.nulls):
        first = ".".join(timing.columns[0])
        instead = f"that is `{first}` of the stream, as it is or under another name"
        if found.origin in timing.columns:
            earlier = ".".join(timing.columns[timing.columns.index(found.origin) - 1])
            first = earlier.partition(".")[0]
            instead = f"where `{earlier}` is not null, that is the event time: add `{first} is null` to `where`"
        raise SqlIssue(references[0].span, f"this is not the event time of the rows; {instead}")
    return f"{found.text} is not null" if len(timing.columns) > 1 else None
