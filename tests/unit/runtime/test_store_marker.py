"""Stores are believed by their marker alone: a pure decision, and a file that is as good as nothing when it is torn."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.state.lmdb_environment import DATA_FILE
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store_marker import (
    MARKER_FILE,
    DataFile,
    StoreCondition,
    StoreMarker,
    assess_stores,
    find_data_file,
    read_marker,
    remove_marker,
    write_marker,
)

NAMES = st.sampled_from(["a", "b"])
OWNERS = st.builds(StateOwner, run_id=NAMES, task=NAMES, boot_id=NAMES)
FILES = st.builds(DataFile, st.integers(1, 2), st.integers(1, 2))
MARKERS = st.builds(StoreMarker, owner=OWNERS, file=FILES, synced=st.booleans())
OURS = StateOwner(run_id="r1", task="Partition 0", boot_id="b")


@given(MARKERS, FILES, OWNERS)
def test_only_what_nobody_can_have_lost_or_mixed_is_intact(marker, found, owner):
    ours = (marker.owner.run_id, marker.owner.task) == (owner.run_id, owner.task)
    whole = marker.synced and marker.file.size == found.size
    same_boot = marker.owner.boot_id == owner.boot_id and marker.file.inode == found.inode
    intact = assess_stores(marker, found, owner) is StoreCondition.INTACT
    assert intact is (ours and (whole or (not marker.synced and same_boot)))


@given(MARKERS, FILES, OWNERS)
def test_a_crash_of_the_machine_leaves_no_open_stores_intact(marker, found, owner):
    after_a_crash = msgspec.structs.replace(owner, boot_id="another boot")
    if not marker.synced:
        assert assess_stores(marker, found, after_a_crash) is not StoreCondition.INTACT
    else:
        assert assess_stores(marker, found, after_a_crash) is assess_stores(marker, found, owner)


@given(MARKERS, FILES, OWNERS)
def test_nothing_is_believed_without_both_files(marker, found, owner):
    assert assess_stores(None, found, owner) is StoreCondition.UNMARKED
    assert assess_stores(marker, None, owner) is StoreCondition.UNMARKED


@given(content=st.binary(max_size=40), cut=st.integers(0, 200), synced=st.booleans())
def test_a_marker_that_is_torn_is_none(tmp_path_factory, content, cut, synced):
    folder = tmp_path_factory.mktemp("state")
    assert read_marker(folder) is find_data_file(folder) is None
    (folder / DATA_FILE).write_bytes(bytes(100))
    write_marker(folder, OURS, synced=synced)
    written = (folder / MARKER_FILE).read_bytes()
    found = find_data_file(folder)
    assert read_marker(folder) == StoreMarker(owner=OURS, file=found, synced=synced)
    for torn in (content, written[: min(cut, len(written.rstrip()) - 1)], bytes(len(written))):
        (folder / MARKER_FILE).write_bytes(torn)
        assert read_marker(folder) is None
    remove_marker(folder)
    assert read_marker(folder) is None
