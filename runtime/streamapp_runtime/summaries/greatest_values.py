"""The values with the greatest or least orders: those that Spark's heap keeps of equal ones, in its order."""

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cmp_to_key
from typing import Any, TypeAlias

_State: TypeAlias = list[list[Any]]


class GreatestValues:
    """The slots of values with their orders, and a heap of slots with the one that goes next at its root."""

    def __init__(self, most: int, greatest: bool, kind: str) -> None:
        """Keep so many values, by the greatest or the least orders, of a family of types."""
        self._most = most
        self._sign = 1 if greatest else -1
        self._key = _KEYS.get(kind, _itself)

    def add(self, state: _State | None, values: Sequence[Sequence[Any]]) -> _State:
        """Add pairs of a value and its order."""
        slots, heap = ([], []) if state is None else state
        for pair in values:
            if len(slots) < self._most:
                heap.append(len(slots))
                slots.append(pair)
                self._rise(slots, heap, len(heap) - 1)
            elif self._compared(pair, slots[heap[0]]) > 0:
                slots[heap[0]] = pair
                self._sink(slots, heap)
        return [slots, heap]

    def merge(self, left: _State, right: _State) -> _State:
        """Add the values of another one."""
        return self.add(left, right[0])

    def result(self, state: _State | None) -> list[Any] | None:
        """Return the values by their orders; None without values."""
        if state is None:
            return None
        slots, heap = state
        kept: list[Sequence[Any]] = [slots[slot] for slot in heap]
        kept.sort(key=cmp_to_key(self._worse))
        return [value for value, _ in kept]

    def _worse(self, left: Sequence[Any], right: Sequence[Any]) -> int:
        return self._compared(right, left)

    def _compared(self, left: Sequence[Any], right: Sequence[Any]) -> int:
        first, second = self._key(left[1]), self._key(right[1])
        return self._sign * (int(first > second) - int(first < second))

    def _rise(self, slots: list[Any], heap: list[int], at: int) -> None:
        while at > 0:
            parent = (at - 1) // 2
            if self._compared(slots[heap[at]], slots[heap[parent]]) >= 0:
                break
            heap[at], heap[parent] = heap[parent], heap[at]
            at = parent

    def _sink(self, slots: list[Any], heap: list[int]) -> None:
        at = 0
        while True:
            least = at
            for child in (2 * at + 1, 2 * at + 2):
                if child < len(heap) and self._compared(slots[heap[child]], slots[heap[least]]) < 0:
                    least = child
            if least == at:
                return
            heap[at], heap[least] = heap[least], heap[at]
            at = least


def _itself(value: Any) -> Any:  # noqa: ANN401 - whatever a column holds
    return value


def _nan_last(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value)


_KEYS: dict[str, Callable[[Any], Any]] = {"decimal": Decimal, "float": _nan_last, "double": _nan_last}
