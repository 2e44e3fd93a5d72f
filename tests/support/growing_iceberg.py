"""Tables of Iceberg that grow, in a folder or in a store of objects, read as streams."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
from hypothesis import strategies as st
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import ManifestContent, write_manifest_list
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _OverwriteFiles
from pyiceberg.types import IntegerType, NestedField, StringType

from streamapp_core.ssp import Ssp
from streamapp_systems.folder import FolderAdmin, OpenStreams
from streamapp_systems.iceberg import GrowingIceberg, IcebergTable
from streamapp_systems.iceberg.locations import place_of
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor
from support import growing_streams
from support.growing_streams import ssp
from support.iceberg_outputs import NAME, database_in, library_catalog

COLUMNS = Schema(NestedField(1, "k", IntegerType()), NestedField(2, "p", StringType()))
_CONTENT = 3
"""The place of what a manifest says its files are."""


def stream(schema: str = "k int", starting_version: int | None = None) -> StreamDescriptor:
    """Give the stream of the table."""
    return growing_streams.table_stream(NAME, schema, starting_version)


PLAIN = stream()


class GrowingLake:
    """A catalog in a folder with a table that another library writes."""

    def __init__(self, folder: Path, root: Place | None = None, schema: Schema = COLUMNS) -> None:
        """Create the table."""
        self._folder = folder
        self._root = folder / "warehouse" if root is None else root
        self._catalog = library_catalog(folder, root)
        self._catalog.create_namespace_if_not_exists("sales")
        self._catalog.create_table_if_not_exists(NAME, schema)

    def table(self) -> Table:
        """Load the table as the library does."""
        return self._catalog.load_table(NAME)

    def drop(self) -> None:
        """Drop the table."""
        self._catalog.drop_table(NAME)

    def append(self, values: list[int]) -> None:
        """Append rows."""
        rows = {"k": pa.array(values, pa.int32()), "p": [str(value % 2) for value in values]}
        self.table().append(pa.table(rows))

    def rewrite(self, rows: pa.Table) -> None:
        """Replace all files of the table by some with these rows, in one snapshot, which the library can't."""
        table = self.table()
        with (
            table.transaction() as transaction,
            _OverwriteFiles(Operation.OVERWRITE, transaction, table.io) as replacing,
        ):
            for task in table.scan().plan_files():
                replacing.delete_data_file(task.file)
            for file in _dataframe_to_data_files(table.metadata, rows, table.io):
                replacing.append_data_file(file)

    def mark(self, values: list[int]) -> None:
        """Have the newest snapshot mark rows as deleted, which the library can't, as far as its manifests say."""
        self.append(values)
        table = self.table()
        snapshot = table.current_snapshot()
        assert snapshot is not None
        manifests = snapshot.manifests(table.io)
        for manifest in manifests:
            if manifest.added_snapshot_id == snapshot.snapshot_id:
                manifest[_CONTENT] = ManifestContent.DELETES
        with write_manifest_list(
            2,
            table.io.new_output(snapshot.manifest_list),
            snapshot.snapshot_id,
            snapshot.parent_snapshot_id,
            snapshot.sequence_number,
            "null",
        ) as written:
            written.add_manifests(manifests)

    def compact(self) -> None:
        """Replace the files of the table by one with the same rows, an operation that the library has not."""
        self.rewrite(self.table().scan().to_arrow())
        change_metadata(self.table(), self._root, _compact)

    @property
    def streams(self) -> OpenStreams:
        """What opens the streams of the catalog."""
        database = database_in(self._folder, self._root)
        return lambda of: GrowingIceberg(IcebergTable(database, of.address), self._root, self._folder / "journals", of)

    def admin(self) -> FolderAdmin:
        """Open the stream's metadata."""
        return FolderAdmin(self.streams)

    def read(self, starts: dict[Ssp, int], of: StreamDescriptor = PLAIN, limit: int = 7) -> dict[Ssp, list[dict]]:
        """Read partitions from these offsets to the ends that a look finds."""
        return growing_streams.read_growing(self.streams, of, starts, limit)

    def keys(self, of: StreamDescriptor = PLAIN) -> list[object]:
        """Give the keys of the first partition's rows."""
        return [row["k"] for row in self.read({ssp(0): 0}, of)[ssp(0)]]


def change_metadata(table: Table, root: Place, change: Callable[[dict], None]) -> None:
    """Change what the catalog's newest metadata of a table says, which the library does not let be done."""
    metadata = place_of(table.metadata_location, root)
    document = json.loads(metadata.read_bytes())
    change(document)
    metadata.write_bytes(json.dumps(document).encode())


def _compact(metadata: dict) -> None:
    metadata["snapshots"][-1]["summary"]["operation"] = "replace"


def grow_and_read(lake: GrowingLake, data: st.DataObject) -> None:
    """Append, compact and read from random offsets; see `growing_streams.grow_and_read`."""
    partitions = [ssp(number) for number in range(data.draw(st.integers(1, 3)))]
    lake.append([0, 1, 2])
    lake.admin().create({PLAIN: len(partitions)})
    growing_streams.grow_and_read(
        data,
        partitions,
        {"compact": lake.compact},
        lake.append,
        lambda starts, limit: lake.read(starts, limit=limit),
        lambda: dict(lake.admin().end_offsets([PLAIN])),
    )
