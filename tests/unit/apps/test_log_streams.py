"""Streams of the embedded log as inputs and outputs: JSON messages, bounded and endless."""

import json
import time
from contextlib import closing
from dataclasses import replace
from itertools import count

import pytest

from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_runtime.execution_context import local_context
from streamapp_runtime.hosts.in_process_host import InProcessHost
from streamapp_systems.log import LogAdmin, LogConsumer, LogProducer
from streamapp_systems.protocols import BadRecord, StreamDescriptor, TransactionOwner
from support import apps

ORDERS = StreamDescriptor(name="orders", system="log", address="orders", format=StreamFormat.JSON)
SALES = StreamDescriptor(name="sales", system="log", address="sales", format=StreamFormat.JSON)
PARTITIONS = 2
DEADLINE = 120


def app(**orders):
    """Sum the orders of each item by the hour, from one stream of a log to another."""
    schema = "item string, amount int, at timestamp"
    time = {"column": "at", **orders.pop("eventTime", {})}
    spec = {
        "systems": {"log": {"log": {"path": "log.db"}}},
        "streams": {
            "orders": {"system": "log", "schema": schema, "key": "item", "eventTime": time, "partitions": 2, **orders},
            "sales": {"system": "log", "key": "item", "partitions": 3},
        },
        "operators": [
            {"name": "by-item", "from": "orders", "partitionBy": {"key": "item"}},
            {
                "name": "hourly",
                "from": "by-item",
                "window": {"tumbling": "1h", "by": ["item"], "select": "count(*) as n, sum(amount) as amount"},
            },
            {"name": "sent", "from": "hourly", "sendTo": "sales"},
        ],
        "job": {"commitInterval": "50ms", "watermarkInterval": "1ms"},
        "processors": {"count": 2},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def order(item, amount, minute):
    return json.dumps({"item": item, "amount": amount, "at": f"2024-05-01T{minute // 60:02}:{minute % 60:02}:00Z"})


def produce(folder, *records, partition=0, epoch=1):
    path = folder / "log.db"
    with closing(LogAdmin(path)) as admin:
        admin.create({ORDERS: PARTITIONS})
    write(folder, *records, partition=partition, epoch=epoch)


def write(folder, *records, partition=0, epoch=1):
    path = folder / "log.db"
    with closing(LogProducer(path, [ORDERS], TransactionOwner(id="shop", epoch=epoch))) as producer:
        for record in records:
            value = None if record is None else record.encode()
            producer.send(Ssp("log", "orders", partition), value, key=b"k", timestamp=0)
        producer.commit()


def sales(folder):
    """Read the output: the messages of each partition, and all of them as plain rows."""
    ssps = [Ssp("log", "sales", partition) for partition in range(3)]
    with closing(LogConsumer(folder / "log.db", [SALES])) as consumer:
        consumer.assign(dict.fromkeys(ssps, 0), {})
        messages = [message for fetched in consumer.poll(ssps, 10_000, 0) for message in fetched.messages]
    rows = [json.loads(message.value) for message in messages]
    return sorted((row["item"], row["window_start"][11:13], row["n"], row["amount"]) for row in rows), messages


class Stop(KeyboardInterrupt):
    """Ends an endless run from its listener."""


def run_until(folder, document, reached):
    """Run an endless app until a condition holds."""
    deadline = time.monotonic() + DEADLINE

    def listener(summary):
        if reached():
            raise Stop
        assert time.monotonic() < deadline, summary

    with pytest.raises(Stop):
        apps.run(document, folder, fresh=False, listener=listener)


def test_a_bounded_stream_of_a_log_is_read_to_its_end(tmp_path):
    produce(tmp_path, order("tea", 2, 15), order("cake", 4, 20), order("tea", 3, 70))
    produce(tmp_path, order("tea", 5, 45), partition=1, epoch=2)
    summary = apps.run(app(bounded=True), tmp_path)
    found, messages = sales(tmp_path)
    assert found == [("cake", "00", 1, 4), ("tea", "00", 2, 7), ("tea", "01", 1, 3)]
    assert {message.key for message in messages} == {b"cake", b"tea"}
    assert summary.written == {"sales": 3}


def test_a_bounded_stream_that_the_app_creates_is_empty_and_ends_at_once(tmp_path):
    summary = apps.run(app(bounded=True), tmp_path)
    assert sales(tmp_path)[0] == []
    assert [(stream.ended, stream.total) for stream in summary.streams if stream.name == "orders"] == [(PARTITIONS, 0)]
    write(tmp_path, order("tea", 2, 15))
    assert apps.run(app(bounded=True), tmp_path, fresh=False).written == summary.written
    apps.run(app(bounded=True), tmp_path, run_id="r2")
    assert sales(tmp_path)[0] == [("tea", "00", 1, 2)]


def test_a_bounded_side_input_that_the_app_creates_is_an_empty_table(tmp_path):
    produce(tmp_path, order("tea", 2, 15))
    document = app(bounded=True)
    spec = document["spec"]
    spec["streams"]["prices"] = {"system": "log", "schema": "item string, price int", "key": "item", "bounded": True}
    spec["tables"] = {"price": {"key": "item", "sideInputs": ["prices"]}}
    spec["streams"]["prices"]["broadcast"] = True
    priced = {"name": "priced", "from": "by-item", "joinTable": {"table": "price", "on": "item", "type": "left"}}
    spec["operators"][1:1] = [priced]
    spec["operators"][2]["from"] = "priced"
    apps.run(document, tmp_path)
    assert sales(tmp_path)[0] == [("tea", "00", 1, 2)]


def test_an_endless_app_goes_on_where_it_was(tmp_path):
    produce(tmp_path, order("tea", 1, 0), order("tea", 2, 61))
    produce(tmp_path, order("cake", 1, 1), order("cake", 1, 62), partition=1, epoch=2)
    first = [("cake", "00", 1, 1), ("tea", "00", 1, 1)]
    run_until(tmp_path, app(), lambda: sales(tmp_path)[0] == first)
    produce(tmp_path, order("tea", 4, 63), order("tea", 8, 121), epoch=3)
    produce(tmp_path, order("cake", 16, 122), partition=1, epoch=4)
    second = [*first, ("cake", "01", 1, 1), ("tea", "01", 2, 6)]
    run_until(tmp_path, app(), lambda: sales(tmp_path)[0] == sorted(second))


def test_windows_behind_a_shuffle_go_on_when_their_input_has_grown(tmp_path):
    """One of the new partitions is empty, and holds nobody back: it has the watermark of the one it grew from."""
    produce(tmp_path, order("tea", 1, 0), order("tea", 2, 61))
    produce(tmp_path, order("cake", 1, 1), order("cake", 1, 62), partition=1, epoch=2)
    first = [("cake", "00", 1, 1), ("tea", "00", 1, 1)]
    run_until(tmp_path, app(), lambda: sales(tmp_path)[0] == first)
    with closing(LogAdmin(tmp_path / "log.db")) as admin:
        admin.expand(ORDERS, 2 * PARTITIONS)
    write(tmp_path, order("tea", 4, 63), order("tea", 8, 121), epoch=3)
    write(tmp_path, order("cake", 16, 122), partition=1, epoch=4)
    write(tmp_path, order("pie", 32, 64), order("pie", 64, 123), partition=2, epoch=5)
    second = [*first, ("cake", "01", 1, 1), ("pie", "01", 1, 32), ("tea", "01", 2, 6)]
    run_until(tmp_path, app(), lambda: sales(tmp_path)[0] == sorted(second))


def test_a_silent_partition_holds_nobody_back_once_it_is_idle(tmp_path):
    produce(tmp_path, order("tea", 1, 0), order("tea", 2, 61))
    epochs = count(2)

    def reached():
        """Go on producing to one partition; the other stays silent for longer than this one ever does."""
        produce(tmp_path, order("tea", 2, 61), epoch=next(epochs))
        return sales(tmp_path)[0] == [("tea", "00", 1, 1)]

    run_until(tmp_path, app(eventTime={"idleTimeout": "2s"}), reached)


def test_a_silent_partition_becomes_idle_whatever_the_time_of_day_does(tmp_path):
    def going_back(_):
        context = local_context(tmp_path)
        clock, begun = context.clock, context.clock.time_of_day()
        return replace(context, clock=replace(clock, time_of_day=lambda: 2 * begun - clock.time_of_day()))

    produce(tmp_path, order("tea", 1, 0), order("tea", 2, 61))
    epochs = count(2)

    def reached():
        produce(tmp_path, order("tea", 2, 61), epoch=next(epochs))
        return sales(tmp_path)[0] == [("tea", "00", 1, 1)]

    document = app(eventTime={"idleTimeout": "2s"})
    apps.run_until(tmp_path, document, reached, make_host=lambda channel, *_: InProcessHost(channel, going_back))


def test_the_last_watermark_before_idleness_closes_windows_behind_a_shuffle_however_rarely_is_committed(tmp_path):
    """All of the input is idle before its watermark is announced, which is with a commit."""
    produce(tmp_path, order("tea", 1, 0), order("tea", 2, 61))
    produce(tmp_path, order("cake", 1, 1), order("cake", 1, 62), partition=1, epoch=2)
    document = app(eventTime={"idleTimeout": "10ms"})
    document["spec"]["job"] = {"commitInterval": "1s", "watermarkInterval": "1s"}
    first = [("cake", "00", 1, 1), ("tea", "00", 1, 1)]
    run_until(tmp_path, document, lambda: sales(tmp_path)[0] == first)


def test_the_summary_names_what_holds_a_watermark_back_and_since_when(tmp_path):
    produce(tmp_path, order("tea", 1, 0), order("tea", 2, 61))
    began, seen = time.time_ns() // 1_000_000, []

    def held():
        streams = {stream.name: stream.held_back for stream in seen[-1].streams}
        return (streams["orders"], streams["by-item"]) if all(streams.values()) else None

    def by_the_silent_one_for_long():
        if held() is None:
            return False
        orders, by_item = held()
        long_ago = time.time_ns() // 1_000_000 - 500
        return (orders.partition, by_item.producer) == (1, "Partition 1") and orders.since < long_ago

    apps.run_until(tmp_path, app(), by_the_silent_one_for_long, told=seen.append)
    silent, _ = held()
    assert (silent.task, silent.producer, silent.watermark) == ("Partition 1", None, None)
    assert began <= silent.since
    assert seen[-1].held_back_by == {"by-item": "orders", "hourly": "by-item", "sent": "by-item"}


def test_messages_that_are_no_rows_end_the_app_or_are_skipped_and_told(tmp_path):
    produce(tmp_path, order("tea", 2, 15), '{"item": 7', None, '{"item": "tea", "amount": "many"}', order("tea", 3, 16))
    with pytest.raises(BadRecord, match=r"log\.orders\[0\], offset 1: .*is no JSON"):
        apps.run(app(bounded=True), tmp_path)
    document = app(bounded=True)
    document["spec"]["job"]["onError"] = "skip"
    summary = apps.run(document, tmp_path, run_id="r2")
    assert sales(tmp_path)[0] == [("tea", "00", 2, 5)]
    assert summary.not_used == {"orders": {"unreadable": 2, "without value": 1}}
    assert any("offset 3" in row and "'many' is no int" in row for row in summary.bad_rows)


def test_an_object_over_several_lines_is_one_row(tmp_path):
    produce(tmp_path, json.dumps(json.loads(order("tea", 2, 15)), indent=2))
    apps.run(app(bounded=True), tmp_path)
    assert sales(tmp_path)[0] == [("tea", "00", 1, 2)]


def test_without_an_event_time_column_a_row_has_the_time_of_its_record(tmp_path):
    produce(tmp_path, order("tea", 2, 15))
    document = app(bounded=True)
    del document["spec"]["streams"]["orders"]["eventTime"]
    apps.run(document, tmp_path)
    (row,) = [json.loads(message.value) for message in sales(tmp_path)[1]]
    assert row["window_start"] == "1970-01-01T00:00:00Z"


def test_one_app_reads_what_another_wrote(tmp_path):
    produce(tmp_path, order("tea", 2, 15), order("tea", 3, 16), order("cake", 9, 16))
    apps.run(app(bounded=True), tmp_path)
    second = app()
    second["spec"]["streams"] = {
        "sales": {"system": "log", "schema": "item string, amount bigint", "key": "item", "bounded": True},
        "large": {"system": "log", "key": "item", "name": "large-sales"},
    }
    second["spec"]["operators"] = [
        {"name": "big", "from": "sales", "filter": "amount > 6"},
        {"name": "sent", "from": "big", "sendTo": "large"},
    ]
    summary = apps.run(second, tmp_path, run_id="r2")
    assert summary.written == {"large": 1}
