"""Folders whose files become more: the same rows at the same offsets, whoever reads, and no half files."""

import os
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import CsvOptions, StreamFormat
from streamapp_systems.folder import FolderConsumer, GrowingFolder, growing_folders
from streamapp_systems.folder.file_journal import FileJournal, SeenFile, make_journal
from streamapp_systems.protocols import BadRecord, StreamDescriptor, StreamSystemError
from support.growing_folders import (
    COLUMNS,
    CSV,
    JSON,
    PARQUET,
    YEAR_2020,
    admin,
    arrive_and_read,
    created,
    publish,
    read,
    ssp,
)


@settings(max_examples=40)
@given(st.data())
def test_every_row_is_found_once_and_always_at_its_offset(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        arrive_and_read(Path(folder), data)


def test_files_follow_each_other_as_they_were_first_seen_and_at_first_by_name(tmp_path: Path) -> None:
    created(tmp_path, CSV, 1)
    publish(tmp_path, "10.csv", [3])
    publish(tmp_path, "9.csv", [1, 2])
    assert read(tmp_path, CSV, {ssp(0): 0}) == {ssp(0): [1, 2, 3]}
    publish(tmp_path, "1.csv", [4])
    assert read(tmp_path, CSV, {ssp(0): 0}) == {ssp(0): [1, 2, 3, 4]}
    assert read(tmp_path, CSV, {ssp(0): 2}) == {ssp(0): [3, 4]}


WITHOUT_HEADER = replace(CSV, csv=CsvOptions(header=False))


def test_a_journal_that_has_seen_files_is_of_one_layout(tmp_path: Path) -> None:
    publish(tmp_path, "1.csv", [1])
    created(tmp_path, CSV, 2)
    assert sum(admin(tmp_path).end_offsets([CSV]).values()) == 1
    for ask in (admin(tmp_path).end_offsets, admin(tmp_path).partitions):
        with pytest.raises(StreamSystemError, match=r'"csv.header": true.*the spec says .*"csv.header": false'):
            ask([WITHOUT_HEADER])


def test_a_journal_that_has_seen_nothing_takes_another_layout_and_is_no_more_that_of_the_first(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    created(tmp_path, CSV, 2)
    identity = admin(tmp_path).identities([CSV])["s"]
    early = FileJournal(tmp_path / "_streamapp" / "in.db")
    assert (admin(tmp_path).partitions([WITHOUT_HEADER]), admin(tmp_path).identities([WITHOUT_HEADER])) == (
        {},
        {"s": ""},
    )
    assert admin(tmp_path).partitions([CSV]) == {"s": 2}
    created(tmp_path, WITHOUT_HEADER, 3)
    assert admin(tmp_path).partitions([WITHOUT_HEADER]) == {"s": 3}
    assert admin(tmp_path).identities([WITHOUT_HEADER])["s"] == identity
    for act in (lambda: early.append({}), lambda: early.find(0, 0)):
        with pytest.raises(StreamSystemError, match="another app reads them as that"):
            act()


def test_two_that_see_the_same_files_in_different_orders_agree(tmp_path: Path) -> None:
    make_journal(tmp_path / "j.db", 2, "csv")
    make_journal(tmp_path / "j.db", 5, "csv")
    first, second = FileJournal(tmp_path / "j.db"), FileJournal(tmp_path / "j.db")
    a, b, c = (
        SeenFile(name=name, size=1, modified=1, records=records) for name, records in zip("abc", [2, 0, 3], strict=True)
    )
    first.append({0: [a, b]})
    second.append({0: [b, c, a]})
    first.append({0: [c], 1: [SeenFile(name="d", size=1, modified=1, records=1)]})
    assert (second.partitions, second.layout, second.ends([0, 1])) == (2, "csv", {0: 5, 1: 1})
    assert [(found.file.name, found.first, found.end) for found in second.files(0)] == [("a", 0, 2), ("c", 2, 5)]
    assert second.find(0, 5) is None
    assert second.seen(2) == (4, [c, SeenFile(name="d", size=1, modified=1, records=1)])


def test_what_is_still_written_is_left_alone(tmp_path: Path) -> None:
    created(tmp_path, CSV, 1)
    for name in ("_a.csv", ".b.csv", "c.csv.tmp", "d.txt"):
        publish(tmp_path, name, [1])
    seconds = [100.0]
    path = publish(tmp_path, "e.csv", [1], modified=YEAR_2020)
    files = GrowingFolder(
        tmp_path, tmp_path / "_streamapp", CSV, clock=lambda: seconds[0], wall_clock=lambda: YEAR_2020 * 10**9
    )
    journal = FileJournal(files.journal_path)

    def look() -> tuple[frozenset[int], list[str]]:
        return files.look(journal, [0], lambda: False), [file.name for file in journal.seen(0)[1]]

    assert look() == ({0}, [])
    seconds[0] += 1.9
    assert look() == ({0}, [])
    path.write_text("k\n1\n2\n")
    os.utime(path, (YEAR_2020, YEAR_2020))
    seconds[0] += 0.2
    assert look() == ({0}, [])
    seconds[0] += 2
    assert look() == (frozenset(), ["in/e.csv"])
    assert journal.ends([0]) == {0: 2}


def test_a_file_that_changes_is_an_error_that_names_it(tmp_path: Path) -> None:
    created(tmp_path, CSV, 1)
    publish(tmp_path, "1.csv", [1, 2])
    assert read(tmp_path, CSV, {ssp(0): 0}) == {ssp(0): [1, 2]}
    publish(tmp_path, "1.csv", [1, 2, 3])
    with pytest.raises(StreamSystemError, match=r"in/1\.csv has changed since it was first seen.*6 bytes \(now 8\)"):
        read(tmp_path, CSV, {ssp(0): 1})
    publish(tmp_path, "1.csv", [1, 3], modified=YEAR_2020 + 1)
    with pytest.raises(StreamSystemError, match=r"in/1\.csv has changed since it was first seen"):
        read(tmp_path, CSV, {ssp(0): 0})


@pytest.mark.parametrize("values", [[1, 2, 3], [3, 4]], ids=["appended", "replaced"])
def test_a_file_that_gets_other_rows_after_all_were_read_is_an_error_that_names_it(
    tmp_path: Path, values: list[int]
) -> None:
    created(tmp_path, CSV, 1)
    publish(tmp_path, "1.csv", [1, 2])
    assert read(tmp_path, CSV, {ssp(0): 0}) == {ssp(0): [1, 2]}
    path = publish(tmp_path, "1.csv", values, modified=YEAR_2020 + 1)
    with pytest.raises(StreamSystemError, match=r"in/1\.csv has changed since .*put new rows into new files"):
        read(tmp_path, CSV, {ssp(0): 2})
    path.unlink()
    assert read(tmp_path, CSV, {ssp(0): 2}) == {ssp(0): []}


def test_a_file_that_changes_while_it_is_read_gives_no_rows(tmp_path: Path) -> None:
    created(tmp_path, JSON, 1)
    path = publish(tmp_path, "1.json", list(range(200_000)))
    admin(tmp_path).end_offsets([JSON])
    with closing(FolderConsumer(growing_folders(tmp_path, None), [JSON])) as consumer:
        consumer.assign({ssp(0): 0}, {})
        assert consumer.poll([ssp(0)], 10, 5)[0].next_offset == 10
        path.write_bytes(path.read_bytes().replace(b"1", b"2"))
        with pytest.raises(StreamSystemError, match=r"offset 10: .*in/1\.json has changed"):
            consumer.poll([ssp(0)], 10, 5)


def test_files_that_were_read_may_be_deleted_and_others_not(tmp_path: Path) -> None:
    created(tmp_path, CSV, 1)
    for number in (1, 2, 3):
        publish(tmp_path, f"{number}.csv", [number, number])
    assert read(tmp_path, CSV, {ssp(0): 0}) == {ssp(0): [1, 1, 2, 2, 3, 3]}
    (tmp_path / "in" / "1.csv").unlink()
    assert read(tmp_path, CSV, {ssp(0): 2}) == {ssp(0): [2, 2, 3, 3]}
    assert admin(tmp_path).start_offsets([CSV]) == {ssp(0): 2}
    with pytest.raises(StreamSystemError, match=r"offset 1: .*in/1\.csv is gone"):
        read(tmp_path, CSV, {ssp(0): 1})
    for number in (2, 3):
        (tmp_path / "in" / f"{number}.csv").unlink()
    assert admin(tmp_path).start_offsets([CSV]) == {ssp(0): 6}


@pytest.mark.parametrize("kept", [False, True])
def test_a_file_that_is_compressed_after_it_was_read_is_not_read_again(tmp_path: Path, kept: bool) -> None:
    created(tmp_path, CSV, 2)
    plain = publish(tmp_path, "1.csv", [1, 2])
    ends = {found: len(values) for found, values in read(tmp_path, CSV, {ssp(0): 0, ssp(1): 0}).items()}
    publish(tmp_path, "1.csv.gz", [1, 2])
    if not kept:
        plain.unlink()
    with pytest.raises(StreamSystemError, match=r"in/1\.csv\.gz has the name of in/1\.csv, .*twice"):
        read(tmp_path, CSV, ends)


def test_a_file_that_can_not_be_read_is_named(tmp_path: Path) -> None:
    created(tmp_path, PARQUET, 1)
    path = publish(tmp_path, "1.parquet", [1])
    path.write_bytes(path.read_bytes()[:-8])
    os.utime(path, (YEAR_2020, YEAR_2020))
    with pytest.raises(
        StreamSystemError, match=r"in/1\.parquet can't be read as parquet: .* is renamed when it is comp"
    ):
        read(tmp_path, PARQUET, {ssp(0): 0})


@pytest.mark.parametrize("stream", [CSV, JSON], ids=["csv", "json"])
def test_a_compressed_file_that_is_cut_off_is_named(tmp_path: Path, stream: StreamDescriptor) -> None:
    created(tmp_path, stream, 1)
    path = publish(tmp_path, f"1.{stream.format}.gz", list(range(1_000)))
    path.write_bytes(path.read_bytes()[:-9])
    os.utime(path, (YEAR_2020, YEAR_2020))
    with pytest.raises(StreamSystemError, match=r"in/1\.\w+\.gz can't be read as \w+: Truncated compressed stream"):
        read(tmp_path, stream, {ssp(0): 0})


def test_a_bad_record_has_the_offset_in_its_partition(tmp_path: Path) -> None:
    created(tmp_path, CSV, 1)
    publish(tmp_path, "1.csv", [1, 2])
    path = publish(tmp_path, "2.csv", [3])
    path.write_text("k\nx\n4\n")
    os.utime(path, (YEAR_2020, YEAR_2020))
    admin(tmp_path).end_offsets([CSV])
    with closing(FolderConsumer(growing_folders(tmp_path, None), [CSV])) as consumer:
        consumer.assign({ssp(0): 0}, {})
        assert consumer.poll([ssp(0)], 10, 5)[0].next_offset == 2
        with pytest.raises(BadRecord, match=r"offset 2: .*in/2\.csv: column k: 'x' is no int"):
            consumer.poll([ssp(0)], 10, 5)
        (last,) = consumer.poll([ssp(0)], 10, 5)
        assert (last.offset, last.next_offset, last.rows.to_pylist()) == (3, 4, [{"k": 4}])


def test_folders_may_be_columns_and_patterns_find_files_below(tmp_path: Path) -> None:
    days = StreamDescriptor(
        name="s",
        system="land",
        address="in",
        format=StreamFormat.CSV,
        schema=parse_schema("day string, k int"),
        folder_columns=("day",),
    )
    below = StreamDescriptor(name="s", system="land", address="in/**/*.csv", format=StreamFormat.CSV, schema=COLUMNS)
    for stream in (days, below):
        created(tmp_path, stream, 1)
    publish(tmp_path, "day=mon/1.csv", [1])
    publish(tmp_path, "day=tue/1.csv", [2])
    for stream in (days, below):
        assert read(tmp_path, stream, {ssp(0): 0}) == {ssp(0): [1, 2]}


def test_a_journal_is_of_one_layout_and_one_number_of_partitions(tmp_path: Path) -> None:
    with pytest.raises(StreamSystemError, match=r"there is no folder .*/in\. Make it"):
        admin(tmp_path).partitions([CSV])
    (tmp_path / "in").mkdir()
    assert (admin(tmp_path).partitions([CSV]), admin(tmp_path).identities([CSV])) == ({}, {"s": ""})
    created(tmp_path, CSV, 2)
    identity = admin(tmp_path).identities([CSV])["s"]
    assert (admin(tmp_path).partitions([CSV]), bool(identity)) == ({"s": 2}, True)
    with pytest.raises(StreamSystemError, match="has 2 partitions, not 3"):
        created(tmp_path, CSV, 3)
    with pytest.raises(StreamSystemError, match=r"offset 1, but journal .* ends at 0"):
        read(tmp_path, CSV, {ssp(0): 1})
    (tmp_path / "_streamapp" / "in.db").unlink()
    with pytest.raises(StreamSystemError, match=r"in\.db is gone"):
        read(tmp_path, CSV, {ssp(0): 0})
    created(tmp_path, CSV, 2)
    assert admin(tmp_path).identities([CSV])["s"] != identity
