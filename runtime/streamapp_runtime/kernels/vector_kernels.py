"""Vectors, as arrays of floats: sums in the order in which Spark adds up, so that each bit is the same.

Elements are taken eight by eight: each eight are added up, then added to the sum; those that are left come one by one.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

_Floats = npt.NDArray[np.float32]
_Numbers = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]
_QUIET = np.errstate(over="ignore", invalid="ignore", divide="ignore")
"""Sums beyond a float are infinite, and without a value NaN."""
_STEP = 8
_LEAST = np.finfo(np.float32).tiny
"""The least float with all its digits: a shorter vector has no direction."""


@_QUIET
def inner_product(vectors: pa.Array, others: pa.Array) -> pa.Array:
    """Return the inner products of vectors; null if their lengths differ or an element is null."""
    (left, right), sizes, valid = _pairs(vectors, others)
    return _result(_sums(left * right, sizes), valid)


@_QUIET
def l2_distance(vectors: pa.Array, others: pa.Array) -> pa.Array:
    """Return the Euclidean distances of vectors; null if their lengths differ or an element is null."""
    (left, right), sizes, valid = _pairs(vectors, others)
    return _result(_root(_sums((left - right) * (left - right), sizes)), valid)


@_QUIET
def cosine_similarity(vectors: pa.Array, others: pa.Array) -> pa.Array:
    """Return the cosines between vectors; null also if one is empty or has no length."""
    (left, right), sizes, valid = _pairs(vectors, others)
    product, first, second = (_sums(values, sizes) for values in (left * right, left * left, right * right))
    lengths = _root(first * second)
    return _result(product / lengths, valid & (sizes > 0) & ~(lengths < _LEAST))


@_QUIET
def norm(vectors: pa.Array, degrees: pa.Array) -> pa.Array:
    """Return the norms of vectors, of degree 1, 2 or infinity; null if an element is null, or of another degree."""
    values, sizes, valid = _vectors(vectors)
    norms, known = _norms(values, sizes, degrees)
    return _result(norms, valid & known)


@_QUIET
def normalized(vectors: pa.Array, degrees: pa.Array) -> pa.Array:
    """Return vectors over their norms; null also if that is 0."""
    values, sizes, valid = _vectors(vectors)
    norms, known = _norms(values, sizes, degrees)
    kept = valid & known & ((sizes == 0) | ~(norms < _LEAST))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    divided = (values / norms[rows])[kept[rows]]
    offsets = pa.array(np.concatenate([[0], np.cumsum(np.where(kept, sizes, 0))]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(divided, pa.float32()), mask=pa.array(~kept))


def _vectors(vectors: pa.Array) -> tuple[_Floats, _Numbers, _Flags]:
    """Return the elements of all vectors, their numbers, and which vectors and all of their elements are no null."""
    elements = vectors.flatten()
    sizes = np.asarray(pc.list_value_length(vectors).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    valid = np.array(vectors.is_valid().to_numpy(zero_copy_only=False))
    rows = np.repeat(np.arange(len(sizes)), sizes)
    valid[rows[elements.is_null().to_numpy(zero_copy_only=False)]] = False
    return np.asarray(elements.fill_null(0).to_numpy(zero_copy_only=False), np.float32), sizes, valid


def _pairs(vectors: pa.Array, others: pa.Array) -> tuple[tuple[_Floats, _Floats], _Numbers, _Flags]:
    """Return the elements of pairs of vectors, their numbers, and which pairs count: of the others there are none."""
    left, sizes, valid = _vectors(vectors)
    right, more, there = _vectors(others)
    valid = valid & there & (sizes == more)
    left, right = (values[np.repeat(valid, lengths)] for values, lengths in ((left, sizes), (right, more)))
    return (left, right), np.where(valid, sizes, 0), valid


def _norms(values: _Floats, sizes: _Numbers, degrees: pa.Array) -> tuple[_Floats, _Flags]:
    degree = np.asarray(degrees.fill_null(0).to_numpy(zero_copy_only=False), np.float32)
    longest = np.zeros(len(sizes), np.float32)
    there = np.flatnonzero(sizes > 0)
    if len(there):
        starts = (np.cumsum(sizes) - sizes)[there]
        longest[there] = np.maximum.reduceat(np.abs(values), starts)
    choices = [_sums(np.abs(values), sizes), _root(_sums(values * values, sizes)), longest]
    conditions = [degree == 1, degree == 2, np.isposinf(degree)]  # noqa: PLR2004 - the degrees
    return np.select(conditions, choices, np.float32(0)).astype(np.float32), np.any(conditions, axis=0)


def _sums(values: _Floats, sizes: _Numbers) -> _Floats:
    """Add up the values of each vector in Spark's order, all vectors side by side."""
    sums = np.zeros(len(sizes), np.float32)
    starts = np.cumsum(sizes) - sizes
    whole = sizes // _STEP * _STEP
    place = 0
    rows = np.flatnonzero(whole > 0)
    while len(rows):
        first = starts[rows] + place
        eight = values[first]
        for offset in range(1, _STEP):
            eight = eight + values[first + offset]
        sums[rows] += eight
        place += _STEP
        rows = rows[whole[rows] > place]
    for offset in range(_STEP - 1):
        rows = np.flatnonzero(sizes - whole > offset)
        sums[rows] += values[starts[rows] + whole[rows] + offset]
    return sums


def _root(values: _Floats) -> _Floats:
    return np.sqrt(values.astype(np.float64)).astype(np.float32)


def _result(values: _Floats, valid: _Flags) -> pa.Array:
    return pa.array(values, pa.float32(), mask=~valid)
