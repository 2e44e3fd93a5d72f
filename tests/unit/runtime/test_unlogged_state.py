"""Stores without changelog: reused as long as they are valid."""

import os
import shutil
from contextlib import closing

import msgspec
import pytest

from streamapp_runtime.state.lmdb_environment import DATA_FILE
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store_marker import MARKER_FILE
from streamapp_runtime.state.unlogged_state import UnloggedState

OURS = StateOwner(run_id="r1", task="Partition 0", boot_id="boot 1")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


def written(folder, identity=OURS):
    """Leave a store with one row and a record."""
    state = UnloggedState(folder, identity)
    store = state.store("t")
    store.store.put(b"k", b"v")
    store.write_record(b"record")
    state.commit()
    return state


def die(state):
    """Leave the files as a dead worker does: nothing is closed in order."""
    state._environment.close()


def found(folder, identity):
    with closing(UnloggedState(folder, identity)) as state:
        store = state.store("t")
        return store.store.get(b"k"), store.record


def test_what_a_dead_worker_committed_is_there(folder):
    state = written(folder)
    state.store("t").store.put(b"k", b"later")
    die(state)
    assert found(folder, OURS) == (b"v", b"record")


@pytest.mark.parametrize("change", [{"run_id": "r2"}, {"task": "Partition 1"}, {"boot_id": "boot 2"}])
def test_what_is_anothers_or_may_be_lost_is_recreated(folder, change):
    die(written(folder))
    assert found(folder, msgspec.structs.replace(OURS, **change)) == (None, None)


def test_a_clean_stop_survives_a_crash_of_the_machine(folder):
    written(folder).close()
    assert found(folder, msgspec.structs.replace(OURS, boot_id="boot 2")) == (b"v", b"record")


@pytest.mark.parametrize("content", [b"", b"no state", b"no state" * 1_000])
@pytest.mark.parametrize("closed", [True, False])
def test_damaged_state_is_recreated(folder, content, closed):
    state = written(folder)
    state.close() if closed else die(state)
    (folder / DATA_FILE).write_bytes(content)
    assert found(folder, OURS) == (None, None)


@pytest.mark.parametrize("size", [4_096, 12_288, 1 << 20])
def test_state_that_was_closed_with_another_size_is_not_opened(folder, size):
    written(folder).close()
    os.truncate(folder / DATA_FILE, size)
    assert found(folder, OURS) == (None, None)


def test_a_copy_of_state_that_was_open_is_recreated(folder, tmp_path):
    """Its pages may be of several commits."""
    die(written(folder))
    shutil.copytree(folder, tmp_path / "copy")
    assert found(tmp_path / "copy", OURS) == (None, None)


def test_a_copy_of_state_that_was_closed_is_as_good_as_the_state(folder, tmp_path):
    written(folder).close()
    shutil.copytree(folder, tmp_path / "copy")
    elsewhere = msgspec.structs.replace(OURS, boot_id="elsewhere")
    assert found(tmp_path / "copy", elsewhere) == (b"v", b"record")


def test_state_without_a_marker_is_recreated(folder):
    """The previous release wrote none: whether a loss of power came between is not known."""
    die(written(folder))
    (folder / MARKER_FILE).unlink()
    assert found(folder, OURS) == (None, None)


def test_an_emptied_store_has_no_record(folder):
    state = written(folder)
    state.store("t").clear()
    die(state)
    assert found(folder, OURS) == (None, None)
