"""Rows that are dated too far ahead of their records are bad records: a whole app is right without them."""

import json
from contextlib import closing

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.rows.bounded_event_times import BoundedEventTimes
from streamapp_runtime.rows.json_messages import JsonDecoder
from streamapp_systems.log import LogAdmin, LogProducer
from streamapp_systems.protocols import BadRecord, Message, MessageTuple, StreamDescriptor, TransactionOwner
from support import apps

SSP = Ssp("log", "in", 0)
SCHEMA = pa.schema([("n", pa.int64()), ("at", pa.int64())])
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
TIMES = st.one_of(st.integers(-5, 20), INT64)


@given(
    st.lists(st.tuples(st.none() | TIMES, TIMES, st.booleans())), st.one_of(st.integers(0, 9), st.integers(0, 1 << 80))
)
def test_rows_within_the_bound_stay_and_each_of_the_others_is_named(rows, max_ahead):
    messages = MessageTuple(
        Message(
            offset=2 * n, key=None, value=json.dumps({"n": n, "at": at}).encode() if good else b"{", timestamp=written
        )
        for n, (at, written, good) in enumerate(rows)
    )
    read = BoundedEventTimes(JsonDecoder(SCHEMA), ["at"], max_ahead).decode(messages, SSP)
    bound = min(max_ahead, (1 << 62) - 1)
    fits = [at is None or at <= min(written, 1 << 62) + bound for at, written, _ in rows]
    kept = [n for n, (_, _, good) in enumerate(rows) if good and fits[n]]
    assert read.rows["n"].to_pylist() == kept
    assert [message.offset for message in read.messages] == [2 * n for n in kept]
    assert [bad.offset for bad in read.bad] == [2 * n for n in range(len(rows)) if n not in kept]


IN = StreamDescriptor(name="in", system="log", address="in", format=StreamFormat.JSON)
HOUR = 3_600_000
ROWS = [(at, at + 5) for at in range(0, 10 * HOUR, HOUR // 2)]
AHEAD = (10_000 * HOUR, 4 * HOUR + 7)


def app(**job):
    spec = {
        "systems": {"log": {"log": {"path": "log.db"}}, "files": {"file": {"path": "."}}},
        "defaultSystem": "log",
        "streams": {
            "in": {
                "system": "log",
                "schema": "at bigint",
                "key": "at",
                "bounded": True,
                "eventTime": {"column": "at", "maxAhead": "1h"},
            },
            "out": {"system": "files", "format": "csv", "name": "out"},
        },
        "operators": [
            {"name": "one", "from": "in", "map": "1 as k"},
            {"name": "by", "from": "one", "partitionBy": {"key": "k"}},
            {"name": "hourly", "from": "by", "window": {"tumbling": "1h", "by": ["k"], "select": "count(*) as c"}},
            {"name": "sent", "from": "hourly", "sendTo": "out"},
        ],
        "job": {"commitInterval": "20ms", "watermarkInterval": "1ms", **job},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


@pytest.fixture
def written(tmp_path):
    """Two rows an hour, each written 5 ms after its time; the tenth is one of years ahead."""
    rows = [*ROWS[:9], AHEAD, *ROWS[9:]]
    with closing(LogAdmin(tmp_path / "log.db")) as admin:
        admin.create({IN: 1})
    with closing(LogProducer(tmp_path / "log.db", [IN], TransactionOwner(id="w", epoch=1))) as producer:
        for at, time in rows:
            producer.send(Ssp("log", "in", 0), json.dumps({"at": at}).encode(), timestamp=time)
        producer.commit()
    return tmp_path


def test_a_row_years_ahead_ends_the_app_with_its_place_and_what_the_bound_is(written):
    reason = r"log\.in\[0\], offset 9: `at` is \d+ms ahead .*more than spec\.streams\.in\.eventTime\.maxAhead \(1h\)"
    with pytest.raises(BadRecord, match=reason):
        apps.run(app(), written)


def test_skipped_it_is_counted_and_makes_no_row_late(written):
    summary = apps.run(app(onError="skip"), written)
    assert [count for *_, count in sorted(apps.rows(written / "out"))] == ["2"] * 10
    assert summary.not_used == {"in": {"unreadable": 1}}
    assert "ahead of the record's own time" in summary.bad_rows[0]
