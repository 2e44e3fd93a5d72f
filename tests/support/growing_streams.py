"""Streams of folders and tables that grow, read from offsets to the ends that a look finds."""

from contextlib import closing

from streamapp_core.ssp import Ssp
from streamapp_systems.folder import FolderConsumer
from streamapp_systems.folder.growing_files import OpenStreams
from streamapp_systems.protocols import StreamDescriptor


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
