"""A table that rows are appended to, as its writers need it: its versions, and commits that add files and marks.

A mark is the number, by a name, up to which somebody has added what he had. Marks are read from the very version that
is committed on, and a commit is tried once: who comes second begins again from the version that is there then.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from streamapp_systems.objects import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFile:
    """A file of rows: its path in the folder of the table's files, the texts of the partition columns in it, bytes.

    `footer` is what its end says of its rows; `modified` is in milliseconds since 1970.
    """

    path: str
    partition_values: Mapping[str, str | None]
    footer: pq.FileMetaData
    size: int
    modified: int

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return int(self.footer.num_rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveFile:
    """A file of rows that a version of a table has.

    `path` names it in the table, `place` is where it is, `partition` has the texts of the partition columns, and
    `added` orders files by when they came. `entry` is what the table has written of it.
    """

    path: str
    place: Place
    partition: tuple[tuple[str, str | None], ...]
    size: int
    added: int
    entry: object = field(compare=False)


class FoundTable(Protocol):
    """A table that is there, as its app knows it before it writes."""

    @property
    def id(self) -> str:
        """The id that distinguishes the table from an earlier or later one in its place."""
        ...

    def mismatches(self, rows: pa.Schema, folder_columns: Sequence[str]) -> Iterator[str]:
        """Yield why rows can't be written to it, each reason with what to do.

        `folder_columns` are the columns that the app wants to be folders.
        """
        ...

    def count_rows(self) -> int:
        """Count the rows that the table says it has, about: some writers leave that out."""
        ...


class WrittenTable(Protocol):
    """A table that an app writes, whether there is one or not."""

    def load(self) -> FoundTable | None:
        """Load it as it is now; None: there is no table.

        Raises:
            StreamSystemError: it can't be read.
        """
        ...

    def create(self, columns: pa.Schema, partition_columns: Sequence[str]) -> FoundTable:
        """Create the table if there is none, and load it. Partition columns are found whatever their case.

        Raises:
            StreamSystemError: it can't be created.
        """
        ...


class AppendedVersion(FoundTable, Protocol):
    """A version of what files are appended to: of a table of files, or of generations that others write on."""

    @property
    def folder(self) -> Place:
        """The folder that new files are written in."""
        ...

    @property
    def layout(self) -> object:
        """The layout that files are written for: those for one are not added to a version of another one."""
        ...

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns of whose values each file has one."""
        ...

    @property
    def keeps_partition_columns(self) -> bool:
        """Whether the files have the partition columns, too; else the table's metadata alone has them."""
        ...

    def stored(self, rows: pa.Table) -> pa.Table:
        """Return rows as files of the table have them."""
        ...

    def staged_mismatches(self, rows: pa.Schema) -> Iterator[str]:
        """Yield why rows that are staged can't be appended, as `mismatches` does for those to come.

        They can't get a column any more: one that the table has got since is null in them, as in all its older rows.
        """
        ...

    def mark(self, name: str) -> int | None:
        """Return the mark of this name; None: there is none."""
        ...

    def append(self, files: Iterable[TableFile], marks: Mapping[str, int]) -> bool:
        """Commit the next version: this one, more files, and these marks; return False if somebody else has.

        Raises:
            StreamSystemError: the table can't be written; `Unavailable` if what keeps it does not answer.
        """
        ...

    def sync(self) -> None:
        """Make the newest versions durable, whoever wrote them."""
        ...


class TableVersion(AppendedVersion, Protocol):
    """A version of a table of files."""

    @property
    def stored_columns(self) -> pa.Schema:
        """The columns that files have where they have all of the table."""
        ...

    def live_files(self) -> Sequence[LiveFile]:
        """Return the files whose rows other files may take over as they are: none is marked as deleted.

        Raises:
            StreamSystemError: they can't be told.
        """
        ...

    def replace(self, old: Sequence[LiveFile], new: Sequence[TableFile]) -> bool:
        """Commit the next version: this one, with new files that have the rows of old ones, in place of these.

        It is a version that changes no row, to all who read changes. Return False if somebody else has made the next
        one.

        Raises:
            StreamSystemError: the table can't be written; `Unavailable` if what keeps it does not answer.
        """
        ...


class AppendedTable(WrittenTable, Protocol):
    """A table that files are appended to, or generations that others write on."""

    def load(self) -> AppendedVersion | None:
        """See `WrittenTable.load`: the newest version."""
        ...

    def create(self, columns: pa.Schema, partition_columns: Sequence[str]) -> AppendedVersion:
        """See `WrittenTable.create`."""
        ...


class OutputTable(AppendedTable, Protocol):
    """A table of files."""

    def load(self) -> TableVersion | None:
        """See `WrittenTable.load`: the newest version."""
        ...

    def create(self, columns: pa.Schema, partition_columns: Sequence[str]) -> TableVersion:
        """See `WrittenTable.create`."""
        ...


OpenTables = Callable[[str], OutputTable]
"""Opens the tables of a system by their addresses."""
OpenAppended = Callable[[str], AppendedTable]
"""Opens what is appended to, as `OpenTables` does."""
