"""What is particular to metadata in ConfigMaps: shards, sizes, owners."""

import base64
import gzip

import pytest

from streamapp_core.deployment.app_documents import DocumentUnreadableError
from streamapp_core.job_model.job_model_shards import SHARD_PREFIX
from streamapp_core.job_model.stored_job_model import read_job_model, write_job_model
from streamapp_core.metadata_store import ABSENT, VersionConflict
from streamapp_systems.kubernetes.kubernetes_api import Kind, RequestRefusedError
from streamapp_systems.metadata.config_maps import LARGEST_VALUE, ConfigMapMetadataStore
from support.job_models import example
from support.kubernetes_api import MemoryCluster

SHARD = f"{SHARD_PREFIX}{'0' * 64}"


@pytest.fixture
def cluster():
    return MemoryCluster()


@pytest.fixture
def store(cluster):
    return ConfigMapMetadataStore(cluster, "default", "shop", owners=[{"uid": "u-1", "name": "shop"}])


def config_map(cluster, name):
    return cluster.get(Kind.CONFIG_MAP, "default", name)


def test_documents_are_text_that_people_can_read_and_go_with_their_owner(store, cluster):
    store.put("record", b'{"a": 1}')
    found = config_map(cluster, "shop.record")
    assert found["data"] == {"value": '{"a": 1}'}
    assert found["metadata"]["ownerReferences"] == [{"uid": "u-1", "name": "shop"}]


def test_shards_are_immutable_and_marked_for_watches_to_leave_out(store, cluster):
    store.put(SHARD, b"x")
    found = config_map(cluster, f"shop.{SHARD}")
    assert found["immutable"] is True
    assert "streamapp.dev/shard" in found["metadata"]["labels"]


def test_a_shard_that_is_in_use_again_is_not_removed_by_who_saw_it_before(store):
    before = store.put(SHARD, b"x")
    assert store.put(SHARD, b"x") > before
    with pytest.raises(VersionConflict):
        store.delete(SHARD, before)
    assert store.get(SHARD).value == b"x"


def test_a_value_too_large_for_text_is_compressed(store, cluster):
    store.put("record", b"spec " * 400_000)
    assert len(str(config_map(cluster, "shop.record"))) < 1_000_000
    assert store.get("record").value == b"spec " * 400_000


def test_apps_do_not_see_each_others_documents(store, cluster):
    ConfigMapMetadataStore(cluster, "default", "shop-2", owners=()).put("record", b"other")
    assert store.get("record") is None
    assert store.all() == {}


def test_a_job_model_of_several_shards_is_replaced_without_leftovers(store, cluster):
    version = write_job_model(store, example(version=7), epoch=1, expected=ABSENT, shard_bytes=600)
    write_job_model(store, example(version=8), epoch=1, expected=version, shard_bytes=600)
    stored = read_job_model(store)
    assert stored.model == example(version=8)
    pointer_and_shards = 1 + len(store.all(SHARD_PREFIX))
    assert len(cluster.list(Kind.CONFIG_MAP, "default")) == pointer_and_shards


def packed(content):
    return {"binaryData": {"value.gz": base64.b64encode(content).decode()}}


UNREADABLE = {
    "a hundred times its size": (gzip.compress(bytes(100_000_000), 1)[:700_000], f"more than {LARGEST_VALUE}"),
    "a byte too many": (gzip.compress(bytes(LARGEST_VALUE + 1)), f"more than {LARGEST_VALUE}"),
    "no gzip": (b"not gzip", "damaged"),
    "nothing": (b"", "cut off"),
    "cut off": (gzip.compress(b"record")[:-1], "cut off"),
    "damaged": (gzip.compress(b"record")[:-8] + bytes(8), "damaged"),
    "two members": (gzip.compress(b"a") + gzip.compress(b"b"), "more behind"),
}


@pytest.mark.parametrize(("content", "reason"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_value_that_does_not_unpack_to_one_of_a_documents_size_is_not_read(store, cluster, content, reason):
    store.put("record", b"{}")
    cluster.patch(Kind.CONFIG_MAP, "default", "shop.record", {"data": None, **packed(content)})
    with pytest.raises(DocumentUnreadableError, match=rf"shop\.record.*{reason}"):
        store.get("record")


def test_the_largest_value_is_written_and_read_and_a_larger_one_is_not_written(store):
    store.put("record", bytes(LARGEST_VALUE))
    assert store.get("record").value == bytes(LARGEST_VALUE)
    with pytest.raises(RequestRefusedError, match=f"shop.record.*{LARGEST_VALUE} is the most"):
        store.put("record", bytes(LARGEST_VALUE + 1))
