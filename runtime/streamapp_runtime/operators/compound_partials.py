"""Partial results that are more than one plain value: distinct and counted values, values with their event times.

In state each of them is a list, counted values are a map; null stands for no values.
"""

import heapq
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any

from streamapp_core.expressions import FOLDS, Merge, Partial
from streamapp_core.schema import DataType, TypeKind
from streamapp_runtime.operators.moments import fold_of
from streamapp_runtime.summaries.equal_forms import equal_form

PAIRS = frozenset({Merge.FIRST, Merge.LAST, Merge.COLLECT, Merge.LEAST_BY, Merge.GREATEST_BY})
COMPOUND_MERGES = PAIRS | FOLDS | {Merge.UNION, Merge.COUNTS}
_time, _value = itemgetter(0), itemgetter(1)


def compound_merger(partial: Partial) -> Callable[[Any, Any], Any]:
    """Return the merge of two such results (neither is null) of one key: the earlier rows' first."""
    match partial.merge:
        case Merge.UNION:
            return _union
        case Merge.COUNTS:
            return counted
        case Merge.FIRST:
            return lambda before, added: added if _time(added) < _time(before) else before
        case Merge.LAST:
            return lambda before, added: before if _time(added) < _time(before) else added
        case Merge.LEAST_BY | Merge.GREATEST_BY:
            return _by_order(partial)
        case _:
            most = partial.limit or None
            return lambda before, added: list(heapq.merge(before, added, key=_time))[:most]


def ordering_key(data_type: DataType) -> Callable[[Any], Any]:
    """Return the key by which plain values of a type are ordered as Spark orders them."""
    if data_type.kind is TypeKind.DECIMAL:
        return Decimal
    if data_type.kind in (TypeKind.FLOAT, TypeKind.DOUBLE):
        return _nan_last
    if data_type.nested:
        return _nested_key(data_type)
    return _itself


def _nested_key(data_type: DataType) -> Callable[[Any], Any]:
    """Return the key of an array or struct: nulls inside come before all others."""
    keys = [ordering_key(part.type) for part in data_type.fields]
    if data_type.kind is TypeKind.ARRAY:
        return lambda value: [_ranked(keys[0], element) for element in value]
    return lambda value: [_ranked(key, part) for key, part in zip(keys, value, strict=True)]


def _ranked(key: Callable[[Any], Any], value: Any) -> tuple[bool, Any]:  # noqa: ANN401 - a part of a value
    return (False, None) if value is None else (True, key(value))


def result_values(partial: Partial, merged: Sequence[Any]) -> list[Any]:
    """Return the values that final results are computed from, for every key."""
    of_key: Callable[[Any], Any]
    match partial.merge:
        case Merge.UNION:
            of_key = how_many
        case Merge.COUNTS:
            of_key = _in_order(ordering_key(partial.type))
        case Merge.COLLECT:
            of_key = _values
        case Merge.LEAST_BY | Merge.GREATEST_BY:
            of_key = itemgetter(2)
        case Merge.FIRST | Merge.LAST:
            of_key = _value
        case _:
            return list(map(fold_of(partial).result, merged))
    return [None if partial_result is None else of_key(partial_result) for partial_result in merged]


def how_many(values: Collection[Any]) -> int:
    """Return the number of distinct values, of which a map has the number (`distinct_entries`)."""
    return sum(values.values()) if isinstance(values, dict) else len(values)


def _union(before: set[Any] | Sequence[Any], added: Sequence[Any]) -> set[Any]:
    """Add values to the known ones, in place: a copy would cost as much as all of them."""
    known = before if isinstance(before, set) else set(map(equal_form, before))
    known.update(map(equal_form, added))
    return known


def counted(before: dict[Any, int] | Sequence[Any], added: Mapping[Any, int] | Sequence[Any]) -> dict[Any, int]:
    """Count values, or what was counted, in place; None stands for NaN, which equals no key."""
    counts = before if isinstance(before, dict) else counted({}, before)
    if isinstance(added, Mapping):
        for value, count in added.items():
            counts[value] = counts.get(value, 0) + count
    else:
        for value in added:
            counts[value] = counts.get(value, 0) + 1
    return counts


def _in_order(key: Callable[[Any], Any]) -> Callable[[Any], list[tuple[Any, int, int]]]:
    def listed(known: dict[Any, int] | Sequence[Any]) -> list[tuple[Any, int, int]]:
        counts, entries, upto = counted({}, known), [], 0
        for value in sorted(counts, key=lambda value: (value is None, key(0 if value is None else value))):
            upto += counts[value]
            entries.append((math.nan if value is None else value, counts[value], upto))
        return entries

    return listed


def _by_order(partial: Partial) -> Callable[[Any, Any], Any]:
    assert partial.order is not None
    key = ordering_key(partial.order)
    if partial.merge is Merge.GREATEST_BY:
        return lambda before, added: before if _rank(key, added) < _rank(key, before) else added

    def least(before: Any, added: Any) -> Any:  # noqa: ANN401 - triples of order, time and value
        left, right = key(before[0]), key(added[0])
        if left != right:
            return before if left < right else added
        return before if added[1] < before[1] else added

    return least


def _rank(key: Callable[[Any], Any], triple: Sequence[Any]) -> tuple[Any, int]:
    return key(triple[0]), triple[1]


def _values(pairs: Sequence[Any]) -> list[Any]:
    return [_value(pair) for pair in pairs]


def _itself(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    return value


def _nan_last(value: float) -> tuple[bool, float]:
    """Return a sort key that orders numbers as Spark does: NaN is larger than all others."""
    return (True, 0.0) if math.isnan(value) else (False, value)
