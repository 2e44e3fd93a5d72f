import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.murmur2 import murmur2, partitions

# From the Java client's own test (UtilsTest.testMurmur2).
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


def hashes(*keys: bytes) -> list[int]:
    offsets = np.cumsum([0, *map(len, keys)])
    return murmur2(np.frombuffer(b"".join(keys), np.uint8), offsets).astype(np.int32).tolist()


def one_by_one(key: bytes) -> int:
    """Murmur2 as its paper has it, on Python's whole numbers."""
    multiplier, hash_ = 0x5BD1E995, 0x9747B28C ^ len(key)
    for at in range(0, len(key) - len(key) % 4, 4):
        word = int.from_bytes(key[at : at + 4], "little") * multiplier & 0xFFFFFFFF
        word = (word ^ word >> 24) * multiplier & 0xFFFFFFFF
        hash_ = (hash_ * multiplier & 0xFFFFFFFF) ^ word
    tail = key[len(key) - len(key) % 4 :]
    if tail:
        hash_ = (hash_ ^ int.from_bytes(tail, "little")) * multiplier & 0xFFFFFFFF
    hash_ = (hash_ ^ hash_ >> 13) * multiplier & 0xFFFFFFFF
    return hash_ ^ hash_ >> 15


@pytest.mark.parametrize("key", JAVA)
def test_the_hash_is_the_java_clients(key):
    assert hashes(key) == [JAVA[key]]


@given(st.lists(st.binary(max_size=40), max_size=20))
def test_many_keys_hash_as_each_alone(keys):
    assert [h & 0xFFFFFFFF for h in hashes(*keys)] == [one_by_one(key) for key in keys]


@given(st.lists(st.binary(max_size=9), min_size=1, max_size=20), st.integers(1, 10_000))
def test_partitions_are_in_range(keys, count):
    offsets = np.cumsum([0, *map(len, keys)])
    numbers = partitions(murmur2(np.frombuffer(b"".join(keys), np.uint8), offsets), count)
    assert ((numbers >= 0) & (numbers < count)).all()


def test_a_negative_hash_is_made_positive_as_in_kafka():
    offsets = np.array([0, 2])
    assert partitions(murmur2(np.frombuffer(b"21", np.uint8), offsets), 7).tolist() == [(-973932308 & 0x7FFFFFFF) % 7]
