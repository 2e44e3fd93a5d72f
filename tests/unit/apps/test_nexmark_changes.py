"""The Nexmark queries whose results are corrected: every value ever written was right for some prefix of the events.

The events have one partition, so the prefixes of a key are those of its bids in the order of their arrival.
"""

from datetime import UTC, datetime

import duckdb
import pytest
import yaml
from examples.nexmark.check import HERE, KEYS
from examples.nexmark.generate import make, write_files

from support import apps

EVENTS, RATE, DISORDER = 10_000, 10_000, 4000
START = datetime(2024, 2, 29, 23, 59, 59, 500_000, tzinfo=UTC)

BIDS = """
CREATE TABLE bid AS SELECT place, unnest(bid) FROM (
  SELECT row_number() OVER () AS place, bid
  FROM read_json('{events}', format = 'newline_delimited', columns = {{
    bid: 'STRUCT(auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, "dateTime" TIMESTAMP,
                 extra VARCHAR)'
  }})
) WHERE bid IS NOT NULL
"""
RANKS = ("true", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")


def statistics(*groups, first=(), distinct=()):
    """Write what an aggregate over the days of bids has after each of them."""
    window = f"OVER (PARTITION BY {', '.join(groups)} ORDER BY place ROWS UNBOUNDED PRECEDING)"
    counts = [f"count(*) FILTER ({rank}) {window}" for rank in RANKS]
    counts += [f"count(DISTINCT {name}) FILTER ({rank}) {window}" for name in distinct for rank in RANKS]
    some = [f"{call} {window}" for call in first]
    days = "SELECT *, strftime(\"dateTime\", '%Y-%m-%d') AS day, strftime(\"dateTime\", '%H:%M') AS minute FROM bid"
    return lambda *more: (
        f"SELECT {', '.join([*groups, *some, *counts, *(f'{call} {window}' for call in more)])} FROM ({days})"
    )


def better(order, earlier):
    """Write how many bids of the same key come before `b` in an order, of all or of those that had come before it."""
    return f"SELECT count(*) FROM bid AS o WHERE {order}{' AND o.place < b.place' if earlier else ''}"


NEWER = """o.bidder = b.bidder AND o.auction = b.auction AND (
  o."dateTime" > b."dateTime" OR o."dateTime" = b."dateTime" AND (
    o.price > b.price OR o.price = b.price AND o.extra < b.extra))"""
HIGHER = """o.auction = b.auction AND (o.price > b.price OR o.price = b.price AND (
  o."dateTime" < b."dateTime" OR o."dateTime" = b."dateTime" AND (
    o.bidder < b.bidder OR o.bidder = b.bidder AND o.extra < b.extra)))"""
BID = 'auction, bidder, price, channel, url, "dateTime", extra'
DISTINCT = ("bidder", "auction")

EXPLAINED = {
    "q15": statistics("day", distinct=DISTINCT)(),
    "q16": statistics("channel", "day", first=["max(minute)"], distinct=DISTINCT)(),
    "q17": statistics("auction", "day")("min(price)", "max(price)", "avg(price)", "sum(price)"),
    "q18": f"SELECT {BID} FROM bid AS b WHERE ({better(NEWER, earlier=True)}) = 0",
    # A bid comes in at one place, and those that come later move it on, one by one.
    "q19": f"SELECT {BID}, unnest(range(1 + ({better(HIGHER, earlier=True)}), 2 + ({better(HIGHER, earlier=False)}))) "
    "FROM bid AS b",
}
"""All values that a query may have at some time."""


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    """Write events into a folder, and their bids into a database in the order of their arrival."""
    folder = tmp_path_factory.mktemp("nexmark")
    write_files(folder / "data", make(events=EVENTS, seed=4, rate=RATE, start=START, disorder=DISORDER), 1)
    with duckdb.connect(config={"threads": 1}) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.execute(BIDS.format(events=folder / "data" / "events" / "0.jsonl"))
        yield folder, database


@pytest.mark.parametrize("query", EXPLAINED)
def test_every_value_was_right_for_some_prefix(query, house):
    folder, database = house
    app = yaml.safe_load((HERE / "queries" / f"{query}.yaml").read_text())
    app["spec"]["job"] = {"commitInterval": "10ms", "watermarkInterval": "1ms"}
    (folder / query).mkdir()
    apps.run(app, folder / query)
    parts = [str(part) for part in apps.parts(folder / "out" / query)]
    names = [name for (name, *_) in database.execute(f"DESCRIBE FROM read_json({parts})").fetchall()]
    database.execute(f"CREATE OR REPLACE TABLE explained AS {EXPLAINED[query]}")
    types = [str(kind) for _, kind, *_ in database.execute("DESCRIBE explained").fetchall()]
    columns = dict(zip(names, types, strict=True))
    database.execute(
        f"CREATE OR REPLACE TABLE written AS FROM read_json({parts}, format = 'newline_delimited', columns = {columns})"
    )
    assert database.execute("FROM written EXCEPT FROM explained LIMIT 5").fetchall() == []
    (values,) = database.execute("SELECT count(*) FROM written").fetchone()
    (last,) = database.execute(f"SELECT count(DISTINCT ({', '.join(KEYS[query])})) FROM written").fetchone()
    assert values > last
