"""Outputs in files of a real S3 server: each row is in one file, which appears once, whoever dies or comes late."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from json import dumps

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import csv, json
from pyarrow import parquet as pq

from streamapp_core.spec.parse import parse_text
from streamapp_core.spec.streams import StreamFormat
from streamapp_runtime.driver.plan_run import plan_new_run
from streamapp_runtime.driver.prepare_outputs import prepare_outputs
from streamapp_systems.file import (
    FileOutput,
    Rolling,
    claim_output,
    file_output,
    joined_drafts,
    joined_parts,
    published_parts,
    staged_parts,
)
from streamapp_systems.file.part_writer import PartWriter
from streamapp_systems.objects import ObjectPath, check_conditional_copies, object_store
from streamapp_systems.protocols import StreamDescriptor, StreamSystemError, Unavailable
from streamapp_systems.registry import local_systems
from support import apps
from support.faulty_server import FaultyServer
from support.object_stores import SECRET, bucket_at, system_in
from support.table_outputs import rows, write_through_deaths

NEVER = Rolling(seconds=60.0, size=1 << 40)
STREAM = StreamDescriptor(name="out", system="files", address="lake/out", format=StreamFormat.PARQUET)
READERS = {StreamFormat.PARQUET: pq.read_table, StreamFormat.CSV: csv.read_csv, StreamFormat.JSON: json.read_json}
STEPS = 30


def opened(root, number=1, rolling=NEVER, stream=STREAM):
    """Open the output of one incarnation."""
    return FileOutput(root, [stream], f"1-{number}", rolling)


def files(root):
    """Give the names of the files that a reader sees."""
    folder = root / "lake" / "out"
    return sorted(path.relative_to(folder) for path in folder.objects(below=True)[0] if ".staging" not in path.parts)


def files_left(root):
    """Give the names of all objects of the output."""
    folder = root / "lake" / "out"
    return sorted(path.relative_to(folder) for path in folder.objects(below=True)[0])


def numbers(root, form=StreamFormat.PARQUET):
    """Give the numbers of all rows that a reader sees, as another library reads them."""
    folder = root / "lake" / "out"
    found = [READERS[form](BytesIO((folder / name).read_bytes())) for name in files(root)]
    return sorted(n for table in found for n in table["n"].to_pylist())


def staged(output, *commits):
    """Stage a row with each commit."""
    parts = []
    for number in commits:
        output.write("out", rows(number))
        parts += output.stage()
    return parts


class Steps:
    """Counts calls, at one of which something else happens first."""

    def __init__(self):
        self.left, self.act = 0, None

    def watched(self, call):
        """Return the call, counted."""

        def counted(*args, **kwargs):
            self.left -= 1
            if self.left == 0:
                self.act()
            return call(*args, **kwargs)

        return counted


def publish_if_there(output, parts):
    """Publish parts, or find that they are gone."""
    with suppress(StreamSystemError):
        output.publish(parts)


@settings(max_examples=15)
@given(st.data())
def test_rows_are_in_files_once_with_deaths_and_zombies(shared, data):
    root, form = shared(), data.draw(st.sampled_from(sorted(READERS)))
    stream = replace(STREAM, format=form, folder_columns=data.draw(st.sampled_from([(), ("city",)])))
    rolling = data.draw(st.sampled_from([None, NEVER, Rolling(seconds=60.0, size=1_500)]))
    steps = [
        *((ObjectPath, name) for name in ("move", "write_file", "unlink", "exists")),
        (PartWriter, "append"),
        (joined_parts, "remove_parts"),
        (file_output, "publish_joined"),
    ]
    expected = write_through_deaths(lambda number: opened(root, number, rolling, stream), steps, STEPS, data)
    assert numbers(root, form) == expected


@pytest.mark.parametrize("fault", ["lost", "failed", "conflict"])
@pytest.mark.parametrize("rolling", [None, NEVER])
def test_a_copy_that_is_made_without_an_answer_is_found(server, bucket, fault, rolling, monkeypatch):
    monkeypatch.setattr(object_store, "_SECONDS", 1)
    with FaultyServer(server.endpoint) as before:
        output = opened(bucket_at(before.endpoint, bucket.bucket.name), 1, rolling)
        parts = staged(output, 1, 2)
        left = [fault] * (1 if fault == "conflict" else 2)
        before.fault = lambda method, path: left.pop() if left and method == "POST" and "uploadId=" in path else None
        try:
            output.publish(parts)
        except Unavailable:
            assert fault == "conflict"
            opened(bucket, 2, rolling).publish(parts)
        assert not left
    assert numbers(bucket) == [1, 2]
    assert len(files(bucket)) == (2 if rolling is None else 1)
    assert staged_parts(bucket / "lake" / "out") == []


@pytest.mark.parametrize("rolling", [None, NEVER])
def test_of_those_who_publish_at_once_one_makes_each_file(bucket, rolling):
    parts = staged(opened(bucket), *range(4))
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: opened(bucket, number, rolling).publish(parts), range(4)))
    before = [(path.key, path.stat()) for path in (bucket / "lake" / "out").objects(below=True)[0]]
    assert [key.rpartition("/")[2] for key, _ in before] == files(bucket)
    opened(bucket, 9, rolling).publish(parts)
    assert [(key, (bucket / key).stat()) for key, _ in before] == before
    assert numbers(bucket) == [0, 1, 2, 3]


@pytest.mark.parametrize("rolling", [None, NEVER])
def test_a_part_that_is_gone_is_an_error_and_nothing_is_left_half(bucket, rolling):
    output = opened(bucket, 1, rolling)
    parts = staged(output, 0, 1)
    (bucket / parts[1].staged).unlink()
    with pytest.raises(StreamSystemError, match=r"part-1-1-1\.parquet is gone and was not published"):
        output.publish(parts)
    assert joined_drafts(bucket / "lake" / "out") == []
    assert numbers(bucket) == ([0] if rolling is None else [])


def test_parts_for_a_store_end_before_this_machine_is_full(bucket, monkeypatch):
    monkeypatch.setattr(file_output, "MOST_MADE", 0)
    output = opened(bucket, 1, None, replace(STREAM, format=StreamFormat.CSV))
    for number in range(3):
        output.write("out", rows(number))
    parts = output.stage()
    assert len(parts) == 3
    output.publish(parts)
    assert numbers(bucket, StreamFormat.CSV) == [0, 1, 2]


def test_a_folder_belongs_to_who_claims_it_first(bucket):
    folder = bucket / "lake" / "out"
    with ThreadPoolExecutor(4) as threads:
        claims = [threads.submit(claim_output, folder, f"app-{number}") for number in range(4)]
    refused = [claim.exception() for claim in claims if claim.exception() is not None]
    assert len(refused) == 3
    assert all("out belongs to app-" in str(error) or "holds files" in str(error) for error in refused)
    owner = f"app-{next(number for number, claim in enumerate(claims) if claim.exception() is None)}"
    output = opened(bucket, 1, None, replace(STREAM, folder_columns=("city",)))
    parts = staged(output, 1, 2)
    output.publish(parts[:1])
    for key in ("part-1.txt", "deeper/part-1-1-0.parquet"):
        (folder / key).write_bytes(b"")
    claim_output(folder, owner)
    assert [str(path) for path in published_parts(folder, owner)] == [str(bucket / parts[0].final)]
    assert published_parts(folder, "other") == []
    assert [path.name for path in staged_parts(folder)] == [parts[1].staged.rpartition("/")[2]]


@pytest.mark.parametrize("rolling", [None, NEVER])
def test_whatever_a_zombie_publishes_while_a_folder_is_emptied_goes(bucket, tmp_path, monkeypatch, rolling):
    apps.write_stream(tmp_path, "rows", "n", ["1"])
    app = apps.document([{"name": "sent", "from": "rows", "sendTo": "out"}], rows={"schema": "n bigint"}, out={})
    results = {"path": f"{bucket}/lake", "store": system_in(bucket)["delta"]["store"]}
    app["spec"]["systems"]["results"] = {"file": results}
    app["spec"]["streams"]["out"] |= {"system": "results", "name": "out", "format": "parquet"}
    for name, value in SECRET.items():
        monkeypatch.setenv(name, value)
    systems = local_systems(tmp_path)
    plan = plan_new_run(parse_text(dumps(app)), systems, "r1", "here").plan
    steps = Steps()
    for name in ("exists", "is_dir", "iterdir", "objects", "unlink"):
        monkeypatch.setattr(ObjectPath, name, steps.watched(getattr(ObjectPath, name)))
    prepare_outputs(plan, systems, lambda: None)
    step, reached = 0, True
    while reached:
        step += 1
        zombie = opened(bucket, step, rolling)
        zombie.publish(staged(zombie, 0))
        steps.left, steps.act = step, partial(publish_if_there, zombie, staged(zombie, 1, 2))
        prepare_outputs(plan, systems, lambda: None)
        reached = steps.left <= 0
        steps.left = 0
        steps.act()
        assert files_left(bucket) == ["_streamapp.json"]
    assert step > 8


def test_a_folder_with_objects_of_others_is_refused(bucket):
    (bucket / "lake" / "out" / "theirs").write_bytes(b"")
    with pytest.raises(StreamSystemError, match="holds files that are not StreamApp's"):
        claim_output(bucket / "lake" / "out", "app")
    claim_output(bucket / "lake" / "ou", "app")


def test_a_store_that_copies_onto_other_objects_is_refused(bucket, monkeypatch):
    monkeypatch.setenv("AWS_COPY_IF_NOT_EXISTS", "header: x-nothing: *")
    check_conditional_copies(bucket)
    copy = type(bucket.bucket.objects).copy
    monkeypatch.setattr(
        type(bucket.bucket.objects), "copy", lambda store, source, target, **_: copy(store, source, target)
    )
    with pytest.raises(StreamSystemError, match="can't copy an object on the condition"):
        check_conditional_copies(bucket)
