"""Functions of one row, applied to the rows of Arrow arrays."""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pyarrow as pa

from streamapp_core.data_types import DataType
from streamapp_core.schema import parse_type
from streamapp_systems.variants.variant_columns import is_variant, variants_of


def each_row(function: Callable[..., Any], *columns: pa.Array) -> Iterator[Any]:
    """Return what a function makes of every row; null of a row with a null."""
    values = (variants_of(column) if is_variant(column.type) else column.to_pylist() for column in columns)
    for row in zip(*values, strict=True):
        yield None if None in row else function(*row)


@lru_cache(maxsize=256)
def literal_type(written: str) -> DataType:
    """Return the type that a kernel's argument names; there are few in an app, and one for every row of a batch."""
    return parse_type(written)
