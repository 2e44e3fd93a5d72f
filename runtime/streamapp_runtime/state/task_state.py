"""The state of a task: stores whose changes go to its changelog, and the place in it they are at (design 9)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from streamapp_runtime.state.checkpoint import (
    CHECKPOINT_KEY,
    Checkpoint,
    changelog_key,
    decode_checkpoint,
)
from streamapp_runtime.state.lmdb_environment import DamagedState, LmdbEnvironment, LmdbStore
from streamapp_runtime.state.state_owner import (
    META,
    StateOwner,
    is_intact_state_of,
    recreate_environment,
    sync_and_close,
    write_owner,
)
from streamapp_runtime.state.store import Store
from streamapp_systems.protocols import Messages

POSITION, CHECKPOINT = b"position", b"checkpoint"
CHANGELOG = b"changelog"
"""The identity of the changelog that the position is in."""
_CURRENT = b"current"
"""When the stores had all of the changelog for the last time, in milliseconds since 1970."""
_OLDEST = 12 * 60 * 60 * 1_000
"""Changelogs keep deletions for a day. A store that has not seen them for half of it may miss some: it is made anew."""
_REPLAYED_BYTES = 64 << 20
"""Bytes of records that are gathered in memory and then written in the order of their keys."""
_RECORD_BYTES = 100
"""Bytes that a record takes in memory beside its key and value, about."""


class RestoreStatus(NamedTuple):
    """How a store is brought up to its changelog: `kept` if it was there, else made anew.

    So many `records` have been read; about as many as `left` are still to be.
    """

    kept: bool
    records: int
    left: int


class ChangelogReader(Protocol):
    """Reads the changelog of one task, to which nobody writes meanwhile."""

    def identity(self) -> str:
        """Tell it from others that had its name."""
        ...

    def end(self) -> int:
        """Tell the offset after its last record."""
        ...

    def read(self, start: int, end: int) -> Iterator[Messages]:
        """Give its records from one offset to another, some at a time, without those that compaction removed."""
        ...


class TaskState:
    """The stores of one task, its checkpoint, and its position in its changelog: one transaction.

    The changelog is the truth. The stores may be behind it, never ahead: they commit after it, and only what it has.
    """

    def __init__(
        self,
        folder: Path,
        identity: StateOwner,
        changelog: ChangelogReader,
        time_of_day: Callable[[], int],
        told: Callable[[RestoreStatus], object] = id,
    ) -> None:
        """Open the state and bring it up to the changelog (`docs/protocols.md`, start of a task).

        State is made anew from the whole changelog where it can't be used: it is damaged, another run's or task's,
        was left by a machine that crashed, is ahead of its changelog or of another one, or has not been in use for
        half a day. The caller holds the folder's lock; `time_of_day` tells milliseconds since 1970.
        """
        self._folder = folder
        self._time_of_day = time_of_day
        self._identity = identity
        self._logged: list[str] = []
        self._confirmed = 0
        """When the stores had all of the changelog for the last time, as far as is known."""
        name, end = changelog.identity().encode(), changelog.end()
        self._environment = self._open(name, end)
        try:
            self._meta = self._environment.store(META)
            self._meta.put(CHANGELOG, name)
            self.restored = self._replay(changelog, end, told)
            """How it was opened."""
        except BaseException:
            self._environment.close()  # the next owner may be in this process
            raise

    @property
    def position(self) -> int:
        """The offset in the changelog up to which the stores have everything."""
        return int(self._meta.get(POSITION) or b"0")

    @property
    def checkpoint(self) -> Checkpoint | None:
        """The checkpoint of the last commit; None before the first."""
        data = self._meta.get(CHECKPOINT)
        return None if data is None else decode_checkpoint(data)

    def logged_store(self, name: str) -> Store:
        """Open a store whose changes go to the changelog."""
        self._logged.append(name)
        return self._environment.store(name)

    def changes(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Give the changelog entries of what was written since the last commit."""
        for name in self._logged:
            prefix = changelog_key(name, b"")
            for key, value in self._environment.changes(name):
                yield prefix + key, value

    def commit(self, position: int, checkpoint: bytes) -> None:
        """Make the stores last together with their checkpoint and their place in the changelog."""
        self._meta.put(CHECKPOINT, checkpoint)
        self._commit_all(position)

    def confirm(self) -> None:
        """Note that the stores have all of the changelog now: a commit of its writer that said nothing of this task."""
        self._confirmed = self._time_of_day()

    def close(self) -> None:
        """Release the state. What was committed is brought to the disk, so a crash of the machine loses nothing.

        Whether the changelog has gone on without it is not known here: the writer may have been fenced long ago.
        """
        self._environment.discard()
        self._meta.put(_CURRENT, str(self._confirmed).encode())
        self._commit_at(self.position)
        sync_and_close(self._environment, self._identity)

    def _open(self, changelog: bytes, end: int) -> LmdbEnvironment:
        try:
            environment = LmdbEnvironment(self._folder)
        except DamagedState:
            return recreate_environment(self._folder)
        meta = environment.store(META)
        position, current = (int(meta.get(name) or b"0") for name in (POSITION, _CURRENT))
        within = position <= end and meta.get(CHANGELOG) == changelog
        young = abs(self._time_of_day() - current) < _OLDEST  # in the future: one of the two clocks was wrong
        if is_intact_state_of(environment, self._identity) and within and young:
            return environment
        environment.close()
        return recreate_environment(self._folder)

    def _replay(self, changelog: ChangelogReader, end: int, told: Callable[[RestoreStatus], object]) -> RestoreStatus:
        kept, start = self._meta.get(POSITION) is not None, self.position
        count, gathered = 0, 0
        write_owner(self._environment, self._identity)
        told(RestoreStatus(kept, 0, end - start))
        for messages in changelog.read(start, end):
            gathered += self._apply(messages)
            count += len(messages)
            if gathered > _REPLAYED_BYTES:
                gathered = 0
                self._commit_at(messages[-1].offset + 1)
            if messages:
                told(RestoreStatus(kept, count, end - messages[-1].offset - 1))
        self._commit_all(end)
        done = RestoreStatus(kept, count, 0)
        told(done)
        return done

    def _apply(self, messages: Messages) -> int:
        """Put records where they belong, to wait for the commit; returns about how many bytes of memory they take."""
        size = len(messages) * _RECORD_BYTES
        stores: dict[bytes, LmdbStore] = {}
        for _, _, key, value in messages:
            size += len(key or b"") + len(value or b"")
            if key == CHECKPOINT_KEY:
                self._meta.put(CHECKPOINT, value or b"")
                continue
            name, _, rest = (key or b"").partition(b"\0")
            if name not in stores:
                stores[name] = self._environment.store(name.decode())
            stores[name].waiting[rest] = value
        return size

    def _commit_all(self, position: int) -> None:
        """Commit, with everything in the stores that the changelog has now."""
        self.confirm()
        self._meta.put(_CURRENT, str(self._confirmed).encode())
        self._commit_at(position)

    def _commit_at(self, position: int) -> None:
        assert position >= self.position, "the stores are never ahead of their changelog"
        self._meta.put(POSITION, str(position).encode())
        self._environment.commit()
