import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.job_model.job_model import SCHEMA_VERSION, JobModel
from streamapp_core.job_model.job_model_errors import JobModelDamagedError, JobModelTooNewError
from streamapp_core.job_model.job_model_shards import (
    LARGEST_MODEL,
    POINTER,
    SHARD_BYTES,
    SHARD_PREFIX,
    JobModelDocuments,
    parse_job_model,
    read_pointer,
    read_shards,
)
from support.job_models import example, job_models

GOLDEN = Path(__file__).parent / "golden"
GOLDEN_EPOCH, GOLDEN_SHARD_BYTES = 3, 500


def golden_text(documents):
    """Write the documents of a model into one file, as text: no piece of them is anything else."""
    entries = {POINTER: documents.pointer, **documents.shards}
    return json.dumps({name: content.decode("ascii") for name, content in entries.items()}, indent=1) + "\n"


def read(documents):
    return read_shards(read_pointer(documents.pointer), documents.shards)


def damaged(documents, **shards):
    with pytest.raises(JobModelDamagedError) as error:
        read_shards(read_pointer(documents.pointer), {**documents.shards, **shards})
    assert "set a new `spec.runId`" in str(error.value)
    return str(error.value)


@given(job_models(), st.integers(0, 9), st.integers(200, 3_000))
def test_a_model_comes_back_from_shards_of_any_size(model, epoch, shard_bytes):
    documents = JobModelDocuments.of(model, epoch=epoch, shard_bytes=shard_bytes)
    assert read(documents) == model
    assert read_pointer(documents.pointer).epoch == epoch
    assert all(len(shard) <= shard_bytes for shard in documents.shards.values())


@given(job_models())
def test_equal_models_are_equal_bytes_whatever_the_order_of_their_parts(model):
    document = model.to_document()
    turned = {
        field: dict(reversed(value.items())) if isinstance(value, dict) else value
        for field, value in reversed(document.items())
    }
    assert JobModelDocuments.of(parse_job_model(turned), epoch=1) == JobModelDocuments.of(model, epoch=1)


def test_a_large_model_is_several_shards_below_800_kib():
    documents = JobModelDocuments.of(example(tasks=6_000), epoch=1)
    assert len(documents.shards) > 1
    assert max(map(len, documents.shards.values())) <= SHARD_BYTES < 800 * 1024
    assert len(documents.pointer) < 1_000


def test_shards_too_small_for_their_first_line_are_refused():
    with pytest.raises(ValueError, match="too small"):
        JobModelDocuments.of(example(), epoch=1, shard_bytes=50)


def test_todays_bytes_are_those_of_the_newest_golden_file():
    documents = JobModelDocuments.of(example(), epoch=GOLDEN_EPOCH, shard_bytes=GOLDEN_SHARD_BYTES)
    assert golden_text(documents) == (GOLDEN / f"v{SCHEMA_VERSION}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION + 1))
def test_the_documents_of_every_schema_version_load(version):
    entries = json.loads((GOLDEN / f"v{version}.json").read_text(encoding="utf-8"))
    contents = {name: text.encode("ascii") for name, text in entries.items()}
    pointer = read_pointer(contents.pop(POINTER))
    assert (pointer.schema_version, pointer.epoch) == (version, GOLDEN_EPOCH)
    assert len(pointer.shards) > 1
    assert read_shards(pointer, contents) == example()


def test_documents_of_a_later_release_ask_for_an_upgrade():
    later = {"schemaVersion": SCHEMA_VERSION + 1, "madeOf": "something else"}
    with pytest.raises(JobModelTooNewError, match=f"schema version {SCHEMA_VERSION + 1}.*upgrade"):
        read_pointer(json.dumps(later).encode())
    with pytest.raises(JobModelTooNewError):
        parse_job_model({**example().to_document(), **later})


def test_a_model_of_more_bytes_than_a_reader_takes_is_refused():
    documents = JobModelDocuments.of(example(), epoch=3)
    pointer = read_pointer(documents.pointer)
    again = pointer.model_copy(update={"shards": pointer.shards * (LARGEST_MODEL // 100)})
    with pytest.raises(JobModelDamagedError, match=f"more than {LARGEST_MODEL} bytes"):
        read_shards(again, documents.shards)


def test_a_shard_that_is_longer_than_any_we_write_is_refused():
    content = bytes(SHARD_BYTES + 1)
    name = SHARD_PREFIX + hashlib.sha256(content).hexdigest()
    pointer = read_pointer(JobModelDocuments.of(example(), epoch=3).pointer).model_copy(update={"shards": (name,)})
    with pytest.raises(JobModelDamagedError, match=f"{SHARD_BYTES} is the most"):
        read_shards(pointer, {name: content})


@pytest.mark.parametrize("text", [b"[" * 100_000, b'{"schemaVersion":' * 100_000])
def test_json_nested_deeper_than_a_reader_can_go_is_damaged(text):
    with pytest.raises(JobModelDamagedError, match="pointer `job-model` is damaged"):
        read_pointer(text)


def test_a_missing_shard_is_named():
    documents = JobModelDocuments.of(example(), epoch=3, shard_bytes=500)
    pointer = read_pointer(documents.pointer)
    second = pointer.shards[1]
    with pytest.raises(JobModelDamagedError, match=rf"shard 2 of \d+ .*run r1, epoch 3.*`{second}`, is missing"):
        read_shards(pointer, {name: shard for name, shard in documents.shards.items() if name != second})


def test_a_damaged_shard_is_named():
    documents = JobModelDocuments.of(example(), epoch=3, shard_bytes=500)
    name, shard = list(documents.shards.items())[2]
    message = damaged(documents, **{name: shard.replace(b'"', b"'", 1)})
    assert f"shard 3 of {len(documents.shards)}" in message
    assert f"`{name}`, is damaged" in message


def test_a_shard_of_another_model_is_told_from_a_damaged_one():
    documents = JobModelDocuments.of(example(), epoch=3)
    other = JobModelDocuments.of(example().model_copy(update={"run_id": "r0", "version": 9}), epoch=2)
    pointer = read_pointer(documents.pointer).model_copy(update={"shards": tuple(other.shards)})
    with pytest.raises(JobModelDamagedError, match=r"another job model \(run r0, epoch 2, version 9\)"):
        read_shards(pointer, other.shards)


def test_a_pointer_that_leaves_a_shard_out_is_damaged():
    documents = JobModelDocuments.of(example(), epoch=3, shard_bytes=500)
    pointer = read_pointer(documents.pointer)
    with pytest.raises(JobModelDamagedError, match="not all of it"):
        read_shards(pointer.model_copy(update={"shards": pointer.shards[:-1]}), documents.shards)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"schemaVersion": 1}', b'{"schemaVersion": "x"}'])
def test_what_is_no_pointer_is_damaged(content):
    with pytest.raises(JobModelDamagedError, match="the pointer `job-model` is damaged"):
        read_pointer(content)


def test_a_model_without_the_optional_fields_loads():
    needed = {"version", "runId", "streams", "tasks", "processors"}
    document = {field: value for field, value in example().to_document().items() if field in needed}
    assert isinstance(parse_job_model(document), JobModel)
