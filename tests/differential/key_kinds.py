"""The kinds of keys that a random app has: their values, the awkward ones among them, and how outputs write them."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from math import isnan
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class KeyKind:
    """A type of keys. `canonical` makes one text of all values that SQL takes for equal, however they are written.

    `joined_as` is another type with the same values, for joins of keys of two types. `hashed`: a producer can put such
    keys into partitions by the hash of their text.
    """

    type: str
    arrow: pa.DataType
    values: tuple[Any, ...]
    canonical: Callable[[str], str]
    joined_as: str
    hashed: bool = False
    json: Callable[[Any], Any] = lambda value: value
    maps: tuple[str, ...] = ()


def _float(text: str) -> str:
    number = float(text)
    return "nan" if isnan(number) else repr(number + 0.0)


def _decimal(text: str) -> str:
    return f"{Decimal(text) + 0:.4f}"


KINDS = {
    "string": KeyKind(
        type="string",
        arrow=pa.string(),
        values=("a", "b", "c", "A", "ü", "d e"),
        canonical=str,
        joined_as="string",
        hashed=True,
        maps=("id, upper(k) as k, g, v",),
    ),
    "bigint": KeyKind(
        type="bigint",
        arrow=pa.int64(),
        values=(0, -1, 7, 2**20, 11),
        canonical=lambda text: str(int(text)),
        joined_as="int",
        hashed=True,
    ),
    "double": KeyKind(
        type="double",
        arrow=pa.float64(),
        values=(0.0, -0.0, float("nan"), 1.5, -2.0, 1e20),
        canonical=_float,
        joined_as="float",
    ),
    "decimal": KeyKind(
        type="decimal(8,2)",
        arrow=pa.decimal128(8, 2),
        values=(Decimal("1.50"), Decimal("0.00"), Decimal("-2.00"), Decimal("10.10"), Decimal("3.00")),
        canonical=_decimal,
        joined_as="decimal(12,4)",
        json=lambda value: None if value is None else str(value),
    ),
    "date": KeyKind(
        type="date",
        arrow=pa.date32(),
        values=tuple(date(2024, 2, day) for day in (1, 2, 28, 29)),
        canonical=str,
        joined_as="date",
        json=lambda value: None if value is None else str(value),
    ),
    "boolean": KeyKind(
        type="boolean",
        arrow=pa.bool_(),
        values=(True, False),
        canonical=str.lower,
        joined_as="boolean",
    ),
}
