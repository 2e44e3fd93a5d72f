"""A function that queries call, beside those of DuckDB."""

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from streamapp_core.schema import DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlFunction:
    """A function over arrays; with parameters None it takes any number of values of any types."""

    parameters: tuple[DataType, ...] | None
    result: DataType
    call: Callable[..., pa.Array]
