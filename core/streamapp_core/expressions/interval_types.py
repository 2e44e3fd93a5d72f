"""Types of intervals: lengths of time in years and months, or in days, hours, minutes and seconds.

In DuckDB SQL an interval is a whole number: of months (an integer), or of microseconds (a bigint).
"""

from streamapp_core.data_types import INTERVALS
from streamapp_core.schema import DataType, TypeKind

YEAR_MONTH_UNITS = ("year", "month")
DAY_TIME_UNITS = ("day", "hour", "minute", "second")
MICROSECONDS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
MONTHS = {"year": 12, "month": 1}


def interval(first: str, last: str) -> DataType:
    """Return the type of intervals from one unit to another, both of years and months or both not."""
    kind = TypeKind.YEAR_MONTH_INTERVAL if first in YEAR_MONTH_UNITS else TypeKind.DAY_TIME_INTERVAL
    return DataType(kind, units=first if first == last else f"{first} to {last}")


def bounds(data_type: DataType) -> tuple[str, str]:
    """Return the first and the last unit of an interval's type."""
    first, _, last = data_type.units.partition(" to ")
    return first, last or first


def units(data_type: DataType) -> tuple[str, ...]:
    """Return all units of an interval's type, the largest first."""
    names = YEAR_MONTH_UNITS if data_type.kind is TypeKind.YEAR_MONTH_INTERVAL else DAY_TIME_UNITS
    first, last = bounds(data_type)
    return names[names.index(first) : names.index(last) + 1]


def common_interval(left: DataType, right: DataType) -> DataType | None:
    """Return the type that has the units of two types of intervals; None if they have none in common."""
    if left.kind is not right.kind or left.kind not in INTERVALS:
        return None
    names = YEAR_MONTH_UNITS if left.kind is TypeKind.YEAR_MONTH_INTERVAL else DAY_TIME_UNITS
    places = [names.index(unit) for data_type in (left, right) for unit in bounds(data_type)]
    return interval(names[min(places)], names[max(places)])


YEAR_TO_MONTH = interval("year", "month")
DAY_TO_SECOND = interval("day", "second")
DAY = interval("day", "day")
