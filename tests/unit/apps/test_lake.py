"""The lake of the examples: files that land become hours of a table, each once, whenever the app is stopped."""

from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import yaml
from deltalake import DeltaTable

from support.apps import run_until
from support.plan_documents import accepted
from unit.docs import pages

LAKE = Path(__file__).parents[3] / "examples" / "lake"


def document():
    """Give the app."""
    return yaml.safe_load((LAKE / "app.yaml").read_text())


def closed(folder):
    """Give the orders and the amount of each shop and hour that orders of a later one follow."""
    rows = [row for path in folder.rglob("landing/orders/*/*.parquet") for row in pq.read_table(path).to_pylist()]
    rows = [row | {"hour": row["at"].replace(minute=0, second=0)} for row in rows]
    last = max(row["hour"] for row in rows)
    orders, amounts = Counter(), Counter()
    for row in rows:
        if row["hour"] < last:
            orders[row["shop"], row["hour"]] += 1
            amounts[row["shop"], row["hour"]] += row["amount"]
    return sorted((*key, count, amounts[key], key[1].date()) for key, count in orders.items())


def written(folder):
    """Give the rows of the table."""
    table = folder / "tables" / "sales" / "hourly"
    if not DeltaTable.is_deltatable(str(table)):
        return []
    return sorted(tuple(row.values()) for row in DeltaTable(table).to_pyarrow_table().to_pylist())


def test_what_lands_is_in_the_table_once(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(LAKE)
    import orders

    monkeypatch.setattr(orders, "ORDERS", 40)
    app = document()
    app["spec"]["systems"]["tables"]["delta"]["commitEvery"] = "100ms"
    for hours in (20, 10):  # to the next day
        orders.land(tmp_path, hours)
        expected = closed(tmp_path)
        run_until(tmp_path, app, lambda expected=expected: written(tmp_path) == expected)
    assert {str(day) for *_, day in expected} == {"2024-05-01", "2024-05-02"}
    assert {hour.hour for _, hour, *_, day in expected if str(day) == "2024-05-02"} == set(range(5))


def test_in_a_store_it_is_the_same_app_with_other_systems():
    text = next(block.text for block in pages.fences((LAKE / "README.md").read_text()) if "s3://" in block.text)
    app = document()
    app["spec"]["systems"] |= yaml.safe_load(text)["systems"]
    systems = accepted(app).app.spec.systems
    assert [systems[name].path for name in ("landing", "tables")] == ["s3://acme-lake/landing", "s3://acme-lake/tables"]
