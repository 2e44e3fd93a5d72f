"""The Nexmark queries in the SQL of other systems, and what all of them share: events, keys and columns of results."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.nexmark.check import KEYS, TIMES_OF_DAY, Oracle
from examples.nexmark.generate import write_files

__all__ = ["EVENT", "KEYS", "KINDS", "QUERIES", "query_text", "result_columns"]

HERE = Path(__file__).parent / "nexmark_sql"
EVENT: Mapping[str, Mapping[str, str]] = {
    "person": {
        "id": "bigint",
        **dict.fromkeys(["name", "emailAddress", "creditCard", "city", "state"], "string"),
        "dateTime": "timestamp",
        "extra": "string",
    },
    "auction": {
        "id": "bigint",
        "itemName": "string",
        "description": "string",
        "initialBid": "bigint",
        "reserve": "bigint",
        "dateTime": "timestamp",
        "expires": "timestamp",
        "seller": "bigint",
        "category": "bigint",
        "extra": "string",
    },
    "bid": {
        **dict.fromkeys(["auction", "bidder", "price"], "bigint"),
        **dict.fromkeys(["channel", "url"], "string"),
        "dateTime": "timestamp",
        "extra": "string",
    },
}
"""The fields of events with their types in Spark: an event has one of the three."""
KINDS = tuple(EVENT)
QUERIES = tuple(f"q{number:02}" for number in range(24) if number not in {6, 10})
"""Not here are q6, which the others can't express, and q10, whose results are files."""


def query_text(query: str, system: str) -> str:
    """Return a query in the SQL of a system (`flink` or `spark`).

    Raises:
        FileNotFoundError: the system can't express it.
    """
    shared = HERE / "both" / f"{query}.sql"
    return (shared if shared.exists() else HERE / system / f"{query}.sql").read_text(encoding="utf-8")


@cache
def result_columns(query: str) -> Mapping[str, str]:
    """Return the columns of a query's results with their types in DuckDB."""
    with TemporaryDirectory() as folder:
        write_files(Path(folder), [], 1)
        with Oracle(Path(folder)) as oracle:
            return oracle.columns(query) | dict.fromkeys(TIMES_OF_DAY.get(query, ()), "TIMESTAMP")
