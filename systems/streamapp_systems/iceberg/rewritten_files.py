"""A snapshot of Iceberg with files in the place of others, which changes no row."""

from collections.abc import Callable, Mapping

from pyiceberg.io import FileIO
from pyiceberg.manifest import ManifestFile
from pyiceberg.table import Transaction
from pyiceberg.table.snapshots import Operation, Summary
from pyiceberg.table.update.snapshot import _OverwriteFiles
from pyiceberg.typedef import EMPTY_DICT


class RewrittenFiles(_OverwriteFiles):
    """Files that take the place of those that are deleted: the library's overwrite, as the operation `replace`.

    The library has no such operation; what it writes of one is the same, but for the name.
    """

    def __init__(self, transaction: Transaction, io: FileIO) -> None:
        """Add and delete nothing yet."""
        super().__init__(operation=Operation.OVERWRITE, transaction=transaction, io=io)

    def _build_delete_files_partition_predicate(self) -> None:
        """Leave out what the library looks for files by: names of partition fields, which columns need not have."""

    def _build_manifest_evaluator(self, spec_id: int) -> Callable[[ManifestFile], bool]:  # noqa: ARG002
        return lambda _: True

    def _summary(self, snapshot_properties: Mapping[str, str] = EMPTY_DICT) -> Summary:
        found = super()._summary(dict(snapshot_properties))
        return Summary(operation=Operation.REPLACE, **found.additional_properties)
