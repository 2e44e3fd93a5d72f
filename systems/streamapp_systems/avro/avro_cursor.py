"""Positions in many values of Avro at once: each step reads one part of every value, with NumPy.

A value that can't be read fails: its reason is kept, its position is its end, and what is read of it from then on means
nothing. So nothing that a value claims is taken for granted, and others don't notice.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Numbers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_PADDING = 32
"""Bytes after the last value, so that a word can be read wherever a value ends."""
_STOPS = np.uint64(0x8080808080808080)
_FOLDS = tuple(
    (np.uint64(keep), np.uint64(move), np.uint64(by))
    for keep, move, by in (
        (0x007F007F007F007F, 0x7F007F007F007F00, 1),
        (0x00003FFF00003FFF, 0x3FFF00003FFF0000, 2),
        (0x000000000FFFFFFF, 0x0FFFFFFF00000000, 4),
    )
)
_ONE = np.uint64(1)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_SEVEN_BITS, _HIGH_BIT = np.uint64(0x7F), np.uint64(0x80)
_WORD = 8
_LONGEST_NUMBER = 10


class AvroInput:
    """The bytes of some values, and why each that can't be read can't."""

    def __init__(self, values: Sequence[bytes]) -> None:
        buffer = b"".join([*values, bytes(_PADDING)])
        self.bytes = buffer
        self.data = np.frombuffer(buffer, np.uint8)
        self._buffer = pa.py_buffer(buffer)
        self.words = np.ndarray((len(buffer) - _WORD + 1,), np.dtype("<u8"), buffer, strides=(1,))
        """The eight bytes from each position on, as numbers."""
        self.ends = np.cumsum(np.fromiter(map(len, values), np.int64, len(values)))
        self.failed = np.zeros(len(values), np.bool_)
        self.reasons: dict[int, str] = {}

    def cursor(self, header: int) -> "AvroCursor":
        """Return the positions after a header of all values, which all have one."""
        starts = np.concatenate(([0], self.ends[:-1])) + header if len(self.ends) else self.ends
        return AvroCursor(self, np.arange(len(self.ends)), starts)

    def slices(self, starts: Numbers, lengths: Numbers) -> pa.Array:
        """Return parts of the bytes, which don't overlap, in their order."""
        bounds = np.empty(2 * len(starts) + 1, np.int32)
        bounds[0:-1:2], bounds[1::2] = starts, starts + lengths
        bounds[-1] = len(self.data)
        offsets = pa.py_buffer(np.maximum.accumulate(bounds))
        parts = pa.Array.from_buffers(pa.binary(), 2 * len(starts), [None, offsets, self._buffer])
        return parts.take(pa.array(np.arange(0, 2 * len(starts), 2)))


class AvroCursor:
    """A position in each of some values, `rows`, in their order; the readers move it."""

    def __init__(self, source: AvroInput, rows: Numbers, position: Numbers) -> None:
        self.source = source
        self.rows = rows
        self.position = position
        self._ends = source.ends[rows]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ends(self) -> Numbers:
        """Where each value ends."""
        return self._ends

    def at(self, places: npt.NDArray[Any]) -> "AvroCursor":
        """Return the positions of some of these values; `put` brings them back."""
        return AvroCursor(self.source, self.rows[places], self.position[places])

    def put(self, places: npt.NDArray[Any], moved: "AvroCursor") -> None:
        """Take over where the readers have moved the positions of `at`."""
        self.position[places] = moved.position

    @property
    def failed(self) -> Mask:
        """The values that can't be read."""
        return self.source.failed[self.rows]

    @property
    def left(self) -> Numbers:
        """The bytes that are left of each value."""
        return self._ends - self.position

    def fail(self, where: Mask, reason: str) -> None:
        """Fail some values."""
        if not where.any():
            return
        for row in self.rows[where].tolist():
            self.source.reasons.setdefault(row, reason)
        self.source.failed[self.rows[where]] = True
        self.position[where] = self._ends[where]

    def advance(self, lengths: Numbers | int, what: str) -> Numbers:
        """Pass over some bytes of each value, and return where they begin; `lengths` of failed ones become 0."""
        beyond = self.left < lengths
        if isinstance(lengths, np.ndarray):
            beyond |= lengths < 0
        self.fail(beyond, f"it ends in {what}")
        starts = self.position.copy()
        if isinstance(lengths, np.ndarray):
            lengths[beyond] = 0
            self.position += lengths
        else:
            self.position = np.where(beyond, self.position, self.position + lengths)
        return starts

    def numbers(self) -> Numbers:
        """Read a whole number of variable length, zigzag: an int or long."""
        words = self.source.words[self.position]
        if not (words & _HIGH_BIT).any():
            value, used = words & _SEVEN_BITS, np.ones(len(words), np.int64)
        else:
            value, used = self._long_numbers(words)
        self.position += used
        self.fail(self.left < 0, "it ends in a number")
        negative = (value & _ONE).view(np.int64)
        return (value >> _ONE).view(np.int64) ^ -negative

    def _long_numbers(self, words: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], Numbers]:
        """Return numbers and the bytes that they have: the first byte without its highest bit is the last one."""
        stops = ~words & _STOPS
        lowest = stops & (~stops + _ONE)
        inside = lowest ^ (lowest - _ONE)
        used = (np.bitwise_count(inside) >> 3).astype(np.int64)
        value = words & inside & ~_STOPS
        for keep, move, by in _FOLDS:
            value = (value & keep) | ((value & move) >> by)
        longer = stops == 0
        if longer.any():
            rest = self.source.words[self.position[longer] + _WORD]
            ninth, tenth = rest & np.uint64(0xFF), (rest >> np.uint64(8)) & np.uint64(0xFF)
            ten = ninth >= _HIGH_BIT
            value[longer] |= (ninth & _SEVEN_BITS) << np.uint64(56)
            value[longer] |= np.where(ten, (tenth & _ONE) << np.uint64(63), np.uint64(0))
            used[longer] = np.where(ten, _LONGEST_NUMBER, _LONGEST_NUMBER - 1)
            too_long = np.zeros(len(words), np.bool_)
            too_long[longer] = ten & (tenth > _ONE)
            self.fail(too_long, "a number has more than 64 bits")
            used[too_long] = 0
        return value, used

    def spans(self, what: str) -> tuple[Numbers, Numbers]:
        """Read the length of a text or of bytes, and pass over them; return where they begin, and their lengths."""
        lengths = self.numbers()
        return self.advance(lengths, what), lengths
