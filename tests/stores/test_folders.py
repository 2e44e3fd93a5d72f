"""Folders in a real S3 server: what holds of those on a disk holds of them, and what only stores do."""

from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_systems.file.csv_format import CsvFormat
from streamapp_systems.file.stored_files import stored_files
from streamapp_systems.folder import FolderConsumer, GrowingFolder, growing_folders
from streamapp_systems.folder.file_journal import FileJournal
from streamapp_systems.protocols import StreamSystemError, Unavailable
from support import apps
from support.growing_folders import CSV, JSON, admin, arrive_and_read, created, publish, read, ssp
from support.object_stores import SECRET, bucket_at, system_in
from support.waiting import eventually


@settings(max_examples=12)
@given(data=st.data())
def test_every_row_is_found_once_and_always_at_its_offset(shared, tmp_path_factory, data):
    arrive_and_read(shared(), data, tmp_path_factory.mktemp("journals"))


def test_folders_may_be_columns_and_patterns_find_objects_below(bucket, tmp_path):
    days = replace(CSV, schema=parse_schema("day string, k int"), folder_columns=("day",))
    below = replace(CSV, address="in/**/*.csv")
    for stream in (days, below):
        created(bucket, stream, 1, tmp_path)
    publish(bucket, "day=a b%2Fü/1.csv", [1])
    publish(bucket, "day=tue/1.csv", [2])
    for stream in (days, below):
        assert read(bucket, stream, {ssp(0): 0}, journals=tmp_path) == {ssp(0): [1, 2]}
    with closing(FolderConsumer(growing_folders(bucket, tmp_path), [days])) as consumer:
        consumer.assign({ssp(0): 0}, {})
        (batch,) = consumer.poll([ssp(0)], 1, 5)
        assert batch.rows.to_pylist() == [{"day": "a b/ü", "k": 1}]


@pytest.mark.parametrize("start", [0, 2], ids=["before it is read", "after it was read"])
def test_an_object_that_is_replaced_in_the_same_second_is_an_error_that_names_it(bucket, tmp_path, start):
    created(bucket, CSV, 1, tmp_path)
    publish(bucket, "1.csv", [1, 2])
    admin(bucket, tmp_path).end_offsets([CSV])
    publish(bucket, "1.csv", [1, 3])
    with pytest.raises(StreamSystemError, match=r"in/1\.csv has changed since .*[Rr]emove the journal"):
        read(bucket, CSV, {ssp(0): start}, journals=tmp_path)


def test_an_object_that_is_replaced_while_it_is_read_gives_no_rows(bucket, tmp_path):
    created(bucket, JSON, 1, tmp_path)
    publish(bucket, "1.json", list(range(200_000)))
    admin(bucket, tmp_path).end_offsets([JSON])
    with closing(FolderConsumer(growing_folders(bucket, tmp_path), [JSON])) as consumer:
        consumer.assign({ssp(0): 0}, {})
        assert consumer.poll([ssp(0)], 10, 5)[0].next_offset == 10
        publish(bucket, "1.json", list(range(200_000, 400_000)))
        with pytest.raises(StreamSystemError, match=r"in/1\.json has changed"):
            eventually(lambda: not consumer.poll([ssp(0)], 50_000, 5))


def test_a_look_goes_on_with_what_was_listed_and_the_next_one_finds_what_came_since(server, bucket, tmp_path):
    created(bucket, CSV, 1, tmp_path)
    for number in (1, 2, 3):
        publish(bucket, f"{number}.csv", [number])
    files = GrowingFolder(bucket, tmp_path, CSV)
    with closing(FileJournal(files.journal_path)) as journal:

        def look(*, stopping=False):
            incomplete = files.look(journal, [0], lambda: stopping)
            return incomplete, [file.name for file in journal.seen(0)[1]]

        assert look(stopping=True) == ({0}, ["in/1.csv"])
        publish(bucket, "2.csv", [4, 5])
        publish(bucket, "0.csv", [0])
        before = len(server.requests)
        assert look() == ({0}, ["in/1.csv", "in/3.csv"])
        assert not any("ListObjects" in line for line in server.requests[before:])
        assert look() == (frozenset(), ["in/1.csv", "in/3.csv", "in/0.csv", "in/2.csv"])
        assert journal.ends([0]) == {0: 5}
        before = len(server.requests)
        look()
        assert ["ListObjects" in line for line in server.requests[before:]] == [True]


def test_a_journal_is_of_one_folder(bucket, tmp_path):
    created(bucket / "a", CSV, 1, tmp_path)
    publish(bucket / "a", "1.csv", [1])
    admin(bucket / "a", tmp_path).end_offsets([CSV])
    with pytest.raises(StreamSystemError, match=r"has counted its files as .*/a"):
        admin(bucket / "b", tmp_path).end_offsets([CSV])


def test_a_folder_that_can_not_be_one_is_refused(server, bucket, tmp_path):
    bucket.bucket.objects.put("in", b"k\n1\n")
    with pytest.raises(StreamSystemError, match="in is an object: name the folder it is in"):
        admin(bucket, tmp_path).partitions([CSV])
    with pytest.raises(StreamSystemError, match="has no such bucket"):
        admin(bucket_at(server.endpoint, "nowhere"), tmp_path).partitions([CSV])


def test_an_outage_is_no_defect_of_an_object(server, bucket, tmp_path, monkeypatch):
    monkeypatch.setattr("streamapp_systems.objects.object_store._SECONDS", 1)
    created(bucket, CSV, 1, tmp_path)
    publish(bucket, "1.csv.gz", [1])
    (found,), _ = stored_files(bucket, CSV)
    calls = {
        "list": lambda: read(bucket, CSV, {ssp(0): 0}, journals=tmp_path),
        "count": lambda: CsvFormat(CSV.csv).count(found),
    }
    server.stop()
    try:
        for call in calls.values():
            with pytest.raises(Unavailable):
                call()
    finally:
        server.start()


def test_an_app_reads_what_comes_to_a_folder(bucket, tmp_path, monkeypatch):
    for name, value in SECRET.items():
        monkeypatch.setenv(name, value)
    landing = system_in(bucket)["delta"] | {"path": str(bucket), "journal": "journal"}
    document = {
        "apiVersion": "streamapp.dev/v1alpha1",
        "kind": "StreamApp",
        "metadata": {"name": "app"},
        "spec": {
            "systems": {
                "land": {"folder": landing},
                "out": {"file": {"path": "."}},
                "log": {"log": {"path": "log.db"}},
            },
            "defaultSystem": "log",
            "streams": {
                "rows": {"system": "land", "name": "in", "format": "csv", "schema": "k int", "partitions": 2},
                "sums": {"system": "out", "format": "csv"},
            },
            "operators": [
                {"name": "doubled", "from": "rows", "map": "k * 2 as k"},
                {"name": "sent", "from": "doubled", "sendTo": "sums"},
            ],
            "job": {"commitInterval": "50ms"},
        },
    }

    def found():
        texts = [path.read_text().split()[1:] for path in (tmp_path / "sums").glob("part-*")]
        return sorted(int(line) for lines in texts for line in lines)

    publish(bucket, "1.csv", [1, 2])
    apps.run_until(tmp_path, document, lambda: found() == [2, 4])
    publish(bucket, "2.csv.gz", [3])
    apps.run_until(tmp_path, document, lambda: found() == [2, 4, 6])
