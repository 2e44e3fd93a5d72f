"""Messages without a value, which delete the row of their key."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.streams import KeyFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_runtime.rows.partitioning import key_bytes, key_texts
from streamapp_runtime.rows.tombstones import KeyColumn, replace_tombstones
from streamapp_systems.protocols import Message, MessageTuple

SSP = Ssp("log", "s", 0)
VALUES = {
    pa.string(): st.text(),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.integers(-(1 << 63), (1 << 63) - 1),
    pa.bool_(): st.booleans(),
    pa.float64(): st.floats(allow_nan=False, allow_infinity=False),
    pa.decimal128(12, 2): st.decimals(-(10**9), 10**9, places=2),
    pa.date32(): st.dates(date(1900, 1, 1), date(2100, 1, 1)),
    pa.timestamp("us", tz="UTC"): st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    pa.binary(): st.binary(),
}


def decoded(keys, column, form=KeyFormat.STRING):
    messages = MessageTuple(Message(offset, 0, key, None) for offset, key in enumerate(keys))
    schema = pa.schema([("other", pa.int32()), ("k", column.type)])
    return JsonDecoder(schema).decode(replace_tombstones(messages, KeyColumn(column, form)), SSP)


@pytest.mark.parametrize("kind", VALUES, ids=str)
@given(data=st.data())
def test_the_key_of_a_message_becomes_the_value_it_was_made_of(kind, data):
    values = pa.array(data.draw(st.lists(VALUES[kind] | st.none(), min_size=1, max_size=5)), kind)
    read = decoded(key_texts(values).to_pylist(), pa.field("k", kind))
    assert not read.bad
    assert read.rows.column("k").to_pylist() == values.to_pylist()
    assert set(read.rows.column("other").to_pylist()) == {None}


@pytest.mark.parametrize("key, kind", [(b"ann", pa.int32()), (b"\xff", pa.string()), (b"1.5", pa.int64())])
def test_a_key_that_is_no_value_of_its_column_is_a_bad_row(key, kind):
    (bad,) = decoded([key], pa.field("k", kind)).bad
    assert bad.offset == 0


@pytest.mark.parametrize("form, kind", [(KeyFormat.INT, pa.int32()), (KeyFormat.LONG, pa.int64())])
@given(data=st.data())
def test_binary_keys_become_the_numbers_they_were_made_of(form, kind, data):
    values = pa.array(data.draw(st.lists(VALUES[kind] | st.none(), min_size=1, max_size=5)), kind)
    read = decoded(key_bytes(values, form).to_pylist(), pa.field("k", kind), form)
    assert read.rows.column("k").to_pylist() == values.to_pylist()


def test_a_binary_key_of_another_width_is_a_bad_row():
    (bad,) = decoded([b"\0\0\0\1"], pa.field("k", pa.int64()), KeyFormat.LONG).bad
    assert bad.offset == 0


def test_messages_with_a_value_stay_as_they_are():
    message = Message(7, 0, b"k", b'{"k": 1}')
    deletion = message._replace(value=None)
    assert [*replace_tombstones(MessageTuple([message]), KeyColumn(pa.field("k", pa.int64())))] == [message]
    assert [*replace_tombstones(MessageTuple([message, deletion]), None)] == [message, message._replace(value=b"{}")]


def test_decimals_keep_their_digits():
    kind = pa.decimal128(38, 20)
    values = pa.array([Decimal("123456789012345678.12345678901234567890")], kind)
    assert (
        decoded(key_texts(values).to_pylist(), pa.field("k", kind)).rows.column("k").to_pylist() == values.to_pylist()
    )
