"""A shop whose stock is told by shop and item: keys of two columns, in and out, tables, joins and states."""

import json

SHOP = {
    "apiVersion": "streamapp.dev/v1alpha1",
    "kind": "StreamApp",
    "metadata": {"name": "shop"},
}
SPENT = """
import pyarrow as pa


class Spent:
    def process(self, rows, state):
        results = []
        for row in rows.to_pylist():
            key = row["shop"], row["item"]
            total = (state.get(key) or 0) + row["n"]
            state.put(key, total)
            state.set_timer(key, 2_000_000_000_000)
        return None

    def on_timers(self, timers, state):
        return pa.Table.from_pylist(
            [
                {"shop": t["shop"], "item": t["item"], "spent": state.get((t["shop"], t["item"]))}
                for t in timers.to_pylist()
            ]
        )
"""


def app(system, name="shop", *, partitions=3, processors=1, bounded=True, prefix="", **fields):
    """Sales keyed by shop and item, prices by the same; totals, priced sales, places and sums of a function.

    Rows of the sales are in the partition of their key; streams of the system have names that begin with the prefix.
    """
    end = {"bounded": True} if bounded else {}
    streams = {
        "sales": {
            "schema": "id int, shop string, item int, n int, at timestamp",
            "key": ["shop", "item"],
            "eventTime": {"column": "at"},
            "json": {"timestamps": "millis"},
            **end,
        },
        "prices": {"schema": "shop string, item int, price int", "key": ["shop", "item"], "bounded": True},
        "totals": {"key": ["shop", "item"], "partitions": partitions},
        "priced": {"key": ["item", "shop"], "partitions": partitions},
        "places": {"key": ["shop", "place"], "partitions": partitions},
        "spent": {"key": ["shop", "item"], "partitions": partitions},
    }
    operators = [
        {
            "name": "priced-sales",
            "from": "sales",
            "joinTable": {"table": "price", "on": ["shop", "item"], "type": "left"},
        },
        {"name": "priced-out", "from": "priced-sales", "sendTo": "priced"},
        {"name": "by-id", "from": "sales", "partitionBy": {"key": "id"}},
        {"name": "newest-sale", "from": "by-id", "dedup": {"by": ["id"], "keep": "last"}},
        {"name": "by-both", "from": "newest-sale", "partitionBy": {"key": ["shop", "item"]}},
        {
            "name": "total",
            "from": "by-both",
            "aggregate": {"by": ["item", "shop"], "select": "count(*) as sales, sum(n) as n"},
        },
        {"name": "totals-out", "from": "total", "sendTo": "totals"},
        {"name": "by-shop", "from": "total", "partitionBy": {"key": "shop"}},
        {
            "name": "best",
            "from": "by-shop",
            "topN": {"by": ["shop"], "orderBy": "n desc, item", "n": 2, "rank": "place"},
        },
        {"name": "places-out", "from": "best", "sendTo": "places"},
        {
            "name": "sums",
            "from": "sales",
            "process": {
                "function": "spending:Spent",
                "schema": "shop string, item int, spent int",
                "state": {"key": ["shop", "item"]},
            },
        },
        {"name": "spent-out", "from": "sums", "sendTo": "spent"},
    ]
    return {
        **SHOP,
        "metadata": {"name": name},
        "spec": {
            "systems": {"s": system},
            "streams": {name: {"system": "s", "name": f"{prefix}{name}", **of} for name, of in streams.items()},
            "tables": {"price": {"key": ["shop", "item"], "value": "price", "sideInputs": ["prices"]}},
            "operators": operators,
            "job": {"commitInterval": "20ms", "watermarkInterval": "1ms", "intermediateStreamPartitions": partitions},
            "processors": {"count": processors},
            **fields,
        },
    }


def key_text(**parts):
    """The key as a producer in another language writes it."""
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def newest_sales(sales):
    """The sales as they are now, by shop and item."""
    found = {}
    for shop, item, n in {id_: sale for id_, *sale in sales}.values():
        count, total = found.get((shop, item), (0, 0))
        found[shop, item] = count + 1, total + n
    return found


def best_items(sales):
    """The first two items of each shop: the item with its number, by shop and place."""
    found = {}
    for shop in {shop for shop, _ in newest_sales(sales)}:
        items = [(-n, item) for (of, item), (_, n) in newest_sales(sales).items() if of == shop]
        # Null comes first, as in Spark.
        items.sort(key=lambda one: (one[0], one[1] is not None, one[1] or 0))
        found |= {(shop, place): (item, -n) for place, (n, item) in enumerate(items[:2], 1)}
    return found


def spent(sales):
    """All that was ever sold, by shop and item."""
    found = {}
    for _, shop, item, n in sales:
        found[shop, item] = found.get((shop, item), 0) + n
    return found
