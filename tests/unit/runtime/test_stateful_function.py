"""Functions with state: their values, their timers, and failed calls."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from streamapp_core.control.messages import END_OF_TIME
from streamapp_core.spec.job import OnError
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.functions.keyed_state import KeyedState
from streamapp_runtime.functions.stateful_function import StatefulFunction
from streamapp_runtime.functions.user_errors import UserFunctionFailed
from streamapp_runtime.operators.ordered_process import OrderedProcess
from streamapp_runtime.operators.stateful_process import StatefulProcess
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.rows.event_time_column import add_event_time
from streamapp_runtime.state.memory_store import MemoryEnvironment

ROWS = pa.schema([("k", pa.string()), ("n", pa.int64()), ("at", pa.int64())])
RESULTS = pa.schema([("k", pa.string()), ("total", pa.int64())])


def totals(rows, state):
    """Return the total of its key so far with every row."""
    given = []
    for key, number in zip(rows["k"].to_pylist(), rows["n"].to_pylist(), strict=True):
        if number < 0:
            raise ValueError(number)
        total = (state.get(key) or 0) + number
        state.put(key, total)
        given.append({"k": key, "total": total})
    return pa.Table.from_pylist(given)


class Silence:
    """Emits the total of a key that has been silent for ten milliseconds, and deletes it."""

    def process(self, rows, state):
        for row in rows.to_pylist():
            before = state.get(row["k"]) or {"total": 0, "until": None}
            if before["until"] is not None:
                state.delete_timer(row["k"], before["until"])
            until = row["at"] + 10
            state.set_timer(row["k"], until)
            state.put(row["k"], {"total": before["total"] + row["n"], "until": until})

    def on_timers(self, timers, state):
        given = [{"k": key, "total": state.get(key)["total"]} for key in timers["k"].to_pylist()]
        for key in timers["k"].to_pylist():
            state.delete(key)
        return pa.Table.from_pylist(given)


class Clock:
    """Sets its timer again, five milliseconds later."""

    def process(self, rows, state):
        for row in rows.to_pylist():
            state.set_timer(row["k"], row["at"])

    def on_timers(self, timers, state):
        times = timers["__event_time"].to_pylist()
        for key, time in zip(timers["k"].to_pylist(), times, strict=True):
            state.set_timer(key, time + 5)
        return pa.table({"k": timers["k"], "total": timers["__event_time"]})


def operator(made, environment, on_error=OnError.FAIL):
    state = KeyedState(environment.store("p"))
    function = StatefulFunction("mine:made", made, RESULTS, [ROWS.field("k")], state)
    return StatefulProcess("p", function, on_error, BadRows())


def batch(*rows):
    return add_event_time(
        pa.table(dict(zip(ROWS.names, map(list, zip(*rows, strict=True)), strict=True)), ROWS), ["at"]
    )


def rows(table):
    return [] if table is None else [tuple(row.values()) for row in table.to_pylist()]


@pytest.fixture
def environment():
    return MemoryEnvironment()


def test_values_last_between_calls_and_over_restarts(environment):
    assert rows(operator(totals, environment).process(batch(("a", 1, 0), ("b", 5, 1), ("a", 2, 2)))) == [
        ("a", 1, 0),
        ("b", 5, 1),
        ("a", 3, 2),
    ]
    assert rows(operator(totals, environment).process(batch(("a", 4, 3)))) == [("a", 7, 3)]


def test_timers_fire_once_when_the_watermark_is_there_over_restarts(environment):
    silence = operator(Silence, environment)
    assert silence.process(batch(("a", 1, 0), ("b", 1, 3), ("a", 2, 5))) is None
    assert silence.advance_watermark(12) is None
    again = operator(Silence, environment)
    assert rows(again.advance_watermark(13)) == [("b", 1, 13)]
    assert rows(again.advance_watermark(15)) == [("a", 3, 15)]
    assert again.advance_watermark(100) is None
    assert list(environment.store("p").scan()) == []


def test_at_the_end_all_timers_fire_once(environment):
    silence = operator(Silence, environment)
    silence.process(batch(("a", 1, 0), ("b", 2, 10**12)))
    assert rows(silence.advance_watermark(END_OF_TIME)) == [("a", 1, 10), ("b", 2, 10**12 + 10)]


def test_a_timer_set_by_a_timer_fires_in_its_turn_and_not_after_the_end(environment):
    clock = operator(Clock, environment)
    clock.process(batch(("a", 0, 0)))
    assert rows(clock.advance_watermark(12)) == [("a", 0, 0), ("a", 5, 5), ("a", 10, 10)]
    assert rows(clock.advance_watermark(END_OF_TIME)) == [("a", 15, 15)]


def test_a_call_that_fails_changes_nothing_and_its_good_rows_are_found(environment):
    skipping = operator(totals, environment, OnError.SKIP)
    given = skipping.process(batch(("a", 1, 0), ("a", -1, 1), ("a", 2, 2), ("b", 3, 3)))
    assert rows(given) == [("a", 1, 0), ("a", 3, 2), ("b", 3, 3)]
    assert skipping.counters() == {"failed": 1}


def test_a_function_can_only_ask_for_the_keys_of_its_rows(environment):
    def curious(rows, state):
        state.get("z")

    with pytest.raises(RuntimeFailure, match="asks for key 'z', which is not among those of its rows"):
        operator(curious, environment).process(batch(("a", 1, 0)))


def test_null_is_a_key(environment):
    nothing = operator(totals, environment)
    nothing.process(batch((None, 1, 0)))
    assert rows(nothing.process(batch((None, 2, 1)))) == [(None, 3, 1)]


def test_what_can_not_be_remembered_is_an_error_with_the_key(environment):
    def odd(rows, state):
        state.put("a", object())

    with pytest.raises(RuntimeFailure, match="can't store this value of key 'a'"):
        operator(odd, environment).process(batch(("a", 1, 0)))


def test_timers_without_a_method_for_them_are_an_error(environment):
    def hopeful(rows, state):
        state.set_timer("a", 1)

    hoping = operator(hopeful, environment)
    hoping.process(batch(("a", 1, 0)))
    with pytest.raises(RuntimeFailure, match="has no method `on_timers`"):
        hoping.advance_watermark(1)


def test_a_class_that_can_not_be_made_is_an_error(environment):
    class Broken:
        def __init__(self):
            raise OSError("no model file")

    with pytest.raises(UserFunctionFailed, match="class mine:made can't be instantiated: OSError: no model file"):
        operator(Broken, environment)


@pytest.mark.parametrize(
    "kind, batches, key",
    [
        (pa.float64(), [[0.0, 1.5], [-0.0], [0.0]], 0.0),
        (pa.float64(), [[float("nan")], [float("nan"), 1.5], [float("nan")]], math.nan),
        (pa.float32(), [[-0.0, 0.0], [1.5], [0.0]], 0.0),
        (pa.decimal128(8, 2), [[Decimal("1.50")], [Decimal("1.50"), Decimal(2)], [Decimal("1.50")]], Decimal("1.5")),
        (pa.date32(), [[date(2024, 2, 29)], [date(2024, 2, 29)] * 2], date(2024, 2, 29)),
        (pa.timestamp("us", "UTC"), [[datetime(2024, 2, 29, tzinfo=UTC)]] * 3, datetime(2024, 2, 29, tzinfo=UTC)),
        (pa.bool_(), [[True, False], [True], [True]], True),
        (pa.binary(), [[b"a", b"b"], [b"a"], [b"a"]], b"a"),
        (pa.string(), [[None, "a"], [None], [None]], None),
    ],
    ids=["zeros", "not-a-number", "zeros of floats", "decimals", "dates", "timestamps", "booleans", "binary", "null"],
)
@pytest.mark.parametrize("order", ["eventTime", "arrival"])
def test_a_key_of_any_type_has_one_value_and_its_timers(kind, batches, key, order):
    results = pa.schema([("k", kind), ("total", pa.int64())])
    field = pa.field("k", kind)
    store = MemoryEnvironment().store("s")
    state = KeyedState(store)
    function = StatefulFunction("totals", Silence, results, [field], state)
    if order == "arrival":
        operator = StatefulProcess("totals", function, OnError.FAIL, BadRows())
    else:
        operator = OrderedProcess("totals", function, store, OnError.FAIL, BadRows())
    for keys in batches:
        columns = [pa.array(keys, kind), pa.array([1] * len(keys)), pa.array([0] * len(keys))]
        rows = pa.table(columns, names=["k", "n", "at"])
        operator.process(add_event_time(rows, ["at"]))
    found = operator.advance_watermark(END_OF_TIME)
    totals = [row["total"] for row in found.to_pylist() if row["k"] == key or row["k"] is key or row["k"] != row["k"]]
    assert totals == [3]
