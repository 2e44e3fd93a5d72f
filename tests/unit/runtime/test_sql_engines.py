"""Engines of one process share a database, and see nothing of each other."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pytest

from streamapp_core.expressions import check_select, select_sql, table
from streamapp_core.schema import BIGINT, parse_schema
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.sql_function import SqlFunction

SCHEMA = parse_schema("a array<bigint>")
SQL = select_sql(check_select("array_distinct(a) as d, array_union(a, a) as u", SCHEMA).columns, table("t"))


def rows(*values):
    return pa.table({"a": pa.array([list(values)], pa.list_(pa.int64()))})


def test_what_is_a_table_of_one_engine_is_none_of_another():
    with SqlEngine() as one, SqlEngine() as other:
        assert one.query("SELECT a FROM t", t=rows(1)).num_rows == 1
        with pytest.raises(duckdb.Error):
            other.query("SELECT a FROM t")


def test_an_engine_goes_on_when_another_that_used_the_same_functions_first_is_closed():
    with SqlEngine() as other:
        with SqlEngine() as first:
            first.query(SQL, t=rows(1, 1, 2))
        assert other.query(SQL, t=rows(3, 3)).to_pylist() == [{"d": [3], "u": [3]}]


def test_threads_with_engines_of_their_own_query_at_once():
    def query(number):
        with SqlEngine() as engine:
            return [engine.query(SQL, t=rows(number, number)).to_pylist()[0]["d"] for _ in range(20)]

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(query, range(8))) == [[[number]] * 20 for number in range(8)]


def test_the_database_has_no_threads():
    code = """
from pathlib import Path
from streamapp_runtime.sql_engine import SqlEngine
from streamapp_runtime.sql_function import SqlFunction
import pyarrow.compute
def threads(): return len(list(Path("/proc/self/task").iterdir()))
before = threads()
with SqlEngine() as engine:
    engine.query("SELECT 1 AS one")
    print(threads() - before)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "0\n"


def test_functions_of_one_engine_are_not_those_of_another():
    def constant(number):
        function = SqlFunction(parameters=None, result=BIGINT, call=lambda n: pa.array([number] * len(n), pa.int64()))
        return {"__function_f": function}

    with SqlEngine(constant(1)) as one, SqlEngine(constant(2)) as two, SqlEngine() as none:
        sql = "SELECT __function_f(1) AS x FROM t"
        found = [engine.query(sql, t=rows(5)).to_pylist() for engine in (one, two, one)]
        assert found == [[{"x": 1}], [{"x": 2}], [{"x": 1}]]
        with pytest.raises(duckdb.Error):
            none.query(sql, t=rows(5))


def test_a_process_ends_without_a_word_of_what_was_open():
    code = (
        "import pyarrow as pa\n"
        "from streamapp_runtime.sql_engine import SqlEngine\n"
        f"SqlEngine().query({SQL!r}, t=pa.table({{'a': pa.array([[1]], pa.list_(pa.int64()))}}))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr == ""


INNER = pa.struct([("x", pa.int64()), ("s", pa.struct([("y", pa.string())]))])
STRUCTS = pa.array([None, {"x": 1, "s": {"y": "a"}}, {"x": 2, "s": None}, {"x": 3, "s": {"y": "c"}}], INNER)


@pytest.mark.parametrize(
    "column",
    [
        STRUCTS.slice(2),
        pa.StructArray.from_arrays([STRUCTS.slice(1)], ["part"]),
        pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), STRUCTS.slice(2)),
        pa.chunked_array([STRUCTS.slice(0, 1), STRUCTS.slice(3)]),
    ],
    ids=["slice", "part", "elements", "chunks"],
)
def test_structs_in_structs_may_be_slices(column):
    rows = pa.table({"a": column})
    with SqlEngine() as engine:
        assert engine.query("SELECT a FROM t", t=rows).to_pylist() == rows.to_pylist()
