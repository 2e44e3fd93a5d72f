"""The flights example's topics: filled from its files, and its results compared with DuckDB's."""

import json
from datetime import datetime

import duckdb
from examples.flights import load as loading

from support import flights
from support.kafka import Topics, cluster_at

DATA = flights.EXAMPLE / "data"


def load(bootstrap_servers, prefix=""):
    """Fill the topics that the example reads; their names begin with the prefix."""
    loading.load(bootstrap_servers, DATA, prefix)


def check(bootstrap_servers, prefix=""):
    """Compare every window and the last totals of every carrier; tell how many windows there are."""
    hourly, totals = (_read(bootstrap_servers, prefix + name) for name in ("hourly", "totals"))
    with duckdb.connect() as database:
        database.execute(flights.INPUT.format(data=DATA))
        expected = sorted(database.execute(flights.HOURLY).fetchall())
        last = {row[0]: row for row in database.execute(flights.TOTALS).fetchall()}
    found = {(row["carrier"],): tuple(row.values()) for row in totals}
    flights.compare(sorted(map(_window, hourly)), expected, last, found)
    assert len(expected) > 50_000
    return len(expected)


def _read(bootstrap_servers, topic):
    """Read the committed rows of a topic, each partition's in order."""
    topics = Topics(cluster_at(bootstrap_servers), "flights")
    values = topics.values(topics.named(topic)).values()
    return [json.loads(value) for of_partition in values for value in of_partition]


def _window(row):
    """Give a row of `hourly` as DuckDB does."""
    carrier, start, end, *rest = row.values()
    return carrier, *(datetime.fromisoformat(time).replace(tzinfo=None) for time in (start, end)), *rest
