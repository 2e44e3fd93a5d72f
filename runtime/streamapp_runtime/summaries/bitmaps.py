"""Bitmaps of 32,768 bits, the lowest bit of a byte first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_BYTES = 4_096
_BITS = 8 * _BYTES
_Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class CombinedBitmap:
    """All bitmaps, bit by bit: what is missing at the end of one is zero, and what is too long is cut."""

    combine: Callable[[_Bits, _Bits], _Bits]
    nothing: bytes

    def add(self, state: bytes | None, values: Sequence[bytes]) -> bytes:
        """Combine bitmaps."""
        bits = np.frombuffer(self.nothing if state is None else state, np.uint8)
        for value in values:
            bits = self.combine(bits, np.frombuffer(value[:_BYTES].ljust(_BYTES, b"\0"), np.uint8))
        return bits.tobytes()

    def merge(self, left: bytes, right: bytes) -> bytes:
        """Combine two results."""
        return self.add(left, [right])

    def result(self, state: bytes | None) -> bytes:
        """Return the bitmap."""
        return self.nothing if state is None else state


class PositionsBitmap:
    """The bitmap of positions; of one that it does not have nothing is left, an empty state."""

    def add(self, state: bytes | None, values: Sequence[int]) -> bytes:
        """Set the bits at these positions."""
        if state == b"" or not all(0 <= value < _BITS for value in values):
            return b""
        bits = np.zeros(_BITS, np.uint8)
        bits[np.asarray(values, np.int64)] = 1
        return _OR.add(state, [np.packbits(bits, bitorder="little").tobytes()])

    def merge(self, left: bytes, right: bytes) -> bytes:
        """Set the bits of both."""
        return _OR.add(left, [right]) if left and right else b""

    def result(self, state: bytes | None) -> bytes | None:
        """Return the bitmap; None if a position was out of it."""
        return _OR.result(state) or None


_OR = CombinedBitmap(np.bitwise_or, b"\0" * _BYTES)
_AND = CombinedBitmap(np.bitwise_and, b"\xff" * _BYTES)


def union_of_bitmaps() -> CombinedBitmap:
    """Return the summary that `bitmap_or_agg` is."""
    return _OR


def intersection_of_bitmaps() -> CombinedBitmap:
    """Return the summary that `bitmap_and_agg` is."""
    return _AND
