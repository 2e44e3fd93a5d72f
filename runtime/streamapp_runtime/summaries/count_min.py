"""Spark's count-min sketch: for each of some hash functions how many values have which hash."""

import math
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from streamapp_runtime.kernels.single_hashes import SINGLE_MURMUR3
from streamapp_runtime.summaries.java_random import next_bits, scrambled

_PRIME = (1 << 31) - 1
_VERSION = 1
_Table = npt.NDArray[np.int64]


class CountMin:
    """A table of counts; its state is the table as bytes. Every row of it holds the count of all values."""

    def __init__(self, error: float, confidence: float, seed: int) -> None:
        """Take the relative error, the confidence and the seed of the hash functions."""
        self._width = math.ceil(2 / error)
        self._depth = math.ceil(-math.log(1 - confidence) / math.log(2))
        self._factors, state = np.zeros(self._depth, np.int64), scrambled(seed)
        for place in range(self._depth):
            factor = _PRIME
            while factor == _PRIME:
                state, factor = next_bits(state, 31)
            self._factors[place] = factor

    def add(self, state: bytes | None, values: Sequence[Any]) -> bytes:
        """Count values, which are whole numbers or bytes."""
        table = self._table(state)
        for row, hashes in enumerate(self._hashes(values)):
            table[row] += np.bincount(hashes, minlength=self._width)
        return table.tobytes()

    def merge(self, left: bytes, right: bytes) -> bytes:
        """Add up the counts of two tables."""
        return (self._table(left) + self._table(right)).tobytes()

    def result(self, state: bytes | None) -> bytes:
        """Return the sketch as Spark writes it."""
        table = self._table(state)
        head = struct.pack(">iqii", _VERSION, int(table[0].sum()), self._depth, self._width)
        return head + self._factors.astype(">i8").tobytes() + table.astype(">i8").tobytes()

    def _table(self, state: bytes | None) -> _Table:
        empty = np.zeros((self._depth, self._width), np.int64)
        return empty if state is None else np.frombuffer(state, np.int64).reshape(empty.shape).copy()

    def _hashes(self, values: Sequence[Any]) -> list[_Table]:
        if isinstance(values[0], int):
            numbers = np.asarray(values, np.int64)
            with np.errstate(over="ignore"):
                products = [factor * numbers for factor in self._factors]
                return [(product + (product >> 32) & _PRIME) % self._width for product in products]
        firsts = [SINGLE_MURMUR3.run(value, 0) for value in values]
        seconds = [SINGLE_MURMUR3.run(value, first) for value, first in zip(values, firsts, strict=True)]
        first, second = (np.asarray(hashes, np.uint32).view(np.int32) for hashes in (firsts, seconds))
        with np.errstate(over="ignore"):
            hashes = [(first + np.int32(row) * second).astype(np.int64) for row in range(self._depth)]
        return [np.abs(np.fmod(hash_, self._width)) for hash_ in hashes]
