"""The state of a task: stores whose changes go to its changelog, and the place in it they are at (design 9)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import msgspec

from streamapp_runtime.state.checkpoint import (
    CHECKPOINT_KEY,
    Checkpoint,
    changelog_key,
    decode_checkpoint,
    store_and_key,
)
from streamapp_runtime.state.lmdb_environment import DATA_FILE, DamagedState, LmdbEnvironment
from streamapp_runtime.state.protocol import Store

_META = "__meta"
_IDENTITY, _POSITION, _CHECKPOINT = b"identity", b"position", b"checkpoint"
_REPLAYED = 50_000
_SAFE = ""
"""In place of a boot id: everything is on the disk."""


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """Whose state a folder holds, and the start of the machine whose crash may have lost writes (empty: none can)."""

    run_id: str
    task: str
    boot_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogRecord:
    """One record of a task's changelog; a value of None is a deletion."""

    offset: int
    key: bytes
    value: bytes | None


class ChangelogReader(Protocol):
    """Reads the changelog of one task, to which nobody writes meanwhile."""

    def end(self) -> int:
        """Tell the offset after its last record."""
        ...

    def read(self, start: int, end: int) -> Iterator[ChangelogRecord]:
        """Give its records from one offset to another, without those that compaction removed."""
        ...


class TaskState:
    """The stores of one task, its checkpoint, and its position in its changelog: one transaction.

    The changelog is the truth. The stores may be behind it, never ahead: they commit after it, and only what it has.
    """

    def __init__(self, folder: Path, identity: Identity, changelog: ChangelogReader) -> None:
        """Open the state and bring it up to the changelog (`docs/protocols.md`, start of a task).

        State is made anew from the whole changelog where it can't be used: it is damaged, another run's or task's,
        was left by a machine that crashed, or is ahead of its changelog. The caller holds the folder's lock.
        """
        self._folder = folder
        self._identity = identity
        self._logged: list[str] = []
        end = changelog.end()
        self._environment = self._open(end)
        self._meta = self._environment.store(_META)
        self.replayed = self._replay(changelog.read(self.position, end), end)
        """How many records the stores were behind."""

    @property
    def position(self) -> int:
        """The offset in the changelog up to which the stores have everything."""
        return int(self._meta.get(_POSITION) or b"0")

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint of the last commit; None before the first."""
        data = self._meta.get(_CHECKPOINT)
        return None if data is None else decode_checkpoint(data)

    def logged_store(self, name: str) -> Store:
        """Open a store whose changes go to the changelog."""
        self._logged.append(name)
        return self._environment.store(name)

    def emptied_store(self, name: str) -> Store:
        """Open a store that is filled anew at each start and has no changelog."""
        self._environment.clear(name)
        return self._environment.store(name)

    def changes(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Give the changelog entries of what was written since the last commit."""
        for name in self._logged:
            for key, value in self._environment.changes(name):
                yield changelog_key(name, key), value

    def commit(self, position: int, checkpoint: bytes) -> None:
        """Make the stores last together with their checkpoint and their place in the changelog."""
        self._meta.put(_CHECKPOINT, checkpoint)
        self._commit_at(position)

    def close(self) -> None:
        """Release the state. What was committed is brought to the disk, so a crash of the machine loses nothing."""
        self._environment.discard()
        self._environment.sync()
        self._sign(msgspec.structs.replace(self._identity, boot_id=_SAFE))
        self._environment.sync()
        self._environment.close()

    def _open(self, end: int) -> LmdbEnvironment:
        try:
            environment = LmdbEnvironment(self._folder)
        except DamagedState:
            return self._made_anew()
        meta = environment.store(_META)
        found = meta.get(_IDENTITY)
        owner = None if found is None else msgspec.json.decode(found, type=Identity)
        boot_ids = (_SAFE, self._identity.boot_id)
        ours = owner is not None and owner == msgspec.structs.replace(self._identity, boot_id=owner.boot_id)
        if owner is None or not ours or owner.boot_id not in boot_ids or int(meta.get(_POSITION) or b"0") > end:
            environment.close()
            return self._made_anew()
        return environment

    def _made_anew(self) -> LmdbEnvironment:
        (self._folder / DATA_FILE).unlink(missing_ok=True)
        return LmdbEnvironment(self._folder)

    def _replay(self, records: Iterable[ChangelogRecord], end: int) -> int:
        self._sign(self._identity)
        count = 0
        for count, record in enumerate(records, 1):
            self._apply(record)
            if count % _REPLAYED == 0:
                self._commit_at(record.offset + 1)
        self._commit_at(end)
        return count

    def _apply(self, record: ChangelogRecord) -> None:
        if record.key == CHECKPOINT_KEY:
            self._meta.put(_CHECKPOINT, record.value or b"")
            return
        name, key = store_and_key(record.key)
        store = self._environment.store(name)
        if record.value is None:
            store.delete(key)
        else:
            store.put(key, record.value)

    def _commit_at(self, position: int) -> None:
        assert position >= self.position, "the stores are never ahead of their changelog"
        self._meta.put(_POSITION, str(position).encode())
        self._environment.commit()

    def _sign(self, identity: Identity) -> None:
        self._meta.put(_IDENTITY, msgspec.json.encode(identity))
        self._environment.commit()
