"""Numbers of a type, of the doubles in which summaries compute."""

from collections.abc import Callable

_LIMIT = 1 << 63


def plain_number(kind: str) -> Callable[[float], float | int]:
    """Return what makes the plain value of a family of types of a double: whole numbers are cut, and saturate."""
    return _floating if kind in ("float", "double") else _whole


def _whole(value: float) -> int:
    return max(-_LIMIT, min(int(value), _LIMIT - 1))


def _floating(value: float) -> float:
    return value
