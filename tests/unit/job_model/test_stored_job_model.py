from contextlib import suppress
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamapp_core.job_model.job_model_errors import JobModelDamagedError, JobModelOutdatedError, JobModelTooNewError
from streamapp_core.job_model.job_model_shards import POINTER, SHARD_PREFIX, JobModelDocuments, read_pointer
from streamapp_core.job_model.stored_job_model import read_job_model, write_job_model
from streamapp_core.metadata_store import ABSENT, InMemoryMetadataStore, VersionConflict
from streamapp_systems.metadata.sqlite import SqliteMetadataStore
from support.job_models import example, job_models

OLD, NEW, THIRD = example(version=7), example(tasks=9, version=8), example(tasks=4, version=8)
LAST = example(tasks=5, version=9)
SMALL = 500
"""Bytes of a shard here: the models take several."""
OPERATIONS = range(20)
"""More operations than any of the writes here takes."""


class CrashError(Exception):
    """The process died."""


class Interrupted:
    """A store that does something before its operation number `at`."""

    def __init__(self, store, at, action):
        self._store = store
        self._left = at
        self._action = action

    def __getattr__(self, name):
        operation = getattr(self._store, name)

        def interrupted(*arguments):
            self._left -= 1
            if self._left == -1:
                self._action()
            return operation(*arguments)

        return interrupted


def die():
    raise CrashError


@pytest.fixture(params=["memory", "sqlite"])
def new_store(request, tmp_path):
    stores = []

    def make():
        path = tmp_path / f"{len(stores)}.db"
        stores.append(InMemoryMetadataStore() if request.param == "memory" else SqliteMetadataStore(path))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


def write(store, model, *, expected, epoch=1):
    return write_job_model(store, model, epoch=epoch, expected=expected, shard_bytes=SMALL)


def write_if_first(store, model, version):
    with suppress(VersionConflict):
        write(store, model, expected=version)


def write_after(store, before, model):
    stored = read_job_model(store)
    if stored.model == before:
        write(store, model, expected=stored.pointer_version)


def pointer_version(store):
    return store.get(POINTER).version


def shards_in(store):
    return set(store.all(SHARD_PREFIX))


def shards_of(model, epoch=1):
    return set(JobModelDocuments.of(model, epoch=epoch, shard_bytes=SMALL).shards)


def test_nothing_is_stored_at_first(new_store):
    assert read_job_model(new_store()) is None


def test_a_model_is_read_with_the_epoch_and_version_of_its_pointer(new_store):
    store = new_store()
    version = write(store, OLD, expected=ABSENT, epoch=4)
    stored = read_job_model(store)
    assert (stored.model, stored.epoch, stored.pointer_version) == (OLD, 4, version)


def test_a_new_model_leaves_no_shard_of_the_old_one(new_store):
    store = new_store()
    write(store, NEW, expected=write(store, OLD, expected=ABSENT))
    assert shards_in(store) == shards_of(NEW)


def test_writing_the_same_again_does_no_harm(new_store):
    store = new_store()
    write(store, OLD, expected=write(store, OLD, expected=ABSENT))
    assert read_job_model(store).model == OLD
    assert shards_in(store) == shards_of(OLD)


def test_a_crash_at_any_point_leaves_the_old_or_the_new_model(new_store):
    found = []
    for at in OPERATIONS:
        store = new_store()
        write(store, OLD, expected=ABSENT)
        with suppress(CrashError):
            write(Interrupted(store, at, die), NEW, expected=pointer_version(store))
        found.append(read_job_model(store).model)
        write(store, NEW, expected=pointer_version(store))
        assert read_job_model(store).model == NEW
        assert shards_in(store) == shards_of(NEW)
    switched = found.index(NEW)
    assert found == [OLD] * switched + [NEW] * (len(OPERATIONS) - switched)
    assert switched > len(shards_of(NEW))


@settings(max_examples=25)
@given(job_models(), job_models(), st.integers(0, 40), st.integers(200, 900))
def test_a_crash_leaves_one_of_any_two_models(old, new, at, shard_bytes):
    store = InMemoryMetadataStore()
    version = write_job_model(store, old, epoch=1, expected=ABSENT, shard_bytes=shard_bytes)
    with suppress(CrashError):
        write_job_model(Interrupted(store, at, die), new, epoch=2, expected=version, shard_bytes=shard_bytes)
    assert read_job_model(store).model in (old, new)


def test_a_reader_that_races_with_a_writer_sees_one_whole_model(new_store):
    seen = []
    for at in OPERATIONS:
        store = new_store()
        version = write(store, OLD, expected=ABSENT)
        reading = Interrupted(store, at, partial(write, store, NEW, expected=version))
        seen.append(read_job_model(reading).model.version)
    assert set(seen) == {OLD.version, NEW.version}
    assert seen == sorted(seen, reverse=True)


def test_of_two_writers_at_once_one_wins_and_its_model_is_whole(new_store):
    for at in OPERATIONS:
        store = new_store()
        version = write(store, OLD, expected=ABSENT)
        won = NEW
        try:
            write(Interrupted(store, at, partial(write_if_first, store, THIRD, version)), NEW, expected=version)
        except VersionConflict:
            won = THIRD
        assert read_job_model(store).model == won


def test_a_writer_that_comes_while_another_tidies_up_loses_no_shard(new_store):
    found = []
    for at in OPERATIONS:
        store = new_store()
        write(store, OLD, expected=ABSENT)
        follower = partial(write_after, store, NEW, LAST)
        write(Interrupted(store, at, follower), NEW, expected=pointer_version(store))
        found.append(read_job_model(store).model)
    assert LAST in found
    assert all(model in (NEW, LAST) for model in found)


def test_a_writer_that_decided_from_an_older_model_changes_nothing(new_store):
    store = new_store()
    version = write(store, OLD, expected=ABSENT)
    write(store, NEW, expected=version)
    with pytest.raises(VersionConflict):
        write(store, THIRD, expected=version)
    assert shards_in(store) == shards_of(NEW)


@pytest.mark.parametrize(("model", "epoch"), [(OLD, 2), (example(version=99), 1), (THIRD, 2)])
def test_a_model_that_is_not_newer_is_refused(new_store, model, epoch):
    store = new_store()
    version = write(store, NEW, expected=ABSENT, epoch=2)
    with pytest.raises(JobModelOutdatedError, match=r"the active one \(run r1, epoch 2, version 8\)"):
        write(store, model, expected=version, epoch=epoch)
    assert read_job_model(store).model == NEW


def test_a_higher_epoch_takes_over(new_store):
    store = new_store()
    write(store, NEW, expected=write(store, NEW, expected=ABSENT, epoch=1), epoch=2)
    assert read_job_model(store).epoch == 2
    assert shards_in(store) == shards_of(NEW, epoch=2)


def test_a_lost_shard_is_an_error_and_no_empty_model(new_store):
    store = new_store()
    write(store, OLD, expected=ABSENT)
    lost = read_pointer(store.get(POINTER).value).shards[0]
    store.delete(lost)
    with pytest.raises(JobModelDamagedError, match=f"`{lost}`, is missing"):
        read_job_model(store)


def test_a_damaged_pointer_can_be_replaced(new_store):
    store = new_store()
    write(store, NEW, expected=store.put(POINTER, b"?"))
    assert read_job_model(store).model == NEW


def test_a_model_of_a_later_release_is_not_replaced(new_store):
    store = new_store()
    version = store.put(POINTER, b'{"schemaVersion": 99}')
    with pytest.raises(JobModelTooNewError):
        write(store, NEW, expected=version)
    assert store.get(POINTER).version == version
