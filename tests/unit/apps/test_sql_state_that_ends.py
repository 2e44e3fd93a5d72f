"""Queries whose state ends: what `STATE_TTL` makes of keys, rows and places that the watermark has left."""

import json

from support import apps, json_logs

LOG = {"system": "log"}
HINT = "/*+ STATE_TTL('bids' = '1h') */"
PLACE = "row_number() over (partition by item order by price desc)"
QUERIES = {
    "totals": f"select {HINT} item, count(*) as n, sum(price) as total from bids group by item",
    "first": f"select {HINT} distinct item from bids",
    "best": f"select item, place, price from (select {HINT} item, price, {PLACE} as place from bids) where place <= 2",
    "pairs": """
        select /*+ STATE_TTL('b' = '1h', 'o' = '1h') */ b.item, b.price, o.kind
        from bids as b join offers as o on b.item = o.item""",
    "bid-times": "select item, count(*) as n from bids group by item, window(at, '10 minutes')",
    "offer-times": "select item, count(*) as n from offers group by item, window(at, '10 minutes')",
}
KEYS = {"totals": "item", "best": ["item", "place"]}
"""What results are told apart by; the others stay."""


def app():
    streams = {
        name: {**LOG, "schema": f"item string, {column}, at timestamp", "key": "item", "eventTime": {"column": "at"}}
        for name, column in (("bids", "price bigint"), ("offers", "kind string"))
    }
    results = {f"{name}-out": {**LOG, "partitions": 1, "key": KEYS.get(name, "item")} for name in QUERIES}
    spec = {
        "systems": {"log": {"log": {"path": "log.db"}}},
        "streams": streams | results,
        "operators": [
            *({"name": name, "sql": query} for name, query in QUERIES.items()),
            *({"name": f"{name}-sent", "from": name, "sendTo": f"{name}-out"} for name in QUERIES),
        ],
        "job": {"commitInterval": "20ms", "watermarkInterval": "1ms"},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": "app"}, "spec": spec}


def test_results_are_those_of_what_is_remembered(tmp_path):
    written = 0

    def write(stream, *rows):
        nonlocal written
        written += 1
        names = ("item", "price" if stream == "bids" else "kind", "at")
        values = [dict(zip(names, [*row[:2], f"2024-05-01T{row[2]}:00Z"], strict=True)) for row in rows]
        json_logs.write(tmp_path, stream, 1, [(0, row["item"], row) for row in values], epoch=written)

    def found(name):
        """Return the rows of a result, of those with one key the last ones."""
        records = json_logs.records(tmp_path, f"{name}-out", 1)
        rows = json_logs.newest(records).values() if name in KEYS else [json.loads(value) for _, value in records]
        return sorted(tuple(row.values()) for row in rows)

    def run_until(**expected):
        wanted = {name.replace("_", "-"): rows for name, rows in expected.items()}
        apps.run_until(tmp_path, app(), lambda: {name: found(name) for name in wanted} == wanted)

    write("bids", ("tea", 1, "09:00"), ("tea", 2, "09:10"), ("cup", 5, "09:10"))
    write("offers", ("tea", "old", "09:10"))
    pairs = [("tea", 1, "old"), ("tea", 2, "old")]
    best = [("cup", 1, 5), ("tea", 1, 2), ("tea", 2, 1)]
    run_until(totals=[("cup", 1, 5), ("tea", 2, 3)], first=[("cup",), ("tea",)], best=best, pairs=pairs)

    write("bids", ("mug", 3, "12:00"))
    write("offers", ("mug", "new", "12:00"))
    remembered = [("cup", 1, 5), ("mug", 1, 3), ("tea", 2, 3)]
    closed = {"bid_times": [("cup", 1), ("tea", 1), ("tea", 1)], "offer_times": [("tea", 1)]}
    run_until(
        totals=remembered, **closed
    )  # the streams between tasks have the watermark, and what comes later is behind it
    write("offers", ("mug", "newer", "12:00"))
    pairs += [("mug", 3, "new"), ("mug", 3, "newer")]
    run_until(pairs=sorted(pairs))

    write("bids", ("tea", 7, "12:01"), ("cup", 9, "10:30"), ("cup", 4, "11:30"), ("mug", 3, "12:01"))
    run_until(
        totals=[("cup", 1, 4), ("mug", 2, 6), ("tea", 1, 7)],
        first=[("cup",), ("cup",), ("mug",), ("tea",), ("tea",)],
        best=[("cup", 1, 4), ("mug", 1, 3), ("mug", 2, 3), ("tea", 1, 7)],
        pairs=sorted([*pairs, ("mug", 3, "new"), ("mug", 3, "newer")]),
    )
