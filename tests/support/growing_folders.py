"""Folders whose files become more, on a disk or in a store of objects, read as streams."""

import gzip
import io
import os
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.folder import FolderAdmin, growing_folders
from streamapp_systems.objects import Place
from streamapp_systems.protocols import StreamDescriptor
from support.growing_streams import read_growing

COLUMNS = parse_schema("k int")
CSV = StreamDescriptor(name="s", system="land", address="in", format=StreamFormat.CSV, schema=COLUMNS)
JSON = StreamDescriptor(name="s", system="land", address="in", format=StreamFormat.JSON, schema=COLUMNS)
PARQUET = StreamDescriptor(name="s", system="land", address="in", format=StreamFormat.PARQUET, schema=COLUMNS)
YEAR_2020 = 1_577_836_800
"""Seconds: what has not changed since is complete."""


def ssp(partition: int) -> Ssp:
    """Give a partition of the stream."""
    return Ssp("land", "s", partition)


def publish(root: Place, name: str, values: list[int], modified: int = YEAR_2020) -> Place:
    """Write a file of these values, in the format that its name ends with."""
    path = root / "in" / name
    csv = "".join(f"{line}\n" for line in ["k", *values]).encode()
    lines = "".join(f'{{"k":{value}}}\n' for value in values).encode()
    if name.endswith(".parquet"):
        made = io.BytesIO()
        pq.write_table(pa.table({"k": pa.array(values, pa.int32())}), made)
        content = made.getvalue()
    else:
        compressed = {".gz": gzip.compress, ".zst": lambda data: pa.compress(data, codec="zstd", asbytes=True)}
        content = compressed.get(path.suffix, bytes)(csv if ".csv" in name else lines)
    if isinstance(path, Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (modified, modified))
    else:
        path.bucket.objects.put(path.key, content)
    return path


def admin(root: Place, journals: Path | None = None) -> FolderAdmin:
    """Open the stream's metadata."""
    return FolderAdmin(growing_folders(root, journals))


def created(root: Place, stream: StreamDescriptor, partitions: int, journals: Path | None = None) -> None:
    """Make the stream's folder and its journal."""
    if isinstance(root, Path):
        (root / "in").mkdir(parents=True, exist_ok=True)
    admin(root, journals).create({stream: partitions})


def read(
    root: Place, stream: StreamDescriptor, starts: dict[Ssp, int], limit: int = 7, journals: Path | None = None
) -> dict[Ssp, list[object]]:
    """Read partitions from these offsets to the ends that a look finds."""
    found = read_growing(growing_folders(root, journals), stream, starts, limit)
    return {place: [row["k"] for row in rows] for place, rows in found.items()}


def arrive_and_read(root: Place, data: st.DataObject, journals: Path | None = None) -> None:
    """Write files and read from random offsets: every row is found once, and always at its offset."""
    stream, endings = data.draw(
        st.sampled_from(
            [
                (CSV, [".csv", ".csv.gz", ".csv.zst"]),
                (JSON, [".json", ".jsonl", ".ndjson.gz", ".json.zst"]),
                (PARQUET, [".parquet"]),
            ]
        )
    )
    partitions = data.draw(st.integers(1, 3))
    arrivals = data.draw(
        st.lists(
            st.dictionaries(st.integers(0, 30), st.tuples(st.integers(0, 20), st.sampled_from(endings)), max_size=4),
            min_size=1,
            max_size=4,
        )
    )
    created(root, stream, partitions, journals)
    known: dict[Ssp, list[object]] = {ssp(number): [] for number in range(partitions)}
    written: dict[str, list[int]] = {}
    for count, arrival in enumerate(arrivals):
        for number, (rows, ending) in arrival.items():
            name = f"{number}-{count}{ending}"
            written[name] = [count * 10_000 + number * 100 + row for row in range(rows)]
            publish(root, name, written[name])
        starts = {place: data.draw(st.integers(0, len(values))) for place, values in known.items()}
        found = read(root, stream, starts, data.draw(st.integers(1, 50)), journals)
        for place, start in starts.items():
            assert found[place][: len(known[place]) - start] == known[place][start:]
            known[place] = known[place][:start] + found[place]
        assert admin(root, journals).end_offsets([stream]) == {place: len(values) for place, values in known.items()}
    for number in range(partitions):
        own = {name: rows for name, rows in written.items() if zlib.crc32(f"in/{name}".encode()) % partitions == number}
        assert sorted(known[ssp(number)]) == sorted(row for rows in own.values() for row in rows)
