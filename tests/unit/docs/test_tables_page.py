"""The page about folders that grow: its app is accepted, and reads files while it runs."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from support import apps
from unit.docs import pages


def publish(folder, name, *lines):
    draft = folder / f".{name}"
    draft.write_text("".join(f"{line}\n" for line in ("shop,amount,at", *lines)))
    os.utime(draft, (0, 0))
    draft.rename(folder / name)


def test_the_example_reads_files_that_come_while_it_runs(tmp_path):
    (example,) = (block.text for block in pages.fences(pages.read("tables.md")) if block.name == "app.yaml")
    document = yaml.safe_load(example)
    document["spec"]["streams"]["orders"]["eventTime"]["idleTimeout"] = "1s"
    document["spec"]["job"] = {"commitInterval": "100ms"}
    landing = tmp_path / "landing" / "orders"
    landing.mkdir(parents=True)
    publish(landing, "1.csv", "oslo,1,2024-05-01T08:10:00", "rome,2,2024-05-01T08:20:00")
    late = ["oslo,4,2024-05-01T08:50:00", "oslo,8,2024-05-01T09:30:00"]

    def found():
        parts = [pq.read_table(path) for path in (tmp_path / "hourly").glob("part-*")]
        return sorted((row["shop"], row["amount"]) for row in pa.concat_tables(parts).to_pylist()) if parts else []

    def publish_later(summary):
        if any(stream.name == "orders" and stream.read == 2 for stream in summary.streams):
            publish(landing, "2.csv", *late)

    apps.run_until(tmp_path, document, lambda: found() == [("oslo", 5), ("rome", 2)], told=publish_later)
    publish(landing, "3.csv", "oslo,16,2024-05-01T09:40:00", "rome,32,2024-05-01T10:00:00")
    apps.run_until(tmp_path, document, lambda: found() == [("oslo", 5), ("oslo", 24), ("rome", 2)])
