"""Outputs in files that are rolled: parts of several commits become one file, once, whoever dies or comes late."""

import csv
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file import FileOutput, Rolling, file_output, joined_drafts, joined_parts
from streamapp_systems.file.part_writer import PartWriter
from streamapp_systems.protocols import StagedPart, StreamDescriptor, StreamSystemError
from support.table_outputs import rows, write_through_deaths

NEVER = Rolling(seconds=60.0, size=1 << 40)
FORMATS = (StreamFormat.PARQUET, StreamFormat.CSV, StreamFormat.JSON)
STEPS = 40


def opened(folder: Path, number: int, form=StreamFormat.CSV, folders=(), rolling: Rolling | None = NEVER) -> FileOutput:
    """Open the output of one incarnation."""
    stream = StreamDescriptor(name="out", system="files", address="out", format=form, folder_columns=folders)
    return FileOutput(folder, [stream], f"1-{number}", rolling)


def files(folder: Path) -> list[Path]:
    """Give the files that a reader sees."""
    return sorted(path for path in folder.rglob("part-*") if path.parent.name != ".staging")


def numbers(path: Path) -> list[int]:
    """Give the numbers of a file's rows, in their order."""
    if path.suffix == ".parquet":
        with path.open("rb") as file:
            return pq.read_table(file).column("n").to_pylist()
    with path.open(newline="") as file:
        if path.suffix == ".csv":
            return [int(row["n"]) for row in csv.DictReader(file)]
        return [json.loads(line)["n"] for line in file]


def staged(output: FileOutput, *commits: int) -> list[StagedPart]:
    """Stage a row with each commit."""
    parts = []
    for number in commits:
        output.write("out", rows(number))
        parts += output.stage()
    return parts


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_rows_are_in_files_once_with_deaths_and_zombies(data) -> None:
    form, folders = data.draw(st.sampled_from(FORMATS)), data.draw(st.sampled_from([(), ("city",)]))
    rolling = Rolling(seconds=60.0, size=data.draw(st.sampled_from([40, 1_500, 1 << 40])))
    steps = [
        (shutil, "copyfileobj"),
        (PartWriter, "append"),
        (PartWriter, "finish"),
        (joined_parts, "publish_file"),
        (Path, "replace"),
        (Path, "unlink"),
        (joined_parts, "remove_parts"),
        (joined_parts, "sync_folders"),
        (file_output, "sync_folder"),
    ]
    with TemporaryDirectory() as name:
        folder = Path(name)
        expected = write_through_deaths(
            lambda number: opened(folder, number, form, folders, rolling), steps, STEPS, data
        )
        assert sorted(n for path in files(folder) for n in numbers(path)) == expected


@pytest.mark.parametrize("form", FORMATS)
def test_parts_of_several_commits_are_one_file_of_each_folder(tmp_path: Path, form) -> None:
    output = opened(tmp_path, 1, form, ("city",))
    parts = staged(output, *range(12))
    assert files(tmp_path) == []
    output.publish(parts)
    names = ["part-1-1-0-to-9", "part-1-1-1-to-10", "part-1-1-2-to-11"]
    assert [path.stem for path in files(tmp_path)] == names
    assert [numbers(path) for path in files(tmp_path)] == [[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]
    output.publish(staged(output, 12))
    assert [numbers(path) for path in files(tmp_path) if path.stem == "part-1-1-12"] == [[12]]
    assert list((tmp_path / "out" / ".staging").iterdir()) == []


def test_rows_of_joined_files_of_parquet_are_in_few_row_groups(tmp_path: Path) -> None:
    output = opened(tmp_path, 1, StreamFormat.PARQUET)
    output.publish(staged(output, *range(20)))
    (path,) = files(tmp_path)
    assert pq.read_metadata(path).num_row_groups == 1
    assert pq.read_schema(path).equals(rows(0).schema)


def test_a_file_of_the_size_waits_for_no_others(tmp_path: Path) -> None:
    output = opened(tmp_path, 1, StreamFormat.JSON, ("city",), Rolling(seconds=60.0, size=20))
    parts = staged(output, 0, 1, 2)
    assert output.full(parts) == []
    parts += staged(output, 3, 6)
    full = [parts[0], *parts[3:]]
    assert list(output.full(parts)) == full
    output.publish(full)
    assert [numbers(path) for path in files(tmp_path)] == [[0, 3, 6]]
    assert output.full(parts[1:3]) == []


def test_parts_that_no_checkpoint_has_room_for_wait_no_longer(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(file_output, "MOST_WAITING", 3)
    output = opened(tmp_path, 1)
    parts = staged(output, 0, 1, 2)
    assert output.full(parts) == []
    parts += staged(output, 3)
    assert output.full(parts) == parts


def test_who_comes_second_leaves_what_is_published_alone(tmp_path: Path) -> None:
    output = opened(tmp_path, 1)
    parts = staged(output, 0, 1)
    output.publish(parts)
    before = [path.stat() for path in files(tmp_path)]
    opened(tmp_path, 2, rolling=None).publish(parts)
    assert [path.stat() for path in files(tmp_path)] == before


def test_a_part_that_is_gone_is_an_error_and_no_file_is_left(tmp_path: Path) -> None:
    output = opened(tmp_path, 1)
    parts = staged(output, 0, 1)
    (tmp_path / parts[1].staged).unlink()
    with pytest.raises(StreamSystemError, match=r"part-1-1-1\.csv is gone and was not published in .*1-0-to-1\.csv"):
        output.publish(parts)
    assert files(tmp_path) == []
    assert joined_drafts(tmp_path / "out") == []


def test_rows_of_one_file_have_one_schema(tmp_path: Path) -> None:
    output = opened(tmp_path, 1)
    staged(output, 0)
    with pytest.raises(StreamSystemError, match="columns n int64 after n int64, city string"):
        output.write("out", pa.table({"n": [1]}))
