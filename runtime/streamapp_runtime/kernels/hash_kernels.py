"""Spark's hashes of rows, Murmur3 and xxHash64: each value is hashed with the hash of those before it as its seed.

Whole columns are hashed at once; texts word by word, and arrays element by element, all rows side by side, but for long
ones, which are hashed one after the other (`single_hashes`).
"""

from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from streamapp_runtime.kernels.single_hashes import SINGLE_MURMUR3, SINGLE_XXHASH64, XXHASH64_PRIMES, SingleHash

_SEED = 42
_LONG_RUN, _LONG_LIST = 2_000, 50
"""Bytes and elements from which on a row is hashed by itself."""
_MAX_LONG_DIGITS = 18
_ALL_DIGITS = Context(prec=38)
_P1, _P2, _P3, _P4, _P5 = (np.uint64(prime) for prime in XXHASH64_PRIMES)

_Words = npt.NDArray[np.uint64] | npt.NDArray[np.uint32]
_Numbers = Callable[[npt.NDArray[np.int64], _Words], _Words]
_Bytes = Callable[[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64], _Words], _Words]


class _Hash:
    """A way to hash numbers of 32 and of 64 bits, and runs of bytes, each with a seed."""

    def __init__(self, numbers: Callable[[int], _Numbers], run: _Bytes, single: SingleHash) -> None:
        self.narrow, self.wide, self.run, self.single = numbers(32), numbers(64), run, single


def murmur3(*columns: pa.Array) -> pa.Array:
    """Hash rows as Spark's `hash` does."""
    seeds = _hashed(columns, np.full(len(columns[0]), _SEED, np.uint32), _MURMUR3)
    return pa.array(seeds.view(np.int32))


def xxhash64(*columns: pa.Array) -> pa.Array:
    """Hash rows as Spark's `xxhash64` does."""
    seeds = _hashed(columns, np.full(len(columns[0]), _SEED, np.uint64), _XXHASH64)
    return pa.array(seeds.view(np.int64))


def _hashed(columns: tuple[pa.Array, ...], seeds: _Words, hash_: _Hash) -> _Words:
    with np.errstate(over="ignore"):
        for column in columns:
            seeds = _column(column, seeds, hash_)
    return seeds


def _column(column: pa.Array, seeds: _Words, hash_: _Hash) -> _Words:
    """Hash the values of a column that are not null; the others leave the seed as it is."""
    valid = np.flatnonzero(pc.is_valid(column).to_numpy(zero_copy_only=False))
    if not len(valid):
        return seeds
    result = seeds.copy()
    present = column if len(valid) == len(column) else column.take(pa.array(valid))
    result[valid] = _values(present, seeds[valid], hash_)
    return result


def _values(column: pa.Array, seeds: _Words, hash_: _Hash) -> _Words:
    kind = column.type
    if pa.types.is_struct(kind):
        for field in column.flatten():
            seeds = _column(field, seeds, hash_)
        return seeds
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _lists(column, seeds, hash_)
    if _is_run(kind):
        return _runs(_bytes_of(column), seeds, hash_)
    return (hash_.narrow if _is_narrow(kind) else hash_.wide)(_bits(column), seeds)


def _is_run(kind: pa.DataType) -> bool:
    if pa.types.is_decimal(kind):
        return bool(kind.precision > _MAX_LONG_DIGITS)
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind))


def _is_narrow(kind: pa.DataType) -> bool:
    return pa.types.is_boolean(kind) or (kind.bit_width <= 32 and not pa.types.is_decimal(kind))  # noqa: PLR2004


def _bytes_of(column: pa.Array) -> pa.Array:
    if not pa.types.is_decimal(column.type):
        return column.cast(pa.binary())
    scale = column.type.scale
    return pa.array(
        [number if number is None else _java_bytes(number, scale) for number in column.to_pylist()], pa.binary()
    )


def _single(column: pa.Array, hash_: _Hash) -> Callable[[int, int], int]:
    """Return the hash of the value at a place with a seed."""
    kind, valid = column.type, column.is_valid().to_pylist()
    if pa.types.is_struct(kind):
        fields = [_single(field, hash_) for field in column.flatten()]

        def hash_fields(place: int, seed: int) -> int:
            for field in fields:
                seed = field(place, seed)
            return seed

        return hash_fields
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        ends = np.cumsum(pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)).tolist()
        element = _single(column.flatten(), hash_)

        def hash_elements(place: int, seed: int) -> int:
            for inner in range(ends[place - 1] if place else 0, ends[place]):
                seed = element(inner, seed)
            return seed

        return hash_elements
    if _is_run(kind):
        runs, run = _bytes_of(column).to_pylist(), hash_.single.run
        return lambda place, seed: run(runs[place], seed) if valid[place] else seed
    present = column.drop_null()
    values = np.zeros(len(column), np.int64)
    values[np.asarray(valid, np.bool_)] = _bits(present) if len(present) else 0
    numbers, hashed = values.tolist(), hash_.single.narrow if _is_narrow(kind) else hash_.single.wide
    return lambda place, seed: hashed(numbers[place], seed) if valid[place] else seed


def _bits(column: pa.Array) -> npt.NDArray[np.int64]:
    """Return the numbers that stand for values: floating ones by their bits, with one zero and one NaN."""
    kind = column.type
    if pa.types.is_floating(kind):
        values = column.to_numpy(zero_copy_only=False) + 0
        values[np.isnan(values)] = np.nan
        bits = values.view(np.int32 if kind.bit_width == 32 else np.int64)  # noqa: PLR2004
        return np.asarray(bits, np.int64)
    if pa.types.is_decimal(kind):
        words = np.frombuffer(column.buffers()[1], np.int64)[column.offset * 2 : (column.offset + len(column)) * 2]
        return np.asarray(words[::2], np.int64)
    if pa.types.is_date(kind):
        column = column.cast(pa.int32())
    return np.asarray(column.cast(pa.int64()), np.int64)


def _lists(column: pa.Array, seeds: _Words, hash_: _Hash) -> _Words:
    sizes = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    elements = column.flatten()
    result = seeds.copy()
    long = np.flatnonzero(sizes > _LONG_LIST)
    if len(long):
        single = _single(column.take(pa.array(long)), hash_)
        result[long] = [single(place, int(seeds[row])) for place, row in enumerate(long)]
    sizes = np.where(sizes > _LONG_LIST, 0, sizes)
    for place in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes > place)
        result[rows] = _column(elements.take(pa.array(starts[rows] + place)), result[rows], hash_)
    return result


def _runs(column: pa.Array, seeds: _Words, hash_: _Hash) -> _Words:
    offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset : column.offset + len(column) + 1]
    data = column.buffers()[2]
    padded = np.concatenate([np.frombuffer(data, np.uint8) if data else np.zeros(0, np.uint8), np.zeros(8, np.uint8)])
    starts = offsets[:-1].astype(np.int64)
    sizes = np.diff(offsets).astype(np.int64)
    long = np.flatnonzero(sizes > _LONG_RUN)
    result = hash_.run(padded, starts, np.where(sizes > _LONG_RUN, 0, sizes), seeds)
    result[long] = [hash_.single.run(column[row].as_py(), int(seeds[row])) for row in long.tolist()]
    return result


def _java_bytes(value: Decimal, scale: int) -> bytes:
    """Return the digits of a decimal as Java's BigInteger writes them: the fewest bytes in two's complement."""
    number = int(value.scaleb(scale, _ALL_DIGITS))
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _rotated(values: _Words, places: int) -> _Words:
    kind = values.dtype.type
    return (values << kind(places)) | (values >> kind(values.dtype.itemsize * 8 - places))


def _word(data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.uint64]:
    """Read a whole number of so many bytes at each place, the lowest byte first."""
    word = np.zeros(len(starts), np.uint64)
    for place in range(size):
        word |= data[starts + place].astype(np.uint64) << np.uint64(8 * place)
    return word


def _murmur_mixed(seeds: _Words, words: _Words) -> _Words:
    mixed = _rotated(words * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotated(seeds ^ mixed, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _murmur_finished(hashes: _Words, sizes: _Words) -> _Words:
    hashes = hashes ^ sizes
    hashes = (hashes ^ (hashes >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    hashes = (hashes ^ (hashes >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return hashes ^ (hashes >> np.uint32(16))


def _murmur_numbers(bits: int) -> _Numbers:
    def hashed(numbers: npt.NDArray[np.int64], seeds: _Words) -> _Words:
        words = numbers.astype(np.uint64)
        for shift in range(0, bits, 32):
            seeds = _murmur_mixed(seeds, (words >> np.uint64(shift)).astype(np.uint32))
        return _murmur_finished(seeds, np.full(len(seeds), bits // 8, np.uint32))

    return hashed


def _murmur_bytes(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], seeds: _Words
) -> _Words:
    """Hash runs of bytes by words; unlike the standard, each byte behind the last word is mixed as a signed number."""
    result = seeds.copy()
    for place in range(0, int(sizes.max(initial=0)) - 3, 4):
        rows = np.flatnonzero(sizes >= place + 4)
        result[rows] = _murmur_mixed(result[rows], _word(data, starts[rows] + place, 4).astype(np.uint32))
    for place in range(3):
        rows = np.flatnonzero(sizes % 4 > place)
        tail = data[starts[rows] + sizes[rows] // 4 * 4 + place].view(np.int8).astype(np.int32).view(np.uint32)
        result[rows] = _murmur_mixed(result[rows], tail)
    return _murmur_finished(result, sizes.astype(np.uint32))


def _xxhash_round(hashes: _Words, words: _Words) -> _Words:
    return _rotated(hashes + words * _P2, 31) * _P1


def _xxhash_finished(hashes: _Words) -> _Words:
    hashes = (hashes ^ (hashes >> np.uint64(33))) * _P2
    hashes = (hashes ^ (hashes >> np.uint64(29))) * _P3
    return hashes ^ (hashes >> np.uint64(32))


def _xxhash_eight(hashes: _Words, words: _Words) -> _Words:
    return _rotated(hashes ^ _xxhash_round(np.zeros_like(words), words), 27) * _P1 + _P4


def _xxhash_four(hashes: _Words, words: _Words) -> _Words:
    return _rotated(hashes ^ (words * _P1), 23) * _P2 + _P3


def _xxhash_numbers(bits: int) -> _Numbers:
    def hashed(numbers: npt.NDArray[np.int64], seeds: _Words) -> _Words:
        words = numbers.astype(np.uint64)
        start = seeds + _P5 + np.uint64(bits // 8)
        if bits == 32:  # noqa: PLR2004
            return _xxhash_finished(_xxhash_four(start, words & np.uint64(0xFFFFFFFF)))
        return _xxhash_finished(_xxhash_eight(start, words))

    return hashed


def _xxhash_bytes(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], seeds: _Words
) -> _Words:
    result = np.where(sizes >= 32, _xxhash_stripes(data, starts, sizes, seeds), seeds + _P5)  # noqa: PLR2004
    result = result + sizes.astype(np.uint64)
    place = sizes // 32 * 32
    for _ in range(3):
        rows = np.flatnonzero(sizes - place >= 8)  # noqa: PLR2004
        result[rows] = _xxhash_eight(result[rows], _word(data, starts[rows] + place[rows], 8))
        place[rows] += 8
    rows = np.flatnonzero(sizes - place >= 4)  # noqa: PLR2004
    result[rows] = _xxhash_four(result[rows], _word(data, starts[rows] + place[rows], 4))
    place[rows] += 4
    for _ in range(3):
        rows = np.flatnonzero(sizes > place)
        byte = data[starts[rows] + place[rows]].astype(np.uint64)
        result[rows] = _rotated(result[rows] ^ (byte * _P5), 11) * _P1
        place[rows] += 1
    return _xxhash_finished(result)


def _xxhash_stripes(
    data: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], seeds: _Words
) -> _Words:
    """Hash the whole stripes of 32 bytes of each run in four lanes."""
    lanes = [seeds + _P1 + _P2, seeds + _P2, seeds.copy(), seeds - _P1]
    for place in range(0, int(sizes.max(initial=0)) - 31, 32):
        rows = np.flatnonzero(sizes >= place + 32)
        for number, lane in enumerate(lanes):
            lane[rows] = _xxhash_round(lane[rows], _word(data, starts[rows] + place + 8 * number, 8))
    result = _rotated(lanes[0], 1) + _rotated(lanes[1], 7) + _rotated(lanes[2], 12) + _rotated(lanes[3], 18)
    for lane in lanes:
        result = (result ^ _xxhash_round(np.zeros_like(lane), lane)) * _P1 + _P4
    return result


_MURMUR3 = _Hash(_murmur_numbers, _murmur_bytes, SINGLE_MURMUR3)
_XXHASH64 = _Hash(_xxhash_numbers, _xxhash_bytes, SINGLE_XXHASH64)
