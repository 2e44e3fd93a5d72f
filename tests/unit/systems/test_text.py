"""Values as text: each form that is read, and that what is written reads back."""

import datetime
import decimal
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamapp_systems.file.text_values import format_text, parse_text

UTC = pa.timestamp("us", tz="UTC")
TEN = datetime.datetime(2013, 1, 1, 10, tzinfo=datetime.UTC)
VALUES = {
    pa.string(): st.text(),
    pa.bool_(): st.booleans(),
    pa.int32(): st.integers(-(2**31), 2**31 - 1),
    pa.int64(): st.integers(-(2**63), 2**63 - 1),
    pa.float32(): st.floats(width=32, allow_nan=False),
    pa.float64(): st.floats(allow_nan=False),
    pa.decimal128(38, 20): st.decimals(-(10**17), 10**17, places=20),
    pa.date32(): st.dates(),
    UTC: st.datetimes(timezones=st.just(datetime.UTC)),
    pa.binary(): st.binary(),
}


def parse_one(text: str, to: pa.DataType) -> object:
    return parse_text(pa.array([text]), to)[0].as_py()


@given(data=st.data(), data_type=st.sampled_from(list(VALUES)))
def test_what_is_written_reads_back(data: st.DataObject, data_type: pa.DataType) -> None:
    values = pa.array(data.draw(st.lists(st.none() | VALUES[data_type])), data_type)
    assert parse_text(format_text(values), data_type).equals(values)


@pytest.mark.parametrize(
    "text",
    [
        "2013-01-01T10:00:00Z",
        "2013-01-01 10:00:00",
        "2013-01-01T10:00",
        "2013-01-01T10:00:00.000",
        "2013-01-01T10:00:00.0000004Z",
        "2013-01-01T12:00:00+02:00",
        "2013-01-01 12:00:00.0+0200",
        " 2013-01-01T10:00:00Z ",
    ],
)
def test_iso_timestamps_are_read_as_utc(text: str) -> None:
    assert parse_one(text, UTC) == TEN


def test_a_day_is_a_timestamp_at_its_midnight() -> None:
    assert parse_one("2013-01-01", UTC) == TEN.replace(hour=0)


def test_timestamps_with_and_without_zones_mix() -> None:
    texts = pa.array(["2013-01-01 10:00:00", None, "2013-01-01T11:00:00+01:00", "2013-01-01T10:00:00.1234567"])
    found = parse_text(texts, UTC).to_pylist()
    assert found == [TEN, None, TEN, TEN.replace(microsecond=123_456)]


def test_timestamps_are_written_with_the_digits_they_need() -> None:
    values = pa.array([TEN, TEN.replace(microsecond=120_000), TEN.replace(microsecond=1)], UTC)
    assert format_text(values).to_pylist() == [
        "2013-01-01T10:00:00Z",
        "2013-01-01T10:00:00.12Z",
        "2013-01-01T10:00:00.000001Z",
    ]


@pytest.mark.parametrize("data_type", [pa.int32(), pa.float64(), pa.date32(), UTC, pa.bool_(), pa.decimal128(4, 2)])
def test_empty_text_is_null_unless_it_is_a_string(data_type: pa.DataType) -> None:
    assert parse_one("", data_type) is None
    assert parse_one(" ", data_type) is None
    assert parse_one("", pa.string()) == ""


@pytest.mark.parametrize("others", [[], [" AA=="]])
def test_empty_text_is_empty_bytes_whatever_is_beside_it(others: list[str]) -> None:
    assert parse_text(pa.array(["", *others]), pa.binary()).to_pylist() == [b"", *([b"\0"] * len(others))]


@pytest.mark.parametrize(
    ("text", "data_type"),
    [
        ("1.0", pa.int32()),
        ("2147483648", pa.int32()),
        ("x", pa.float64()),
        ("1.234", pa.decimal128(4, 2)),
        ("123.4", pa.decimal128(4, 2)),
        ("2013-13-01", pa.date32()),
        ("2013-01-01T25:00:00Z", UTC),
        ("yesterday", UTC),
        ("yes", pa.bool_()),
        ("~", pa.binary()),
    ],
)
def test_what_is_no_value_of_the_type_is_refused(text: str, data_type: pa.DataType) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_one(text, data_type)


DIGITS = st.text("0123456789", max_size=45)
NUMBERS = st.builds(
    lambda sign, whole, fraction, exponent: f"{sign}{whole}{fraction}{exponent}",
    st.sampled_from(["", "-", "+"]),
    DIGITS,
    st.just("") | DIGITS.map(".{}".format),
    st.just("") | st.integers(-60, 90).map("e{}".format) | st.just("E999999999"),
)


@given(texts=st.lists(NUMBERS, min_size=1, max_size=3), scale=st.sampled_from([0, 2, 10, 37]))
@example(texts=["697143987542834335141719536405259435189"], scale=0)
@example(texts=["9E26", "1"], scale=37)
def test_a_decimal_is_read_as_it_is_or_not_at_all(texts: list[str], scale: int) -> None:
    to = pa.decimal128(38, scale)
    with suppress(ValueError):
        for text, found in zip(texts, parse_text(pa.array(texts), to).to_pylist(), strict=True):
            assert found == (decimal.Decimal(text) if text else None)
    for text in texts:
        with suppress(ArithmeticError), decimal.localcontext(prec=100):
            exact = decimal.Decimal(text)
            if abs(exact) < 10 ** (38 - scale) and exact == exact.quantize(decimal.Decimal(1).scaleb(-scale)):
                assert parse_one(text, to) == exact


def test_decimals_keep_every_digit() -> None:
    assert parse_one("123456789012345678.12345678901234567890", pa.decimal128(38, 20)) == decimal.Decimal(
        "123456789012345678.12345678901234567890"
    )


@pytest.mark.parametrize(
    "micros, text",
    [
        (1709211909123000000, "+56132-10-08T05:52:03Z"),
        (253402300800000000, "+10000-01-01T00:00:00Z"),
        (253402300799500000, "9999-12-31T23:59:59.5Z"),
        (-62167219200000000, "0000-01-01T00:00:00Z"),
        (-62167219200000001, "-0001-12-31T23:59:59.999999Z"),
    ],
)
def test_years_of_more_digits_have_a_sign(micros: int, text: str) -> None:
    times = pa.array([None, micros, 0, micros], pa.int64()).cast(UTC)
    assert format_text(times).to_pylist() == [None, text, "1970-01-01T00:00:00Z", text]
    assert format_text(times.cast(pa.timestamp("us")).slice(1, 1)).to_pylist() == [text.removesuffix("Z")]


@pytest.mark.parametrize(
    "days, text", [(2147342209, "+5881193-04-13"), (-800000, "-0221-09-04"), (2932896, "9999-12-31")]
)
def test_dates_of_years_of_more_digits_have_a_sign(days: int, text: str) -> None:
    assert format_text(pa.array([days, None, 0], pa.date32())).to_pylist() == [text, None, "1970-01-01"]
