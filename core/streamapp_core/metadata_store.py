"""The port to the documents of an app: a map with versions, so that two writers can't overwrite each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

ABSENT = 0
"""The version of a key that is not there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Versioned:
    """A stored value and its version, which every change raises."""

    value: bytes
    version: int


class VersionConflict(Exception):  # noqa: N818 - what happened, not what went wrong
    """Another writer changed the key since it was read: read it again, and decide again."""

    def __init__(self, key: str, expected: int, found: int) -> None:
        super().__init__(f"metadata `{key}` is at version {found}, not {expected}: another writer changed it")


class MetadataStore(Protocol):
    """A durable map from names to values."""

    def get(self, key: str) -> Versioned | None:
        """Return the value of a key; None if it is not there."""
        ...

    def put(self, key: str, value: bytes, expected: int | None = None) -> int:
        """Set a value and return its new version.

        With `expected`, only if the key is at that version (`ABSENT`: not there); this is compare-and-set.

        Raises:
            VersionConflict: the key is at another version than expected.
        """
        ...

    def put_all(self, values: Mapping[str, bytes]) -> None:
        """Set several values: all or nothing, but for ConfigMaps, which are written one after another."""
        ...

    def delete(self, key: str, expected: int | None = None) -> None:
        """Remove a key, whether it is there or not; with `expected` as in `put`."""
        ...

    def all(self, prefix: str = "") -> Mapping[str, Versioned]:
        """Return all entries whose keys begin with `prefix`, in the order of their keys."""
        ...

    def flush(self) -> None:
        """Return when everything written so far is durable."""
        ...

    def close(self) -> None:
        """Release every handle."""
        ...


class InMemoryMetadataStore:
    """A store that lasts as long as its process."""

    def __init__(self) -> None:
        self._entries: dict[str, Versioned] = {}
        self._newest = ABSENT

    def get(self, key: str) -> Versioned | None:
        """See `MetadataStore.get`."""
        return self._entries.get(key)

    def put(self, key: str, value: bytes, expected: int | None = None) -> int:
        """See `MetadataStore.put`."""
        self._expect(key, expected)
        self._newest += 1
        self._entries[key] = Versioned(value=value, version=self._newest)
        return self._newest

    def put_all(self, values: Mapping[str, bytes]) -> None:
        """See `MetadataStore.put_all`."""
        for key, value in values.items():
            self.put(key, value)

    def delete(self, key: str, expected: int | None = None) -> None:
        """See `MetadataStore.delete`."""
        self._expect(key, expected)
        self._entries.pop(key, None)

    def all(self, prefix: str = "") -> Mapping[str, Versioned]:
        """See `MetadataStore.all`."""
        return {key: entry for key, entry in sorted(self._entries.items()) if key.startswith(prefix)}

    def flush(self) -> None:
        """See `MetadataStore.flush`."""

    def close(self) -> None:
        """See `MetadataStore.close`."""

    def _expect(self, key: str, expected: int | None) -> None:
        found = self._entries[key].version if key in self._entries else ABSENT
        if expected is not None and found != expected:
            raise VersionConflict(key, expected, found)
