"""The flights example's topics: filled from its files, and its results compared with DuckDB's."""

import json
from collections import Counter
from datetime import datetime

import duckdb
from confluent_kafka.admin import AdminClient
from examples.flights import load as loading

from support import flights
from support.kafka import Topics, cluster_at

DATA = flights.EXAMPLE / "data"
OBSERVATIONS = """
SELECT origin, to_json(weather)::VARCHAR
FROM read_csv('{data}/weather/*.csv', nullstr = 'NA', types = {{'observed': 'VARCHAR'}}) AS weather
ORDER BY observed, origin
"""


def load(bootstrap_servers, prefix=""):
    """Fill the topics that the example reads; their names begin with the prefix."""
    loading.load(bootstrap_servers, DATA, prefix)


def load_weather(bootstrap_servers):
    """Fill the topic `observations`, by airport as the flights are."""
    loading.recreate(AdminClient({"bootstrap.servers": bootstrap_servers}), "observations")
    with duckdb.connect() as database:
        records = database.execute(OBSERVATIONS.format(data=DATA)).fetchall()
    loading.write(bootstrap_servers, "observations", records)


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


def check_weather(bootstrap_servers):
    """Compare every late flight with the weather it met, those without among them."""
    with duckdb.connect() as database:
        database.execute(flights.LATE.format(data=DATA))
        expected = database.execute(flights.IN_WEATHER.format(data=DATA)).fetchall()
    assert len(expected) > 25_000
    assert Counter(map(_late, _read(bootstrap_servers, "late-in-weather"))) == Counter(expected)


def _read(bootstrap_servers, topic):
    """Read the committed rows of a topic, each partition's in order."""
    topics = Topics(cluster_at(bootstrap_servers), "flights")
    values = topics.values(topics.named(topic)).values()
    return [json.loads(value) for of_partition in values for value in of_partition]


def _window(row):
    """Give a row of `hourly` as DuckDB does."""
    carrier, start, end, *rest = row.values()
    return carrier, *map(_time, (start, end)), *rest


def _late(row):
    """Give a row of `late-in-weather` as DuckDB does."""
    return tuple(_time(row[name]) if name in ("scheduled", "observed") else row[name] for name in flights.LATE_COLUMNS)


def _time(text):
    return None if text is None else datetime.fromisoformat(text).replace(tzinfo=None)
