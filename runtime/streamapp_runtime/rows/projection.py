"""Select lists of plain columns: they need no query, and copy nothing."""

from collections.abc import Sequence

import pyarrow as pa

from streamapp_core.expressions import SelectColumn


class Projection:
    """Selects columns of a batch as they are, under new names."""

    def __init__(self, columns: Sequence[tuple[str, str]]) -> None:
        """Take the name and the source of each column."""
        self._names = [name for name, _ in columns]
        self._sources = [source for _, source in columns]

    def apply(self, rows: pa.Table) -> pa.Table:
        """Return the columns of a batch."""
        return pa.Table.from_arrays([rows.column(source) for source in self._sources], self._names)


def plain_projection(
    columns: Sequence[SelectColumn], *, before: Sequence[str] = (), after: Sequence[str] = ()
) -> Projection | None:
    """Return the projection of a select list, with more columns before and after it; None if that takes SQL."""
    sources = [(column.name, column.source_column) for column in columns if column.source_column is not None]
    if len(sources) < len(columns):
        return None
    return Projection([(name, name) for name in before] + sources + [(name, name) for name in after])
