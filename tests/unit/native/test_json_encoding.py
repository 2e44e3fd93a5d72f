"""Objects that the native library writes are those of Arrow's kernels, byte for byte."""

import ctypes
import datetime
import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.streams import JsonOptions, JsonTimestamps
from streamapp_systems.file.json_writing import json_texts
from streamapp_systems.native.json_encoding import JsonKind, JsonMember, json_kind, write_objects
from streamapp_systems.native.library import native_library, without_native_library
from support.machine import need

DAY = 86_400_000_000
FIRST, LAST = -719_528, 2_932_896
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=40) | st.text('ab "\\\n\x00\x1f\x7f', max_size=40)


def whole(bits):
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


MICROS = (
    st.integers(FIRST * DAY, (LAST + 1) * DAY - 1)
    | st.integers(FIRST, LAST).map(DAY.__mul__)
    | st.integers(-9999, 9999)
)
VALUES = {
    pa.string(): TEXTS,
    pa.bool_(): st.booleans(),
    **{kind(): whole(bits) for kind, bits in ((pa.int8, 8), (pa.int16, 16), (pa.int32, 32), (pa.int64, 64))},
    pa.float64(): st.floats(),
    pa.binary(): st.binary(max_size=5),
    pa.date32(): st.integers(FIRST, LAST),
    pa.timestamp("us"): MICROS,
    pa.timestamp("us", "UTC"): MICROS,
    pa.list_(pa.int32()): st.lists(whole(32), max_size=2),
    pa.struct([("a", pa.string()), ("b", pa.timestamp("us", "UTC"))]): st.fixed_dictionaries(
        {"a": TEXTS | st.none(), "b": MICROS | st.none()}
    ),
}


@pytest.fixture(autouse=True)
def native():
    why = native_library().why_absent
    need(() if why is None else (why,))


@st.composite
def batches(draw):
    kinds = draw(st.lists(st.sampled_from(list(VALUES)), min_size=1, max_size=5))
    count = draw(st.integers(0, 12))
    names = draw(st.lists(TEXTS, min_size=len(kinds), max_size=len(kinds)))
    columns = []
    for kind in kinds:
        values = VALUES[kind] if draw(st.booleans()) else VALUES[kind] | st.none()
        columns.append(pa.array(draw(st.lists(values, min_size=count, max_size=count)), kind))
    begin = draw(st.integers(0, count))
    return pa.RecordBatch.from_arrays(columns, names=names).slice(begin)


@given(batches(), st.sampled_from(JsonTimestamps))
def test_objects_are_those_of_arrow(rows, timestamps):
    options = JsonOptions(timestamps=timestamps)
    written = json_texts(rows, options)
    written.validate(full=True)
    with without_native_library():
        assert written.equals(json_texts(rows, options))
    assert len([*map(json.loads, written.to_pylist())]) == len(rows)


@pytest.mark.parametrize("kind, bits", [(pa.date32(), 32), (pa.timestamp("us"), 64), (pa.timestamp("us", "UTC"), 64)])
@pytest.mark.parametrize("which", [0, 1])
def test_times_beyond_the_years_0_to_9999_are_left_to_arrow(kind, bits, which):
    unit = 1 if bits == 32 else DAY
    inside, beyond = ((FIRST * unit, FIRST * unit - 1), ((LAST + 1) * unit - 1, (LAST + 1) * unit))[which]
    for value in (beyond, (-1) ** (1 - which) * 2 ** (bits - 1) - which):
        column = pa.array([inside, value], kind)
        assert write_objects([JsonMember('{"t":', column, json_kind(kind))]) is None
        assert len(json_texts(pa.RecordBatch.from_arrays([column], names=["t"]))) == 2
    assert write_objects([JsonMember('{"t":', pa.array([inside], kind), json_kind(kind))]) is not None


def test_every_day_of_four_centuries_is_right():
    days = pa.array(range(-150_000, 150_000), pa.date32())
    expected = [f'{{"t":"{day.isoformat()}"}}' for day in days.to_pylist()]
    assert write_objects([JsonMember('{"t":', days, JsonKind.DAYS)]).to_pylist() == expected
    assert days.to_pylist()[150_000] == datetime.date(1970, 1, 1)


@pytest.mark.parametrize("length", [0, 1, 7, 8, 9, 100_000])
def test_texts_of_escapes_alone_get_the_room_that_they_need(length):
    (text,) = write_objects([JsonMember('{"t":', pa.array(["\x01" * length]), JsonKind.TEXT)]).to_pylist()
    assert text == '{"t":"' + "\\u0001" * length + '"}'


@given(
    st.lists(st.integers(-(2**31), 2**31 - 1), min_size=2, max_size=6), st.integers(0, 50), st.sampled_from([0, 1, 2])
)
def test_offsets_that_leave_the_data_are_refused(offsets, size, kind):
    numbers = (ctypes.c_int32 * len(offsets))()
    texts = pa.Array.from_buffers(
        pa.string(), len(offsets) - 1, [None, pa.py_buffer(numbers), pa.py_buffer(b"x" * size)]
    )
    numbers[:] = offsets  # Arrow itself refuses them
    member = JsonMember('{"t":', texts, JsonKind(kind))
    if offsets[0] >= 0 and offsets[-1] <= size and offsets == sorted(offsets):
        assert len(write_objects([member])) == len(texts)
    else:
        with pytest.raises(ValueError, match="malformed: the offsets of a text are outside of its data"):
            write_objects([member])
