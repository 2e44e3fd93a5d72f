"""Store, changelog and checkpoint through commits, deaths and restores, against dictionaries."""

import shutil

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from streamapp_core.control.control_snapshot import ControlSnapshot
from streamapp_runtime.errors import DriverLost
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, Checkpoint, InputPosition, encode_checkpoint
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.task_state import TaskState
from support.changelogs import Changelog, changed_pairs

IDENTITY = StateOwner(run_id="r1", task="Partition 0", boot_id="this boot")
NOTHING = ControlSnapshot(watermarks={}, intermediate=(), sources=()).model_dump_json()
KEYS = st.binary(min_size=1, max_size=2)
STORES = ("a", "b")


def checkpoint(number):
    position = InputPosition(offset=number, rows=number)
    return encode_checkpoint(Checkpoint(positions={"s": {0: position}}, control=NOTHING, not_used={}))


def open_state(folder, changelog, identity=IDENTITY, time=0):
    state = TaskState(folder, identity, changelog, lambda: time)
    return state, {name: state.logged_store(name) for name in STORES}


def contents(stores):
    return {name: dict(store.scan()) for name, store in stores.items()}


def test_any_history_of_commits_and_deaths_keeps_what_the_changelog_has(tmp_path_factory):
    class History(RuleBasedStateMachine):
        @initialize()
        def begin(self):
            self.folder = tmp_path_factory.mktemp("state")
            self.copy = None
            self.changelog = Changelog()
            self.number = 0
            self.committed = {name: {} for name in STORES}
            self.open()

        def open(self, identity=IDENTITY):
            self.state, self.stores = open_state(self.folder, self.changelog, identity)
            self.present = {name: dict(entries) for name, entries in self.committed.items()}
            assert contents(self.stores) == self.committed
            found = self.state.checkpoint
            assert (found.positions["s"][0].offset if found else 0) == self.number
            assert self.state.position == self.changelog.end()

        def log(self):
            self.number += 1
            self.changelog.append([*changed_pairs(self.state.changes()), (CHECKPOINT_KEY, checkpoint(self.number))])
            self.committed = {name: dict(entries) for name, entries in self.present.items()}

        @rule(name=st.sampled_from(STORES), key=KEYS, value=st.binary(max_size=2))
        def put(self, name, key, value):
            self.stores[name].put(key, value)
            self.present[name][key] = value

        @rule(name=st.sampled_from(STORES), key=KEYS)
        def delete(self, name, key):
            self.stores[name].delete(key)
            self.present[name].pop(key, None)

        @rule()
        def commit(self):
            self.log()
            self.state.commit(self.changelog.end(), checkpoint(self.number))

        @rule()
        def die_between_the_commits(self):
            self.log()
            self.abandon()

        @rule()
        def die(self):
            self.abandon()

        def abandon(self):
            """Leave the files as a dead process does: nothing is closed in order."""
            self.state._environment.close()
            self.open()

        @rule()
        def stop_in_order(self):
            self.state.close()
            self.open(StateOwner(run_id="r1", task="Partition 0", boot_id="next boot"))
            self.state.close()
            self.open()

        @rule()
        def crash_of_the_machine(self):
            self.state._environment.close()
            self.open(StateOwner(run_id="r1", task="Partition 0", boot_id=f"boot {self.number}"))
            self.state.close()
            self.open()

        @rule()
        def loss_of_the_disk(self):
            self.state._environment.close()
            shutil.rmtree(self.folder)
            self.open()

        @rule(cut=st.integers(0, 20_000))
        def damage(self, cut):
            self.state._environment.close()
            with (self.folder / "data.mdb").open("r+b") as file:
                file.truncate(cut)
            self.open()

        @rule()
        def go_back_to_an_old_copy(self):
            self.state._environment.close()
            data = self.folder / "data.mdb"
            if self.copy is not None:
                data.write_bytes(self.copy)
            self.copy = data.read_bytes()
            self.open()

        @rule()
        def compact(self):
            self.changelog.compact()

        @precondition(lambda self: hasattr(self, "state"))
        @rule()
        def look(self):
            assert contents(self.stores) == self.present

        def teardown(self):
            if hasattr(self, "state"):
                self.state.close()

    run_state_machine_as_test(History, settings=settings(max_examples=60, stateful_step_count=25, deadline=None))


def test_a_store_that_is_behind_reads_the_difference_only(tmp_path):
    changelog = Changelog()
    state, stores = open_state(tmp_path, changelog)
    for number in range(100):
        stores["a"].put(b"%d" % number, b"x")
    changelog.append(changed_pairs(state.changes()))
    state.commit(changelog.end(), checkpoint(1))
    stores["a"].put(b"new", b"y")
    changelog.append(changed_pairs(state.changes()))
    state.close()
    again, stores = open_state(tmp_path, changelog)
    assert again.restored == (True, 1, 0)
    assert stores["a"].get(b"new") == b"y"
    again.close()


def test_the_state_of_another_run_or_task_is_not_taken_over(tmp_path):
    for identity in (
        StateOwner(run_id="r2", task="Partition 0", boot_id="this boot"),
        StateOwner(run_id="r2", task="Partition 1", boot_id="this boot"),
    ):
        state, stores = open_state(tmp_path, Changelog(), identity)
        assert contents(stores) == {"a": {}, "b": {}}
        stores["a"].put(b"k", b"v")
        state.commit(0, checkpoint(1))
        state.close()


def test_state_ahead_of_its_changelog_is_not_believed(tmp_path):
    changelog = Changelog()
    state, stores = open_state(tmp_path, changelog)
    stores["a"].put(b"k", b"v")
    changelog.append(changed_pairs(state.changes()))
    state.commit(changelog.end(), checkpoint(1))
    state.close()
    state, stores = open_state(tmp_path, Changelog())
    assert contents(stores) == {"a": {}, "b": {}}
    state.close()


@pytest.mark.parametrize("hours, kept", [(11, True), (12, False), (400, False)])
@pytest.mark.parametrize("closed", [True, False])
def test_a_store_that_may_have_missed_a_deletion_is_recreated(tmp_path, hours, kept, closed):
    changelog = Changelog()
    state, stores = open_state(tmp_path, changelog)
    stores["a"].put(b"k", b"v")
    changelog.append(changed_pairs(state.changes()))
    state.commit(changelog.end(), checkpoint(1))
    state.close() if closed else state._environment.close()
    changelog.append([(b"a\0k", None)])
    changelog.compact()
    state, stores = open_state(tmp_path, changelog, time=hours * 3_600_000)
    assert state.restored == (kept, 1, 0)
    assert contents(stores) == {"a": {}, "b": {}}
    state.close()


@pytest.mark.parametrize("confirmed, kept", [(None, False), (11, False), (13, True)])
def test_a_zombie_that_closes_its_store_late_does_not_make_it_younger(tmp_path, confirmed, kept):
    changelog, now = Changelog(), [0]
    state = TaskState(tmp_path, IDENTITY, changelog, lambda: now[0])
    state.commit(changelog.end(), checkpoint(1))
    if confirmed is not None:
        now[0] = confirmed * 3_600_000
        state.confirm()
    now[0] = 24 * 3_600_000
    state.close()
    state = TaskState(tmp_path, IDENTITY, changelog, lambda: now[0])
    assert state.restored.kept is kept
    state.close()


def test_a_store_of_the_future_is_not_taken_for_a_young_one(tmp_path):
    state, _ = open_state(tmp_path, Changelog(), time=1_000 * 3_600_000)
    state.close()
    state, _ = open_state(tmp_path, Changelog(), time=0)
    assert not state.restored.kept
    state.close()


def test_a_long_changelog_is_restored_in_several_commits_and_progress_is_reported(tmp_path):
    changelog = Changelog(at_once=2)
    changelog.append((b"a\0%d" % number, bytes(20 << 20)) for number in range(5))
    changelog.append([(b"a\x000", None)])
    told = []
    state = TaskState(tmp_path, IDENTITY, changelog, lambda: 0, told.append)
    assert told == [(False, 0, 6), (False, 2, 4), (False, 4, 2), (False, 6, 0), (False, 6, 0)]
    assert [key for key, _ in state.logged_store("a").scan()] == [b"1", b"2", b"3", b"4"]
    state.close()


def test_a_restore_that_is_broken_off_leaves_the_folder_to_the_next_one(tmp_path):
    def stop(_):
        raise DriverLost("the driver said stop")

    with pytest.raises(DriverLost) as _kept:
        TaskState(tmp_path, IDENTITY, Changelog(), lambda: 0, stop)
    state, _ = open_state(tmp_path, Changelog())
    state.close()


def test_a_store_that_is_at_a_place_in_another_changelog_is_recreated(tmp_path):
    changelogs = {name: Changelog(name) for name in ("former", "recreated")}
    for name, changelog in changelogs.items():
        changelog.append([(b"a\0k", name.encode())])
        state, stores = open_state(tmp_path, changelog)
        assert state.restored == (False, 1, 0)
        assert contents(stores) == {"a": {b"k": name.encode()}, "b": {}}
        state.close()
