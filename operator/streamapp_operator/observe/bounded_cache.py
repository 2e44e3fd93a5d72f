"""A cache of values made from texts that tenants write, bounded by the length of the texts: not by their number."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")

MAXIMUM_CHARACTERS = 10_000_000
"""Of all texts of one cache. The values take about ten times as many bytes."""


class BoundedCache(Generic[_Key, _Value]):
    """The newest values by key. For many threads; of two that look for one value at a time, both may make it."""

    def __init__(self, maximum: int = MAXIMUM_CHARACTERS) -> None:
        self._maximum = maximum
        self._lock = threading.Lock()
        self._kept: OrderedDict[_Key, tuple[_Value, int]] = OrderedDict()
        self._size = 0

    def get(self, key: _Key, size: int, make: Callable[[], _Value]) -> _Value:
        """Return the value of a key, made if it is not in the cache; `size` characters are in what it is made of."""
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
        value = make()
        with self._lock:
            if key not in self._kept and size <= self._maximum:
                self._kept[key] = value, size
                self._size += size
            while self._size > self._maximum:
                _, (_, removed) = self._kept.popitem(last=False)
                self._size -= removed
        return value
