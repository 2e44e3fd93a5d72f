"""Columns that values of a schema do not fit: what checks of schemas find."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaMismatch:
    """A column that values of a schema don't fit: the path to it, and why; `missing`: no field has its name."""

    path: str
    reason: str
    missing: bool = False
