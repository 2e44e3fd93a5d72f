"""Rows that the stores of operators and tables hold, as people read them (`streamapp state`)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import pyarrow as pa

from streamapp_runtime.rows.row_codec import decode_key, to_arrow_table

_ROWS = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRows:
    """Some rows that a store holds: of which `kind`, and the columns of the `key` that they are found by.

    A row may have the hidden event time. `values` are those that a function has put, one a row, in a form that JSON
    has.
    """

    kind: str
    key: tuple[str, ...]
    rows: pa.Table
    values: Sequence[object] | None = None


class HoldsRows(Protocol):
    """An operator whose store can be read."""

    def resume(self, watermark: int) -> None:
        """Continue at this watermark: what has ended before it is not there any more."""
        ...

    def stored_rows(self) -> Iterator[StoredRows]:
        """Return the rows in the store, some at a time."""
        ...


def in_batches(rows: Iterable[Any]) -> Iterator[list[Any]]:
    """Divide rows into lists of a few thousand."""
    left = iter(rows)
    while batch := list(islice(left, _ROWS)):
        yield batch


def with_keys(entries: Sequence[tuple[bytes, Sequence[object]]], key: pa.Schema, others: pa.Schema) -> pa.Table:
    """Return a row of the encoded key and the other plain values of each entry; nulls for a key that was cut."""
    nothing = [None] * len(key)
    return to_arrow_table(
        [[*(decode_key(name) or nothing), *values] for name, values in entries], pa.schema([*key, *others])
    )
