"""Types of lines of CSV, as Spark infers them."""

import pyarrow as pa
import pytest

from streamapp_runtime.kernels.csv_schemas import csv_values, schema_of_csv


@pytest.mark.parametrize(
    "line, types",
    [
        ("1,abc", ["INT", "STRING"]),
        ("2147483648,-9223372036854775808,12345678901234567890", ["BIGINT", "BIGINT", "DECIMAL(20,0)"]),
        ("  1, 2,1.5,1d,NaN,-Inf,0x1p3,1E5", ["DOUBLE"] * 8),
        (f"1.0e1,{'1' * 38},{'1' * 39}", ["DECIMAL(2,0)", "DECIMAL(38,0)", "DOUBLE"]),
        ('TRUE,"1,2",,', ["BOOLEAN", "STRING", "STRING", "STRING"]),
    ],
)
def test_values_have_the_types_that_they_have_in_spark(line, types):
    values = csv_values(pa.array([line]), pa.array([","]))
    none = pa.array([[False] * len(types)])
    written = ", ".join(f"_c{place}: {name}" for place, name in enumerate(types))
    assert schema_of_csv(values, none, none).to_pylist() == [f"STRUCT<{written}>"]


def test_dates_and_timestamps_are_those_that_are_said():
    values = pa.array([["a", "b", "c"]])
    found = schema_of_csv(values, pa.array([[True, False, False]]), pa.array([[True, True, False]]))
    assert found.to_pylist() == ["STRUCT<_c0: DATE, _c1: TIMESTAMP, _c2: STRING>"]


@pytest.mark.parametrize("line", ["", "12:30", "2024-01-01 00:00:00 Europe/Paris"])
def test_what_may_be_a_time_has_no_type_and_so_has_an_empty_line(line):
    none = pa.array([[False]])
    assert schema_of_csv(csv_values(pa.array([line]), pa.array([","])), none, none).to_pylist() == [None]
