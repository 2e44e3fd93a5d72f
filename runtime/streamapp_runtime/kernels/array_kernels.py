"""Arrays as sets: where each element stands first, and which of them another array has.

The elements of all rows are numbered together, equal ones alike, so that one sort finds what is equal in each row. The
time grows with the number of elements, however many of them a row has. Elements are equal as by `<=>`: a null equals a
null. Floating numbers come with one zero and one NaN.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_Numbers = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


def first_places(arrays: pa.Array) -> pa.Array:
    """Return the places, from 1, where the elements of arrays are there for the first time."""
    rows = _rows(arrays)
    return _places(arrays, rows, _first(_keys(rows, _numbers(arrays.flatten()))))


def common_places(arrays: pa.Array, others: pa.Array) -> pa.Array:
    """Return the places of elements that are there for the first time, and in the other array as well."""
    return _compared(arrays, others, there=True)


def missing_places(arrays: pa.Array, others: pa.Array) -> pa.Array:
    """Return the places of elements that are there for the first time, and not in the other array."""
    return _compared(arrays, others, there=False)


def overlap(arrays: pa.Array, others: pa.Array) -> pa.Array:
    """Return whether two arrays have an element; null if none is found, but there is a null beside another element."""
    left, right = _both(arrays, others)
    nulls, found = np.zeros(len(arrays), np.bool_), np.zeros(len(arrays), np.bool_)
    present = []
    for column, (rows, keys) in ((arrays, left), (others, right)):
        valid = column.flatten().is_valid().to_numpy(zero_copy_only=False)
        nulls[rows[~valid]] = True
        present.append((rows[valid], keys[valid]))
    (rows, keys), (_, wanted) = present
    found[rows[np.isin(keys, wanted)]] = True
    unknown = nulls & (_sizes(arrays) > 0) & (_sizes(others) > 0)
    known = (found | ~unknown) & _valid(arrays) & _valid(others)
    return pa.array(found, pa.bool_(), mask=~known)


def _compared(arrays: pa.Array, others: pa.Array, *, there: bool) -> pa.Array:
    (rows, keys), (_, wanted) = _both(arrays, others)
    kept = _first(keys) & np.isin(keys, wanted, invert=not there)
    return _places(arrays, rows, kept, _valid(others))


def _both(arrays: pa.Array, others: pa.Array) -> tuple[tuple[_Numbers, _Numbers], tuple[_Numbers, _Numbers]]:
    """Return the row and the key of every element of two columns."""
    elements, more = arrays.flatten(), others.flatten()
    numbers = _numbers(pa.concat_arrays([elements, more.cast(elements.type)]))
    rows = np.concatenate([_rows(arrays), _rows(others)])
    keys = _keys(rows, numbers)
    return (rows[: len(elements)], keys[: len(elements)]), (rows[len(elements) :], keys[len(elements) :])


def _valid(arrays: pa.Array) -> _Flags:
    return np.asarray(arrays.is_valid().to_numpy(zero_copy_only=False))


def _sizes(arrays: pa.Array) -> _Numbers:
    return np.asarray(pc.list_value_length(arrays).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _rows(arrays: pa.Array) -> _Numbers:
    """Return the row of every element."""
    return np.repeat(np.arange(len(arrays), dtype=np.int64), _sizes(arrays))


def _keys(rows: _Numbers, numbers: _Numbers) -> _Numbers:
    """Return one number for a row and the number of an element."""
    return rows * (int(numbers.max(initial=0)) + 1) + numbers


def _first(keys: _Numbers) -> _Flags:
    first = np.zeros(len(keys), np.bool_)
    first[np.unique(keys, return_index=True)[1]] = True
    return first


def _places(arrays: pa.Array, rows: _Numbers, kept: _Flags, valid: _Flags | None = None) -> pa.Array:
    """Return the places of the elements that are kept, as lists; null for rows that are null or not valid."""
    sizes = _sizes(arrays)
    starts = np.cumsum(sizes) - sizes
    places = np.flatnonzero(kept) - starts[rows[kept]] + 1
    offsets = np.concatenate([[0], np.cumsum(np.bincount(rows[kept], minlength=len(arrays)))])
    missing = ~_valid(arrays) if valid is None else ~(_valid(arrays) & valid)
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(places, pa.int64()), mask=pa.array(missing))


def _numbers(values: pa.Array) -> _Numbers:
    """Number values so that equal ones, and nulls, have the same number."""
    kind = values.type
    if pa.types.is_struct(kind):
        parts = [_valid(values).astype(np.int64), *(_numbers(field) for field in values.flatten())]
        rows = np.ascontiguousarray(np.stack(parts, axis=1))
        values = pa.array(rows.reshape(-1).view(f"V{rows.shape[1] * 8}").tolist(), pa.binary())
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        values = _runs(values)
    elif pa.types.is_floating(kind):
        values = _bits(values)
    return np.asarray(values.dictionary_encode("encode").indices.to_numpy(zero_copy_only=False), np.int64)


def _runs(lists: pa.Array) -> pa.Array:
    """Return the numbers of the elements of each list as bytes."""
    numbers = _numbers(lists.flatten())
    offsets = np.concatenate([[0], np.cumsum(_sizes(lists))]) * 8
    runs = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(), len(lists), [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(numbers)]
    )
    return pc.if_else(lists.is_valid(), runs, pa.scalar(None, pa.large_binary()))


def _bits(values: pa.Array) -> pa.Array:
    """Return floating numbers as the numbers that their bits are."""
    numbers = values.fill_null(0).to_numpy(zero_copy_only=False)
    bits = pa.array(numbers.view(np.int64 if pa.types.is_float64(values.type) else np.int32))
    return pc.if_else(values.is_valid(), bits, pa.scalar(None, bits.type))
