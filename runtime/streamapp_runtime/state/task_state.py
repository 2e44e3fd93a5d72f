"""The state of a task: stores whose changes go to its changelog, and their position in it (docs/architecture.md)."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from streamapp_runtime.state.changelog import ChangelogReader
from streamapp_runtime.state.changelog_restore import RestoreStatus, restore_from_changelog
from streamapp_runtime.state.checkpoint import Checkpoint, changelog_key, decode_checkpoint
from streamapp_runtime.state.entry_columns import Entries
from streamapp_runtime.state.lmdb_environment import LmdbEnvironment
from streamapp_runtime.state.prefixed_store import with_prefix
from streamapp_runtime.state.state_folder import open_or_recreate, sync_and_close
from streamapp_runtime.state.state_metadata import CHANGELOG, CHECKPOINT, CURRENT, META, POSITION
from streamapp_runtime.state.state_owner import StateOwner
from streamapp_runtime.state.store import Store
from streamapp_runtime.state.store_size import StoreSize

_MAX_AGE = 12 * 60 * 60 * 1_000
"""Changelogs keep tombstones for a day. A store that is behind for half of it may miss some: it is recreated."""


class TaskState:
    """The stores of one task, its checkpoint, and its position in its changelog: one transaction.

    The changelog is the truth. The stores may be behind it, never ahead: they commit after it, and only what it has.
    """

    def __init__(
        self,
        folder: Path,
        owner: StateOwner,
        changelog: ChangelogReader,
        time_of_day: Callable[[], int],
        on_progress: Callable[[RestoreStatus], object] = id,
    ) -> None:
        """Open the state and restore it from the changelog (docs/protocols.md, Start of a processor).

        State is recreated from the whole changelog where it can't be used: it is damaged, another run's or task's, was
        left by a machine that crashed, is ahead of its changelog or of another one, or has not been in use for half a
        day. The caller holds the folder's lock; `time_of_day` returns milliseconds since 1970.
        """
        self._folder = folder
        self._time_of_day = time_of_day
        self._owner = owner
        self._logged: list[str] = []
        self._confirmed = 0
        """The time at which the stores were last known to have all of the changelog."""
        name, end = changelog.identity().encode(), changelog.end()
        self._environment = open_or_recreate(folder, owner, partial(self._is_usable, name, end))
        try:
            self._meta = self._environment.store(META)
            self._meta.put(CHANGELOG, name)
            self.restored = self._restore(changelog, end, on_progress)
            """The result of the restore at its opening."""
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

    def sizes(self) -> dict[str, StoreSize]:
        """Return the sizes of the logged stores by name, as they were committed last."""
        return {name: self._environment.size(name) for name in self._logged}

    def changes(self) -> Iterator[Entries]:
        """Yield the changelog entries of what was written since the last commit."""
        for name in self._logged:
            prefix = changelog_key(name, b"")
            for keys, values in self._environment.changes(name):
                yield Entries(with_prefix(prefix, keys), values)

    def commit(self, position: int, checkpoint: bytes) -> None:
        """Commit the stores together with their checkpoint and their position in the changelog."""
        self._meta.put(CHECKPOINT, checkpoint)
        self._commit_all(position)

    def confirm(self) -> None:
        """Record that the stores have all of the changelog now: a commit of its writer had nothing of this task."""
        self._confirmed = self._time_of_day()

    def close(self) -> None:
        """Release the state. What was committed is synced to the disk, so a crash of the machine loses nothing.

        Whether the changelog has grown without it is unknown here: the writer may have been fenced long ago.
        """
        try:
            self._environment.discard()
            self._meta.put(CURRENT, str(self._confirmed).encode())
            self._commit_at(self.position)
        except BaseException:
            self._environment.close()
            raise
        sync_and_close(self._environment, self._folder, self._owner)

    def _is_usable(self, changelog: bytes, end: int, environment: LmdbEnvironment) -> bool:
        """Return whether stores can be brought up to the end of their changelog."""
        meta = environment.store(META)
        position, current = (int(meta.get(name) or b"0") for name in (POSITION, CURRENT))
        within = position <= end and meta.get(CHANGELOG) == changelog
        young = abs(self._time_of_day() - current) < _MAX_AGE  # in the future: one of the two clocks was wrong
        return within and young

    def _restore(
        self, changelog: ChangelogReader, end: int, on_progress: Callable[[RestoreStatus], object]
    ) -> RestoreStatus:
        kept, start = self._meta.get(POSITION) is not None, self.position
        count = restore_from_changelog(
            self._environment,
            changelog,
            start=start,
            end=end,
            kept=kept,
            commit=self._commit_at,
            on_progress=on_progress,
        )
        self._commit_all(end)
        done = RestoreStatus(kept, count, 0)
        on_progress(done)
        return done

    def _commit_all(self, position: int) -> None:
        """Commit; the stores have everything that the changelog has now."""
        self.confirm()
        self._meta.put(CURRENT, str(self._confirmed).encode())
        self._commit_at(position)

    def _commit_at(self, position: int) -> None:
        assert position >= self.position, "the stores are never ahead of their changelog"
        self._meta.put(POSITION, str(position).encode())
        self._environment.commit()
