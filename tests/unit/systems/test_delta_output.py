"""Outputs that are tables of Delta: what was staged is added once, whoever dies or comes late."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.delta import DeltaTableFolder, delta_table, layout_mismatches
from streamapp_systems.protocols import StagedPart, StreamSystemError
from support.delta_outputs import create, found, opened, table_in
from support.table_outputs import SCHEMA, publish_through_deaths, rows


@pytest.mark.parametrize("folders", [(), ("city",), ("CITY",)])
def test_parts_of_several_commits_are_one_version(tmp_path: Path, folders) -> None:
    create(tmp_path, folders)
    output = opened(tmp_path, 1, folders)
    parts: list[StagedPart] = []
    for number in range(5):
        output.write("out", rows(number, number + 10))
        parts += output.stage()
    assert found(tmp_path) == []
    output.publish(parts)
    table = DeltaTable(tmp_path / "t")
    assert (table.version(), len(table.file_uris())) == (1, 3 if folders else 1)
    assert found(tmp_path) == [0, 1, 2, 3, 4, 10, 11, 12, 13, 14]
    assert set(table.to_pyarrow_table().column("city").to_pylist()) == {"c/0 %", "c/1 %", "c/2 %"}
    opened(tmp_path, 2, folders).publish(parts)
    assert table.version() == DeltaTable(tmp_path / "t").version() == 1
    output.close()


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_rows_are_added_once_with_deaths_zombies_and_other_writers(data) -> None:
    with TemporaryDirectory() as folder:
        publish_through_deaths(table_in(Path(folder)), data)


def test_who_loses_a_race_looks_again(tmp_path: Path, monkeypatch) -> None:
    create(tmp_path)
    output, other = opened(tmp_path, 1), opened(tmp_path, 2)
    output.write("out", rows(1))
    parts = output.stage()
    append, raced = delta_table.DeltaVersion.append, []

    def racing(version, files, marks):
        if not raced:
            raced.append(1)
            other.publish(parts)
        return append(version, files, marks)

    monkeypatch.setattr(delta_table.DeltaVersion, "append", racing)
    output.publish(parts)
    assert found(tmp_path) == [1]


def test_files_stay_if_the_library_fails_after_its_commit(tmp_path: Path) -> None:
    """A checkpoint of the table follows a commit, and may find no room on the disk."""
    DeltaTable.create(tmp_path / "t", arrow_schema(SCHEMA), configuration={"delta.checkpointInterval": "1"})
    in_the_way = tmp_path / "t" / "_delta_log" / f"{1:020}.checkpoint.parquet"
    (in_the_way / "file").mkdir(parents=True)
    output = opened(tmp_path, 1)
    output.write("out", rows(1))
    output.publish(output.stage())
    shutil.rmtree(in_the_way)
    assert found(tmp_path) == [1]


def test_checkpoints_are_durable_as_versions_are(tmp_path: Path, monkeypatch) -> None:
    """Readers begin with the newest one; logs that are older than it may be removed."""
    DeltaTable.create(tmp_path / "t", arrow_schema(SCHEMA), configuration={"delta.checkpointInterval": "1"})
    output = opened(tmp_path, 1)
    output.write("out", rows(1))
    synced: set[str] = set()
    fsync = os.fsync

    def recorded(handle: int) -> None:
        synced.add(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    monkeypatch.setattr(os, "fsync", recorded)
    output.publish(output.stage())
    assert {f"{1:020}.json", f"{1:020}.checkpoint.parquet", "_last_checkpoint", "_delta_log"} <= synced


def test_columns_that_a_table_gets_under_a_run_are_null_in_what_was_staged(tmp_path: Path) -> None:
    create(tmp_path)
    output = opened(tmp_path, 1)
    output.write("out", rows(1))
    parts = output.stage()
    DeltaTable(tmp_path / "t").alter.add_columns([Field("more", "string")])
    output.publish(parts)
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().to_pylist() == [{"n": 1, "city": "c/1 %", "more": None}]


def test_marks_outlive_checkpoints_of_the_table(tmp_path: Path) -> None:
    create(tmp_path)
    output = opened(tmp_path, 1)
    output.write("out", rows(1))
    parts = output.stage()
    output.publish(parts)
    DeltaTable(tmp_path / "t").create_checkpoint()
    opened(tmp_path, 2).publish(parts)
    assert found(tmp_path) == [1]


def test_a_part_or_a_table_that_is_gone_is_an_error(tmp_path: Path) -> None:
    output = opened(tmp_path, 1)
    output.write("out", rows(1))
    parts = output.stage()
    with pytest.raises(StreamSystemError, match=r"table .* is gone"):
        output.publish(parts)
    create(tmp_path)
    (tmp_path / parts[0].staged).unlink()
    with pytest.raises(StreamSystemError, match="was not added to table"):
        output.publish(parts)


def test_staged_parts_outlive_a_vacuum(tmp_path: Path) -> None:
    DeltaTableFolder(tmp_path / "t").create(arrow_schema(SCHEMA), ())
    output = opened(tmp_path, 1)
    output.write("out", rows(1))
    parts = output.stage()
    DeltaTable(tmp_path / "t").vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    output.publish(parts)
    assert found(tmp_path) == [1]


def test_a_differing_table_is_refused_with_every_reason(tmp_path: Path) -> None:
    wrong = pa.schema([pa.field("n", pa.int32()), pa.field("more", pa.string(), nullable=False)])
    layout = DeltaTableFolder(tmp_path / "t").create(wrong, ["more"]).layout
    reasons = list(layout_mismatches(layout, arrow_schema(SCHEMA), ()))
    assert [reason.split(":")[0] for reason in reasons] == [
        "its column `n` is int, and rows have bigint",
        "it has no column `city` UTF-8 text",
        "its column `more` UTF-8 text is in no row",
        "its partition columns are [more]",
    ]
    expiring = {"delta.setTransactionRetentionDuration": "interval 7 days"}
    DeltaTable.create(tmp_path / "v", arrow_schema(SCHEMA), configuration=expiring)
    version = DeltaTableFolder(tmp_path / "v").load()
    assert version is not None
    (reason,) = layout_mismatches(version.layout, arrow_schema(SCHEMA), ())
    assert "unset delta.setTransactionRetentionDuration" in reason
    every = arrow_schema(parse_schema("a timestamp, b timestamp_ntz, c array<int>, d map<string,int>, e decimal(9,2)"))
    fitting = DeltaTableFolder(tmp_path / "u").create(every, ()).layout
    assert list(layout_mismatches(fitting, every, ())) == []
