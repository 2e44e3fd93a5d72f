"""An app whose rows are nested and have variants, on a system of messages: shuffles, a table, a join, a function."""

import json
from pathlib import Path

from support import apps
from support.visits import HUB, LOG, Hub

ITEM = "struct<sku:string,price:decimal(6,2),tags:map<string,int>>"
PLACE = "struct<city:string,zips:array<int>>"
MODULE = f'''
import pyarrow as pa

ITEM = {ITEM!r}


def remember(rows, state):
    """Count the orders of each customer, and keep the last thing that was ordered."""
    found = []
    for row in rows.to_pylist(maps_as_pydicts="strict"):
        count, last = state.get(row["name"]) or (0, None)
        state.put(row["name"], [count + 1, row["lines"][-1]["sku"]])
        found.append({{
            "name": row["name"], "n": count + 1, "lines": row["lines"], "address": row["address"],
            "seen": {{"count": count + 1, "last": last}}, "about": row["about"], "__event_time": row["__event_time"],
        }})
    names = ("name", "n", "lines", "address", "seen", "about", "__event_time")
    types = {{"about": pa.string(), **{{name: rows.schema.field(name).type for name in ("lines", "address")}}}}
    return pa.table({{name: pa.array([row[name] for row in found], types.get(name)) for name in names}})
'''


def document(system=None, name="app"):
    """Give the app; topics begin with its name."""
    form = {"system": HUB, "partitions": 2, "key": "name"}
    at = {"eventTime": {"column": "at"}}
    spec = {
        "systems": {HUB: system or LOG},
        "streams": {
            "orders": {
                **form,
                **at,
                "name": f"{name}.orders",
                "schema": f"name string, at timestamp, lines array<{ITEM}>, note string",
            },
            "payments": {
                **form,
                **at,
                "name": f"{name}.payments",
                "schema": "name string, at timestamp, card struct<no:string,`valid to`:date>, extra variant",
            },
            "customers": {
                **form,
                "name": f"{name}.customers",
                "schema": f"name string, address {PLACE}, about variant",
            },
            "out": {**form, "name": f"{name}.out"},
        },
        "tables": {"customer": {"sideInputs": ["customers"], "key": "name", "value": "address, about"}},
        "operators": [
            {"name": "some", "from": "orders", "filter": "lines[0].price > 1"},
            {"name": "by-name", "from": "some", "partitionBy": {"key": "name"}},
            {"name": "located", "from": "by-name", "joinTable": {"table": "customer", "on": "name", "type": "left"}},
            {"name": "known", "from": "located", "map": "name, lines, address, to_json(about) as about"},
            {
                "name": "counted",
                "from": "known",
                "process": {
                    "function": "remembered:remember",
                    "schema": f"name string, n int, lines array<{ITEM}>, address {PLACE}, "
                    "seen struct<count:int,last:string>, about string",
                    "state": {"key": "name"},
                    "order": "arrival",
                },
            },
            {"name": "counted-by-name", "from": "counted", "partitionBy": {"key": "name"}},
            {"name": "paid-by", "from": "payments", "map": "name, card, extra"},
            {"name": "paid", "from": "counted-by-name", "join": {"with": "paid-by", "on": "name", "within": "1h"}},
            {
                "name": "shaped",
                "from": "paid",
                "map": "name, n, lines, lines.sku as skus, lines[0].tags['a'] as a, address.zips[1] as zip, "
                "map('n', n) as counts, struct(seen.last, card.`valid to` as until) as more, "
                "extra, parse_json(about) as about",
            },
            {"name": "sent", "from": "shaped", "sendTo": "out"},
        ],
        "job": {"commitInterval": "50ms", "watermarkInterval": "1ms"},
        "processors": {"count": 2},
    }
    return {"apiVersion": "streamapp.dev/v1alpha1", "kind": "StreamApp", "metadata": {"name": name}, "spec": spec}


def line(sku, price=2.5, **tags):
    return {"sku": sku, "price": price, "tags": tags or None}


def check_restarts(folder: Path, app: dict):
    """Run the app, stop it and go on; what it finds must be what the rows say."""
    (folder / "remembered.py").write_text(MODULE)
    hub = Hub(folder, app)
    address, about = {"city": "Oslo", "zips": [150, 151]}, {"likes": ["tea", 1.5, None], "é": {}}
    hub.send("customers", ("ada", {"name": "ada", "address": address, "about": about}))
    variants = {"ada": {"extra": {"by": {"x": None}, "all": [1, True]}, "about": about}, "bob": {}}
    expected = []

    def order(number, name, lines, last, zip_code):
        hub.send("orders", (name, {"name": name, "at": "2024-05-01T10:00:00Z", "lines": lines, "note": {"n": number}}))
        expected.append(
            {
                "name": name,
                "n": number,
                "lines": lines,
                "skus": [one["sku"] for one in lines],
                "a": (lines[0]["tags"] or {}).get("a"),
                "zip": zip_code,
                "counts": {"n": number},
                "more": {"last": last, "until": "2030-01-31"},
                **variants[name],
            }
        )

    def found():
        messages = [message for part in hub.messages("out").values() for message in part]
        return sorted((json.loads(message.value) for message in messages), key=lambda row: (row["name"], row["n"]))

    def done():
        return len(found()) >= len(expected)

    for name in ("ada", "bob"):
        card = {"no": "7", "valid to": "2030-01-31"}
        extra = {field: value for field, value in variants[name].items() if field == "extra"}
        hub.send("payments", (name, {"name": name, "at": "2024-05-01T10:01:00Z", "card": card, **extra}))
    hub.send("orders", ("ada", {"name": "ada", "at": "2024-05-01T09:59:00Z", "lines": [line("x", 0.5)]}))
    order(1, "ada", [line("tea", a=3), line("cake")], None, 151)
    order(1, "bob", [line("pie", 9999.99, b=1, a=7)], None, None)
    apps.run_until(folder, app, done)
    order(2, "ada", [line("jam")], "cake", 151)
    apps.run_until(folder, app, done)
    order(2, "bob", [line("é\n", a=-1), line("nut")], "pie", None)
    apps.run_until(folder, app, done)
    assert found() == sorted(expected, key=lambda row: (row["name"], row["n"]))
