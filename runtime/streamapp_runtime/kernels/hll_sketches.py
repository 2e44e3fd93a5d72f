"""HyperLogLog sketches, as Apache DataSketches writes and reads them: their estimates and their union."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
from datasketches import hll_sketch, hll_union, tgt_hll_type

REGISTERS = tgt_hll_type.HLL_8
"""The form in which Spark writes sketches: registers of 8 bits."""
_VERSION, _FAMILY, _TYPE = 1, 7, 2
_LOGARITHMS = range(4, 22)
_EMPTY, _COMPACT, _UNFINISHED = 4, 8, 32
_LIST, _SET, _REGISTERS = 0, 1, 2
_WORDS = {_LIST: 2, _SET: 3, _REGISTERS: 10}
_STARTS = {_LIST: 8, _SET: 12, _REGISTERS: 40}
_LEAST, _LEAST_COUNT = 6, 32
"""Where a sketch has its least register, and the number of those that are as small, before that of exceptions."""
_LIST_SIZE, _SET_BITS, _LEAST_OF_SETS, _VALUE_BITS, _MOST_ZEROS = 8, 5, 8, 26, 63
_KEY = (1 << _VALUE_BITS) - 1


def empty_hll(logarithm: int) -> bytes:
    """Return the sketch without values of at most two to the power of so many registers."""
    written: bytes = hll_sketch(logarithm, REGISTERS).serialize_updatable()
    return written


def is_hll(data: bytes) -> bool:
    """Return whether bytes are a sketch, which the library does not find out."""
    if len(data) < _STARTS[_LIST] or data[1] != _VERSION or data[2] != _FAMILY or data[3] not in _LOGARITHMS:
        return False
    mode, kind = data[7] & 3, data[7] >> 2
    if kind != _TYPE or data[0] != _WORDS.get(mode) or data[5] & _UNFINISHED or len(data) < _STARTS[mode]:
        return False
    return (_sound_registers(data) if mode == _REGISTERS else _sound_coupons(data, mode)) and _is_read(data)


def _is_read(data: bytes) -> bool:
    try:
        hll_sketch.deserialize(data).get_estimate()
    except (IndexError, RuntimeError, ValueError):
        return False
    return True


def _sound_registers(data: bytes) -> bool:
    sums = np.frombuffer(data, "<f8", 3, 8)
    registers = np.frombuffer(data, np.uint8, offset=_STARTS[_REGISTERS])
    size = 1 << data[3]
    if len(registers) != size or not np.isfinite(sums).all() or sums[0] < 0 or not 0 < sums[1] + sums[2] <= size:
        return False
    least, exceptions = np.frombuffer(data, "<u4", 2, _LEAST_COUNT)
    return bool((registers <= _MOST_ZEROS).all() and least <= size and not exceptions and data[_LEAST] <= _MOST_ZEROS)


def _sound_coupons(data: bytes, mode: int) -> bool:
    """Return whether the list or the set of the first hashes is whole."""
    count = data[6] if mode == _LIST else int.from_bytes(data[8:12], "little")
    if mode == _LIST:
        size, most = _LIST_SIZE, _LIST_SIZE - 1
    else:
        if not _SET_BITS <= data[4] <= data[3] - 3:
            return False
        size = 1 << data[4]
        most = size * 3 // 4
    written = count if data[5] & _COMPACT else size
    if count > most or len(data) != _STARTS[mode] + 4 * written:
        return False
    coupons = np.frombuffer(data, "<u4", written, _STARTS[mode])
    found = coupons[coupons > 0]
    return len(np.unique(found)) == len(found) == count and bool((found >> _VALUE_BITS > 0).all())


def united(logarithm: int, union: bytes, sketch: bytes) -> bytes:
    """Add a sketch to a union, which has at most two to the power of so many registers.

    The hashes of a small union come behind the registers of a sketch, as in Spark: the estimate goes by the order.
    """
    if _has_registers(union):
        return _united(logarithm, union, sketch)
    if _has_registers(sketch):
        return _united(min(logarithm, sketch[3]), sketch, union)
    return _with_hashes(union, _slots(sketch)) or _united(logarithm, union, sketch)


def _has_registers(data: bytes) -> bool:
    return data[7] & 3 == _REGISTERS


def _united(logarithm: int, *sketches: bytes) -> bytes:
    union = hll_union(logarithm)
    for sketch in sketches:
        union.update(hll_sketch.deserialize(sketch))
        union.get_estimate()  # else the library may take registers that it has folded for none
    written: bytes = union.get_result(REGISTERS).serialize_updatable()
    return written


def _slots(data: bytes) -> list[int]:
    slots: list[int] = np.frombuffer(data, "<u4", offset=_STARTS[data[7] & 3]).tolist()
    return slots


def _with_hashes(data: bytes, hashes: Sequence[int]) -> bytes | None:
    """Add hashes to a small sketch, in their places of a hash table; None if they are too many for one."""
    logarithm, slots, known = data[3], _slots(data), {*_slots(data)} - {0}
    for one in hashes:
        if not one or one in known:
            continue
        known.add(one)
        if len(slots) == _LIST_SIZE:
            slots[len(known) - 1] = one
            most, size = _LIST_SIZE - 1, 1 << _SET_BITS
        else:
            _place(slots, one)
            most, size = len(slots) * 3 // 4, 2 * len(slots)
        if len(known) > most:
            if size > 1 << logarithm - 3 or logarithm < _LEAST_OF_SETS:
                return None
            slots = _placed(slots, size)
    return _small_sketch(logarithm, slots, len(known))


def _small_sketch(logarithm: int, slots: Sequence[int], count: int) -> bytes:
    is_list = len(slots) == _LIST_SIZE
    mode = _LIST if is_list else _SET
    bits = len(slots).bit_length() - 1
    head = [_WORDS[mode], _VERSION, _FAMILY, logarithm, bits, 0 if count else _EMPTY, count if is_list else 0]
    return (
        bytes([*head, _TYPE << 2 | mode])
        + (b"" if is_list else count.to_bytes(4, "little"))
        + np.array(slots, "<u4").tobytes()
    )


def _placed(hashes: Iterable[int], size: int) -> list[int]:
    slots = [0] * size
    for one in hashes:
        if one:
            _place(slots, one)
    return slots


def _place(slots: list[int], one: int) -> None:
    mask = len(slots) - 1
    step = (one & _KEY) >> mask.bit_length() | 1
    place = one & mask
    while slots[place]:
        place = (place + step) & mask
    slots[place] = one


def hll_estimate(sketches: pa.Array) -> pa.Array:
    """Estimate the number of different values of sketches; null of what is none."""
    read = [data if data is not None and is_hll(data) else None for data in sketches.to_pylist()]
    return pa.array([None if data is None else _estimate(data) for data in read], pa.int64())


def hll_of_both(left: pa.Array, right: pa.Array, of_any_sizes: pa.Array) -> pa.Array:
    """Unite pairs of sketches; null if one is none, or their sizes differ though they may not."""
    rows = zip(left.to_pylist(), right.to_pylist(), of_any_sizes.to_pylist(), strict=True)
    return pa.array([None if None in row else _of_both(*row) for row in rows], pa.binary())


def _estimate(data: bytes) -> int:
    estimate: float = hll_sketch.deserialize(data).get_estimate()
    return math.floor(estimate + 0.5)


def _of_both(left: bytes, right: bytes, of_any_sizes: bool) -> bytes | None:
    if not is_hll(left) or not is_hll(right) or (left[3] != right[3] and not of_any_sizes):
        return None
    logarithm = min(left[3], right[3])
    as_it_is = left[3] == logarithm and not left[5] & _COMPACT
    return united(logarithm, left if as_it_is else united(logarithm, empty_hll(logarithm), left), right)
