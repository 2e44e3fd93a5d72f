"""Checks of the arguments of aggregates: how many there are, and which numbers are literals."""

from collections.abc import Sequence

from streamapp_core.expressions.aggregate_calls import AggregateCall
from streamapp_core.expressions.expression_issues import invalid
from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import BIGINT, INT

MAX_INT = 2**31 - 1


def counted(call: AggregateCall, arguments: Sequence[Value], count: int) -> Sequence[Value]:
    """Return the arguments.

    Raises:
        Refusal: There are more or less of them.
    """
    if len(arguments) != count:
        raise invalid(f"{call.name} takes other arguments than these {len(arguments)}: docs/expressions.md has them")
    return arguments


def whole(value: Value, least: int, most: int = MAX_INT) -> bool:
    """Return whether a value is a literal: a whole number in these bounds."""
    return value.type in (INT, BIGINT) and isinstance(value.literal, int) and least <= value.literal <= most


def number_or(arguments: Sequence[Value], place: int, default: int) -> int:
    """Return the whole number at a place, which was checked, or what stands for it if there is none."""
    return int(str(arguments[place].literal)) if len(arguments) > place else default
