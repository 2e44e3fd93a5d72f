"""The most frequent value: of several the one that Spark's own hash map has first."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from streamapp_runtime.kernels.single_hashes import SINGLE_MURMUR3

_State: TypeAlias = list[list[Any]]
_CAPACITY, _LOAD, _SEED = 64, 0.7, 42


class MostFrequent:
    """The values in the order in which they first came, and how often each did."""

    def __init__(self, kind: str) -> None:
        """Take the family of the values' type."""
        self._hash = _HASHES[kind]

    def add(self, state: _State | None, values: Sequence[Any]) -> _State:
        """Count values."""
        known, numbers = ([], []) if state is None else state
        counts = dict(zip(known, numbers, strict=True))
        for value in values:
            counts[value] = counts.get(value, 0) + 1
        return [[*counts], [*counts.values()]]

    def merge(self, left: _State, right: _State) -> _State:
        """Add up the counts of both."""
        counts = dict(zip(*left, strict=True))
        for value, count in zip(*right, strict=True):
            counts[value] = counts.get(value, 0) + count
        return [[*counts], [*counts.values()]]

    def result(self, state: _State | None) -> Any:  # noqa: ANN401 - a value of the column
        """Return the value; None without values."""
        if state is None:
            return None
        most = max(state[1])
        best = {value for value, count in zip(*state, strict=True) if count == most}
        if len(best) == 1:
            return best.pop()
        order: Iterable[Any] = state[0]
        for _ in range(3):  # the map of a partition, that map as it is read again, and the one that all are merged into
            order = self._placed(order)
        return next(value for value in order if value in best)

    def _placed(self, values: Iterable[Any]) -> list[Any]:
        """Return the values in the order of a hash map that got them in this order."""
        table: list[Any] = [None] * _CAPACITY
        for size, value in enumerate(values, 1):
            self._put(table, value)
            if size > int(_LOAD * len(table)):
                moved: list[Any] = [None] * (2 * len(table))
                for entry in table:
                    if entry is not None:
                        self._put(moved, entry[0])
                table = moved
        return [entry[0] for entry in table if entry is not None]

    def _put(self, table: list[Any], value: object) -> None:
        mask, step = len(table) - 1, 1
        place = SINGLE_MURMUR3.narrow(self._hash(value), 0) & mask
        while table[place] is not None:
            place = (place + step) & mask
            step += 1
        table[place] = (value,)


def _of_long(value: Any) -> int:  # noqa: ANN401 - a whole number
    return int(value ^ (value >> 32)) & 0xFFFFFFFF


def _of_text(value: Any) -> int:  # noqa: ANN401 - a text
    return SINGLE_MURMUR3.run(value.encode(), _SEED)


def _of_boolean(value: Any) -> int:  # noqa: ANN401 - a boolean
    return 1231 if value else 1237


_HASHES: dict[str, Callable[[Any], int]] = {
    "string": _of_text,
    "boolean": _of_boolean,
    **dict.fromkeys(("tinyint", "smallint", "int", "date"), int),
    **dict.fromkeys(("bigint", "timestamp", "timestamp_ntz"), _of_long),
}
