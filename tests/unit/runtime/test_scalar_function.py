"""Scalar functions of users as queries call them: their arguments, their results, and what goes wrong."""

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.data_types import VARIANT, all_types
from streamapp_core.expressions import FunctionSignature, UserFunctions, check_select, select_sql, table
from streamapp_core.schema import Schema, parse_schema, parse_type
from streamapp_runtime.functions.scalar_function import ScalarFunction, ScalarFunctions
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_systems.arrow_types import arrow_schema
from support.nested_rows import rows, schemas

NUMBERS = pa.table({"n": pa.array([1, None, 3], pa.int32()), "k": ["a", "b", None]})
COLUMNS = parse_schema("n int, k string")


def computed(
    function: Callable[..., object],
    text: str = "f(n) as x",
    given_rows: pa.Table = NUMBERS,
    columns: Schema = COLUMNS,
    *,
    returns: str = "int",
    parameters: str | None = None,
    by_row: bool = False,
) -> list[object]:
    signature = FunctionSignature("f", None if parameters is None else parse_schema(parameters), parse_type(returns))
    functions = ScalarFunctions({signature.sql_name: ScalarFunction("m:f", function, signature, by_row=by_row)})
    select = check_select(text, columns, UserFunctions((signature,)))
    with SqlEngine(functions.sql_functions) as engine:
        result = engine.query(select_sql(select.columns, table("rows"), ()), rows=given_rows)
        functions.raise_failure()
    return result.column(0).to_pylist()


@given(st.data(), st.booleans(), st.booleans())
def test_values_of_every_type_come_and_go_as_they_are(data, by_row, declared):
    schema = data.draw(schemas().filter(lambda found: all(VARIANT not in all_types(c.type) for c in found.columns)))
    given_rows = data.draw(rows(schema))
    column = data.draw(st.sampled_from(schema.columns))
    name = column.name.replace("`", "``")
    result = computed(
        lambda value: value,
        f"f(`{name}`) as x",
        pa.Table.from_pylist(given_rows, arrow_schema(schema)),
        schema,
        returns=str(column.type),
        parameters=f"v {column.type}" if declared else None,
        by_row=by_row,
    )
    assert result == [row[column.name] for row in given_rows]


@pytest.mark.parametrize(
    "function, arguments, expected",
    [
        (lambda n: pc.add(n, 1), {}, [2, None, 4]),
        (lambda n: np.arange(len(n)), {}, [0, 1, 2]),
        (lambda n: pa.chunked_array([n.slice(0, 1), n.slice(1)]), {}, [1, None, 3]),
        (lambda n: pa.nulls(len(n)), {}, [None, None, None]),
        (lambda n: None if n is None else n * 2, {"by_row": True}, [2, None, 6]),
        (lambda n: pc.cast(n, pa.float64()), {"returns": "double"}, [1.0, None, 3.0]),
        (pc.utf8_upper, {"text": "f(k) as x", "returns": "string"}, ["A", "B", None]),
        (lambda n: n, {"text": "f('7') as x", "parameters": "n int"}, [7, 7, 7]),
        (lambda n: pc.add(n, 1), {"text": "aggregate(array(1, n), 0, (s, e) -> s + f(e)) as x"}, [4, None, 6]),
    ],
)
def test_a_function_returns_a_value_for_each_row(function, arguments, expected):
    assert computed(function, **arguments) == expected


@pytest.mark.parametrize(
    "function, arguments, message",
    [
        (lambda n: n["x"], {}, r"function m:f: TypeError: .*\(test_scalar_function.py, line [0-9]+\)$"),
        (lambda n: n + 1, {"by_row": True}, r"function m:f: TypeError: .*\(test_scalar_function.py, line [0-9]+\)$"),
        (lambda n: n.slice(1), {}, "function m:f returns 2 values for 3 rows"),
        (lambda n: 7, {}, "function m:f returns a int, not an Arrow array"),
        (lambda n: [1, 2, 3], {}, "function m:f returns a list, not an Arrow array"),
        (lambda n: n, {"returns": "string"}, "function m:f returns values as int32, `returns` says string"),
        (lambda n: n, {"returns": "timestamp"}, "function m:f returns values as int32, `returns` says timestamp"),
        (lambda n: 1, {"returns": "timestamp", "by_row": True}, "returns values as int64, `returns` says timestamp"),
        (lambda n: pc.add(pc.cast(n, pa.int64()), 2**40), {}, "function m:f returns values as int64: "),
        (lambda n: "a" if n else 1, {"by_row": True}, "function m:f returns values that are no int32: "),
        (lambda n: [(1, 2), (1, 3)], {"returns": "map<int,int>", "by_row": True}, "returns values: "),
    ],
)
def test_another_result_is_a_failure_and_no_null(function, arguments, message):
    with pytest.raises(UserFunctionFailed, match=message):
        computed(function, **arguments)


def test_a_failure_is_that_of_its_batch_alone():
    signature = FunctionSignature("f", None, parse_type("int"))

    def positive(numbers: pa.Array) -> pa.Array:
        if pc.min(numbers).as_py() < 0:
            raise ValueError("negative")
        return numbers

    functions = ScalarFunctions({signature.sql_name: ScalarFunction("m:f", positive, signature, by_row=False)})
    sql = select_sql(check_select("f(n) as x", COLUMNS, UserFunctions((signature,))).columns, table("rows"), ())
    with SqlEngine(functions.sql_functions) as engine:
        for sign, expected in ((1, [5]), (-1, None), (1, [5])):
            result = engine.query(sql, rows=pa.table({"n": pa.array([5 * sign], pa.int32()), "k": ["a"]}))
            if expected is None:
                with pytest.raises(UserFunctionFailed, match="function m:f: ValueError: negative"):
                    functions.raise_failure()
            else:
                functions.raise_failure()
                assert result.column(0).to_pylist() == expected
