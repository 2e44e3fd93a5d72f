"""The example of orders in Avro, on a real broker with a real registry, read back from its table with DuckDB."""

from pathlib import Path

import duckdb
import yaml
from deltalake import DeltaTable
from tools.kafka.jars import default_cache
from tools.kafka.registry import Registry

from support.apps import run_until

EXAMPLE = Path(__file__).parents[3] / "examples" / "orders-avro"
ORDERS = 200
NEWEST = {1: ("Ada", "IT"), 2: ("Bo", "NO"), 3: ("Cleo", "CL"), 4: ("Dan", "IT"), 5: (None, None)}


def written(folder):
    """Give the rows of the table, in the order of their numbers."""
    table = folder / "tables" / "sales" / "orders"
    files = DeltaTable(table).file_uris() if DeltaTable.is_deltatable(str(table)) else []
    if not files:
        return []
    columns = "number, customer, country, amount, epoch_us(ordered_at), day"
    with duckdb.connect() as database:
        return database.execute(
            f"SELECT {columns} FROM read_parquet($1, hive_partitioning = true) ORDER BY number", [files]
        ).fetchall()


def test_orders_have_their_customers_and_are_in_the_table_once(topics, kafka, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLE)
    import shop

    prefix = topics.create("shop").address
    app = yaml.safe_load((EXAMPLE / "app.yaml").read_text())
    for name, stream in app["spec"]["streams"].items():
        if stream["system"] == "kafka":
            stream["name"] = prefix + stream.get("name", name)
    app["spec"]["systems"]["lake"]["delta"]["commitEvery"] = "100ms"
    with Registry(default_cache()) as registry:
        system = {"bootstrapServers": kafka.bootstrap_servers, "schemaRegistry": {"url": registry.url}}
        app["spec"]["systems"]["kafka"]["kafka"] = system
        shop.fill(kafka.bootstrap_servers, registry.url, ORDERS, prefix)
        run_until(tmp_path, app, lambda: len(written(tmp_path)) >= ORDERS)
    expected = [
        (row["number"], *NEWEST[row["customer"]], row["amount"], int(at.timestamp()) * 1_000_000, at.date())
        for row in shop.order_rows(ORDERS)
        for at in [row["ordered_at"]]
    ]
    assert written(tmp_path) == expected
