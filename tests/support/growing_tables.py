"""Tables of Delta that grow, in a folder or in a store of objects, read as streams."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from hypothesis import strategies as st

from streamapp_core.ssp import Ssp
from streamapp_systems.folder import FolderAdmin, growing_tables
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor
from support import growing_streams
from support.delta_outputs import delta_table_in, options_of
from support.growing_streams import ssp


def stream(schema: str = "k int", starting_version: int | None = None) -> StreamDescriptor:
    """Give the stream of the table."""
    return growing_streams.table_stream("t", schema, starting_version)


PLAIN = stream()


def append(root: Place, values: list[int], **more: object) -> None:
    """Append rows, as another writer does."""
    rows = {"k": pa.array(values, pa.int32()), "p": [str(value % 2) for value in values]}
    write_deltalake(
        str(root / "t"), pa.table(rows), mode="append", partition_by=["p"], storage_options=options_of(root), **more
    )


def admin(root: Place, journals: Path | None = None) -> FolderAdmin:
    """Open the stream's metadata."""
    return FolderAdmin(growing_tables(root, journals))


def read(
    root: Place,
    starts: dict[Ssp, int],
    of: StreamDescriptor = PLAIN,
    limit: int = 7,
    journals: Path | None = None,
) -> dict[Ssp, list[dict[str, object]]]:
    """Read partitions from these offsets to the ends that a look finds."""
    return growing_streams.read_growing(growing_tables(root, journals), of, starts, limit)


def keys(root: Place, of: StreamDescriptor = PLAIN, journals: Path | None = None) -> list[object]:
    """Give the keys of the first partition's rows."""
    return [row["k"] for row in read(root, {ssp(0): 0}, of, journals=journals)[ssp(0)]]


def compact(root: Place) -> None:
    """Compact the table's files."""
    delta_table_in(root).optimize.compact()


def grow_and_read(root: Place, data: st.DataObject, journals: Path | None = None) -> None:
    """Append, compact and read from random offsets; see `growing_streams.grow_and_read`."""
    partitions = [ssp(number) for number in range(data.draw(st.integers(1, 3)))]
    append(root, [0, 1, 2])
    admin(root, journals).create({PLAIN: len(partitions)})
    growing_streams.grow_and_read(
        data,
        partitions,
        {
            "compact": lambda: compact(root),
            "checkpoint": lambda: delta_table_in(root).create_checkpoint(),
        },
        lambda new: append(root, new),
        lambda starts, limit: read(root, starts, limit=limit, journals=journals),
        lambda: dict(admin(root, journals).end_offsets([PLAIN])),
    )
