"""Murmur3 and xxHash64 of one value after the other, for long texts and arrays: there is little to do side by side.

Numbers are taken by their lowest bits, runs of bytes as they are; each is hashed with the hash before it as its seed.
"""

import struct
from collections.abc import Callable
from dataclasses import dataclass

_LOW, _FULL = 2**32 - 1, 2**64 - 1
XXHASH64_PRIMES = _P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5,
)  # fmt: skip
_STRIPE = struct.Struct("<4Q")


@dataclass(frozen=True, slots=True)
class SingleHash:
    """The functions of a hash: over numbers of 32 and of 64 bits, and over bytes, each with a seed."""

    narrow: Callable[[int, int], int]
    wide: Callable[[int, int], int]
    run: Callable[[bytes, int], int]


def _murmur_mixed(seed: int, word: int) -> int:
    word = word * 0xCC9E2D51 & _LOW
    seed ^= ((word << 15 | word >> 17) & _LOW) * 0x1B873593 & _LOW
    return ((seed << 13 | seed >> 19) & _LOW) * 5 + 0xE6546B64 & _LOW


def _murmur_finished(seed: int, size: int) -> int:
    seed ^= size
    seed = (seed ^ seed >> 16) * 0x85EBCA6B & _LOW
    seed = (seed ^ seed >> 13) * 0xC2B2AE35 & _LOW
    return seed ^ seed >> 16


def _murmur_narrow(number: int, seed: int) -> int:
    return _murmur_finished(_murmur_mixed(seed, number & _LOW), 4)


def _murmur_wide(number: int, seed: int) -> int:
    return _murmur_finished(_murmur_mixed(_murmur_mixed(seed, number & _LOW), number >> 32 & _LOW), 8)


def _murmur_run(data: bytes, seed: int) -> int:
    words = len(data) // 4
    for word in struct.unpack_from(f"<{words}I", data):
        seed = _murmur_mixed(seed, word)
    for byte in data[words * 4 :]:
        seed = _murmur_mixed(seed, (byte - 256 if byte > 127 else byte) & _LOW)  # noqa: PLR2004
    return _murmur_finished(seed, len(data))


def _rotated(word: int, places: int) -> int:
    return (word << places | word >> 64 - places) & _FULL


def _xxhash_round(lane: int, word: int) -> int:
    lane = lane + word * _P2 & _FULL
    return ((lane << 31 | lane >> 33) & _FULL) * _P1 & _FULL


def _xxhash_finished(result: int) -> int:
    result = (result ^ result >> 33) * _P2 & _FULL
    result = (result ^ result >> 29) * _P3 & _FULL
    return result ^ result >> 32


def _xxhash_eight(result: int, word: int) -> int:
    return _rotated(result ^ _xxhash_round(0, word), 27) * _P1 + _P4 & _FULL


def _xxhash_four(result: int, word: int) -> int:
    return _rotated(result ^ word * _P1 & _FULL, 23) * _P2 + _P3 & _FULL


def _xxhash_narrow(number: int, seed: int) -> int:
    return _xxhash_finished(_xxhash_four(seed + _P5 + 4 & _FULL, number & _LOW))


def _xxhash_wide(number: int, seed: int) -> int:
    return _xxhash_finished(_xxhash_eight(seed + _P5 + 8 & _FULL, number & _FULL))


def _xxhash_run(data: bytes, seed: int) -> int:
    place = len(data) // 32 * 32
    result = (_xxhash_stripes(data, seed) if place else seed + _P5) + len(data) & _FULL
    for _ in range((len(data) - place) // 8):
        result = _xxhash_eight(result, int.from_bytes(data[place : place + 8], "little"))
        place += 8
    if len(data) - place >= 4:  # noqa: PLR2004
        result = _xxhash_four(result, int.from_bytes(data[place : place + 4], "little"))
        place += 4
    for byte in data[place:]:
        result = _rotated(result ^ byte * _P5 & _FULL, 11) * _P1 & _FULL
    return _xxhash_finished(result)


def _xxhash_stripes(data: bytes, seed: int) -> int:
    a, b, c, d = seed + _P1 + _P2 & _FULL, seed + _P2 & _FULL, seed, seed - _P1 & _FULL
    for e, f, g, h in _STRIPE.iter_unpack(memoryview(data)[: len(data) // 32 * 32]):
        a, b, c, d = _xxhash_round(a, e), _xxhash_round(b, f), _xxhash_round(c, g), _xxhash_round(d, h)
    result = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18) & _FULL
    for lane in (a, b, c, d):
        result = (result ^ _xxhash_round(0, lane)) * _P1 + _P4 & _FULL
    return result


SINGLE_MURMUR3 = SingleHash(_murmur_narrow, _murmur_wide, _murmur_run)
SINGLE_XXHASH64 = SingleHash(_xxhash_narrow, _xxhash_wide, _xxhash_run)
