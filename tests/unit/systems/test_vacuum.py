"""Files that a table of Delta needs no more: they go, and nothing else does."""

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_systems.delta import DeltaVacuum
from streamapp_systems.delta.vacuum import is_of_rows
from streamapp_systems.protocols import StreamSystemError
from support.delta_outputs import table_in
from support.joined_files import joiner, publish_each

DAY = 86_400
FEATURES = {"delta.enableDeletionVectors": "true"}


def age(root: Path, days: float) -> None:
    """Make a table older: its files, and what its log says of when it removed them."""
    for path in root.rglob("*"):
        if path.is_file():
            found = path.stat().st_mtime - days * DAY
            os.utime(path, (found, found))
    for path in (root / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        for action in actions:
            if "remove" in action:
                action["remove"]["deletionTimestamp"] -= int(days * DAY * 1_000)
        path.write_text("\n".join(map(json.dumps, actions)))


def write(root: Path, *cities: str, mode="append", **more) -> None:
    """Write a row of each city, each in a partition of its own."""
    write_deltalake(root, pa.table({"n": [1] * len(cities), "city": cities}), mode=mode, partition_by=["city"], **more)


def files(root: Path) -> set[str]:
    """Give the files of rows that are there."""
    return {str(path.relative_to(root)) for path in root.rglob("*.parquet") if "_delta_log" not in path.parts}


def vacuum(root: Path) -> list[str]:
    """Remove what two looks find; return it."""
    found = DeltaVacuum(root)
    assert found.look() == []
    removed = list(found.look())
    found.remove(removed)
    return removed


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["append", "overwrite"]), st.sampled_from([0, 2, 5, 9])), min_size=1, max_size=6)
)
def test_the_versions_of_the_last_week_can_be_read_and_the_files_of_others_go(tmp_path_factory, steps):
    root, ages = tmp_path_factory.mktemp("table") / "t", []
    for mode, days in steps:
        write(root, "a b", "c/%é", mode=mode)
        age(root, days)
        ages = [*(old + days for old in ages), days]
    ended = [*ages[1:], 0]  # a version is the newest one until the next one is written
    vacuum(root)
    needed = set()
    for version, days in enumerate(ended):
        if days < 7:
            table = DeltaTable(root, version)
            assert table.to_pyarrow_table().num_rows == len(table.file_uris())
            needed |= {os.path.relpath(uri, root) for uri in table.file_uris()}
    assert files(root) == needed


def test_what_a_death_left_goes_when_it_is_old_and_two_looks_have_found_it(tmp_path):
    root = tmp_path / "t"
    write(root, "a")
    (root / "city=a" / "part-1.parquet").write_bytes(b"")
    (root / "part-2.parquet").write_bytes(b"")
    age(root, 8)
    (root / "part-3.parquet").write_bytes(b"")
    found = DeltaVacuum(root)
    assert found.look() == []
    (root / "part-4.parquet").write_bytes(b"")
    os.utime(root / "part-4.parquet", (time.time() - 8 * DAY,) * 2)
    assert found.look() == ["city=a/part-1.parquet", "part-2.parquet"]
    found.remove(["city=a/part-1.parquet", "gone.parquet"])
    assert found.look() == ["part-2.parquet", "part-4.parquet"]


def test_a_file_that_a_transaction_adds_between_two_looks_stays(tmp_path):
    root = tmp_path / "t"
    table = table_in(tmp_path)
    table.create()
    output = table.opened(1)
    publish_each(table, range(2))
    output.close()
    orphan = root / "late.parquet"
    orphan.write_bytes(next(root.glob("part-*.parquet")).read_bytes())
    age(root, 8)
    found = DeltaVacuum(root)
    found.look()
    log = root / "_delta_log" / f"{3:020}.json"
    add = {"path": "late.parquet", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
    log.write_text(json.dumps({"add": add}))
    assert found.look() == []
    assert orphan.exists()


def test_no_file_is_younger_than_a_day_though_the_table_keeps_removed_ones_for_no_time(tmp_path):
    root = tmp_path / "t"
    write(root, "a", configuration={"delta.deletedFileRetentionDuration": "interval 0 hours"})
    write(root, "b", mode="overwrite")
    assert vacuum(root) == []
    age(root, 1.1)
    assert [path.partition("/")[0] for path in vacuum(root)] == ["city=a"]


def test_a_table_that_keeps_removed_files_for_longer_keeps_them(tmp_path):
    root = tmp_path / "t"
    write(root, "a", configuration={"delta.deletedFileRetentionDuration": "interval 30 days"})
    write(root, "b", mode="overwrite")
    age(root, 29)
    assert vacuum(root) == []
    age(root, 2)
    assert len(vacuum(root)) == 1


def test_what_others_have_put_there_stays(tmp_path):
    root = tmp_path / "t"
    write(root, "a")
    write(root / "city=nested" / "table", "b")
    write(root / "below", "b")
    write(root / "below", "c", mode="overwrite")
    (root / "README.txt").write_text("ours")
    age(root, 40)
    before = sorted(root.rglob("*"))
    assert vacuum(root) == []
    assert sorted(root.rglob("*")) == before


def test_paths_of_rows_and_changes():
    assert is_of_rows("a.parquet", [])
    assert is_of_rows("_change_data/City=a/a.parquet", ["city"])
    for path in ("a.txt", "b/a.parquet", "town=a/a.parquet", "city=a/b/a.parquet", "_delta_log/1.checkpoint.parquet"):
        assert not is_of_rows(path, ["city"])


def test_files_that_were_joined_go_and_the_table_has_its_rows(tmp_path):
    table = table_in(tmp_path)
    table.create(("city",))
    publish_each(table, range(15), ("city",))
    joining = joiner(table)
    assert joining.commit(joining.write())
    assert vacuum(tmp_path / "t") == []
    age(tmp_path / "t", 8)
    assert len(vacuum(tmp_path / "t")) == 15
    assert table.found() == list(range(15))
    assert len(files(tmp_path / "t")) == 3


def test_a_table_with_files_of_other_kinds_is_left_with_the_reason(tmp_path):
    write(tmp_path / "t", "a", configuration=FEATURES)
    with pytest.raises(StreamSystemError, match=r"not known here \(deletionVectors.*run `VACUUM` of Spark"):
        DeltaVacuum(tmp_path / "t").look()


def test_a_table_that_is_not_there_or_can_not_be_read(tmp_path):
    assert vacuum(tmp_path / "none") == []
    write(tmp_path / "t", "a", commit_properties=CommitProperties())
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").write_text("{")
    with pytest.raises(StreamSystemError, match="t can't be looked through"):
        DeltaVacuum(tmp_path / "t").look()
