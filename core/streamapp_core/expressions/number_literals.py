"""Whole numbers that are written as literals, among arguments."""

from collections.abc import Sequence

from streamapp_core.expressions.typed_sql import Value
from streamapp_core.schema import BIGINT, INT

MAX_INT = 2**31 - 1


def whole(value: Value, least: int, most: int = MAX_INT) -> bool:
    """Return whether a value is a literal: a whole number in these bounds."""
    return value.type in (INT, BIGINT) and isinstance(value.literal, int) and least <= value.literal <= most


def number_or(arguments: Sequence[Value], place: int, default: int) -> int:
    """Return the whole number at a place, which was checked, or what stands for it if there is none."""
    return int(str(arguments[place].literal)) if len(arguments) > place else default
