"""The hashes of values in sketches: the first half of MurmurHash3 of 128 bits, with the seed of DataSketches."""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from streamapp_runtime.kernels.theta_sketches import Hashes

_SEED, _FULL = 9_001, (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def hashes_of_numbers(values: Sequence[int] | Sequence[float]) -> Hashes:
    """Hash whole numbers, or doubles (of which zero is one, and NaN too)."""
    numbers = np.asarray(values)
    if numbers.dtype.kind == "f":
        numbers = np.where(np.isnan(numbers), np.nan, numbers + 0.0)
    words = numbers.view(np.uint64) if numbers.dtype.kind == "f" else numbers.astype(np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = words * np.uint64(_C1)
        mixed = (mixed << np.uint64(31) | mixed >> np.uint64(33)) * np.uint64(_C2)
        first = (mixed ^ np.uint64(_SEED ^ 8)) + np.uint64(_SEED ^ 8)
        second = first + np.uint64(_SEED ^ 8)
        return (_final(first) + _final(second)) >> np.uint64(1)


def hashes_of_bytes(values: Sequence[bytes]) -> Hashes:
    """Hash texts and bytes; those without any are no values."""
    return np.array([_hashed(value) for value in values if value], np.uint64)


def _final(words: Hashes) -> Hashes:
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xFF51AFD7ED558CCD)
    words = (words ^ words >> np.uint64(33)) * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ words >> np.uint64(33)


def _hashed(data: bytes) -> int:
    first = second = _SEED
    whole = len(data) // 16 * 16
    for low, high in struct.iter_unpack("<QQ", memoryview(data)[:whole]):
        first = (_rotated(first ^ _mixed_low(low), 27) + second) * 5 + 0x52DCE729 & _FULL
        second = (_rotated(second ^ _mixed_high(high), 31) + first) * 5 + 0x38495AB5 & _FULL
    low, high = struct.unpack("<QQ", data[whole:].ljust(16, b"\0"))
    first = first ^ _mixed_low(low) ^ len(data)
    second = second ^ _mixed_high(high) ^ len(data)
    first = first + second & _FULL
    second = second + first & _FULL
    return (_mixed(first) + _mixed(second) & _FULL) >> 1


def _mixed_low(word: int) -> int:
    return _rotated(word * _C1 & _FULL, 31) * _C2 & _FULL


def _mixed_high(word: int) -> int:
    return _rotated(word * _C2 & _FULL, 33) * _C1 & _FULL


def _mixed(word: int) -> int:
    word = (word ^ word >> 33) * 0xFF51AFD7ED558CCD & _FULL
    word = (word ^ word >> 33) * 0xC4CEB9FE1A85EC53 & _FULL
    return word ^ word >> 33


def _rotated(word: int, places: int) -> int:
    return (word << places | word >> 64 - places) & _FULL


def hashes(kind: str, values: Sequence[Any]) -> Hashes:
    """Hash the values of a family of types."""
    if kind == "string":
        return hashes_of_bytes([value.encode() for value in values])
    return hashes_of_bytes(values) if kind == "binary" else hashes_of_numbers(values)
