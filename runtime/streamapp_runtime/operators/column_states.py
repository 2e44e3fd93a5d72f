"""State of groups as columns, in front of a store: as `GroupStates`, without an object for each group.

A group has a number, by its encoded key; its partial results stand at that place of a column each. What the store gets
are the rows of `GroupStates`, so either can go on with what the other one has written.
"""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streamapp_core.expressions import Aggregation, Merge, Partial
from streamapp_core.schema import BIGINT
from streamapp_runtime.operators.group_states import CACHED_ROWS
from streamapp_runtime.rows.row_codec import MAXIMUM_KEY
from streamapp_runtime.state.store import Store
from streamapp_systems.arrow_types import arrow_type
from streamapp_systems.native.binary_columns import longest
from streamapp_systems.native.key_groups import KeyGroups, Numbers, order_of
from streamapp_systems.native.library import native_library
from streamapp_systems.native.row_columns import (
    STORED_TYPES,
    DecodedColumn,
    EncodedValues,
    RowKind,
    decode_numbers,
    encode_rows,
    row_kind,
    stored_column,
    typed_column,
)

_Values: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]
_FIRST_ROWS = 1_024
_WRITTEN_AT_ONCE = 200_000
_SORTED_AT_ONCE = 2_000_000
"""Groups that are sorted together: their keys are one column, which has room for 2 GB."""
_SHORT_ARRAY = 16
"""Arrays of so many values have a longer head."""
_MERGES: dict[tuple[Merge, RowKind], Callable[[_Values, _Values], _Values]] = {
    (Merge.SUM, RowKind.INTEGER): np.add,
    (Merge.SUM, RowKind.NUMBER): np.add,
    (Merge.MIN, RowKind.BOOLEAN): np.minimum,
    (Merge.MIN, RowKind.INTEGER): np.minimum,
    (Merge.MIN, RowKind.NUMBER): np.fmin,
    (Merge.MAX, RowKind.BOOLEAN): np.maximum,
    (Merge.MAX, RowKind.INTEGER): np.maximum,
    (Merge.MAX, RowKind.NUMBER): np.maximum,
    (Merge.BIT_AND, RowKind.INTEGER): np.bitwise_and,
    (Merge.BIT_OR, RowKind.INTEGER): np.bitwise_or,
    (Merge.BIT_XOR, RowKind.INTEGER): np.bitwise_xor,
}
"""Not-a-number is the greatest of numbers; sums of whole ones wrap around."""


class NotColumnarError(Exception):
    """A key or a stored row that these columns can't have: `GroupStates` has to go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    kind: RowKind
    type: pa.DataType
    merge: Callable[[_Values, _Values], _Values]


class ColumnStates:
    """The partial results of groups; changes reach the store with `flush`."""

    prefix_bytes = more_values = 0
    """Bytes before the values in a key, and values in a row between those of the key and the partial results."""

    def __init__(
        self,
        library: ctypes.CDLL,
        store: Store,
        by: int,
        partials: Sequence[Partial],
        cached: int = CACHED_ROWS,
        *,
        sorted_at_once: int = _SORTED_AT_ONCE,
    ) -> None:
        """Take the number of columns that groups have, and keep about `cached` groups in memory between commits.

        All partial results must be such as have columns; see `are_columnar`. Of more than `sorted_at_once` changed
        groups, so many at a time are written in the order of their keys.
        """
        self._library = library
        self._store = store
        self._by = by
        self._cached = cached
        self._sorted_at_once = sorted_at_once
        self._columns = [_column(partial) for partial in partials]
        self._stored_kinds = [RowKind.SKIPPED] * (by + self.more_values) + [column.kind for column in self._columns]
        self._forget()

    def merge(
        self,
        by: Sequence[pa.Array],
        partials: Sequence[pa.Array],
        prefixes: npt.NDArray[np.uint8] | None = None,
    ) -> list[pa.Array]:
        """Merge partial results into those of their groups, of which none comes twice; return the merged ones.

        The key of a group may have a prefix, of `prefix_bytes`.

        Raises:
            NotColumnarError: nothing was merged.
        """
        if [row_kind(column.type) for column in partials] != [column.kind for column in self._columns]:
            raise NotColumnarError
        numbers = self._numbers(self._encoded(by, prefixes))
        merged = []
        for column, place, added in zip(self._columns, range(len(self._columns)), partials, strict=True):
            values, present = self._values[place], self._present[place]
            result = _merged(column.merge, DecodedColumn(values=values[numbers], present=present[numbers]), added)
            values[numbers], present[numbers] = result.values, result.present
            merged.append(typed_column(result, column.type))
        self._changed[numbers] = True
        return merged

    def flush(self) -> None:
        """Write the changed groups to the store; forget all if they have become too many."""
        self._write(self._changed_numbers())
        if len(self._groups) > self._cached:
            self._forget()

    def _changed_numbers(self) -> Numbers:
        return np.flatnonzero(self._changed[: len(self._groups)])

    def _write(self, numbers: Numbers) -> None:
        """Write groups to the store, as rows in the order of their keys."""
        for part in self._parts(numbers):
            ordered = part[order_of(self._library, self._groups.keys(part))]
            for start in range(0, len(ordered), _WRITTEN_AT_ONCE):
                some = ordered[start : start + _WRITTEN_AT_ONCE]
                keys = self._groups.keys(some)
                self._store.put_columns(keys, self._rows(keys, some))
        self._changed[numbers] = False

    def _parts(self, numbers: Numbers) -> Iterator[Numbers]:
        """Divide groups into parts whose keys fit a column."""
        for start in range(0, len(numbers), self._sorted_at_once):
            yield numbers[start : start + self._sorted_at_once]

    def _forget(self) -> None:
        self._groups = KeyGroups(self._library)
        self._values = [_no_values(column.kind) for column in self._columns]
        self._present = [np.zeros(_FIRST_ROWS, np.bool_) for _ in self._columns]
        self._changed = np.zeros(_FIRST_ROWS, np.bool_)

    def _encoded(self, by: Sequence[pa.Array], prefixes: npt.NDArray[np.uint8] | None) -> pa.BinaryArray:
        if any(row_kind(column.type) is None for column in by):
            raise NotColumnarError
        keys = encode_rows(self._library, by, len(by[0]), prefixes=prefixes)
        if keys is None or longest(keys) > MAXIMUM_KEY + self.prefix_bytes:
            raise NotColumnarError
        return keys

    def _numbers(self, keys: pa.BinaryArray) -> Numbers:
        """Return the numbers of groups; what is new here is read from the store."""
        known = len(self._groups)
        numbers = self._groups.number(keys)
        if len(self._groups) > known:
            self._grow(len(self._groups))
            self._read(keys.filter(pa.array(numbers >= known)), known)
        return numbers

    def _read(self, keys: pa.BinaryArray, first: int) -> None:
        """Read the groups of keys, the numbers of which begin with `first`."""
        rows = self._store.get_column(keys)
        if rows.null_count == len(rows):
            return
        found = np.flatnonzero(rows.is_valid().to_numpy(zero_copy_only=False))
        decoded = decode_numbers(self._library, rows.drop_null(), self._stored_kinds)
        if decoded is None:
            raise NotColumnarError
        for place, column in enumerate(decoded):
            self._values[place][first + found] = column.values
            self._present[place][first + found] = column.present

    def _grow(self, count: int) -> None:
        capacity = len(self._changed)
        while capacity < count:
            capacity *= 2
        more = capacity - len(self._changed)
        if more:
            self._values = [_more_values(values, more) for values in self._values]
            self._present = [_longer(present, more) for present in self._present]
            self._changed = _longer(self._changed, more)

    def _rows(self, keys: pa.BinaryArray, numbers: Numbers) -> pa.BinaryArray:
        columns = self._more_columns(keys)
        columns += [
            _stored(column.kind, DecodedColumn(values=values[numbers], present=present[numbers]))
            for column, values, present in zip(self._columns, self._values, self._present, strict=True)
        ]
        head = 1 if self._by < _SHORT_ARRAY else 3
        first = EncodedValues(texts=keys, skipped=self.prefix_bytes + head, count=self._by)
        rows = encode_rows(self._library, columns, len(keys), first=first)
        assert rows is not None, "rows of a key and numbers are short"
        return rows

    def _more_columns(self, keys: pa.BinaryArray) -> list[pa.Array]:  # noqa: ARG002 - for others
        """Return the `more_values` of keys."""
        return []


def column_states(store: Store, aggregation: Aggregation) -> ColumnStates | None:
    """Return the groups of an aggregation; None without the native library, and if they are more than columns."""
    library = native_library().functions
    if library is None or not are_columnar(aggregation):
        return None
    return ColumnStates(library, store, len(aggregation.by_columns), aggregation.partials)


def are_columnar(aggregation: Aggregation) -> bool:
    """Return whether the groups of an aggregation can be columns."""
    by = all(row_kind(arrow_type(column.type)) is not None for column in aggregation.by_columns)
    return bool(aggregation.by_columns) and by and all(map(_has_column, aggregation.partials))


def _has_column(partial: Partial) -> bool:
    kind = row_kind(arrow_type(partial.type))
    wraps = partial.merge is not Merge.SUM or kind is not RowKind.INTEGER or partial.type == BIGINT
    return kind is not None and wraps and (partial.merge, kind) in _MERGES


def _column(partial: Partial) -> _Column:
    kind = row_kind(arrow_type(partial.type))
    assert kind is not None
    return _Column(kind=kind, type=arrow_type(partial.type), merge=_MERGES[partial.merge, kind])


def _merged(merge: Callable[[_Values, _Values], _Values], before: DecodedColumn, added: pa.Array) -> DecodedColumn:
    """Merge values; where one of two is missing, it is the other."""
    new = _decoded(added)
    with np.errstate(all="ignore"):
        both = merge(before.values, new.values)
    if before.present.all() and new.present.all():
        return DecodedColumn(values=both, present=new.present)
    values = np.where(before.present, np.where(new.present, both, before.values), new.values)
    return DecodedColumn(values=values, present=before.present | new.present)


def _decoded(column: pa.Array) -> DecodedColumn:
    stored = stored_column(column)
    if pa.types.is_boolean(stored.type):
        stored = stored.cast(pa.int8()).cast(pa.int64())
    if not stored.null_count:
        return DecodedColumn(values=stored.to_numpy(), present=np.ones(len(stored), np.bool_))
    present = stored.is_valid().to_numpy(zero_copy_only=False)
    return DecodedColumn(values=stored.fill_null(0).to_numpy(zero_copy_only=False), present=present)


def _stored(kind: RowKind, column: DecodedColumn) -> pa.Array:
    return typed_column(column, STORED_TYPES[kind])


def _longer(bits: npt.NDArray[np.bool_], more: int) -> npt.NDArray[np.bool_]:
    return np.concatenate([bits, np.zeros(more, np.bool_)])


def _more_values(values: _Values, more: int) -> _Values:
    longer: _Values = np.concatenate([values, np.zeros(more, values.dtype)])
    return longer


def _no_values(kind: RowKind) -> _Values:
    return np.zeros(_FIRST_ROWS, np.float64) if kind is RowKind.NUMBER else np.zeros(_FIRST_ROWS, np.int64)
