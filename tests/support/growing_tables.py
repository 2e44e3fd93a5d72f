"""Tables of Delta that grow, in a folder or in a store of objects, read as streams."""

from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.folder import FolderAdmin, growing_tables
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor
from support.delta_outputs import delta_table_in, options_of
from support.growing_streams import read_growing


def stream(schema: str = "k int", starting_version: int | None = None) -> StreamDescriptor:
    """Give the stream of the table."""
    return StreamDescriptor(
        name="s",
        system="lake",
        address="t",
        format=StreamFormat.JSON,
        schema=parse_schema(schema),
        starting_version=starting_version,
    )


PLAIN = stream()


def ssp(partition: int) -> Ssp:
    """Give a partition of the stream."""
    return Ssp("lake", "s", partition)


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
    return read_growing(growing_tables(root, journals), of, starts, limit)


def keys(root: Place, of: StreamDescriptor = PLAIN, journals: Path | None = None) -> list[object]:
    """Give the keys of the first partition's rows."""
    return [row["k"] for row in read(root, {ssp(0): 0}, of, journals=journals)[ssp(0)]]


def grow_and_read(root: Place, data: st.DataObject, journals: Path | None = None) -> None:
    """Append, compact and read from random offsets: every row is found once, and always at its offset."""
    partitions = data.draw(st.integers(1, 3))
    steps = data.draw(st.lists(st.sampled_from(["append", "append", "compact", "checkpoint", "read"]), max_size=12))
    written = [0, 1, 2]
    append(root, written)
    known: dict[Ssp, list[object]] = {ssp(number): [] for number in range(partitions)}
    admin(root, journals).create({PLAIN: partitions})
    for step in [*steps, "read"]:
        table = delta_table_in(root)
        if step == "append":
            new = list(range(len(written), len(written) + data.draw(st.integers(1, 30))))
            append(root, new)
            written += new
        elif step == "compact":
            table.optimize.compact()
        elif step == "checkpoint":
            table.create_checkpoint()
        else:
            # The names of files, and so the lengths of partitions, differ from one example to its repetition.
            shares = {place: data.draw(st.integers(0, 100)) for place in known}
            starts = {place: shares[place] * len(values) // 100 for place, values in known.items()}
            found = read(root, starts, limit=data.draw(st.integers(1, 50)), journals=journals)
            for place, start in starts.items():
                values = [row["k"] for row in found[place]]
                assert values[: len(known[place]) - start] == known[place][start:]
                known[place] = known[place][:start] + values
            assert admin(root, journals).end_offsets([PLAIN]) == {place: len(values) for place, values in known.items()}
    assert sorted(value for values in known.values() for value in values) == written
