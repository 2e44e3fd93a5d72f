"""Stores without changelog: reused as long as they are valid."""

import shutil
from contextlib import closing

import msgspec
import pytest

from streamapp_runtime.state.lmdb_environment import DATA_FILE
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.unlogged_state import UnloggedState

OURS = StateOwner(run_id="r1", task="Partition 0", boot_id="boot 1")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "state"


def written(folder, identity=OURS):
    """Leave a store with one row and a record, as a worker does that dies."""
    state = UnloggedState(folder, identity)
    store = state.store("t")
    store.store.put(b"k", b"v")
    store.write_record(b"record")
    state.commit()
    return state


def found(folder, identity):
    """Open a copy of the folder: the worker that left it is still alive in this process."""
    left = folder.with_suffix(".left")
    shutil.copytree(folder, left)
    with closing(UnloggedState(left, identity)) as state:
        store = state.store("t")
        return store.store.get(b"k"), store.record


def test_what_a_dead_worker_committed_is_there(folder):
    state = written(folder)
    state.store("t").store.put(b"k", b"later")
    assert found(folder, OURS) == (b"v", b"record")


@pytest.mark.parametrize("change", [{"run_id": "r2"}, {"task": "Partition 1"}, {"boot_id": "boot 2"}])
def test_what_is_anothers_or_may_be_lost_is_recreated(folder, change):
    written(folder)
    assert found(folder, msgspec.structs.replace(OURS, **change)) == (None, None)


def test_a_clean_stop_survives_a_crash_of_the_machine(folder):
    written(folder).close()
    assert found(folder, msgspec.structs.replace(OURS, boot_id="boot 2")) == (b"v", b"record")


def test_damaged_state_is_recreated(folder):
    written(folder)
    (folder / DATA_FILE).write_bytes(b"no state")
    assert found(folder, OURS) == (None, None)


def test_an_emptied_store_has_no_record(folder):
    written(folder).store("t").clear()
    assert found(folder, OURS) == (None, None)
