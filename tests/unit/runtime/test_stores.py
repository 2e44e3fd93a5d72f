import resource
from random import Random

import pyarrow as pa
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from streamapp_runtime.errors import RuntimeFailure
from streamapp_runtime.state.folder_lock import FolderLock
from streamapp_runtime.state.lmdb_environment import DamagedState, LmdbEnvironment
from streamapp_runtime.state.memory_store import MemoryEnvironment
from support.changelogs import changed_pairs

KEYS = st.binary(min_size=1, max_size=3)
VALUES = st.binary(max_size=3)
STORES = st.sampled_from(["a", "b"])


@pytest.mark.parametrize("seed", [179, 271, 408, 525])
def test_a_state_whose_last_pages_were_used_and_freed_by_one_commit_is_not_truncated(tmp_path, seed):
    random = Random(seed)
    environment = LmdbEnvironment(tmp_path / "task")
    stores = [environment.store(name) for name in "abc"]
    for _ in range(6):
        for _ in range(random.randint(1, 150)):
            store, key = random.choice(stores), b"%03d" % random.randrange(100)
            if random.random() < 0.4:
                store.put(key, random.randbytes(random.choice([10, 100, 600, 1_500, 6_000])))
            else:
                store.delete(key)
        environment.commit()
        environment.close()
        environment = LmdbEnvironment(tmp_path / "task")
        stores = [environment.store(name) for name in "abc"]
    environment.close()


@pytest.fixture(params=["memory", "lmdb"])
def environment(request, tmp_path):
    environment = MemoryEnvironment() if request.param == "memory" else LmdbEnvironment(tmp_path / "task")
    yield environment
    environment.close()


def test_what_is_written_is_read_at_once(environment):
    store = environment.store("s")
    store.put(b"k", b"1")
    assert store.get(b"k") == b"1"
    store.delete(b"k")
    assert store.get(b"k") is None
    store.delete(b"k")


def test_a_scan_goes_by_keys_and_sees_what_is_not_committed(environment):
    store = environment.store("s")
    for key in (b"c", b"a"):
        store.put(key, b"old")
    environment.commit()
    store.put(b"b", b"new")
    store.delete(b"c")
    assert list(store.scan()) == [(b"a", b"old"), (b"b", b"new")]
    assert list(store.scan(b"a\x00", b"c")) == [(b"b", b"new")]


def test_a_scan_is_not_disturbed_by_writes(environment):
    store = environment.store("s")
    store.put(b"a", b"1")
    scan = store.scan()
    store.put(b"b", b"2")
    assert list(scan) == [(b"a", b"1")]


def test_stores_of_one_environment_are_apart(environment):
    environment.store("a").put(b"k", b"1")
    assert environment.store("b").get(b"k") is None


def test_only_what_was_committed_outlives_a_close(tmp_path):
    environment = LmdbEnvironment(tmp_path / "task")
    environment.store("s").put(b"a", b"1")
    environment.commit()
    environment.store("s").put(b"b", b"2")
    environment.close()
    again = LmdbEnvironment(tmp_path / "task")
    assert list(again.store("s").scan()) == [(b"a", b"1")]
    again.close()


def test_a_folder_has_one_holder(tmp_path):
    clock = iter(range(100))
    holder = FolderLock(tmp_path / "task", wait_seconds=0, clock=lambda: 0, sleep=lambda _: None)
    with pytest.raises(RuntimeFailure, match="another process holds its lock"):
        FolderLock(tmp_path / "task", wait_seconds=5, clock=lambda: next(clock), sleep=lambda _: None)
    FolderLock(tmp_path / "task", wait_seconds=5, clock=lambda: 0, sleep=lambda _: holder.close()).close()


def test_a_place_that_is_no_folder_is_named(tmp_path):
    (tmp_path / "task").write_text("")
    with pytest.raises(RuntimeFailure, match="task can't be used for state: File exists"):
        FolderLock(tmp_path / "task", wait_seconds=0, clock=lambda: 0, sleep=lambda _: None)
    with pytest.raises(RuntimeFailure, match="task can't be opened"):
        LmdbEnvironment(tmp_path / "task")


def test_files_that_are_no_state_are_found_out(tmp_path):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "data.mdb").write_bytes(b"no database" * 1_000)
    with pytest.raises(DamagedState, match="is damaged"):
        LmdbEnvironment(tmp_path / "task")


def test_state_that_was_cut_off_is_found_out(tmp_path):
    environment = LmdbEnvironment(tmp_path / "task")
    for number in range(1_000):
        environment.store("s").put(b"%d" % number, bytes(500))
    environment.commit()
    environment.close()
    with (tmp_path / "task" / "data.mdb").open("r+b") as file:
        file.truncate(20_000)
    with pytest.raises(DamagedState, match="truncated"):
        LmdbEnvironment(tmp_path / "task")


def test_a_store_that_could_not_be_created_is_created_when_there_is_room(tmp_path):
    environment = LmdbEnvironment(tmp_path / "task")
    environment.store("a").put(b"k", b"1")
    environment.commit()
    room = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / "task" / "data.mdb").stat().st_size, room[1]))
    try:
        with pytest.raises(RuntimeFailure, match="is the disk full"):
            environment.store("b")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, room)
    environment.store("b").put(b"k", b"2")
    environment.commit()
    assert [environment.store(name).get(b"k") for name in ("a", "b")] == [b"1", b"2"]
    environment.close()


def test_a_cleared_store_is_empty_at_once(tmp_path):
    environment = LmdbEnvironment(tmp_path / "task")
    environment.store("s").put(b"a", b"1")
    environment.commit()
    environment.store("s").put(b"b", b"2")
    environment.clear("s")
    assert list(environment.store("s").scan()) == []
    environment.close()


def test_stores_behave_like_dictionaries(tmp_path_factory):
    class Stores(RuleBasedStateMachine):
        @initialize()
        def begin(self):
            self.folder = tmp_path_factory.mktemp("state")
            self.environment = LmdbEnvironment(self.folder)
            self.present = {"a": {}, "b": {}}
            self.committed = {"a": {}, "b": {}}

        @rule(name=STORES, key=KEYS, value=VALUES)
        def put(self, name, key, value):
            self.environment.store(name).put(key, value)
            self.present[name][key] = value

        @rule(name=STORES, key=KEYS)
        def delete(self, name, key):
            self.environment.store(name).delete(key)
            self.present[name].pop(key, None)

        @rule(name=STORES, entries=st.dictionaries(KEYS, st.none() | VALUES))
        def put_columns(self, name, entries):
            keys, values = sorted(entries), [entries[key] for key in sorted(entries)]
            self.environment.store(name).put_columns(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
            self.present[name].update(entries)
            self.present[name] = {key: value for key, value in self.present[name].items() if value is not None}

        @rule(name=STORES, entries=st.lists(st.tuples(KEYS, VALUES)))
        def put_unsorted_columns(self, name, entries):
            keys, values = [key for key, _ in entries], [value for _, value in entries]
            columns = pa.array(keys, pa.binary()), pa.array(values, pa.binary())
            self.environment.store(name).put_columns(*columns, is_sorted=False)
            self.present[name].update(entries)

        @rule(name=STORES, keys=st.lists(KEYS))
        def get_column(self, name, keys):
            found = self.environment.store(name).get_column(pa.array(keys, pa.binary()))
            assert found.to_pylist() == [self.present[name].get(key) for key in keys]

        @rule(name=STORES)
        def changes(self, name):
            changed = changed_pairs(self.environment.changes(name))
            assert [key for key, _ in changed] == sorted({key for key, _ in changed})
            before = self.committed.get(name, {})
            after = {key: value for key, value in {**before, **dict(changed)}.items() if value is not None}
            assert after == self.present[name]

        @rule()
        def commit(self):
            self.environment.commit()
            self.committed = {name: dict(entries) for name, entries in self.present.items()}

        @rule()
        def die(self):
            self.environment.close()
            self.environment = LmdbEnvironment(self.folder)
            self.present = {name: dict(entries) for name, entries in self.committed.items()}

        @rule(name=STORES, key=KEYS)
        def get(self, name, key):
            assert self.environment.store(name).get(key) == self.present[name].get(key)

        @rule(name=STORES, start=KEYS, end=st.none() | KEYS, limit=st.none() | st.integers(0, 3))
        def scan(self, name, start, end, limit):
            expected = sorted(e for e in self.present[name].items() if e[0] >= start and (end is None or e[0] < end))
            assert list(self.environment.store(name).scan(start, end, limit)) == expected[:limit]

        @rule(name=STORES)
        def size(self, name):
            size = self.environment.size(name)
            assert size.entries == len(self.committed.get(name, {}))
            assert (size.bytes > 0) is (size.entries > 0)

        @rule()
        def all_entries_are_there(self):
            for name, entries in self.present.items():
                assert dict(self.environment.store(name).scan()) == entries

        def teardown(self):
            if hasattr(self, "environment"):
                self.environment.close()

    run_state_machine_as_test(Stores, settings=settings(max_examples=40, stateful_step_count=25, deadline=None))
