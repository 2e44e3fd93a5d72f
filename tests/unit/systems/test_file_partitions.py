"""Which files a stream is."""

from pathlib import Path

import pytest

from streamapp_core.spec.streams import StreamFormat
from streamapp_systems.file import FileAdmin
from streamapp_systems.file.partition_files import partition_files
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError


def stream(address: str, stream_format: StreamFormat = StreamFormat.CSV) -> StreamDescriptor:
    return StreamDescriptor(name="s", system="files", address=address, format=stream_format)


def make(root: Path, *names: str) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("k\n1\n")


def found(root: Path, address: str, stream_format: StreamFormat = StreamFormat.CSV) -> list[str]:
    return [str(path.relative_to(root)) for path in partition_files(root, stream(address, stream_format))]


def test_a_file_is_one_partition_whatever_its_ending(tmp_path: Path) -> None:
    make(tmp_path, "flights.txt")
    assert found(tmp_path, "flights.txt") == ["flights.txt"]


def test_the_files_of_a_folder_are_in_natural_order(tmp_path: Path) -> None:
    make(tmp_path, "in/part-10.csv", "in/part-2.csv", "in/part-02.csv", "in/a.csv")
    assert found(tmp_path, "in") == ["in/a.csv", "in/part-02.csv", "in/part-2.csv", "in/part-10.csv"]


def test_hidden_and_marked_files_and_other_endings_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, "in/a.csv", "in/_streamapp.json", "in/.b.csv", "in/_c.csv", "in/d.json", "in/.staging/e.csv")
    assert found(tmp_path, "in") == ["in/a.csv"]
    assert found(tmp_path, "**/*.csv") == ["in/a.csv"]
    assert found(tmp_path, "in", StreamFormat.JSON) == ["in/d.json"]


def test_a_place_that_cannot_be_looked_at_is_told(tmp_path: Path) -> None:
    with pytest.raises(StreamSystemError, match=r"stream s: .* can't be looked at: File name too long\. Correct"):
        found(tmp_path, "x" * 300)


def test_compressed_text_is_among_the_files(tmp_path: Path) -> None:
    make(tmp_path, "in/1.csv", "in/2.csv.gz", "in/3.csv.zst", "in/4.csv.zip", "in/5.parquet.gz", "in/6.parquet")
    assert found(tmp_path, "in") == ["in/1.csv", "in/2.csv.gz", "in/3.csv.zst"]
    assert found(tmp_path, "in", StreamFormat.PARQUET) == ["in/6.parquet"]


def test_a_pattern_goes_through_folders_in_natural_order(tmp_path: Path) -> None:
    make(tmp_path, "m-10/x.csv", "m-9/y.csv", "m-9/z.json")
    assert found(tmp_path, "m-*/*.csv") == ["m-9/y.csv", "m-10/x.csv"]


def test_a_pattern_may_be_absolute_and_name_hidden_folders(tmp_path: Path) -> None:
    make(tmp_path, ".data/a-1.csv", ".data/_a-2.csv")
    assert found(tmp_path, str(tmp_path / ".data" / "*-?.csv")) == [".data/a-1.csv"]


def test_a_stream_without_files_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    admin = FileAdmin(tmp_path)
    assert admin.partitions([stream("none"), stream("empty"), stream("*.csv")]) == {}
    assert admin.end_offsets([stream("none")]) == {}


def test_streams_of_files_are_checked_not_made(tmp_path: Path) -> None:
    make(tmp_path, "a.csv", "b.csv")
    admin = FileAdmin(tmp_path)
    admin.create({stream("*.csv"): 2})
    with pytest.raises(StreamSystemError, match="needs 3 files"):
        admin.create({stream("*.csv"): 3})


def test_arrow_is_no_format_of_files(tmp_path: Path) -> None:
    make(tmp_path, "a.arrow")
    with pytest.raises(StreamSystemError, match="csv, json or parquet"):
        FileAdmin(tmp_path).end_offsets([stream("a.arrow", StreamFormat.ARROW)])
