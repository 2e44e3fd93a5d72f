"""Columns and keys that values of a schema do not fit: what checks of schemas find."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaMismatch:
    """A column that values of a schema don't fit: the path to it, and why; `missing`: no field has its name."""

    path: str
    reason: str
    missing: bool = False


def check_key_fields(fields: Iterable[str], wanted: frozenset[str]) -> None:
    """Check that a key has the wanted fields alone: by some of its columns rows of several keys would be one.

    Raises:
        ValueError: it has others.
    """
    if frozenset(fields) != wanted:
        raise ValueError(f"it has the fields {_listed(fields)}, and the stream's `key` is {_listed(wanted)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names)) or "none"
