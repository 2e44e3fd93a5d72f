"""Kill apps that read a folder or a table that grows, also while files are counted: each row is written once.

One writes files, the other one a table, whose commits have the rows of several commits of the app.
"""

import json
import os
import subprocess
import time
from collections import Counter
from itertools import count
from random import Random

import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake

from support import apps, crashes

KILLS = 3
ROWS = 3_000
DEADLINE = 120


def publish_file(folder, number, rows):
    draft = folder / f"_{number}"
    draft.write_text("".join(f"{json.dumps({'k': key})}\n" for key in rows))
    os.utime(draft, (0, 0))
    draft.rename(folder / f"{number}.jsonl")


def publish_version(folder, number, rows):
    write_deltalake(folder, pa.table({"k": pa.array(rows, pa.int64())}), mode="append")
    if number % 4 == 3:
        DeltaTable(folder).optimize.compact()


def lay_out(folder, system, written):
    streams = {
        "in": {"system": "lake", "schema": "k bigint", "partitions": 3, "name": "t"},
        "out": {"system": "files", "format": "csv"} if written == "files" else {"system": "tables"},
    }
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {
            "systems": {
                "lake": {system: {"path": "lake"}},
                "files": {"file": {"path": "."}},
                "tables": {"delta": {"path": ".", "commitEvery": "300ms"}},
                "log": {"log": {"path": "log.db"}},
            },
            "defaultSystem": "log",
            "streams": streams,
            "operators": [
                {"name": "by", "from": "in", "partitionBy": {"key": "k"}},
                {"name": "sent", "from": "by", "sendTo": "out"},
            ],
            "job": {"commitInterval": "50ms"},
            "processors": {"count": 2},
        },
    }
    (folder / "lake" / "t").mkdir(parents=True)
    (folder / "app.yaml").write_text(yaml.safe_dump(document))


def counts_in_files(folder):
    return {int(key): count for (key,), count in apps.row_counts(folder).items()}


def counts_in_table(folder):
    """Count the rows of a table by key, as another library reads them."""
    keys = DeltaTable(folder).to_pyarrow_table().column("k") if DeltaTable.is_deltatable(str(folder)) else ()
    return Counter(key.as_py() for key in keys)


@pytest.mark.parametrize(
    "system, publish, written_to, read",
    [("folder", publish_file, "tables", counts_in_table), ("delta", publish_version, "files", counts_in_files)],
)
def test_every_row_of_a_source_that_grows_is_written_once(tmp_path, system, publish, written_to, read):
    lay_out(tmp_path, system, written_to)
    random, numbers, written = Random(system), count(), 0

    def grow():
        nonlocal written
        rows = random.randrange(1, ROWS)
        publish(tmp_path / "lake" / "t", next(numbers), range(written, written + rows))
        written += rows

    def found():
        return dict.fromkeys(range(written), 1) == read(tmp_path / "out")

    grow()
    for kill in range(KILLS + 1):
        process = crashes.start(tmp_path, "--host", "in-process")
        for _ in range(random.randrange(8, 16) if kill < KILLS else 0):
            grow()
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=random.uniform(0, 0.5))
        deadline = time.monotonic() + DEADLINE
        while kill == KILLS and not found():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
        crashes.kill_group(process)
    assert next(numbers) > 8 * KILLS
