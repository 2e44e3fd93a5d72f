"""Kill apps that read a folder or a table that grows or changes, also while files are counted: each row counts once.

One writes files, the others tables of Delta and Iceberg, whose commits have the rows of several commits of the app, and
whose small files are joined meanwhile.
Workers die while their driver lives, and drivers while their workers do, which go on until they notice.

`make test` takes a sample with fixed seeds; `make soak` sets STREAMAPP_KILL_RUNS for more.
"""

import json
import os
import signal
import subprocess
from collections import Counter
from contextlib import contextmanager, suppress
from functools import partial
from itertools import count
from random import Random

import duckdb
import pyarrow as pa
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake

from streamapp_runtime.fail_points import VARIABLE, FailPoint, Moment
from streamapp_systems.tables.small_files import FEWEST
from support import apps, crashes, delta_outputs, iceberg_outputs
from support.processes import kill_worker
from support.waiting import eventually

KILLS = int(os.environ.get("STREAMAPP_KILL_RUNS", "2"))
ROWS = 3_000
IN, OUT = "sales.in", "sales.out"
ICEBERG = {
    "catalog": {"uri": "sqlite:///catalog.db"},
    "path": "warehouse",
    "commitEvery": "300ms",
    "compactEvery": "1s",
}


def publish_file(folder, number, rows):
    draft = folder / f"_{number}"
    draft.write_text("".join(f"{json.dumps({'k': key})}\n" for key in rows))
    os.utime(draft, (0, 0))
    draft.rename(folder / f"{number}.jsonl")


def publish_version(folder, number, rows):
    write_deltalake(folder, pa.table({"k": pa.array(rows, pa.int64())}), mode="append")
    if number % 4 == 3:
        DeltaTable(folder).optimize.compact()


def publish_snapshot(folder, number, rows):
    catalog = iceberg_outputs.library_catalog(folder.parent.parent)
    catalog.create_namespace_if_not_exists("sales")
    found = catalog.create_table_if_not_exists(IN, pa.schema([("k", pa.int64())]))
    found.append(pa.table({"k": pa.array(rows, pa.int64())}))


def lay_out(folder, system, written):
    outputs = {"files": {"format": "csv"}, "tables": {}, "iceberg": {"name": OUT}}
    streams = {
        "in": {"system": "lake", "schema": "k bigint", "partitions": 3, "name": IN if system == "iceberg" else "t"},
        "out": {"system": written, **outputs[written]},
    }
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {
            "systems": {
                "lake": {"iceberg": ICEBERG} if system == "iceberg" else {system: {"path": "lake"}},
                "files": {"file": {"path": "."}},
                "tables": {"delta": {"path": ".", "commitEvery": "300ms", "compactEvery": "1s"}},
                "iceberg": {"iceberg": ICEBERG},
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
    return Counter({int(key): count for (key,), count in apps.row_counts(folder).items()})


def counts_in_table(folder):
    """Count the rows of a table by key, as another library reads them."""
    keys = DeltaTable(folder).to_pyarrow_table().column("k") if DeltaTable.is_deltatable(str(folder)) else ()
    return Counter(key.as_py() for key in keys)


def counts_in_iceberg(folder):
    """Count the rows of a table by key, as DuckDB reads the files that the library says it has."""
    catalog = iceberg_outputs.library_catalog(folder.parent)
    keys = iceberg_outputs.read_rows(folder.parent, name=OUT).column("k") if catalog.table_exists(OUT) else ()
    return Counter(key.as_py() for key in keys)


@pytest.mark.parametrize(
    "system, publish, written_to, read",
    [
        ("folder", publish_file, "tables", counts_in_table),
        ("folder", publish_file, "iceberg", counts_in_iceberg),
        ("delta", publish_version, "files", counts_in_files),
        ("iceberg", publish_snapshot, "files", counts_in_files),
    ],
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
        return read(tmp_path / "out")

    with grown_and_killed(tmp_path, random, grow, found):
        assert eventually(lambda: found() == dict.fromkeys(range(written), 1)), found() - Counter(range(written))
    assert next(numbers) > 8 * KILLS


@contextmanager
def grown_and_killed(folder, random, grow, found):
    """Let a source grow while its readers are killed; a last one goes on in the block, beside workers that are left."""

    def grow_for_a_while(process):
        for _ in range(random.randrange(4, 8)):
            grow()
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=random.uniform(0, 0.5))
                pytest.fail(crashes.end(process)[1])

    grow()
    started = []
    for _ in range(KILLS):
        before = found()
        process = crashes.start(folder, "--host", "processes")
        started.append(process)
        grow_for_a_while(process)
        assert eventually(lambda before=before: found() != before)
        kill_worker(process.pid, random)
        grow_for_a_while(process)
        process.kill()
        process.wait(timeout=apps.DEADLINE)  # until then the lock of the folder is its
    started.append(crashes.start(folder, "--host", "processes"))
    yield
    for process in reversed(started):
        crashes.kill_group(process)


@pytest.mark.parametrize("step", [FailPoint.UPKEEP_WRITE, FailPoint.UPKEEP_COMMIT])
@pytest.mark.parametrize("written_to, read", [("tables", counts_in_table), ("iceberg", counts_in_iceberg)])
def test_a_driver_that_died_while_it_joined_files_goes_on_to_the_same_rows(tmp_path, written_to, read, step):
    lay_out(tmp_path, "folder", written_to)
    written = 0

    def grow():
        nonlocal written
        publish_file(tmp_path / "lake" / "t", written, range(written, written + 10))
        written += 10

    def found():
        return read(tmp_path / "out")

    def files():
        opened = {"tables": delta_outputs.table_in, "iceberg": iceberg_outputs.table_in}[written_to](tmp_path)
        return opened.open("out" if written_to == "tables" else OUT).load().live_files()

    process = crashes.start(tmp_path, "--host", "in-process", **{VARIABLE: f"{step}:{Moment.AFTER}:2"})
    while process.poll() is None:
        grow()
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
    died, output = crashes.end(process)
    assert died == -signal.SIGKILL, output
    process = crashes.start(tmp_path, "--host", "in-process")
    try:
        assert eventually(lambda: found() == dict.fromkeys(range(written), 1)), found() - Counter(range(written))
        assert eventually(lambda: len(files()) < 2 * FEWEST)
        assert found() == dict.fromkeys(range(written), 1)
    finally:
        crashes.kill_group(process)


CHANGED = pa.schema([("k", pa.int64()), ("g", pa.int32()), ("v", pa.int64())])


def changed_rows(random, most=ROWS):
    keys = random.sample(range(2 * ROWS), random.randrange(1, most))
    return pa.table([keys, [random.randrange(8) for _ in keys], [random.randrange(100) for _ in keys]], schema=CHANGED)


def create_delta(folder, feed):
    DeltaTable.create(folder / "lake" / "t", CHANGED, configuration={"delta.enableChangeDataFeed": feed})


def change_delta(folder, number, random):
    table = DeltaTable(folder / "lake" / "t")
    match number % 5:
        case 0:
            merged = table.merge(changed_rows(random), "t.k = s.k", "s", "t")
            merged.when_matched_update_all().when_not_matched_insert_all().execute()
        case 1:
            table.update({"g": f"cast((g + {number}) % 8 as int)"}, predicate=f"k % 3 = {number % 3}")
        case 2:
            table.delete(f"k % 7 = {number % 7}")
        case 3:
            write_deltalake(table, changed_rows(random), mode="overwrite")
        case _:
            table.optimize.compact()


def rows_of_delta(folder):
    return DeltaTable(folder / "lake" / "t").to_pyarrow_table()


def create_iceberg(folder):
    catalog = iceberg_outputs.library_catalog(folder)
    catalog.create_namespace("sales")
    catalog.create_table(IN, CHANGED)


def change_iceberg(folder, number, random):
    table = iceberg_outputs.library_catalog(folder).load_table(IN)
    match number % 4:
        case 0:
            table.overwrite(changed_rows(random))
        case 1:
            table.upsert(changed_rows(random, 50), join_cols=["k"])
        case 2:
            table.delete(f"k < {random.randrange(ROWS)}")
        case _:
            moved = table.scan(f"k > {ROWS}").to_arrow().to_pylist()
            rows = pa.Table.from_pylist([row | {"g": (row["g"] + number) % 8} for row in moved], CHANGED)
            table.overwrite(rows, overwrite_filter=f"k > {ROWS}")


def rows_of_iceberg(folder):
    return iceberg_outputs.read_rows(folder, name=IN)


@pytest.mark.filterwarnings("ignore:Delete operation did not match any records")
@pytest.mark.parametrize(
    "system, create, change, rows",
    [
        ("delta", partial(create_delta, feed="true"), change_delta, rows_of_delta),
        ("delta", partial(create_delta, feed="false"), change_delta, rows_of_delta),
        ("iceberg", create_iceberg, change_iceberg, rows_of_iceberg),
    ],
    ids=["feed", "files", "iceberg"],
)
def test_changes_of_a_table_make_of_groups_what_the_table_has(tmp_path, system, create, change, rows):
    lay_out(tmp_path, system, "files")
    document = yaml.safe_load((tmp_path / "app.yaml").read_text())
    changed = {"schema": "k bigint, g int, v bigint", "key": "k", "changes": "upsert", "partitions": 1}
    document["spec"]["streams"]["in"] |= changed
    document["spec"]["operators"] = [
        {"name": "by", "from": "in", "partitionBy": {"key": "g"}},
        {"name": "sums", "from": "by", "aggregate": {"by": ["g"], "select": "count(*) as n, sum(v) as v"}},
        {"name": "sent", "from": "sums", "sendTo": "out"},
    ]
    (tmp_path / "app.yaml").write_text(yaml.safe_dump(document))
    create(tmp_path)
    random, versions = Random(rows.__name__), count()

    def wanted():
        grouped = duckdb.from_arrow(rows(tmp_path)).aggregate("g, count(*), sum(v)::bigint")
        return {group: (n, v) for group, n, v in grouped.fetchall()}

    def found():
        last = apps.last_per_key(tmp_path / "out", 1).values()
        return {int(group): (int(n), int(v)) for group, n, v, change in last if change == "u"}

    with grown_and_killed(tmp_path, random, lambda: change(tmp_path, next(versions), random), found):
        assert eventually(lambda: found() == wanted()), (found(), wanted())
    assert next(versions) > 8 * KILLS
