"""The contract of extractors: their arguments and results."""

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from streamapp_core.spec.job import OnError
from streamapp_runtime.functions.extractor import Extractor
from streamapp_runtime.functions.guarded_call import GuardedCall
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import add_event_time
from streamapp_runtime.rows.tombstones import with_deleted_column
from streamapp_runtime.tables.table_changes import FunctionChangeExtractor
from unit.docs import pages

COLUMNS = pa.schema([("n", pa.int64())])


def batch(*deleted):
    rows = pa.table({"k": [f"k{number}" for number in range(len(deleted))], "n": list(range(len(deleted)))})
    return with_deleted_column(add_event_time(rows, ()), deleted)


def extractor(function):
    return Extractor("m:f", function, pa.string(), COLUMNS)


def renamed(rows):
    return rows.select(["k", "n"]).rename_columns(["__key", "n"])


def test_rows_without_word_of_deletions_have_those_of_the_batch():
    made = extractor(renamed)(batch(False, True))
    assert made.to_pylist() == [
        {"__key": "k0", "n": 0, "__deleted": False},
        {"__key": "k1", "n": 1, "__deleted": True},
    ]


def test_it_is_always_told_what_deletes():
    seen = []
    extractor(lambda rows: seen.append(rows["__deleted"].to_pylist()))(batch(False, False))
    assert seen == [[False, False]]


def test_it_may_say_itself_what_deletes():
    def odd(rows):
        return renamed(rows).append_column("__deleted", pc.greater(rows["n"], 0))

    assert extractor(odd)(batch(False, False)).column("__deleted").to_pylist() == [False, True]


def test_fewer_rows_are_fine_where_nothing_is_deleted():
    first = extractor(lambda rows: renamed(rows).slice(0, 1))
    assert first(batch(False, False)).num_rows == 1
    with pytest.raises(
        UserFunctionFailed, match="extractor m:f returns 1 rows for 2 of which some delete: keep the col"
    ):
        first(batch(False, True))


@pytest.mark.parametrize(
    "function, told",
    [
        (lambda rows: rows, r"returns the columns \(k, n\), not the key and those of its `schema` \(__key, n\)"),
        (lambda rows: 7, "returns a int, not a pyarrow Table"),
        (
            lambda rows: renamed(rows).set_column(0, "__key", rows["n"]),
            "returns column __key as int64, its `schema`",
        ),
        (lambda rows: rows["x"], r"extractor m:f: KeyError: .* \(test_extractor.py, line \d+\)"),
    ],
)
def test_a_broken_contract_is_told(function, told):
    with pytest.raises(UserFunctionFailed, match=told):
        extractor(function)(batch(False))


def test_rows_it_fails_on_are_counted_and_the_rest_fills_the_table():
    def picky(rows):
        if 1 in rows["n"].to_pylist():
            raise ValueError("one is too many")
        return renamed(rows)

    bad_rows = BadRows()
    bad_rows.place = "log.s[0], offsets 0 to 2"
    made = extractor(picky)
    filled = FunctionChangeExtractor(GuardedCall("table `t`", made, OnError.SKIP, bad_rows), made.schema)(
        batch(False, False, True)
    )
    assert (filled.keys.to_pylist(), filled.deleted.to_pylist(), filled.failed) == (["k0", "k2"], [False, True], 1)
    assert bad_rows.descriptions[0].startswith(
        "log.s[0], offsets 0 to 2: table `t`: extractor m:f: ValueError: one is too many"
    )


def test_the_example_of_the_page_keeps_the_contract():
    (example,) = [f.text for f in pages.fences(pages.read("functions.md")) if f.name == "extractors.py"]
    names = {}
    exec(example, names)
    rows = pa.table({"airport": ["jfk", "lga"], "temp": [32.0, None], "wind": [30.0, None]})
    columns = pa.schema([("celsius", pa.float64()), ("windy", pa.bool_())])
    made = Extractor("m:f", names["by_airport"], pa.string(), columns)(
        with_deleted_column(add_event_time(rows, ()), [False, True])
    )
    assert made.to_pylist() == [
        {"__key": "JFK", "celsius": 0.0, "windy": True, "__deleted": False},
        {"__key": "LGA", "celsius": None, "windy": None, "__deleted": True},
    ]
