"""After a loss of power at any moment a store is what was committed, or recreated, whatever pages the disk has."""

import random

import msgspec
import pytest

from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.task_state import TaskState
from streamapp_runtime.state.unlogged_state import UnloggedState
from support.changelogs import Changelog, changed_pairs
from support.disk_images import recorded
from support.image_opener import STORES, open_all

OURS = StateOwner(run_id="r1", task="Partition 0", boot_id="boot 1")
AFTERWARDS = msgspec.structs.replace(OURS, boot_id="boot 2")
IMAGES = 25
KEYS, CHANGES, COMMITS = 300, 60, 8


def changes(chance):
    """Return changes of a commit: values of several sizes, so that pages are freed and used again."""
    values = [bytes([chance.randrange(256)]) * chance.randrange(400) for _ in range(CHANGES)]
    return {b"%d" % chance.randrange(KEYS): value if chance.random() < 0.8 else None for value in values}


def write(stores, chance):
    for store in stores:
        for key, value in changes(chance).items():
            store.delete(key) if value is None else store.put(key, value)


def commit_logged(state, stores, changelog, chance):
    write(stores, chance)
    changelog.append([*changed_pairs(state.changes()), (CHECKPOINT_KEY, b"{}")])
    state.commit(changelog.end(), b"{}")


def commit_unlogged(state, stores, committed, chance):
    write([store.store for store in stores.values()], chance)
    record = b"%d" % len(committed)
    stores["a"].write_record(record)
    state.commit()
    committed[record] = {name: dict(store.store.scan()) for name, store in stores.items()}


def images_of(recording, folder, chance):
    folders = []
    for number in range(IMAGES):
        image = folder / str(number)
        image.mkdir(parents=True)
        for name, content in recording.image(chance).items():
            (image / name).write_bytes(content)
        folders.append(image)
    return folders


def folded(changelog):
    found = {name: {} for name in STORES}
    for record in changelog.records:
        name, _, key = record.key.partition(b"\0")
        if record.key == CHECKPOINT_KEY:
            continue
        if record.value is None:
            found[name.decode()].pop(key, None)
        else:
            found[name.decode()][key] = record.value
    return found


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ending", ["works", "has just opened", "closes"])
def test_logged_stores(tmp_path, seed, ending):
    chance, changelog, folder = random.Random(seed), Changelog(), tmp_path / "state"

    def opened():
        state = TaskState(folder, OURS, changelog, lambda: 0)
        return state, [state.logged_store(name) for name in STORES]

    with recorded(folder) as recording:
        for _ in range(2):
            state, stores = opened()
            for _ in range(COMMITS):
                commit_logged(state, stores, changelog, chance)
            state.close()
        if ending != "closes":
            state, stores = opened()
            for _ in range(chance.randrange(1, COMMITS) if ending == "works" else 0):
                commit_logged(state, stores, changelog, chance)
    found = list(open_all(images_of(recording, tmp_path / "images", chance), AFTERWARDS, changelog))
    if ending != "closes":
        state.close()
    assert [one.stores if hasattr(one, "stores") else one for one in found] == [folded(changelog)] * IMAGES
    assert all(one.kept for one in found) is (ending == "closes")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ending", ["works", "has just opened", "closes"])
def test_unlogged_stores(tmp_path, seed, ending):
    chance, folder = random.Random(seed), tmp_path / "state"
    committed = {None: {name: {} for name in STORES}}

    def opened():
        state = UnloggedState(folder, OURS)
        return state, {name: state.store(name) for name in STORES}

    with recorded(folder) as recording:
        for _ in range(2):
            state, stores = opened()
            for _ in range(COMMITS):
                commit_unlogged(state, stores, committed, chance)
            state.close()
        if ending != "closes":
            state, stores = opened()
            for _ in range(chance.randrange(1, COMMITS) if ending == "works" else 0):
                commit_unlogged(state, stores, committed, chance)
    found = list(open_all(images_of(recording, tmp_path / "images", chance), AFTERWARDS, None))
    if ending != "closes":
        state.close()
    assert [one if isinstance(one, str) else one.stores == committed[one.record] for one in found] == [True] * IMAGES
    if ending == "closes":
        assert {one.record for one in found} == {b"%d" % (len(committed) - 1)}
