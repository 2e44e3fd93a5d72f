"""The contract of `process` functions, on values; and how they are found."""

import zipfile

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.plan.planner import plan
from streamapp_core.schema import EVENT_TIME_COLUMN, parse_schema
from streamapp_core.spec.job import OnError
from streamapp_core.spec.parse import parse_document
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.functions.function_loader import load_functions, python_path
from streamapp_runtime.functions.process_function import ProcessFunction
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.operators.guarded_operator import GuardedOperator
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import without_event_time
from streamapp_systems.arrow_types import arrow_schema
from support import apps

NUMBERS = arrow_schema(parse_schema("n int"))


def rows(numbers, times=None):
    times = [1_000 * n for n in range(len(numbers))] if times is None else times
    return pa.table({"n": pa.array(numbers, pa.int32()), EVENT_TIME_COLUMN: pa.array(times, pa.int64())})


def call(function, schema="n int", batch=None):
    return ProcessFunction("m:f", function, arrow_schema(parse_schema(schema)))(
        rows([1, 2, 3]) if batch is None else batch
    )


def times(result):
    return result.column(EVENT_TIME_COLUMN).to_pylist()


def refusal(function, schema="n int", batch=None):
    with pytest.raises(UserFunctionFailed) as caught:
        call(function, schema, batch)
    return str(caught.value)


def test_a_result_that_keeps_the_event_times_has_them():
    assert times(call(lambda batch: batch.filter(pc.field("n") != 2))) == [0, 2_000]
    assert times(call(lambda batch: batch.take([2, 2, 0]))) == [2_000, 2_000, 0]


def test_a_result_of_as_many_rows_has_the_times_of_the_batch():
    assert times(call(lambda batch: pa.table({"n": [7, 8, 9]}))) == [0, 1_000, 2_000]


@pytest.mark.parametrize("time", [5, None])
def test_a_result_of_rows_of_one_time_has_that_time(time):
    batch = rows([1, 2, 3], [time] * 3)
    assert times(call(lambda batch: pa.table({"n": [7, 8]}), batch=batch)) == [time] * 2


@pytest.mark.parametrize("others", [[0, 0, 1], [0, None, 0]])
def test_any_other_result_without_times_is_refused(others):
    message = refusal(lambda batch: pa.table({"n": [7]}), batch=rows([1, 2, 3], others))
    assert message.startswith("function m:f returns 1 rows for 3 without their event times: keep the column __event")


def test_a_function_may_give_rows_other_times_as_milliseconds():
    assert times(call(lambda batch: pa.table({"n": [7], EVENT_TIME_COLUMN: pa.array([12], pa.int32())}))) == [12]
    assert times(call(lambda batch: pa.table({"n": [7], EVENT_TIME_COLUMN: [None]}))) == [None]
    moments = pa.array([12], pa.timestamp("us"))
    assert "as timestamp[us], not as milliseconds" in refusal(
        lambda batch: pa.table({"n": [7], EVENT_TIME_COLUMN: moments})
    )


@pytest.mark.parametrize("result", [None, rows([]), pa.record_batch({"n": pa.array([], pa.int32())})])
def test_no_rows_are_no_result(result):
    assert call(lambda batch: result) is None


def test_columns_come_out_in_the_order_of_the_schema_with_its_types():
    result = call(
        lambda batch: pa.record_batch({"b": pa.array(["x"]).dictionary_encode().take([0] * 3), "a": [1, 2, 3]}),
        "a int, b string",
    )
    assert without_event_time(result) == pa.table({"a": pa.array([1, 2, 3], pa.int32()), "b": ["x", "x", "x"]})


@pytest.mark.parametrize(
    "values, schema, expected",
    [
        ([1.0, 2.0, None], "n int", [1, 2, None]),
        ([None, None, None], "n timestamp", [None, None, None]),
        (pa.array(["a", "b", "c"], pa.large_string()), "n string", ["a", "b", "c"]),
        ([1.0, 2.0, 3.0], "n decimal(12,2)", [1, 2, 3]),
    ],
)
def test_a_column_of_a_like_type_is_cast(values, schema, expected):
    assert call(lambda batch: pa.table({"n": values}), schema).column("n").to_pylist() == expected


@pytest.mark.parametrize(
    "values, schema, message",
    [
        ([1.5, 2.0, 3.0], "n int", "column n as double: Float value 1.500000 was truncated"),
        ([1, 2, 1 << 40], "n int", "column n as int64: Integer value 1099511627776 not in range"),
        ([1, 2, 3], "n timestamp", "column n as int64, its `schema` says timestamp[us, tz=UTC]"),
        (["1", "2", "3"], "n int", "column n as string, its `schema` says int32"),
        ([1, 0, 1], "n boolean", "column n as int64, its `schema` says bool"),
    ],
)
def test_a_column_that_would_lose_something_is_refused(values, schema, message):
    assert message in refusal(lambda batch: pa.table({"n": values}), schema)


@pytest.mark.parametrize("names", [[], ["m"], ["n", "m"], ["n", "n"]])
def test_a_result_has_exactly_the_columns_of_the_schema(names):
    result = pa.Table.from_arrays([pa.array([1, 2, 3])] * len(names), names)
    assert f"the columns ({', '.join(names)}), its `schema` has (n)" in refusal(lambda batch: result)


def test_what_is_no_batch_of_rows_is_refused():
    assert "returns a list, not a pyarrow Table" in refusal(lambda batch: [1, 2, 3])


@pytest.mark.parametrize("error", [ValueError("odd"), SystemExit(3)])
def test_what_a_function_raises_is_told_with_its_line(error):
    def function(batch):
        raise error

    line = function.__code__.co_firstlineno + 1
    assert refusal(function) == f"function m:f: {type(error).__name__}: {error} (test_process_function.py, line {line})"


def operator(function, on_error=OnError.SKIP):
    bad_rows = BadRows()
    bad_rows.place = "here"
    return GuardedOperator("operator `odd`", ProcessFunction("m:f", function, NUMBERS), on_error, bad_rows), bad_rows


def no_odd_ones(batch):
    if any(n % 2 for n in batch["n"].to_pylist()):
        raise ValueError("odd")
    return batch


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60))
def test_exactly_the_rows_that_fail_alone_are_skipped(numbers):
    process, bad_rows = operator(no_odd_ones)
    batch = rows(numbers)
    result = process.process(batch)
    expected = batch.filter(pc.equal(pc.bit_wise_and(batch["n"], 1), 0))
    assert result == expected if len(expected) else result is None
    assert process.counters() == {"failed": len(numbers) - len(expected)}
    assert len(bad_rows.descriptions) == min(10, len(numbers) - len(expected))


def test_one_bad_row_costs_few_calls():
    sizes = []

    def count(batch):
        sizes.append(len(batch))
        return no_odd_ones(batch)

    process, _ = operator(count)
    process.process(rows([0] * 13_000 + [1] + [0] * 6_999))
    assert len(sizes) <= 31


def test_a_skipped_row_is_told_with_its_place_and_its_values():
    process, bad_rows = operator(no_odd_ones)
    process.process(rows([2, 3]))
    assert len(bad_rows.descriptions) == 1
    assert bad_rows.descriptions[0].startswith("here: operator `odd`: function m:f: ValueError: odd (")
    assert bad_rows.descriptions[0].endswith('; row {"n":3}')


def test_without_skip_the_first_failure_stops_the_app():
    process, _ = operator(no_odd_ones, OnError.FAIL)
    with pytest.raises(RuntimeFailure, match=r"^here: operator `odd`: function m:f: ValueError: odd"):
        process.process(rows([2, 3]))
    assert process.counters() == {"failed": 0}


def app(function, **spec):
    document = apps.stateless("file")
    document["spec"]["operators"][0] = {
        "name": "late",
        "from": "flights",
        "process": {"function": function, "schema": "n int"},
    }
    document["spec"] |= spec
    result = plan(parse_document(document), {"flights": 1})
    assert result.plan is not None, result.problems
    return result.plan


def load(folder, function, **spec):
    return load_functions(app(function, **spec), folder)["late"]


CODE = "def double(batch):\n    return batch.set_column(0, 'n', [[2 * n.as_py() for n in batch['n']]])\n"


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize("kind", ["beside", "file", "folder", "zip", "package"])
def test_a_function_is_found_where_py_files_say(tmp_path, kind):
    folder, files, module = tmp_path / "app", [], f"found_{kind}"
    (folder / "lib").mkdir(parents=True)
    if kind == "beside":
        (folder / f"{module}.py").write_text(CODE)
    elif kind == "file":
        (folder / "lib" / f"{module}.py").write_text(CODE)
        files = [f"lib/{module}.py"]
    elif kind == "folder":
        (folder / "lib" / f"{module}.py").write_text(CODE)
        files = ["lib"]
    elif kind == "zip":
        with zipfile.ZipFile(folder / "lib" / "code.zip", "w") as archive:
            archive.writestr(f"{module}.py", CODE)
        files = ["lib/code.zip"]
    else:
        (folder / "lib" / module).mkdir()
        (folder / "lib" / module / "__init__.py").touch()
        (folder / "lib" / module / "inner.py").write_text(CODE)
        files, module = ["lib"], f"{module}.inner"
    function = load(folder, f"{module}:double", pyFiles=files)
    assert function(rows([1, 2])).column("n").to_pylist() == [2, 4]


@pytest.mark.parametrize("missing", ["lib", "code.py", "code.zip", "app.yaml"])
def test_python_files_that_are_not_there_are_refused(tmp_path, missing):
    (tmp_path / "app.yaml").touch()
    with pytest.raises(RuntimeFailure, match=rf"spec\.pyFiles\[1\]: there is no folder, zip or \.py file .*{missing}"):
        python_path([".", missing], tmp_path)


@pytest.mark.usefixtures("forget_modules")
@pytest.mark.parametrize(
    "function, code, message",
    [
        ("absent_module:f", None, "ModuleNotFoundError: No module named 'absent_module'"),
        ("broken_module:f", "def f(:", "SyntaxError: invalid syntax (broken_module.py, line 1)"),
        ("raising_module:f", "x = 1\ny = z\n", "NameError: name 'z' is not defined (raising_module.py, line 2)"),
        ("exiting_module:f", "raise SystemExit(2)\n", "SystemExit: 2 (exiting_module.py, line 1)"),
        ("empty_module:f", "", "empty_module.py) has no function `f`"),
        ("value_module:f", "f = 3\n", "value_module.py) has no function `f`"),
        ("sys:nothing", None, "module `sys` (built in) has no function `nothing`"),
    ],
)
def test_a_function_that_can_not_be_had_is_told_with_its_operator(tmp_path, function, code, message):
    if code is not None:
        (tmp_path / f"{function.partition(':')[0]}.py").write_text(code)
    with pytest.raises(RuntimeFailure) as caught:
        load(tmp_path, function)
    assert str(caught.value).startswith("spec.operators[0].process.function: operator `late`: module `")
    assert message in str(caught.value)
