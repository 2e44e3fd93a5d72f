"""The files in the folder of a table of Delta that no version needs that anybody may still read, found and removed.

The library finds them, as `VACUUM` does: what was removed from the table longer ago than its
`delta.deletedFileRetentionDuration` (a week, if it says nothing), and what is as old and no version has. It would also
take the files of other programs and of tables in folders below; those are left here.
"""

import time
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from streamapp_systems.delta.delta_table import library_options, table_error
from streamapp_systems.file.output_folder import remove_parts
from streamapp_systems.folder.delta_log import DeltaLog
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamSystemError

YOUNGEST = 86_400
"""Seconds: a younger file may be one of a transaction that goes on, whatever the table says."""
_CHANGES = "_change_data"
_KNOWN_FEATURES = frozenset(
    {"appendOnly", "changeDataFeed", "checkConstraints", "generatedColumns", "identityColumns", "invariants"}
    | {"timestampNtz", "typeWidening", "vacuumProtocolCheck"}
)
"""The features of writers by which a table has no other files than those of rows and of changes."""


class DeltaVacuum:
    """Finds files of one table that can go, and removes them. Used by one thread."""

    def __init__(self, folder: Place) -> None:
        """Look at nothing yet."""
        self._folder = folder
        self._before: frozenset[str] = frozenset()

    def look(self) -> Sequence[str]:
        """Return the paths of files that can go: this look and the one before have found that nothing needs them.

        So a transaction that was as good as committed when the first look was made, on a machine that then slept for a
        week, is there at the second one.

        Raises:
            StreamSystemError: the table can't be read, or has files that are not known here.
        """
        before, self._before = self._before, self._unneeded()
        latest = time.time() - YOUNGEST
        return [path for path in sorted(before & self._before) if self._is_older(path, latest)]

    def remove(self, paths: Iterable[str]) -> None:
        """Remove files; those that are gone are left out.

        Raises:
            StreamSystemError: one can't be removed.
        """
        remove_parts(self._folder / path for path in paths)

    def _unneeded(self) -> frozenset[str]:
        try:
            table = DeltaTable(str(self._folder), storage_options=library_options(self._folder))
            self._check_features(frozenset(table.protocol().writer_features or ()))
            found = table.vacuum(dry_run=True, full=True)
            columns = frozenset(table.metadata().partition_columns)
        except TableNotFoundError:
            return frozenset()
        except (DeltaError, OSError) as error:
            raise table_error(self._folder, "looked through", error) from error
        live = {file.path for file in DeltaLog(self._folder).snapshot().files}
        return frozenset(path for path in found if is_of_rows(path, columns) and path not in live)

    def _check_features(self, features: frozenset[str]) -> None:
        unknown = sorted(features - _KNOWN_FEATURES)
        if unknown:
            raise StreamSystemError(
                f"table {self._folder} has features that say which files it needs, and that are not known here "
                f"({', '.join(unknown)}): run `VACUUM` of Spark, and leave `vacuumEvery` out"
            )

    def _is_older(self, path: str, latest: float) -> bool:
        try:
            return (self._folder / path).stat().st_mtime_ns < latest * 1e9
        except FileNotFoundError:
            return False


def is_of_rows(path: str, partition_columns: Iterable[str]) -> bool:
    """Return whether a path is one that files of a table's rows or changes have: others are left alone."""
    *folders, name = PurePosixPath(path).parts
    if folders[:1] == [_CHANGES]:
        folders = folders[1:]
    names = {column.lower() for column in partition_columns}
    return name.endswith(".parquet") and all(
        "=" in folder and folder.partition("=")[0].lower() in names for folder in folders
    )
