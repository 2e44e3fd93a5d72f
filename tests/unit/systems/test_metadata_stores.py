import threading
from concurrent.futures import ThreadPoolExecutor, wait

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_core.metadata_store import ABSENT, InMemoryMetadataStore, VersionConflict
from streamapp_systems.metadata.config_maps import ConfigMapMetadataStore
from streamapp_systems.metadata.sqlite import SqliteMetadataStore
from streamapp_systems.protocols import StreamSystemError
from support.kubernetes_api import MemoryCluster

KEYS = st.sampled_from(["a", "ab", "b", "model/1"])
STEPS = st.lists(st.tuples(st.sampled_from(["put", "delete", "set-if"]), KEYS, st.binary(max_size=4)), max_size=30)


def stores(folder):
    yield InMemoryMetadataStore()
    yield SqliteMetadataStore(folder / "m.db")
    yield ConfigMapMetadataStore(MemoryCluster(), "default", "shop", owners=())


@pytest.fixture(params=[0, 1, 2], ids=["memory", "sqlite", "config-maps"])
def store(request, tmp_path):
    store = list(stores(tmp_path))[request.param]
    yield store
    store.close()


def test_a_value_is_found_under_its_key_only(store):
    store.put("a", b"1")
    assert store.get("a").value == b"1"
    assert store.get("b") is None


def test_any_thread_reads_and_writes(store):
    store.put("a", b"0")
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: store.put(f"b{number}", b"1"), range(40)))
        assert threads.submit(store.get, "a").result().value == b"0"
    assert len(store.all("b")) == 40


def test_compare_and_set_refuses_what_another_writer_changed(store):
    version = store.put("a", b"1", expected=ABSENT)
    store.put("a", b"2", expected=version)
    with pytest.raises(VersionConflict, match=rf"`a` is at version \d+, not {version}"):
        store.put("a", b"3", expected=version)
    assert store.get("a").value == b"2"


def test_a_key_made_again_has_a_new_version(store):
    first = store.put("a", b"1")
    store.delete("a", expected=first)
    assert store.put("a", b"1") != first
    with pytest.raises(VersionConflict):
        store.delete("a", expected=first)


def test_prefixes_select_keys_in_order(store):
    store.put_all({"b/2": b"", "a": b"", "b/1": b"", "b%": b""})
    assert list(store.all("b/")) == ["b/1", "b/2"]
    assert list(store.all()) == ["a", "b%", "b/1", "b/2"]


@given(STEPS)
def test_all_stores_answer_alike(tmp_path_factory, steps):
    opened = list(stores(tmp_path_factory.mktemp("m")))
    for action, key, value in steps:
        for store in opened:
            if action == "put":
                store.put(key, value)
            elif action == "delete":
                store.delete(key)
            else:
                entry = store.get(key)
                store.put(key, value, expected=ABSENT if entry is None else entry.version)
    first, *others = ({key: entry.value for key, entry in store.all().items()} for store in opened)
    opened[1].close()
    assert others == [first, first]


def test_sqlite_keeps_values_for_the_next_process(tmp_path):
    store = SqliteMetadataStore(tmp_path / "deep" / "m.db")
    store.put("a", b"1")
    store.close()
    again = SqliteMetadataStore(tmp_path / "deep" / "m.db")
    assert again.get("a").value == b"1"
    again.close()


def test_of_many_writers_one_wins_each_version(tmp_path):
    SqliteMetadataStore(tmp_path / "m.db").close()

    def count() -> None:
        store = SqliteMetadataStore(tmp_path / "m.db")
        done = 0
        while done < 20:
            entry = store.get("n")
            number, version = (0, ABSENT) if entry is None else (int(entry.value), entry.version)
            try:
                store.put("n", str(number + 1).encode(), expected=version)
                done += 1
            except VersionConflict:
                continue
        store.close()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    store = SqliteMetadataStore(tmp_path / "m.db")
    assert store.get("n").value == b"80"
    store.close()


def test_a_file_that_is_no_store_is_named(tmp_path):
    (tmp_path / "m.db").write_text("not a database, but long enough to be taken for one: " * 50)
    with pytest.raises(StreamSystemError, match=r"m\.db"):
        SqliteMetadataStore(tmp_path / "m.db")


class SlowValues(dict):
    """Values of a write that lasts until it may end."""

    def __init__(self, *values):
        super().__init__(*values)
        self.begun, self.may_end = threading.Event(), threading.Event()

    def items(self):
        self.begun.set()
        assert self.may_end.wait(60)
        return super().items()


def test_a_store_is_closed_between_the_writes_of_other_threads(tmp_path):
    store, values = SqliteMetadataStore(tmp_path / "m.db"), SlowValues({"a": b"1"})
    with ThreadPoolExecutor(2) as threads:
        write = threads.submit(store.put_all, values)
        assert values.begun.wait(60)
        close = threads.submit(store.close)
        wait([close], 0.2)
        values.may_end.set()
        write.result()
        close.result()
    with pytest.raises(StreamSystemError, match="can't be read"):
        store.get("a")
    assert SqliteMetadataStore(tmp_path / "m.db").get("a").value == b"1"
