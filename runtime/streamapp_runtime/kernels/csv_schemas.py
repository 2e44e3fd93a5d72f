"""The kernels of `schema_of_csv`: the type of a line of CSV, as Spark infers it."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

import pyarrow as pa

from streamapp_core.data_types import MAX_PRECISION
from streamapp_runtime.kernels.csv_tokens import csv_tokens
from streamapp_runtime.kernels.inferred_types import DOUBLE, STRING, InferredType, written
from streamapp_runtime.kernels.java_numbers import whole
from streamapp_runtime.kernels.row_functions import each_row
from streamapp_runtime.kernels.text_schemas import UnknownTypeError, holds, is_floating, type_of_word

_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?")
_SPECIAL = ("NaN", "Inf", "-Inf")


def csv_values(texts: pa.Array, separators: pa.Array) -> pa.Array:
    """Return the values of lines of CSV as texts."""
    return pa.array(each_row(lambda text, sign: csv_tokens(text, sign) or [], texts, separators), pa.list_(pa.string()))


def schema_of_csv(values: pa.Array, dates: pa.Array, timestamps: pa.Array) -> pa.Array:
    """Return the types of lines of values, of which some are dates or timestamps; null if one is not known."""
    return pa.array(each_row(_schema, values, dates, timestamps), pa.string())


def _schema(tokens: list[str], days: list[bool], moments: list[bool]) -> str | None:
    if not tokens:
        return None
    try:
        fields = [(f"_c{place}", found) for place, found in enumerate(_types(tokens, days, moments))]
    except UnknownTypeError:
        return None
    return written(InferredType("STRUCT", fields=fields))


def _types(tokens: Sequence[str], days: Sequence[bool], moments: Sequence[bool]) -> Iterator[InferredType]:
    for place, token in enumerate(tokens):
        yield _inferred(token, date=holds(days, place), timestamp=holds(moments, place))


def _inferred(token: str, *, date: bool, timestamp: bool) -> InferredType:
    if not token:
        return STRING
    for name, bits in (("INT", 32), ("BIGINT", 64)):
        if whole(token, bits) is not None:
            return InferredType(name)
    number = Decimal(token).as_tuple() if _DECIMAL.fullmatch(token) else None
    if number and number.exponent == 0 and len(number.digits) <= MAX_PRECISION:
        return InferredType("DECIMAL", len(number.digits))
    if token in _SPECIAL or is_floating(token):
        return DOUBLE
    return type_of_word(token, date=date, timestamp=timestamp)
