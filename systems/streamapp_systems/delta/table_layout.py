"""The layout of a table of Delta, and what in it would make rows that are appended wrong or unreadable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from streamapp_systems.tables.column_mismatches import column_mismatches

_KEPT_FEATURES = frozenset(
    {"appendOnly", "changeDataFeed", "checkConstraints", "deletionVectors", "generatedColumns", "identityColumns"}
    | {"invariants", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"}
)
"""The writer features that appending files with all columns does not break; constraints are looked for themselves."""
_RULES = ("delta.invariants", "delta.generationExpression", "delta.identity.start")
_MAPPING = "delta.columnMapping.mode"
_MARKS_EXPIRE = "delta.setTransactionRetentionDuration"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableLayout:
    """The columns of a table, with the metadata of their fields; its partition columns, properties and features."""

    columns: pa.Schema
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    writer_features: frozenset[str]


def layout_mismatches(table: TableLayout, rows: pa.Schema, folder_columns: Sequence[str]) -> Iterator[str]:
    """Yield why rows can't be appended to a table, each reason with what to do.

    `folder_columns` are the columns that the app wants to be folders.
    """
    yield from column_mismatches(table.columns, table.partition_columns, rows, folder_columns)
    yield from _unkept_rules(table)


def staged_mismatches(table: TableLayout, rows: pa.Schema) -> Iterator[str]:
    """Yield why rows that are staged can't be appended, as `layout_mismatches` does for those to come.

    They can't get a column any more: one that the table has got since is null in them, as in all its older rows.
    """
    got = [c.name for c in table.columns if c.name not in rows.names and c.nullable and not _rules(c)]
    kept = [c for c in table.columns if c.name not in got or c.name in table.partition_columns]
    yield from layout_mismatches(replace(table, columns=pa.schema(kept)), rows, table.partition_columns)


def _unkept_rules(table: TableLayout) -> Iterator[str]:
    for name in table.configuration:
        if name.startswith("delta.constraints."):
            yield f"it has the constraint {name.removeprefix('delta.constraints.')}, which nobody would check: drop it"
    if _MARKS_EXPIRE in table.configuration:
        yield (
            "its marks of who has added what expire, and rows could be added twice: unset "
            f"{_MARKS_EXPIRE} (ALTER TABLE ... UNSET TBLPROPERTIES)"
        )
    if table.configuration.get(_MAPPING, "none") != "none":
        yield "its columns have other names in files (column mapping): write to a table without it"
    for column in table.columns:
        if _rules(column):
            yield f"its column `{column.name}` has a rule or an expression of its own, which is not followed: drop it"
    unknown = (
        table.writer_features - _KEPT_FEATURES - ({"columnMapping"} if _MAPPING not in table.configuration else set())
    )
    if unknown:
        yield f"writers of it need {', '.join(sorted(unknown))}, which this release has not: write to another table"


def _rules(column: pa.Field) -> frozenset[str]:
    return frozenset(key.decode() for key in column.metadata or {}).intersection(_RULES)
