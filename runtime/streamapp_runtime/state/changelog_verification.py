"""Verification of a task's state: its stores must equal what a restore of its changelog gives."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import lmdb

from streamapp_runtime.state.changelog import ChangelogReader
from streamapp_runtime.state.checkpoint import CHECKPOINT_KEY, changelog_key, store_and_key
from streamapp_runtime.state.lmdb_environment import MAP_SIZE, DamagedState, LmdbEnvironment, size_of
from streamapp_runtime.state.state_folder import assess_folder
from streamapp_runtime.state.state_metadata import CHANGELOG, CHECKPOINT, META, POSITION
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store_marker import StoreCondition
from streamapp_runtime.state.store_size import StoreSize

_BATCH = 50_000
_SHOWN = 10
_PAUSES = (0.05, 0.2, 1.0, 5.0)
_MAXIMUM_STORES = 1_024
_WRONG = {
    StoreCondition.FOREIGN: "it is the store of another task or run",
    StoreCondition.ALTERED: "it is damaged: its file is not the one that was written here",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryDifference:
    """One entry in which store and changelog differ; None: it is absent."""

    store: str
    key: bytes
    found: bytes | None
    expected: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateVerdict:
    """The result for one task: the `records` of its changelog below the store's `position` make so many `keys`.

    `position` is None if no store here can be believed. `wrong` is the reason why a store can't be compared;
    `differences` are the first ones, `sizes` those of the stores here, by operator or table.
    """

    task: str
    records: int = 0
    keys: int = 0
    position: int | None = None
    wrong: str | None = None
    differences: tuple[EntryDifference, ...] = ()
    sizes: Mapping[str, StoreSize] = field(default_factory=dict)

    @property
    def equal(self) -> bool:
        """Whether the store equals its changelog; so does one that the next start restores, as it is not here."""
        return self.wrong is None and not self.differences


def verify_state(
    folder: Path,
    owner: StateOwner,
    changelog: ChangelogReader,
    *,
    scratch: Path,
    sleep: Callable[[float], None],
) -> StateVerdict:
    """Restore a changelog from its beginning in the empty folder `scratch`, and compare with the stores in `folder`.

    The caller holds the folder's lock; the stores stay as they are.
    """
    task, condition = owner.task, assess_folder(folder, owner)
    if condition is not StoreCondition.INTACT:
        return StateVerdict(task=task, wrong=_WRONG.get(condition))
    try:
        state = _Contents(folder)
    except DamagedState as damaged:
        return StateVerdict(task=task, wrong=str(damaged))
    with closing(state):
        position = int(state.get(META, POSITION) or b"0")
        end = _end_from(changelog, position, sleep)
        wrong = None
        if (state.get(META, CHANGELOG) or b"").decode() != changelog.identity():
            wrong = "its changelog was recreated"
        if wrong is None and position > end:
            wrong = f"it is at {position}, beyond its changelog, which ends at {end}"
        if wrong is not None:
            return StateVerdict(task=task, position=position, wrong=wrong)
        restored = _restore(scratch, changelog, position, end)
        with closing(restored.contents):
            return StateVerdict(
                task=task,
                records=restored.records,
                keys=sum(1 for _ in restored.contents.entries()),
                position=position,
                differences=tuple(restored.differences(state)),
                sizes=state.sizes(),
            )


def _end_from(changelog: ChangelogReader, position: int, sleep: Callable[[float], None]) -> int:
    """Return the end of a changelog; brokers may show a transaction's end a moment after they have confirmed it."""
    for pause in _PAUSES:
        if (end := changelog.end()) >= position:
            return end
        sleep(pause)
    return changelog.end()


class _Contents:
    """The committed entries of the stores in a folder, as they are now."""

    def __init__(self, folder: Path) -> None:
        """Open them for reading.

        Raises:
            DamagedState: the files are no state.
        """
        LmdbEnvironment(folder).close()
        self._environment = lmdb.open(
            str(folder), map_size=MAP_SIZE, max_dbs=_MAXIMUM_STORES, readonly=True, lock=False, create=False
        )
        self._transaction = self._environment.begin()
        self._stores = {
            bytes(name).decode(): self._environment.open_db(bytes(name), self._transaction, create=False)
            for name in self._transaction.cursor().iternext(values=False)
        }

    def get(self, store: str, key: bytes) -> bytes | None:
        """Return the value of an entry; None if it is absent."""
        if store not in self._stores:
            return None
        value = self._transaction.get(key, db=self._stores[store])
        return None if value is None else bytes(value)

    def entries(self) -> Iterator[tuple[str, bytes, bytes]]:
        """Iterate over all entries of all stores."""
        for name, database in self._stores.items():
            if name != META:
                for key, value in self._transaction.cursor(database):
                    yield name, bytes(key), bytes(value)

    def sizes(self) -> Mapping[str, StoreSize]:
        """Return the size of each store."""
        return {name: size_of(self._transaction, store) for name, store in self._stores.items() if name != META}

    def close(self) -> None:
        """Release the files."""
        self._transaction.abort()
        self._environment.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class _RestoredChangelog:
    """A restore of a changelog up to a position: the newest value of each key below it.

    `later` are the keys that only later records have. Such a key may have had an earlier value, which compaction has
    removed: it can't be compared.
    """

    contents: _Contents
    records: int
    later: Collection[bytes]

    def differences(self, state: _Contents) -> Iterator[EntryDifference]:
        """Compare the checkpoint and every entry of every store, both ways; yield the first few that differ."""
        found = (d for d in self._all_differences(state) if d.expected is not None or not self._incomparable(d))
        return islice(found, _SHOWN)

    def _all_differences(self, state: _Contents) -> Iterator[EntryDifference]:
        checkpoint, expected = state.get(META, CHECKPOINT), self.contents.get(META, CHECKPOINT)
        if checkpoint != expected:
            yield EntryDifference(store=META, key=CHECKPOINT, found=checkpoint, expected=expected)
        for store, key, value in state.entries():
            expected = self.contents.get(store, key)
            if value != expected:
                yield EntryDifference(store=store, key=key, found=value, expected=expected)
        for store, key, value in self.contents.entries():
            if state.get(store, key) is None:
                yield EntryDifference(store=store, key=key, found=None, expected=value)

    def _incomparable(self, difference: EntryDifference) -> bool:
        is_checkpoint = difference.store == META
        return (CHECKPOINT_KEY if is_checkpoint else changelog_key(difference.store, difference.key)) in self.later


def _restore(folder: Path, changelog: ChangelogReader, position: int, end: int) -> _RestoredChangelog:
    """Restore a changelog on disk, as it may be large."""
    environment = LmdbEnvironment(folder)
    records, later = 0, set()
    for record in chain.from_iterable(changelog.read(0, end)):
        name, key = _store_key(record.key or b"")
        store = environment.store(name)
        if record.offset >= position:
            if store.get(key) is None:
                later.add(record.key or b"")
            continue
        records += 1
        if record.value is None:
            store.delete(key)
        else:
            store.put(key, record.value)
        if records % _BATCH == 0:
            environment.commit()
    environment.commit()
    environment.close()
    return _RestoredChangelog(contents=_Contents(folder), records=records, later=later)


def _store_key(key: bytes) -> tuple[str, bytes]:
    """Return the store and the key that a changelog record changes."""
    return (META, CHECKPOINT) if key == CHECKPOINT_KEY else store_and_key(key)
