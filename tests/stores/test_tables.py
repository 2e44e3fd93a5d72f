"""Tables of Delta in a real S3 server: what holds of those in folders holds of them, and what only stores do."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from random import Random
from threading import Barrier

import pyarrow as pa
import pytest
from deltalake import WriterProperties, write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.delta import DeltaTableFolder, DeltaVacuum
from streamapp_systems.folder import FolderAdmin, FolderConsumer, growing_tables
from streamapp_systems.folder.file_journal import FileJournal
from streamapp_systems.folder.growing_table import GrowingTable
from streamapp_systems.objects import check_conditional_writes, object_store
from streamapp_systems.protocols import StreamSystemError, Unavailable, VersionGone, WholeVersion
from support import iceberg_outputs
from support.delta_outputs import create, delta_table_in, found, opened, options_of, table_in
from support.faulty_server import FaultyServer
from support.growing_tables import PLAIN, admin, append, grow_and_read, keys, read, ssp, stream
from support.joined_files import joiner, live, publish_each
from support.object_stores import bucket_at
from support.table_outputs import SCHEMA, publish_through_deaths, rows
from support.waiting import eventually


@settings(max_examples=15)
@given(data=st.data())
def test_rows_are_added_once_with_deaths_zombies_and_other_writers(shared, data):
    publish_through_deaths(table_in(shared()), data)


@settings(max_examples=10)
@given(data=st.data())
def test_every_row_is_found_once_and_always_at_its_offset(shared, tmp_path_factory, data):
    grow_and_read(shared(), data, tmp_path_factory.mktemp("journals"))


def race(bucket):
    """Commit one version four times at once; give what each was told."""
    loaded = [DeltaTableFolder(bucket / "t").load() for _ in range(4)]
    start = Barrier(len(loaded))

    def commit(number):
        start.wait()
        return loaded[number].append([], {f"writer-{number}": 1})

    with ThreadPoolExecutor(len(loaded)) as threads:
        return list(threads.map(commit, range(len(loaded))))


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {
            "CONDITIONAL_PUT": "disabled",
            "COPY_IF_NOT_EXISTS": "multipart",
            "S3_ALLOW_UNSAFE_RENAME": "true",
            "S3_LOCKING_PROVIDER": "dynamodb",
        },
    ],
)
def test_of_commits_of_one_version_the_store_takes_one(server, bucket, monkeypatch, environment):
    for name, value in environment.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    create(bucket)
    before = len(server.requests)

    def refused():
        """Race until the store itself has refused a commit: the library looks first whether there is one."""
        assert sorted(race(bucket)) == [False, False, False, True]
        return any("PutObject" in line and "PreconditionFailed" in line for line in server.requests[before:])

    assert eventually(refused)
    check_conditional_writes(bucket)


def once(method, ending, fault):
    """Give a fault that the first such request has."""
    left = [fault]
    return lambda asked, path: left.pop() if left and asked == method and path.endswith(ending) else None


@pytest.mark.parametrize("fault", ["lost", "failed"])
def test_a_version_that_was_written_without_an_answer_is_found_in_the_table(server, bucket, fault):
    """The library sends a request again, and is told then that there is such a version."""
    with FaultyServer(server.endpoint) as before:
        root = bucket_at(before.endpoint, bucket.bucket.name)
        before.fault = once("PUT", f"{0:020}.json", fault)
        create(root)
        assert delta_table_in(root).version() == 0
        output = opened(root, 1)
        output.write("out", rows(1))
        before.fault = once("PUT", ".arrow", fault)
        parts = output.stage()
        before.fault = once("PUT", f"{1:020}.json", fault)
        output.publish(parts)
        tried = [path for method, path in before.seen if method == "PUT" and path.endswith(f"{1:020}.json")]
    opened(bucket, 2).publish(parts)
    assert found(bucket) == [1]
    assert delta_table_in(bucket).version() == 1
    assert len(tried) > 1


def test_of_two_processes_that_create_a_table_one_does(server, bucket):
    with FaultyServer(server.endpoint) as before:

        def race(method, path):
            if method == "PUT" and path.endswith(f"{0:020}.json"):
                before.fault = lambda _method, _path: None
                create(bucket)

        before.fault = race
        create(bucket_at(before.endpoint, bucket.bucket.name))
    assert delta_table_in(bucket).version() == 0


def test_a_version_that_a_store_refuses_while_it_is_written_by_another_is_tried_later(server, bucket):
    create(bucket)
    with FaultyServer(server.endpoint) as before:
        output = opened(bucket_at(before.endpoint, bucket.bucket.name), 1)
        output.write("out", rows(1))
        parts = output.stage()
        before.fault = lambda method, path: "conflict" if method == "PUT" and path.endswith(f"{1:020}.json") else None
        with pytest.raises(Unavailable, match=r"can't be written at the moment"):
            output.publish(parts)
    opened(bucket, 2).publish(parts)
    assert found(bucket) == [1]


def test_the_endpoint_of_the_spec_comes_before_all_variables(server, bucket, monkeypatch):
    for name in ("ENDPOINT", "ENDPOINT_URL", "ENDPOINT_URL_S3"):
        monkeypatch.setenv(f"AWS_{name}", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    create(bucket)
    output = opened(bucket, 1)
    output.write("out", rows(1))
    output.publish(output.stage())
    assert found(bucket) == [1]


def test_a_table_that_the_library_can_not_read_is_no_outage(bucket):
    bucket.bucket.objects.put(f"{bucket / 't'}".removeprefix(f"{bucket}/") + f"/_delta_log/{0:020}.json", b"{")
    with pytest.raises(StreamSystemError, match="t can't be read") as caught:
        DeltaTableFolder(bucket / "t").load()
    assert not isinstance(caught.value, Unavailable)


def test_a_store_that_writes_objects_twice_is_refused(bucket, monkeypatch):
    put = type(bucket.bucket.objects).put
    monkeypatch.setattr(
        type(bucket.bucket.objects), "put", lambda store, key, made, **_: put(store, key, made), raising=True
    )
    with pytest.raises(StreamSystemError, match="has no conditional writes"):
        check_conditional_writes(bucket)


def test_staged_parts_and_what_was_not_committed_leave_nothing(bucket):
    create(bucket)
    output = opened(bucket, 1)
    output.write("out", rows(1))
    parts = output.stage()
    assert [str(bucket / part.staged) for part in parts] == [
        f"{bucket}/.streamapp/default.a/out/.staging/part-1-1-5-0.arrow"
    ]
    output.publish(parts)
    output.close()
    written = {each["path"] for chunk in bucket.bucket.objects.list() for each in chunk}
    assert written == {f"t/_delta_log/{version:020}.json" for version in (0, 1)} | {"t/part-1-1-5-0.parquet"}


def test_a_table_that_is_made_again_while_it_is_read_is_refused(bucket, tmp_path):
    append(bucket, [1])
    admin(bucket, tmp_path).create({PLAIN: 1})
    files = GrowingTable(bucket, tmp_path, PLAIN)
    with closing(FileJournal(files.journal_path)) as journal:
        files.look(journal, [0], lambda: False)
        append(bucket, [3])
        files.look(journal, [0], lambda: False)
        bucket.bucket.objects.delete([each["path"] for chunk in bucket.bucket.objects.list() for each in chunk])
        for value in (5, 7):
            append(bucket, [value])
        with pytest.raises(StreamSystemError, match="is another table than the one whose files journal"):
            files.look(journal, [0], lambda: False)


def test_a_file_that_is_gone_while_it_is_read_is_told(bucket, tmp_path):
    random = Random(1)
    values = [2 * random.randrange(1 << 30) for _ in range(600_000)]  # more than is read at once
    append(bucket, values, writer_properties=WriterProperties(max_row_group_size=100_000))
    admin(bucket, tmp_path).create({PLAIN: 1})
    with closing(FolderConsumer(growing_tables(bucket, tmp_path), [PLAIN])) as consumer:
        consumer.assign({ssp(0): 0}, {})
        assert eventually(lambda: consumer.poll([ssp(0)], 1_000, 0.05))
        files = [each["path"] for chunk in bucket.bucket.objects.list("t") for each in chunk]
        bucket.bucket.objects.delete([path for path in files if path.endswith(".parquet")])
        with pytest.raises(StreamSystemError, match=r"parquet is gone .* If it was vacuumed, remove the journal"):
            eventually(lambda: not consumer.poll([ssp(0)], 100_000, 0.05))


def test_a_look_that_finds_nothing_new_does_not_list(server, bucket, tmp_path):
    append(bucket, [1])
    admin(bucket, tmp_path).create({PLAIN: 1})
    files = GrowingTable(bucket, tmp_path, PLAIN)
    with closing(FileJournal(files.journal_path)) as journal:
        files.look(journal, [0], lambda: False)
        before = len(server.requests)
        files.look(journal, [0], lambda: False)
    made = server.requests[before:]
    assert 0 < len(made) <= 3
    assert not any("ListObjects" in line for line in made)


def test_an_object_that_is_replaced_while_it_is_read_is_noticed(bucket):
    place = bucket / "some" / "object"
    bucket.bucket.objects.put(place.key, b"a" * 4_000_000)
    with place.open("rb") as file:
        assert file.read(1) == b"a"
        bucket.bucket.objects.put(place.key, b"b" * 4_000_000)
        with pytest.raises(StreamSystemError, match="some/object has changed while it was read"):
            file.read()


def test_all_types_and_partition_columns_come_back(bucket, tmp_path):
    of = stream("n bigint, day date, city string")
    values = pa.table(
        {"n": [1, 2], "day": pa.array([1, None], pa.date32()), "city": ["a b/ü=%", None]}, arrow_schema(of.schema)
    )
    write_deltalake(str(bucket / "t"), values, partition_by=["day", "city"], storage_options=options_of(bucket))
    admin(bucket, tmp_path).create({of: 1})
    written = read(bucket, {ssp(0): 0}, of, journals=tmp_path)[ssp(0)]
    assert sorted(written, key=lambda row: row["n"]) == values.to_pylist()


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"name": "nowhere"}, "has no such bucket: create it, or correct the path"),
        ({"secret": "wrong"}, "refuses the credentials: correct them"),
        ({"region": "us-east-1"}, "set `store.region` to `eu-test-1`"),
    ],
)
def test_a_store_that_refuses_says_why_and_what_to_do(server, bucket, tmp_path, bad, said):
    root = bucket_at(server.endpoint, **{"name": bucket.bucket.name, **bad})
    for call in (
        lambda: DeltaTableFolder(root / "t").create(arrow_schema(SCHEMA), ()),
        lambda: admin(root, tmp_path).partitions([PLAIN]),
        lambda: check_conditional_writes(root),
    ):
        with pytest.raises(StreamSystemError, match=said) as caught:
            call()
        assert not isinstance(caught.value, Unavailable)
        assert server.endpoint in str(caught.value)
        assert str(root) in str(caught.value)
        assert "not-a-secret" not in str(caught.value)


def test_a_store_that_is_away_is_waited_for(server, bucket, tmp_path, monkeypatch):
    monkeypatch.setattr(object_store, "_SECONDS", 1)
    append(bucket, [1])
    admin(bucket, tmp_path).create({PLAIN: 1})
    output = opened(bucket, 1)
    output.write("out", rows(1))
    version = DeltaTableFolder(bucket / "t").load()
    calls = {
        "read": lambda: read(bucket, {ssp(0): 0}, journals=tmp_path),
        "load": lambda: DeltaTableFolder(bucket / "t").load(),
        "create": lambda: create(bucket),
        "commit": lambda: version.append([], {"writer": 1}),
        "stage": output.stage,
        "probe": lambda: check_conditional_writes(bucket),
    }
    server.stop()
    try:
        for call in calls.values():
            with pytest.raises(Unavailable, match=f"{server.endpoint} does not answer"):
                call()
    finally:
        server.start()
    assert keys(bucket, journals=tmp_path) == [1]


@pytest.mark.parametrize("library", ["delta", "iceberg"])
def test_small_files_are_joined(bucket, tmp_path, library):
    table = table_in(bucket) if library == "delta" else iceberg_outputs.table_in(tmp_path, bucket)
    table.create(("city",))
    publish_each(table, range(15), ("city",))
    found, late = joiner(table), joiner(table)
    joined, again = found.write(), late.write()
    assert (found.commit(joined), late.commit(again)) == (True, False)
    assert (len(live(table)), table.found()) == (3, list(range(15)))
    made = [path for path in bucket.objects(below=True)[0] if "part-joined" in path.key]
    assert sorted(map(str, made)) == sorted(str(place) for place, _ in live(table))


def test_objects_that_a_table_needs_no_more_are_removed(server, bucket):
    create(bucket, ("city",))
    publish_each(table_in(bucket), range(3), ("city",))
    kept = {path.key for path in (bucket / "t").objects(below=True)[0]}
    for key in ("t/left.parquet", "t/city=c-1/left.parquet", "t/other/theirs.parquet"):
        (bucket / key).write_bytes(b"")
    found = DeltaVacuum(bucket / "t")
    assert (found.look(), found.look()) == ([], [])
    server.make_older(bucket.bucket.name, 8 * 86_400)
    assert found.look() == []
    removed = found.look()
    assert removed == ["city=c-1/left.parquet", "left.parquet"]
    found.remove(removed)
    assert {path.key for path in (bucket / "t").objects(below=True)[0]} == kept | {"t/other/theirs.parquet"}
    assert table_in(bucket).found() == [0, 1, 2]


def test_a_version_is_read_whole_without_a_journal_until_it_is_gone(bucket):
    append(bucket, [1, 2, 3])
    streams = growing_tables(bucket, None)
    latest = streams(replace(PLAIN, whole=WholeVersion(1))).latest_version()
    first = replace(PLAIN, whole=WholeVersion(1, latest))
    ends = FolderAdmin(streams).end_offsets([first])
    append(bucket, [4])
    assert FolderAdmin(streams).end_offsets([first]) == ends == {ssp(0): 3}
    with closing(FolderConsumer(streams, [first])) as consumer:
        consumer.assign({ssp(0): 0}, ends)
        batches = []
        while not any(batch.ended for batch in batches):
            batches += consumer.poll([ssp(0)], 2, 0.0)
    assert sorted(row["k"] for batch in batches for row in batch.rows.to_pylist()) == [1, 2, 3]
    delta_table_in(bucket).delete()
    delta_table_in(bucket).vacuum(0, dry_run=False, enforce_retention_duration=False)
    with pytest.raises(VersionGone, match="vacuumed"):
        FolderAdmin(streams).end_offsets([first])
