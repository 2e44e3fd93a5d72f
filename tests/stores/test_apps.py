"""An app from tables to a table of an S3 server, killed and cut off from it: each row is written once."""

import subprocess
from collections import Counter
from io import BytesIO
from random import Random

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake
from pyarrow import dataset, fs
from pyarrow import parquet as pq
from tools.object_store.server import ACCESS_KEY, SECRET_KEY

from streamapp_systems.protocols import StreamSystemError
from support import apps, crashes
from support.object_stores import REGION, SECRET, system_in
from support.processes import kill_worker
from support.waiting import eventually
from unit.docs import pages

SHOPS = {"a": "Oslo", "b": "Rome"}


class Lake:
    """The tables of an app in a bucket."""

    def __init__(self, bucket):
        self._bucket = bucket
        self._options = bucket.bucket.storage_options
        self.rows = 0

    def add(self, count):
        """Append so many orders to their table, as a version of it."""
        numbers = range(self.rows, self.rows + count)
        shops = [sorted(SHOPS)[number % len(SHOPS)] for number in numbers]
        self.append("orders", pa.table({"n": pa.array(numbers, pa.int64()), "shop": shops}))
        self.rows += count

    def append(self, name, rows):
        write_deltalake(f"{self._bucket}/lake/{name}", rows, mode="append", storage_options=self._options)

    def located(self):
        """Count the rows of the output, as another library reads it."""
        place = f"{self._bucket}/lake/located"
        if not DeltaTable.is_deltatable(place, self._options):
            return Counter()
        found = DeltaTable(place, storage_options=self._options).to_pyarrow_table().select(["n", "city"]).to_pylist()
        return Counter((row["n"], row["city"]) for row in found)

    def filed(self):
        """Count the rows of the files, as another library reads them; none while there is no file."""
        store, folder = self._bucket.bucket, self._bucket / "files" / "filed"
        files = fs.S3FileSystem(
            access_key=ACCESS_KEY, secret_key=SECRET_KEY, region=REGION, endpoint_override=store.where
        )
        names = [str(path).removeprefix("s3://") for path in folder.objects(below=True)[0] if path.suffix == ".parquet"]
        shown = [name for name in names if "/.staging/" not in name]
        rows = dataset.dataset(shown, filesystem=files, partitioning="hive").to_table() if shown else pa.table({})
        return Counter((row["n"], row["city"]) for row in rows.to_pylist())

    def expected(self):
        """Give what the output holds once all orders are in it."""
        shops = sorted(SHOPS)
        return Counter((number, SHOPS[shops[number % len(shops)]]) for number in range(self.rows))


def lay_out(folder, bucket):
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {
            "systems": {
                "lake": system_in(bucket, journal="journal", commitEvery="300ms"),
                "files": {
                    "file": {
                        "path": f"{bucket}/files",
                        "commitEvery": "300ms",
                        "store": system_in(bucket)["delta"]["store"],
                    }
                },
                "log": {"log": {"path": "log.db"}},
            },
            "defaultSystem": "log",
            "streams": {
                "orders": {"system": "lake", "schema": "n bigint, shop string", "partitions": 2},
                "shops": {"system": "lake", "schema": "shop string, city string", "broadcast": True},
                "located": {"system": "lake", "folderColumns": ["city"]},
                "filed": {"system": "files", "format": "parquet", "folderColumns": ["city"]},
            },
            "tables": {"city": {"key": "shop", "sideInputs": ["shops"]}},
            "operators": [
                {"name": "with-city", "from": "orders", "joinTable": {"table": "city", "on": "shop"}},
                {"name": "taken", "from": "with-city", "map": "n, city"},
                {"name": "sent", "from": "taken", "sendTo": "located"},
                {"name": "copied", "from": "taken", "sendTo": "filed"},
            ],
            "job": {"commitInterval": "50ms"},
            "processors": {"count": 2},
        },
    }
    (folder / "app.yaml").write_text(yaml.safe_dump(document))


@pytest.fixture
def lake(bucket, tmp_path):
    lay_out(tmp_path, bucket)
    found = Lake(bucket)
    found.append("shops", pa.table({"shop": list(SHOPS), "city": list(SHOPS.values())}))
    found.add(100)
    return found


def test_every_row_of_a_table_is_written_once_through_kills_and_an_outage(server, lake, tmp_path):
    random, killed = Random(5), []

    def grow_for_a_while(process):
        for _ in range(random.randrange(2, 5)):
            lake.add(random.randrange(1, 1_000))
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=random.uniform(0, 0.5))

    def started():
        before, process = lake.located(), crashes.start(tmp_path, "--host", "processes", **SECRET)
        killed.append(process)
        lake.add(1)
        assert eventually(lambda: lake.located() != before)
        return process

    process = started()
    kill_worker(process.pid, random)
    grow_for_a_while(process)
    process.kill()
    process = started()
    grow_for_a_while(process)
    server.stop()
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(timeout=5)
    server.start()
    grow_for_a_while(process)
    assert eventually(lambda: lake.located() == lake.expected()), lake.expected() - lake.located()
    assert eventually(lambda: lake.filed() == lake.expected()), lake.expected() - lake.filed()
    for process in killed:
        crashes.kill_group(process)
    assert lake.located() == lake.filed() == lake.expected()
    for told in [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]:
        assert not any(value.encode() in told for name, value in SECRET.items() if "SECRET_ACCESS" in name)


def test_the_example_of_the_page_runs_in_a_store(bucket, tmp_path, monkeypatch):
    (text,) = (block.text for block in pages.fences(pages.read("tables.md")) if block.name == "stored.yaml")
    document = yaml.safe_load(text)
    for name, value in SECRET.items():
        monkeypatch.setenv(name.replace("_LAKE_", "_LAKE_LOGIN_"), value)
    lake = document["spec"]["systems"]["lake"]["delta"]
    lake |= {"path": f"{bucket}/tables", "commitEvery": "100ms"}
    lake["store"] |= {"endpoint": bucket.bucket.where, "region": REGION}
    rows = pa.table({"shop": ["a", "b"], "amount": pa.array([7, 2_000], pa.int32()), "day": ["2024-05-01"] * 2})
    rows = rows.set_column(2, "day", rows["day"].cast(pa.date32()))
    options = bucket.bucket.storage_options
    write_deltalake(f"{bucket}/tables/sales/orders", rows, storage_options=options)

    def found():
        place = f"{bucket}/tables/sales/large"
        there = DeltaTable.is_deltatable(place, options)
        return DeltaTable(place, storage_options=options).to_pyarrow_table().to_pylist() if there else []

    apps.run_until(tmp_path, document, lambda: found() == rows.to_pylist()[1:])
    write_deltalake(f"{bucket}/tables/sales/orders", rows, mode="append", storage_options=options)
    apps.run_until(tmp_path, document, lambda: found() == rows.to_pylist()[1:] * 2)


def test_a_new_run_replaces_the_files_of_the_run_before_it(bucket, tmp_path, monkeypatch):
    (text,) = (block.text for block in pages.fences(pages.read("tables.md")) if block.name == "filed.yaml")
    document = yaml.safe_load(text)
    for name, value in SECRET.items():
        monkeypatch.setenv(name.replace("_LAKE_", "_LAKE_LOGIN_"), value)
    results = document["spec"]["systems"]["results"]["file"]
    results["path"] = f"{bucket}/results"
    results["store"] |= {"endpoint": bucket.bucket.where, "region": REGION}
    folder, kept = bucket / "results" / "large", bucket / "results" / "large" / "notes.txt"

    def written():
        found = [path for path in folder.objects(below=True)[0] if path.suffix == ".parquet"]
        assert all(path.relative_to(folder).startswith("shop=a/part-") for path in found)
        return [pq.read_table(BytesIO(path.read_bytes())).column("amount").to_pylist() for path in found]

    for amount in (2_000, 3_000):
        (tmp_path / "orders.csv").write_text(f"shop,amount\na,{amount}\na,7\n")
        apps.run(document, tmp_path, run_id=f"r{amount}")
        assert written() == [[amount]]
        kept.write_bytes(b"")
    assert {path.name for path in folder.objects(below=False)[0]} == {"_streamapp.json", "notes.txt"}
    document["metadata"]["name"] = "another"
    with pytest.raises(StreamSystemError, match="large belongs to filed, not to another"):
        apps.run(document, tmp_path, run_id="r1")
