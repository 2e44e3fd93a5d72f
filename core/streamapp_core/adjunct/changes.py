"""Changes of a table by messages: the last message of each key counts."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes(Generic[Key, Value]):
    """The last value of each key, None where it is deleted; and how many messages were `skipped`, having no key."""

    latest: Mapping[Key, Value | None]
    skipped: int


def last_changes(messages: Iterable[tuple[Key | None, Value | None]]) -> Changes[Key, Value]:
    """Reduce keys and values, in the order of their stream, to the changes of a table.

    A message without a key is skipped, one without a value deletes its key (docs/adjunct-stores.md).
    """
    latest: dict[Key, Value | None] = {}
    skipped = 0
    for key, value in messages:
        if key is None:
            skipped += 1
        else:
            latest[key] = value
    return Changes(latest=latest, skipped=skipped)
