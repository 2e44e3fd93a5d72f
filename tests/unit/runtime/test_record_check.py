"""Rows that an output would refuse: they end the app with a reason, or are left out and counted, and no others."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.schema import EVENT_TIME_COLUMN
from streamapp_core.spec.job import OnError
from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.rows.bad_rows import BadRows
from streamapp_runtime.writing.output_writer import OutputWriter
from streamapp_runtime.writing.record_check import TIME, RecordCheck
from streamapp_systems.protocols import RecordLimits
from support.plan_documents import accepted, document

HOUR = 3_600_000
NOW = 1_700_000_000_000
OPERATORS = [{"name": "sent", "from": "in", "sendTo": "out"}]


def output(**out):
    app = document(OPERATORS, streams={"in": "k string, n bigint", "out": {"system": "log", "name": "topic", **out}})
    return accepted(app, {"in": 1, "out": 1}).streams["out"]


BY_EVENT_TIME, BY_WRITING = output(key="k"), output(key="k", recordTime="processingTime")


def rows(times, keys=None):
    keys = [f"k{n}" for n in range(len(times))] if keys is None else keys
    columns = {"k": pa.array(keys, pa.string()), "n": range(len(times))}
    return pa.table({**columns, EVENT_TIME_COLUMN: pa.array(times, pa.int64())})


def check_of(limits, on_error=OnError.SKIP, stream=BY_EVENT_TIME):
    bad_rows = BadRows()
    bad_rows.place = "kafka.in[0], offsets 1 to 9"
    return RecordCheck(stream, limits, on_error=on_error, bad_rows=bad_rows, time_of_day=lambda: NOW), bad_rows


LIMIT = st.none() | st.integers(0, 10 * HOUR)
TIMES = st.lists(st.none() | st.integers(NOW - 20 * HOUR, NOW + 20 * HOUR) | st.integers(-(1 << 60), 1 << 60))


@given(TIMES, LIMIT, LIMIT)
def test_the_rows_outside_of_the_limits_or_near_to_them_are_left_out_and_counted(times, before, after):
    check, bad_rows = check_of(RecordLimits(before=before, after=after))
    earliest = -(1 << 62) if before is None else NOW - before + min(before // 10, 60_000)
    latest = (1 << 62) if after is None else NOW + after - min(after // 10, 60_000)
    kept = [n for n, time in enumerate(times) if time is None or earliest <= max(time, 1) <= latest]
    assert check.accept(rows(times)).column("n").to_pylist() == kept
    assert check.refused[TIME] == len(times) - len(kept)
    assert bool(bad_rows.descriptions) == (len(kept) < len(times))


@given(TIMES)
def test_records_with_the_time_of_writing_are_never_refused_for_their_rows_times(times):
    check, _ = check_of(RecordLimits(before=0, after=0), OnError.FAIL, BY_WRITING)
    assert len(check.accept(rows(times))) == len(times)


@given(st.lists(st.none() | st.text(max_size=2)), TIMES)
def test_a_compacted_topic_gets_no_row_without_a_key(keys, times):
    count = min(len(keys), len(times))
    check, _ = check_of(RecordLimits(after=HOUR, needs_key=True))
    found = check.accept(rows(times[:count], keys[:count]))
    dated = zip(keys, times, range(count), strict=False)
    assert found.column("n").to_pylist() == [n for k, t, n in dated if k is not None and (t or 0) <= NOW + HOUR]


REFUSED = {
    "ahead": (
        RecordLimits(after=HOUR),
        rows([NOW, NOW + 26 * HOUR]),
        r"kafka\.in\[0\], offsets 1 to 9: out: a row with the event time 2023-11-16T00:13:20\+00:00 is 1 day, 2:00:00 "
        r"ahead of the time of day; topic topic takes records up to 1h ahead \(message\.timestamp\.after\.max\.ms\)\. "
        r"Correct the row, raise that .*spec\.streams\.out\.recordTime: processingTime\), or set spec\.job\.onE",
    ),
    "behind": (
        RecordLimits(before=HOUR),
        rows([NOW - 2 * HOUR]),
        r"2:00:00 behind the time of day; topic topic takes records up to 1h behind \(message\.timestamp\.before\.max",
    ),
    "beyond any calendar": (RecordLimits(after=HOUR), rows([1 << 60]), r"the event time 1152921504606846976 ms is"),
    "without a key": (
        RecordLimits(needs_key=True),
        rows([NOW], [None]),
        r"out: a row without `k` has no key, and topic topic is compacted: .*or set spec\.job\.onError to skip",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_the_first_one_ends_an_app_that_does_not_skip_errors_and_is_described(what):
    limits, refused, reason = REFUSED[what]
    check, _ = check_of(limits, OnError.FAIL)
    with pytest.raises(RuntimeFailure, match=reason):
        check.accept(refused)


def test_an_output_without_a_key_is_no_compacted_topic_whatever_is_skipped():
    check, _ = check_of(RecordLimits(needs_key=True), stream=output())
    with pytest.raises(RuntimeFailure, match=r"takes no record without a key: declare spec\.streams\.out\.key"):
        check.accept(rows([NOW]))


@pytest.mark.parametrize(("stream", "expected"), [(BY_EVENT_TIME, [7, NOW]), (BY_WRITING, None)])
def test_records_have_the_time_that_the_output_says(stream, expected):
    sent = []

    class Log:
        def send_all(self, ssp, records):
            sent.append(records)

    writer = OutputWriter(Log(), lambda: NOW)
    writer.add(stream, rows([7, None]), 0)
    writer.flush()
    (records,) = sent
    assert expected == (None if records.timestamps is None else records.timestamps.tolist())
    assert [json.loads(value)["n"] for value in records.values.to_pylist()] == [0, 1]
