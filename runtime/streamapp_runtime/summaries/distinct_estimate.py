"""An estimate of how many different values there are: HyperLogLog++, with the hash and the tables that Spark has."""

import bisect
import json
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

_TABLES = Path(__file__).with_name("distinct_estimate_biases.json")
_THRESHOLDS = (10, 20, 40, 80, 220, 400, 900, 1800, 3100, 6500, 15500)
_LEAST_BITS, _HASH_BITS, _NEIGHBORS = 4, 64, 6


class DistinctEstimate:
    """Registers, one byte each: the most zeros behind the bits of a hash that choose its register, and one."""

    def __init__(self, bits: int) -> None:
        """Keep two to the power of so many registers."""
        self._bits = bits
        self._size = 1 << bits

    def add(self, state: bytes | None, values: Sequence[int]) -> bytes:
        """Add values by their hashes of 64 bits."""
        registers = np.zeros(self._size, np.uint8) if state is None else np.frombuffer(state, np.uint8).copy()
        hashes = np.asarray(values, np.int64).view(np.uint64)
        places = (hashes >> np.uint64(_HASH_BITS - self._bits)).astype(np.int64)
        rest = hashes << np.uint64(self._bits) | np.uint64(1 << self._bits - 1)
        np.maximum.at(registers, places, _leading_zeros(rest) + 1)
        return registers.tobytes()

    def merge(self, left: bytes, right: bytes) -> bytes:
        """Take the greater one of each register."""
        return np.maximum(np.frombuffer(left, np.uint8), np.frombuffer(right, np.uint8)).tobytes()

    def result(self, state: bytes | None) -> int:
        """Return the estimate."""
        if state is None:
            return 0
        registers = np.frombuffer(state, np.uint8)
        size, zeros = self._size, int((registers == 0).sum())
        inverse = float(np.cumsum(np.ldexp(1.0, -registers.astype(np.int64)))[-1])
        raw = _ALPHAS.get(self._bits, 0.7213 / (1.0 + 1.079 / size)) * size * size / inverse
        if zeros:
            counted = size * math.log(size / zeros)
            if counted <= _THRESHOLDS[self._bits - _LEAST_BITS] or raw <= 2.5 * size:
                return math.floor(counted + 0.5)
        return math.floor((raw - self._bias(raw) if raw < 5.0 * size else raw) + 0.5)

    def _bias(self, raw: float) -> float:
        """Return the mean bias of the nearest estimates in the table."""
        estimates, biases = _tables()[self._bits - _LEAST_BITS]
        low = max(bisect.bisect_left(estimates, raw) - _NEIGHBORS + 1, 0)
        high = min(low + _NEIGHBORS, len(estimates))
        while high < len(estimates) and (raw - estimates[high]) ** 2 < (raw - estimates[low]) ** 2:
            low, high = low + 1, high + 1
        total = 0.0
        for bias in biases[low:high]:
            total += bias
        return total / (high - low)


_ALPHAS = {4: 0.673, 5: 0.697, 6: 0.709}


def _leading_zeros(words: Any) -> Any:  # noqa: ANN401 - arrays
    """Return how many zeros the words of 64 bits, none of which is 0, begin with."""
    zeros = np.zeros(len(words), np.uint8)
    for width in (32, 16, 8, 4, 2, 1):
        short = words < (np.uint64(1) << np.uint64(_HASH_BITS - width))
        zeros[short] += width
        words = np.where(short, words << np.uint64(width), words)
    return zeros


@cache
def _tables() -> list[tuple[list[float], list[float]]]:
    """Read, for each number of bits from 4 on, the raw estimates and their biases."""
    tables = json.loads(_TABLES.read_text(encoding="utf-8"))
    return [
        (estimates, [raw - true for raw, true in zip(estimates, counts, strict=True)]) for estimates, counts in tables
    ]
