import math
import struct
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_systems.variants.floating_texts import decimal_of, floating_text

FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    "value, text",
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.0, "1.0"), (-123.456, "-123.456"), (1e-3, "0.001"), (9.99e-4, "9.99E-4"),
        (9999999.5, "9999999.5"), (1e7, "1.0E7"), (math.nan, "NaN"), (-math.inf, "-Infinity"), (5e-324, "4.9E-324"),
        (8e-323, "7.9E-323"), (4.79e21, "4.790000000000001E21"), (1.7623513982099548e18, "1.76235139820995482E18"),
        (1.3159554017412293e17, "1.31595540174122928E17"), (3.8568313865736706e25, "3.8568313865736705E25"),
        (1e23, "9.999999999999999E22"), (2e23, "1.9999999999999998E23"),
    ],
)  # fmt: skip
def test_doubles_have_the_digits_of_java_17(value, text):
    assert floating_text(value) == text


@pytest.mark.parametrize(
    "value, text",
    [
        (0.1, "0.1"), (1e10, "1.0E10"), (1.5e10, "1.50000005E10"), (131699776.0, "1.31699776E8"),
        (233388687360.0, "2.33388687E11"),
        (3.4028234663852886e38, "3.4028235E38"), (1.401298464324817e-45, "1.4E-45"),
        (-4.815656279336413e25, "-4.8156562E25"),
        (9.671406556917033e24, "9.6714065E24"), (33554432.0, "3.3554432E7"),
    ],
)  # fmt: skip
def test_floats_have_the_digits_of_java_17(value, text):
    assert floating_text(struct.unpack("f", struct.pack("f", value))[0], single=True) == text


@given(DOUBLES)
def test_a_text_gives_the_double_back(value):
    assert float(floating_text(value)) == value
    assert float(decimal_of(value)) == value
    assert Decimal(floating_text(value)) == decimal_of(value)


@given(FLOATS)
def test_a_text_gives_the_float_back(value):
    assert struct.pack("f", float(floating_text(value, single=True))) == struct.pack("f", value)


@given(st.floats(2.0**-20, 2.0**53))
def test_usual_numbers_have_the_fewest_digits(value):
    assert Decimal(floating_text(value)) == Decimal(repr(value))
