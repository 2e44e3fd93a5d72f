"""Geometries in well-known binary are checked and written as Spark does it; broken and hostile ones are null."""

import random

import pyarrow as pa
import pytest

from streamapp_runtime.kernels.wkb_kernels import MAX_DEPTH, wkb
from support.geometries import broken_wkb, sound_wkb

POINT = "0101000000000000000000F03F0000000000000040"


def written(data, *, globe=False, big=False):
    return wkb(pa.array([data], pa.binary()), pa.array([globe]), pa.array([big])).to_pylist()[0]


@pytest.mark.parametrize(
    "given, found",
    [
        (POINT, POINT),
        (POINT + "FF", POINT),
        ("00000000013FF00000000000004000000000000000", POINT),
        ("0101000000000000000000F87F000000000000F87F", "0101000000000000000000F87F000000000000F87F"),
        ("010200000000000000", "010200000000000000"),
        ("010300000000000000", "010300000000000000"),
        ("01", None),
        ("", None),
        ("0102000000FFFFFFFF", None),
        ("0102000000FFFFFF7F", None),
        ("01020000000100000000000000000000000000000000000000", None),
        ("01030000000100000000000000", None),
        ("0107000000010000000000000001000000000000000000F03F", None),
        ("01010000200000000000000000F03F0000000000000040", None),
        ("0101000000000000000000F07F0000000000000040", None),
    ],
)
def test_a_geometry_is_read_as_in_spark(given, found):
    result = written(bytes.fromhex(given))
    assert (result and result.hex().upper()) == found


def test_what_is_not_on_the_globe_is_no_geography():
    beyond = bytes.fromhex("0101000000000000000000F03F000000000000F0C0")
    assert written(beyond, globe=True) is None
    assert written(beyond) == beyond


def test_the_greatest_byte_may_come_first():
    assert written(bytes.fromhex(POINT), big=True).hex().upper() == "00000000013FF00000000000004000000000000000"


def test_sound_geometries_stay_what_they_are():
    draw = random.Random(3)
    for _ in range(300):
        once = written(sound_wkb(draw), globe=True)
        assert once is not None
        assert written(once) == written(written(once, big=True)) == once


def test_broken_geometries_are_null():
    draw = random.Random(4)
    assert None in [written(broken_wkb(draw)) for _ in range(300)]


@pytest.mark.parametrize("levels, there", [(MAX_DEPTH, True), (MAX_DEPTH + 1, False), (100_000, False)])
def test_collections_nest_to_a_bound(levels, there):
    data = bytes.fromhex("010700000001000000") * levels + bytes.fromhex(POINT)
    assert (written(data) is not None) is there
