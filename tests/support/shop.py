"""An app with a table that the graph fills, a function, and JSON lines as results; and what it must find.

Prices and orders go through one intermediate stream, and all prices are older than the orders: no hour is emitted
before the task that reads the prices has said that they ended, and they lie before that word. So every hour finds its
price, in whatever turns the tasks go.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from support import apps

FIRST = datetime(2024, 5, 2, tzinfo=UTC)
ITEMS = 150
FUNCTIONS = '''
import pyarrow as pa
import pyarrow.compute as pc


def invoices(hours: pa.Table) -> pa.Table:
    """Price what was ordered in each hour; what is free needs no invoice."""
    hours = hours.append_column("total", pc.multiply(hours["pieces"], hours["price"]))
    hours = hours.filter(pc.field("total") > 0)
    return hours.select(["item", "window_start", "total", "__event_time"])
'''
OPERATORS = [
    {"name": "new-prices", "from": "prices", "map": "item, price, cast(null as int) as amount"},
    {"name": "new-orders", "from": "orders", "map": "item, cast(null as double) as price, amount"},
    {"name": "all", "from": ["new-prices", "new-orders"], "merge": {}},
    {"name": "by-item", "from": "all", "partitionBy": {"key": "item"}},
    {"name": "priced", "from": "by-item", "filter": "price is not null"},
    {"name": "fill", "from": "priced", "sendToTable": "price"},
    {"name": "ordered", "from": "by-item", "filter": "amount is not null"},
    {
        "name": "hours",
        "from": "ordered",
        "window": {"tumbling": "1h", "by": ["item"], "select": "sum(amount) as pieces"},
    },
    {"name": "with-price", "from": "hours", "joinTable": {"table": "price", "on": "item"}},
    {
        "name": "invoiced",
        "from": "with-price",
        "process": {
            "function": "shop_functions:invoices",
            "schema": "item string, window_start timestamp, total double",
        },
    },
    {"name": "out", "from": "invoiced", "sendTo": "invoices"},
]


def lay_out(folder: Path, orders: int, processors: int = 2) -> dict:
    """Write the app, its function and its data: so many orders in each of three files; give the app."""
    random = Random(7)
    items = [f"item {number}" for number in range(ITEMS)]
    apps.write_stream(
        folder, "prices", "item,price,at", [f"{item},{random.randrange(9) / 4},2024-05-01T00:00:00Z" for item in items]
    )
    files = [
        [
            f"{random.choice(items)},{random.randrange(1, 9)},{(FIRST + timedelta(seconds=10 * number)).isoformat()}"
            for number in range(orders)
        ]
        for _ in range(3)
    ]
    apps.write_stream(folder, "orders", "item,amount,at", *files)
    (folder / "shop_functions.py").write_text(FUNCTIONS)
    document = apps.document(
        OPERATORS,
        tables={"price": {"key": "item", "value": "price", "schema": "item string, price double, amount int"}},
        processors=processors,
        job={"intermediateStreamPartitions": 4},
        prices={"schema": "item string, price double, at timestamp"},
        orders={"schema": "item string, amount int, at timestamp"},
        invoices={"format": "json"},
    )
    (folder / "app.yaml").write_text(json.dumps(document))
    return document


def check(folder: Path) -> None:
    """Compare the invoices, each exactly once, with what plain Python makes of the same files."""
    prices = {item: float(price) for item, price, _ in _rows(folder / "prices")}
    pieces: Counter[tuple[str, str]] = Counter()
    for item, amount, at in _rows(folder / "orders"):
        pieces[item, f"{at[:13]}:00:00Z"] += int(amount)
    expected = sorted((*key, count * prices[key[0]]) for key, count in pieces.items() if prices[key[0]])
    lines = (line for part in apps.parts(folder / "out" / "invoices") for line in part.read_text().splitlines())
    assert sorted(tuple(json.loads(line).values()) for line in lines) == expected
    assert expected


def _rows(folder: Path) -> list[list[str]]:
    return [line.split(",") for file in sorted(folder.iterdir()) for line in file.read_text().splitlines()[1:]]
