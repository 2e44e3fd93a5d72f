"""Tables and folders that are read as they are at one version: all rows of it, always the same, or that it is gone."""

from contextlib import closing
from dataclasses import replace

import pytest
from deltalake import DeltaTable
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_systems.folder import FolderAdmin, FolderConsumer, growing_folders, growing_tables
from streamapp_systems.protocols import BadRecord, StreamSystemError, VersionGone, WholeVersion
from support import growing_folders as folders
from support import growing_iceberg
from support import growing_tables as tables

KINDS = ("delta", "iceberg", "folder")


class Written:
    """A table or folder that others write, and its rows."""

    def __init__(self, kind, root):
        self.kind, self.root, self.rows, self.files = kind, root, {0, 1}, 0
        if kind == "iceberg":
            self.lake = growing_iceberg.GrowingLake(root)
            self.lake.append([0, 1])
            self.streams, self.plain = self.lake.streams, growing_iceberg.PLAIN
        elif kind == "delta":
            tables.append(root, [0, 1])
            self.streams, self.plain = growing_tables(root, None), tables.PLAIN
        else:
            folders.publish(root, "first.json", [0, 1])
            self.streams, self.plain = growing_folders(root, None), folders.JSON

    @property
    def delta(self):
        return DeltaTable(str(self.root / "t"))

    def append(self, values):
        self.rows |= set(values)
        if self.kind == "delta":
            tables.append(self.root, values)
        elif self.kind == "iceberg":
            self.lake.append(values)
        else:
            self.files += 1
            folders.publish(self.root, f"{self.files}.json", values)

    def delete_even(self):
        self.rows = {k for k in self.rows if k % 2}
        if self.kind == "delta":
            self.delta.delete("k % 2 = 0")
        elif self.kind == "iceberg":
            rows = self.lake.table().scan().to_arrow()
            self.lake.rewrite(rows.filter([k % 2 == 1 for k in rows.column("k").to_pylist()]))
        else:
            for path in (self.root / "in").iterdir():
                path.unlink()
            folders.publish(self.root, "odd.json", sorted(self.rows))

    def compact(self):
        if self.kind == "delta":
            self.delta.optimize.compact()
        elif self.kind == "iceberg":
            self.lake.compact()

    def latest(self):
        return self.streams(replace(self.plain, whole=WholeVersion(1))).latest_version()

    def stream(self, version, partitions=1):
        return replace(self.plain, whole=WholeVersion(partitions, version))

    def ends(self, stream):
        return FolderAdmin(self.streams).end_offsets([stream])

    def read(self, stream, ends, starts, limit):
        """Read to the ends, which are told once."""
        rows = {ssp: [] for ssp in starts}
        with closing(FolderConsumer(self.streams, [stream])) as consumer:
            consumer.assign(starts, ends)
            ended = set()
            while ended < set(starts):
                for batch in consumer.poll(set(starts) - ended, limit, 0.0):
                    assert batch.offset == starts[batch.ssp] + len(rows[batch.ssp])
                    rows[batch.ssp] += [] if batch.rows is None else batch.rows.column("k").to_pylist()
                    ended |= {batch.ssp} if batch.ended else set()
            assert not consumer.poll(set(starts), limit, 10.0)
        return rows


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=8)
@given(data=st.data())
def test_a_version_has_its_rows_at_their_offsets_whatever_follows(kind, data, tmp_path_factory):
    written = Written(kind, tmp_path_factory.mktemp("lake"))
    partitions, steps = data.draw(st.integers(1, 3)), ["append", "append", "delete_even", "compact", "read"]
    known, next_value = {}, 2
    for step in [*data.draw(st.lists(st.sampled_from(steps), max_size=8)), "read"]:
        if step == "append":
            count = data.draw(st.integers(1, 20))
            written.append(list(range(next_value, next_value + count)))
            next_value += count
        elif step == "read":
            version = written.latest()
            ends = written.ends(written.stream(version, partitions))
            assert sum(ends.values()) == len(written.rows)
            if kind == "folder":
                known = {}
            known.setdefault(version, (ends, set(written.rows), {}))
        else:
            getattr(written, step)()
        for version, (ends, expected, seen) in known.items():
            if kind == "folder" and version != written.latest():
                continue
            stream = written.stream(version, partitions)
            starts = {ssp: data.draw(st.integers(0, 100)) * end // 100 if seen else 0 for ssp, end in ends.items()}
            found = written.read(stream, ends, starts, data.draw(st.integers(1, 50)))
            if seen:
                assert found == {ssp: seen[ssp][start:] for ssp, start in starts.items()}
            seen.update(seen or found)
            assert {k for rows in seen.values() for k in rows} == expected


@pytest.mark.parametrize("kind", ["delta", "folder"])
def test_a_version_whose_files_are_gone_is_told_to_be_gone(tmp_path, kind):
    written = Written(kind, tmp_path)
    first = written.stream(written.latest())
    ends = written.ends(first)
    (ssp,) = ends
    consumer = FolderConsumer(written.streams, [first])
    consumer.assign({ssp: 0}, ends)
    written.delete_even()
    if kind == "delta":
        written.delta.vacuum(0, dry_run=False, enforce_retention_duration=False)
    with closing(consumer), pytest.raises(VersionGone, match="is gone"):
        read_on(consumer, ssp)
    with pytest.raises(VersionGone):
        written.ends(first)
    with pytest.raises(VersionGone):
        FolderConsumer(written.streams, [first]).assign({ssp: 0}, ends)
    with closing(FolderConsumer(written.streams, [first])) as consumer:
        consumer.assign(ends, ends)
        (batch,) = consumer.poll([ssp], 10, 0.0)
        assert (batch.ended, batch.rows) == (True, None)


def read_on(consumer, ssp):
    """Read what is left: a file that is still there may come first."""
    while consumer.poll([ssp], 10, 0.0):
        pass


def test_a_snapshot_that_has_expired_is_gone(tmp_path):
    written = Written("iceberg", tmp_path)
    first = written.stream(written.latest())
    written.append([2])
    snapshot = written.lake.table().snapshots()[0].snapshot_id
    written.lake.table().maintenance.expire_snapshots().by_id(snapshot).commit()
    with pytest.raises(VersionGone, match=rf"snapshot {snapshot} has expired"):
        written.ends(first)


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_table_that_was_made_again_has_none_of_its_versions(tmp_path, kind):
    written = Written(kind, tmp_path)
    first = written.stream(written.latest())
    if kind == "delta":
        (tmp_path / "t").rename(tmp_path / "old")
        tables.append(tmp_path, [0])
    else:
        written.lake.drop()
        written = Written(kind, tmp_path)
    assert written.latest() != first.whole.version
    with pytest.raises(VersionGone, match="made again"):
        written.ends(first)


def test_what_changes_no_file_is_no_version(tmp_path):
    written = Written("delta", tmp_path)
    written.delete_even()
    before, version = written.latest(), written.delta.version()
    written.delta.vacuum(0, dry_run=False, enforce_retention_duration=False)
    assert written.delta.version() > version
    assert written.latest() == before
    written.append([3])
    assert written.latest() == f"{written.delta.version()}-{written.latest().partition('-')[2]}"


def test_versions_of_a_table_outlive_the_commits_that_a_checkpoint_has(tmp_path):
    written = Written("delta", tmp_path)
    written.append([2])
    written.delta.create_checkpoint()
    (tmp_path / "t" / "_delta_log" / f"{0:020}.json").unlink()
    first = written.stream(written.latest())
    written.append([3])
    assert sum(written.ends(first).values()) == 3
    (tmp_path / "t" / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(VersionGone, match=r"version 1 of table .* is there no more"):
        written.ends(first)


def test_an_empty_folder_is_a_version(tmp_path):
    (tmp_path / "in").mkdir()
    streams = growing_folders(tmp_path, None)
    stream = replace(folders.JSON, whole=WholeVersion(2))
    stream = replace(stream, whole=WholeVersion(2, streams(stream).latest_version()))
    ends = FolderAdmin(streams).end_offsets([stream])
    assert set(ends.values()) == {0}
    assert FolderAdmin(streams).partitions([stream]) == {"s": 2}
    assert FolderAdmin(streams).identities([stream]) == {}
    with closing(FolderConsumer(streams, [stream])) as consumer:
        consumer.assign(dict.fromkeys(ends, 0), ends)
        assert {batch.ssp for batch in consumer.poll(list(ends), 10, 0.0) if batch.ended} == set(ends)


def test_a_file_that_changes_while_it_is_read_brings_no_row(tmp_path):
    folders.publish(tmp_path, "1.json", [*range(100_000)])
    streams = growing_folders(tmp_path, None)
    stream = replace(folders.JSON, whole=WholeVersion(1))
    stream = replace(stream, whole=WholeVersion(1, streams(stream).latest_version()))
    ends = FolderAdmin(streams).end_offsets([stream])
    with closing(FolderConsumer(streams, [stream])) as consumer:
        consumer.assign(dict.fromkeys(ends, 0), ends)
        assert consumer.poll(list(ends), 10, 0.0)
        folders.publish(tmp_path, "1.json", [*range(50_000)])
        with pytest.raises(VersionGone, match="has changed"):
            consumer.poll(list(ends), 10, 0.0)


def test_bad_records_are_told_and_those_behind_them_are_read(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.json").write_text('{"k":1}\nnothing\n{"k":2}\nnothing\n')
    streams = growing_folders(tmp_path, None)
    stream = replace(folders.JSON, whole=WholeVersion(1))
    stream = replace(stream, whole=WholeVersion(1, streams(stream).latest_version()))
    ends = FolderAdmin(streams).end_offsets([stream])
    found, bad, ended = [], 0, False
    with closing(FolderConsumer(streams, [stream])) as consumer:
        consumer.assign(dict.fromkeys(ends, 0), ends)
        while not ended:
            try:
                for batch in consumer.poll(list(ends), 10, 0.0):
                    found += [] if batch.rows is None else batch.rows.column("k").to_pylist()
                    ended = batch.ended
            except BadRecord:
                bad += 1
    assert (found, bad) == ([1, 2], 2)


def test_a_table_that_is_not_there_is_told(tmp_path):
    stream = replace(tables.PLAIN, whole=WholeVersion(1))
    with pytest.raises(StreamSystemError, match="there is no table of Delta at"):
        growing_tables(tmp_path, None)(stream).latest_version()
