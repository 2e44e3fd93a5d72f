"""Literals of intervals, such as `interval 3 days 2 hours` and `interval '1-2' year to month`, and types in casts."""

import re
from decimal import Decimal

from sqlglot import exp

from streamapp_core.expressions.expression_issues import Refusal, invalid
from streamapp_core.expressions.interval_types import (
    DAY_TIME_UNITS,
    MICROSECONDS,
    MONTHS,
    YEAR_MONTH_UNITS,
    interval,
    units,
)
from streamapp_core.expressions.typed_sql import Value, cast, text
from streamapp_core.schema import DataType, TypeKind

UNITS = {
    **{unit: (unit, Decimal(1)) for unit in (*YEAR_MONTH_UNITS, *DAY_TIME_UNITS)},
    "week": ("day", Decimal(7)),
    "millisecond": ("second", Decimal("0.001")),
    "microsecond": ("second", Decimal("0.000001")),
}
"""The units that a literal may name, each as so many of a unit of the types."""
_UNITS = UNITS | {f"{name}s": unit for name, unit in UNITS.items()}
UNIT_NAMES = frozenset(_UNITS)
_AMOUNT = re.compile(r"\s*(?P<number>[+-]?[0-9]{1,19}(?:\.[0-9]{1,9})?)\s+(?P<unit>[a-z]+)\s*", re.IGNORECASE)
_FIELD = {
    "year": r"(?P<year>\d{1,10})", "month": r"(?P<month>\d{1,10})", "day": r"(?P<day>\d{1,10})",
    "hour": r"(?P<hour>\d{1,10})", "minute": r"(?P<minute>\d{1,10})", "second": r"(?P<second>\d{1,10}(?:\.\d{1,9})?)",
}  # fmt: skip
_BEFORE = {"year": "", "month": "-", "day": "", "hour": " ", "minute": ":", "second": ":"}
_MOST = {"month": 11, "hour": 23, "minute": 59, "second": 59}
"""The largest number of a unit that is not the first."""


def interval_literal(node: exp.Expr) -> Value:
    """Type a literal of an interval.

    Raises:
        Refusal: It is none, or too long.
    """
    written, unit = str(node.this.this), node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        data_type = span(unit)
        return _value(data_type, _spanned(written, data_type))
    named: dict[str, Decimal] = {}
    position = 0
    while match := _AMOUNT.match(written, position):
        unit_name, size = _UNITS.get(match["unit"].lower(), ("", Decimal(0)))
        if not unit_name or ("." in match["number"] and match["unit"].lower() not in ("second", "seconds")):
            break
        named[unit_name] = named.get(unit_name, Decimal(0)) + _microsecond_exact(Decimal(match["number"])) * size
        position = match.end()
    places = [names.index(name) for names in (YEAR_MONTH_UNITS, DAY_TIME_UNITS) for name in named if name in names]
    names = YEAR_MONTH_UNITS if named.keys() <= set(YEAR_MONTH_UNITS) else DAY_TIME_UNITS
    if position < len(written) or not named or not named.keys() <= set(names):
        raise _unreadable(written)
    return _value(interval(names[min(places)], names[max(places)]), named)


def interval_type(node: exp.Expr) -> DataType:
    """Read the type of an interval that a cast names: `interval day to second`.

    Raises:
        Refusal: There is no such type.
    """
    unit = node.args.get("unit")
    if isinstance(unit, exp.IntervalSpan):
        return span(unit)
    name = str(unit.this).lower() if isinstance(unit, exp.Var) else ""
    if name not in (*YEAR_MONTH_UNITS, *DAY_TIME_UNITS):
        raise invalid("write the type of an interval as in cast(x as interval day to second) or (x as interval month)")
    return interval(name, name)


def span(node: exp.IntervalSpan) -> DataType:
    """Read the units of `... day to second`.

    Raises:
        Refusal: They are not two units, the larger one first, of one kind of intervals.
    """
    first, last = str(node.this.this).lower(), str(node.expression.this).lower()
    for names in (YEAR_MONTH_UNITS, DAY_TIME_UNITS):
        if first in names and last in names and names.index(first) < names.index(last):
            return interval(first, last)
    raise invalid(
        f"there are no intervals `{first} to {last}`; write year to month, day to second, hour to minute, ..."
    )


def _spanned(written: str, data_type: DataType) -> dict[str, Decimal]:
    fields = units(data_type)
    pattern = "".join((_BEFORE[unit] if index else "") + _FIELD[unit] for index, unit in enumerate(fields))
    match = re.fullmatch(rf"\s*(?P<sign>[+-]?){pattern}\s*", written, re.ASCII)
    if match is None or any(Decimal(match[unit]) >= _MOST[unit] + 1 for unit in fields[1:]):
        raise _unreadable(written)
    sign = -1 if match["sign"] == "-" else 1
    return {unit: sign * _microsecond_exact(Decimal(match[unit])) for unit in fields}


def _microsecond_exact(number: Decimal) -> Decimal:
    """Cut off what is smaller than a microsecond."""
    return Decimal(int(number * 1_000_000)) / 1_000_000


def _value(data_type: DataType, named: dict[str, Decimal]) -> Value:
    months = data_type.kind is TypeKind.YEAR_MONTH_INTERVAL
    sizes = MONTHS if months else MICROSECONDS
    number = int(sum(amount * sizes[unit] for unit, amount in named.items()))
    if not -(2 ** (31 if months else 63)) <= number < 2 ** (31 if months else 63):
        raise invalid(f"the {data_type} is longer than an interval can be")
    return Value(data_type, cast(text(str(number)), data_type), simple=True)


def _unreadable(written: str) -> Refusal:
    return invalid(
        f"'{written[:40]}' is no interval; write interval 3 days 2 hours, interval '1' month, or "
        "interval '1 02:03:04.5' day to second (years and months don't mix with days and less)"
    )
