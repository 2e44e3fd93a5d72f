"""The checker of the soak on the cluster: it accepts what is right, and names every way of being wrong."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.expected_outputs import Output, differences, disorder, expected
from chaos.shop_records import SESSION, TICK, TUMBLING, WITHIN, Record, partition_of
from support import hashed_keys

APART = 5 * TICK
LAST = 400 * APART


def records(seed, count=400, keys=3):
    random = Random(seed)
    made = [
        Record(
            key=random.randrange(keys), number=number, value=random.randrange(9), at=number * APART, place=(0, number)
        )
        for number in range(1, count + 1)
        if random.random() < 0.2
    ]
    paid = [record for record in made if random.random() < 0.3]
    return [record for record in made if record not in paid], paid


def outputs_of(wanted):
    """Lay out an expectation as topics, results in an order of their own."""
    rows = [
        *(
            ("out", {"k": key, "n": n, "v": v, "name": f"name {key}"})
            for key, found in wanted.copies.items()
            for n, v in found
        ),
        *(("counts", {"k": key, "c": c, "s": s}) for key, found in wanted.counts.items() for c, s in found),
        *(("windows", row) for row in map(window_row, wanted.results["windows"])),
        *(("sessions", row) for row in map(session_row, wanted.results["sessions"])),
        *(("pairs", {"k": key, "n": n, "m": m}) for key, n, m in wanted.results["pairs"]),
    ]
    return [Output(stream, (row["k"] % 2, offset), row) for offset, (stream, row) in enumerate(rows)]


def window_row(result):
    key, start, *_ = result
    return summed(result[2:]) | {"k": key, "window_start": time(start), "window_end": time(start + TUMBLING)}


def session_row(result):
    key, start, end, *_ = result
    return summed(result[3:]) | {"k": key, "window_start": time(start), "window_end": time(end)}


def summed(values):
    return dict(zip(("c", "s", "first", "last"), values, strict=True))


def time(milliseconds):
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()


@given(st.integers(0, 1000))
def test_exact_outputs_have_no_differences(seed):
    wanted = expected(*records(seed), LAST)
    assert differences(wanted, outputs_of(wanted)) == []


@given(st.integers(0, 1000), st.data())
def test_what_is_lost_or_doubled_is_named(seed, data):
    wanted = expected(*records(seed), LAST)
    outputs = outputs_of(wanted)
    at = data.draw(st.integers(0, len(outputs) - 1))
    victim = outputs[at]
    assert differences(wanted, [*outputs[: at + 1], *outputs[at:]])
    kept_to_itself = victim.stream == "counts" and victim.row["c"] < len(wanted.counts[victim.row["k"]])
    assert bool(differences(wanted, outputs[:at] + outputs[at + 1 :])) is not kept_to_itself


@given(st.integers(0, 1000), st.data())
def test_wrong_values_and_places_are_named(seed, data):
    wanted = expected(*records(seed), LAST)
    outputs = outputs_of(wanted)
    at = data.draw(st.integers(0, len(outputs) - 1))
    victim = outputs[at]
    column = data.draw(st.sampled_from([name for name, value in victim.row.items() if isinstance(value, int)]))
    wrong = replace(victim, row=victim.row | {column: victim.row[column] + 1})
    assert differences(wanted, [*outputs[:at], wrong, *outputs[at + 1 :]])
    if len([other for other in outputs if (other.stream, other.row["k"]) == (victim.stream, victim.row["k"])]) > 1:
        strayed = replace(victim, place=(victim.place[0] + 1, victim.place[1]))
        assert "in more than one partition" in differences(wanted, [*outputs[:at], strayed, *outputs[at + 1 :]])[0]


@pytest.mark.parametrize("stream", ["out", "counts"])
def test_rows_of_a_key_that_change_places_are_named(stream):
    wanted = expected(*records(1), LAST)
    outputs = outputs_of(wanted)
    first, second = [at for at, output in enumerate(outputs) if output.stream == stream and output.row["k"] == 0][:2]
    outputs[first], outputs[second] = outputs[second], outputs[first]
    (told,) = differences(wanted, outputs)
    assert "out of order" in told


@given(st.integers(0, 1000))
def test_results_are_those_of_all_rows_at_once(seed):
    orders, payments = records(seed)
    results = expected(orders, payments, LAST).results
    for key, start, count, total, first, last in results["windows"]:
        found = [order for order in orders if order.key == key and start <= order.at < start + TUMBLING]
        assert (count, total) == (len(found), sum(order.value for order in found))
        assert (first, last) == (found[0].number, found[-1].number)
    for key, start, end, count, *_ in results["sessions"]:
        own = [order.at for order in orders if order.key == key]
        inside = [at for at in own if start <= at < end]
        assert (len(inside), inside[0], inside[-1] + SESSION) == (count, start, end)
        assert not [at for at in own if at not in inside and start - SESSION < at < end]
    pairs = [
        (order.key, order.number, payment.number)
        for order in orders
        for payment in payments
        if order.key == payment.key and abs(order.at - payment.at) <= WITHIN
    ]
    assert Counter(pairs) == Counter(pair for pair in results["pairs"] if None not in pair)
    met = {pair[1] for pair in pairs}, {pair[2] for pair in pairs}
    alone = {
        (record.key, *((record.number, None) if side == 0 else (None, record.number)))
        for side, found in enumerate((orders, payments))
        for record in found
        if record.number not in met[side] and record.at + WITHIN < LAST
    }
    assert {pair for pair in results["pairs"] if None in pair} == alone


def test_results_that_the_watermark_has_not_completed_are_not_expected():
    orders, payments = records(1)
    some, all_ = expected(orders, payments, LAST // 2).results, expected(orders, payments, 10 * LAST).results
    for stream, found in some.items():
        assert found < all_[stream]
    assert sum(row[2] for row in all_["windows"]) == sum(row[3] for row in all_["sessions"]) == len(orders)


def test_records_that_the_input_has_twice_or_in_disorder_are_named():
    orders, _ = records(1)
    assert disorder(orders) == []
    assert "doubled" in disorder([*orders, replace(orders[0], place=(1, 0))])[0]
    assert "comes behind" in disorder([*orders[1:], replace(orders[0], place=(0, 1000))])[0]


def test_keys_are_put_where_other_producers_put_them():
    keys = range(300)
    assert all(partition_of(key, 12) == hashed_keys.partition_of(str(key), 12) for key in keys)
