"""The order of arrays whose elements a lambda compares. It goes row by row."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_SHORT = 32
"""Java sorts so many elements by insertion, which has a result also where comparisons contradict each other."""


def sorted_places(comparisons: pa.Array) -> pa.Array:
    """Return the places, from 1, of elements in their order, by the comparisons of each with every other.

    A row is null if one that counts is null, or, of many elements, if they contradict each other.
    """
    return pa.array(map(_order, comparisons), pa.list_(pa.int64()))


def _order(row: pa.ListScalar) -> list[int] | None:
    if not row.is_valid:
        return None
    size = len(row.values)
    flat = row.values.flatten()
    known = flat.is_valid().to_numpy(zero_copy_only=False).reshape(size, size)
    signs = np.sign(flat.fill_null(0).to_numpy(zero_copy_only=False)).reshape(size, size)
    order = _inserted(signs, known) if size < _SHORT else _ranked(signs, known)
    return None if order is None else [place + 1 for place in order]


def _inserted(signs: npt.NDArray[np.int32], known: npt.NDArray[np.bool_]) -> list[int] | None:
    """Sort as Java does: after a run that is sorted already, or backwards, each element by a binary search."""

    def less(one: int, other: int) -> bool:
        if not known[one, other]:
            raise _UnknownError
        return bool(signs[one, other] < 0)

    size = len(signs)
    if size < 2:  # noqa: PLR2004 - nothing is compared
        return list(range(size))
    try:
        run, falls = 2, less(1, 0)
        while run < size and less(run, run - 1) == falls:
            run += 1
        order = list(range(run))[:: -1 if falls else 1]
        for element in range(run, size):
            left, right = 0, element
            while left < right:
                middle = (left + right) // 2
                if less(element, order[middle]):
                    right = middle
                else:
                    left = middle + 1
            order.insert(left, element)
    except _UnknownError:
        return None
    return order


def _ranked(signs: npt.NDArray[np.int32], known: npt.NDArray[np.bool_]) -> list[int] | None:
    """Sort by how many elements are less than each, and check that all comparisons say the same."""
    different = ~np.eye(len(signs), dtype=np.bool_)
    ranks = ((signs < 0) & different).sum(axis=0)
    agreed = np.sign(ranks[:, None] - ranks[None, :]) == signs
    if not (known & agreed)[different].all():
        return None
    return [int(place) for place in np.argsort(ranks, kind="stable")]


class _UnknownError(Exception):
    """A comparison without a result."""
