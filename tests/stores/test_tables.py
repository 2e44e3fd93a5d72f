"""Tables of Delta in a real S3 server: what holds of those in folders holds of them, and what only stores do."""

import itertools
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Barrier

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_systems.arrow_types import arrow_schema
from streamapp_systems.delta import DeltaTableFolder, delta_table
from streamapp_systems.folder.file_journal import FileJournal
from streamapp_systems.folder.growing_table import GrowingTable
from streamapp_systems.objects import check_conditional_writes, object_store
from streamapp_systems.protocols import StreamSystemError, Unavailable
from support.delta_outputs import (
    SCHEMA,
    create,
    delta_table_in,
    found,
    opened,
    options_of,
    publish_through_deaths,
    rows,
)
from support.growing_tables import PLAIN, admin, append, grow_and_read, keys, read, ssp, stream
from support.object_stores import bucket_at
from support.waiting import eventually

_numbers = itertools.count()


@pytest.fixture(scope="module")
def shared(server):
    """A bucket for the examples of property tests, each in a folder of its own."""
    server.make_bucket("shared")
    return lambda: bucket_at(server.endpoint, "shared") / f"example-{next(_numbers)}"


@settings(max_examples=15)
@given(data=st.data())
def test_rows_are_added_once_with_deaths_zombies_and_other_writers(shared, data):
    publish_through_deaths(shared(), data)


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


@pytest.mark.parametrize("environment", [{}, {"CONDITIONAL_PUT": "disabled", "S3_ALLOW_UNSAFE_RENAME": "true"}])
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


def test_a_commit_whose_answer_is_lost_is_found_in_the_table(bucket, monkeypatch):
    create(bucket)
    output = opened(bucket, 1)
    output.write("out", rows(1))
    parts = output.stage()
    commit = delta_table.DeltaTable.create_write_transaction

    def unanswered(table, *arguments, **options):
        commit(table, *arguments, **options)
        raise OSError("error sending request")

    monkeypatch.setattr(delta_table.DeltaTable, "create_write_transaction", unanswered)
    output.publish(parts)
    monkeypatch.undo()
    opened(bucket, 2).publish(parts)
    assert found(bucket) == [1]
    assert delta_table_in(bucket).version() == 1


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
        with pytest.raises(StreamSystemError, match="some/object"):
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
