"""Sketches of the most frequent items, as Apache DataSketches counts, writes and reads them.

The sketch is that of Anderson et al., https://arxiv.org/abs/1705.07001: a hash table of counts. When it is full, the
median of some counts is taken off all of them, and those that are then gone leave.
"""

import math
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

_FULL_WORD = (1 << 64) - 1
_LEAST_BITS, _SAMPLES = 3, 1_024
_ONE_WORD, _FOUR_WORDS, _VERSION, _FAMILY, _EMPTY = 1, 4, 1, 10, 5
_HEAD, _WORD, _MOST_BITS, _LOAD, _MOST_TRACKED = 32, 8, 21, 0.75, 1_000_000
_RECIPROCAL = (math.sqrt(5) - 1) / 2
"""That of the golden ratio: a walk over the table goes by steps of it."""


@dataclass(slots=True)
class FrequentItems:
    """The counts of items in a table of slots, which has at most two to the power of `bits`.

    `offset` is what was taken off all counts, `total` the number of all items but nulls, which are counted apart. Of
    so many `samples` the median is taken.
    """

    kind: str
    bits: int
    samples: int = _SAMPLES
    nulls: int = 0
    offset: int = 0
    total: int = 0
    keys: list[Any] = field(default_factory=lambda: [None] * (1 << _LEAST_BITS))
    counts: list[int] = field(default_factory=lambda: [0] * (1 << _LEAST_BITS))
    size: int = 0

    def add(self, key: object, count: int = 1) -> None:
        """Count an item so many times."""
        self.total += count
        place = self._place(key)
        if self.keys[place] is None:
            self.keys[place] = (key,)
            self.size += 1
        self.counts[place] += count
        if self.size > _most(len(self.keys)):
            if len(self.keys) < 1 << self.bits:
                self._grow()
            else:
                self._purge()

    def merge(self, other: "FrequentItems") -> None:
        """Count the items of another sketch."""
        total = self.total + other.total
        self.nulls += other.nulls
        for key, count in [*other.walk()]:
            self.add(key, count)
        if other.size:
            self.offset += other.offset
            self.total = total

    def walk(self) -> Iterator[tuple[Any, int]]:
        """Go over the items and their counts in the order of a merge."""
        step = int(len(self.keys) * _RECIPROCAL) | 1
        for at in range(len(self.keys)):
            place = at * step & len(self.keys) - 1
            if (slot := self.keys[place]) is not None:
                yield slot[0], self.counts[place]

    def most_frequent(self, most: int) -> list[tuple[Any, int]]:
        """Return items that are surely as frequent as those that left may be, nulls too, with their counts, about."""
        found = [(key, count + self.offset) for key, count in self.walk() if count >= self.offset]
        if self.nulls:
            found.append((None, self.nulls))
        return sorted(found, key=lambda item: -item[1])[:most]

    def slots(self) -> list[tuple[Any, int]]:
        """Return the items and their counts in the order of the table."""
        pairs = zip(self.keys, self.counts, strict=True)
        return [(slot[0], count) for slot, count in pairs if slot is not None]

    def to_bytes(self) -> bytes:
        """Write the sketch, with the number of nulls behind it."""
        bits = len(self.keys).bit_length() - 1
        head = bytes([_FOUR_WORDS if self.size else _ONE_WORD, _VERSION, _FAMILY, max(self.bits, _LEAST_BITS), bits])
        head += bytes([0 if self.size else _EMPTY, 0, 0])
        nulls = self.nulls.to_bytes(_WORD, "big")
        if not self.size:
            return head + nulls
        slots = self.slots()
        counts = struct.pack(f"<{self.size}q", *(count for _, count in slots))
        numbers = struct.pack("<qqq", self.size, self.total, self.offset)
        return head + numbers + counts + _FORMS[self.kind].write([key for key, _ in slots]) + nulls

    def _place(self, key: object) -> int:
        mask = len(self.keys) - 1
        place = _mixed(_FORMS[self.kind].hash(key)) & mask
        while (slot := self.keys[place]) is not None and slot[0] != key:
            place = place + 1 & mask
        return place

    def _grow(self) -> None:
        slots, size = self.slots(), 2 * len(self.keys)
        self.keys, self.counts = [None] * size, [0] * size
        for key, count in slots:
            place = self._place(key)
            self.keys[place], self.counts[place] = (key,), count

    def _purge(self) -> None:
        some = [count for _, count in self.slots()][: self.samples]
        median = sorted(some)[len(some) // 2]
        self.offset += median
        self.counts = [count - median for count in self.counts]
        last = max(place for place, slot in enumerate(self.keys) if slot is None)
        for place in [*range(last - 1, -1, -1), *range(len(self.keys) - 1, last, -1)]:
            if self.keys[place] is not None and self.counts[place] <= 0:
                self._delete(place)
                self.size -= 1
        self.counts = [count if slot is not None else 0 for slot, count in zip(self.keys, self.counts, strict=True)]

    def _delete(self, place: int) -> None:
        """Empty a slot, and move up those behind it that were pushed aside."""
        mask = len(self.keys) - 1
        self.keys[place] = None
        probe = place + 1 & mask
        while (slot := self.keys[probe]) is not None:
            home = _mixed(_FORMS[self.kind].hash(slot[0])) & mask
            if probe - home & mask >= probe - place & mask:
                self.keys[place], self.counts[place] = slot, self.counts[probe]
                self.keys[probe] = None
                place = probe
            probe = probe + 1 & mask


def new_items(kind: str, most: int) -> FrequentItems:
    """Return a sketch without items of a family of types, which tracks at least so many."""
    bits = math.ceil(math.log(math.ceil(most / _LOAD)) / math.log(2))
    return FrequentItems(kind, bits, samples=min(_SAMPLES, _most(1 << bits)))


def read_items(kind: str, data: bytes) -> FrequentItems | None:
    """Read a sketch of items of a type, and the number of nulls behind it; None if the bytes are none."""
    data, nulls = data[:-_WORD], int.from_bytes(data[-_WORD:], "big", signed=True)
    if len(data) < _WORD or data[1] != _VERSION or data[2] != _FAMILY or not _LEAST_BITS <= data[3] <= _MOST_BITS:
        return None
    sketch = FrequentItems(kind, data[3], min(_SAMPLES, _most(1 << data[3])), nulls)
    if data[0] == _ONE_WORD and data[5] & _EMPTY and len(data) == _WORD and nulls >= 0:
        return sketch
    if data[0] != _FOUR_WORDS or data[5] & _EMPTY or len(data) < _HEAD or not _LEAST_BITS <= data[4] <= data[3]:
        return None
    size, total, offset = struct.unpack_from("<qqq", data, _WORD)
    start = _HEAD + _WORD * size
    if not 0 < size <= _most(1 << data[4]) or len(data) < start or min(total, offset, nulls) < 0:
        return None
    sketch.keys, sketch.counts = [None] * (1 << data[4]), [0] * (1 << data[4])
    counts, keys = struct.unpack_from(f"<{size}q", data, _HEAD), _FORMS[kind].read(data[start:], size)
    if keys is None or min(counts) <= 0 or len({*keys}) < size:
        return None
    for key, count in zip(keys, counts, strict=True):
        sketch.add(key, count)
    sketch.total, sketch.offset = total, offset
    return sketch


def frequent_items(kinds: pa.Array, sketches: pa.Array, tracked: pa.Array, most: pa.Array) -> pa.Array:
    """Return the most frequent items of sketches that track so many, as texts, and how often they came."""
    rows = zip(kinds.to_pylist(), sketches.to_pylist(), tracked.to_pylist(), most.to_pylist(), strict=True)
    item = pa.struct([("item", pa.string()), ("count", pa.int64())])
    return pa.array([None if None in row else _frequent(*row) for row in rows], pa.list_(item))


def _frequent(kind: str, data: bytes, tracked: int, most: int) -> list[dict[str, Any]] | None:
    sketch = read_items(kind, data) if 0 < most <= tracked <= _MOST_TRACKED else None
    if sketch is None:
        return None
    return [{"item": None if key is None else str(key), "count": n} for key, n in sketch.most_frequent(most)]


def _most(slots: int) -> int:
    return slots * 3 // 4


def _mixed(word: int) -> int:
    word &= _FULL_WORD
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _FULL_WORD
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _FULL_WORD
    return word ^ word >> 33


@dataclass(frozen=True, slots=True)
class _Form:
    """The Java hash of items of a type, and how they are written and read: None of bytes that are none."""

    hash: Callable[[Any], int]
    write: Callable[[Sequence[Any]], bytes]
    read: Callable[[bytes, int], list[Any] | None]


def _signed(word: int) -> int:
    word &= 0xFFFFFFFF
    return word - (1 << 32) if word >= 1 << 31 else word


def _text_hash(text: str) -> int:
    units = text.encode("utf-16-le")
    found = 0
    for (unit,) in struct.iter_unpack("<H", units):
        found = found * 31 + unit & 0xFFFFFFFF
    return _signed(found)


def _texts(items: Sequence[str]) -> bytes:
    written = [item.encode() for item in items]
    return b"".join(len(item).to_bytes(4, "little") + item for item in written)


def _read_texts(data: bytes, count: int) -> list[Any] | None:
    texts, at = [], 0
    for _ in range(count):
        end = at + 4 + int.from_bytes(data[at : at + 4], "little")
        if end > len(data) or at + 4 > len(data):
            return None
        try:
            texts.append(data[at + 4 : end].decode())
        except UnicodeDecodeError:
            return None
        at = end
    return texts


def _flags(items: Sequence[bool]) -> bytes:
    bits = sum(1 << place for place, item in enumerate(items) if item)
    return bits.to_bytes((len(items) + 7) // 8, "little")


def _read_flags(data: bytes, count: int) -> list[Any] | None:
    bits = int.from_bytes(data, "little")
    return [bool(bits >> place & 1) for place in range(count)] if 8 * len(data) >= count else None


def _numbers(tag: bytes, form: str) -> _Form:
    width = len(tag) + struct.calcsize(form)

    def read(data: bytes, count: int) -> list[Any] | None:
        parts = [data[at * width : (at + 1) * width] for at in range(count)]
        if any(len(part) < width or not part.startswith(tag) for part in parts):
            return None
        return [struct.unpack(form, part[len(tag) :])[0] for part in parts]

    return _Form(
        hash=(lambda value: _signed(value ^ value >> 32)) if form == "<q" else int,
        write=lambda items: b"".join(tag + struct.pack(form, item) for item in items),
        read=read,
    )


_FORMS: Mapping[str, _Form] = {
    "boolean": _Form(lambda value: 1231 if value else 1237, _flags, _read_flags),
    "string": _Form(_text_hash, _texts, _read_texts),
    "tinyint": _numbers(b"\x02", "<b"),
    "smallint": _numbers(b"\x03", "<h"),
    **dict.fromkeys(("int", "date"), _numbers(b"\x09", "<i")),
    **dict.fromkeys(("bigint", "timestamp", "timestamp_ntz"), _numbers(b"", "<q")),
}
