"""Partial results that are more than one plain value: distinct values, and values with their event times.

In state each of them is a list; null stands for no values.
"""

import heapq
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from streamapp_core.expressions import Merge, Partial

COMPOUND_MERGES = frozenset({Merge.UNION, Merge.FIRST, Merge.LAST, Merge.COLLECT})
_time, _value = itemgetter(0), itemgetter(1)


def compound_merger(partial: Partial) -> Callable[[Any, Any], Any]:
    """Return the merge of two such results (neither is null) of one key: the earlier rows' first."""
    match partial.merge:
        case Merge.UNION:
            return _union
        case Merge.FIRST:
            return lambda before, added: added if _time(added) < _time(before) else before
        case Merge.LAST:
            return lambda before, added: before if _time(added) < _time(before) else added
        case _:
            return lambda before, added: list(heapq.merge(before, added, key=_time))[: partial.limit]


def result_values(partial: Partial, merged: Sequence[Any]) -> list[Any]:
    """Return the values that final results are computed from, for every key."""
    match partial.merge:
        case Merge.UNION:
            of_key: Callable[[Any], Any] = len
        case Merge.COLLECT:
            of_key = _values
        case _:
            of_key = _value
    return [None if partial_result is None else of_key(partial_result) for partial_result in merged]


def _union(before: set[Any] | Sequence[Any], added: Sequence[Any]) -> set[Any]:
    """Add values to the known ones, in place: a copy would cost as much as all of them."""
    known = before if isinstance(before, set) else set(before)
    known.update(added)
    return known


def _values(pairs: Sequence[Any]) -> list[Any]:
    return [_value(pair) for pair in pairs]
