"""Streams of folders and tables that grow, read from offsets to the ends that a look finds."""

from collections.abc import Callable
from contextlib import closing

from hypothesis import strategies as st

from streamapp_core.schema import parse_schema
from streamapp_core.spec.streams import StreamFormat
from streamapp_core.ssp import Ssp
from streamapp_systems.folder import FolderConsumer
from streamapp_systems.folder.growing_files import OpenStreams
from streamapp_systems.protocols import StreamDescriptor


def table_stream(address: str, schema: str, starting_version: int | None) -> StreamDescriptor:
    """Give the stream `s` of a table in the system `lake`."""
    return StreamDescriptor(
        name="s",
        system="lake",
        address=address,
        format=StreamFormat.JSON,
        schema=parse_schema(schema),
        starting_version=starting_version,
    )


def ssp(partition: int) -> Ssp:
    """Give a partition of such a stream."""
    return Ssp("lake", "s", partition)


def read_growing(
    streams: OpenStreams, stream: StreamDescriptor, starts: dict[Ssp, int], limit: int
) -> dict[Ssp, list[dict[str, object]]]:
    """Read partitions from these offsets on; each batch begins where the one before has ended."""
    rows: dict[Ssp, list[dict[str, object]]] = {ssp: [] for ssp in starts}
    with closing(FolderConsumer(streams, [stream])) as consumer:
        consumer.assign(starts, {})
        asked = consumer.ask_ends(list(starts))
        while not all((asked.poll() or {None: False}).values()):
            for batch in consumer.poll(list(starts), limit, 0.05):
                assert batch.offset == starts[batch.ssp] + len(rows[batch.ssp])
                assert batch.rows is not None
                assert not batch.ended
                assert batch.next_offset == batch.offset + batch.rows.num_rows
                rows[batch.ssp] += batch.rows.to_pylist()
    return rows


def grow_and_read(
    data: st.DataObject,
    partitions: list[Ssp],
    steps: dict[str, Callable[[], object]],
    append: Callable[[list[int]], object],
    read: Callable[[dict[Ssp, int], int], dict[Ssp, list[dict[str, object]]]],
    ends: Callable[[], dict[Ssp, int]],
) -> None:
    """Append, do other steps and read from random offsets: each row is found once, and always at its offset."""
    taken = data.draw(st.lists(st.sampled_from(["append", "append", *steps, "read"]), max_size=12))
    written = [0, 1, 2]
    known: dict[Ssp, list[object]] = {ssp: [] for ssp in partitions}
    for step in [*taken, "read"]:
        if step == "append":
            new = list(range(len(written), len(written) + data.draw(st.integers(1, 30))))
            append(new)
            written += new
        elif step == "read":
            # The names of files, and so the lengths of partitions, differ from one example to its repetition.
            shares = {place: data.draw(st.integers(0, 100)) for place in known}
            starts = {place: shares[place] * len(values) // 100 for place, values in known.items()}
            found = read(starts, data.draw(st.integers(1, 50)))
            for place, start in starts.items():
                values = [row["k"] for row in found[place]]
                assert values[: len(known[place]) - start] == known[place][start:]
                known[place] = known[place][:start] + values
            assert ends() == {place: len(values) for place, values in known.items()}
        else:
            steps[step]()
    assert sorted(value for values in known.values() for value in values) == written
