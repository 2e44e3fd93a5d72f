"""Stores that are, and are not, a fold of their changelog."""

import lmdb
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamapp_runtime.state.changelog_verification import verify_state
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, changelog_key
from streamapp_runtime.state.lmdb_environment import DATA_FILE
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store_marker import write_marker
from streamapp_runtime.state.task_state import TaskState
from support.changelogs import Changelog, changed_pairs

IDENTITY = StateOwner(run_id="r1", task="Partition 0", boot_id="b")
KEYS = st.binary(min_size=1, max_size=1)
CHANGES = st.dictionaries(KEYS, st.none() | st.binary(max_size=2), max_size=5)


def committed(folder, changelog, batches):
    """Commit batches of changes to a store and its changelog."""
    state = TaskState(folder, IDENTITY, changelog, lambda: 0)
    store = state.logged_store("s")
    for changes in batches:
        for key, value in changes.items():
            store.delete(key) if value is None else store.put(key, value)
        changelog.append([*changed_pairs(state.changes()), (CHECKPOINT_KEY, b"checkpoint %d" % changelog.next)])
        state.commit(changelog.end(), changelog.records[-1].value)
    state.close()


def verified(tmp_path_factory, folder, changelog, **changed):
    scratch, owner = tmp_path_factory.mktemp("scratch"), msgspec.structs.replace(IDENTITY, **changed)
    return verify_state(folder, owner, changelog, scratch=scratch, sleep=lambda _: None)


def tamper(folder, key, value, store=b"s"):
    with lmdb.open(str(folder), max_dbs=8, lock=False) as environment:
        database = environment.open_db(store)
        with environment.begin(write=True, db=database) as transaction:
            transaction.delete(key) if value is None else transaction.put(key, value)
    write_marker(folder, IDENTITY, synced=True)


@given(
    batches=st.lists(CHANGES, min_size=1, max_size=4),
    later=st.lists(CHANGES, max_size=2),
    tampered=st.tuples(KEYS, st.none() | st.binary(max_size=2)),
    compacted=st.booleans(),
)
def test_a_store_is_right_when_it_is_the_fold_of_its_changelog_below_its_position(
    tmp_path_factory, batches, later, tampered, compacted
):
    folder, changelog = tmp_path_factory.mktemp("state"), Changelog()
    committed(folder, changelog, batches)
    position = changelog.end()
    changelog.append((changelog_key("s", key), value) for changes in later for key, value in changes.items())
    if compacted:
        changelog.compact()
    verdict = verified(tmp_path_factory, folder, changelog)
    assert (verdict.equal, verdict.position) == (True, position)
    key, value = tampered
    expected = {key: value for changes in batches for key, value in changes.items()}.get(key)
    tamper(folder, key, value)
    told_later = compacted and any(key in changes for changes in later)
    verdict = verified(tmp_path_factory, folder, changelog)
    differences = [(difference.key, difference.found, difference.expected) for difference in verdict.differences]
    assert differences == ([] if told_later or value == expected else [(key, value, expected)])


def test_records_and_keys_are_counted(tmp_path_factory, tmp_path):
    changelog = Changelog()
    committed(tmp_path, changelog, [{b"a": b"1", b"b": b"1"}, {b"a": b"2", b"b": None}])
    verdict = verified(tmp_path_factory, tmp_path, changelog)
    assert verdict.equal
    assert (verdict.records, verdict.keys, verdict.position) == (6, 1, 6)


def test_a_store_that_the_changelog_does_not_know_is_a_difference(tmp_path_factory, tmp_path):
    changelog = Changelog()
    committed(tmp_path, changelog, [{b"a": b"1"}])
    tamper(tmp_path, b"k", b"v", store=b"other")
    (difference,) = verified(tmp_path_factory, tmp_path, changelog).differences
    assert (difference.store, difference.key, difference.expected) == ("other", b"k", None)


def test_a_lost_checkpoint_is_a_difference(tmp_path_factory, tmp_path):
    changelog = Changelog()
    committed(tmp_path, changelog, [{b"a": b"1"}])
    tamper(tmp_path, b"checkpoint", b"other", store=b"__meta")
    (difference,) = verified(tmp_path_factory, tmp_path, changelog).differences
    assert (difference.found, difference.expected) == (b"other", b"checkpoint 0")


def test_a_store_that_is_not_there_is_no_fault(tmp_path_factory, tmp_path):
    verdict = verified(tmp_path_factory, tmp_path / "none", Changelog())
    assert verdict.equal
    assert verdict.position is None
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder, changelog: changelog.__init__(), "beyond its changelog, which ends at 0"),
        (lambda folder, changelog: (folder / DATA_FILE).write_bytes(b"?" * 8192), "is damaged"),
    ],
)
def test_a_store_that_can_not_be_compared_says_why(tmp_path_factory, tmp_path, spoil, reason):
    changelog = Changelog()
    committed(tmp_path, changelog, [{b"a": b"1"}])
    spoil(tmp_path, changelog)
    verdict = verified(tmp_path_factory, tmp_path, changelog)
    assert not verdict.equal
    assert reason in verdict.wrong


def test_the_store_of_another_task_is_not_compared(tmp_path_factory, tmp_path):
    changelog = Changelog()
    committed(tmp_path, changelog, [{b"a": b"1"}])
    assert "another task or run" in verified(tmp_path_factory, tmp_path, changelog, run_id="r2").wrong


def test_a_store_that_was_open_when_the_machine_crashed_is_as_good_as_none(tmp_path_factory, tmp_path):
    changelog = Changelog()
    committed(tmp_path, changelog, [{b"a": b"1"}])
    write_marker(tmp_path, IDENTITY, synced=False)
    assert verified(tmp_path_factory, tmp_path, changelog).position == 2
    after_the_crash = verified(tmp_path_factory, tmp_path, changelog, boot_id="c")
    assert (after_the_crash.equal, after_the_crash.position) == (True, None)
